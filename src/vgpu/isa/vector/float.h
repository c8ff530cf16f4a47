/* SPDX-License-Identifier: MIT */
/*
 * Floating point as MODE says, on the host's arithmetic. Private to vgpu/isa.
 *
 * Rounding and denormals of f32 and f64 are the host's: gp_isa_environment() puts those of the
 * wave's MODE into MXCSR, which the runner remembers, so that a change costs something only where
 * MODE or the size of the operands changes. MODE has one setting for f32 and one for f64 and f16.
 *
 * f16 is computed in f32 and rounded once more. That is exact: a product of two halves has 22 bits,
 * and for sums, differences, quotients and roots the 24 bits of f32 are 2 * 11 + 2, so that
 * rounding twice to nearest gives what rounding once gives; rounding twice in one direction always
 * does. A fused multiply-add needs more, see gp_isa_odd().
 *
 * NaN: an operation with a NaN operand returns the first of them, quiet; one that is invalid
 * returns the positive quiet NaN. The host differs in both, gp_isa_nans32() corrects it.
 */
#ifndef GP_VGPU_ISA_FLOAT_H
#define GP_VGPU_ISA_FLOAT_H

#include <immintrin.h>

#include "vgpu/isa/vector/lanes.h"

#define GP_ISA_INF16   0x7c00u
#define GP_ISA_INF32   0x7f800000u
#define GP_ISA_INF64   0x7ff0000000000000ull
#define GP_ISA_QUIET16 0x0200u
#define GP_ISA_QUIET32 0x00400000u
#define GP_ISA_QUIET64 0x0008000000000000ull
#define GP_ISA_NAN16   0x7e00u
#define GP_ISA_NAN32   0x7fc00000u
#define GP_ISA_NAN64   0x7ff8000000000000ull
#define GP_ISA_SIGN16  0x8000u
#define GP_ISA_SIGN32  0x80000000u
#define GP_ISA_SIGN64  0x8000000000000000ull

static inline float gp_isa_f32(u32 bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline u32 gp_isa_bits32(float value)
{
	u32 bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline double gp_isa_f64(u64 bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline u64 gp_isa_bits64(double value)
{
	u64 bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline bool gp_isa_is_nan16(u32 bits)
{
	return (bits & 0x7fff) > GP_ISA_INF16;
}

static inline bool gp_isa_is_nan32(u32 bits)
{
	return (bits & ~GP_ISA_SIGN32) > GP_ISA_INF32;
}

static inline bool gp_isa_is_nan64(u64 bits)
{
	return (bits & ~GP_ISA_SIGN64) > GP_ISA_INF64;
}

/* A denormal becomes a zero of its sign. */
static inline u32 gp_isa_flush16(u32 bits)
{
	return bits & 0x7c00 ? bits : bits & 0x8000;
}

static inline u32 gp_isa_flush32(u32 bits)
{
	return bits & GP_ISA_INF32 ? bits : bits & GP_ISA_SIGN32;
}

static inline u64 gp_isa_flush64(u64 bits)
{
	return bits & GP_ISA_INF64 ? bits : bits & GP_ISA_SIGN64;
}

/* Which of MODE's two settings an operand has. */
enum gp_isa_setting { GP_ISA_OF_F32, GP_ISA_OF_F64 /* and of f16 */ };

/* Whether denormals of sources and of results are flushed. */
static inline bool gp_isa_flushes_in(u32 mode, enum gp_isa_setting setting)
{
	return !(mode >> (setting == GP_ISA_OF_F64 ? 6 : 4) & 1);
}

static inline bool gp_isa_flushes_out(u32 mode, enum gp_isa_setting setting)
{
	return !(mode >> (setting == GP_ISA_OF_F64 ? 7 : 5) & 1);
}

/* MXCSR: denormal sources as `in` says, denormal results and rounding as `out` does. */
u32 gp_isa_csr(u32 mode, enum gp_isa_setting in, enum gp_isa_setting out);

#define GP_ISA_CSR_PLAIN 0x1f80u /* nearest even, denormals kept, no exceptions */
#define GP_ISA_CSR_FLUSH 0x8040u /* denormals of sources and results */
#define GP_ISA_CSR_ROUND 0x6000u
#define GP_ISA_CSR_TRUNC 0x6000u

static inline void gp_isa_environment(struct gp_isa_runner *runner, u32 csr)
{
	if (runner->csr == csr)
		return;
	_mm_setcsr(csr);
	runner->csr = csr;
}

/*
 * f64 to f32, rounded to odd: a value that is not exact gets an odd last bit. Rounding the result
 * to f16 then gives, in every rounding mode, what rounding the f64 once gives. Of a * b + c with
 * halves the f64 itself is exact, or its error lies so far below a half that no tie can come of it.
 */
static inline float gp_isa_odd(double value)
{
	u64 bits = gp_isa_bits64(value), lost = bits & 0x1fffffff;

	return (float)gp_isa_f64((bits & ~0x1fffffffull) | (lost ? 0x20000000ull : 0));
}

/* One half; denormals are kept. A NaN comes out quiet. */
static inline float gp_isa_f16(u32 bits)
{
	return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128((int)(bits & 0xffff))));
}

/* Rounded as MXCSR says; denormals are kept. */
static inline u32 gp_isa_bits16(float value)
{
	return (u32)_mm_cvtsi128_si32(_mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_CUR_DIRECTION)) &
	       0xffff;
}

/* Rows: halves (in the low 16 bits; the rest is ignored) to f32 and back. Flushing and FP16_OVFL as
 * MODE says, rounding as MXCSR does: set the environment of f16 before. */
void gp_isa_widen(float *restrict out, const u32 *halves, u32 mode);
void gp_isa_narrow(u32 *restrict out, const float *values, u32 mode);

/* neg and abs of one source, of f32 and of the two halves of f64 (bits 0 of each). */
void gp_isa_modify32(u32 *restrict out, const u32 *in, bool abs, bool neg);
void gp_isa_modify64(u64 *values, bool abs, bool neg);

/* omod and clamp of a result. `setting` is that of the type which is written. */
void gp_isa_finish32(u32 *values, const struct gp_isa_inst *inst, u32 mode,
		     enum gp_isa_setting setting);
void gp_isa_finish64(u64 *values, const struct gp_isa_inst *inst, u32 mode);

/* Gives NaN results the value that they have on the GPU. Unused sources: NULL. */
void gp_isa_nans32(u32 *restrict out, const u32 *a, const u32 *b, const u32 *c);
void gp_isa_nans64(u64 *restrict out, const u64 *a, const u64 *b, const u64 *c);

/* float8.c: the 8-bit formats of gfx942, without infinities and negative zero: fp8 is 1.4.3 with
 * bias 8, bf8 1.5.2 with bias 16, 0x80 is the only NaN. */
float gp_isa_fp8(u32 bits);
float gp_isa_bf8(u32 bits);
/* `noise` is added below the last bit instead of rounding to nearest; clamp: FP16_OVFL. */
u32 gp_isa_bits_fp8(u32 single, bool clamp, bool stochastic, u32 noise);
u32 gp_isa_bits_bf8(u32 single, bool clamp, bool stochastic, u32 noise);

#endif
