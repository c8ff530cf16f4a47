// SPDX-License-Identifier: MIT
/*
 * Rows of reciprocals, roots, powers, logarithms and angles. The GPU approximates them; here they
 * are computed in higher precision and rounded, which is within the error that its documents allow.
 * Those of f32 flush denormals, whatever MODE says; halves are never denormal as f32.
 */
#include <math.h>

#include "vgpu/isa/vector/vop.h"

#define ANGLE_LIMIT 256.0 /* turns; beyond, v_sin is 0 and v_cos is 1 */
#define TWO_PI      6.283185307179586477

/* libm expects rounding to nearest and denormals. */
static void plain_begin(struct gp_isa_rows *rows)
{
	gp_isa_environment(rows->runner, GP_ISA_CSR_PLAIN);
}

static inline float flushed(float value)
{
	return gp_isa_f32(gp_isa_flush32(gp_isa_bits32(value)));
}

/* The result is flushed as the source is. */
#define SINGLE(name, result)                                                                      \
	static GP_ISA_ROWS(name##_raw, gp_isa_single, gp_isa_single, u32, u32,                    \
			   flushed((float)(result))) void gp_isa_##name(struct gp_isa_rows *rows) \
	{                                                                                         \
		plain_begin(rows);                                                                \
		gp_isa_##name##_raw(rows);                                                        \
		gp_isa_nans32(rows->out, rows->source[0], NULL, NULL);                            \
	}
#define DOUBLE(name, result)                                                    \
	static GP_ISA_ROWS(name##_raw, gp_isa_double, gp_isa_double, u32, u32,  \
			   result) void gp_isa_##name(struct gp_isa_rows *rows) \
	{                                                                       \
		gp_isa_##name##_raw(rows);                                      \
		gp_isa_nans64(rows->out, rows->source[0], NULL, NULL);          \
	}

/*
 * Powers and logarithms to base 2 in f64, written so that the compiler vectorises them. Their error
 * is below 2^-41, and f32 has 24 bits.
 */
#define POWER_LIMIT 200.0    /* beyond, the result is 0 or infinity as f32 */
#define INTEGER     0x1.8p52 /* added to a small number: the nearest integer is in the low bits */

static inline double power2(double value)
{
	double x = value < -POWER_LIMIT ? -POWER_LIMIT : value > POWER_LIMIT ? POWER_LIMIT : value;
	double whole = x + INTEGER, rest = x - (whole - INTEGER);
	double scale = gp_isa_f64((gp_isa_bits64(whole) + 1023) << 52);
	double sum = 0x1.e4cf5158b8ec7p-28; /* ln(2)^n / n!, n = 10 to 0 */

	sum = fma(sum, rest, 0x1.b5253d395e7c1p-24);
	sum = fma(sum, rest, 0x1.62c0223a5c822p-20);
	sum = fma(sum, rest, 0x1.ffcbfc588b0c5p-17);
	sum = fma(sum, rest, 0x1.430912f86c786p-13);
	sum = fma(sum, rest, 0x1.5d87fe78a6730p-10);
	sum = fma(sum, rest, 0x1.3b2ab6fba4e77p-7);
	sum = fma(sum, rest, 0x1.c6b08d704a0bfp-5);
	sum = fma(sum, rest, 0x1.ebfbdff82c58ep-3);
	sum = fma(sum, rest, 0x1.62e42fefa39efp-1);
	return fma(sum, rest, 1) * scale;
}

