// SPDX-License-Identifier: MIT
/*
 * Atomics: what each makes of the value in memory, and the operations on memory of the host, which
 * other waves and threads of the CPU see as one step.
 *
 * Floats are rounded to the nearest even value whatever the mode register says; which denormals are
 * flushed depends on the unit (LDS by the mode register, memory of gfx90a those of f32 always,
 * memory of gfx942 none).
 */
#include <immintrin.h>

#include "vgpu/isa/memory/access.h"

#define DEFAULT_CSR 0x1f80 /* nearest even, no flushing, no exceptions */

struct float_kind {
	u64 sign, exponent, quiet; /* the bits in a value; quiet is that of a NaN */
};

static const struct float_kind kind_f16 = {1ull << 15, 0x7c00, 1ull << 9};
static const struct float_kind kind_bf16 = {1ull << 15, 0x7f80, 1ull << 6};
static const struct float_kind kind_f32 = {1ull << 31, 0x7f800000, 1ull << 22};
static const struct float_kind kind_f64 = {1ull << 63, 0x7ffull << 52, 1ull << 51};

static bool float_is_nan(const struct float_kind *kind, u64 value)
{
	return (value & ~kind->sign) > kind->exponent;
}

static bool float_signals(const struct float_kind *kind, u64 value)
{
	return float_is_nan(kind, value) && !(value & kind->quiet);
}

/* A denormal becomes a zero of its sign. */
static u64 float_flush(const struct float_kind *kind, u64 value, bool flush)
{
	return flush && !(value & kind->exponent) ? value & kind->sign : value;
}

/* Sums of f16 and bf16 are exact enough in f32 that rounding twice is rounding once. */
static u64 float_sum(const struct float_kind *kind, u64 a, u64 b)
{
	union {
		u32 bits;
		float value;
	} x = {.bits = (u32)a}, y = {.bits = (u32)b};
	union {
		u64 bits;
		double value;
	} u = {.bits = a}, v = {.bits = b};

	if (kind == &kind_f64) {
		u.value += v.value;
		return u.bits;
	}
	if (kind == &kind_f16)
		return _cvtss_sh(_cvtsh_ss((u16)a) + _cvtsh_ss((u16)b), _MM_FROUND_TO_NEAREST_INT);
	if (kind == &kind_bf16) {
		x.bits <<= 16;
		y.bits <<= 16;
	}
	x.value += y.value;
	if (kind == &kind_bf16)
		x.bits = (x.bits + 0x7fff + (x.bits >> 16 & 1)) >> 16;
	return x.bits;
}

static u64 float_add(const struct float_kind *kind, u64 old, u64 data, u32 flush)
{
	old = float_flush(kind, old, flush & GP_ISA_FLUSH_IN);
	data = float_flush(kind, data, flush & GP_ISA_FLUSH_IN);
	if (float_is_nan(kind, old))
		return old | kind->quiet;
	if (float_is_nan(kind, data))
		return data | kind->quiet;
	if ((old & ~kind->sign) == kind->exponent && data == (old ^ kind->sign))
		return kind->exponent | kind->quiet; /* infinity less infinity */
	return float_flush(kind, float_sum(kind, old, data), flush & GP_ISA_FLUSH_OUT);
}

/* Order of the values as integers: -0 is less than +0. */
static u64 float_rank(const struct float_kind *kind, u64 value)
{
	return value & kind->sign ? ~value & (kind->sign | (kind->sign - 1)) : value | kind->sign;
}

/* A signalling NaN wins, quieted; a quiet one loses. Flushing is for the comparison only. */
static u64 float_pick(const struct float_kind *kind, u64 old, u64 data, u32 flush, bool larger)
{
	u64 a = float_rank(kind, float_flush(kind, old, flush & GP_ISA_FLUSH_IN));
	u64 b = float_rank(kind, float_flush(kind, data, flush & GP_ISA_FLUSH_IN));

	if (float_signals(kind, old))
		return old | kind->quiet;
	if (float_signals(kind, data))
		return data | kind->quiet;
	if (float_is_nan(kind, data))
		return old;
	if (float_is_nan(kind, old))
		return data;
	return (larger ? b > a : b < a) ? data : old;
}

