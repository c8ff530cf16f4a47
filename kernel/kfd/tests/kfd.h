/*
 * The rows of the patched driver (kernel/patches). They run on the stock driver, too: what they
 * expect of it is what the patches change, so that every row is seen before and after.
 */
#ifndef GP_TEST_KFD_H
#define GP_TEST_KFD_H

#include "abi/kfd_sched.h"
#include "conformance.h"

#define PID(actor) ((u64)(actor).pid)

/* Does the driver answer the query? */
bool patched(void);
/* Ends the row as skipped on a driver that does not. */
void needs_patches(void);
u32 features(void);

void write_file(const char *path, const char *text);
/* A file of a queue in sysfs without its newline, or "none"; a buffer that the next call reuses. */
const char *queue_file(pid_t pid, u32 id, const char *name);
/* How often the machine took the queue off, whatever the reason. */
u64 taken_off(struct self *me, pid_t pid, u32 id);
/* A target, its runtime on where there is one, whose queue 0 works on an endless kernel. */
struct actor start_busy(struct self *me, u32 queues);
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
	sched_reasons, sched_tells, sched_starvation, sched_policies;
row_function finding_runlist, finding_batches, finding_doorbells, finding_ids;

#endif
