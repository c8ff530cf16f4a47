// SPDX-License-Identifier: MIT
/* The mechanism kfd-agent: which processes it takes, and what it asks of an agent. */
#include "agent_scene.h"

#include <sys/resource.h>
#include <sys/un.h>

static void auto_takes_the_agent_and_says_why(void **state)
{
	struct client *client = scene_client(&scene);

	(void)state;
	start_agent(0, "");
	agent_ready(0);
	assert_true(open_pid(client, agents[0], 0) > 0);
	assert_int_equal(opened(client)->mechanism, 1);
	assert_int_equal(opened(client)->why.count, 1);
	assert_int_equal(opened(client)->why.reason[0].code, GP_SAY_AGENT_WORKS);
	/* Asked for the other: that one. */
	assert_true(open_pid(client, agents[0], 2) > 0);
	assert_int_equal(opened(client)->mechanism, 2);
	/* A process without an agent: the next mechanism, and why not the first. */
	assert_true(open_pid(client, getpid(), 0) > 0);
	assert_int_equal(opened(client)->mechanism, 2);
	assert_int_equal(opened(client)->why.count, 2);
	assert_int_equal(opened(client)->why.reason[0].code, GP_SAY_AGENT_NONE);
	assert_int_equal(opened(client)->why.reason[1].code, GP_SAY_DEBUG_WORKS);
	client_close(client);
}

static void an_agent_has_one_connection_for_all(void **state)
{
	struct client *a = scene_client(&scene), *b = scene_client(&scene);
	int group, one;

	(void)state;
	start_agent(0, "job");
	agent_ready(0);
	one = open_pid(a, agents[0], 0);
	group = open_group(b, "job");
	assert_true(one > 0 && group > 0);
	assert_int_equal(suspend(&scene, a, one, LONG_LEASE, LONG_LEASE), 2);
	assert_int_equal(suspend(&scene, b, group, LONG_LEASE, LONG_LEASE), 2);
	assert_int_equal(shown[0].connections, 1);
	client_close(a);
	assert_int_equal(target_call(&scene, b, GP_MSG_INFO, group), 0);
	assert_int_equal(shown[0].suspended, 1);
	client_close(b);
	UNTIL(&scene, shown[0].suspended == 0);
}

/* Opened before its agent was there: until something is attached the choice is open. */
static void a_late_agent_is_taken(void **state)
{
	struct client *client = scene_client(&scene);
	int hold[2];

	(void)state;
	assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
	start_late_agent(0, "", hold[0]);
	int target = open_pid(client, agents[0], 0);
	assert_int_equal(opened(client)->mechanism, 2);
	assert_int_equal(write(hold[1], "x", 1), 1); /* now it listens */
	agent_ready(0);
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), 2);
	assert_int_equal(shown[0].suspended, 1);
	assert_int_equal(target_call(&scene, client, GP_MSG_INFO, target), 0);
	assert_int_equal(((struct gp_proto_msg_info *)client->message.body)->mechanism, 1);
	/* Who asks for the other one gets it, and a worker of its own. */
	assert_true(open_pid(client, agents[0], 2) > 0);
	assert_int_equal(opened(client)->mechanism, 2);
	assert_int_equal(scene.holder.member_count, 2);
	close(hold[0]);
	close(hold[1]);
	client_close(client);
}

static void the_agent_does_the_work(void **state)
{
	struct client *client = scene_client(&scene);
	struct gp_proto_msg_value value = {.value = 300};
	struct gp_proto_msg_queues_ask which = {0};

	(void)state;
	start_agent(0, "");
	agent_ready(0);
	int target = open_pid(client, agents[0], 0);
	assert_int_equal(suspend(&scene, client, target, 30000, LONG_LEASE), 2);
	assert_int_equal(shown[0].suspended, 1);
	assert_int_equal(shown[0].lease_ms, 30000);
	assert_int_equal(target_call(&scene, client, GP_MSG_RENEW, target), 0);
	UNTIL(&scene, shown[0].renewals == 1);
	which.target = (u32)target;
	assert_int_equal(ask(&scene, client, GP_MSG_QUEUES, &which, sizeof(which), -1), 2);
	const struct gp_proto_msg_queues *list = (const void *)client->message.body;
	assert_int_equal(list->queues[0].state, 1);
	assert_int_equal(list->queues[0].pid, agents[0]);
	assert_int_equal(list->queues[0].owner_pid, getpid());
	/* What it was started with, though nobody asked for its group. */
	assert_int_equal(list->queues[0].logical_priority, 777);
	assert_int_equal(list->queues[1].logical_priority, 877); /* of a high stream */
	assert_int_equal(target_call(&scene, client, GP_MSG_INFO, target), 0);
	assert_int_equal(((struct gp_proto_msg_info *)client->message.body)->priority, 777);
	value.target = (u32)target;
	assert_int_equal(ask(&scene, client, GP_MSG_SHARE, &value, sizeof(value), -1), 0);
	assert_int_equal(shown[0].share, 300);
	assert_int_equal(ask(&scene, client, GP_MSG_PRIORITY, &value, sizeof(value), -1), 0);
	UNTIL(&scene, shown[0].priority == 300);
	assert_int_equal(resume(&scene, client, target), 2);
	assert_int_equal(shown[0].suspended, 0);
	/* Without anything held nothing is asked of it. */
	assert_int_equal(resume(&scene, client, target), 0);
	assert_int_equal(shown[0].resumes, 1);
	client_close(client);
}

