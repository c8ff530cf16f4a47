// SPDX-License-Identifier: MIT
#include "coverage.h"

#include <stdio.h>
#include <stdlib.h>

#define SEEN_MAX 4096

/* Of the process: a test program is one test. */
static const struct gp_isa_op *seen[SEEN_MAX];
static u32 seen_count;

static bool is_new(const struct gp_isa_op *op)
{
	for (u32 i = 0; i < seen_count; i++)
		if (seen[i] == op)
			return false;
	if (seen_count < SEEN_MAX)
		seen[seen_count++] = op;
	return true;
}

void coverage_note(const struct gp_isa_runner *runner, u64 va, u32 words)
{
	const char *path = getenv("ISA_COVERAGE");
	FILE *file = NULL;

	if (!path)
		return;
	for (u32 i = 0; i < words; i++) {
		u64 pc = va + i * sizeof(u32);
		const struct gp_isa_inst *inst = &runner->cache[pc / sizeof(u32) % GP_ISA_CACHE];

		if (inst->pc != pc + 1 || !is_new(inst->op))
			continue;
		if (!file)
			file = fopen(path, "a");
		if (file)
			fprintf(file, "%s\n", inst->op->name);
	}
	if (file)
		fclose(file);
}
