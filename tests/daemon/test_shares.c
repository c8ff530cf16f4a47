// SPDX-License-Identifier: MIT
/* Shares: sent without waiting, one at a time, again where it helps, and lifted at the end. */
#include "rig.h"

/* A program that does not answer would hold this thread up, and with it every lease. */
static void a_share_is_not_waited_for(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);

	(void)state;
	gp_daemon_act_share(rig->daemon, job_of(rig, low), 0, 1);
	assert_int_equal(fake.shares, 1);
	assert_int_equal(fake.waited_shares, 0);
	/* With too many calls under way it is sent after the next answer. */
	fake.share_error = -EAGAIN;
	gp_daemon_act_share(rig->daemon, job_of(rig, low), 0, 2);
	assert_int_equal(fake.shares, 1);
	fake.share_error = 0;
	fake_tell(GPREEMPT_EVENT_QUEUES, high->pid, 0);
	rig_until(rig, fake.shares == 2);
	/* Once. */
	fake_tell(GPREEMPT_EVENT_QUEUES, high->pid, 0);
	rig_run(rig);
	assert_int_equal(fake.shares, 2);
	rig_free(rig);
}

static u32 share_of(const struct agent *agent)
{
	return fake_target(agent->pid)->share;
}

static void shares_are_sent_one_at_a_time_and_the_last_wish_wins(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);

	(void)state;
	fake.wait = true;
	gp_daemon_act_share(rig->daemon, job_of(rig, high), 0, 1);
	gp_daemon_act_share(rig->daemon, job_of(rig, low), 0, 3);
	gp_daemon_act_share(rig->daemon, job_of(rig, low), 0, 1);
	gp_daemon_act_share(rig->daemon, job_of(rig, low), 0, 4);
	rig_run(rig);
	assert_int_equal(fake.shares, 2); /* one for each process */
	fake_finish(0);
	rig_until(rig, fake.shares == 4);
	fake_finish(0);
	rig_run(rig);
	assert_int_equal(fake.shares, 4);
	assert_int_equal(fake_target(low->pid)->share & 0xffff, 800);
	assert_int_equal(fake_target(high->pid)->share & 0xffff, 200);
	fake.wait = false;
	rig_free(rig);
}

static void a_share_that_fails_is_sent_again_more_and_more_rarely(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500);

	(void)state;
	fake.wait = true;
	gp_daemon_act_share(rig->daemon, job_of(rig, low), 0, 1);
	fake_finish(-ETIME);
	rig_until(rig, fake.shares == 2);
	fake_finish(-ECONNRESET);
	rig_until(rig, fake.shares == 3);
	fake_finish(0);
	rig_run(rig);
	assert_int_equal(fake_target(low->pid)->share, 1000);
	assert_false(gp_timer_armed(&rig->daemon->share_timer));
	/* A program that does not take it: five times more, then it is said, once. */
	fake.shares = 0;
	gp_daemon_act_share(rig->daemon, job_of(rig, low), 0, 2);
	for (int i = 1; i < 6; i++) {
		fake_finish(-ETIME);
		rig_until(rig, fake.shares == i + 1);
	}
	fake_finish(-ETIME);
	rig_until(rig, strstr(gp_buf_str(&rig->said.text), "cannot set the GPU share"));
	assert_true(gp_timer_armed(&rig->daemon->share_timer));
	assert_int_equal(fake.shares, 6);
	/* Where there are none, it is not tried again. */
	gp_daemon_act_share(rig->daemon, job_of(rig, low), 0, 3);
	assert_int_equal(fake.shares, 7);
	fake_finish(-EOPNOTSUPP);
	rig_until(rig, !fake_target(low->pid)->pending && fake.first == fake.last);
	assert_false(gp_timer_armed(&rig->daemon->share_timer));
	fake.wait = false;
	rig_free(rig);
}

static void a_share_to_a_stopped_process_is_no_failed_try(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500);
	const struct gp_daemon_client *client = gp_daemon_host_client(rig->daemon, (u32)low->pid);

	(void)state;
	kill(low->pid, SIGSTOP);
	assert_int_equal(waitpid(low->pid, NULL, WUNTRACED), low->pid);
	fake.wait = true;
	gp_daemon_act_share(rig->daemon, job_of(rig, low), 0, 1);
	fake_finish(-ETIME);
	rig_until(rig, client->away.stopped);
	assert_int_equal(client->share.tries, 0);
	assert_false(gp_timer_armed(&rig->daemon->share_timer));
	assert_int_equal(fake.shares, 1);
	/* It is sent when the process continues, and nothing was said. */
	kill(low->pid, SIGCONT);
	rig_until(rig, fake.shares == 2);
	fake_finish(0);
	rig_until(rig, fake_target(low->pid)->share == 1000);
	assert_null(strstr(gp_buf_str(&rig->said.text), "cannot set the GPU share"));
	kill(low->pid, SIGSTOP);
	assert_int_equal(waitpid(low->pid, NULL, WUNTRACED), low->pid);
	gp_daemon_act_share(rig->daemon, job_of(rig, low), 0, 2);
	fake_finish(-ETIME);
	rig_until(rig, client->away.stopped);
	assert_false(client->share.ticket);
	assert_int_equal(client->share.tries, 0);
	kill(low->pid, SIGCONT);
	fake.wait = false;
	rig_free(rig);
}

