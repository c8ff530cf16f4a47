// SPDX-License-Identifier: MIT
/* Rows of integer sums, products and sums of differences: what can carry, or saturate by clamp. */
#include "vgpu/isa/vector/vop.h"

/*
 * With clamp the exact result, `wide`, is brought into its range; without, the low bits stay. The
 * sources are u32 in both; SIGNED() where they are signed.
 */
#define SATURATING(name, low, high, plain, wide)                                               \
	static GP_ISA_ROWS(name##_clamped, u32, u32, u32, u32,                                 \
			   limit((wide), (low), (high))) static GP_ISA_ROWS(name##_plain, u32, \
									    u32, u32, u32,     \
									    plain) void        \
		gp_isa_##name(struct gp_isa_rows *rows)                                        \
	{                                                                                      \
		if (rows->inst->clamp)                                                         \
			gp_isa_##name##_clamped(rows);                                         \
		else                                                                           \
			gp_isa_##name##_plain(rows);                                           \
	}

#define SIGNED(value) ((s64)(s32)(value))
#define WIDE(value)   ((s64)(value))
#define LOW24(value)  ((value)&0xffffff)
#define SIGN24(value) ((s32)((value) << 8) >> 8)

static inline u32 limit(s64 value, s64 low, s64 high)
{
	return (u32)(value < low ? low : value > high ? high : value);
}

static inline u32 difference(u32 a, u32 b)
{
	return a > b ? a - b : b - a;
}

static inline u32 sad8(u32 a, u32 b)
{
	u32 sum = 0;

	for (u32 shift = 0; shift < 32; shift += 8)
		sum += difference(a >> shift & 0xff, b >> shift & 0xff);
	return sum;
}

/* Bytes of the reference that are zero do not count. */
static inline u32 msad8(u32 a, u32 b)
{
	u32 sum = 0;

	for (u32 shift = 0; shift < 32; shift += 8)
		sum += b >> shift & 0xff ? difference(a >> shift & 0xff, b >> shift & 0xff) : 0;
	return sum;
}

static inline u32 sad16(u32 a, u32 b)
{
	return difference(a & 0xffff, b & 0xffff) + difference(a >> 16, b >> 16);
}

/* Sum of products of signed parts of `bits` bits. */
static inline s64 dot(u32 a, u32 b, u32 bits)
{
	s64 sum = 0;

	for (u32 shift = 0; shift < 32; shift += bits) {
		s32 x = (s32)(a << (32 - bits - shift)) >> (32 - bits);
		s32 y = (s32)(b << (32 - bits - shift)) >> (32 - bits);

		sum += (s64)x * y;
	}
	return sum;
}

/* clang-format off */
SATURATING(add_u32, 0, UINT32_MAX, a + b, WIDE(a) + b)
SATURATING(sub_u32, 0, UINT32_MAX, a - b, WIDE(a) - b)
SATURATING(subrev_u32, 0, UINT32_MAX, b - a, WIDE(b) - a)
SATURATING(add_i32, INT32_MIN, INT32_MAX, a + b, SIGNED(a) + SIGNED(b))
SATURATING(sub_i32, INT32_MIN, INT32_MAX, a - b, SIGNED(a) - SIGNED(b))
SATURATING(add_u16, 0, UINT16_MAX, a + b, WIDE(a) + b)
SATURATING(sub_u16, 0, UINT16_MAX, a - b, WIDE(a) - b)
SATURATING(subrev_u16, 0, UINT16_MAX, b - a, WIDE(b) - a)
SATURATING(add_i16, INT16_MIN, INT16_MAX, a + b, SIGNED(a) + SIGNED(b))
SATURATING(sub_i16, INT16_MIN, INT16_MAX, a - b, SIGNED(a) - SIGNED(b))
SATURATING(mul_lo_u16, 0, UINT16_MAX, a * b, WIDE(a) * b)
SATURATING(mad_u16, 0, UINT16_MAX, a * b + c, WIDE(a) * b + c)
SATURATING(mad_i16, INT16_MIN, INT16_MAX, a * b + c, SIGNED(a) * SIGNED(b) + SIGNED(c))
SATURATING(mad_u32_u16, 0, UINT32_MAX, a * b + c, WIDE(a) * b + c)
SATURATING(mad_i32_i16, INT32_MIN, INT32_MAX, a * b + c, SIGNED(a) * SIGNED(b) + SIGNED(c))
SATURATING(mad_u32_u24, 0, UINT32_MAX, LOW24(a) * LOW24(b) + c, WIDE(LOW24(a)) * LOW24(b) + c)
SATURATING(mad_i32_i24, INT32_MIN, INT32_MAX, (u32)SIGN24(a) * (u32)SIGN24(b) + c,
	   (s64)SIGN24(a) * SIGN24(b) + SIGNED(c))
