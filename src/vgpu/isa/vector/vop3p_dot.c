// SPDX-License-Identifier: MIT
/* Dot products of VOP3P; the arithmetic is in dot.h. op_sel matters for halves only. */
#include "vgpu/isa/vector/dot.h"
#include "vgpu/isa/vector/vop3p.h"

/* Sources 0 and 1 with the halves that op_sel and op_sel_hi choose. */
static void halves_chosen(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
			  const struct gp_isa_inst *inst, enum gp_isa_type type,
			  struct gp_isa_row out[2])
{
	struct gp_isa_split x;

	gp_isa_split_halves(runner, wave, inst, 2, type, &x);
	for (u32 n = 0; n < 2; n++)
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			out[n].lane[lane] = x.low[n].lane[lane] | x.high[n].lane[lane] << 16;
}

static inline float dot2(u32 a, u32 b, float c)
{
	float low = gp_isa_f16(a) * gp_isa_f16(b), high = gp_isa_f16(a >> 16) * gp_isa_f16(b >> 16);
	float sum = gp_isa_f32(gp_isa_flush32(gp_isa_bits32(c + low)));

	return sum + high;
}

void gp_isa_dot2_f32_f16(struct gp_isa_runner *runner, const u32 *a, const u32 *b, const u32 *c,
			 u32 *restrict out)
{
	bool flush = runner->gfx == GP_ISA_GFX90A;

	gp_isa_environment(runner, GP_ISA_CSR_PLAIN);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		u32 x = a[lane], y = b[lane], sum;

		if (flush) {
			x = gp_isa_flush16(x & 0xffff) | gp_isa_flush16(x >> 16) << 16;
			y = gp_isa_flush16(y & 0xffff) | gp_isa_flush16(y >> 16) << 16;
		}
		sum = gp_isa_bits32(dot2(x, y, gp_isa_f32(gp_isa_flush32(c[lane]))));
		out[lane] = gp_isa_is_nan32(sum) ? GP_ISA_NAN32 : gp_isa_flush32(sum);
	}
}

/* neg_lo and neg_hi negate halves of sources 0 and 1; of source 2 they are neg and abs. */
enum gp_isa_stop gp_isa_dot2_f32_f16_op(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
					const struct gp_isa_inst *inst)
{
	struct gp_isa_row x[2], c, room, out;

	halves_chosen(runner, wave, inst, GP_ISA_F16, x);
	for (u32 n = 0; n < 2; n++) {
		u32 flip = (inst->neg >> n & 1 ? GP_ISA_SIGN16 : 0) |
			   (inst->abs >> n & 1 ? GP_ISA_SIGN32 : 0);

		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			x[n].lane[lane] ^= flip;
	}
	gp_isa_modify32(c.lane, gp_isa_source32(runner, wave, inst, 2, GP_ISA_F32, &room),
			inst->abs >> 2 & 1, inst->neg >> 2 & 1);
	gp_isa_dot2_f32_f16(runner, x[0].lane, x[1].lane, c.lane, out.lane);
	gp_isa_finish32(out.lane, inst, wave->mode, GP_ISA_OF_F32);
	gp_isa_put32(wave, inst, inst->dst, &out);
	return GP_ISA_RUNNING;
}

static enum gp_isa_stop integers(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				 const struct gp_isa_inst *inst, u32 bits, bool is_signed)
{
	struct gp_isa_row halves[2], room[3], out;
	const u32 *a = halves[0].lane, *b = halves[1].lane;
	const u32 *c = gp_isa_source32(runner, wave, inst, 2, GP_ISA_B32, &room[2]);

	if (bits == 16) {
		halves_chosen(runner, wave, inst, GP_ISA_B32, halves);
	} else {
		a = gp_isa_source32(runner, wave, inst, 0, GP_ISA_B32, &room[0]);
		b = gp_isa_source32(runner, wave, inst, 1, GP_ISA_B32, &room[1]);
	}
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		out.lane[lane] =
			is_signed ? gp_isa_dot_s32(a[lane], b[lane], c[lane], bits, inst->clamp)
				  : gp_isa_dot_u32(a[lane], b[lane], c[lane], bits, inst->clamp);
	gp_isa_put32(wave, inst, inst->dst, &out);
	return GP_ISA_RUNNING;
}

enum gp_isa_stop gp_isa_dot2_i32_i16_op(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
					const struct gp_isa_inst *inst)
{
	return integers(runner, wave, inst, 16, true);
}

enum gp_isa_stop gp_isa_dot2_u32_u16_op(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
					const struct gp_isa_inst *inst)
{
	return integers(runner, wave, inst, 16, false);
}

enum gp_isa_stop gp_isa_dot4_i32_i8_op(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				       const struct gp_isa_inst *inst)
{
	return integers(runner, wave, inst, 8, true);
}

enum gp_isa_stop gp_isa_dot4_u32_u8_op(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				       const struct gp_isa_inst *inst)
{
	return integers(runner, wave, inst, 8, false);
}

enum gp_isa_stop gp_isa_dot8_i32_i4_op(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				       const struct gp_isa_inst *inst)
{
	return integers(runner, wave, inst, 4, true);
}

enum gp_isa_stop gp_isa_dot8_u32_u4_op(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				       const struct gp_isa_inst *inst)
{
	return integers(runner, wave, inst, 4, false);
}
