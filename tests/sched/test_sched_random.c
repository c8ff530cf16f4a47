// SPDX-License-Identifier: MIT
/*
 * Random jobs, work, faults and changes of mind against what must always hold. The test is the
 * host: it carries operations out late, twice, in vain or never, loses leases and comes late to
 * timers. A failure names its seed; GP_SCHED_SEED=N runs that one alone, GP_SCHED_RUNS=N more of
 * them.
 */
#include "testlib.h"
#include "sched/state.h"
#include "show/reason.h"

#define DEVICES   3
#define JOBS      12
#define PROCESSES 24
#define QUEUES    48
#define PENDING   64
#define STEPS     600

/* An operation that the host has not answered yet. */
struct pending {
	u64 token, at;
	int result;
};

struct host_job {
	bool used, absent, parked;
	u64 suspended_at; /* by the last action; GP_SCHED_NEVER: RESUME was the last */
	u64 lease;        /* until */
	u64 cause;        /* reason of the SUSPEND */
	u64 free_until;   /* it must not be held before, after a turn began */
	enum gp_sched_shield shield;
	u64 shield_from, shield_limit;
};

struct run {
	u64 seed, dice, now, hash, events, late;
	struct gp_sched *sched;
	void *memory;
	struct gp_sched_config config;
	struct gp_sched_device_config device[DEVICES];
	struct host_job job[JOBS];
	u32 process[PROCESSES], processes, queue[QUEUES], queues;
	struct pending pending[PENDING];
	u32 pendings;
	u64 last_token, timer_at, starved_since[DEVICES];
	u32 faults; /* in 100 operations */
	bool trace;
};

