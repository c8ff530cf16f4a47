// SPDX-License-Identifier: MIT
/* The costs of --calibrate: a time that was not seen is missing, not 0 and not the largest number.
 */
#include "testlib.h"

#include "selftest/calibrate.h"

static void costs_are_split_by_queue(void **state)
{
	struct gp_selftest_shortest few = {.unmap = {.ns = 120}, .map = {.ns = 230}, .queues = 1};
	struct gp_selftest_shortest many = {.unmap = {.ns = 420}, .map = {.ns = 530}, .queues = 16};
	struct gp_selftest_costs costs = {.dispatch_ns = 7, .complete_ns = 3};

	(void)state;
	gp_selftest_costs_take(&costs, &few, &many);
	assert_int_equal(costs.unmap_queue_ns, 20);
	assert_int_equal(costs.unmap_ns, 100);
	assert_int_equal(costs.map_queue_ns, 20);
	assert_int_equal(costs.map_ns, 200);
}

static void a_time_not_seen_gives_no_cost(void **state)
{
	struct gp_selftest_shortest few = {.map = {.ns = 230}, .queues = 1};
	struct gp_selftest_shortest many = {.unmap = {.ns = 420}, .queues = 16};
	struct gp_selftest_costs costs = {0};

	(void)state;
	gp_selftest_least_take(&few.unmap, 0);
	gp_selftest_costs_take(&costs, &few, &many);
	assert_int_equal(costs.unmap_queue_ns, 0);
	assert_int_equal(costs.unmap_ns, 0);
	assert_int_equal(costs.map_queue_ns, 0);
	assert_int_equal(costs.map_ns, 0);
}

static void the_shortest_counts_and_zero_does_not(void **state)
{
	struct gp_selftest_least least = {0};

	(void)state;
	gp_selftest_least_take(&least, 0);
	assert_int_equal(least.ns, 0);
	gp_selftest_least_take(&least, 9);
	gp_selftest_least_take(&least, 0);
	gp_selftest_least_take(&least, 5);
	gp_selftest_least_take(&least, 6);
	assert_int_equal(least.ns, 5);
}

/* One short time among long ones may be the only one that the host has not lengthened, or one that
 * it has lengthened less. */
static void the_shortest_is_sure_when_two_more_are_close(void **state)
{
	struct gp_selftest_least least = {0};

	(void)state;
	assert_true(gp_selftest_least_settled(&least)); /* no such time is seen at all */
	for (int i = 0; i < 20; i++)
		gp_selftest_least_take(&least, 2000);
	assert_true(gp_selftest_least_settled(&least));
	gp_selftest_least_take(&least, 1000);
	gp_selftest_least_take(&least, 1003);
	assert_false(gp_selftest_least_settled(&least));
	gp_selftest_least_take(&least, 1006);
	assert_false(gp_selftest_least_settled(&least));
	gp_selftest_least_take(&least, 1005);
	assert_true(gp_selftest_least_settled(&least));
	assert_int_equal(least.ns, 1000);
}

static void rounds_end_when_it_is_sure_or_after_a_while(void **state)
{
	const u64 least = GP_SELFTEST_LEAST_NS, most = GP_SELFTEST_MOST_NS;

	(void)state;
	assert_false(gp_selftest_rounds_enough(GP_SELFTEST_ROUNDS - 1, most, true));
	assert_true(gp_selftest_rounds_enough(GP_SELFTEST_ROUNDS, least, true));
	assert_false(gp_selftest_rounds_enough(GP_SELFTEST_ROUNDS, least - 1, true));
	assert_true(gp_selftest_rounds_enough(GP_SELFTEST_MANY_ROUNDS, 0, true));
	assert_false(gp_selftest_rounds_enough(GP_SELFTEST_MANY_ROUNDS, least, false));
	assert_true(gp_selftest_rounds_enough(GP_SELFTEST_ROUNDS, most, false));
	assert_true(gp_selftest_rounds_enough(GP_SELFTEST_MOST_ROUNDS, 0, false));
}

static void waves_have_a_fixed_part_and_a_rate(void **state)
{
	struct gp_selftest_shortest idle = {.unmap = {.ns = 1000}, .map = {.ns = 2000}};
	struct gp_selftest_shortest few = {.unmap = {.ns = 1600},
					   .map = {.ns = 2300},
					   .bytes = 1000};
	struct gp_selftest_shortest many = {.unmap = {.ns = 1900},
					    .map = {.ns = 2900},
					    .bytes = 4000};
	struct gp_selftest_costs costs = {0};

	(void)state;
	gp_selftest_costs_take_waves(&costs, &idle, &few, &many);
	assert_int_equal(costs.save_bytes_per_us, 10000);
	assert_int_equal(costs.save_ns, 500);
	assert_int_equal(costs.restore_bytes_per_us, 5000);
	assert_int_equal(costs.restore_ns, 100);
	/* Less time for more waves, or than for none, is noise. */
	many.unmap.ns = 1599;
	idle.map.ns = 2301;
	gp_selftest_costs_take_waves(&costs, &idle, &few, &many);
	assert_int_equal(costs.save_ns + costs.save_bytes_per_us, 0);
	assert_int_equal(costs.restore_ns + costs.restore_bytes_per_us, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(costs_are_split_by_queue),
		cmocka_unit_test(a_time_not_seen_gives_no_cost),
		cmocka_unit_test(the_shortest_counts_and_zero_does_not),
		cmocka_unit_test(the_shortest_is_sure_when_two_more_are_close),
		cmocka_unit_test(rounds_end_when_it_is_sure_or_after_a_while),
		cmocka_unit_test(waves_have_a_fixed_part_and_a_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
