// SPDX-License-Identifier: MIT
/*
 * FLAT, GLOBAL and SCRATCH. A flat address whose upper half is that of an aperture goes to the
 * group's LDS or to the wave's private memory; the lanes of one instruction may go to all three.
 */
#include "vgpu/isa/memory/flat.h"

static const gp_isa_lanes *rows_of(const struct gp_isa_wave *wave, u32 code)
{
	return (const gp_isa_lanes *)&wave->v[gp_isa_row_of(code)];
}

/* Register pair, or base in scalar registers and an offset of 32 bits in a register. */
static void address(const struct gp_isa_wave *wave, const struct gp_isa_inst *inst,
		    struct gp_isa_row64 *at)
{
	const gp_isa_lanes *v = rows_of(wave, inst->src[0]);
	u64 offset = (u64)(s64)inst->memory.offset;

	if (inst->src[2] != GP_ISA_NO_OPERAND) {
		u64 base = gp_isa_pair(wave, inst->src[2]) + offset;

		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			at->lane[lane] = base + v[0][lane];
		return;
	}
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		at->lane[lane] = (v[0][lane] | (u64)v[1][lane] << 32) + offset;
}

/* Loads with the LDS bit: a dword of each lane at M0 + offset + 4 * lane. */
static void lds_put(struct gp_isa_wave *wave, const struct gp_isa_inst *inst, u64 lanes,
		    gp_isa_lanes *rows)
{
	u32 base = (wave->s[GP_ISA_M0] & 0x3fffc) + (u32)inst->memory.offset;

	gp_isa_extend(inst->op->shape, rows[0]);
	gp_isa_lds_fill(wave, base, lanes, (const gp_isa_lanes *)rows);
}

enum gp_isa_stop gp_isa_global_load(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				    const struct gp_isa_inst *inst)
{
	gp_isa_lanes out[GP_ISA_DWORDS_MAX];
	u64 lanes = gp_isa_exec(wave);
	struct gp_isa_row64 at;
	u32 bad;

	address(wave, inst, &at);
	bad = gp_isa_gather(runner, wave, &at, lanes, inst->op->shape & GP_ISA_BYTES, out);
	if (bad < GP_ISA_LANES)
		return GP_ISA_FAULT;
	if (inst->op->shape & GP_ISA_TO_LDS || inst->memory.lds)
		lds_put(wave, inst, lanes, out);
	else
		gp_isa_put_loaded(wave, inst->dst, inst->op->shape, lanes, out);
	return GP_ISA_RUNNING;
}

enum gp_isa_stop gp_isa_global_store(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				     const struct gp_isa_inst *inst)
{
	struct gp_isa_row64 at;
	gp_isa_lanes room;
	u32 bad;

	address(wave, inst, &at);
	bad = gp_isa_scatter(runner, wave, &at, gp_isa_exec(wave), inst->op->shape & GP_ISA_BYTES,
			     gp_isa_stored(wave, gp_isa_row_of(inst->src[1]), inst->op->shape,
					   &room));
	return bad < GP_ISA_LANES ? GP_ISA_FAULT : GP_ISA_RUNNING;
}

enum gp_isa_stop gp_isa_global_atomic(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				      const struct gp_isa_inst *inst)
{
	u32 shape = inst->op->shape, bad;
	u64 lanes = gp_isa_exec(wave);
	struct gp_isa_row64 at;
	gp_isa_lanes out[2];

	address(wave, inst, &at);
	bad = gp_isa_memory_atomic(runner, wave, &at, lanes, shape, rows_of(wave, inst->src[1]),
				   out);
	if (bad < GP_ISA_LANES)
		return GP_ISA_FAULT;
	if (inst->memory.glc)
		gp_isa_put_rows(wave, inst->dst, shape & GP_ISA_WIDE ? 2 : 1, lanes,
				(const gp_isa_lanes *)out);
	return GP_ISA_RUNNING;
}

/* ---- flat: three kinds of memory ---- */

