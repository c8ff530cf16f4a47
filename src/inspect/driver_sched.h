/* SPDX-License-Identifier: MIT */
/*
 * The scheduler inside the driver (kernel/patches): its debugfs file, with one line per job, and
 * the sysfs files of each queue of these jobs. A stock driver has neither. Lines of an unknown
 * format are counted and skipped; a missing value is a clear bit.
 */
#ifndef GP_INSPECT_DRIVER_SCHED_H
#define GP_INSPECT_DRIVER_SCHED_H

#include "base/file.h"

#define GP_DRIVER_SCHED "/sys/kernel/debug/kfd/sched"

/* As the driver names and numbers them: "running", "suspending", "suspended", "resuming". */
enum gp_inspect_driver_run {
	GP_DRIVER_RUNNING,
	GP_DRIVER_SUSPENDING,
	GP_DRIVER_SUSPENDED,
	GP_DRIVER_RESUMING,
	GP_DRIVER_RUNS,
};

enum gp_inspect_driver_queue_field {
	GP_DRIVER_QUEUE_PRIORITY = 1u << 0,
	GP_DRIVER_QUEUE_STATE = 1u << 1,
	GP_DRIVER_QUEUE_SUSPENDED = 1u << 2,
};

struct gp_inspect_driver_queue {
	u32 id, gpu_id;
	u32 valid; /* enum gp_inspect_driver_queue_field */
	u32 logical_priority;
	char state[64]; /* "active", or why it is not: "suspended preempted" */
	u64 suspended_ms;
};

struct gp_inspect_driver_job {
	u32 pid; /* in the initial pid namespace */
	u32 priority;
	enum gp_inspect_driver_run run;
	u32 queues, busy;
	u32 held_for; /* pid; 0: none, or it exited */
	u64 held_ns, ran_ns;
	u64 suspends, declined, failures;
	bool known; /* /proc shows it: comm, uid */
	char comm[64];
	u32 uid;
	struct gp_inspect_driver_queue *items; /* as sysfs has them, by id */
	size_t item_count, item_capacity;
};

struct gp_inspect_driver_sched {
	char policy[16];
	u64 poll_us, polls;
	u64 held, events, suspends, resumes, errors;
	struct gp_inspect_driver_job *jobs;
	size_t job_count, job_capacity;
	size_t unread; /* lines that are not understood */
};

/* The text of the debugfs file, which need not end in NUL. -EPROTO if its first lines have another
 * format. */
int gp_inspect_driver_sched_parse(const char *text, size_t len,
				  struct gp_inspect_driver_sched *out);
/* Everything. -ENOENT: the driver has no scheduler, or debugfs is not there; -EACCES: no
 * permission. */
int gp_inspect_driver_sched_read(const struct gp_root *root, struct gp_inspect_driver_sched *out);
void gp_inspect_driver_sched_free(struct gp_inspect_driver_sched *sched);

/* Its policy, which every user may read; "" if the driver has no scheduler. */
void gp_inspect_driver_sched_policy(const struct gp_root *root, char *out, size_t size);
/* None of its queues is in the runlist, though the scheduler lets it run. */
bool gp_inspect_driver_job_is_off(const struct gp_inspect_driver_job *job);

#endif
