// SPDX-License-Identifier: MIT
/*
 * Floating-point arithmetic under all rounding and denormal modes, bit by bit. Expected values come
 * from a small software arithmetic: 113 bits, rounded to odd, then once to the format.
 */
#include "machine.h"

typedef unsigned __int128 u128;

struct format {
	u32 mantissa, exponent;           /* bits of a result */
	u32 from_mantissa, from_exponent; /* and of the sources */
	bool keeps;                       /* the upper half of the destination */
};

enum rounding { NEAREST, UP, DOWN, ZERO };

struct environment {
	enum rounding rounding;
	bool flush_in, flush_out;
};

typedef __float128 operation(const struct environment *environment, const __float128 *x);

static const struct format single = {23, 8, 23, 8, false}, wide = {52, 11, 52, 11, false};
static const struct format half = {10, 5, 10, 5, false}, half_kept = {10, 5, 10, 5, true};
static const struct format single_of_wide = {23, 8, 52, 11, false};
static const struct format wide_of_single = {52, 11, 23, 8, false};
static const struct format half_of_single = {10, 5, 23, 8, false};
static const struct format single_of_half = {23, 8, 10, 5, false};

#define OLD 0xabcd1234u

static u128 bits_of(__float128 value)
{
	u128 bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static __float128 number_of(u128 bits)
{
	__float128 value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static bool negative(__float128 value)
{
	return bits_of(value) >> 127;
}

/* x + y with an odd last bit where it is not exact. */
static __float128 sum_odd(const struct environment *environment, __float128 x, __float128 y)
{
	__float128 sum = x + y, part = sum - x, error = (x - (sum - part)) + (y - part);
	u128 bits = bits_of(sum);

	if (sum == 0 && negative(x) != negative(y))
		return environment->rounding == DOWN ? -(__float128)0 : (__float128)0;
	if (error != error || error == 0 || bits & 1)
		return sum;
	return number_of((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

/* Scaling by powers of two is exact. */
static __float128 power(s32 exponent)
{
	return number_of((u128)(16383 + exponent) << 112);
}

/* One rounding to a format; what overflows becomes infinity, or the largest number. */
static u64 round_to(const struct environment *environment, __float128 value, u32 mantissa,
		    u32 exponent)
{
	s32 bias = (1 << (exponent - 1)) - 1, least = 1 - bias - (s32)mantissa, own, unit;
	u64 inf = ((1ull << exponent) - 1) << mantissa, result;
	u64 sign = (u64)negative(value) << (mantissa + exponent);
	u128 bits = bits_of(value) & ~((u128)1 << 127), digits, lost, middle;
	u32 drop;
	bool away;

	if (value == 0)
		return sign;
	if (value - value != 0)
		return sign | inf;
	own = (s32)(bits >> 112) - 16383;
	digits = (bits & (((u128)1 << 112) - 1)) | (u128)1 << 112;
	unit = own - (s32)mantissa > least ? own - (s32)mantissa : least;
	drop = (u32)(112 - own + unit);
	if (drop > 114)
		drop = 114;
	lost = digits & (((u128)1 << drop) - 1);
	middle = (u128)1 << (drop - 1);
	result = (u64)(digits >> drop);
	away = environment->rounding == NEAREST ? lost > middle || (lost == middle && result & 1)
	       : environment->rounding == UP    ? lost && !sign
	       : environment->rounding == DOWN  ? lost && sign
						: false;
	result += away;
	result = own > bias ? inf
			    : result + ((u64)(unit - least)
					<< mantissa); /* the hidden bit carries into the exponent */
	if (result >= inf)
		result = environment->rounding == NEAREST ||
					 environment->rounding == (sign ? DOWN : UP)
				 ? inf
				 : inf - 1;
	return sign | result;
}

/* A denormal result, judged with an exponent of any size. f16 is judged as it is stored. */
static bool is_tiny(const struct environment *environment, __float128 value, u64 result,
		    u32 mantissa, u32 exponent)
{
	u32 mask = (1u << exponent) - 1, up = 60;

	if (mantissa == 10)
		return !(result >> mantissa & mask);
	result = round_to(environment, value * power((s32)up), mantissa, exponent);
	return (result >> mantissa & mask) < 1 + up;
}

static __float128 decode(const struct environment *environment, u64 bits, u32 mantissa,
			 u32 exponent)
{
	u64 fraction = bits & ((1ull << mantissa) - 1), sign = bits >> (mantissa + exponent) & 1;
	s32 field = (s32)(bits >> mantissa & ((1u << exponent) - 1)),
	    bias = (1 << (exponent - 1)) - 1;
	__float128 value;

	if (!field && environment->flush_in)
		fraction = 0;
	if (field == (1 << exponent) - 1)
		value = fraction ? (__float128)__builtin_nan("") : (__float128)__builtin_inf();
	else
		value = (__float128)(fraction + ((u64)(field != 0) << mantissa)) *
			power((field ? field : 1) - bias - (s32)mantissa);
	return sign ? -value : value;
}

static __float128 op_add(const struct environment *e, const __float128 *x)
{
	return sum_odd(e, x[0], x[1]);
}

static __float128 op_sub(const struct environment *e, const __float128 *x)
{
	return sum_odd(e, x[0], -x[1]);
}

static __float128 op_subrev(const struct environment *e, const __float128 *x)
{
	return sum_odd(e, x[1], -x[0]);
}

static __float128 op_mul(const struct environment *e, const __float128 *x)
{
	(void)e;
	return x[0] * x[1]; /* at most 106 bits */
}

static __float128 op_mul_legacy(const struct environment *e, const __float128 *x)
{
	(void)e;
	return x[0] == 0 || x[1] == 0 ? 0 : x[0] * x[1];
}

static __float128 op_fma(const struct environment *e, const __float128 *x)
{
	return sum_odd(e, x[0] * x[1], x[2]);
}

static __float128 op_same(const struct environment *e, const __float128 *x)
{
	(void)e;
	return x[0];
}

/* The product is rounded before it is added; expected() does that. */
static __float128 op_mad(const struct environment *e, const __float128 *x)
{
	return sum_odd(e, x[0], x[2]);
}

static __float128 op_mad_legacy(const struct environment *e, const __float128 *x)
{
	return op_mad(e, x);
}

/* Integers by adding and taking away a number whose last bit is 1; exact as 113 bits. */
static __float128 whole(__float128 value, enum rounding rounding)
{
	__float128 big = power(112), magnitude = negative(value) ? -value : value, near;

	if (!(magnitude < power(60)))
		return value;
	near = magnitude + big - big;
	if (rounding == ZERO || (rounding == UP && negative(value)) ||
	    (rounding == DOWN && !negative(value)))
		near -= near > magnitude;
	else if (rounding != NEAREST)
		near += near < magnitude;
	return negative(value) ? -near : near;
}

static __float128 op_trunc(const struct environment *e, const __float128 *x)
{
	(void)e;
	return whole(x[0], ZERO);
}

static __float128 op_ceil(const struct environment *e, const __float128 *x)
{
	(void)e;
	return whole(x[0], UP);
}

static __float128 op_rndne(const struct environment *e, const __float128 *x)
{
	(void)e;
	return whole(x[0], NEAREST);
}

static __float128 op_floor(const struct environment *e, const __float128 *x)
{
	(void)e;
	return whole(x[0], DOWN);
}

/* expected() puts the integer there. */
static __float128 scaled(__float128 value, s64 by)
{
	return value * power((s32)(by < -6000 ? -6000 : by > 6000 ? 6000 : by));
}

static __float128 op_ldexp(const struct environment *e, const __float128 *x)
{
	(void)e;
	return scaled(x[0], (s64)x[1]);
}

static __float128 op_ldexp16(const struct environment *e, const __float128 *x)
{
	return op_ldexp(e, x);
}

/* Newton's root of 113 bits, made odd where its square is not the number. */
static __float128 op_sqrt(const struct environment *e, const __float128 *x)
{
	__float128 root, scale = 1, value = x[0];

	(void)e;
	if (!(value > 0) || value - value != 0)
		return value == 0 || value > 0 ? value : (__float128)__builtin_nan("");
	while (value < power(-100)) {
		value *= power(200);
		scale *= power(-100);
	}
	while (value > power(100)) {
		value *= power(-200);
		scale *= power(100);
	}
	root = (__float128)__builtin_sqrt((double)value);
	for (u32 n = 0; n < 4; n++)
		root = (root + value / root) / 2;
	/* A root of 53 bits is exact or far from any tie: the low bits only have to tell. */
	if ((__float128)(double)root * (double)root == value)
		return (double)root * scale;
	return number_of(bits_of(root) | 1) * scale;
}

static const struct check {
	const char *text;
	u32 words[2], count, to;
	const struct format *format;
	operation *compute;
} checks[] = {
	/* clang-format off */
	{"v_add_f32_e32 v0, v2, v4", {0x02000902}, 1, 0, &single, op_add},
	{"v_add_f16_e32 v0, v2, v4", {0x3e000902}, 1, 0, &half, op_add},
	{"v_sub_f32_e32 v0, v2, v4", {0x04000902}, 1, 0, &single, op_sub},
	{"v_sub_f16_e32 v0, v2, v4", {0x40000902}, 1, 0, &half, op_sub},
	{"v_subrev_f32_e32 v0, v2, v4", {0x06000902}, 1, 0, &single, op_subrev},
	{"v_subrev_f16_e32 v0, v2, v4", {0x42000902}, 1, 0, &half, op_subrev},
	{"v_mul_f32_e32 v0, v2, v4", {0x0a000902}, 1, 0, &single, op_mul},
	{"v_mul_f16_e32 v0, v2, v4", {0x44000902}, 1, 0, &half, op_mul},
	{"v_mul_legacy_f32 v0, v2, v4", {0xd2a10000, 0x00020902}, 2, 0, &single, op_mul_legacy},
	{"v_fma_f32 v0, v2, v4, v6", {0xd1cb0000, 0x041a0902}, 2, 0, &single, op_fma},
	{"v_fmac_f32_e32 v6, v2, v4", {0x760c0902}, 1, 6, &single, op_fma},
	{"v_mad_f32 v0, v2, v4, v6", {0xd1c10000, 0x041a0902}, 2, 0, &single, op_mad},
	{"v_mac_f32_e32 v6, v2, v4", {0x2c0c0902}, 1, 6, &single, op_mad},
	{"v_mad_legacy_f32 v0, v2, v4, v6", {0xd1c00000, 0x041a0902}, 2, 0, &single, op_mad_legacy},
	{"v_add_f64 v[0:1], v[2:3], v[4:5]", {0xd2800000, 0x00020902}, 2, 0, &wide, op_add},
	{"v_mul_f64 v[0:1], v[2:3], v[4:5]", {0xd2810000, 0x00020902}, 2, 0, &wide, op_mul},
	{"v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]", {0xd1cc0000, 0x041a0902}, 2, 0, &wide, op_fma},
	{"v_fmac_f64_e32 v[6:7], v[2:3], v[4:5]", {0x080c0902}, 1, 6, &wide, op_fma},
	{"v_fma_f16 v0, v2, v4, v6", {0xd2060000, 0x041a0902}, 2, 0, &half_kept, op_fma},
	{"v_fma_legacy_f16 v0, v2, v4, v6", {0xd1ee0000, 0x041a0902}, 2, 0, &half, op_fma},
	{"v_mad_f16 v0, v2, v4, v6", {0xd2030000, 0x041a0902}, 2, 0, &half_kept, op_mad},
	{"v_mad_legacy_f16 v0, v2, v4, v6", {0xd1ea0000, 0x041a0902}, 2, 0, &half, op_mad},
	{"v_trunc_f32_e32 v0, v2", {0x7e003902}, 1, 0, &single, op_trunc},
	{"v_ceil_f32_e32 v0, v2", {0x7e003b02}, 1, 0, &single, op_ceil},
	{"v_rndne_f32_e32 v0, v2", {0x7e003d02}, 1, 0, &single, op_rndne},
	{"v_floor_f32_e32 v0, v2", {0x7e003f02}, 1, 0, &single, op_floor},
	{"v_trunc_f16_e32 v0, v2", {0x7e008d02}, 1, 0, &half, op_trunc},
	{"v_ceil_f16_e32 v0, v2", {0x7e008b02}, 1, 0, &half, op_ceil},
	{"v_rndne_f16_e32 v0, v2", {0x7e008f02}, 1, 0, &half, op_rndne},
	{"v_floor_f16_e32 v0, v2", {0x7e008902}, 1, 0, &half, op_floor},
	{"v_trunc_f64_e32 v[0:1], v[2:3]", {0x7e002f02}, 1, 0, &wide, op_trunc},
	{"v_ceil_f64_e32 v[0:1], v[2:3]", {0x7e003102}, 1, 0, &wide, op_ceil},
	{"v_rndne_f64_e32 v[0:1], v[2:3]", {0x7e003302}, 1, 0, &wide, op_rndne},
	{"v_floor_f64_e32 v[0:1], v[2:3]", {0x7e003502}, 1, 0, &wide, op_floor},
	{"v_ldexp_f32 v0, v2, v4", {0xd2880000, 0x00020902}, 2, 0, &single, op_ldexp},
	{"v_ldexp_f64 v[0:1], v[2:3], v4", {0xd2840000, 0x00020902}, 2, 0, &wide, op_ldexp},
	{"v_ldexp_f16_e32 v0, v2, v4", {0x66000902}, 1, 0, &half, op_ldexp16},
	{"v_cvt_f32_f64_e32 v0, v[2:3]", {0x7e001f02}, 1, 0, &single_of_wide, op_same},
	{"v_cvt_f16_f32_e32 v0, v2", {0x7e001502}, 1, 0, &half_of_single, op_same},
	{"v_cvt_f64_f32_e32 v[0:1], v2", {0x7e002102}, 1, 0, &wide_of_single, op_same},
	{"v_cvt_f32_f16_e32 v0, v2", {0x7e001702}, 1, 0, &single_of_half, op_same},
	{"v_sqrt_f64_e32 v[0:1], v[2:3]", {0x7e005102}, 1, 0, &wide, op_sqrt},
	/* clang-format on */
};

static bool is_nan(u64 bits, u32 mantissa, u32 exponent)
{
	return (bits & ((1ull << (mantissa + exponent)) - 1)) > ((1ull << exponent) - 1)
									<< mantissa;
}

/* The first NaN among the sources, quiet, or the positive one; in the format of the result. */
static u64 nan_of(const struct check *check, const u64 *source, u32 count)
{
	const struct format *f = check->format;
	u32 from = f->from_mantissa, to = f->mantissa;

	for (u32 n = 0; n < count; n++)
		if (is_nan(source[n], from, f->from_exponent)) {
			u64 fraction = source[n] & ((1ull << from) - 1);
			u64 sign = source[n] >> (from + f->from_exponent) & 1;

			fraction = from > to ? fraction >> (from - to) : fraction << (to - from);
			return sign << (to + f->exponent) | ((1ull << f->exponent) - 1) << to |
			       1ull << (to - 1) | fraction;
		}
	return ((2ull << f->exponent) - 1) << (to - 1);
}

static u64 finished(const struct environment *e, const struct format *f, __float128 value)
{
	u64 result = round_to(e, value, f->mantissa, f->exponent);

	if (e->flush_out && value != 0 && is_tiny(e, value, result, f->mantissa, f->exponent))
		result &= 1ull << (f->mantissa + f->exponent);
	return result;
}

static bool is_mad(const struct check *check)
{
	return check->compute == op_mad || check->compute == op_mad_legacy;
}

static u32 sources_of(const struct check *check)
{
	operation *op = check->compute;

	if (op == op_fma || is_mad(check))
		return 3;
	return op == op_add || op == op_sub || op == op_subrev || op == op_mul ||
			       op == op_mul_legacy
		       ? 2
		       : 1;
}

static u64 expected(const struct check *check, const struct environment *given, const u64 *source)
{
	const struct format *f = check->format;
	struct environment own = *given, *e = &own;
	bool scales = check->compute == op_ldexp || check->compute == op_ldexp16;
	u32 count = sources_of(check);
	__float128 x[3], value;

	if (is_mad(check))
		e->flush_in = e->flush_out = true;
	for (u32 n = 0; n < 3; n++)
		x[n] = decode(e, source[n], f->from_mantissa, f->from_exponent);
	if (scales)
		x[1] = check->compute == op_ldexp ? (s32)(u32)source[1] : (int16_t)source[1];
	if (is_mad(check)) {
		bool zero = check->compute == op_mad_legacy && (x[0] == 0 || x[1] == 0);
		__float128 product = zero ? 0 : x[0] * x[1];

		x[0] = product == product
			       ? decode(e, finished(e, f, product), f->mantissa, f->exponent)
			       : product;
	}
	value = check->compute(e, x);
	return value == value ? finished(e, f, value) : nan_of(check, source, count);
}

static const u64 edges[] = {0,          1,          2,          3,          0x7fffff,
			    0x800000,   0x800001,   0x7f7fffff, 0x7f800000, 0x7fc00001,
			    0x7fa00000, 0x3f800000, 0x3f800001, 0x3f7fffff, 0x3f000000,
			    0x40200000, 0x4b000001, 0x34000000, 0x33800000, 0x0c000000};
static const u64 edges64[] = {0,
			      1,
			      0xfffffffffffff,
			      0x10000000000000,
			      0x10000000000001,
			      0x7fefffffffffffff,
			      0x7ff0000000000000,
			      0x7ff8000000000001,
			      0x7ff4000000000000,
			      0x3ff0000000000000,
			      0x3ff0000000000001,
			      0x3fe0000000000000,
			      0x4004000000000000,
			      0x380fffffe0000000,
			      0x36a0000000000000,
			      0x47efffffffffffff,
			      0x1ff0000000000001,
			      0x4330000000000001};
static const u64 edges16[] = {0,      1,      2,      0x3ff,  0x400,  0x401,
			      0x7bff, 0x7c00, 0x7e01, 0x7d00, 0x3c00, 0x3c01,
			      0x3bff, 0x3800, 0x4100, 0x1400, 0x2400, 0x6401};

/* An edge value, a number of moderate size, or any bits; of either sign. */
static u64 value_of(const struct format *f, u64 *seed)
{
	u32 dice = machine_random(seed), m = f->from_mantissa, pick = dice >> 8;
	u64 sign = (u64)(dice & 1) << (m + f->from_exponent), any, bias;

	any = (u64)machine_random(seed) << 32 | machine_random(seed);
	bias = (1u << (f->from_exponent - 1)) - 5 + machine_random(seed) % 10;
	if ((dice & 6) == 0)
		return sign | (m == 23   ? edges[pick % GP_ARRAY_SIZE(edges)]
			       : m == 52 ? edges64[pick % GP_ARRAY_SIZE(edges64)]
					 : edges16[pick % GP_ARRAY_SIZE(edges16)]);
	if ((dice & 6) == 2)
		return any & ((1ull << (m + f->from_exponent)) * 2 - 1);
	if (dice & 8) /* few bits, so that ties come */
		any &= 0xc0000000c0000003ull;
	return sign | bias << m | (any & ((1ull << m) - 1));
}

static void check(struct machine *m, const struct check *check, u32 mode, u64 *seed)
{
	const struct format *f = check->format;
	u32 out_shift = f->mantissa == 23 ? 0 : 2, in_shift = f->from_mantissa == 23 ? 0 : 2;
	struct environment e = {(enum rounding)(mode >> out_shift & 3),
				!(mode >> (4 + in_shift) & 1), !(mode >> (5 + out_shift) & 1)};
	u64 source[GP_ISA_LANES][3];
	bool scales = check->compute == op_ldexp || check->compute == op_ldexp16;

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		for (u32 n = 0; n < 3; n++) {
			u64 value = value_of(f, seed);

			if (scales && n == 1)
				value = (u32)((s32)(machine_random(seed) % 4400) - 2200) >>
					(machine_random(seed) % 8 ? 0 : 20);
			source[lane][n] = value;
			m->wave->v[2 + n * 2][lane] = (u32)value;
			m->wave->v[3 + n * 2][lane] = (u32)(value >> 32);
			m->wave->v[n % 2][lane] = OLD;
		}
	m->wave->mode = mode;
	machine_run_to_end(m, check->words, check->count);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		u64 wanted = expected(check, &e, source[lane]), got = m->wave->v[check->to][lane];

		if (f->mantissa == 52)
			got |= (u64)m->wave->v[check->to + 1][lane] << 32;
		if (f->keeps)
			wanted |= OLD & 0xffff0000;
		if (got != wanted)
			fail_msg("%s with mode %02x of %llx, %llx, %llx: %llx, not %llx",
				 check->text, mode, (unsigned long long)source[lane][0],
				 (unsigned long long)source[lane][1],
				 (unsigned long long)source[lane][2], (unsigned long long)got,
				 (unsigned long long)wanted);
	}
}

static void arithmetic_is_exact_in_every_mode(void **state)
{
	u64 seed = 7;

	for (size_t n = 0; n < GP_ARRAY_SIZE(checks); n++)
		for (u32 mode = 0; mode < 0x100; mode++)
			check(*state, &checks[n], mode, &seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(arithmetic_is_exact_in_every_mode, machine_gfx90a,
						machine_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
