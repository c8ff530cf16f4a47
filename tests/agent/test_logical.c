// SPDX-License-Identifier: MIT
/* The logical priority of queues inside a driver that knows one. */
#include "fake_driver.h"

enum { COMPUTE = GP_KFD_QUEUE_COMPUTE_AQL, SDMA = GP_KFD_QUEUE_SDMA, NORMAL = 7, HIGH = 11 };

static int set_up(void **state)
{
	struct fake *fake = fake_new();

	fake->features = GP_KFD_QUEUE_SCHED_PRIORITY;
	*state = fake;
	return 0;
}

static int tear_down(void **state)
{
	fake_free(*state);
	return 0;
}

static void renice(struct fake *fake, u32 priority)
{
	fake->agent->identity.priority = priority;
	gp_agent_inform_driver_of_all(fake->agent);
}

static void new_queues_get_the_priority_of_the_program(void **state)
{
	struct fake *fake = *state;

	fake->agent->identity.priority = GP_PRIORITY_ONLINE;
	assert_int_equal(app_create(fake, COMPUTE, NORMAL), 0);
	assert_int_equal(app_create(fake, SDMA, NORMAL), 1);
	assert_int_equal(fake->queue[0].logical, GP_PRIORITY_ONLINE);
	assert_int_equal(fake->queue[1].logical, GP_PRIORITY_ONLINE);
	assert_int_equal(fake->queries, 1);
	assert_int_equal(fake->updates, 0); /* of the other kind, which reload the device */
}

static void the_default_needs_no_call(void **state)
{
	struct fake *fake = *state;

	assert_int_equal(app_create(fake, COMPUTE, NORMAL), 0);
	assert_int_equal(fake->logical_updates, 0);
	assert_int_equal(fake->queries, 0);
}

static void renice_changes_every_queue_once(void **state)
{
	struct fake *fake = *state;

	assert_int_equal(app_create(fake, COMPUTE, NORMAL), 0);
	assert_int_equal(app_create(fake, COMPUTE, NORMAL), 1);
	renice(fake, 500);
	assert_int_equal(fake->queue[0].logical, 500);
	assert_int_equal(fake->queue[1].logical, 500);
	renice(fake, 500);
	assert_int_equal(fake->logical_updates, 2);
	renice(fake, GP_PRIORITY_DEFAULT);
	assert_int_equal(fake->queue[1].logical, GP_PRIORITY_DEFAULT);
}

static void a_stream_adds_its_step(void **state)
{
	struct fake *fake = *state;

	assert_int_equal(app_create(fake, COMPUTE, NORMAL), 0);
	assert_int_equal(app_update(fake, 0, 100, HIGH), 0); /* as HIP does for a high stream */
	assert_int_equal(fake->queue[0].logical, GP_PRIORITY_DEFAULT + GP_AGENT_STREAM_STEP);
	assert_int_equal(app_update(fake, 0, 100, 0), 0);
	assert_int_equal(fake->queue[0].logical, GP_PRIORITY_DEFAULT - GP_AGENT_STREAM_STEP);
}

/* The update carries what the driver has now, or it would start the queue. */
static void a_held_queue_stays_off(void **state)
{
	struct fake *fake = *state;

	assert_int_equal(app_create(fake, COMPUTE, NORMAL), 0);
	assert_int_equal(hold(fake, 0, ALL), 1);
	assert_int_equal(percentage(fake, 0), 0);
	renice(fake, 2000);
	assert_int_equal(fake->queue[0].logical, 2000);
	assert_int_equal(percentage(fake, 0), 0);
	assert_int_equal(let_go(fake, 0, ALL), 1);
	assert_int_equal(percentage(fake, 0), 100);
}

static void a_priority_that_is_refused_is_not_asked_for_again(void **state)
{
	struct fake *fake = *state;

	fake->most_logical = 1200;
	fake->agent->identity.priority = 1500;
	assert_int_equal(app_create(fake, COMPUTE, NORMAL), 0); /* the program sees no error */
	assert_int_equal(fake->logical_updates, 1);
	assert_int_equal(fake->agent->queue[0].driver_logical, GP_PRIORITY_DEFAULT);
	gp_agent_inform_driver_of_all(fake->agent);
	assert_int_equal(fake->logical_updates, 1);
	renice(fake, 1100);
	assert_int_equal(fake->agent->queue[0].driver_logical, 1100);
}

