// SPDX-License-Identifier: MIT
/*
 * One batch job at a time, where preempting all of them costs too much. Jobs of equal priority run
 * side by side, and each work of a higher job stops and starts all of them. When that costs a job
 * more than a quarter of what it gets (tally.c), its device becomes narrow: of the jobs at that
 * priority only one is brought back at a time, the one that got least; it makes room for
 * the next after a turn, or when it is preempted. Each work of a higher job then costs one stop and
 * one start. With more jobs than the device has places it becomes narrow at the first preemption:
 * there the hardware does not run all of them side by side anyway.
 *
 * That is right for jobs that fill the device alone, and wrong for jobs that leave most of it idle.
 * The core cannot see which they are, so the work that they complete decides: it is counted side by
 * side for a second, then in turns, or the other way round. If it is less than three quarters in
 * turns, the device is wide again, and stays so for some time, twice as long each time. Jobs that
 * never drain are taken to fill the device. It is wide again as well when nothing was preempted for
 * a second.
 *
 * A turn is so long that all of them have one before ageing would bring them back beside a higher
 * job: by how many had one in the last second. With many of them ageing takes longer, up to
 * max_suspend, so that turns beside higher jobs do not take more than 1 / 16 of the time while that
 * is possible. Jobs that are stopped at once count as stopped one after the other, so that they do
 * not all come for their age, or max_suspend, at once. The next turn goes to the one that got
 * least, or to one that is about to come for its age: gaps between requests differ, and one that
 * waits longest may get only short ones. No turn is longer than four of those beside a higher job:
 * where little is left these are what each has of it, and a longer one would be the part of many.
 */
#include "sched/state.h"

#define PERIOD_NS   (1ull << 30) /* completions are counted for that long */
#define WIDE_NS     (8ull << 30) /* after an attempt that did not pay; doubled .. */
#define WIDE_NS_MAX (64ull << 30)
#define FORCED      16ull /* turns by ageing take 1 / 16 of the time at most */

/* One turn by ageing, with what it costs. */
static u64 forced_ns(const struct gp_sched *s, const struct gp_sched_device *d)
{
	return gp_sched_narrow_shield(s, d->index) + d->suspend_ns + d->resume_ns;
}

u64 gp_sched_narrow_bound(const struct gp_sched *s, u32 device, u64 ageing)
{
	const struct gp_sched_device *d = &s->device[device];

	return GP_MAX(ageing, GP_MIN(FORCED * forced_ns(s, d) * GP_MAX(d->contenders, 1),
				     s->config.max_suspend_ns / 16 * 15));
}

/* No job of the level should wait longer for its turn. */
static u64 bound(const struct gp_sched *s, const struct gp_sched_device *d)
{
	return gp_sched_narrow_bound(s, d->index, d->narrow_ageing);
}

static u64 longest_turn(const struct gp_sched *s, const struct gp_sched_device *d)
{
	return GP_MAX(4 * gp_sched_narrow_shield(s, d->index), 24 * (d->suspend_ns + d->resume_ns));
}

static u64 shortest_turn(const struct gp_sched_device *d)
{
	return 2 * (d->suspend_ns + d->resume_ns);
}

u64 gp_sched_narrow_turn(const struct gp_sched *s, u32 device)
{
	const struct gp_sched_device *d = &s->device[device];
	u64 turn = d->turn_ns ? d->turn_ns : bound(s, d) / 4 / GP_MAX(d->contenders, 1);

	return GP_MAX(GP_MIN(turn, longest_turn(s, d)), shortest_turn(d));
}

u64 gp_sched_narrow_shield(const struct gp_sched *s, u32 device)
{
	const struct gp_sched_device *d = &s->device[device];

	if (!d->narrow)
		return d->config.turn_ns;
	return GP_MIN(GP_MAX(d->config.turn_ns / GP_MAX(d->contenders, 1), shortest_turn(d)),
		      d->config.turn_ns);
}

u64 gp_sched_narrow_makes_up(const struct gp_sched *s, u32 device)
{
	const struct gp_sched_device *d = &s->device[device];
	u64 turn = gp_sched_narrow_turn(s, device);

	if (!d->narrow)
		return d->config.turn_ns;
	return d->turn_ns ? GP_MIN(turn, d->run_ns) : turn;
}

