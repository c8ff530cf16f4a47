/* SPDX-License-Identifier: MIT */
/* What the tests of packed operations share: modifiers, random sources, halves as numbers. */
#ifndef GP_TESTS_VGPU_ISA_PACKED_H
#define GP_TESTS_VGPU_ISA_PACKED_H

#include <math.h>

#include "machine.h"

#define DST 10 /* where results are */

/* Fields of VOP3P. */
struct modifiers {
	u32 op_sel, op_sel_hi, neg_lo, neg_hi;
	bool clamp;
};

static inline void run(struct machine *m, const u32 words[2], struct modifiers x)
{
	RUN(m,
	    (words[0] & ~0xff00u) | x.op_sel << 11 | x.neg_hi << 8 | (x.op_sel_hi & 4) << 12 |
		    (u32)x.clamp << 15,
	    (words[1] & ~0xf8000000u) | (x.op_sel_hi & 3) << 27 | x.neg_lo << 29);
}

static inline void fill(struct machine *m, u32 rows, u64 *seed)
{
	for (u32 row = 0; row < rows; row++)
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			m->wave->v[row][lane] = machine_random(seed);
}

/* The half of a source that the lower (0) or upper (1) result takes. */
static inline u32 half_of(const struct machine *m, struct modifiers x, u32 n, u32 lane, u32 upper)
{
	u32 select = upper ? x.op_sel_hi : x.op_sel;

	return m->wave->v[n][lane] >> (select >> n & 1 ? 16 : 0) & 0xffff;
}

static inline s64 limited(s64 value, bool clamp, s64 least, s64 most)
{
	return !clamp ? value : value < least ? least : value > most ? most : value;
}

/* Halves as numbers, and back to nearest even. */
static inline double half_number(u32 bits)
{
	u32 field = bits >> 10 & 31, fraction = bits & 0x3ff;
	double number;

	if (field == 31)
		return fraction ? NAN : bits & 0x8000 ? -INFINITY : INFINITY;
	number = field ? ldexp(fraction | 0x400, (int)field - 25) : ldexp(fraction, -24);
	return bits & 0x8000 ? -number : number;
}

static inline u32 half_bits(double number)
{
	u32 sign = signbit(number) ? 0x8000 : 0;
	double magnitude = fabs(number), unit;
	int power;

	if (isnan(number))
		return 0x7e00;
	if (magnitude >= 65520)
		return sign | 0x7c00;
	if (magnitude == 0)
		return sign;
	frexp(magnitude, &power);
	unit = ldexp(1, power < -13 ? -24 : power - 11);
	magnitude = rint(magnitude / unit); /* may carry into the exponent */
	return sign + (u32)magnitude + (power < -13 ? 0 : (u32)(power + 13) << 10);
}

/* Any half that is a number; of those for fma the exponents are near, so that f64 is exact. */
static inline u32 random_half(u64 *seed, bool near)
{
	u32 bits = machine_random(seed) & 0xffff;

	if (near)
		return (bits & 0x83ff) | (9 + machine_random(seed) % 10) << 10;
	return (bits & 0x7c00) == 0x7c00 ? bits & 0x83ff : bits;
}

static inline float single(u32 bits)
{
	float number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

static inline u32 single_bits(float number)
{
	u32 bits;

	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

/* Numbers between 2^-16 and 2^16. */
static inline u32 random_single(u64 *seed)
{
	return (machine_random(seed) & 0x807fffff) | (111 + machine_random(seed) % 32) << 23;
}

#define BOTH(test)                                                           \
	cmocka_unit_test_setup_teardown(test, machine_gfx90a, machine_down), \
		cmocka_unit_test_setup_teardown(test, machine_gfx942, machine_down)

#endif
