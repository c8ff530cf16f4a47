// SPDX-License-Identifier: MIT
/* SOPK: scalar operations with a constant of 16 bits. */
#include "vgpu/isa/scalar/scalar.h"

enum comparison { EQ, LG, GT, GE, LT, LE };

#define UNSIGNED 0x10

static enum gp_isa_stop movk(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			     const struct gp_isa_inst *inst)
{
	(void)runner;
	return gp_isa_scalar_put(wave, inst->dst, inst->literal, false);
}

static enum gp_isa_stop cmovk(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			      const struct gp_isa_inst *inst)
{
	return wave->scc ? movk(runner, wave, inst) : GP_ISA_RUNNING;
}

static enum gp_isa_stop cmpk(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			     const struct gp_isa_inst *inst)
{
	bool is_unsigned = inst->op->shape & UNSIGNED;
	s64 a = is_unsigned ? (s64)wave->s[inst->dst] : (s64)(s32)wave->s[inst->dst];
	s64 b = is_unsigned ? (s64)(inst->literal & 0xffff) : (s64)(s32)inst->literal;

	(void)runner;
	switch (inst->op->shape & 0xf) {
	case EQ:
		wave->scc = a == b;
		break;
	case LG:
		wave->scc = a != b;
		break;
	case GT:
		wave->scc = a > b;
		break;
	case GE:
		wave->scc = a >= b;
		break;
	case LT:
		wave->scc = a < b;
		break;
	default:
		wave->scc = a <= b;
	}
	return GP_ISA_RUNNING;
}

static enum gp_isa_stop addk(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			     const struct gp_isa_inst *inst)
{
	s32 sum;

	(void)runner;
	wave->scc = __builtin_add_overflow((s32)wave->s[inst->dst], (s32)inst->literal, &sum);
	wave->s[inst->dst] = (u32)sum;
	return GP_ISA_RUNNING;
}

static enum gp_isa_stop mulk(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			     const struct gp_isa_inst *inst)
{
	(void)runner;
	wave->s[inst->dst] *= inst->literal;
	return GP_ISA_RUNNING;
}

static enum gp_isa_stop call(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			     const struct gp_isa_inst *inst)
{
	enum gp_isa_stop stop = gp_isa_scalar_put(wave, inst->dst, wave->pc, true);

	(void)runner;
	wave->pc += (u64)((s64)(s32)inst->literal * (s64)sizeof(u32));
	return stop;
}

/* The field of a register that the 16 bits name. */
struct field {
	u32 number, start, bits;
};

static struct field field_of(const struct gp_isa_inst *inst)
{
	u32 name = (u32)inst->memory.offset & 0xffff;

	return (struct field){name & 0x3f, name >> 6 & 0x1f, (name >> 11) + 1};
}

static u32 mask_of(u32 bits)
{
	return bits >= 32 ? ~0u : (1u << bits) - 1;
}

static enum gp_isa_stop getreg(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			       const struct gp_isa_inst *inst)
{
	struct field field = field_of(inst);
	u32 value;

	if (!gp_isa_hwreg_read(runner, wave, field.number, &value))
		return GP_ISA_REFUSED;
	return gp_isa_scalar_put(wave, inst->dst, value >> field.start & mask_of(field.bits),
				 false);
}

static enum gp_isa_stop field_write(struct gp_isa_wave *wave, struct field field, u32 value)
{
	u32 mask = mask_of(field.bits) << field.start;

	return gp_isa_hwreg_write(wave, field.number, mask, value << field.start) ? GP_ISA_RUNNING
										  : GP_ISA_REFUSED;
}

static enum gp_isa_stop setreg(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			       const struct gp_isa_inst *inst)
{
	(void)runner;
	return field_write(wave, field_of(inst), wave->s[inst->dst]);
}

static enum gp_isa_stop setreg_literal(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				       const struct gp_isa_inst *inst)
{
	(void)runner;
	return field_write(wave, field_of(inst), inst->literal);
}

/* Refused: s_cbranch_i_fork, as s_cbranch_g_fork and s_cbranch_join are. */
/* clang-format off */
static const struct gp_isa_op ops[] = {
	[0x00] = {"s_movk_i32", .execute = movk},
	[0x01] = {"s_cmovk_i32", .execute = cmovk},
	[0x02] = {"s_cmpk_eq_i32", .execute = cmpk, .shape = EQ},
	[0x03] = {"s_cmpk_lg_i32", .execute = cmpk, .shape = LG},
	[0x04] = {"s_cmpk_gt_i32", .execute = cmpk, .shape = GT},
	[0x05] = {"s_cmpk_ge_i32", .execute = cmpk, .shape = GE},
	[0x06] = {"s_cmpk_lt_i32", .execute = cmpk, .shape = LT},
	[0x07] = {"s_cmpk_le_i32", .execute = cmpk, .shape = LE},
	[0x08] = {"s_cmpk_eq_u32", .execute = cmpk, .shape = EQ | UNSIGNED},
	[0x09] = {"s_cmpk_lg_u32", .execute = cmpk, .shape = LG | UNSIGNED},
	[0x0a] = {"s_cmpk_gt_u32", .execute = cmpk, .shape = GT | UNSIGNED},
	[0x0b] = {"s_cmpk_ge_u32", .execute = cmpk, .shape = GE | UNSIGNED},
	[0x0c] = {"s_cmpk_lt_u32", .execute = cmpk, .shape = LT | UNSIGNED},
	[0x0d] = {"s_cmpk_le_u32", .execute = cmpk, .shape = LE | UNSIGNED},
	[0x0e] = {"s_addk_i32", .execute = addk},
	[0x0f] = {"s_mulk_i32", .execute = mulk},
	[0x10] = {.name = "s_cbranch_i_fork"},
	[0x11] = {"s_getreg_b32", .execute = getreg},
	[0x12] = {"s_setreg_b32", .execute = setreg},
	[0x14] = {"s_setreg_imm32_b32", .execute = setreg_literal},
	[0x15] = {"s_call_b64", .execute = call},
};
/* clang-format on */

const struct gp_isa_table gp_isa_sopk = {ops, GP_ARRAY_SIZE(ops)};
