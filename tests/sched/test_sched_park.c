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
		c->server[i] = job(w, 2000);
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

static void the_longest_idle_jobs_make_room(void **state)
{
	struct crowded c;

	(void)state;
	crowded_begin(&c);
	gets_work(c.w, c.batch);
	is_suspended(c.w, c.server[1], GP_SCHED_WHY_PARKED); /* the first one was before */
	assert_true(is_parked(&c, c.server[0]) && is_parked(&c, c.server[1]));
	is_not_held(c.w, c.server[2]);
	is_not_held(c.w, c.server[3]);
	runs(c.w, c.batch);
	end(c.w);
}

/* In the same event; another one that is idle takes its place among the parked. */
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
	assert_true(is_parked(&c, c.server[2])); /* the batch job needs a place again */
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
	for (u32 i = 1; i < GP_ARRAY_SIZE(c.server); i++)
		is_not_held(c.w, c.server[i]);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_longest_idle_jobs_make_room),
		cmocka_unit_test(a_parked_job_runs_as_soon_as_it_has_work),
		cmocka_unit_test(with_room_for_all_none_is_parked),
		cmocka_unit_test(a_device_without_work_parks_none),
		cmocka_unit_test(the_wait_of_a_parked_job_begins_with_its_work),
		cmocka_unit_test(a_job_that_comes_back_soon_is_not_parked),
		cmocka_unit_test(pins_and_new_rules_let_a_parked_job_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
