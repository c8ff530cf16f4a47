// SPDX-License-Identifier: MIT
/* Minimum, maximum and median of floats: NaN by MODE.IEEE, signed zeros, denormals by mode. */
#include <math.h>

#include "machine.h"

enum { LOW, HIGH };

/* f32 as the document words it, step by step. */
static u32 flushed(u32 bits, bool flush)
{
	return flush && !(bits & 0x7f800000) ? bits & 0x80000000 : bits;
}

static float number(u32 bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static bool signals(u32 bits)
{
	return isnan(number(bits)) && !(bits & 0x400000);
}

static u32 of_two(u32 a, u32 b, u32 which, bool ieee)
{
	if (ieee && signals(a))
		return a | 0x400000;
	if (ieee && signals(b))
		return b | 0x400000;
	if (isnan(number(a)))
		return b;
	if (isnan(number(b)))
		return a;
	if (number(a) == 0 && number(b) == 0)
		return which == LOW ? a | b : a & b;
	if (which == LOW)
		return number(a) < number(b) ? a : b;
	return number(a) > number(b) ? a : b;
}

static u32 of_three(u32 a, u32 b, u32 c, u32 which, bool ieee)
{
	return of_two(of_two(a, b, which, ieee), c, which, ieee);
}

static u32 median(u32 a, u32 b, u32 c, bool ieee)
{
	u32 top = of_three(a, b, c, HIGH, ieee);

	if (isnan(number(a)) || isnan(number(b)) || isnan(number(c)))
		return of_three(a, b, c, LOW, ieee);
	return of_two(top == a ? b : a, top == a || top == b ? c : b, HIGH, ieee);
}

static const u32 edges[] = {0,          0x80000000, 1,          0x80000001, 0x7fffff,
			    0x800000,   0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
			    0x7fc00001, 0xffc00002, 0x7fa00000, 0x3f800001};

/* Rows without a NaN are computed by other code. */
static void load(struct machine *m, u64 *seed, bool nans)
{
	for (u32 row = 1; row < 4; row++)
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			u32 dice = machine_random(seed);

			m->wave->v[row][lane] = dice % 4 ? edges[dice / 4 % GP_ARRAY_SIZE(edges)]
							 : machine_random(seed);
			if (!nans && isnan(number(m->wave->v[row][lane])))
				m->wave->v[row][lane] = dice;
			if (!nans && isnan(number(m->wave->v[row][lane])))
				m->wave->v[row][lane] = 0;
		}
}

static const struct {
	u32 words[2], count;
} programs[] = {
	{{0x14000501}, 1},             /* v_min_f32_e32 v0, v1, v2 */
	{{0x16000501}, 1},             /* v_max_f32_e32 v0, v1, v2 */
	{{0xd1d00000, 0x040e0501}, 2}, /* v_min3_f32 v0, v1, v2, v3 */
	{{0xd1d30000, 0x040e0501}, 2}, /* v_max3_f32 v0, v1, v2, v3 */
	{{0xd1d60000, 0x040e0501}, 2}, /* v_med3_f32 v0, v1, v2, v3 */
};

static u32 expected(u32 program, u32 a, u32 b, u32 c, bool ieee)
{
	switch (program) {
	case 0:
		return of_two(a, b, LOW, ieee);
	case 1:
		return of_two(a, b, HIGH, ieee);
	case 2:
		return of_three(a, b, c, LOW, ieee);
	case 3:
		return of_three(a, b, c, HIGH, ieee);
	default:
		return median(a, b, c, ieee);
	}
}

static void order_of_f32_follows_the_document(void **state)
{
	struct machine *m = *state;
	u64 seed = 11;

	for (u32 round = 0; round < 800; round++) {
		u32 program = round % GP_ARRAY_SIZE(programs), denormals = round / 5 % 4;
		bool ieee = round / 20 % 2;

		load(m, &seed, round / 40 % 2);
		m->wave->mode = denormals << 4 | (ieee ? GP_ISA_MODE_IEEE : 0);
		machine_run_to_end(m, programs[program].words, programs[program].count);
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			bool in = !(denormals & 1), out = !(denormals & 2);
			u32 a = flushed(m->wave->v[1][lane], in);
			u32 b = flushed(m->wave->v[2][lane], in);
			u32 c = flushed(m->wave->v[3][lane], in);
			u32 wanted = flushed(expected(program, a, b, c, ieee), out);

			if (m->wave->v[0][lane] != wanted)
				fail_msg("%u of %08x, %08x, %08x (ieee %d): %08x, not %08x",
					 program, a, b, c, ieee, m->wave->v[0][lane], wanted);
		}
	}
}

/* Halves and f64 in pairs: the smaller, the larger, of what. */
static void order_of_other_sizes(void **state)
{
	static const struct {
		u32 a, b, low, high;
	} halves[] = {
		{0x3c00, 0xbc00, 0xbc00, 0x3c00}, {0x0000, 0x8000, 0x8000, 0x0000},
		{0x7e01, 0x3c00, 0x3c00, 0x3c00}, {0x7d00, 0x3c00, 0x7f00, 0x7f00},
		{0x0001, 0x0002, 0x0001, 0x0002}, {0xfc00, 0x7c00, 0xfc00, 0x7c00},
	};
	struct machine *m = *state;

	for (u32 n = 0; n < GP_ARRAY_SIZE(halves); n++) {
		u64 wide[2];

		m->wave->v[1][n] = halves[n].a | 0xdead0000;
		m->wave->v[2][n] = halves[n].b;
		RUN(m, 0x5c000501, 0x5a060501); /* v_min_f16_e32 v0, v1, v2; v_max_f16 v3 */
		assert_int_equal(m->wave->v[0][n], halves[n].low);
		assert_int_equal(m->wave->v[3][n], halves[n].high);
		/* The same numbers with more bits of exponent: NaN stay NaN, order stays order. */
		wide[0] = (u64)(halves[n].a & 0x8000) << 48 | (u64)(halves[n].a & 0x7fff) << 48;
		wide[1] = (u64)(halves[n].b & 0x8000) << 48 | (u64)(halves[n].b & 0x7fff) << 48;
		m->wave->v[2][n] = m->wave->v[4][n] = 0;
		m->wave->v[3][n] = (u32)(wide[0] >> 32);
		m->wave->v[5][n] = (u32)(wide[1] >> 32);
		/* v_min_f64 v[0:1], v[2:3], v[4:5] */
		RUN(m, 0xd2820000, 0x00020902);
		if (n != 2 && n != 3)
			assert_int_equal(m->wave->v[1][n], halves[n].low << 16);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(order_of_f32_follows_the_document, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(order_of_other_sizes, machine_gfx942, machine_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
