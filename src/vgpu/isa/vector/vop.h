/* SPDX-License-Identifier: MIT */
/*
 * Vector operations: how a table entry says which operands its operation has, and the functions
 * that compute rows of 64 lanes. Private to vgpu/isa.
 *
 * gp_isa_vector() executes them all: it fetches the sources as the shape of the entry says, calls
 * the function of the entry for all 64 lanes and writes the result under EXEC. Halves are computed
 * as f32, and 16-bit integers as 32 bits, so that most operations exist once for several types.
 */
#ifndef GP_VGPU_ISA_VOP_H
#define GP_VGPU_ISA_VOP_H

#include "vgpu/isa/vector/float.h"

/* What an operand is, and how the function sees it. */
enum gp_isa_kind {
	GP_ISA_K_NONE,
	GP_ISA_K_U16, /* u32, extended with zeros */
	GP_ISA_K_I16, /* u32, extended with the sign */
	GP_ISA_K_H16, /* u32: the bits of a half */
	GP_ISA_K_F16, /* float */
	GP_ISA_K_B32, /* u32 */
	GP_ISA_K_F32, /* float */
	GP_ISA_K_B64, /* u64 */
	GP_ISA_K_F64, /* double */
	GP_ISA_K_MASK /* rows->mask, of a pair of scalar registers */
};

