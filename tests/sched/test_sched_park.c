// SPDX-License-Identifier: MIT
/* More processes than the device has places: idle jobs make room, and lose nothing by it. */
#include "world.h"

/* A device with three places, four servers that have had work, and a batch job that has some. */
struct crowded {
	struct world *w;
	u32 server[4], batch;
};

static void crowded_begin(struct crowded *c)
{
	struct world *w = world(GP_SCHED_PRIORITY);

	*c = (struct crowded){.w = w};
	w->device.places = 3;
	reconfigure(w);
	for (u32 i = 0; i < GP_ARRAY_SIZE(c->server); i++) {
		c->server[i] =
			job_like(w, &(struct gp_sched_job_spec){.priority = 2000, .parks = true});
		gets_work(w, c->server[i]);
		pass(w, MS);
		drains(w, c->server[i]);
		pass(w, 10 * MS);
	}
	c->batch = job(w, 500);
	w->looked = w->logged;
}

static bool is_parked(const struct crowded *c, u32 job)
{
	struct gp_sched_job_state got;

	assert_int_equal(gp_sched_job_state(c->w->sched, job, &got), 0);
	return got.parked;
}

/* The longest idle first, and as soon as there are too many all of them: each queue on the hardware
 * makes every change longer. */
static void idle_jobs_make_room(void **state)
{
	struct crowded c;

	(void)state;
	crowded_begin(&c);
	/* By the work of the fourth. */
	for (u32 i = 0; i < 3; i++)
		assert_true(is_parked(&c, c.server[i]));
	assert_false(is_parked(&c, c.server[3]));
	gets_work(c.w, c.batch);
	is_suspended(c.w, c.server[3], GP_SCHED_WHY_PARKED);
	runs(c.w, c.batch);
	end(c.w);
}

/* In the same event; when it is done it is parked again. */
static void a_parked_job_runs_as_soon_as_it_has_work(void **state)
{
	struct crowded c;

	(void)state;
	crowded_begin(&c);
	gets_work(c.w, c.batch);
	pass(c.w, 10 * S); /* no bound: it has no work */
	is_held(c.w, c.server[0]);
	c.w->looked = c.w->logged;
	gets_work(c.w, c.server[0]);
	is_resumed(c.w, c.server[0], GP_SCHED_WHY_CLEAR);
	is_held(c.w, c.batch);
	pass(c.w, MS);
	drains(c.w, c.server[0]);
	is_not_held(c.w, c.batch);
	assert_true(is_parked(&c, c.server[0]));
	end(c.w);
}

/* What leaves the hardware leaves before others come: each change then finds less there to save. */
static void suspensions_go_out_first(void **state)
{
	struct crowded c;

	(void)state;
	crowded_begin(&c);
	gets_work(c.w, c.batch);
	pass(c.w, 100 * MS);
	c.w->looked = c.w->logged;
	gets_work(c.w, c.server[0]);
	assert_non_null(seen(c.w, GP_SCHED_SUSPEND, c.batch));
	assert_non_null(seen(c.w, GP_SCHED_RESUME, c.server[0]));
	pass(c.w, MS);
	c.w->looked = c.w->logged;
	drains(c.w, c.server[0]);
	assert_non_null(seen(c.w, GP_SCHED_SUSPEND, c.server[0]));
	assert_non_null(seen(c.w, GP_SCHED_RESUME, c.batch));
	end(c.w);
}

/* But not before the RESUME of the same job, or it would run in the end. */
static void a_job_that_was_resumed_is_suspended_after_that(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 batch = job(w, 500), server = job(w, 2000);

	(void)state;
	gets_work(w, batch);
	pass(w, 10 * MS);
	gets_work(w, server);
	is_held(w, batch);
	w->looked = w->logged;
	/* The timer is late: max_suspend is over, and a user asks for a hold in the same event. */
	w->now += 3 * S;
	done(w, gp_sched_job_pin(w->sched, w->now, batch, GP_SCHED_PIN_HOLD));
	assert_non_null(seen(w, GP_SCHED_RESUME, batch));
	assert_non_null(seen(w, GP_SCHED_SUSPEND, batch));
	is_held(w, batch);
	end(w);
}

