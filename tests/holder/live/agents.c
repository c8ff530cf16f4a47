// SPDX-License-Identifier: MIT
/*
 * The mechanism kfd-agent with the real agent: run as `gpreempt run --group job -- live agent`, so
 * that every actor that creates a queue has one.
 */
#include "live.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "proto/directory.h"

#define AGENT 1 /* GPREEMPT_KFD_AGENT */

/* Percentage 0, not DBG_TRAP's flag. */
static void is_disabled(struct live *live, pid_t pid, u32 queues)
{
	for (u32 i = 0; i < queues; i++) {
		EXPECT(look_settled(&live->self, pid, i).mapped, 0);
		EXPECT(look(&live->self, pid, i).percentage, 0);
		EXPECT(look(&live->self, pid, i).suspended, 0);
	}
}

static void the_agent_is_taken(struct live *live)
{
	struct actor target = start_target(0, 2);
	struct client *client;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	s64 id = open_pid(client, target.pid, 0);
	CHECK(id > 0);
	EXPECT(((const struct gp_proto_msg_opened *)client->message.body)->mechanism, AGENT);
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, -1), 2);
	is_disabled(live, target.pid, 2);
	EXPECT(tracer_of(target.pid), 0);
	/* One that comes now does not run either. */
	EXPECT(DO(&target, do_create, COMPUTE), 2);
	EXPECT(DO(&target, do_submit, 2, 1000), 0);
	is_disabled(live, target.pid, 3);
	EXPECT(DO(&target, do_read_index, 2), 0);
	EXPECT(resume(client, id, -1), 3);
	comes_on(live, target.pid, 3);
	UNTIL(&live->self, look(&live->self, target.pid, 2).completed == 1);
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, 1), 1);
	EXPECT(look_settled(&live->self, target.pid, 0).mapped, 1);
	EXPECT(look_settled(&live->self, target.pid, 1).mapped, 0);
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, 9), -ENOENT);
	EXPECT(resume(client, id, -1), 1);
}

static void holder_killed(struct live *live)
{
	struct actor target = start_target(0, 1);
	struct client *client;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	s64 id = open_pid(client, target.pid, AGENT);
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, -1), 1);
	EXPECT(kill(live->holder, SIGKILL), 0);
	comes_on(live, target.pid, 1);
	EXPECT(waitpid(live->holder, NULL, 0), live->holder);
	live->holder = 0;
}

static void holder_hung(struct live *live)
{
	struct actor target = start_target(0, 1);
	struct client *client;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	s64 id = open_pid(client, target.pid, AGENT);
	EXPECT(suspend(client, id, 500, LONG_LEASE, -1), 1);
	EXPECT(kill(live->holder, SIGSTOP), 0);
	comes_on(live, target.pid, 1); /* the agent's own clock, or the guardian's kill */
}

static void lease_ends(struct live *live)
{
	struct actor target = start_target(0, 1);
	struct client *client;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	s64 id = open_pid(client, target.pid, AGENT);
	EXPECT(suspend(client, id, 50, LONG_LEASE, -1), 1);
	wait_event(client, GP_EVENT_LEASE_LOST, target.pid);
	comes_on(live, target.pid, 1);
}

static void a_group(struct live *live)
{
	struct actor first = start_target(0, 1), second = start_target(0, 2), third;
	struct client *client;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	s64 id = open_group(client, "job");
	CHECK(id > 0);
	EXPECT(((const struct gp_proto_msg_opened *)client->message.body)->process_count, 2);
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, -1), 3);
	EXPECT(((const struct gp_proto_msg_done *)client->message.body)->processes, 2);
	is_disabled(live, first.pid, 1);
	is_disabled(live, second.pid, 2);
	third = start_target(0, 1);
	wait_event(client, GP_EVENT_JOINED, third.pid);
	UNTIL(&live->self, !look(&live->self, third.pid, 0).mapped);
	actor_kill(&live->self, &second);
	wait_event(client, GP_EVENT_GONE, second.pid);
	EXPECT(resume(client, id, -1), 2);
	comes_on(live, first.pid, 1);
	comes_on(live, third.pid, 1);
}

