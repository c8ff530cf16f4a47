// SPDX-License-Identifier: MIT
/*
 * priority: the highest logical priority that has work runs, with its equals; lower ones yield.
 *
 * Ageing: for each age_step_ns that a job is held it counts as one level higher, until it is level
 * with the best that runs. Then it runs beside it for turn_ns, and starts again. So a job of
 * priority p is held at a stretch by jobs of at most P for no longer than
 *     min((P - p) * age_step_ns, max_suspend)
 * and the higher one is disturbed for turn_ns in that time. All held jobs age at one rate, so
 * their relative order never changes and a heap needs no update as time passes.
 *
 * It does not share between equals: the hardware does that. Where the hardware takes turns, jobs of
 * low priority are an exception: policy_turns.c. So are jobs whose preemption costs too much:
 * narrow.c, and equals beyond the places: park.c.
 */
#include "sched/state.h"

static u64 key(const struct gp_sched *s, const struct gp_sched_member *m, bool held)
{
	u64 below = GP_SCHED_PRIORITY_MAX - gp_sched_member_priority(s, m);
	u64 step = gp_member_device(s, m)->config.age_step_ns;

	if (gp_sched_turns_has(s, m))
		return gp_sched_turns_key(m);
	if (!held)
		return 2 * below + m->over;
	if (!step) /* equals by how long they have waited, in 2^16 ns */
		return below << 46 | gp_member_job(s, m)->aged_since >> 16;
	/* The moment at which it will have aged to the top, were there no bound. */
	return below * step + gp_member_job(s, m)->aged_since;
}

static bool yields(const struct gp_sched *s, const struct gp_sched_member *best,
		   const struct gp_sched_member *m)
{
	if (gp_sched_turns_has(s, m))
		return !gp_sched_turns_has(s, best) || m->turn > best->turn;
	if (gp_sched_turns_has(s, best)) /* they come last, whatever their priority */
		return false;
	if (gp_sched_member_priority(s, best) != gp_sched_member_priority(s, m))
		return gp_sched_member_priority(s, best) > gp_sched_member_priority(s, m);
	return m->over && !best->over;
}

static u64 returns(const struct gp_sched *s, const struct gp_sched_member *best,
		   const struct gp_sched_member *m)
{
	u32 theirs = gp_sched_member_priority(s, best), own = gp_sched_member_priority(s, m);
	u64 step = gp_member_device(s, m)->config.age_step_ns, at;

	/* Those in turns do not age: they wait for their turn, or for others up to max_suspend. */
	if (gp_sched_turns_has(s, m))
		return gp_sched_turns_has(s, best) && m->turn < best->turn ? 0 : GP_SCHED_NEVER;
	if (gp_sched_turns_has(s, best))
		return 0;
	if (own == theirs && m->place[GP_ORDER_QUEUED])
		return gp_sched_park_returns(gp_member_device(s, m));
	if (own == theirs)
		return m->place[GP_ORDER_TURN] && gp_member_device(s, m)->narrow && !best->over
			       ? GP_SCHED_NEVER
			       : 0;
	if (own > theirs)
		return 0;
	if (!step)
		return GP_SCHED_NEVER;
	if (!m->place[GP_ORDER_TURN] || !gp_member_device(s, m)->narrow)
		return gp_member_job(s, m)->aged_since + (theirs - own) * step;
	/* One after the other, not all that have aged at once. */
	at = gp_sched_narrow_bound(s, m->device, (theirs - own) * step);
	return GP_MAX(gp_member_job(s, m)->aged_since + at, gp_sched_narrow_forced(s, m->device));
}

static void arrive(struct gp_sched *s, struct gp_sched_member *m)
{
	if (gp_sched_turns_has(s, m))
		gp_sched_turns_arrive(s, m);
}

static void start(struct gp_sched *s, struct gp_sched_member *m)
{
	if (gp_sched_turns_has(s, m))
		gp_sched_turns_start(s, m);
	else if (gp_sched_park_takes_turns(s, m))
		m->tick_at = gp_later(s->now, gp_member_device(s, m)->config.turn_ns);
	else if (!gp_sched_narrow_has(s, m))
		m->tick_at = GP_SCHED_NEVER;
	else
		m->tick_at = gp_later(gp_later(s->now, gp_member_device(s, m)->resume_ns),
				      gp_sched_narrow_turn(s, m->device));
}

static void join(struct gp_sched *s, struct gp_sched_member *m)
{
	if (m->contends)
		start(s, m);
}

static void tick(struct gp_sched *s, struct gp_sched_member *m)
{
	struct gp_sched_device *d = gp_member_device(s, m);

	if (gp_sched_turns_has(s, m)) {
		gp_sched_turns_tick(s, m);
		return;
	}
	if (gp_sched_park_takes_turns(s, m)) {
		gp_sched_park_tick(s, m);
		if (!m->over)
			start(s, m);
		return;
	}
	gp_sched_narrow_look(s, d);
	if (gp_sched_narrow_has(s, m) && d->order[GP_ORDER_TURN].count)
		m->over = true;
	else
		start(s, m);
}

const struct gp_sched_policy gp_sched_policy_priority = {
	.name = "priority",
	.declines = true,
	.ahead = true,
	.owes = true,
	.parks = true,
	.suspends = GP_SCHED_WHY_INVERSION,
	.resumes = GP_SCHED_WHY_AGED,
	.key = key,
	.yields = yields,
	.returns = returns,
	.arrive = arrive,
	.start = start,
	.tick = tick,
	.join = join,
};
