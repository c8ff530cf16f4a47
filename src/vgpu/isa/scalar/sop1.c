// SPDX-License-Identifier: MIT
/* SOP1: scalar operations with one operand, calls, and those that change EXEC. */
#include "vgpu/isa/scalar/scalar.h"

#define A64               GP_ISA_A64
#define D64               GP_ISA_D64
#define SCC               GP_ISA_SCC_NONZERO
#define NOT_FOUND         0xffffffffu
#define INDEX_BITS        0xffu /* of M0 */
#define NOTHING_REGISTERS 4

static u64 mov(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	(void)b;
	return a;
}

static u64 not(struct gp_isa_wave * wave, u64 a, u64 b)
{
	(void)wave;
	(void)b;
	return ~a;
}

/* One bit for each four, at the lowest of them. */
static u64 quads_of(u64 mask)
{
	mask |= mask >> 1;
	mask |= mask >> 2;
	return mask & 0x1111111111111111ull;
}

static u64 wqm(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	(void)b;
	return quads_of(a) * 0xf;
}

static u64 quadmask(struct gp_isa_wave *wave, u64 a, u64 b)
{
	u64 quads = quads_of(a), result = 0;

	(void)wave;
	(void)b;
	for (u32 i = 0; i < 16; i++)
		result |= (quads >> 4 * i & 1) << i;
	return result;
}

static u64 reversed(u64 value, u32 bits)
{
	u64 result = 0;

	for (u32 i = 0; i < bits; i++)
		result |= (value >> i & 1) << (bits - 1 - i);
	return result;
}

static u64 brev_b32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	(void)b;
	return reversed(a, 32);
}

static u64 brev_b64(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	(void)b;
	return reversed(a, 64);
}

static u64 bcnt0_b32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	(void)b;
	return 32 - (u64)__builtin_popcountll(a);
}

static u64 bcnt0_b64(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	(void)b;
	return 64 - (u64)__builtin_popcountll(a);
}

static u64 bcnt1(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	(void)b;
	return (u64)__builtin_popcountll(a);
}

static u64 ff1(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	(void)b;
	return a ? (u64)__builtin_ctzll(a) : NOT_FOUND;
}

static u64 ff0_b32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	return ff1(wave, (u32)~a, b);
}

static u64 ff0_b64(struct gp_isa_wave *wave, u64 a, u64 b)
{
	return ff1(wave, ~a, b);
}

static u64 flbit_b64(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	(void)b;
	return a ? (u64)__builtin_clzll(a) : NOT_FOUND;
}

static u64 flbit_b32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	return flbit_b64(wave, a << 32, b);
}

/* Bits that are the sign, from above. */
static u64 flbit_i64(struct gp_isa_wave *wave, u64 a, u64 b)
{
	return flbit_b64(wave, a ^ (u64)((s64)a >> 63), b);
}

static u64 flbit_i32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	return flbit_b32(wave, (u32)a ^ (u32)((s32)a >> 31), b);
}

static u64 sext_i8(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	(void)b;
	return (u32)(int8_t)a;
}

static u64 sext_i16(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	(void)b;
	return (u32)(int16_t)a;
}

static u64 abs_i32(struct gp_isa_wave *wave, u64 a, u64 b)
{
	(void)wave;
	(void)b;
	return a >> 31 & 1 ? 0 - a : a;
}

static u64 bitreplicate(struct gp_isa_wave *wave, u64 a, u64 b)
{
	u64 result = 0;

	(void)wave;
	(void)b;
	for (u32 i = 0; i < 32; i++)
		result |= (a >> i & 1) * 3 << 2 * i;
	return result;
}

/* ---- what depends on more than the operand ---- */

static enum gp_isa_stop cmov(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			     const struct gp_isa_inst *inst)
{
	bool wide = inst->op->shape & D64;
	u64 value = gp_isa_scalar_operand(runner, wave, inst, 0, wide);

	return wave->scc ? gp_isa_scalar_put(wave, inst->dst, value, wide) : GP_ISA_RUNNING;
}

/* Shape: D64, and bit 0 of what is behind it the value of the bit. */
#define SET 0x100

static enum gp_isa_stop bitset(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			       const struct gp_isa_inst *inst)
{
	bool wide = inst->op->shape & D64;
	u64 bit = 1ull << (gp_isa_scalar_operand(runner, wave, inst, 0, false) & (wide ? 63 : 31));
	u64 value;

	if (!gp_isa_scalar_exists(inst->dst, wide ? 2 : 1))
		return GP_ISA_ILLEGAL;
	value = wide ? gp_isa_pair(wave, inst->dst) : wave->s[inst->dst];
	value = inst->op->shape & SET ? value | bit : value & ~bit;
	return gp_isa_scalar_put(wave, inst->dst, value, wide);
}

