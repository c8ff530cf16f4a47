// SPDX-License-Identifier: MIT
/* Acting: what the core decides is done through the library, in order, and leases are kept right.
 */
#include "rig.h"

static void higher_work_suspends_lower_and_lets_it_go_when_drained(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);

	(void)state;
	work(rig, low, true);
	assert_int_equal(fake.suspends, 0);
	work(rig, high, true);
	assert_true(fake_held(low->pid));
	assert_false(fake_held(high->pid));
	work(rig, high, false);
	assert_false(fake_held(low->pid));
	assert_int_equal(fake.suspends, 1);
	assert_int_equal(fake.resumes, 1);
	assert_int_equal(lines(rig, low, GP_DECISION_SUSPEND, GP_SCHED_WHY_INVERSION), 1);
	assert_int_equal(lines(rig, low, GP_DECISION_RESUME, GP_SCHED_WHY_CLEAR), 1);
	assert_int_equal(lines(rig, low, GP_DECISION_DONE, GP_SCHED_WHYS), 2);
	for (u64 id = gp_daemon_record_first(&rig->daemon->record); id < rig->daemon->record.next;
	     id++) {
		const struct gp_proto_msg_decision *line =
			gp_daemon_record_at(&rig->daemon->record, id);

		if (line->job_pid == (u32)low->pid)
			assert_int_equal(line->job_priority, 500); /* known of every line */
	}
	assert_int_equal(rig->daemon->stats.preemptions, 1);
	assert_int_equal(rig->daemon->stats.suspend.max_ns, 20000);
	rig_free(rig);
}

static void an_operation_that_takes_long_holds_nothing_up(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);

	(void)state;
	fake.wait = true;
	work(rig, low, true);
	work(rig, high, true);
	assert_int_equal(fake.suspends, 1);
	/* The reason ends while the stop is under way. */
	work(rig, high, false);
	assert_false(gp_daemon_host_client(rig->daemon, (u32)low->pid)->held);
	fake_finish(1);
	rig_run(rig);
	fake_finish(1);
	rig_run(rig);
	assert_false(fake_held(low->pid));
	assert_false(gp_daemon_host_client(rig->daemon, (u32)low->pid)->held);
	assert_int_equal(fake.resumes, 1);
	assert_true(gp_list_empty(&rig->daemon->operations));
	rig_free(rig);
}

static void a_job_of_two_processes_is_stopped_whole(void **state)
{
	struct rig *rig = rig_new(ACT "[rule all]\nexecutable = *\ngroup = ranks\n"
				      "priority = 700\n");
	struct agent *a = agent_known(rig, 2, 500), *b = agent_known(rig, 2, 500);
	struct gp_daemon_job *job = job_of(rig, a);

	(void)state;
	assert_ptr_equal(job, job_of(rig, b));
	assert_string_equal(job->rule, "all");
	assert_int_equal(job->spec.priority, 700);
	fake.wait = true;
	work(rig, a, true);
	job->asked_pin = GP_SCHED_PIN_HOLD;
	gp_daemon_host_respec(rig->daemon, job);
	assert_int_equal(fake.suspends, 2);
	assert_int_equal(lines(rig, a, GP_DECISION_DONE, GP_SCHED_WHYS), 0);
	fake_finish(1);
	rig_run(rig);
	assert_true(fake_held(a->pid) && fake_held(b->pid));
	assert_int_equal(lines(rig, a, GP_DECISION_DONE, GP_SCHED_WHYS), 1);
	/* One of its processes ends: the other is still held. */
	fake.wait = false;
	agent_end(a);
	rig_until(rig, !gp_daemon_host_client(rig->daemon, (u32)a->pid));
	rig_free(rig);
}

static void a_stop_that_fails_is_answered_and_recorded(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);

	(void)state;
	fake.suspend_error = -EIO;
	work(rig, low, true);
	work(rig, high, true);
	assert_false(fake_held(low->pid));
	assert_int_equal(lines(rig, low, GP_DECISION_NOTE, GP_SCHED_WHY_FAILED), 1);
	assert_true(rig->daemon->stats.failures > 0);
	/* Left alone for a while, then tried again. */
	fake.suspend_error = 0;
	rig_until(rig, fake_held(low->pid));
	rig_free(rig);
}

