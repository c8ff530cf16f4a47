// SPDX-License-Identifier: MIT
/* Acting is never worse than not acting: where operations fail, or cost more than they gain, the
 * daemon stands down for a while and lets everything run. */
#include "rig.h"

#define MS GP_NS_PER_MS

static struct gp_daemon_worth *worth(struct rig *rig)
{
	return &rig->daemon->devices[gp_daemon_host_device(rig->daemon, GPU)].worth;
}

static u32 stands(struct rig *rig, u32 kind)
{
	u32 count = 0;

	for (u64 id = gp_daemon_record_first(&rig->daemon->record); id < rig->daemon->record.next;
	     id++)
		count += gp_daemon_record_at(&rig->daemon->record, id)->kind == kind;
	return count;
}

static void pass(struct rig *rig, u64 ms)
{
	u64 start = gp_monotonic_ns();

	while (gp_monotonic_ns() - start < ms * GP_NS_PER_MS) {
		rig_run(rig);
		gp_loop_step(&rig->daemon->loop, 5);
	}
}

static void three_failures_in_a_row_end_preempting_for_a_while(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	struct gp_proto_msg_device device;

	(void)state;
	fake.suspend_error = -EIO;
	work(rig, low, true);
	work(rig, high, true);
	rig_until(rig, worth(rig)->why);
	assert_int_equal(worth(rig)->why, GP_STAND_FAILURES);
	assert_int_equal(lines(rig, low, GP_DECISION_NOTE, GP_SCHED_WHY_FAILED), 3);
	assert_int_equal(stands(rig, GP_DECISION_STAND_DOWN), 1);
	gp_daemon_report_device_view(rig->daemon, gp_daemon_host_device(rig->daemon, GPU), &device);
	assert_int_equal(device.stands_down, GP_STAND_FAILURES);
	assert_false(device.can_suspend);
	assert_false(fake_held(low->pid));
	fake.suspend_error = 0;
	rig_until(rig, fake_held(low->pid));
	assert_int_equal(stands(rig, GP_DECISION_ACT_AGAIN), 1);
	assert_int_equal(worth(rig)->why, GP_STAND_NOT);
	/* A success between failures begins a new row. */
	assert_int_equal(worth(rig)->failures, 0);
	rig_free(rig);
}

/* One preemption whose operations take so long, while `high` has work for `ms`. */
static void preempt(struct rig *rig, struct agent *high, u64 took, u64 ms)
{
	fake.wait = true;
	work(rig, high, true);
	pass(rig, took);
	fake_finish(1);
	pass(rig, ms);
	work(rig, high, false);
	pass(rig, took);
	fake_finish(1);
	fake.wait = false;
	rig_run(rig);
}

static void preemptions_that_cost_more_than_they_gain_end(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	u64 first;

	(void)state;
	work(rig, low, true);
	for (int i = 0; i < 100 && !worth(rig)->why; i++)
		preempt(rig, high, 60, 0);
	assert_int_equal(worth(rig)->why, GP_STAND_LOSS);
	assert_int_equal(rig->daemon->stats.failures, 0);
	first = worth(rig)->pause_ns;
	/* Meanwhile work of higher priority runs beside the other, as if only observed. */
	int before = fake.suspends;
	u64 until = worth(rig)->again_ns;
	work(rig, high, true);
	if (gp_monotonic_ns() < until) {
		assert_int_equal(fake.suspends, before);
		assert_false(fake_held(low->pid));
	}
	work(rig, high, false);
	rig_until(rig, !worth(rig)->why);
	/* No better: the next pause is longer. */
	for (int i = 0; i < 100 && !worth(rig)->why; i++)
		preempt(rig, high, 60, 0);
	assert_true(worth(rig)->pause_ns == 2 * first);
	assert_int_equal(stands(rig, GP_DECISION_STAND_DOWN), 2);
	rig_free(rig);
}

/* A second of gain proves it; until then, and from the start, a small loss ends it sooner. */
static void acting_is_on_probation_until_it_has_gained(void **state)
{
	struct gp_daemon_worth small = {.cycles = 10, .cost_ns = 10 * MS, .gain_ns = 9 * MS};
	struct gp_daemon_worth gain = {.cycles = 10, .cost_ns = 9 * MS, .gain_ns = 10 * MS};

	(void)state;
	assert_int_equal(gp_daemon_worth_verdict(&small, 249 * MS), GP_DAEMON_NOT_KNOWN);
	assert_int_equal(gp_daemon_worth_verdict(&small, 250 * MS), GP_DAEMON_LOSES);
	assert_int_equal(gp_daemon_worth_verdict(&gain, 999 * MS), GP_DAEMON_NOT_KNOWN);
	assert_int_equal(gp_daemon_worth_verdict(&gain, 1000 * MS), GP_DAEMON_GAINS);
	small.proven = true;
	assert_int_equal(gp_daemon_worth_verdict(&small, 999 * MS), GP_DAEMON_NOT_KNOWN);
	assert_int_equal(gp_daemon_worth_verdict(&small, 1000 * MS), GP_DAEMON_LOSES);
	small.cycles = 3; /* too few to tell */
	assert_int_equal(gp_daemon_worth_verdict(&small, 1000 * MS), GP_DAEMON_NOT_KNOWN);
}

