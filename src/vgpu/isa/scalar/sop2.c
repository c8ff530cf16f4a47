// SPDX-License-Identifier: MIT
/* SOP2: scalar operations with two operands. */
#include "vgpu/isa/scalar/scalar.h"

#define A64 GP_ISA_A64
#define D64 GP_ISA_D64
#define W64 GP_ISA_W64
#define SCC GP_ISA_SCC_NONZERO

enum gp_isa_stop gp_isa_execute_scalar(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				       const struct gp_isa_inst *inst)
{
	gp_isa_scalar_function *function = (gp_isa_scalar_function *)inst->op->function;
	u32 shape = inst->op->shape;
	u64 a = gp_isa_scalar_operand(runner, wave, inst, 0, shape & GP_ISA_A64), b = 0, result;

	if (inst->src[1] != GP_ISA_NO_OPERAND)
		b = gp_isa_scalar_operand(runner, wave, inst, 1, shape & GP_ISA_B64_OPERAND);
	result = function(wave, a, b);
	if (!(shape & GP_ISA_D64))
		result = (u32)result;
	if (shape & GP_ISA_SCC_NONZERO)
		wave->scc = result != 0;
	return gp_isa_scalar_put(wave, inst->dst, result, shape & GP_ISA_D64);
}

static u64 add_u32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	wave->scc = (a + b) >> 32;
	return a + b;
}

static u64 sub_u32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	wave->scc = b > a;
	return a - b;
}

static u64 add_i32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	s32 result;

	wave->scc = __builtin_add_overflow((s32)a, (s32)b, &result);
	return (u32)result;
}

static u64 sub_i32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	s32 result;

	wave->scc = __builtin_sub_overflow((s32)a, (s32)b, &result);
	return (u32)result;
}

static u64 addc_u32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	u64 sum = a + b + wave->scc;

	wave->scc = sum >> 32;
	return sum;
}

static u64 subb_u32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	u64 taken = b + wave->scc;

	wave->scc = taken > a;
	return a - taken;
}

/* SCC: the first operand was taken. */
static u64 choose(struct gp_isa_wave *wave, bool first, u64 a, u64 b)
{
	wave->scc = first;
	return first ? a : b;
}

static u64 min_i32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	return choose(wave, (s32)a < (s32)b, a, b);
}

static u64 min_u32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	return choose(wave, a < b, a, b);
}

static u64 max_i32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	return choose(wave, (s32)a >= (s32)b, a, b);
}

static u64 max_u32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	return choose(wave, a >= b, a, b);
}

static u64 cselect(struct gp_isa_wave *wave, u64 a, u64 b)
{
	return wave->scc ? a : b;
}

static u64 and (struct gp_isa_wave * wave, u64 a, u64 b)
{
	(void)wave;
	return a & b;
}

static u64 or (struct gp_isa_wave * wave, u64 a, u64 b)
{
	(void)wave;
	return a | b;
}

static u64 xor
	(struct gp_isa_wave * wave, u64 a, u64 b) {
		(void)wave;
		return a ^ b;
	}

	static u64 andn2(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	return a & ~b;
}

static u64 orn2(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	return a | ~b;
}

static u64 nand(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	return ~(a & b);
}

static u64 nor(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	return ~(a | b);
}

static u64 xnor(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	return ~(a ^ b);
}

static u64 lshl_b32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	return a << (b & 31);
}

static u64 lshl_b64(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	return a << (b & 63);
}

static u64 lshr_b32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	return a >> (b & 31);
}

static u64 lshr_b64(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	return a >> (b & 63);
}

static u64 ashr_i32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	return (u32)((s32)a >> (b & 31));
}

static u64 ashr_i64(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	return (u64)((s64)a >> (b & 63));
}

static u64 bfm_b32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	return ((1ull << (a & 31)) - 1) << (b & 31);
}

static u64 bfm_b64(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	return ((1ull << (a & 63)) - 1) << (b & 63);
}

static u64 mul_i32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	return a * b;
}

/* The field that b describes: where it starts in the low bits, its width in bits 16 to 22. A width
 * that reaches beyond the operand takes what is there. */
static u64 field_of(u64 a, u64 b, u32 operand_bits, bool with_sign)
{
	u32 start = b & (operand_bits - 1), width = b >> 16 & 0x7f, up;

	if (!width)
		return 0;
	if (width > operand_bits)
		width = operand_bits;
	if (with_sign && operand_bits == 32)
		a = (u64)(s64)(s32)a;
	a = with_sign ? (u64)((s64)a >> start) : a >> start;
	up = 64 - width;
	return with_sign ? (u64)((s64)(a << up) >> up) : a << up >> up;
}

static u64 bfe_u32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	return field_of(a, b, 32, false);
}

static u64 bfe_i32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	return field_of(a, b, 32, true);
}

static u64 bfe_u64(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	return field_of(a, b, 64, false);
}

static u64 bfe_i64(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	return field_of(a, b, 64, true);
}

/* The difference wraps first. */
static u64 absdiff_i32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	u32 difference = (u32)(a - b);

	(void)wave;
	return difference >> 31 ? 0 - difference : difference;
}

static u64 mul_hi_u32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	return a * b >> 32;
}

static u64 mul_hi_i32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	return (u64)((s64)(s32)a * (s64)(s32)b) >> 32;
}

static u64 shifted_sum(struct gp_isa_wave *wave, u64 a, u64 b, u32 shift)
{
	u64 sum = (a << shift) + b;

	wave->scc = sum >> 32 != 0;
	return sum;
}

