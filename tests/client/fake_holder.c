// SPDX-License-Identifier: MIT
/*
 * A holder without GPUs, for tests of what speaks to one: it answers the messages of
 * proto/proto.h from a few lines of state and ends with its last client. A group's name scripts
 * it: "hang" never answers a suspension, "die" ends on one, "lose" loses its lease at once,
 * "forget" as well but without a word, "malformed" answers it with rubbish, "refused" cannot be
 * opened, "many" has 1300 queues, "shares" can share and shows it as its
 * priority. FAKE_HOLDER=fail, silent: does not start, with and without a word; old: speaks version
 * 1 of the protocol. An OPEN by mechanism kfd-module is answered when the priority of another
 * target is set: 4242 opens all that wait, 4243 refuses them. FAKE_HOLDER_MUTE: the programs do not
 * answer it, and it gives up at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/directory.h"
#include "proto/wire.h"

enum { CLIENTS = 64, TARGETS = 64, QUEUES = 3, MANY = 1300, SINCE = 1000000000 };

struct target {
	bool open, held, some;
	u32 flags;
	u32 share;
	s32 pid;
	char group[GP_PROTO_NAME];
};

struct client {
	int fd;
	pid_t pid;
	char name[GP_PROTO_NAME];
	struct target targets[TARGETS]; /* number 0 is none */
	struct {
		struct gp_proto_msg header;
		struct gp_proto_msg_open ask;
		s32 pid;
	} late[TARGETS];
	u32 late_count;
};

struct holder {
	struct client clients[CLIENTS];
	size_t count;
	u32 priority;
	struct gp_wire_message message;
};

static int pid_of(int pidfd)
{
	char path[64], line[128];
	int pid = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	FILE *file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "Pid: %d", &pid);
	if (file)
		fclose(file);
	return pid;
}

static void answer(struct client *client, const struct gp_proto_msg *to, int status,
		   const void *body, size_t size)
{
	gp_wire_send(client->fd, to->type, to->serial, status, body, size, -1);
}

static void open_target(struct client *client, const struct gp_proto_msg *header,
			const struct gp_proto_msg_open *ask, s32 pid)
{
	struct gp_proto_msg_opened opened = {.mechanism = ask->mechanism ? ask->mechanism : 2,
					     .process_count = 1,
					     .why = {1, {{.code = GP_SAY_DEBUG_WORKS}}}};

	if (strcmp(ask->group, "refused") == 0 || getenv("FAKE_HOLDER_REFUSES")) {
		gp_wire_refuse(client->fd, header, -EOPNOTSUPP, GP_SAY_NOT_BUILT_IN);
		return;
	}
	for (u32 i = 1; i < TARGETS; i++) {
		struct target *target = &client->targets[i];

		if (target->open)
			continue;
		*target = (struct target){.open = true, .pid = pid};
		gp_wire_text(target->group, sizeof(target->group), ask->group, sizeof(ask->group));
		opened.target = i;
		answer(client, header, 0, &opened, sizeof(opened));
		return;
	}
	gp_wire_refuse(client->fd, header, -ENOSPC, GP_SAY_TOO_MANY_TARGETS);
}

static void open_target_later(struct client *client, const struct gp_wire_message *m)
{
	const struct gp_proto_msg_open *ask = (const void *)m->body;
	s32 pid = m->fd >= 0 ? pid_of(m->fd) : 0;
	u32 at = client->late_count;

	if (ask->mechanism != GP_MECHANISM_KFD_MODULE || at == TARGETS) {
		open_target(client, &m->header, ask, pid);
		return;
	}
	client->late[at].header = m->header;
	client->late[at].ask = *ask;
	client->late[at].pid = pid;
	client->late_count++;
}

static void open_late(struct client *client, u32 how)
{
	if (how != 4242 && how != 4243)
		return;
	for (u32 i = 0; i < client->late_count; i++)
		if (how == 4242)
			open_target(client, &client->late[i].header, &client->late[i].ask,
				    client->late[i].pid);
		else
			gp_wire_refuse(client->fd, &client->late[i].header, -EOPNOTSUPP,
				       GP_SAY_NOT_BUILT_IN);
	client->late_count = 0;
}

