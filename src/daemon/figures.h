/* SPDX-License-Identifier: MIT */
/*
 * Totals of jobs: real ones, and those that mode act would have had while gpreemptd only observed.
 * The core decides the same in both modes and has one account for them; here the differences
 * between two looks at it go to one side or the other.
 *
 * Part of daemon.h, which has the other types.
 */
#ifndef GP_DAEMON_FIGURES_H
#define GP_DAEMON_FIGURES_H

#include "proto/daemon.h"

struct gp_daemon;
struct gp_daemon_job;
struct gp_sched_reason;

struct gp_daemon_job_totals {
	u64 held_ns, longest_ns, suspends, preempted, waited_ns;
};

/* The core's, as they were last looked at. */
struct gp_daemon_job_counted {
	u64 held_ns, ran_ns, blocked_ns;
};

struct gp_daemon_job_figures {
	bool observed; /* decisions about it are not carried out */
	struct gp_daemon_job_counted counted;
	struct gp_daemon_job_totals did, would;
	u64 ran_ns;
	u64 began_ns;     /* held_ns of its side when the suspension under way began */
	u64 waited_until; /* waiting before that is counted */
	/* Of a lease that ended while gpreemptd itself was stopped: the core counts the job as held
	 * until it hears of it, but it ran for so long. */
	u64 lost_ns;
};

/* Brings its totals up to now: before the core forgets it. */
void gp_daemon_figures_count(struct gp_daemon *daemon, struct gp_daemon_job *job);
/* It is suspended; its suspension, or its lease, is over. The latter returns how long before. */
void gp_daemon_figures_suspend(struct gp_daemon *daemon, struct gp_daemon_job *job,
			       const struct gp_sched_reason *reason);
u64 gp_daemon_figures_end(struct gp_daemon *daemon, struct gp_daemon_job *job);
/* The mode is another one now, and what was held in the last one is not any more. */
void gp_daemon_figures_mode(struct gp_daemon *daemon);

/* Up to now. */
void gp_daemon_figures_view(struct gp_daemon *daemon, const struct gp_daemon_job *job,
			    struct gp_proto_msg_job *out);
void gp_daemon_figures_stats(struct gp_daemon *daemon, struct gp_proto_msg_stats *out);
/* How long the job has been suspended for others; 0: it is not. */
u64 gp_daemon_figures_hold(struct gp_daemon *daemon, const struct gp_daemon_job *job);

#endif
