// SPDX-License-Identifier: MIT
/* Rows of integer operations without carry and clamp: bits, shifts, order, fields. */
#include "vgpu/isa/vector/vop.h"

#define ROWS_1(name, result)         GP_ISA_ROWS(name, u32, u32, u32, u32, result)
#define ROWS_64(name, shift, result) GP_ISA_ROWS(name, u64, shift, u64, u64, result)

static inline s32 signed_of(u32 value)
{
	return (s32)value;
}

static inline u32 bits_reverse(u32 a)
{
	a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
	a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
	a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4;
	return __builtin_bswap32(a);
}

/* The first bit that differs from the sign, from above; all ones where there is none. */
static inline u32 first_not_sign(u32 a)
{
	u32 differs = a ^ (u32)(signed_of(a) >> 31);

	return differs ? (u32)__builtin_clz(differs) : ~0u;
}

static inline s32 min_signed(s32 a, s32 b)
{
	return a < b ? a : b;
}

static inline s32 max_signed(s32 a, s32 b)
{
	return a > b ? a : b;
}

static inline u32 min_unsigned(u32 a, u32 b)
{
	return a < b ? a : b;
}

static inline u32 max_unsigned(u32 a, u32 b)
{
	return a > b ? a : b;
}

static inline s32 med_signed(s32 a, s32 b, s32 c)
{
	return max_signed(min_signed(a, b), min_signed(max_signed(a, b), c));
}

static inline u32 med_unsigned(u32 a, u32 b, u32 c)
{
	return max_unsigned(min_unsigned(a, b), min_unsigned(max_unsigned(a, b), c));
}

static inline u32 field(u32 value, u32 offset, u32 width)
{
	return value >> (offset & 31) & ((1u << (width & 31)) - 1);
}

/* The field's own sign; where it reaches beyond bit 31, that of the word. */
static inline u32 field_signed(u32 value, u32 offset, u32 width)
{
	u32 start = offset & 31, bits = width & 31, room = 32 - start;
	u32 unused = 32 - (bits < room ? bits : room);

	return bits ? (u32)(signed_of(value >> start << (unused & 31)) >> (unused & 31)) : 0;
}

/* v_perm_b32: one byte of the result. `from` is {S0, S1}. */
static inline u32 perm_byte(u64 from, u32 select)
{
	if (select >= 13)
		return 0xff;
	if (select == 12)
		return 0;
	if (select >= 8)
		return from >> ((select - 8) * 16 + 15) & 1 ? 0xff : 0;
	return (u32)(from >> (select * 8)) & 0xff;
}

static inline u32 perm(u32 a, u32 b, u32 c)
{
	u64 from = (u64)a << 32 | b;

	return perm_byte(from, c & 0xff) | perm_byte(from, c >> 8 & 0xff) << 8 |
	       perm_byte(from, c >> 16 & 0xff) << 16 | perm_byte(from, c >> 24) << 24;
}

/* Per byte (a + b + the low bit of c) / 2. */
static inline u32 lerp(u32 a, u32 b, u32 c)
{
	u32 even = (a & 0xff00ff) + (b & 0xff00ff) + (c & 0x010001);
	u32 odd = (a >> 8 & 0xff00ff) + (b >> 8 & 0xff00ff) + (c >> 8 & 0x010001);

	return (even >> 1 & 0xff00ff) | (odd >> 1 & 0xff00ff) << 8;
}

static inline u32 byte_saturate(u32 half)
{
	s32 value = signed_of(half << 16) >> 16;

	return (u32)min_signed(max_signed(value, 0), 255);
}

static inline u32 saturate_i16(u32 value)
{
	return (u32)max_signed(min_signed(signed_of(value), 32767), -32768) & 0xffff;
}

static inline u32 lanes_below(u32 lane, u32 first)
{
	u32 count = lane > first ? lane - first : 0;

	return count >= 32 ? ~0u : (1u << count) - 1;
}

