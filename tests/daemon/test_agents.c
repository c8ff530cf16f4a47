// SPDX-License-Identifier: MIT
/* Agents as the daemon's clients: found, believed as far as they can be, and limited. */
#include "rig.h"

static void an_agent_that_was_there_before_is_found(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *agent;

	(void)state;
	rig_stop(rig);
	agent = agent_new(rig, 2, 500);
	rig_start(rig, ACT);
	rig_until(rig,
		  gp_daemon_host_client(rig->daemon, (u32)agent->pid) &&
			  gp_daemon_host_client(rig->daemon, (u32)agent->pid)->queue_count == 1);
	assert_int_equal(job_of(rig, agent)->spec.class, GP_SCHED_CLASS_OFFLINE);
	assert_string_equal(job_of(rig, agent)->name, "program");
	rig_free(rig);
}

static void an_agent_that_comes_later_is_found_at_once(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *agent;

	(void)state;
	rig_run(rig);
	agent = agent_known(rig, 1, 2000);
	assert_int_equal(lines(rig, agent, GP_DECISION_CAME, GP_SCHED_WHYS), 1);
	/* Who it is comes from the kernel, whatever it says. */
	assert_int_equal(gp_daemon_host_client(rig->daemon, (u32)agent->pid)->who.uid, getuid());
	rig_free(rig);
}

static void a_socket_that_nobody_listens_on_is_removed(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)state;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/agents/dead.sock", rig->directory);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	rig_until(rig, access(address.sun_path, F_OK) < 0);
	assert_true(gp_list_empty(&rig->daemon->clients));
	rig_free(rig);
}

struct deaf {
	int listener, full[4];
	size_t count;
};

/* Takes no connection: its queue is full from the beginning. Shown only then, as agents do. */
static void deaf_agent(struct rig *rig, int number, unsigned int owner, struct deaf *deaf)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char path[128];
	int fd;

	*deaf = (struct deaf){.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/agents/.deaf%d", rig->directory,
		 number);
	assert_int_equal(bind(deaf->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(deaf->listener, 0), 0);
	for (;;) {
		fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		assert_true(fd >= 0);
		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
			break;
		assert_true(deaf->count < 4);
		deaf->full[deaf->count++] = fd;
	}
	assert_int_equal(errno, EAGAIN);
	close(fd);
	assert_int_equal(chown(address.sun_path, owner, (gid_t)-1), 0);
	snprintf(path, sizeof(path), "%s/agents/deaf%d.sock", rig->directory, number);
	assert_int_equal(rename(address.sun_path, path), 0);
}

static void deaf_end(struct rig *rig, int number, const struct deaf *deaf)
{
	char path[128];

	for (size_t i = 0; i < deaf->count; i++)
		close(deaf->full[i]);
	close(deaf->listener);
	snprintf(path, sizeof(path), "%s/agents/deaf%d.sock", rig->directory, number);
	unlink(path);
}

/* Sockets that take no connection cost nothing to make. */
static void one_user_cannot_fill_the_list_with_sockets(void **state)
{
	enum { MANY = GP_DAEMON_STRANGERS + 20 };
	struct rig *rig = rig_new(ACT);
	unsigned int owner = geteuid() == 0 ? 65534 : geteuid();
	struct deaf deaf[MANY];
	struct gp_list *link;
	u32 count = 0;

	(void)state;
	rig_run(rig);
	for (int i = 0; i < MANY; i++)
		deaf_agent(rig, i, owner, &deaf[i]);
	rig_until(rig, rig->daemon->stats.refused_clients == MANY - GP_DAEMON_STRANGERS);
	gp_list_for_each (link, &rig->daemon->clients)
		count++;
	assert_int_equal(count, GP_DAEMON_STRANGERS);
	/* Others are found as ever. */
	if (owner != geteuid())
		agent_known(rig, 1, 2000);
	for (int i = 0; i < MANY; i++)
		deaf_end(rig, i, &deaf[i]);
	rig_free(rig);
}

/* With `unknown = 0` doubt counts as the end of the work at once. */
static void doubt_about_a_held_job_does_not_end_its_hold(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *server = agent_known(rig, 1, 2000), *trainer = agent_known(rig, 2, 500);
	struct gp_proto_msg_edge doubt = {.busy = GP_ACTIVITY_UNKNOWN, .queue = QUEUE};

	(void)state;
	work(rig, trainer, true);
	work(rig, server, true);
	assert_true(job_of(rig, trainer)->wanted_held);
	trainer->memory->slot[QUEUE].state = GP_ACTIVITY_UNKNOWN;
	agent_say(trainer, GP_MSG_AGENT_EDGE, &doubt, sizeof(doubt));
	rig_run(rig);
	assert_true(job_of(rig, trainer)->wanted_held);
	assert_int_equal(lines(rig, trainer, GP_DECISION_RESUME, GP_SCHED_WHYS), 0);
	/* The server's is the end of its claim. */
	server->memory->slot[QUEUE].state = GP_ACTIVITY_UNKNOWN;
	agent_say(server, GP_MSG_AGENT_EDGE, &doubt, sizeof(doubt));
	rig_until(rig, !job_of(rig, trainer)->wanted_held);
	rig_free(rig);
}

