// SPDX-License-Identifier: MIT
/* Jobs that the host has stopped: no claim, no operations, no failures; and everything as before
 * when they return. */
#include "world.h"

static void stops(struct world *w, u32 job)
{
	w->looked = w->logged;
	done(w, gp_sched_job_absent(w->sched, w->now, job, true));
}

static void goes_on(struct world *w, u32 job)
{
	w->looked = w->logged;
	done(w, gp_sched_job_absent(w->sched, w->now, job, false));
}

static struct gp_sched_job_state state_of(struct world *w, u32 job)
{
	struct gp_sched_job_state state;

	assert_int_equal(gp_sched_job_state(w->sched, job, &state), 0);
	return state;
}

static u32 count(struct world *w, enum gp_sched_action_kind kind, u32 job)
{
	u32 found = 0;

	for (u32 i = w->looked; i < w->logged; i++)
		found += w->log[i].kind == kind && w->log[i].job == job;
	return found;
}

static void a_stopped_job_holds_no_other_up(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);

	(void)state;
	gets_work(w, low);
	gets_work(w, high);
	pass(w, MS);
	is_held(w, low);
	stops(w, high);
	assert_int_equal(count(w, GP_SCHED_NOTE, high), 1);
	assert_int_equal(count(w, GP_SCHED_RESUME, high), 0);
	is_resumed(w, low, GP_SCHED_WHY_CLEAR);
	w->looked = w->logged;
	pass(w, 5 * S);
	nothing_happens(w);
	is_not_held(w, low);
	goes_on(w, high);
	assert_int_equal(count(w, GP_SCHED_NOTE, high), 1);
	is_suspended(w, low, GP_SCHED_WHY_INVERSION);
	assert_int_equal(state_of(w, high).absent_ns, 5 * S);
	end(w);
}

static void a_hold_ends_when_its_job_is_stopped(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);
	struct gp_sched_action *action;

	(void)state;
	gets_work(w, low);
	gets_work(w, high);
	pass(w, MS);
	is_held(w, low);
	stops(w, low);
	action = seen(w, GP_SCHED_RESUME, low);
	assert_non_null(action);
	assert_int_equal(action->reason.why, GP_SCHED_WHY_WITHDRAWN);
	assert_int_equal(action->token, 0); /* no answer is expected */
	assert_int_equal(action->reason.waited_ns, MS);
	w->looked = w->logged;
	pass(w, 10 * S);
	nothing_happens(w);
	assert_int_equal(state_of(w, low).ran_ns, 0);
	assert_int_equal(state_of(w, low).held_ns, MS);
	goes_on(w, low);
	is_suspended(w, low, GP_SCHED_WHY_INVERSION);
	end(w);
}

/* A suspend that is never answered because the program is stopped, then found to be. */
static void operations_under_way_are_forgotten(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);
	u64 failures, token;

	(void)state;
	w->takes = GP_SCHED_NEVER;
	gets_work(w, low);
	gets_work(w, high);
	token = seen(w, GP_SCHED_SUSPEND, low)->token;
	pass(w, 150 * MS); /* timed out once */
	failures = state_of(w, low).failures;
	assert_int_equal(failures, 1);
	stops(w, low);
	w->looked = w->logged;
	pass(w, 60 * S);
	nothing_happens(w);
	assert_int_equal(gp_sched_operation(w->sched, w->now, token, -EIO, 0), -ESTALE);
	assert_int_equal(state_of(w, low).failures, failures);
	goes_on(w, low);
	is_suspended(w, low, GP_SCHED_WHY_INVERSION);
	pass(w, 150 * MS);
	stops(w, low); /* the next resume and the back-off are due */
	goes_on(w, low);
	is_suspended(w, low, GP_SCHED_WHY_INVERSION);
	end(w);
}

static void its_work_is_followed_while_it_is_stopped(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);

	(void)state;
	gets_work(w, low);
	stops(w, high);
	w->looked = w->logged;
	gets_work(w, high); /* as another thread of it may report */
	done(w, gp_sched_hint(w->sched, w->now, high, 0, w->now));
	nothing_happens(w);
	drains(w, high);
	goes_on(w, high);
	assert_int_equal(count(w, GP_SCHED_SUSPEND, low), 0);
	stops(w, high);
	gets_work(w, high);
	goes_on(w, high);
	is_suspended(w, low, GP_SCHED_WHY_INVERSION);
	end(w);
}

