// SPDX-License-Identifier: MIT
/* Turns of batch jobs on a device whose hardware takes turns by itself. */
#include "world.h"

#define TURN (200 * MS)

static struct world *sliced_world(void)
{
	struct world *w = world(GP_SCHED_PRIORITY);

	w->device.can_share = w->device.slices = true;
	w->device.slice_ns = TURN;
	reconfigure(w);
	return w;
}

static u32 batch_like(struct world *w, u32 priority, u32 weight)
{
	struct gp_sched_job_spec spec = {.class = GP_SCHED_CLASS_OFFLINE,
					 .priority = priority,
					 .weight = weight,
					 .in_turns = true};

	return job_like(w, &spec);
}

static u32 batch(struct world *w)
{
	u32 job = batch_like(w, GP_SCHED_PRIORITY_OFFLINE, 0);

	gets_work_of(w, job, GP_SCHED_SPAN_MAX);
	return job;
}

static u32 running(const struct world *w, u32 jobs)
{
	u32 count = 0;

	for (u32 i = 0; i < jobs; i++)
		count += w->busy[i] && !w->held[i];
	return count;
}

/* Looked at in the middle of turns, not while one passes. */
static void pass_one_at_a_time(struct world *w, u64 ns, u32 jobs)
{
	for (u64 end = w->now + ns; w->now < end;) {
		pass(w, MS);
		assert_int_equal(running(w, jobs), 1);
	}
}

static void batch_jobs_run_one_at_a_time_in_equal_parts(void **state)
{
	for (u32 count = 2; count <= 8; count++) {
		struct world *w = sliced_world();

		(void)state;
		for (u32 i = 0; i < count; i++)
			batch(w);
		pass_one_at_a_time(w, 40 * S, count);
		for (u32 i = 0; i < count; i++)
			assert_in_range(w->ran[i], 40 * S / count - TURN, 40 * S / count + TURN);
		end(w);
	}
}

static void equals_get_the_same_of_any_ten_seconds(void **state)
{
	for (u32 count = 2; count <= 8; count++) {
		struct world *w = sliced_world();
		u64 before[8], part = 10 * S / count;

		(void)state;
		for (u32 i = 0; i < count; i++)
			batch(w);
		pass(w, S);
		for (u32 window = 0; window < 20; window++) {
			memcpy(before, w->ran, sizeof(before));
			pass(w, 10 * S);
			for (u32 i = 0; i < count; i++)
				assert_in_range(w->ran[i] - before[i], part * 95 / 100,
						part * 105 / 100);
			pass(w, 37 * MS);
		}
		end(w);
	}
}

static void one_alone_is_never_stopped(void **state)
{
	struct world *w = sliced_world();

	(void)state;
	batch(w);
	w->looked = w->logged;
	pass(w, 10 * S);
	nothing_happens(w);
	end(w);
}

static void a_turn_is_over_and_the_next_begins(void **state)
{
	struct world *w = sliced_world();
	u32 one = batch(w), two = batch(w);

	(void)state;
	is_suspended(w, two, GP_SCHED_WHY_TURN_OVER);
	pass(w, TURN - MS);
	runs(w, one);
	pass(w, 2 * MS);
	is_held(w, one);
	runs(w, two);
	/* The next one runs before the last one stops: the device has work all the time. */
	assert_non_null(seen(w, GP_SCHED_RESUME, two));
	assert_non_null(seen(w, GP_SCHED_SUSPEND, one));
	end(w);
}

static void the_others_are_not_held_up_by_turns(void **state)
{
	struct world *w = sliced_world();
	u32 one = batch(w), two = batch(w), server = job(w, GP_SCHED_PRIORITY_ONLINE);

	(void)state;
	pass(w, 5 * S);
	assert_null(look(w, GP_SCHED_SUSPEND, server, GP_SCHED_WHY_TURN_OVER));
	/* Work that is known holds all of them, and then one returns. */
	gets_work(w, server);
	is_held(w, one);
	is_held(w, two);
	is_not_held(w, server);
	pass(w, 20 * MS);
	drains(w, server);
	pass(w, MS);
	assert_int_equal(running(w, 2), 1);
	pass_one_at_a_time(w, S, 2);
	end(w);
}

static void weight_and_priority_are_parts_of_the_round(void **state)
{
	static const struct {
		u32 priority[2], weight[2], permille;
	} cases[] = {
		{{500, 500}, {300, 100}, 750},
		{{1000, 500}, {100, 100}, 800},
		{{750, 500}, {100, 200}, 500},
		{{65535, 0}, {100, 100}, 990},
	};

	(void)state;
	for (u32 i = 0; i < GP_ARRAY_SIZE(cases); i++) {
		struct world *w = sliced_world();
		u32 job[2];

		for (u32 k = 0; k < 2; k++) {
			job[k] = batch_like(w, cases[i].priority[k], cases[i].weight[k]);
			gets_work_of(w, job[k], GP_SCHED_SPAN_MAX);
		}
		pass(w, 60 * S);
		assert_in_range(w->ran[job[0]] * 1000 / (60 * S), cases[i].permille - 10,
				cases[i].permille + 10);
		assert_true(w->ran[job[1]]);
		end(w);
	}
}

