// SPDX-License-Identifier: MIT
/* gpreemptd.sock: what is answered, to whom, and that no peer can hold the daemon up. */
#include "rig.h"

#include <sys/resource.h>

/* A program at the other end; the daemon is stepped in between. */
struct peer {
	struct rig *rig;
	int socket;
	u32 serial;
	struct gp_wire_message message;
};

static void peer_open(struct peer *peer, struct rig *rig)
{
	peer->rig = rig;
	peer->serial = 0;
	peer->socket = gp_proto_directory_connect(GP_DAEMON_SOCKET);
	assert_true(peer->socket >= 0);
}

/* The status of the answer, which is in peer->message; -ECONNRESET when it was cut off. */
static int ask(struct peer *peer, u16 type, const void *body, size_t size)
{
	u64 start = gp_monotonic_ns();

	assert_int_equal(gp_wire_send(peer->socket, type, ++peer->serial, 0, body, size, -1), 0);
	while (!rig_late(start)) {
		int error;

		gp_loop_step(&peer->rig->daemon->loop, 0);
		error = gp_wire_receive(peer->socket, &peer->message, 0);
		if (error == -EAGAIN || (!error && peer->message.header.serial != peer->serial))
			continue;
		return error ? error : peer->message.header.status;
	}
	fail_msg("no answer to %u", type);
	return -ETIME;
}

static void greet(struct peer *peer)
{
	struct gp_proto_msg_hello me = {.pid = (u32)getpid()};

	assert_int_equal(ask(peer, GP_MSG_HELLO, &me, sizeof(me)), 0);
	assert_true(gp_wire_fits(&peer->message, sizeof(me), 0, 0));
}

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

/* The connection's user, as far as the daemon is concerned. */
static void become(struct rig *rig, uid_t uid)
{
	gp_container(rig->daemon->peers.prev, struct gp_daemon_peer, link)->uid = uid;
}

static void above_a_users_ceiling_only_the_group_goes(void **state)
{
	struct rig *rig = rig_new(ACT "[user 12345]\nmax_priority = 900\n");
	struct agent *agent = agent_known(rig, 0, 500);
	struct gp_daemon_client *client = gp_daemon_host_client(rig->daemon, (u32)agent->pid);
	struct gp_proto_msg_set set = {.pid = (u32)agent->pid,
				       .what = GP_DAEMON_SET_PRIORITY,
				       .priority = 900};
	struct gp_proto_msg_pin pin = {.pid = (u32)agent->pid, .pin = GP_SCHED_PIN_RUN};
	enum { BOB = 12345 };
	struct peer peer;

	(void)state;
	client->who.uid = client->job->uid = BOB;
	strcpy(client->who.user, "bob");
	peer_open(&peer, rig);
	greet(&peer);
	become(rig, BOB);
	rig->daemon->operators = GP_DAEMON_NO_GROUP;
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_SET, &set, sizeof(set)), 0);
	set.priority = 901;
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_SET, &set, sizeof(set)), -EPERM);
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_PIN, &pin, sizeof(pin)), -EPERM);
	rig->daemon->operators = getegid() + 12345;
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_SET, &set, sizeof(set)), -EPERM);
	rig->daemon->operators = getegid();
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_SET, &set, sizeof(set)), 0);
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_PIN, &pin, sizeof(pin)), 0);
	/* What is another's stays another's. */
	become(rig, BOB + 1);
	assert_int_equal(ask(&peer, GP_MSG_DAEMON_SET, &set, sizeof(set)), -EPERM);
	close(peer.socket);
	rig_free(rig);
}

