// SPDX-License-Identifier: MIT
/* See agent_scene.h. */
#include "agent_scene.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "holder/direct.h"

struct scene scene;
struct shown *shown;
char directory[64];
pid_t agents[AGENTS];

/* ---- an agent ---- */

static void send_queues(int fd, const struct gp_wire_message *message, const struct shown *me)
{
	u64 room[(sizeof(struct gp_proto_msg_queues) + 2 * sizeof(struct gp_proto_msg_queue)) / 8];
	struct gp_proto_msg_queues *queues = (void *)room;

	memset(room, 0, sizeof(room));
	for (u32 i = 0; i < 2; i++)
		queues->queues[i] = (struct gp_proto_msg_queue){.kfd_id = i,
								.gpu_id = 100,
								.valid = 1,
								.logical_priority = 777 + 100 * i,
								.state = (u32)me->suspended};
	queues->count = 2;
	gp_wire_send(fd, message->header.type, message->header.serial, 2, queues, sizeof(room), -1);
}

static void suspend_queues(int fd, const struct gp_wire_message *message, struct shown *me)
{
	const struct gp_proto_msg_suspend *body = (const void *)message->body;
	struct gp_proto_msg_done outcome = {.queues = 2, .processes = 1, .issue_ns = 1};
	struct gp_proto_msg changed = {.version = GP_PROTO_VERSION,
				       .type = GP_MSG_AGENT_CHANGED,
				       .size = sizeof(changed)};

	me->suspends += me->suspend_error != 0;
	if (me->suspend_error) {
		gp_wire_refuse(fd, &message->header, me->suspend_error, GP_SAY_DRIVER_REFUSED);
		return;
	}
	me->lease_ms = (int)body->lease_ms;
	me->owner = fd;
	me->suspended = 1;
	for (; me->flood; me->flood--)
		send(fd, &changed, sizeof(changed), MSG_NOSIGNAL);
	me->suspends++;
	gp_wire_send(fd, message->header.type, message->header.serial, 2, &outcome, sizeof(outcome),
		     -1);
}

static void resume_queues(int fd, const struct gp_wire_message *message, struct shown *me)
{
	struct gp_proto_msg_done outcome = {.queues = (u32)(2 * me->suspended),
					    .processes = 1,
					    .issue_ns = 1};

	me->suspended = 0;
	me->resumes++;
	gp_wire_send(fd, message->header.type, message->header.serial,
		     me->resume_error ? me->resume_error : (int)outcome.queues, &outcome,
		     sizeof(outcome), -1);
}

static void send_hello(int fd, const struct gp_wire_message *message, const struct shown *me,
		       const char *group)
{
	struct gp_proto_msg_hello hello = {.pid = 1, .priority = 777, .name = "fake-agent"};

	if (me->closes)
		shutdown(fd, SHUT_RDWR);
	snprintf(hello.group, sizeof(hello.group), "%s", group);
	gp_wire_send(fd, message->header.type, message->header.serial, 0, &hello, sizeof(hello),
		     -1);
}

static void refuse_version(int fd)
{
	struct gp_proto_msg refusal = {.version = 1,
				       .type = GP_MSG_HELLO,
				       .size = sizeof(refusal),
				       .status = -EPROTO};

	send(fd, &refusal, sizeof(refusal), MSG_NOSIGNAL);
}

/* Requests that are answered with a status only. */
static int take_value(const struct gp_wire_message *message, struct shown *me)
{
	const struct gp_proto_msg_value *value = (const void *)message->body;
	const struct gp_proto_msg_suspend *lease = (const void *)message->body;

	switch (message->header.type) {
	case GP_MSG_AGENT_RENEW:
		me->lease_ms = (int)lease->lease_ms;
		me->renewals++;
		return 0;
	case GP_MSG_AGENT_PRIORITY:
		me->priority = (int)value->value;
		return 0;
	case GP_MSG_AGENT_SHARE:
		me->share = (int)value->value;
		return 0;
	default:
		return -EPROTO;
	}
}

static void respond(int fd, const struct gp_wire_message *message, struct shown *me,
		    const char *group)
{
	if (me->old)
		refuse_version(fd);
	else if (message->header.type == GP_MSG_HELLO)
		send_hello(fd, message, me, group);
	else if (message->header.type == GP_MSG_AGENT_QUEUES)
		send_queues(fd, message, me);
	else if (message->header.type == GP_MSG_AGENT_SUSPEND)
		suspend_queues(fd, message, me);
	else if (message->header.type == GP_MSG_AGENT_RESUME)
		resume_queues(fd, message, me);
	else
		gp_wire_send(fd, message->header.type, message->header.serial,
			     take_value(message, me), NULL, 0, -1);
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

void start_late_agent(u32 index, const char *group, int gate)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char path[108], byte;

	shown[index] = (struct shown){0};
	agents[index] = fork();
	assert_true(agents[index] >= 0);
	if (agents[index])
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (gate >= 0)
		(void)!read(gate, &byte, 1);
	syscall(SYS_close_range, 3, ~0u,
		0); /* the test's sockets must end with the test's own copies */
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/agents/.%u", directory, index);
	snprintf(path, sizeof(path), "%s/agents/x%u.sock", directory, index);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 8) ||
	    rename(address.sun_path, path))
		_exit(1);
	shown[index].ready = 1;
	serve(fd, &shown[index], group);
}

void start_agent(u32 index, const char *group)
{
	start_late_agent(index, group, -1);
}

void agent_ready(u32 index)
{
	UNTIL(&scene, __atomic_load_n(&shown[index].ready, __ATOMIC_ACQUIRE));
}

void end_agent(u32 index)
{
	if (agents[index] > 0) {
		kill(agents[index], SIGKILL);
		waitpid(agents[index], NULL, 0);
	}
	agents[index] = 0;
}

void set(int *what, int value)
{
	__atomic_store_n(what, value, __ATOMIC_SEQ_CST);
}

/* ---- the scene ---- */

int agent_scene_open(void **state)
{
	char path[108];

	(void)state;
	assert_non_null(place_make(directory, sizeof(directory)));
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

int agent_scene_close(void **state)
{
	(void)state;
	scene_close(&scene);
	for (u32 i = 0; i < AGENTS; i++)
		end_agent(i);
	place_remove(directory);
	munmap(shown, AGENTS * sizeof(*shown));
	return 0;
}

int open_pid(struct client *client, pid_t pid, u32 mechanism)
{
	struct gp_proto_msg_open body = {.mechanism = mechanism};
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int status = ask(&scene, client, GP_MSG_OPEN, &body, sizeof(body), pidfd);

	close(pidfd);
	return status < 0 ? status
			  : (int)((const struct gp_proto_msg_opened *)client->message.body)->target;
}

int open_group(struct client *client, const char *group)
{
	struct gp_proto_msg_open body = {0};

	snprintf(body.group, sizeof(body.group), "%s", group);
	int status = ask(&scene, client, GP_MSG_OPEN, &body, sizeof(body), -1);
	return status < 0 ? status
			  : (int)((const struct gp_proto_msg_opened *)client->message.body)->target;
}

const struct gp_proto_msg_opened *opened(const struct client *client)
{
	return (const void *)client->message.body;
}

struct gp_holder_member *first_member(void)
{
	return gp_container(scene.holder.members.next, struct gp_holder_member, link);
}

u32 count_agents(void)
{
	const struct gp_list *at;
	u32 count = 0;

	gp_list_for_each (at, &scene.holder.agents)
		count++;
	return count;
}