static void a_link_to_a_socket_is_no_agent(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char link[128];

	(void)state;
	rig_run(rig);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/elsewhere", rig->directory);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 8), 0);
	snprintf(link, sizeof(link), "%s/agents/link.sock", rig->directory);
	assert_int_equal(symlink(address.sun_path, link), 0);
	agent_known(rig, 1, 2000); /* it came later: the link has been looked at */
	assert_int_equal(accept4(listener, NULL, NULL, SOCK_CLOEXEC), -1);
	assert_int_equal(errno, EAGAIN);
	close(listener);
	unlink(link);
	unlink(address.sun_path);
	rig_free(rig);
}

static void a_client_that_ends_leaves_nothing(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	struct gp_sched_stats stats;

	(void)state;
	work(rig, low, true);
	work(rig, high, true);
	assert_true(fake_held(low->pid));
	agent_end(low);
	agent_end(high);
	rig_until(rig, gp_list_empty(&rig->daemon->clients));
	assert_true(gp_list_empty(&rig->daemon->jobs));
	gp_sched_stats(rig->daemon->sched, &stats);
	assert_int_equal(stats.jobs + stats.processes + stats.queues, 0);
	rig_free(rig);
}

static void queues_that_come_and_go_are_followed(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *agent = agent_known(rig, 0, 1000);
	struct gp_sched_stats stats;

	(void)state;
	agent->queues = 3;
	agent_say(agent, GP_MSG_AGENT_CHANGED, NULL, 0);
	rig_run(rig);
	gp_sched_stats(rig->daemon->sched, &stats);
	assert_int_equal(stats.queues, 3);
	agent->queues = 0;
	agent_say(agent, GP_MSG_AGENT_CHANGED, NULL, 0);
	rig_run(rig);
	gp_sched_stats(rig->daemon->sched, &stats);
	assert_int_equal(stats.queues, 0);
	rig_free(rig);
}

/* The socket is there before the first queue is, and the memory comes with that. */
static void an_agent_that_cannot_show_yet_is_asked_again(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *agent = agent_new(rig, 0, 1000);
	struct gp_daemon_client *client;

	(void)state;
	agent->blind = true;
	agent->queues = 0;
	rig_until(rig, gp_daemon_host_client(rig->daemon, (u32)agent->pid) &&
			       gp_daemon_host_client(rig->daemon, (u32)agent->pid)->state ==
				       GP_CLIENT_READY);
	client = gp_daemon_host_client(rig->daemon, (u32)agent->pid);
	assert_null(client->activity);
	agent->blind = false;
	agent->queues = 1;
	agent->memory->slot[QUEUE].state = GP_ACTIVITY_BUSY;
	agent_say(agent, GP_MSG_AGENT_CHANGED, NULL, 0);
	rig_run(rig);
	assert_non_null(client->activity);
	assert_int_equal(client->queues[0].work, GP_SCHED_BUSY);
	rig_free(rig);
}

static void memory_that_could_be_taken_away_is_not_mapped(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_new(rig, 1, 2000);

	(void)state;
	high->unsealed = true;
	rig_until(rig, gp_daemon_host_client(rig->daemon, (u32)high->pid) &&
			       gp_daemon_host_client(rig->daemon, (u32)high->pid)->queue_count);
	assert_null(gp_daemon_host_client(rig->daemon, (u32)high->pid)->activity);
	assert_non_null(gp_daemon_host_client(rig->daemon, (u32)low->pid)->activity);
	assert_int_equal(ftruncate(high->memory_fd, 0), 0);
	/* Edges alone are enough to schedule by. */
	work(rig, low, true);
	agent_say(high, GP_MSG_AGENT_EDGE,
		  &(struct gp_proto_msg_edge){.now_ns = gp_monotonic_ns(), .busy = 1},
		  sizeof(struct gp_proto_msg_edge));
	rig_run(rig);
	assert_true(fake_held(low->pid));
	rig_free(rig);
}

