/* SPDX-License-Identifier: MIT */
/*
 * What the plugins ask gpreemptd, from slurmd and from its epilog, both root's. Every call is
 * bounded: a daemon that is missing, hangs or has another version costs a job at most the given
 * time, and never its start, suspension or end.
 */
#ifndef GP_SLURM_CONNECTION_H
#define GP_SLURM_CONNECTION_H

#include "base/types.h"

#define GP_SLURM_OWNER "slurm"

struct gp_slurm_connection {
	int fd; /* -1: none */
	u32 serial;
};

/* "slurm-17" */
void gp_slurm_group(u32 job, char *out, size_t size);

/* Until a time of gp_monotonic_ns(); 0 when it is past. */
int gp_slurm_left_ms(u64 end);

/* Connects and greets, in at most timeout_ms. -errno. */
int gp_slurm_open(struct gp_slurm_connection *connection, int timeout_ms);
/* Whether there is none, or gpreemptd has ended it. */
bool gp_slurm_ended(const struct gp_slurm_connection *connection);
void gp_slurm_close(struct gp_slurm_connection *connection);

/* Holds the job, for as long as the connection stays, and waits until its processes are suspended;
 * or ends the hold. How many processes are held; -ETIME: no answer yet, and the hold stays;
 * -EAGAIN: gpreemptd does not read, and was not asked; other errors are refusals, or the connection
 * has ended. */
int gp_slurm_hold(struct gp_slurm_connection *connection, u32 job, bool on, int timeout_ms);

/* What the job's programs got on this node. */
struct gp_slurm_account {
	u64 ran_ns, held_ns, longest_ns, suspends;
	u32 jobs; /* of gpreemptd: one for each time that the job had processes on a GPU */
};
/* Whose account: any user may call a group "slurm-17", and a requeued job has the number of an
 * earlier run. */
struct gp_slurm_run {
	u32 job, uid;
	u64 begun_ns; /* of gp_monotonic_ns(); 0: not known */
};
int gp_slurm_account(struct gp_slurm_connection *connection, const struct gp_slurm_run *run,
		     int timeout_ms, struct gp_slurm_account *out);

#endif