/* The host cannot take it off the hardware, or could not see its work. */
static void only_jobs_that_can_be_parked_are(void **state)
{
	struct gp_sched_job_spec stays = {.priority = 2000};
	struct crowded c;

	(void)state;
	crowded_begin(&c);
	done(c.w, gp_sched_job_set(c.w->sched, c.w->now, c.server[2], &stays));
	gets_work(c.w, c.batch);
	is_not_held(c.w, c.server[2]);
	assert_true(is_parked(&c, c.server[1]));
	/* One that is parked when that changes comes back. */
	done(c.w, gp_sched_job_set(c.w->sched, c.w->now, c.server[1], &stays));
	is_resumed(c.w, c.server[1], GP_SCHED_WHY_CLEAR);
	end(c.w);
}

/* An equal of work `ns`, alone. */
static void serves(struct crowded *c, u32 server, u64 ns)
{
	gets_work(c->w, c->server[server]);
	pass(c->w, ns);
	drains(c->w, c->server[server]);
	pass(c->w, 10 * MS);
}

/* One that was parked waits until its equals have drained: it would only slow them down. */
static void equals_that_fill_the_device_run_one_after_the_other(void **state)
{
	struct crowded c;

	(void)state;
	crowded_begin(&c);
	gets_work(c.w, c.batch);
	serves(&c, 0, 2 * MS);
	c.w->looked = c.w->logged;
	gets_work(c.w, c.server[0]);
	pass(c.w, MS);
	gets_work(c.w, c.server[1]);
	gets_work(c.w, c.server[2]);
	is_held(c.w, c.server[1]);
	pass(c.w, MS);
	drains(c.w, c.server[0]);
	is_resumed(c.w, c.server[1], GP_SCHED_WHY_CLEAR); /* not the batch job */
	is_held(c.w, c.server[2]);
	is_held(c.w, c.batch);
	pass(c.w, 9 * MS);
	is_held(c.w, c.server[2]);
	pass(c.w, MS + 1); /* a turn after the last one */
	is_not_held(c.w, c.server[2]);
	end(c.w);
}

/* They are known to fill the device: alone 2 ms, beside another 4. */
static void learn_that_they_fill_it(struct crowded *c)
{
	gets_work(c->w, c->batch);
	for (u32 i = 0; i < 4; i++)
		serves(c, i, 2 * MS);
	for (u32 round = 0; round < 8; round++) {
		gets_work(c->w, c->server[0]);
		gets_work(c->w, c->server[1]);
		pass(c->w, 12 * MS); /* the second is let in after a turn */
		drains(c->w, c->server[1]);
		pass(c->w, 12 * MS);
		drains(c->w, c->server[0]);
		pass(c->w, 10 * MS);
	}
	assert_true(c->w->sched->device[0].stretch >= 20);
	c->w->looked = c->w->logged;
}

/* Without that, each one that is let in makes all of them slower, until none drains. */
static void equals_that_fill_the_device_change_places_after_a_turn(void **state)
{
	struct gp_sched_action *over;
	struct crowded c;
	u32 running;

	(void)state;
	crowded_begin(&c);
	learn_that_they_fill_it(&c);
	for (u32 i = 0; i < 3; i++)
		gets_work(c.w, c.server[i]);
	pass(c.w, 5 * MS);
	is_not_held(c.w, c.server[0]);
	is_held(c.w, c.server[1]);
	is_held(c.w, c.server[2]);
	pass(c.w, 6 * MS);
	over = look(c.w, GP_SCHED_SUSPEND, c.server[0], GP_SCHED_WHY_TURN_OVER);
	assert_non_null(over);
	assert_int_equal(over->reason.other, c.server[1]);
	is_not_held(c.w, c.server[1]);
	is_held(c.w, c.server[2]);
	for (u32 i = 0; i < 50; i++) { /* each in turn, one at a time */
		pass(c.w, 10 * MS);
		running = 0;
		for (u32 k = 0; k < 3; k++)
			running += run_of(c.w, c.server[k]) == GP_SCHED_RUNNING;
		assert_int_equal(running, 1);
	}
	for (u32 i = 0; i < 3; i++)
		assert_in_range(c.w->ran[c.server[i]] / MS, 100, 400);
	end(c.w);
}