static struct gp_proto_msg_job slice_of(struct rig *rig, const struct agent *agent)
{
	struct gp_proto_msg_job view;

	gp_daemon_report_job_view(rig->daemon, job_of(rig, agent), &view);
	return view;
}

static void a_slice_is_requested_until_the_driver_reports_it(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *one = agent_new(rig, 2, 500), *two;
	u32 before;

	(void)state;
	one->gpu_id = GP_GPU_NVIDIA;
	rig_until(rig, gp_daemon_host_client(rig->daemon, (u32)one->pid) &&
			       gp_daemon_host_client(rig->daemon, (u32)one->pid)->queue_count);
	rig_run(rig);
	before = lines(rig, one, GP_DECISION_DONE, GP_DECISION_SHARE);
	fake.wait = true;
	two = agent_new(rig, 1, 2000);
	two->gpu_id = GP_GPU_NVIDIA;
	rig_until(rig, fake_target(two->pid) && fake_target(two->pid)->pending &&
			       fake_target(one->pid)->pending);
	assert_int_equal(slice_of(rig, one).slice_state, GP_SLICE_REQUESTED);
	assert_int_equal(slice_of(rig, one).slice_us, 0);
	fake_finish(31);
	rig_until(rig, slice_of(rig, one).slice_state == GP_SLICE_CONFIRMED &&
			       slice_of(rig, two).slice_state == GP_SLICE_CONFIRMED);
	assert_int_equal(slice_of(rig, one).slice_us, 31);
	assert_int_equal(lines(rig, one, GP_DECISION_DONE, GP_DECISION_SHARE), before + 1);
	/* The holder finds that it does not hold. */
	fake.shares = 0;
	fake_tell(GPREEMPT_EVENT_QUEUES, one->pid, 0);
	rig_until(rig, fake.shares == 1);
	for (int i = 1; i < 6; i++) {
		fake_finish(-EIO);
		rig_until(rig, fake.shares == i + 1);
	}
	fake_finish(-EIO);
	rig_until(rig, slice_of(rig, one).slice_state == GP_SLICE_FAILED);
	assert_int_equal(slice_of(rig, one).slice_error, -EIO);
	assert_int_equal(lines(rig, one, GP_DECISION_DONE, GP_DECISION_SHARE), before + 2);
	/* It is asked again, and answered with what there is. */
	fake_tell(GPREEMPT_EVENT_QUEUES, one->pid, 0);
	rig_until(rig, fake.shares == 7);
	fake_finish(31);
	rig_until(rig, slice_of(rig, one).slice_state == GP_SLICE_CONFIRMED);
	assert_int_equal(lines(rig, one, GP_DECISION_DONE, GP_DECISION_SHARE), before + 3);
	fake.wait = false;
	rig_free(rig);
}

static void a_new_holder_is_told_the_shares(void **state)
{
	struct rig *rig = rig_new(ACT "policy = quantum\nshare = yes\n");
	struct agent *one = agent_known(rig, 0, 1000), *two = agent_known(rig, 0, 1000);
	const u64 wake = 1;

	(void)state;
	rig_until(rig, fake_target(one->pid)->share && fake_target(two->pid)->share);
	rig_run(rig);
	fake.shares = 0;
	fake_target(one->pid)->share = fake_target(two->pid)->share = 0;
	assert_int_equal(write(fake.fd, &wake, sizeof(wake)), sizeof(wake));
	rig_until(rig, fake_target(one->pid)->share && fake_target(two->pid)->share);
	rig_run(rig);
	assert_int_equal(fake.shares, 2);
	assert_int_equal(share_of(one) & 0xffff, 500);
	assert_int_equal(share_of(two) & 0xffff, 500);
	rig_free(rig);
}

/* Of a share that a program refuses for good a new holder is not told either. */
static void a_share_that_was_refused_for_good_is_not_sent_again(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *one = agent_known(rig, 0, 1000), *two = agent_known(rig, 0, 1000);
	const u64 wake = 1;

	(void)state;
	fake_target(one->pid)->refuses = -EOPNOTSUPP;
	gp_daemon_act_share(rig->daemon, job_of(rig, one), 0, 1);
	gp_daemon_act_share(rig->daemon, job_of(rig, two), 0, 1);
	rig_until(rig, share_of(two) && fake.first == fake.last);
	fake.shares = 0;
	fake_target(two->pid)->share = 0;
	assert_int_equal(write(fake.fd, &wake, sizeof(wake)), sizeof(wake));
	/* The first in the list: it would be sent before the other. */
	rig_until(rig, share_of(two));
	rig_run(rig);
	assert_int_equal(fake.shares, 1);
	assert_int_equal(share_of(one), 0);
	rig_free(rig);
}

