// SPDX-License-Identifier: MIT
/*
 * Division as compilers write it: v_div_scale, Newton's iteration, v_div_fmas and v_div_fixup give
 * the quotient that IEEE 754 defines. The host's division is the judge.
 */
#include <math.h>

#include "machine.h"

/* clang-format off */
static const u32 divide32[] = {
	0xd1e00203, 0x04060502, /* v_div_scale_f32 v3, s[2:3], v2, v2, v1 */
	0xd1e06a04, 0x04060501, /* v_div_scale_f32 v4, vcc, v1, v2, v1 */
	0x7e0a4503, /* v_rcp_f32_e32 v5, v3 */
	0xd1cb0006, 0x23ca0b03, /* v_fma_f32 v6, -v3, v5, 1.0 */
	0xd1cb0005, 0x04160b06, /* v_fma_f32 v5, v6, v5, v5 */
	0x0a0e0b04, /* v_mul_f32_e32 v7, v4, v5 */
	0xd1cb0006, 0x24120f03, /* v_fma_f32 v6, -v3, v7, v4 */
	0xd1cb0007, 0x041e0b06, /* v_fma_f32 v7, v6, v5, v7 */
	0xd1cb0006, 0x24120f03, /* v_fma_f32 v6, -v3, v7, v4 */
	0xd1e20007, 0x041e0b06, /* v_div_fmas_f32 v7, v6, v5, v7 */
	0xd1de0000, 0x04060507, /* v_div_fixup_f32 v0, v7, v2, v1 */
};

static const u32 divide64[] = {
	0xd1e10206, 0x040a0904, /* v_div_scale_f64 v[6:7], s[2:3], v[4:5], v[4:5], v[2:3] */
	0x7e144b06, /* v_rcp_f64_e32 v[10:11], v[6:7] */
	0xd1cc000c, 0x23ca1506, /* v_fma_f64 v[12:13], -v[6:7], v[10:11], 1.0 */
	0xd1cc000a, 0x042a190a, /* v_fma_f64 v[10:11], v[10:11], v[12:13], v[10:11] */
	0xd1cc000c, 0x23ca1506, /* v_fma_f64 v[12:13], -v[6:7], v[10:11], 1.0 */
	0xd1cc000a, 0x042a190a, /* v_fma_f64 v[10:11], v[10:11], v[12:13], v[10:11] */
	0xd1e16a08, 0x040a0902, /* v_div_scale_f64 v[8:9], vcc, v[2:3], v[4:5], v[2:3] */
	0xd281000e, 0x00021508, /* v_mul_f64 v[14:15], v[8:9], v[10:11] */
	0xd1cc000c, 0x24221d06, /* v_fma_f64 v[12:13], -v[6:7], v[14:15], v[8:9] */
	0xd1e3000e, 0x043a150c, /* v_div_fmas_f64 v[14:15], v[12:13], v[10:11], v[14:15] */
	0xd1df0000, 0x040a090e, /* v_div_fixup_f64 v[0:1], v[14:15], v[4:5], v[2:3] */
};

static const u32 divide16[] = {
	0x7e061701, /* v_cvt_f32_f16_e32 v3, v1 */
	0x7e081702, /* v_cvt_f32_f16_e32 v4, v2 */
	0x7e0a4504, /* v_rcp_f32_e32 v5, v4 */
	0x0a0a0b03, /* v_mul_f32_e32 v5, v3, v5 */
	0x7e0a1505, /* v_cvt_f16_f32_e32 v5, v5 */
	0xd2070000, 0x04060505, /* v_div_fixup_f16 v0, v5, v2, v1 */
};
/* clang-format on */

#define COUNT(words) (sizeof(words) / sizeof((words)[0]))

static const u32 edges32[] = {
	0,          1,          2,          0x7fffff,   0x800000,   0x800001,   0x3f800000,
	0x3f800001, 0x7f7fffff, 0x7f800000, 0x7fc00000, 0x7e800000, 0x7e800001, 0x7f000000,
	0x0c000000, 0x00c00000, 0x40400000, 0x3eaaaaab, 0x4b7fffff, 0x01000000,
};
static const u64 edges64[] = {
	0,
	1,
	0xfffffffffffff,
	0x10000000000000,
	0x10000000000001,
	0x3ff0000000000000,
	0x3ff0000000000001,
	0x7fefffffffffffff,
	0x7ff0000000000000,
	0x7ff8000000000000,
	0x7fd0000000000000,
	0x7fd0000000000001,
	0x7fe0000000000000,
	0x0360000000000000,
	0x4008000000000000,
	0x3fd5555555555555,
};

static u32 value32(u64 *seed)
{
	u32 dice = machine_random(seed), any = machine_random(seed);

	if (dice % 4 == 0)
		return (any & 0x80000000) | edges32[any % COUNT(edges32)];
	if (dice % 4 == 1) /* near the ends of the range */
		return (any & 0x807fffff) | (any & 0x40000000 ? 0x7e000000 - (dice >> 8 & 0xf800000)
							      : dice >> 8 & 0xf800000);
	return any;
}