/* The agent has it then: a holder that holds nothing ends. */
static void a_priority_that_an_agent_has_does_not_keep_the_holder(void **state)
{
	struct client *client = scene_client(&scene);
	struct gp_proto_msg_value value = {.value = 300};
	int target;

	(void)state;
	start_agent(0, "");
	agent_ready(0);
	target = open_pid(client, agents[0], 0);
	value.target = (u32)target;
	assert_int_equal(ask(&scene, client, GP_MSG_PRIORITY, &value, sizeof(value), -1), 0);
	assert_int_equal(shown[0].priority, 300);
	assert_int_equal(target_call(&scene, client, GP_MSG_INFO, target), 0);
	assert_int_equal(((struct gp_proto_msg_info *)client->message.body)->priority, 300);
	client_close(client);
	scene.holder.options.idle_ms = 1;
	UNTIL(&scene, scene.holder.ending);
	assert_int_equal(kill(agents[0], 0), 0);
}

/* A program that is stopped takes no share; what is asked of the others is answered meanwhile. */
static void nothing_waits_for_a_share_that_is_not_taken(void **state)
{
	struct client *client = scene_client(&scene);
	struct gp_proto_msg_value value = {.value = 300};
	int gate[2];

	(void)state;
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	start_agent(0, "");
	agent_ready(0);
	int slow = open_self(&scene, client, 0), target = open_pid(client, agents[0], 0);
	fake.gate = gate[0];
	value.target = (u32)slow;
	tell(client, GP_MSG_SHARE, &value, sizeof(value), -1);
	UNTIL(&scene, fake.share == 300);
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), 2);
	assert_int_equal(resume(&scene, client, target), 2);
	assert_int_equal(target_call(&scene, client, GP_MSG_CLOSE, target), 0);
	close(gate[1]); /* read() ends from now on */
	client_close(client);
	UNTIL(&scene, !scene.holder.connection_count);
	fake.gate = -1;
	close(gate[0]);
}

static void a_cut_connection_lets_go_at_the_agent(void **state)
{
	struct client *client = scene_client(&scene);

	(void)state;
	start_agent(0, "");
	agent_ready(0);
	int target = open_pid(client, agents[0], 0);
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), 2);
	client_close(client);
	UNTIL(&scene, shown[0].suspended == 0);
	UNTIL(&scene, shown[0].connections == 0);
}

/* An agent refuses a shorter one; the end of the hold is kept here. */
static void the_rest_of_a_lease_is_never_too_short(void **state)
{
	struct client *client = scene_client(&scene);

	(void)state;
	start_agent(0, "");
	agent_ready(0);
	int target = open_pid(client, agents[0], 0);
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), 2);
	struct gp_holder_hold *hold = &gp_holder_linked_target(first_member()->links.next)->hold;
	hold->lease_ends_ns = gp_monotonic_ns() + GP_NS_PER_MS;
	assert_int_equal(gp_holder_member_apply(first_member(), NULL, false, NULL, 0), 0);
	hold->lease_ends_ns = GP_NEVER;
	UNTIL(&scene, shown[0].suspends == 2 && !first_member()->jobs);
	assert_int_equal(shown[0].lease_ms, GP_LEASE_MIN_MS);
	client_close(client);
}

/* The limit is on agents that nothing was asked of. */
static void one_agent_too_many_is_controlled(void **state)
{
	struct client *client = scene_client(&scene);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct rlimit files, more;
	int fds[GP_HOLDER_AGENTS_USER];

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	more = files;
	more.rlim_cur = GP_MIN(files.rlim_max, (rlim_t)4096);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &more), 0);
	for (u32 i = 0; i < GP_HOLDER_AGENTS_USER; i++) {
		snprintf(address.sun_path, sizeof(address.sun_path), "%s/agents/n%u.sock",
			 directory, i);
		fds[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		assert_int_equal(bind(fds[i], (struct sockaddr *)&address, sizeof(address)), 0);
		assert_int_equal(listen(fds[i], 8), 0);
	}
	assert_true(open_pid(client, getpid(), 1) > 0);
	assert_int_equal(count_agents(), GP_HOLDER_AGENTS_USER);
	start_agent(0, "");
	start_agent(1, "");
	agent_ready(0);
	agent_ready(1);
	int target = open_pid(client, agents[0], 0);
	assert_int_equal(opened(client)->mechanism, 1);
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), 2);
	assert_int_equal(count_agents(), GP_HOLDER_AGENTS_USER + 1);
	for (u32 i = 0; i < GP_HOLDER_AGENTS_USER; i++) {
		snprintf(address.sun_path, sizeof(address.sun_path), "%s/agents/n%u.sock",
			 directory, i);
		unlink(address.sun_path);
		close(fds[i]);
	}
	client_close(client);
	UNTIL(&scene, count_agents() == 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, agent_scene_open, agent_scene_close)
	const struct CMUnitTest tests[] = {
		T(auto_takes_the_agent_and_says_why),
		T(an_agent_has_one_connection_for_all),
		T(a_late_agent_is_taken),
		T(the_agent_does_the_work),
		T(a_priority_that_an_agent_has_does_not_keep_the_holder),
		T(nothing_waits_for_a_share_that_is_not_taken),
		T(a_cut_connection_lets_go_at_the_agent),
		T(the_rest_of_a_lease_is_never_too_short),
		T(one_agent_too_many_is_controlled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
