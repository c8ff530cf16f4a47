// SPDX-License-Identifier: MIT
/*
 * fair: weighted dominant-resource fairness. Each job has a virtual time: its use of the
 * resource that it uses most (CUs, copy engines, memory), divided by its weight. All run side by
 * side; a job that gets a slice (slice_ns at the mean weight of the jobs with work, or four times
 * the cost of a preemption or two rounds of the hardware if that is more) ahead of the one furthest
 * behind yields until it is half of that ahead. So the device is never idle for fairness' sake, a
 * job alone is never stopped, and over any stretch the use of two busy jobs differs from their
 * weights by a slice and a look at most.
 *
 * gp_sched_usage() reports the use. For jobs without a report it is the time they ran, divided by
 * the number that ran side by side. A job that was idle starts level with the others: idle time
 * earns no credit.
 *
 * It does not look at priorities. Virtual time at weight 1 lasts for 133 days of a whole device.
 */
#include "sched/state.h"

#define FRACTION 4  /* virtual time is in 1/16 ns at weight 100 */
#define LOOKS    32 /* a look is as many quarters of a slice as run side by side, up to here */

/* A preemption never costs more than a quarter of it, and in half of it the hardware gets to all
 * processes. */
static u64 slice(const struct gp_sched *s, const struct gp_sched_device *d)
{
	u64 least = GP_MAX(4 * (d->suspend_ns + d->resume_ns), 2 * gp_sched_park_round(s, d));

	return GP_MAX(d->config.slice_ns, least);
}

/* In virtual time, so that it is slice_ns of the device for a job of the mean weight. */
static u64 lag(const struct gp_sched *s, const struct gp_sched_device *d)
{
	u64 ns = slice(s, d);

	if (!d->weights)
		return ns << FRACTION;
	return gp_scale(ns << FRACTION, (u64)GP_SCHED_WEIGHT_DEFAULT * d->contenders, d->weights);
}

static void charge(const struct gp_sched *s, struct gp_sched_member *m, u64 used)
{
	m->vtime += gp_scale(used, GP_SCHED_WEIGHT_DEFAULT, gp_member_job(s, m)->weight);
}

static u64 key(const struct gp_sched *s, const struct gp_sched_member *m, bool held)
{
	(void)s, (void)held;
	return m->vtime;
}

static bool yields(const struct gp_sched *s, const struct gp_sched_member *best,
		   const struct gp_sched_member *m)
{
	return m->vtime > best->vtime + lag(s, gp_member_device(s, m));
}

static u64 returns(const struct gp_sched *s, const struct gp_sched_member *best,
		   const struct gp_sched_member *m)
{
	return m->vtime <= best->vtime + lag(s, gp_member_device(s, m)) / 2 ? 0 : GP_SCHED_NEVER;
}

/*
 * How long one may go unlooked at: the fewer side by side, the faster one gets ahead. Four looks in
 * a slice; the bound keeps it short for the jobs that stay when many leave at once.
 */
static u64 look(const struct gp_sched *s, const struct gp_sched_device *d)
{
	return slice(s, d) / 4 * GP_MAX(GP_MIN(d->order[GP_ORDER_RUN].count, LOOKS), 1);
}

/* One that is alone is not looked at. */
static void watch(struct gp_sched *s, struct gp_sched_member *m)
{
	const struct gp_sched_device *d = gp_member_device(s, m);

	m->tick_at = d->contenders > 1 ? gp_later(s->now, look(s, d)) : GP_SCHED_NEVER;
}

static void ran(struct gp_sched *s, struct gp_sched_member *m, u64 ns)
{
	struct gp_sched_device *d = gp_member_device(s, m);

	(void)ns;
	gp_sched_device_clock(s, d);
	if (!m->metered)
		charge(s, m, d->clock - m->clock);
	m->clock = d->clock;
}

static void start(struct gp_sched *s, struct gp_sched_member *m)
{
	struct gp_sched_device *d = gp_member_device(s, m);

	gp_sched_device_clock(s, d);
	m->clock = d->clock;
	watch(s, m);
}

static void arrive(struct gp_sched *s, struct gp_sched_member *m)
{
	struct gp_sched_device *d = gp_member_device(s, m);
	struct gp_sched_member *first = gp_order_top(s, &d->order[GP_ORDER_RUN]);

	m->vtime = GP_MAX(m->vtime, d->vfloor);
	/* The one that was alone until now is not being looked at. */
	if (first && first->tick_at == GP_SCHED_NEVER) {
		watch(s, first);
		gp_sched_member_arm(s, first);
	}
}

static void raise_floor(struct gp_sched *s, struct gp_sched_device *d)
{
	const struct gp_sched_member *first = gp_order_top(s, &d->order[GP_ORDER_RUN]);

	if (first && first->vtime > d->vfloor)
		d->vfloor = first->vtime;
}

static void tick(struct gp_sched *s, struct gp_sched_member *m)
{
	gp_sched_member_place(s, m);
	raise_floor(s, gp_member_device(s, m));
	watch(s, m);
}

static bool refresh(struct gp_sched *s, struct gp_sched_member *best)
{
	struct gp_sched_device *d = gp_member_device(s, best);
	u64 before = best->vtime;

	/* A job is not looked at again so soon: with many side by side each would be, every time.
	 */
	if (s->now - best->mark < look(s, d) / 2)
		return false;
	gp_sched_member_account(s, best);
	if (best->vtime == before)
		return false;
	gp_sched_member_place(s, best);
	raise_floor(s, d);
	return gp_order_top(s, &d->order[GP_ORDER_RUN]) != best;
}

static void used(struct gp_sched *s, struct gp_sched_member *m, const struct gp_sched_usage *usage)
{
	const struct gp_sched_device *d = gp_member_device(s, m);
	u64 dominant = GP_MAX(usage->cu_ns, usage->copy_ns), room = d->config.memory_bytes >> 20;
	u64 passed = GP_MIN(s->now - m->usage_at, GP_SCHED_SPAN_MAX);

	if (room) {
		u64 held = GP_MIN(usage->memory_bytes >> 20, room);

		while (room >> 31) {
			room >>= 1;
			held >>= 1;
		}
		dominant = GP_MAX(dominant, gp_scale(passed, held, room));
	}
	gp_sched_member_account(s, m);
	m->metered = true;
	charge(s, m, dominant << FRACTION);
}

static void join(struct gp_sched *s, struct gp_sched_member *m)
{
	m->vtime = GP_MAX(m->vtime, gp_member_device(s, m)->vfloor);
	m->clock = gp_member_device(s, m)->clock;
	if (m->contends)
		watch(s, m);
}

const struct gp_sched_policy gp_sched_policy_fair = {
	.name = "fair",
	.clock = true,
	.suspends = GP_SCHED_WHY_AHEAD,
	.resumes = GP_SCHED_WHY_TURN,
	.key = key,
	.yields = yields,
	.returns = returns,
	.arrive = arrive,
	.start = start,
	.ran = ran,
	.tick = tick,
	.refresh = refresh,
	.used = used,
	.join = join,
};
