// SPDX-License-Identifier: MIT
/* The executor of vector operations: sources as the shape says, the function, the result. */
#include "vgpu/isa/vector/vop.h"

/* Either width of lanes. */
union room {
	struct gp_isa_row narrow;
	struct gp_isa_row64 wide;
};

static const struct gp_isa_row64 zeros;

/* MODE's setting by kind, + 1; 0: not a float. */
static const u8 setting_of[16] = {
	[GP_ISA_K_H16] = GP_ISA_OF_F64 + 1,
	[GP_ISA_K_F16] = GP_ISA_OF_F64 + 1,
	[GP_ISA_K_F32] = GP_ISA_OF_F32 + 1,
	[GP_ISA_K_F64] = GP_ISA_OF_F64 + 1,
};

static enum gp_isa_kind kind_of(u32 shape, u32 operand)
{
	return (enum gp_isa_kind)(shape >> (operand * 4) & 0xf);
}

/* The row of a 32-bit or 16-bit source before its kind is applied. */
static const u32 *source_row(const struct gp_isa_rows *rows, const struct gp_isa_wave *wave, u32 n,
			     enum gp_isa_type type, struct gp_isa_row *room)
{
	if (n == 2 && rows->inst->op->flags & GP_ISA_ACCUMULATES)
		return wave->v[rows->inst->dst];
	return gp_isa_source32(rows->runner, wave, rows->inst, n, type, room);
}

static const void *source_half(const struct gp_isa_rows *rows, const struct gp_isa_wave *wave,
			       u32 n, enum gp_isa_kind kind, union room *room)
{
	bool abs = rows->inst->abs >> n & 1, neg = rows->inst->neg >> n & 1;
	enum gp_isa_type type = setting_of[kind] ? GP_ISA_F16 : GP_ISA_B16;
	u32 keep = abs ? 0x7fff : 0xffff, flip = neg ? 0x8000 : 0;
	struct gp_isa_row halves;
	const u32 *row = source_row(rows, wave, n, type, &halves);
	u32 *out = room->narrow.lane;

	switch (kind) {
	case GP_ISA_K_I16:
		for (u32 i = 0; i < GP_ISA_LANES; i++)
			out[i] = (u32)((s32)(row[i] << 16) >> 16);
		break;
	case GP_ISA_K_H16:
		for (u32 i = 0; i < GP_ISA_LANES; i++)
			out[i] = (row[i] & keep) ^ flip;
		break;
	case GP_ISA_K_F16:
		if (abs || neg) {
			for (u32 i = 0; i < GP_ISA_LANES; i++)
				halves.lane[i] = (row[i] & keep) ^ flip;
			row = halves.lane;
		}
		gp_isa_widen((gp_isa_single *)out, row, rows->mode);
		break;
	default:
		for (u32 i = 0; i < GP_ISA_LANES; i++)
			out[i] = row[i] & 0xffff;
	}
	return out;
}

static const void *source_wide(const struct gp_isa_rows *rows, const struct gp_isa_wave *wave,
			       u32 n, enum gp_isa_kind kind, union room *room)
{
	const struct gp_isa_inst *inst = rows->inst;
	bool abs = inst->abs >> n & 1, neg = inst->neg >> n & 1;

	if (n == 2 && inst->op->flags & GP_ISA_ACCUMULATES)
		for (u32 i = 0; i < GP_ISA_LANES; i++)
			room->wide.lane[i] = wave->v[inst->dst][i] | (u64)wave->v[inst->dst + 1][i]
									     << 32;
	else
		gp_isa_source64(rows->runner, wave, inst, n,
				kind == GP_ISA_K_F64 ? GP_ISA_F64 : GP_ISA_B64, &room->wide);
	if (kind == GP_ISA_K_F64 && (abs || neg))
		gp_isa_modify64(room->wide.lane, abs, neg);
	return room->wide.lane;
}

static const void *source_fetch(struct gp_isa_rows *rows, const struct gp_isa_wave *wave, u32 n,
				enum gp_isa_kind kind, union room *room)
{
	const struct gp_isa_inst *inst = rows->inst;
	bool abs = inst->abs >> n & 1, neg = inst->neg >> n & 1;
	struct gp_isa_row plain;

	switch (kind) {
	case GP_ISA_K_NONE:
		return zeros.lane;
	case GP_ISA_K_B32:
		return source_row(rows, wave, n, GP_ISA_B32, &room->narrow);
	case GP_ISA_K_F32:
		if (!abs && !neg)
			return source_row(rows, wave, n, GP_ISA_F32, &room->narrow);
		gp_isa_modify32(room->narrow.lane, source_row(rows, wave, n, GP_ISA_F32, &plain),
				abs, neg);
		return room->narrow.lane;
	case GP_ISA_K_B64:
	case GP_ISA_K_F64:
		return source_wide(rows, wave, n, kind, room);
	case GP_ISA_K_MASK:
		rows->mask = gp_isa_scalar64(rows->runner, wave, inst, inst->src[n], GP_ISA_B64);
		return zeros.lane;
	default:
		return source_half(rows, wave, n, kind, room);
	}
}

