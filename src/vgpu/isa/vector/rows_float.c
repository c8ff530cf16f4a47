// SPDX-License-Identifier: MIT
/*
 * Rows of floating-point arithmetic. Rounding and denormals are those of MXCSR, which the executor
 * has set. What serves f32 serves f16 as well, as far as float.h says why.
 */
#include <math.h>

#include "vgpu/isa/vector/dot.h"
#include "vgpu/isa/vector/vop.h"

/* An operation whose NaN results are the GPU's; `unused` sources are NULL. */
#define NANS_1(kind, rows) gp_isa_nans##kind((rows)->out, (rows)->source[0], NULL, NULL)
#define NANS_2(kind, rows) \
	gp_isa_nans##kind((rows)->out, (rows)->source[0], (rows)->source[1], NULL)
#define NANS_3(kind, rows) \
	gp_isa_nans##kind((rows)->out, (rows)->source[0], (rows)->source[1], (rows)->source[2])
#define ARITHMETIC(name, type, nans, kind, result)                              \
	static GP_ISA_ROWS(name##_raw, type, type, type, type,                  \
			   result) void gp_isa_##name(struct gp_isa_rows *rows) \
	{                                                                       \
		gp_isa_##name##_raw(rows);                                      \
		nans(kind, rows);                                               \
	}
#define SINGLE_1(name, result) ARITHMETIC(name, gp_isa_single, NANS_1, 32, result)
#define SINGLE_2(name, result) ARITHMETIC(name, gp_isa_single, NANS_2, 32, result)
#define SINGLE_3(name, result) ARITHMETIC(name, gp_isa_single, NANS_3, 32, result)
#define DOUBLE_1(name, result) ARITHMETIC(name, gp_isa_double, NANS_1, 64, result)
#define DOUBLE_2(name, result) ARITHMETIC(name, gp_isa_double, NANS_2, 64, result)
#define DOUBLE_3(name, result) ARITHMETIC(name, gp_isa_double, NANS_3, 64, result)

/* DX9: nothing times zero is zero, whatever it is. */
static inline float product_legacy(float a, float b)
{
	return a == 0 || b == 0 ? 0 : a * b;
}

