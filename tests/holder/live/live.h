/* SPDX-License-Identifier: MIT */
/*
 * Tests of the holder on a live virtual machine (`gpreempt vgpu -- live`): each row is a function
 * that runs in a process of its own with a directory and a holder of its own. Targets are the
 * actors of the conformance test (tests/vgpu/conformance), which make the ioctls themselves.
 * Nothing waits for time to pass: what should happen is waited for, with one generous deadline.
 */
#ifndef GP_TEST_LIVE_H
#define GP_TEST_LIVE_H

#include "../../vgpu/conformance/conformance.h"
#include "proto/wire.h"
#include "../../place.h"

struct live {
	struct self self; /* this process as a user of the machine; look() and so on */
	char directory[64];
	pid_t holder;
};

struct live_row {
	const char *name;
	void (*run)(struct live *live);
	unsigned int where; /* enum where */
};

extern const struct live_row live_basic[], live_breaks[], live_target[], live_control[],
	live_agents[], live_cycles[], live_reset[];

/* ---- the holder and its clients: client.c ---- */

#define EVENTS_MAX 64

struct client {
	int fd;
	u32 serial;
	struct gp_wire_message message;
	struct gp_proto_msg_event events[EVENTS_MAX];
	u32 event_count;
};

/* The second waits until it takes connections. */
void spawn_holder(struct live *live, const char *option, const char *value);
pid_t start_holder(struct live *live, const char *option, const char *value);
/* Connected and greeted. */
struct client *connect_client(struct live *live);
void close_client(struct client *client);
/* A request and its answer's status; the answer is in client->message. */
s64 ask(struct client *client, u16 type, const void *body, size_t size, int fd);
/* The two halves of it, without a descriptor. */
void begin(struct client *client, u16 type, const void *body, size_t size);
s64 finish(struct client *client);
const char *reason(const struct client *client);

/* A target's id, or -errno. */
s64 open_pid(struct client *client, pid_t pid, u32 mechanism);
s64 open_group(struct client *client, const char *group);
/* Lease and limit in ms; 0: defaults. Queues -1: all, otherwise one id. */
s64 suspend(struct client *client, s64 target, u32 lease, u32 limit, int queue);
s64 resume(struct client *client, s64 target, int queue);
s64 renew(struct client *client, s64 target);
struct gp_proto_msg_info target_info(struct client *client, s64 target);
/* Waits for an event of that kind about that pid (0: any). */
struct gp_proto_msg_event wait_event(struct client *client, u32 kind, pid_t pid);
bool has_event(struct client *client, u32 kind);
/* A lease and limit longer than any test. */
#define LONG_LEASE 600000

#define DEBUG      2 /* GPREEMPT_KFD_DEBUG */
#define MS         1000000ull
#define NEVER      UINT64_MAX

/* Its queues 0 to queues - 1 are off the GPU; will be on it. */
void is_off(struct live *live, pid_t pid, u32 queues);
void comes_on(struct live *live, pid_t pid, u32 queues);

/* TracerPid of a process; and its state letter. */
pid_t tracer_of(pid_t pid);
char state_of(pid_t pid);

#endif
