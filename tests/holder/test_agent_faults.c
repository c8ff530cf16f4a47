// SPDX-License-Identifier: MIT
/* Agents that are stopped, mute, of another version, or misbehave; sockets that are not agents. */
#include "agent_scene.h"

#include <sys/un.h>

#include "holder/direct.h"
#include "proto/directory.h"

/* A program that was started before an update: another mechanism takes it, or it runs on. */
static void an_agent_of_another_version_is_not_used(void **state)
{
	struct client *client = scene_client(&scene);

	(void)state;
	start_agent(0, "");
	agent_ready(0);
	shown[0].old = 1;
	assert_true(open_pid(client, agents[0], 0) > 0);
	assert_int_equal(opened(client)->mechanism, 2);
	assert_int_equal(opened(client)->why.count, 2);
	assert_int_equal(opened(client)->why.reason[0].code, GP_SAY_AGENT_VERSION);
	assert_int_equal(open_pid(client, agents[0], 1), -ENOENT);
	assert_int_equal(refusal(client), GP_SAY_AGENT_VERSION);
	assert_int_equal(shown[0].suspended, 0);
	client_close(client);
}

/* All who asked before the agent said so are answered. */
static void a_version_refused_late_is_another_mechanisms(void **state)
{
	struct client *a = scene_client(&scene), *b = scene_client(&scene);
	struct gp_proto_msg_open open = {0};

	(void)state;
	start_agent(0, "");
	agent_ready(0);
	shown[0].deaf = shown[0].old = 1;
	int pidfd = (int)syscall(SYS_pidfd_open, agents[0], 0);
	tell(a, GP_MSG_OPEN, &open, sizeof(open), pidfd);
	tell(b, GP_MSG_OPEN, &open, sizeof(open), pidfd);
	UNTIL(&scene, scene.holder.member_count && first_member()->jobs);
	first_member()->direct->until_ns = gp_monotonic_ns() + PATIENCE_NS;
	UNTIL(&scene, first_member()->jobs == 2);
	set(&shown[0].deaf, 0);
	assert_int_equal(answer(&scene, a), 0);
	assert_int_equal(opened(a)->mechanism, 2);
	assert_int_equal(opened(a)->why.reason[0].code, GP_SAY_AGENT_VERSION);
	assert_int_equal(answer(&scene, b), 0);
	assert_int_equal(opened(b)->mechanism, 2);
	close(pidfd);
	client_close(a);
	client_close(b);
}

/* When it was taken to work, because it did not answer at once. */
static void a_version_refused_after_the_opening(void **state)
{
	struct client *client = scene_client(&scene);

	(void)state;
	for (u32 i = 0; i < 2; i++) {
		start_agent(i, "");
		agent_ready(i);
		shown[i].deaf = shown[i].old = 1;
		int target = open_pid(client, agents[i], i);
		assert_int_equal(opened(client)->mechanism, 1);
		struct gp_proto_msg_suspend body = {.target = (u32)target,
						    .lease_ms = LONG_LEASE,
						    .limit_ms = LONG_LEASE,
						    .timeout_ms = 60000};
		tell(client, GP_MSG_SUSPEND, &body, sizeof(body), -1);
		set(&shown[i].deaf, 0);
		assert_int_equal(answer(&scene, client), i ? -ENOENT : FAKE_QUEUES);
		assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE),
				 i ? -ENOENT : FAKE_QUEUES);
		if (i)
			assert_int_equal(refusal(client), GP_SAY_AGENT_VERSION);
	}
	client_close(client);
}

static void an_agent_that_hangs_up_is_not_used(void **state)
{
	struct client *client = scene_client(&scene);

	(void)state;
	start_agent(0, "");
	agent_ready(0);
	shown[0].closes = 1;
	assert_true(open_pid(client, agents[0], 0) > 0);
	assert_int_equal(opened(client)->mechanism, 2);
	assert_int_equal(opened(client)->why.count, 2);
	assert_int_equal(opened(client)->why.reason[0].code, GP_SAY_AGENT_SILENT);
	assert_int_equal(open_pid(client, agents[0], 1), -ECONNREFUSED);
	assert_int_equal(refusal(client), GP_SAY_AGENT_SILENT);
	client_close(client);
}

