// SPDX-License-Identifier: MIT
/* A job on a device: its work, what is known of its habits, and its place in the device's orders.
 */
#include "sched/state.h"

static bool runs(const struct gp_sched *s, const struct gp_sched_member *m)
{
	return m->contends && !gp_job_held(gp_member_job(s, m));
}

void gp_sched_member_account(struct gp_sched *s, struct gp_sched_member *m)
{
	struct gp_sched_device *d = gp_member_device(s, m);
	u64 ran = s->now - m->mark;

	m->mark = s->now;
	if (!ran || !m->contends || m->ghost)
		return;
	if (gp_job_held(gp_member_job(s, m))) {
		gp_member_job(s, m)->blocked_ns += ran;
		return;
	}
	m->ran_ns += ran;
	if (m->slot && gp_member_job(s, m)->run != GP_SCHED_RESUMING)
		m->served += ran;
	gp_member_job(s, m)->ran_ns += ran;
	if (d->policy->ran)
		d->policy->ran(s, m, ran);
}

void gp_sched_device_clock(struct gp_sched *s, struct gp_sched_device *d)
{
	u32 running = d->order[GP_ORDER_RUN].count;

	if (running && !d->switching)
		d->clock += (GP_MIN(s->now - d->clock_at, 1ull << 56) << 4) / running;
	d->clock_at = s->now;
}

void gp_sched_member_place(struct gp_sched *s, struct gp_sched_member *m)
{
	struct gp_sched_device *d = gp_member_device(s, m);
	const struct gp_sched_job *j = gp_member_job(s, m);
	u32 id = gp_member_index(s, m), waits = GP_ORDERS;
	bool held = gp_job_held(j), run = m->contends && !held;
	bool was = gp_order_has(&d->order[GP_ORDER_RUN], id);

	if (d->policy->clock && run != was)
		gp_sched_device_clock(s, d);
	if (run && !was && d->config.places)
		gp_sched_park_started(s, m);
	if (run) {
		u64 key = d->policy->key(s, m, false);

		gp_order_set(&d->order[GP_ORDER_RUN], id, key);
		if (gp_member_exposed(s, m))
			gp_order_set(&d->order[GP_ORDER_LAST], id, ~key);
		else
			gp_order_remove(&d->order[GP_ORDER_LAST], id);
	} else if (was) {
		gp_order_remove(&d->order[GP_ORDER_RUN], id);
		gp_order_remove(&d->order[GP_ORDER_LAST], id);
	}
	if (m->contends && held && m->waits)
		waits = gp_sched_narrow_has(s, m)                 ? GP_ORDER_TURN
			: j->queued && gp_sched_park_queues(s, m) ? GP_ORDER_QUEUED
								  : GP_ORDER_HELD;
	if (m->waits_in != waits && m->waits_in != GP_ORDERS)
		gp_order_remove(&d->order[m->waits_in], id);
	if (waits != GP_ORDERS)
		gp_order_set(&d->order[waits], id, d->policy->key(s, m, true));
	m->waits_in = (u8)waits;
	if (d->narrow || m->slot || m->place[GP_ORDER_NEXT])
		gp_sched_narrow_place(s, m);
	if (d->config.places || m->processes)
		gp_sched_park_place(s, m);
	if (run && !was && d->policy->start)
		d->policy->start(s, m);
	s->dirty |= 1ull << m->device;
}

void gp_sched_job_place(struct gp_sched *s, struct gp_sched_job *j)
{
	struct gp_list *link;

	gp_list_for_each (link, &j->members) {
		struct gp_sched_member *m = gp_container(link, struct gp_sched_member, job_link);

		gp_sched_member_place(s, m);
		gp_sched_member_arm(s, m);
	}
}

