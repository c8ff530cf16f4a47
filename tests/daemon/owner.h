/* SPDX-License-Identifier: MIT */
/* An owner of holds by name, as slurmd is one, for the daemon's tests. */
#ifndef GP_TESTS_DAEMON_OWNER_H
#define GP_TESTS_DAEMON_OWNER_H

#include "rig.h"

struct owner {
	int socket;
	u32 serial;
	struct gp_wire_message message;
};

static inline void owner_open(struct owner *owner, struct rig *rig)
{
	struct gp_proto_msg_hello me = {.pid = (u32)getpid()};

	owner->serial = 0;
	owner->socket = gp_proto_directory_connect(GP_DAEMON_SOCKET);
	assert_true(owner->socket >= 0);
	gp_wire_send(owner->socket, GP_MSG_HELLO, ++owner->serial, 0, &me, sizeof(me), -1);
	rig_until(rig, gp_wire_receive(owner->socket, &owner->message, 0) == 0);
}

static inline void owner_ask(struct owner *owner, const char *group, u32 on)
{
	struct gp_proto_msg_named_hold hold = {.owner = "slurm", .on = on};

	snprintf(hold.group, sizeof(hold.group), "%s", group);
	gp_wire_send(owner->socket, GP_MSG_DAEMON_HOLD, ++owner->serial, 0, &hold, sizeof(hold),
		     -1);
}

static inline bool owner_has_answer(struct owner *owner)
{
	return gp_wire_receive(owner->socket, &owner->message, 0) == 0;
}

static inline struct agent *agent_in_group(struct rig *rig, const char *group)
{
	struct agent *agent = agent_new(rig, 2, 500);

	snprintf(agent->hello.group, sizeof(agent->hello.group), "%s", group);
	agent_await(rig, agent);
	return agent;
}

static inline struct gp_proto_msg_job view(struct rig *rig, const struct agent *agent)
{
	struct gp_proto_msg_job job;

	gp_daemon_report_job_view(rig->daemon, job_of(rig, agent), &job);
	return job;
}

#endif
