// SPDX-License-Identifier: MIT
/*
 * Sources of vector operations as rows of 64 lanes, and results under EXEC: SDWA selects parts of
 * a register, DPP moves lanes, op_sel picks a half, and the index mode of M0 moves registers.
 */
#include "vgpu/isa/vector/lanes.h"

#define ROW_LANES  16 /* of DPP */
#define BANK_LANES 4
#define NO_LANE    0xff

/* SDWA selects. */
#define SEL_WORD_0  4
#define SEL_WORD_1  5
#define SEL_DWORD   6
#define UNUSED_PAD  0
#define UNUSED_SEXT 1

/* M0 while MODE.GPR_IDX_EN: the index, and which operands it is added to. */
#define INDEX_MASK   0xffu
#define INDEX_ENABLE 12 /* bits 12 to 14: sources 0 to 2, 15: destination */
#define INDEX_DST    3

/* Added to the row of an operand by s_set_gpr_idx_on. */
static u32 index_of(const struct gp_isa_wave *wave, u32 operand)
{
	if (!(wave->mode & GP_ISA_MODE_GPR_IDX))
		return 0;
	return wave->s[GP_ISA_M0] >> (INDEX_ENABLE + operand) & 1 ? wave->s[GP_ISA_M0] & INDEX_MASK
								  : 0;
}

/* The row behind it by that many, of the same bank: vector or accumulation registers. */
static bool row_add(u32 *row, u32 index)
{
	u32 bank = *row & ~(GP_ISA_VECTORS - 1u);

	*row += index;
	return *row < bank + GP_ISA_VECTORS;
}

/* An index beyond the last vector register reads v0. */
u32 gp_isa_row_indexed(const struct gp_isa_wave *wave, u32 code, u32 operand)
{
	u32 row = gp_isa_row_of(code), index = index_of(wave, operand);

	return !index || row_add(&row, index) ? row : 0;
}

/* The lane that this lane reads, or NO_LANE. */
static u32 dpp_lane(u32 control, u32 lane)
{
	u32 row = lane & ~(ROW_LANES - 1u), in_row = lane % ROW_LANES, n = control & 0xf;

	if (control <= 0xff)
		return (lane & ~3u) | (control >> (lane % 4 * 2) & 3); /* quad_perm */
	switch (control & ~0xfu) {
	case 0x100: /* row_shl */
		return in_row + n < ROW_LANES ? lane + n : NO_LANE;
	case 0x110: /* row_shr */
		return in_row >= n ? lane - n : NO_LANE;
	case 0x120: /* row_ror */
		return row | ((in_row - n) % ROW_LANES);
	case 0x150: /* row_newbcast */
		return row | n;
	}
	switch (control) {
	case 0x130: /* wave_shl:1 */
		return lane < GP_ISA_LANES - 1 ? lane + 1 : NO_LANE;
	case 0x134: /* wave_rol:1 */
		return (lane + 1) % GP_ISA_LANES;
	case 0x138: /* wave_shr:1 */
		return lane ? lane - 1 : NO_LANE;
	case 0x13c: /* wave_ror:1 */
		return (lane - 1) % GP_ISA_LANES;
	case 0x140: /* row_mirror */
		return row | (ROW_LANES - 1 - in_row);
	case 0x141: /* row_half_mirror */
		return lane ^ 7;
	case 0x142: /* row_bcast:15 */
		return row ? row - 1 : NO_LANE;
	case 0x143: /* row_bcast:31 */
		return lane >= 32 ? 31 : NO_LANE;
	default:
		return NO_LANE;
	}
}

/* Whether the lane has something to read: a lane of its row that EXEC has. */
static bool dpp_reads(const struct gp_isa_inst *inst, u64 exec, u32 lane, u32 *from)
{
	*from = dpp_lane(inst->dpp.control, lane);
	return *from != NO_LANE && exec >> *from & 1;
}

static void dpp_move(const struct gp_isa_wave *wave, const struct gp_isa_inst *inst, const u32 *row,
		     u32 *out)
{
	u64 exec = gp_isa_exec(wave);

	for (u32 lane = 0, from; lane < GP_ISA_LANES; lane++)
		out[lane] = dpp_reads(inst, exec, lane, &from) ? row[from] : 0;
}

/* Lanes that DPP lets the instruction write. */
static u64 dpp_lanes(const struct gp_isa_inst *inst, u64 exec)
{
	u64 lanes = 0;

	for (u32 lane = 0, from; lane < GP_ISA_LANES; lane++) {
		u32 row = lane / ROW_LANES, bank = lane % ROW_LANES / BANK_LANES;
		bool reads = inst->dpp.bound_zero || dpp_reads(inst, exec, lane, &from);

		if (reads && inst->dpp.row_mask >> row & 1 && inst->dpp.bank_mask >> bank & 1)
			lanes |= 1ull << lane;
	}
	return lanes;
}

static void sdwa_select(const struct gp_isa_inst *inst, u32 n, const u32 *row, u32 *out)
{
	u32 select = inst->sdwa.src_sel[n];
	u32 bits = select < SEL_WORD_0 ? 8 : 16;
	u32 shift = select < SEL_WORD_0 ? select * 8 : (select - SEL_WORD_0) * 16;

	if (inst->sdwa.sext[n])
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			out[lane] = (u32)((s32)(row[lane] << (32 - bits - shift)) >> (32 - bits));
	else
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			out[lane] = row[lane] << (32 - bits - shift) >> (32 - bits);
}

