// SPDX-License-Identifier: MIT
/*
 * The decision. The heads of a device's three orders are all there is to look at: if the first of
 * the held may run beside the best that runs, it comes back; if the last that runs must yield to
 * the best, it goes, unless that costs more than it saves. Repeated until neither is so.
 */
#include "sched/state.h"

static void seen(const struct gp_sched *s, struct gp_sched_reason *reason,
		 const struct gp_sched_member *member, const struct gp_sched_member *best)
{
	const struct gp_sched_policy *policy = gp_member_device(s, member)->policy;

	reason->job_priority = gp_sched_member_priority(s, member);
	reason->job_rank = policy->key(s, member, false);
	if (!best)
		return;
	reason->other_priority = gp_sched_member_priority(s, best);
	reason->other_rank = policy->key(s, best, false);
}

/* Whether it is about their turns. */
static bool in_turns(const struct gp_sched *s, const struct gp_sched_member *best,
		     const struct gp_sched_member *m)
{
	return (gp_sched_turns_has(s, best) && gp_sched_turns_has(s, m)) ||
	       (gp_sched_narrow_has(s, best) && gp_sched_narrow_has(s, m));
}

/* When the device lets it run: 0 at once. */
static u64 returns(const struct gp_sched *s, const struct gp_sched_member *m)
{
	const struct gp_sched_device *d = gp_member_device(s, m);
	const struct gp_sched_member *best = gp_order_top(s, &d->order[GP_ORDER_RUN]);

	return best && d->config.can_suspend ? d->policy->returns(s, best, m) : 0;
}

/* This device lets the job go; do the others where it has work? */
static bool agreed(struct gp_sched *s, const struct gp_sched_job *j,
		   const struct gp_sched_member *member)
{
	struct gp_list *link;
	bool all = true;

	gp_list_for_each (link, &j->members) {
		struct gp_sched_member *m = gp_container(link, struct gp_sched_member, job_link);

		if (m == member || !m->contends || returns(s, m) <= s->now)
			continue;
		all = false;
		if (m->waits)
			continue;
		m->waits = true;
		gp_sched_member_place(s, m);
	}
	return all;
}

static void bring_back(struct gp_sched *s, struct gp_sched_device *d, struct gp_sched_member *m,
		       const struct gp_sched_member *best)
{
	enum gp_sched_shield shield = GP_SCHED_SHIELD_MIN_RUN;
	enum gp_sched_why why = GP_SCHED_WHY_CLEAR;
	struct gp_sched_job *j = gp_member_job(s, m);
	struct gp_sched_action *action;
	u64 waited;

	if (!agreed(s, j, m)) {
		/* The other device has it now, and asks again when it is ready. */
		m->waits = false;
		gp_sched_member_place(s, m);
		return;
	}
	if (d->changed) {
		why = GP_SCHED_WHY_POLICY;
	} else if (best && d->config.can_suspend) {
		why = in_turns(s, best, m) ? GP_SCHED_WHY_TURN : d->policy->resumes;
		/* It is let in though it is behind: that is a turn, or it would be out again at
		 * once. */
		if (d->policy->yields(s, best, m))
			shield = GP_SCHED_SHIELD_TURN;
		else if (why == GP_SCHED_WHY_AGED)
			why = GP_SCHED_WHY_CLEAR;
	}
	waited = s->now - j->aged_since;
	action = gp_sched_job_resume(s, j, why, shield, best);
	if (why == GP_SCHED_WHY_AGED)
		action->reason.limit_ns = waited;
	action->device = m->device;
	action->reason.device = m->device;
	action->reason.policy = d->config.policy;
	seen(s, &action->reason, m, best);
}

/* Once for a stretch, not each time that it is extended. */
static void note_owed(struct gp_sched *s, struct gp_sched_job *j, const struct gp_sched_member *m,
		      const struct gp_sched_member *best, u64 owed)
{
	struct gp_sched_action *note;

	if (j->put_off == GP_SCHED_SHIELD_OWED && j->put_off_at == s->now)
		return;
	note = gp_sched_emit(s, GP_SCHED_NOTE, GP_SCHED_WHY_OWED, m->job, best->job, m->device);
	j->declined++;
	note->reason.limit_ns = owed;
	note->reason.ran_ns = j->gained_ns;
	note->reason.cost_ns = j->lost_ns;
	seen(s, &note->reason, m, best);
}