#define GP_ISA_SHAPE(dst, a, b, c) \
	(u16)(GP_ISA_K_##dst | GP_ISA_K_##a << 4 | GP_ISA_K_##b << 8 | GP_ISA_K_##c << 12)

/* Flags of struct gp_isa_op beyond those of inst.h. */
enum gp_isa_vop_flag {
	GP_ISA_ACCUMULATES = 1u << 3, /* the third source is the destination */
	GP_ISA_CARRIES = 1u << 4,     /* writes rows->mask to sdst as well */
	GP_ISA_KEEPS_HALF = 1u << 5,  /* of a 16-bit result the other half stays; op_sel */
	GP_ISA_FLUSHES = 1u << 6,     /* denormals, whatever MODE says */
	GP_ISA_CMPX = 1u << 7,        /* compares: EXEC is written as well */
};

/* float and double that may look at the bits of registers. */
typedef float gp_isa_single __attribute__((may_alias));
typedef double gp_isa_double __attribute__((may_alias));

struct gp_isa_rows {
	const void *source[3]; /* 64 lanes as the shape says; zeros where there is none */
	void *out;             /* 64 lanes, no source's memory */
	u64 mask;              /* in: carry or condition; out: carry or what was compared */
	u32 mode;
	struct gp_isa_runner *runner;
	const struct gp_isa_inst *inst;
};

gp_isa_execute gp_isa_vector;

/* The loop over the lanes: a, b and c are the sources, `result` is an expression of them. */
#define GP_ISA_ROWS(name, to, from_a, from_b, from_c, result) \
	void gp_isa_##name(struct gp_isa_rows *rows)          \
	{                                                     \
		const from_a *source_a = rows->source[0];     \
		const from_b *source_b = rows->source[1];     \
		const from_c *source_c = rows->source[2];     \
		to *restrict out = rows->out;                 \
                                                              \
		for (u32 i = 0; i < GP_ISA_LANES; i++) {      \
			from_a a = source_a[i];               \
			from_b b = source_b[i];               \
			from_c c = source_c[i];               \
                                                              \
			(void)a, (void)b, (void)c;            \
			out[i] = (to)(result);                \
		}                                             \
	}

/* Lanes whose word has its sign set, and the reverse: words that are 0 or 1. */
static inline u64 gp_isa_mask_of(const u32 *row)
{
	u64 mask = 0;

	for (u32 i = 0; i < GP_ISA_LANES; i += 8) {
		__m256 words = _mm256_loadu_ps((const gp_isa_single *)row + i);

		mask |= (u64)(u32)_mm256_movemask_ps(words) << i;
	}
	return mask;
}

static inline void gp_isa_mask_spread(u32 *restrict out, u64 mask)
{
	for (u32 first = 0; first < GP_ISA_LANES; first += 8, mask >>= 8)
		for (u32 i = 0; i < 8; i++)
			out[first + i] = (u32)mask >> i & 1;
}

typedef void gp_isa_function(struct gp_isa_rows *rows);

/* lane.c: what is not lane by lane. */
gp_isa_execute gp_isa_nop, gp_isa_clear_exceptions, gp_isa_swap, gp_isa_read_first_lane;
gp_isa_execute gp_isa_read_lane, gp_isa_write_lane, gp_isa_accvgpr_mov;
gp_isa_execute gp_isa_mqsad_u32_u8, gp_isa_cvt_pk_f32_fp8, gp_isa_cvt_pk_f32_bf8;

/* rows_integer.c */
gp_isa_function gp_isa_mov, gp_isa_mov64, gp_isa_not, gp_isa_bfrev, gp_isa_ffbh_u32;
gp_isa_function gp_isa_ffbl, gp_isa_ffbh_i32, gp_isa_and, gp_isa_or, gp_isa_xor, gp_isa_xnor;
gp_isa_function gp_isa_min_i32, gp_isa_max_i32, gp_isa_min_u32, gp_isa_max_u32;
gp_isa_function gp_isa_lshrrev, gp_isa_ashrrev, gp_isa_lshlrev;
gp_isa_function gp_isa_lshrrev16, gp_isa_ashrrev16, gp_isa_lshlrev16;
gp_isa_function gp_isa_min3_i32, gp_isa_min3_u32, gp_isa_max3_i32, gp_isa_max3_u32;
gp_isa_function gp_isa_med3_i32, gp_isa_med3_u32, gp_isa_bfe_u32, gp_isa_bfe_i32, gp_isa_bfi;
gp_isa_function gp_isa_bfm, gp_isa_alignbit, gp_isa_alignbyte, gp_isa_perm, gp_isa_xad;
gp_isa_function gp_isa_lshl_add, gp_isa_add_lshl, gp_isa_add3, gp_isa_lshl_or, gp_isa_and_or;
gp_isa_function gp_isa_or3, gp_isa_bcnt, gp_isa_mbcnt_lo, gp_isa_mbcnt_hi, gp_isa_cndmask;
gp_isa_function gp_isa_lerp_u8, gp_isa_sat_pk_u8_i16, gp_isa_cvt_pk_u16_u32, gp_isa_cvt_pk_i16_i32;
gp_isa_function gp_isa_pack_b32_f16, gp_isa_lshlrev64, gp_isa_lshrrev64, gp_isa_ashrrev64;
gp_isa_function gp_isa_lshl_add_u64;

/* rows_multiply.c: with integer clamp */
gp_isa_function gp_isa_add_u32, gp_isa_sub_u32, gp_isa_subrev_u32, gp_isa_add_i32, gp_isa_sub_i32;
gp_isa_function gp_isa_add_u16, gp_isa_sub_u16, gp_isa_subrev_u16, gp_isa_add_i16, gp_isa_sub_i16;
gp_isa_function gp_isa_add_co, gp_isa_sub_co, gp_isa_subrev_co, gp_isa_addc_co, gp_isa_subb_co;
gp_isa_function gp_isa_subbrev_co, gp_isa_mul_lo_u16, gp_isa_mad_u16, gp_isa_mad_i16;
gp_isa_function gp_isa_mad_u32_u16, gp_isa_mad_i32_i16, gp_isa_mul_i32_i24, gp_isa_mul_u32_u24;
gp_isa_function gp_isa_mul_hi_i32_i24, gp_isa_mul_hi_u32_u24, gp_isa_mad_i32_i24;
gp_isa_function gp_isa_mad_u32_u24, gp_isa_mul_lo_u32, gp_isa_mul_hi_u32, gp_isa_mul_hi_i32;
gp_isa_function gp_isa_mad_u64_u32, gp_isa_mad_i64_i32, gp_isa_sad_u8, gp_isa_sad_hi_u8;
gp_isa_function gp_isa_sad_u16, gp_isa_sad_u32, gp_isa_msad_u8, gp_isa_qsad_pk_u16_u8;
gp_isa_function gp_isa_mqsad_pk_u16_u8, gp_isa_dot2c_i32_i16, gp_isa_dot4c_i32_i8;
gp_isa_function gp_isa_dot8c_i32_i4;

/* rows_float.c */
gp_isa_function gp_isa_add_f32, gp_isa_sub_f32, gp_isa_subrev_f32, gp_isa_mul_f32, gp_isa_fma_f32;
gp_isa_function gp_isa_mad_f32, gp_isa_mul_legacy_f32, gp_isa_mad_legacy_f32, gp_isa_mad_f16;
gp_isa_function gp_isa_fma_f16, gp_isa_add_f64, gp_isa_mul_f64, gp_isa_fma_f64;
gp_isa_function gp_isa_trunc_f32, gp_isa_ceil_f32, gp_isa_rndne_f32, gp_isa_floor_f32;
gp_isa_function gp_isa_fract_f32, gp_isa_fract_f16, gp_isa_trunc_f64, gp_isa_ceil_f64;
gp_isa_function gp_isa_rndne_f64, gp_isa_floor_f64, gp_isa_fract_f64;
gp_isa_function gp_isa_ldexp_f16, gp_isa_ldexp_f32, gp_isa_ldexp_f64, gp_isa_frexp_exp_f32;
gp_isa_function gp_isa_frexp_mant_f32, gp_isa_frexp_exp_f64, gp_isa_frexp_mant_f64;
gp_isa_function gp_isa_cubeid_f32, gp_isa_cubesc_f32, gp_isa_cubetc_f32, gp_isa_cubema_f32;
gp_isa_function gp_isa_dot2c_f32_f16, gp_isa_pk_fmac_f16;

/* rows_order.c */
gp_isa_function gp_isa_min_f16, gp_isa_max_f16, gp_isa_min3_f16, gp_isa_max3_f16, gp_isa_med3_f16;
gp_isa_function gp_isa_min_f32, gp_isa_max_f32, gp_isa_min3_f32, gp_isa_max3_f32, gp_isa_med3_f32;
gp_isa_function gp_isa_min_f64, gp_isa_max_f64;

/* rows_math.c */
gp_isa_function gp_isa_rcp_f32, gp_isa_rsq_f32, gp_isa_sqrt_f32, gp_isa_exp_f32, gp_isa_log_f32;
gp_isa_function gp_isa_sin_f32, gp_isa_cos_f32, gp_isa_rcp_f64, gp_isa_rsq_f64, gp_isa_sqrt_f64;
gp_isa_function gp_isa_trig_preop_f64;

/* rows_divide.c */
gp_isa_function gp_isa_div_scale_f32, gp_isa_div_scale_f64, gp_isa_div_fmas_f32;
gp_isa_function gp_isa_div_fmas_f64, gp_isa_div_fixup_f16, gp_isa_div_fixup_f32;
gp_isa_function gp_isa_div_fixup_f64;

/* rows_convert.c */
gp_isa_function gp_isa_cvt_i32_f32, gp_isa_cvt_u32_f32, gp_isa_cvt_i32_f64, gp_isa_cvt_u32_f64;
gp_isa_function gp_isa_cvt_i16_f16, gp_isa_cvt_u16_f16, gp_isa_cvt_f32_i32, gp_isa_cvt_f32_u32;
gp_isa_function gp_isa_cvt_f64_i32, gp_isa_cvt_f64_u32, gp_isa_cvt_f32_f64, gp_isa_cvt_f64_f32;
gp_isa_function gp_isa_cvt_f16_f32, gp_isa_cvt_rpi_i32_f32, gp_isa_cvt_flr_i32_f32;
gp_isa_function gp_isa_cvt_off_f32_i4, gp_isa_cvt_f32_ubyte0, gp_isa_cvt_f32_ubyte1;
gp_isa_function gp_isa_cvt_f32_ubyte2, gp_isa_cvt_f32_ubyte3, gp_isa_cvt_norm_i16;
gp_isa_function gp_isa_cvt_norm_u16, gp_isa_cvt_pknorm_i16, gp_isa_cvt_pknorm_u16;
gp_isa_function gp_isa_cvt_pkrtz_f16_f32, gp_isa_cvt_pk_u8_f32;
gp_isa_function gp_isa_cvt_f32_fp8, gp_isa_cvt_f32_bf8, gp_isa_cvt_pk_fp8_f32;
gp_isa_function gp_isa_cvt_pk_bf8_f32, gp_isa_cvt_sr_fp8_f32, gp_isa_cvt_sr_bf8_f32;

/* rows_compare.c: rows->mask is the result. cmp_*_f32 serve f16, and cmp_*_i32 and _u32 16 bits. */
gp_isa_function gp_isa_cmp_f, gp_isa_cmp_t;
gp_isa_function gp_isa_cmp_lt_f32, gp_isa_cmp_eq_f32, gp_isa_cmp_le_f32, gp_isa_cmp_gt_f32;
gp_isa_function gp_isa_cmp_lg_f32, gp_isa_cmp_ge_f32, gp_isa_cmp_o_f32, gp_isa_cmp_u_f32;
gp_isa_function gp_isa_cmp_nge_f32, gp_isa_cmp_nlg_f32, gp_isa_cmp_ngt_f32, gp_isa_cmp_nle_f32;
gp_isa_function gp_isa_cmp_neq_f32, gp_isa_cmp_nlt_f32;
gp_isa_function gp_isa_cmp_lt_f64, gp_isa_cmp_eq_f64, gp_isa_cmp_le_f64, gp_isa_cmp_gt_f64;
gp_isa_function gp_isa_cmp_lg_f64, gp_isa_cmp_ge_f64, gp_isa_cmp_o_f64, gp_isa_cmp_u_f64;
gp_isa_function gp_isa_cmp_nge_f64, gp_isa_cmp_nlg_f64, gp_isa_cmp_ngt_f64, gp_isa_cmp_nle_f64;
gp_isa_function gp_isa_cmp_neq_f64, gp_isa_cmp_nlt_f64;
gp_isa_function gp_isa_cmp_lt_i32, gp_isa_cmp_eq_u32, gp_isa_cmp_le_i32, gp_isa_cmp_gt_i32;
gp_isa_function gp_isa_cmp_ne_u32, gp_isa_cmp_ge_i32, gp_isa_cmp_lt_u32, gp_isa_cmp_le_u32;
gp_isa_function gp_isa_cmp_gt_u32, gp_isa_cmp_ge_u32;
gp_isa_function gp_isa_cmp_lt_i64, gp_isa_cmp_eq_u64, gp_isa_cmp_le_i64, gp_isa_cmp_gt_i64;
gp_isa_function gp_isa_cmp_ne_u64, gp_isa_cmp_ge_i64, gp_isa_cmp_lt_u64, gp_isa_cmp_le_u64;
gp_isa_function gp_isa_cmp_gt_u64, gp_isa_cmp_ge_u64;
gp_isa_function gp_isa_cmp_class_f16, gp_isa_cmp_class_f32, gp_isa_cmp_class_f64;

#endif
