// SPDX-License-Identifier: MIT
/*
 * SOPP: branches, barriers, messages and the end. Memory operations are complete when their
 * instruction is, so that there is nothing to wait for.
 */
#include "vgpu/isa/vector/lanes.h"

#define PRIORITY_SHIFT 3
/* Messages that have an answer, in EXEC. */
#define SAVE_WAVE    4
#define GET_DOORBELL 10
#define SLEEP_TIME   0x7fu
#define INDEX_MODE   0xf000u /* of M0: which operands s_set_gpr_idx_on indexes */

/* What a branch depends on. */
enum condition {
	ALWAYS,
	SCC_ZERO,
	SCC_SET,
	VCC_ZERO,
	VCC_SET,
	EXEC_ZERO,
	EXEC_SET,
	DEBUG_SYSTEM,
	DEBUG_USER,
	DEBUG_ANY,
	DEBUG_BOTH,
};

static bool condition_holds(const struct gp_isa_wave *wave, enum condition condition)
{
	bool user = wave->status & GP_ISA_STATUS_DEBUG_USER;
	bool system = wave->status & GP_ISA_STATUS_DEBUG_SYSTEM;

	switch (condition) {
	case ALWAYS:
		return true;
	case SCC_ZERO:
		return !wave->scc;
	case SCC_SET:
		return wave->scc;
	case VCC_ZERO:
		return !gp_isa_pair(wave, GP_ISA_VCC);
	case VCC_SET:
		return gp_isa_pair(wave, GP_ISA_VCC);
	case EXEC_ZERO:
		return !gp_isa_exec(wave);
	case EXEC_SET:
		return gp_isa_exec(wave);
	case DEBUG_SYSTEM:
		return system;
	case DEBUG_USER:
		return user;
	case DEBUG_ANY:
		return system || user;
	case DEBUG_BOTH:
		return system && user;
	default:
		return false;
	}
}

static enum gp_isa_stop branch(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			       const struct gp_isa_inst *inst)
{
	(void)runner;
	if (condition_holds(wave, inst->op->shape))
		wave->pc += (u64)((s64)(int16_t)inst->literal * (s64)sizeof(u32));
	return GP_ISA_RUNNING;
}

static enum gp_isa_stop nothing(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				const struct gp_isa_inst *inst)
{
	(void)runner;
	(void)wave;
	(void)inst;
	return GP_ISA_RUNNING;
}

static enum gp_isa_stop sleep(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			      const struct gp_isa_inst *inst)
{
	(void)runner;
	(void)wave;
	return inst->literal & SLEEP_TIME ? GP_ISA_WAITS : GP_ISA_RUNNING;
}

static void barrier_check(struct gp_isa_group *group)
{
	if (group->at_barrier && group->at_barrier + group->ended >= group->waves) {
		group->at_barrier = 0;
		group->barrier++;
	}
}

static enum gp_isa_stop barrier(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				const struct gp_isa_inst *inst)
{
	struct gp_isa_group *group = wave->group;

	(void)runner;
	(void)inst;
	wave->barrier = group->barrier;
	group->at_barrier++;
	barrier_check(group);
	wave->at_barrier = group->barrier == wave->barrier;
	return wave->at_barrier ? GP_ISA_AT_BARRIER : GP_ISA_RUNNING;
}

static enum gp_isa_stop end(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			    const struct gp_isa_inst *inst)
{
	(void)runner;
	(void)inst;
	wave->group->ended++;
	barrier_check(wave->group);
	return GP_ISA_ENDED;
}

static enum gp_isa_stop end_saved(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				  const struct gp_isa_inst *inst)
{
	(void)runner;
	(void)inst;
	return wave->status & GP_ISA_STATUS_PRIV ? GP_ISA_SAVED : GP_ISA_ILLEGAL;
}

static enum gp_isa_stop kill(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			     const struct gp_isa_inst *inst)
{
	return inst->literal & 1 ? end(runner, wave, inst) : GP_ISA_RUNNING;
}

static enum gp_isa_stop halt(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			     const struct gp_isa_inst *inst)
{
	(void)runner;
	wave->status &= ~(u32)GP_ISA_STATUS_HALT;
	if (!(inst->literal & 1))
		return GP_ISA_RUNNING;
	wave->status |= GP_ISA_STATUS_HALT;
	return wave->status & GP_ISA_STATUS_PRIV ? GP_ISA_RUNNING : GP_ISA_WAITS;
}

