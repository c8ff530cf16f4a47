// SPDX-License-Identifier: MIT
/* Elements of A and B from the registers of a matrix operation; see matrix.h. */
#include <immintrin.h>

#include "vgpu/isa/matrix/matrix.h"

#define ZERO_EXPONENT (-126) /* what the sums of gfx942 take for 0 */
#define F32_SIGN      0x80000000u
#define F32_MIN       0x00800000u /* smallest normal */

/* A format of floats: the sign is the highest bit. */
struct format {
	u8 bits, fraction, bias;
	bool fnuz;
};

static const struct format formats[] = {
	[GP_ISA_ELEMENT_XF32] = {32, 23, 127, false}, [GP_ISA_ELEMENT_F16] = {16, 10, 15, false},
	[GP_ISA_ELEMENT_BF16] = {16, 7, 127, false},  [GP_ISA_ELEMENT_FP8] = {8, 3, 8, true},
	[GP_ISA_ELEMENT_BF8] = {8, 2, 16, true},
};

/* One item of all lanes. */
static inline void item_bits(const u32 (*rows)[GP_ISA_LANES], u32 item, u32 bits, u32 *out)
{
	u32 per_row = 32 / bits, shift = item % per_row * bits, mask = 0xffffffffu >> (32 - bits);
	const u32 *row = rows[item / per_row];

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		out[lane] = row[lane] >> shift & mask;
}

/* Mantissa and exponent of one item; infinities and NaNs by the exponents that stand for them. */
static inline s32 item_split(struct format format, const u32 *bits, s32 *mantissa, s32 *exponent)
{
	u32 fraction_mask = (1u << format.fraction) - 1, sign_bit = format.bits - 1u;
	u32 exponent_mask = (1u << (sign_bit - format.fraction)) - 1;
	s32 top = ZERO_EXPONENT;

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		u32 field = bits[lane] >> format.fraction & exponent_mask;
		u32 fraction = bits[lane] & fraction_mask, sign = bits[lane] >> sign_bit & 1;
		u32 full = fraction | (field ? 1u << format.fraction : 0);
		bool nan = format.fnuz ? bits[lane] == 1u << sign_bit
				       : field == exponent_mask && fraction;
		bool infinite = !format.fnuz && field == exponent_mask && !fraction;
		u32 scaled = format.fraction > GP_ISA_FRACTION
				     ? full >> (format.fraction - GP_ISA_FRACTION)
				     : full << (GP_ISA_FRACTION - format.fraction);
		s32 power = (s32)(field ? field : 1) - format.bias;

		power = scaled ? power : ZERO_EXPONENT;
		power = nan ? GP_ISA_NAN : infinite ? GP_ISA_INFINITY : power;
		exponent[lane] = power;
		mantissa[lane] = sign ? -(s32)scaled : (s32)scaled;
		top = power > top ? power : top;
	}
	return top;
}

/* The same for formats with infinities, if there are none and no NaNs: returns the largest
 * exponent, which is larger than any number has if there are. */
static inline s32 item_split_numbers(struct format format, const u32 *bits, s32 *mantissa,
				     s32 *exponent)
{
	u32 sign_bit = format.bits - 1u, one = 1u << format.fraction, most = 0;

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		u32 magnitude = bits[lane] & ((1u << sign_bit) - 1);
		u32 field = magnitude >> format.fraction;
		u32 full = (magnitude & (one - 1)) + (field ? one : 0);
		u32 scaled = format.fraction > GP_ISA_FRACTION
				     ? full >> (format.fraction - GP_ISA_FRACTION)
				     : full << (GP_ISA_FRACTION - format.fraction);
		s32 sign = (s32)(bits[lane] << (31 - sign_bit)) >> 31;

		most = field > most ? field : most;
		exponent[lane] = scaled ? (s32)(field ? field : 1) - format.bias : ZERO_EXPONENT;
		mantissa[lane] = ((s32)scaled ^ sign) - sign;
	}
	return (s32)most - format.bias;
}

