// SPDX-License-Identifier: MIT
/* When not to preempt, and when to do it early: cost, minimum run time, lingering, hints, unknown.
 */
#include "world.h"

static void a_preemption_that_costs_more_than_it_saves_is_declined(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);
	struct gp_sched_action *note;

	(void)state;
	gets_work_of(w, low, 100 * US);
	pass(w, 85 * US);
	gets_work(w, high); /* cost 10 + 10 us, 15 us left */
	note = look(w, GP_SCHED_NOTE, low, GP_SCHED_WHY_DECLINED);
	assert_non_null(note);
	assert_int_equal(note->reason.cost_ns, 20 * US);
	assert_int_equal(note->reason.saves_ns, 15 * US);
	assert_int_equal(note->reason.other, high);
	is_not_held(w, low);
	pass(w, 14 * US);
	drains(w, low);
	pass(w, S);
	nothing_happens(w);
	end(w);
}

/* Work that lasts longer than ever: how long it would take is not known, however long it has run.
 */
static void past_its_usual_end_no_wait_is_estimated(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);
	struct gp_sched_action *action;

	(void)state;
	gets_work_of(w, low, 100 * US);
	pass(w, S);
	gets_work(w, high);
	action = look(w, GP_SCHED_SUSPEND, low, GP_SCHED_WHY_INVERSION);
	assert_non_null(action);
	assert_true(action->reason.saves_ns == GP_SCHED_UNKNOWN);
	end(w);
}

static void a_preemption_that_saves_more_than_it_costs_is_done(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);
	struct gp_sched_action *action;

	(void)state;
	gets_work_of(w, low, 100 * US);
	pass(w, 80 * US);
	gets_work(w, high);
	action = look(w, GP_SCHED_SUSPEND, low, GP_SCHED_WHY_INVERSION);
	assert_non_null(action);
	assert_int_equal(action->reason.saves_ns, 20 * US);
	assert_int_equal(action->reason.cost_ns, 20 * US);
	end(w);
}

static void who_outlives_the_estimate_that_spared_it_is_suspended(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);
	struct gp_sched_action *action;

	(void)state;
	gets_work_of(w, low, 100 * US);
	pass(w, 85 * US);
	gets_work(w, high);
	is_noted(w, low, GP_SCHED_WHY_DECLINED);
	pass(w, 15 * US - 1);
	is_not_held(w, low);
	pass(w, 1);
	action = look(w, GP_SCHED_SUSPEND, low, GP_SCHED_WHY_INVERSION);
	assert_non_null(action);
	assert_int_equal(action->reason.shield, GP_SCHED_SHIELD_COST);
	assert_int_equal(action->reason.waited_ns, 15 * US);
	end(w);
}

/* A burst shorter than the cost: by its age alone it would be spared a second time. */
static void nobody_is_spared_twice_in_a_burst(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);

	(void)state;
	gets_work_of(w, low, 15 * US);
	gets_work(w, high);
	is_noted(w, low, GP_SCHED_WHY_DECLINED);
	pass(w, 15 * US);
	is_suspended(w, low, GP_SCHED_WHY_INVERSION);
	end(w);
}

static void a_new_burst_is_judged_anew(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);

	(void)state;
	gets_work_of(w, low, 15 * US);
	gets_work(w, high);
	is_noted(w, low, GP_SCHED_WHY_DECLINED);
	drains(w, high);
	pass(w, 20 * US); /* it takes longer than it said, and nobody minds */
	drains(w, low);
	gets_work_of(w, low, 15 * US);
	gets_work(w, high);
	is_noted(w, low, GP_SCHED_WHY_DECLINED);
	end(w);
}

static void remaining_time_is_learned_from_earlier_bursts(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);
	struct gp_sched_job_state got;

	(void)state;
	for (u32 i = 0; i < 10; i++) {
		gets_work(w, low);
		pass(w, 100 * US);
		drains(w, low);
		pass(w, MS);
	}
	assert_int_equal(gp_sched_job_state(w->sched, low, &got), 0);
	assert_int_equal(got.burst_ns, 100 * US);
	gets_work(w, low);
	pass(w, 90 * US);
	gets_work(w, high);
	is_noted(w, low, GP_SCHED_WHY_DECLINED);
	end(w);
}

