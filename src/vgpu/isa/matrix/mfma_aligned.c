// SPDX-License-Identifier: MIT
/*
 * Sums of products as gfx942 makes them for xf32, 16-bit and 8-bit floats: fixed-point numbers that
 * are aligned to the largest exponent of their group.
 *
 *   - products are exact; each is cut towards zero to 24 bits of fraction below the largest
 *     exponent of the group (of even and odd k apart for 8-bit floats, whose two sums are then
 *     aligned to each other, rounding down);
 *   - their sum (rounded down to 31 bits of fraction) and C (to 24 bits) are aligned to the larger
 *     of their exponents and added;
 *   - the sum is rounded to f32, to nearest even; it is C of the next group.
 *
 * The exponent of a product is the sum of those of its factors; 0 has exponent -126.
 */
#include <math.h>

#include "vgpu/isa/vector/float.h"
#include "vgpu/isa/matrix/matrix.h"

#define WIDE          8
#define PRODUCT_BITS  24 /* of fraction */
#define SUM_BITS      31
#define C_BITS        24
#define MANTISSA_BITS 23 /* of f32 */
/* Mantissas have 10 bits of fraction each; 4 more make 24. A mantissa shifted by 4 still has 16
 * bits with its sign. */
#define SHIFT       (PRODUCT_BITS - 2 * GP_ISA_FRACTION)
#define C_FORGOTTEN 25 /* 8-bit floats: C that far below the sum is 0 */
#define PARTS       8  /* products of an aligned sum, at most */

/* A sum of 24 bits of fraction and the exponent it is aligned to. */
struct aligned {
	__m256i sum, exponent;
};

static inline struct aligned aligned_sum(const struct gp_isa_products *products, u32 first,
					 u32 step, u32 count, u32 j)
{
	__m256i product[PARTS], exponent[PARTS];
	struct aligned out = {_mm256_setzero_si256(), _mm256_set1_epi32(INT32_MIN)};

	for (u32 n = 0; n < count; n++) {
		u32 s = first + n * step;
		__m256i a = _mm256_set1_epi32(products->a[s] * (1 << SHIFT) & 0xffff);
		__m256i b = _mm256_loadu_si256((const __m256i *)(products->b[s] + j));

		product[n] = _mm256_madd_epi16(a, b);
		exponent[n] =
			_mm256_add_epi32(_mm256_set1_epi32(products->a_exponent[s]),
					 _mm256_loadu_si256(
						 (const __m256i *)(products->b_exponent[s] + j)));
		out.exponent = _mm256_max_epi32(out.exponent, exponent[n]);
	}
	for (u32 n = 0; n < count; n++) {
		__m256i below = _mm256_sub_epi32(out.exponent, exponent[n]);
		__m256i cut = _mm256_srlv_epi32(_mm256_abs_epi32(product[n]), below);

		out.sum = _mm256_add_epi32(out.sum, _mm256_sign_epi32(cut, product[n]));
	}
	return out;
}

/* 2^power of four lanes. */
static inline __m256d power_of_two(__m128i power)
{
	__m256i field = _mm256_cvtepi32_epi64(_mm_add_epi32(power, _mm_set1_epi32(1023)));

	return _mm256_castsi256_pd(_mm256_slli_epi64(field, 52));
}

/* Four lanes of the last step: sum, C and their exponents to f32. */
static inline __m128 finish(__m128i sum, __m128i exponent, __m128i c, __m128i c_exponent)
{
	__m128i top = _mm_max_epi32(exponent, c_exponent);
	__m128i by_sum = _mm_add_epi32(_mm_sub_epi32(exponent, top),
				       _mm_set1_epi32(SUM_BITS - PRODUCT_BITS));
	__m128i by_c = _mm_add_epi32(_mm_sub_epi32(c_exponent, top),
				     _mm_set1_epi32(C_BITS - MANTISSA_BITS));
	__m256d x = _mm256_floor_pd(_mm256_mul_pd(_mm256_cvtepi32_pd(sum), power_of_two(by_sum)));
	__m256d y = _mm256_floor_pd(_mm256_mul_pd(_mm256_cvtepi32_pd(c), power_of_two(by_c)));
	__m256d total =
		_mm256_add_pd(x, _mm256_mul_pd(y, _mm256_set1_pd(1 << (SUM_BITS - C_BITS))));

	top = _mm_sub_epi32(top, _mm_set1_epi32(SUM_BITS));
	return _mm256_cvtpd_ps(_mm256_mul_pd(total, power_of_two(top)));
}

/* Mantissa of f32 with its sign, and exponent. */
static inline struct aligned split(__m256 number)
{
	__m256i bits = _mm256_castps_si256(number), sign = _mm256_srai_epi32(bits, 31);
	__m256i field =
		_mm256_and_si256(_mm256_srli_epi32(bits, MANTISSA_BITS), _mm256_set1_epi32(0xff));
	__m256i fraction = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffff));
	__m256i normal = _mm256_cmpgt_epi32(field, _mm256_setzero_si256());
	__m256i full =
		_mm256_or_si256(fraction, _mm256_and_si256(normal, _mm256_set1_epi32(0x800000)));

	field = _mm256_max_epi32(field, _mm256_set1_epi32(1));
	return (struct aligned){
		.sum = _mm256_sub_epi32(_mm256_xor_si256(full, sign), sign),
		.exponent = _mm256_sub_epi32(field, _mm256_set1_epi32(127)),
	};
}

