/* SPDX-License-Identifier: MIT */
/*
 * What must hold in test_sched_random.c: each action with its reason as the core emits it, and
 * after every event the state of all jobs and devices.
 */
#ifndef GP_TESTS_RANDOM_CHECKS_H
#define GP_TESTS_RANDOM_CHECKS_H

#include "random_run.h"
#include "show/reason.h"

/* Such a job yields to every other that is not, whatever the priorities. */
static inline bool in_turns(const struct run *run, const struct gp_sched_reason *r)
{
	return run->device[r->device].slices && gp_sched_job(run->sched, r->job)->spec.in_turns;
}

/* Reasons say what was seen, and what was seen bears the action out. */
static inline void check_reason(struct run *run, const struct gp_sched_action *action)
{
	const struct gp_sched_reason *r = &action->reason;
	char text[512];

	NEED(run, r->at_ns == gp_sched_now(run->sched));
	NEED(run, gp_show_reason(r, NULL, NULL, text, sizeof(text)) > 0);
	if (run->trace)
		fprintf(stderr, "%llu event %llu device %d %s: %s\n", (unsigned long long)run->now,
			(unsigned long long)run->events, (int)r->device,
			gp_sched_policy_name(r->policy), text);
	switch (r->why) {
	case GP_SCHED_WHY_INVERSION:
	case GP_SCHED_WHY_HINT:
		NEED(run, r->other != GP_SCHED_NONE && r->other != r->job);
		NEED(run, r->other_rank < r->job_rank);
		NEED(run, r->policy != GP_SCHED_PRIORITY || in_turns(run, r) ||
				  r->other_priority > r->job_priority);
		NEED(run, run->device[r->device].policy == r->policy);
		break;
	case GP_SCHED_WHY_AHEAD:
	case GP_SCHED_WHY_TURN_OVER:
		NEED(run, r->other_rank < r->job_rank);
		break;
	case GP_SCHED_WHY_AGED:
		NEED(run, r->policy == GP_SCHED_PRIORITY && r->other_priority > r->job_priority);
		NEED(run, r->limit_ns >= (r->other_priority - r->job_priority) *
						 run->device[r->device].age_step_ns);
		NEED(run, r->limit_ns >= r->waited_ns || run->job[r->job].parked);
		break;
	case GP_SCHED_WHY_OWED:
		NEED(run, r->limit_ns <= 2 * r->cost_ns - r->ran_ns && r->limit_ns);
		break;
	case GP_SCHED_WHY_DECLINED:
		NEED(run, r->saves_ns < r->cost_ns);
		break;
	case GP_SCHED_WHY_REFUSED:
		NEED(run, r->used_ppm + r->needs_ppm > r->limit_ppm);
		break;
	default:
		break;
	}
}

/* A job that is stopped has no claim: nothing is done because of it, or to it. */
static inline void check_claim(struct run *run, const struct gp_sched_action *action)
{
	u32 job = action->job, other = action->reason.other;
	bool operation = action->kind == GP_SCHED_SUSPEND || action->kind == GP_SCHED_RESUME;

	if (operation && action->reason.why != GP_SCHED_WHY_WITHDRAWN)
		NEED(run, !run->job[job].absent);
	if (action->kind == GP_SCHED_SUSPEND && other != GP_SCHED_NONE)
		NEED(run, !run->job[other].absent);
}

static inline void expect_answer(struct run *run, struct host_job *job, u64 token)
{
	struct pending *p;
	u64 fate = roll(run, 100);

	NEED(run, token > job->last_token); /* of all jobs, in another order: suspensions first */
	job->last_token = token;
	run->last_token = GP_MAX(run->last_token, token);
	if (run->pendings + 2 > PENDING)
		return; /* hangs */
	p = &run->pending[run->pendings++];
	*p = (struct pending){token, run->now + roll_log(run, 22), 0};
	if (fate >= run->faults)
		return;
	switch (roll(run, 4)) {
	case 0:
		p->result = -EIO;
		break;
	case 1:
		run->pendings--; /* never answered */
		break;
	case 2:
		p->at = run->now + run->config.op_timeout_ns + roll(run, 1000);
		break;
	default:
		run->pending[run->pendings++] = *p; /* twice */
		break;
	}
}

