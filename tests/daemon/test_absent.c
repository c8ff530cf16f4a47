// SPDX-License-Identifier: MIT
/* Processes that the host has stopped, and jobs that another process has suspended: no claim, no
 * question, no error, and everything as before when they return. */
#include "rig.h"

#include <fcntl.h>

static struct gp_proto_msg_job view(struct rig *rig, const struct agent *agent)
{
	struct gp_proto_msg_job job;

	gp_daemon_report_job_view(rig->daemon, job_of(rig, agent), &job);
	return job;
}

static void stop(const struct agent *agent, bool stopped)
{
	kill(agent->pid, stopped ? SIGSTOP : SIGCONT);
}

/* Time goes by: the daemon looks at least this often at processes that are stopped. */
static void pass(struct rig *rig, int looks)
{
	for (int i = 0; i < looks; i++) {
		u64 start = gp_monotonic_ns();

		while (gp_monotonic_ns() - start < 110 * GP_NS_PER_MS) {
			rig_run(rig);
			gp_loop_step(&rig->daemon->loop, 10);
		}
	}
}

static u32 errors(struct rig *rig, const struct agent *agent)
{
	return lines(rig, agent, GP_DECISION_NOTE, GP_SCHED_WHY_FAILED) +
	       lines(rig, agent, GP_DECISION_NOTE, GP_SCHED_WHY_TIMEOUT) +
	       (u32)rig->daemon->stats.failures;
}

static void a_stopped_server_holds_no_job(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);

	(void)state;
	work(rig, low, true);
	work(rig, high, true);
	assert_true(fake_held(low->pid));
	stop(high, true);
	rig_until(rig, !fake_held(low->pid));
	assert_int_equal(view(rig, high).away, GP_AWAY_STOPPED);
	pass(rig, 3);
	assert_false(fake_held(low->pid));
	assert_int_equal(lines(rig, high, GP_DECISION_NOTE, GP_SCHED_WHY_ABSENT), 1);
	stop(high, false);
	rig_until(rig, fake_held(low->pid));
	assert_int_equal(lines(rig, high, GP_DECISION_NOTE, GP_SCHED_WHY_PRESENT), 1);
	assert_int_equal(view(rig, high).away, GP_AWAY_NOT);
	assert_int_equal(errors(rig, high) + errors(rig, low), 0);
	rig_free(rig);
}

/* It never ran again: its end is the only line. The end is seen at once, or late, after looks at a
 * process that is a zombie by then. */
static void a_stopped_job_that_is_killed_does_not_return(void **state)
{
	(void)state;
	for (int late = 0; late < 2; late++) {
		struct rig *rig = rig_new(ACT);
		struct agent *high = agent_known(rig, 1, 2000);
		struct gp_daemon_client *client =
			gp_daemon_host_client(rig->daemon, (u32)high->pid);
		siginfo_t info;

		work(rig, high, true);
		stop(high, true);
		rig_until(rig, view(rig, high).away == GP_AWAY_STOPPED);
		kill(high->pid, SIGKILL);
		assert_int_equal(waitid(P_PID, (id_t)high->pid, &info, WEXITED | WNOWAIT), 0);
		if (late)
			gp_daemon_absent_work(client);
		gp_daemon_host_settle(rig->daemon);
		struct agent was = *high;
		agent_end(high);
		rig_until(rig, lines(rig, &was, GP_DECISION_WENT, GP_SCHED_WHYS));
		assert_int_equal(lines(rig, &was, GP_DECISION_NOTE, GP_SCHED_WHY_ABSENT), 1);
		assert_int_equal(lines(rig, &was, GP_DECISION_NOTE, GP_SCHED_WHY_PRESENT), 0);
		rig_free(rig);
	}
}

