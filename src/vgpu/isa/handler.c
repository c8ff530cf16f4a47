// SPDX-License-Identifier: MIT
#include "vgpu/isa/handler.h"

#include "vgpu/isa/save.h"
#include "vgpu/isa/scalar/scalar.h"

#define SAVE_CONTEXT (1u << 10)   /* of TRAPSTS: why the handler runs */
#define FIRST_WAVE   (1ull << 58) /* of the address that the hardware hands over */
#define RESTORE_AT   4u           /* bytes behind the start of the handler */
#define STEPS        100000u      /* of each wave; handlers need a few thousand */

static u64 area_of(const struct gp_isa_saving *saving, u32 index)
{
	return saving->areas[index] | (index == saving->first ? FIRST_WAVE : 0);
}

static void enter(struct gp_isa_wave *wave, u64 area, u64 handler)
{
	u64 pc = gp_isa_saved_pc(wave);

	wave->s[GP_ISA_TTMP] = (u32)pc;
	wave->s[GP_ISA_TTMP + 1] = (u32)(pc >> 32);
	wave->trapsts |= SAVE_CONTEXT;
	wave->status |= GP_ISA_STATUS_PRIV;
	wave->save = area;
	wave->pc = handler;
	wave->at_barrier = false;
}

/* As the hardware starts it: with none of its registers. */
static void relaunch(struct gp_isa_wave *wave, u64 area, u64 handler)
{
	memset(wave->s, 0xa5, sizeof(wave->s));
	memset(wave->v, 0xa5, sizeof(wave->v));
	gp_isa_set_pair(wave, GP_ISA_EXEC, area);
	wave->status = GP_ISA_STATUS_PRIV;
	wave->trapsts = wave->mode = 0;
	wave->pc = handler + RESTORE_AT;
	wave->at_barrier = false;
}

static bool is_over(const struct gp_isa_wave *wave, enum gp_isa_stop until)
{
	return until == GP_ISA_SAVED ? wave->stop == GP_ISA_SAVED
				     : !(wave->status & GP_ISA_STATUS_PRIV);
}

/* One instruction of each in turn: they wait for each other, and one that has returned executes
 * nothing of its kernel. */
static enum gp_isa_stop run(struct gp_isa_runner *runner, const struct gp_isa_saving *saving,
			    enum gp_isa_stop until, u32 *failed)
{
	bool all = false;

	for (u32 step = 0; !all && step < STEPS; step++) {
		all = true;
		for (u32 i = 0; i < saving->count; i++) {
			struct gp_isa_wave *wave = saving->waves[i];

			if (!saving->areas[i] || is_over(wave, until))
				continue;
			all = false;
			*failed = i;
			if (gp_isa_run(runner, wave, 1) > GP_ISA_AT_BARRIER &&
			    !is_over(wave, until))
				return wave->stop;
		}
	}
	return all ? until : GP_ISA_WAITS;
}

enum gp_isa_stop gp_isa_handler_save(struct gp_isa_runner *runner,
				     const struct gp_isa_saving *saving, u32 *failed)
{
	for (u32 i = 0; i < saving->count; i++)
		if (saving->areas[i])
			enter(saving->waves[i], area_of(saving, i), saving->handler);
	gp_isa_restore_group(saving->group);
	return run(runner, saving, GP_ISA_SAVED, failed);
}

enum gp_isa_stop gp_isa_handler_restore(struct gp_isa_runner *runner,
					const struct gp_isa_saving *saving, u32 *failed)
{
	enum gp_isa_stop stop;

	for (u32 i = 0; i < saving->count; i++)
		if (saving->areas[i])
			relaunch(saving->waves[i], area_of(saving, i), saving->handler);
	gp_isa_restore_group(saving->group);
	stop = run(runner, saving, GP_ISA_RUNNING, failed);
	for (u32 i = 0; i < saving->count; i++)
		if (saving->areas[i])
			saving->waves[i]->stop = GP_ISA_RUNNING;
	gp_isa_restore_group(saving->group);
	return stop;
}