static void send_queues(struct client *client, const struct gp_proto_msg *to,
			const struct target *target, u32 first)
{
	static u64 room[GP_PROTO_MAX / sizeof(u64)];
	struct gp_proto_msg_queues *out = (void *)room;
	u32 total = strcmp(target->group, "many") == 0 ? MANY : QUEUES;

	memset(room, 0, sizeof(room));
	for (u32 i = first; i < total && out->count < GP_PROTO_QUEUES; i++)
		out->queues[out->count++] =
			(struct gp_proto_msg_queue){.pid = target->pid,
						    .gpu_id = 0x1234,
						    .valid = 1 | 4,
						    .kfd_id = i,
						    .type = 2,
						    .state = target->held,
						    .ring = 0x7f0000000000 + (u64)i * 0x10000,
						    .ring_bytes = 0x10000,
						    .logical_priority = 1000,
						    .owner_pid = target->held ? client->pid : 0,
						    .since_ns = target->held ? SINCE : 0};
	answer(client, to, (int)total, out, sizeof(*out) + out->count * sizeof(out->queues[0]));
}

static void suspend(struct client *client, const struct gp_wire_message *m, struct target *target)
{
	const struct gp_proto_msg_suspend *ask = (const void *)m->body;
	struct gp_proto_msg_done done = {.issue_ns = 11, .driver_ns = 22, .processes = 1};
	struct gp_proto_msg_event lost = {.kind = GP_EVENT_LEASE_LOST, .target = ask->target};
	bool on = m->header.type == GP_MSG_SUSPEND;

	for (u32 i = 0; i < ask->count; i++) {
		if (ask->ids[i] >= MANY) {
			gp_wire_refuse(client->fd, &m->header, -ENOENT, GP_SAY_QUEUE_NAMED);
			return;
		}
	}
	if (on && strcmp(target->group, "hang") == 0)
		return;
	if (on && strcmp(target->group, "die") == 0)
		_exit(0);
	if (on && strcmp(target->group, "malformed") == 0) {
		answer(client, &m->header, 0, "?", 1);
		return;
	}
	if (on || target->held)
		done.queues = ask->count ? ask->count : QUEUES;
	if (on || !ask->count)
		target->held = on;
	target->some = on && ask->count;
	target->flags = on ? ask->flags : 0;
	answer(client, &m->header, (int)done.queues, &done, sizeof(done));
	if (on && strcmp(target->group, "forget") == 0)
		target->held = false;
	if (on && strcmp(target->group, "lose") == 0) {
		target->held = false;
		gp_wire_send(client->fd, GP_MSG_EVENT, 0, 0, &lost, sizeof(lost), -1);
	}
}

static void send_holds(struct holder *holder, struct client *client, const struct gp_proto_msg *to)
{
	static u64 room[GP_PROTO_MAX / sizeof(u64)];
	struct gp_proto_msg_holds *out = (void *)room;

	memset(room, 0, sizeof(room));
	for (size_t c = 0; c < holder->count; c++) {
		for (u32 i = 1; i < TARGETS && out->count < 64; i++) {
			const struct target *target = &holder->clients[c].targets[i];
			struct gp_proto_msg_hold *hold = &out->holds[out->count];

			if (!target->open || !target->held)
				continue;
			*hold = (struct gp_proto_msg_hold){.pid = target->pid,
							   .owner_pid = holder->clients[c].pid,
							   .mechanism = 2,
							   .queues = target->some,
							   .since_ns = SINCE,
							   .lease_ends_ns = SINCE + 100000000};
			memcpy(hold->owner, holder->clients[c].name, sizeof(hold->owner));
			out->count++;
		}
	}
	answer(client, to, (int)out->count, out, sizeof(*out) + out->count * sizeof(out->holds[0]));
}

static void release(struct holder *holder, struct client *client, const struct gp_proto_msg *to,
		    u32 pid)
{
	int count = 0;

	for (size_t c = 0; c < holder->count; c++) {
		for (u32 i = 1; i < TARGETS; i++) {
			struct target *target = &holder->clients[c].targets[i];
			struct gp_proto_msg_event lost = {.kind = GP_EVENT_LEASE_LOST,
							  .target = i,
							  .pid = target->pid};

			if (!target->held || (pid && (u32)target->pid != pid))
				continue;
			target->held = false;
			count++;
			gp_wire_send(holder->clients[c].fd, GP_MSG_EVENT, 0, 0, &lost, sizeof(lost),
				     -1);
		}
	}
	answer(client, to, count, NULL, 0);
}