/* On a busy host one preemption says enough, also where acting was worth it before. */
static void a_large_loss_ends_it_at_once(void **state)
{
	struct gp_daemon_worth loss = {.cycles = 1,
				       .cost_ns = 121 * MS,
				       .gain_ns = 100 * MS,
				       .proven = true};

	(void)state;
	assert_int_equal(gp_daemon_worth_verdict(&loss, 200 * MS), GP_DAEMON_LOSES);
	loss.gain_ns = 101 * MS;
	assert_int_equal(gp_daemon_worth_verdict(&loss, 200 * MS), GP_DAEMON_NOT_KNOWN);
}

/* 60 ms for each of its operations: the first preemption is the last one. */
static void the_first_slow_preemption_ends_acting(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);

	(void)state;
	work(rig, low, true);
	preempt(rig, high, 60, 0);
	assert_int_equal(worth(rig)->why, GP_STAND_LOSS);
	assert_int_equal(fake.suspends, 1);
	rig_free(rig);
}

static void preemptions_that_gain_go_on(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);

	(void)state;
	work(rig, low, true);
	for (u64 start = gp_monotonic_ns(); gp_monotonic_ns() - start < 3 * GP_NS_PER_S;) {
		work(rig, high, true);
		assert_true(fake_held(low->pid));
		pass(rig, 100);
		work(rig, high, false);
		pass(rig, 5);
	}
	assert_int_equal(worth(rig)->times, 0);
	rig_free(rig);
}

/* A server that was off the GPU gets work; to start it takes so long. */
static void start_parked(struct rig *rig, struct agent *server, u64 took)
{
	int before = fake.resumes;

	rig_until(rig, fake_held(server->pid) || worth(rig)->why);
	pass(rig, 20);
	fake.wait = true;
	work(rig, server, true);
	rig_until(rig, fake.resumes > before || worth(rig)->why);
	pass(rig, took);
	fake_finish(1);
	fake.wait = false;
	rig_run(rig);
	work(rig, server, false);
	rig_run(rig);
}

static struct agent *parked_server(struct rig *rig)
{
	u32 device = gp_daemon_host_device(rig->daemon, GPU);
	struct agent *server[2], *batch;

	rig->daemon->devices[device].places = 1;
	gp_daemon_host_configure(rig->daemon);
	for (int i = 0; i < 2; i++) {
		server[i] = agent_can_park(rig, 1, 2000);
		work(rig, server[i], true);
		work(rig, server[i], false);
	}
	/* An equal, which keeps the GPU busy and is not preempted. */
	batch = agent_known(rig, 2, 2000);
	work(rig, batch, true);
	return server[0];
}

/* Starting it takes longer than the GPU's rotation would. */
static void parking_that_costs_more_than_it_gains_ends(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *server = parked_server(rig);

	(void)state;
	for (int i = 0; i < 100 && !worth(rig)->why; i++)
		start_parked(rig, server, 60);
	assert_int_equal(worth(rig)->why, GP_STAND_LOSS);
	assert_int_equal(rig->daemon->stats.failures, 0);
	/* Programs are on the GPU again, and stay there. */
	rig_until(rig, !fake_held(server->pid));
	rig_free(rig);
}

static void parking_that_gains_goes_on(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *server = parked_server(rig);

	(void)state;
	for (int i = 0; i < 20; i++)
		start_parked(rig, server, 0);
	assert_int_equal(worth(rig)->times, 0);
	rig_until(rig, fake_held(server->pid));
	rig_free(rig);
}

static void an_administrator_may_forbid_it(void **state)
{
	struct rig *rig = rig_new("[daemon]\nmode = act\nstand_down = no\nlease = 60s\n"
				  "max_suspend = 600s\noperation_timeout = 60s\n" PROMPT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);

	(void)state;
	fake.suspend_error = -EIO;
	work(rig, low, true);
	work(rig, high, true);
	rig_until(rig, lines(rig, low, GP_DECISION_NOTE, GP_SCHED_WHY_FAILED) > 3);
	assert_int_equal(worth(rig)->times, 0);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_failures_in_a_row_end_preempting_for_a_while),
		cmocka_unit_test(preemptions_that_cost_more_than_they_gain_end),
		cmocka_unit_test(acting_is_on_probation_until_it_has_gained),
		cmocka_unit_test(a_large_loss_ends_it_at_once),
		cmocka_unit_test(the_first_slow_preemption_ends_acting),
		cmocka_unit_test(preemptions_that_gain_go_on),
		cmocka_unit_test(parking_that_costs_more_than_it_gains_ends),
		cmocka_unit_test(parking_that_gains_goes_on),
		cmocka_unit_test(an_administrator_may_forbid_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
