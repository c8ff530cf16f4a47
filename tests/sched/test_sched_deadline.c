// SPDX-License-Identifier: MIT
/* The `deadline` policy: admission, order, and what overload does to whom. */
#include "world.h"

static u32 deadline_job(struct world *w, u64 deadline, u64 budget, u64 period)
{
	struct gp_sched_job_spec spec = {.priority = 1000,
					 .deadline_ns = deadline,
					 .budget_ns = budget,
					 .period_ns = period};

	return job_like(w, &spec);
}

static u32 admitted_ppm(struct world *w)
{
	struct gp_sched_device_state got;

	assert_int_equal(gp_sched_device_state(w->sched, 0, &got), 0);
	return got.admitted_ppm;
}

static void the_earliest_deadline_runs(void **state)
{
	struct world *w = world(GP_SCHED_DEADLINE);
	u32 far = deadline_job(w, 100 * MS, 20 * MS, 0), near = deadline_job(w, 10 * MS, 2 * MS, 0);
	u32 later = deadline_job(w, 100 * MS, MS, 0);

	(void)state;
	gets_work(w, far);
	pass(w, 5 * MS);
	gets_work(w, near); /* due at 15 ms, before 100 ms */
	is_suspended(w, far, GP_SCHED_WHY_INVERSION);
	pass(w, 2 * MS - US);
	drains(w, near);
	is_resumed(w, far, GP_SCHED_WHY_CLEAR);
	pass(w, 5 * MS);
	gets_work(w, later); /* due at 112 ms: the other one is first */
	is_suspended(w, later, GP_SCHED_WHY_INVERSION);
	end(w);
}

static void jobs_without_a_deadline_run_behind_by_priority(void **state)
{
	struct world *w = world(GP_SCHED_DEADLINE);
	u32 low = job(w, 500), high = job(w, 65535), due = deadline_job(w, 500 * MS, MS, 0);

	(void)state;
	gets_work(w, low);
	gets_work(w, high);
	is_held(w, low);
	gets_work(w, due);
	is_held(w, high);
	is_not_held(w, due);
	drains(w, due);
	is_not_held(w, high);
	is_held(w, low);
	end(w);
}

static void a_set_that_cannot_be_met_is_refused_with_the_numbers(void **state)
{
	struct world *w = world(GP_SCHED_DEADLINE);
	struct gp_sched_job_spec spec = {.priority = 1000, .deadline_ns = 10 * MS};
	struct gp_sched_action *note;
	u32 one, two;

	(void)state;
	/* (4 ms + 20 us) / 10 ms = 40.2 %, twice; a third does not fit in 90 %. */
	one = deadline_job(w, 10 * MS, 4 * MS, 0);
	deadline_job(w, 20 * MS, 4 * MS, 10 * MS);
	assert_int_equal(admitted_ppm(w), 804000);
	two = deadline_job(w, 10 * MS, 4 * MS, 0);
	note = look(w, GP_SCHED_NOTE, two, GP_SCHED_WHY_REFUSED);
	assert_non_null(note);
	assert_int_equal(note->reason.used_ppm, 804000);
	assert_int_equal(note->reason.needs_ppm, 402000);
	assert_int_equal(note->reason.limit_ppm, 900000);
	assert_int_equal(admitted_ppm(w), 804000);
	/* Asked for on purpose it is an error, and nothing changes. */
	spec.budget_ns = 6 * MS;
	assert_int_equal(gp_sched_job_set(w->sched, w->now, one, &spec), -EBUSY);
	done(w, 0);
	is_noted(w, one, GP_SCHED_WHY_REFUSED);
	assert_int_equal(admitted_ppm(w), 804000);
	assert_int_equal(gp_sched_job(w->sched, one)->spec.budget_ns, 4 * MS);
	/* With room it is taken. */
	done(w, gp_sched_job_remove(w->sched, w->now, one));
	assert_int_equal(admitted_ppm(w), 402000);
	spec.budget_ns = 4 * MS;
	done(w, gp_sched_job_set(w->sched, w->now, two, &spec));
	assert_int_equal(admitted_ppm(w), 804000);
	end(w);
}

static void who_was_refused_runs_behind(void **state)
{
	struct world *w = world(GP_SCHED_DEADLINE);
	u32 in = deadline_job(w, 10 * MS, 8 * MS, 0), out = deadline_job(w, 5 * MS, 4 * MS, 0);

	(void)state;
	gets_work(w, in);
	gets_work(w, out);
	is_held(w, out); /* though its deadline would be earlier */
	end(w);
}

