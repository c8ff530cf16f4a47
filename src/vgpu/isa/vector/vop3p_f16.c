// SPDX-License-Identifier: MIT
/*
 * Packed f16, and fused multiply-adds of f32 with sources that may be halves. neg_lo and neg_hi
 * negate the halves that the lower and the upper result take. Inline constants are halves with
 * zeros above them.
 */
#include <math.h>

#include "vgpu/isa/vector/float.h"
#include "vgpu/isa/vector/vop3p.h"

struct numbers {
	_Alignas(32) float lane[GP_ISA_LANES];
};

typedef void half_op(struct numbers *out, const struct numbers *x);

static void negate_halves(struct gp_isa_row *row, bool negative)
{
	u32 flip = negative ? GP_ISA_SIGN16 : 0;

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		row->lane[lane] ^= flip;
}

static void split_signed(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
			 const struct gp_isa_inst *inst, u32 count, struct gp_isa_split *out)
{
	gp_isa_split_halves(runner, wave, inst, count, GP_ISA_F16, out);
	for (u32 n = 0; n < count; n++) {
		negate_halves(&out->low[n], inst->neg >> n & 1);
		negate_halves(&out->high[n], inst->abs >> n & 1);
	}
}

/* One result of the two: in f32, NaNs and clamp as the GPU has them, then rounded to f16. */
static void halves_compute(const struct gp_isa_wave *wave, const struct gp_isa_inst *inst,
			   half_op *op, const struct gp_isa_row *sources, u32 count,
			   struct gp_isa_row *out)
{
	struct numbers x[3] = {0}, sum;
	struct gp_isa_row bits;

	for (u32 n = 0; n < count; n++)
		gp_isa_widen(x[n].lane, sources[n].lane, wave->mode);
	op(&sum, x);
	memcpy(&bits, &sum, sizeof(bits));
	gp_isa_nans32(bits.lane, (const u32 *)x[0].lane, (const u32 *)x[1].lane,
		      count > 2 ? (const u32 *)x[2].lane : NULL);
	gp_isa_finish32(bits.lane, inst, wave->mode, GP_ISA_OF_F64);
	gp_isa_narrow(out->lane, (const float *)bits.lane, wave->mode);
}

static enum gp_isa_stop packed(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			       const struct gp_isa_inst *inst, half_op *op, u32 count)
{
	struct gp_isa_split x;
	struct gp_isa_row low, high;

	gp_isa_environment(runner, gp_isa_csr(wave->mode, GP_ISA_OF_F64, GP_ISA_OF_F64));
	split_signed(runner, wave, inst, count, &x);
	halves_compute(wave, inst, op, x.low, count, &low);
	halves_compute(wave, inst, op, x.high, count, &high);
	gp_isa_put_halves(wave, inst, &low, &high);
	return GP_ISA_RUNNING;
}

static void fma_halves(struct numbers *out, const struct numbers *x)
{
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		out->lane[lane] = gp_isa_odd(fma((double)x[0].lane[lane], (double)x[1].lane[lane],
						 (double)x[2].lane[lane]));
}

static void add_halves(struct numbers *out, const struct numbers *x)
{
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		out->lane[lane] = x[0].lane[lane] + x[1].lane[lane];
}

static void mul_halves(struct numbers *out, const struct numbers *x)
{
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		out->lane[lane] = x[0].lane[lane] * x[1].lane[lane];
}

enum gp_isa_stop gp_isa_pk_fma_f16(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				   const struct gp_isa_inst *inst)
{
	return packed(runner, wave, inst, fma_halves, 3);
}

enum gp_isa_stop gp_isa_pk_add_f16(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				   const struct gp_isa_inst *inst)
{
	return packed(runner, wave, inst, add_halves, 2);
}

enum gp_isa_stop gp_isa_pk_mul_f16(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				   const struct gp_isa_inst *inst)
{
	return packed(runner, wave, inst, mul_halves, 2);
}

/* -0 is less than +0. */
static inline s32 order_of(u32 half)
{
	return (int16_t)half < 0 ? (int16_t)(half ^ 0x7fff) : (int16_t)half;
}

static inline bool signals(u32 half)
{
	return gp_isa_is_nan16(half) && !(half & GP_ISA_QUIET16);
}

/* The smaller or larger; a NaN loses, but a signalling one wins in IEEE mode. */
static inline u32 extreme(u32 a, u32 b, bool largest, bool ieee)
{
	u32 number = (order_of(a) < order_of(b)) != largest ? a : b;

	if (ieee && signals(a))
		return a | GP_ISA_QUIET16;
	if (ieee && signals(b))
		return b | GP_ISA_QUIET16;
	if (gp_isa_is_nan16(a))
		return b;
	return gp_isa_is_nan16(b) ? a : number;
}

