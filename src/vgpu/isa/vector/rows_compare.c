// SPDX-License-Identifier: MIT
/* Rows of comparisons: a mask of lanes. Denormals count as MXCSR says, except for classes. */
#include "vgpu/isa/vector/vop.h"

/* a and b are the sources. */
#define COMPARE(name, type, condition)                                               \
	void gp_isa_cmp_##name(struct gp_isa_rows *rows)                             \
	{                                                                            \
		const type *source_a = rows->source[0], *source_b = rows->source[1]; \
		struct gp_isa_row truth;                                             \
                                                                                     \
		for (u32 i = 0; i < GP_ISA_LANES; i++) {                             \
			type a = source_a[i], b = source_b[i];                       \
                                                                                     \
			truth.lane[i] = (condition) ? ~0u : 0;                       \
		}                                                                    \
		rows->mask = gp_isa_mask_of(truth.lane);                             \
	}

#define FLOATS(suffix, type)                                        \
	COMPARE(lt_##suffix, type, a < b)                           \
	COMPARE(eq_##suffix, type, a == b)                          \
	COMPARE(le_##suffix, type, a <= b)                          \
	COMPARE(gt_##suffix, type, a > b)                           \
	COMPARE(lg_##suffix, type, __builtin_islessgreater(a, b))   \
	COMPARE(ge_##suffix, type, a >= b)                          \
	COMPARE(o_##suffix, type, !__builtin_isunordered(a, b))     \
	COMPARE(u_##suffix, type, __builtin_isunordered(a, b))      \
	COMPARE(nge_##suffix, type, !(a >= b))                      \
	COMPARE(nlg_##suffix, type, !__builtin_islessgreater(a, b)) \
	COMPARE(ngt_##suffix, type, !(a > b))                       \
	COMPARE(nle_##suffix, type, !(a <= b))                      \
	COMPARE(neq_##suffix, type, !(a == b))                      \
	COMPARE(nlt_##suffix, type, !(a < b))

/* clang-format off */
FLOATS(f32, gp_isa_single)
FLOATS(f64, gp_isa_double)
COMPARE(lt_i32, s32, a < b)
COMPARE(le_i32, s32, a <= b)
COMPARE(gt_i32, s32, a > b)
COMPARE(ge_i32, s32, a >= b)
COMPARE(lt_u32, u32, a < b)
COMPARE(eq_u32, u32, a == b)
COMPARE(le_u32, u32, a <= b)
COMPARE(gt_u32, u32, a > b)
COMPARE(ne_u32, u32, a != b)
COMPARE(ge_u32, u32, a >= b)
COMPARE(lt_i64, s64, a < b)
COMPARE(le_i64, s64, a <= b)
COMPARE(gt_i64, s64, a > b)
COMPARE(ge_i64, s64, a >= b)
COMPARE(lt_u64, u64, a < b)
COMPARE(eq_u64, u64, a == b)
COMPARE(le_u64, u64, a <= b)
COMPARE(gt_u64, u64, a > b)
COMPARE(ne_u64, u64, a != b)
COMPARE(ge_u64, u64, a >= b)
/* clang-format on */

void gp_isa_cmp_f(struct gp_isa_rows *rows)
{
	rows->mask = 0;
}

void gp_isa_cmp_t(struct gp_isa_rows *rows)
{
	rows->mask = ~0ull;
}

/* The bit that v_cmp_class has for a number: 0 signalling NaN, 1 quiet NaN, 2 to 5 -infinity,
 * -normal, -denormal, -0, 6 to 9 the positive ones in reverse. */
static inline u32 class_of(u64 magnitude, bool negative, u64 inf, u32 mantissa)
{
	u32 positive = 6;

	if (magnitude > inf)
		return magnitude >> (mantissa - 1) & 1 ? 1 : 0;
	if (magnitude == inf)
		positive = 9;
	else if (magnitude >> mantissa)
		positive = 8;
	else if (magnitude)
		positive = 7;
	return negative ? 11 - positive : positive;
}

static void class_compare(struct gp_isa_rows *rows, const u32 *narrow, const u64 *wide, u64 inf,
			  u32 mantissa)
{
	u64 sign = (inf << 1 & ~inf), mask = 0;
	const u32 *classes = rows->source[1];

	for (u32 i = 0; i < GP_ISA_LANES; i++) {
		u64 bits = narrow ? narrow[i] : wide[i];
		u32 class = class_of(bits & (sign - 1), bits & sign, inf, mantissa);

		mask |= (u64)(classes[i] >> class & 1) << i;
	}
	rows->mask = mask;
}

void gp_isa_cmp_class_f16(struct gp_isa_rows *rows)
{
	class_compare(rows, rows->source[0], NULL, GP_ISA_INF16, 10);
}

void gp_isa_cmp_class_f32(struct gp_isa_rows *rows)
{
	class_compare(rows, rows->source[0], NULL, GP_ISA_INF32, 23);
}

void gp_isa_cmp_class_f64(struct gp_isa_rows *rows)
{
	class_compare(rows, NULL, rows->source[0], GP_ISA_INF64, 52);
}
