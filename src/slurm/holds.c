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

static void unwatch(struct gp_slurm_holds *holds, u32 job)
{
	u32 i = 0;

	while (i < holds->held_count && holds->held[i] != job)
		i++;
	if (i < holds->held_count)
		holds->held[i] = holds->held[--holds->held_count];
}

void gp_slurm_holds_watch(struct gp_slurm_holds *holds, u32 job)
{
	unwatch(holds, job);
	if (holds->held_count < GP_SLURM_JOBS)
		holds->held[holds->held_count++] = job;
}

int gp_slurm_holds_ask(struct gp_slurm_holds *holds, u32 job, bool on, u64 end)
{
	int status = gp_slurm_hold(&holds->connection, job, on, gp_slurm_left_ms(end));

	/* What was asked, or refused, is newer than what is owed. */
	if (!on)
		unwatch(holds, job);
	if (status != -EAGAIN) {
		forget(holds, find(holds, job));
		return status;
	}
	if (!owe(holds, job, on))
		gp_slurm_close(&holds->connection);
	return -ETIME;
}

int gp_slurm_holds_open(struct gp_slurm_holds *holds, int timeout_ms)
{
	holds->count = holds->held_count = 0;
	return gp_slurm_open(&holds->connection, timeout_ms);
}

int gp_slurm_holds_renew(struct gp_slurm_holds *holds)
{
	u32 jobs[GP_SLURM_JOBS];
	int marks = gp_slurm_marks(jobs, GP_SLURM_JOBS);

	for (int i = 0; i < GP_MIN(marks, GP_SLURM_JOBS); i++)
		(void)owe(holds, jobs[i], true);
	return marks;
}

void gp_slurm_holds_check(struct gp_slurm_holds *holds)
{
	/* From the end, where the list is shortened. */
	for (u32 i = holds->held_count; i-- > 0;) {
		u32 job = holds->held[i];

		if (!gp_slurm_is_marked(job) && owe(holds, job, false))
			unwatch(holds, job);
	}
}

void gp_slurm_holds_settle(struct gp_slurm_holds *holds, u64 end)
{
	/* From the end, where the list is shortened. */
	while (holds->count && holds->connection.fd >= 0) {
		u32 last = holds->count - 1, job = holds->owed[last].job;
		bool on = holds->owed[last].on;

		/* The job may have ended meanwhile. */
		if (!on || gp_slurm_is_marked(job)) {
			int status =
				gp_slurm_hold(&holds->connection, job, on, gp_slurm_left_ms(end));

			if (status == -EAGAIN)
				return;
			if (on)
				gp_slurm_holds_watch(holds, job);
		}
		holds->count = last;
	}
}