/* Its own clock goes on, and says that it is held for long: what one asks for in vain ends nobody's
 * hold. */
static void one_that_does_not_answer_for_a_while_stays_held(void **state)
{
	struct client *by_hand = scene_client(&scene), *daemon = scene_client(&scene);

	(void)state;
	start_agent(0, "");
	agent_ready(0);
	int held = open_pid(by_hand, agents[0], 0), other = open_pid(daemon, agents[0], 0);
	assert_int_equal(suspend(&scene, by_hand, held, LONG_LEASE, LONG_LEASE), 2);
	assert_int_equal(suspend(&scene, daemon, other, LONG_LEASE, LONG_LEASE), 2);
	__atomic_store_n(&shown[0].deaf, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(target_call(&scene, daemon, GP_MSG_RENEW, other), 0);
	/* Until that was given up, which shows in the next one. */
	struct gp_holder_member *member =
		gp_container(scene.holder.members.next, struct gp_holder_member, link);
	assert_true(member->leasing);
	member->lease_again = true;
	UNTIL(&scene, !member->lease_again);
	assert_int_equal(target_call(&scene, by_hand, GP_MSG_INFO, held), 0);
	assert_int_equal(((struct gp_proto_msg_info *)by_hand->message.body)->mine, 1);
	assert_int_equal(shown[0].suspended, 1);
	end_agent(0); /* rather than wait for it once more */
	client_close(daemon);
	client_close(by_hand);
}

/* Stopped by its user while it was held: RESUME is given up, and the connection with it, which lets
 * go. The holder goes on, and the program stays that of its agent. */
static void a_stopped_program_times_out_its_resume(void **state)
{
	struct client *client = scene_client(&scene);
	struct gp_proto_msg_suspend body = {0};

	(void)state;
	start_agent(0, "");
	agent_ready(0);
	int target = open_pid(client, agents[0], 0);
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), 2);
	UNTIL(&scene, !first_member()->jobs);
	set(&shown[0].deaf, 1);
	body.target = (u32)target;
	tell(client, GP_MSG_RESUME, &body, sizeof(body), -1);
	UNTIL(&scene, first_member()->direct->step == GP_DIRECT_RESUMING);
	gp_holder_direct_job(first_member()->direct)->deadline_ns = 0; /* no other try */
	first_member()->direct->until_ns = gp_monotonic_ns();
	gp_holder_wake_at(&scene.holder, first_member()->direct->until_ns);
	assert_int_equal(answer(&scene, client), -ETIME);
	assert_null(first_member()->direct);
	set(&shown[0].deaf, 0);
	UNTIL(&scene, !shown[0].suspended);
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), 2);
	client_close(client);
}

/* The connection starts over, and the program stays that of its agent. */
static void a_resume_that_fails_keeps_the_agent(void **state)
{
	struct client *client = scene_client(&scene), *other = scene_client(&scene);

	(void)state;
	for (u32 mechanism = 0; mechanism < 2; mechanism++) {
		struct gp_proto_msg_open open = {.mechanism = mechanism};

		start_agent(mechanism, "");
		agent_ready(mechanism);
		pid_t pid = agents[mechanism];
		struct shown *me = &shown[mechanism];
		int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		int target = open_pid(client, pid, mechanism);
		assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), 2);
		set(&me->resume_error, -EPERM);
		assert_int_equal(resume(&scene, client, target), -EPERM);
		assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), 2);
		/* So do those who asked meanwhile. */
		struct gp_proto_msg_suspend body = {.target = (u32)target};
		set(&me->deaf, 1);
		tell(client, GP_MSG_RESUME, &body, sizeof(body), -1);
		UNTIL(&scene,
		      !gp_list_empty(&scene.holder.members) &&
			      gp_container(scene.holder.members.prev, struct gp_holder_member, link)
					      ->jobs == 1);
		assert_int_equal(ask(&scene, other, GP_MSG_OPEN, &open, sizeof(open), pidfd), 0);
		assert_int_equal(opened(other)->mechanism, 1);
		struct gp_proto_msg_suspend again = {.target = opened(other)->target,
						     .lease_ms = LONG_LEASE,
						     .limit_ms = LONG_LEASE};
		tell(other, GP_MSG_SUSPEND, &again, sizeof(again), -1);
		UNTIL(&scene, gp_container(scene.holder.members.prev, struct gp_holder_member, link)
					      ->jobs == 2);
		set(&me->deaf, 0);
		assert_int_equal(answer(&scene, client), -EPERM);
		assert_int_equal(answer(&scene, other), 2);
		assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), 2);
		close(pidfd);
	}
	client_close(other);
	client_close(client);
}