static void nothing_is_asked_of_a_stopped_trainer(void **state)
{
	struct rig *rig = rig_new("[daemon]\nmode = act\nlease = 60s\nmax_suspend = 600s\n"
				  "operation_timeout = 10s\n" PROMPT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);

	(void)state;
	work(rig, low, true);
	stop(low, true);
	fake.wait = true; /* it does not answer */
	work(rig, high, true);
	rig_until(rig, view(rig, low).away == GP_AWAY_STOPPED);
	assert_true(gp_list_empty(&rig->daemon->operations));
	work(rig, high, false);
	work(rig, high, true);
	pass(rig, 3);
	assert_true(fake.suspends <= 1);
	assert_int_equal(lines(rig, low, GP_DECISION_NOTE, GP_SCHED_WHY_ABSENT), 1);
	assert_int_equal(errors(rig, low), 0);
	assert_int_equal(lines(rig, low, GP_DECISION_DONE, GP_SCHED_WHYS), 0);
	/* What it was asked before takes effect when it goes on, and then it is held as usual. */
	int asked = fake.suspends;
	fake_finish(1);
	fake.wait = false;
	stop(low, false);
	rig_until(rig, fake.suspends == asked + 1 && fake_held(low->pid));
	work(rig, high, false);
	assert_false(fake_held(low->pid));
	assert_int_equal(errors(rig, low), 0);
	rig_free(rig);
}

static void an_error_of_a_stopped_process_is_none(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);

	(void)state;
	fake.suspend_error = -ETIMEDOUT;
	work(rig, low, true);
	stop(low, true);
	waitpid(low->pid, NULL, WUNTRACED);
	work(rig, high, true);
	rig_until(rig, view(rig, low).away == GP_AWAY_STOPPED);
	assert_int_equal(errors(rig, low), 0);
	stop(low, false);
	fake.suspend_error = 0;
	rig_until(rig, fake_held(low->pid));
	rig_free(rig);
}

#define RANKS ACT "[rule all]\nexecutable = *\ngroup = ranks\npriority = 700\n"

static void one_stopped_rank_takes_no_claim_of_the_others(void **state)
{
	struct rig *rig = rig_new(RANKS);
	struct agent *a = agent_known(rig, 2, 500), *b = agent_known(rig, 2, 500);
	struct gp_daemon_job *job = job_of(rig, a);

	(void)state;
	assert_ptr_equal(job, job_of(rig, b));
	work(rig, a, true);
	work(rig, b, true);
	stop(a, true);
	rig_until(rig, rig->daemon->away_count == 1);
	assert_int_equal(view(rig, b).away, GP_AWAY_NOT);
	/* The job is held: the rank that is stopped is not asked, and follows when it goes on. */
	job->asked_pin = GP_SCHED_PIN_HOLD;
	gp_daemon_host_respec(rig->daemon, job);
	rig_run(rig);
	assert_true(fake_held(b->pid) && !fake_held(a->pid));
	assert_int_equal(fake.suspends, 1);
	stop(a, false);
	rig_until(rig, fake_held(a->pid));
	assert_int_equal(rig->daemon->away_count, 0);
	job->asked_pin = GP_SCHED_PIN_NONE;
	gp_daemon_host_respec(rig->daemon, job);
	rig_run(rig);
	assert_false(fake_held(a->pid) || fake_held(b->pid));
	/* Without work of the others it is the stopped one that decides. */
	stop(a, true);
	rig_until(rig, rig->daemon->away_count == 1);
	work(rig, b, false);
	assert_int_equal(view(rig, b).away, GP_AWAY_STOPPED);
	work(rig, b, true);
	assert_int_equal(view(rig, b).away, GP_AWAY_NOT);
	stop(a, false);
	rig_until(rig, !rig->daemon->away_count);
	rig_free(rig);
}