static u64 value64(u64 *seed)
{
	u32 dice = machine_random(seed), more = machine_random(seed);
	u64 any = (u64)machine_random(seed) << 32 | machine_random(seed);

	if (dice % 4 == 0)
		return (any & 1ull << 63) | edges64[more % COUNT(edges64)];
	if (dice % 4 == 1)
		return (any & 0x800fffffffffffff) |
		       (u64)(more & 1 ? 0x7fe - more % 130 : more % 130) << 52;
	return any;
}

static bool same32(u32 got, float wanted)
{
	u32 bits;

	memcpy(&bits, &wanted, sizeof(bits));
	return got == bits || (isnan(wanted) && (got & 0x7fffffff) > 0x7f800000);
}

static void quotients_of_f32_are_correctly_rounded(void **state)
{
	struct machine *m = *state;
	u64 seed = 3;

	m->wave->mode = GP_ISA_MODE_DENORM_32 | GP_ISA_MODE_DENORM_64 | GP_ISA_MODE_IEEE;
	for (u32 round = 0; round < 1500; round++) {
		float a[GP_ISA_LANES], b[GP_ISA_LANES];

		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			m->wave->v[1][lane] = value32(&seed);
			m->wave->v[2][lane] = value32(&seed);
		}
		memcpy(a, m->wave->v[1], sizeof(a));
		memcpy(b, m->wave->v[2], sizeof(b));
		machine_run_to_end(m, divide32, COUNT(divide32));
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			if (!same32(m->wave->v[0][lane], a[lane] / b[lane]))
				fail_msg("%a / %a: %08x, not %a", a[lane], b[lane],
					 m->wave->v[0][lane], a[lane] / b[lane]);
	}
}

static void quotients_of_f64_are_correctly_rounded(void **state)
{
	struct machine *m = *state;
	u64 seed = 4;

	m->wave->mode = GP_ISA_MODE_DENORM_32 | GP_ISA_MODE_DENORM_64 | GP_ISA_MODE_IEEE;
	for (u32 round = 0; round < 800; round++) {
		double a[GP_ISA_LANES], b[GP_ISA_LANES];

		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			u64 x = value64(&seed), y = value64(&seed);

			memcpy(&a[lane], &x, sizeof(x));
			memcpy(&b[lane], &y, sizeof(y));
			m->wave->v[2][lane] = (u32)x;
			m->wave->v[3][lane] = (u32)(x >> 32);
			m->wave->v[4][lane] = (u32)y;
			m->wave->v[5][lane] = (u32)(y >> 32);
		}
		machine_run_to_end(m, divide64, COUNT(divide64));
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			u64 got = m->wave->v[0][lane] | (u64)m->wave->v[1][lane] << 32, wanted;
			double quotient = a[lane] / b[lane];

			memcpy(&wanted, &quotient, sizeof(wanted));
			if (got != wanted && !(isnan(quotient) && got << 1 > 0xffe0000000000000))
				fail_msg("%a / %a: %llx, not %a", a[lane], b[lane],
					 (unsigned long long)got, quotient);
		}
	}
}

static float half(u32 bits)
{
	s32 exponent = bits >> 10 & 31;
	float value = ldexpf((float)((bits & 0x3ff) + (exponent ? 0x400 : 0)),
			     (exponent ? exponent : 1) - 25);

	if (exponent == 31)
		value = bits & 0x3ff ? NAN : INFINITY;
	return bits & 0x8000 ? -value : value;
}

/* Special values: what v_div_fixup alone decides. */
static void quotients_of_f16_have_the_special_values(void **state)
{
	static const u32 values[] = {0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0x4200};
	struct machine *m = *state;

	m->wave->mode = GP_ISA_MODE_DENORM_32 | GP_ISA_MODE_DENORM_64 | GP_ISA_MODE_IEEE;
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		m->wave->v[1][lane] = values[lane / 8];
		m->wave->v[2][lane] = values[lane % 8];
	}
	machine_run_to_end(m, divide16, COUNT(divide16));
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		float wanted = half(values[lane / 8]) / half(values[lane % 8]);
		float got = half(m->wave->v[0][lane]);

		if (isnan(wanted))
			assert_true(isnan(got));
		else if (isinf(wanted) || wanted == 0)
			assert_true(got == wanted && signbit(got) == signbit(wanted));
		else
			assert_true(fabsf(got - wanted) <= fabsf(wanted) * 0x1p-11f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(quotients_of_f32_are_correctly_rounded,
						machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(quotients_of_f64_are_correctly_rounded,
						machine_gfx942, machine_down),
		cmocka_unit_test_setup_teardown(quotients_of_f16_have_the_special_values,
						machine_gfx90a, machine_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