static inline void act(struct run *run, const struct gp_sched_action *action)
{
	struct host_job *job = action->job == GP_SCHED_NONE ? NULL : &run->job[action->job];
	enum gp_sched_why why = action->reason.why;

	check_reason(run, action);
	check_claim(run, action);
	mix(run, action->kind + 16 * why + 1024 * action->job);
	mix(run, action->token ^ action->until_ns);
	switch (action->kind) {
	case GP_SCHED_SUSPEND:
		NEED(run, why <= GP_SCHED_WHY_PARKED);
		NEED(run, (job->suspended_at == GP_SCHED_NEVER) == (why != GP_SCHED_WHY_JOINED));
		NEED(run, action->until_ns == run->now + run->config.lease_ns);
		if (why != GP_SCHED_WHY_JOINED && why != GP_SCHED_WHY_PINNED)
			NEED(run, run->now >= job->free_until);
		if (why != GP_SCHED_WHY_JOINED) {
			job->suspended_at = run->now;
			job->parked = why == GP_SCHED_WHY_PARKED;
			job->cause = action->reason.id;
		}
		job->lease = action->until_ns;
		expect_answer(run, job, action->token);
		break;
	case GP_SCHED_RESUME:
		NEED(run, why >= GP_SCHED_WHY_CLEAR && why <= GP_SCHED_WHY_RECOVER);
		NEED(run, job->suspended_at != GP_SCHED_NEVER || why == GP_SCHED_WHY_RECOVER);
		if (job->suspended_at != GP_SCHED_NEVER) {
			NEED(run, action->reason.cause == job->cause);
			/* The wait of a parked job begins with its work. */
			NEED(run,
			     job->parked
				     ? action->reason.waited_ns <= run->now - job->suspended_at
				     : action->reason.waited_ns == run->now - job->suspended_at);
		}
		if (why == GP_SCHED_WHY_AGED || why == GP_SCHED_WHY_MAX_SUSPEND)
			job->free_until = run->now + 1000; /* the least turn there is */
		job->suspended_at = GP_SCHED_NEVER;
		if (why == GP_SCHED_WHY_GONE || why == GP_SCHED_WHY_WITHDRAWN)
			NEED(run, !action->token);
		else
			expect_answer(run, job, action->token);
		break;
	case GP_SCHED_RENEW:
		for (u32 i = 0; i < JOBS; i++)
			if (run->job[i].used && run->job[i].suspended_at != GP_SCHED_NEVER)
				run->job[i].lease = action->until_ns;
		break;
	case GP_SCHED_TIMER:
		run->timer_at = action->until_ns;
		break;
	case GP_SCHED_SHARE:
		NEED(run, action->device < DEVICES);
		break;
	case GP_SCHED_NOTE:
		NEED(run, why >= GP_SCHED_WHY_DECLINED && why <= GP_SCHED_WHY_PRESENT);
		break;
	}
}

/* Shields end: an inversion is never longer than the bound of what allowed it. */
static inline void check_shield(struct run *run, u32 index)
{
	const struct gp_sched_job *j = gp_sched_job(run->sched, index);
	struct host_job *job = &run->job[index];
	u64 until = j->shield == GP_SCHED_SHIELD_NONE || j->run != GP_SCHED_RUNNING
			    ? 0
			    : j->shield_until;

	if (!until || j->shield == GP_SCHED_SHIELD_PIN) {
		job->shield = GP_SCHED_SHIELD_NONE;
		return;
	}
	if (job->shield == j->shield && job->shield_limit == until)
		return;
	/* A new one. It was given in this event, so now is its beginning. */
	job->shield = j->shield;
	job->shield_limit = until;
	switch (j->shield) {
	case GP_SCHED_SHIELD_FAILED:
		NEED(run, until <= run->now + (GP_SCHED_BACKOFF_NS << GP_SCHED_RETRY_SHIFT));
		break;
	case GP_SCHED_SHIELD_OWED:
		NEED(run, until <= run->now + j->spec.max_suspend_ns / 4 * 5 + 1);
		break;
	case GP_SCHED_SHIELD_COST:
		NEED(run, until < run->now + GP_SCHED_SPAN_MAX);
		break;
	default: {
		u64 most = 0;

		for (u32 i = 0; i < DEVICES; i++)
			most = GP_MAX(most,
				      GP_MAX(run->device[i].turn_ns, run->device[i].min_run_ns));
		NEED(run, until <= run->now + GP_MAX(most, j->shield_ns));
		break;
	}
	}
}

/*
 * The host's own view: a device has somebody held for it and nobody that works. That is allowed for
 * a while (lingering, hints); jobs on several devices may be held for another one.
 */
static inline void check_conserved(struct run *run, u32 device)
{
	const struct gp_sched_device *d = &run->sched->device[device];
	const struct gp_sched_device_config *c = &run->device[device];
	u64 bound = GP_MAX(c->linger_ns, c->hint_ns + (1ull << 25)) + run->late;
	bool held = false, works = false;
	const struct gp_list *link;

	gp_list_for_each (link, &d->members) {
		const struct gp_sched_member *m = gp_container(link, struct gp_sched_member, link);
		const struct host_job *job = &run->job[m->job];

		if (!gp_member_work(m))
			continue;
		if (job->suspended_at == GP_SCHED_NEVER)
			works = true;
		else if (gp_job_at(run->sched, m->job)->members.next->next ==
				 &gp_job_at(run->sched, m->job)->members &&
			 gp_job_at(run->sched, m->job)->pin != GP_SCHED_PIN_HOLD && !job->absent)
			held = true;
	}
	if (!held || works)
		run->starved_since[device] = GP_SCHED_NEVER;
	else if (run->starved_since[device] == GP_SCHED_NEVER)
		run->starved_since[device] = run->now;
	NEED(run, run->starved_since[device] == GP_SCHED_NEVER ||
			  run->now - run->starved_since[device] <= bound);
}

static inline void check_all(struct run *run)
{
	const char *broken = gp_sched_check(run->sched);

	if (broken)
		fail_msg("GP_SCHED_SEED=%llu at %llu ns, event %llu: %s",
			 (unsigned long long)run->seed, (unsigned long long)run->now,
			 (unsigned long long)run->events, broken);
	for (u32 i = 0; i < JOBS; i++) {
		const struct gp_sched_job *j = gp_sched_job(run->sched, i);
		struct host_job *job = &run->job[i];
		u64 since;

		NEED(run, !!j == job->used);
		if (!j)
			continue;
		NEED(run, gp_job_held(j) == (job->suspended_at != GP_SCHED_NEVER));
		if (gp_job_held(j)) {
			/* The wait of a parked job begins with its work. */
			since = job->parked ? j->aged_since : job->suspended_at;
			NEED(run, j->parked || run->now < since + j->spec.max_suspend_ns);
			NEED(run, run->late || job->lease > run->now);
		}
		check_shield(run, i);
	}
	for (u32 i = 0; i < DEVICES; i++)
		check_conserved(run, i);
}

#endif
