// SPDX-License-Identifier: MIT
/* The `priority` policy: who is before whom, and the bound on how long one can be kept waiting. */
#include "world.h"

static void higher_work_suspends_lower_work(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);
	struct gp_sched_action *action;

	(void)state;
	gets_work(w, low);
	pass(w, MS);
	nothing_happens(w);
	gets_work(w, high);
	action = look(w, GP_SCHED_SUSPEND, low, GP_SCHED_WHY_INVERSION);
	assert_non_null(action);
	assert_int_equal(action->reason.other, high);
	assert_int_equal(action->reason.job_priority, 500);
	assert_int_equal(action->reason.other_priority, 2000);
	assert_int_equal(action->reason.ran_ns, MS);
	assert_int_equal(action->until_ns, w->now + 100 * MS);
	is_not_held(w, high);
	end(w);
}

static void lower_work_that_comes_later_is_held(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 501);

	(void)state;
	gets_work(w, high);
	gets_work(w, low);
	is_suspended(w, low, GP_SCHED_WHY_INVERSION);
	end(w);
}

static void the_lower_one_goes_on_in_the_event_that_ends_the_reason(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);
	struct gp_sched_action *suspend, *resume;

	(void)state;
	gets_work(w, low);
	gets_work(w, high);
	suspend = look(w, GP_SCHED_SUSPEND, low, GP_SCHED_WHY_INVERSION);
	pass(w, 3 * MS);
	drains(w, high);
	resume = look(w, GP_SCHED_RESUME, low, GP_SCHED_WHY_CLEAR);
	assert_non_null(suspend);
	assert_non_null(resume);
	assert_int_equal(resume->reason.cause, suspend->reason.id);
	assert_int_equal(resume->reason.waited_ns, 3 * MS);
	pass(w, MS);
	runs(w, low);
	end(w);
}

static void equals_run_side_by_side(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 one = job(w, 1000), two = job(w, 1000), low = job(w, 999);

	(void)state;
	gets_work(w, one);
	gets_work(w, two);
	nothing_happens(w);
	gets_work(w, low);
	is_held(w, low);
	drains(w, one);
	is_held(w, low); /* for the other one */
	drains(w, two);
	is_not_held(w, low);
	end(w);
}

static void only_the_highest_of_many_runs(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 jobs[20];

	(void)state;
	for (u32 i = 0; i < 20; i++)
		gets_work(w, jobs[i] = job(w, (i * 7 % 20) * 100));
	for (u32 i = 0; i < 20; i++)
		assert_int_equal(gp_job_held(gp_sched_job(w->sched, jobs[i])), i * 7 % 20 != 19);
	end(w);
}

static void without_work_nobody_is_disturbed(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500);

	(void)state;
	job(w, 65535);
	gets_work(w, low);
	pass(w, S);
	nothing_happens(w);
	end(w);
}

static void priorities_come_from_the_class(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	static const struct {
		enum gp_sched_class class;
		u32 priority;
	} rows[] = {{GP_SCHED_CLASS_OFFLINE, 500},
		    {GP_SCHED_CLASS_NORMAL, 1000},
		    {GP_SCHED_CLASS_ONLINE, 2000}};
	struct gp_sched_job_state got;

	(void)state;
	for (u32 i = 0; i < 3; i++) {
		struct gp_sched_job_spec spec = {.class = rows[i].class, .priority = GP_SCHED_NONE};

		assert_int_equal(gp_sched_job_state(w->sched, job_like(w, &spec), &got), 0);
		assert_int_equal(got.priority, rows[i].priority);
		assert_int_equal(got.weight, 100);
	}
	end(w);
}

static void renice_takes_effect_at_once(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 one = job(w, 1000), two = job(w, 1000);
	struct gp_sched_job_spec spec = {.priority = 1001};

	(void)state;
	gets_work(w, one);
	gets_work(w, two);
	done(w, gp_sched_job_set(w->sched, w->now, two, &spec));
	is_suspended(w, one, GP_SCHED_WHY_INVERSION);
	spec.priority = 10;
	done(w, gp_sched_job_set(w->sched, w->now, two, &spec));
	is_not_held(w, one);
	is_suspended(w, two, GP_SCHED_WHY_INVERSION);
	end(w);
}