/* value = m * 2^e with m from sqrt(1/2) to sqrt(2); log2(m) is a series in (m - 1) / (m + 1). */
static inline double logarithm2(double value)
{
	u64 bits = gp_isa_bits64(value);
	double m = gp_isa_f64((bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull);
	double e = gp_isa_f64(0x4330000000000000ull | bits >> 52) - (0x1p52 + 1023);
	bool high = m > 0x1.6a09e667f3bcdp0;
	double mantissa = high ? m * 0.5 : m, exponent = high ? e + 1 : e;
	double t = (mantissa - 1) / (mantissa + 1), square = t * t;
	double sum = 0x1.89f3b1694cffep-3; /* 2 / ln(2) / n, n = 15, 13 to 1 */

	sum = fma(sum, square, 0x1.c68f568d31760p-3);
	sum = fma(sum, square, 0x1.0c9a84994022dp-2);
	sum = fma(sum, square, 0x1.484b13d7c02a9p-2);
	sum = fma(sum, square, 0x1.a61762a7aded9p-2);
	sum = fma(sum, square, 0x1.2776c50ef9bfep-1);
	sum = fma(sum, square, 0x1.ec709dc3a03fdp-1);
	sum = fma(sum, square, 0x1.71547652b82fep+1);
	sum = fma(sum, t, exponent);
	sum = value == INFINITY ? INFINITY : sum;
	sum = value == 0 ? -INFINITY : sum;
	return value < 0 ? NAN : sum;
}

/* sin(2 pi turns), exact at quarters of a turn. */
static double sine(double turns)
{
	double part = turns - rint(turns), quarter = rint(part * 4), rest = part - quarter * 0.25;

	switch ((s32)quarter & 3) {
	case 0:
		return sin(rest * TWO_PI);
	case 1:
		return cos(rest * TWO_PI);
	case 2:
		return -sin(rest * TWO_PI);
	default:
		return -cos(rest * TWO_PI);
	}
}

static double sine_limited(double turns)
{
	if (!(fabs(turns) <= INFINITY) || isinf(turns))
		return NAN;
	return fabs(turns) > ANGLE_LIMIT ? 0 : sine(turns);
}

static double cosine_limited(double turns)
{
	if (!(fabs(turns) <= INFINITY) || isinf(turns))
		return NAN;
	return fabs(turns) > ANGLE_LIMIT ? 1 : sine(fabs(turns) + 0.25);
}

/* clang-format off */
SINGLE(rcp_f32, 1.0f / flushed(a))
SINGLE(rsq_f32, 1.0 / sqrt((double)flushed(a)))
SINGLE(sqrt_f32, sqrtf(flushed(a)))
SINGLE(exp_f32, power2((double)flushed(a)))
SINGLE(log_f32, logarithm2((double)flushed(a)))
SINGLE(sin_f32, sine_limited((double)flushed(a)))
SINGLE(cos_f32, cosine_limited((double)flushed(a)))
DOUBLE(rcp_f64, 1.0 / a)
DOUBLE(rsq_f64, 1.0 / sqrt(a))
DOUBLE(sqrt_f64, sqrt(a))
/* clang-format on */

#define SEGMENT 53 /* bits */

/* The first 1201 bits of 2 / pi behind the point, from above; zeros behind them. */
/* clang-format off */
static const u64 two_by_pi[] = {
	0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull,
	0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull,
	0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull,
	0x3991d639835339f4ull, 0x9c845f8bbdf9283bull, 0x1ff897ffde05980full,
	0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull,
	0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull,
	0x56033046fc7b0000ull,
};
/* clang-format on */

/* 53 bits from bit `start` on. */
static u64 segment_of(u32 start)
{
	u32 word = start / 64, shift = start % 64, count = GP_ARRAY_SIZE(two_by_pi);
	u64 first = word < count ? two_by_pi[word] : 0;
	u64 second = word + 1 < count ? two_by_pi[word + 1] : 0;
	u64 bits = shift ? first << shift | second >> (64 - shift) : first;

	return bits >> (64 - SEGMENT);
}

/* The part of 2 / pi that a reduction of `value` needs; large values get it scaled. */
static double segment_for(u64 value, u32 segment)
{
	u32 exponent = (u32)(value >> 52) & 0x7ff;
	u32 start = (segment & 31) * SEGMENT;
	s32 scale;

	if (exponent > 1077)
		start += exponent - 1077;
	scale = -SEGMENT - (s32)start;
	if (exponent >= 1968)
		scale += 128;
	return ldexp((double)segment_of(start), scale);
}

void gp_isa_trig_preop_f64(struct gp_isa_rows *rows)
{
	const u64 *a = rows->source[0];
	const u32 *b = rows->source[1];
	gp_isa_double *restrict out = rows->out;

	for (u32 i = 0; i < GP_ISA_LANES; i++)
		out[i] = segment_for(a[i], b[i]);
}
