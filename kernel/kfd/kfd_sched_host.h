/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the files of the scheduler's host share: its objects. */
#ifndef KFD_SCHED_HOST_H_INCLUDED
#define KFD_SCHED_HOST_H_INCLUDED

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/wait.h>

#include "kfd_priv.h"
#include "kfd_sched_compat.h"
#include "sched/sched.h"

#define KFD_SCHED_DEVICES	16
#define KFD_SCHED_JOBS		512
#define KFD_SCHED_QUEUES	2048
#define KFD_SCHED_JOB_QUEUES	256	/* of one process; more are not looked at */
#define KFD_SCHED_XCCS		16
#define KFD_SCHED_WAVES		(KFD_SCHED_XCCS * AMDGPU_MAX_QUEUES)
#define KFD_SCHED_DECISIONS	256

/* A process; the job of the core is this one process. */
struct kfd_sched_job {
	struct list_head list;
	struct list_head queues;
	struct kfd_process *process;
	struct mm_struct *mm;	/* grabbed: there, but maybe without users; or NULL */
	u32 job, handle;	/* the core's */
	u32 priority, queue_count;
	int pid;
	struct list_head todo;	/* in the host's, while an operation waits for the thread */
	struct gp_sched_action action;	/* which: the last that the core wants */
	int other;		/* its reason's pid, as it was decided */
};

struct kfd_sched_queue {
	struct list_head list;	/* of its job */
	struct kfd_sched_job *job;
	struct queue *q;
	u64 serial;		/* of no other queue, ever */
	u32 handle, device;	/* the core's */
	enum gp_sched_work work;
	bool quiet;		/* nothing to be seen of it the last time */
};

/* What a ring says of itself, read without locks. */
struct kfd_sched_reading {
	u64 serial;
	u32 handle;
	struct mm_struct *mm;
	u64 read_at, write_at;
	u64 read, written;
	bool valid;		/* else it could not be read: nothing is known of it */
};

struct kfd_sched_decision {
	u64 id, cause, at_ns, waited_ns, ran_ns, cost_ns, saves_ns, limit_ns;
	u64 took_ns;		/* really; cost_ns is what was expected */
	const char *action, *why, *policy;
	int pid, other, error;
	u32 priority, other_priority;
};

struct kfd_sched_host {
	struct mutex lock;	/* over everything here; never while a process is preempted */
	struct gp_sched *core;
	void *memory;
	enum gp_sched_policy_id policy;
	struct list_head jobs;
	struct kfd_sched_job *by_handle[KFD_SCHED_JOBS];
	struct kfd_sched_queue *queue_by_handle[KFD_SCHED_QUEUES];
	struct kfd_node *nodes[KFD_SCHED_DEVICES];
	u32 node_queues[KFD_SCHED_DEVICES];
	u32 job_count, queue_count;
	u64 serial;

	struct task_struct *thread;
	wait_queue_head_t wait;
	bool woken;
	struct kfd_sched_reading *readings;
	struct kfd_cu_occupancy *waves;
	struct kfd_node *waves_node;	/* whose they are, */
	u64 waves_poll;			/* and when they were counted */

	/* Only the thread preempts and restores, one process after another, without the lock. */
	struct list_head todo;
	struct kfd_sched_job *operating;	/* on its process, or NULL */
	u64 operations;			/* done */
	wait_queue_head_t done;		/* for those who wait for one more */

	u64 polls, suspends, resumes, errors;
	u64 decision_count;
	struct kfd_sched_decision decisions[KFD_SCHED_DECISIONS];
};

extern struct kfd_sched_host kfd_sched;

/* kfd_sched_operate.c. With the lock held: what the core wants is noted, for the thread. */
void kfd_sched_take_actions(void);
/* Nobody is to do what is noted any more; false when nothing is. */
bool kfd_sched_drop_operation(struct kfd_sched_job *job);
/* Lets go of the lock until the thread has done one more; -ERESTARTSYS when killed. */
int kfd_sched_wait_for_operation(bool killable);
/* Without the lock: the thread does what is noted. */
void kfd_sched_operate(void);
/* On all devices; the first error counts, but nobody is left half way. */
int kfd_sched_preempt(struct kfd_process *p, bool off);

/* kfd_sched_watch.c */
int kfd_sched_thread(void *unused);

#endif
