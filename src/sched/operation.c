// SPDX-License-Identifier: MIT
/*
 * Holding a job and letting it go: the operations, what becomes of them, and what protects a job
 * from the next one. A job is held from its SUSPEND to its RESUME, whatever the operations do.
 */
#include "sched/state.h"

u64 gp_sched_job_cost(const struct gp_sched *s, const struct gp_sched_job *j, u32 device)
{
	const struct gp_sched_device *d = &s->device[device];

	return (j->suspend_ns ? j->suspend_ns : d->suspend_ns) +
	       (j->resume_ns ? j->resume_ns : d->resume_ns);
}

void gp_sched_job_arm(struct gp_sched *s, struct gp_sched_job *j)
{
	u64 at = GP_SCHED_NEVER;

	if (gp_job_held(j) && !j->parked)
		at = gp_later(j->aged_since, j->spec.max_suspend_ns);
	if (j->token)
		at = GP_MIN(at, j->op_until);
	at = GP_MIN(at, j->retry_at);
	if (j->shield)
		at = GP_MIN(at, j->shield_until);
	gp_sched_set_timer(s, gp_job_index(s, j), at);
}

void gp_sched_job_shield(struct gp_sched *s, struct gp_sched_job *j, enum gp_sched_shield shield,
			 u64 until)
{
	gp_sched_job_tally(s, j);
	j->shield = shield;
	j->shield_until = until;
	gp_sched_job_place(s, j);
	gp_sched_job_arm(s, j);
}

/* The device that an operation is on is nobody's while it lasts: its clock stands still. */
static void count_switching(struct gp_sched *s, u32 device, u32 by)
{
	struct gp_sched_device *d;

	if (device == GP_SCHED_NONE)
		return;
	d = &s->device[device];
	if (d->policy->clock)
		gp_sched_device_clock(s, d);
	d->switching += by;
}

static void set_token(struct gp_sched *s, struct gp_sched_job *j, u64 token)
{
	if (j->token) {
		count_switching(s, j->op_device, -1u);
		if (j->storms)
			gp_sched_storm_count(s, &s->device[j->op_device], -1u);
	}
	j->token = token;
	j->op_device = j->held_device;
	j->storms = j->token && !j->tries && j->op_device != GP_SCHED_NONE;
	if (j->token)
		count_switching(s, j->op_device, 1);
	if (j->storms)
		gp_sched_storm_count(s, &s->device[j->op_device], 1);
}

void gp_sched_job_forget(struct gp_sched *s, struct gp_sched_job *j)
{
	set_token(s, j, 0);
}

static void start_operation(struct gp_sched *s, struct gp_sched_job *j,
			    struct gp_sched_action *action)
{
	set_token(s, j, ++s->tokens << GP_SCHED_TOKEN_SHIFT | gp_job_index(s, j));
	j->op_among = j->op_device == GP_SCHED_NONE ? 1 : GP_MAX(s->device[j->op_device].storm, 1);
	j->op_at = s->now;
	j->op_until = gp_later(s->now, s->config.op_timeout_ns);
	j->retry_at = GP_SCHED_NEVER;
	action->token = j->token;
}

static void account_all(struct gp_sched *s, struct gp_sched_job *j)
{
	struct gp_list *link;

	gp_list_for_each (link, &j->members)
		gp_sched_member_account(s, gp_container(link, struct gp_sched_member, job_link));
}

struct gp_sched_action *gp_sched_job_suspend(struct gp_sched *s, struct gp_sched_job *j,
					     enum gp_sched_why why,
					     const struct gp_sched_member *member,
					     const struct gp_sched_member *other)
{
	u32 device = member ? member->device : GP_SCHED_NONE;
	struct gp_sched_action *action;
	struct gp_list *link;

	GP_ASSERT(!gp_job_held(j));
	account_all(s, j);
	j->aged_since = s->now;
	if (member)
		j->aged_since = GP_MIN(gp_sched_job_aged(s, j),
				       s->now - GP_MIN(gp_sched_narrow_credit(s, member), s->now));
	action = gp_sched_emit(s, GP_SCHED_SUSPEND, why, gp_job_index(s, j),
			       other ? other->job : GP_SCHED_NONE, device);
	action->until_ns = gp_later(s->now, s->config.lease_ns);
	gp_sched_job_tally_on(s, j, device);
	start_operation(s, j, action);
	action->reason.shield = j->put_off_at == s->now ? j->put_off : GP_SCHED_SHIELD_NONE;
	j->run = GP_SCHED_SUSPENDING;
	j->held_since = s->now;
	j->held_by = action->reason.id;
	j->shield = GP_SCHED_SHIELD_NONE;
	j->outlived = false;
	j->was_idle = why == GP_SCHED_WHY_PARKED;
	j->suspends += !j->was_idle; /* that denies it nothing */
	if (!s->held++)
		gp_sched_set_timer(s, s->timer_renew, gp_later(s->now, s->config.lease_ns / 3));
	gp_list_for_each (link, &j->members) {
		struct gp_sched_member *m = gp_container(link, struct gp_sched_member, job_link);

		gp_sched_member_unghost(s, m);
		m->waits = m == member;
		m->over = false;
	}
	gp_sched_job_place(s, j);
	gp_sched_job_arm(s, j);
	return action;
}