/* op_sel: the upper half of a 16-bit source. VOP3P and wide operands have their own rules. */
static bool takes_upper_half(const struct gp_isa_inst *inst, u32 n, enum gp_isa_type type)
{
	return (type == GP_ISA_B16 || type == GP_ISA_F16) && inst->format != GP_ISA_VOP3P &&
	       inst->opsel >> n & 1;
}

const u32 *gp_isa_source32(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
			   const struct gp_isa_inst *inst, u32 n, enum gp_isa_type type,
			   struct gp_isa_row *room)
{
	u32 code = inst->src[n];
	const u32 *row = room->lane;

	if (code >= GP_ISA_VGPR) {
		row = wave->v[gp_isa_row_indexed(wave, code, n)];
	} else {
		u32 value = gp_isa_scalar32(runner, wave, inst, code, type);

		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			room->lane[lane] = value;
	}
	if (inst->extra == GP_ISA_DPP && !n) {
		dpp_move(wave, inst, row, room->lane);
		row = room->lane;
	}
	if (inst->extra == GP_ISA_SDWA && n < 2 && inst->sdwa.src_sel[n] < SEL_DWORD) {
		sdwa_select(inst, n, row, room->lane);
		row = room->lane;
	}
	if (takes_upper_half(inst, n, type)) {
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			room->lane[lane] = row[lane] >> 16;
		row = room->lane;
	}
	return row;
}

void gp_isa_source64(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
		     const struct gp_isa_inst *inst, u32 n, enum gp_isa_type type,
		     struct gp_isa_row64 *out)
{
	u32 code = inst->src[n];
	struct gp_isa_row low, high;
	const u32 *lower, *upper;

	if (code < GP_ISA_VGPR) {
		u64 value = gp_isa_scalar64(runner, wave, inst, code, type);

		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			out->lane[lane] = value;
		return;
	}
	lower = wave->v[gp_isa_row_indexed(wave, code, n)];
	upper = lower + GP_ISA_LANES;
	if (inst->extra == GP_ISA_DPP && !n) {
		dpp_move(wave, inst, lower, low.lane);
		dpp_move(wave, inst, upper, high.lane);
		lower = low.lane;
		upper = high.lane;
	}
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		out->lane[lane] = lower[lane] | (u64)upper[lane] << 32;
}

u64 gp_isa_active(const struct gp_isa_wave *wave, const struct gp_isa_inst *inst)
{
	u64 exec = gp_isa_exec(wave);

	return inst->extra == GP_ISA_DPP ? exec & dpp_lanes(inst, exec) : exec;
}

/* The row that is written, moved by the index mode. False: beyond the last register, nothing is. */
static bool row_written(const struct gp_isa_wave *wave, u32 *row)
{
	u32 index = index_of(wave, INDEX_DST);

	return !index || row_add(row, index);
}

/* Lanes of the mask from one row into another, eight at a time. */
static void row_merge(u32 *restrict to, const u32 *restrict from, u64 mask)
{
	if (mask == ~0ull) {
		memcpy(to, from, GP_ISA_LANES * sizeof(u32));
		return;
	}
	for (u32 first = 0; first < GP_ISA_LANES; first += 8, mask >>= 8) {
		u32 bits = mask & 0xff;

		for (u32 i = 0; i < 8; i++)
			to[first + i] = bits & 1u << i ? from[first + i] : to[first + i];
	}
}

/* The result in its place of the register; the rest is zero, the sign, or what was there. */
static void sdwa_place(const struct gp_isa_inst *inst, const u32 *old, const u32 *value, u32 *out)
{
	u32 select = inst->sdwa.dst_sel, unused = inst->sdwa.dst_unused;
	u32 bits = select < SEL_WORD_0 ? 8 : 16;
	u32 shift = select < SEL_WORD_0 ? select * 8 : (select - SEL_WORD_0) * 16;
	u32 mask = (bits == 8 ? 0xffu : 0xffffu) << shift;

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		u32 zero = value[lane] << shift & mask;
		u32 sign = (u32)((s32)(value[lane] << (32 - bits)) >> (32 - bits)) << shift;

		out[lane] = unused == UNUSED_PAD    ? zero
			    : unused == UNUSED_SEXT ? sign
						    : zero | (old[lane] & ~mask);
	}
}

void gp_isa_put32(struct gp_isa_wave *wave, const struct gp_isa_inst *inst, u32 row,
		  const struct gp_isa_row *value)
{
	struct gp_isa_row placed;

	if (!row_written(wave, &row))
		return;
	if (inst->extra == GP_ISA_SDWA && inst->sdwa.dst_sel < SEL_DWORD) {
		sdwa_place(inst, wave->v[row], value->lane, placed.lane);
		value = &placed;
	}
	row_merge(wave->v[row], value->lane, gp_isa_active(wave, inst));
}

void gp_isa_put64(struct gp_isa_wave *wave, const struct gp_isa_inst *inst, u32 row,
		  const struct gp_isa_row64 *value)
{
	u64 active = gp_isa_active(wave, inst);
	struct gp_isa_row low, high;

	if (!row_written(wave, &row))
		return;
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		low.lane[lane] = (u32)value->lane[lane];
		high.lane[lane] = (u32)(value->lane[lane] >> 32);
	}
	row_merge(wave->v[row], low.lane, active);
	row_merge(wave->v[row + 1], high.lane, active);
}

void gp_isa_put_mask(struct gp_isa_wave *wave, u32 code, u64 mask)
{
	gp_isa_set_pair(wave, code, mask & gp_isa_exec(wave));
}