static u64 float_swap(const struct float_kind *kind, u64 old, u64 data, u64 other, u32 flush)
{
	u64 a = float_flush(kind, old, flush & GP_ISA_FLUSH_IN);
	u64 b = float_flush(kind, other, flush & GP_ISA_FLUSH_IN);
	bool zeros = !((a | b) & ~kind->sign);
	bool equal = !float_is_nan(kind, a) && (a == b || zeros);

	return float_flush(kind, equal ? data : old, flush & GP_ISA_FLUSH_IN);
}

static u32 halves_add(const struct float_kind *kind, u32 old, u32 data, u32 flush)
{
	u64 low = float_add(kind, old & 0xffff, data & 0xffff, flush);
	u64 high = float_add(kind, old >> 16, data >> 16, flush);

	return (u32)(low | high << 16);
}

u32 gp_isa_combine32(u32 atomic, u32 old, u32 data, u32 other, u32 flush)
{
	switch (atomic) {
	case GP_ISA_SMIN:
		return (s32)data < (s32)old ? data : old;
	case GP_ISA_SMAX:
		return (s32)data > (s32)old ? data : old;
	case GP_ISA_WRAP:
		return old >= data ? old - data : old + other;
	case GP_ISA_ADD_F:
		return (u32)float_add(&kind_f32, old, data, flush);
	case GP_ISA_MIN_F:
		return (u32)float_pick(&kind_f32, old, data, flush, false);
	case GP_ISA_MAX_F:
		return (u32)float_pick(&kind_f32, old, data, flush, true);
	case GP_ISA_CMPSWAP_F:
		return (u32)float_swap(&kind_f32, old, data, other, flush);
	case GP_ISA_PK_ADD_F16:
		return halves_add(&kind_f16, old, data, flush);
	case GP_ISA_PK_ADD_BF16:
		return halves_add(&kind_bf16, old, data, flush);
	default: /* the same for both widths, once the upper half of the result is dropped */
		return (u32)gp_isa_combine64(atomic, old, data, other, flush);
	}
}

u64 gp_isa_combine64(u32 atomic, u64 old, u64 data, u64 other, u32 flush)
{
	switch (atomic) {
	case GP_ISA_CMPSWAP:
		return old == other ? data : old;
	case GP_ISA_ADD:
		return old + data;
	case GP_ISA_SUB:
		return old - data;
	case GP_ISA_RSUB:
		return data - old;
	case GP_ISA_SMIN:
		return (s64)data < (s64)old ? data : old;
	case GP_ISA_SMAX:
		return (s64)data > (s64)old ? data : old;
	case GP_ISA_UMIN:
		return data < old ? data : old;
	case GP_ISA_UMAX:
		return data > old ? data : old;
	case GP_ISA_AND:
		return old & data;
	case GP_ISA_OR:
		return old | data;
	case GP_ISA_XOR:
		return old ^ data;
	case GP_ISA_MSKOR:
		return (old & ~data) | other;
	case GP_ISA_INC:
		return old >= data ? 0 : old + 1;
	case GP_ISA_DEC:
		return !old || old > data ? data : old - 1;
	case GP_ISA_ADD_F:
		return float_add(&kind_f64, old, data, flush);
	case GP_ISA_MIN_F:
		return float_pick(&kind_f64, old, data, flush, false);
	case GP_ISA_MAX_F:
		return float_pick(&kind_f64, old, data, flush, true);
	case GP_ISA_CMPSWAP_F:
		return float_swap(&kind_f64, old, data, other, flush);
	default: /* GP_ISA_SWAP */
		return data;
	}
}

