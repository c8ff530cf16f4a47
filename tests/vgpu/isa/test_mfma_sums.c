// SPDX-License-Identifier: MIT
/*
 * How matrix operations add and round, bit by bit, on random elements of all magnitudes. The
 * expected sums are computed in plain C, one element at a time, as MMA-Sim (arXiv:2511.10909)
 * found them on MI250X and MI300X.
 */
#include <float.h>
#include <math.h>

#include "matrix.h"

#define ROUNDS 6

static u32 f32_bits(double number)
{
	float single = (float)number;
	u32 bits;

	memcpy(&bits, &single, sizeof(bits));
	return isnan(number) ? 0x7fc00000 : bits;
}

/* 0 of the sign for what is too small for a normal number. */
static double flushed(double number, double least)
{
	return fabs(number) < least ? copysign(0, number) : number;
}

/* gfx90a: sources that are denormal or -0 become +0. */
static double flushed_source(enum type type, double number)
{
	double least = type == TYPE_F16 ? 0x1p-14 : FLT_MIN;

	return fabs(number) < least ? 0 : number;
}

static float sum_pairs(const struct shape *shape, const struct factors *f, float c)
{
	c = (float)flushed_source(TYPE_F32, c);
	for (u32 s = 0; s < f->count; s += shape->pair) {
		float x[4] = {0};

		for (u32 n = 0; n < shape->pair; n++) {
			double a = flushed_source(shape->a, f->a[s + n]);
			double b = flushed_source(shape->b, f->b[s + n]);

			x[n] = (float)(a * b) + 0.0f;
			x[n] = (float)flushed(x[n], FLT_MIN);
		}
		x[0] = (float)flushed(x[0] + x[1], FLT_MIN);
		if (shape->pair == 4) {
			x[2] = (float)flushed(x[2] + x[3], FLT_MIN);
			x[0] = (float)flushed(x[0] + x[2], FLT_MIN);
		}
		c = (float)flushed(c + x[0], FLT_MIN);
	}
	return c;
}

/* Significand (1 to 2, less if denormal) and exponent; 0 has -126. */
static double significand_of(enum type type, double number, int *exponent)
{
	static const int least[] = {[TYPE_F32] = -126,  [TYPE_XF32] = -126, [TYPE_F16] = -14,
				    [TYPE_BF16] = -126, [TYPE_FP8] = -7,    [TYPE_BF8] = -15};
	double fraction = frexp(number, exponent) * 2;

	*exponent -= 1;
	if (*exponent < least[type]) {
		fraction = ldexp(fraction, *exponent - least[type]);
		*exponent = least[type];
	}
	if (fraction == 0)
		*exponent = -126;
	return fraction;
}

struct fixed {
	double value;
	int exponent;
};

static struct fixed fixed_sum(const struct shape *shape, const struct factors *f, u32 first,
			      u32 step, u32 count)
{
	double part[16];
	int exponent[16];
	struct fixed sum = {0, INT32_MIN};

	for (u32 n = 0; n < count; n++) {
		int other;

		part[n] = significand_of(shape->a, f->a[first + n * step], &exponent[n]) *
			  significand_of(shape->b, f->b[first + n * step], &other);
		exponent[n] += other;
		sum.exponent = exponent[n] > sum.exponent ? exponent[n] : sum.exponent;
	}
	for (u32 n = 0; n < count; n++)
		sum.value += ldexp(trunc(ldexp(part[n], 24 + exponent[n] - sum.exponent)), -24);
	return sum;
}

static double rounded_down(double value, int bits)
{
	return ldexp(floor(ldexp(value, bits)), -bits);
}

static double group_sum(const struct shape *shape, const struct factors *f, u32 first, u32 count,
			double c)
{
	bool of_8_bits = type_width(shape->a) == 8;
	struct fixed x = {0, 0}, y;
	double sum = c, beyond = 0, significand_c;
	int top, exponent_c;

	for (u32 n = first; n < first + count; n++) {
		sum += f->a[n] * f->b[n];
		beyond += fabs(f->a[n] * f->b[n]) >= 0x1p128 ? f->a[n] * f->b[n] * INFINITY : 0;
	}
	if (!isfinite(sum))
		return sum;
	if (beyond != 0)
		return beyond;
	if (of_8_bits) {
		x = fixed_sum(shape, f, first, 2, count / 2);
		y = fixed_sum(shape, f, first + 1, 2, count / 2);
		top = x.exponent > y.exponent ? x.exponent : y.exponent;
		x.value = rounded_down(ldexp(x.value, x.exponent - top), 24) +
			  rounded_down(ldexp(y.value, y.exponent - top), 24);
		x.exponent = top;
	} else {
		x = fixed_sum(shape, f, first, 1, count);
	}
	significand_c = significand_of(TYPE_F32, c, &exponent_c);
	top = x.exponent > exponent_c ? x.exponent : exponent_c;
	significand_c = rounded_down(ldexp(significand_c, exponent_c - top), 24);
	if (of_8_bits && exponent_c < top - 25)
		significand_c = 0;
	return ldexp(rounded_down(ldexp(x.value, x.exponent - top), 31) + significand_c, top);
}

