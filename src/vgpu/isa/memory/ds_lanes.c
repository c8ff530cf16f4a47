// SPDX-License-Identifier: MIT
/* DS operations that move data between lanes and touch no memory. A lane that is off is read as
 * 0. */
#include "vgpu/isa/memory/ds.h"

#define GROUP         32 /* lanes that a swizzle moves data among */
#define SWIZZLE_FFT   0xe000
#define SWIZZLE_TURN  0xc000
#define SWIZZLE_QUADS 0x8000

static u32 bits_reversed(u32 lane)
{
	return (lane & 1) << 4 | (lane & 2) << 2 | (lane & 4) | (lane & 8) >> 2 | (lane & 16) >> 4;
}

/* The lane of the same 32 that this one reads. */
static u32 swizzle_source(u32 offset, u32 lane)
{
	u32 mask = offset & 0x1f, field = offset >> 5 & 0x1f;

	if (offset >= SWIZZLE_FFT)
		return bits_reversed(lane) >> __builtin_popcount(mask) | (lane & mask);
	if (offset >= SWIZZLE_TURN) {
		u32 turn = offset >> 10 & 1 ? GROUP - field : field;

		return ((lane & mask) | ((lane + turn) & ~mask)) % GROUP;
	}
	if (offset >= SWIZZLE_QUADS)
		return (lane & ~3u) | (offset >> lane % 4 * 2 & 3);
	return ((lane & mask) | field) ^ (offset >> 10 & 0x1f);
}

enum gp_isa_stop gp_isa_ds_swizzle(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				   const struct gp_isa_inst *inst)
{
	const u32 *in = wave->v[gp_isa_row_of(inst->src[0])];
	u64 lanes = gp_isa_exec(wave);
	gp_isa_lanes out[1];

	(void)runner;
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		u32 from = swizzle_source((u32)inst->memory.offset, lane % GROUP) | (lane & GROUP);

		out[0][lane] = gp_isa_on(lanes, from) ? in[from] : 0;
	}
	gp_isa_put_rows(wave, inst->dst, 1, lanes, (const gp_isa_lanes *)out);
	return GP_ISA_RUNNING;
}

/* The lane that an address names. */
static u32 lane_at(const u32 *at, const struct gp_isa_inst *inst, u32 lane)
{
	return (at[lane] + (u32)inst->memory.offset) / 4 % GP_ISA_LANES;
}

/* Each lane sends; of several to one lane the last wins. */
enum gp_isa_stop gp_isa_ds_permute(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				   const struct gp_isa_inst *inst)
{
	const u32 *at = wave->v[gp_isa_row_of(inst->src[0])];
	const u32 *in = wave->v[gp_isa_row_of(inst->src[1])];
	u64 lanes = gp_isa_exec(wave);
	gp_isa_lanes out[1] = {0};

	(void)runner;
	for (u64 rest = lanes; rest; rest &= rest - 1) {
		u32 lane = (u32)__builtin_ctzll(rest);

		out[0][lane_at(at, inst, lane)] = in[lane];
	}
	gp_isa_put_rows(wave, inst->dst, 1, lanes, (const gp_isa_lanes *)out);
	return GP_ISA_RUNNING;
}

/* Each lane fetches. */
enum gp_isa_stop gp_isa_ds_bpermute(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				    const struct gp_isa_inst *inst)
{
	const u32 *at = wave->v[gp_isa_row_of(inst->src[0])];
	const u32 *in = wave->v[gp_isa_row_of(inst->src[1])];
	u64 lanes = gp_isa_exec(wave);
	gp_isa_lanes out[1];

	(void)runner;
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		u32 from = lane_at(at, inst, lane);

		out[0][lane] = gp_isa_on(lanes, from) ? in[from] : 0;
	}
	gp_isa_put_rows(wave, inst->dst, 1, lanes, (const gp_isa_lanes *)out);
	return GP_ISA_RUNNING;
}

enum gp_isa_stop gp_isa_ds_nop(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			       const struct gp_isa_inst *inst)
{
	(void)runner;
	(void)wave;
	(void)inst;
	return GP_ISA_RUNNING;
}