u32 gp_sched_job_held_for(const struct gp_sched *s, const struct gp_sched_job *j)
{
	const struct gp_list *link;

	gp_list_for_each (link, &j->members) {
		const struct gp_sched_member *m =
			gp_container(link, struct gp_sched_member, job_link);
		const struct gp_sched_member *best =
			gp_order_top(s, &gp_member_device(s, m)->order[GP_ORDER_RUN]);

		if (gp_member_waits(m) && best)
			return best->job;
	}
	return GP_SCHED_NONE;
}

void gp_sched_job_suspend_again(struct gp_sched *s, struct gp_sched_job *j)
{
	struct gp_sched_action *action =
		gp_sched_emit(s, GP_SCHED_SUSPEND, GP_SCHED_WHY_JOINED, gp_job_index(s, j),
			      gp_sched_job_held_for(s, j), j->held_device);

	action->until_ns = gp_later(s->now, s->config.lease_ns);
	action->reason.cause = j->held_by;
	start_operation(s, j, action);
	j->run = GP_SCHED_SUSPENDING;
	gp_sched_job_arm(s, j);
}

/* It is not held any more; the shield counts from the moment it really runs. */
static void release(struct gp_sched *s, struct gp_sched_job *j, enum gp_sched_shield shield)
{
	u32 device = j->held_device == GP_SCHED_NONE ? 0 : j->held_device;
	const struct gp_sched_device_config *config = &s->device[device].config;
	struct gp_list *link;

	GP_ASSERT(gp_job_held(j) && s->held);
	account_all(s, j); /* nothing ran, but time went by */
	gp_sched_job_tally(s, j);
	j->denied_ns = s->now - j->aged_since;
	/* A turn beside a higher job is short where many have one. */
	j->makes_up_ns = shield == GP_SCHED_SHIELD_TURN ? gp_sched_narrow_shield(s, device)
							: gp_sched_narrow_makes_up(s, device);
	if (shield == GP_SCHED_SHIELD_TURN)
		s->device[device].forced_at = s->now;
	s->held--;
	j->held_ns += j->parked ? 0 : s->now - j->held_since;
	j->held_since = GP_SCHED_NEVER;
	if (j->queued)
		s->device[device].let_in_at = s->now;
	j->parked = j->queued = false;
	j->held_by = 0;
	j->shield = shield;
	j->shield_until = GP_SCHED_NEVER;
	j->shield_ns = shield == GP_SCHED_SHIELD_TURN      ? gp_sched_narrow_shield(s, device)
		       : shield == GP_SCHED_SHIELD_MIN_RUN ? config->min_run_ns
		       : shield == GP_SCHED_SHIELD_FAILED
			       ? GP_SCHED_BACKOFF_NS << GP_MIN(j->tries, GP_SCHED_RETRY_SHIFT)
			       : 0;
	gp_list_for_each (link, &j->members)
		gp_container(link, struct gp_sched_member, job_link)->waits = false;
}

struct gp_sched_action *gp_sched_job_resume(struct gp_sched *s, struct gp_sched_job *j,
					    enum gp_sched_why why, enum gp_sched_shield shield,
					    const struct gp_sched_member *other)
{
	u64 cause = j->held_by, held = s->now - j->held_since;
	struct gp_sched_action *action;

	release(s, j, shield);
	action = gp_sched_emit(s, GP_SCHED_RESUME, why, gp_job_index(s, j),
			       other ? other->job : GP_SCHED_NONE, j->held_device);
	action->reason.cause = cause;
	action->reason.waited_ns = held;
	start_operation(s, j, action);
	j->run = GP_SCHED_RESUMING;
	gp_sched_job_place(s, j);
	gp_sched_job_arm(s, j);
	return action;
}

