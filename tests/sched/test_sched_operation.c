// SPDX-License-Identifier: MIT
/* Operations that fail, hang, come late or twice; leases; max_suspend; things that go while held.
 */
#include "world.h"

/* A low job that is being suspended for a high one, and nobody has answered. */
static struct world *inversion(u32 *low, u32 *high)
{
	struct world *w = world(GP_SCHED_PRIORITY);

	*low = job(w, 500);
	*high = job(w, 2000);
	w->takes = GP_SCHED_NEVER;
	gets_work(w, *low);
	gets_work(w, *high);
	return w;
}

static u64 token_of(struct world *w, u32 job)
{
	for (u32 i = w->logged; i--;)
		if (w->log[i].job == job && w->log[i].token)
			return w->log[i].token;
	fail_msg("no operation on job %u", job);
	return 0;
}

static void answer(struct world *w, u64 token, int result)
{
	done(w, gp_sched_operation(w->sched, w->now, token, result, GP_SCHED_UNKNOWN));
}

static void a_job_is_held_from_its_action_on_and_suspended_when_that_is_done(void **state)
{
	u32 low, high;
	struct world *w = inversion(&low, &high);

	(void)state;
	assert_int_equal(run_of(w, low), GP_SCHED_SUSPENDING);
	answer(w, token_of(w, low), 0);
	assert_int_equal(run_of(w, low), GP_SCHED_SUSPENDED);
	drains(w, high);
	assert_int_equal(run_of(w, low), GP_SCHED_RESUMING);
	answer(w, token_of(w, low), 0);
	runs(w, low);
	end(w);
}

static void a_suspend_that_fails_is_undone_and_the_job_left_alone(void **state)
{
	u32 low, high;
	struct world *w = inversion(&low, &high);
	struct gp_sched_action *note;

	(void)state;
	answer(w, token_of(w, low), -EIO);
	note = seen(w, GP_SCHED_NOTE, low);
	assert_non_null(note);
	assert_int_equal(note->reason.why, GP_SCHED_WHY_FAILED);
	assert_int_equal(note->reason.error, -EIO);
	is_resumed(w, low, GP_SCHED_WHY_RECOVER);
	answer(w, token_of(w, low), 0);
	pass(w, 2 * GP_SCHED_BACKOFF_NS - 1);
	is_not_held(w, low);
	pass(w, 1);
	is_suspended(w, low, GP_SCHED_WHY_INVERSION);
	end(w);
}

static void every_failure_in_a_row_doubles_the_time_it_is_left_alone(void **state)
{
	u32 low, high;
	struct world *w = inversion(&low, &high);

	(void)state;
	for (u32 i = 1; i <= 14; i++) {
		u64 from;

		answer(w, token_of(w, low), -EBUSY);
		answer(w, token_of(w, low), 0);
		from = w->now;
		w->looked = w->logged = 0;
		pass(w, GP_SCHED_BACKOFF_NS << GP_MIN(i, GP_SCHED_RETRY_SHIFT));
		is_suspended(w, low, GP_SCHED_WHY_INVERSION);
		assert_int_equal(gp_sched_job(w->sched, low)->held_since - from,
				 GP_SCHED_BACKOFF_NS << GP_MIN(i, GP_SCHED_RETRY_SHIFT));
	}
	end(w);
}

static void a_suspend_that_works_ends_the_row_of_failures(void **state)
{
	u32 low, high;
	struct world *w = inversion(&low, &high);

	(void)state;
	for (u32 i = 0; i < 3; i++) {
		answer(w, token_of(w, low), -EBUSY);
		answer(w, token_of(w, low), 0);
		pass(w, 2 * GP_SCHED_BACKOFF_NS - 1);
		is_not_held(w, low);
		pass(w, 1);
		is_held(w, low);
		answer(w, token_of(w, low), 0);
		drains(w, high);
		answer(w, token_of(w, low), 0);
		gets_work(w, high);
	}
	end(w);
}

