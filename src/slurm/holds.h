/* SPDX-License-Identifier: MIT */
/*
 * The connection of slurmd to gpreemptd, the holds that it has, and what it still has to be asked
 * for. A request that finds the socket full is not lost: it is owed, and asked by a later
 * gp_slurm_holds_settle(). A hold whose mark the epilog has removed ends there as well: gpreemptd
 * may have read the request for it after that of the epilog.
 */
#ifndef GP_SLURM_HOLDS_H
#define GP_SLURM_HOLDS_H

#include "slurm/connection.h"

#define GP_SLURM_JOBS 4096 /* of a node that are held again: as many as gpreemptd holds */

struct gp_slurm_holds {
	struct gp_slurm_connection connection;
	struct {
		u32 job;
		bool on;
	} owed[GP_SLURM_JOBS];
	u32 count;
	u32 held[GP_SLURM_JOBS]; /* asked for, and marked when they were */
	u32 held_count;
};

/* As gp_slurm_hold(), until a time of gp_monotonic_ns(). -ETIME: no answer yet; a request
 * that was not sent is owed. If no more can be owed the connection ends, and all are to be asked
 * for anew. */
int gp_slurm_holds_ask(struct gp_slurm_holds *holds, u32 job, bool on, u64 end);
/* As gp_slurm_open(). What was held or owed ended with the last connection. */
int gp_slurm_holds_open(struct gp_slurm_holds *holds, int timeout_ms);
/* The holds of all marked jobs are owed, also those that were asked for. How many are marked; those
 * above GP_SLURM_JOBS are left out. -errno: that cannot be known now. */
int gp_slurm_holds_renew(struct gp_slurm_holds *holds);
/* A hold of a marked job was asked for: it ends with the mark. */
void gp_slurm_holds_watch(struct gp_slurm_holds *holds, u32 job);
/* The ends of holds whose mark is gone are owed. */
void gp_slurm_holds_check(struct gp_slurm_holds *holds);
/* Asks for what is owed, as much as the socket takes until `end`, and at least once. */
void gp_slurm_holds_settle(struct gp_slurm_holds *holds, u64 end);

#endif
