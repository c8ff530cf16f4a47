/* SPDX-License-Identifier: MIT */
/*
 * Whether acting is worth it (worth.c): what operations really cost and gain, and standing down
 * when they cost more. Part of daemon.h, which has the types.
 */
#ifndef GP_DAEMON_WORTH_H
#define GP_DAEMON_WORTH_H

#include "daemon/daemon.h"

void gp_daemon_worth_start(struct gp_daemon *daemon);
/* By an account that has lasted for so long. */
enum gp_daemon_verdict gp_daemon_worth_verdict(const struct gp_daemon_worth *worth, u64 lasted_ns);
/* Standing down is forbidden now: measurements start anew. */
void gp_daemon_worth_forget(struct gp_daemon *daemon);
/* The core decided; an operation ended; the core gave one up or it failed. */
void gp_daemon_worth_suspend(struct gp_daemon *daemon, struct gp_daemon_job *job,
			     const struct gp_sched_reason *reason);
void gp_daemon_worth_resume(struct gp_daemon *daemon, struct gp_daemon_job *job);
void gp_daemon_worth_done(struct gp_daemon *daemon, struct gp_daemon_job *job,
			  const struct gp_daemon_operation *operation);
void gp_daemon_worth_failed(struct gp_daemon *daemon, struct gp_daemon_job *job);
/* True: the core got an event, and its actions must be carried out. */
bool gp_daemon_worth_step(struct gp_daemon *daemon);

#endif
