/* SPDX-License-Identifier: MIT */
/*
 * Which process had a GPU, and when: where the driver reports it, a kind of GPU has this table.
 * daemon/ reads it in a thread, because a call may wait for the driver.
 *
 * A process has the GPU from the moment its context is loaded until another one is. It need not
 * have work all that time: the context of a process that has become idle stays until another
 * process needs the GPU.
 */
#ifndef GP_GPU_ACTIVITY_H
#define GP_GPU_ACTIVITY_H

#include "gpu/gpu.h"

#define GP_ACTIVITY_HIDDEN 0u          /* pid of a process that we may not see */
#define GP_ACTIVITY_KERNEL 0xffffffffu /* the driver's own work */

struct gp_gpu_switch {
	u64 at_ns; /* CLOCK_MONOTONIC; never later than the call that returned it */
	u32 pid;   /* in the init pid namespace, or one of the above */
	bool begins;
};

/* Opened by open(); each kind has its own type. */
struct gp_gpu_activity;

struct gp_gpu_activity_ops {
	/* -EPERM: the driver wants root, -EREMOTE: pids of records are of another pid namespace,
	 * -EOPNOTSUPP: this driver or GPU does not report it. */
	int (*open)(const struct gp_root *root, u32 gpu_id, struct gp_gpu_activity **out);
	/* Switches since the last call, oldest first: how many, at most `room`, or -errno when
	 * nothing more can be expected of it. *lost grows by the number of those that are missing
	 * before them; *until is the time up to which they are complete unless `room` is full. */
	int (*read)(struct gp_gpu_activity *activity, struct gp_gpu_switch *out, size_t room,
		    u64 *lost, u64 *until);
	void (*close)(struct gp_gpu_activity *activity);
};

extern const struct gp_gpu_activity_ops gp_nvrm_activity;

#endif
