// SPDX-License-Identifier: MIT
/*
 * Rows of conversions. To integers: towards zero, what does not fit becomes the nearest that does,
 * a NaN becomes 0. From integers: rounded as MXCSR says; a zero is positive, which directed
 * rounding does not promise for the ways in which compilers convert unsigned numbers.
 */
#include <math.h>

#include "vgpu/isa/vector/vop.h"

static inline s32 to_i32(double value)
{
	return value != value           ? 0
	       : value <= -2147483648.0 ? INT32_MIN
	       : value >= 2147483647.0  ? INT32_MAX
					: (s32)value;
}

static inline u32 to_u32(double value)
{
	return !(value > 0) ? 0 : value >= 4294967295.0 ? UINT32_MAX : (u32)(s64)value;
}

/* Exact in f32. */
static inline s32 single_to_i32(float value)
{
	return value != value           ? 0
	       : value < -2147483648.0f ? INT32_MIN
	       : value >= 2147483648.0f ? INT32_MAX
					: (s32)value;
}

static inline float limited(float value, float low, float high)
{
	return value != value ? 0 : value < low ? low : value > high ? high : value;
}

/* v_cvt_norm: -1 to 1 or 0 to 1 as 16 bits, to nearest even. */
static inline u32 normal_signed(float value)
{
	return (u32)_mm_cvtsd_si32(_mm_set_sd((double)limited(value, -1, 1) * 32767.0)) & 0xffff;
}

static inline u32 normal_unsigned(float value)
{
	return (u32)_mm_cvtsd_si32(_mm_set_sd((double)limited(value, 0, 1) * 65535.0)) & 0xffff;
}

static inline float flushed_in(const struct gp_isa_rows *rows, float value)
{
	if (!gp_isa_flushes_in(rows->mode, GP_ISA_OF_F32))
		return value;
	return gp_isa_f32(gp_isa_flush32(gp_isa_bits32(value)));
}

/* v_cvt_pkrtz: one half, towards zero. */
static inline u32 half_truncated(const struct gp_isa_rows *rows, float value)
{
	__m128i half = _mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_ZERO);
	u32 bits = (u32)_mm_cvtsi128_si32(half) & 0xffff;

	return gp_isa_flushes_out(rows->mode, GP_ISA_OF_F64) ? gp_isa_flush16(bits) : bits;
}

/* v_cvt_pk_u8_f32: rounded as MXCSR says, into byte b of c. */
static inline u32 byte_insert(float value, u32 b, u32 c)
{
	u32 byte = (u32)_mm_cvtss_si32(_mm_set_ss(limited(value, 0, 255))), shift = (b & 3) * 8;

	return (c & ~(0xffu << shift)) | byte << shift;
}

#define FROM_SINGLE(name, to, result) GP_ISA_ROWS(name, to, gp_isa_single, u32, u32, result)
#define FROM_DOUBLE(name, to, result) GP_ISA_ROWS(name, to, gp_isa_double, u32, u32, result)
#define FROM_WORD(name, to, result)   GP_ISA_ROWS(name, to, u32, u32, u32, result)

/* clang-format off */
FROM_SINGLE(cvt_i32_f32, u32, single_to_i32(a))
FROM_SINGLE(cvt_u32_f32, u32, to_u32((double)a))
FROM_DOUBLE(cvt_i32_f64, u32, to_i32(a))
FROM_DOUBLE(cvt_u32_f64, u32, to_u32(a))
FROM_SINGLE(cvt_i16_f16, u32, (s32)limited(a, -32768, 32767))
FROM_SINGLE(cvt_u16_f16, u32, (s32)limited(a, 0, 65535))
FROM_WORD(cvt_f32_i32, gp_isa_single, (float)(s32)a)
FROM_WORD(cvt_f32_u32, gp_isa_single, a ? (float)a : 0)
FROM_WORD(cvt_f64_i32, gp_isa_double, (double)(s32)a)
FROM_WORD(cvt_f64_u32, gp_isa_double, a ? (double)a : 0)
FROM_DOUBLE(cvt_f32_f64, gp_isa_single, (float)a)
FROM_SINGLE(cvt_f64_f32, gp_isa_double, (double)a)
FROM_SINGLE(cvt_f16_f32, gp_isa_single, flushed_in(rows, a))
FROM_SINGLE(cvt_rpi_i32_f32, u32, to_i32(floor((double)a + 0.5)))
FROM_SINGLE(cvt_flr_i32_f32, u32, to_i32(floor((double)a)))
FROM_WORD(cvt_off_f32_i4, gp_isa_single, (float)((s32)(a << 28) >> 28) * 0.0625f)
FROM_WORD(cvt_f32_ubyte0, gp_isa_single, (float)(s32)(a & 0xff))
FROM_WORD(cvt_f32_ubyte1, gp_isa_single, (float)(s32)(a >> 8 & 0xff))
FROM_WORD(cvt_f32_ubyte2, gp_isa_single, (float)(s32)(a >> 16 & 0xff))
FROM_WORD(cvt_f32_ubyte3, gp_isa_single, (float)(s32)(a >> 24))
GP_ISA_ROWS(cvt_pk_u8_f32, u32, gp_isa_single, u32, u32, byte_insert(a, b, c))
GP_ISA_ROWS(cvt_pkrtz_f16_f32, u32, gp_isa_single, gp_isa_single, u32,
	    half_truncated(rows, a) | half_truncated(rows, b) << 16)
