// SPDX-License-Identifier: MIT
/*
 * Random jobs, work, faults and changes of mind against what must always hold. The test is the
 * host: it carries operations out late, twice, in vain or never, loses leases and comes late to
 * timers. A failure names its seed; GP_SCHED_SEED=N runs that one alone, GP_SCHED_RUNS=N more of
 * them.
 */
#include "random_checks.h"

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
	spec.parks = roll(run, 2);
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