static void a_job_suspended_by_hand_has_no_claim_and_is_held(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	struct gp_proto_msg_job before, after;

	(void)state;
	work(rig, low, true);
	work(rig, high, true);
	assert_true(fake_held(low->pid));
	fake_tell(GPREEMPT_EVENT_HELD_ELSEWHERE, high->pid, 4242);
	rig_run(rig);
	assert_false(fake_held(low->pid));
	before = view(rig, high);
	assert_int_equal(before.away, GP_AWAY_HAND);
	assert_int_equal(before.away_by, 4242);
	pass(rig, 1);
	after = view(rig, high);
	assert_int_equal(after.ran_ns, before.ran_ns);
	assert_true(after.held_ns >= before.held_ns + 100 * GP_NS_PER_MS);
	assert_true(view(rig, low).ran_ns > 0);
	/* It ends, and what it was held for stays counted. */
	fake_tell(GPREEMPT_EVENT_HELD_ELSEWHERE, high->pid, 0);
	rig_run(rig);
	assert_true(fake_held(low->pid));
	assert_int_equal(view(rig, high).away, GP_AWAY_NOT);
	assert_true(view(rig, high).held_ns >= after.held_ns);
	assert_int_equal(lines(rig, high, GP_DECISION_NOTE, GP_SCHED_WHY_ABSENT), 1);
	assert_int_equal(lines(rig, high, GP_DECISION_NOTE, GP_SCHED_WHY_PRESENT), 1);
	/* A held job that is suspended by hand as well is not held by the daemon any more. */
	fake_tell(GPREEMPT_EVENT_HELD_ELSEWHERE, low->pid, -1);
	rig_run(rig);
	assert_false(fake_held(low->pid));
	assert_int_equal(view(rig, low).away_by, 0);
	assert_int_equal(view(rig, low).away, GP_AWAY_HAND);
	rig_free(rig);
}

static void nothing_is_looked_at_without_a_claim(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500);

	(void)state;
	assert_false(gp_timer_armed(&rig->daemon->absent_timer));
	work(rig, low, true);
	assert_true(gp_timer_armed(&rig->daemon->absent_timer));
	work(rig, low, false);
	rig_until(rig, !gp_timer_armed(&rig->daemon->absent_timer));
	pass(rig, 1);
	assert_false(gp_timer_armed(&rig->daemon->absent_timer));
	rig_free(rig);
}

static bool put(const char *directory, const char *file, const char *text)
{
	char path[256];
	int fd;
	bool written;

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	fd = open(path, O_WRONLY);
	written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return written;
}

/* Skipped where this user may not make a control group. */
static void a_frozen_group_is_notified(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_new(rig, 2, 500), *high = agent_new(rig, 1, 2000);
	char directory[200], pid[16];

	(void)state;
	snprintf(directory, sizeof(directory), "%s/gpreempt-absent-%d", rig->daemon->freezers.v2,
		 (int)getpid());
	snprintf(pid, sizeof(pid), "%d", (int)high->pid);
	if (!*rig->daemon->freezers.v2 || mkdir(directory, 0755) < 0 ||
	    !put(directory, "cgroup.procs", pid)) {
		rmdir(directory);
		rig_free(rig);
		skip();
	}
	agent_await(rig, low);
	agent_await(rig, high);
	work(rig, low, true);
	work(rig, high, true);
	assert_true(fake_held(low->pid));
	/* Only the kernel's notice is left. */
	rig->daemon->absent_poll_ns = gp_monotonic_ns() + 3600 * GP_NS_PER_S;
	gp_timer_set(&rig->daemon->loop, &rig->daemon->absent_timer, rig->daemon->absent_poll_ns);
	assert_true(put(directory, "cgroup.freeze", "1"));
	rig_until(rig, view(rig, high).away == GP_AWAY_FROZEN);
	assert_false(fake_held(low->pid));
	assert_true(put(directory, "cgroup.freeze", "0"));
	rig_until(rig, fake_held(low->pid));
	assert_int_equal(lines(rig, high, GP_DECISION_NOTE, GP_SCHED_WHY_ABSENT), 1);
	rig_free(rig);
	for (int i = 0; i < 100 && rmdir(directory) < 0; i++)
		usleep(10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stopped_server_holds_no_job),
		cmocka_unit_test(a_stopped_job_that_is_killed_does_not_return),
		cmocka_unit_test(nothing_is_asked_of_a_stopped_trainer),
		cmocka_unit_test(an_error_of_a_stopped_process_is_none),
		cmocka_unit_test(one_stopped_rank_takes_no_claim_of_the_others),
		cmocka_unit_test(a_job_suspended_by_hand_has_no_claim_and_is_held),
		cmocka_unit_test(nothing_is_looked_at_without_a_claim),
		cmocka_unit_test(a_frozen_group_is_notified),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
