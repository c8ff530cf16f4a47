// SPDX-License-Identifier: MIT
/*
 * Global wave sync: 64 counters that the waves of all work-groups share, as barriers or as
 * semaphores. Each is a word of 64 bits, the counter below and, above, how often the barrier was
 * passed; waves of several threads change it.
 *
 * A wave that has to wait stays at its instruction.
 */
#include "vgpu/isa/memory/ds.h"

#define RESOURCE_SHIFT 16 /* of M0 */
#define ROUND          (1ull << 32)

static u64 *resource(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
		     const struct gp_isa_inst *inst)
{
	u32 number = (u32)inst->memory.offset + (wave->s[GP_ISA_M0] >> RESOURCE_SHIFT);

	return runner->host->gws ? &runner->host->gws[number % GP_ISA_GWS] : NULL;
}

/* Of the first lane that is on. */
static u32 value_of(const struct gp_isa_wave *wave, const struct gp_isa_inst *inst)
{
	return wave->v[gp_isa_row_of(inst->src[0])][__builtin_ctzll(gp_isa_exec(wave))];
}

static bool change(u64 *at, u64 *from, u64 to)
{
	return __atomic_compare_exchange_n(at, from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* Waves that the last barrier released may not have seen it yet: its round stays. */
static void set(u64 *at, u32 value)
{
	u64 state = __atomic_load_n(at, __ATOMIC_SEQ_CST);

	while (!change(at, &state, (state & ~(ROUND - 1)) | value))
		;
}

/* The counter says how many have yet to come before the last one; the last one sets it anew. */
static bool barrier_passes(u64 *at, struct gp_isa_wave *wave, u32 value)
{
	u64 state = __atomic_load_n(at, __ATOMIC_SEQ_CST);

	if (wave->gws_waits) {
		wave->gws_waits = (u32)(state >> 32) == wave->gws_round;
		return !wave->gws_waits;
	}
	for (;;) {
		u64 to = (u32)state ? state - 1 : (state & ~(ROUND - 1)) + ROUND + value;

		if (!change(at, &state, to))
			continue;
		wave->gws_waits = (u32)state;
		wave->gws_round = (u32)(state >> 32);
		return !wave->gws_waits;
	}
}

static bool semaphore_take(u64 *at)
{
	u64 state = __atomic_load_n(at, __ATOMIC_SEQ_CST);

	while ((u32)state)
		if (change(at, &state, state - 1))
			return true;
	return false;
}

enum gp_isa_stop gp_isa_ds_gws(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			       const struct gp_isa_inst *inst)
{
	u64 *at = resource(runner, wave, inst);
	bool passes = true;

	if (!at || !inst->memory.gds)
		return GP_ISA_REFUSED;
	if (!gp_isa_exec(wave))
		return GP_ISA_RUNNING;
	switch (inst->op->shape) {
	case GP_ISA_GWS_INIT:
		set(at, value_of(wave, inst));
		break;
	case GP_ISA_GWS_BARRIER:
		passes = barrier_passes(at, wave, value_of(wave, inst));
		break;
	case GP_ISA_GWS_TAKE:
		passes = semaphore_take(at);
		break;
	case GP_ISA_GWS_GIVE:
	case GP_ISA_GWS_GIVE_MANY:
		__atomic_fetch_add(at,
				   inst->op->shape == GP_ISA_GWS_GIVE ? 1 : value_of(wave, inst),
				   __ATOMIC_SEQ_CST);
		break;
	}
	if (passes)
		return GP_ISA_RUNNING;
	wave->pc -= inst->words * sizeof(u32);
	return GP_ISA_WAITS;
}
