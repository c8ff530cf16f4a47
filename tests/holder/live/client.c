// SPDX-License-Identifier: MIT
/* A holder, and clients that speak its messages. */
#include "live.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "proto/directory.h"

#define CALL_MS 60000

void spawn_holder(struct live *live, const char *option, const char *value)
{
	char program[4096];
	const char *bin = getenv("GP_BIN");
	pid_t child;

	CHECK(bin);
	snprintf(program, sizeof(program), "%s/gpreempt-holder", bin);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(program, "gpreempt-holder", "--foreground", option, value, (char *)NULL);
		_exit(127);
	}
	live->holder = child;
}

pid_t start_holder(struct live *live, const char *option, const char *value)
{
	int fd = -1;

	spawn_holder(live, option, value);
	UNTIL(&live->self, (fd = gp_proto_directory_connect("holder.sock")) >= 0);
	close(fd);
	return live->holder;
}

static void note_event(const struct gp_wire_message *event, void *data)
{
	struct client *client = data;

	if (event->header.type == GP_MSG_EVENT && client->event_count < EVENTS_MAX)
		memcpy(&client->events[client->event_count++], event->body,
		       sizeof(struct gp_proto_msg_event));
}

s64 ask(struct client *client, u16 type, const void *body, size_t size, int fd)
{
	return gp_wire_call(client->fd, type, ++client->serial, body, size, fd, &client->message,
			    CALL_MS, note_event, client);
}

void begin(struct client *client, u16 type, const void *body, size_t size)
{
	EXPECT(gp_wire_send(client->fd, type, ++client->serial, 0, body, size, -1), 0);
}

s64 finish(struct client *client)
{
	for (;;) {
		EXPECT(gp_wire_receive(client->fd, &client->message, CALL_MS), 0);
		if (client->message.header.serial == client->serial)
			return client->message.header.status;
		note_event(&client->message, client);
	}
}

const char *reason(const struct client *client)
{
	static char text[512];

	text[0] = '\0';
	if (gp_wire_why(&client->message))
		gp_proto_reasons_text(gp_wire_why(&client->message), text, sizeof(text));
	return text;
}

struct client *connect_client(struct live *live)
{
	struct client *client = calloc(1, sizeof(*client));
	struct gp_proto_msg_hello hello = {.pid = (u32)getpid(), .name = "live"};

	(void)live;

	CHECK(client);
	UNTIL(&live->self, (client->fd = gp_proto_directory_connect("holder.sock")) >= 0);
	EXPECT(ask(client, GP_MSG_HELLO, &hello, sizeof(hello), -1), 0);
	return client;
}

void close_client(struct client *client)
{
	close(client->fd);
	free(client);
}

static s64 opened(const struct client *client, s64 status)
{
	const struct gp_proto_msg_opened *answer = (const void *)client->message.body;

	return status < 0 ? status : (s64)answer->target;
}

s64 open_pid(struct client *client, pid_t pid, u32 mechanism)
{
	struct gp_proto_msg_open body = {.mechanism = mechanism};
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	CHECK(pidfd >= 0);
	s64 status = ask(client, GP_MSG_OPEN, &body, sizeof(body), pidfd);
	close(pidfd);
	return opened(client, status);
}

s64 open_group(struct client *client, const char *group)
{
	struct gp_proto_msg_open body = {0};

	snprintf(body.group, sizeof(body.group), "%s", group);
	return opened(client, ask(client, GP_MSG_OPEN, &body, sizeof(body), -1));
}

static s64 change(struct client *client, u16 type, s64 target, u32 lease, u32 limit, int queue)
{
	u64 room[sizeof(struct gp_proto_msg_suspend) / 8 + 1] = {0};
	struct gp_proto_msg_suspend *body = (void *)room;

	*body = (struct gp_proto_msg_suspend){.target = (u32)target,
					      .lease_ms = lease,
					      .limit_ms = limit,
					      .timeout_ms = CALL_MS,
					      .count = queue >= 0};
	if (queue >= 0)
		body->ids[0] = (u32)queue;
	return ask(client, type, body, sizeof(*body) + (queue >= 0 ? sizeof(u32) : 0), -1);
}

s64 suspend(struct client *client, s64 target, u32 lease, u32 limit, int queue)
{
	return change(client, GP_MSG_SUSPEND, target, lease, limit, queue);
}

s64 resume(struct client *client, s64 target, int queue)
{
	return change(client, GP_MSG_RESUME, target, 0, 0, queue);
}

s64 renew(struct client *client, s64 target)
{
	struct gp_proto_msg_target body = {.target = (u32)target};

	return ask(client, GP_MSG_RENEW, &body, sizeof(body), -1);
}

struct gp_proto_msg_info target_info(struct client *client, s64 target)
{
	struct gp_proto_msg_target body = {.target = (u32)target};
	struct gp_proto_msg_info info;

	EXPECT(ask(client, GP_MSG_INFO, &body, sizeof(body), -1), 0);
	memcpy(&info, client->message.body, sizeof(info));
	return info;
}

/* ---- events ---- */

static bool find_event(struct client *client, u32 kind, pid_t pid, struct gp_proto_msg_event *out)
{
	for (u32 i = 0; i < client->event_count; i++)
		if (client->events[i].kind == kind && (!pid || client->events[i].pid == pid)) {
			*out = client->events[i];
			client->events[i] = client->events[--client->event_count];
			return true;
		}
	return false;
}

bool has_event(struct client *client, u32 kind)
{
	struct gp_proto_msg_event event;

	while (gp_wire_receive(client->fd, &client->message, 0) == 0)
		note_event(&client->message, client);
	return find_event(client, kind, 0, &event);
}

struct gp_proto_msg_event wait_event(struct client *client, u32 kind, pid_t pid)
{
	struct gp_proto_msg_event event;

	while (!find_event(client, kind, pid, &event)) {
		EXPECT(gp_wire_receive(client->fd, &client->message, CALL_MS), 0);
		note_event(&client->message, client);
	}
	return event;
}

/* ---- processes ---- */

void is_off(struct live *live, pid_t pid, u32 queues)
{
	for (u32 i = 0; i < queues; i++) {
		EXPECT(look_settled(&live->self, pid, i).suspended, 1);
		EXPECT(look(&live->self, pid, i).mapped, 0);
	}
}

void comes_on(struct live *live, pid_t pid, u32 queues)
{
	for (u32 i = 0; i < queues; i++)
		UNTIL(&live->self, look(&live->self, pid, i).mapped);
}

static bool status_line(pid_t pid, const char *key, char *out, size_t size)
{
	char path[64], line[256];
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key))) {
			snprintf(out, size, "%s",
				 line + strlen(key) + strspn(line + strlen(key), ":\t "));
			found = true;
		}
	if (file)
		fclose(file);
	return found;
}

pid_t tracer_of(pid_t pid)
{
	char text[64] = "-1";

	status_line(pid, "TracerPid", text, sizeof(text));
	return atoi(text);
}

char state_of(pid_t pid)
{
	char text[64] = "X";

	status_line(pid, "State", text, sizeof(text));
	return text[0];
}
