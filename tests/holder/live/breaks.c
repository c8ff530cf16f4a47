// SPDX-License-Identifier: MIT
/* What ends a suspension when nobody asks for it: every way a promise could break. */
#include "live.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "proto/directory.h"

#define SHORT 50 /* ms, the shortest lease */

static s64 hold(struct live *live, struct client *client, pid_t pid, u32 lease, u32 limit)
{
	s64 id = open_pid(client, pid, DEBUG);

	(void)live;
	CHECK(id > 0);
	EXPECT(suspend(client, id, lease, limit, -1), 1);
	return id;
}

static void lease_ends(struct live *live)
{
	struct actor target = start_target(1, 1);
	struct client *client;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	s64 id = hold(live, client, target.pid, SHORT, LONG_LEASE);
	comes_on(live, target.pid, 1);
	EXPECT(wait_event(client, GP_EVENT_LEASE_LOST, target.pid).target, id);
	EXPECT(renew(client, id), -ENOLCK);
	EXPECT(target_info(client, id).suspended, 0);
	EXPECT(resume(client, id, -1), 0);
}

static void limit_ends(struct live *live)
{
	struct actor target = start_target(1, 1);
	struct client *client;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	s64 id = hold(live, client, target.pid, LONG_LEASE, SHORT);
	/* Renewals and repeats do not move it. */
	do {
		renew(client, id);
		EXPECT(suspend(client, id, LONG_LEASE, SHORT, -1), 1);
	} while (!has_event(client, GP_EVENT_LEASE_LOST));
	comes_on(live, target.pid, 1);
}

static void limit_frees_a_destroy(struct live *live)
{
	struct actor target = start_target(1, 2);
	struct client *client;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	s64 id = open_pid(client, target.pid, 0);
	EXPECT(suspend(client, id, LONG_LEASE, 1000, -1), 2);
	BEGIN(&target, do_destroy, 1);
	EXPECT(actor_end(&target), 0); /* after the limit, not before: the driver blocks it */
	wait_event(client, GP_EVENT_LEASE_LOST, target.pid);
	comes_on(live, target.pid, 1);
}

static void socket_cut(struct live *live)
{
	struct actor target = start_target(1, 1);
	struct client *client;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	hold(live, client, target.pid, LONG_LEASE, LONG_LEASE);
	close_client(client);
	comes_on(live, target.pid, 1);
	UNTIL(&live->self, tracer_of(target.pid) == 0);
}

static void holder_killed(struct live *live)
{
	struct actor target = start_target(1, 1);
	struct client *client;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	hold(live, client, target.pid, LONG_LEASE, LONG_LEASE);
	EXPECT(kill(live->holder, SIGKILL), 0);
	comes_on(live, target.pid, 1);
	EXPECT(waitpid(live->holder, NULL, 0), live->holder);
	/* The next one finds everything in order. */
	close_client(client);
	start_holder(live, NULL, NULL);
	client = connect_client(live);
	s64 id = hold(live, client, target.pid, LONG_LEASE, LONG_LEASE);
	is_off(live, target.pid, 1);
	EXPECT(resume(client, id, -1), 1);
}

static void holder_hung(struct live *live)
{
	struct actor target = start_target(1, 1);
	struct client *client;
	int status;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	hold(live, client, target.pid, 500, LONG_LEASE);
	EXPECT(kill(live->holder, SIGSTOP), 0);
	/* Its guardian kills it; the driver does the rest. */
	EXPECT(waitpid(live->holder, &status, 0), live->holder);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	live->holder = 0;
	comes_on(live, target.pid, 1);
}

/* The child whose name is the guardian's. */
static pid_t guardian_of(pid_t holder)
{
	char path[64], text[4096] = "";
	pid_t child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)holder, (int)holder);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t size = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (size <= 0)
		return 0;
	child = (pid_t)atol(text);
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)child);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1); /* it may be ending */
	if (fd >= 0)
		close(fd);
	if (size <= 0 || strncmp(text, "gpreempt-guard", 14))
		child = 0;
	return child;
}

static void guardian_is_replaced(struct live *live)
{
	struct actor target = start_target(1, 1);
	struct client *client;
	pid_t first = 0, second = 0;
	int status;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	hold(live, client, target.pid, 1000, LONG_LEASE);
	UNTIL(&live->self, (first = guardian_of(live->holder)) != 0);
	EXPECT(kill(first, SIGKILL), 0);
	UNTIL(&live->self, (second = guardian_of(live->holder)) != 0 && second != first);
	EXPECT(kill(live->holder, SIGSTOP), 0);
	EXPECT(waitpid(live->holder, &status, 0), live->holder);
	CHECK(WIFSIGNALED(status));
	live->holder = 0;
	comes_on(live, target.pid, 1);
}

