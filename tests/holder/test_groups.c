// SPDX-License-Identifier: MIT
/* Groups: their members are suspended together, also those that come later. */
#include "agent_scene.h"

#include <sys/un.h>

static void members_are_suspended_together(void **state)
{
	struct client *client = scene_client(&scene);

	(void)state;
	for (u32 i = 0; i < 4; i++)
		start_agent(i, i < 3 ? "job" : "other");
	for (u32 i = 0; i < 4; i++)
		agent_ready(i);
	int target = open_group(client, "job");
	assert_true(target > 0);
	assert_int_equal(opened(client)->process_count, 3);
	assert_int_equal(opened(client)->mechanism, 1);
	assert_int_equal(target_call(&scene, client, GP_MSG_INFO, open_group(client, "none")), 0);
	assert_int_equal(((struct gp_proto_msg_info *)client->message.body)->why.reason[0].code,
			 GP_SAY_GROUP_EMPTY);
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), 6);
	const struct gp_proto_msg_done *outcome = (const void *)client->message.body;
	assert_int_equal(outcome->processes, 3);
	assert_int_equal(outcome->queues, 6);
	assert_true(outcome->skew_ns > 0);
	for (u32 i = 0; i < 4; i++)
		assert_int_equal(shown[i].suspended, i < 3);
	assert_int_equal(target_call(&scene, client, GP_MSG_INFO, target), 0);
	assert_int_equal(((struct gp_proto_msg_info *)client->message.body)->priority, 777);
	assert_int_equal(resume(&scene, client, target), 6);
	for (u32 i = 0; i < 4; i++)
		assert_int_equal(shown[i].suspended, 0);
	client_close(client);
}

static void a_late_member_is_caught(void **state)
{
	struct client *client = scene_client(&scene);

	(void)state;
	int target = open_group(client, "job");
	assert_true(target > 0);
	assert_int_equal(opened(client)->process_count, 0);
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), 0);
	start_agent(0, "job");
	start_agent(1, "other");
	assert_int_equal(wait_event(&scene, client, GP_EVENT_JOINED).pid, agents[0]);
	UNTIL(&scene, shown[0].suspended);
	agent_ready(1);
	assert_int_equal(shown[1].suspended, 0);
	assert_int_equal(resume(&scene, client, target), 2);
	assert_int_equal(shown[0].suspended, 0);
	client_close(client);
}

static void a_late_member_gets_the_groups_share(void **state)
{
	struct client *client = scene_client(&scene);
	struct gp_proto_msg_value body = {.value = 250};

	(void)state;
	start_agent(0, "job");
	agent_ready(0);
	body.target = (u32)open_group(client, "job");
	assert_int_equal(ask(&scene, client, GP_MSG_SHARE, &body, sizeof(body), -1), 0);
	assert_int_equal(shown[0].share, 250);
	start_agent(1, "job");
	assert_int_equal(wait_event(&scene, client, GP_EVENT_JOINED).pid, agents[1]);
	UNTIL(&scene, shown[1].share == 250);
	client_close(client);
}

static void a_dead_member_is_forgotten(void **state)
{
	struct client *client = scene_client(&scene);

	(void)state;
	for (u32 i = 0; i < 2; i++)
		start_agent(i, "job");
	for (u32 i = 0; i < 2; i++)
		agent_ready(i);
	int target = open_group(client, "job");
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), 4);
	pid_t dead = agents[0];
	end_agent(0);
	assert_int_equal(wait_event(&scene, client, GP_EVENT_GONE).pid, dead);
	assert_int_equal(shown[1].suspended, 1);
	/* The others are held as before. */
	assert_int_equal(target_call(&scene, client, GP_MSG_RENEW, target), 0);
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), 2);
	assert_int_equal(resume(&scene, client, target), 2);
	client_close(client);
}

/* One that does not even say who it is does not keep the others waiting for ever. */
static void a_deaf_agent_is_left_out(void **state)
{
	struct client *client = scene_client(&scene);

	(void)state;
	start_agent(0, "job");
	start_agent(1, "job");
	shown[1].deaf = 1; /* reset by start_agent() before the fork: stays set */
	agent_ready(0);
	agent_ready(1);
	int target = open_group(client, "job");
	assert_true(target > 0);
	assert_int_equal(opened(client)->process_count, 1);
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), 2);
	client_close(client);
}

/* Another user's agent in a directory for all: it is left while the group is being opened. */
static void a_strangers_agent_does_not_end_the_opening(void **state)
{
	struct client *client = scene_client(&scene);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)state;
	if (geteuid() != 0) {
		close(listener);
		client_close(client);
		skip();
	}
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/agents/other.sock", directory);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	/* The kernel names who called listen(). */
	assert_int_equal(seteuid(65534), 0);
	int result = listen(listener, 8);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(result, 0);
	assert_true(open_group(client, "job") > 0);
	assert_int_equal(opened(client)->process_count, 0);
	close(listener);
	client_close(client);
}

/* Ranks on several GPUs, of which one hangs or was reset: the others must not wait for it. */
static void a_group_of_which_one_does_not_stop_runs(void **state)
{
	static const int errors[] = {-EIO, -ENODEV};
	struct client *client = scene_client(&scene);

	(void)state;
	for (u32 i = 0; i < 3; i++) {
		start_agent(i, "job");
		agent_ready(i);
	}
	int group = open_group(client, "job");
	assert_int_equal(opened(client)->process_count, 3);
	for (size_t i = 0; i < GP_ARRAY_SIZE(errors); i++) {
		int before = shown[1].suspends;

		set(&shown[1].suspend_error, errors[i]);
		assert_int_equal(suspend(&scene, client, group, LONG_LEASE, LONG_LEASE), errors[i]);
		assert_true(refusal(client) != GP_SAY_NOTHING);
		assert_true(shown[1].suspends > before);
		assert_true(shown[0].suspends > 0 && shown[2].suspends > 0);
		UNTIL(&scene, !shown[0].suspended && !shown[2].suspended);
		assert_int_equal(target_call(&scene, client, GP_MSG_RENEW, group), -ENOLCK);
	}
	set(&shown[1].suspend_error, 0);
	assert_int_equal(suspend(&scene, client, group, LONG_LEASE, LONG_LEASE), 6);
	client_close(client);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, agent_scene_open, agent_scene_close)
	const struct CMUnitTest tests[] = {
		T(members_are_suspended_together),
		T(a_late_member_is_caught),
		T(a_late_member_gets_the_groups_share),
		T(a_dead_member_is_forgotten),
		T(a_deaf_agent_is_left_out),
		T(a_strangers_agent_does_not_end_the_opening),
		T(a_group_of_which_one_does_not_stop_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
