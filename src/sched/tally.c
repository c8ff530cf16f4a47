// SPDX-License-Identifier: MIT
/*
 * What preemptions leave of a job. Lost is time with work in which operations were under way on the
 * device that it was last held for, its own or others': then the device does nothing else. Where
 * many jobs are stopped for one, all of them lose: the time counts as often as operations are under
 * way, up to GP_SCHED_STORM. Gained is time with work in which it ran and none was. Time in which a
 * higher job simply had work is neither. Both count half after a second.
 *
 * A job must have gained twice what it lost. While it has not, it is not preempted before it has
 * run for the difference; all of that run is gain. So preemptions take a third of what higher jobs
 * leave, on average.
 */
#include "sched/state.h"

#define OWED 2 /* times what it lost a job must have gained */

/* Time in which operations were under way, and the same times their number. */
struct storm {
	u64 ns, weighted;
};

static struct storm storm_now(const struct gp_sched *s, const struct gp_sched_device *d)
{
	u64 passed = d->storm ? s->now - d->storm_at : 0;

	return (struct storm){d->storm_ns + passed,
			      d->storm_weighted + passed * GP_MIN(d->storm, GP_SCHED_STORM)};
}

void gp_sched_storm_count(struct gp_sched *s, struct gp_sched_device *d, u32 by)
{
	struct storm now = storm_now(s, d);

	d->storm_ns = now.ns;
	d->storm_weighted = now.weighted;
	d->storm_at = s->now;
	d->storm += by;
}

void gp_sched_job_tally(struct gp_sched *s, struct gp_sched_job *j)
{
	u64 halves = (s->now - j->window_at) >> GP_SCHED_HALF_LIFE;
	struct storm now = {0, 0};
	bool turn = false;

	if (j->held_device != GP_SCHED_NONE) {
		now = storm_now(s, &s->device[j->held_device]);
		/* It waits for its turn: the operations are those of others. */
		turn = gp_job_held(j) && s->device[j->held_device].narrow;
	}
	if (j->contending && j->shield == GP_SCHED_SHIELD_OWED) {
		j->gained_ns += s->now - j->tally_at;
	} else if (j->contending) {
		j->lost_ns += turn ? 0 : now.weighted - j->storm_weighted;
		if (j->run == GP_SCHED_RUNNING)
			j->gained_ns += s->now - j->tally_at - (now.ns - j->storm_ns);
	}
	j->storm_ns = now.ns;
	j->storm_weighted = now.weighted;
	j->tally_at = s->now;
	if (!halves)
		return;
	j->gained_ns >>= GP_MIN(halves, 63);
	j->lost_ns >>= GP_MIN(halves, 63);
	j->window_at += halves << GP_SCHED_HALF_LIFE;
}

void gp_sched_job_tally_on(struct gp_sched *s, struct gp_sched_job *j, u32 device)
{
	struct storm now = {0, 0};

	gp_sched_job_tally(s, j);
	if (device != GP_SCHED_NONE)
		now = storm_now(s, &s->device[device]);
	j->held_device = device;
	j->storm_ns = now.ns;
	j->storm_weighted = now.weighted;
}

u64 gp_sched_job_owed(struct gp_sched *s, struct gp_sched_job *j)
{
	u64 due;

	gp_sched_job_tally(s, j);
	due = OWED * j->lost_ns;
	if (due <= j->gained_ns)
		return 0;
	return GP_MIN(due - j->gained_ns, j->spec.max_suspend_ns);
}

u64 gp_sched_job_aged(const struct gp_sched *s, const struct gp_sched_job *j)
{
	u64 ran = j->run == GP_SCHED_RUNNING ? s->now - j->resumed_at : 0;
	u64 denied = j->denied_ns;

	/* A whole turn makes up for everything, a part of it for that part. */
	denied = ran < j->makes_up_ns ? denied - gp_scale(denied, ran, j->makes_up_ns) : 0;
	return s->now - GP_MIN(denied, s->now);
}

u64 gp_sched_together(u64 now, u64 ns)
{
	/* The least power of two above an eighth of it. */
	u64 grain = ns < 8 ? 1 : 2ull << gp_highest_bit(ns / 8);

	return (gp_later(now, ns) + grain - 1) & ~(grain - 1);
}