/* From one turn by ageing to the next: all of them before max_suspend, which nothing puts off. */
static u64 pace(const struct gp_sched *s, const struct gp_sched_device *d)
{
	return GP_MIN(FORCED * forced_ns(s, d),
		      s->config.max_suspend_ns / 8 * 7 / GP_MAX(d->contenders, 1));
}

u64 gp_sched_narrow_forced(const struct gp_sched *s, u32 device)
{
	const struct gp_sched_device *d = &s->device[device];

	return d->slots ? GP_SCHED_NEVER : gp_later(d->forced_at, pace(s, d));
}

u64 gp_sched_narrow_credit(const struct gp_sched *s, const struct gp_sched_member *m)
{
	struct gp_sched_device *d = gp_member_device(s, m);
	u32 part;

	if (!gp_sched_narrow_has(s, m))
		return 0;
	if (d->stopped_at != s->now)
		d->stopped = 0;
	d->stopped_at = s->now;
	/* Multiples of the golden ratio: however many there are, their parts are evenly spread. */
	part = d->stopped++ * 2654435769u >> 16;
	return pace(s, d) * d->contenders * part >> 16;
}

static u64 slot_time(const struct gp_sched *s, const struct gp_sched_device *d)
{
	return d->slot_ns + (d->slots ? s->now - GP_MAX(d->slot_since, d->rate_at) : 0);
}

/*
 * It gets no credit for the time before, or without work; and where it ran for long, beside others
 * or because it was owed that, it does not wait for all of them to have had as much.
 */
static void enter(const struct gp_sched *s, struct gp_sched_member *m)
{
	const struct gp_sched_device *d = gp_member_device(s, m);
	u64 most = d->served + 2 * gp_sched_narrow_turn(s, m->device);

	m->served = m->round == d->round ? GP_MIN(GP_MAX(m->served, d->served), most) : d->served;
	m->round = d->round;
}

void gp_sched_narrow_place(struct gp_sched *s, struct gp_sched_member *m)
{
	struct gp_sched_device *d = gp_member_device(s, m);
	u32 id = gp_member_index(s, m);
	bool has = gp_sched_narrow_has(s, m), slot = has && m->place[GP_ORDER_RUN];

	if (has && (slot ? !m->slot : m->place[GP_ORDER_TURN] && !m->place[GP_ORDER_NEXT]))
		enter(s, m);
	if (m->place[GP_ORDER_TURN])
		gp_order_set(&d->order[GP_ORDER_NEXT], id, m->served);
	else
		gp_order_remove(&d->order[GP_ORDER_NEXT], id);
	if (m->slot == slot)
		return;
	d->slot_ns = slot_time(s, d);
	d->slot_since = s->now;
	d->slots += slot ? 1 : -1u;
	d->slot_count += slot;
	m->slot = slot;
}

struct gp_sched_member *gp_sched_narrow_next(struct gp_sched *s, struct gp_sched_device *d)
{
	struct gp_sched_member *m = gp_order_top(s, &d->order[GP_ORDER_NEXT]);
	struct gp_sched_member *old = gp_order_top(s, &d->order[GP_ORDER_TURN]);

	/* Before it comes for its age, beside a higher one. */
	if (s->now - gp_member_job(s, old)->aged_since > bound(s, d) / 4 * 3)
		return old;
	d->served = GP_MAX(d->served, m->served);
	return m;
}

static u64 rate_of(const struct gp_sched *s, const struct gp_sched_device *d)
{
	return gp_scale(d->rate_drains, PERIOD_NS, GP_MAX(s->now - d->rate_at, 1));
}

static void rate_restart(struct gp_sched *s, struct gp_sched_device *d)
{
	d->rate_at = s->now;
	d->rate_drains = 0;
	d->slot_ns = 0;
	d->slot_count = 0;
}

static void set_narrow(struct gp_sched *s, struct gp_sched_device *d, bool narrow)
{
	d->narrow = narrow;
	if (narrow && !d->order[GP_ORDER_TURN].count) {
		d->round++;
		d->served = 0;
	}
	d->turn_ns = 0;
	rate_restart(s, d);
	s->dirty |= 1ull << d->index;
}

/* The hardware does not run all of them at once anyway. */
static bool crowded(const struct gp_sched_device *d)
{
	return d->config.places && d->contenders > d->config.places;
}