/* Programs that are stopped do not answer: they are told together, and not waited for for long. */
static void ending_waits_for_no_program(void **state)
{
	struct rig *rig = rig_new(ACT "policy = quantum\nshare = yes\n");

	(void)state;
	for (int i = 0; i < 3; i++)
		agent_known(rig, 0, 1000);
	fake.lifted = 0;
	fake.wait = true;
	rig_stop(rig);
	assert_int_equal(fake.lifted, 3);
	assert_int_equal(fake.waited_shares, 0);
	assert_int_equal(fake.closed_under_way, 0); /* one by one, each would be waited for */
	rig_free(rig);
}

static void shares_lie_side_by_side_and_follow_who_is_there(void **state)
{
	struct rig *rig = rig_new(ACT "policy = quantum\nshare = yes\n");
	struct agent *one = agent_new(rig, 0, 1000), *three = agent_new(rig, 0, 1000);

	(void)state;
	three->hello.weight = 3;
	rig_until(rig, gp_daemon_host_client(rig->daemon, (u32)one->pid) &&
			       gp_daemon_host_client(rig->daemon, (u32)one->pid)->queue_count &&
			       gp_daemon_host_client(rig->daemon, (u32)three->pid) &&
			       gp_daemon_host_client(rig->daemon, (u32)three->pid)->queue_count);
	/* Who came first begins at 0. */
	if (share_of(one) >> 16) {
		assert_int_equal(share_of(three), GPREEMPT_SHARE_AT(0, 750));
		assert_int_equal(share_of(one), GPREEMPT_SHARE_AT(750, 250));
	} else {
		assert_int_equal(share_of(one), GPREEMPT_SHARE_AT(0, 250));
		assert_int_equal(share_of(three), GPREEMPT_SHARE_AT(250, 750));
	}
	work(rig, one, true);
	work(rig, three, true);
	assert_int_equal(fake.suspends, 0);
	agent_end(three);
	rig_until(rig, rig->daemon->job_count == 1);
	assert_int_equal(share_of(one), 1000);
	rig_free(rig);
}

static void shares_are_lifted_when_it_stops_acting(void **state)
{
	static const char shared[] = ACT "policy = quantum\nshare = yes\n";
	struct rig *rig = rig_new(shared);
	struct agent *one = agent_known(rig, 0, 1000), *two = agent_known(rig, 0, 1000);

	(void)state;
	assert_int_equal(share_of(one) & 0xffff, 500);
	assert_int_equal(share_of(two) & 0xffff, 500);
	reload_as(rig, ACT "policy = priority\n");
	assert_int_equal(share_of(one), 1000);
	assert_int_equal(share_of(two), 1000);
	reload_as(rig, shared);
	assert_int_equal(share_of(one) & 0xffff, 500);
	fake.lifted = 0;
	reload_as(rig, "[daemon]\nmode = observe\n" PROMPT "policy = quantum\nshare = yes\n");
	assert_int_equal(fake.lifted, 2);
	reload_as(rig, shared);
	assert_int_equal(share_of(one) & 0xffff, 500);
	assert_int_equal(share_of(two) & 0xffff, 500);
	fake.lifted = fake.shares = 0;
	rig_stop(rig);
	assert_int_equal(fake.lifted, 2);
	assert_int_equal(fake.shares, 2);
	rig_free(rig);
}

static void who_is_left_alone_by_a_rule_keeps_the_whole_gpu(void **state)
{
	struct rig *rig = rig_new(ACT "policy = quantum\nshare = yes\n"
				      "[rule all]\nexecutable = *\npolicy = off\n");
	struct agent *one = agent_known(rig, 0, 1000);

	(void)state;
	assert_int_equal(fake.shares, 0);
	reload_as(rig, ACT "policy = quantum\nshare = yes\n");
	assert_int_equal(fake.shares, 1);
	assert_int_equal(share_of(one), 1000);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_share_is_not_waited_for),
		cmocka_unit_test(shares_are_sent_one_at_a_time_and_the_last_wish_wins),
		cmocka_unit_test(a_share_that_fails_is_sent_again_more_and_more_rarely),
		cmocka_unit_test(a_share_to_a_stopped_process_is_no_failed_try),
		cmocka_unit_test(a_slice_is_requested_until_the_driver_reports_it),
		cmocka_unit_test(a_new_holder_is_told_the_shares),
		cmocka_unit_test(a_share_that_was_refused_for_good_is_not_sent_again),
		cmocka_unit_test(ending_waits_for_no_program),
		cmocka_unit_test(shares_lie_side_by_side_and_follow_who_is_there),
		cmocka_unit_test(shares_are_lifted_when_it_stops_acting),
		cmocka_unit_test(who_is_left_alone_by_a_rule_keeps_the_whole_gpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
