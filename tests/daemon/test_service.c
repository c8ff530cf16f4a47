// SPDX-License-Identifier: MIT
/* gpreemptd.sock: what is answered, and what a user changes by hand. */
#include "peer.h"

static void everything_is_refused_before_the_greeting(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct peer peer;

	(void)state;
	peer_open(&peer, rig);
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_STATUS, NULL, 0), -ECONNRESET);
	close(peer.socket);
	rig_free(rig);
}

static void a_message_of_the_wrong_size_ends_only_that_connection(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct peer good, bad;

	(void)state;
	peer_open(&good, rig);
	greet(&good);
	for (u16 type = GP_MSG_DAEMON_STATUS; type <= GP_MSG_DAEMON_WORK; type++) {
		char body[100] = {0};

		peer_open(&bad, rig);
		greet(&bad);
		assert_int_equal(ask(&bad, type, body, sizeof(body)), -ECONNRESET);
		close(bad.socket);
		assert_int_equal(ask(&good, GP_MSG_DAEMON_STATUS, NULL, 0), 0);
	}
	assert_int_equal(ask(&good, 999, NULL, 0), -EOPNOTSUPP);
	close(good.socket);
	rig_free(rig);
}

static void jobs_and_devices_are_shown_as_they_are(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	struct gp_proto_msg_daemon_ask what = {0};
	const struct gp_proto_msg_jobs *jobs;
	const struct gp_proto_msg_devices *devices;
	struct peer peer;

	(void)state;
	work(rig, low, true);
	work(rig, high, true);
	peer_open(&peer, rig);
	greet(&peer);
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_JOBS, &what, sizeof(what)), 2);
	jobs = (const struct gp_proto_msg_jobs *)peer.message.body;
	assert_int_equal(jobs->count, 2);
	assert_int_equal(jobs->jobs[0].pid, low->pid);
	assert_int_equal(jobs->jobs[0].run, GP_DAEMON_SUSPENDED);
	assert_int_equal(jobs->jobs[0].held_for, high->pid);
	assert_int_equal(jobs->jobs[0].suspends, 1);
	assert_int_equal(jobs->jobs[1].run, GP_DAEMON_RUNNING);
	assert_int_equal(jobs->jobs[1].held_since, GP_DAEMON_NEVER);
	assert_int_equal(jobs->jobs[1].preempted, 1);
	assert_int_equal(jobs->jobs[1].backlog, GP_DAEMON_UNKNOWN);
	what.pid = (u32)high->pid;
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_JOBS, &what, sizeof(what)), 1);
	what.pid = 1;
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_JOBS, &what, sizeof(what)), 0);
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_DEVICES, NULL, 0), rig->daemon->device_count);
	devices = (const struct gp_proto_msg_devices *)peer.message.body;
	assert_int_equal(devices->devices[devices->count - 1].gpu_id, GPU);
	assert_int_equal(devices->devices[devices->count - 1].held, 1);
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_STATS, NULL, 0), 0);
	assert_int_equal(((const struct gp_proto_msg_stats *)peer.message.body)->preemptions, 1);
	close(peer.socket);
	rig_free(rig);
}

static void the_record_is_read_from_any_line_and_by_process(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	struct agent *other = agent_known(rig, 0, 1000);
	struct gp_proto_msg_daemon_ask what = {.first = 1};
	const struct gp_proto_msg_decisions *list;
	struct peer peer;
	int all;

	(void)state;
	work(rig, low, true);
	work(rig, high, true);
	peer_open(&peer, rig);
	greet(&peer);
	all = ask(&peer, GP_MSG_DAEMON_DECISIONS, &what, sizeof(what));
	assert_int_equal(all, rig->daemon->record.next - 1);
	list = (const struct gp_proto_msg_decisions *)peer.message.body;
	for (u32 i = 0; i < list->count; i++)
		assert_int_equal(list->decisions[i].id, i + 1);
	what.first = 3;
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_DECISIONS, &what, sizeof(what)), all - 2);
	what = (struct gp_proto_msg_daemon_ask){.first = 1, .pid = (u32)other->pid};
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_DECISIONS, &what, sizeof(what)), 1);
	what.first = UINT64_MAX;
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_DECISIONS, &what, sizeof(what)), 0);
	close(peer.socket);
	rig_free(rig);
}

static void the_work_of_each_queue_is_recorded(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *one = agent_known(rig, 0, 1000), *two = agent_known(rig, 0, 1000);
	struct gp_proto_msg_daemon_ask what = {.first = 1};
	const struct gp_proto_msg_works *list;
	struct peer peer;

	(void)state;
	peer_open(&peer, rig);
	greet(&peer);
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_WORK, &what, sizeof(what)), 0);
	work(rig, one, true);
	work(rig, two, true);
	work(rig, one, false);
	/* A queue that is destroyed takes its work with it. */
	two->queues = 0;
	agent_say(two, GP_MSG_AGENT_CHANGED, NULL, 0);
	rig_run(rig);
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_WORK, &what, sizeof(what)), 4);
	list = (const struct gp_proto_msg_works *)peer.message.body;
	for (u32 i = 0; i < 4; i++) {
		const struct agent *agent = i % 2 ? two : one;

		assert_int_equal(list->works[i].id, i + 1);
		assert_int_equal(list->works[i].pid, agent->pid);
		assert_int_equal(list->works[i].job, job_of(rig, agent)->id);
		assert_int_equal(list->works[i].kfd_id, QUEUE);
		assert_int_equal(list->works[i].gpu_id, GPU);
		assert_int_equal(list->works[i].work, i < 2 ? GP_SCHED_BUSY : GP_SCHED_DRAINED);
		assert_true(list->works[i].at_ns <= gp_monotonic_ns());
	}
	assert_int_equal(rig->daemon->busy_count, 0);
	what = (struct gp_proto_msg_daemon_ask){.first = 2, .pid = (u32)one->pid};
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_WORK, &what, sizeof(what)), 1);
	list = (const struct gp_proto_msg_works *)peer.message.body;
	assert_int_equal(list->works[0].id, 3);
	close(peer.socket);
	rig_free(rig);
}