static void a_job_that_ends_or_idles_gives_its_turn_up_at_once(void **state)
{
	struct world *w = sliced_world();
	u32 one = batch(w), two = batch(w), three = batch(w);

	(void)state;
	pass(w, 10 * MS);
	runs(w, one);
	drains(w, one);
	is_not_held(w, two);
	is_held(w, three);
	gets_work_of(w, one, GP_SCHED_SPAN_MAX); /* it goes to the end of the line */
	is_held(w, one);
	pass(w, 10 * MS);
	done(w, gp_sched_job_remove(w->sched, w->now, two));
	w->busy[two] = false;
	is_not_held(w, three);
	is_held(w, one);
	pass_one_at_a_time(w, 5 * S, 3);
	end(w);
}

/* So many that a round does not fit: turns are shorter, and nothing is left to max_suspend. */
static void many_jobs_have_shorter_turns(void **state)
{
	struct world *w = sliced_world();

	(void)state;
	for (u32 i = 0; i < 40; i++)
		batch(w);
	w->looked = w->logged;
	pass(w, 3 * S); /* the first turn was that of one alone */
	memset(w->ran, 0, sizeof(w->ran));
	pass_one_at_a_time(w, 20 * S, 40);
	assert_null(look(w, GP_SCHED_RESUME, 0, GP_SCHED_WHY_MAX_SUSPEND));
	for (u32 i = 0; i < 40; i++)
		assert_in_range(w->ran[i], 20 * S / 40 * 9 / 10, 20 * S / 40 * 11 / 10);
	end(w);
}

/* On a busy host operations take much longer than in the driver. That is no reason to leave jobs
 * alone when their turn is over: they would all run side by side. */
static void slow_operations_do_not_end_turns(void **state)
{
	static const struct {
		u64 takes;
		u32 jobs;
	} rows[] = {{2 * MS, 32}, {10 * MS, 8}, {30 * MS, 4}};

	(void)state;
	for (u32 row = 0; row < GP_ARRAY_SIZE(rows); row++) {
		struct world *w = sliced_world();

		w->takes = rows[row].takes;
		w->driver_ns = 20 * US;
		for (u32 i = 0; i < rows[row].jobs; i++)
			batch(w);
		pass(w, 5 * S);
		w->looked = w->logged;
		pass_one_at_a_time(w, 10 * S, rows[row].jobs);
		for (u32 i = 0; i < rows[row].jobs; i++)
			assert_null(seen(w, GP_SCHED_NOTE, i));
		end(w);
	}
}

/* A job that max_suspend brings back would run beside the one whose turn it is. */
static void a_round_fits_into_a_short_max_suspend(void **state)
{
	struct world *w = sliced_world();
	struct gp_sched_stats before, after;

	(void)state;
	w->sched->config.max_suspend_ns = 300 * MS;
	for (u32 i = 0; i < 4; i++)
		batch(w);
	pass(w, 2 * S);
	gp_sched_stats(w->sched, &before);
	pass_one_at_a_time(w, 10 * S, 4);
	gp_sched_stats(w->sched, &after);
	assert_int_equal(after.why[GP_SCHED_WHY_MAX_SUSPEND], before.why[GP_SCHED_WHY_MAX_SUSPEND]);
	end(w);
}

static void without_slices_there_are_no_turns(void **state)
{
	struct world *w = sliced_world();

	(void)state;
	w->device.slices = false;
	reconfigure(w);
	batch(w), batch(w);
	w->looked = w->logged;
	pass(w, S);
	nothing_happens(w);
	/* The device changes under them. */
	w->device.slices = true;
	reconfigure(w);
	pass(w, MS);
	pass_one_at_a_time(w, S, 2);
	w->device.policy = GP_SCHED_OFF;
	reconfigure(w);
	pass(w, MS);
	assert_int_equal(running(w, 2), 2);
	end(w);
}

static void a_job_may_change_its_mind(void **state)
{
	struct world *w = sliced_world();
	struct gp_sched_job_spec spec = {.class = GP_SCHED_CLASS_ONLINE,
					 .priority = GP_SCHED_PRIORITY_ONLINE};
	u32 one = batch(w), two = batch(w), three = batch(w);

	(void)state;
	pass(w, 10 * MS);
	done(w, gp_sched_job_set(w->sched, w->now, three, &spec));
	pass(w, MS);
	is_not_held(w, three); /* though its turn was the last */
	is_held(w, one);
	is_held(w, two);
	spec = (struct gp_sched_job_spec){.priority = 500, .in_turns = true};
	done(w, gp_sched_job_set(w->sched, w->now, three, &spec));
	pass(w, MS);
	pass_one_at_a_time(w, 5 * S, 3);
	end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batch_jobs_run_one_at_a_time_in_equal_parts),
		cmocka_unit_test(one_alone_is_never_stopped),
		cmocka_unit_test(equals_get_the_same_of_any_ten_seconds),
		cmocka_unit_test(a_turn_is_over_and_the_next_begins),
		cmocka_unit_test(the_others_are_not_held_up_by_turns),
		cmocka_unit_test(weight_and_priority_are_parts_of_the_round),
		cmocka_unit_test(a_job_that_ends_or_idles_gives_its_turn_up_at_once),
		cmocka_unit_test(many_jobs_have_shorter_turns),
		cmocka_unit_test(slow_operations_do_not_end_turns),
		cmocka_unit_test(a_round_fits_into_a_short_max_suspend),
		cmocka_unit_test(without_slices_there_are_no_turns),
		cmocka_unit_test(a_job_may_change_its_mind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
