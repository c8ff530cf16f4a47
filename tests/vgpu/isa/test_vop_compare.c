// SPDX-License-Identifier: MIT
/*
 * All comparisons. The low bits of an opcode say what is true: 1 less, 2 equal, 4 greater, and of
 * floats 8 unordered; so the test needs no list.
 */
#include <math.h>

#include "machine.h"

#define LEAST 0x807fffffu /* a denormal, as f32 */

/* v_cmp_..._e32 vcc, v2, v4 */
static u32 word_of(u32 opcode)
{
	return 0x7c000000 | opcode << 17 | 4 << 9 | 0x102;
}

struct operand {
	double number; /* of floats */
	u64 order;     /* of integers: larger is larger */
};

static double half_of(u32 bits, bool flush)
{
	s32 exponent = bits >> 10 & 31;
	double value;

	if (!exponent && flush)
		bits &= 0x8000;
	value = ldexp((bits & 0x3ff) + (exponent ? 0x400 : 0), (exponent ? exponent : 1) - 25);
	if (exponent == 31)
		value = bits & 0x3ff ? (double)NAN : (double)INFINITY;
	return bits & 0x8000 ? -value : value;
}

static double single_of(u32 bits, bool flush)
{
	float value;

	if (flush && !(bits & 0x7f800000))
		bits &= 0x80000000;
	memcpy(&value, &bits, sizeof(value));
	return (double)value;
}

static double wide_of(u64 bits, bool flush)
{
	double value;

	if (flush && !(bits & 0x7ff0000000000000))
		bits &= 1ull << 63;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* The operand as the opcode takes it. */
static struct operand operand_of(u32 opcode, u64 bits, u32 mode)
{
	bool flush64 = !(mode & 0x40), flush32 = !(mode & 0x10);
	bool is_signed = !(opcode & 8);

	switch (opcode & 0xe0) {
	case 0x20:
		return (struct operand){half_of((u32)bits, flush64), 0};
	case 0x40:
		return (struct operand){single_of((u32)bits, flush32), 0};
	case 0x60:
		return (struct operand){wide_of(bits, flush64), 0};
	case 0xa0:
		return (struct operand){0, is_signed ? (bits + 0x8000) & 0xffff : bits & 0xffff};
	case 0xc0:
		return (struct operand){0, is_signed ? (u32)bits + 0x80000000u : (u32)bits};
	default:
		return (struct operand){0, is_signed ? bits + (1ull << 63) : bits};
	}
}

static bool expected(u32 opcode, u64 a, u64 b, u32 mode)
{
	struct operand x = operand_of(opcode, a, mode), y = operand_of(opcode, b, mode);

	if (opcode < 0x80) {
		u32 is = isnan(x.number) || isnan(y.number) ? 8
			 : x.number < y.number              ? 1
			 : x.number > y.number              ? 4
							    : 2;

		return opcode & is;
	}
	return opcode & (x.order < y.order ? 1 : x.order > y.order ? 4 : 2);
}

static const u64 edges[] = {
	0,
	1,
	0x8000,
	0x8001,
	0x7fff,
	0x7c00,
	0xfc00,
	0x7e00,
	0x3c00,
	0x3ff,
	0xffff,
	0x80000000,
	0x7fffffff,
	0xffffffff,
	0x7f800000,
	0xff800000,
	0x7fc00000,
	0x3f800000,
	LEAST,
	0x7ff0000000000000,
	1ull << 63,
	~0ull,
	~0ull >> 1,
	0x7ff8000000000000,
	0x3ff0000000000000,
	0x800fffffffffffff,
};

static u64 value_of(u64 *seed)
{
	u32 dice = machine_random(seed);

	if (dice % 4)
		return edges[dice / 4 % GP_ARRAY_SIZE(edges)];
	return (u64)machine_random(seed) << 32 | machine_random(seed);
}

static void check(struct machine *m, u32 opcode, u32 mode, u64 *seed)
{
	u64 exec = (u64)machine_random(seed) << 32 | machine_random(seed), wanted = 0, a, b;

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		a = value_of(seed);
		b = machine_random(seed) % 4 ? value_of(seed) : a;
		m->wave->v[2][lane] = (u32)a;
		m->wave->v[3][lane] = (u32)(a >> 32);
		m->wave->v[4][lane] = (u32)b;
		m->wave->v[5][lane] = (u32)(b >> 32);
		if (exec >> lane & 1 && expected(opcode, a, b, mode))
			wanted |= 1ull << lane;
	}
	m->wave->mode = mode;
	gp_isa_set_pair(m->wave, GP_ISA_EXEC, exec);
	gp_isa_set_pair(m->wave, GP_ISA_VCC, ~0ull);
	RUN(m, word_of(opcode));
	if (gp_isa_pair(m->wave, GP_ISA_VCC) != wanted)
		fail_msg("opcode %02x, mode %02x: vcc %llx, not %llx", opcode, mode,
			 (unsigned long long)gp_isa_pair(m->wave, GP_ISA_VCC),
			 (unsigned long long)wanted);
	assert_true(gp_isa_exec(m->wave) == (opcode & 0x10 ? wanted : exec));
}

