// SPDX-License-Identifier: MIT
/*
 * quantum: one job at a time, in turn; a turn lasts the job's weight over the weights of all that
 * have work, of one period (slice_ns). Weights 80 and 20 give shares of 80 % and 20 %. The period
 * grows with the number of jobs and the cost of a preemption, so that turns never cost more than a
 * quarter of the time. A job without work loses its turn.
 *
 * Where more processes are on the device than it runs at once, the hardware rotates through them,
 * and begins with the same ones after each change. A turn then lasts at least for a round, at
 * turn_ns for each lot of `places`: in shorter ones the processes that come last would get nothing,
 * turn after turn.
 *
 * Where the device can share (SHARE: CU masks, time slices of the hardware) no job is stopped: the
 * weights are passed on and the hardware applies them.
 */
#include "sched/state.h"

static u64 key(const struct gp_sched *s, const struct gp_sched_member *m, bool held)
{
	(void)s, (void)held;
	return m->turn;
}

static bool yields(const struct gp_sched *s, const struct gp_sched_member *best,
		   const struct gp_sched_member *m)
{
	return !gp_member_device(s, m)->config.can_share && m->turn > best->turn;
}

static u64 returns(const struct gp_sched *s, const struct gp_sched_member *best,
		   const struct gp_sched_member *m)
{
	bool now = gp_member_device(s, m)->config.can_share || m->turn < best->turn;

	return now ? 0 : GP_SCHED_NEVER;
}

static void arrive(struct gp_sched *s, struct gp_sched_member *m)
{
	m->turn = ++gp_member_device(s, m)->turn;
}

static void start(struct gp_sched *s, struct gp_sched_member *m)
{
	const struct gp_sched_device *d = gp_member_device(s, m);
	const struct gp_sched_job *j = gp_member_job(s, m);
	u64 cost = 4 * (d->suspend_ns + d->resume_ns), period = d->config.slice_ns;

	m->tick_at = GP_SCHED_NEVER;
	if (d->config.can_share || !d->weights)
		return;
	period = GP_MAX(period, cost * d->contenders);
	m->tick_at = gp_later(s->now, GP_MAX(gp_scale(period, j->weight, d->weights), 1000));
	if (j->run == GP_SCHED_RESUMING)
		m->tick_at = gp_later(m->tick_at, d->resume_ns);
}

/* The end of a turn in which the hardware gets to all processes; 0 where it runs them at once. Now
 * that the turn is under way, those before it are off the device. */
static u64 round_end(const struct gp_sched *s, const struct gp_sched_member *m)
{
	const struct gp_sched_device *d = gp_member_device(s, m);
	const struct gp_sched_job *j = gp_member_job(s, m);
	u64 round = gp_sched_park_round(s, d), all;

	if (!round)
		return 0;
	all = gp_scale(round * d->contenders, j->weight, GP_MAX(d->weights, 1));
	return gp_later(j->resumed_at, GP_MIN(GP_MAX(round, all), s->config.max_suspend_ns));
}

static void tick(struct gp_sched *s, struct gp_sched_member *m)
{
	struct gp_sched_device *d = gp_member_device(s, m);
	u64 end = d->contenders > 1 ? round_end(s, m) : 0;

	if (end > s->now) {
		m->tick_at = end;
		return;
	}
	if (d->contenders > 1)
		m->turn = ++d->turn;
	start(s, m);
}

static void join(struct gp_sched *s, struct gp_sched_member *m)
{
	if (m->contends)
		start(s, m);
}

const struct gp_sched_policy gp_sched_policy_quantum = {
	.name = "quantum",
	.suspends = GP_SCHED_WHY_TURN_OVER,
	.resumes = GP_SCHED_WHY_TURN,
	.key = key,
	.yields = yields,
	.returns = returns,
	.arrive = arrive,
	.start = start,
	.tick = tick,
	.join = join,
};
