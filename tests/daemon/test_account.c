// SPDX-License-Identifier: MIT
/* Figures of jobs: latencies, times of waiting, and the accounts of jobs that ended. */
#include "rig.h"

#define OBSERVE "[daemon]\nmode = observe\nmax_suspend = 600s\n" PROMPT

static struct gp_proto_msg_accounts *list(struct rig *rig, u64 skip, u32 pid, u32 *total)
{
	struct gp_proto_msg_accounts *out = (struct gp_proto_msg_accounts *)rig->daemon->answer;

	*total = gp_daemon_account_list(rig->daemon, skip, pid, out);
	return out;
}

static struct gp_proto_msg_job view(struct rig *rig, const struct agent *agent)
{
	struct gp_proto_msg_job job;

	gp_daemon_report_job_view(rig->daemon, job_of(rig, agent), &job);
	return job;
}

static void pass(struct rig *rig, u64 ms)
{
	u64 start = gp_monotonic_ns();

	while (gp_monotonic_ns() - start < ms * GP_NS_PER_MS) {
		rig_run(rig);
		gp_loop_step(&rig->daemon->loop, 5);
	}
}

static void percentiles_are_at_most_a_sixteenth_above(void **state)
{
	static struct gp_daemon_latency latency;

	(void)state;
	memset(&latency, 0, sizeof(latency));
	assert_true(gp_daemon_latency_at(&latency, 500) == UINT64_MAX);
	for (u64 i = 1; i <= 1000; i++)
		gp_daemon_latency_add(&latency, i * 1000);
	assert_in_range(gp_daemon_latency_at(&latency, 500), 500000, 500000 + 500000 / 16);
	assert_in_range(gp_daemon_latency_at(&latency, 990), 990000, 1000000);
	gp_daemon_latency_add(&latency, UINT64_MAX / 2);
	assert_true(gp_daemon_latency_at(&latency, 1000) == UINT64_MAX / 2);
}

static void requests_are_matched_with_their_begins(void **state)
{
	struct gp_daemon_requests requests = {0};

	(void)state;
	assert_true(gp_daemon_requests_note(&requests, true, 1, 100) == UINT64_MAX);
	assert_true(gp_daemon_requests_note(&requests, true, 2, 150) == UINT64_MAX);
	assert_int_equal(gp_daemon_requests_note(&requests, false, 1, 300), 200);
	assert_int_equal(gp_daemon_requests_note(&requests, false, 0, 350), 200);
	/* Begins that were not seen are not guessed. */
	assert_true(gp_daemon_requests_note(&requests, true, 4, 400) == UINT64_MAX);
	for (u32 open = 3; open > 0; open--)
		assert_true(gp_daemon_requests_note(&requests, false, open, 500) == UINT64_MAX);
	assert_int_equal(gp_daemon_requests_note(&requests, false, 0, 600), 200);
	/* More than there is room for: those that fit are right, the others missing. */
	for (u32 i = 0; i < 2 * GP_DAEMON_REQUESTS; i++)
		gp_daemon_requests_note(&requests, true, i + 1, 1000);
	for (u32 i = 2 * GP_DAEMON_REQUESTS; i > 0; i--) {
		u64 took = gp_daemon_requests_note(&requests, false, i - 1, 1500);

		assert_true(took == (i > GP_DAEMON_REQUESTS ? 500 : UINT64_MAX));
	}
	assert_true(gp_daemon_requests_note(&requests, true, 0, 1) == UINT64_MAX);
}

