// SPDX-License-Identifier: MIT
/*
 * Minimum, maximum and median of floating-point numbers, on their bits: -0 is below +0, a NaN loses
 * against a number, and with MODE.IEEE a signalling NaN wins and comes out quiet.
 *
 * Halves are computed in the upper half of a word, where their order is that of the word.
 */
#include "vgpu/isa/vector/vop.h"

struct rules {
	u32 inf, quiet;        /* of the format */
	u32 keep_in, keep_out; /* of a denormal: all, or only its sign */
	bool ieee;
	bool plain; /* no source is a NaN: two numbers are compared, nothing else */
};

#define KEEP_ALL (~0u)

static struct rules rules_make(u32 mode, enum gp_isa_setting setting)
{
	bool half = setting == GP_ISA_OF_F64;

	return (struct rules){
		.inf = half ? GP_ISA_INF16 << 16 : GP_ISA_INF32,
		.quiet = half ? GP_ISA_QUIET16 << 16 : GP_ISA_QUIET32,
		.keep_in = gp_isa_flushes_in(mode, setting) ? GP_ISA_SIGN32 : KEEP_ALL,
		.keep_out = gp_isa_flushes_out(mode, setting) ? GP_ISA_SIGN32 : KEEP_ALL,
		.ieee = mode & GP_ISA_MODE_IEEE,
	};
}

static inline u32 flush(const struct rules *rules, u32 bits, u32 keep)
{
	return bits & rules->inf ? bits : bits & keep;
}

static inline bool is_nan(const struct rules *rules, u32 bits)
{
	return (bits & ~GP_ISA_SIGN32) > rules->inf;
}

static inline bool signals(const struct rules *rules, u32 bits)
{
	return rules->ieee && is_nan(rules, bits) && !(bits & rules->quiet);
}

/* Integers in the order of the numbers. */
static inline s32 key(u32 bits)
{
	return (s32)(bits ^ ((u32)((s32)bits >> 31) & ~GP_ISA_SIGN32));
}

/* What both have in common; `first` says which of two numbers it is. */
static inline u32 choose(const struct rules *rules, u32 a, u32 b, bool first)
{
	u32 number = is_nan(rules, a) ? b : is_nan(rules, b) ? a : first ? a : b;

	if (rules->plain)
		return first ? a : b;
	return signals(rules, a) ? a | rules->quiet : signals(rules, b) ? b | rules->quiet : number;
}

static inline u32 smaller(const struct rules *rules, u32 a, u32 b)
{
	return choose(rules, a, b, key(a) < key(b));
}

static inline u32 larger(const struct rules *rules, u32 a, u32 b)
{
	return choose(rules, a, b, key(a) > key(b));
}

/* Of three: the one that is neither; with a NaN among them, the minimum. */
static inline u32 middle(const struct rules *rules, u32 a, u32 b, u32 c)
{
	bool nan = !rules->plain && (is_nan(rules, a) || is_nan(rules, b) || is_nan(rules, c));
	u32 high = larger(rules, larger(rules, a, b), c);
	u32 low = smaller(rules, smaller(rules, a, b), c);
	u32 rest = high == a   ? larger(rules, b, c)
		   : high == b ? larger(rules, a, c)
			       : larger(rules, a, b);

	return nan ? low : rest;
}

/* Nearly all rows are so, and take a third of the time. */
static bool rows_plain(const struct gp_isa_rows *rows, const struct rules *rules, u32 sources,
		       u32 shift)
{
	u32 nan = 0;

	for (u32 n = 0; n < sources; n++) {
		const u32 *row = rows->source[n];

		for (u32 i = 0; i < GP_ISA_LANES; i++)
			nan |= is_nan(rules, row[i] << shift);
	}
	return !nan && rules->keep_in == KEEP_ALL && rules->keep_out == KEEP_ALL;
}