static enum gp_isa_stop getpc(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			      const struct gp_isa_inst *inst)
{
	(void)runner;
	return gp_isa_scalar_put(wave, inst->dst, wave->pc, true);
}

static enum gp_isa_stop setpc(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			      const struct gp_isa_inst *inst)
{
	wave->pc = gp_isa_scalar_operand(runner, wave, inst, 0, true);
	return GP_ISA_RUNNING;
}

static enum gp_isa_stop swappc(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			       const struct gp_isa_inst *inst)
{
	u64 target = gp_isa_scalar_operand(runner, wave, inst, 0, true);
	enum gp_isa_stop stop = gp_isa_scalar_put(wave, inst->dst, wave->pc, true);

	wave->pc = target;
	return stop;
}

static enum gp_isa_stop rfe(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			    const struct gp_isa_inst *inst)
{
	if (!(wave->status & GP_ISA_STATUS_PRIV))
		return GP_ISA_ILLEGAL;
	wave->status &= ~(u32)GP_ISA_STATUS_PRIV;
	return setpc(runner, wave, inst);
}

/* What becomes of EXEC; WRITES: the register gets that as well, and not the value before. */
enum mask { AND, OR, XOR, ANDN2, ORN2, NAND, NOR, XNOR, ANDN1, ORN1 };
#define WRITES 0x100

static u64 mask_of(enum mask mask, u64 a, u64 exec)
{
	switch (mask) {
	case AND:
		return a & exec;
	case OR:
		return a | exec;
	case XOR:
		return a ^ exec;
	case ANDN2:
		return a & ~exec;
	case ORN2:
		return a | ~exec;
	case NAND:
		return ~(a & exec);
	case NOR:
		return ~(a | exec);
	case XNOR:
		return ~(a ^ exec);
	case ANDN1:
		return ~a & exec;
	default:
		return ~a | exec;
	}
}

static enum gp_isa_stop change_exec(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				    const struct gp_isa_inst *inst)
{
	u64 exec = gp_isa_exec(wave);
	u64 a = gp_isa_scalar_operand(runner, wave, inst, 0, true);
	u64 result = mask_of(inst->op->shape & 0xff, a, exec);

	if (gp_isa_scalar_put(wave, inst->dst, inst->op->shape & WRITES ? result : exec, true))
		return GP_ISA_ILLEGAL;
	gp_isa_set_pair(wave, GP_ISA_EXEC, result);
	wave->scc = result != 0;
	return GP_ISA_RUNNING;
}

/*
 * M0 is added to the number of a register, up to the last general one. A trap handler copies
 * registers in blocks of 16 and reaches four more, which are nothing.
 */
static bool register_indexed(const struct gp_isa_wave *wave, u32 code, bool wide, u32 *number)
{
	u64 sum = (u64)code + wave->s[GP_ISA_M0];
	bool privileged = wave->status & GP_ISA_STATUS_PRIV;

	*number = (u32)sum;
	return sum + wide < GP_ISA_TTMP + (privileged ? NOTHING_REGISTERS : 0);
}

static enum gp_isa_stop movrels(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				const struct gp_isa_inst *inst)
{
	bool wide = inst->op->shape & D64;
	u32 from;

	(void)runner;
	if (!register_indexed(wave, inst->src[0], wide, &from))
		return GP_ISA_ILLEGAL;
	if (from >= GP_ISA_TTMP)
		return gp_isa_scalar_put(wave, inst->dst, 0, wide);
	return gp_isa_scalar_put(wave, inst->dst, wide ? gp_isa_pair(wave, from) : wave->s[from],
				 wide);
}

static enum gp_isa_stop movreld(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				const struct gp_isa_inst *inst)
{
	bool wide = inst->op->shape & D64;
	u64 value = gp_isa_scalar_operand(runner, wave, inst, 0, wide);
	u32 to;

	if (!register_indexed(wave, inst->dst, wide, &to))
		return GP_ISA_ILLEGAL;
	return to >= GP_ISA_TTMP ? GP_ISA_RUNNING : gp_isa_scalar_put(wave, to, value, wide);
}

static enum gp_isa_stop index_set(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				  const struct gp_isa_inst *inst)
{
	u32 *m0 = &wave->s[GP_ISA_M0];

	*m0 = (*m0 & ~INDEX_BITS) |
	      ((u32)gp_isa_scalar_operand(runner, wave, inst, 0, false) & INDEX_BITS);
	return GP_ISA_RUNNING;
}

#define OP(function_, shape_) \
	.execute = gp_isa_execute_scalar, .shape = (shape_), GP_ISA_SCALAR(function_)