/* Process 4711 of the group: held by this one, or not any more. */
static void say_elsewhere(struct client *client, const struct gp_proto_msg_value *by)
{
	struct gp_proto_msg_event event = {.kind = GP_EVENT_HELD_ELSEWHERE,
					   .target = by->target,
					   .pid = 4711,
					   .result = (s32)by->value};

	gp_wire_send(client->fd, GP_MSG_EVENT, 0, 0, &event, sizeof(event), -1);
}

static void handle_target(struct holder *holder, struct client *client,
			  const struct gp_wire_message *m, struct target *target)
{
	const struct gp_proto_msg_queues_ask *ask = (const void *)m->body;
	const struct gp_proto_msg_value *value = (const void *)m->body;
	struct gp_proto_msg_info info = {.mechanism = 2,
					 .process_count = 1,
					 .priority = holder->priority,
					 .suspended = target->held,
					 .mine = target->held,
					 .owner_count = target->held,
					 .owner_pid = target->held ? client->pid : 0,
					 .flags = target->flags,
					 .since_ns = target->held ? SINCE : 0,
					 .why = {1, {{.code = GP_SAY_DEBUG_WORKS}}}};

	for (size_t c = 0; c < holder->count; c++) {
		const struct client *other = &holder->clients[c];

		for (u32 i = 1; other != client && i < TARGETS; i++) {
			if (!other->targets[i].held || !target->pid ||
			    other->targets[i].pid != target->pid)
				continue;
			info.suspended = 1;
			info.owner_count++;
			info.owner_pid = info.mine ? info.owner_pid : other->pid;
		}
	}
	if (strcmp(target->group, "nobody") == 0) {
		info.process_count = 0;
		info.why.reason[0].code = GP_SAY_GROUP_EMPTY;
	}
	if (target->share)
		info.priority = target->share;
	if (getenv("FAKE_HOLDER_MUTE") &&
	    (m->header.type == GP_MSG_SUSPEND || m->header.type == GP_MSG_PRIORITY)) {
		gp_wire_refuse(client->fd, &m->header, -ETIME, GP_SAY_TIMED_OUT);
		return;
	}
	switch (m->header.type) {
	case GP_MSG_CLOSE:
		*target = (struct target){0};
		answer(client, &m->header, 0, NULL, 0);
		return;
	case GP_MSG_INFO:
		answer(client, &m->header, 0, &info, sizeof(info));
		return;
	case GP_MSG_QUEUES:
		send_queues(client, &m->header, target, ask->first);
		return;
	case GP_MSG_SUSPEND:
	case GP_MSG_RESUME:
		suspend(client, m, target);
		return;
	case GP_MSG_RENEW:
		if (getenv("FAKE_HOLDER") && strcmp(getenv("FAKE_HOLDER"), "forget") == 0)
			target->held = false;
		if (target->held)
			answer(client, &m->header, 0, NULL, 0);
		else
			gp_wire_refuse(client->fd, &m->header, -ENOLCK, GP_SAY_LEASE_ENDED);
		return;
	case GP_MSG_PRIORITY:
		holder->priority = value->value;
		open_late(client, value->value);
		answer(client, &m->header, 0, NULL, 0);
		if (strcmp(target->group, "elsewhere") == 0)
			say_elsewhere(client, value);
		return;
	case GP_MSG_SHARE:
		if (strcmp(target->group, "hang") == 0)
			return;
		if (strcmp(target->group, "shares") == 0) {
			target->share = value->value;
			answer(client, &m->header, 0, NULL, 0);
			return;
		}
		gp_wire_refuse(client->fd, &m->header, -EOPNOTSUPP, GP_SAY_CANNOT, "kfd-debug");
		return;
	default:
		gp_wire_refuse(client->fd, &m->header, -ENOSYS, GP_SAY_UNKNOWN_REQUEST);
	}
}

static void handle(struct holder *holder, struct client *client, const struct gp_wire_message *m)
{
	const struct gp_proto_msg_target *body = (const void *)m->body;
	const struct gp_proto_msg_hello *hello = (const void *)m->body;
	struct gp_proto_msg_hello back = {.pid = (u32)getpid(), .name = "fake_holder"};

	if (getenv("FAKE_HOLDER") && strcmp(getenv("FAKE_HOLDER"), "old") == 0) {
		struct gp_proto_msg old = {.version = 1,
					   .type = GP_MSG_HELLO,
					   .size = sizeof(old),
					   .status = -EPROTO};

		send(client->fd, &old, sizeof(old), MSG_NOSIGNAL);
	} else if (m->header.type == GP_MSG_HELLO) {
		memcpy(client->name, hello->name, sizeof(client->name));
		answer(client, &m->header, 0, &back, sizeof(back));
	} else if (m->header.type == GP_MSG_OPEN) {
		open_target_later(client, m);
	} else if (m->header.type == GP_MSG_HOLDS) {
		send_holds(holder, client, &m->header);
	} else if (m->header.type == GP_MSG_RELEASE) {
		release(holder, client, &m->header, body->target);
	} else if (body->target < TARGETS && client->targets[body->target].open) {
		handle_target(holder, client, m, &client->targets[body->target]);
	} else {
		gp_wire_refuse(client->fd, &m->header, -EBADF, GP_SAY_NO_TARGET);
	}
}

