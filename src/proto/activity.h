/* SPDX-License-Identifier: MIT */
/*
 * The state of a program's queues, in memory that its agent shares read-only with the processes
 * that watch it (GP_MSG_AGENT_WATCH). One slot per queue, written by the program's own threads with
 * plain stores and read without locks: a reader checks `generation` before and after (odd: being
 * changed).
 *
 * Drained is not "read index caught up": the read index of AQL moves when a packet is launched. A
 * queue is busy from its doorbell until the read index has caught up and its last completion signal
 * has fired; where the last packet carried no signal, or the signal takes longer than work of the
 * program usually does, it is `unknown` and the reader bounds it by a timer.
 */
#ifndef GP_PROTO_ACTIVITY_H
#define GP_PROTO_ACTIVITY_H

#include "base/types.h"

enum {
	GP_ACTIVITY_MAGIC = 0x67706163, /* "gpac" */
	GP_ACTIVITY_SLOTS = 1024,
};

enum gp_proto_activity_state {
	GP_ACTIVITY_DRAINED = 0,
	GP_ACTIVITY_BUSY = 1,
	GP_ACTIVITY_UNKNOWN = 2,
};

/* Abilities of the agent; agents of earlier versions have none. */
enum gp_proto_activity_feature {
	GP_ACTIVITY_PARKS = 1u << 0, /* GP_SUSPEND_OFF */
};

struct gp_proto_activity_slot {
	u32 generation; /* even: valid; 0: never used */
	u32 kfd_id;
	u32 gpu_id;
	u32 state;        /* enum gp_proto_activity_state */
	u64 ring;         /* 0: the queue is gone */
	u64 doorbells;    /* rung, all time */
	u64 last_ring_ns; /* CLOCK_MONOTONIC of the last idle-to-busy edge */
	u32 logical_priority;
	u32 suspended;
	u64 reserved[2];
};

struct gp_proto_activity {
	u32 magic, slots;
	u32 busy_queues; /* queues that are not drained */
	u32 open_requests;
	u64 edges;
	u64 features; /* enum gp_proto_activity_feature */
	u64 reserved[4];
	struct gp_proto_activity_slot slot[GP_ACTIVITY_SLOTS];
};

/* For the process that watches: the memory behind a descriptor that an agent passed. -EINVAL: it is
 * not plain memory, or too small; -EPERM: its owner could take it away; -EPROTO: it is not ours. */
int gp_proto_activity_map(int fd, const struct gp_proto_activity **out);
void gp_proto_activity_unmap(const struct gp_proto_activity *memory);

_Static_assert(sizeof(struct gp_proto_activity_slot) == 64, "a slot is a cache line");
_Static_assert(sizeof(struct gp_proto_activity) == 64 + GP_ACTIVITY_SLOTS * 64, "layout");

#endif
