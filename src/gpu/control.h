/* SPDX-License-Identifier: MIT */
/*
 * Suspending and resuming one process: one table of operations per mechanism. holder/ calls it.
 * kfd-debug and kfd-module are in gpu/kfd, nv-suspend in gpu/nvrm; kfd-agent is in holder/, because
 * the agent inside the process does the work.
 *
 * One thread calls attach(), every operation and detach() of a control: before Linux 6.12 only the
 * tracing thread may use the debug trap. An operation blocks no longer than the driver does.
 */
#ifndef GP_GPU_CONTROL_H
#define GP_GPU_CONTROL_H

#include "base/types.h"
#include "proto/facts.h"
#include "proto/message.h"

struct gp_gpu_control_queue {
	u32 id; /* the driver's; valid as KFD_ID */
	u32 gpu_id;
	u32 type;  /* KFD queue type */
	u32 valid; /* enum gp_proto_queue_field */
	u64 ring, ring_bytes, object, read_index, write_index, hsa_id;
	u32 priority, busy;
	bool has_logical; /* `logical` is its logical priority, with what its stream adds to it */
	u32 logical;
	bool suspended; /* as far as this control knows */
	bool failed;    /* the driver reported an error for it */
};

struct gp_gpu_control_queues {
	struct gp_gpu_control_queue *items;
	size_t count, capacity;
};

struct gp_gpu_control_done {
	u64 issued_ns; /* CLOCK_MONOTONIC when the (first) driver call was made; 0: no call
			*/
	u64 driver_ns; /* time in the driver */
	u32 queues;    /* stopped or started by this call, or already so */
};

/* A controlled process. Each mechanism has its own type, which begins with this one. */
struct gp_gpu_control {
	u32 pid;
	int pidfd;
};

enum gp_gpu_control_trait {
	/* Only the process as a whole: named queues are refused with -EXDEV. */
	GP_CONTROL_WHOLE = 1u << 0,
	/* The agent in the process, if there is one, does not control it, but knows its logical
	 * priority. */
	GP_CONTROL_AGENT_PRIORITY = 1u << 1,
};

struct gp_gpu_control_ops {
	u32 mechanism; /* enum gp_proto_mechanism */
	/* Whether this process can be controlled this way: 0 or -errno; *why says why, or why not.
	 * Changes nothing. */
	int (*probe)(int pidfd, u32 pid, struct gp_proto_message *why);
	/* 0, or -errno; *why may say more. */
	int (*attach)(int pidfd, u32 pid, struct gp_proto_message *why,
		      struct gp_gpu_control **out);
	/* Leaves the process running. */
	void (*detach)(struct gp_gpu_control *control);
	/* Becomes readable when pump() has something to do; -1: never. A ptrace stop has no
	 * descriptor: pump() is also called after every SIGCHLD of this process. */
	int (*fd)(struct gp_gpu_control *control);
	/* Signals of the target, new queues, the target's end. 0, 1: the queues changed, or its
	 * share does not hold any more, -ESRCH: the process is gone, -EPERM: the session was
	 * stolen and could not be taken back. */
	int (*pump)(struct gp_gpu_control *control);
	int (*queues)(struct gp_gpu_control *control, struct gp_gpu_control_queues *out);
	/* ids NULL: all. Never issues a driver call that would change nothing. */
	int (*suspend)(struct gp_gpu_control *control, const u32 *ids, size_t count, u32 grace,
		       struct gp_gpu_control_done *done);
	int (*resume)(struct gp_gpu_control *control, const u32 *ids, size_t count,
		      struct gp_gpu_control_done *done);
	/* GP_SHARE_SIZE() thousandths of the device, starting at GP_SHARE_FIRST() where it has
	 * parts. Where it is a time slice: its microseconds, as the driver says after it was set;
	 * 0 while there is no queue to set it on. NULL: not supported. */
	int (*share)(struct gp_gpu_control *control, u32 part);
	/* Whether later calls of suspend() for all queues also stop copies. NULL: copies are
	 * queues like any other. */
	void (*copies)(struct gp_gpu_control *control, bool stop);

	u32 traits; /* enum gp_gpu_control_trait */

	/* The rest may be NULL. */

	/* Called instead of pump() when there is no control, for mechanisms whose detach() or
	 * failed attach() may leave the process traced by this thread: ends a ptrace stop as if
	 * the process were not traced, and then the tracing. */
	void (*stray)(u32 pid);
	/* The queues that can be listed without attach(). Changes nothing. */
	int (*look)(int pidfd, u32 pid, struct gp_gpu_control_queues *out);
	/* For mechanisms whose suspensions outlive a caller that dies or hangs: they end when this
	 * time passes without another call. */
	int (*lease)(struct gp_gpu_control *control, u32 lease_ms);
	/* Reports a new logical priority to the process. */
	int (*priority)(struct gp_gpu_control *control, u32 priority);
};

extern const struct gp_gpu_control_ops gp_kfd_debug_control;
extern const struct gp_gpu_control_ops gp_kfd_module_control;
extern const struct gp_gpu_control_ops gp_nvrm_control;

void gp_gpu_control_queues_free(struct gp_gpu_control_queues *queues);

#endif