static void a_suspend_that_hangs_is_given_up_in_time(void **state)
{
	u32 low, high;
	struct world *w = inversion(&low, &high);
	u64 hung = token_of(w, low);

	(void)state;
	pass(w, w->config.op_timeout_ns - 1);
	assert_int_equal(run_of(w, low), GP_SCHED_SUSPENDING);
	pass(w, 1);
	assert_non_null(seen(w, GP_SCHED_NOTE, low));
	is_resumed(w, low, GP_SCHED_WHY_RECOVER);
	/* Its late success changes nothing: the resume comes after it. */
	assert_int_equal(gp_sched_operation(w->sched, w->now, hung, 0, 0), -ESTALE);
	assert_int_equal(run_of(w, low), GP_SCHED_RESUMING);
	answer(w, token_of(w, low), 0);
	runs(w, low);
	end(w);
}

static void a_resume_that_fails_is_tried_until_it_works(void **state)
{
	u32 low, high;
	struct world *w = inversion(&low, &high);

	(void)state;
	answer(w, token_of(w, low), 0);
	drains(w, high);
	for (u32 i = 1; i < 15; i++) {
		u64 before = token_of(w, low);

		answer(w, before, -EIO);
		w->looked = w->logged = 0;
		pass(w, GP_SCHED_RETRY_NS << GP_MIN(i, GP_SCHED_RETRY_SHIFT));
		is_resumed(w, low, GP_SCHED_WHY_RECOVER);
		assert_int_not_equal(token_of(w, low), before);
	}
	answer(w, token_of(w, low), 0);
	runs(w, low);
	end(w);
}

static void late_and_repeated_answers_change_nothing(void **state)
{
	u32 low, high;
	struct world *w = inversion(&low, &high);
	u64 first = token_of(w, low);
	struct gp_sched_stats stats;

	(void)state;
	answer(w, first, 0);
	assert_int_equal(gp_sched_operation(w->sched, w->now, first, 0, 0), -ESTALE);
	assert_int_equal(gp_sched_operation(w->sched, w->now, first, -EIO, 0), -ESTALE);
	assert_int_equal(run_of(w, low), GP_SCHED_SUSPENDED);
	drains(w, high);
	assert_int_equal(gp_sched_operation(w->sched, w->now, first, 0, 0), -ESTALE);
	assert_int_equal(run_of(w, low), GP_SCHED_RESUMING);
	assert_int_equal(gp_sched_operation(w->sched, w->now, 0, 0, 0), -ESTALE);
	assert_int_equal(gp_sched_operation(w->sched, w->now, UINT64_MAX, 0, 0), -ESTALE);
	gp_sched_stats(w->sched, &stats);
	assert_int_equal(stats.stale, 5);
	end(w);
}

static void a_resume_does_not_wait_for_the_suspend_before_it(void **state)
{
	u32 low, high;
	struct world *w = inversion(&low, &high);
	u64 first = token_of(w, low);

	(void)state;
	drains(w, high);
	is_resumed(w, low, GP_SCHED_WHY_CLEAR);
	assert_int_equal(gp_sched_operation(w->sched, w->now, first, 0, 0), -ESTALE);
	answer(w, token_of(w, low), 0);
	runs(w, low);
	end(w);
}

static void leases_are_renewed_before_they_end(void **state)
{
	u32 low, high;
	struct world *w = inversion(&low, &high);
	u64 lease = w->log[w->logged - 1].until_ns;

	(void)state;
	assert_non_null(seen(w, GP_SCHED_SUSPEND, low));
	lease = w->now + w->config.lease_ns;
	answer(w, token_of(w, low), 0);
	for (u32 i = 0; i < 50; i++) {
		w->looked = w->logged = 0;
		pass(w, w->config.lease_ns / 3);
		assert_non_null(seen(w, GP_SCHED_RENEW, GP_SCHED_NONE));
		assert_true(lease > w->now);
		lease = w->now + w->config.lease_ns;
	}
	drains(w, high);
	answer(w, token_of(w, low), 0);
	w->looked = w->logged;
	pass(w, S);
	assert_null(
		seen(w, GP_SCHED_RENEW, GP_SCHED_NONE)); /* with nobody held there is no timer */
	assert_int_equal(gp_sched_next(w->sched), GP_SCHED_NEVER);
	end(w);
}

