// SPDX-License-Identifier: MIT
/* SOPC: scalar comparisons, which set SCC, and two that change MODE. */
#include "vgpu/isa/scalar/scalar.h"

#define INDEX_BITS 0xf0ffu /* of M0: the index, and which operands have it */

enum comparison { EQ, LG, GT, GE, LT, LE, BIT_CLEAR, BIT_SET };

#define SIGNED 0x10
#define WIDE_A 0x20
#define WIDE_B 0x40

static bool compare_unsigned(enum comparison comparison, u64 a, u64 b)
{
	switch (comparison) {
	case EQ:
		return a == b;
	case LG:
		return a != b;
	case GT:
		return a > b;
	case GE:
		return a >= b;
	case LT:
		return a < b;
	default:
		return a <= b;
	}
}

static enum gp_isa_stop compare(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				const struct gp_isa_inst *inst)
{
	u32 shape = inst->op->shape;
	u64 a = gp_isa_scalar_operand(runner, wave, inst, 0, shape & WIDE_A);
	u64 b = gp_isa_scalar_operand(runner, wave, inst, 1, shape & WIDE_B);

	/* Signed values keep their order when the sign bit is turned. */
	if (shape & SIGNED)
		wave->scc = compare_unsigned(shape & 0xf, a ^ 1u << 31, b ^ 1u << 31);
	else
		wave->scc = compare_unsigned(shape & 0xf, a, b);
	return GP_ISA_RUNNING;
}

static enum gp_isa_stop bit_test(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				 const struct gp_isa_inst *inst)
{
	u32 shape = inst->op->shape;
	u64 a = gp_isa_scalar_operand(runner, wave, inst, 0, shape & WIDE_A);
	u64 b = gp_isa_scalar_operand(runner, wave, inst, 1, false);
	bool set = a >> (b & (shape & WIDE_A ? 63 : 31)) & 1;

	wave->scc = set == ((shape & 0xf) == BIT_SET);
	return GP_ISA_RUNNING;
}

static enum gp_isa_stop set_skip(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				 const struct gp_isa_inst *inst)
{
	u64 a = gp_isa_scalar_operand(runner, wave, inst, 0, false);
	u64 b = gp_isa_scalar_operand(runner, wave, inst, 1, false);

	wave->mode &= ~GP_ISA_MODE_SKIP;
	if (a >> (b & 31) & 1)
		wave->mode |= GP_ISA_MODE_SKIP;
	return GP_ISA_RUNNING;
}

/* The second operand is not a register but four bits. */
static enum gp_isa_stop index_on(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				 const struct gp_isa_inst *inst)
{
	u32 index = (u32)gp_isa_scalar_operand(runner, wave, inst, 0, false) & 0xff;
	u32 *m0 = &wave->s[GP_ISA_M0];

	wave->mode |= GP_ISA_MODE_GPR_IDX;
	*m0 = (*m0 & ~INDEX_BITS) | index | (inst->src[1] & 0xfu) << 12;
	return GP_ISA_RUNNING;
}

/* clang-format off */
static const struct gp_isa_op ops[] = {
	[0x00] = {"s_cmp_eq_i32", .execute = compare, .shape = EQ | SIGNED},
	[0x01] = {"s_cmp_lg_i32", .execute = compare, .shape = LG | SIGNED},
	[0x02] = {"s_cmp_gt_i32", .execute = compare, .shape = GT | SIGNED},
	[0x03] = {"s_cmp_ge_i32", .execute = compare, .shape = GE | SIGNED},
	[0x04] = {"s_cmp_lt_i32", .execute = compare, .shape = LT | SIGNED},
	[0x05] = {"s_cmp_le_i32", .execute = compare, .shape = LE | SIGNED},
	[0x06] = {"s_cmp_eq_u32", .execute = compare, .shape = EQ},
	[0x07] = {"s_cmp_lg_u32", .execute = compare, .shape = LG},
	[0x08] = {"s_cmp_gt_u32", .execute = compare, .shape = GT},
	[0x09] = {"s_cmp_ge_u32", .execute = compare, .shape = GE},
	[0x0a] = {"s_cmp_lt_u32", .execute = compare, .shape = LT},
	[0x0b] = {"s_cmp_le_u32", .execute = compare, .shape = LE},
	[0x0c] = {"s_bitcmp0_b32", .execute = bit_test, .shape = BIT_CLEAR},
	[0x0d] = {"s_bitcmp1_b32", .execute = bit_test, .shape = BIT_SET},
	[0x0e] = {"s_bitcmp0_b64", .execute = bit_test, .shape = BIT_CLEAR | WIDE_A},
	[0x0f] = {"s_bitcmp1_b64", .execute = bit_test, .shape = BIT_SET | WIDE_A},
	[0x10] = {"s_setvskip", .execute = set_skip},
	[0x11] = {"s_set_gpr_idx_on", .execute = index_on},
	[0x12] = {"s_cmp_eq_u64", .execute = compare, .shape = EQ | WIDE_A | WIDE_B},
	[0x13] = {"s_cmp_lg_u64", .execute = compare, .shape = LG | WIDE_A | WIDE_B},
};
/* clang-format on */

const struct gp_isa_table gp_isa_sopc = {ops, GP_ARRAY_SIZE(ops)};
