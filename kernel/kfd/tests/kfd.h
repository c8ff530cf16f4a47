/* SPDX-License-Identifier: MIT */
/*
 * The rows of the patched driver (kernel/patches). They run on the stock driver, too: what they
 * expect of it is what the patches change, so that every row is seen before and after.
 */
#ifndef GP_TEST_KFD_H
#define GP_TEST_KFD_H

#include "abi/kfd_sched.h"
#include "conformance.h"

#define PID(actor) ((u64)(actor).pid)

#define POLICY     "/sys/module/amdgpu/parameters/kfd_sched"
#define BY_PROCESS "/sys/module/amdgpu/parameters/unmap_by_process"
#define SCHED      "/sys/kernel/debug/kfd/sched"

/* Logical priorities. */
#define LOW  500
#define HIGH 2000

/* Does the driver answer the query? */
bool patched(void);
/* Ends the row as skipped on a driver that does not. */
void needs_patches(void);
u32 features(void);

void write_file(const char *path, const char *text);
int write_error(const char *path, const char *text); /* 0 or -errno */
/* A file of a queue in sysfs without its newline, or "none"; a buffer that the next call reuses. */
const char *queue_file(pid_t pid, u32 id, const char *name);
/* How often the machine took the queue off, whatever the reason. */
u64 taken_off(struct self *me, pid_t pid, u32 id);
/* A target, its runtime on where there is one, whose queue 0 works on an endless kernel. */
struct actor start_busy(struct self *me, u32 queues);
/* Whether sysfs says so of a queue. */
bool is(const struct actor *actor, u32 id, const char *state);
/* Both work: each gets on from where it is now. */
void both_work(struct self *me, const struct actor *a, const struct actor *b);

/* Turns unmap by process on, where the driver has it. */
void by_process(void);

struct actor start_with(struct self *me, u32 queues, u32 priority);
/* Works on an endless kernel in the first of its two queues. */
struct actor start_low(struct self *me);
/* That one, and one with a queue and nothing to do; the scheduler is on. Skips the row on a driver
 * without. */
void start_pair(struct self *me, struct actor *low, struct actor *high);
/* The high one gets work without an end; and the low one is off for it. */
void contend(struct self *me, struct actor *low, struct actor *high);

/* Holds both queues of the target and has let go of ptrace. */
struct actor start_debugger(const struct actor *target);
/* A target at work, and such a debugger of it. */
void start_held(struct self *me, struct actor *target, struct actor *debugger);
/* Its queues 0 and 1. */
void are_on(struct self *me, pid_t pid, bool on);
void come_on(struct self *me, pid_t pid);

/* CREATE_QUEUE and UPDATE_QUEUE with a struct of that size. */
int create_sized(struct self *self, struct gp_kfd_create_queue_sched_args *args, size_t size);
int update_sized(struct self *self, struct gp_kfd_update_queue_sched_args *args, size_t size);
struct gp_kfd_get_queue_sched_args query(struct self *self, u32 id);

deed do_set_priority; /* id, logical priority */
deed do_lease;        /* pid, lease_ms; out: expired */
deed do_pause;        /* 1: the driver evicts this process (CRIU), 0: and restores it */

typedef void row_function(struct self *me);
row_function sizes_are_compatible, values_are_checked, updates_are_cheap, sysfs_shows_queues,
	high_needs_privilege;
row_function session_stays, failed_enable_is_forgotten, disable_wakes_runtime, death_wakes_runtime,
	retry_is_forgotten, both_end_together, dead_thief_is_forgotten, two_wait;
row_function lease_expires, lease_is_renewed, lease_ends_with_session, lease_is_checked,
	target_ends_in_lease;
row_function others_stay_mapped, old_way_is_there, chained_runlists, churn_keeps_maps,
	off_unless_asked;
row_function sched_is_off, sched_inversion, sched_equals, sched_deaths, sched_changes,
	sched_reasons, sched_tells, sched_starvation, sched_policies, sched_in_top,
	sched_slow;
row_function fault_preemption, fault_restore, fault_lease, fault_memory, fault_runlist;
row_function finding_runlist, finding_batches, finding_doorbells, finding_ids, finding_rings;

#endif