static void a_follower_that_does_not_read_holds_nobody_up(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	struct peer slow, other;
	u64 before;

	(void)state;
	peer_open(&slow, rig);
	greet(&slow);
	assert_int_equal(ask(&slow, GP_MSG_DAEMON_FOLLOW, NULL, 0), 0);
	work(rig, low, true);
	before = rig->daemon->record.next;
	/* Far more lines than a socket holds. */
	while (rig->daemon->record.next < before + 4000) {
		work(rig, high, true);
		work(rig, high, false);
	}
	peer_open(&other, rig);
	greet(&other);
	/* The first lines came, in order; the gap shows later ones are missing. */
	assert_int_equal(gp_wire_receive(slow.socket, &slow.message, 0), 0);
	assert_int_equal(slow.message.header.type, GP_MSG_DAEMON_DECISION);
	assert_true(gp_wire_fits(&slow.message, sizeof(struct gp_proto_msg_decision), 0, 0));
	close(slow.socket);
	close(other.socket);
	rig_free(rig);
}

/* With no descriptor left the socket stays readable. */
static void without_descriptors_it_rests_instead_of_spinning(void **state)
{
	struct rig *rig = rig_new(ACT);
	int peer, spare;
	struct rlimit before, none;

	(void)state;
	rig_run(rig);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	peer = gp_proto_directory_connect(GP_DAEMON_SOCKET);
	spare = dup(peer);
	close(spare); /* the lowest that is free, and all above it are forbidden */
	none = (struct rlimit){.rlim_cur = (rlim_t)spare, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	while (!rig->daemon->listen_watch.paused)
		assert_true(gp_loop_step(&rig->daemon->loop, 60000) >= 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	rig_until(rig, rig->daemon->peer_count == 1);
	assert_false(rig->daemon->listen_watch.paused);
	close(peer);
	rig_until(rig, rig->daemon->peer_count == 0);
	rig_free(rig);
}

static void one_user_has_only_so_many_connections(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct peer peer[GP_DAEMON_PEERS_USER + 1];
	struct gp_proto_msg_hello me = {0};

	(void)state;
	for (u32 i = 0; i < GP_DAEMON_PEERS_USER; i++) {
		peer_open(&peer[i], rig);
		greet(&peer[i]);
	}
	peer_open(&peer[GP_DAEMON_PEERS_USER], rig);
	rig_run(rig);
	assert_int_equal(rig->daemon->peer_count, GP_DAEMON_PEERS_USER);
	assert_true(gp_wire_send(peer[GP_DAEMON_PEERS_USER].socket, GP_MSG_HELLO, 1, 0, &me,
				 sizeof(me), -1) < 0);
	for (u32 i = 0; i <= GP_DAEMON_PEERS_USER; i++)
		close(peer[i].socket);
	rig_until(rig, rig->daemon->peer_count == 0);
	rig_free(rig);
}

static void a_second_daemon_is_refused(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct gp_daemon *second = calloc(1, sizeof(*second));
	struct test_diag said = TEST_DIAG;
	struct gp_daemon_config config;

	(void)state;
	assert_int_equal(gp_daemon_config_defaults(&config), 0);
	assert_int_equal(gp_daemon_init(second, &config, NULL, &said.diag), 0);
	assert_int_equal(gp_daemon_start(second), -EBUSY);
	gp_daemon_free(second);
	free(second);
	gp_buf_free(&said.text);
	/* The first one's socket is still there. */
	struct peer peer;
	peer_open(&peer, rig);
	greet(&peer);
	close(peer.socket);
	rig_free(rig);
}

/* ---- floods ---- */

enum { FLOODER = 12345 };

static struct gp_daemon_asker *flooder(struct rig *rig)
{
	for (size_t i = 0; i < GP_ARRAY_SIZE(rig->daemon->askers); i++)
		if (rig->daemon->askers[i].paid_ns && rig->daemon->askers[i].uid == FLOODER)
			return &rig->daemon->askers[i];
	return NULL;
}

static void a_user_that_asks_all_the_time_waits_and_others_do_not(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct gp_proto_msg_daemon_ask what = {.pid = 1};
	struct peer peers[4], other;
	struct agent *low, *high;
	u64 before = gp_monotonic_ns();

	(void)state;
	for (u32 i = 0; i < 4; i++) {
		peer_open(&peers[i], rig);
		greet(&peers[i]);
		become(rig, FLOODER);
	}
	/* Each answer costs something. */
	assert_null(flooder(rig));
	assert_int_equal(ask(&peers[0], GP_MSG_DAEMON_DECISIONS, &what, sizeof(what)), 0);
	assert_true(flooder(rig)->paid_ns > before);
	assert_false(flooder(rig)->paused);
	/* So does each line that it follows. */
	assert_int_equal(ask(&peers[0], GP_MSG_DAEMON_FOLLOW, NULL, 0), 0);
	before = flooder(rig)->paid_ns = gp_monotonic_ns() + GP_NS_PER_S / 2;
	low = agent_known(rig, 2, 500);
	rig_until(rig, !gp_wire_receive(peers[0].socket, &peers[0].message, 0));
	assert_int_equal(peers[0].message.header.type, GP_MSG_DAEMON_DECISION);
	assert_true(flooder(rig)->paid_ns > before);
	rig_until(rig, gp_wire_receive(peers[0].socket, &peers[0].message, 0) == -EAGAIN);
	/* As if it had asked for long; then its questions wait, in all its connections. */
	gp_daemon_question_charge(rig->daemon, FLOODER, 60 * GP_NS_PER_S);
	assert_true(flooder(rig)->paused);
	for (u32 i = 0; i < 4; i++)
		assert_int_equal(gp_wire_send(peers[i].socket, GP_MSG_DAEMON_DECISIONS,
					      ++peers[i].serial, 0, &what, sizeof(what), -1),
				 0);
	/* Meanwhile another user is answered, and jobs are scheduled. */
	peer_open(&other, rig);
	greet(&other);
	assert_int_equal(ask(&other, GP_MSG_DAEMON_STATUS, NULL, 0), 0);
	high = agent_known(rig, 1, 2000);
	work(rig, low, true);
	work(rig, high, true);
	assert_true(job_of(rig, low)->wanted_held);
	for (u32 i = 0; i < 4; i++)
		assert_int_equal(gp_wire_receive(peers[i].socket, &peers[i].message, 0), -EAGAIN);
	/* One that leaves while it waits is gone. */
	close(peers[3].socket);
	rig_until(rig, rig->daemon->peer_count == 4);
	/* When its debt is paid, all are answered. */
	flooder(rig)->paid_ns = before;
	gp_timer_set(&rig->daemon->loop, &rig->daemon->question_timer, before);
	for (u32 i = 0; i < 3; i++)
		rig_until(rig, !gp_wire_receive(peers[i].socket, &peers[i].message, 0));
	assert_int_equal(rig->daemon->stats.dropped_messages, 1);
	for (u32 i = 0; i < 3; i++)
		close(peers[i].socket);
	close(other.socket);
	rig_free(rig);
}

/* Each is a line of the record, in the place of one about others. */
static void a_user_that_sets_again_and_again_waits(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *agent = agent_known(rig, 0, 500);
	struct gp_daemon_client *client = gp_daemon_host_client(rig->daemon, (u32)agent->pid);
	struct gp_proto_msg_set set = {.pid = (u32)agent->pid, .what = GP_DAEMON_SET_PRIORITY};
	struct peer peer;
	u32 count = 0;

	(void)state;
	client->who.uid = client->job->uid = FLOODER;
	peer_open(&peer, rig);
	greet(&peer);
	become(rig, FLOODER);
	while (!flooder(rig) || !flooder(rig)->paused) {
		set.priority = 300 + count % 2;
		assert_int_equal(ask(&peer, GP_MSG_DAEMON_SET, &set, sizeof(set)), 0);
		assert_true(++count < 100);
	}
	assert_true(count > 5); /* by hand nobody is that fast */
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
		cmocka_unit_test(above_a_users_ceiling_only_the_group_goes),
		cmocka_unit_test(a_follower_that_does_not_read_holds_nobody_up),
		cmocka_unit_test(one_user_has_only_so_many_connections),
		cmocka_unit_test(without_descriptors_it_rests_instead_of_spinning),
		cmocka_unit_test(a_second_daemon_is_refused),
		cmocka_unit_test(a_user_that_asks_all_the_time_waits_and_others_do_not),
		cmocka_unit_test(a_user_that_sets_again_and_again_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