static void a_stopped_target(struct live *live)
{
	struct actor target = start_target(0, 1);
	struct client *client;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	s64 id = open_pid(client, target.pid, AGENT);
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, -1), 1);
	EXPECT(resume(client, id, -1), 1);
	EXPECT(kill(target.pid, SIGSTOP), 0);
	UNTIL(&live->self, state_of(target.pid) == 'T');
	struct gp_proto_msg_suspend body = {.target = (u32)id,
					    .lease_ms = LONG_LEASE,
					    .timeout_ms = 1};
	EXPECT(ask(client, GP_MSG_SUSPEND, &body, sizeof(body), -1), -ETIME);
	EXPECT(renew(client, id), -ENOLCK);
	/* When it goes on it is not suspended by what we gave up. */
	EXPECT(kill(target.pid, SIGCONT), 0);
	EXPECT(DO(&target, do_submit, 0, 1000), 0);
	UNTIL(&live->self, look(&live->self, target.pid, 0).completed == 1);
}

/* The agent of the only program, as another user's holder connects to it. */
static int connect_to_agent(const struct live *live)
{
	static struct gp_wire_message message;
	struct gp_proto_msg_hello hello = {.pid = (u32)getpid(), .name = "another"};
	char path[300] = "";
	struct dirent *entry;
	int fd;

	snprintf(path, sizeof(path), "%s/agents", live->directory);
	DIR *list = opendir(path);
	CHECK(list);
	while ((entry = readdir(list)))
		if (strstr(entry->d_name, ".sock"))
			snprintf(path, sizeof(path), "agents/%s", entry->d_name);
	closedir(list);
	fd = gp_proto_directory_try_connect(path);
	CHECK(fd >= 0);
	EXPECT(gp_wire_call(fd, GP_MSG_HELLO, 1, &hello, sizeof(hello), -1, &message, 60000, NULL,
			    NULL),
	       0);
	return fd;
}

static void held_by_another_holder(struct live *live)
{
	static struct gp_wire_message message;
	struct gp_proto_msg_suspend body = {.lease_ms = LONG_LEASE, .limit_ms = LONG_LEASE};
	struct actor target = start_target(0, 1);
	struct client *client, *late;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	CHECK(open_pid(client, target.pid, AGENT) > 0);
	int other = connect_to_agent(live);
	EXPECT(gp_wire_call(other, GP_MSG_AGENT_SUSPEND, 2, &body, sizeof(body), -1, &message,
			    60000, NULL, NULL),
	       1);
	EXPECT(wait_event(client, GP_EVENT_HELD_ELSEWHERE, target.pid).result, getpid());
	late = connect_client(live);
	CHECK(open_pid(late, target.pid, AGENT) > 0);
	EXPECT(wait_event(late, GP_EVENT_HELD_ELSEWHERE, target.pid).result, getpid());
	close(other);
	EXPECT(wait_event(client, GP_EVENT_HELD_ELSEWHERE, target.pid).result, 0);
	EXPECT(wait_event(late, GP_EVENT_HELD_ELSEWHERE, target.pid).result, 0);
}

/* As in a container: its own pid and mounts, the directory at another place. */
static void in_a_container(struct live *live)
{
	struct client *client;
	char inside[64];

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	CHECK(place_make(inside, sizeof(inside)));
	if (unshare(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET)) {
		rmdir(inside);
		return; /* not allowed to */
	}
	CHECK(!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CHECK(!mount(live->directory, inside, NULL, MS_BIND, NULL));
	setenv("GPREEMPT_DIR", inside, 1);
	struct actor target = start_target(0, 1);
	s64 id = open_pid(client, target.pid, 0);
	CHECK(id > 0);
	EXPECT(((const struct gp_proto_msg_opened *)client->message.body)->mechanism, AGENT);
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, -1), 1);
	is_disabled(live, target.pid, 1);
	EXPECT(resume(client, id, -1), 1);
	s64 group = open_group(client, "job");
	CHECK(group > 0);
	EXPECT(suspend(client, group, LONG_LEASE, LONG_LEASE, -1), 1);
	is_disabled(live, target.pid, 1);
	actor_kill(&live->self, &target);
	wait_event(client, GP_EVENT_GONE, target.pid);
	CHECK(!umount2(inside, MNT_DETACH));
	rmdir(inside);
}

const struct live_row live_agents[] = {
	{"agent: taken where there is one, new queues included", the_agent_is_taken, EVERYWHERE},
	{"agent: a killed holder lets go", holder_killed, EVERYWHERE},
	{"agent: a hung holder costs the lease", holder_hung, EVERYWHERE},
	{"agent: a lease ends", lease_ends, EVERYWHERE},
	{"agent: a group is stopped together, late ones too", a_group, EVERYWHERE},
	{"agent: a hold of another holder is heard", held_by_another_holder, EVERYWHERE},
	{"agent: a process in a container", in_a_container, EVERYWHERE},
	{"agent: a stopped process is given up on", a_stopped_target, EVERYWHERE},
	{0},
};