/* It runs: now its shield begins. */
static void running(struct gp_sched *s, struct gp_sched_job *j)
{
	gp_sched_job_tally(s, j);
	account_all(s, j); /* while it was resumed it got nothing */
	j->run = GP_SCHED_RUNNING;
	j->resumed_at = s->now;
	set_token(s, j, 0);
	j->retry_at = GP_SCHED_NEVER;
	if (j->pin == GP_SCHED_PIN_RUN)
		gp_sched_job_shield(s, j, GP_SCHED_SHIELD_PIN, GP_SCHED_NEVER);
	else if (j->shield_ns)
		gp_sched_job_shield(s, j, j->shield, gp_later(s->now, j->shield_ns));
	else
		gp_sched_job_shield(s, j, GP_SCHED_SHIELD_NONE, 0);
}

/* Whatever is under way for it does not matter any more. */
static void withdraw(struct gp_sched *s, struct gp_sched_job *j)
{
	struct gp_list *link;

	if (gp_job_held(j))
		gp_sched_job_resume(s, j, GP_SCHED_WHY_WITHDRAWN, GP_SCHED_SHIELD_NONE, NULL)
			->token = 0;
	j->absent = true;
	j->absent_since = s->now;
	j->tries = 0;
	j->shield_ns = j->denied_ns = 0;
	s->stats.absent++;
	gp_list_for_each (link, &j->members)
		gp_sched_member_withdraw(s, gp_container(link, struct gp_sched_member, job_link));
	running(s, j);
	j->gained_ns = j->lost_ns = 0;
}

static void come_back(struct gp_sched *s, struct gp_sched_job *j)
{
	struct gp_list *link;

	j->absent = false;
	j->absent_ns += s->now - j->absent_since;
	s->stats.absent--;
	gp_list_for_each (link, &j->members)
		gp_sched_member_update(s, gp_container(link, struct gp_sched_member, job_link));
	if (j->pin == GP_SCHED_PIN_HOLD)
		gp_sched_job_suspend(s, j, GP_SCHED_WHY_PINNED, NULL, NULL)->reason.limit_ns =
			j->spec.max_suspend_ns;
}

int gp_sched_job_absent(struct gp_sched *s, u64 now, u32 index, bool absent)
{
	struct gp_sched_job *j = gp_sched_job(s, index);
	struct gp_sched_action *note;
	int error;

	if (!j)
		return -ENOENT;
	error = gp_sched_begin(s, now);
	if (error)
		return error;
	if (j->absent == absent)
		return 0;
	note = gp_sched_emit(s, GP_SCHED_NOTE, absent ? GP_SCHED_WHY_ABSENT : GP_SCHED_WHY_PRESENT,
			     index, GP_SCHED_NONE, GP_SCHED_NONE);
	note->reason.cause = j->held_by;
	if (absent) {
		withdraw(s, j);
	} else {
		note->reason.waited_ns = s->now - j->absent_since;
		come_back(s, j);
	}
	gp_sched_settle(s);
	return 0;
}

static void failed(struct gp_sched *s, struct gp_sched_job *j, enum gp_sched_why why, int error)
{
	struct gp_sched_action *note = gp_sched_emit(s, GP_SCHED_NOTE, why, gp_job_index(s, j),
						     GP_SCHED_NONE, j->held_device);

	note->reason.error = error;
	note->reason.cause = j->held_by;
	note->reason.limit_ns = s->config.op_timeout_ns;
	j->failures++;
	j->tries++;
	set_token(s, j, 0);
	if (j->run == GP_SCHED_SUSPENDING) {
		/* It may be held in part. Letting go is always safe; then it is left alone. */
		if (j->pin == GP_SCHED_PIN_HOLD)
			j->pin = GP_SCHED_PIN_NONE;
		gp_sched_job_resume(s, j, GP_SCHED_WHY_RECOVER, GP_SCHED_SHIELD_FAILED, NULL);
		note->reason.limit_ns = j->shield_ns;
		return;
	}
	j->shield = GP_SCHED_SHIELD_FAILED;
	j->shield_ns = GP_SCHED_BACKOFF_NS << GP_MIN(j->tries, GP_SCHED_RETRY_SHIFT);
	j->retry_at = gp_later(s->now, GP_SCHED_RETRY_NS << GP_MIN(j->tries, GP_SCHED_RETRY_SHIFT));
	gp_sched_job_arm(s, j);
}

static void retry(struct gp_sched *s, struct gp_sched_job *j)
{
	struct gp_sched_action *action =
		gp_sched_emit(s, GP_SCHED_RESUME, GP_SCHED_WHY_RECOVER, gp_job_index(s, j),
			      GP_SCHED_NONE, j->held_device);

	start_operation(s, j, action);
	gp_sched_job_arm(s, j);
}