/* It is not another mechanism's until then: what it held was let go with its connection. */
static void an_agent_that_cannot_be_reached_is_waited_for(void **state)
{
	struct client *client = scene_client(&scene);
	char path[108], hidden[108];

	(void)state;
	snprintf(path, sizeof(path), "%s/agents/x0.sock", directory);
	snprintf(hidden, sizeof(hidden), "%s/agents/.hidden", directory);
	start_agent(0, "");
	agent_ready(0);
	int target = open_pid(client, agents[0], 0);
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), 2);
	set(&shown[0].resume_error, -EPERM);
	assert_int_equal(rename(path, hidden), 0);
	assert_int_equal(resume(&scene, client, target), -EPERM);
	UNTIL(&scene, !shown[0].suspended);
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), -ETIME);
	assert_int_equal(refusal(client), GP_SAY_NO_ANSWER);
	assert_int_equal(resume(&scene, client, target), 0);
	assert_int_equal(rename(hidden, path), 0);
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), 2);
	client_close(client);
}

/* An agent can only have its own program suspended anew, however often it says that queues came. */
static void a_flood_of_changes_is_one_change(void **state)
{
	struct client *client = scene_client(&scene);

	(void)state;
	start_agent(0, "");
	agent_ready(0);
	int target = open_pid(client, agents[0], 0);
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), 2);
	set(&shown[0].flood, 40000);
	struct gp_proto_msg_suspend body = {.target = (u32)target, .timeout_ms = 60000};
	tell(client, GP_MSG_SUSPEND, &body, sizeof(body), -1);
	UNTIL(&scene, first_member()->jobs);
	while (first_member()->direct->step == GP_DIRECT_STOPPING) {
		assert_in_range(first_member()->jobs, 1, 3); /* it, one more, a renewal */
		gp_holder_step(&scene.holder, -1);
	}
	/* Its client, which read none of it, was not cut off. */
	assert_int_equal(answer(&scene, client), 2);
	/* Once more for all changes; on a busy host the last of them may come after that. */
	UNTIL(&scene, shown[0].suspends >= 3 && !first_member()->jobs);
	client_close(client);
}

/* A program that is stopped: it has one connection of ours, however often we look. */
static void a_mute_agent_has_one_connection(void **state)
{
	struct client *client = scene_client(&scene);

	(void)state;
	start_agent(0, "job");
	shown[0].deaf = 1;
	agent_ready(0);
	assert_int_equal(open_pid(client, getpid(), 1), -ENOENT);
	assert_int_equal(count_agents(), 1);
	struct gp_holder_agent *agent =
		gp_container(scene.holder.agents.next, struct gp_holder_agent, link);
	agent->deadline_ns = gp_monotonic_ns();
	gp_holder_wake_at(&scene.holder, agent->deadline_ns);
	UNTIL(&scene, gp_list_empty(&scene.holder.agents) || agent->late);
	assert_int_equal(count_agents(), 1);
	assert_int_equal(open_pid(client, getpid(), 1), -ENOENT);
	/* The agent counts a connection when it accepts it, on a busy host some time after ours. */
	UNTIL(&scene, shown[0].connections);
	assert_int_equal(shown[0].connections, 1);
	/* It is known when it runs again. */
	set(&shown[0].deaf, 0);
	UNTIL(&scene, agent->greeted);
	client_close(client);
}

/* Sockets that killed programs left behind, and files that are none. */
static void rubbish_in_the_directory_is_ignored(void **state)
{
	struct client *client = scene_client(&scene);
	char path[128];

	(void)state;
	start_agent(0, "job");
	agent_ready(0);
	end_agent(0);
	snprintf(path, sizeof(path), "%s/agents/x5.sock", directory);
	close(open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600));
	assert_true(open_group(client, "job") > 0);
	assert_int_equal(opened(client)->process_count, 0);
	assert_int_equal(open_pid(client, getpid(), 1), -ENOENT);
	/* What is no socket is nobody's agent, and not ours to remove. */
	assert_int_equal(unlink(path), 0);
	client_close(client);
}

