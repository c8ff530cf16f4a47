/* SPDX-License-Identifier: MIT */
/*
 * Dot products of packed numbers, one lane each: of VOP3P (v_dot4_i32_i8) and VOP2 (v_dot4c_i32_i8,
 * which adds to its destination). Integers are added exactly; a sum beyond 32 bits saturates with
 * clamp and wraps without. Private to vgpu/isa.
 */
#ifndef GP_VGPU_ISA_DOT_H
#define GP_VGPU_ISA_DOT_H

#include "vgpu/isa/vector/float.h"

static inline u32 gp_isa_dot_end_s32(s64 sum, bool clamp)
{
	s64 high = sum > INT32_MAX ? INT32_MAX : sum, in = high < INT32_MIN ? INT32_MIN : high;

	return clamp ? (u32)in : (u32)sum;
}

static inline u32 gp_isa_dot_end_u32(u64 sum, bool clamp)
{
	return clamp && sum > UINT32_MAX ? UINT32_MAX : (u32)sum;
}

/* Signed parts of `bits` each. */
static inline u32 gp_isa_dot_s32(u32 a, u32 b, u32 c, u32 bits, bool clamp)
{
	s64 sum = (s32)c;

	for (u32 shift = 0; shift < 32; shift += bits)
		sum += (s64)((s32)(a << (32 - bits - shift)) >> (32 - bits)) *
		       ((s32)(b << (32 - bits - shift)) >> (32 - bits));
	return gp_isa_dot_end_s32(sum, clamp);
}

static inline u32 gp_isa_dot_u32(u32 a, u32 b, u32 c, u32 bits, bool clamp)
{
	u64 sum = c;

	for (u32 shift = 0; shift < 32; shift += bits)
		sum += (u64)(a << (32 - bits - shift) >> (32 - bits)) *
		       (b << (32 - bits - shift) >> (32 - bits));
	return gp_isa_dot_end_u32(sum, clamp);
}

/*
 * c + a0 * b0 + a1 * b1 of halves in f32, to nearest even whatever MODE says: of 64 lanes, sets the
 * environment. Denormals of c and of the result are flushed, on gfx90a those of the halves as well.
 * vop3p_dot.c
 */
void gp_isa_dot2_f32_f16(struct gp_isa_runner *runner, const u32 *a, const u32 *b, const u32 *c,
			 u32 *restrict out);

#endif