/* What one takes on that device: mostly the least, since others wait for each other. */
static u64 at_best(u64 estimate, u64 value)
{
	return value < estimate ? GP_MAX((estimate + value) / 2, 1)
				: gp_sched_average(estimate, value);
}

/* What the operation took, for the next estimates. */
static void learn(struct gp_sched *s, struct gp_sched_job *j, u64 cost)
{
	struct gp_sched_device *d =
		j->held_device == GP_SCHED_NONE ? NULL : &s->device[j->held_device];
	u64 one;

	if (cost == GP_SCHED_UNKNOWN)
		cost = s->now - j->op_at;
	cost = GP_MIN(cost, GP_SCHED_SPAN_MAX);
	one = cost / GP_MAX(j->op_among, 1);
	if (d)
		s->dirty |= 1ull << d->index; /* policies reckon with the estimates */
	/* It mostly waited for others: that says nothing about one alone. */
	if (j->op_among > GP_SCHED_STORM)
		return;
	if (j->run == GP_SCHED_SUSPENDING) {
		j->suspend_ns = gp_sched_average(j->suspend_ns, cost);
		if (d && !j->was_idle)
			d->suspend_ns = at_best(d->suspend_ns, one);
	} else {
		j->resume_ns = gp_sched_average(j->resume_ns, cost);
		if (d && !j->was_idle)
			d->resume_ns = at_best(d->resume_ns, one);
	}
}

int gp_sched_operation(struct gp_sched *s, u64 now, u64 token, int result, u64 cost_ns)
{
	struct gp_sched_job *j = gp_sched_job(s, token & ((1u << GP_SCHED_TOKEN_SHIFT) - 1));
	int error = gp_sched_begin(s, now);

	if (error)
		return error;
	if (!j || !token || j->token != token) {
		s->stats.stale++;
		return -ESTALE;
	}
	if (result) {
		failed(s, j, GP_SCHED_WHY_FAILED, result);
	} else if (j->run == GP_SCHED_SUSPENDING) {
		learn(s, j, cost_ns);
		gp_sched_job_tally(s, j);
		j->run = GP_SCHED_SUSPENDED;
		set_token(s, j, 0);
		j->tries = 0;
		gp_sched_job_arm(s, j);
	} else {
		GP_ASSERT(j->run == GP_SCHED_RESUMING);
		learn(s, j, cost_ns);
		running(s, j);
	}
	gp_sched_settle(s);
	return 0;
}

int gp_sched_lease_lost(struct gp_sched *s, u64 now, u32 index)
{
	struct gp_sched_job *j = gp_sched_job(s, index);
	struct gp_sched_action *note;
	int error;

	if (!j)
		return -ENOENT;
	error = gp_sched_begin(s, now);
	if (error)
		return error;
	if (j->run == GP_SCHED_RUNNING)
		return 0;
	j->lost_at = s->now;
	note = gp_sched_emit(s, GP_SCHED_NOTE, GP_SCHED_WHY_LEASE_LOST, index, GP_SCHED_NONE,
			     j->held_device);
	note->reason.cause = j->held_by;
	if (gp_job_held(j)) {
		note->reason.waited_ns = s->now - j->held_since;
		j->pin = j->pin == GP_SCHED_PIN_HOLD ? GP_SCHED_PIN_NONE : j->pin;
		release(s, j, GP_SCHED_SHIELD_MIN_RUN);
	}
	running(s, j);
	gp_sched_settle(s);
	return 0;
}

void gp_sched_job_timer(struct gp_sched *s, struct gp_sched_job *j)
{
	if (j->token && j->op_until <= s->now) {
		failed(s, j, GP_SCHED_WHY_TIMEOUT, -ETIME);
	} else if (gp_job_held(j) && !j->parked &&
		   gp_later(j->aged_since, j->spec.max_suspend_ns) <= s->now) {
		if (j->pin == GP_SCHED_PIN_HOLD)
			j->pin = GP_SCHED_PIN_NONE;
		gp_sched_job_resume(s, j, GP_SCHED_WHY_MAX_SUSPEND, GP_SCHED_SHIELD_TURN, NULL)
			->reason.limit_ns = j->spec.max_suspend_ns;
	} else if (j->retry_at <= s->now) {
		retry(s, j);
	} else if (j->shield && j->shield_until <= s->now) {
		/* Who outlived the estimate that spared it is not spared again for that. */
		if (j->shield == GP_SCHED_SHIELD_COST)
			j->outlived = true;
		j->put_off = j->shield;
		j->put_off_at = s->now;
		gp_sched_job_shield(s, j, GP_SCHED_SHIELD_NONE, 0);
	} else {
		gp_sched_job_arm(s, j);
	}
}