static void time_in_suspension_is_not_part_of_a_burst(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);
	struct gp_sched_job_state got;

	(void)state;
	gets_work(w, low);
	pass(w, 100 * US);
	gets_work(w, high);
	pass(w, 50 * MS);
	drains(w, high);
	pass(w, 100 * US);
	drains(w, low);
	assert_int_equal(gp_sched_job_state(w->sched, low, &got), 0);
	assert_int_equal(got.burst_ns, 200 * US);
	assert_int_equal(got.held_ns, 50 * MS);
	assert_int_equal(got.ran_ns, 200 * US);
	end(w);
}

/* Up to the last event and, while it lasts, to now. */
static void time_held_with_work_is_counted(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);
	struct gp_sched_job_state got;

	(void)state;
	gets_work(w, low);
	pass(w, 100 * US);
	gets_work(w, high);
	pass(w, 20 * MS);
	assert_int_equal(gp_sched_job_state(w->sched, low, &got), 0);
	assert_int_equal(got.blocked, 1);
	assert_int_equal(got.blocked_ns + w->now - gp_sched_now(w->sched), 20 * MS);
	drains(w, low); /* its last kernel was already over */
	pass(w, 30 * MS);
	assert_int_equal(gp_sched_job_state(w->sched, low, &got), 0);
	assert_int_equal(got.blocked, 0);
	assert_int_equal(got.blocked_ns, 20 * MS);
	assert_int_equal(got.ran_ns, 100 * US);
	end(w);
}

/* Nothing happens while one runs alone: the time since the last event is the host's to add. */
static void time_alone_on_the_device_is_counted(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);
	struct gp_sched_job_state got;

	(void)state;
	gets_work(w, low);
	pass(w, 10 * MS);
	assert_int_equal(gp_sched_job_state(w->sched, low, &got), 0);
	assert_int_equal(got.running, 1);
	assert_int_equal(got.ran_ns + w->now - gp_sched_now(w->sched), 10 * MS);
	/* An event that has nothing to do with it. */
	done(w, gp_sched_job_pin(w->sched, w->now, high, GP_SCHED_PIN_RUN));
	assert_int_equal(gp_sched_job_state(w->sched, low, &got), 0);
	assert_int_equal(got.ran_ns, 10 * MS);
	drains(w, low);
	assert_int_equal(gp_sched_job_state(w->sched, low, &got), 0);
	assert_int_equal(got.running, 0);
	assert_int_equal(got.ran_ns, 10 * MS);
	end(w);
}

static void costs_follow_what_operations_took(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);
	struct gp_sched_job_state got;

	(void)state;
	w->takes = 3 * MS;
	for (u32 i = 0; i < 3; i++) {
		gets_work(w, low);
		gets_work(w, high);
		pass(w, 10 * MS);
		drains(w, high);
		pass(w, 10 * MS);
		drains(w, low);
	}
	assert_int_equal(gp_sched_job_state(w->sched, low, &got), 0);
	assert_int_equal(got.suspend_ns, 3 * MS);
	assert_int_equal(got.resume_ns, 3 * MS);
	w->takes = 11 * MS; /* an eighth of the difference each time */
	gets_work(w, low);
	gets_work(w, high);
	pass(w, 20 * MS);
	drains(w, high);
	pass(w, 20 * MS);
	drains(w, low);
	assert_int_equal(gp_sched_job_state(w->sched, low, &got), 0);
	assert_int_equal(got.suspend_ns, 4 * MS);
	assert_int_equal(got.resume_ns, 4 * MS);
	/* 8 ms to stop and start it: 5 ms more are waited for. */
	gets_work_of(w, low, 5 * MS);
	gets_work(w, high);
	is_noted(w, low, GP_SCHED_WHY_DECLINED);
	end(w);
}

static void a_resumed_job_has_its_minimum_run_time(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	struct gp_sched_action *action;
	u32 low, high;

	(void)state;
	w->device.min_run_ns = MS;
	reconfigure(w);
	low = job(w, 500);
	high = job(w, 2000);
	gets_work(w, low);
	gets_work(w, high);
	drains(w, high);
	pass(w, 10 * US); /* now it runs */
	gets_work(w, high);
	pass(w, MS - 1);
	is_not_held(w, low);
	w->looked = w->logged;
	pass(w, 1);
	action = look(w, GP_SCHED_SUSPEND, low, GP_SCHED_WHY_INVERSION);
	assert_non_null(action);
	assert_int_equal(action->reason.shield, GP_SCHED_SHIELD_MIN_RUN);
	end(w);
}