SATURATING(sad_u8, 0, UINT32_MAX, sad8(a, b) + c, WIDE(sad8(a, b)) + c)
SATURATING(sad_hi_u8, 0, UINT32_MAX, (sad8(a, b) << 16) + c, WIDE(sad8(a, b) << 16) + c)
SATURATING(sad_u16, 0, UINT32_MAX, sad16(a, b) + c, WIDE(sad16(a, b)) + c)
SATURATING(sad_u32, 0, UINT32_MAX, difference(a, b) + c, WIDE(difference(a, b)) + c)
SATURATING(msad_u8, 0, UINT32_MAX, msad8(a, b) + c, WIDE(msad8(a, b)) + c)
SATURATING(dot2c_i32_i16, INT32_MIN, INT32_MAX, (u32)dot(a, b, 16) + c, dot(a, b, 16) + SIGNED(c))
SATURATING(dot4c_i32_i8, INT32_MIN, INT32_MAX, (u32)dot(a, b, 8) + c, dot(a, b, 8) + SIGNED(c))
SATURATING(dot8c_i32_i4, INT32_MIN, INT32_MAX, (u32)dot(a, b, 4) + c, dot(a, b, 4) + SIGNED(c))

GP_ISA_ROWS(mul_i32_i24, u32, u32, u32, u32, (u32)SIGN24(a) * (u32)SIGN24(b))
GP_ISA_ROWS(mul_u32_u24, u32, u32, u32, u32, LOW24(a) * LOW24(b))
GP_ISA_ROWS(mul_hi_i32_i24, u32, u32, u32, u32, ((s64)SIGN24(a) * SIGN24(b)) >> 32)
GP_ISA_ROWS(mul_hi_u32_u24, u32, u32, u32, u32, ((u64)LOW24(a) * LOW24(b)) >> 32)
GP_ISA_ROWS(mul_lo_u32, u32, u32, u32, u32, a * b)
GP_ISA_ROWS(mul_hi_u32, u32, u32, u32, u32, ((u64)a * b) >> 32)
GP_ISA_ROWS(mul_hi_i32, u32, u32, u32, u32, (SIGNED(a) * SIGNED(b)) >> 32)
/* clang-format on */

/* a + b + carry; the carry of each lane replaces the one that came in. */
static void sum_carry(struct gp_isa_rows *rows, const u32 *a, const u32 *b, u64 carry)
{
	u32 *restrict out = rows->out;
	struct gp_isa_row in, over;

	gp_isa_mask_spread(in.lane, carry);
	for (u32 i = 0; i < GP_ISA_LANES; i++) {
		u32 part = a[i] + b[i], sum = part + in.lane[i];

		over.lane[i] = part < a[i] || sum < part ? ~0u : 0;
		out[i] = sum;
	}
	rows->mask = gp_isa_mask_of(over.lane);
	if (rows->inst->clamp)
		for (u32 i = 0; i < GP_ISA_LANES; i++)
			out[i] |= over.lane[i];
}

/* a - b - borrow. */
static void difference_borrow(struct gp_isa_rows *rows, const u32 *a, const u32 *b, u64 borrow)
{
	u32 *restrict out = rows->out;
	struct gp_isa_row in, under;

	gp_isa_mask_spread(in.lane, borrow);
	for (u32 i = 0; i < GP_ISA_LANES; i++) {
		u32 part = a[i] - b[i];

		under.lane[i] = a[i] < b[i] || part < in.lane[i] ? ~0u : 0;
		out[i] = part - in.lane[i];
	}
	rows->mask = gp_isa_mask_of(under.lane);
	if (rows->inst->clamp)
		for (u32 i = 0; i < GP_ISA_LANES; i++)
			out[i] &= ~under.lane[i];
}