static inline float to_even32(float a)
{
	return _mm_cvtss_f32(_mm_round_ss(_mm_setzero_ps(), _mm_set_ss(a),
					  _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

static inline double to_even64(double a)
{
	return _mm_cvtsd_f64(_mm_round_sd(_mm_setzero_pd(), _mm_set_sd(a),
					  _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/* Never 1: that is what a tiny negative number would round to. */
static inline float fraction(float a, float largest)
{
	float part = a - floorf(a);

	return part > largest ? largest : part;
}

static inline double fraction64(double a)
{
	double part = a - floor(a);

	return part > 0x1.fffffffffffffp-1 ? 0x1.fffffffffffffp-1 : part;
}

/* The product and then the sum are rounded, each to a half. */
static inline float mad_half(float a, float b, float c)
{
	return gp_isa_f16(gp_isa_flush16(gp_isa_bits16(a * b))) + c;
}

static inline float fma_half(float a, float b, float c)
{
	return gp_isa_odd((double)a * (double)b + (double)c);
}

/* clang-format off */
SINGLE_2(add_f32, a + b)
SINGLE_2(sub_f32, a - b)
SINGLE_2(subrev_f32, b - a)
SINGLE_2(mul_f32, a * b)
SINGLE_2(mul_legacy_f32, product_legacy(a, b))
SINGLE_3(fma_f32, __builtin_fmaf(a, b, c))
SINGLE_3(mad_f32, a * b + c)
SINGLE_3(mad_legacy_f32, product_legacy(a, b) + c)
SINGLE_3(mad_f16, mad_half(a, b, c))
SINGLE_3(fma_f16, fma_half(a, b, c))
SINGLE_1(trunc_f32, truncf(a))
SINGLE_1(ceil_f32, ceilf(a))
SINGLE_1(rndne_f32, to_even32(a))
SINGLE_1(floor_f32, floorf(a))
SINGLE_1(fract_f32, fraction(a, 0x1.fffffep-1f))
SINGLE_1(fract_f16, fraction(a, 0x1.ffcp-1f))
DOUBLE_2(add_f64, a + b)
DOUBLE_2(mul_f64, a * b)
DOUBLE_3(fma_f64, __builtin_fma(a, b, c))
DOUBLE_1(trunc_f64, trunc(a))
DOUBLE_1(ceil_f64, ceil(a))
DOUBLE_1(rndne_f64, to_even64(a))
DOUBLE_1(floor_f64, floor(a))
DOUBLE_1(fract_f64, fraction64(a))
/* clang-format on */

static inline s32 between(s32 value, s32 low, s32 high)
{
	return value < low ? low : value > high ? high : value;
}

/* 2 to the power of a normal exponent. */
static inline double power64(s32 exponent)
{
	return gp_isa_f64((u64)(exponent + 1023) << 52);
}

/* In f64 the scaled value is exact, so that it is rounded once. */
static inline double scaled(float value, s32 exponent)
{
	return (double)value * power64(between(exponent, -320, 320));
}

/* clang-format off */
static GP_ISA_ROWS(ldexp_f32_raw, gp_isa_single, gp_isa_single, u32, u32, scaled(a, (s32)b))
static GP_ISA_ROWS(ldexp_f16_raw, gp_isa_single, gp_isa_single, u32, u32,
		   gp_isa_odd(scaled(a, between((s32)b, -60, 60))))
	/* clang-format on */

	void gp_isa_ldexp_f32(struct gp_isa_rows *rows)
{
	gp_isa_ldexp_f32_raw(rows);
	NANS_1(32, rows);
}

void gp_isa_ldexp_f16(struct gp_isa_rows *rows)
{
	gp_isa_ldexp_f16_raw(rows);
	NANS_1(32, rows);
}

/* frexp(): a mantissa from 1/2 up to 1. Of zero, infinity and NaN the exponent is 0. */
static inline s32 exponent32(u32 bits)
{
	u32 magnitude = bits & ~GP_ISA_SIGN32;

	if (!magnitude || magnitude >= GP_ISA_INF32)
		return 0;
	if (magnitude >> 23)
		return (s32)(magnitude >> 23) - 126;
	return -117 - __builtin_clz(magnitude);
}

static inline u32 mantissa32(u32 bits)
{
	u32 magnitude = bits & ~GP_ISA_SIGN32;

	if (magnitude > GP_ISA_INF32)
		return bits | GP_ISA_QUIET32;
	if (!magnitude || magnitude == GP_ISA_INF32)
		return bits;
	if (!(magnitude >> 23))
		magnitude <<= __builtin_clz(magnitude) - 8;
	return (bits & GP_ISA_SIGN32) | 0x3f000000 | (magnitude & 0x7fffff);
}

static inline s32 exponent64(u64 bits)
{
	u64 magnitude = bits & ~GP_ISA_SIGN64;

	if (!magnitude || magnitude >= GP_ISA_INF64)
		return 0;
	if (magnitude >> 52)
		return (s32)(magnitude >> 52) - 1022;
	return -1010 - __builtin_clzll(magnitude);
}

static inline u64 mantissa64(u64 bits)
{
	u64 magnitude = bits & ~GP_ISA_SIGN64;

	if (magnitude > GP_ISA_INF64)
		return bits | GP_ISA_QUIET64;
	if (!magnitude || magnitude == GP_ISA_INF64)
		return bits;
	if (!(magnitude >> 52))
		magnitude <<= __builtin_clzll(magnitude) - 11;
	return (bits & GP_ISA_SIGN64) | 0x3fe0000000000000ull | (magnitude & 0xfffffffffffffull);
}

static inline u32 flushed32(const struct gp_isa_rows *rows, u32 bits)
{
	return gp_isa_flushes_in(rows->mode, GP_ISA_OF_F32) ? gp_isa_flush32(bits) : bits;
}

static inline u64 flushed64(const struct gp_isa_rows *rows, u64 bits)
{
	return gp_isa_flushes_in(rows->mode, GP_ISA_OF_F64) ? gp_isa_flush64(bits) : bits;
}

/* clang-format off */
GP_ISA_ROWS(frexp_exp_f32, u32, u32, u32, u32, exponent32(flushed32(rows, a)))
GP_ISA_ROWS(frexp_mant_f32, u32, u32, u32, u32, mantissa32(flushed32(rows, a)))
GP_ISA_ROWS(frexp_exp_f64, u32, u64, u64, u64, exponent64(flushed64(rows, a)))
GP_ISA_ROWS(frexp_mant_f64, u64, u64, u64, u64, mantissa64(flushed64(rows, a)))
/* clang-format on */

/* In two steps, of which only the last one rounds: it may be denormal. */
static inline double scaled64(u64 bits, s32 by)
{
	s32 total = exponent64(bits) + between(by, -4000, 4000);
	s32 exponent = between(total, -1100, 1100), first = between(exponent, -1000, 1000);

	return gp_isa_f64(mantissa64(bits)) * power64(first) * power64(exponent - first);
}

/* clang-format off */
static GP_ISA_ROWS(ldexp_f64_raw, gp_isa_double, u64, u32, u32,
		   scaled64(flushed64(rows, a), (s32)b))
	/* clang-format on */

	void gp_isa_ldexp_f64(struct gp_isa_rows *rows)
{
	gp_isa_ldexp_f64_raw(rows);
	NANS_1(64, rows);
}

/* The axis of a cube map: 2 is z, 1 y, 0 x. */
static inline u32 axis(float x, float y, float z)
{
	if (fabsf(z) >= fabsf(x) && fabsf(z) >= fabsf(y))
		return 2;
	return fabsf(y) >= fabsf(x);
}

static inline float cube_id(float x, float y, float z)
{
	const float on[] = {x, y, z};
	u32 n = axis(x, y, z);

	return (float)(n * 2 + (on[n] < 0));
}

static inline float cube_s(float x, float y, float z)
{
	const float by[] = {x < 0 ? z : -z, x, z < 0 ? -x : x};

	return by[axis(x, y, z)];
}

static inline float cube_t(float x, float y, float z)
{
	const float by[] = {-y, y < 0 ? -z : z, -y};

	return by[axis(x, y, z)];
}

static inline float cube_major(float x, float y, float z)
{
	const float on[] = {x, y, z};

	return 2 * on[axis(x, y, z)];
}

/* clang-format off */
SINGLE_3(cubeid_f32, cube_id(a, b, c))
SINGLE_3(cubesc_f32, cube_s(a, b, c))
SINGLE_3(cubetc_f32, cube_t(a, b, c))
SINGLE_3(cubema_f32, cube_major(a, b, c))
/* clang-format on */

void gp_isa_dot2c_f32_f16(struct gp_isa_rows *rows)
{
	gp_isa_dot2_f32_f16(rows->runner, rows->source[0], rows->source[1], rows->source[2],
			    rows->out);
}

/* One half of each word, as f32. */
static void half_widen(float *restrict out, const u32 *row, u32 shift, u32 mode)
{
	struct gp_isa_row halves;

	for (u32 i = 0; i < GP_ISA_LANES; i++)
		halves.lane[i] = row[i] >> shift & 0xffff;
	gp_isa_widen(out, halves.lane, mode);
}

void gp_isa_pk_fmac_f16(struct gp_isa_rows *rows)
{
	float source[3][GP_ISA_LANES], sum[GP_ISA_LANES];
	struct gp_isa_rows part = *rows;
	u32 *restrict out = rows->out;
	struct gp_isa_row halves;

	gp_isa_environment(rows->runner, gp_isa_csr(rows->mode, GP_ISA_OF_F64, GP_ISA_OF_F64));
	part.out = sum;
	for (u32 shift = 0; shift < 32; shift += 16) {
		for (u32 n = 0; n < 3; n++) {
			half_widen(source[n], rows->source[n], shift, rows->mode);
			part.source[n] = source[n];
		}
		gp_isa_fma_f16(&part);
		gp_isa_narrow(halves.lane, sum, rows->mode);
		for (u32 i = 0; i < GP_ISA_LANES; i++)
			out[i] = halves.lane[i] << shift | (shift ? out[i] : 0);
	}
}
