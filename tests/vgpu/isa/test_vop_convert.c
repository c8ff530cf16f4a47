// SPDX-License-Identifier: MIT
/* Conversions, and the functions that the GPU approximates: special values and error bounds. */
#include <fenv.h>
#include <math.h>

#include "machine.h"

static u32 bits_of(float value)
{
	u32 bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static float float_of(u32 bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static void all_lanes(struct machine *m, u32 row, u32 value)
{
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		m->wave->v[row][lane] = value;
}

/* One instruction with v[2:3] as its source; v0. */
static u32 of_word(struct machine *m, u32 word, u32 source)
{
	all_lanes(m, 2, source);
	RUN(m, word);
	for (u32 lane = 1; lane < GP_ISA_LANES; lane++)
		assert_int_equal(m->wave->v[0][lane], m->wave->v[0][0]);
	return m->wave->v[0][0];
}

static u32 of_f32(struct machine *m, u32 word, float source)
{
	return of_word(m, word, bits_of(source));
}

static u32 of_f64(struct machine *m, u32 word, double source)
{
	u64 bits;

	memcpy(&bits, &source, sizeof(bits));
	all_lanes(m, 3, (u32)(bits >> 32));
	return of_word(m, word, (u32)bits);
}

static void floats_to_integers_saturate(void **state)
{
	static const struct {
		float from;
		s32 nearest_zero;
		u32 as_unsigned;
		s32 below, rounded; /* v_cvt_flr, v_cvt_rpi */
	} f32[] = {
		{0.0f, 0, 0, 0, 0},
		{-0.0f, 0, 0, 0, 0},
		{1.5f, 1, 1, 1, 2},
		{-1.5f, -1, 0, -2, -1},
		{0.49999997f, 0, 0, 0, 0},
		{-0.5f, 0, 0, -1, 0},
		{2147483520.0f, 2147483520, 2147483520, 2147483520, 2147483520},
		{2147483648.0f, INT32_MAX, 0x80000000u, INT32_MAX, INT32_MAX},
		{-2147483648.0f, INT32_MIN, 0, INT32_MIN, INT32_MIN},
		{-3e9f, INT32_MIN, 0, INT32_MIN, INT32_MIN},
		{4294967040.0f, INT32_MAX, 4294967040u, INT32_MAX, INT32_MAX},
		{4294967296.0f, INT32_MAX, UINT32_MAX, INT32_MAX, INT32_MAX},
		{INFINITY, INT32_MAX, UINT32_MAX, INT32_MAX, INT32_MAX},
		{-INFINITY, INT32_MIN, 0, INT32_MIN, INT32_MIN},
		{NAN, 0, 0, 0, 0},
	};
	struct machine *m = *state;

	for (u32 n = 0; n < GP_ARRAY_SIZE(f32); n++) {
		float from = f32[n].from;

		assert_int_equal((s32)of_f32(m, 0x7e001102, from), f32[n].nearest_zero);
		assert_int_equal(of_f32(m, 0x7e000f02, from), f32[n].as_unsigned);
		assert_int_equal((s32)of_f32(m, 0x7e001b02, from), f32[n].below);
		assert_int_equal((s32)of_f32(m, 0x7e001902, from), f32[n].rounded);
		/* v_cvt_i32_f64_e32 v0, v[2:3]; v_cvt_u32_f64 */
		assert_int_equal((s32)of_f64(m, 0x7e000702, (double)from), f32[n].nearest_zero);
		assert_int_equal(of_f64(m, 0x7e002b02, (double)from), f32[n].as_unsigned);
	}
	assert_int_equal((s32)of_f64(m, 0x7e000702, 2147483647.9), INT32_MAX);
	assert_int_equal(of_f64(m, 0x7e002b02, 4294967295.9), UINT32_MAX);
	/* v_cvt_u16_f16, v_cvt_i16_f16: 1.5, -2, 65504, infinity, NaN, -infinity */
	assert_int_equal(of_word(m, 0x7e007702, 0x3e00), 1);
	assert_int_equal(of_word(m, 0x7e007702, 0xc000), 0);
	assert_int_equal(of_word(m, 0x7e007702, 0x7bff), 65504);
	assert_int_equal(of_word(m, 0x7e007702, 0x7c00), 65535);
	assert_int_equal(of_word(m, 0x7e007702, 0x7e00), 0);
	assert_int_equal(of_word(m, 0x7e007902, 0xc000), 0xfffe);
	assert_int_equal(of_word(m, 0x7e007902, 0x7bff), 32767);
	assert_int_equal(of_word(m, 0x7e007902, 0xfc00), 0x8000);
}

/* The host rounds as told, in code that the compiler cannot evaluate. */
static void integers_to_floats_are_rounded(void **state)
{
	static const int rounding[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
	static const u32 values[] = {0,          1,          16777216,   16777217,   16777219,
				     0x7fffffff, 0x80000000, 0xffffffff, 0xff000001, 0x80000001};
	struct machine *m = *state;

	for (u32 mode = 0; mode < 4; mode++)
		for (u32 n = 0; n < GP_ARRAY_SIZE(values); n++) {
			volatile s64 is_signed = (s32)values[n], is_unsigned = values[n];
			volatile float wanted_signed, wanted_unsigned;

			fesetround(rounding[mode]);
			wanted_signed = (float)is_signed;
			wanted_unsigned = (float)is_unsigned;
			fesetround(FE_TONEAREST);
			m->wave->mode = mode;
			assert_int_equal(of_word(m, 0x7e000b02, values[n]), bits_of(wanted_signed));
			assert_int_equal(of_word(m, 0x7e000d02, values[n]),
					 bits_of(wanted_unsigned));
			m->wave->mode = mode << 2;
			of_word(m, 0x7e000902, values[n]); /* v_cvt_f64_i32_e32 v[0:1], v2 */
			assert_true(*(double *)(u64[]){m->wave->v[0][0] | (u64)m->wave->v[1][0]
										  << 32} ==
				    (double)(s32)values[n]);
			of_word(m, 0x7e002d02, values[n]); /* v_cvt_f64_u32 */
			assert_true(*(double *)(u64[]){m->wave->v[0][0] | (u64)m->wave->v[1][0]
										  << 32} ==
				    (double)values[n]);
		}
	/* Nearest: 65519 and 65520 as halves, -32768. */
	m->wave->mode = 0xf0;
	assert_int_equal(of_word(m, 0x7e007302, 65519), 0x7bff);
	assert_int_equal(of_word(m, 0x7e007302, 65520), 0x7c00);
	assert_int_equal(of_word(m, 0x7e007502, 0x8000), 0xf800);
	m->wave->mode = 0xf0 | GP_ISA_MODE_FP16_OVFL;
	assert_int_equal(of_word(m, 0x7e007302, 65520), 0x7bff);
}

static void parts_of_words_become_floats(void **state)
{
	struct machine *m = *state;

	for (u32 n = 0; n < 4; n++) /* v_cvt_f32_ubyte0 to 3 */
		assert_true(float_of(of_word(m, 0x7e002302 + n * 0x200, 0xfe80017f)) ==
			    (float)(u8)(0xfe80017fu >> (n * 8)));
	for (s32 n = 0; n < 16; n++) /* v_cvt_off_f32_i4 */
		assert_true(float_of(of_word(m, 0x7e001d02, (u32)n)) ==
			    (float)(n < 8 ? n : n - 16) / 16);
}

static void pairs_are_packed(void **state)
{
	struct machine *m = *state;

	m->wave->mode = 0xf0;
	all_lanes(m, 2, bits_of(65519.9f));
	all_lanes(m, 4, bits_of(-1.0009765f));
	all_lanes(m, 6, 0x44332211);
	RUN(m, 0xd2960000, 0x00020902); /* v_cvt_pkrtz_f16_f32 v0, v2, v4 */
	assert_int_equal(m->wave->v[0][0], 0xbc007bff);
	RUN(m, 0xd2940000, 0x00020902); /* v_cvt_pknorm_i16_f32 */
	assert_int_equal(m->wave->v[0][0], 0x80017fff);
	RUN(m, 0xd2950000, 0x00020902); /* v_cvt_pknorm_u16_f32 */
	assert_int_equal(m->wave->v[0][0], 0x0000ffff);
	all_lanes(m, 2, bits_of(299.0f));
	all_lanes(m, 4, 2);
	RUN(m, 0xd1dd0000, 0x041a0902); /* v_cvt_pk_u8_f32 v0, v2, v4, v6 */
	assert_int_equal(m->wave->v[0][0], 0x44ff2211);
}

static void numbers_are_taken_apart(void **state)
{
	static const float values[] = {1, -1, 0.75f, 0x1p-126f, 0x1p-149f, 0x1.8p-140f, 3e38f, -5};
	struct machine *m = *state;

	m->wave->mode = 0xf0;
	for (u32 n = 0; n < GP_ARRAY_SIZE(values); n++) {
		int exponent;
		float mantissa = frexpf(values[n], &exponent);

		assert_int_equal((s32)of_f32(m, 0x7e006702, values[n]), exponent);
		assert_int_equal(of_f32(m, 0x7e006902, values[n]), bits_of(mantissa));
		assert_int_equal((s32)of_f64(m, 0x7e006102, (double)values[n] * 0x1p-930),
				 exponent - 930 < -1073 ? 0 : exponent - 930);
	}
	assert_int_equal(of_f32(m, 0x7e006702, INFINITY), 0);
	assert_int_equal(of_f32(m, 0x7e006702, 0), 0);
	assert_int_equal(of_f32(m, 0x7e006902, -INFINITY), bits_of(-INFINITY));
	assert_int_equal((int16_t)of_word(m, 0x7e008702, 0x0001), -23); /* v_frexp_exp_i16_f16 */
	assert_int_equal(of_word(m, 0x7e008502, 0x0003), 0x3a00);       /* v_frexp_mant_f16 */
	assert_int_equal(of_f32(m, 0x7e003702, -0x1p-30f), 0x3f7fffff); /* v_fract_f32 */
	assert_int_equal(of_f32(m, 0x7e003702, -1.25f), bits_of(0.75f));
	m->wave->mode = 0; /* denormals are zeros */
	assert_int_equal(of_f32(m, 0x7e006702, 0x1p-140f), 0);
}

static double sine(double turns)
{
	return sin(fmod(turns, 1) * 6.283185307179586477);
}

static double cosine(double turns)
{
	return cos(fmod(turns, 1) * 6.283185307179586477);
}

static double reciprocal(double value)
{
	return 1 / value;
}

static double inverse_root(double value)
{
	return 1 / sqrt(value);
}

static void approximations_are_close(void **state)
{
	static const struct {
		u32 word;
		double (*function)(double);
		double from, to, error; /* relative, or absolute for angles */
	} functions[] = {
		{0x7e004502, reciprocal, -1e30, 1e30, 0x1p-23}, /* v_rcp_f32 */
		{0x7e004902, inverse_root, 0, 1e30, 0x1p-23},
		{0x7e004f02, sqrt, 0, 1e30, 0x1p-23},
		{0x7e004102, exp2, -125, 127, 0x1p-23},
		{0x7e004302, log2, 1.5, 1e30, 0x1p-23},
		{0x7e005302, sine, -256, 256, 0x1p-20},
		{0x7e005502, cosine, -256, 256, 0x1p-20},
	};
	struct machine *m = *state;
	u64 seed = 1;

	m->wave->mode = 0xf0;
	for (u32 n = 0; n < GP_ARRAY_SIZE(functions); n++) {
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			double part = machine_random(&seed) / 4294967296.0;

			m->wave->v[2][lane] =
				bits_of((float)(functions[n].from +
						part * (functions[n].to - functions[n].from)));
		}
		RUN(m, functions[n].word);
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			double x = (double)float_of(m->wave->v[2][lane]);
			double wanted = functions[n].function(x);
			double off = fabs((double)float_of(m->wave->v[0][lane]) - wanted);

			assert_true(off <= functions[n].error * (n < 5 ? fabs(wanted) : 1));
		}
	}
}

static void approximations_have_special_values(void **state)
{
	struct machine *m = *state;

	m->wave->mode = 0xf0;
	assert_int_equal(of_f32(m, 0x7e004502, -0.0f), bits_of(-INFINITY)); /* v_rcp_f32 */
	assert_int_equal(of_f32(m, 0x7e004502, -INFINITY), bits_of(-0.0f));
	assert_int_equal(of_f32(m, 0x7e004502, 0x1p-140f), bits_of(INFINITY)); /* flushed */
	assert_int_equal(of_f32(m, 0x7e004502, 0x1p127f), 0);
	assert_int_equal(of_f32(m, 0x7e004902, 0.0f), bits_of(INFINITY)); /* v_rsq_f32 */
	assert_int_equal(of_f32(m, 0x7e004902, -1.0f), 0x7fc00000);
	assert_int_equal(of_f32(m, 0x7e004f02, -0.0f), bits_of(-0.0f)); /* v_sqrt_f32 */
	assert_int_equal(of_f32(m, 0x7e004102, -INFINITY), 0);          /* v_exp_f32 */
	assert_int_equal(of_f32(m, 0x7e004102, 128), bits_of(INFINITY));
	assert_int_equal(of_f32(m, 0x7e004302, 0), bits_of(-INFINITY)); /* v_log_f32 */
	assert_int_equal(of_f32(m, 0x7e004302, -1), 0x7fc00000);
	assert_int_equal(of_f32(m, 0x7e004302, 8), bits_of(3));
	assert_int_equal(of_f32(m, 0x7e005302, 0.25f), bits_of(1)); /* v_sin_f32 */
	assert_int_equal(of_f32(m, 0x7e005302, 300.3f), 0);
	assert_int_equal(of_f32(m, 0x7e005502, 300.3f), bits_of(1)); /* v_cos_f32 */
	assert_int_equal(of_f32(m, 0x7e005502, INFINITY), 0x7fc00000);
	assert_int_equal(of_word(m, 0x7e007b02, 0x3800), 0x4000); /* v_rcp_f16 */
	assert_int_equal(of_word(m, 0x7e008302, 0xcb00), 0x0400); /* v_exp_f16 of -14 */
	assert_int_equal(of_word(m, 0x7e008302, 0xcc00), 0x0100); /* of -16: a denormal */
}

static void results_are_scaled_and_clamped(void **state)
{
	struct machine *m = *state;

	all_lanes(m, 4, 0);
	m->wave->mode = GP_ISA_MODE_DX10_CLAMP;
	for (u32 lane = 0; lane < 4; lane++)
		m->wave->v[2][lane] = bits_of((float[]){-3, 0.5f, 7, NAN}[lane]);
	RUN(m, 0xd1018000, 0x00020902); /* v_add_f32_e64 v0, v2, v4 clamp */
	assert_int_equal(m->wave->v[0][0], 0);
	assert_int_equal(m->wave->v[0][1], bits_of(0.5f));
	assert_int_equal(m->wave->v[0][2], bits_of(1));
	assert_int_equal(m->wave->v[0][3], 0);
	RUN(m, 0xd1010000, 0x10020902); /* v_add_f32_e64 v0, v2, v4 mul:4 */
	assert_int_equal(m->wave->v[0][0], bits_of(-12));
	m->wave->mode = GP_ISA_MODE_DENORM_32; /* no scale with denormals; NaN stays */
	RUN(m, 0xd1010000, 0x10020902);
	assert_int_equal(m->wave->v[0][0], bits_of(-3));
	RUN(m, 0xd1018000, 0x00020902);
	assert_int_equal(m->wave->v[0][3], 0x7fc00000);
	m->wave->mode = GP_ISA_MODE_IEEE;
	RUN(m, 0xd1010000, 0x10020902);
	assert_int_equal(m->wave->v[0][0], bits_of(-3));
}

/* 1.4.3 with bias 8 and 1.5.2 with bias 16; 0x80 is the NaN. */
static float byte_value(u32 bits, u32 mantissa, s32 bias)
{
	u32 exponent = (bits & 0x7f) >> mantissa, fraction = bits & ((1u << mantissa) - 1);
	float value = ldexpf((float)(fraction + (exponent ? 1u << mantissa : 0)),
			     (s32)(exponent ? exponent : 1) - bias - (s32)mantissa);

	if (bits == 0x80)
		return NAN;
	return bits & 0x80 ? -value : value;
}

static void bytes_convert_both_ways(void **state)
{
	struct machine *m = *state;

	m->wave->mode = 0xf0;
	for (u32 byte = 0; byte < 256; byte++) {
		float fp8 = byte_value(byte, 3, 8), bf8 = byte_value(byte, 2, 16), up;
		u32 got = of_word(m, 0x7e00a902, byte | 0xffffff00); /* v_cvt_f32_fp8_e32 v0, v2 */

		assert_true(isnan(fp8) ? isnan(float_of(got)) : float_of(got) == fp8);
		all_lanes(m, 2, byte << 16);
		RUN(m, 0x7e00aaf9, 0x00020602); /* v_cvt_f32_bf8_sdwa v0, v2 src0_sel:BYTE_2 */
		got = m->wave->v[0][0];
		assert_true(isnan(bf8) ? isnan(float_of(got)) : float_of(got) == bf8);
		if (byte >= 0x7f)
			continue;
		/* The number itself, and the tie between it and the next: to even. */
		up = byte_value(byte + 1, 3, 8);
		all_lanes(m, 0, 0x12345678);
		all_lanes(m, 2, bits_of(-fp8));
		all_lanes(m, 4, bits_of((fp8 + up) / 2));
		RUN(m, 0xd2a24000, 0x00020902); /* v_cvt_pk_fp8_f32 v0, v2, v4 op_sel:[0,0,1] */
		assert_int_equal(m->wave->v[0][0] >> 24, byte + (byte & 1));
		assert_int_equal(m->wave->v[0][0] >> 16 & 0xff, byte ? byte | 0x80 : 0);
		assert_int_equal(m->wave->v[0][0] & 0xffff, 0x5678);
		up = byte_value(byte + 1, 2, 16);
		all_lanes(m, 2, bits_of(bf8));
		all_lanes(m, 4, bits_of((bf8 + up) / 2));
		RUN(m, 0xd2a30000, 0x00020902); /* v_cvt_pk_bf8_f32 v0, v2, v4 */
		assert_int_equal(m->wave->v[0][0] & 0xffff, byte | (byte + (byte & 1)) << 8);
	}
	all_lanes(m, 2, bits_of(1e30f));
	all_lanes(m, 4, 0x7fc00000);
	RUN(m, 0xd2a20000, 0x00020902); /* v_cvt_pk_fp8_f32 v0, v2, v4 */
	assert_int_equal(m->wave->v[0][0] & 0xffff, 0x8080);
	m->wave->mode |= GP_ISA_MODE_FP16_OVFL;
	RUN(m, 0xd2a20000, 0x00020902);
	assert_int_equal(m->wave->v[0][0] & 0xffff, 0x807f);
}

static void noise_rounds_up_as_often_as_it_should(void **state)
{
	struct machine *m = *state;
	u32 ups = 0;

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		m->wave->v[0][lane] = 0x11223344;
		m->wave->v[2][lane] = bits_of(1 + 0.125f / 4); /* a quarter of the way */
		m->wave->v[4][lane] = lane << 14;              /* evenly over 20 bits */
	}
	RUN(m, 0xd2a46000, 0x00020902); /* v_cvt_sr_fp8_f32 v0, v2, v4 op_sel:[0,0,1,1] */
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		assert_int_equal(m->wave->v[0][lane] & 0xffffff, 0x223344);
		ups += m->wave->v[0][lane] >> 24 == 0x41;
		assert_in_range(m->wave->v[0][lane] >> 24, 0x40, 0x41);
	}
	assert_int_equal(ups, GP_ISA_LANES / 4);
}

#define ON_90A(name) cmocka_unit_test_setup_teardown(name, machine_gfx90a, machine_down)
#define ON_942(name) cmocka_unit_test_setup_teardown(name, machine_gfx942, machine_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_90A(floats_to_integers_saturate),
		ON_942(integers_to_floats_are_rounded),
		ON_90A(parts_of_words_become_floats),
		ON_942(pairs_are_packed),
		ON_90A(numbers_are_taken_apart),
		ON_942(approximations_are_close),
		ON_90A(approximations_have_special_values),
		ON_942(results_are_scaled_and_clamped),
		ON_942(bytes_convert_both_ways),
		ON_942(noise_rounds_up_as_often_as_it_should),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