void gp_sched_member_arm(struct gp_sched *s, struct gp_sched_member *m)
{
	u64 at = GP_SCHED_NEVER;

	if (m->maybe[0] + m->maybe[1] + m->maybe[2])
		at = m->maybe_until;
	if (m->ghost)
		at = GP_MIN(at, m->ghost_until);
	else if (m->hint_at != GP_SCHED_NEVER)
		at = GP_MIN(at, m->hint_at);
	if (runs(s, m))
		at = GP_MIN(at, m->tick_at);
	gp_sched_set_timer(s, s->timer_member + gp_member_index(s, m), at);
}

static void contend(struct gp_sched *s, struct gp_sched_member *m, bool contends)
{
	struct gp_sched_device *d = gp_member_device(s, m);
	struct gp_sched_job *j = gp_member_job(s, m);

	if (m->contends == contends)
		return;
	gp_sched_job_tally(s, j);
	if (contends && j->parked) {
		gp_sched_unpark(s, j);
		j->queued = true;
	}
	m->contends = contends;
	m->mark = s->now;
	m->waits = false;
	if (contends) {
		j->contending++;
		d->contenders++;
		d->weights += j->weight;
		/* On a device that does not hold it yet, it waits for this one's word as well. */
		m->waits = gp_job_held(j) && j->pin != GP_SCHED_PIN_HOLD;
		if (d->policy->arrive)
			d->policy->arrive(s, m);
	} else {
		j->contending--;
		d->contenders--;
		d->weights -= j->weight;
		m->tick_at = GP_SCHED_NEVER;
		m->over = false;
	}
}

/* The first work after nothing. */
static void arrive(struct gp_sched *s, struct gp_sched_member *m)
{
	struct gp_sched_job *j = gp_member_job(s, m);
	const struct gp_sched_device *d = gp_member_device(s, m);
	bool ghost = m->ghost;

	if (m->ghost == GP_GHOST_LINGER)
		m->early_misses = 0;
	if (m->drained != GP_SCHED_NEVER)
		m->gap_ns = gp_sched_average(m->gap_ns, s->now - m->drained);
	if (m->ghost == GP_GHOST_HINT ||
	    (m->hint_at != GP_SCHED_NEVER && gp_later(s->now, d->config.hint_ns) >= m->hint_at))
		j->hint_misses = 0;
	m->hint_at = GP_SCHED_NEVER;
	m->ghost = GP_GHOST_NONE;
	m->arrived = m->mark = s->now;
	m->ran_ns = 0;
	m->beside = false;
	contend(s, m, true);
	if (ghost && d->policy->arrive)
		d->policy->arrive(s, m);
}

/*
 * May a job that has just drained keep its place? Only where it would be preempting again before
 * the ones it holds up have got back to work: because it usually comes back that soon, or because
 * it has run for a fraction of what it usually does, so that this is more likely a pause in its
 * submission than the end. `usual` is its burst before this one. Returns for how long, 0: no.
 */
static u64 lingers(struct gp_sched *s, struct gp_sched_member *m, u64 usual, enum gp_sched_why *why)
{
	struct gp_sched_device *d = gp_member_device(s, m);
	const struct gp_sched_member *held = gp_order_top(s, &d->order[GP_ORDER_HELD]);
	u64 cost;

	if (!held)
		held = gp_order_top(s, &d->order[GP_ORDER_TURN]);

	if (!d->policy->ahead || !held || gp_order_top(s, &d->order[GP_ORDER_RUN]) != m)
		return 0;
	if (d->order[GP_ORDER_QUEUED].count) /* an equal waits */
		return 0;
	cost = gp_sched_job_cost(s, gp_member_job(s, held), m->device);
	if (m->gap_ns && m->gap_ns < GP_MIN(cost, d->config.linger_ns)) {
		*why = GP_SCHED_WHY_LINGER;
		return GP_MIN(2 * m->gap_ns, d->config.linger_ns);
	}
	/* After a time of long bursts all of the usual length look like that: it must have been
	 * right now and then. */
	*why = GP_SCHED_WHY_EARLY;
	if (m->ran_ns >= usual / GP_SCHED_EARLY)
		m->early_misses = 0;
	else if (m->early_misses < GP_SCHED_HINT_TRUST)
		return GP_MIN(cost, d->config.linger_ns);
	return 0;
}