static void a_stop_that_is_not_answered_in_time_has_failed(void **state)
{
	struct rig *rig = rig_new("[daemon]\nmode = act\nlease = 60s\nmax_suspend = 600s\n"
				  "operation_timeout = 1ms\n" PROMPT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	struct gp_proto_msg_stats stats;
	struct gp_proto_msg_job job;

	(void)state;
	fake.wait = true;
	work(rig, low, true);
	work(rig, high, true);
	rig_until(rig, lines(rig, low, GP_DECISION_NOTE, GP_SCHED_WHY_TIMEOUT) > 0);
	gp_daemon_report_stats(rig->daemon, &stats);
	gp_daemon_report_job_view(rig->daemon, job_of(rig, low), &job);
	assert_true(stats.failures > 0);
	assert_int_equal(stats.failures, job.failures);
	/* It ends late and with an error: that is the same failure. */
	fake_finish(-EIO);
	rig_run(rig);
	gp_daemon_report_stats(rig->daemon, &stats);
	gp_daemon_report_job_view(rig->daemon, job_of(rig, low), &job);
	assert_int_equal(stats.failures, job.failures);
	rig_free(rig);
}

static void leases_are_renewed_while_held_and_never_after(void **state)
{
	struct rig *rig = rig_new("[daemon]\nmode = act\nlease = 50ms\nmax_suspend = 600s\n"
				  "operation_timeout = 60s\n" PROMPT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	int renewals;

	(void)state;
	work(rig, low, true);
	work(rig, high, true);
	rig_until(rig, fake.renewals >= 3);
	assert_true(fake_held(low->pid));
	/* The resume does not end: no renewal may come in between (the fake counts those). */
	fake.wait = true;
	work(rig, high, false);
	renewals = fake.renewals;
	gp_daemon_act_renew(rig->daemon);
	assert_int_equal(fake.renewals, renewals);
	fake_finish(1);
	rig_run(rig);
	gp_daemon_act_renew(rig->daemon);
	assert_int_equal(fake.renewals, renewals);
	/* Nor before the next stop is confirmed. */
	work(rig, high, true);
	rig_until(rig, fake.suspends == 2); /* first it runs for what the operations took */
	gp_daemon_act_renew(rig->daemon);
	assert_int_equal(fake.renewals, renewals);
	rig_free(rig);
}

static void a_suspension_that_is_not_confirmed_is_not_renewed(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);

	(void)state;
	fake.wait = true;
	work(rig, low, true);
	work(rig, high, true);
	gp_daemon_act_renew(rig->daemon);
	assert_int_equal(fake.renewals, 0);
	fake_finish(1);
	rig_run(rig);
	gp_daemon_act_renew(rig->daemon);
	assert_int_equal(fake.renewals, 1);
	rig_free(rig);
}

static void a_lost_lease_is_told_to_the_core(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);

	(void)state;
	work(rig, low, true);
	work(rig, high, true);
	fake_tell(GPREEMPT_EVENT_LEASE_LOST, low->pid, 0);
	rig_run(rig);
	assert_int_equal(lines(rig, low, GP_DECISION_NOTE, GP_SCHED_WHY_LEASE_LOST), 1);
	assert_int_equal(rig->daemon->stats.leases_lost, 1);
	/* And so is one that a renewal finds. */
	rig_until(rig,
		  fake_held(low->pid) && gp_daemon_host_client(rig->daemon, (u32)low->pid)->held);
	fake.renew_error = -ENOLCK;
	gp_daemon_act_renew(rig->daemon);
	gp_daemon_host_settle(rig->daemon);
	assert_int_equal(rig->daemon->stats.leases_lost, 2);
	rig_free(rig);
}

