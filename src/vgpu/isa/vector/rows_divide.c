// SPDX-License-Identifier: MIT
/*
 * The three steps of a correctly rounded division: v_div_scale brings numerator and denominator
 * into a range where Newton's iteration neither overflows nor loses bits, v_div_fmas takes the
 * scale back and v_div_fixup handles zeros, infinities and NaN. Sources: S1 is the denominator, S2
 * the numerator.
 */
#include <math.h>

#include "vgpu/isa/vector/vop.h"

/* A floating-point format, its numbers in f64 bits or f32 bits in the low half. */
struct format {
	u32 mantissa; /* bits */
	s32 bias;
	s32 far;   /* exponents of numerator and denominator that differ by this much overflow */
	s32 scale; /* of both, as a power of two */
	s32 tiny;  /* exponent field of a numerator that needs scaling */
};

static const struct format single = {23, 127, 96, 64, 23};
static const struct format twice = {52, 1023, 768, 128, 53};

static s32 field_of(const struct format *format, u64 bits)
{
	return (s32)(bits >> format->mantissa) & (format->bias * 2 + 1);
}

static u64 fraction_of(const struct format *format, u64 bits)
{
	return bits & ((1ull << format->mantissa) - 1);
}

/* Whether numerator / denominator is below the smallest normal number; both are normal, or the
 * numerator is denormal. */
static bool quotient_denormal(const struct format *format, u64 numerator, u64 denominator)
{
	s32 above = field_of(format, numerator), below = field_of(format, denominator);
	u64 top = fraction_of(format, numerator), bottom = fraction_of(format, denominator);

	if (!above) { /* as if normal */
		u32 shift = (u32)__builtin_clzll(top) - (63 - format->mantissa);

		above = 1 - (s32)shift;
		top = fraction_of(format, top << shift);
	}
	return above - below + (top < bottom ? -1 : 0) < 1 - format->bias;
}

/* 1 / denominator is denormal: it is beyond 2 to the power of bias - 1. */
static bool reciprocal_denormal(const struct format *format, u64 denominator)
{
	s32 field = field_of(format, denominator);

	return field > format->bias * 2 - 1 ||
	       (field == format->bias * 2 - 1 && fraction_of(format, denominator));
}

/* By which power of two S0 is scaled, and whether v_div_fmas has to scale the quotient. */
static s32 scale_of(const struct format *format, u64 s0, u64 s1, u64 s2, bool *post)
{
	s32 numerator = field_of(format, s2), denominator = field_of(format, s1);
	bool reciprocal = reciprocal_denormal(format, s1);

	*post = false;
	if (numerator - denominator >= format->far) {
		*post = true;
		return s0 == s1 ? format->scale : 0;
	}
	if (!denominator)
		return format->scale;
	if (denominator == format->bias * 2 + 1 || numerator == format->bias * 2 + 1)
		return 0;
	if (quotient_denormal(format, s2, s1)) {
		*post = true;
		if (reciprocal)
			return s0 == s1 ? -format->scale : 0;
		return s0 == s2 ? format->scale : 0;
	}
	if (reciprocal)
		return -format->scale;
	return numerator <= format->tiny ? format->scale : 0;
}

void gp_isa_div_scale_f32(struct gp_isa_rows *rows)
{
	const u32 *a = rows->source[0], *b = rows->source[1], *c = rows->source[2];
	bool flush = gp_isa_flushes_in(rows->mode, GP_ISA_OF_F32);
	gp_isa_single *restrict out = rows->out;

	rows->mask = 0;
	for (u32 i = 0; i < GP_ISA_LANES; i++) {
		u32 s0 = flush ? gp_isa_flush32(a[i]) : a[i];
		u32 s1 = flush ? gp_isa_flush32(b[i]) : b[i];
		u32 s2 = flush ? gp_isa_flush32(c[i]) : c[i];
		bool post;

		if (!(s1 & ~GP_ISA_SIGN32) || !(s2 & ~GP_ISA_SIGN32)) {
			out[i] = gp_isa_f32(GP_ISA_NAN32);
			continue;
		}
		out[i] = gp_isa_f32(s0) * (float)ldexp(1, scale_of(&single, s0, s1, s2, &post));
		rows->mask |= (u64)post << i;
	}
	gp_isa_nans32(rows->out, a, NULL, NULL);
}