/* An admitted set in which everybody keeps to its word misses nothing. */
static void an_admitted_set_meets_its_deadlines(void **state)
{
	static const u64 period[] = {10 * MS, 20 * MS, 50 * MS};
	static const u64 budget[] = {3 * MS, 5 * MS, 12 * MS}; /* 30 + 25 + 24 % */
	struct world *w = world(GP_SCHED_DEADLINE);
	u64 left[3] = {0}, next[3] = {0};
	u32 jobs[3];

	(void)state;
	w->takes = US;
	for (u32 i = 0; i < 3; i++)
		jobs[i] = deadline_job(w, period[i], budget[i] + 100 * US, period[i]);
	assert_int_equal(gp_sched_device_state(w->sched, 0, &(struct gp_sched_device_state){0}), 0);
	while (w->now < S) {
		u64 step = GP_SCHED_NEVER;

		for (u32 i = 0; i < 3; i++) {
			if (w->now == next[i]) {
				assert_int_equal(left[i], 0);
				left[i] = budget[i];
				next[i] += period[i];
				gets_work(w, jobs[i]);
			}
			step = GP_MIN(step, next[i] - w->now);
		}
		for (u32 i = 0; i < 3; i++)
			if (w->busy[jobs[i]] && !w->held[jobs[i]])
				step = GP_MIN(step, left[i]);
		step = GP_MIN(step, 50 * US);
		/* One at a time has the device. */
		for (u32 i = 0; i < 3; i++)
			if (w->busy[jobs[i]] && !w->held[jobs[i]]) {
				left[i] -= step;
				break;
			}
		pass(w, step);
		for (u32 i = 0; i < 3; i++)
			if (w->busy[jobs[i]] && !left[i])
				drains(w, jobs[i]);
	}
	for (u32 i = 0; i < w->logged; i++)
		assert_int_not_equal(w->log[i].reason.why, GP_SCHED_WHY_MISSED);
	end(w);
}

static void who_needs_more_than_it_said_is_late_alone(void **state)
{
	struct world *w = world(GP_SCHED_DEADLINE);
	u32 liar = deadline_job(w, 10 * MS, 2 * MS, 0),
	    honest = deadline_job(w, 15 * MS, 5 * MS, 0);
	struct gp_sched_action *note;

	(void)state;
	gets_work(w, liar);
	gets_work(w, honest);
	is_held(w, honest);
	/* Budget used up, not counting the 10 us of the suspend: put off to 20 ms, behind 15. */
	pass(w, 2 * MS + 10 * US - 1);
	is_held(w, honest);
	pass(w, 1);
	note = look(w, GP_SCHED_NOTE, liar, GP_SCHED_WHY_OVERRUN);
	assert_non_null(note);
	assert_int_equal(note->reason.limit_ns, 2 * MS);
	is_not_held(w, honest);
	is_held(w, liar);
	pass(w, 5 * MS - 100 * US);
	drains(w, honest); /* at 7 ms: in time */
	pass(w, 4 * MS);
	drains(w, liar); /* at 11 ms: late */
	note = look(w, GP_SCHED_NOTE, liar, GP_SCHED_WHY_MISSED);
	assert_non_null(note);
	assert_int_equal(note->reason.waited_ns, w->now - 10 * MS);
	end(w);
}

/* Making room for it takes its time, but not its budget. */
static void waiting_for_a_switch_is_not_charged(void **state)
{
	struct world *w = world(GP_SCHED_DEADLINE);
	u32 batch = job(w, 500), due = deadline_job(w, 10 * MS, MS, 0);

	(void)state;
	w->takes = 2 * MS;
	for (u32 i = 0; i < 5; i++) {
		gets_work(w, batch);
		gets_work(w, due);
		is_held(w, batch);
		pass(w, 2 * MS + 900 * US);
		drains(w, due);
		pass(w, 20 * MS);
	}
	for (u32 i = 0; i < w->logged; i++) {
		assert_int_not_equal(w->log[i].reason.why, GP_SCHED_WHY_OVERRUN);
		assert_int_not_equal(w->log[i].reason.why, GP_SCHED_WHY_MISSED);
	}
	end(w);
}

/* Many short bursts in one period share one budget: flooding does not buy time. */
static void bursts_within_a_period_share_its_budget(void **state)
{
	struct world *w = world(GP_SCHED_DEADLINE);
	u32 flood = deadline_job(w, 10 * MS, MS, 0), other = deadline_job(w, 12 * MS, 5 * MS, 0);

	(void)state;
	for (u32 i = 0; i < 3; i++) {
		gets_work(w, flood);
		pass(w, 400 * US);
		if (i < 2)
			drains(w, flood);
	}
	/* 1.2 ms: over. Its deadline is now that of the next period. */
	gets_work(w, other);
	is_not_held(w, other);
	is_held(w, flood);
	end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_earliest_deadline_runs),
		cmocka_unit_test(jobs_without_a_deadline_run_behind_by_priority),
		cmocka_unit_test(a_set_that_cannot_be_met_is_refused_with_the_numbers),
		cmocka_unit_test(who_was_refused_runs_behind),
		cmocka_unit_test(an_admitted_set_meets_its_deadlines),
		cmocka_unit_test(who_needs_more_than_it_said_is_late_alone),
		cmocka_unit_test(waiting_for_a_switch_is_not_charged),
		cmocka_unit_test(bursts_within_a_period_share_its_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
