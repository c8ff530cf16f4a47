// SPDX-License-Identifier: MIT
/*
 * Packed f32 and moves of two words: sources are pairs of registers, of which op_sel chooses the
 * word for the lower result and op_sel_hi that for the upper one. And v_accvgpr_*.
 */
#include <math.h>

#include "vgpu/isa/vector/float.h"
#include "vgpu/isa/vector/vop3p.h"

/* The two words of a source. An inline constant is the lower word; above it are zeros, or the sign
 * of an integer. */
static void words_of(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
		     const struct gp_isa_inst *inst, u32 n, struct gp_isa_row words[2])
{
	struct gp_isa_row64 pair;

	if (inst->src[n] >= GP_ISA_SCALARS && inst->src[n] < GP_ISA_VGPR) {
		u32 low = gp_isa_scalar32(runner, wave, inst, inst->src[n], GP_ISA_F32);
		bool negative = inst->src[n] > 192 && inst->src[n] <= 208;

		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			words[0].lane[lane] = low;
			words[1].lane[lane] = negative ? ~0u : 0;
		}
		return;
	}
	gp_isa_source64(runner, wave, inst, n, GP_ISA_B64, &pair);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		words[0].lane[lane] = (u32)pair.lane[lane];
		words[1].lane[lane] = (u32)(pair.lane[lane] >> 32);
	}
}

static void put_words(struct gp_isa_wave *wave, const struct gp_isa_inst *inst,
		      const struct gp_isa_row *low, const struct gp_isa_row *high)
{
	struct gp_isa_row64 pair;

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		pair.lane[lane] = low->lane[lane] | (u64)high->lane[lane] << 32;
	gp_isa_put64(wave, inst, inst->dst, &pair);
}

static void split_words(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
			const struct gp_isa_inst *inst, u32 count, struct gp_isa_split *out)
{
	for (u32 n = 0; n < count; n++) {
		struct gp_isa_row words[2];

		words_of(runner, wave, inst, n, words);
		gp_isa_modify32(out->low[n].lane, words[inst->opsel >> n & 1].lane, false,
				inst->neg >> n & 1);
		gp_isa_modify32(out->high[n].lane, words[inst->opsel_hi >> n & 1].lane, false,
				inst->abs >> n & 1);
	}
}

typedef void word_op(struct gp_isa_row *out, const struct gp_isa_row *x);

static void words_compute(const struct gp_isa_wave *wave, const struct gp_isa_inst *inst,
			  word_op *op, const struct gp_isa_row *x, u32 count,
			  struct gp_isa_row *out)
{
	op(out, x);
	gp_isa_nans32(out->lane, x[0].lane, x[1].lane, count > 2 ? x[2].lane : NULL);
	gp_isa_finish32(out->lane, inst, wave->mode, GP_ISA_OF_F32);
}

static enum gp_isa_stop packed(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			       const struct gp_isa_inst *inst, word_op *op, u32 count)
{
	struct gp_isa_split x;
	struct gp_isa_row low, high;

	gp_isa_environment(runner, gp_isa_csr(wave->mode, GP_ISA_OF_F32, GP_ISA_OF_F32));
	split_words(runner, wave, inst, count, &x);
	words_compute(wave, inst, op, x.low, count, &low);
	words_compute(wave, inst, op, x.high, count, &high);
	put_words(wave, inst, &low, &high);
	return GP_ISA_RUNNING;
}

static void fma_words(struct gp_isa_row *out, const struct gp_isa_row *x)
{
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		out->lane[lane] =
			gp_isa_bits32(fmaf(gp_isa_f32(x[0].lane[lane]), gp_isa_f32(x[1].lane[lane]),
					   gp_isa_f32(x[2].lane[lane])));
}

static void mul_words(struct gp_isa_row *out, const struct gp_isa_row *x)
{
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		out->lane[lane] =
			gp_isa_bits32(gp_isa_f32(x[0].lane[lane]) * gp_isa_f32(x[1].lane[lane]));
}

static void add_words(struct gp_isa_row *out, const struct gp_isa_row *x)
{
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		out->lane[lane] =
			gp_isa_bits32(gp_isa_f32(x[0].lane[lane]) + gp_isa_f32(x[1].lane[lane]));
}

enum gp_isa_stop gp_isa_pk_fma_f32(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				   const struct gp_isa_inst *inst)
{
	return packed(runner, wave, inst, fma_words, 3);
}

enum gp_isa_stop gp_isa_pk_mul_f32(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				   const struct gp_isa_inst *inst)
{
	return packed(runner, wave, inst, mul_words, 2);
}

enum gp_isa_stop gp_isa_pk_add_f32(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				   const struct gp_isa_inst *inst)
{
	return packed(runner, wave, inst, add_words, 2);
}

/* One word of src0 below one of src1; op_sel_hi and the modifiers mean nothing. */
enum gp_isa_stop gp_isa_pk_mov_b32(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				   const struct gp_isa_inst *inst)
{
	struct gp_isa_row low[2], high[2];

	words_of(runner, wave, inst, 0, low);
	words_of(runner, wave, inst, 1, high);
	put_words(wave, inst, &low[inst->opsel & 1], &high[inst->opsel >> 1 & 1]);
	return GP_ISA_RUNNING;
}

/* a0 to a255 are the second half of the rows, whatever the encoding says. */
static u32 accumulator(u32 row)
{
	return row % GP_ISA_VECTORS + GP_ISA_VECTORS;
}

enum gp_isa_stop gp_isa_accvgpr_read(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				     const struct gp_isa_inst *inst)
{
	struct gp_isa_row value;

	(void)runner;
	if (inst->src[0] < GP_ISA_VGPR)
		return GP_ISA_ILLEGAL;
	memcpy(&value, wave->v[accumulator(gp_isa_row_indexed(wave, inst->src[0], 0))],
	       sizeof(value));
	gp_isa_put32(wave, inst, inst->dst, &value);
	return GP_ISA_RUNNING;
}

enum gp_isa_stop gp_isa_accvgpr_write(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				      const struct gp_isa_inst *inst)
{
	struct gp_isa_row room, value;

	memcpy(&value, gp_isa_source32(runner, wave, inst, 0, GP_ISA_B32, &room), sizeof(value));
	gp_isa_put32(wave, inst, accumulator(inst->dst), &value);
	return GP_ISA_RUNNING;
}