/* Anybody may put links into a directory for all users. */
static void a_link_to_an_agent_is_no_agent(void **state)
{
	struct client *client = scene_client(&scene);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char link[128];

	(void)state;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/elsewhere", directory);
	snprintf(link, sizeof(link), "%s/agents/%d-0.sock", directory, getpid());
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 8), 0);
	assert_int_equal(symlink(address.sun_path, link), 0);
	assert_true(open_group(client, "job") > 0);
	assert_int_equal(open_pid(client, getpid(), 1), -ENOENT);
	/* Nobody came. */
	assert_int_equal(accept4(listener, NULL, NULL, SOCK_CLOEXEC), -1);
	assert_int_equal(errno, EAGAIN);
	close(listener);
	unlink(link);
	unlink(address.sun_path);
	client_close(client);
}

/* A socket in the directory that takes no connection, e.g. of a program that was stopped. */
static void an_agent_that_takes_no_connection_holds_nobody_up(void **state)
{
	struct client *client = scene_client(&scene);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int full[8], count = 0, fd, listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)state;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/agents/full.sock", directory);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 1), 0);
	while ((fd = gp_proto_directory_try_connect("agents/full.sock")) >= 0 && count < 8)
		full[count++] = fd;
	assert_int_equal(fd, -EAGAIN);
	start_agent(0, "job");
	agent_ready(0);
	assert_true(open_group(client, "job") > 0);
	assert_int_equal(opened(client)->process_count, 1);
	/* Only its own process is asked for again; see AGENT_LOOKS. */
	u64 start_ns = gp_monotonic_ns();
	assert_int_equal(open_pid(client, getpid(), 1), -ENOENT);
	assert_true(gp_monotonic_ns() - start_ns < GP_NS_PER_S / 2);
	char own[128];
	snprintf(own, sizeof(own), "%s/agents/%d-0.sock", directory, getpid());
	assert_int_equal(rename(address.sun_path, own), 0);
	start_ns = gp_monotonic_ns();
	assert_int_equal(open_pid(client, getpid(), 1), -ENOENT);
	assert_true(gp_monotonic_ns() - start_ns >= GP_NS_PER_S / 2);
	unlink(own);
	while (count)
		close(full[--count]);
	close(listener);
	client_close(client);
}

/* What waits for a look at the agents ends with its process: nothing points to freed memory. */
static void a_client_that_leaves_while_an_agent_is_waited_for(void **state)
{
	struct client *client = scene_client(&scene);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct gp_proto_msg_open body = {0};
	int full[8], count = 0, fd, listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	char name[32];

	(void)state;
	snprintf(name, sizeof(name), "agents/%d-0.sock", getpid());
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", directory, name);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 1), 0);
	while ((fd = gp_proto_directory_try_connect(name)) >= 0 && count < 8)
		full[count++] = fd;
	assert_int_equal(fd, -EAGAIN);
	tell(client, GP_MSG_OPEN, &body, sizeof(body), pidfd);
	UNTIL(&scene, !gp_list_empty(&scene.holder.parked));
	client_close(client);
	UNTIL(&scene, !scene.holder.member_count);
	assert_true(gp_list_empty(&scene.holder.parked));
	unlink(address.sun_path);
	while (count)
		close(full[--count]);
	close(listener);
	close(pidfd);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, agent_scene_open, agent_scene_close)
	const struct CMUnitTest tests[] = {
		T(an_agent_of_another_version_is_not_used),
		T(a_version_refused_late_is_another_mechanisms),
		T(a_version_refused_after_the_opening),
		T(an_agent_that_hangs_up_is_not_used),
		T(one_that_does_not_answer_for_a_while_stays_held),
		T(a_stopped_program_times_out_its_resume),
		T(a_resume_that_fails_keeps_the_agent),
		T(an_agent_that_cannot_be_reached_is_waited_for),
		T(a_flood_of_changes_is_one_change),
		T(a_mute_agent_has_one_connection),
		T(rubbish_in_the_directory_is_ignored),
		T(a_link_to_an_agent_is_no_agent),
		T(an_agent_that_takes_no_connection_holds_nobody_up),
		T(a_client_that_leaves_while_an_agent_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