struct places {
	struct gp_isa_row64 at;
	struct gp_isa_row low; /* address within an aperture */
	u64 memory, shared, own;
};

static void places_find(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
			const struct gp_isa_inst *inst, struct places *places)
{
	u64 shared = runner->host->shared_base >> 32, own = runner->host->private_base >> 32;
	u64 lanes = gp_isa_exec(wave), any = 0;

	address(wave, inst, &places->at);
	places->memory = lanes;
	places->shared = places->own = 0;
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		u64 high = places->at.lane[lane] >> 32;

		any |= (high == shared) | (high == own);
	}
	if (!any)
		return;
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		u64 high = places->at.lane[lane] >> 32;

		places->low.lane[lane] = (u32)places->at.lane[lane];
		places->shared |= (u64)(high == shared) << lane;
		places->own |= (u64)(high == own) << lane;
	}
	places->shared &= lanes;
	places->own &= lanes;
	places->memory &= ~(places->shared | places->own);
}

/* Of two results the lower lane, with its address. */
static u32 first_fault(struct gp_isa_wave *wave, u32 memory, u64 fault, u32 own)
{
	if (memory <= own)
		wave->fault = fault;
	return GP_MIN(memory, own);
}

static void rows_mix(gp_isa_lanes *out, const gp_isa_lanes *from, u32 rows, u64 lanes)
{
	for (; lanes; lanes &= lanes - 1) {
		u32 lane = (u32)__builtin_ctzll(lanes);

		for (u32 i = 0; i < rows; i++)
			out[i][lane] = from[i][lane];
	}
}

enum gp_isa_stop gp_isa_flat_load(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				  const struct gp_isa_inst *inst)
{
	u32 bytes = inst->op->shape & GP_ISA_BYTES, rows = gp_isa_dwords(bytes), bad, bad_own;
	gp_isa_lanes out[GP_ISA_DWORDS_MAX], part[GP_ISA_DWORDS_MAX];
	struct places places;
	u64 fault;

	places_find(runner, wave, inst, &places);
	bad = gp_isa_gather(runner, wave, &places.at, places.memory, bytes, out);
	fault = wave->fault;
	if (places.own) {
		bad_own = gp_isa_private_gather(runner, wave, &places.low, places.own, bytes, part);
		bad = first_fault(wave, bad, fault, bad_own);
		if (bad == GP_ISA_LANES)
			rows_mix(out, (const gp_isa_lanes *)part, rows, places.own);
	}
	if (bad < GP_ISA_LANES)
		return GP_ISA_FAULT;
	if (places.shared) {
		gp_isa_lds_gather(wave->group, places.low.lane, places.shared, bytes, part);
		rows_mix(out, (const gp_isa_lanes *)part, rows, places.shared);
	}
	gp_isa_put_loaded(wave, inst->dst, inst->op->shape, gp_isa_exec(wave), out);
	return GP_ISA_RUNNING;
}

enum gp_isa_stop gp_isa_flat_store(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				   const struct gp_isa_inst *inst)
{
	u32 bytes = inst->op->shape & GP_ISA_BYTES, bad;
	const gp_isa_lanes *in;
	struct places places;
	gp_isa_lanes room;
	u64 fault;

	places_find(runner, wave, inst, &places);
	in = gp_isa_stored(wave, gp_isa_row_of(inst->src[1]), inst->op->shape, &room);
	bad = gp_isa_scatter(runner, wave, &places.at, places.memory, bytes, in);
	fault = wave->fault;
	if (places.own)
		bad = first_fault(wave, bad, fault,
				  gp_isa_private_scatter(runner, wave, &places.low, places.own,
							 bytes, in));
	if (bad < GP_ISA_LANES)
		return GP_ISA_FAULT;
	gp_isa_lds_scatter(wave->group, places.low.lane, places.shared, bytes, in);
	return GP_ISA_RUNNING;
}