static void an_overwritten_record_begins_later(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct gp_proto_msg_decision line = {.kind = GP_DECISION_NOTE};
	struct gp_daemon_record record;

	(void)state;
	assert_int_equal(gp_daemon_record_init(&record, 16), 0);
	for (int i = 0; i < 100; i++)
		gp_daemon_record_add(&record, &line);
	assert_int_equal(gp_daemon_record_first(&record), 85);
	assert_null(gp_daemon_record_at(&record, 84));
	assert_int_equal(gp_daemon_record_at(&record, 85)->id, 85);
	assert_int_equal(gp_daemon_record_at(&record, 100)->id, 100);
	assert_null(gp_daemon_record_at(&record, 101));
	for (int i = 0; i < 1000; i++)
		gp_daemon_record_add_work(&record, &(struct gp_proto_msg_work){.pid = 1});
	assert_int_equal(gp_daemon_record_first_work(&record), 1001 - 16 * GP_WORK_PER_DECISION);
	assert_null(gp_daemon_record_work_at(&record, 1000 - 16 * GP_WORK_PER_DECISION));
	assert_int_equal(gp_daemon_record_work_at(&record, 1000)->id, 1000);
	assert_null(gp_daemon_record_work_at(&record, 1001));
	gp_daemon_record_free(&record);
	rig_free(rig);
}

static void a_job_is_changed_by_hand_and_stays_so(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	struct gp_proto_msg_set set = {.pid = (u32)low->pid,
				       .what = GP_DAEMON_SET_PRIORITY | GP_DAEMON_SET_CLASS,
				       .priority = 3000,
				       .job_class = 1};
	struct peer peer;

	(void)state;
	work(rig, low, true);
	work(rig, high, true);
	assert_true(fake_held(low->pid));
	peer_open(&peer, rig);
	greet(&peer);
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_SET, &set, sizeof(set)), 0);
	rig_run(rig);
	assert_false(fake_held(low->pid));
	assert_true(fake_held(high->pid));
	assert_int_equal(lines(rig, low, GP_DECISION_SET, GP_DAEMON_SET_PRIORITY), 1);
	assert_int_equal(lines(rig, low, GP_DECISION_SET, GP_DAEMON_SET_CLASS), 1);
	assert_int_equal(lines(rig, low, GP_DECISION_SET, GP_DAEMON_SET_WEIGHT), 0);
	/* Its rule would say otherwise. */
	gp_daemon_host_respec(rig->daemon, job_of(rig, low));
	assert_int_equal(job_of(rig, low)->spec.priority, 3000);
	set.priority = GP_SCHED_PRIORITY_MAX + 1;
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_SET, &set, sizeof(set)), -EINVAL);
	set.pid = 1;
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_SET, &set, sizeof(set)), -ESRCH);
	assert_int_equal(lines(rig, low, GP_DECISION_SET, GP_SCHED_WHYS), 2);
	close(peer.socket);
	rig_free(rig);
}

static void a_job_is_held_and_let_go_by_hand(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *agent = agent_known(rig, 0, 1000);
	struct gp_proto_msg_pin pin = {.pid = (u32)agent->pid, .pin = GP_SCHED_PIN_HOLD};
	struct peer peer;

	(void)state;
	work(rig, agent, true);
	peer_open(&peer, rig);
	greet(&peer);
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_PIN, &pin, sizeof(pin)), 0);
	rig_run(rig);
	assert_true(fake_held(agent->pid));
	/* A hold that ended early can be asked for again. */
	fake_tell(GPREEMPT_EVENT_LEASE_LOST, agent->pid, 0);
	rig_until(rig, !gp_daemon_host_client(rig->daemon, pin.pid)->held);
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_PIN, &pin, sizeof(pin)), 0);
	rig_until(rig, gp_daemon_host_client(rig->daemon, pin.pid)->held);
	pin.pin = GP_SCHED_PIN_NONE;
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_PIN, &pin, sizeof(pin)), 0);
	rig_run(rig);
	assert_false(fake_held(agent->pid));
	assert_int_equal(rig->daemon->stats.preemptions, 0);
	pin.pin = 9;
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_PIN, &pin, sizeof(pin)), -EINVAL);
	close(peer.socket);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_is_refused_before_the_greeting),
		cmocka_unit_test(a_message_of_the_wrong_size_ends_only_that_connection),
		cmocka_unit_test(jobs_and_devices_are_shown_as_they_are),
		cmocka_unit_test(the_record_is_read_from_any_line_and_by_process),
		cmocka_unit_test(the_work_of_each_queue_is_recorded),
		cmocka_unit_test(an_overwritten_record_begins_later),
		cmocka_unit_test(a_job_is_changed_by_hand_and_stays_so),
		cmocka_unit_test(a_job_is_held_and_let_go_by_hand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
