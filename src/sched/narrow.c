// SPDX-License-Identifier: MIT
/*
 * One batch job at a time, where preempting all of them costs too much. Jobs of equal priority run
 * side by side, and each work of a higher job stops and starts all of them. When that costs a job
 * more than a quarter of what it gets (tally.c), its device becomes narrow: of the jobs at that
 * priority only one is brought back at a time, the one that has waited longest; it makes room for
 * the next after a turn, or when it is preempted. Each work of a higher job then costs one stop and
 * one start.
 *
 * That is right for jobs that fill the device alone, and wrong for jobs that leave most of it idle.
 * The core cannot see which they are, so the work that they complete decides: it is counted side by
 * side for a second, then in turns. If it is less than three quarters in turns, the device is wide
 * again, and stays so for some time, twice as long each time. Jobs that never drain are taken to
 * fill the device. It is wide again as well when nothing was preempted for a second.
 */
#include "sched/state.h"

#define PERIOD_NS   (1ull << 30) /* completions are counted for that long */
#define WIDE_NS     (8ull << 30) /* after an attempt that did not pay; doubled .. */
#define WIDE_NS_MAX (64ull << 30)
#define TURN_NS_MAX 200000000ull

bool gp_sched_narrow_has(const struct gp_sched *s, const struct gp_sched_member *m)
{
	const struct gp_sched_device *d = gp_member_device(s, m);

	return d->narrow && !gp_sched_turns_has(s, m) &&
	       gp_sched_member_priority(s, m) == d->narrow_level;
}

u64 gp_sched_narrow_turn(const struct gp_sched *s, const struct gp_sched_member *m)
{
	const struct gp_sched_device *d = gp_member_device(s, m);
	u64 turn = s->config.max_suspend_ns / 2 / GP_MAX(d->contenders, 1);

	return GP_MAX(GP_MIN(turn, TURN_NS_MAX), 4 * (d->suspend_ns + d->resume_ns));
}

u64 gp_sched_narrow_shield(const struct gp_sched *s, u32 device)
{
	const struct gp_sched_device *d = &s->device[device];
	u64 part = s->config.max_suspend_ns / 8 / GP_MAX(d->contenders, 1);

	if (!d->narrow)
		return d->config.turn_ns;
	part = GP_MAX(part, 4 * (d->suspend_ns + d->resume_ns));
	return GP_MIN(part, d->config.turn_ns);
}

static u64 rate_of(const struct gp_sched *s, const struct gp_sched_device *d)
{
	return gp_scale(d->rate_drains, PERIOD_NS, GP_MAX(s->now - d->rate_at, 1));
}

static void set_narrow(struct gp_sched *s, struct gp_sched_device *d, bool narrow)
{
	d->narrow = narrow;
	d->rate_at = s->now;
	d->rate_drains = 0;
	s->dirty |= 1ull << d->index;
}

void gp_sched_narrow_begin(struct gp_sched *s, const struct gp_sched_member *m)
{
	struct gp_sched_device *d = gp_member_device(s, m);

	/* With fewer than that there are not two of them and a higher one. */
	if (d->narrow || d->contenders < 3 || gp_sched_turns_has(s, m))
		return;
	/* First a period side by side, for the comparison. */
	if (!d->owed_last || s->now - d->owed_last > 4 * PERIOD_NS) {
		d->owed_first = d->rate_at = s->now;
		d->rate_drains = 0;
	}
	d->owed_last = s->now;
	gp_sched_narrow_look(s, d);
	if (s->now < d->wide_until || s->now - d->owed_first <= PERIOD_NS)
		return;
	d->narrow_level = gp_sched_member_priority(s, m);
	set_narrow(s, d, true);
}

void gp_sched_narrow_look(struct gp_sched *s, struct gp_sched_device *d)
{
	u64 rate;

	if (s->now - d->rate_at < PERIOD_NS)
		return;
	rate = rate_of(s, d);
	d->rate_at = s->now;
	d->rate_drains = 0;
	if (!d->narrow) {
		d->rate_wide = rate;
	} else if (rate < d->rate_wide / 4 * 3) {
		d->wide_ns = d->wide_ns ? GP_MIN(2 * d->wide_ns, WIDE_NS_MAX) : WIDE_NS;
		d->wide_until = gp_later(s->now, d->wide_ns);
		set_narrow(s, d, false);
	} else {
		d->wide_ns = 0;
		if (s->now - d->preempted_at > PERIOD_NS)
			set_narrow(s, d, false);
	}
}

void gp_sched_narrow_drained(struct gp_sched *s, const struct gp_sched_member *m)
{
	struct gp_sched_device *d = gp_member_device(s, m);

	if (!gp_member_job(s, m)->lost_ns)
		return;
	d->rate_drains++;
	gp_sched_narrow_look(s, d);
}
