/* SPDX-License-Identifier: MIT */
/*
 * What atomics make of the value in memory, for tests: plain C on 64 bits, of which the operations
 * of 32 bits keep the lower half. `a` is the first data, `b` the second.
 */
#ifndef GP_TESTS_VGPU_ISA_ATOMICS_H
#define GP_TESTS_VGPU_ISA_ATOMICS_H

#include "machine.h"

typedef u64 atomic_want(u64 old, u64 a, u64 b);

static inline float single_of(u64 bits)
{
	u32 low = (u32)bits;
	float value;

	memcpy(&value, &low, sizeof(value));
	return value;
}

static inline u64 bits_of_single(float value)
{
	u32 bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline double double_of(u64 bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline u64 bits_of_double(double value)
{
	u64 bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline u64 want_add(u64 old, u64 a, u64 b)
{
	(void)b;
	return old + a;
}

static inline u64 want_sub(u64 old, u64 a, u64 b)
{
	(void)b;
	return old - a;
}

static inline u64 want_rsub(u64 old, u64 a, u64 b)
{
	(void)b;
	return a - old;
}

static inline u64 want_inc(u64 old, u64 a, u64 b)
{
	(void)b;
	return old < a ? old + 1 : 0;
}

static inline u64 want_dec(u64 old, u64 a, u64 b)
{
	(void)b;
	return old - 1 < a ? old - 1 : a;
}

static inline u64 want_smin32(u64 old, u64 a, u64 b)
{
	(void)b;
	return (s32)old < (s32)a ? old : a;
}

static inline u64 want_smax32(u64 old, u64 a, u64 b)
{
	(void)b;
	return (s32)old > (s32)a ? old : a;
}

static inline u64 want_smin64(u64 old, u64 a, u64 b)
{
	(void)b;
	return (s64)old < (s64)a ? old : a;
}

static inline u64 want_smax64(u64 old, u64 a, u64 b)
{
	(void)b;
	return (s64)old > (s64)a ? old : a;
}

static inline u64 want_umin(u64 old, u64 a, u64 b)
{
	(void)b;
	return old < a ? old : a;
}

static inline u64 want_umax(u64 old, u64 a, u64 b)
{
	(void)b;
	return old > a ? old : a;
}

static inline u64 want_and(u64 old, u64 a, u64 b)
{
	(void)b;
	return old & a;
}

static inline u64 want_or(u64 old, u64 a, u64 b)
{
	(void)b;
	return old | a;
}

static inline u64 want_xor(u64 old, u64 a, u64 b)
{
	(void)b;
	return old ^ a;
}

static inline u64 want_swap(u64 old, u64 a, u64 b)
{
	(void)old;
	(void)b;
	return a;
}

static inline u64 want_mskor(u64 old, u64 a, u64 b)
{
	return (old & ~a) | b;
}

static inline u64 want_cmpst(u64 old, u64 a, u64 b)
{
	return old == a ? b : old;
}

static inline u64 want_cmpswap(u64 old, u64 a, u64 b)
{
	return old == b ? a : old;
}

static inline u64 want_wrap(u64 old, u64 a, u64 b)
{
	return old < a ? old + b : old - a;
}

static inline u64 want_add_f32(u64 old, u64 a, u64 b)
{
	(void)b;
	return bits_of_single(single_of(old) + single_of(a));
}

static inline u64 want_min_f32(u64 old, u64 a, u64 b)
{
	(void)b;
	return single_of(a) < single_of(old) ? a : old;
}

static inline u64 want_max_f32(u64 old, u64 a, u64 b)
{
	(void)b;
	return single_of(a) > single_of(old) ? a : old;
}

static inline u64 want_cmpst_f32(u64 old, u64 a, u64 b)
{
	return single_of(old) == single_of(a) ? b : old;
}

static inline u64 want_add_f64(u64 old, u64 a, u64 b)
{
	(void)b;
	return bits_of_double(double_of(old) + double_of(a));
}

static inline u64 want_min_f64(u64 old, u64 a, u64 b)
{
	(void)b;
	return double_of(a) < double_of(old) ? a : old;
}

static inline u64 want_max_f64(u64 old, u64 a, u64 b)
{
	(void)b;
	return double_of(a) > double_of(old) ? a : old;
}

static inline u64 want_cmpst_f64(u64 old, u64 a, u64 b)
{
	return double_of(old) == double_of(a) ? b : old;
}
static inline u64 atomic_number(u32 bytes, u64 *seed)
{
	u32 choice = machine_random(seed) % 4;
	u64 value = machine_random(seed);

	if (choice == 0)
		return value % 4;
	if (choice == 1)
		return bytes == 4 ? (u32) - (s32)(value % 4) : (u64) - (s64)(value % 4);
	return bytes == 4 ? value : value | (u64)machine_random(seed) << 32;
}

/* Numbers whose sums and comparisons have neither NaN nor denormals. */
static inline u64 atomic_float(u32 bytes, u64 *seed)
{
	double value = ((s32)machine_random(seed) % 1000) / 8.0;

	return bytes == 4 ? bits_of_single((float)value) : bits_of_double(value);
}

#endif