void gp_isa_div_scale_f64(struct gp_isa_rows *rows)
{
	const u64 *a = rows->source[0], *b = rows->source[1], *c = rows->source[2];
	bool flush = gp_isa_flushes_in(rows->mode, GP_ISA_OF_F64);
	gp_isa_double *restrict out = rows->out;

	rows->mask = 0;
	for (u32 i = 0; i < GP_ISA_LANES; i++) {
		u64 s0 = flush ? gp_isa_flush64(a[i]) : a[i];
		u64 s1 = flush ? gp_isa_flush64(b[i]) : b[i];
		u64 s2 = flush ? gp_isa_flush64(c[i]) : c[i];
		bool post;

		if (!(s1 & ~GP_ISA_SIGN64) || !(s2 & ~GP_ISA_SIGN64)) {
			out[i] = gp_isa_f64(GP_ISA_NAN64);
			continue;
		}
		out[i] = gp_isa_f64(s0) * ldexp(1, scale_of(&twice, s0, s1, s2, &post));
		rows->mask |= (u64)post << i;
	}
	gp_isa_nans64(rows->out, a, NULL, NULL);
}

/*
 * The scale goes up for a quotient that is large, and down for a small one. Sum and scale are
 * rounded once: a result that becomes denormal must not have been rounded before. In 113 bits the
 * sum is exact for f32; for f64 it is rounded to odd, so that the last rounding sees which side of
 * a tie it is on.
 */
static float fmas32_scaled(float a, float b, float c, bool flush)
{
	__float128 scale = (gp_isa_bits32(c) >> 23 & 0xff) > 127 ? 0x1p64 : 0x1p-64;
	float result = (float)(((__float128)a * b + c) * scale);

	return flush ? gp_isa_f32(gp_isa_flush32(gp_isa_bits32(result))) : result;
}

static __float128 sum_to_odd(__float128 a, __float128 b)
{
	__float128 sum = a + b, part = sum - a, rest = (a - (sum - part)) + (b - part);
	unsigned __int128 bits;

	memcpy(&bits, &sum, sizeof(bits));
	if (rest == 0 || bits & 1)
		return sum;
	bits += (rest > 0) == (sum > 0) ? 1 : -1;
	memcpy(&sum, &bits, sizeof(bits));
	return sum;
}

static double fmas64_scaled(double a, double b, double c, bool flush)
{
	__float128 scale = (gp_isa_bits64(c) >> 52 & 0x7ff) > 1023 ? 0x1p128 : 0x1p-128;
	double result = (double)(sum_to_odd((__float128)a * b, c) * scale);

	return flush ? gp_isa_f64(gp_isa_flush64(gp_isa_bits64(result))) : result;
}

void gp_isa_div_fmas_f32(struct gp_isa_rows *rows)
{
	const gp_isa_single *a = rows->source[0], *b = rows->source[1], *c = rows->source[2];
	bool flush = gp_isa_flushes_out(rows->mode, GP_ISA_OF_F32);
	gp_isa_single *restrict out = rows->out;

	for (u32 i = 0; i < GP_ISA_LANES; i++)
		out[i] = __builtin_fmaf(a[i], b[i], c[i]);
	for (u64 left = rows->mask; left; left &= left - 1) {
		u32 i = (u32)__builtin_ctzll(left);

		out[i] = fmas32_scaled(a[i], b[i], c[i], flush);
	}
	gp_isa_nans32(rows->out, rows->source[0], rows->source[1], rows->source[2]);
}

void gp_isa_div_fmas_f64(struct gp_isa_rows *rows)
{
	const gp_isa_double *a = rows->source[0], *b = rows->source[1], *c = rows->source[2];
	bool flush = gp_isa_flushes_out(rows->mode, GP_ISA_OF_F64);
	gp_isa_double *restrict out = rows->out;

	for (u32 i = 0; i < GP_ISA_LANES; i++)
		out[i] = __builtin_fma(a[i], b[i], c[i]);
	for (u64 left = rows->mask; left; left &= left - 1) {
		u32 i = (u32)__builtin_ctzll(left);

		out[i] = fmas64_scaled(a[i], b[i], c[i], flush);
	}
	gp_isa_nans64(rows->out, rows->source[0], rows->source[1], rows->source[2]);
}

/* What a quotient is where its operands decide it. */
enum special { ORDINARY, NAN_NUMERATOR, NAN_DENOMINATOR, INVALID, INFINITE, ZERO, UNDER };

struct limits {
	u64 inf;
	u32 mantissa;
	s32 under; /* exponents that differ by less make the quotient vanish */
};

static const struct limits limits16 = {GP_ISA_INF16, 10, -26};
static const struct limits limits32 = {GP_ISA_INF32, 23, -150};
static const struct limits limits64 = {GP_ISA_INF64, 52, -1075};

/* Magnitudes: without sign. */
static enum special special_of(const struct limits *limits, u64 denominator, u64 numerator)
{
	s32 below = (s32)(denominator >> limits->mantissa);
	s32 above = (s32)(numerator >> limits->mantissa);