static void a_job_that_ended_keeps_its_totals(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	struct gp_proto_msg_accounts *found;
	struct gp_proto_msg_job before;
	u32 total, pid = (u32)low->pid;

	(void)state;
	work(rig, low, true);
	work(rig, high, true);
	pass(rig, 20);
	work(rig, high, false);
	pass(rig, 20);
	work(rig, low, false);
	before = view(rig, low);
	assert_int_equal(before.latency_count, 1);
	assert_int_equal(before.latency_of, 0);
	assert_true(before.latency_p50_ns >= 40 * GP_NS_PER_MS);
	found = list(rig, 0, pid, &total);
	assert_int_equal(total, 1);
	assert_true(found->accounts[0].job.ended_ns == GP_DAEMON_NEVER);
	agent_end(low);
	rig_until(rig, !gp_daemon_host_client(rig->daemon, pid));
	found = list(rig, 0, pid, &total);
	assert_int_equal(total, 1);
	assert_int_equal(found->count, 1);
	assert_true(found->accounts[0].job.ended_ns != GP_DAEMON_NEVER);
	assert_int_equal(found->accounts[0].job.pid, pid);
	assert_int_equal(found->accounts[0].pids[0], pid);
	assert_int_equal(found->accounts[0].job.suspends, 1);
	assert_true(found->accounts[0].job.ran_ns >= before.ran_ns);
	assert_true(found->accounts[0].job.held_ns >= 20 * GP_NS_PER_MS);
	assert_int_equal(found->accounts[0].job.latency_count, 1);
	assert_true(found->accounts[0].user[0] != 0);
	list(rig, 0, 0, &total);
	assert_int_equal(total, 2);
	rig_free(rig);
}

static void announced_requests_replace_bursts(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *high = agent_known(rig, 1, 2000);
	struct gp_proto_msg_request request = {.now_ns = gp_monotonic_ns(), .begin = 1, .open = 1};

	(void)state;
	work(rig, high, true);
	work(rig, high, false);
	assert_int_equal(view(rig, high).latency_of, 0);
	agent_say(high, GP_MSG_AGENT_REQUEST, &request, sizeof(request));
	pass(rig, 30);
	request = (struct gp_proto_msg_request){.now_ns = gp_monotonic_ns()};
	agent_say(high, GP_MSG_AGENT_REQUEST, &request, sizeof(request));
	rig_until(rig, view(rig, high).latency_of);
	assert_int_equal(view(rig, high).latency_count, 1);
	assert_true(view(rig, high).latency_p99_ns >= 30 * GP_NS_PER_MS);
	rig_free(rig);
}

/* Under overload work is always there, and no burst and no request ends in time. */
static void one_under_way_counts_with_its_time_so_far(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *high = agent_known(rig, 1, 2000);
	struct gp_proto_msg_request request = {.now_ns = gp_monotonic_ns(), .begin = 1, .open = 1};

	(void)state;
	for (u32 i = 0; i < 20; i++) {
		work(rig, high, true);
		work(rig, high, false);
	}
	work(rig, high, true);
	pass(rig, 100);
	assert_int_equal(view(rig, high).latency_count, 21);
	assert_int_equal(view(rig, high).latency_of, 0);
	assert_true(view(rig, high).latency_p50_ns < 100 * GP_NS_PER_MS);
	assert_true(view(rig, high).latency_p99_ns >= 100 * GP_NS_PER_MS);
	/* It is not counted twice when it ends. */
	work(rig, high, false);
	assert_int_equal(view(rig, high).latency_count, 21);
	/* The same of requests, once one has ended. */
	agent_say(high, GP_MSG_AGENT_REQUEST, &request, sizeof(request));
	request = (struct gp_proto_msg_request){.now_ns = request.now_ns + 1000};
	agent_say(high, GP_MSG_AGENT_REQUEST, &request, sizeof(request));
	request = (struct gp_proto_msg_request){.now_ns = gp_monotonic_ns(), .begin = 1, .open = 1};
	agent_say(high, GP_MSG_AGENT_REQUEST, &request, sizeof(request));
	pass(rig, 30);
	assert_int_equal(view(rig, high).latency_of, 1);
	assert_int_equal(view(rig, high).latency_count, 2);
	assert_true(view(rig, high).latency_p99_ns >= 30 * GP_NS_PER_MS);
	rig_free(rig);
}