/* Refused: s_cbranch_join, as its forks are. */
/* clang-format off */
static const struct gp_isa_op ops[] = {
	[0x00] = {"s_mov_b32", OP(mov, 0)},
	[0x01] = {"s_mov_b64", OP(mov, A64 | D64)},
	[0x02] = {"s_cmov_b32", .execute = cmov},
	[0x03] = {"s_cmov_b64", .execute = cmov, .shape = D64},
	[0x04] = {"s_not_b32", OP(not, SCC)},
	[0x05] = {"s_not_b64", OP(not, A64 | D64 | SCC)},
	[0x06] = {"s_wqm_b32", OP(wqm, SCC)},
	[0x07] = {"s_wqm_b64", OP(wqm, A64 | D64 | SCC)},
	[0x08] = {"s_brev_b32", OP(brev_b32, 0)},
	[0x09] = {"s_brev_b64", OP(brev_b64, A64 | D64)},
	[0x0a] = {"s_bcnt0_i32_b32", OP(bcnt0_b32, SCC)},
	[0x0b] = {"s_bcnt0_i32_b64", OP(bcnt0_b64, A64 | SCC)},
	[0x0c] = {"s_bcnt1_i32_b32", OP(bcnt1, SCC)},
	[0x0d] = {"s_bcnt1_i32_b64", OP(bcnt1, A64 | SCC)},
	[0x0e] = {"s_ff0_i32_b32", OP(ff0_b32, 0)},
	[0x0f] = {"s_ff0_i32_b64", OP(ff0_b64, A64)},
	[0x10] = {"s_ff1_i32_b32", OP(ff1, 0)},
	[0x11] = {"s_ff1_i32_b64", OP(ff1, A64)},
	[0x12] = {"s_flbit_i32_b32", OP(flbit_b32, 0)},
	[0x13] = {"s_flbit_i32_b64", OP(flbit_b64, A64)},
	[0x14] = {"s_flbit_i32", OP(flbit_i32, 0)},
	[0x15] = {"s_flbit_i32_i64", OP(flbit_i64, A64)},
	[0x16] = {"s_sext_i32_i8", OP(sext_i8, 0)},
	[0x17] = {"s_sext_i32_i16", OP(sext_i16, 0)},
	[0x18] = {"s_bitset0_b32", .execute = bitset},
	[0x19] = {"s_bitset0_b64", .execute = bitset, .shape = D64},
	[0x1a] = {"s_bitset1_b32", .execute = bitset, .shape = SET},
	[0x1b] = {"s_bitset1_b64", .execute = bitset, .shape = D64 | SET},
	[0x1c] = {"s_getpc_b64", .execute = getpc},
	[0x1d] = {"s_setpc_b64", .execute = setpc},
	[0x1e] = {"s_swappc_b64", .execute = swappc},
	[0x1f] = {"s_rfe_b64", .execute = rfe},
	[0x20] = {"s_and_saveexec_b64", .execute = change_exec, .shape = AND},
	[0x21] = {"s_or_saveexec_b64", .execute = change_exec, .shape = OR},
	[0x22] = {"s_xor_saveexec_b64", .execute = change_exec, .shape = XOR},
	[0x23] = {"s_andn2_saveexec_b64", .execute = change_exec, .shape = ANDN2},
	[0x24] = {"s_orn2_saveexec_b64", .execute = change_exec, .shape = ORN2},
	[0x25] = {"s_nand_saveexec_b64", .execute = change_exec, .shape = NAND},
	[0x26] = {"s_nor_saveexec_b64", .execute = change_exec, .shape = NOR},
	[0x27] = {"s_xnor_saveexec_b64", .execute = change_exec, .shape = XNOR},
	[0x28] = {"s_quadmask_b32", OP(quadmask, SCC)},
	[0x29] = {"s_quadmask_b64", OP(quadmask, A64 | D64 | SCC)},
	[0x2a] = {"s_movrels_b32", .execute = movrels},
	[0x2b] = {"s_movrels_b64", .execute = movrels, .shape = D64},
	[0x2c] = {"s_movreld_b32", .execute = movreld},
	[0x2d] = {"s_movreld_b64", .execute = movreld, .shape = D64},
	[0x2e] = {.name = "s_cbranch_join"},
	[0x30] = {"s_abs_i32", OP(abs_i32, SCC)},
	[0x32] = {"s_set_gpr_idx_idx", .execute = index_set},
	[0x33] = {"s_andn1_saveexec_b64", .execute = change_exec, .shape = ANDN1},
	[0x34] = {"s_orn1_saveexec_b64", .execute = change_exec, .shape = ORN1},
	[0x35] = {"s_andn1_wrexec_b64", .execute = change_exec, .shape = ANDN1 | WRITES},
	[0x36] = {"s_andn2_wrexec_b64", .execute = change_exec, .shape = ANDN2 | WRITES},
	[0x37] = {"s_bitreplicate_b64_b32", OP(bitreplicate, D64)},
};
/* clang-format on */

const struct gp_isa_table gp_isa_sop1 = {ops, GP_ARRAY_SIZE(ops)};