static void extremes(const struct gp_isa_wave *wave, const struct gp_isa_inst *inst, bool largest,
		     const struct gp_isa_row *sources, struct gp_isa_row *out)
{
	bool before = gp_isa_flushes_in(wave->mode, GP_ISA_OF_F64);
	bool after = gp_isa_flushes_out(wave->mode, GP_ISA_OF_F64);
	bool ieee = wave->mode & GP_ISA_MODE_IEEE;
	struct numbers wide;

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		u32 a = sources[0].lane[lane], b = sources[1].lane[lane], result;

		a = before ? gp_isa_flush16(a) : a;
		b = before ? gp_isa_flush16(b) : b;
		result = extreme(a, b, largest, ieee);
		out->lane[lane] = after ? gp_isa_flush16(result) : result;
	}
	if (!inst->clamp)
		return;
	gp_isa_widen(wide.lane, out->lane, wave->mode);
	gp_isa_finish32((u32 *)wide.lane, inst, wave->mode, GP_ISA_OF_F64);
	gp_isa_narrow(out->lane, wide.lane, wave->mode);
}

static enum gp_isa_stop packed_extremes(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
					const struct gp_isa_inst *inst, bool largest)
{
	struct gp_isa_split x;
	struct gp_isa_row low, high;

	gp_isa_environment(runner, gp_isa_csr(wave->mode, GP_ISA_OF_F64, GP_ISA_OF_F64));
	split_signed(runner, wave, inst, 2, &x);
	extremes(wave, inst, largest, x.low, &low);
	extremes(wave, inst, largest, x.high, &high);
	gp_isa_put_halves(wave, inst, &low, &high);
	return GP_ISA_RUNNING;
}

enum gp_isa_stop gp_isa_pk_min_f16(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				   const struct gp_isa_inst *inst)
{
	return packed_extremes(runner, wave, inst, false);
}

enum gp_isa_stop gp_isa_pk_max_f16(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				   const struct gp_isa_inst *inst)
{
	return packed_extremes(runner, wave, inst, true);
}

/* A source of v_fma_mix: op_sel_hi says that it is a half, op_sel which; neg_hi is its magnitude.
 */
static void mix_source(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
		       const struct gp_isa_inst *inst, u32 n, struct gp_isa_row *out)
{
	bool half = inst->opsel_hi >> n & 1;
	u32 shift = half && inst->opsel >> n & 1 ? 16 : 0;
	struct gp_isa_row room, part;
	const u32 *row =
		gp_isa_source32(runner, wave, inst, n, half ? GP_ISA_F16 : GP_ISA_F32, &room);

	if (half) {
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			part.lane[lane] = row[lane] >> shift & 0xffff;
		gp_isa_widen((float *)room.lane, part.lane, wave->mode);
		row = room.lane;
	}
	gp_isa_modify32(out->lane, row, inst->abs >> n & 1, inst->neg >> n & 1);
}

/* a * b + c in f32. */
static void mix(struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
		const struct gp_isa_inst *inst, struct gp_isa_row *out)
{
	struct gp_isa_row x[3];

	gp_isa_environment(runner, gp_isa_csr(wave->mode, GP_ISA_OF_F32, GP_ISA_OF_F32));
	for (u32 n = 0; n < 3; n++)
		mix_source(runner, wave, inst, n, &x[n]);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		out->lane[lane] =
			gp_isa_bits32(fmaf(gp_isa_f32(x[0].lane[lane]), gp_isa_f32(x[1].lane[lane]),
					   gp_isa_f32(x[2].lane[lane])));
	gp_isa_nans32(out->lane, x[0].lane, x[1].lane, x[2].lane);
	gp_isa_finish32(out->lane, inst, wave->mode, GP_ISA_OF_F32);
}

enum gp_isa_stop gp_isa_fma_mix_f32(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				    const struct gp_isa_inst *inst)
{
	struct gp_isa_row out;

	mix(runner, wave, inst, &out);
	gp_isa_put32(wave, inst, inst->dst, &out);
	return GP_ISA_RUNNING;
}

/* The result as a half in one half of the register; the other keeps what it has. */
static enum gp_isa_stop mix_half(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				 const struct gp_isa_inst *inst, u32 shift)
{
	const u32 *old = wave->v[inst->dst];
	struct gp_isa_row sum, out;
	u32 keep = ~(0xffffu << shift);

	mix(runner, wave, inst, &sum);
	gp_isa_environment(runner, gp_isa_csr(wave->mode, GP_ISA_OF_F64, GP_ISA_OF_F64));
	gp_isa_narrow(out.lane, (const float *)sum.lane, wave->mode);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		out.lane[lane] = (old[lane] & keep) | out.lane[lane] << shift;
	gp_isa_put32(wave, inst, inst->dst, &out);
	return GP_ISA_RUNNING;
}

enum gp_isa_stop gp_isa_fma_mixlo_f16(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				      const struct gp_isa_inst *inst)
{
	return mix_half(runner, wave, inst, 0);
}

enum gp_isa_stop gp_isa_fma_mixhi_f16(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				      const struct gp_isa_inst *inst)
{
	return mix_half(runner, wave, inst, 16);
}
