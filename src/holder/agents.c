// SPDX-License-Identifier: MIT
/*
 * Programs with an agent: the directory of their sockets is looked at when a process is opened, and
 * followed from the first group on. Each agent is asked once for its group, and the connection is
 * kept: its end is the end of the program, and jobs go over it (direct.c).
 */
#include "base/core.h"
#include "holder/direct.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proto/directory.h"

#define HELLO_NS GP_NS_PER_S
#define AGAIN_NS 100000000ull /* until one that took no connection is tried again */

/* By the name of its socket, or (NULL) by its process. */
static struct gp_holder_agent *find(struct gp_holder *holder, const char *name, u32 pid)
{
	gp_list_each (struct gp_holder_agent, agent, link, &holder->agents) {
		/* One whose member ends is about to be closed. */
		if ((name ? !strcmp(agent->name, name) : (u32)agent->pid == pid) &&
		    !(agent->member && agent->member->stopping))
			return agent;
	}
	return NULL;
}

/* The OPEN that still waits for members to say who they are. */
static struct gp_holder_request *opening(struct gp_holder_target *target)
{
	gp_list_each (struct gp_holder_request, request, link, &target->connection->requests) {
		if (request->target == target && request->type == GP_MSG_OPEN && !request->answered)
			return request;
	}
	return NULL;
}

/* Answers the OPENs of groups that only waited for agents to answer HELLO. */
static void settle(struct gp_holder *holder)
{
	struct gp_list *c;

	if (!gp_holder_agents_settled(holder))
		return;
	gp_list_for_each (c, &holder->connections)
		gp_list_each (struct gp_holder_target, target, link,
			      &gp_container(c, struct gp_holder_connection, link)->targets) {
			struct gp_holder_request *request =
				target->group[0] ? opening(target) : NULL;

			if (request && !request->waiting)
				gp_holder_request_finish(request);
		}
}

void gp_holder_agent_remove(struct gp_holder_agent *agent)
{
	struct gp_holder *holder = agent->holder;

	gp_loop_unwatch(&holder->loop, &agent->watch);
	gp_list_remove(&agent->link);
	if (agent->member)
		gp_holder_direct_lost(agent->member, agent->refused && !agent->greeted);
	free(agent);
	settle(holder);
}

static void agent_ready(struct gp_watch *watch, u32 events);

static u32 agents_of(const struct gp_holder *holder, uid_t uid)
{
	const struct gp_list *at;
	u32 count = 0;

	gp_list_for_each (at, &holder->agents)
		count += gp_container(at, struct gp_holder_agent, link)->uid == uid;
	return count;
}

static void add(void *data, const char *agents, const char *name)
{
	struct gp_holder *holder = data;
	struct gp_proto_msg_hello hello = {.pid = (u32)getpid(), .name = "gpreempt-holder"};
	char socket[108];
	unsigned int owner;
	struct gp_holder_agent *agent;
	int fd;

	if (find(holder, name, 0))
		return;
	if ((size_t)snprintf(socket, sizeof(socket), "%s/%s", agents, name) >= sizeof(socket))
		return;
	if (gp_proto_directory_owner(socket, &owner) || !gp_wire_agent_allowed(owner))
		return;
	fd = gp_proto_directory_connect_owned(socket);
	agent = fd < 0 ? NULL : calloc(1, sizeof(*agent));
	if (!agent) {
		if (fd >= 0)
			close(fd);
		/* Another user's is not waited for. */
		if (fd == -EAGAIN && owner == geteuid()) {
			holder->wanted_busy |= strtoul(name, NULL, 10) == holder->wanted;
			if (!holder->look_again_ns)
				holder->look_again_ns = gp_monotonic_ns() + AGAIN_NS;
			gp_holder_wake_at(holder, holder->look_again_ns);
		}
		/* Left behind by a program that was killed: agents listen before they are seen. */
		if (fd == -ECONNREFUSED)
			unlink(socket);
		return;
	}
	agent->holder = holder;
	agent->deadline_ns = gp_monotonic_ns() + HELLO_NS;
	snprintf(agent->name, sizeof(agent->name), "%s", name);
	gp_list_add_tail(&holder->agents, &agent->link);
	if (gp_loop_watch(&holder->loop, &agent->watch, fd, agent_ready) ||
	    gp_wire_peer(fd, &agent->pid, &agent->uid) || !gp_wire_agent_allowed(agent->uid) ||
	    (agents_of(holder, agent->uid) > GP_HOLDER_AGENTS_USER &&
	     (u32)agent->pid != holder->wanted) ||
	    gp_wire_send(fd, GP_MSG_HELLO, ++agent->serial, 0, &hello, sizeof(hello), -1))
		gp_holder_agent_remove(agent);
	else
		gp_holder_wake_at(holder, agent->deadline_ns);
}

