/* SPDX-License-Identifier: MIT */
/*
 * Processes that gpreemptd keeps off the GPU although the core does not decide it: those that the
 * host has stopped, where a rule says follow_stop (keep.c), and those that an owner such as Slurm
 * holds by name (holds.c). The core counts their jobs as absent. Such a hold has no max_suspend: it
 * ends when the process is continued, when the owner lets go or ends, and with gpreemptd.
 *
 * Part of daemon.h, which has the other types.
 */
#ifndef GP_DAEMON_KEEP_H
#define GP_DAEMON_KEEP_H

#include "gpreempt.h"
#include "proto/daemon.h"

struct gp_daemon;
struct gp_daemon_client;
struct gp_daemon_job;
struct gp_daemon_peer;
struct gp_wire_message;

/* As enum gp_proto_kept. */
struct gp_daemon_client_keep {
	struct gpreempt_target *target; /* not the one of the core's operations; NULL: none */
	enum gp_proto_kept state;
	bool outside; /* by a mechanism that needs no answer of the process */
	bool asleep; /* suspended by its agent, which cannot undo it while the process is stopped */
	bool leased; /* suspended by the target, and the lease is ours to renew */
	bool suspends; /* the call under way suspends; otherwise it opens the target */
	int ticket;    /* of the call under way; 0: none */
	u32 tries;     /* that failed, one after the other */
	u64 again_ns;  /* of GP_KEPT_FAILED: when it is tried again */
	u64 asked_ns;  /* when it was first wanted */
	int error;     /* of the last call that failed */
	const struct gp_daemon_hold *hold; /* NULL: it follows its stop */
};

/* How long a job was kept off the GPU, by gpreemptd or by hand. */
struct gp_daemon_job_off {
	u64 since_ns; /* GP_DAEMON_NEVER: it is not */
	u64 total_ns, longest_ns, count;
};

/* A hold by name: of the jobs of a group, while the connection that asked for it is there. */
struct gp_daemon_hold {
	struct gp_list link;
	struct gp_daemon_peer *peer;
	char owner[GP_PROTO_NAME], group[GP_PROTO_NAME];
	u32 slurm_job;   /* of the group's name; 0: it is another one */
	bool unanswered; /* the answer waits until its processes are suspended */
	struct gp_proto_msg ask;
};

/* ---- keep.c ---- */

void gp_daemon_keep_start(struct gp_daemon *daemon);
/* Whether the job's processes are to be kept, again: something that decides it has changed. */
void gp_daemon_keep_job(struct gp_daemon *daemon, struct gp_daemon_job *job);
void gp_daemon_keep_all(struct gp_daemon *daemon);
/* An event of the library: false if it is not about a target of these. */
bool gp_daemon_keep_event(struct gp_daemon *daemon, const struct gpreempt_event *event);
/* The process runs on: a suspension that only its stop kept is over. */
void gp_daemon_keep_continued(struct gp_daemon_client *client);
/* The process leaves; the library closes, and with it all targets. */
void gp_daemon_keep_close(struct gp_daemon_client *client);
void gp_daemon_keep_forget(struct gp_daemon_client *client);
/* The job is off the GPU by other means than the core's, or not: for its totals. */
void gp_daemon_keep_account(struct gp_daemon_job *job);
void gp_daemon_keep_view(const struct gp_daemon_job *job, struct gp_proto_msg_job *out);

/* ---- holds.c ---- */

/* The hold that a process is under, or NULL. */
const struct gp_daemon_hold *gp_daemon_hold_of(const struct gp_daemon_client *client);
/* Request on the socket; 0, or -errno to end the connection. */
int gp_daemon_hold_ask(struct gp_daemon_peer *peer, const struct gp_proto_msg *ask,
		       const struct gp_proto_msg_named_hold *what);
/* Answers the owners whose processes are all suspended by now, or cannot be. */
void gp_daemon_hold_answer(struct gp_daemon *daemon);
/* Holds, or the mode, have changed: what follows for all processes. */
void gp_daemon_hold_recheck(struct gp_daemon *daemon);
/* The connection ends, and its holds with it. */
void gp_daemon_hold_drop(struct gp_daemon_peer *peer);

#endif
