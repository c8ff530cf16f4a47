// SPDX-License-Identifier: MIT
/* Groups and the mechanism kfd-agent, with agents that are processes of a few lines. */
#include "scene.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "holder/direct.h"
#include "proto/directory.h"

#define AGENTS 6

/* What an agent shows of itself, in memory shared with the test. */
struct shown {
	int ready, suspended, suspends, resumes, renewals, lease_ms, priority, share, connections;
	int owner;        /* descriptor of the connection that suspended it */
	int deaf;         /* set by the test: it does not answer any more */
	int old;          /* set by the test: it speaks version 1 of the protocol */
	int closes;       /* set by the test: it ends a connection that says HELLO */
	int resume_error; /* set by the test: outcome of RESUME */
	int flood;        /* set by the test: CHANGED it sends before it answers SUSPEND */
};

static struct scene scene;
static struct shown *shown;
static char directory[64];
static pid_t agents[AGENTS];

/* ---- an agent ---- */

static void respond(int fd, struct gp_wire_message *message, struct shown *me, const char *group)
{
	const struct gp_proto_msg_suspend *suspend_body = (const void *)message->body;
	struct gp_proto_msg_hello hello = {.pid = 1, .priority = 777, .name = "fake-agent"};
	static u64
		room[(sizeof(struct gp_proto_msg_queues) + 2 * sizeof(struct gp_proto_msg_queue)) /
		     8];
	struct gp_proto_msg_queues *queues = (void *)room;
	struct gp_proto_msg_done outcome = {.queues = 2, .processes = 1, .issue_ns = 1};
	struct gp_proto_msg changed = {.version = GP_PROTO_VERSION,
				       .type = GP_MSG_AGENT_CHANGED,
				       .size = sizeof(changed)};
	const void *body = NULL;
	size_t size = 0;
	int status = 0;

	if (me->old) {
		struct gp_proto_msg refusal = {.version = 1,
					       .type = GP_MSG_HELLO,
					       .size = sizeof(refusal),
					       .status = -EPROTO};

		send(fd, &refusal, sizeof(refusal), MSG_NOSIGNAL);
		return;
	}
	switch (message->header.type) {
	case GP_MSG_HELLO:
		if (me->closes)
			shutdown(fd, SHUT_RDWR);
		snprintf(hello.group, sizeof(hello.group), "%s", group);
		body = &hello;
		size = sizeof(hello);
		break;
	case GP_MSG_AGENT_QUEUES:
		for (u32 i = 0; i < 2; i++)
			queues->queues[i] =
				(struct gp_proto_msg_queue){.kfd_id = i,
							    .gpu_id = 100,
							    .valid = 1,
							    .logical_priority = 777 + 100 * i,
							    .state = (u32)me->suspended};
		queues->count = 2;
		body = queues;
		size = sizeof(room);
		status = 2;
		break;
	case GP_MSG_AGENT_SUSPEND:
		me->lease_ms = (int)suspend_body->lease_ms;
		me->owner = fd;
		me->suspended = 1;
		for (; me->flood; me->flood--)
			send(fd, &changed, sizeof(changed), MSG_NOSIGNAL);
		me->suspends++;
		body = &outcome;
		size = sizeof(outcome);
		status = 2;
		break;
	case GP_MSG_AGENT_RESUME:
		outcome.queues = (u32)(2 * me->suspended);
		status = (int)outcome.queues;
		me->suspended = 0;
		me->resumes++;
		body = &outcome;
		size = sizeof(outcome);
		if (me->resume_error)
			status = me->resume_error;
		break;
	case GP_MSG_AGENT_RENEW:
		me->lease_ms = (int)suspend_body->lease_ms;
		me->renewals++;
		break;
	case GP_MSG_AGENT_PRIORITY:
		me->priority = (int)((const struct gp_proto_msg_value *)(const void *)message->body)
				       ->value;
		break;
	case GP_MSG_AGENT_SHARE:
		me->share = (int)((const struct gp_proto_msg_value *)(const void *)message->body)
				    ->value;
		break;
	default:
		status = -EPROTO;
	}
	gp_wire_send(fd, message->header.type, message->header.serial, status, body, size, -1);
}

static void serve(int listener, struct shown *me, const char *group)
{
	static struct gp_wire_message message;
	struct pollfd fds[16] = {{.fd = listener, .events = POLLIN}};
	nfds_t count = 1;

	for (;;) {
		poll(fds, count, -1);
		if (fds[0].revents && count < 16) {
			fds[count++] = (struct pollfd){.fd = accept(listener, NULL, NULL),
						       .events = POLLIN};
			me->connections++;
		}
		for (nfds_t i = 1; i < count; i++) {
			if (!fds[i].revents || me->deaf)
				continue;
			if (gp_wire_receive(fds[i].fd, &message, 0) == 0) {
				respond(fds[i].fd, &message, me, group);
				continue;
			}
			/* As the real one: who goes lets go. */
			if (fds[i].fd == me->owner)
				me->suspended = 0;
			close(fds[i].fd);
			fds[i] = fds[--count];
			me->connections--;
			break;
		}
	}
}