static u64 lshl1_add_u32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	return shifted_sum(wave, a, b, 1);
}

static u64 lshl2_add_u32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	return shifted_sum(wave, a, b, 2);
}

static u64 lshl3_add_u32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	return shifted_sum(wave, a, b, 3);
}

static u64 lshl4_add_u32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	return shifted_sum(wave, a, b, 4);
}

static u64 pack_ll(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	return (a & 0xffff) | b << 16;
}

static u64 pack_lh(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	return (a & 0xffff) | (b & 0xffff0000);
}

static u64 pack_hh(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	return a >> 16 | (b & 0xffff0000);
}

#define OP(function_, shape_) \
	.execute = gp_isa_execute_scalar, .shape = (shape_), GP_ISA_SCALAR(function_)

/* Refused: the branches with a stack of masks and the return of an old trap handler, which no
 * compiler emits. */
/* clang-format off */
static const struct gp_isa_op ops[] = {
	[0x00] = {"s_add_u32", OP(add_u32, 0)},
	[0x01] = {"s_sub_u32", OP(sub_u32, 0)},
	[0x02] = {"s_add_i32", OP(add_i32, 0)},
	[0x03] = {"s_sub_i32", OP(sub_i32, 0)},
	[0x04] = {"s_addc_u32", OP(addc_u32, 0)},
	[0x05] = {"s_subb_u32", OP(subb_u32, 0)},
	[0x06] = {"s_min_i32", OP(min_i32, 0)},
	[0x07] = {"s_min_u32", OP(min_u32, 0)},
	[0x08] = {"s_max_i32", OP(max_i32, 0)},
	[0x09] = {"s_max_u32", OP(max_u32, 0)},
	[0x0a] = {"s_cselect_b32", OP(cselect, 0)},
	[0x0b] = {"s_cselect_b64", OP(cselect, W64)},
	[0x0c] = {"s_and_b32", OP(and, SCC)},
	[0x0d] = {"s_and_b64", OP(and, W64 | SCC)},
	[0x0e] = {"s_or_b32", OP(or, SCC)},
	[0x0f] = {"s_or_b64", OP(or, W64 | SCC)},
	[0x10] = {"s_xor_b32", OP(xor, SCC)},
	[0x11] = {"s_xor_b64", OP(xor, W64 | SCC)},
	[0x12] = {"s_andn2_b32", OP(andn2, SCC)},
	[0x13] = {"s_andn2_b64", OP(andn2, W64 | SCC)},
	[0x14] = {"s_orn2_b32", OP(orn2, SCC)},
	[0x15] = {"s_orn2_b64", OP(orn2, W64 | SCC)},
	[0x16] = {"s_nand_b32", OP(nand, SCC)},
	[0x17] = {"s_nand_b64", OP(nand, W64 | SCC)},
	[0x18] = {"s_nor_b32", OP(nor, SCC)},
	[0x19] = {"s_nor_b64", OP(nor, W64 | SCC)},
	[0x1a] = {"s_xnor_b32", OP(xnor, SCC)},
	[0x1b] = {"s_xnor_b64", OP(xnor, W64 | SCC)},
	[0x1c] = {"s_lshl_b32", OP(lshl_b32, SCC)},
	[0x1d] = {"s_lshl_b64", OP(lshl_b64, A64 | D64 | SCC)},
	[0x1e] = {"s_lshr_b32", OP(lshr_b32, SCC)},
	[0x1f] = {"s_lshr_b64", OP(lshr_b64, A64 | D64 | SCC)},
	[0x20] = {"s_ashr_i32", OP(ashr_i32, SCC)},
	[0x21] = {"s_ashr_i64", OP(ashr_i64, A64 | D64 | SCC)},
	[0x22] = {"s_bfm_b32", OP(bfm_b32, 0)},
	[0x23] = {"s_bfm_b64", OP(bfm_b64, D64)},
	[0x24] = {"s_mul_i32", OP(mul_i32, 0)},
	[0x25] = {"s_bfe_u32", OP(bfe_u32, SCC)},
	[0x26] = {"s_bfe_i32", OP(bfe_i32, SCC)},
	[0x27] = {"s_bfe_u64", OP(bfe_u64, A64 | D64 | SCC)},
	[0x28] = {"s_bfe_i64", OP(bfe_i64, A64 | D64 | SCC)},
	[0x29] = {.name = "s_cbranch_g_fork"},
	[0x2a] = {"s_absdiff_i32", OP(absdiff_i32, SCC)},
	[0x2b] = {.name = "s_rfe_restore_b64"},
	[0x2c] = {"s_mul_hi_u32", OP(mul_hi_u32, 0)},
	[0x2d] = {"s_mul_hi_i32", OP(mul_hi_i32, 0)},
	[0x2e] = {"s_lshl1_add_u32", OP(lshl1_add_u32, 0)},
	[0x2f] = {"s_lshl2_add_u32", OP(lshl2_add_u32, 0)},
	[0x30] = {"s_lshl3_add_u32", OP(lshl3_add_u32, 0)},
	[0x31] = {"s_lshl4_add_u32", OP(lshl4_add_u32, 0)},
	[0x32] = {"s_pack_ll_b32_b16", OP(pack_ll, 0)},
	[0x33] = {"s_pack_lh_b32_b16", OP(pack_lh, 0)},
	[0x34] = {"s_pack_hh_b32_b16", OP(pack_hh, 0)},
};
/* clang-format on */

const struct gp_isa_table gp_isa_sop2 = {ops, GP_ARRAY_SIZE(ops)};