static void what_is_no_message_ends_the_connection(void **state)
{
	static const struct {
		u16 type;
		u32 serial;
		size_t size;
	} bad[] = {
		{GP_MSG_AGENT_EDGE, 0, 3},
		{GP_MSG_AGENT_REQUEST, 0, sizeof(struct gp_proto_msg_request) + 1},
		{GP_MSG_AGENT_QUEUES, 9, sizeof(struct gp_proto_msg_queues) + 1},
		{GP_MSG_AGENT_SUSPEND, 9, 0},
		{GP_MSG_HELLO, 9, 1},
	};

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(bad); i++) {
		struct rig *rig = rig_new(ACT);
		struct agent *liar = agent_known(rig, 0, 1000), *other = agent_known(rig, 0, 1000);
		char body[256];

		memset(body, 0xff, sizeof(body));
		gp_wire_send(liar->socket, bad[i].type, bad[i].serial, 0, body, bad[i].size, -1);
		rig_until(rig, !gp_daemon_host_client(rig->daemon, (u32)liar->pid));
		assert_non_null(gp_daemon_host_client(rig->daemon, (u32)other->pid));
		rig_free(rig);
	}
}

static void a_count_that_is_not_there_is_not_believed(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *liar = agent_known(rig, 0, 1000);
	struct gp_proto_msg_queues list = {.count = 500};

	(void)state;
	gp_wire_send(liar->socket, GP_MSG_AGENT_QUEUES, 7, 500, &list, sizeof(list), -1);
	rig_until(rig, !gp_daemon_host_client(rig->daemon, (u32)liar->pid));
	rig_free(rig);
}

/* Before it has said who it is, nobody has asked it for anything. */
static void one_that_floods_before_it_is_known_is_not_listened_to(void **state)
{
	struct rig *rig = rig_new(ACT "[user *]\nmax_messages = 10\n");
	struct agent *odd = agent_new(rig, 1, 2000), *good;
	struct gp_proto_msg_edge edge = {.busy = 1};
	struct gp_daemon_client *client;

	(void)state;
	odd->silent = true;
	rig_until(rig, odd->questions);
	for (u32 i = 0; i < 100; i++)
		agent_say(odd, GP_MSG_AGENT_EDGE, &edge, sizeof(edge));
	rig_until(rig, rig->daemon->stats.dropped_messages);
	client = gp_container(rig->daemon->clients.next, struct gp_daemon_client, link);
	assert_true(client->watch.paused);
	assert_true(client->messages < 100);
	assert_true(gp_timer_armed(&client->timer)); /* it is left when its time is over */
	good = agent_known(rig, 1, 2000);
	work(rig, good, true);
	assert_true(gp_daemon_host_client(rig->daemon, (u32)good->pid)->busy);
	assert_int_equal(rig->daemon->stats.dropped_messages, 1);
	agent_end(odd);
	rig_until(rig,
		  rig->daemon->clients.next == rig->daemon->clients.prev); /* its end is seen */
	rig_free(rig);
}

/* A program that was started before an update runs on, unmanaged. */
static void an_agent_of_another_version_is_left_alone(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *old = agent_new(rig, 1, 2000), *good;

	(void)state;
	old->old = true;
	rig_until(rig, old->questions);
	rig_until(rig, rig->daemon->clients.next == &rig->daemon->clients);
	assert_non_null(strstr(gp_buf_str(&rig->said.text), "different version"));
	good = agent_known(rig, 1, 2000);
	work(rig, good, true);
	assert_true(gp_daemon_host_client(rig->daemon, (u32)good->pid)->busy);
	rig_free(rig);
}

static void one_that_floods_is_slowed_down_and_the_others_are_not(void **state)
{
	struct rig *rig = rig_new(ACT "[user *]\nmax_messages = 10\n");
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);
	struct agent *loud = agent_known(rig, 2, 400);
	struct gp_daemon_client *client = gp_daemon_host_client(rig->daemon, (u32)loud->pid);

	(void)state;
	for (int i = 0; i < 200; i++)
		agent_edge(loud, QUEUE, i % 2);
	rig_until(rig, client->watch.paused);
	assert_true(rig->daemon->stats.dropped_messages > 0);
	work(rig, low, true);
	work(rig, high, true);
	assert_true(fake_held(low->pid));
	/* Later it is heard again, and its last state is known although words were lost. */
	agent_edge(loud, QUEUE, true);
	rig_until(rig, client->queues[0].work == GP_SCHED_BUSY);
	rig_free(rig);
}