/*
 * A turn is at least as long as the resume before it took. So it has at least half of a gap between
 * the works of higher jobs, also of one in which there was hardly time for the resume.
 */
static u64 turn_left(const struct gp_sched *s, const struct gp_sched_device *d,
		     const struct gp_sched_job *j)
{
	u64 least = j->resume_ns ? j->resume_ns : d->resume_ns, ran = s->now - j->resumed_at;

	return ran < least ? GP_MIN(least - ran, j->spec.max_suspend_ns) : 0;
}

/*
 * It stays: preemptions have cost it more than it got, or it has waited for so long, in parts, that
 * it would be back before it is gone. False: neither.
 */
static bool leave_alone(struct gp_sched *s, struct gp_sched_device *d, struct gp_sched_member *m,
			const struct gp_sched_member *best, u64 cost, bool place)
{
	struct gp_sched_job *j = gp_member_job(s, m);
	/* The turn of one that takes turns was its due; and once turns have been found to pay, the
	 * next one makes up for one that was cut short. */
	bool had = gp_sched_narrow_has(s, m) &&
		   (d->turn_ns || (j->put_off == GP_SCHED_SHIELD_TURN && j->put_off_at == s->now));
	/* Each has its part of a round, however long the operations between turns take. */
	bool turns = gp_sched_turns_has(s, m) && gp_sched_turns_has(s, best);
	u64 owed = !d->policy->owes || turns ? 0
		   : had                     ? turn_left(s, d, j)
					     : gp_sched_job_owed(s, j);
	u64 soon = gp_later(s->now, cost);

	if (d->policy->owes)
		gp_sched_narrow_begin(s, m, best, 4 * j->lost_ns > j->gained_ns);
	if (owed) {
		note_owed(s, j, m, best, owed);
		/* For less than a preemption costs, the question would come again at once. */
		owed = had ? owed : GP_MIN(GP_MAX(owed, cost), j->spec.max_suspend_ns);
		gp_sched_job_shield(s, j, GP_SCHED_SHIELD_OWED, gp_sched_together(s->now, owed));
		return true;
	}
	j->aged_since = gp_sched_job_aged(s, j);
	if (place || j->aged_since == s->now ||
	    (gp_later(j->aged_since, j->spec.max_suspend_ns) > soon &&
	     d->policy->returns(s, best, m) > soon))
		return false;
	gp_sched_job_shield(s, j, GP_SCHED_SHIELD_TURN,
			    gp_later(s->now, gp_sched_narrow_shield(s, m->device)));
	return true;
}

static void send_away(struct gp_sched *s, struct gp_sched_device *d, struct gp_sched_member *m,
		      const struct gp_sched_member *best)
{
	struct gp_sched_job *j = gp_member_job(s, m);
	u64 cost = gp_sched_job_cost(s, j, m->device), saves = gp_sched_member_remaining(s, m);
	bool equal = gp_sched_member_priority(s, best) == gp_sched_member_priority(s, m);
	bool hint = best->ghost == GP_GHOST_HINT;
	bool place = equal && m->over && !gp_sched_narrow_has(s, m);
	bool turn = place || in_turns(s, best, m);
	struct gp_sched_action *action;
	u64 ran = s->now - GP_MAX(m->arrived, j->resumed_at), rank = d->policy->key(s, m, false);

	if (d->policy->declines && saves < cost && !j->outlived) {
		action = gp_sched_emit(s, GP_SCHED_NOTE, GP_SCHED_WHY_DECLINED, m->job, best->job,
				       m->device);
		action->reason.limit_ns = saves;
		j->declined++;
		gp_sched_job_shield(s, j, GP_SCHED_SHIELD_COST, gp_later(s->now, saves));
	} else if (leave_alone(s, d, m, best, cost, place)) {
		return;
	} else {
		if (!turn)
			d->preempted_at = s->now;
		if (place)
			gp_sched_park_queue(s, m);
		/* Past its usual end nobody knows how long it takes. */
		if (gp_sched_member_is_late(s, m))
			saves = GP_SCHED_UNKNOWN;
		action = gp_sched_job_suspend(s, j,
					      turn                       ? GP_SCHED_WHY_TURN_OVER
					      : hint && d->policy->ahead ? GP_SCHED_WHY_HINT
									 : d->policy->suspends,
					      m, best);
		action->reason.limit_ns = j->spec.max_suspend_ns;
	}
	action->reason.cost_ns = cost;
	action->reason.saves_ns = saves;
	action->reason.waited_ns = s->now - best->arrived;
	action->reason.ran_ns = ran;
	seen(s, &action->reason, m, best);
	action->reason.job_rank = rank; /* as it was compared */
}

