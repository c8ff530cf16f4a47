// SPDX-License-Identifier: MIT
/* Integer operations on 32 and 16 bits, each over edge values and random ones. */
#include "machine.h"

#define OLD 0xabcd1234u /* of the destination */

/* Expected values, by arithmetic rather than by shifts and masks where that is possible. */
static u64 power(u32 exponent)
{
	return 1ull << exponent;
}

static s64 low_signed(u32 value, u32 bits)
{
	s64 low = (s64)(value % power(bits));

	return low >= (s64)power(bits - 1) ? low - (s64)power(bits) : low;
}

static u32 reversed(u32 value)
{
	u32 result = 0;

	for (u32 bit = 0; bit < 32; bit++)
		if (value & power(bit))
			result |= (u32)power(31 - bit);
	return result;
}

static u32 zeros_above(u32 value)
{
	for (u32 bit = 0; bit < 32; bit++)
		if (value & power(31 - bit))
			return bit;
	return 0xffffffff;
}

static u32 zeros_below(u32 value)
{
	for (u32 bit = 0; bit < 32; bit++)
		if (value & power(bit))
			return bit;
	return 0xffffffff;
}

static u32 ones(u64 value)
{
	u32 count = 0;

	for (; value; value /= 2)
		count += value % 2;
	return count;
}

/* Towards minus infinity. */
static u64 shifted(u32 value, u32 by)
{
	s64 number = low_signed(value, 32), divisor = (s64)power(by);

	return (u64)((number - (number < 0 ? divisor - 1 : 0)) / divisor);
}

static u32 limit16(u32 value)
{
	s64 number = low_signed(value, 32);

	return (u32)(number > 32767 ? 32767 : number < -32768 ? -32768 : number);
}

static u32 limit32(s64 number)
{
	return (u32)(number > 0x7fffffff      ? 0x7fffffff
		     : number < -0x80000000ll ? -0x80000000ll
					      : number);
}

static u32 byte_limit(s64 number)
{
	return (u32)(number > 255 ? 255 : number < 0 ? 0 : number);
}

static u32 field(u32 value, u32 offset, u32 width)
{
	return (u32)(value / power(offset) % power(width));
}

static u32 field_extended(u32 value, u32 offset, u32 width)
{
	u32 bits = offset + width > 32 ? 32 - offset : width;

	return width ? (u32)low_signed((u32)(value / power(offset)), bits) : 0;
}

static u32 picked(u32 mask, u32 one, u32 zero)
{
	u32 result = 0;

	for (u32 bit = 0; bit < 32; bit++)
		result |= (u32)((mask & power(bit) ? one : zero) & power(bit));
	return result;
}

static u32 part(u32 value, u32 index, u32 bits)
{
	return (u32)(value / power(index * bits) % power(bits));
}

static u32 lerp(u32 a, u32 b, u32 c)
{
	u32 result = 0;

	for (u32 n = 0; n < 4; n++)
		result += (part(a, n, 8) + part(b, n, 8) + part(c, n, 8) % 2) / 2 << (n * 8);
	return result;
}

static u32 parts(u32 a, u32 b, u32 bits)
{
	s64 sum = 0;

	for (u32 n = 0; n < 32 / bits; n++)
		sum += low_signed(part(a, n, bits), bits) * low_signed(part(b, n, bits), bits);
	return (u32)sum;
}

static u32 sad(u32 a, u32 b, u32 bits, bool masked)
{
	u32 sum = 0;

	for (u32 n = 0; n < 32 / bits; n++) {
		s64 difference = (s64)part(a, n, bits) - (s64)part(b, n, bits);

		if (!masked || part(b, n, bits))
			sum += (u32)(difference < 0 ? -difference : difference);
	}
	return sum;
}

