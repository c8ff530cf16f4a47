/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The scheduler of gpreempt inside amdkfd: what the driver tells it. The core is src/sched,
 * unchanged; kfd_sched.c hosts it. Everything here may be called with the mutex of the process
 * held, nothing with a device queue manager locked. Nothing waits for a GPU but the end of a queue
 * whose process is being preempted or restored, and the policy off, which waits for everybody.
 */
#ifndef KFD_SCHED_H_INCLUDED
#define KFD_SCHED_H_INCLUDED

#include <linux/types.h>

struct dentry;
struct queue;

/* Without it (memory) the driver works as it did. */
void kfd_sched_init(void);
void kfd_sched_exit(void);
void kfd_sched_debugfs_init(struct dentry *root);

/* A user queue exists; and before it is freed. */
void kfd_sched_queue_created(struct queue *q);
void kfd_sched_queue_destroyed(struct queue *q);
/* Its logical priority has changed. */
void kfd_sched_queue_changed(struct queue *q);

/* Does a policy decide who runs? */
bool kfd_sched_in_effect(void);

#endif