static void a_lost_lease_is_noted_and_the_job_held_again(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low, high;

	(void)state;
	w->device.min_run_ns = MS;
	reconfigure(w);
	low = job(w, 500);
	high = job(w, 2000);
	gets_work(w, low);
	gets_work(w, high);
	pass(w, 50 * MS);
	done(w, gp_sched_lease_lost(w->sched, w->now, low));
	is_noted(w, low, GP_SCHED_WHY_LEASE_LOST);
	runs(w, low);
	pass(w, MS);
	is_suspended(w, low, GP_SCHED_WHY_INVERSION);
	done(w, gp_sched_lease_lost(w->sched, w->now, high)); /* it runs anyway */
	nothing_happens(w);
	end(w);
}

static void nobody_is_held_longer_than_max_suspend(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	struct gp_sched_job_spec own = {.priority = 400, .max_suspend_ns = 300 * MS};
	u32 low = job(w, 500), lower = job_like(w, &own), high = job(w, 2000);

	(void)state;
	gets_work(w, low);
	gets_work(w, lower);
	gets_work(w, high);
	pass(w, 300 * MS - 1);
	is_held(w, lower);
	pass(w, 1);
	is_resumed(w, lower, GP_SCHED_WHY_MAX_SUSPEND);
	pass(w, 1700 * MS - 1);
	is_held(w, low);
	pass(w, 1);
	is_resumed(w, low, GP_SCHED_WHY_MAX_SUSPEND);
	end(w);
}

static void a_hold_on_request_ends_by_itself(void **state)
{
	struct world *w = world(GP_SCHED_OFF);
	u32 one = job(w, 500);

	(void)state;
	done(w, gp_sched_job_pin(w->sched, w->now, one, GP_SCHED_PIN_HOLD));
	is_suspended(w, one, GP_SCHED_WHY_PINNED);
	gets_work(w, one);
	drains(w, one);
	is_held(w, one);
	pass(w, 2 * S);
	is_resumed(w, one, GP_SCHED_WHY_MAX_SUSPEND);
	pass(w, MS);
	done(w, gp_sched_job_pin(w->sched, w->now, one, GP_SCHED_PIN_HOLD));
	done(w, gp_sched_job_pin(w->sched, w->now, one, GP_SCHED_PIN_NONE));
	is_resumed(w, one, GP_SCHED_WHY_UNPINNED);
	end(w);
}

static void who_is_pinned_to_run_is_never_held(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);

	(void)state;
	gets_work(w, low);
	gets_work(w, high);
	is_held(w, low);
	done(w, gp_sched_job_pin(w->sched, w->now, low, GP_SCHED_PIN_RUN));
	is_resumed(w, low, GP_SCHED_WHY_UNPINNED);
	pass(w, 10 * S);
	nothing_happens(w);
	done(w, gp_sched_job_pin(w->sched, w->now, low, GP_SCHED_PIN_NONE));
	is_suspended(w, low, GP_SCHED_WHY_INVERSION);
	end(w);
}

static void a_queue_that_joins_a_held_job_is_held_too(void **state)
{
	u32 low, high, queue;
	struct world *w = inversion(&low, &high);

	(void)state;
	answer(w, token_of(w, low), 0);
	done(w, gp_sched_queue_add(w->sched, w->now, w->process[low], 0, GP_SCHED_STREAM_NORMAL,
				   &queue));
	is_suspended(w, low, GP_SCHED_WHY_JOINED);
	answer(w, token_of(w, low), 0);
	assert_int_equal(run_of(w, low), GP_SCHED_SUSPENDED);
	end(w);
}