static u32 permuted(u32 a, u32 b, u32 c)
{
	static const u32 signs[] = {15, 31, 47, 63};
	u64 both = ((u64)a << 32) + b;
	u32 result = 0;

	for (u32 n = 0; n < 4; n++) {
		u32 select = part(c, n, 8), byte;

		if (select < 8)
			byte = (u32)(both >> (select * 8)) % 256;
		else if (select < 12)
			byte = both & power(signs[select - 8]) ? 255 : 0;
		else
			byte = select == 12 ? 0 : 255;
		result += byte << (n * 8);
	}
	return result;
}

static u32 sorted(u32 a, u32 b, u32 c, u32 index)
{
	u32 values[] = {a, b, c};

	for (u32 round = 0; round < 2; round++)
		for (u32 n = 0; n < 2; n++)
			if (values[n] > values[n + 1]) {
				u32 swap = values[n];

				values[n] = values[n + 1];
				values[n + 1] = swap;
			}
	return values[index];
}

static u32 sorted_signed(u32 a, u32 b, u32 c, u32 bits, u32 index)
{
	u32 bias = (u32)power(bits - 1), mask = (u32)(power(bits) - 1);

	return sorted((a + bias) & mask, (b + bias) & mask, (c + bias) & mask, index) - bias;
}

/* A result of 16 bits whose instruction keeps the upper half. */
static u32 high(u64 half)
{
	return (OLD & 0xffff0000) | (u32)(half & 0xffff);
}

#define EXPECT(name, result)                           \
	static u32 name(u32 a, u32 b, u32 c, u32 lane) \
	{                                              \
		(void)a, (void)b, (void)c, (void)lane; \
		return (u32)(result);                  \
	}

