// SPDX-License-Identifier: MIT
/* Floating point as MODE says; see float.h. */
#include "vgpu/isa/vector/float.h"

#define CSR_DAZ   0x0040u
#define CSR_FTZ   0x8000u
#define CSR_ROUND 13
#define MAX16     0x7bffu

u32 gp_isa_csr(u32 mode, enum gp_isa_setting in, enum gp_isa_setting out)
{
	/* MODE: nearest, up, down, zero. MXCSR: nearest, down, up, zero. */
	static const u8 rounding[] = {0, 2, 1, 3};
	u32 csr = GP_ISA_CSR_PLAIN;

	csr |= (u32)rounding[mode >> (out == GP_ISA_OF_F64 ? 2 : 0) & 3] << CSR_ROUND;
	if (gp_isa_flushes_in(mode, in))
		csr |= CSR_DAZ;
	if (gp_isa_flushes_out(mode, out))
		csr |= CSR_FTZ;
	return csr;
}

/* Eight words to eight halves: the low 16 bits of each. */
static __m128i halves_pack(__m256i words)
{
	__m256i low = _mm256_and_si256(words, _mm256_set1_epi32(0xffff));
	__m256i packed = _mm256_packus_epi32(low, low);

	return _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08));
}

void gp_isa_widen(float *restrict out, const u32 *halves, u32 mode)
{
	struct gp_isa_row flushed;

	if (gp_isa_flushes_in(mode, GP_ISA_OF_F64)) {
		for (u32 i = 0; i < GP_ISA_LANES; i++)
			flushed.lane[i] = gp_isa_flush16(halves[i]);
		halves = flushed.lane;
	}
	for (u32 i = 0; i < GP_ISA_LANES; i += 8) {
		__m256i words = _mm256_loadu_si256((const __m256i *)(halves + i));

		_mm256_storeu_ps(out + i, _mm256_cvtph_ps(halves_pack(words)));
	}
}

void gp_isa_narrow(u32 *restrict out, const float *values, u32 mode)
{
	for (u32 i = 0; i < GP_ISA_LANES; i += 8) {
		__m128i half =
			_mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_CUR_DIRECTION);

		_mm256_storeu_si256((__m256i *)(out + i), _mm256_cvtepu16_epi32(half));
	}
	if (mode & GP_ISA_MODE_FP16_OVFL)
		for (u32 i = 0; i < GP_ISA_LANES; i++) {
			u32 source = gp_isa_bits32(values[i]) & ~GP_ISA_SIGN32;
			bool over = (out[i] & 0x7fff) == GP_ISA_INF16 && source != GP_ISA_INF32;

			out[i] = over ? (out[i] & 0x8000) | MAX16 : out[i];
		}
	if (gp_isa_flushes_out(mode, GP_ISA_OF_F64))
		for (u32 i = 0; i < GP_ISA_LANES; i++)
			out[i] = gp_isa_flush16(out[i]);
}

void gp_isa_modify32(u32 *restrict out, const u32 *in, bool abs, bool neg)
{
	u32 keep = abs ? ~GP_ISA_SIGN32 : ~0u, flip = neg ? GP_ISA_SIGN32 : 0;

	for (u32 i = 0; i < GP_ISA_LANES; i++)
		out[i] = (in[i] & keep) ^ flip;
}

void gp_isa_modify64(u64 *values, bool abs, bool neg)
{
	u64 keep = abs ? ~GP_ISA_SIGN64 : ~0ull, flip = neg ? GP_ISA_SIGN64 : 0;

	for (u32 i = 0; i < GP_ISA_LANES; i++)
		values[i] = (values[i] & keep) ^ flip;
}

/* omod works only where results are flushed and MODE.IEEE is off; it loses the sign of zero. */
static float omod_scale(const struct gp_isa_inst *inst, u32 mode, enum gp_isa_setting setting)
{
	static const float scales[] = {1, 2, 4, 0.5f};

	if (mode & GP_ISA_MODE_IEEE || !gp_isa_flushes_out(mode, setting))
		return 1;
	return scales[inst->omod & 3];
}

void gp_isa_finish32(u32 *values, const struct gp_isa_inst *inst, u32 mode,
		     enum gp_isa_setting setting)
{
	float scale = omod_scale(inst, mode, setting);
	u32 nan_keep = mode & GP_ISA_MODE_DX10_CLAMP ? 0 : ~0u;

	if (scale != 1)
		for (u32 i = 0; i < GP_ISA_LANES; i++) {
			u32 scaled = gp_isa_bits32(gp_isa_f32(values[i]) * scale);

			values[i] = scaled == GP_ISA_SIGN32 ? 0 : scaled;
		}
	if (inst->clamp)
		for (u32 i = 0; i < GP_ISA_LANES; i++) {
			u32 bits = values[i], one = 0x3f800000;
			u32 kept = gp_isa_is_nan32(bits) ? bits & nan_keep : 0;

			values[i] = bits <= one ? bits : bits <= GP_ISA_INF32 ? one : kept;
		}
}

void gp_isa_finish64(u64 *values, const struct gp_isa_inst *inst, u32 mode)
{
	float scale = omod_scale(inst, mode, GP_ISA_OF_F64);
	u64 nan_keep = mode & GP_ISA_MODE_DX10_CLAMP ? 0 : ~0ull;

	if (scale != 1)
		for (u32 i = 0; i < GP_ISA_LANES; i++) {
			u64 scaled = gp_isa_bits64(gp_isa_f64(values[i]) * (double)scale);

			values[i] = scaled == GP_ISA_SIGN64 ? 0 : scaled;
		}
	if (inst->clamp)
		for (u32 i = 0; i < GP_ISA_LANES; i++) {
			u64 bits = values[i], one = 0x3ff0000000000000ull;
			u64 kept = gp_isa_is_nan64(bits) ? bits & nan_keep : 0;

			values[i] = bits <= one ? bits : bits <= GP_ISA_INF64 ? one : kept;
		}
}

void gp_isa_nans32(u32 *restrict out, const u32 *a, const u32 *b, const u32 *c)
{
	u32 any = 0;

	for (u32 i = 0; i < GP_ISA_LANES; i++)
		any |= gp_isa_is_nan32(out[i]);
	if (!any)
		return;
	b = b ? b : a;
	c = c ? c : a;
	for (u32 i = 0; i < GP_ISA_LANES; i++) {
		u32 nan = gp_isa_is_nan32(a[i])   ? a[i]
			  : gp_isa_is_nan32(b[i]) ? b[i]
			  : gp_isa_is_nan32(c[i]) ? c[i]
						  : GP_ISA_NAN32;

		out[i] = gp_isa_is_nan32(out[i]) ? nan | GP_ISA_QUIET32 : out[i];
	}
}

void gp_isa_nans64(u64 *restrict out, const u64 *a, const u64 *b, const u64 *c)
{
	u64 any = 0;

	for (u32 i = 0; i < GP_ISA_LANES; i++)
		any |= gp_isa_is_nan64(out[i]);
	if (!any)
		return;
	b = b ? b : a;
	c = c ? c : a;
	for (u32 i = 0; i < GP_ISA_LANES; i++) {
		u64 nan = gp_isa_is_nan64(a[i])   ? a[i]
			  : gp_isa_is_nan64(b[i]) ? b[i]
			  : gp_isa_is_nan64(c[i]) ? c[i]
						  : GP_ISA_NAN64;

		out[i] = gp_isa_is_nan64(out[i]) ? nan | GP_ISA_QUIET64 : out[i];
	}
}
