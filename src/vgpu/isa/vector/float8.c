// SPDX-License-Identifier: MIT
/*
 * The 8-bit floating-point formats of gfx942: no infinities, no negative zero, one NaN (0x80).
 * What overflows becomes the NaN, or the largest number where FP16_OVFL clamps.
 */
#include <math.h>

#include "vgpu/isa/vector/float.h"

#define NAN8   0x80u
#define MAX8   0x7fu
#define SINGLE 23 /* bits of a mantissa of f32 */
#define BIAS   127
#define HIDDEN (1u << SINGLE)

struct format {
	u32 mantissa; /* bits */
	s32 bias;
};

static const struct format fp8 = {3, 8}, bf8 = {2, 16};

static float decode(const struct format *format, u32 bits)
{
	u32 magnitude = bits & 0x7f, fraction = magnitude & ((1u << format->mantissa) - 1);
	s32 exponent = (s32)(magnitude >> format->mantissa);
	float value;

	if ((bits & 0xff) == NAN8)
		return gp_isa_f32(GP_ISA_NAN32);
	if (exponent)
		fraction |= 1u << format->mantissa;
	else
		exponent = 1;
	value = ldexpf((float)fraction, exponent - format->bias - (s32)format->mantissa);
	return bits & 0x80 ? -value : value;
}

/* The mantissa without its last `drop` bits: to nearest even, or up where the noise carries. */
static u32 shorten(u32 mantissa, u32 drop, bool stochastic, u32 noise)
{
	u32 half = 1u << (drop - 1), mask = (1u << drop) - 1;

	if (stochastic)
		return (mantissa + (noise & mask)) >> drop;
	return (mantissa + half - 1 + (mantissa >> drop & 1)) >> drop;
}

static u32 encode(const struct format *format, u32 single, bool clamp, bool stochastic, u32 noise)
{
	u32 sign = single >> 24 & 0x80, magnitude = single & ~GP_ISA_SIGN32, rounded;
	s32 exponent = (s32)(magnitude >> SINGLE) - BIAS + format->bias;
	u32 mantissa = (magnitude & (HIDDEN - 1)) | HIDDEN, drop = SINGLE - format->mantissa;

	if (magnitude >= GP_ISA_INF32)
		return clamp && magnitude == GP_ISA_INF32 ? sign | MAX8 : NAN8;
	if (magnitude < HIDDEN)
		return 0;
	if (exponent < 1) {
		/* Denormal: the hidden bit is part of the fraction. Noise has the width that a
		 * normal number loses. */
		u32 deeper = (u32)(1 - exponent);

		if (deeper > SINGLE || (deeper > format->mantissa + 1u && !stochastic))
			return 0;
		rounded = stochastic ? shorten(mantissa >> deeper, drop, true, noise)
				     : shorten(mantissa, drop + deeper, false, 0);
	} else {
		rounded = shorten(mantissa, drop, stochastic, noise);
		rounded += (u32)(exponent - 1) << format->mantissa;
	}
	if (rounded > MAX8)
		return clamp ? sign | MAX8 : NAN8;
	return rounded ? sign | rounded : 0;
}

float gp_isa_fp8(u32 bits)
{
	return decode(&fp8, bits);
}

float gp_isa_bf8(u32 bits)
{
	return decode(&bf8, bits);
}

u32 gp_isa_bits_fp8(u32 single, bool clamp, bool stochastic, u32 noise)
{
	return encode(&fp8, single, clamp, stochastic, noise);
}

u32 gp_isa_bits_bf8(u32 single, bool clamp, bool stochastic, u32 noise)
{
	return encode(&bf8, single, clamp, stochastic, noise);
}
