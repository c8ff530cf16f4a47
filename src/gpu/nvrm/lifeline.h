/* SPDX-License-Identifier: MIT */
/*
 * Fail-open for nv-suspend. Channels that were disabled stay so when the process that did it dies:
 * the driver ties them to the target's open file, not to ours. So each control has a lifeline: a
 * small forked process that owns copies of the descriptors and a table, in shared memory, of what
 * is stopped. It starts everything again
 *   - when the lease passes (its holder hangs or is stopped),
 *   - when its socket closes (its holder is dead); then it also sets timeslices back, and ends.
 * It ends with the target, so that the driver can clean up: the target's open file lives as long as
 * any copy.
 *
 * The lease is one atomic word, so renewing it costs no system call. A call that stops channels is
 * bracketed by gp_nvrm_lifeline_arm() and gp_nvrm_lifeline_confirm(): a holder that was stopped in
 * between and goes on after the lifeline fired learns so, and until it has, the lifeline starts the
 * channels again and again.
 *
 * Its holder must not leave its descriptors to children that outlive it: the lifeline would never
 * see the socket close. A lifeline that is killed is noticed by gp_nvrm_lifeline_alive() and
 * started anew. If both are killed at once, the channels stay stopped until gp_nvrm_release().
 */
#ifndef GP_GPU_NVRM_LIFELINE_H
#define GP_GPU_NVRM_LIFELINE_H

#include "base/core.h"
#include "gpu/control.h"
#include "gpu/nvrm/port.h"

#define GP_NVRM_LEASE_NS      (100ull * GP_NS_PER_MS) /* as GPREEMPT_LEASE_MS */
#define GP_NVRM_LIFELINE_ROOM 1024u /* channels; and groups with a timeslice set */

/* One thing to put right. */
struct gp_nvrm_entry {
	u32 file;           /* as added with gp_nvrm_lifeline_file(), counted from 0 */
	u32 client, object; /* object: channel or group */
	u32 subdevice;      /* channels only */
	u64 timeslice;      /* groups only, us */
};

struct gp_nvrm_lifeline;

/* `pidfd` is of the target; it is copied. */
int gp_nvrm_lifeline_start(const struct gp_nvrm_port *port, int pidfd,
			   struct gp_nvrm_lifeline **out);
/* A new process for one that is gone, with the same tables; files must be handed over again. */
int gp_nvrm_lifeline_restart(struct gp_nvrm_lifeline *lifeline, const struct gp_nvrm_port *port,
			     int pidfd);
/* Ends it after it has undone the entries in its tables. */
void gp_nvrm_lifeline_stop(struct gp_nvrm_lifeline *lifeline);
/* Hands over a copy of a descriptor. */
int gp_nvrm_lifeline_file(struct gp_nvrm_lifeline *lifeline, int fd);
/* Readable when the lifeline has ended or fired. */
int gp_nvrm_lifeline_fd(const struct gp_nvrm_lifeline *lifeline);
/* False when the process is gone. Takes what it said off its descriptor. */
bool gp_nvrm_lifeline_alive(struct gp_nvrm_lifeline *lifeline);
u32 gp_nvrm_lifeline_pid(const struct gp_nvrm_lifeline *lifeline);

/* To be called before channels are stopped: they are in the table and the lease runs until `end_ns`
 * (CLOCK_MONOTONIC). -ENOSPC: too many. */
int gp_nvrm_lifeline_arm(struct gp_nvrm_lifeline *lifeline, const struct gp_nvrm_entry *entries,
			 u32 count, u64 end_ns);
/* To be called after. -ETIME: the lease passed meanwhile; start the stopped channels again
 * before gp_nvrm_lifeline_disarm(). */
int gp_nvrm_lifeline_confirm(struct gp_nvrm_lifeline *lifeline);
/* -ETIME: too late, it has fired and everything runs. */
int gp_nvrm_lifeline_renew(struct gp_nvrm_lifeline *lifeline, u64 end_ns);
/* Whether the lease has passed: everything in the table runs again. Waits for a lifeline that is
 * just seeing to it. */
bool gp_nvrm_lifeline_fired(struct gp_nvrm_lifeline *lifeline);
/* Nothing is stopped any more. Waits for a lifeline that is just firing. */
void gp_nvrm_lifeline_disarm(struct gp_nvrm_lifeline *lifeline);

/* To be called before a group's timeslice is first changed, and when another one is to be restored.
 */
int gp_nvrm_lifeline_remember(struct gp_nvrm_lifeline *lifeline, const struct gp_nvrm_entry *entry);
/* The group of the entry is gone. */
void gp_nvrm_lifeline_drop(struct gp_nvrm_lifeline *lifeline, const struct gp_nvrm_entry *entry);
/* All timeslices are as they were found. */
void gp_nvrm_lifeline_forget(struct gp_nvrm_lifeline *lifeline);

/* The lease that suspend() starts and pump() renews on this control; GP_NVRM_LEASE_NS until set. */
void gp_nvrm_control_lease(struct gp_gpu_control *control, u64 lease_ns);
/* The lifeline of this control, for tests. */
struct gp_nvrm_lifeline *gp_nvrm_control_lifeline(struct gp_gpu_control *control);

#endif