static void comparisons_hold_for_edges(void **state)
{
	u64 seed = 5;

	for (u32 opcode = 0x20; opcode < 0x100; opcode++)
		for (u32 round = 0; round < 32; round++)
			if (opcode < 0x80 || opcode >= 0xa0)
				check(*state, opcode, (round & 15) << 4, &seed);
}

static const struct {
	u32 half, single;
	u64 wide;
} classes[] = {
	{0x7d00, 0x7fa00000, 0x7ff4000000000000},
	{0x7e00, 0x7fc00000, 0x7ff8000000000000},
	{0xfc00, 0xff800000, 0xfff0000000000000},
	{0xbc00, 0xbf800000, 0xbff0000000000000},
	{0x8001, 0x80000001, 0x8000000000000001},
	{0x8000, 0x80000000, 0x8000000000000000},
	{0, 0, 0},
	{0x3ff, 0x7fffff, 0xfffffffffffff},
	{0x400, 0x800000, 0x10000000000000},
	{0x7c00, 0x7f800000, 0x7ff0000000000000},
};

static void classes_name_each_kind_of_number(void **state)
{
	struct machine *m = *state;

	for (u32 n = 0; n < GP_ARRAY_SIZE(classes); n++)
		for (u32 opcode = 0x10; opcode <= 0x15; opcode++) {
			u64 bits = opcode < 0x12   ? classes[n].single
				   : opcode < 0x14 ? classes[n].wide
						   : classes[n].half;

			gp_isa_set_pair(m->wave, GP_ISA_EXEC, ~0ull);
			for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
				m->wave->v[2][lane] = (u32)bits;
				m->wave->v[3][lane] = (u32)(bits >> 32);
				m->wave->v[4][lane] = lane < 10 ? 1u << lane : ~(1u << n);
			}
			RUN(m, word_of(opcode));
			assert_true(gp_isa_pair(m->wave, GP_ISA_VCC) == 1ull << n);
			assert_true(gp_isa_exec(m->wave) == (opcode & 1 ? 1ull << n : ~0ull));
		}
}

static void long_form_writes_any_pair_and_negates(void **state)
{
	struct machine *m = *state;

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		float value = (float)lane - 20;

		memcpy(&m->wave->v[1][lane], &value, sizeof(value));
	}
	RUN(m, 0xd041000a, 0x2001e901); /* v_cmp_lt_f32_e64 s[10:11], -v1, 2.0: v1 > -2 */
	assert_true(gp_isa_pair(m->wave, 10) == ~0ull << 19);
	RUN(m, 0xd044010a, 0x0001e901); /* v_cmp_gt_f32_e64 s[10:11], |v1|, 2.0 */
	assert_true(gp_isa_pair(m->wave, 10) == (~0ull << 23 | 0x3ffff));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(comparisons_hold_for_edges, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(classes_name_each_kind_of_number, machine_gfx942,
						machine_down),
		cmocka_unit_test_setup_teardown(long_form_writes_any_pair_and_negates,
						machine_gfx942, machine_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