/* clang-format off */
EXPECT(v_not_b32_e32, ~a)
EXPECT(v_bfrev_b32_e32, reversed(a))
EXPECT(v_ffbh_u32_e32, zeros_above(a))
EXPECT(v_ffbl_b32_e32, zeros_below(a))
EXPECT(v_ffbh_i32_e32, zeros_above((a & 0x80000000) ? ~a : a))
EXPECT(v_mul_i32_i24_e32, (u64)(low_signed(a, 24) * low_signed(b, 24)))
EXPECT(v_mul_hi_i32_i24_e32, (u64)(low_signed(a, 24) * low_signed(b, 24)) >> 32)
EXPECT(v_mul_u32_u24_e32, (u64)(a % 16777216) * (b % 16777216))
EXPECT(v_mul_hi_u32_u24_e32, (u64)(a % 16777216) * (b % 16777216) >> 32)
EXPECT(v_min_i32_e32, low_signed(a, 32) < low_signed(b, 32) ? a : b)
EXPECT(v_max_i32_e32, low_signed(a, 32) < low_signed(b, 32) ? b : a)
EXPECT(v_min_u32_e32, a < b ? a : b)
EXPECT(v_max_u32_e32, a < b ? b : a)
EXPECT(v_lshrrev_b32_e32, b / power(a % 32))
EXPECT(v_ashrrev_i32_e32, shifted(b, a % 32))
EXPECT(v_lshlrev_b32_e32, b * power(a % 32))
EXPECT(v_and_b32_e32, a & b)
EXPECT(v_or_b32_e32, a | b)
EXPECT(v_xor_b32_e32, a ^ b)
EXPECT(v_xnor_b32_e32, ~(a ^ b))
EXPECT(v_add_u32_e32, a + b)
EXPECT(v_sub_u32_e32, a - b)
EXPECT(v_subrev_u32_e32, b - a)
EXPECT(v_add_u16_e32, (a + b) % 65536)
EXPECT(v_sub_u16_e32, (a - b) % 65536)
EXPECT(v_subrev_u16_e32, (b - a) % 65536)
EXPECT(v_mul_lo_u16_e32, (a % 65536) * (b % 65536) % 65536)
EXPECT(v_lshlrev_b16_e32, b % 65536 * power(a % 16) % 65536)
EXPECT(v_lshrrev_b16_e32, b % 65536 / power(a % 16))
EXPECT(v_ashrrev_i16_e32, shifted((u32)low_signed(b, 16), a % 16) % 65536)
EXPECT(v_max_u16_e32, (a % 65536 > b % 65536 ? a : b) % 65536)
EXPECT(v_min_u16_e32, (a % 65536 < b % 65536 ? a : b) % 65536)
EXPECT(v_max_i16_e32, (low_signed(a, 16) > low_signed(b, 16) ? a : b) % 65536)
EXPECT(v_min_i16_e32, (low_signed(a, 16) < low_signed(b, 16) ? a : b) % 65536)
EXPECT(v_dot2c_i32_i16_e32, c + parts(a, b, 16))
EXPECT(v_dot4c_i32_i8_e32, c + parts(a, b, 8))
EXPECT(v_dot8c_i32_i4_e32, c + parts(a, b, 4))
EXPECT(v_mul_lo_u32, (u64)a * b)
EXPECT(v_mul_hi_u32, (u64)a * b >> 32)
EXPECT(v_mul_hi_i32, (u64)(low_signed(a, 32) * low_signed(b, 32)) >> 32)
EXPECT(v_bcnt_u32_b32, ones(a) + b)
EXPECT(v_mbcnt_lo_u32_b32, ones(lane < 32 ? a % power(lane) : a) + b)
EXPECT(v_mbcnt_hi_u32_b32, (lane < 32 ? 0 : ones((u32)(a % power(lane - 32)))) + b)
EXPECT(v_bfm_b32, (power(a % 32) - 1) * power(b % 32))
EXPECT(v_cvt_pk_u16_u32, (a > 65535 ? 65535 : a) + 65536 * (b > 65535 ? 65535 : b))
EXPECT(v_cvt_pk_i16_i32, limit16(a) % 65536 + 65536 * (u64)(limit16(b) % 65536))
EXPECT(v_add_i32, a + b)
EXPECT(v_sub_i32, a - b)
EXPECT(v_add_u32_e64, (u64)a + b > 0xffffffff ? 0xffffffff : a + b)
EXPECT(v_sub_u32_e64, a < b ? 0 : a - b)
EXPECT(v_add_i32_50, limit32(low_signed(a, 32) + low_signed(b, 32)))
EXPECT(v_sub_i32_51, limit32(low_signed(a, 32) - low_signed(b, 32)))
EXPECT(v_add_u16_e64, a % 65536 + b % 65536 > 65535 ? 65535 : a % 65536 + b % 65536)
EXPECT(v_sub_u16_e64, a % 65536 < b % 65536 ? 0 : a % 65536 - b % 65536)
EXPECT(v_mad_i32_i24, limit32(low_signed(a, 24) * low_signed(b, 24) + low_signed(c, 32)))
EXPECT(v_mad_u32_u24, (u64)(a % 16777216) * (b % 16777216) + c > 0xffffffff ? 0xffffffff : (u64)(a % 16777216) * (b % 16777216) + c)
EXPECT(v_mad_i32_i24_56, (u64)(low_signed(a, 24) * low_signed(b, 24)) + c)
EXPECT(v_mad_u32_u24_57, (u64)(a % 16777216) * (b % 16777216) + c)
EXPECT(v_bfe_u32, field(a, b % 32, c % 32))
EXPECT(v_bfe_i32, field_extended(a, b % 32, c % 32))
EXPECT(v_bfi_b32, picked(a, b, c))
EXPECT(v_lerp_u8, lerp(a, b, c))
EXPECT(v_alignbit_b32, (((u64)a << 32) + b) / power(c % 32))
EXPECT(v_alignbyte_b32, (((u64)a << 32) + b) / power(c % 4 * 8))
EXPECT(v_min3_i32, sorted_signed(a, b, c, 32, 0))
EXPECT(v_med3_i32, sorted_signed(a, b, c, 32, 1))
EXPECT(v_max3_i32, sorted_signed(a, b, c, 32, 2))
EXPECT(v_min3_u32, sorted(a, b, c, 0))
EXPECT(v_med3_u32, sorted(a, b, c, 1))
EXPECT(v_max3_u32, sorted(a, b, c, 2))
EXPECT(v_sad_u8, sad(a, b, 8, false) + c)
EXPECT(v_sad_hi_u8, (sad(a, b, 8, false) << 16) + c)
EXPECT(v_sad_u16, sad(a, b, 16, false) + c)
EXPECT(v_sad_u32, sad(a, b, 32, false) + c)
EXPECT(v_msad_u8, sad(a, b, 8, true) + c)
EXPECT(v_perm_b32, permuted(a, b, c))
EXPECT(v_xad_u32, (a ^ b) + c)
EXPECT(v_lshl_add_u32, a * power(b % 32) + c)
EXPECT(v_add_lshl_u32, (u32)(a + b) * power(c % 32))
EXPECT(v_add3_u32, a + b + c)
EXPECT(v_lshl_or_b32, (u32)(a * power(b % 32)) | c)
EXPECT(v_and_or_b32, (a & b) | c)
EXPECT(v_or3_b32, a | b | c)
EXPECT(v_mad_u32_u16, (a % 65536) * (b % 65536) + c)
EXPECT(v_mad_i32_i16, (u64)(low_signed(a, 16) * low_signed(b, 16)) + c)
EXPECT(v_mad_legacy_u16, ((a % 65536) * (b % 65536) + c) % 65536)
EXPECT(v_mad_legacy_i16, ((u64)(low_signed(a, 16) * low_signed(b, 16)) + c) % 65536)
EXPECT(v_mad_u16, high(((a % 65536) * (b % 65536) + c) % 65536))
EXPECT(v_mad_i16, high(((u64)(low_signed(a, 16) * low_signed(b, 16)) + c) % 65536))
EXPECT(v_min3_i16, high(sorted_signed(a, b, c, 16, 0)))
EXPECT(v_med3_i16, high(sorted_signed(a, b, c, 16, 1)))
EXPECT(v_max3_i16, high(sorted_signed(a, b, c, 16, 2)))
EXPECT(v_min3_u16, high(sorted(a % 65536, b % 65536, c % 65536, 0)))
EXPECT(v_med3_u16, high(sorted(a % 65536, b % 65536, c % 65536, 1)))
EXPECT(v_max3_u16, high(sorted(a % 65536, b % 65536, c % 65536, 2)))
EXPECT(v_add_i16, high((a + b) % 65536))
EXPECT(v_sub_i16, high((a - b) % 65536))
EXPECT(v_add_i16_97, high(limit16((u32)(low_signed(a, 16) + low_signed(b, 16))) % 65536))
EXPECT(v_add_i16_98, ((a / 65536 + b) % 65536 << 16) + OLD % 65536)
EXPECT(v_mad_u16_99, high(((a % 65536) * (b / 65536) + c / 65536) % 65536))
EXPECT(v_sat_pk_u8_i16_e32, byte_limit(low_signed(a, 16)) + 256 * byte_limit(low_signed(a >> 16, 16)))
EXPECT(v_mov_b32_e32, a)
EXPECT(v_mov_b32_e32_102, -7)
EXPECT(v_mov_b32_e32_103, 0x5ca1ab1e)
EXPECT(v_add_u32_e32_104, 0x12345678 + b)
EXPECT(v_pack_b32_f16, a % 65536 + (b << 16))
EXPECT(v_pack_b32_f16_106, a / 65536 + ((b ^ 0x8000) << 16))