static void drain(struct gp_sched *s, struct gp_sched_member *m)
{
	struct gp_sched_device *d = gp_member_device(s, m);
	struct gp_sched_job *j = gp_member_job(s, m);
	enum gp_sched_why why;
	u64 usual = m->burst_ns, keeps;

	gp_sched_member_account(s, m);
	/* Beside others it takes longer for the same work; without a crowd alone_ns is old. */
	if (m->alone_ns && d->config.places && d->processes > d->config.places)
		usual = GP_MIN(usual, m->alone_ns);
	keeps = runs(s, m) ? lingers(s, m, usual, &why) : 0;
	if (d->config.places)
		gp_sched_park_drained(s, m);
	if (m->ran_ns)
		m->burst_ns = gp_sched_average(m->burst_ns, m->ran_ns);
	if (d->policy->drain)
		d->policy->drain(s, m);
	if (d->policy->owes)
		gp_sched_narrow_drained(s, m);
	m->drained = s->now;
	m->needs_ns = 0;
	m->ran_ns = 0;
	j->outlived = false;
	if (keeps) {
		struct gp_sched_action *note =
			gp_sched_emit(s, GP_SCHED_NOTE, why, m->job, GP_SCHED_NONE, m->device);

		note->reason.waited_ns = m->gap_ns;
		note->reason.ran_ns = usual;
		note->reason.limit_ns = keeps;
		m->ghost = GP_GHOST_LINGER;
		m->ghost_until = gp_later(s->now, keeps);
	} else {
		contend(s, m, false);
	}
	if (j->shield == GP_SCHED_SHIELD_COST)
		gp_sched_job_shield(s, j, GP_SCHED_SHIELD_NONE, 0);
}

/* The device that held it has no say any more: the others where it has work are asked. */
static void ask_others(struct gp_sched *s, struct gp_sched_job *j)
{
	struct gp_list *link;

	gp_list_for_each (link, &j->members) {
		struct gp_sched_member *m = gp_container(link, struct gp_sched_member, job_link);

		if (!m->contends || m->waits)
			continue;
		m->waits = true;
		gp_sched_member_place(s, m);
	}
}

void gp_sched_member_update(struct gp_sched *s, struct gp_sched_member *m)
{
	struct gp_sched_job *j = gp_member_job(s, m);
	bool work = gp_member_work(m) && !j->absent, had = m->contends && !m->ghost;

	if (work && !had)
		arrive(s, m);
	else if (!work && had)
		drain(s, m);
	gp_sched_member_place(s, m);
	gp_sched_member_arm(s, m);
	if (work || !had || !gp_job_held(j) || j->pin == GP_SCHED_PIN_HOLD)
		return;
	if (j->contending)
		ask_others(s, j);
	else
		gp_sched_job_resume(s, j, GP_SCHED_WHY_IDLE, GP_SCHED_SHIELD_NONE, NULL);
}

void gp_sched_member_unghost(struct gp_sched *s, struct gp_sched_member *m)
{
	if (!m->ghost)
		return;
	m->ghost = GP_GHOST_NONE;
	m->hint_at = GP_SCHED_NEVER;
	contend(s, m, false);
	gp_sched_member_place(s, m);
	gp_sched_member_arm(s, m);
}

void gp_sched_member_withdraw(struct gp_sched *s, struct gp_sched_member *m)
{
	gp_sched_member_account(s, m);
	m->ghost = GP_GHOST_NONE;
	/* Neither a burst nor a gap: nothing is learnt from it. */
	m->hint_at = m->drained = GP_SCHED_NEVER;
	contend(s, m, false);
	gp_sched_member_place(s, m);
	gp_sched_member_arm(s, m);
}