/* The ceiling of the driver for programs without privilege; a stream's step leads above it, too. */
static void without_privilege_it_is_below_class_online(void **state)
{
	struct fake *fake = *state;

	fake->most_logical = GP_PRIORITY_ONLINE - 1;
	fake->agent->identity.priority = GP_PRIORITY_ONLINE - GP_AGENT_STREAM_STEP;
	errno = 0;
	assert_int_equal(app_create(fake, COMPUTE, HIGH), 0);
	assert_int_equal(errno, 0);
	assert_int_equal(fake->queue[0].logical, GP_PRIORITY_ONLINE - 1);
	assert_int_equal(fake->agent->queue[0].driver_logical, GP_PRIORITY_ONLINE - 1);
	gp_agent_inform_driver_of_all(fake->agent);
	assert_int_equal(fake->logical_updates, 2);
	renice(fake, GP_PRIORITY_MAX);
	assert_int_equal(fake->queue[0].logical, GP_PRIORITY_ONLINE - 1);
}

/* The program's own priority, which is what its owners see, stays as it is. */
static void a_rule_decides_until_its_owner_goes(void **state)
{
	struct fake *fake = *state;
	struct gp_agent *agent = fake->agent;

	assert_int_equal(app_create(fake, COMPUTE, NORMAL), 0);
	assert_int_equal(gp_agent_set_ruled(agent, &agent->owner[1], 300, 2100), 0);
	assert_int_equal(fake->queue[0].logical, 300);
	assert_int_equal(gp_agent_logical_priority(agent, &agent->queue[0]), GP_PRIORITY_DEFAULT);
	renice(fake, 1800);
	assert_int_equal(fake->queue[0].logical, 300);
	assert_int_equal(app_create(fake, COMPUTE, NORMAL), 1);
	assert_int_equal(fake->queue[1].logical, 300);
	gp_agent_let_go(agent, &agent->owner[0]); /* another one goes */
	assert_int_equal(fake->queue[0].logical, 300);
	gp_agent_let_go(agent, &agent->owner[1]);
	assert_int_equal(fake->queue[0].logical, 1800);
	assert_int_equal(fake->queue[1].logical, 1800);
}

static void a_stream_does_not_lift_it_above_the_ceiling_of_a_rule(void **state)
{
	struct fake *fake = *state;
	struct gp_agent *agent = fake->agent;

	assert_int_equal(app_create(fake, COMPUTE, NORMAL), 0);
	assert_int_equal(app_update(fake, 0, 100, HIGH), 0);
	assert_int_equal(gp_agent_set_ruled(agent, &agent->owner[0], 1500, 1550), 0);
	assert_int_equal(fake->queue[0].logical, 1550);
	assert_int_equal(gp_agent_set_ruled(agent, &agent->owner[0], 1500, 2100), 0);
	assert_int_equal(fake->queue[0].logical, 1500 + GP_AGENT_STREAM_STEP);
	assert_int_equal(gp_agent_set_ruled(agent, &agent->owner[0], GP_PRIORITY_MAX + 1, 0),
			 -EINVAL);
	assert_int_equal(gp_agent_set_ruled(agent, &agent->owner[0], UINT32_MAX, 0), 0);
	assert_int_equal(fake->queue[0].logical, GP_PRIORITY_DEFAULT + GP_AGENT_STREAM_STEP);
}

/* ENOTTY from Linux, EINVAL from the ROCm driver. */
static void other_drivers_are_asked_once(void **state)
{
	static const int errors[] = {ENOTTY, EINVAL};
	struct fake *first = *state;

	(void)first;
	for (size_t i = 0; i < GP_ARRAY_SIZE(errors); i++) {
		struct fake *fake = fake_new();

		fake->unknown_error = errors[i];
		fake->agent->identity.priority = GP_PRIORITY_ONLINE;
		errno = 0;
		assert_int_equal(app_create(fake, COMPUTE, NORMAL), 0);
		assert_int_equal(errno, 0);
		assert_int_equal(app_create(fake, COMPUTE, HIGH), 1);
		assert_int_equal(fake->queries, 1);
		assert_int_equal(fake->logical_updates, 0);
		fake_free(fake);
	}
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(new_queues_get_the_priority_of_the_program),
		ROW(the_default_needs_no_call),
		ROW(renice_changes_every_queue_once),
		ROW(a_stream_adds_its_step),
		ROW(a_held_queue_stays_off),
		ROW(a_priority_that_is_refused_is_not_asked_for_again),
		ROW(a_rule_decides_until_its_owner_goes),
		ROW(a_stream_does_not_lift_it_above_the_ceiling_of_a_rule),
		ROW(without_privilege_it_is_below_class_online),
		ROW(other_drivers_are_asked_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
