/* SPDX-License-Identifier: MIT */
/*
 * A holder in the test's own process, its clients (socket pairs) and a fake mechanism. The test
 * drives the loop: ask() sends a request and makes rounds until its answer is there.
 */
#ifndef GP_TEST_HOLDER_SCENE_H
#define GP_TEST_HOLDER_SCENE_H

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "holder/holder.h"
#include "testlib.h"

#define PATIENCE_NS 60000000000ull
#define LONG_LEASE  600000

/* ---- the fake mechanism: three queues, two GPUs ---- */

#define FAKE_QUEUES 3

struct fake {
	int calls, suspends, resumes, attached, leases, priorities, strays;
	bool suspended[FAKE_QUEUES];
	bool copies; /* stop with the next suspend of all */
	int fail[8]; /* results of the next suspends, 0: works */
	int fail_count;
	bool partial;     /* one that fails has stopped the queues of GPU 100 */
	int resume_error; /* of every resume */
	int attach_error, probe_error;
	int gate; /* suspend waits until a byte comes out of it; -1: does not */
	u32 lease_ms, priority, share;
};

/* One for the process: tables of operations have no context. */
extern struct fake fake;
extern struct gp_gpu_control_ops fake_ops;
/* Another one, that never works. */
extern int other_probe_error;
extern const struct gp_gpu_control_ops other_ops;

/* ---- scene ---- */

struct client {
	int fd;
	u32 serial;
	struct gp_wire_message message;
	struct gp_proto_msg_event events[64];
	u32 event_count;
};

struct scene {
	struct gp_holder holder;
	struct gp_holder_options options;
	const struct gp_gpu_control_ops *mechanisms[3];
};

void scene_open(struct scene *scene, bool inline_jobs);
void scene_close(struct scene *scene);
struct client *scene_client(struct scene *scene);
/* Connected, but has not said HELLO. */
struct client *scene_stranger(struct scene *scene);
void client_close(struct client *client);

void tell(struct client *client, u16 type, const void *body, size_t size, int fd);
/* The status of the answer to the last tell(). -ECONNRESET: it was cut off. */
int answer(struct scene *scene, struct client *client);
int ask(struct scene *scene, struct client *client, u16 type, const void *body, size_t size,
	int fd);
int open_self(struct scene *scene, struct client *client, u32 gpu_id);
int suspend(struct scene *scene, struct client *client, int target, u32 lease, u32 limit);
int resume(struct scene *scene, struct client *client, int target);
int target_call(struct scene *scene, struct client *client, u16 type, int target);
struct gp_proto_msg_event wait_event(struct scene *scene, struct client *client, u32 kind);
u32 count_events(struct scene *scene, struct client *client, u32 kind);
bool past(u64 deadline_ns);

/* Makes rounds until it holds. */
#define UNTIL(scene, condition)                                  \
	do {                                                     \
		u64 deadline_ = gp_monotonic_ns() + PATIENCE_NS; \
		while (!(condition)) {                           \
			assert_false(past(deadline_));           \
			gp_holder_step(&(scene)->holder, 1);     \
		}                                                \
	} while (0)

/* The code of the first reason of an answer that is an error. */
u32 refusal(const struct client *client);

#endif