/* The loop is compiled twice: as the rules say, and for plain rows. */
#define ORDER(name, sources, shift, setting, result)                                            \
	static inline                                                                           \
		__attribute__((always_inline)) void name##_rows(const struct gp_isa_rows *rows, \
								struct rules rules)             \
	{                                                                                       \
		const struct rules *r = &rules;                                                 \
		const u32 *x = rows->source[0], *y = rows->source[1];                           \
		const u32 *z = rows->source[2];                                                 \
		u32 *restrict out = rows->out;                                                  \
                                                                                                \
		for (u32 i = 0; i < GP_ISA_LANES; i++) {                                        \
			u32 a = flush(r, x[i] << (shift), r->keep_in);                          \
			u32 b = flush(r, y[i] << (shift), r->keep_in);                          \
			u32 c = flush(r, z[i] << (shift), r->keep_in);                          \
                                                                                                \
			(void)c;                                                                \
			out[i] = flush(r, (result), r->keep_out) >> (shift);                    \
		}                                                                               \
	}                                                                                       \
	void gp_isa_##name(struct gp_isa_rows *rows)                                            \
	{                                                                                       \
		struct rules rules = rules_make(rows->mode, setting);                           \
                                                                                                \
		if (rows_plain(rows, &rules, sources, shift))                                   \
			name##_rows(rows, (struct rules){.keep_in = KEEP_ALL,                   \
							 .keep_out = KEEP_ALL,                  \
							 .plain = true});                       \
		else                                                                            \
			name##_rows(rows, rules);                                               \
	}

/* clang-format off */
ORDER(min_f16, 2, 16, GP_ISA_OF_F64, smaller(r, a, b))
ORDER(max_f16, 2, 16, GP_ISA_OF_F64, larger(r, a, b))
ORDER(min3_f16, 3, 16, GP_ISA_OF_F64, smaller(r, smaller(r, a, b), c))
ORDER(max3_f16, 3, 16, GP_ISA_OF_F64, larger(r, larger(r, a, b), c))
ORDER(med3_f16, 3, 16, GP_ISA_OF_F64, middle(r, a, b, c))
ORDER(min_f32, 2, 0, GP_ISA_OF_F32, smaller(r, a, b))
ORDER(max_f32, 2, 0, GP_ISA_OF_F32, larger(r, a, b))
ORDER(min3_f32, 3, 0, GP_ISA_OF_F32, smaller(r, smaller(r, a, b), c))
ORDER(max3_f32, 3, 0, GP_ISA_OF_F32, larger(r, larger(r, a, b), c))
ORDER(med3_f32, 3, 0, GP_ISA_OF_F32, middle(r, a, b, c))
/* clang-format on */

static inline u64 flush64(u64 bits, u64 keep)
{
	return bits & GP_ISA_INF64 ? bits : bits & keep;
}

static inline bool signals64(bool ieee, u64 bits)
{
	return ieee && gp_isa_is_nan64(bits) && !(bits & GP_ISA_QUIET64);
}

static inline s64 key64(u64 bits)
{
	return (s64)(bits ^ ((u64)((s64)bits >> 63) & ~GP_ISA_SIGN64));
}

static inline u64 choose64(bool ieee, u64 a, u64 b, bool first)
{
	u64 number = gp_isa_is_nan64(a) ? b : gp_isa_is_nan64(b) ? a : first ? a : b;

	return signals64(ieee, a)   ? a | GP_ISA_QUIET64
	       : signals64(ieee, b) ? b | GP_ISA_QUIET64
				    : number;
}

static void order64(struct gp_isa_rows *rows, bool minimum)
{
	const u64 *x = rows->source[0], *y = rows->source[1];
	u64 in = gp_isa_flushes_in(rows->mode, GP_ISA_OF_F64) ? GP_ISA_SIGN64 : ~0ull;
	u64 after = gp_isa_flushes_out(rows->mode, GP_ISA_OF_F64) ? GP_ISA_SIGN64 : ~0ull;
	u64 *restrict out = rows->out;

	for (u32 i = 0; i < GP_ISA_LANES; i++) {
		u64 a = flush64(x[i], in), b = flush64(y[i], in);
		bool first = minimum ? key64(a) < key64(b) : key64(a) > key64(b);

		out[i] = flush64(choose64(rows->mode & GP_ISA_MODE_IEEE, a, b, first), after);
	}
}

void gp_isa_min_f64(struct gp_isa_rows *rows)
{
	order64(rows, true);
}

void gp_isa_max_f64(struct gp_isa_rows *rows)
{
	order64(rows, false);
}