static u32 cell32(u32 *cell, u32 atomic, u32 data, u32 other, u32 flush)
{
	u32 old;

	if (atomic == GP_ISA_ADD)
		return __atomic_fetch_add(cell, data, __ATOMIC_SEQ_CST);
	if (atomic == GP_ISA_SUB)
		return __atomic_fetch_sub(cell, data, __ATOMIC_SEQ_CST);
	if (atomic == GP_ISA_SWAP)
		return __atomic_exchange_n(cell, data, __ATOMIC_SEQ_CST);
	old = __atomic_load_n(cell, __ATOMIC_SEQ_CST);
	while (!__atomic_compare_exchange_n(cell, &old,
					    gp_isa_combine32(atomic, old, data, other, flush),
					    false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	return old;
}

static u64 cell64(u64 *cell, u32 atomic, u64 data, u64 other, u32 flush)
{
	u64 old;

	if (atomic == GP_ISA_ADD)
		return __atomic_fetch_add(cell, data, __ATOMIC_SEQ_CST);
	if (atomic == GP_ISA_SUB)
		return __atomic_fetch_sub(cell, data, __ATOMIC_SEQ_CST);
	if (atomic == GP_ISA_SWAP)
		return __atomic_exchange_n(cell, data, __ATOMIC_SEQ_CST);
	old = __atomic_load_n(cell, __ATOMIC_SEQ_CST);
	while (!__atomic_compare_exchange_n(cell, &old,
					    gp_isa_combine64(atomic, old, data, other, flush),
					    false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	return old;
}

/* Not inlined: float operations must stay between the changes of the environment. */
static __attribute__((noinline)) void cells(u8 *const at[GP_ISA_LANES], u64 lanes, u32 shape,
					    const gp_isa_lanes *data, gp_isa_lanes *out, u32 flush)
{
	u32 atomic = shape & GP_ISA_ATOMIC;

	for (; lanes; lanes &= lanes - 1) {
		u32 lane = (u32)__builtin_ctzll(lanes);

		if (shape & GP_ISA_WIDE) {
			u64 value = data[0][lane] | (u64)data[1][lane] << 32, other = 0, old;

			if (atomic == GP_ISA_CMPSWAP)
				other = data[2][lane] | (u64)data[3][lane] << 32;
			old = cell64((u64 *)at[lane], atomic, value, other, flush);
			out[0][lane] = (u32)old;
			out[1][lane] = (u32)(old >> 32);
		} else {
			u32 other = atomic == GP_ISA_CMPSWAP ? data[1][lane] : 0;

			out[0][lane] = cell32((u32 *)at[lane], atomic, data[0][lane], other, flush);
		}
	}
}

u32 gp_isa_memory_atomic(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			 const struct gp_isa_row64 *at, u64 lanes, u32 shape,
			 const gp_isa_lanes *data, gp_isa_lanes *out)
{
	bool f32 = (shape & (GP_ISA_ATOMIC | GP_ISA_WIDE)) == GP_ISA_ADD_F;
	u32 flush = f32 && runner->gfx == GP_ISA_GFX90A ? GP_ISA_FLUSH_IN | GP_ISA_FLUSH_OUT : 0;
	u32 bytes = shape & GP_ISA_WIDE ? 8 : 4, environment = _mm_getcsr(), bad;
	u8 *to[GP_ISA_LANES];
	u64 split;

	for (u64 rest = lanes; rest; rest &= rest - 1) {
		u32 lane = (u32)__builtin_ctzll(rest);

		if (at->lane[lane] % bytes) {
			wave->fault = at->lane[lane];
			return lane;
		}
	}
	bad = gp_isa_translate(runner, wave, at, lanes, bytes, true, to, &split);
	if (bad < GP_ISA_LANES)
		return bad;
	_mm_setcsr(DEFAULT_CSR);
	cells(to, lanes, shape, data, out, flush);
	_mm_setcsr(environment);
	return GP_ISA_LANES;
}