static double sum_aligned(const struct shape *shape, const struct factors *f, float c)
{
	u32 group = type_width(shape->a) == 8 ? 16 : shape->a == TYPE_XF32 ? 4 : 8;

	group = group < f->count ? group : f->count;
	for (u32 s = 0; s < f->count; s += group)
		c = (float)group_sum(shape, f, s, group, c);
	return c;
}

/* What the operation makes of its products and C. */
static u64 expected(const struct shape *shape, const struct factors *f, u64 c)
{
	if (shape->a == TYPE_I8) {
		s64 sum = (s32)c;

		for (u32 s = 0; s < f->count; s++)
			sum += (s64)(f->a[s] * f->b[s]);
		return (u32)sum;
	}
	if (shape->a == TYPE_F64) {
		double sum = type_number(TYPE_F64, c);
		u64 bits;

		for (u32 s = 0; s < f->count; s++)
			sum = fma(f->a[s], f->b[s], sum);
		memcpy(&bits, &sum, sizeof(bits));
		return bits;
	}
	if (shape->a == TYPE_F32) {
		float sum = (float)type_number(TYPE_F32, c);

		for (u32 s = 0; s < f->count; s++)
			sum = fmaf((float)f->a[s], (float)f->b[s], sum);
		return f32_bits(sum);
	}
	if (shape->gfx == GP_ISA_GFX90A)
		return f32_bits(sum_pairs(shape, f, (float)type_number(TYPE_F32, c)));
	return f32_bits(sum_aligned(shape, f, (float)type_number(TYPE_F32, c)));
}

/* Bits whose exponents are near each other, so that all parts of a sum matter, or anywhere. */
static u64 random_bits(enum type type, u32 spread, u64 *seed)
{
	u64 bits = machine_random(seed) | (u64)machine_random(seed) << 32, mask, middle;
	u32 width = type_width(type);
	double number;

	if (type == TYPE_I8)
		return bits & 0xff;
	if (spread && type <= TYPE_BF16) {
		u32 fraction = type == TYPE_F64    ? 52
			       : type == TYPE_F16  ? 10
			       : type == TYPE_BF16 ? 7
						   : 23;
		u32 exponent = width - 1 - fraction;

		middle = 1ull << (exponent - 1);
		mask = ((1ull << exponent) - 1) << fraction;
		bits = (bits & ~mask) | (middle - spread / 2 + machine_random(seed) % spread)
						<< fraction;
	}
	bits &= width == 64 ? ~0ull : (1ull << width) - 1;
	number = type_number(type, bits);
	return isfinite(number) ? bits : 0;
}

static void matrices_random(const struct shape *shape, struct matrices *x, u32 spread, u64 *seed)
{
	enum type wide = shape_result(shape);

	for (u32 n = 0; n < GP_ARRAY_SIZE(x->a); n++) {
		x->a[n] = random_bits(shape->a, spread, seed);
		x->b[n] = random_bits(shape->b, spread, seed);
		x->index[n] = machine_random(seed) & 3;
	}
	for (u32 n = 0; n < GP_ARRAY_SIZE(x->c); n++)
		x->c[n] = wide == TYPE_I8 ? machine_random(seed) : random_bits(wide, spread, seed);
}

static void matrices_compare(const struct shape *shape, const struct matrices *x, const char *what)
{
	for (u32 block = 0; block < shape->blocks; block++)
		for (u32 i = 0; i < shape->size; i++)
			for (u32 j = 0; j < shape->size; j++) {
				u32 at = at_c(shape, block, i, j);
				struct factors f;
				u64 want;

				matrices_factors(shape, (struct fields){0}, x, block, i, j, &f);
				want = expected(shape, &f, x->c[at]);
				if (want != x->d[at] &&
				    !(isnan(type_number(shape_result(shape), want)) &&
				      isnan(type_number(shape_result(shape), x->d[at])) &&
				      shape->a != TYPE_I8))
					fail_msg("%s, %s: block %u, row %u, column %u: %llx, not "
						 "%llx",
						 shape->name, what, block, i, j,
						 (unsigned long long)x->d[at],
						 (unsigned long long)want);
			}
}