void gp_isa_add_co(struct gp_isa_rows *rows)
{
	sum_carry(rows, rows->source[0], rows->source[1], 0);
}

void gp_isa_sub_co(struct gp_isa_rows *rows)
{
	difference_borrow(rows, rows->source[0], rows->source[1], 0);
}

void gp_isa_subrev_co(struct gp_isa_rows *rows)
{
	difference_borrow(rows, rows->source[1], rows->source[0], 0);
}

void gp_isa_addc_co(struct gp_isa_rows *rows)
{
	sum_carry(rows, rows->source[0], rows->source[1], rows->mask);
}

void gp_isa_subb_co(struct gp_isa_rows *rows)
{
	difference_borrow(rows, rows->source[0], rows->source[1], rows->mask);
}

void gp_isa_subbrev_co(struct gp_isa_rows *rows)
{
	difference_borrow(rows, rows->source[1], rows->source[0], rows->mask);
}

void gp_isa_mad_u64_u32(struct gp_isa_rows *rows)
{
	const u32 *a = rows->source[0], *b = rows->source[1];
	const u64 *c = rows->source[2];
	u64 *restrict out = rows->out;

	rows->mask = 0;
	for (u32 i = 0; i < GP_ISA_LANES; i++) {
		u64 product = (u64)a[i] * b[i], sum = product + c[i];
		bool over = sum < product;

		out[i] = over && rows->inst->clamp ? ~0ull : sum;
		rows->mask |= (u64)over << i;
	}
}

void gp_isa_mad_i64_i32(struct gp_isa_rows *rows)
{
	const u32 *a = rows->source[0], *b = rows->source[1];
	const u64 *c = rows->source[2];
	u64 *restrict out = rows->out;

	rows->mask = 0;
	for (u32 i = 0; i < GP_ISA_LANES; i++) {
		s64 product = SIGNED(a[i]) * SIGNED(b[i]), sum;
		bool over = __builtin_add_overflow(product, (s64)c[i], &sum);
		u64 extreme = product < 0 ? 1ull << 63 : ~0ull >> 1;

		out[i] = over && rows->inst->clamp ? extreme : (u64)sum;
		rows->mask |= (u64)over << i;
	}
}

/* Four windows of a, each a byte further, against b; sums of 16 bits. */
static u64 quad(u64 a, u32 b, u64 c, u32 (*sad)(u32, u32), bool clamp)
{
	u64 result = 0;

	for (u32 n = 0; n < 4; n++) {
		u32 sum = sad((u32)(a >> (n * 8)), b) + (u32)(c >> (n * 16) & 0xffff);

		if (clamp && sum > 0xffff)
			sum = 0xffff;
		result |= (u64)(sum & 0xffff) << (n * 16);
	}
	return result;
}

/* clang-format off */
GP_ISA_ROWS(qsad_pk_u16_u8, u64, u64, u32, u64, quad(a, b, c, sad8, rows->inst->clamp))
GP_ISA_ROWS(mqsad_pk_u16_u8, u64, u64, u32, u64, quad(a, b, c, msad8, rows->inst->clamp))
/* clang-format on */

enum gp_isa_stop gp_isa_mqsad_u32_u8(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				     const struct gp_isa_inst *inst)
{
	struct gp_isa_row room, result[4];
	struct gp_isa_row64 a;
	const u32 *b = gp_isa_source32(runner, wave, inst, 1, GP_ISA_B32, &room);
	u32 third = inst->src[2];

	gp_isa_source64(runner, wave, inst, 0, GP_ISA_B64, &a);
	for (u32 n = 0; n < 4; n++)
		for (u32 i = 0; i < GP_ISA_LANES; i++) {
			u32 c = third >= GP_ISA_VGPR ? wave->v[gp_isa_row_of(third) + n][i] : 0;
			u64 sum = (u64)msad8((u32)(a.lane[i] >> (n * 8)), b[i]) + c;

			result[n].lane[i] = inst->clamp && sum > UINT32_MAX ? UINT32_MAX : (u32)sum;
		}
	for (u32 n = 0; n < 4; n++)
		gp_isa_put32(wave, inst, inst->dst + n, &result[n]);
	return GP_ISA_RUNNING;
}
