// SPDX-License-Identifier: MIT
/* The policies that divide time: fair (weights, dominant resource) and quantum (turns, shares). */
#include "world.h"

/* What `one` ran of what both ran, in permille. */
static u64 part(const struct world *w, u32 one, u32 two)
{
	return w->ran[one] * 1000 / (w->ran[one] + w->ran[two]);
}

/*
 * The device time that each got, when those who run share the device evenly: the figure that fair
 * promises. Runs for `ns` in small steps, which the scheduler does not see.
 */
static void share_evenly(struct world *w, u64 ns, u64 *got, u32 jobs)
{
	u64 end = w->now + ns;

	while (w->now < end) {
		u32 running = 0;

		for (u32 i = 0; i < jobs; i++)
			running += w->busy[i] && !w->held[i];
		assert_true(running);
		for (u32 i = 0; i < jobs; i++)
			if (w->busy[i] && !w->held[i])
				got[i] += 10 * US / running;
		pass(w, 10 * US);
	}
}

static void fair_gives_by_weight(void **state)
{
	static const u32 weights[][2] = {{100, 100}, {300, 100}, {100, 900}, {10000, 5000}};

	(void)state;
	for (u32 i = 0; i < GP_ARRAY_SIZE(weights); i++) {
		struct world *w = world(GP_SCHED_FAIR);
		struct gp_sched_job_spec spec = {.priority = 10, .weight = weights[i][0]};
		u64 got[2] = {0}, all = weights[i][0] + weights[i][1], expected;
		u32 one = job_like(w, &spec), two;

		spec.weight = weights[i][1];
		spec.priority = 60000; /* does not matter here */
		two = job_like(w, &spec);
		assert_int_equal(one + two, 1);
		gets_work(w, one);
		gets_work(w, two);
		share_evenly(w, 4 * S, got, 2);
		expected = 4 * S / 10 * 10 * weights[i][0] / all;
		/* One lag and a look are the stated error: under 1 % of 4 s. */
		assert_in_range(got[0], expected - 40 * MS, expected + 40 * MS);
		end(w);
	}
}

static void fair_never_stops_one_that_is_alone(void **state)
{
	struct world *w = world(GP_SCHED_FAIR);
	u32 one = job(w, 1000);

	(void)state;
	job(w, 1000);
	gets_work(w, one);
	pass(w, 10 * S);
	nothing_happens(w);
	assert_int_equal(gp_sched_next(w->sched), GP_SCHED_NEVER); /* and does not wake up for it */
	end(w);
}

static void a_newcomer_has_saved_nothing_up(void **state)
{
	struct world *w = world(GP_SCHED_FAIR);
	u32 old = job(w, 1000), other = job(w, 1000), late = job(w, 1000);
	u64 got[3] = {0};

	(void)state;
	gets_work(w, old);
	gets_work(w, other);
	share_evenly(w, 2 * S, got, 3);
	gets_work(w, late);
	memset(got, 0, sizeof(got));
	share_evenly(w, S, got, 3);
	for (u32 i = 0; i < 3; i++)
		assert_in_range(got[i], S / 3 - 40 * MS, S / 3 + 40 * MS);
	end(w);
}

/* A copies, B computes: neither uses much of what the other needs, so neither is in the way. */
static void the_dominant_resource_is_what_counts(void **state)
{
	struct world *w = world(GP_SCHED_FAIR);
	struct gp_sched_usage copies = {.cu_ns = MS / 10, .copy_ns = MS};
	struct gp_sched_usage computes = {.cu_ns = MS, .copy_ns = MS / 10};
	u32 one = job(w, 1000), two = job(w, 1000);

	(void)state;
	gets_work(w, one);
	gets_work(w, two);
	for (u32 i = 0; i < 200; i++) {
		pass(w, MS);
		done(w, gp_sched_usage(w->sched, w->now, one, 0, &copies));
		done(w, gp_sched_usage(w->sched, w->now, two, 0, &computes));
	}
	nothing_happens(w);
	/* One that uses twice of its own is ahead. */
	copies.copy_ns = 2 * MS;
	for (u32 i = 0; i < 30; i++) {
		pass(w, MS);
		if (!w->held[one])
			done(w, gp_sched_usage(w->sched, w->now, one, 0, &copies));
		done(w, gp_sched_usage(w->sched, w->now, two, 0, &computes));
	}
	is_suspended(w, one, GP_SCHED_WHY_AHEAD);
	end(w);
}

static void memory_counts_as_a_resource(void **state)
{
	struct world *w = world(GP_SCHED_FAIR);
	struct gp_sched_usage large = {.cu_ns = MS / 10, .memory_bytes = 192ull << 30};
	struct gp_sched_usage small = {.cu_ns = MS / 10, .memory_bytes = 1ull << 30};
	u32 one, two;

	(void)state;
	w->device.memory_bytes = 192ull << 30;
	reconfigure(w);
	one = job(w, 1000);
	two = job(w, 1000);
	gets_work(w, one);
	gets_work(w, two);
	for (u32 i = 0; i < 20; i++) {
		pass(w, MS);
		done(w, gp_sched_usage(w->sched, w->now, one, 0, &large));
		done(w, gp_sched_usage(w->sched, w->now, two, 0, &small));
	}
	is_suspended(w, one, GP_SCHED_WHY_AHEAD);
	end(w);
}