static void look(struct gp_holder *holder)
{
	char agents[108];

	if (!gp_proto_directory_path(agents, sizeof(agents), "agents", 1))
		gp_proto_directory_each_agent(agents, add, holder);
	if (!gp_proto_directory_other_agents(agents, sizeof(agents)))
		gp_proto_directory_each_agent(agents, add, holder);
}

static void agents_changed(struct gp_watch *watch, u32 events)
{
	char buffer[4096];

	(void)events;
	while (read(watch->fd, buffer, sizeof(buffer)) > 0)
		;
	look(gp_container(watch, struct gp_holder, inotify));
}

void gp_holder_agents_watch(struct gp_holder *holder)
{
	const u32 what = IN_CREATE | IN_MOVED_TO;
	char path[108];

	int fd = holder->inotify.fd < 0 ? inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -1;

	if (fd >= 0)
		gp_loop_watch(&holder->loop, &holder->inotify, fd, agents_changed);
	/* Each time, as root's daemon may have come or gone: one that is watched stays so. */
	if (holder->inotify.fd >= 0 && !gp_proto_directory_agents(path, sizeof(path), false))
		(void)!inotify_add_watch(holder->inotify.fd, path, what);
	if (holder->inotify.fd >= 0 && !gp_proto_directory_other_agents(path, sizeof(path)))
		(void)!inotify_add_watch(holder->inotify.fd, path, what);
	look(holder); /* also catches what an overflow of the queue lost */
}

/* Groups are of one user's programs. */
static bool is_awaited(const struct gp_holder_agent *agent)
{
	return !agent->greeted && !agent->late && gp_wire_peer_allowed(agent->uid);
}

bool gp_holder_agents_settled(const struct gp_holder *holder)
{
	const struct gp_list *at;

	gp_list_for_each (at, &holder->agents)
		if (is_awaited(gp_container(at, struct gp_holder_agent, link)))
			return false;
	return !holder->look_again_ns;
}

struct gp_holder_agent *gp_holder_agents_find(struct gp_holder *holder, u32 pid)
{
	struct gp_holder_agent *agent = find(holder, NULL, pid);

	holder->wanted = pid;
	holder->wanted_busy = false;
	if (agent)
		return agent;
	look(holder);
	return find(holder, NULL, pid);
}

void gp_holder_agents_tell_priority(struct gp_holder_member *member, u32 priority)
{
	struct gp_holder_agent *agent = gp_holder_agents_find(member->holder, member->pid);
	struct gp_proto_msg_value body = {.value = priority};

	if (!agent || gp_wire_send(agent->watch.fd, GP_MSG_AGENT_PRIORITY, ++agent->serial, 0,
				   &body, sizeof(body), -1))
		return;
	agent->told = priority;
	agent->told_serial = agent->serial;
}

/* Until then it may be stopped, and its greeting has the priority that it had before. */
static void confirmed(struct gp_holder_agent *agent, const struct gp_proto_msg *header)
{
	if (header->type != GP_MSG_AGENT_PRIORITY || !agent->told_serial ||
	    header->serial != agent->told_serial)
		return;
	agent->told_serial = 0;
	if (header->status >= 0)
		gp_holder_priority_kept(agent, agent->told);
}

u64 gp_holder_agents_expire(struct gp_holder *holder, u64 now)
{
	struct gp_list *at, *next;
	u64 nearest = GP_NEVER;

	if (holder->look_again_ns && holder->look_again_ns <= now) {
		holder->look_again_ns = 0;
		if (holder->group_targets || !gp_list_empty(&holder->parked))
			look(holder);
		gp_holder_job_route_all(&holder->parked);
		settle(holder);
	}
	if (holder->look_again_ns)
		nearest = holder->look_again_ns;
	gp_list_for_each_safe(at, next, &holder->agents)
	{
		struct gp_holder_agent *agent = gp_container(at, struct gp_holder_agent, link);

		if (agent->greeted || agent->late)
			continue;
		if (agent->deadline_ns > now) {
			nearest = GP_MIN(nearest, agent->deadline_ns);
			continue;
		}
		/* Its process may be stopped. It stays connected: each further connection would
		 * wait with it, until there is no room for any. */
		agent->late = true;
		settle(holder);
		return now; /* look again: the list may have changed */
	}
	return nearest;
}