/* `format` is a constant where this is called, so that the loops have constant shifts. */
static inline s32 item_unpack(struct format format, const u32 *bits, s32 *mantissa, s32 *exponent)
{
	s32 most = (1 << (format.bits - 1 - format.fraction)) - 1 - format.bias;
	s32 top = format.fnuz ? most : item_split_numbers(format, bits, mantissa, exponent);

	return top < most ? top : item_split(format, bits, mantissa, exponent);
}

void gp_isa_unpack(enum gp_isa_element type, const u32 (*rows)[GP_ISA_LANES], u32 items,
		   struct gp_isa_unpacked *out)
{
	struct gp_isa_row bits;

	out->top = ZERO_EXPONENT;
	for (u32 item = 0; item < items; item++) {
		s32 *mantissa = out->value + item * GP_ISA_LANES, top;
		s32 *exponent = out->exponent + item * GP_ISA_LANES;

		item_bits(rows, item, formats[type].bits, bits.lane);
		switch (type) {
		case GP_ISA_ELEMENT_XF32:
			top = item_unpack(formats[GP_ISA_ELEMENT_XF32], bits.lane, mantissa,
					  exponent);
			break;
		case GP_ISA_ELEMENT_F16:
			top = item_unpack(formats[GP_ISA_ELEMENT_F16], bits.lane, mantissa,
					  exponent);
			break;
		case GP_ISA_ELEMENT_BF16:
			top = item_unpack(formats[GP_ISA_ELEMENT_BF16], bits.lane, mantissa,
					  exponent);
			break;
		case GP_ISA_ELEMENT_FP8:
			top = item_unpack(formats[GP_ISA_ELEMENT_FP8], bits.lane, mantissa,
					  exponent);
			break;
		default:
			top = item_unpack(formats[GP_ISA_ELEMENT_BF8], bits.lane, mantissa,
					  exponent);
		}
		out->top = top > out->top ? top : out->top;
	}
}

/* Denormals and -0 become +0: so do the sources of gfx90a's 16-bit operations. */
static void flush(float *number, float least)
{
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		number[lane] = __builtin_fabsf(number[lane]) < least ? 0.0f : number[lane];
}

/* Denormals become 0 of their sign, as MODE says for f32. */
static void flush_signed(u32 *bits)
{
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		bits[lane] &= (bits[lane] & ~F32_SIGN) < F32_MIN ? F32_SIGN : 0xffffffffu;
}

static void numbers_from_f16(const u32 *bits, float *out)
{
	for (u32 lane = 0; lane < GP_ISA_LANES; lane += 8) {
		__m256i wide = _mm256_loadu_si256((const __m256i *)(bits + lane));
		__m128i half = _mm_packus_epi32(_mm256_castsi256_si128(wide),
						_mm256_extracti128_si256(wide, 1));

		_mm256_storeu_ps(out + lane, _mm256_cvtph_ps(half));
	}
}

void gp_isa_unpack_numbers(enum gp_isa_element type, const u32 (*rows)[GP_ISA_LANES], u32 items,
			   bool flushes, struct gp_isa_unpacked *out)
{
	for (u32 item = 0; item < items; item++) {
		float *number = out->number + item * GP_ISA_LANES;
		u32 *bits = (u32 *)out->value + item * GP_ISA_LANES;
		struct gp_isa_row half;

		switch (type) {
		case GP_ISA_ELEMENT_F16:
			item_bits(rows, item, 16, half.lane);
			numbers_from_f16(half.lane, number);
			if (flushes)
				flush(number, 0x1p-14f);
			break;
		case GP_ISA_ELEMENT_BF16:
			item_bits(rows, item, 16, bits);
			for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
				bits[lane] <<= 16;
			if (flushes)
				flush(number, 0x1p-126f);
			break;
		default:
			memcpy(bits, rows[item], sizeof(rows[item]));
			if (flushes)
				flush_signed(bits);
		}
	}
}

void gp_isa_unpack_integers(const u32 (*rows)[GP_ISA_LANES], u32 items, struct gp_isa_unpacked *out)
{
	for (u32 item = 0; item < items; item++) {
		s32 *value = out->value + item * GP_ISA_LANES;

		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			value[lane] = (int8_t)(rows[item / 4][lane] >> item % 4 * 8);
	}
}
