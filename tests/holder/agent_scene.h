/* SPDX-License-Identifier: MIT */
/*
 * A scene whose first mechanism is kfd-agent, in a socket directory of its own, with agents that
 * are processes of a few lines. Each shows what it was asked in memory shared with the test, which
 * sets there how the agent misbehaves.
 */
#ifndef GP_TEST_HOLDER_AGENT_SCENE_H
#define GP_TEST_HOLDER_AGENT_SCENE_H

#include "scene.h"

#define AGENTS 6

struct shown {
	int ready, suspended, suspends, resumes, renewals, lease_ms, priority, share, connections;
	int owner;         /* descriptor of the connection that suspended it */
	int deaf;          /* set by the test: it does not answer any more */
	int old;           /* set by the test: it speaks version 1 of the protocol */
	int closes;        /* set by the test: it ends a connection that says HELLO */
	int resume_error;  /* set by the test: outcome of RESUME */
	int suspend_error; /* set by the test: outcome of SUSPEND, which does nothing then */
	int flood;         /* set by the test: CHANGED it sends before it answers SUSPEND */
};

extern struct scene scene;
extern struct shown *shown;
extern char directory[64];
extern pid_t agents[AGENTS];

/* Set-up and teardown of every test. */
int agent_scene_open(void **state);
int agent_scene_close(void **state);

void start_agent(u32 index, const char *group);
/* It listens when a byte comes out of the gate; -1: at once. */
void start_late_agent(u32 index, const char *group, int gate);
void agent_ready(u32 index);
void end_agent(u32 index);
void set(int *what, int value);

/* The target, or the error. */
int open_pid(struct client *client, pid_t pid, u32 mechanism);
int open_group(struct client *client, const char *group);
const struct gp_proto_msg_opened *opened(const struct client *client);
struct gp_holder_member *first_member(void);
u32 count_agents(void);

#endif
