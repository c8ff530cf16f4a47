// SPDX-License-Identifier: MIT
/* Holds that gpreemptd has yet to be asked for: see holds.h. */
#include "slurm/holds.h"

#include <errno.h>

#include "base/core.h"
#include "slurm/marks.h"

static u32 find(const struct gp_slurm_holds *holds, u32 job)
{
	u32 i = 0;

	while (i < holds->count && holds->owed[i].job != job)
		i++;
	return i;
}

static bool owe(struct gp_slurm_holds *holds, u32 job, bool on)
{
	u32 i = find(holds, job);

	if (i == GP_SLURM_JOBS)
		return false;
	holds->owed[i].job = job;
	holds->owed[i].on = on;
	holds->count = GP_MAX(holds->count, i + 1);
	return true;
}

static void forget(struct gp_slurm_holds *holds, u32 i)
{
	if (i < holds->count)
		holds->owed[i] = holds->owed[--holds->count];
}

int gp_slurm_holds_ask(struct gp_slurm_holds *holds, u32 job, bool on, u64 end)
{
	int status = gp_slurm_hold(&holds->connection, job, on, gp_slurm_left_ms(end));

	/* What was asked, or refused, is newer than what is owed. */
	if (status != -EAGAIN) {
		forget(holds, find(holds, job));
		return status;
	}
	if (!owe(holds, job, on))
		gp_slurm_close(&holds->connection);
	return -ETIME;
}

size_t gp_slurm_holds_renew(struct gp_slurm_holds *holds)
{
	u32 jobs[GP_SLURM_JOBS];
	size_t marks = gp_slurm_marks(jobs, GP_SLURM_JOBS);

	holds->count = (u32)GP_MIN(marks, (size_t)GP_SLURM_JOBS);
	for (u32 i = 0; i < holds->count; i++) {
		holds->owed[i].job = jobs[i];
		holds->owed[i].on = true;
	}
	return marks;
}

void gp_slurm_holds_settle(struct gp_slurm_holds *holds, u64 end)
{
	/* From the end, where the list is shortened. */
	while (holds->count && holds->connection.fd >= 0) {
		u32 last = holds->count - 1;
		int status = gp_slurm_hold(&holds->connection, holds->owed[last].job,
					   holds->owed[last].on, gp_slurm_left_ms(end));

		if (status == -EAGAIN)
			return;
		holds->count = last;
	}
}