static void quantum_gives_80_and_20(void **state)
{
	static const u32 weights[][2] = {{80, 20}, {50, 50}, {1, 9}};

	(void)state;
	for (u32 i = 0; i < GP_ARRAY_SIZE(weights); i++) {
		struct world *w = world(GP_SCHED_QUANTUM);
		struct gp_sched_job_spec spec = {.weight = weights[i][0]};
		u64 expected = 1000ull * weights[i][0] / (weights[i][0] + weights[i][1]);
		u32 one = job_like(w, &spec), two;

		spec.weight = weights[i][1];
		two = job_like(w, &spec);
		w->takes = US;
		gets_work(w, one);
		gets_work(w, two);
		pass(w, 2 * S);
		assert_in_range(part(w, one, two), expected - 15, expected + 15);
		end(w);
	}
}

static void quantum_runs_one_at_a_time(void **state)
{
	struct world *w = world(GP_SCHED_QUANTUM);
	u32 jobs[5], seen_running = 0;

	(void)state;
	for (u32 i = 0; i < 5; i++)
		gets_work(w, jobs[i] = job(w, i * 100));
	for (u32 step = 0; step < 1000; step++) {
		u32 running = 0;

		for (u32 i = 0; i < 5; i++)
			if (!w->held[jobs[i]]) {
				running++;
				seen_running |= 1u << i;
			}
		assert_int_equal(running, 1);
		pass(w, 100 * US);
	}
	assert_int_equal(seen_running, 31);
	end(w);
}

static void who_has_no_work_gives_its_turn_away(void **state)
{
	struct world *w = world(GP_SCHED_QUANTUM);
	u32 one = job(w, 1000), two = job(w, 1000);

	(void)state;
	gets_work(w, one);
	gets_work(w, two);
	is_held(w, two);
	pass(w, MS);
	drains(w, one);
	is_not_held(w, two);
	w->looked = w->logged;
	pass(w, S);
	nothing_happens(w);
	end(w);
}

static void turns_grow_with_what_a_preemption_costs(void **state)
{
	struct world *w = world(GP_SCHED_QUANTUM);
	u32 one, two, turns = 0;

	(void)state;
	w->device.slice_ns = MS;
	w->device.suspend_ns = w->device.resume_ns = 5 * MS;
	w->takes = 5 * MS;
	reconfigure(w);
	one = job(w, 1000);
	two = job(w, 1000);
	gets_work(w, one);
	gets_work(w, two);
	pass(w, S);
	for (u32 i = 0; i < w->logged; i++)
		turns += w->log[i].kind == GP_SCHED_SUSPEND;
	/* 2 jobs, 40 ms each of cost 10: about 25 turns, where slices of 0.5 ms would make 2000. */
	assert_in_range(turns, 10, 30);
	end(w);
}

/* The time of the shortest turn of that job, from the end of its resume. */
static u64 shortest_turn(const struct world *w, u32 job)
{
	u64 since = 0, least = GP_SCHED_NEVER;

	for (u32 i = 0; i < w->logged; i++) {
		const struct gp_sched_action *action = &w->log[i];

		if (action->job != job)
			continue;
		if (action->kind == GP_SCHED_RESUME)
			since = action->reason.at_ns + w->takes;
		else if (action->kind == GP_SCHED_SUSPEND && since)
			least = GP_MIN(least, action->reason.at_ns - since);
	}
	return least;
}

/* Two jobs of three processes each, where the hardware runs two at once: it needs two quanta of
 * 10 ms for a job, and begins with the same process in each turn. */
static void turns_last_until_the_hardware_has_run_all_processes(void **state)
{
	static const enum gp_sched_policy_id policies[] = {GP_SCHED_QUANTUM, GP_SCHED_FAIR};

	(void)state;
	for (u32 i = 0; i < GP_ARRAY_SIZE(policies); i++) {
		struct world *w = world(policies[i]);
		struct gp_sched_job_spec spec = {.priority = 10, .weight = 80};
		u32 one = job_like(w, &spec), two, process, queue;

		spec.weight = 20;
		two = job_like(w, &spec);
		for (u32 k = 0; k < 4; k++) {
			done(w,
			     gp_sched_process_add(w->sched, w->now, k % 2 ? one : two, &process));
			done(w, gp_sched_queue_add(w->sched, w->now, process, 0,
						   GP_SCHED_STREAM_NORMAL, &queue));
		}
		gets_work(w, one);
		gets_work(w, two);
		w->device.places = 6; /* room for all: the turns are short */
		reconfigure(w);
		pass(w, S);
		assert_true(shortest_turn(w, two) < 20 * MS);
		w->device.places = 2;
		reconfigure(w);
		pass(w, S);
		w->logged = w->looked = 0;
		pass(w, 2 * S);
		assert_true(shortest_turn(w, one) >=
			    20 * MS); /* under fair it has none: it is behind */
		assert_in_range(shortest_turn(w, two), 20 * MS, S);
		end(w);
	}
}

