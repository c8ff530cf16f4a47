// SPDX-License-Identifier: MIT
/* gpreemptd.sock: who may ask for what, and that no peer can hold the daemon up. */
#include "peer.h"

#include <sys/resource.h>

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

/* Joining and leaving all the time costs the daemon's time as questions do. */
static void a_user_whose_programs_come_and_go_waits_and_others_do_not(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *one, *late, *other;
	char path[128];
	u64 before;

	(void)state;
	if (geteuid() != 0) {
		rig_free(rig);
		skip();
	}
	rig_agent_uid = FLOODER;
	one = agent_known(rig, 2, 500);
	assert_non_null(flooder(rig));
	before = flooder(rig)->paid_ns;
	pid_t pid = one->pid;
	agent_end(one);
	rig_until(rig, !gp_daemon_host_client(rig->daemon, (u32)pid));
	assert_true(flooder(rig)->paid_ns >= before + 20 * GP_DAEMON_JOIN_COST_NS);
	gp_daemon_question_charge(rig->daemon, FLOODER, 60 * GP_NS_PER_S);
	assert_true(flooder(rig)->paused);
	late = agent_new(rig, 2, 500);
	/* It would have made its socket itself. */
	snprintf(path, sizeof(path), "%s/agents/%zu.sock", rig->directory, rig->agents);
	assert_int_equal(chown(path, FLOODER, (gid_t)-1), 0);
	rig_agent_uid = 0;
	other = agent_known(rig, 2, 500);
	assert_non_null(gp_daemon_host_client(rig->daemon, (u32)other->pid));
	assert_null(gp_daemon_host_client(rig->daemon, (u32)late->pid));
	/* It is not forgotten. */
	flooder(rig)->paid_ns = gp_monotonic_ns();
	gp_timer_set(&rig->daemon->loop, &rig->daemon->question_timer, gp_monotonic_ns());
	agent_await(rig, late);
	rig_free(rig);
}

/* A socket of an agent of that user; the test itself listens. */
static int agent_socket(struct rig *rig, u32 number, uid_t uid)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char shown[128];

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/agents/.one", rig->directory);
	snprintf(shown, sizeof(shown), "%s/agents/many%u.sock", rig->directory, number);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(chown(address.sun_path, uid, (gid_t)-1), 0);
	assert_int_equal(rename(address.sun_path, shown), 0);
	return fd;
}

/* More of them than may be unknown for other reasons. */
static void programs_that_come_while_their_user_waits_are_all_connected_to_later(void **state)
{
	enum { MANY = GP_DAEMON_STRANGERS + 16 };
	struct rig *rig = rig_new(ACT);
	u32 found = 0, connected = 0;
	int listening[MANY];

	(void)state;
	if (geteuid() != 0) {
		rig_free(rig);
		skip();
	}
	gp_daemon_question_charge(rig->daemon, FLOODER, 60 * GP_NS_PER_S);
	assert_true(flooder(rig)->paused);
	for (u32 i = 0; i < MANY; i++)
		listening[i] = agent_socket(rig, i, FLOODER);
	rig_run(rig);
	gp_list_each (const struct gp_daemon_client, client, link, &rig->daemon->clients)
		found += client->state == GP_CLIENT_CONNECT;
	assert_int_equal(found, MANY);
	flooder(rig)->paid_ns = gp_monotonic_ns();
	gp_timer_set(&rig->daemon->loop, &rig->daemon->question_timer, gp_monotonic_ns());
	for (u32 i = 0; i < MANY; i++) {
		int fd = -1;

		rig_until(rig, (fd = accept4(listening[i], NULL, NULL, SOCK_CLOEXEC)) >= 0);
		connected += fd >= 0;
		close(fd);
		close(listening[i]);
	}
	assert_int_equal(connected, MANY);
	rig_free(rig);
}

/* A section of the user by name; it is known from a program that the user has already. */
static void a_user_of_a_larger_limit_may_have_so_many_that_wait(void **state)
{
	enum { NOBODY = 65534, MANY = 300 };
	struct rig *rig = rig_new(ACT "[user nobody]\nmax_clients = 400\n");
	struct gp_daemon_client *client;
	int listening[MANY];
	struct agent *agent;
	u32 found = 0;

	(void)state;
	if (geteuid() != 0) {
		rig_free(rig);
		skip();
	}
	rig_agent_uid = NOBODY;
	agent = agent_known(rig, 2, 500);
	client = gp_daemon_host_client(rig->daemon, (u32)agent->pid);
	strcpy(client->who.user, "nobody"); /* as on most systems */
	gp_daemon_question_charge(rig->daemon, NOBODY, 60 * GP_NS_PER_S);
	for (u32 i = 0; i < MANY; i++)
		listening[i] = agent_socket(rig, i, NOBODY);
	rig_run(rig);
	gp_list_each (const struct gp_daemon_client, other, link, &rig->daemon->clients)
		found += other->state == GP_CLIENT_CONNECT;
	assert_int_equal(found, MANY);
	for (u32 i = 0; i < MANY; i++)
		close(listening[i]);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(above_a_users_ceiling_only_the_group_goes),
		cmocka_unit_test(a_follower_that_does_not_read_holds_nobody_up),
		cmocka_unit_test(one_user_has_only_so_many_connections),
		cmocka_unit_test(without_descriptors_it_rests_instead_of_spinning),
		cmocka_unit_test(a_second_daemon_is_refused),
		cmocka_unit_test(a_user_that_asks_all_the_time_waits_and_others_do_not),
		cmocka_unit_test(a_user_that_sets_again_and_again_waits),
		cmocka_unit_test(a_user_whose_programs_come_and_go_waits_and_others_do_not),
		cmocka_unit_test(
			programs_that_come_while_their_user_waits_are_all_connected_to_later),
		cmocka_unit_test(a_user_of_a_larger_limit_may_have_so_many_that_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