static void one_note_each_way(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500);
	struct gp_sched_stats stats;

	(void)state;
	gets_work(w, low);
	stops(w, low);
	is_noted(w, low, GP_SCHED_WHY_ABSENT);
	stops(w, low);
	assert_int_equal(count(w, GP_SCHED_NOTE, low), 0);
	gp_sched_stats(w->sched, &stats);
	assert_int_equal(stats.absent, 1);
	pass(w, S);
	goes_on(w, low);
	is_noted(w, low, GP_SCHED_WHY_PRESENT);
	goes_on(w, low);
	assert_int_equal(count(w, GP_SCHED_NOTE, low), 0);
	stops(w, low);
	done(w, gp_sched_job_remove(w->sched, w->now, low));
	gp_sched_stats(w->sched, &stats);
	assert_int_equal(stats.absent, 0);
	assert_int_equal(gp_sched_job_absent(w->sched, w->now, low, true), -ENOENT);
	end(w);
}

static void a_pin_waits_for_its_return(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500);

	(void)state;
	gets_work(w, low);
	done(w, gp_sched_job_pin(w->sched, w->now, low, GP_SCHED_PIN_HOLD));
	pass(w, MS);
	stops(w, low);
	is_resumed(w, low, GP_SCHED_WHY_WITHDRAWN);
	pass(w, MS);
	goes_on(w, low);
	is_suspended(w, low, GP_SCHED_WHY_PINNED);
	stops(w, low);
	done(w, gp_sched_job_pin(w->sched, w->now, low, GP_SCHED_PIN_NONE));
	goes_on(w, low);
	assert_int_equal(count(w, GP_SCHED_SUSPEND, low), 0);
	stops(w, low);
	done(w, gp_sched_job_pin(w->sched, w->now, low, GP_SCHED_PIN_HOLD));
	assert_int_equal(count(w, GP_SCHED_SUSPEND, low), 0);
	goes_on(w, low);
	is_suspended(w, low, GP_SCHED_WHY_PINNED);
	end(w);
}

/* What a job waits is its own: another that is stopped on the way changes nothing about it. */
static void the_ageing_of_others_goes_on(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000), other = job(w, 500);

	(void)state;
	w->device.age_step_ns = MS / 10;
	reconfigure(w);
	gets_work(w, high);
	gets_work(w, low);
	gets_work(w, other);
	pass(w, 100 * MS);
	stops(w, other);
	w->looked = w->logged;
	pass(w, 51 * MS);
	is_resumed(w, low, GP_SCHED_WHY_AGED);
	end(w);
}

/* A stop is not a gap between two bursts, and its length not one of a burst. */
static void nothing_is_learnt_from_a_stop(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500);
	u64 burst;

	(void)state;
	for (u32 i = 0; i < 8; i++) {
		gets_work(w, low);
		pass(w, MS);
		drains(w, low);
		pass(w, MS);
	}
	burst = state_of(w, low).burst_ns;
	assert_int_equal(burst, MS);
	stops(w, low);
	gets_work(w, low);
	pass(w, 10 * S);
	drains(w, low);
	goes_on(w, low);
	assert_int_equal(state_of(w, low).burst_ns, burst);
	gets_work(w, low);
	assert_int_equal(gp_sched_job_member(w->sched, gp_sched_job(w->sched, low), 0)->gap_ns, MS);
	end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stopped_job_holds_no_other_up),
		cmocka_unit_test(a_hold_ends_when_its_job_is_stopped),
		cmocka_unit_test(operations_under_way_are_forgotten),
		cmocka_unit_test(its_work_is_followed_while_it_is_stopped),
		cmocka_unit_test(one_note_each_way),
		cmocka_unit_test(a_pin_waits_for_its_return),
		cmocka_unit_test(the_ageing_of_others_goes_on),
		cmocka_unit_test(nothing_is_learnt_from_a_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