static inline __m256 add_c(struct aligned products, __m256 number, bool forgets)
{
	struct aligned c = split(number);

	if (forgets) {
		__m256i top = _mm256_max_epi32(products.exponent, c.exponent);
		__m256i least = _mm256_sub_epi32(top, _mm256_set1_epi32(C_FORGOTTEN));

		c.sum = _mm256_andnot_si256(_mm256_cmpgt_epi32(least, c.exponent), c.sum);
	}
	return _mm256_set_m128(finish(_mm256_extracti128_si256(products.sum, 1),
				      _mm256_extracti128_si256(products.exponent, 1),
				      _mm256_extracti128_si256(c.sum, 1),
				      _mm256_extracti128_si256(c.exponent, 1)),
			       finish(_mm256_castsi256_si128(products.sum),
				      _mm256_castsi256_si128(products.exponent),
				      _mm256_castsi256_si128(c.sum),
				      _mm256_castsi256_si128(c.exponent)));
}

/* Aligns two sums to each other, rounding down. */
static inline struct aligned joined(struct aligned x, struct aligned y)
{
	__m256i top = _mm256_max_epi32(x.exponent, y.exponent);

	x.sum = _mm256_srav_epi32(x.sum, _mm256_sub_epi32(top, x.exponent));
	y.sum = _mm256_srav_epi32(y.sum, _mm256_sub_epi32(top, y.exponent));
	return (struct aligned){_mm256_add_epi32(x.sum, y.sum), top};
}

static double factor(s32 mantissa, s32 exponent)
{
	if (exponent == GP_ISA_NAN)
		return (double)NAN;
	if (exponent == GP_ISA_INFINITY)
		return copysign(HUGE_VAL, mantissa);
	return ldexp(mantissa, exponent - GP_ISA_FRACTION);
}

/* Infinities, NaNs and products beyond f32: the products and C of one element, added without regard
 * to precision. False if the sum is a number. */
static bool special_sum(const struct gp_isa_products *products, u32 first, u32 j, u32 c, u32 *out)
{
	double sum = 0, beyond = 0;

	for (u32 s = first; s < first + products->group; s++) {
		double product = factor(products->a[s], products->a_exponent[s]) *
				 factor(products->b[s][j], products->b_exponent[s][j]);

		sum += product;
		if (fabs(product) >= 0x1p128)
			beyond += copysign(HUGE_VAL, product);
	}
	sum += (double)gp_isa_f32(c);
	if (isfinite(sum))
		sum = beyond;
	if (isfinite(sum))
		return false;
	*out = isnan(sum) ? GP_ISA_NAN32 : gp_isa_bits32((float)sum);
	return true;
}

/* A group whose products or C may be no numbers: each column on its own. */
static void group_special(const struct gp_isa_products *products, u32 first, const u32 *before,
			  u32 *d, u32 j)
{
	for (u32 lane = 0; lane < WIDE; lane++) {
		u32 out;

		if (special_sum(products, first, j + lane, before[lane], &out))
			d[j + lane] = out;
	}
}

static inline __m256 group_sum(const struct gp_isa_products *products, u32 s, u32 j, __m256 c)
{
	return products->group == 8 ? add_c(aligned_sum(products, s, 1, 8, j), c, false)
				    : add_c(aligned_sum(products, s, 1, 4, j), c, false);
}

static inline __m256 group_sum_8(const struct gp_isa_products *products, u32 s, u32 j, __m256 c)
{
	return add_c(joined(aligned_sum(products, s, 2, 8, j),
			    aligned_sum(products, s + 1, 2, 8, j)),
		     c, true);
}

static inline bool all_numbers(__m256 c)
{
	__m256i field =
		_mm256_and_si256(_mm256_castps_si256(c), _mm256_set1_epi32((int)GP_ISA_INF32));

	return !_mm256_movemask_epi8(
		_mm256_cmpeq_epi32(field, _mm256_set1_epi32((int)GP_ISA_INF32)));
}

static inline void row_aligned(const struct gp_isa_products *products, u32 *d, u32 columns,
			       bool of_8_bits)
{
	for (u32 j = 0; j < columns; j += WIDE) {
		__m256 c = _mm256_loadu_ps((const float *)d + j), sum = c;

		for (u32 s = 0; s < products->count; s += products->group, c = sum) {
			_Alignas(32) u32 before[WIDE];

			sum = of_8_bits ? group_sum_8(products, s, j, c)
					: group_sum(products, s, j, c);
			if (!products->special && all_numbers(c))
				continue;
			_mm256_store_ps((float *)before, c);
			_mm256_storeu_ps((float *)d + j, sum);
			group_special(products, s, before, d, j);
			sum = _mm256_loadu_ps((const float *)d + j);
		}
		_mm256_storeu_ps((float *)d + j, sum);
	}
}

void gp_isa_row_aligned(const struct gp_isa_products *products, u32 *d, u32 columns)
{
	row_aligned(products, d, columns, false);
}

void gp_isa_row_aligned_8(const struct gp_isa_products *products, u32 *d, u32 columns)
{
	row_aligned(products, d, columns, true);
}