/* SIGSTOP of the daemon: nothing is handled, and the holder lets go of what is not renewed. */
static void time_without_a_lease_is_not_held(void **state)
{
	struct rig *rig = rig_new("[daemon]\nmode = act\nlease = 200ms\nmax_suspend = 300ms\n"
				  "operation_timeout = 60s\n" PROMPT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	struct gp_proto_msg_job before, after;
	struct gp_proto_msg_stats stats;

	(void)state;
	work(rig, low, true);
	work(rig, high, true);
	gp_daemon_act_renew(rig->daemon);
	assert_true(gp_daemon_host_client(rig->daemon, (u32)low->pid)->held);
	gp_daemon_report_job_view(rig->daemon, job_of(rig, low), &before);
	fake_lose(low->pid);
	usleep(2000000);
	/* The server's work ends before anything is handled, so that nothing is held again. */
	agent_edge(high, QUEUE, false);
	rig_until(rig, lines(rig, low, GP_DECISION_NOTE, GP_SCHED_WHY_LEASE_LOST));
	rig_until(rig, !fake_held(low->pid));
	gp_daemon_report_job_view(rig->daemon, job_of(rig, low), &after);
	/* A machine that stood still can only have made the pause longer, not the hold. */
	assert_in_range(after.held_ns - before.held_ns, 0, 1000 * GP_NS_PER_MS);
	assert_in_range(after.longest_ns - before.longest_ns, 0, 1000 * GP_NS_PER_MS);
	assert_true(after.ran_ns - before.ran_ns > 1000 * GP_NS_PER_MS);
	gp_daemon_report_stats(rig->daemon, &stats);
	assert_in_range(stats.suspended_ns[2], 0, 1500 * GP_NS_PER_MS);
	rig_free(rig);
}

static void a_job_that_lost_one_lease_runs_whole(void **state)
{
	struct rig *rig = rig_new(ACT "[rule low]\nexecutable = *\nclass = offline\n"
				      "group = ranks\n");
	struct agent *a = agent_known(rig, 2, 500), *b = agent_known(rig, 2, 500);
	struct gp_daemon_job *job = job_of(rig, a);
	struct gp_proto_msg_stats first, second;

	(void)state;
	assert_ptr_equal(job, job_of(rig, b));
	work(rig, a, true);
	job->asked_pin = GP_SCHED_PIN_HOLD;
	gp_daemon_host_respec(rig->daemon, job);
	rig_until(rig, fake_held(a->pid) && fake_held(b->pid));
	fake_tell(GPREEMPT_EVENT_LEASE_LOST, a->pid, 0);
	rig_until(rig, !fake_held(b->pid));
	assert_false(job->wanted_held);
	/* And it is not counted as held any more. */
	gp_daemon_report_stats(rig->daemon, &first);
	gp_daemon_report_stats(rig->daemon, &second);
	assert_int_equal(first.suspended_ns[2], second.suspended_ns[2]);
	rig_free(rig);
}

static void a_broken_device_is_left_alone_until_it_heals(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);

	(void)state;
	fake_tell(GPREEMPT_EVENT_BREAKER, low->pid, 1);
	rig_run(rig);
	work(rig, low, true);
	work(rig, high, true);
	assert_int_equal(fake.suspends, 0);
	fake_tell(GPREEMPT_EVENT_BREAKER, low->pid, 0);
	rig_run(rig);
	assert_true(fake_held(low->pid));
	rig_free(rig);
}

static bool device_is_broken(const struct rig *rig)
{
	return rig->daemon->devices[0].broken;
}

/* One that ends takes back only its own word. */
static void a_device_is_broken_as_long_as_anybody_says_so(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);

	(void)state;
	fake_tell(GPREEMPT_EVENT_BREAKER, low->pid, 1);
	fake_tell(GPREEMPT_EVENT_BREAKER, high->pid, 1);
	rig_until(rig, gp_daemon_host_client(rig->daemon, (u32)high->pid)->broken);
	assert_true(device_is_broken(rig));
	agent_end(high);
	rig_until(rig, !gp_daemon_host_client(rig->daemon, (u32)high->pid));
	assert_true(device_is_broken(rig));
	fake_tell(GPREEMPT_EVENT_BREAKER, low->pid, 0);
	rig_until(rig, !gp_daemon_host_client(rig->daemon, (u32)low->pid)->broken);
	assert_false(device_is_broken(rig));
	rig_free(rig);
}