/* More requests than there are places for: how old one is at least is still known. */
static void the_age_of_many_open_requests_is_known_at_least(void **state)
{
	struct gp_daemon_requests requests = {0};
	u32 open = 0;

	(void)state;
	for (u64 at = 1; at <= 100; at++)
		assert_int_equal(gp_daemon_requests_note(&requests, true, ++open, at), UINT64_MAX);
	for (u64 at = 1001; at <= 1200; at++) {
		u64 took = gp_daemon_requests_note(&requests, false, --open, at);

		if (at <= 1000 + GP_DAEMON_REQUESTS)
			assert_int_equal(took, 1000);
		else
			assert_int_equal(took, UINT64_MAX);
		gp_daemon_requests_note(&requests, true, ++open, at);
		for (u32 i = 0; i < GP_DAEMON_REQUESTS; i++)
			assert_true(gp_daemon_requests_begun(&requests, i) <= at);
		/* No older than it can be: its turn comes after a round of all places. */
		if (at > 1000 + 2 * GP_DAEMON_REQUESTS)
			assert_true(gp_daemon_requests_begun(&requests, 0) >=
				    at - GP_DAEMON_REQUESTS);
	}
	/* It hangs. */
	assert_true(gp_daemon_requests_begun(&requests, 0) <= 1200);
	/* The program says how many are open: those of which nothing was seen are open since then.
	 */
	gp_daemon_requests_note(&requests, true, 3, 2000);
	assert_int_equal(gp_daemon_requests_begun(&requests, 0), 2000);
	assert_int_equal(gp_daemon_requests_note(&requests, false, 2, 2100), UINT64_MAX);
	assert_int_equal(gp_daemon_requests_note(&requests, false, 1, 2200), UINT64_MAX);
	assert_int_equal(gp_daemon_requests_note(&requests, false, 0, 2300), 300);
}

static void one_that_is_not_longer_than_usual_does_not_count_yet(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *high = agent_known(rig, 1, 2000);

	(void)state;
	for (u32 i = 0; i < 3; i++)
		gp_daemon_latency_add(&job_of(rig, high)->bursts, 30 * GP_NS_PER_S);
	work(rig, high, true);
	assert_int_equal(view(rig, high).latency_count, 3);
	gp_daemon_host_client(rig->daemon, (u32)high->pid)->busy_since -= 60 * GP_NS_PER_S;
	assert_int_equal(view(rig, high).latency_count, 4);
	rig_free(rig);
}

static void waiting_is_counted_once_and_not_from_the_start_of_the_backlog(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *a = agent_known(rig, 2, 500), *b = agent_known(rig, 2, 500);
	struct agent *high = agent_known(rig, 1, 2000);
	u64 start;

	(void)state;
	work(rig, high, true);
	pass(rig, 200);
	/* Its work came long ago, and nothing was in its way. */
	start = gp_monotonic_ns();
	work(rig, a, true);
	work(rig, b, true);
	assert_true(fake_held(a->pid) && fake_held(b->pid));
	assert_int_equal(view(rig, high).preempted, 2);
	assert_true(view(rig, high).waited_ns <= gp_monotonic_ns() - start);
	rig_free(rig);
}

static void idle_jobs_have_no_backlog(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500);
	struct gp_daemon_client *client = gp_daemon_host_client(rig->daemon, (u32)low->pid);

	(void)state;
	client->queues[0].backlog = 108; /* as the list said once */
	assert_int_equal(view(rig, low).backlog, 0);
	work(rig, low, true);
	assert_true(view(rig, low).backlog == GP_DAEMON_UNKNOWN); /* cannot be read here */
	work(rig, low, false);
	assert_int_equal(view(rig, low).backlog, 0);
	rig_free(rig);
}