FROM_WORD(cvt_f32_fp8, gp_isa_single, gp_isa_fp8(a))
FROM_WORD(cvt_f32_bf8, gp_isa_single, gp_isa_bf8(a))
static FROM_SINGLE(norm_i16, u32, normal_signed(a))
static FROM_SINGLE(norm_u16, u32, normal_unsigned(a))
static GP_ISA_ROWS(pknorm_i16, u32, gp_isa_single, gp_isa_single, u32,
		   normal_signed(a) | normal_signed(b) << 16)
static GP_ISA_ROWS(pknorm_u16, u32, gp_isa_single, gp_isa_single, u32,
		   normal_unsigned(a) | normal_unsigned(b) << 16)
	/* clang-format on */

	/* To nearest, whatever MODE says. */
	static void nearest(struct gp_isa_rows *rows, gp_isa_function *function)
{
	gp_isa_environment(rows->runner, GP_ISA_CSR_PLAIN);
	function(rows);
}

void gp_isa_cvt_norm_i16(struct gp_isa_rows *rows)
{
	nearest(rows, gp_isa_norm_i16);
}

void gp_isa_cvt_norm_u16(struct gp_isa_rows *rows)
{
	nearest(rows, gp_isa_norm_u16);
}

void gp_isa_cvt_pknorm_i16(struct gp_isa_rows *rows)
{
	nearest(rows, gp_isa_pknorm_i16);
}

void gp_isa_cvt_pknorm_u16(struct gp_isa_rows *rows)
{
	nearest(rows, gp_isa_pknorm_u16);
}

typedef u32 to_byte(u32 single, bool clamp, bool stochastic, u32 noise);

/* Two bytes into the half that op_sel names; the third source is the destination. */
static void pack_bytes(struct gp_isa_rows *rows, to_byte *convert)
{
	const u32 *a = rows->source[0], *b = rows->source[1], *old = rows->source[2];
	bool clamp = rows->mode & GP_ISA_MODE_FP16_OVFL;
	u32 shift = rows->inst->opsel & 8 ? 16 : 0, *restrict out = rows->out;

	for (u32 i = 0; i < GP_ISA_LANES; i++) {
		u32 pair = convert(a[i], clamp, false, 0) | convert(b[i], clamp, false, 0) << 8;

		out[i] = (old[i] & ~(0xffffu << shift)) | pair << shift;
	}
}

/* One byte, with the noise of b, into the byte that op_sel names by its bits 2 and 3. */
static void pack_stochastic(struct gp_isa_rows *rows, to_byte *convert)
{
	const u32 *a = rows->source[0], *b = rows->source[1], *old = rows->source[2];
	bool clamp = rows->mode & GP_ISA_MODE_FP16_OVFL;
	u32 shift = (rows->inst->opsel >> 2 & 3) * 8, *restrict out = rows->out;

	for (u32 i = 0; i < GP_ISA_LANES; i++)
		out[i] = (old[i] & ~(0xffu << shift)) | convert(a[i], clamp, true, b[i]) << shift;
}

void gp_isa_cvt_pk_fp8_f32(struct gp_isa_rows *rows)
{
	pack_bytes(rows, gp_isa_bits_fp8);
}

void gp_isa_cvt_pk_bf8_f32(struct gp_isa_rows *rows)
{
	pack_bytes(rows, gp_isa_bits_bf8);
}

void gp_isa_cvt_sr_fp8_f32(struct gp_isa_rows *rows)
{
	pack_stochastic(rows, gp_isa_bits_fp8);
}

void gp_isa_cvt_sr_bf8_f32(struct gp_isa_rows *rows)
{
	pack_stochastic(rows, gp_isa_bits_bf8);
}