void gp_sched_narrow_begin(struct gp_sched *s, const struct gp_sched_member *m,
			   const struct gp_sched_member *best, bool costly)
{
	struct gp_sched_device *d = gp_member_device(s, m);
	u32 level = gp_sched_member_priority(s, m), above = gp_sched_member_priority(s, best);
	u64 step = d->config.age_step_ns;

	if (d->narrow)
		gp_sched_narrow_look(s, d);
	/* With fewer than that there are not two of them and a higher one. */
	if (d->narrow || d->contenders < 3 || above <= level || gp_sched_turns_has(s, m))
		return;
	if (!crowded(d)) {
		if (!costly)
			return;
		/* First a period side by side, for the comparison. */
		if (!d->owed_last || s->now - d->owed_last > 4 * PERIOD_NS) {
			d->owed_first = s->now;
			rate_restart(s, d);
		}
		d->owed_last = s->now;
		gp_sched_narrow_look(s, d);
		if (s->now - d->owed_first <= PERIOD_NS)
			return;
	} else if (d->wide_until) {
		/* The period side by side is over: what was it like? */
		gp_sched_narrow_look(s, d);
	}
	/* Those of another level still wait for their turn: heads of one order must be of one
	 * level. */
	if (s->now < d->wide_until || (d->order[GP_ORDER_TURN].count && level != d->narrow_level))
		return;
	d->narrow_level = level;
	d->narrow_ageing =
		GP_MIN(step ? (above - level) * step : GP_SCHED_SPAN_MAX, s->config.max_suspend_ns);
	set_narrow(s, d, true);
}

/*
 * So long that all of them have one within seven eighths of the bound. The first time by the time
 * that the level had, then by how many there were: most end earlier, because a request came.
 */
static void set_turn(const struct gp_sched *s, struct gp_sched_device *d)
{
	u64 round = GP_MAX(bound(s, d) / 16 * 15, 1), passed = s->now - d->rate_at;
	u64 due = gp_scale(GP_MAX(d->contenders, 1), passed, round);
	u64 last = d->turn_ns, turn = gp_scale(last, d->slot_count, GP_MAX(due, 1));

	/* Higher jobs left next to nothing: that says nothing about the next second. */
	if ((last ? 16 : 8) * slot_time(s, d) < passed)
		return;
	if (last)
		turn = GP_MIN(GP_MAX(turn, last / 2), 2 * last);
	else
		turn = gp_scale(round, slot_time(s, d), passed) / GP_MAX(d->contenders, 1);
	/* From less than the shortest turn it would take many seconds to recover. */
	turn = GP_MAX(turn, shortest_turn(d));
	d->turn_ns = GP_MAX(GP_MIN(turn, GP_MIN(round, 2 * longest_turn(s, d))), 1);
	d->run_ns = slot_time(s, d) / GP_MAX(d->slot_count, 1);
}

void gp_sched_narrow_look(struct gp_sched *s, struct gp_sched_device *d)
{
	u64 rate;

	if (s->now - d->rate_at < PERIOD_NS)
		return;
	rate = rate_of(s, d);
	if (!d->narrow) {
		d->rate_wide = rate;
		d->rate_known = true;
		rate_restart(s, d);
	} else if (d->rate_known && rate < d->rate_wide / 4 * 3) {
		d->wide_ns = d->wide_ns ? GP_MIN(2 * d->wide_ns, WIDE_NS_MAX) : WIDE_NS;
		d->wide_until = gp_later(s->now, d->wide_ns);
		set_narrow(s, d, false);
	} else if (s->now - d->preempted_at > PERIOD_NS &&
		   2 * slot_time(s, d) > s->now - d->rate_at) {
		d->wide_until = d->wide_ns = 0;
		d->rate_known = false;
		set_narrow(s, d, false);
	} else if (!d->rate_known && rate) {
		/* They complete work: for the comparison, a period side by side. */
		d->wide_until = gp_later(s->now, PERIOD_NS);
		set_narrow(s, d, false);
	} else {
		d->wide_ns = 0;
		set_turn(s, d);
		rate_restart(s, d);
	}
}

void gp_sched_narrow_drained(struct gp_sched *s, const struct gp_sched_member *m)
{
	struct gp_sched_device *d = gp_member_device(s, m);

	/* Of the jobs that are compared, once it is known which. */
	if (!gp_member_job(s, m)->lost_ns ||
	    (d->narrow_ageing && gp_sched_member_priority(s, m) != d->narrow_level))
		return;
	d->rate_drains++;
	gp_sched_narrow_look(s, d);
}