/* Bursts that come back sooner than a preemption pays: the place is kept for them. */
static void who_soon_comes_back_keeps_its_place(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low, high;

	(void)state;
	w->device.linger_ns = MS;
	w->device.suspend_ns = w->device.resume_ns = 200 * US;
	w->takes = 200 * US;
	reconfigure(w);
	low = job(w, 500);
	high = job(w, 2000);
	gets_work(w, high);
	drains(w, high);
	pass(w, 100 * US);
	gets_work(w, high); /* a gap of 100 us */
	gets_work(w, low);
	is_held(w, low);
	for (u32 i = 0; i < 20; i++) {
		pass(w, 300 * US);
		drains(w, high);
		is_held(w, low);
		pass(w, 100 * US);
		gets_work(w, high);
		is_held(w, low);
	}
	drains(w, high);
	is_noted(w, high, GP_SCHED_WHY_LINGER);
	pass(w, 200 * US - 1); /* twice the usual gap */
	is_held(w, low);
	pass(w, 1);
	is_resumed(w, low, GP_SCHED_WHY_CLEAR);
	end(w);
}

static void who_stays_away_longer_than_it_pays_does_not_linger(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low, high;

	(void)state;
	w->device.linger_ns = MS;
	reconfigure(w);
	low = job(w, 500);
	high = job(w, 2000);
	gets_work(w, high);
	drains(w, high);
	pass(w, 100 * US); /* more than 20 us for a preemption */
	gets_work(w, high);
	gets_work(w, low);
	is_held(w, low);
	drains(w, high);
	is_not_held(w, low);
	end(w);
}

/* A pause between two submissions of one request is not the end of it. */
static void who_has_hardly_begun_keeps_its_place(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low, high;

	(void)state;
	w->device.linger_ns = MS;
	w->device.suspend_ns = w->device.resume_ns = 300 * US;
	w->takes = 300 * US;
	reconfigure(w);
	low = job(w, 500);
	high = job(w, 2000);
	for (u32 i = 0; i < 4; i++) { /* requests of 10 ms, 30 ms apart */
		gets_work(w, high);
		pass(w, 10 * MS);
		drains(w, high);
		pass(w, 30 * MS);
	}
	gets_work(w, low);
	gets_work(w, high);
	is_held(w, low);
	pass(w, 2 * MS);
	drains(w, high);
	is_noted(w, high, GP_SCHED_WHY_EARLY);
	is_held(w, low);
	pass(w, 600 * US - 1); /* what a preemption costs */
	is_held(w, low);
	pass(w, 1);
	is_resumed(w, low, GP_SCHED_WHY_CLEAR);
	/* A quarter of the usual (9 ms now) is work enough. */
	pass(w, 30 * MS);
	gets_work(w, high);
	is_held(w, low);
	pass(w, 9 * MS / 4);
	drains(w, high);
	is_not_held(w, low);
	end(w);
}

/* After a time of long bursts all of the usual length are short: it waits in vain three times. */
static void who_kept_its_place_in_vain_does_not_again(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low, high, kept = 0;

	(void)state;
	w->device.linger_ns = MS;
	w->device.suspend_ns = w->device.resume_ns = 300 * US;
	w->takes = 300 * US;
	reconfigure(w);
	low = job(w, 500);
	high = job(w, 2000);
	gets_work(w, high);
	pass(w, 100 * MS);
	drains(w, high);
	gets_work(w, low);
	for (u32 i = 0; i < 12; i++) {
		pass(w, 30 * MS);
		gets_work(w, high);
		pass(w, 2 * MS);
		drains(w, high);
		kept += gp_job_held(gp_sched_job(w->sched, low));
	}
	assert_int_equal(kept, 3);
	end(w);
}

/* Short bursts that become the rule are believed. */
static void a_new_habit_is_learnt(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low, high, kept = 0;

	(void)state;
	w->device.linger_ns = MS;
	w->device.suspend_ns = w->device.resume_ns = 300 * US;
	w->takes = 300 * US;
	reconfigure(w);
	low = job(w, 500);
	high = job(w, 2000);
	gets_work(w, high);
	pass(w, 10 * MS);
	drains(w, high);
	gets_work(w, low);
	for (u32 i = 0; i < 100; i++) {
		pass(w, 30 * MS);
		gets_work(w, high);
		pass(w, MS);
		drains(w, high);
		kept += gp_job_held(gp_sched_job(w->sched, low));
	}
	assert_in_range(kept, 1, 50);
	is_not_held(w, low);
	end(w);
}