/* What was held, and what would have been: neither time is in the other, in any order of modes. */
static void observed_and_real_holds_are_not_added(void **state)
{
	struct rig *rig = rig_new(OBSERVE);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	struct gp_proto_msg_job first, second, third;
	struct gp_proto_msg_stats stats;

	(void)state;
	work(rig, low, true);
	work(rig, high, true);
	pass(rig, 50);
	first = view(rig, low);
	assert_int_equal(first.held_ns + first.suspends + first.longest_ns, 0);
	assert_int_equal(first.would_suspends, 1);
	assert_true(first.would_held_ns >= 50 * GP_NS_PER_MS);
	assert_true(first.would_longest_ns >= 50 * GP_NS_PER_MS);
	/* It ran all the time. */
	assert_true(first.ran_ns >= first.would_held_ns);
	assert_int_equal(view(rig, high).preempted + view(rig, high).waited_ns, 0);
	assert_int_equal(view(rig, high).would_preempted, 1);
	reload_as(rig, ACT);
	rig_until(rig, fake_held(low->pid));
	second = view(rig, low);
	pass(rig, 30);
	third = view(rig, low);
	assert_int_equal(third.suspends, 1);
	assert_int_equal(third.would_suspends, 1);
	assert_true(third.held_ns >= 30 * GP_NS_PER_MS);
	assert_true(third.held_ns <= gp_monotonic_ns() - third.started_ns - third.would_held_ns);
	assert_true(third.would_held_ns == second.would_held_ns);
	assert_true(third.longest_ns <= third.held_ns);
	assert_true(third.ran_ns == second.ran_ns);
	assert_int_equal(view(rig, high).preempted, 1);
	gp_daemon_report_stats(rig->daemon, &stats);
	assert_int_equal(stats.leases_lost, 0);
	assert_int_equal(stats.preemptions, 1);
	assert_int_equal(stats.waited.count, 1);
	assert_int_equal(stats.would_waited.count, 1);
	rig_free(rig);
}

static void a_hold_ends_where_observing_begins(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	struct gp_proto_msg_job before, after;
	struct gp_proto_msg_stats stats;
	u64 suspended;

	(void)state;
	work(rig, low, true);
	work(rig, high, true);
	pass(rig, 30);
	reload_as(rig, OBSERVE);
	before = view(rig, low);
	gp_daemon_report_stats(rig->daemon, &stats);
	suspended = stats.suspended_ns[GP_CLASS_OFFLINE];
	assert_true(before.held_ns >= 30 * GP_NS_PER_MS);
	assert_true(suspended == before.held_ns);
	pass(rig, 30);
	/* A job that was resumed has some time before the next suspension. */
	rig_until(rig, view(rig, low).would_held_ns >= 30 * GP_NS_PER_MS);
	after = view(rig, low);
	assert_true(after.held_ns == before.held_ns);
	assert_true(after.longest_ns == before.longest_ns);
	assert_int_equal(after.suspends, 1);
	assert_int_equal(after.would_suspends, 1);
	assert_true(after.ran_ns - before.ran_ns >= 30 * GP_NS_PER_MS);
	/* The record says that the one hold ended, and that the next is only observed. */
	assert_int_equal(lines(rig, low, GP_DECISION_NOTE, GP_SCHED_WHY_LEASE_LOST), 1);
	gp_daemon_report_stats(rig->daemon, &stats);
	assert_true(stats.suspended_ns[GP_CLASS_OFFLINE] == suspended);
	assert_true(stats.beside_ns >= 30 * GP_NS_PER_MS);
	assert_int_equal(stats.leases_lost, 0);
	/* What it had stays with it when it has ended. */
	u32 total, pid = (u32)low->pid;
	agent_end(low);
	rig_until(rig, !gp_daemon_host_client(rig->daemon, pid));
	struct gp_proto_msg_accounts *found = list(rig, 0, pid, &total);
	assert_int_equal(found->accounts[0].job.suspends, 1);
	assert_true(found->accounts[0].job.held_ns == before.held_ns);
	assert_true(found->accounts[0].job.would_held_ns >= after.would_held_ns);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles_are_at_most_a_sixteenth_above),
		cmocka_unit_test(requests_are_matched_with_their_begins),
		cmocka_unit_test(a_job_that_ended_keeps_its_totals),
		cmocka_unit_test(announced_requests_replace_bursts),
		cmocka_unit_test(one_under_way_counts_with_its_time_so_far),
		cmocka_unit_test(the_age_of_many_open_requests_is_known_at_least),
		cmocka_unit_test(one_that_is_not_longer_than_usual_does_not_count_yet),
		cmocka_unit_test(waiting_is_counted_once_and_not_from_the_start_of_the_backlog),
		cmocka_unit_test(idle_jobs_have_no_backlog),
		cmocka_unit_test(observed_and_real_holds_are_not_added),
		cmocka_unit_test(a_hold_ends_where_observing_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