static void a_user_has_no_more_clients_and_queues_than_allowed(void **state)
{
	struct rig *rig = rig_new(ACT "[user *]\nmax_clients = 1\nmax_queues = 2\n");
	struct agent *first = agent_known(rig, 0, 1000), *second;
	struct gp_sched_stats stats;

	(void)state;
	second = agent_new(rig, 0, 1000);
	rig_until(rig, rig->daemon->stats.refused_clients == 1);
	assert_null(gp_daemon_host_client(rig->daemon, (u32)second->pid));
	first->queues = 5;
	agent_say(first, GP_MSG_AGENT_CHANGED, NULL, 0);
	rig_run(rig);
	gp_sched_stats(rig->daemon->sched, &stats);
	assert_int_equal(stats.queues, 2);
	rig_free(rig);
}

static void a_priority_that_was_changed_in_the_agent_is_noticed(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *agent = agent_known(rig, 0, 1000);

	(void)state;
	agent->memory->slot[QUEUE].logical_priority = 1000;
	work(rig, agent, true);
	agent->hello.priority = 1700;
	agent->memory->slot[QUEUE].logical_priority = 1700;
	work(rig, agent, false);
	assert_int_equal(job_of(rig, agent)->spec.priority, 1700);
	rig_free(rig);
}

#define RULE(priority) ACT "[rule low]\nexecutable = *\npriority = " priority "\n"

static void the_agent_learns_for_the_driver_what_a_rule_says(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *agent = agent_known(rig, 0, 1000);

	(void)state;
	rig_run(rig);
	assert_int_equal(agent->ruled_count, 0); /* its wish needs no words */
	reload_as(rig, RULE("300"));
	rig_until(rig, agent->ruled_count == 1);
	assert_int_equal(agent->ruled.value, 300);
	reload_as(rig, RULE("400"));
	rig_until(rig, agent->ruled_count == 2);
	assert_int_equal(agent->ruled.value, 400);
	reload_as(rig, "[daemon]\nmode = observe\n[rule low]\nexecutable = *\npriority = 400\n");
	rig_until(rig, agent->ruled_count == 3);
	assert_int_equal(agent->ruled.value, UINT32_MAX);
	rig_free(rig);
}

static void an_agent_that_does_not_know_rules_stays_a_client(void **state)
{
	struct rig *rig = rig_new(RULE("300"));
	struct agent *agent = agent_new(rig, 0, 1000);

	(void)state;
	agent->old_ruled = true;
	rig_until(rig, agent->ruled_count == 1);
	rig_run(rig);
	work(rig, agent, true);
	assert_int_equal(job_of(rig, agent)->spec.priority, 300);
	assert_int_equal(agent->ruled_count, 1);
	rig_free(rig);
}

static void a_restarted_daemon_finds_its_clients_again(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_known(rig, 1, 2000);

	(void)state;
	work(rig, low, true);
	work(rig, high, true);
	assert_true(fake_held(low->pid));
	rig_stop(rig);
	assert_false(fake_held(low->pid));
	agent_serve(low);
	agent_serve(high);
	rig_start(rig, ACT);
	/* Their work is in their memory. */
	rig_until(rig, fake_held(low->pid));
	assert_false(fake_held(high->pid));
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_agent_that_was_there_before_is_found),
		cmocka_unit_test(an_agent_that_comes_later_is_found_at_once),
		cmocka_unit_test(a_socket_that_nobody_listens_on_is_removed),
		cmocka_unit_test(one_user_cannot_fill_the_list_with_sockets),
		cmocka_unit_test(doubt_about_a_held_job_does_not_end_its_hold),
		cmocka_unit_test(a_link_to_a_socket_is_no_agent),
		cmocka_unit_test(a_client_that_ends_leaves_nothing),
		cmocka_unit_test(queues_that_come_and_go_are_followed),
		cmocka_unit_test(an_agent_that_cannot_show_yet_is_asked_again),
		cmocka_unit_test(memory_that_could_be_taken_away_is_not_mapped),
		cmocka_unit_test(what_is_no_message_ends_the_connection),
		cmocka_unit_test(a_count_that_is_not_there_is_not_believed),
		cmocka_unit_test(one_that_floods_before_it_is_known_is_not_listened_to),
		cmocka_unit_test(an_agent_of_another_version_is_left_alone),
		cmocka_unit_test(one_that_floods_is_slowed_down_and_the_others_are_not),
		cmocka_unit_test(a_user_has_no_more_clients_and_queues_than_allowed),
		cmocka_unit_test(a_priority_that_was_changed_in_the_agent_is_noticed),
		cmocka_unit_test(the_agent_learns_for_the_driver_what_a_rule_says),
		cmocka_unit_test(an_agent_that_does_not_know_rules_stays_a_client),
		cmocka_unit_test(a_restarted_daemon_finds_its_clients_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