static void what_cannot_be_controlled_is_not_scheduled_around(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low, *high;

	(void)state;
	fake.target_error = -EOPNOTSUPP;
	low = agent_known(rig, 2, 500);
	fake.target_error = 0;
	high = agent_known(rig, 1, 2000);
	assert_int_equal(job_of(rig, low)->pin, GP_SCHED_PIN_RUN);
	work(rig, low, true);
	work(rig, high, true);
	assert_int_equal(fake.suspends, 0);
	/* When its queues change it is tried again. */
	low->queues = 2;
	agent_say(low, GP_MSG_AGENT_CHANGED, NULL, 0);
	rig_run(rig);
	assert_int_equal(job_of(rig, low)->pin, GP_SCHED_PIN_NONE);
	assert_true(fake_held(low->pid));
	rig_free(rig);
}

/* Its opening is not waited for. */
static void what_turns_out_not_to_be_controlled_is_not_scheduled_around(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low, *high;

	(void)state;
	fake.late_error = -EOPNOTSUPP;
	low = agent_known(rig, 2, 500);
	rig_until(rig, job_of(rig, low)->pin == GP_SCHED_PIN_RUN);
	assert_null(fake_target(low->pid));
	fake.late_error = -ECONNRESET; /* the holder was replaced: the next call opens it again */
	high = agent_known(rig, 1, 2000);
	rig_run(rig);
	assert_non_null(fake_target(high->pid));
	fake.late_error = 0;
	low->queues = 2;
	agent_say(low, GP_MSG_AGENT_CHANGED, NULL, 0);
	rig_until(rig, job_of(rig, low)->pin == GP_SCHED_PIN_NONE);
	work(rig, low, true);
	work(rig, high, true);
	rig_until(rig, fake_held(low->pid));
	rig_free(rig);
}

static void a_hint_makes_room_before_the_work_comes(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	struct gp_proto_msg_request request = {.now_ns = gp_monotonic_ns(), .begin = 1, .open = 1};

	(void)state;
	work(rig, low, true);
	agent_say(high, GP_MSG_AGENT_REQUEST, &request, sizeof(request));
	rig_run(rig);
	assert_int_equal(lines(rig, low, GP_DECISION_SUSPEND, GP_SCHED_WHY_HINT), 1);
	rig_free(rig);
}

static void observing_records_and_does_nothing(void **state)
{
	struct rig *rig = rig_new("[daemon]\nmode = observe\n" PROMPT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	struct gp_proto_msg_stats stats;

	(void)state;
	work(rig, low, true);
	work(rig, high, true);
	work(rig, high, false);
	assert_int_equal(lines(rig, low, GP_DECISION_SUSPEND, GP_SCHED_WHY_INVERSION), 1);
	assert_int_equal(lines(rig, low, GP_DECISION_RESUME, GP_SCHED_WHYS), 1);
	assert_int_equal(fake.opens + fake.suspends + fake.resumes, 0);
	assert_false(fake.open);
	gp_daemon_report_stats(rig->daemon, &stats);
	assert_int_equal(stats.preemptions, 0);
	assert_int_equal(stats.would_preemptions, 1);
	assert_int_equal(stats.operations + stats.failures, 0);
	assert_true(stats.beside_ns > 0);
	rig_free(rig);
}

static void observing_learns_no_cost(void **state)
{
	struct rig *rig = rig_new("[daemon]\nmode = observe\n[device *]\nmin_run = 0\n"
				  "turn = 1us\nlinger = 0\nunknown = 10s\nage_step = 0\n"
				  "suspend_cost = 3ms\nresume_cost = 2ms\n");
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	struct gp_proto_msg_device device;
	struct gp_proto_msg_job job;

	(void)state;
	work(rig, low, true);
	work(rig, high, true);
	work(rig, high, false);
	assert_int_equal(lines(rig, low, GP_DECISION_RESUME, GP_SCHED_WHYS), 1);
	gp_daemon_report_device_view(rig->daemon, 0, &device);
	assert_int_equal(device.suspend_ns, 3000000);
	assert_int_equal(device.resume_ns, 2000000);
	gp_daemon_report_job_view(rig->daemon, job_of(rig, low), &job);
	assert_int_equal(job.suspend_ns, 3000000);
	assert_int_equal(job.resume_ns, 2000000);
	rig_free(rig);
}

/* The rest changes the configuration while work is held. */
static void going_back_to_observing_lets_go(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);

	(void)state;
	work(rig, low, true);
	work(rig, high, true);
	assert_true(fake_held(low->pid));
	reload_as(rig, "[daemon]\nmode = observe\n");
	assert_false(fake.open);
	/* And acting again really holds it. */
	reload_as(rig, ACT);
	rig_until(rig, fake_held(low->pid));
	rig_free(rig);
}