/* They were on the device when it became too full: all but one of them leave it. */
static void equals_that_fill_the_device_side_by_side_are_told_apart(void **state)
{
	struct gp_sched_job_spec stays = {.priority = 2000}, parks = stays;
	struct crowded c;
	u32 running = 0;

	(void)state;
	crowded_begin(&c);
	learn_that_they_fill_it(&c);
	parks.parks = true;
	for (u32 i = 0; i < 4; i++)
		done(c.w, gp_sched_job_set(c.w->sched, c.w->now, c.server[i], &stays));
	for (u32 i = 0; i < 4; i++)
		gets_work(c.w, c.server[i]);
	for (u32 i = 0; i < 4; i++) {
		is_not_held(c.w, c.server[i]);
		done(c.w, gp_sched_job_set(c.w->sched, c.w->now, c.server[i], &parks));
	}
	pass(c.w, 11 * MS);
	for (u32 i = 0; i < 4; i++)
		running += run_of(c.w, c.server[i]) == GP_SCHED_RUNNING;
	assert_int_equal(running, 1);
	end(c.w);
}

/* One that waits for a place needs one: with two on the device and one that is parked, these are
 * more than three. */
static void an_idle_job_is_parked_while_others_wait_for_a_place(void **state)
{
	struct crowded c;

	(void)state;
	crowded_begin(&c);
	done(c.w, gp_sched_job_remove(c.w->sched, c.w->now, c.batch));
	for (u32 i = 0; i < 3; i++)
		gets_work(c.w, c.server[i]);
	pass(c.w, 2 * MS);
	drains(c.w, c.server[0]);
	is_not_held(c.w, c.server[1]);
	is_held(c.w, c.server[2]);
	assert_true(is_parked(&c, c.server[3]));
	assert_true(is_parked(&c, c.server[0]));
	end(c.w);
}

/* The one that leaves is gone when the other begins: that one runs alone, and what it takes is not
 * what it would take beside others. */
static void one_that_changed_places_counts_as_alone(void **state)
{
	struct crowded c;

	(void)state;
	crowded_begin(&c);
	learn_that_they_fill_it(&c);
	gets_work(c.w, c.server[0]); /* for ever */
	for (u32 i = 0; i < 30; i++) {
		gets_work(c.w, c.server[1]);
		pass(c.w, 11 * MS); /* its turn has come */
		is_held(c.w, c.server[0]);
		is_not_held(c.w, c.server[1]);
		pass(c.w, MS);
		drains(c.w, c.server[1]);
		is_not_held(c.w, c.server[0]);
		pass(c.w, 10 * MS);
	}
	assert_true(c.w->sched->device[0].stretch >= 20);
	end(c.w);
}

/* An idle job has no waves to save: how long that takes says nothing about a preemption. */
static void the_cost_of_a_preemption_is_not_learnt_from_idle_jobs(void **state)
{
	struct gp_sched_device_state before, after;
	struct crowded c;

	(void)state;
	crowded_begin(&c);
	gets_work(c.w, c.batch);
	pass(c.w, 100 * MS);
	assert_int_equal(gp_sched_device_state(c.w->sched, 0, &before), 0);
	c.w->takes = 10 * MS;
	drains(c.w, c.batch); /* none is preempted */
	for (u32 i = 0; i < 8; i++) {
		serves(&c, i % 4, MS);
		pass(c.w, 20 * MS);
	}
	assert_int_equal(gp_sched_device_state(c.w->sched, 0, &after), 0);
	assert_int_equal(after.suspend_ns, before.suspend_ns);
	assert_int_equal(after.resume_ns, before.resume_ns);
	end(c.w);
}

/* Work beside others takes as long as alone: nothing is gained by waiting. */
static void equals_that_leave_the_device_idle_run_side_by_side(void **state)
{
	struct crowded c;

	(void)state;
	crowded_begin(&c);
	gets_work(c.w, c.batch);
	for (u32 i = 0; i < 4; i++)
		serves(&c, i, 20 * MS);
	for (u32 round = 0; round < 4; round++) {
		for (u32 i = 0; i < 2; i++)
			gets_work(c.w, c.server[i]);
		pass(c.w, 10 * MS); /* the second is let in after a turn, at the latest */
		pass(c.w, 10 * MS);
		drains(c.w, c.server[0]);
		pass(c.w, 10 * MS);
		drains(c.w, c.server[1]);
		pass(c.w, 10 * MS);
	}
	gets_work(c.w, c.server[2]);
	gets_work(c.w, c.server[3]);
	is_not_held(c.w, c.server[2]);
	is_not_held(c.w, c.server[3]);
	end(c.w);
}