/* Rounding as the result has it, denormal sources as the first float among the sources. */
static void environment_set(const struct gp_isa_rows *rows, u32 shape)
{
	u32 out = setting_of[kind_of(shape, 0)], in = setting_of[kind_of(shape, 1)];

	if (!in)
		in = out;
	if (!out)
		out = in;
	if (!in)
		return;
	gp_isa_environment(rows->runner, gp_isa_csr(rows->mode, in - 1, out - 1));
}

/* 16 bits into the half that op_sel names; the other half is kept, or zero. */
static void put_half(struct gp_isa_wave *wave, const struct gp_isa_inst *inst,
		     struct gp_isa_row *value)
{
	const u32 *old = wave->v[inst->dst];

	for (u32 i = 0; i < GP_ISA_LANES; i++)
		value->lane[i] &= 0xffff;
	if (inst->op->flags & GP_ISA_KEEPS_HALF && inst->extra != GP_ISA_SDWA) {
		u32 shift = inst->opsel & 8 ? 16 : 0;

		for (u32 i = 0; i < GP_ISA_LANES; i++)
			value->lane[i] = value->lane[i] << shift | (old[i] & 0xffff0000 >> shift);
	}
	gp_isa_put32(wave, inst, inst->dst, value);
}

static void put_f16(struct gp_isa_wave *wave, const struct gp_isa_inst *inst, u32 mode, u32 *values)
{
	struct gp_isa_row halves;

	if (inst->omod || inst->clamp)
		gp_isa_finish32(values, inst, mode, GP_ISA_OF_F64);
	gp_isa_narrow(halves.lane, (gp_isa_single *)values, mode);
	put_half(wave, inst, &halves);
}

static void put_mask(struct gp_isa_wave *wave, const struct gp_isa_inst *inst, u64 mask)
{
	mask &= gp_isa_active(wave, inst);
	gp_isa_set_pair(wave, inst->dst, mask);
	if (inst->op->flags & GP_ISA_CMPX)
		gp_isa_set_pair(wave, GP_ISA_EXEC, mask);
}

static void result_put(struct gp_isa_wave *wave, const struct gp_isa_rows *rows,
		       enum gp_isa_kind kind, union room *out)
{
	const struct gp_isa_inst *inst = rows->inst;
	bool changed = inst->omod || inst->clamp;
	struct gp_isa_row wide;

	switch (kind) {
	case GP_ISA_K_U16:
	case GP_ISA_K_I16:
		put_half(wave, inst, &out->narrow);
		break;
	case GP_ISA_K_H16:
		if (changed) {
			gp_isa_widen((gp_isa_single *)wide.lane, out->narrow.lane, rows->mode);
			put_f16(wave, inst, rows->mode, wide.lane);
		} else {
			put_half(wave, inst, &out->narrow);
		}
		break;
	case GP_ISA_K_F16:
		put_f16(wave, inst, rows->mode, out->narrow.lane);
		break;
	case GP_ISA_K_F64:
		if (changed)
			gp_isa_finish64(out->wide.lane, inst, rows->mode);
		gp_isa_put64(wave, inst, inst->dst, &out->wide);
		break;
	case GP_ISA_K_B64:
		gp_isa_put64(wave, inst, inst->dst, &out->wide);
		break;
	case GP_ISA_K_MASK:
		put_mask(wave, inst, rows->mask);
		break;
	case GP_ISA_K_F32:
		if (changed)
			gp_isa_finish32(out->narrow.lane, inst, rows->mode, GP_ISA_OF_F32);
		/* fall through */
	default:
		gp_isa_put32(wave, inst, inst->dst, &out->narrow);
	}
}

enum gp_isa_stop gp_isa_vector(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			       const struct gp_isa_inst *inst)
{
	u32 shape = inst->op->shape;
	struct gp_isa_rows rows;
	union room room[3], out;

	rows.out = &out;
	rows.mask = gp_isa_pair(wave, GP_ISA_VCC); /* of v_div_fmas */
	rows.mode = wave->mode;
	if (inst->op->flags & GP_ISA_FLUSHES)
		rows.mode &= ~(GP_ISA_MODE_DENORM_32 | GP_ISA_MODE_DENORM_64);
	rows.runner = runner;
	rows.inst = inst;
	for (u32 n = 0; n < 3; n++)
		rows.source[n] = source_fetch(&rows, wave, n, kind_of(shape, n + 1), &room[n]);
	environment_set(&rows, shape);
	inst->op->rows(&rows);
	result_put(wave, &rows, kind_of(shape, 0), &out);
	if (inst->op->flags & GP_ISA_CARRIES)
		gp_isa_put_mask(wave, inst->sdst, rows.mask & gp_isa_active(wave, inst));
	return GP_ISA_RUNNING;
}
