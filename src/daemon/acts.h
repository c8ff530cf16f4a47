/* SPDX-License-Identifier: MIT */
/*
 * What the daemon does to programs, through libgpreempt and the holder: suspend, resume, share.
 * Part of daemon.h, which has the types.
 */
#ifndef GP_DAEMON_ACTS_H
#define GP_DAEMON_ACTS_H

#include "daemon/daemon.h"

/* ---- library.c ---- */

void gp_daemon_act_start(struct gp_daemon *daemon);
void gp_daemon_act_stop(struct gp_daemon *daemon);
/* Takes the events of the library, then sends shares that waited for it. */
void gp_daemon_act_collect(struct gp_daemon *daemon);
/* Which GPUs are left alone because a client's driver failed there. */
void gp_daemon_library_broken(struct gp_daemon *daemon);

/* ---- act.c ---- */

/* A call ended. */
void gp_daemon_act_done(struct gp_daemon *daemon, const struct gpreempt_event *event);
/* All operations end now. */
void gp_daemon_act_cancel(struct gp_daemon *daemon);
void gp_daemon_act_open(struct gp_daemon_client *client);
/* Whether the event was the end of its opening. */
bool gp_daemon_act_opened(struct gp_daemon_client *client, const struct gpreempt_event *event);
void gp_daemon_act_close(struct gp_daemon_client *client);
/* Carries out an action; its answer goes to `answers`, now or later. */
void gp_daemon_act_suspend(struct gp_daemon *daemon, struct gp_daemon_job *job,
			   const struct gp_sched_action *action);
void gp_daemon_act_resume(struct gp_daemon *daemon, struct gp_daemon_job *job,
			  const struct gp_sched_action *action);
void gp_daemon_act_renew(struct gp_daemon *daemon);
/* The holder let the process go; the core hears of it, and then lets its whole job go. */
void gp_daemon_act_lose(struct gp_daemon_client *client);
void gp_daemon_act_lost(struct gp_daemon_job *job);
/* Calls under way for a process that is away are not waited for; one that returns is suspended if
 * its job is. */
void gp_daemon_act_withdraw(struct gp_daemon_client *client);
void gp_daemon_act_rejoin(struct gp_daemon_client *client);
void gp_daemon_act_answer(struct gp_daemon *daemon, u64 token, u32 job, int result, u64 cost_ns);

/* ---- share.c ---- */

void gp_daemon_share_init(struct gp_daemon *daemon);
void gp_daemon_act_share(struct gp_daemon *daemon, struct gp_daemon_job *job, u32 device,
			 u32 share);
/* Shares again the GPUs of a job that left the list, or that can have its share now. */
void gp_daemon_act_reshare(struct gp_daemon *daemon, const struct gp_daemon_job *job);
/* Shares a GPU again if other jobs take turns now. */
void gp_daemon_share_check(struct gp_daemon *daemon, u32 device);
/* Gives every program the whole GPU, and waits for all of them together, up to a limit. `forget`:
 * the shares are dropped. */
void gp_daemon_act_lift(struct gp_daemon *daemon, bool forget);
/* Sends what is due. */
void gp_daemon_share_send(struct gp_daemon *daemon);
/* The end of a call; false if it did not set a share. */
bool gp_daemon_share_done(struct gp_daemon_client *client, const struct gpreempt_event *event);
/* The process's queues changed, or its slices do not hold: asks for the share again, which says
 * what the driver has. */
void gp_daemon_share_renew(struct gp_daemon_client *client);
/* The process is no longer stopped: a share that failed meanwhile is sent. */
void gp_daemon_share_continue(struct gp_daemon_client *client);
/* The job's slices, as read back. */
void gp_daemon_share_view(const struct gp_daemon_job *job, struct gp_proto_msg_job *out);
/* The connection to the holder ended, and with it all shares. */
void gp_daemon_share_lost(struct gp_daemon *daemon);
/* The process's target is closed. */
void gp_daemon_share_forget(struct gp_daemon_client *client);

#endif
