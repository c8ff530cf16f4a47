// SPDX-License-Identifier: MIT
/* The costs of --calibrate: a time that was not seen is missing, not 0 and not the largest number.
 */
#include "testlib.h"

#include "selftest/calibrate.h"

static struct gp_selftest_least sure(u64 ns)
{
	return (struct gp_selftest_least){.ns = ns, .next = {ns, ns, ns, ns}};
}

static void costs_are_split_by_queue(void **state)
{
	struct gp_selftest_shortest few = {.unmap = sure(120), .map = sure(230), .queues = 1};
	struct gp_selftest_shortest many = {.unmap = sure(420), .map = sure(530), .queues = 16};
	struct gp_selftest_figure serial = {.ns = 10};
	struct gp_selftest_costs costs = {0};

	(void)state;
	assert_true(gp_selftest_costs_take(&costs, &serial, &few, &many));
	assert_int_equal(costs.unmap_queue_ns, 20);
	assert_int_equal(costs.unmap_ns, 100);
	assert_int_equal(costs.map_queue_ns, 20);
	assert_int_equal(costs.map_ns, 200);
}

static void a_time_not_seen_gives_no_cost(void **state)
{
	struct gp_selftest_shortest few = {.map = sure(230), .queues = 1};
	struct gp_selftest_shortest many = {.unmap = sure(420), .queues = 16};
	struct gp_selftest_figure serial = {0};
	struct gp_selftest_costs costs = {0};

	(void)state;
	gp_selftest_least_take(&few.unmap, 0);
	assert_false(gp_selftest_costs_take(&costs, &serial, &few, &many));
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
static void the_shortest_is_sure_when_four_more_are_close(void **state)
{
	struct gp_selftest_least least = {0};

	(void)state;
	assert_true(gp_selftest_least_settled(&least)); /* no such time is seen at all */
	for (int i = 0; i < 20; i++)
		gp_selftest_least_take(&least, 2000);
	assert_true(gp_selftest_least_settled(&least));
	for (u64 ns = 1000; ns < 1004; ns++) {
		gp_selftest_least_take(&least, ns);
		assert_false(gp_selftest_least_settled(&least));
	}
	gp_selftest_least_take(&least, 1006);
	assert_false(gp_selftest_least_settled(&least));
	assert_int_equal(gp_selftest_least_doubt(&least), 6);
	gp_selftest_least_take(&least, 1005);
	assert_true(gp_selftest_least_settled(&least));
	assert_int_equal(least.ns, 1000);
	assert_int_equal(gp_selftest_least_doubt(&least), 5);
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
	struct gp_selftest_shortest idle = {.unmap = sure(1000), .map = sure(2000)};
	struct gp_selftest_shortest few = {.unmap = sure(1600), .map = sure(2300), .bytes = 1000};
	struct gp_selftest_shortest many = {.unmap = sure(1900), .map = sure(2900), .bytes = 4000};
	struct gp_selftest_costs costs = {0};

	(void)state;
	assert_true(gp_selftest_costs_take_waves(&costs, &idle, &few, &many));
	assert_int_equal(costs.save_bytes_per_us, 10000);
	assert_int_equal(costs.save_ns, 500);
	assert_int_equal(costs.restore_bytes_per_us, 5000);
	assert_int_equal(costs.restore_ns, 100);
	/* Less time for more waves, or than for none, is noise. */
	many.unmap = sure(1599);
	idle.map = sure(2301);
	assert_false(gp_selftest_costs_take_waves(&costs, &idle, &few, &many));
	assert_int_equal(costs.save_ns + costs.save_bytes_per_us, 0);
	assert_int_equal(costs.restore_ns + costs.restore_bytes_per_us, 0);
}

/* A small cost beside a large one is lost first. */
static void a_cost_in_doubt_is_not_measured(void **state)
{
	struct gp_selftest_shortest few = {.unmap = sure(10100), .map = sure(10100), .queues = 1};
	struct gp_selftest_shortest many = {.unmap = sure(11600), .map = sure(11600), .queues = 16};
	struct gp_selftest_figure packet = {.ns = 100}, unseen = {0},
				  serial = {.ns = 1000, .doubt = 1001};
	struct gp_selftest_costs costs = {0};

	(void)state;
	many.unmap.next[3] += 150;
	assert_true(gp_selftest_costs_take(&costs, &packet, &few, &many));
	assert_int_equal(costs.unmap_queue_ns, 100);
	many.unmap.next[3] += 15;
	assert_false(gp_selftest_costs_take(&costs, &packet, &few, &many));
	assert_int_equal(costs.unmap_queue_ns, 0);
	assert_int_equal(costs.unmap_ns, 10000);
	assert_false(gp_selftest_costs_take(&costs, &serial, &few, &many));
	assert_int_equal(costs.map_queue_ns, 100);
	assert_int_equal(costs.map_ns, 0);
	/* A part that was not seen is not 0. */
	costs.map_ns = 1;
	assert_false(gp_selftest_costs_take(&costs, &unseen, &few, &many));
	assert_int_equal(costs.map_queue_ns, 100);
	assert_int_equal(costs.map_ns, 0);
}

static void packets_in_doubt_are_not_measured(void **state)
{
	struct gp_selftest_figure pipelined = {.ns = 5000, .doubt = 10};
	struct gp_selftest_figure serial = {.ns = 5500, .doubt = 40};
	struct gp_selftest_costs costs = {0};

	(void)state;
	assert_true(gp_selftest_costs_take_packets(&costs, &pipelined, &serial));
	assert_int_equal(costs.dispatch_ns, 5000);
	assert_int_equal(costs.complete_ns, 500);
	serial.doubt++;
	assert_false(gp_selftest_costs_take_packets(&costs, &pipelined, &serial));
	assert_int_equal(costs.dispatch_ns, 5000);
	assert_int_equal(costs.complete_ns, 0);
	/* Those that do not wait were not seen: the others are not all completion. */
	pipelined = (struct gp_selftest_figure){0};
	serial.doubt = 40;
	assert_false(gp_selftest_costs_take_packets(&costs, &pipelined, &serial));
	assert_int_equal(costs.complete_ns, 0);
}

static void waves_in_doubt_are_not_measured(void **state)
{
	struct gp_selftest_shortest idle = {.unmap = sure(1000), .map = sure(2000)};
	struct gp_selftest_shortest few = {.unmap = sure(1600), .map = sure(2300), .bytes = 1000};
	struct gp_selftest_shortest many = {.unmap = sure(1900), .map = sure(2900), .bytes = 4000};
	struct gp_selftest_costs costs = {0};

	(void)state;
	many.unmap.next[3] += 31;
	idle.map.next[3] += 11;
	assert_false(gp_selftest_costs_take_waves(&costs, &idle, &few, &many));
	assert_int_equal(costs.save_bytes_per_us, 0);
	assert_int_equal(costs.save_ns, 500);
	assert_int_equal(costs.restore_bytes_per_us, 5000);
	assert_int_equal(costs.restore_ns, 0);
}

static void the_grace_period_is_known_from_a_longer_one(void **state)
{
	struct gp_selftest_shortest crowd = {.unmap = sure(5000)};
	struct gp_selftest_shortest graceful = {.unmap = sure(5800)};
	struct gp_selftest_figure grace;

	(void)state;
	crowd.unmap.next[3] += 10;
	graceful.unmap.next[3] += 30;
	grace = gp_selftest_costs_grace(&crowd, &graceful, 8);
	assert_int_equal(grace.ns, 100);
	assert_int_equal(grace.doubt, 5);
	/* On a GPU that has none. */
	assert_int_equal(gp_selftest_costs_grace(&graceful, &crowd, 8).ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(costs_are_split_by_queue),
		cmocka_unit_test(a_time_not_seen_gives_no_cost),
		cmocka_unit_test(the_shortest_counts_and_zero_does_not),
		cmocka_unit_test(the_shortest_is_sure_when_four_more_are_close),
		cmocka_unit_test(rounds_end_when_it_is_sure_or_after_a_while),
		cmocka_unit_test(waves_have_a_fixed_part_and_a_rate),
		cmocka_unit_test(a_cost_in_doubt_is_not_measured),
		cmocka_unit_test(packets_in_doubt_are_not_measured),
		cmocka_unit_test(waves_in_doubt_are_not_measured),
		cmocka_unit_test(the_grace_period_is_known_from_a_longer_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