/* A higher one comes: those that wait for a place are held for it, and age. */
static void a_higher_job_holds_those_that_wait_for_a_place(void **state)
{
	struct crowded c;
	u32 high;

	(void)state;
	crowded_begin(&c);
	c.w->device.age_step_ns = MS;
	reconfigure(c.w);
	gets_work(c.w, c.batch);
	gets_work(c.w, c.server[0]);
	gets_work(c.w, c.server[1]);
	is_held(c.w, c.server[1]);
	pass(c.w, MS);
	high = job(c.w, 2100);
	gets_work(c.w, high);
	is_held(c.w, c.server[0]);
	pass(c.w, 98 * MS);
	is_held(c.w, c.server[1]);
	c.w->looked = c.w->logged;
	pass(c.w, MS);
	is_resumed(c.w, c.server[1], GP_SCHED_WHY_AGED);
	end(c.w);
}

static void with_room_for_all_none_is_parked(void **state)
{
	struct crowded c;

	(void)state;
	crowded_begin(&c);
	gets_work(c.w, c.batch);
	c.w->device.places = 5;
	reconfigure(c.w);
	for (u32 i = 0; i < GP_ARRAY_SIZE(c.server); i++)
		is_not_held(c.w, c.server[i]);
	pass(c.w, MS);
	c.w->looked = c.w->logged;
	pass(c.w, S);
	nothing_happens(c.w);
	end(c.w);
}

static void a_device_without_work_parks_none(void **state)
{
	struct crowded c;

	(void)state;
	crowded_begin(&c);
	c.w->device.places = 1;
	reconfigure(c.w);
	pass(c.w, S);
	is_not_held(c.w, c.server[3]);
	end(c.w);
}

/* Below a higher job it waits as if it had just come. */
static void the_wait_of_a_parked_job_begins_with_its_work(void **state)
{
	struct crowded c;
	u32 high;

	(void)state;
	crowded_begin(&c);
	gets_work(c.w, c.batch);
	pass(c.w, 10 * S);
	high = job(c.w, 3000);
	gets_work(c.w, high);
	pass(c.w, MS);
	c.w->looked = c.w->logged;
	gets_work(c.w, c.server[0]);
	is_held(c.w, c.server[0]);
	assert_false(is_parked(&c, c.server[0]));
	pass(c.w, 1990 * MS);
	is_held(c.w, c.server[0]);
	pass(c.w, 20 * MS);
	is_resumed(c.w, c.server[0], GP_SCHED_WHY_MAX_SUSPEND);
	end(c.w);
}

/* It would be back before it is gone. */
static void a_job_that_comes_back_soon_is_not_parked(void **state)
{
	struct crowded c;

	(void)state;
	crowded_begin(&c);
	c.w->device.places = 1;
	c.w->device.suspend_ns = c.w->device.resume_ns = 10 * MS; /* four of both: 80 ms */
	reconfigure(c.w);
	for (u32 i = 0; i < 20; i++) {
		gets_work(c.w, c.server[3]);
		drains(c.w, c.server[3]);
		pass(c.w, MS);
	}
	gets_work(c.w, c.batch);
	is_not_held(c.w, c.server[3]);
	end(c.w);
}

/* Its last packet has no signal: after a while it counts as drained, but its kernel may run on. */
static void a_job_whose_work_is_in_doubt_is_not_parked(void **state)
{
	struct crowded c;

	(void)state;
	crowded_begin(&c);
	gets_work(c.w, c.server[3]);
	done(c.w, gp_sched_work(c.w->sched, c.w->now, c.w->queue[c.server[3]], GP_SCHED_MAYBE,
				GP_SCHED_UNKNOWN));
	pass(c.w, 100 * MS);
	gets_work(c.w, c.batch);
	pass(c.w, 100 * MS);
	assert_false(is_parked(&c, c.server[3]));
	drains(c.w, c.server[3]);
	pass(c.w, 10 * MS);
	assert_true(is_parked(&c, c.server[3]));
	end(c.w);
}