/* 64 bits of private memory are two dwords in different rows: such an atomic is refused. */
static enum gp_isa_stop own_atomic(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				   const struct gp_isa_inst *inst, const struct places *places,
				   gp_isa_lanes *out)
{
	struct gp_isa_row64 at;
	u32 bad;

	if (inst->op->shape & GP_ISA_WIDE)
		return GP_ISA_REFUSED;
	bad = gp_isa_private_address(runner, wave, &places->low, places->own, 4, &at);
	if (bad == GP_ISA_LANES)
		bad = gp_isa_memory_atomic(runner, wave, &at, places->own, inst->op->shape,
					   rows_of(wave, inst->src[1]), out);
	return bad < GP_ISA_LANES ? GP_ISA_FAULT : GP_ISA_RUNNING;
}

enum gp_isa_stop gp_isa_flat_atomic(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				    const struct gp_isa_inst *inst)
{
	u32 shape = inst->op->shape, rows = shape & GP_ISA_WIDE ? 2 : 1;
	const gp_isa_lanes *data = rows_of(wave, inst->src[1]);
	enum gp_isa_stop stop = GP_ISA_RUNNING;
	gp_isa_lanes out[2], part[2];
	struct places places;

	places_find(runner, wave, inst, &places);
	if (places.own)
		stop = own_atomic(runner, wave, inst, &places, out);
	if (stop == GP_ISA_RUNNING && places.shared) {
		if (gp_isa_lds_atomic(runner, wave, places.low.lane, places.shared, shape, data,
				      data + rows, part) < GP_ISA_LANES)
			stop = GP_ISA_FAULT;
		rows_mix(out, (const gp_isa_lanes *)part, rows, places.shared);
	}
	if (stop == GP_ISA_RUNNING && places.memory) {
		if (gp_isa_memory_atomic(runner, wave, &places.at, places.memory, shape, data,
					 part) < GP_ISA_LANES)
			stop = GP_ISA_FAULT;
		rows_mix(out, (const gp_isa_lanes *)part, rows, places.memory);
	}
	if (stop == GP_ISA_RUNNING && inst->memory.glc)
		gp_isa_put_rows(wave, inst->dst, rows, gp_isa_exec(wave),
				(const gp_isa_lanes *)out);
	return stop;
}

/* ---- scratch ---- */

static void own_address(const struct gp_isa_wave *wave, const struct gp_isa_inst *inst,
			struct gp_isa_row *at)
{
	u32 base = (u32)inst->memory.offset;

	if (inst->src[2] != GP_ISA_NO_OPERAND)
		base += wave->s[inst->src[2]];
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		at->lane[lane] = base;
	if (inst->src[0] != GP_ISA_NO_OPERAND)
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			at->lane[lane] += (*rows_of(wave, inst->src[0]))[lane];
}

enum gp_isa_stop gp_isa_scratch_load(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				     const struct gp_isa_inst *inst)
{
	gp_isa_lanes out[GP_ISA_DWORDS_MAX];
	u64 lanes = gp_isa_exec(wave);
	struct gp_isa_row at;
	u32 bad;

	own_address(wave, inst, &at);
	bad = gp_isa_private_gather(runner, wave, &at, lanes, inst->op->shape & GP_ISA_BYTES, out);
	if (bad < GP_ISA_LANES)
		return GP_ISA_FAULT;
	if (inst->op->shape & GP_ISA_TO_LDS)
		lds_put(wave, inst, lanes, out);
	else
		gp_isa_put_loaded(wave, inst->dst, inst->op->shape, lanes, out);
	return GP_ISA_RUNNING;
}

enum gp_isa_stop gp_isa_scratch_store(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				      const struct gp_isa_inst *inst)
{
	struct gp_isa_row at;
	gp_isa_lanes room;
	u32 bad;

	own_address(wave, inst, &at);
	bad = gp_isa_private_scatter(runner, wave, &at, gp_isa_exec(wave),
				     inst->op->shape & GP_ISA_BYTES,
				     gp_isa_stored(wave, gp_isa_row_of(inst->src[1]),
						   inst->op->shape, &room));
	return bad < GP_ISA_LANES ? GP_ISA_FAULT : GP_ISA_RUNNING;
}