static void for_each_shape(struct machine *m,
			   void (*test)(struct machine *m, const struct shape *shape))
{
	for (u32 n = 0; n < matrix_shape_count; n++)
		if (matrix_shapes[n].gfx == m->runner.gfx)
			test(m, &matrix_shapes[n]);
}

static void shape_random(struct machine *m, const struct shape *shape)
{
	static const u32 spreads[ROUNDS] = {1, 4, 8, 20, 28, 0};
	static struct matrices x;
	u64 seed = shape->words[0];
	char what[32];

	m->wave->mode |= GP_ISA_MODE_DENORM_32;
	for (u32 n = 0; n < ROUNDS; n++) {
		snprintf(what, sizeof(what), "spread %u", spreads[n]);
		matrices_random(shape, &x, spreads[n], &seed);
		matrices_multiply(m, shape, (struct fields){0}, &x);
		matrices_compare(shape, &x, what);
	}
}

static void random_sums_round_as_measured(void **state)
{
	for_each_shape(*state, shape_random);
}

/* MODE's rounding does not matter, nor do f32 denormals for anything but f32. */
static void shape_modes(struct machine *m, const struct shape *shape)
{
	static struct matrices x;
	u64 seed = shape->words[0];

	m->wave->mode = (m->wave->mode & ~0xffu) | 0xf; /* to zero, flushing */
	if (shape->a == TYPE_F32)
		m->wave->mode |= GP_ISA_MODE_DENORM_32;
	matrices_random(shape, &x, 8, &seed);
	matrices_multiply(m, shape, (struct fields){0}, &x);
	matrices_compare(shape, &x, "other mode");
	matrices_random(shape, &x, 0, &seed);
	matrices_multiply(m, shape, (struct fields){0}, &x);
	matrices_compare(shape, &x, "other mode, everywhere");
}

static void mode_does_not_matter(void **state)
{
	for_each_shape(*state, shape_modes);
}

/* Infinities, NaNs and zeros of both signs among the elements. */
static void shape_specials(struct machine *m, const struct shape *shape)
{
	static const double specials[] = {INFINITY, -INFINITY, NAN, 0.0, -0.0};
	static const u64 bits[][5] = {
		[TYPE_F64] = {0x7ff0ull << 48, 0xfff0ull << 48, 0x7ff8ull << 48, 0, 1ull << 63},
		[TYPE_F32] = {0x7f800000, 0xff800000, 0x7fc00000, 0, 0x80000000},
		[TYPE_XF32] = {0x7f800000, 0xff800000, 0x7fc00000, 0, 0x80000000},
		[TYPE_F16] = {0x7c00, 0xfc00, 0x7e00, 0, 0x8000},
		[TYPE_BF16] = {0x7f80, 0xff80, 0x7fc0, 0, 0x8000},
		[TYPE_FP8] = {0x80, 0, 0x80, 0x7f, 0xff},
		[TYPE_BF8] = {0, 0x80, 0, 0x80, 0xff},
	};
	static struct matrices x;
	u64 seed = shape->words[0];

	if (shape->a == TYPE_I8)
		return;
	m->wave->mode |= GP_ISA_MODE_DENORM_32;
	for (u32 n = 0; n < GP_ARRAY_SIZE(specials); n++) {
		matrices_random(shape, &x, 8, &seed);
		for (u32 at = 0; at < GP_ARRAY_SIZE(x.a); at += 1 + machine_random(&seed) % 64) {
			x.a[at] = bits[shape->a][n];
			x.b[machine_random(&seed) % GP_ARRAY_SIZE(x.b)] = bits[shape->b][n];
			x.c[machine_random(&seed) % GP_ARRAY_SIZE(x.c)] =
				bits[shape->a == TYPE_F64 ? TYPE_F64 : TYPE_F32][n];
		}
		matrices_multiply(m, shape, (struct fields){0}, &x);
		matrices_compare(shape, &x, "specials");
	}
}

static void infinities_and_nans_are_found(void **state)
{
	for_each_shape(*state, shape_specials);
}

static const struct shape *shape_named(const char *name)
{
	for (u32 n = 0; n < matrix_shape_count; n++)
		if (!strcmp(matrix_shapes[n].name, name))
			return &matrix_shapes[n];
	fail_msg("no %s", name);
	return NULL;
}

/* One product in row 0, column 0. */
static u32 product_of(struct machine *m, const char *name, u64 a, u64 b, u32 c)
{
	const struct shape *shape = shape_named(name);
	static struct matrices x;

	memset(&x, 0, sizeof(x));
	x.a[0] = a;
	x.b[0] = b;
	x.c[0] = c;
	matrices_multiply(m, shape, (struct fields){0}, &x);
	return (u32)x.d[0];
}