/* The first of those that may come back now, one that waits for its turn last; otherwise when the
 * next one may. */
static struct gp_sched_member *first_back(struct gp_sched *s, struct gp_sched_device *d,
					  const struct gp_sched_member *best, u64 *at)
{
	static const u8 orders[] = {GP_ORDER_HELD, GP_ORDER_QUEUED, GP_ORDER_TURN};
	u32 first = GP_ORDERS;

	*at = GP_SCHED_NEVER;
	for (u32 i = 0; i < GP_ARRAY_SIZE(orders); i++) {
		u32 order = orders[i];
		u64 when;

		if (!d->order[order].count)
			continue;
		when = returns(s, gp_order_top(s, &d->order[order]));
		*at = GP_MIN(*at, when);
		if (when > s->now)
			continue;
		if (first == GP_ORDERS ||
		    (order != GP_ORDER_TURN &&
		     d->order[order].entry[0].key < d->order[first].entry[0].key))
			first = order;
	}
	if (first == GP_ORDERS)
		return NULL;
	/* One that is let in for its age beside a higher one is the oldest. */
	if (first == GP_ORDER_TURN &&
	    !(best && d->policy->yields(s, best, gp_order_top(s, &d->order[first]))))
		return gp_sched_narrow_next(s, d);
	return gp_order_top(s, &d->order[first]);
}

/* One look at the heads. True when something changed. */
static bool step(struct gp_sched *s, struct gp_sched_device *d)
{
	struct gp_sched_member *best = gp_order_top(s, &d->order[GP_ORDER_RUN]);
	struct gp_sched_member *held = gp_order_top(s, &d->order[GP_ORDER_HELD]);
	struct gp_sched_member *last = gp_order_top(s, &d->order[GP_ORDER_LAST]);
	struct gp_sched_member *next;
	u64 at;

	next = gp_sched_park_exchange(s, d, last);
	if (next) {
		send_away(s, d, last, next);
		return true;
	}
	if (best && best->over && gp_sched_park_again(s, d, best))
		return true;
	if (best && (held || last != best) && d->policy->refresh && d->policy->refresh(s, best))
		return true;
	if (d->order[GP_ORDER_QUEUED].count && gp_sched_park_unqueue(s, d, best))
		return true;
	held = first_back(s, d, best, &at);
	if (held) {
		bring_back(s, d, held, best);
		return true;
	}
	if (last && last != best && d->policy->yields(s, best, last)) {
		send_away(s, d, last, best);
		return true;
	}
	if (d->order[GP_ORDER_IDLE].count + d->order[GP_ORDER_PARKED].count &&
	    gp_sched_park_step(s, d))
		return true;
	gp_sched_set_timer(s, s->timer_device + d->index, at);
	return false;
}

static bool has_room(const struct gp_sched *s)
{
	return s->action_count + GP_SCHED_EVENT_ROOM <= GP_SCHED_ACTIONS;
}

/* After the policy or a weight changed: what is to be said about shares. */
static bool share(struct gp_sched *s, struct gp_sched_device *d)
{
	while (d->share_cursor && d->share_cursor != &d->members) {
		if (!has_room(s))
			return false;
		gp_sched_member_share(s,
				      gp_container(d->share_cursor, struct gp_sched_member, link));
		d->share_cursor = d->share_cursor->next;
	}
	d->share_cursor = NULL;
	return true;
}

void gp_sched_settle(struct gp_sched *s)
{
	u64 next;

	while (s->dirty) {
		u32 index = gp_lowest_bit(s->dirty);
		struct gp_sched_device *d = &s->device[index];

		/* What does not fit now goes on when the actions so far are taken. */
		if (!share(s, d) || !has_room(s))
			return;
		if (step(s, d))
			continue;
		d->changed = false;
		s->dirty &= ~(1ull << index);
	}
	next = gp_sched_next(s);
	if (next < s->armed) {
		s->armed = next;
		gp_sched_emit(s, GP_SCHED_TIMER, GP_SCHED_WHY_ROUTINE, GP_SCHED_NONE, GP_SCHED_NONE,
			      GP_SCHED_NONE)
			->until_ns = next;
	}
}
