// SPDX-License-Identifier: MIT
/* Rows of matrix products in f32 and integers; see matrix.h. */
#include <immintrin.h>

#include "vgpu/isa/matrix/matrix.h"

#define WIDE 8 /* columns at a time */

void gp_isa_row_fma(const struct gp_isa_products *products, u32 *d, u32 columns)
{
	for (u32 j = 0; j < columns; j += WIDE) {
		__m256 sum = _mm256_loadu_ps((const float *)d + j);

		for (u32 s = 0; s < products->count; s++)
			sum = _mm256_fmadd_ps(_mm256_set1_ps(products->number[s]),
					      _mm256_loadu_ps(products->b_number[s] + j), sum);
		_mm256_storeu_ps((float *)d + j, sum);
	}
}

/* Denormals become 0 of their sign. */
static inline __m256 flushed(__m256 x)
{
	__m256 sign = _mm256_set1_ps(-0.0f);
	__m256 normal =
		_mm256_cmp_ps(_mm256_andnot_ps(sign, x), _mm256_set1_ps(0x1p-126f), _CMP_NLT_UQ);

	return _mm256_and_ps(x, _mm256_or_ps(normal, sign));
}

/* Products of 16-bit floats, exact but where they are denormal; -0 becomes +0. */
static inline __m256 product(const struct gp_isa_products *products, u32 s, u32 j, bool flush)
{
	__m256 x = _mm256_fmadd_ps(_mm256_set1_ps(products->number[s]),
				   _mm256_loadu_ps(products->b_number[s] + j), _mm256_setzero_ps());

	return flush ? flushed(x) : x;
}

static inline __m256 sum_of(__m256 x, __m256 y, bool flush)
{
	__m256 sum = _mm256_add_ps(x, y);

	return flush ? flushed(sum) : sum;
}

static inline void row_pairs(const struct gp_isa_products *products, u32 *d, u32 columns,
			     bool flush)
{
	for (u32 j = 0; j < columns; j += WIDE) {
		__m256 sum = _mm256_loadu_ps((const float *)d + j);

		/* C: a denormal or -0 becomes +0 */
		sum = _mm256_add_ps(flushed(sum), _mm256_setzero_ps());
		for (u32 s = 0; s < products->count; s += products->group) {
			__m256 x = sum_of(product(products, s, j, flush),
					  product(products, s + 1, j, flush), flush);

			if (products->group == 4)
				x = sum_of(x,
					   sum_of(product(products, s + 2, j, flush),
						  product(products, s + 3, j, flush), flush),
					   flush);
			sum = flushed(_mm256_add_ps(sum, x));
		}
		_mm256_storeu_ps((float *)d + j, sum);
	}
}

/* Products of f16 are far from denormal, and so are their sums. */
void gp_isa_row_pairs(const struct gp_isa_products *products, u32 *d, u32 columns)
{
	if (products->flush)
		row_pairs(products, d, columns, true);
	else
		row_pairs(products, d, columns, false);
}

static inline __m256i integers_of(const struct gp_isa_products *products, u32 j)
{
	__m256i sum = _mm256_setzero_si256();

	for (u32 s = 0; s < products->count; s++) {
		/* 16-bit products; the upper halves of the lanes are multiplied by 0 */
		__m256i a = _mm256_set1_epi32(products->a[s] & 0xffff);
		__m256i b = _mm256_loadu_si256((const __m256i *)(products->b[s] + j));

		sum = _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
	}
	return sum;
}

void gp_isa_row_integers(const struct gp_isa_products *products, u32 *d, u32 columns)
{
	for (u32 j = 0; j < columns; j += WIDE) {
		__m256i c = _mm256_loadu_si256((const __m256i *)(d + j));

		c = _mm256_add_epi32(c, integers_of(products, j));
		_mm256_storeu_si256((__m256i *)(d + j), c);
	}
}

/* MODE.FP16_OVFL: a result beyond 32 bits becomes the largest or smallest. */
void gp_isa_row_saturating(const struct gp_isa_products *products, u32 *d, u32 columns)
{
	for (u32 j = 0; j < columns; j += WIDE) {
		_Alignas(32) s32 sum[WIDE];

		_mm256_store_si256((__m256i *)sum, integers_of(products, j));
		for (u32 lane = 0; lane < WIDE; lane++) {
			s64 wide = (s64)(s32)d[j + lane] + sum[lane];

			wide = wide > INT32_MAX ? INT32_MAX : wide;
			d[j + lane] = (u32)(s32)(wide < INT32_MIN ? INT32_MIN : wide);
		}
	}
}