/* The hint's time has come, less what it takes to make room. */
static void expect(struct gp_sched *s, struct gp_sched_member *m)
{
	const struct gp_sched_device *d = gp_member_device(s, m);
	struct gp_sched_job *j = gp_member_job(s, m);
	u64 until = gp_later(gp_later(m->hint_at, d->suspend_ns), d->config.hint_ns);

	if (j->parked) /* its work is near: it needs its place */
		gp_sched_job_resume(s, j, GP_SCHED_WHY_CLEAR, GP_SCHED_SHIELD_NONE, NULL);
	if (m->contends || gp_job_held(j) || !d->policy->ahead ||
	    j->hint_misses >= GP_SCHED_HINT_TRUST || until <= s->now) {
		m->hint_at = GP_SCHED_NEVER;
		return;
	}
	m->ghost = GP_GHOST_HINT;
	m->ghost_until = until;
	m->hint_at = GP_SCHED_NEVER;
	m->arrived = s->now;
	contend(s, m, true);
}

void gp_sched_member_timer(struct gp_sched *s, struct gp_sched_member *m)
{
	const struct gp_sched_device *d = gp_member_device(s, m);

	if (m->maybe[0] + m->maybe[1] + m->maybe[2] && m->maybe_until <= s->now) {
		for (u32 i = 0; i < 3; i++) {
			m->busy[i] -= m->maybe[i];
			m->maybe[i] = 0;
		}
		m->epoch++;
		gp_sched_member_update(s, m);
	}
	if (m->ghost && m->ghost_until <= s->now) {
		if (m->ghost == GP_GHOST_HINT) {
			gp_member_job(s, m)->hint_misses++;
			gp_sched_emit(s, GP_SCHED_NOTE, GP_SCHED_WHY_HINT_MISSED, m->job,
				      GP_SCHED_NONE, m->device);
		} else if (m->early_misses < GP_SCHED_HINT_TRUST) {
			m->early_misses++;
		}
		gp_sched_member_unghost(s, m);
	} else if (!m->ghost && m->hint_at <= s->now) {
		expect(s, m);
	}
	if (runs(s, m) && m->tick_at <= s->now) {
		m->tick_at = GP_SCHED_NEVER;
		gp_sched_member_account(s, m);
		d->policy->tick(s, m);
	}
	gp_sched_member_place(s, m);
	gp_sched_member_arm(s, m);
}

static u64 ran_so_far(const struct gp_sched *s, const struct gp_sched_member *m)
{
	return m->ran_ns + (runs(s, m) ? s->now - m->mark : 0);
}

bool gp_sched_member_is_late(const struct gp_sched *s, const struct gp_sched_member *m)
{
	return ran_so_far(s, m) >= (m->needs_ns ? m->needs_ns : m->burst_ns);
}

u64 gp_sched_member_remaining(const struct gp_sched *s, const struct gp_sched_member *m)
{
	u64 ran = ran_so_far(s, m), whole = m->needs_ns ? m->needs_ns : m->burst_ns;

	if (!whole)
		return GP_SCHED_UNKNOWN;
	/* Past the usual end: what has lasted so long is taken to last as long again. */
	return ran < whole ? whole - ran : ran;
}

/* Twice as much for every 250 levels: online has 64 times what offline has. */
static u32 share_of_priority(u32 priority)
{
	return 1u << GP_MIN(priority / 250, 24u);
}

void gp_sched_member_share(struct gp_sched *s, struct gp_sched_member *m)
{
	const struct gp_sched_device *d = gp_member_device(s, m);
	const struct gp_sched_job *j = gp_member_job(s, m);
	u32 share = 0;

	if (j->pin == GP_SCHED_PIN_RUN)
		share = 0; /* it is left alone */
	else if (d->config.can_share && d->config.policy == GP_SCHED_QUANTUM)
		share = j->weight;
	else if (d->config.slices && d->config.policy == GP_SCHED_PRIORITY)
		share = share_of_priority(j->priority);

	if (share == m->share)
		return;
	m->share = share;
	gp_sched_emit(s, GP_SCHED_SHARE, GP_SCHED_WHY_WEIGHT, m->job, GP_SCHED_NONE, m->device)
		->share = share;
}