static void serve(struct holder *holder, int listener)
{
	do {
		struct pollfd fds[CLIENTS + 1] = {{.fd = listener, .events = POLLIN}};

		for (size_t i = 0; i < holder->count; i++)
			fds[i + 1] = (struct pollfd){.fd = holder->clients[i].fd, .events = POLLIN};
		if (poll(fds, holder->count + 1, -1) < 0)
			return;
		for (size_t i = holder->count; i-- > 0;) {
			if (!fds[i + 1].revents)
				continue;
			int error = gp_wire_receive(holder->clients[i].fd, &holder->message, 0);
			if (!error) {
				handle(holder, &holder->clients[i], &holder->message);
				if (holder->message.fd >= 0)
					close(holder->message.fd);
			} else if (error != -EAGAIN) {
				close(holder->clients[i].fd);
				holder->clients[i] = holder->clients[--holder->count];
			}
		}
		if (fds[0].revents && holder->count < CLIENTS) {
			struct client *client = &holder->clients[holder->count];
			uid_t uid;

			*client = (struct client){.fd = accept(listener, NULL, NULL)};
			if (client->fd >= 0 && gp_wire_peer(client->fd, &client->pid, &uid) == 0)
				holder->count++;
		}
	} while (holder->count || getenv("FAKE_HOLDER_STAYS"));
}

/* Until who has the lock says that it listens, by writing its number, or ends. */
static void await_other(int lock, int changes)
{
	char text[16] = "", events[4096];
	int pid = pread(lock, text, sizeof(text) - 1, 0) > 0 ? atoi(text) : 0;
	struct pollfd fds[] = {{.fd = changes, .events = POLLIN},
			       {.fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1,
				.events = POLLIN}};

	/* One that is killed before it wrote is found by the time-out. */
	poll(fds, 2, 1000);
	(void)!read(changes, events, sizeof(events));
	if (fds[1].fd >= 0)
		close(fds[1].fd);
}

/* The lock file, locked; -1: another holder is there, or it cannot be had. *why: 0 or 1. */
static int lock_directory(int *why)
{
	char path[108];

	*why = 1;
	if (gp_proto_directory_path(path, sizeof(path), "holder.lock", 1) < 0)
		return -1;
	int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (lock < 0 || inotify_add_watch(changes, path, IN_MODIFY) < 0)
		return -1;
	while (flock(lock, LOCK_EX | LOCK_NB) < 0) {
		if (gp_proto_directory_connect("holder.sock") >= 0) {
			*why = 0;
			return -1;
		}
		await_other(lock, changes);
	}
	close(changes);
	return lock;
}

int main(void)
{
	static struct holder holder = {.priority = 1000};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *how = getenv("FAKE_HOLDER");

	if (how && strcmp(how, "fail") == 0) {
		fprintf(stderr, "it was told not to\n");
		return 1;
	}
	if (how && strcmp(how, "silent") == 0)
		return 0;
	int ready[2], why, lock = lock_directory(&why);
	char byte;
	if (lock < 0)
		return why;
	if (pipe2(ready, O_CLOEXEC) < 0 ||
	    gp_proto_directory_path(address.sun_path, sizeof(address.sun_path), "holder.sock", 1) <
		    0)
		return 1;
	if (fork() > 0) {
		close(ready[1]);
		return read(ready[0], &byte, 1) == 1 ? 0 : 1;
	}
	setsid();
	unlink(address.sun_path);
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(listener, 64) < 0 || ftruncate(lock, 0) < 0 ||
	    dprintf(lock, "%d\n", (int)getpid()) < 0 || write(ready[1], "", 1) != 1)
		return 1;
	close(ready[1]);
	freopen("/dev/null", "w", stderr);
	serve(&holder, listener);
	/* Unlocked by the end; the next one removes the socket. */
	return 0;
}
