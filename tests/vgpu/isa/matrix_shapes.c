// SPDX-License-Identifier: MIT
/* Every matrix operation, in the words of llvm-mc. */
#include "matrix.h"

/* clang-format off */
const struct shape matrix_shapes[] = {
	/* v_mfma_f32_32x32x1f32 v[96:127], v0, v8, v[64:95] */
	{GP_ISA_GFX90A, "v_mfma_f32_32x32x1f32", {0xd3c00060, 0x05021100},
	 32, 1, 2, TYPE_F32, TYPE_F32, false, 4},
	/* v_mfma_f32_16x16x1f32 v[96:111], v0, v8, v[64:79] */
	{GP_ISA_GFX90A, "v_mfma_f32_16x16x1f32", {0xd3c10060, 0x05021100},
	 16, 1, 4, TYPE_F32, TYPE_F32, false, 4},
	/* v_mfma_f32_4x4x1f32 v[96:99], v0, v8, v[64:67] */
	{GP_ISA_GFX90A, "v_mfma_f32_4x4x1f32", {0xd3c20060, 0x05021100},
	 4, 1, 16, TYPE_F32, TYPE_F32, false, 4},
	/* v_mfma_f32_32x32x2f32 v[96:111], v0, v8, v[64:79] */
	{GP_ISA_GFX90A, "v_mfma_f32_32x32x2f32", {0xd3c40060, 0x05021100},
	 32, 2, 1, TYPE_F32, TYPE_F32, false, 4},
	/* v_mfma_f32_16x16x4f32 v[96:99], v0, v8, v[64:67] */
	{GP_ISA_GFX90A, "v_mfma_f32_16x16x4f32", {0xd3c50060, 0x05021100},
	 16, 4, 1, TYPE_F32, TYPE_F32, false, 4},
	/* v_mfma_f32_32x32x4f16 v[96:127], v[0:1], v[8:9], v[64:95] */
	{GP_ISA_GFX90A, "v_mfma_f32_32x32x4f16", {0xd3c80060, 0x05021100},
	 32, 4, 2, TYPE_F16, TYPE_F16, false, 4},
	/* v_mfma_f32_16x16x4f16 v[96:111], v[0:1], v[8:9], v[64:79] */
	{GP_ISA_GFX90A, "v_mfma_f32_16x16x4f16", {0xd3c90060, 0x05021100},
	 16, 4, 4, TYPE_F16, TYPE_F16, false, 4},
	/* v_mfma_f32_4x4x4f16 v[96:99], v[0:1], v[8:9], v[64:67] */
	{GP_ISA_GFX90A, "v_mfma_f32_4x4x4f16", {0xd3ca0060, 0x05021100},
	 4, 4, 16, TYPE_F16, TYPE_F16, false, 4},
	/* v_mfma_f32_32x32x8f16 v[96:111], v[0:1], v[8:9], v[64:79] */
	{GP_ISA_GFX90A, "v_mfma_f32_32x32x8f16", {0xd3cc0060, 0x05021100},
	 32, 8, 1, TYPE_F16, TYPE_F16, false, 4},
	/* v_mfma_f32_16x16x16f16 v[96:99], v[0:1], v[8:9], v[64:67] */
	{GP_ISA_GFX90A, "v_mfma_f32_16x16x16f16", {0xd3cd0060, 0x05021100},
	 16, 16, 1, TYPE_F16, TYPE_F16, false, 4},
	/* v_mfma_i32_32x32x4i8 v[96:127], v0, v8, v[64:95] */
	{GP_ISA_GFX90A, "v_mfma_i32_32x32x4i8", {0xd3d00060, 0x05021100},
	 32, 4, 2, TYPE_I8, TYPE_I8, false, 4},
	/* v_mfma_i32_16x16x4i8 v[96:111], v0, v8, v[64:79] */
	{GP_ISA_GFX90A, "v_mfma_i32_16x16x4i8", {0xd3d10060, 0x05021100},
	 16, 4, 4, TYPE_I8, TYPE_I8, false, 4},
	/* v_mfma_i32_4x4x4i8 v[96:99], v0, v8, v[64:67] */
	{GP_ISA_GFX90A, "v_mfma_i32_4x4x4i8", {0xd3d20060, 0x05021100},
	 4, 4, 16, TYPE_I8, TYPE_I8, false, 4},
	/* v_mfma_i32_32x32x8i8 v[96:111], v0, v8, v[64:79] */
	{GP_ISA_GFX90A, "v_mfma_i32_32x32x8i8", {0xd3d40060, 0x05021100},
	 32, 8, 1, TYPE_I8, TYPE_I8, false, 4},
	/* v_mfma_i32_16x16x16i8 v[96:99], v0, v8, v[64:67] */
	{GP_ISA_GFX90A, "v_mfma_i32_16x16x16i8", {0xd3d50060, 0x05021100},
	 16, 16, 1, TYPE_I8, TYPE_I8, false, 4},
	/* v_mfma_f32_32x32x4bf16_1k v[96:127], v[0:1], v[8:9], v[64:95] */
	{GP_ISA_GFX90A, "v_mfma_f32_32x32x4bf16_1k", {0xd3e30060, 0x05021100},
	 32, 4, 2, TYPE_BF16, TYPE_BF16, false, 4},
	/* v_mfma_f32_16x16x4bf16_1k v[96:111], v[0:1], v[8:9], v[64:79] */
	{GP_ISA_GFX90A, "v_mfma_f32_16x16x4bf16_1k", {0xd3e40060, 0x05021100},
	 16, 4, 4, TYPE_BF16, TYPE_BF16, false, 4},
	/* v_mfma_f32_4x4x4bf16_1k v[96:99], v[0:1], v[8:9], v[64:67] */
	{GP_ISA_GFX90A, "v_mfma_f32_4x4x4bf16_1k", {0xd3e50060, 0x05021100},
	 4, 4, 16, TYPE_BF16, TYPE_BF16, false, 4},
	/* v_mfma_f32_32x32x8bf16_1k v[96:111], v[0:1], v[8:9], v[64:79] */
	{GP_ISA_GFX90A, "v_mfma_f32_32x32x8bf16_1k", {0xd3e60060, 0x05021100},
	 32, 8, 1, TYPE_BF16, TYPE_BF16, false, 4},
	/* v_mfma_f32_16x16x16bf16_1k v[96:99], v[0:1], v[8:9], v[64:67] */
	{GP_ISA_GFX90A, "v_mfma_f32_16x16x16bf16_1k", {0xd3e70060, 0x05021100},
	 16, 16, 1, TYPE_BF16, TYPE_BF16, false, 4},
	/* v_mfma_f32_32x32x2bf16 v[96:127], v0, v8, v[64:95] */
	{GP_ISA_GFX90A, "v_mfma_f32_32x32x2bf16", {0xd3e80060, 0x05021100},
	 32, 2, 2, TYPE_BF16, TYPE_BF16, false, 2},
	/* v_mfma_f32_16x16x2bf16 v[96:111], v0, v8, v[64:79] */
	{GP_ISA_GFX90A, "v_mfma_f32_16x16x2bf16", {0xd3e90060, 0x05021100},
	 16, 2, 4, TYPE_BF16, TYPE_BF16, false, 2},
	/* v_mfma_f32_4x4x2bf16 v[96:99], v0, v8, v[64:67] */
	{GP_ISA_GFX90A, "v_mfma_f32_4x4x2bf16", {0xd3eb0060, 0x05021100},
	 4, 2, 16, TYPE_BF16, TYPE_BF16, false, 2},
	/* v_mfma_f32_32x32x4bf16 v[96:111], v0, v8, v[64:79] */
	{GP_ISA_GFX90A, "v_mfma_f32_32x32x4bf16", {0xd3ec0060, 0x05021100},
	 32, 4, 1, TYPE_BF16, TYPE_BF16, false, 2},
	/* v_mfma_f32_16x16x8bf16 v[96:99], v0, v8, v[64:67] */
	{GP_ISA_GFX90A, "v_mfma_f32_16x16x8bf16", {0xd3ed0060, 0x05021100},
	 16, 8, 1, TYPE_BF16, TYPE_BF16, false, 2},
	/* v_mfma_f64_16x16x4f64 v[96:103], v[0:1], v[8:9], v[64:71] */
	{GP_ISA_GFX90A, "v_mfma_f64_16x16x4f64", {0xd3ee0060, 0x05021100},
	 16, 4, 1, TYPE_F64, TYPE_F64, false, 4},
	/* v_mfma_f64_4x4x4f64 v[96:97], v[0:1], v[8:9], v[64:65] */
	{GP_ISA_GFX90A, "v_mfma_f64_4x4x4f64", {0xd3ef0060, 0x05021100},
	 4, 4, 4, TYPE_F64, TYPE_F64, false, 4},
	/* v_mfma_f32_16x16x8_xf32 v[96:99], v[0:1], v[8:9], v[64:67] */
	{GP_ISA_GFX942, "v_mfma_f32_16x16x8_xf32", {0xd3be0060, 0x05021100},
	 16, 8, 1, TYPE_XF32, TYPE_XF32, false, 4},
	/* v_mfma_f32_32x32x4_xf32 v[96:111], v[0:1], v[8:9], v[64:79] */
	{GP_ISA_GFX942, "v_mfma_f32_32x32x4_xf32", {0xd3bf0060, 0x05021100},
	 32, 4, 1, TYPE_XF32, TYPE_XF32, false, 4},
	/* v_mfma_f32_32x32x1_2b_f32 v[96:127], v0, v8, v[64:95] */
	{GP_ISA_GFX942, "v_mfma_f32_32x32x1_2b_f32", {0xd3c00060, 0x05021100},
	 32, 1, 2, TYPE_F32, TYPE_F32, false, 4},
	/* v_mfma_f32_16x16x1_4b_f32 v[96:111], v0, v8, v[64:79] */
	{GP_ISA_GFX942, "v_mfma_f32_16x16x1_4b_f32", {0xd3c10060, 0x05021100},
	 16, 1, 4, TYPE_F32, TYPE_F32, false, 4},
	/* v_mfma_f32_4x4x1_16b_f32 v[96:99], v0, v8, v[64:67] */
	{GP_ISA_GFX942, "v_mfma_f32_4x4x1_16b_f32", {0xd3c20060, 0x05021100},
	 4, 1, 16, TYPE_F32, TYPE_F32, false, 4},
	/* v_mfma_f32_32x32x2_f32 v[96:111], v0, v8, v[64:79] */
	{GP_ISA_GFX942, "v_mfma_f32_32x32x2_f32", {0xd3c40060, 0x05021100},
	 32, 2, 1, TYPE_F32, TYPE_F32, false, 4},
	/* v_mfma_f32_16x16x4_f32 v[96:99], v0, v8, v[64:67] */
	{GP_ISA_GFX942, "v_mfma_f32_16x16x4_f32", {0xd3c50060, 0x05021100},
	 16, 4, 1, TYPE_F32, TYPE_F32, false, 4},
	/* v_mfma_f32_32x32x4_2b_f16 v[96:127], v[0:1], v[8:9], v[64:95] */
	{GP_ISA_GFX942, "v_mfma_f32_32x32x4_2b_f16", {0xd3c80060, 0x05021100},
	 32, 4, 2, TYPE_F16, TYPE_F16, false, 4},
	/* v_mfma_f32_16x16x4_4b_f16 v[96:111], v[0:1], v[8:9], v[64:79] */
	{GP_ISA_GFX942, "v_mfma_f32_16x16x4_4b_f16", {0xd3c90060, 0x05021100},
	 16, 4, 4, TYPE_F16, TYPE_F16, false, 4},
	/* v_mfma_f32_4x4x4_16b_f16 v[96:99], v[0:1], v[8:9], v[64:67] */
	{GP_ISA_GFX942, "v_mfma_f32_4x4x4_16b_f16", {0xd3ca0060, 0x05021100},
	 4, 4, 16, TYPE_F16, TYPE_F16, false, 4},
	/* v_mfma_f32_32x32x8_f16 v[96:111], v[0:1], v[8:9], v[64:79] */
	{GP_ISA_GFX942, "v_mfma_f32_32x32x8_f16", {0xd3cc0060, 0x05021100},
	 32, 8, 1, TYPE_F16, TYPE_F16, false, 4},
	/* v_mfma_f32_16x16x16_f16 v[96:99], v[0:1], v[8:9], v[64:67] */
	{GP_ISA_GFX942, "v_mfma_f32_16x16x16_f16", {0xd3cd0060, 0x05021100},
	 16, 16, 1, TYPE_F16, TYPE_F16, false, 4},
	/* v_mfma_i32_32x32x4_2b_i8 v[96:127], v0, v8, v[64:95] */
	{GP_ISA_GFX942, "v_mfma_i32_32x32x4_2b_i8", {0xd3d00060, 0x05021100},
	 32, 4, 2, TYPE_I8, TYPE_I8, false, 4},
	/* v_mfma_i32_16x16x4_4b_i8 v[96:111], v0, v8, v[64:79] */
	{GP_ISA_GFX942, "v_mfma_i32_16x16x4_4b_i8", {0xd3d10060, 0x05021100},
	 16, 4, 4, TYPE_I8, TYPE_I8, false, 4},
	/* v_mfma_i32_4x4x4_16b_i8 v[96:99], v0, v8, v[64:67] */
	{GP_ISA_GFX942, "v_mfma_i32_4x4x4_16b_i8", {0xd3d20060, 0x05021100},
	 4, 4, 16, TYPE_I8, TYPE_I8, false, 4},
	/* v_mfma_i32_32x32x16_i8 v[96:111], v[0:1], v[8:9], v[64:79] */
	{GP_ISA_GFX942, "v_mfma_i32_32x32x16_i8", {0xd3d60060, 0x05021100},
	 32, 16, 1, TYPE_I8, TYPE_I8, false, 4},
	/* v_mfma_i32_16x16x32_i8 v[96:99], v[0:1], v[8:9], v[64:67] */
	{GP_ISA_GFX942, "v_mfma_i32_16x16x32_i8", {0xd3d70060, 0x05021100},
	 16, 32, 1, TYPE_I8, TYPE_I8, false, 4},
	/* v_mfma_f32_32x32x4_2b_bf16 v[96:127], v[0:1], v[8:9], v[64:95] */
	{GP_ISA_GFX942, "v_mfma_f32_32x32x4_2b_bf16", {0xd3dd0060, 0x05021100},
	 32, 4, 2, TYPE_BF16, TYPE_BF16, false, 4},
	/* v_mfma_f32_16x16x4_4b_bf16 v[96:111], v[0:1], v[8:9], v[64:79] */
	{GP_ISA_GFX942, "v_mfma_f32_16x16x4_4b_bf16", {0xd3de0060, 0x05021100},
	 16, 4, 4, TYPE_BF16, TYPE_BF16, false, 4},
	/* v_mfma_f32_4x4x4_16b_bf16 v[96:99], v[0:1], v[8:9], v[64:67] */
	{GP_ISA_GFX942, "v_mfma_f32_4x4x4_16b_bf16", {0xd3df0060, 0x05021100},
	 4, 4, 16, TYPE_BF16, TYPE_BF16, false, 4},
	/* v_mfma_f32_32x32x8_bf16 v[96:111], v[0:1], v[8:9], v[64:79] */
	{GP_ISA_GFX942, "v_mfma_f32_32x32x8_bf16", {0xd3e00060, 0x05021100},
	 32, 8, 1, TYPE_BF16, TYPE_BF16, false, 4},
	/* v_mfma_f32_16x16x16_bf16 v[96:99], v[0:1], v[8:9], v[64:67] */
	{GP_ISA_GFX942, "v_mfma_f32_16x16x16_bf16", {0xd3e10060, 0x05021100},
	 16, 16, 1, TYPE_BF16, TYPE_BF16, false, 4},
	/* v_smfmac_f32_16x16x32_f16 v[96:99], v[0:1], v[8:11], v16 */
	{GP_ISA_GFX942, "v_smfmac_f32_16x16x32_f16", {0xd3e20060, 0x04421100},
	 16, 32, 1, TYPE_F16, TYPE_F16, true, 4},
	/* v_smfmac_f32_32x32x16_f16 v[96:111], v[0:1], v[8:11], v16 */
	{GP_ISA_GFX942, "v_smfmac_f32_32x32x16_f16", {0xd3e40060, 0x04421100},
	 32, 16, 1, TYPE_F16, TYPE_F16, true, 4},
	/* v_smfmac_f32_16x16x32_bf16 v[96:99], v[0:1], v[8:11], v16 */
	{GP_ISA_GFX942, "v_smfmac_f32_16x16x32_bf16", {0xd3e60060, 0x04421100},
	 16, 32, 1, TYPE_BF16, TYPE_BF16, true, 4},
	/* v_smfmac_f32_32x32x16_bf16 v[96:111], v[0:1], v[8:11], v16 */
	{GP_ISA_GFX942, "v_smfmac_f32_32x32x16_bf16", {0xd3e80060, 0x04421100},
	 32, 16, 1, TYPE_BF16, TYPE_BF16, true, 4},
	/* v_smfmac_i32_16x16x64_i8 v[96:99], v[0:1], v[8:11], v16 */
	{GP_ISA_GFX942, "v_smfmac_i32_16x16x64_i8", {0xd3ea0060, 0x04421100},
	 16, 64, 1, TYPE_I8, TYPE_I8, true, 4},
	/* v_smfmac_i32_32x32x32_i8 v[96:111], v[0:1], v[8:11], v16 */
	{GP_ISA_GFX942, "v_smfmac_i32_32x32x32_i8", {0xd3ec0060, 0x04421100},
	 32, 32, 1, TYPE_I8, TYPE_I8, true, 4},
	/* v_mfma_f64_16x16x4_f64 v[96:103], v[0:1], v[8:9], v[64:71] */
	{GP_ISA_GFX942, "v_mfma_f64_16x16x4_f64", {0xd3ee0060, 0x05021100},
	 16, 4, 1, TYPE_F64, TYPE_F64, false, 4},
	/* v_mfma_f64_4x4x4_4b_f64 v[96:97], v[0:1], v[8:9], v[64:65] */
	{GP_ISA_GFX942, "v_mfma_f64_4x4x4_4b_f64", {0xd3ef0060, 0x05021100},
	 4, 4, 4, TYPE_F64, TYPE_F64, false, 4},
	/* v_mfma_f32_16x16x32_bf8_bf8 v[96:99], v[0:1], v[8:9], v[64:67] */
	{GP_ISA_GFX942, "v_mfma_f32_16x16x32_bf8_bf8", {0xd3f00060, 0x05021100},
	 16, 32, 1, TYPE_BF8, TYPE_BF8, false, 4},
	/* v_mfma_f32_16x16x32_bf8_fp8 v[96:99], v[0:1], v[8:9], v[64:67] */
	{GP_ISA_GFX942, "v_mfma_f32_16x16x32_bf8_fp8", {0xd3f10060, 0x05021100},
	 16, 32, 1, TYPE_BF8, TYPE_FP8, false, 4},
	/* v_mfma_f32_16x16x32_fp8_bf8 v[96:99], v[0:1], v[8:9], v[64:67] */
	{GP_ISA_GFX942, "v_mfma_f32_16x16x32_fp8_bf8", {0xd3f20060, 0x05021100},
	 16, 32, 1, TYPE_FP8, TYPE_BF8, false, 4},
	/* v_mfma_f32_16x16x32_fp8_fp8 v[96:99], v[0:1], v[8:9], v[64:67] */
	{GP_ISA_GFX942, "v_mfma_f32_16x16x32_fp8_fp8", {0xd3f30060, 0x05021100},
	 16, 32, 1, TYPE_FP8, TYPE_FP8, false, 4},
	/* v_mfma_f32_32x32x16_bf8_bf8 v[96:111], v[0:1], v[8:9], v[64:79] */
	{GP_ISA_GFX942, "v_mfma_f32_32x32x16_bf8_bf8", {0xd3f40060, 0x05021100},
	 32, 16, 1, TYPE_BF8, TYPE_BF8, false, 4},
	/* v_mfma_f32_32x32x16_bf8_fp8 v[96:111], v[0:1], v[8:9], v[64:79] */
	{GP_ISA_GFX942, "v_mfma_f32_32x32x16_bf8_fp8", {0xd3f50060, 0x05021100},
	 32, 16, 1, TYPE_BF8, TYPE_FP8, false, 4},
	/* v_mfma_f32_32x32x16_fp8_bf8 v[96:111], v[0:1], v[8:9], v[64:79] */
	{GP_ISA_GFX942, "v_mfma_f32_32x32x16_fp8_bf8", {0xd3f60060, 0x05021100},
	 32, 16, 1, TYPE_FP8, TYPE_BF8, false, 4},
	/* v_mfma_f32_32x32x16_fp8_fp8 v[96:111], v[0:1], v[8:9], v[64:79] */
	{GP_ISA_GFX942, "v_mfma_f32_32x32x16_fp8_fp8", {0xd3f70060, 0x05021100},
	 32, 16, 1, TYPE_FP8, TYPE_FP8, false, 4},
	/* v_smfmac_f32_16x16x64_bf8_bf8 v[96:99], v[0:1], v[8:11], v16 */
	{GP_ISA_GFX942, "v_smfmac_f32_16x16x64_bf8_bf8", {0xd3f80060, 0x04421100},
	 16, 64, 1, TYPE_BF8, TYPE_BF8, true, 4},
	/* v_smfmac_f32_16x16x64_bf8_fp8 v[96:99], v[0:1], v[8:11], v16 */
	{GP_ISA_GFX942, "v_smfmac_f32_16x16x64_bf8_fp8", {0xd3f90060, 0x04421100},
	 16, 64, 1, TYPE_BF8, TYPE_FP8, true, 4},
	/* v_smfmac_f32_16x16x64_fp8_bf8 v[96:99], v[0:1], v[8:11], v16 */
	{GP_ISA_GFX942, "v_smfmac_f32_16x16x64_fp8_bf8", {0xd3fa0060, 0x04421100},
	 16, 64, 1, TYPE_FP8, TYPE_BF8, true, 4},
	/* v_smfmac_f32_16x16x64_fp8_fp8 v[96:99], v[0:1], v[8:11], v16 */
	{GP_ISA_GFX942, "v_smfmac_f32_16x16x64_fp8_fp8", {0xd3fb0060, 0x04421100},
	 16, 64, 1, TYPE_FP8, TYPE_FP8, true, 4},
	/* v_smfmac_f32_32x32x32_bf8_bf8 v[96:111], v[0:1], v[8:11], v16 */
	{GP_ISA_GFX942, "v_smfmac_f32_32x32x32_bf8_bf8", {0xd3fc0060, 0x04421100},
	 32, 32, 1, TYPE_BF8, TYPE_BF8, true, 4},
	/* v_smfmac_f32_32x32x32_bf8_fp8 v[96:111], v[0:1], v[8:11], v16 */
	{GP_ISA_GFX942, "v_smfmac_f32_32x32x32_bf8_fp8", {0xd3fd0060, 0x04421100},
	 32, 32, 1, TYPE_BF8, TYPE_FP8, true, 4},
	/* v_smfmac_f32_32x32x32_fp8_bf8 v[96:111], v[0:1], v[8:11], v16 */
	{GP_ISA_GFX942, "v_smfmac_f32_32x32x32_fp8_bf8", {0xd3fe0060, 0x04421100},
	 32, 32, 1, TYPE_FP8, TYPE_BF8, true, 4},
	/* v_smfmac_f32_32x32x32_fp8_fp8 v[96:111], v[0:1], v[8:11], v16 */
	{GP_ISA_GFX942, "v_smfmac_f32_32x32x32_fp8_fp8", {0xd3ff0060, 0x04421100},
	 32, 32, 1, TYPE_FP8, TYPE_FP8, true, 4},
};
/* clang-format on */

const u32 matrix_shape_count = GP_ARRAY_SIZE(matrix_shapes);