static void a_hint_makes_room_before_the_work_comes(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);

	(void)state;
	gets_work(w, low);
	done(w, gp_sched_hint(w->sched, w->now, high, 0, w->now + 100 * US));
	pass(w, 90 * US - 1); /* 10 us to suspend it */
	is_not_held(w, low);
	pass(w, 1);
	is_suspended(w, low, GP_SCHED_WHY_HINT);
	pass(w, 10 * US);
	gets_work(w, high);
	is_held(w, low);
	nothing_happens(w);
	end(w);
}

static void a_hint_that_misses_lets_go_and_loses_trust(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);

	(void)state;
	gets_work(w, low);
	for (u32 i = 0; i < GP_SCHED_HINT_TRUST; i++) {
		done(w, gp_sched_hint(w->sched, w->now, high, 0, w->now));
		is_suspended(w, low, GP_SCHED_WHY_HINT);
		pass(w, w->device.hint_ns + 10 * US);
		is_not_held(w, low);
		is_noted(w, high, GP_SCHED_WHY_HINT_MISSED);
		pass(w, MS);
	}
	done(w, gp_sched_hint(w->sched, w->now, high, 0, w->now));
	is_not_held(w, low);
	/* One that comes true is believed again. */
	done(w, gp_sched_hint(w->sched, w->now, high, 0, w->now + MS));
	gets_work(w, high);
	drains(w, high);
	pass(w, MS);
	w->looked = w->logged;
	done(w, gp_sched_hint(w->sched, w->now, high, 0, w->now));
	is_suspended(w, low, GP_SCHED_WHY_HINT);
	end(w);
}

static void unknown_work_counts_for_a_while_only(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);

	(void)state;
	gets_work(w, low);
	gets_work(w, high);
	done(w, gp_sched_work(w->sched, w->now, w->queue[high], GP_SCHED_MAYBE, GP_SCHED_UNKNOWN));
	pass(w, w->device.unknown_ns / 2);
	/* Saying it again does not make it last longer. */
	done(w, gp_sched_work(w->sched, w->now, w->queue[high], GP_SCHED_MAYBE, GP_SCHED_UNKNOWN));
	is_held(w, low);
	pass(w, w->device.unknown_ns / 2 - 1);
	is_held(w, low);
	pass(w, 1);
	is_resumed(w, low, GP_SCHED_WHY_CLEAR);
	pass(w, MS);
	gets_work(w, high); /* and it is not forgotten */
	is_held(w, low);
	drains(w, high);
	is_not_held(w, low);
	end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_preemption_that_costs_more_than_it_saves_is_declined),
		cmocka_unit_test(past_its_usual_end_no_wait_is_estimated),
		cmocka_unit_test(a_preemption_that_saves_more_than_it_costs_is_done),
		cmocka_unit_test(who_outlives_the_estimate_that_spared_it_is_suspended),
		cmocka_unit_test(nobody_is_spared_twice_in_a_burst),
		cmocka_unit_test(a_new_burst_is_judged_anew),
		cmocka_unit_test(remaining_time_is_learned_from_earlier_bursts),
		cmocka_unit_test(time_in_suspension_is_not_part_of_a_burst),
		cmocka_unit_test(time_held_with_work_is_counted),
		cmocka_unit_test(time_alone_on_the_device_is_counted),
		cmocka_unit_test(costs_follow_what_operations_took),
		cmocka_unit_test(a_resumed_job_has_its_minimum_run_time),
		cmocka_unit_test(who_soon_comes_back_keeps_its_place),
		cmocka_unit_test(who_stays_away_longer_than_it_pays_does_not_linger),
		cmocka_unit_test(who_has_hardly_begun_keeps_its_place),
		cmocka_unit_test(who_kept_its_place_in_vain_does_not_again),
		cmocka_unit_test(a_new_habit_is_learnt),
		cmocka_unit_test(a_hint_makes_room_before_the_work_comes),
		cmocka_unit_test(a_hint_that_misses_lets_go_and_loses_trust),
		cmocka_unit_test(unknown_work_counts_for_a_while_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