static void a_job_removed_while_held_is_let_go(void **state)
{
	u32 low, high;
	struct world *w = inversion(&low, &high);
	u64 token = token_of(w, low);
	struct gp_sched_action *action;

	(void)state;
	done(w, gp_sched_job_remove(w->sched, w->now, low));
	action = look(w, GP_SCHED_RESUME, low, GP_SCHED_WHY_GONE);
	assert_non_null(action);
	assert_int_equal(action->token, 0);
	assert_int_equal(gp_sched_operation(w->sched, w->now, token, 0, 0), -ESTALE);
	assert_int_equal(gp_sched_work(w->sched, w->now, w->queue[low], GP_SCHED_BUSY, 0), -ENOENT);
	pass(w, 10 * S);
	nothing_happens(w);
	end(w);
}

static void who_is_held_and_has_no_work_left_is_let_go(void **state)
{
	u32 low, high;
	struct world *w = inversion(&low, &high);

	(void)state;
	drains(w, low); /* it was over before the suspend took hold */
	is_resumed(w, low, GP_SCHED_WHY_IDLE);
	end(w);
}

static void a_destroyed_queue_takes_its_work_and_its_reason_along(void **state)
{
	u32 low, high;
	struct world *w = inversion(&low, &high);

	(void)state;
	done(w, gp_sched_queue_remove(w->sched, w->now, w->queue[high]));
	is_resumed(w, low, GP_SCHED_WHY_CLEAR);
	answer(w, token_of(w, low), 0);
	done(w, gp_sched_process_remove(w->sched, w->now, w->process[low]));
	nothing_happens(w);
	end(w);
}

static void a_dead_process_frees_those_it_held_up(void **state)
{
	u32 low, high;
	struct world *w = inversion(&low, &high);

	(void)state;
	done(w, gp_sched_process_remove(w->sched, w->now, w->process[high]));
	is_resumed(w, low, GP_SCHED_WHY_CLEAR);
	end(w);
}

static void a_clock_that_jumps_ahead_only_ends_what_is_over(void **state)
{
	u32 low, high;
	struct world *w = inversion(&low, &high);

	(void)state;
	answer(w, token_of(w, low), 0);
	w->now += 3600 * S;
	done(w, gp_sched_timer(w->sched, w->now));
	is_resumed(w, low, GP_SCHED_WHY_MAX_SUSPEND);
	/* And back: it counts as no time at all. */
	done(w, gp_sched_timer(w->sched, 5));
	assert_int_equal(gp_sched_now(w->sched), w->now);
	end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_is_held_from_its_action_on_and_suspended_when_that_is_done),
		cmocka_unit_test(a_suspend_that_fails_is_undone_and_the_job_left_alone),
		cmocka_unit_test(every_failure_in_a_row_doubles_the_time_it_is_left_alone),
		cmocka_unit_test(a_suspend_that_works_ends_the_row_of_failures),
		cmocka_unit_test(a_suspend_that_hangs_is_given_up_in_time),
		cmocka_unit_test(a_resume_that_fails_is_tried_until_it_works),
		cmocka_unit_test(late_and_repeated_answers_change_nothing),
		cmocka_unit_test(a_resume_does_not_wait_for_the_suspend_before_it),
		cmocka_unit_test(leases_are_renewed_before_they_end),
		cmocka_unit_test(a_lost_lease_is_noted_and_the_job_held_again),
		cmocka_unit_test(nobody_is_held_longer_than_max_suspend),
		cmocka_unit_test(a_hold_on_request_ends_by_itself),
		cmocka_unit_test(who_is_pinned_to_run_is_never_held),
		cmocka_unit_test(a_queue_that_joins_a_held_job_is_held_too),
		cmocka_unit_test(a_job_removed_while_held_is_let_go),
		cmocka_unit_test(who_is_held_and_has_no_work_left_is_let_go),
		cmocka_unit_test(a_destroyed_queue_takes_its_work_and_its_reason_along),
		cmocka_unit_test(a_dead_process_frees_those_it_held_up),
		cmocka_unit_test(a_clock_that_jumps_ahead_only_ends_what_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