/* It listens when a byte comes out of the gate; -1: at once. */
static void start_late_agent(u32 index, const char *group, int gate)
{
	char byte;

	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char path[108];

	shown[index] = (struct shown){0};
	agents[index] = fork();
	assert_true(agents[index] >= 0);
	if (agents[index])
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (gate >= 0)
		(void)!read(gate, &byte, 1);
	close_range(3, ~0u, 0); /* the test's sockets must end with the test's own copies */
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/agents/.%u", directory, index);
	snprintf(path, sizeof(path), "%s/agents/x%u.sock", directory, index);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 8) ||
	    rename(address.sun_path, path))
		_exit(1);
	shown[index].ready = 1;
	serve(fd, &shown[index], group);
}

static void start_agent(u32 index, const char *group)
{
	start_late_agent(index, group, -1);
}

static void agent_ready(u32 index)
{
	UNTIL(&scene, __atomic_load_n(&shown[index].ready, __ATOMIC_ACQUIRE));
}

static void end_agent(u32 index)
{
	if (agents[index] > 0) {
		kill(agents[index], SIGKILL);
		waitpid(agents[index], NULL, 0);
	}
	agents[index] = 0;
}

/* ---- the tests' own ---- */

static int fresh(void **state)
{
	char path[108];

	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/gpgroups-XXXXXX");
	assert_non_null(mkdtemp(directory));
	setenv("GPREEMPT_DIR", directory, 1);
	snprintf(path, sizeof(path), "%s/agents", directory);
	assert_int_equal(mkdir(path, 0700), 0);
	shown = mmap(NULL, AGENTS * sizeof(*shown), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(shown, MAP_FAILED);
	scene_open(&scene, false);
	scene.mechanisms[0] = &gp_holder_agent_control;
	scene.mechanisms[1] = &fake_ops;
	return 0;
}

static int done(void **state)
{
	char path[128];

	(void)state;
	scene_close(&scene);
	for (u32 i = 0; i < AGENTS; i++) {
		end_agent(i);
		snprintf(path, sizeof(path), "%s/agents/x%u.sock", directory, i);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/agents", directory);
	rmdir(path);
	rmdir(directory);
	munmap(shown, AGENTS * sizeof(*shown));
	return 0;
}

static int open_pid(struct client *client, pid_t pid, u32 mechanism)
{
	struct gp_proto_msg_open body = {.mechanism = mechanism};
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int status = ask(&scene, client, GP_MSG_OPEN, &body, sizeof(body), pidfd);

	close(pidfd);
	return status < 0 ? status
			  : (int)((const struct gp_proto_msg_opened *)client->message.body)->target;
}

static int open_group(struct client *client, const char *group)
{
	struct gp_proto_msg_open body = {0};

	snprintf(body.group, sizeof(body.group), "%s", group);
	int status = ask(&scene, client, GP_MSG_OPEN, &body, sizeof(body), -1);
	return status < 0 ? status
			  : (int)((const struct gp_proto_msg_opened *)client->message.body)->target;
}

static const struct gp_proto_msg_opened *opened(const struct client *client)
{
	return (const void *)client->message.body;
}

/* ---- kfd-agent ---- */

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

static struct gp_holder_member *first_member(void)
{
	return gp_container(scene.holder.members.next, struct gp_holder_member, link);
}

static void set(int *what, int value)
{
	__atomic_store_n(what, value, __ATOMIC_SEQ_CST);
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
	UNTIL(&scene, shown[0].suspends == 3 && !first_member()->jobs);
	client_close(client);
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
		tell(other, GP_MSG_OPEN, &open, sizeof(open), pidfd);
		UNTIL(&scene, gp_container(scene.holder.members.prev, struct gp_holder_member, link)
					      ->jobs == 2);
		set(&me->deaf, 0);
		assert_int_equal(answer(&scene, client), -EPERM);
		assert_int_equal(answer(&scene, other), 0);
		assert_int_equal(opened(other)->mechanism, 1);
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

/* ---- groups ---- */

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

static u32 count_agents(void)
{
	const struct gp_list *at;
	u32 count = 0;

	gp_list_for_each (at, &scene.holder.agents)
		count++;
	return count;
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
	assert_int_equal(shown[0].connections, 1);
	/* It is known when it runs again. */
	set(&shown[0].deaf, 0);
	UNTIL(&scene, agent->greeted);
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

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fresh, done)
	const struct CMUnitTest tests[] = {
		T(auto_takes_the_agent_and_says_why),
		T(an_agent_of_another_version_is_not_used),
		T(an_agent_has_one_connection_for_all),
		T(a_late_agent_is_taken),
		T(the_agent_does_the_work),
		T(one_that_does_not_answer_for_a_while_stays_held),
		T(nothing_waits_for_a_share_that_is_not_taken),
		T(a_cut_connection_lets_go_at_the_agent),
		T(a_flood_of_changes_is_one_change),
		T(the_rest_of_a_lease_is_never_too_short),
		T(a_resume_that_fails_keeps_the_agent),
		T(an_agent_that_cannot_be_reached_is_waited_for),
		T(a_version_refused_late_is_another_mechanisms),
		T(a_version_refused_after_the_opening),
		T(an_agent_that_hangs_up_is_not_used),
		T(members_are_suspended_together),
		T(a_late_member_is_caught),
		T(a_late_member_gets_the_groups_share),
		T(a_dead_member_is_forgotten),
		T(a_deaf_agent_is_left_out),
		T(rubbish_in_the_directory_is_ignored),
		T(a_link_to_an_agent_is_no_agent),
		T(an_agent_that_takes_no_connection_holds_nobody_up),
		T(a_mute_agent_has_one_connection),
		T(one_agent_too_many_is_controlled),
		T(a_strangers_agent_does_not_end_the_opening),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