/* ---- groups ---- */

static bool is_linked(const struct gp_holder_target *target, u32 pid)
{
	const struct gp_list *at;

	gp_list_for_each (at, &target->links)
		if (gp_holder_linked_member(at)->pid == pid)
			return true;
	return false;
}

/* 1: the process of this agent is in the target now. */
static int join(struct gp_holder_target *target, struct gp_holder_agent *agent,
		struct gp_holder_request *request)
{
	struct gp_holder *holder = agent->holder;
	struct gp_holder_member *member;
	struct gp_holder_job *job;

	if (!gp_wire_peer_allowed(agent->uid) || strcmp(target->group, agent->group) ||
	    is_linked(target, (u32)agent->pid))
		return 0;
	member = gp_holder_member_find(holder, (u32)agent->pid, target->asked);
	if (!member) {
		int pidfd = (int)syscall(SYS_pidfd_open, agent->pid, 0);

		member = pidfd < 0 ? NULL
				   : gp_holder_member_add(holder, (u32)agent->pid, pidfd,
							  target->asked);
		if (!member) {
			if (pidfd >= 0)
				close(pidfd);
			return 0;
		}
	}
	if (gp_holder_target_link(target, member)) {
		gp_holder_member_unused(member);
		return 0;
	}
	job = gp_holder_job_new(member, GP_JOB_PROBE, request);
	if (job) {
		job->asked = target->asked;
		gp_holder_job_post(job);
	}
	if (target->hold.active)
		gp_holder_member_apply(member, NULL, true, NULL, 0);
	if (target->share)
		gp_holder_member_reshare(member);
	return 1;
}

void gp_holder_agents_join(struct gp_holder *holder, struct gp_holder_target *target,
			   struct gp_holder_request *request)
{
	gp_list_each (struct gp_holder_agent, agent, link, &holder->agents) {
		if (agent->greeted)
			join(target, agent, request);
	}
}

static void greeted(struct gp_holder_agent *agent, const struct gp_proto_msg_hello *hello)
{
	agent->greeted = true;
	agent->priority = hello->priority;
	if (agent->member)
		agent->member->own_priority = hello->priority;
	gp_wire_text(agent->group, sizeof(agent->group), hello->group, sizeof(hello->group));
	if (!agent->group[0])
		return;
	gp_list_each (struct gp_holder_connection, connection, link, &agent->holder->connections) {
		gp_list_each (struct gp_holder_target, target, link, &connection->targets) {
			struct gp_holder_request *request = opening(target);

			if (!target->group[0] || !join(target, agent, request))
				continue;
			if (!request)
				gp_holder_connection_event(connection, GP_EVENT_JOINED, target->id,
							   agent->pid, 0);
			gp_holder_elsewhere_changed(target);
		}
	}
}

static void agent_ready(struct gp_watch *watch, u32 events)
{
	struct gp_holder_agent *agent = gp_container(watch, struct gp_holder_agent, watch);
	struct gp_wire_message *message = &agent->holder->message;
	int error = gp_wire_receive(watch->fd, message, 0);
	bool hello = !error && message->header.type == GP_MSG_HELLO;

	(void)events;
	if (error == -EAGAIN)
		return;
	if (!error && message->fd >= 0)
		close(message->fd);
	agent->refused =
		error == -EPROTONOSUPPORT || (hello && message->header.status == -EPROTONOSUPPORT);
	if (error || (hello && !gp_wire_fits(message, sizeof(struct gp_proto_msg_hello), 0, 0)) ||
	    (hello && message->header.status < 0)) {
		gp_holder_agent_remove(agent);
		return;
	}
	if (hello && !agent->greeted) {
		greeted(agent, (const void *)message->body);
		settle(agent->holder);
	}
	if (message->header.type == GP_MSG_AGENT_HELD &&
	    gp_wire_fits(message, sizeof(struct gp_proto_msg_target), 0, 0)) {
		agent->held_by = (s32)((const struct gp_proto_msg_target *)message->body)->target;
		if (agent->member)
			gp_holder_elsewhere_member_changed(agent->member);
	}
	confirmed(agent, &message->header);
	if (agent->member)
		gp_holder_direct_message(agent->member, message);
}