static void pins_and_new_rules_let_a_parked_job_go(void **state)
{
	struct crowded c;

	(void)state;
	crowded_begin(&c);
	gets_work(c.w, c.batch);
	done(c.w, gp_sched_job_pin(c.w->sched, c.w->now, c.server[0], GP_SCHED_PIN_RUN));
	is_resumed(c.w, c.server[0], GP_SCHED_WHY_UNPINNED);
	assert_false(is_parked(&c, c.server[0]));
	c.w->device.policy = GP_SCHED_FAIR;
	reconfigure(c.w);
	for (u32 i = 0; i < GP_ARRAY_SIZE(c.server); i++)
		is_not_held(c.w, c.server[i]);
	end(c.w);
}

/* Beside others its bursts were long. After one that is as long as those alone, nothing is left
 * idle for more of it. */
static void what_is_usual_is_a_burst_alone(void **state)
{
	struct crowded c;

	(void)state;
	crowded_begin(&c);
	c.w->device.linger_ns = MS;
	reconfigure(c.w);
	gets_work(c.w, c.batch);
	gets_work(c.w, c.server[0]);
	pass(c.w, 2 * MS);
	drains(c.w, c.server[0]);
	pass(c.w, 20 * MS);
	gets_work(c.w, c.server[1]);
	gets_work(c.w, c.server[0]);
	pass(c.w, 200 * MS);
	drains(c.w, c.server[0]);
	drains(c.w, c.server[1]);
	pass(c.w, 20 * MS);
	gets_work(c.w, c.server[0]);
	is_held(c.w, c.batch);
	pass(c.w, 2 * MS);
	drains(c.w, c.server[0]);
	is_not_held(c.w, c.batch);
	end(c.w);
}

/* It was in a crowd once; its requests have become long since the others ended. */
static void what_was_usual_in_a_crowd_is_forgotten_without_one(void **state)
{
	struct crowded c;

	(void)state;
	crowded_begin(&c);
	c.w->device.linger_ns = MS;
	reconfigure(c.w);
	gets_work(c.w, c.batch);
	gets_work(c.w, c.server[0]);
	pass(c.w, 2 * MS);
	drains(c.w, c.server[0]);
	for (u32 i = 1; i < GP_ARRAY_SIZE(c.server); i++)
		done(c.w, gp_sched_job_remove(c.w->sched, c.w->now, c.server[i]));
	for (u32 i = 0; i < 8; i++) {
		pass(c.w, 50 * MS);
		gets_work(c.w, c.server[0]);
		pass(c.w, 40 * MS);
		drains(c.w, c.server[0]);
	}
	pass(c.w, 50 * MS);
	gets_work(c.w, c.server[0]);
	is_held(c.w, c.batch);
	pass(c.w, 2 * MS);
	drains(c.w, c.server[0]);
	is_held(c.w, c.batch); /* there is more of it */
	end(c.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_jobs_make_room),
		cmocka_unit_test(a_parked_job_runs_as_soon_as_it_has_work),
		cmocka_unit_test(suspensions_go_out_first),
		cmocka_unit_test(a_job_that_was_resumed_is_suspended_after_that),
		cmocka_unit_test(the_cost_of_a_preemption_is_not_learnt_from_idle_jobs),
		cmocka_unit_test(only_jobs_that_can_be_parked_are),
		cmocka_unit_test(equals_that_fill_the_device_run_one_after_the_other),
		cmocka_unit_test(equals_that_fill_the_device_change_places_after_a_turn),
		cmocka_unit_test(equals_that_fill_the_device_side_by_side_are_told_apart),
		cmocka_unit_test(one_that_changed_places_counts_as_alone),
		cmocka_unit_test(an_idle_job_is_parked_while_others_wait_for_a_place),
		cmocka_unit_test(equals_that_leave_the_device_idle_run_side_by_side),
		cmocka_unit_test(a_higher_job_holds_those_that_wait_for_a_place),
		cmocka_unit_test(with_room_for_all_none_is_parked),
		cmocka_unit_test(a_device_without_work_parks_none),
		cmocka_unit_test(the_wait_of_a_parked_job_begins_with_its_work),
		cmocka_unit_test(a_job_that_comes_back_soon_is_not_parked),
		cmocka_unit_test(a_job_whose_work_is_in_doubt_is_not_parked),
		cmocka_unit_test(what_is_usual_is_a_burst_alone),
		cmocka_unit_test(what_was_usual_in_a_crowd_is_forgotten_without_one),
		cmocka_unit_test(pins_and_new_rules_let_a_parked_job_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