static const struct {
	const char *text;
	u32 words[2], count;
	u32 (*expected)(u32 a, u32 b, u32 c, u32 lane);
} checks[] = {
	{"v_not_b32_e32 v0, v1", {0x7e005701}, 1, v_not_b32_e32},
	{"v_bfrev_b32_e32 v0, v1", {0x7e005901}, 1, v_bfrev_b32_e32},
	{"v_ffbh_u32_e32 v0, v1", {0x7e005b01}, 1, v_ffbh_u32_e32},
	{"v_ffbl_b32_e32 v0, v1", {0x7e005d01}, 1, v_ffbl_b32_e32},
	{"v_ffbh_i32_e32 v0, v1", {0x7e005f01}, 1, v_ffbh_i32_e32},
	{"v_mul_i32_i24_e32 v0, v1, v2", {0x0c000501}, 1, v_mul_i32_i24_e32},
	{"v_mul_hi_i32_i24_e32 v0, v1, v2", {0x0e000501}, 1, v_mul_hi_i32_i24_e32},
	{"v_mul_u32_u24_e32 v0, v1, v2", {0x10000501}, 1, v_mul_u32_u24_e32},
	{"v_mul_hi_u32_u24_e32 v0, v1, v2", {0x12000501}, 1, v_mul_hi_u32_u24_e32},
	{"v_min_i32_e32 v0, v1, v2", {0x18000501}, 1, v_min_i32_e32},
	{"v_max_i32_e32 v0, v1, v2", {0x1a000501}, 1, v_max_i32_e32},
	{"v_min_u32_e32 v0, v1, v2", {0x1c000501}, 1, v_min_u32_e32},
	{"v_max_u32_e32 v0, v1, v2", {0x1e000501}, 1, v_max_u32_e32},
	{"v_lshrrev_b32_e32 v0, v1, v2", {0x20000501}, 1, v_lshrrev_b32_e32},
	{"v_ashrrev_i32_e32 v0, v1, v2", {0x22000501}, 1, v_ashrrev_i32_e32},
	{"v_lshlrev_b32_e32 v0, v1, v2", {0x24000501}, 1, v_lshlrev_b32_e32},
	{"v_and_b32_e32 v0, v1, v2", {0x26000501}, 1, v_and_b32_e32},
	{"v_or_b32_e32 v0, v1, v2", {0x28000501}, 1, v_or_b32_e32},
	{"v_xor_b32_e32 v0, v1, v2", {0x2a000501}, 1, v_xor_b32_e32},
	{"v_xnor_b32_e32 v0, v1, v2", {0x7a000501}, 1, v_xnor_b32_e32},
	{"v_add_u32_e32 v0, v1, v2", {0x68000501}, 1, v_add_u32_e32},
	{"v_sub_u32_e32 v0, v1, v2", {0x6a000501}, 1, v_sub_u32_e32},
	{"v_subrev_u32_e32 v0, v1, v2", {0x6c000501}, 1, v_subrev_u32_e32},
	{"v_add_u16_e32 v0, v1, v2", {0x4c000501}, 1, v_add_u16_e32},
	{"v_sub_u16_e32 v0, v1, v2", {0x4e000501}, 1, v_sub_u16_e32},
	{"v_subrev_u16_e32 v0, v1, v2", {0x50000501}, 1, v_subrev_u16_e32},
	{"v_mul_lo_u16_e32 v0, v1, v2", {0x52000501}, 1, v_mul_lo_u16_e32},
	{"v_lshlrev_b16_e32 v0, v1, v2", {0x54000501}, 1, v_lshlrev_b16_e32},
	{"v_lshrrev_b16_e32 v0, v1, v2", {0x56000501}, 1, v_lshrrev_b16_e32},
	{"v_ashrrev_i16_e32 v0, v1, v2", {0x58000501}, 1, v_ashrrev_i16_e32},
	{"v_max_u16_e32 v0, v1, v2", {0x5e000501}, 1, v_max_u16_e32},
	{"v_min_u16_e32 v0, v1, v2", {0x62000501}, 1, v_min_u16_e32},
	{"v_max_i16_e32 v0, v1, v2", {0x60000501}, 1, v_max_i16_e32},
	{"v_min_i16_e32 v0, v1, v2", {0x64000501}, 1, v_min_i16_e32},
	{"v_dot2c_i32_i16_e32 v3, v1, v2", {0x70060501}, 1, v_dot2c_i32_i16_e32},
	{"v_dot4c_i32_i8_e32 v3, v1, v2", {0x72060501}, 1, v_dot4c_i32_i8_e32},
	{"v_dot8c_i32_i4_e32 v3, v1, v2", {0x74060501}, 1, v_dot8c_i32_i4_e32},
	{"v_mul_lo_u32 v0, v1, v2", {0xd2850000, 0x00020501}, 2, v_mul_lo_u32},
	{"v_mul_hi_u32 v0, v1, v2", {0xd2860000, 0x00020501}, 2, v_mul_hi_u32},
	{"v_mul_hi_i32 v0, v1, v2", {0xd2870000, 0x00020501}, 2, v_mul_hi_i32},
	{"v_bcnt_u32_b32 v0, v1, v2", {0xd28b0000, 0x00020501}, 2, v_bcnt_u32_b32},
	{"v_mbcnt_lo_u32_b32 v0, v1, v2", {0xd28c0000, 0x00020501}, 2, v_mbcnt_lo_u32_b32},
	{"v_mbcnt_hi_u32_b32 v0, v1, v2", {0xd28d0000, 0x00020501}, 2, v_mbcnt_hi_u32_b32},
	{"v_bfm_b32 v0, v1, v2", {0xd2930000, 0x00020501}, 2, v_bfm_b32},
	{"v_cvt_pk_u16_u32 v0, v1, v2", {0xd2970000, 0x00020501}, 2, v_cvt_pk_u16_u32},
	{"v_cvt_pk_i16_i32 v0, v1, v2", {0xd2980000, 0x00020501}, 2, v_cvt_pk_i16_i32},
	{"v_add_i32 v0, v1, v2", {0xd29c0000, 0x00020501}, 2, v_add_i32},
	{"v_sub_i32 v0, v1, v2", {0xd29d0000, 0x00020501}, 2, v_sub_i32},
	{"v_add_u32_e64 v0, v1, v2 clamp", {0xd1348000, 0x00020501}, 2, v_add_u32_e64},
	{"v_sub_u32_e64 v0, v1, v2 clamp", {0xd1358000, 0x00020501}, 2, v_sub_u32_e64},
	{"v_add_i32 v0, v1, v2 clamp", {0xd29c8000, 0x00020501}, 2, v_add_i32_50},
	{"v_sub_i32 v0, v1, v2 clamp", {0xd29d8000, 0x00020501}, 2, v_sub_i32_51},
	{"v_add_u16_e64 v0, v1, v2 clamp", {0xd1268000, 0x00020501}, 2, v_add_u16_e64},
	{"v_sub_u16_e64 v0, v1, v2 clamp", {0xd1278000, 0x00020501}, 2, v_sub_u16_e64},
	{"v_mad_i32_i24 v0, v1, v2, v3 clamp", {0xd1c28000, 0x040e0501}, 2, v_mad_i32_i24},
	{"v_mad_u32_u24 v0, v1, v2, v3 clamp", {0xd1c38000, 0x040e0501}, 2, v_mad_u32_u24},
	{"v_mad_i32_i24 v0, v1, v2, v3", {0xd1c20000, 0x040e0501}, 2, v_mad_i32_i24_56},
	{"v_mad_u32_u24 v0, v1, v2, v3", {0xd1c30000, 0x040e0501}, 2, v_mad_u32_u24_57},
	{"v_bfe_u32 v0, v1, v2, v3", {0xd1c80000, 0x040e0501}, 2, v_bfe_u32},
	{"v_bfe_i32 v0, v1, v2, v3", {0xd1c90000, 0x040e0501}, 2, v_bfe_i32},
	{"v_bfi_b32 v0, v1, v2, v3", {0xd1ca0000, 0x040e0501}, 2, v_bfi_b32},
	{"v_lerp_u8 v0, v1, v2, v3", {0xd1cd0000, 0x040e0501}, 2, v_lerp_u8},
	{"v_alignbit_b32 v0, v1, v2, v3", {0xd1ce0000, 0x040e0501}, 2, v_alignbit_b32},
	{"v_alignbyte_b32 v0, v1, v2, v3", {0xd1cf0000, 0x040e0501}, 2, v_alignbyte_b32},
	{"v_min3_i32 v0, v1, v2, v3", {0xd1d10000, 0x040e0501}, 2, v_min3_i32},
	{"v_med3_i32 v0, v1, v2, v3", {0xd1d70000, 0x040e0501}, 2, v_med3_i32},
	{"v_max3_i32 v0, v1, v2, v3", {0xd1d40000, 0x040e0501}, 2, v_max3_i32},
	{"v_min3_u32 v0, v1, v2, v3", {0xd1d20000, 0x040e0501}, 2, v_min3_u32},
	{"v_med3_u32 v0, v1, v2, v3", {0xd1d80000, 0x040e0501}, 2, v_med3_u32},
	{"v_max3_u32 v0, v1, v2, v3", {0xd1d50000, 0x040e0501}, 2, v_max3_u32},
	{"v_sad_u8 v0, v1, v2, v3", {0xd1d90000, 0x040e0501}, 2, v_sad_u8},
	{"v_sad_hi_u8 v0, v1, v2, v3", {0xd1da0000, 0x040e0501}, 2, v_sad_hi_u8},
	{"v_sad_u16 v0, v1, v2, v3", {0xd1db0000, 0x040e0501}, 2, v_sad_u16},
	{"v_sad_u32 v0, v1, v2, v3", {0xd1dc0000, 0x040e0501}, 2, v_sad_u32},
	{"v_msad_u8 v0, v1, v2, v3", {0xd1e40000, 0x040e0501}, 2, v_msad_u8},
	{"v_perm_b32 v0, v1, v2, v3", {0xd1ed0000, 0x040e0501}, 2, v_perm_b32},
	{"v_xad_u32 v0, v1, v2, v3", {0xd1f30000, 0x040e0501}, 2, v_xad_u32},
	{"v_lshl_add_u32 v0, v1, v2, v3", {0xd1fd0000, 0x040e0501}, 2, v_lshl_add_u32},
	{"v_add_lshl_u32 v0, v1, v2, v3", {0xd1fe0000, 0x040e0501}, 2, v_add_lshl_u32},
	{"v_add3_u32 v0, v1, v2, v3", {0xd1ff0000, 0x040e0501}, 2, v_add3_u32},
	{"v_lshl_or_b32 v0, v1, v2, v3", {0xd2000000, 0x040e0501}, 2, v_lshl_or_b32},
	{"v_and_or_b32 v0, v1, v2, v3", {0xd2010000, 0x040e0501}, 2, v_and_or_b32},
	{"v_or3_b32 v0, v1, v2, v3", {0xd2020000, 0x040e0501}, 2, v_or3_b32},
	{"v_mad_u32_u16 v0, v1, v2, v3", {0xd1f10000, 0x040e0501}, 2, v_mad_u32_u16},
	{"v_mad_i32_i16 v0, v1, v2, v3", {0xd1f20000, 0x040e0501}, 2, v_mad_i32_i16},
	{"v_mad_legacy_u16 v0, v1, v2, v3", {0xd1eb0000, 0x040e0501}, 2, v_mad_legacy_u16},
	{"v_mad_legacy_i16 v0, v1, v2, v3", {0xd1ec0000, 0x040e0501}, 2, v_mad_legacy_i16},
	{"v_mad_u16 v0, v1, v2, v3", {0xd2040000, 0x040e0501}, 2, v_mad_u16},
	{"v_mad_i16 v0, v1, v2, v3", {0xd2050000, 0x040e0501}, 2, v_mad_i16},
	{"v_min3_i16 v0, v1, v2, v3", {0xd1f50000, 0x040e0501}, 2, v_min3_i16},
	{"v_med3_i16 v0, v1, v2, v3", {0xd1fb0000, 0x040e0501}, 2, v_med3_i16},
	{"v_max3_i16 v0, v1, v2, v3", {0xd1f80000, 0x040e0501}, 2, v_max3_i16},
	{"v_min3_u16 v0, v1, v2, v3", {0xd1f60000, 0x040e0501}, 2, v_min3_u16},
	{"v_med3_u16 v0, v1, v2, v3", {0xd1fc0000, 0x040e0501}, 2, v_med3_u16},
	{"v_max3_u16 v0, v1, v2, v3", {0xd1f90000, 0x040e0501}, 2, v_max3_u16},
	{"v_add_i16 v0, v1, v2", {0xd29e0000, 0x00020501}, 2, v_add_i16},
	{"v_sub_i16 v0, v1, v2", {0xd29f0000, 0x00020501}, 2, v_sub_i16},
	{"v_add_i16 v0, v1, v2 clamp", {0xd29e8000, 0x00020501}, 2, v_add_i16_97},
	{"v_add_i16 v0, v1, v2 op_sel:[1,0,1]", {0xd29e4800, 0x00020501}, 2, v_add_i16_98},
	{"v_mad_u16 v0, v1, v2, v3 op_sel:[0,1,1,0]", {0xd2043000, 0x040e0501}, 2, v_mad_u16_99},
	{"v_sat_pk_u8_i16_e32 v0, v1", {0x7e009f01}, 1, v_sat_pk_u8_i16_e32},
	{"v_mov_b32_e32 v0, v1", {0x7e000301}, 1, v_mov_b32_e32},
	{"v_mov_b32_e32 v0, -7", {0x7e0002c7}, 1, v_mov_b32_e32_102},
	{"v_mov_b32_e32 v0, s5", {0x7e000205}, 1, v_mov_b32_e32_103},
	{"v_add_u32_e32 v0, 0x12345678, v2", {0x680004ff, 0x12345678}, 2, v_add_u32_e32_104},
	{"v_pack_b32_f16 v0, v1, v2", {0xd2a00000, 0x00020501}, 2, v_pack_b32_f16},
	{"v_pack_b32_f16 v0, v1, -v2 op_sel:[1,0,0]", {0xd2a00800, 0x40020501}, 2, v_pack_b32_f16_106},
};
/* clang-format on */

