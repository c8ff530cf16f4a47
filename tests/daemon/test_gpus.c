// SPDX-License-Identifier: MIT
/* GPUs that fail while jobs are held on them: what was stopped runs again, and the log says why. */
#include "rig.h"

enum { SECOND_GPU = 0x77 };

static const struct gp_daemon_client *client_of(struct rig *rig, const struct agent *agent)
{
	return gp_daemon_host_client(rig->daemon, (u32)agent->pid);
}

static bool is_said(struct rig *rig, const char *text)
{
	return strstr(gp_buf_str(&rig->said.text), text) != NULL;
}

/* Its queues leave the driver's list, as when the driver has removed the GPU from sysfs. */
static void a_gpu_that_disappears_while_a_job_is_held_on_it(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);

	(void)state;
	work(rig, low, true);
	work(rig, high, true);
	assert_true(fake_held(low->pid));
	rig_listed = 0;
	rig_until(rig, !fake_held(low->pid));
	/* A job that affects no other is not looked at. */
	assert_true(!client_of(rig, low)->queue_count || !client_of(rig, high)->queue_count);
	assert_false(job_of(rig, low)->wanted_held);
	rig_until(rig, is_said(rig, "the driver does not list them"));
	/* Nothing is asked of a GPU that is not there. */
	int before = fake.suspends;
	work(rig, high, false);
	work(rig, high, true);
	assert_int_equal(fake.suspends, before);
	rig_listed = 1;
	rig_free(rig);
}

/* The server's GPU is gone, not the trainer's: the trainer does not wait for work that cannot end.
 */
static void a_job_does_not_wait_for_one_whose_gpu_disappeared(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);

	(void)state;
	work(rig, low, true);
	work(rig, high, true);
	assert_true(fake_held(low->pid));
	rig_listed_except = high->pid;
	rig_until(rig, !fake_held(low->pid));
	assert_int_equal(client_of(rig, low)->queue_count, 1);
	rig_listed_except = 0;
	rig_free(rig);
}

/* More jobs than the GPU runs processes at once take turns as soon as one is preempted. */
static void jobs_beyond_the_places_of_a_gpu_take_turns(void **state)
{
	struct rig *rig = rig_new(ACT);
	u32 device = gp_daemon_host_device(rig->daemon, GPU);
	struct agent *low[3], *high = agent_known(rig, 1, 2000);

	(void)state;
	rig->daemon->devices[device].places = 2;
	gp_daemon_host_configure(rig->daemon);
	for (int i = 0; i < 3; i++) {
		low[i] = agent_known(rig, 2, 500);
		work(rig, low[i], true);
	}
	work(rig, high, true);
	for (int i = 0; i < 3; i++)
		assert_true(fake_held(low[i]->pid));
	work(rig, high, false);
	rig_until(rig,
		  fake_held(low[0]->pid) + fake_held(low[1]->pid) + fake_held(low[2]->pid) == 2);
	rig_free(rig);
}

/* Idle programs leave a GPU that has fewer VMIDs than there are programs, and come back with their
 * work. Only those whose agent can do it. */
static void idle_programs_beyond_the_places_of_a_gpu_are_parked(void **state)
{
	struct rig *rig = rig_new(ACT);
	u32 device = gp_daemon_host_device(rig->daemon, GPU);
	struct agent *old = agent_known(rig, 1, 2000), *idle = agent_can_park(rig, 1, 2000);
	struct agent *batch = agent_can_park(rig, 2, 500);
	struct gp_proto_msg_job view;

	(void)state;
	rig->daemon->devices[device].places = 2;
	gp_daemon_host_configure(rig->daemon);
	for (int i = 0; i < 2; i++) {
		work(rig, i ? idle : old, true);
		work(rig, i ? idle : old, false);
	}
	work(rig, batch, true);
	rig_until(rig, fake_held(idle->pid));
	assert_int_equal(fake_target(idle->pid)->flags, GPREEMPT_SUSPEND_OFF);
	assert_int_equal(fake_target(idle->pid)->limit_ms, GPREEMPT_LIMIT_MAX_MS);
	assert_false(fake_held(old->pid));
	/* It waits for nothing. */
	gp_daemon_report_job_view(rig->daemon, job_of(rig, idle), &view);
	assert_true(view.held_since == GP_DAEMON_NEVER && !view.suspends && !view.held_ns);
	work(rig, idle, true);
	assert_false(fake_held(idle->pid));
	/* Nor may the batch job keep a VMID. */
	rig_until(rig, fake_held(batch->pid));
	assert_int_equal(fake_target(batch->pid)->flags, GPREEMPT_SUSPEND_OFF);
	rig_free(rig);
}

/* Ranks on two GPUs, of which one does not stop. */
static void a_job_on_two_gpus_of_which_one_does_not_stop_runs(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *a = agent_new(rig, 2, 500), *b = agent_new(rig, 2, 500), *high;
	u32 failed;

	(void)state;
	strcpy(a->hello.group, "ranks");
	strcpy(b->hello.group, "ranks");
	b->gpu_id = SECOND_GPU;
	agent_await(rig, a);
	agent_await(rig, b);
	high = agent_known(rig, 1, 2000);
	assert_ptr_equal(job_of(rig, a), job_of(rig, b));
	assert_int_equal(client_of(rig, b)->queues[0].gpu_id, SECOND_GPU);
	work(rig, a, true);
	work(rig, b, true);
	fake.wait = true;
	fake_target(b->pid)->refuses = -ENODEV;
	work(rig, high, true);
	assert_int_equal(fake.suspends, 2);
	fake_finish(1);
	assert_true(fake_held(a->pid));
	fake.wait = false;
	rig_until(rig, lines(rig, a, GP_DECISION_NOTE, GP_SCHED_WHY_FAILED) == 1);
	/* The rank that had stopped runs again, and its lease is not renewed. */
	rig_until(rig, !fake_held(a->pid) && !fake_held(b->pid));
	assert_false(client_of(rig, a)->held || client_of(rig, b)->held);
	failed = (u32)rig->daemon->stats.failures;
	assert_true(failed > 0);
	assert_int_equal(fake.broken_rules, 0);
	/* With both GPUs well it is held whole, when it is tried again. */
	fake_target(b->pid)->refuses = 0;
	rig_until(rig, fake_held(a->pid) && fake_held(b->pid));
	assert_int_equal(rig->daemon->stats.failures, failed);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gpu_that_disappears_while_a_job_is_held_on_it),
		cmocka_unit_test(a_job_does_not_wait_for_one_whose_gpu_disappeared),
		cmocka_unit_test(jobs_beyond_the_places_of_a_gpu_take_turns),
		cmocka_unit_test(idle_programs_beyond_the_places_of_a_gpu_are_parked),
		cmocka_unit_test(a_job_on_two_gpus_of_which_one_does_not_stop_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