/* clang-format off */
ROWS_1(mov, a)
GP_ISA_ROWS(mov64, u64, u64, u64, u64, a)
ROWS_1(not, ~a)
ROWS_1(bfrev, bits_reverse(a))
ROWS_1(ffbh_u32, a ? (u32)__builtin_clz(a) : ~0u)
ROWS_1(ffbl, a ? (u32)__builtin_ctz(a) : ~0u)
ROWS_1(ffbh_i32, first_not_sign(a))
ROWS_1(and, a & b)
ROWS_1(or, a | b)
ROWS_1(xor, a ^ b)
ROWS_1(xnor, ~(a ^ b))
ROWS_1(min_i32, min_signed(signed_of(a), signed_of(b)))
ROWS_1(max_i32, max_signed(signed_of(a), signed_of(b)))
ROWS_1(min_u32, min_unsigned(a, b))
ROWS_1(max_u32, max_unsigned(a, b))
ROWS_1(lshrrev, b >> (a & 31))
ROWS_1(ashrrev, signed_of(b) >> (a & 31))
ROWS_1(lshlrev, b << (a & 31))
ROWS_1(lshrrev16, b >> (a & 15))
ROWS_1(ashrrev16, signed_of(b) >> (a & 15))
ROWS_1(lshlrev16, b << (a & 15))
ROWS_1(min3_i32, min_signed(min_signed(signed_of(a), signed_of(b)), signed_of(c)))
ROWS_1(min3_u32, min_unsigned(min_unsigned(a, b), c))
ROWS_1(max3_i32, max_signed(max_signed(signed_of(a), signed_of(b)), signed_of(c)))
ROWS_1(max3_u32, max_unsigned(max_unsigned(a, b), c))
ROWS_1(med3_i32, med_signed(signed_of(a), signed_of(b), signed_of(c)))
ROWS_1(med3_u32, med_unsigned(a, b, c))
ROWS_1(bfe_u32, field(a, b, c))
ROWS_1(bfe_i32, field_signed(a, b, c))
ROWS_1(bfi, (a & b) | (~a & c))
ROWS_1(bfm, ((1u << (a & 31)) - 1) << (b & 31))
ROWS_1(alignbit, ((u64)a << 32 | b) >> (c & 31))
ROWS_1(alignbyte, ((u64)a << 32 | b) >> ((c & 3) * 8))
ROWS_1(perm, perm(a, b, c))
ROWS_1(xad, (a ^ b) + c)
ROWS_1(lshl_add, (a << (b & 31)) + c)
ROWS_1(add_lshl, (a + b) << (c & 31))
ROWS_1(add3, a + b + c)
ROWS_1(lshl_or, a << (b & 31) | c)
ROWS_1(and_or, (a & b) | c)
ROWS_1(or3, a | b | c)
ROWS_1(bcnt, (u32)__builtin_popcount(a) + b)
ROWS_1(mbcnt_lo, (u32)__builtin_popcount(a & lanes_below(i, 0)) + b)
ROWS_1(mbcnt_hi, (u32)__builtin_popcount(a & lanes_below(i, 32)) + b)
ROWS_1(lerp_u8, lerp(a, b, c))
ROWS_1(sat_pk_u8_i16, byte_saturate(a) | byte_saturate(a >> 16) << 8)
ROWS_1(cvt_pk_u16_u32, min_unsigned(a, 0xffff) | min_unsigned(b, 0xffff) << 16)
ROWS_1(cvt_pk_i16_i32, saturate_i16(a) | saturate_i16(b) << 16)
ROWS_1(pack_b32_f16, a | b << 16)
ROWS_64(lshlrev64, u32, b << (a & 63))
ROWS_64(lshrrev64, u32, b >> (a & 63))
ROWS_64(ashrrev64, u32, (u64)((s64)b >> (a & 63)))
GP_ISA_ROWS(lshl_add_u64, u64, u64, u32, u64, (a << (b & 7)) + c)
/* clang-format on */

void gp_isa_cndmask(struct gp_isa_rows *rows)
{
	const u32 *a = rows->source[0], *b = rows->source[1];
	u32 *restrict out = rows->out;
	u64 mask = rows->mask;

	for (u32 first = 0; first < GP_ISA_LANES; first += 8, mask >>= 8) {
		u32 bits = mask & 0xff;

		for (u32 i = 0; i < 8; i++)
			out[first + i] = bits & 1u << i ? b[first + i] : a[first + i];
	}
}
