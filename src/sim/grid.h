/* SPDX-License-Identifier: MIT */
/*
 * `gpreempt sim --grid`: online latency and batch throughput for many servers beside many batch
 * jobs, against the servers alone and against the oracle.
 */
#ifndef GP_SIM_GRID_H
#define GP_SIM_GRID_H

#include "base/diag.h"
#include "sched/sched.h"
#include "show/doc.h"

struct gp_sim_grid {
	enum gp_sched_policy_id policy;
	u64 seed;
	u64 time_ns; /* that is judged at each point; 0: 10 s */
};

/* The document; the caller frees it. NULL on failure, said on diag. */
struct gp_doc *gp_sim_grid(const struct gp_sim_grid *grid, struct gp_diag *diag);

#endif
