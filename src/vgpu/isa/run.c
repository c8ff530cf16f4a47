// SPDX-License-Identifier: MIT
/* Fetching, remembering and executing instructions. */
#include <cpuid.h>
#include <stdio.h>
#include <xmmintrin.h>

#include "vgpu/isa/vector/lanes.h"

#define WORDS_MAX 3

bool gp_isa_supported(void)
{
	unsigned int a, b, c = 0, d;

	/* clang 14 does not know "f16c". */
	return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C && __builtin_cpu_supports("avx2") &&
	       __builtin_cpu_supports("fma");
}

size_t gp_isa_cache_bytes(void)
{
	return GP_ISA_CACHE * sizeof(struct gp_isa_inst);
}

void gp_isa_forget_pages(struct gp_isa_runner *runner)
{
	memset(runner->pages, 0, sizeof(runner->pages));
}

/* The words at pc, as many as are mapped; none where no instruction can be. */
static u32 words_read(struct gp_isa_runner *runner, u64 pc, u32 words[WORDS_MAX])
{
	u32 count = 0;

	while (pc % sizeof(u32) == 0 && count < WORDS_MAX) {
		const u32 *at = gp_isa_address(runner, pc + count * sizeof(u32), false);

		if (!at)
			break;
		words[count++] = *at;
	}
	return count;
}

/* Whether memory still holds what was decoded: code may be unloaded and others loaded there. */
static bool holds(struct gp_isa_runner *runner, const struct gp_isa_inst *inst, u64 pc)
{
	const u32 *at;

	if (inst->pc != pc + 1 || !inst->pc)
		return false;
	if (pc % GP_ISA_PAGE_BYTES + WORDS_MAX * sizeof(u32) > GP_ISA_PAGE_BYTES) {
		u32 words[WORDS_MAX];

		return words_read(runner, pc, words) >= inst->words &&
		       !memcmp(words, inst->raw, inst->words * sizeof(u32));
	}
	at = gp_isa_address(runner, pc, false);
	return at && at[0] == inst->raw[0] && (inst->words < 2 || at[1] == inst->raw[1]) &&
	       (inst->words < 3 || at[2] == inst->raw[2]);
}

/* The instruction at pc, or NULL with the reason in wave->stop. */
static const struct gp_isa_inst *fetch(struct gp_isa_runner *runner, struct gp_isa_wave *wave)
{
	struct gp_isa_inst *inst = &runner->cache[wave->pc / sizeof(u32) % GP_ISA_CACHE];
	u32 words[WORDS_MAX] = {0}, count;

	if (holds(runner, inst, wave->pc))
		return inst;
	count = words_read(runner, wave->pc, words);
	if (!count) {
		wave->fault = wave->pc;
		wave->stop = GP_ISA_FAULT;
		return NULL;
	}
	if (gp_isa_decode(runner->gfx, words, count, inst)) {
		inst->pc = 0;
		wave->stop = GP_ISA_ILLEGAL;
		return NULL;
	}
	inst->pc = wave->pc + 1;
	return inst;
}

/* What keeps a wave from its next instruction. A barrier that the others have reached meanwhile
 * does not. */
static enum gp_isa_stop held(struct gp_isa_wave *wave)
{
	if ((wave->status & (GP_ISA_STATUS_HALT | GP_ISA_STATUS_PRIV)) == GP_ISA_STATUS_HALT)
		return GP_ISA_WAITS;
	if (wave->at_barrier && wave->group->barrier == wave->barrier)
		return GP_ISA_AT_BARRIER;
	wave->at_barrier = false;
	return GP_ISA_RUNNING;
}

enum gp_isa_stop gp_isa_run(struct gp_isa_runner *runner, struct gp_isa_wave *wave, u32 budget)
{
	unsigned int environment = _mm_getcsr();

	wave->stop = held(wave);
	runner->csr = 0;
	while (budget-- && wave->stop == GP_ISA_RUNNING) {
		const struct gp_isa_inst *inst = fetch(runner, wave);
		u64 pc = wave->pc;

		if (!inst)
			break;
		if (!inst->op->execute) {
			wave->stop = GP_ISA_REFUSED;
			break;
		}
		wave->pc = pc + inst->words * sizeof(u32);
		if (!(wave->mode & GP_ISA_MODE_SKIP) || inst->format < GP_ISA_VOP1)
			wave->stop = inst->op->execute(runner, wave, inst);
		if (wave->stop >= GP_ISA_FAULT)
			wave->pc = pc;
		else
			wave->executed++;
	}
	_mm_setcsr(environment);
	return wave->stop;
}

void gp_isa_describe(struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
		     char text[GP_ISA_NAME])
{
	u32 words[WORDS_MAX] = {0}, count = words_read(runner, wave->pc, words);
	struct gp_isa_inst inst = {0};

	if (count && !gp_isa_decode(runner->gfx, words, count, &inst))
		snprintf(text, GP_ISA_NAME, "%s", inst.op->name);
	else
		snprintf(text, GP_ISA_NAME, "unknown %08x %08x", words[0], words[1]);
}