static void holder_told_to_end(struct live *live)
{
	struct actor target = start_target(1, 1);
	char path[128];
	int status;

	start_holder(live, NULL, NULL);
	hold(live, connect_client(live), target.pid, LONG_LEASE, LONG_LEASE);
	EXPECT(kill(live->holder, SIGTERM), 0);
	EXPECT(waitpid(live->holder, &status, 0), live->holder);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	live->holder = 0;
	comes_on(live, target.pid, 1);
	EXPECT(tracer_of(target.pid), 0);
	snprintf(path, sizeof(path), "%s/holder.sock", live->directory);
	EXPECT(access(path, F_OK), -1);
}

/* 1: its first client is there and was greeted; 0: it has ended before, with this status. */
static int greeted_in_time(struct live *live, struct client *client, int *status)
{
	struct gp_proto_msg_hello hello = {.pid = (u32)getpid(), .name = "live"};
	u64 limit = deadline();

	while ((client->fd = gp_proto_directory_connect("holder.sock")) < 0) {
		CHECK(!past(limit));
		if (waitpid(live->holder, status, WNOHANG) == live->holder)
			return 0;
	}
	if (ask(client, GP_MSG_HELLO, &hello, sizeof(hello), -1) == 0)
		return 1;
	close(client->fd);
	EXPECT(waitpid(live->holder, status, 0), live->holder);
	return 0;
}

/* One that nobody comes to in time has ended as it should, too; another is started then. */
static void holder_ends_when_idle(struct live *live)
{
	struct client *client = calloc(1, sizeof(*client));
	u64 limit = deadline();
	int status = 0;

	CHECK(client);
	spawn_holder(live, "--idle", "200ms");
	while (!greeted_in_time(live, client, &status)) {
		CHECK(!past(limit) && WIFEXITED(status) && WEXITSTATUS(status) == 0);
		spawn_holder(live, "--idle", "200ms");
	}
	EXPECT(kill(live->holder, 0), 0);
	close_client(client);
	EXPECT(waitpid(live->holder, &status, 0), live->holder);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	live->holder = 0;
}

static void one_holder(struct live *live)
{
	pid_t first = start_holder(live, NULL, NULL), second;
	int status;

	second = start_holder(live, NULL, NULL);
	EXPECT(waitpid(second, &status, 0), second);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	live->holder = first;
	close_client(connect_client(live));
	EXPECT(kill(first, 0), 0);
}

static void release_frees_all(struct live *live)
{
	struct actor first = start_target(1, 1), second = start_target(1, 1);
	struct client *owner, *other;
	struct gp_proto_msg_target body = {0};

	start_holder(live, NULL, NULL);
	owner = connect_client(live);
	other = connect_client(live);
	hold(live, owner, first.pid, LONG_LEASE, LONG_LEASE);
	hold(live, owner, second.pid, LONG_LEASE, LONG_LEASE);
	EXPECT(ask(other, GP_MSG_HOLDS, &body, sizeof(body), -1), 2);
	const struct gp_proto_msg_holds *holds = (const void *)other->message.body;
	EXPECT(holds->count, 2);
	EXPECT(holds->holds[0].pid, first.pid);
	EXPECT(holds->holds[0].owner_pid, getpid());
	EXPECT(strcmp(holds->holds[0].owner, "live"), 0);
	body.target = (u32)first.pid;
	EXPECT(ask(other, GP_MSG_RELEASE, &body, sizeof(body), -1), 1);
	wait_event(owner, GP_EVENT_LEASE_LOST, first.pid);
	comes_on(live, first.pid, 1);
	is_off(live, second.pid, 1);
	body.target = 0;
	EXPECT(ask(other, GP_MSG_RELEASE, &body, sizeof(body), -1), 1);
	comes_on(live, second.pid, 1);
}

const struct live_row live_breaks[] = {
	{"a lease that is not renewed ends", lease_ends, EVERYWHERE},
	{"the limit ends a suspension whatever is renewed", limit_ends, EVERYWHERE},
	{"a target that destroys a suspended queue goes on at the limit", limit_frees_a_destroy,
	 EVERYWHERE},
	{"a connection's end lets go", socket_cut, EVERYWHERE},
	{"a killed holder lets go, and the next one works", holder_killed, EVERYWHERE},
	{"a hung holder is ended by its guardian", holder_hung, EVERYWHERE},
	{"a killed guardian is replaced", guardian_is_replaced, EVERYWHERE},
	{"SIGTERM lets everything go", holder_told_to_end, EVERYWHERE},
	{"a holder without clients ends", holder_ends_when_idle, EVERYWHERE},
	{"there is one holder", one_holder, EVERYWHERE},
	{"HOLDS shows and RELEASE frees what others hold", release_frees_all, EVERYWHERE},
	{0},
};