	if (numerator > limits->inf)
		return NAN_NUMERATOR;
	if (denominator > limits->inf)
		return NAN_DENOMINATOR;
	if ((!denominator && !numerator) ||
	    (denominator == limits->inf && numerator == limits->inf))
		return INVALID;
	if (!denominator || numerator == limits->inf)
		return INFINITE;
	if (denominator == limits->inf || !numerator)
		return ZERO;
	if (above - below < limits->under)
		return UNDER;
	return ORDINARY;
}

static inline bool rounds_up(u32 mode, enum gp_isa_setting setting, bool negative)
{
	u32 rounding = mode >> (setting == GP_ISA_OF_F64 ? 2 : 0) & 3;

	return rounding == (negative ? 2 : 1);
}

/* The quotient from its bits, the operands' and the format's. What vanishes is
 * zero, or the smallest number where rounding goes away from zero. */
static u64 fixup(const struct limits *limits, u64 quotient, u64 s1, u64 s2, u64 sign_bit,
		 bool smallest[2])
{
	u64 sign = (s1 ^ s2) & sign_bit, quiet = limits->inf | 1ull << (limits->mantissa - 1);

	switch (special_of(limits, s1 & (sign_bit - 1), s2 & (sign_bit - 1))) {
	case NAN_NUMERATOR:
		return s2 | quiet;
	case NAN_DENOMINATOR:
		return s1 | quiet;
	case INVALID:
		return sign_bit | quiet;
	case INFINITE:
		return sign | limits->inf;
	case ZERO:
		return sign;
	case UNDER:
		return sign | smallest[sign != 0];
	default:
		/* The iteration overflowed on the way: so does the quotient. */
		if ((quotient & (sign_bit - 1)) > limits->inf)
			return sign | limits->inf;
		return sign | (quotient & (sign_bit - 1));
	}
}

void gp_isa_div_fixup_f16(struct gp_isa_rows *rows)
{
	const u32 *a = rows->source[0], *b = rows->source[1], *c = rows->source[2];
	bool flush = gp_isa_flushes_in(rows->mode, GP_ISA_OF_F64);
	bool smallest[] = {rounds_up(rows->mode, GP_ISA_OF_F64, false),
			   rounds_up(rows->mode, GP_ISA_OF_F64, true)};
	u32 *restrict out = rows->out;

	for (u32 i = 0; i < GP_ISA_LANES; i++) {
		u32 s1 = flush ? gp_isa_flush16(b[i]) : b[i];
		u32 s2 = flush ? gp_isa_flush16(c[i]) : c[i];

		out[i] = (u32)fixup(&limits16, a[i], s1, s2, GP_ISA_SIGN16, smallest);
	}
	if (gp_isa_flushes_out(rows->mode, GP_ISA_OF_F64))
		for (u32 i = 0; i < GP_ISA_LANES; i++)
			out[i] = gp_isa_flush16(out[i]);
}

void gp_isa_div_fixup_f32(struct gp_isa_rows *rows)
{
	const u32 *a = rows->source[0], *b = rows->source[1], *c = rows->source[2];
	bool flush = gp_isa_flushes_in(rows->mode, GP_ISA_OF_F32);
	bool smallest[] = {rounds_up(rows->mode, GP_ISA_OF_F32, false),
			   rounds_up(rows->mode, GP_ISA_OF_F32, true)};
	u32 *restrict out = rows->out;

	for (u32 i = 0; i < GP_ISA_LANES; i++) {
		u32 s1 = flush ? gp_isa_flush32(b[i]) : b[i];
		u32 s2 = flush ? gp_isa_flush32(c[i]) : c[i];

		out[i] = (u32)fixup(&limits32, a[i], s1, s2, GP_ISA_SIGN32, smallest);
	}
	if (gp_isa_flushes_out(rows->mode, GP_ISA_OF_F32))
		for (u32 i = 0; i < GP_ISA_LANES; i++)
			out[i] = gp_isa_flush32(out[i]);
}

void gp_isa_div_fixup_f64(struct gp_isa_rows *rows)
{
	const u64 *a = rows->source[0], *b = rows->source[1], *c = rows->source[2];
	bool flush = gp_isa_flushes_in(rows->mode, GP_ISA_OF_F64);
	bool smallest[] = {rounds_up(rows->mode, GP_ISA_OF_F64, false),
			   rounds_up(rows->mode, GP_ISA_OF_F64, true)};
	u64 *restrict out = rows->out;

	for (u32 i = 0; i < GP_ISA_LANES; i++) {
		u64 s1 = flush ? gp_isa_flush64(b[i]) : b[i];
		u64 s2 = flush ? gp_isa_flush64(c[i]) : c[i];

		out[i] = fixup(&limits64, a[i], s1, s2, GP_ISA_SIGN64, smallest);
	}
	if (gp_isa_flushes_out(rows->mode, GP_ISA_OF_F64))
		for (u32 i = 0; i < GP_ISA_LANES; i++)
			out[i] = gp_isa_flush64(out[i]);
}