static enum gp_isa_stop priority(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				 const struct gp_isa_inst *inst)
{
	(void)runner;
	wave->status &= ~(u32)GP_ISA_STATUS_USER_PRIORITY;
	wave->status |= (inst->literal & 3) << PRIORITY_SHIFT;
	return GP_ISA_RUNNING;
}

static enum gp_isa_stop message(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				const struct gp_isa_inst *inst)
{
	u32 number = inst->literal & 0xf;

	if (number == GET_DOORBELL || number == SAVE_WAVE) {
		gp_isa_set_pair(wave, GP_ISA_EXEC,
				number == SAVE_WAVE ? wave->save : wave->doorbell);
		return GP_ISA_RUNNING;
	}
	runner->host->message(runner->host->data, inst->literal, wave->s[GP_ISA_M0]);
	return GP_ISA_RUNNING;
}

static enum gp_isa_stop message_halt(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				     const struct gp_isa_inst *inst)
{
	message(runner, wave, inst);
	wave->status |= GP_ISA_STATUS_HALT;
	return GP_ISA_WAITS;
}

static enum gp_isa_stop trap(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			     const struct gp_isa_inst *inst)
{
	(void)runner;
	wave->trap = inst->literal & 0xff;
	return GP_ISA_TRAPPED;
}

static enum gp_isa_stop index_off(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				  const struct gp_isa_inst *inst)
{
	(void)runner;
	(void)inst;
	wave->mode &= ~GP_ISA_MODE_GPR_IDX;
	return GP_ISA_RUNNING;
}

static enum gp_isa_stop index_mode(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				   const struct gp_isa_inst *inst)
{
	u32 *m0 = &wave->s[GP_ISA_M0];

	(void)runner;
	*m0 = (*m0 & ~INDEX_MODE) | (inst->literal << 12 & INDEX_MODE);
	return GP_ISA_RUNNING;
}

/* Refused: s_endpgm_ordered_ps_done (pixel shaders). */
/* clang-format off */
static const struct gp_isa_op ops[] = {
	[0x00] = {"s_nop", .execute = nothing},
	[0x01] = {"s_endpgm", .execute = end},
	[0x02] = {"s_branch", .execute = branch, .shape = ALWAYS},
	[0x03] = {"s_wakeup", .execute = nothing},
	[0x04] = {"s_cbranch_scc0", .execute = branch, .shape = SCC_ZERO},
	[0x05] = {"s_cbranch_scc1", .execute = branch, .shape = SCC_SET},
	[0x06] = {"s_cbranch_vccz", .execute = branch, .shape = VCC_ZERO},
	[0x07] = {"s_cbranch_vccnz", .execute = branch, .shape = VCC_SET},
	[0x08] = {"s_cbranch_execz", .execute = branch, .shape = EXEC_ZERO},
	[0x09] = {"s_cbranch_execnz", .execute = branch, .shape = EXEC_SET},
	[0x0a] = {"s_barrier", .execute = barrier},
	[0x0b] = {"s_setkill", .execute = kill},
	[0x0c] = {"s_waitcnt", .execute = nothing},
	[0x0d] = {"s_sethalt", .execute = halt},
	[0x0e] = {"s_sleep", .execute = sleep},
	[0x0f] = {"s_setprio", .execute = priority},
	[0x10] = {"s_sendmsg", .execute = message},
	[0x11] = {"s_sendmsghalt", .execute = message_halt},
	[0x12] = {"s_trap", .execute = trap},
	[0x13] = {"s_icache_inv", .execute = nothing},
	[0x14] = {"s_incperflevel", .execute = nothing},
	[0x15] = {"s_decperflevel", .execute = nothing},
	[0x16] = {"s_ttracedata", .execute = nothing},
	[0x17] = {"s_cbranch_cdbgsys", .execute = branch, .shape = DEBUG_SYSTEM},
	[0x18] = {"s_cbranch_cdbguser", .execute = branch, .shape = DEBUG_USER},
	[0x19] = {"s_cbranch_cdbgsys_or_user", .execute = branch, .shape = DEBUG_ANY},
	[0x1a] = {"s_cbranch_cdbgsys_and_user", .execute = branch, .shape = DEBUG_BOTH},
	[0x1b] = {"s_endpgm_saved", .execute = end_saved},
	[0x1c] = {"s_set_gpr_idx_off", .execute = index_off},
	[0x1d] = {"s_set_gpr_idx_mode", .execute = index_mode},
	[0x1e] = {.name = "s_endpgm_ordered_ps_done"},
};
/* clang-format on */

const struct gp_isa_table gp_isa_sopp = {ops, GP_ARRAY_SIZE(ops)};
