/* SPDX-License-Identifier: MIT */
/* The operations of VOP3P; vop3p_table.c lists them. Private to vop3p*.c. */
#ifndef GP_VGPU_ISA_VOP3P_H
#define GP_VGPU_ISA_VOP3P_H

#include "vgpu/isa/vector/lanes.h"

/* Sources split into halves (of 16 bits, in the low bits) or words (of 32 bits): what op_sel and
 * op_sel_hi choose for the lower and the upper result. */
struct gp_isa_split {
	struct gp_isa_row low[3], high[3];
};

/* vop3p_int.c */
gp_isa_execute gp_isa_pk_mad_i16, gp_isa_pk_mad_u16, gp_isa_pk_mul_lo_u16;
gp_isa_execute gp_isa_pk_add_i16, gp_isa_pk_sub_i16, gp_isa_pk_add_u16, gp_isa_pk_sub_u16;
gp_isa_execute gp_isa_pk_lshlrev_b16, gp_isa_pk_lshrrev_b16, gp_isa_pk_ashrrev_i16;
gp_isa_execute gp_isa_pk_max_i16, gp_isa_pk_min_i16, gp_isa_pk_max_u16, gp_isa_pk_min_u16;
/* The halves of the first `count` sources. */
void gp_isa_split_halves(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
			 const struct gp_isa_inst *inst, u32 count, enum gp_isa_type type,
			 struct gp_isa_split *out);
/* Joins the halves of a result and writes them. */
void gp_isa_put_halves(struct gp_isa_wave *wave, const struct gp_isa_inst *inst,
		       const struct gp_isa_row *low, const struct gp_isa_row *high);

/* vop3p_f16.c */
gp_isa_execute gp_isa_pk_fma_f16, gp_isa_pk_add_f16, gp_isa_pk_mul_f16;
gp_isa_execute gp_isa_pk_min_f16, gp_isa_pk_max_f16;
gp_isa_execute gp_isa_fma_mix_f32, gp_isa_fma_mixlo_f16, gp_isa_fma_mixhi_f16;

/* vop3p_f32.c */
gp_isa_execute gp_isa_pk_fma_f32, gp_isa_pk_mul_f32, gp_isa_pk_add_f32, gp_isa_pk_mov_b32;
gp_isa_execute gp_isa_accvgpr_read, gp_isa_accvgpr_write;

/* vop3p_dot.c */
gp_isa_execute gp_isa_dot2_f32_f16_op, gp_isa_dot2_i32_i16_op, gp_isa_dot2_u32_u16_op;
gp_isa_execute gp_isa_dot4_i32_i8_op, gp_isa_dot4_u32_u8_op;
gp_isa_execute gp_isa_dot8_i32_i4_op, gp_isa_dot8_u32_u4_op;

#endif
