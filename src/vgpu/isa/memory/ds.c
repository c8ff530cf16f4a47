// SPDX-License-Identifier: MIT
/*
 * DS: loads, stores and atomics of the group's LDS. The address of a lane is its register plus the
 * offset, which wraps at 32 bits; M0 is no limit on these GPUs. There is no GDS: the bit is
 * refused.
 */
#include "vgpu/isa/memory/ds.h"

static const gp_isa_lanes *rows_of(const struct gp_isa_wave *wave, u32 code)
{
	return (const gp_isa_lanes *)&wave->v[gp_isa_row_of(code)];
}

static void address(const struct gp_isa_wave *wave, const struct gp_isa_inst *inst, u32 offset,
		    gp_isa_lanes at)
{
	const u32 *base = *rows_of(wave, inst->src[0]);

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		at[lane] = base[lane] + offset;
}

/* Address n of an operation with two. */
static void address_of_two(const struct gp_isa_wave *wave, const struct gp_isa_inst *inst, u32 n,
			   gp_isa_lanes at)
{
	u32 unit = inst->op->shape & GP_ISA_BYTES;
	u32 offset = (u32)inst->memory.offset >> 8 * n & 0xff;

	address(wave, inst, offset * unit * (inst->op->shape & GP_ISA_ST64 ? 64 : 1), at);
}

enum gp_isa_stop gp_isa_ds_read(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				const struct gp_isa_inst *inst)
{
	gp_isa_lanes out[GP_ISA_DWORDS_MAX], at;
	u64 lanes = gp_isa_exec(wave);

	(void)runner;
	if (inst->memory.gds)
		return GP_ISA_REFUSED;
	address(wave, inst, (u32)inst->memory.offset, at);
	gp_isa_lds_gather(wave->group, at, lanes, inst->op->shape & GP_ISA_BYTES, out);
	gp_isa_put_loaded(wave, inst->dst, inst->op->shape, lanes, out);
	return GP_ISA_RUNNING;
}

enum gp_isa_stop gp_isa_ds_write(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				 const struct gp_isa_inst *inst)
{
	gp_isa_lanes at, room;

	(void)runner;
	if (inst->memory.gds)
		return GP_ISA_REFUSED;
	address(wave, inst, (u32)inst->memory.offset, at);
	gp_isa_lds_scatter(wave->group, at, gp_isa_exec(wave), inst->op->shape & GP_ISA_BYTES,
			   gp_isa_stored(wave, gp_isa_row_of(inst->src[1]), inst->op->shape,
					 &room));
	return GP_ISA_RUNNING;
}

enum gp_isa_stop gp_isa_ds_read2(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				 const struct gp_isa_inst *inst)
{
	u32 bytes = inst->op->shape & GP_ISA_BYTES, dwords = gp_isa_dwords(bytes);
	gp_isa_lanes out[GP_ISA_DWORDS_MAX], at;
	u64 lanes = gp_isa_exec(wave);

	(void)runner;
	if (inst->memory.gds)
		return GP_ISA_REFUSED;
	for (u32 n = 0; n < 2; n++) {
		address_of_two(wave, inst, n, at);
		gp_isa_lds_gather(wave->group, at, lanes, bytes, &out[n * dwords]);
	}
	gp_isa_put_rows(wave, inst->dst, 2 * dwords, lanes, (const gp_isa_lanes *)out);
	return GP_ISA_RUNNING;
}

/* Equal offsets mean one address: only the first data are written. */
enum gp_isa_stop gp_isa_ds_write2(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				  const struct gp_isa_inst *inst)
{
	u32 offset = (u32)inst->memory.offset, count = (offset & 0xff) == offset >> 8 ? 1 : 2;
	gp_isa_lanes at;

	(void)runner;
	if (inst->memory.gds)
		return GP_ISA_REFUSED;
	for (u32 n = 0; n < count; n++) {
		address_of_two(wave, inst, n, at);
		gp_isa_lds_scatter(wave->group, at, gp_isa_exec(wave),
				   inst->op->shape & GP_ISA_BYTES, rows_of(wave, inst->src[1 + n]));
	}
	return GP_ISA_RUNNING;
}

/* A compare-and-store has what is compared in the first data, other than in the other formats. */
enum gp_isa_stop gp_isa_ds_atomic(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				  const struct gp_isa_inst *inst)
{
	u32 shape = inst->op->shape, atomic = shape & GP_ISA_ATOMIC, bad;
	bool compares = atomic == GP_ISA_CMPSWAP || atomic == GP_ISA_CMPSWAP_F;
	const gp_isa_lanes *first = rows_of(wave, inst->src[1]);
	const gp_isa_lanes *second = rows_of(wave, inst->src[2]);
	gp_isa_lanes out[2], at;
	u64 lanes = gp_isa_exec(wave);

	if (inst->memory.gds)
		return GP_ISA_REFUSED;
	address(wave, inst, (u32)inst->memory.offset, at);
	bad = gp_isa_lds_atomic(runner, wave, at, lanes, shape, compares ? second : first,
				compares ? first : second, out);
	if (bad < GP_ISA_LANES)
		return GP_ISA_FAULT;
	if (shape & GP_ISA_RETURNS)
		gp_isa_put_rows(wave, inst->dst, shape & GP_ISA_WIDE ? 2 : 1, lanes,
				(const gp_isa_lanes *)out);
	return GP_ISA_RUNNING;
}