static void a_rule_that_is_new_counts_for_those_that_are_there(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);

	(void)state;
	work(rig, low, true);
	work(rig, high, true);
	assert_true(fake_held(low->pid));
	reload_as(rig, ACT "[rule even]\nexecutable = *\nclass = normal\n");
	assert_int_equal(job_of(rig, low)->spec.priority, job_of(rig, high)->spec.priority);
	assert_false(fake_held(low->pid));
	reload_as(rig, ACT "[device 4711]\npolicy = off\n");
	assert_false(fake_held(low->pid));
	rig_free(rig);
}

static void a_file_with_a_mistake_changes_nothing(void **state)
{
	struct rig *rig = rig_new(ACT);
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/conf", rig->directory);
	assert_int_equal(gp_file_write_atomic(path, "[daemon]\nmode = ?\n", 18), 0);
	rig->daemon->config_path = path;
	assert_int_equal(gp_daemon_reload(rig->daemon), -EINVAL);
	assert_int_equal(rig->daemon->config.mode, GP_MODE_ACT);
	rig_free(rig);
}

/* Alone, it is never stopped and started: no decision tells of it. */
static void the_time_of_one_that_runs_alone_goes_on(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *one = agent_known(rig, 0, 1000);
	struct gp_proto_msg_job first, later;

	(void)state;
	work(rig, one, true);
	gp_daemon_report_job_view(rig->daemon, job_of(rig, one), &first);
	for (u64 start = gp_monotonic_ns(); gp_monotonic_ns() < start + GP_NS_PER_MS;)
		;
	gp_daemon_report_job_view(rig->daemon, job_of(rig, one), &later);
	assert_true(later.ran_ns >= first.ran_ns + GP_NS_PER_MS);
	work(rig, one, false);
	gp_daemon_report_job_view(rig->daemon, job_of(rig, one), &first);
	assert_true(first.ran_ns >= later.ran_ns);
	gp_daemon_report_job_view(rig->daemon, job_of(rig, one), &later);
	assert_int_equal(first.ran_ns, later.ran_ns);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_time_of_one_that_runs_alone_goes_on),
		cmocka_unit_test(higher_work_suspends_lower_and_lets_it_go_when_drained),
		cmocka_unit_test(an_operation_that_takes_long_holds_nothing_up),
		cmocka_unit_test(a_job_of_two_processes_is_stopped_whole),
		cmocka_unit_test(a_stop_that_fails_is_answered_and_recorded),
		cmocka_unit_test(a_stop_that_is_not_answered_in_time_has_failed),
		cmocka_unit_test(leases_are_renewed_while_held_and_never_after),
		cmocka_unit_test(a_suspension_that_is_not_confirmed_is_not_renewed),
		cmocka_unit_test(a_lost_lease_is_told_to_the_core),
		cmocka_unit_test(time_without_a_lease_is_not_held),
		cmocka_unit_test(a_job_that_lost_one_lease_runs_whole),
		cmocka_unit_test(a_broken_device_is_left_alone_until_it_heals),
		cmocka_unit_test(a_device_is_broken_as_long_as_anybody_says_so),
		cmocka_unit_test(what_cannot_be_controlled_is_not_scheduled_around),
		cmocka_unit_test(what_turns_out_not_to_be_controlled_is_not_scheduled_around),
		cmocka_unit_test(a_hint_makes_room_before_the_work_comes),
		cmocka_unit_test(observing_records_and_does_nothing),
		cmocka_unit_test(observing_learns_no_cost),
		cmocka_unit_test(going_back_to_observing_lets_go),
		cmocka_unit_test(a_rule_that_is_new_counts_for_those_that_are_there),
		cmocka_unit_test(a_file_with_a_mistake_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