static void a_device_that_can_share_is_told_the_weights(void **state)
{
	struct world *w = world(GP_SCHED_QUANTUM);
	struct gp_sched_job_spec spec = {.weight = 80};
	struct gp_sched_action *action;
	u32 one = job_like(w, &spec), two = job(w, 1000);

	(void)state;
	gets_work(w, one);
	gets_work(w, two);
	w->device.can_share = true;
	done(w, gp_sched_device_set(w->sched, w->now, 0, &w->device));
	action = seen(w, GP_SCHED_SHARE, one);
	assert_non_null(action);
	assert_int_equal(action->share, 80);
	action = seen(w, GP_SCHED_SHARE, two);
	assert_non_null(action);
	assert_int_equal(action->share, 100);
	is_not_held(w, two);
	spec.weight = 20;
	done(w, gp_sched_job_set(w->sched, w->now, one, &spec));
	action = seen(w, GP_SCHED_SHARE, one);
	assert_non_null(action);
	assert_int_equal(action->share, 20);
	w->looked = w->logged;
	pass(w, S);
	nothing_happens(w);
	w->device.policy = GP_SCHED_PRIORITY;
	done(w, gp_sched_device_set(w->sched, w->now, 0, &w->device));
	action = seen(w, GP_SCHED_SHARE, one);
	assert_non_null(action);
	assert_int_equal(action->share, 0); /* no limit any more */
	end(w);
}

static void time_slices_follow_the_priorities(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	struct gp_sched_job_spec spec = {.priority = 500};
	struct gp_sched_action *action;
	u32 batch = job_like(w, &spec), server = job(w, 2000);

	(void)state;
	gets_work(w, server);
	gets_work(w, batch);
	w->device.slices = true;
	done(w, gp_sched_device_set(w->sched, w->now, 0, &w->device));
	action = seen(w, GP_SCHED_SHARE, batch);
	assert_non_null(action);
	assert_int_equal(action->share, 4);
	action = seen(w, GP_SCHED_SHARE, server);
	assert_non_null(action);
	assert_int_equal(action->share, 256);
	spec.priority = GP_SCHED_PRIORITY_MAX; /* renice */
	done(w, gp_sched_job_set(w->sched, w->now, batch, &spec));
	action = seen(w, GP_SCHED_SHARE, batch);
	assert_non_null(action);
	assert_int_equal(action->share, 1u << 24);
	w->device.policy = GP_SCHED_OFF;
	done(w, gp_sched_device_set(w->sched, w->now, 0, &w->device));
	action = seen(w, GP_SCHED_SHARE, server);
	assert_non_null(action);
	assert_int_equal(action->share, 0);
	end(w);
}

/* Who is left alone is not told anything, whatever the form of a share. */
static void who_is_pinned_to_run_has_no_share(void **state)
{
	(void)state;
	for (u32 slices = 0; slices < 2; slices++) {
		struct world *w = world(slices ? GP_SCHED_PRIORITY : GP_SCHED_QUANTUM);
		struct gp_sched_action *action;
		u32 left = job(w, 1000), other = job(w, 1000);

		done(w, gp_sched_job_pin(w->sched, w->now, left, GP_SCHED_PIN_RUN));
		w->device.can_share = w->device.slices = true;
		done(w, gp_sched_device_set(w->sched, w->now, 0, &w->device));
		assert_null(seen(w, GP_SCHED_SHARE, left));
		assert_non_null(seen(w, GP_SCHED_SHARE, other));
		done(w, gp_sched_job_pin(w->sched, w->now, left, GP_SCHED_PIN_NONE));
		action = seen(w, GP_SCHED_SHARE, left);
		assert_non_null(action);
		assert_int_equal(action->share, slices ? 16 : 100);
		done(w, gp_sched_job_pin(w->sched, w->now, left, GP_SCHED_PIN_RUN));
		action = seen(w, GP_SCHED_SHARE, left);
		assert_non_null(action);
		assert_int_equal(action->share, 0);
		end(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_pinned_to_run_has_no_share),
		cmocka_unit_test(time_slices_follow_the_priorities),
		cmocka_unit_test(fair_gives_by_weight),
		cmocka_unit_test(fair_never_stops_one_that_is_alone),
		cmocka_unit_test(a_newcomer_has_saved_nothing_up),
		cmocka_unit_test(the_dominant_resource_is_what_counts),
		cmocka_unit_test(memory_counts_as_a_resource),
		cmocka_unit_test(quantum_gives_80_and_20),
		cmocka_unit_test(quantum_runs_one_at_a_time),
		cmocka_unit_test(who_has_no_work_gives_its_turn_away),
		cmocka_unit_test(turns_grow_with_what_a_preemption_costs),
		cmocka_unit_test(turns_last_until_the_hardware_has_run_all_processes),
		cmocka_unit_test(a_device_that_can_share_is_told_the_weights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