/* ds_wrxchg2: each lane reads both places, then writes both, before the next lane. */
enum gp_isa_stop gp_isa_ds_exchange2(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				     const struct gp_isa_inst *inst)
{
	u32 bytes = inst->op->shape & GP_ISA_BYTES, dwords = gp_isa_dwords(bytes);
	gp_isa_lanes out[GP_ISA_DWORDS_MAX], old[GP_ISA_DWORDS_MAX], at[2];
	u64 lanes = gp_isa_exec(wave);

	(void)runner;
	if (inst->memory.gds)
		return GP_ISA_REFUSED;
	for (u32 n = 0; n < 2; n++)
		address_of_two(wave, inst, n, at[n]);
	for (u64 rest = lanes; rest; rest &= rest - 1) {
		u32 lane = (u32)__builtin_ctzll(rest);

		for (u32 n = 0; n < 2; n++)
			gp_isa_lds_gather(wave->group, at[n], 1ull << lane, bytes,
					  &old[n * dwords]);
		for (u32 n = 0; n < 2; n++)
			gp_isa_lds_scatter(wave->group, at[n], 1ull << lane, bytes,
					   rows_of(wave, inst->src[1 + n]));
		for (u32 i = 0; i < 2 * dwords; i++)
			out[i][lane] = old[i][lane];
	}
	gp_isa_put_rows(wave, inst->dst, 2 * dwords, lanes, (const gp_isa_lanes *)out);
	return GP_ISA_RUNNING;
}

/* ds_condxchg32_rtn_b64: each of two dwords is written if its data have the top bit, without it. */
enum gp_isa_stop gp_isa_ds_exchange_marked(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
					   const struct gp_isa_inst *inst)
{
	const gp_isa_lanes *data = rows_of(wave, inst->src[1]);
	gp_isa_lanes out[2], old[1], at, value;
	u64 lanes = gp_isa_exec(wave);

	(void)runner;
	if (inst->memory.gds)
		return GP_ISA_REFUSED;
	for (u32 n = 0; n < 2; n++) {
		address(wave, inst, (u32)inst->memory.offset, at);
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			at[lane] = (at[lane] & 0xfff8) + 4 * n;
			value[lane] = data[n][lane] & 0x7fffffff;
		}
		for (u64 rest = lanes; rest; rest &= rest - 1) {
			u32 lane = (u32)__builtin_ctzll(rest);

			gp_isa_lds_gather(wave->group, at, 1ull << lane, 4, old);
			out[n][lane] = old[0][lane];
			if (data[n][lane] >> 31)
				gp_isa_lds_scatter(wave->group, at, 1ull << lane, 4,
						   (const gp_isa_lanes *)&value);
		}
	}
	gp_isa_put_rows(wave, inst->dst, 2, lanes, (const gp_isa_lanes *)out);
	return GP_ISA_RUNNING;
}

/* Address of an operation that has none in registers: M0 is the base. */
static u32 base_of(const struct gp_isa_wave *wave, const struct gp_isa_inst *inst)
{
	return (wave->s[GP_ISA_M0] & 0xffff) + (u32)inst->memory.offset;
}

enum gp_isa_stop gp_isa_ds_read_own(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				    const struct gp_isa_inst *inst)
{
	u64 lanes = gp_isa_exec(wave);
	gp_isa_lanes at, out[1];

	(void)runner;
	if (inst->memory.gds)
		return GP_ISA_REFUSED;
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		at[lane] = base_of(wave, inst) + 4 * lane;
	gp_isa_lds_gather(wave->group, at, lanes, 4, out);
	gp_isa_put_rows(wave, inst->dst, 1, lanes, (const gp_isa_lanes *)out);
	return GP_ISA_RUNNING;
}

enum gp_isa_stop gp_isa_ds_write_own(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				     const struct gp_isa_inst *inst)
{
	(void)runner;
	if (inst->memory.gds)
		return GP_ISA_REFUSED;
	gp_isa_lds_fill(wave, base_of(wave, inst), gp_isa_exec(wave), rows_of(wave, inst->src[1]));
	return GP_ISA_RUNNING;
}

/* Adds to one dword and gives all lanes its value before. */
static enum gp_isa_stop count_lanes(struct gp_isa_wave *wave, const struct gp_isa_inst *inst,
				    bool take)
{
	u64 lanes = gp_isa_exec(wave);
	u32 count = (u32)__builtin_popcountll(lanes);
	gp_isa_lanes at, value[1];

	if (inst->memory.gds)
		return GP_ISA_REFUSED;
	if (!lanes)
		return GP_ISA_RUNNING;
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		at[lane] = base_of(wave, inst) & ~3u;
	gp_isa_lds_gather(wave->group, at, lanes, 4, value);
	gp_isa_put_rows(wave, inst->dst, 1, lanes, (const gp_isa_lanes *)value);
	value[0][0] += take ? -count : count;
	gp_isa_lds_scatter(wave->group, at, 1, 4, (const gp_isa_lanes *)value);
	return GP_ISA_RUNNING;
}

enum gp_isa_stop gp_isa_ds_append(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				  const struct gp_isa_inst *inst)
{
	(void)runner;
	return count_lanes(wave, inst, false);
}

enum gp_isa_stop gp_isa_ds_consume(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				   const struct gp_isa_inst *inst)
{
	(void)runner;
	return count_lanes(wave, inst, true);
}