static const u32 edges[] = {
	0,          1,          2,          31,         32,         33,
	0x7f,       0x80,       0xff,       0x7fff,     0x8000,     0xffff,
	0x10000,    0x7fffff,   0x800000,   0xffffff,   0x7fffffff, 0x80000000,
	0x80000001, 0xffffffff, 0xfffffffe, 0xffff8000, 0x0c0d0007, 0x12345678,
};

static u32 value_of(u64 *seed)
{
	u32 dice = machine_random(seed);

	return dice % 3 ? edges[dice / 3 % GP_ARRAY_SIZE(edges)] : machine_random(seed);
}

/* One instruction on v1, v2 and v3, with EXEC partly off. */
static void check(struct machine *m, size_t n, u64 *seed)
{
	u64 exec = (u64)machine_random(seed) << 32 | machine_random(seed);
	u32 to = (checks[n].words[0] & 0xfe000000) == 0x7e000000 ? 0
		 : checks[n].count == 1                          ? checks[n].words[0] >> 17 & 0xff
								 : 0;
	u32 before[4][GP_ISA_LANES];

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		m->wave->v[0][lane] = OLD;
		for (u32 row = 1; row < 4; row++)
			m->wave->v[row][lane] = value_of(seed);
	}
	memcpy(before, m->wave->v, sizeof(before));
	m->wave->s[5] = 0x5ca1ab1e;
	gp_isa_set_pair(m->wave, GP_ISA_EXEC, exec);
	machine_run_to_end(m, checks[n].words, checks[n].count);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		u32 a = before[1][lane], b = before[2][lane], c = before[3][lane];
		u32 wanted =
			exec >> lane & 1 ? checks[n].expected(a, b, c, lane) : before[to][lane];

		if (m->wave->v[to][lane] != wanted)
			fail_msg("%s of %08x, %08x, %08x in lane %u: %08x, not %08x",
				 checks[n].text, a, b, c, lane, m->wave->v[to][lane], wanted);
	}
}

static void integer_operations_give_exact_results(void **state)
{
	u64 seed = 1;

	for (size_t n = 0; n < GP_ARRAY_SIZE(checks); n++)
		for (u32 round = 0; round < 50; round++)
			check(*state, n, &seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(integer_operations_give_exact_results,
						machine_gfx90a, machine_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
