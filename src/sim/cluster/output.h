/* SPDX-License-Identifier: MIT */
/* Runs a cluster scenario under every arrangement, and shows them beside each other. */
#ifndef GP_SIM_CLUSTER_OUTPUT_H
#define GP_SIM_CLUSTER_OUTPUT_H

#include "show/doc.h"
#include "sim/cluster/engine.h"

/* NULL without memory. */
struct gp_doc *
gp_sim_cluster_doc(const struct gp_sim_cluster *cluster,
		   const struct gp_sim_cluster_result results[GP_SIM_CLUSTER_ARRANGEMENTS]);

/* Of a scenario as text, with the seed and time of the command line where they are given (seed
 * NULL, time_ns 0: not). NULL after an error, which was said on diag. */
struct gp_doc *gp_sim_cluster_compare(const char *name, const char *text, size_t size,
				      const u64 *seed, u64 time_ns, u64 max_events,
				      struct gp_diag *diag);

#endif