static void f16_denormals_are_flushed_on_gfx90a_only(void **state)
{
	struct machine *m = *state;
	bool flushes = m->runner.gfx == GP_ISA_GFX90A;
	const char *name = flushes ? "v_mfma_f32_32x32x8f16" : "v_mfma_f32_32x32x8_f16";

	/* 2^-24 * 1 + 0, and 0 * 0 + a denormal C */
	assert_int_equal(product_of(m, name, 1, 0x3c00, 0), flushes ? 0 : 0x33800000);
	assert_int_equal(product_of(m, name, 0, 0x3c00, 0x400000), flushes ? 0 : 0x400000);
}

/* 2^-63 * 2^-63 - 1.5 * 2^-126 */
static void bf16_sums_that_are_denormal_are_flushed_on_gfx90a_only(void **state)
{
	struct machine *m = *state;
	bool flushes = m->runner.gfx == GP_ISA_GFX90A;

	assert_int_equal(product_of(m,
				    flushes ? "v_mfma_f32_32x32x4bf16_1k"
					    : "v_mfma_f32_32x32x4_2b_bf16",
				    0x2000, 0x2000, 0x80c00000),
			 flushes ? 0x80000000 : 0x80400000);
}

static void f32_denormals_of_a_and_b_are_flushed_as_mode_says(void **state)
{
	struct machine *m = *state;
	const char *name =
		m->runner.gfx == GP_ISA_GFX90A ? "v_mfma_f32_32x32x2f32" : "v_mfma_f32_32x32x2_f32";

	m->wave->mode &= ~GP_ISA_MODE_DENORM_32;
	assert_int_equal(product_of(m, name, 0x400000, 0x3f800000, 0), 0);
	assert_int_equal(product_of(m, name, 0, 0x3f800000, 0x400000), 0x400000); /* never of C */
	m->wave->mode |= GP_ISA_MODE_DENORM_32;
	assert_int_equal(product_of(m, name, 0x400000, 0x3f800000, 0), 0x400000);
}

static void xf32_takes_ten_bits_of_the_fraction(void **state)
{
	struct machine *m = *state;

	assert_int_equal(product_of(m, "v_mfma_f32_16x16x8_xf32", 0x3f801fff, 0x40000000, 0),
			 0x40000000);
	assert_int_equal(product_of(m, "v_mfma_f32_16x16x8_xf32", 0x3f802000, 0x40000000, 0),
			 0x40002000);
}

static void overflow_is_clamped_with_fp16_ovfl_on_gfx942(void **state)
{
	struct machine *m = *state;
	bool clamps = m->runner.gfx == GP_ISA_GFX942;
	const char *f32 = clamps ? "v_mfma_f32_32x32x2_f32" : "v_mfma_f32_32x32x2f32";
	const char *i32 = clamps ? "v_mfma_i32_4x4x4_16b_i8" : "v_mfma_i32_4x4x4i8";

	assert_int_equal(product_of(m, f32, 0x7f7fffff, 0xc0000000, 0), 0xff800000);
	assert_int_equal(product_of(m, i32, 2, 3, 0x7ffffffc), 0x80000002);
	m->wave->mode |= GP_ISA_MODE_FP16_OVFL;
	assert_int_equal(product_of(m, f32, 0x7f7fffff, 0xc0000000, 0),
			 clamps ? 0xff7fffff : 0xff800000);
	assert_int_equal(product_of(m, f32, 0x3f800000, 0x3f800000, 0x7f800000), 0x7f800000);
	assert_int_equal(product_of(m, i32, 2, 3, 0x7ffffffc), clamps ? 0x7fffffff : 0x80000002);
	assert_int_equal(product_of(m, i32, 2, 0xfd, 0x80000001), clamps ? 0x80000000 : 0x7ffffffb);
}

#define BOTH(test)                                                           \
	cmocka_unit_test_setup_teardown(test, machine_gfx90a, machine_down), \
		cmocka_unit_test_setup_teardown(test, machine_gfx942, machine_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(random_sums_round_as_measured),
		BOTH(mode_does_not_matter),
		BOTH(infinities_and_nans_are_found),
		BOTH(f16_denormals_are_flushed_on_gfx90a_only),
		BOTH(bf16_sums_that_are_denormal_are_flushed_on_gfx90a_only),
		BOTH(f32_denormals_of_a_and_b_are_flushed_as_mode_says),
		cmocka_unit_test_setup_teardown(xf32_takes_ten_bits_of_the_fraction, machine_gfx942,
						machine_down),
		BOTH(overflow_is_clamped_with_fp16_ovfl_on_gfx942),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