#define NEED(run, condition)                                                                      \
	do {                                                                                      \
		if (!(condition))                                                                 \
			fail_msg("GP_SCHED_SEED=%llu at %llu ns, event %llu: %s",                 \
				 (unsigned long long)(run)->seed, (unsigned long long)(run)->now, \
				 (unsigned long long)(run)->events, #condition);                  \
	} while (0)

static u64 roll(struct run *run, u64 sides)
{
	run->dice = gp_mix(run->dice);
	return run->dice % sides;
}

static u64 roll_log(struct run *run, u32 bits)
{
	return roll(run, 1ull << (roll(run, bits) + 1));
}

static void mix(struct run *run, u64 value)
{
	run->hash = gp_mix(run->hash ^ value);
}

static void make_device(struct run *run, u32 index)
{
	struct gp_sched_device_config *c = &run->device[index];

	gp_sched_device_defaults(c);
	c->policy = (enum gp_sched_policy_id)roll(run, GP_SCHED_POLICIES);
	c->can_suspend = roll(run, 16);
	c->can_share = !roll(run, 4);
	c->slices = c->can_share && roll(run, 2);
	c->suspend_ns = roll_log(run, 24);
	c->resume_ns = roll_log(run, 24);
	c->min_run_ns = roll_log(run, 22);
	c->turn_ns = 1000 + roll_log(run, 26);
	c->linger_ns = roll(run, 2) ? roll_log(run, 22) : 0;
	c->hint_ns = roll_log(run, 22);
	c->unknown_ns = roll_log(run, 22);
	c->age_step_ns = roll(run, 3) ? roll_log(run, 22) : 0;
	c->slice_ns = 1000 + roll_log(run, 25);
	c->memory_bytes = roll(run, 2) ? 1ull << 36 : 0;
	c->utilisation_ppm = (u32)roll(run, 1000001);
	c->places = roll(run, 2) ? 0 : 1 + (u32)roll(run, 5);
	NEED(run, gp_sched_device_set(run->sched, run->now, index, c) == 0);
}

/* Such a job yields to every other that is not, whatever the priorities. */
static bool in_turns(const struct run *run, const struct gp_sched_reason *r)
{
	return run->device[r->device].slices && gp_sched_job(run->sched, r->job)->spec.in_turns;
}

/* Reasons say what was seen, and what was seen bears the action out. */
static void check_reason(struct run *run, const struct gp_sched_action *action)
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
static void check_claim(struct run *run, const struct gp_sched_action *action)
{
	u32 job = action->job, other = action->reason.other;
	bool operation = action->kind == GP_SCHED_SUSPEND || action->kind == GP_SCHED_RESUME;

	if (operation && action->reason.why != GP_SCHED_WHY_WITHDRAWN)
		NEED(run, !run->job[job].absent);
	if (action->kind == GP_SCHED_SUSPEND && other != GP_SCHED_NONE)
		NEED(run, !run->job[other].absent);
}

static void expect_answer(struct run *run, u64 token)
{
	struct pending *p;
	u64 fate = roll(run, 100);

	NEED(run, token > run->last_token);
	run->last_token = token;
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

static void act(struct run *run, const struct gp_sched_action *action)
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
		expect_answer(run, action->token);
		break;
	case GP_SCHED_RESUME:
		NEED(run, why >= GP_SCHED_WHY_CLEAR && why <= GP_SCHED_WHY_RECOVER);
		NEED(run, job->suspended_at != GP_SCHED_NEVER || why == GP_SCHED_WHY_RECOVER);
		if (job->suspended_at != GP_SCHED_NEVER) {
			NEED(run, action->reason.cause == job->cause);
			NEED(run, action->reason.waited_ns == run->now - job->suspended_at);
		}
		if (why == GP_SCHED_WHY_AGED || why == GP_SCHED_WHY_MAX_SUSPEND)
			job->free_until = run->now + 1000; /* the least turn there is */
		job->suspended_at = GP_SCHED_NEVER;
		if (why == GP_SCHED_WHY_GONE || why == GP_SCHED_WHY_WITHDRAWN)
			NEED(run, !action->token);
		else
			expect_answer(run, action->token);
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
static void check_shield(struct run *run, u32 index)
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
static void check_conserved(struct run *run, u32 device)
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

static void check_all(struct run *run)
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

static void take(struct run *run)
{
	struct gp_sched_action action;

	while (gp_sched_take(run->sched, &action))
		act(run, &action);
	run->events++;
	check_all(run);
}

static void add_job(struct run *run)
{
	struct gp_sched_job_spec spec = {.class = (enum gp_sched_class)roll(run, 3),
					 .priority = GP_SCHED_NONE};
	u32 job;
	int result;

	if (roll(run, 2))
		spec.priority = (u32)roll(run, 4) * 500;
	if (roll(run, 2))
		spec.weight = 1 + (u32)roll(run, 400);
	if (!roll(run, 3))
		spec.max_suspend_ns = 1000000 + roll_log(run, 30);
	spec.in_turns = roll(run, 2);
	if (!roll(run, 3)) {
		spec.deadline_ns = 1000 + roll_log(run, 27);
		spec.budget_ns = 1 + roll(run, spec.deadline_ns);
		spec.period_ns = roll(run, 2) ? spec.budget_ns + roll_log(run, 27) : 0;
	}
	if (roll(run, 2)) {
		u32 index = (u32)roll(run, JOBS);

		result = gp_sched_job_set(run->sched, run->now, index, &spec);
		NEED(run, result == (run->job[index].used ? 0 : -ENOENT) || result == -EBUSY);
		return;
	}
	result = gp_sched_job_add(run->sched, run->now, &spec, &job);
	if (result) {
		NEED(run, result == -ENOSPC);
		return;
	}
	NEED(run, !run->job[job].used);
	run->job[job] = (struct host_job){.used = true, .suspended_at = GP_SCHED_NEVER};
}

/* Forgets the handles that the core does not know any more. */
static void forget(struct run *run)
{
	u32 kept = 0;

	for (u32 i = 0; i < run->processes; i++) {
		const struct gp_sched_process *p =
			gp_pool_at(&run->sched->processes, run->process[i]);

		if (p->job)
			run->process[kept++] = run->process[i];
	}
	run->processes = kept;
	kept = 0;
	for (u32 i = 0; i < run->queues; i++) {
		const struct gp_sched_queue *q = gp_pool_at(&run->sched->queues, run->queue[i]);

		if (q->member)
			run->queue[kept++] = run->queue[i];
	}
	run->queues = kept;
}

static void add_something(struct run *run)
{
	u32 index;

	switch (roll(run, 4)) {
	case 0:
		add_job(run);
		break;
	case 1:
		if (run->processes < PROCESSES &&
		    !gp_sched_process_add(run->sched, run->now, (u32)roll(run, JOBS), &index))
			run->process[run->processes++] = index;
		break;
	default:
		if (run->processes && run->queues < QUEUES &&
		    !gp_sched_queue_add(run->sched, run->now,
					run->process[roll(run, run->processes)],
					(u32)roll(run, roll(run, 4) ? 1 : DEVICES),
					(enum gp_sched_stream)roll(run, 3), &index))
			run->queue[run->queues++] = index;
		break;
	}
}

static void remove_something(struct run *run)
{
	u64 which = roll(run, 8);
	u32 index;

	if (which == 0) {
		index = (u32)roll(run, JOBS);
		/* Its resume comes as an action of this event: until then it is known. */
		if (!gp_sched_job_remove(run->sched, run->now, index)) {
			struct gp_sched_action action;

			while (gp_sched_take(run->sched, &action))
				act(run, &action);
			NEED(run, run->job[index].suspended_at == GP_SCHED_NEVER);
			run->job[index].used = false;
		}
	} else if (which < 3 && run->processes) {
		gp_sched_process_remove(run->sched, run->now,
					run->process[roll(run, run->processes)]);
	} else if (run->queues) {
		gp_sched_queue_remove(run->sched, run->now, run->queue[roll(run, run->queues)]);
	}
	forget(run);
}

static void work(struct run *run)
{
	u64 needs = roll(run, 4) ? GP_SCHED_UNKNOWN : roll_log(run, 26);

	if (!run->queues)
		return;
	NEED(run, gp_sched_work(run->sched, run->now, run->queue[roll(run, run->queues)],
				(enum gp_sched_work)(roll(run, 8) ? roll(run, 2) : GP_SCHED_MAYBE),
				needs) == 0);
}

/* What the host itself remembers is changed below: first what is due. */
static void serve(struct run *run)
{
	if (gp_sched_next(run->sched) > run->now)
		return;
	NEED(run, gp_sched_timer(run->sched, run->now) == 0);
	take(run);
}

static void stop(struct run *run, u32 index)
{
	struct host_job *job = &run->job[index];
	struct gp_sched_job_state before, after;

	if (!job->used)
		return;
	job->absent = !job->absent;
	NEED(run, gp_sched_job_state(run->sched, index, &before) == 0);
	NEED(run, gp_sched_job_absent(run->sched, run->now, index, job->absent) == 0);
	NEED(run, gp_sched_job_state(run->sched, index, &after) == 0);
	NEED(run, after.absent == job->absent && after.failures == before.failures);
}

static void tell(struct run *run)
{
	u32 job = (u32)roll(run, JOBS), device = (u32)roll(run, DEVICES);
	struct gp_sched_usage usage = {roll_log(run, 26), roll_log(run, 26), roll_log(run, 37)};

	serve(run);
	switch (roll(run, 9)) {
	case 0:
		gp_sched_job_pin(run->sched, run->now, job, (enum gp_sched_pin)roll(run, 3));
		break;
	case 1:
		if (!roll(run, 4))
			make_device(run, device);
		break;
	case 2:
		if (run->job[job].used) {
			run->job[job].suspended_at = GP_SCHED_NEVER;
			run->job[job].free_until = 0;
			NEED(run, gp_sched_lease_lost(run->sched, run->now, job) == 0);
		}
		break;
	case 3:
		if (run->queues)
			gp_sched_queue_stream(run->sched, run->now,
					      run->queue[roll(run, run->queues)],
					      (enum gp_sched_stream)roll(run, 3));
		break;
	case 4:
		NEED(run, gp_sched_operation(run->sched, run->now, roll(run, run->last_token + 1),
					     0, 0) == -ESTALE ||
				  true);
		break;
	case 8:
		stop(run, job);
		break;
	case 5:
		gp_sched_usage(run->sched, run->now, job, device, &usage);
		break;
	default:
		gp_sched_hint(run->sched, run->now, job, device, run->now + roll_log(run, 24));
		break;
	}
}

static void answer(struct run *run, u32 which)
{
	struct pending p = run->pending[which];
	int result;

	run->pending[which] = run->pending[--run->pendings];
	result = gp_sched_operation(run->sched, run->now, p.token, p.result,
				    roll(run, 2) ? GP_SCHED_UNKNOWN : roll_log(run, 22));
	NEED(run, result == 0 || result == -ESTALE);
}

/* Everything that is due on the way to `until`, timers and answers in order; a hundred at most. */
static void advance(struct run *run, u64 until)
{
	for (u32 count = 0; count < 100; count++) {
		u64 timer = gp_sched_next(run->sched), at = timer;
		u32 which = PENDING;

		if (timer != GP_SCHED_NEVER)
			NEED(run, run->timer_at <= timer);
		if (at != GP_SCHED_NEVER)
			at += run->late;
		for (u32 i = 0; i < run->pendings; i++)
			if (run->pending[i].at < at) {
				at = run->pending[i].at;
				which = i;
			}
		if (at > until)
			break;
		run->now = GP_MAX(run->now, at);
		if (which < PENDING)
			answer(run, which);
		else
			NEED(run, gp_sched_timer(run->sched, run->now) == 0);
		take(run);
	}
	if (gp_sched_next(run->sched) > until)
		run->now = until;
}

static void one_step(struct run *run)
{
	u64 what = roll(run, 100);

	if (what < 55)
		work(run);
	else if (what < 63)
		add_something(run);
	else if (what < 65)
		remove_something(run);
	else if (what < 70)
		tell(run);
	else if (what < 72 && run->pendings)
		answer(run, (u32)roll(run, run->pendings));
	else
		advance(run, run->now + roll_log(run, roll(run, 20) ? 23 : 31));
	take(run);
}

static u64 play(u64 seed)
{
	struct run *run = calloc(1, sizeof(*run));
	size_t size;
	u64 hash;

	assert_non_null(run);
	run->seed = seed;
	run->trace = getenv("GP_SCHED_TRACE");
	run->dice = gp_mix(seed);
	gp_sched_defaults(&run->config);
	run->config.devices = DEVICES;
	run->config.max_jobs = JOBS;
	run->config.max_processes = PROCESSES;
	run->config.max_queues = QUEUES;
	run->config.op_timeout_ns = 1 + roll_log(run, 27);
	run->config.max_suspend_ns = 1000000 + roll_log(run, 31);
	run->late = roll(run, 4) ? 0 : roll_log(run, 26);
	run->faults = roll(run, 2) ? (u32)roll(run, 60) : 0;
	for (u32 i = 0; i < DEVICES; i++)
		run->starved_since[i] = GP_SCHED_NEVER;
	run->timer_at = GP_SCHED_NEVER;
	size = gp_sched_memory(&run->config);
	run->memory = malloc(size);
	assert_non_null(run->memory);
	memset(run->memory, 0xa5, size); /* nothing may be taken for granted */
	assert_int_equal(gp_sched_init(&run->sched, run->memory, size, &run->config), 0);
	for (u32 i = 0; i < DEVICES; i++) {
		make_device(run, i);
		take(run);
	}
	for (u32 i = 0; i < 40; i++) { /* a world to begin with */
		add_something(run);
		take(run);
	}
	for (u32 i = 0; i < STEPS; i++)
		one_step(run);
	hash = run->hash;
	free(run->memory);
	free(run);
	return hash;
}

static void promises_hold_after_every_event(void **state)
{
	const char *seed = getenv("GP_SCHED_SEED"), *runs = getenv("GP_SCHED_RUNS");
	u64 first = seed ? strtoull(seed, NULL, 10) : 1;
	u64 count = seed ? 1 : runs ? strtoull(runs, NULL, 10) : 1000;

	(void)state;
	for (u64 i = 0; i < count; i++)
		play(first + i);
}

static void same_events_give_the_same_actions(void **state)
{
	(void)state;
	for (u64 seed = 1000000; seed < 1000008; seed++)
		assert_int_equal(play(seed), play(seed));
	assert_int_not_equal(play(1000000), play(1000001));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(promises_hold_after_every_event),
		cmocka_unit_test(same_events_give_the_same_actions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