static void a_busy_high_stream_lifts_its_job_and_low_ones_lower_it(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 plain = job(w, 1000), streams = job(w, 1000), high;

	(void)state;
	done(w,
	     gp_sched_queue_add(w->sched, 0, w->process[streams], 0, GP_SCHED_STREAM_HIGH, &high));
	gets_work(w, plain);
	gets_work(w, streams);
	nothing_happens(w);
	done(w, gp_sched_work(w->sched, 0, high, GP_SCHED_BUSY, GP_SCHED_UNKNOWN));
	is_suspended(w, plain, GP_SCHED_WHY_INVERSION);
	done(w, gp_sched_work(w->sched, 0, high, GP_SCHED_DRAINED, GP_SCHED_UNKNOWN));
	is_not_held(w, plain);
	done(w, gp_sched_queue_stream(w->sched, 0, w->queue[streams], GP_SCHED_STREAM_LOW));
	is_suspended(w, streams, GP_SCHED_WHY_INVERSION);
	end(w);
}

/*
 * The starvation bound: whatever the priorities and the step, a job that is kept waiting by endless
 * higher work runs after at most min((P - p) * step, max_suspend), and then for turn_ns.
 */
static void nobody_starves_beyond_the_stated_bound(void **state)
{
	static const u32 above[] = {1, 10, 100, 1500, 65535};
	static const u64 steps[] = {0, 1, US, 100 * US, MS};

	(void)state;
	for (u32 i = 0; i < GP_ARRAY_SIZE(above) * GP_ARRAY_SIZE(steps); i++) {
		u64 step = steps[i / GP_ARRAY_SIZE(above)], apart = above[i % GP_ARRAY_SIZE(above)];
		u64 bound = step ? GP_MIN(apart * step, 2 * S) : 2 * S, ran = 0;
		struct world *w = world(GP_SCHED_PRIORITY);
		u32 low, high;

		w->device.age_step_ns = step;
		w->device.turn_ns = 5 * MS;
		w->takes = 0;
		reconfigure(w);
		low = job(w, 0);
		high = job(w, (u32)apart);
		gets_work(w, high);
		gets_work(w, low);
		for (u32 round = 0; round < 3; round++) {
			struct gp_sched_action *back;
			u64 from = w->now;

			is_held(w, low);
			pass(w, bound - 1);
			is_held(w,
				low); /* the bound is not beaten either: the higher one is served */
			pass(w, 1);
			back = look(w, GP_SCHED_RESUME, low,
				    bound < 2 * S ? GP_SCHED_WHY_AGED : GP_SCHED_WHY_MAX_SUSPEND);
			assert_non_null(back);
			assert_int_equal(back->reason.at_ns, from + bound);
			ran = w->ran[low];
			pass(w, 5 * MS - 1);
			is_not_held(w, low);
			is_not_held(w, high);
			pass(w, 1);
			is_suspended(w, low, GP_SCHED_WHY_INVERSION);
			assert_int_equal(w->ran[low] - ran, 5 * MS);
		}
		end(w);
	}
}

static void of_those_who_wait_the_one_with_most_age_comes_first(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 high, early, late;

	(void)state;
	w->device.age_step_ns = MS;
	reconfigure(w);
	high = job(w, 2000);
	early = job(w, 1000);
	late = job(w, 1010);
	gets_work(w, high);
	gets_work(w, early);
	pass(w, 11 * MS);
	gets_work(w, late);
	pass(w, 988 * MS + 999 * US);
	is_held(w, early);
	pass(w, US);
	is_resumed(w, early, GP_SCHED_WHY_AGED);
	is_held(w, late);
	pass(w, MS);
	is_resumed(w, late, GP_SCHED_WHY_AGED);
	end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(higher_work_suspends_lower_work),
		cmocka_unit_test(lower_work_that_comes_later_is_held),
		cmocka_unit_test(the_lower_one_goes_on_in_the_event_that_ends_the_reason),
		cmocka_unit_test(equals_run_side_by_side),
		cmocka_unit_test(only_the_highest_of_many_runs),
		cmocka_unit_test(without_work_nobody_is_disturbed),
		cmocka_unit_test(priorities_come_from_the_class),
		cmocka_unit_test(renice_takes_effect_at_once),
		cmocka_unit_test(a_busy_high_stream_lifts_its_job_and_low_ones_lower_it),
		cmocka_unit_test(nobody_starves_beyond_the_stated_bound),
		cmocka_unit_test(of_those_who_wait_the_one_with_most_age_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
