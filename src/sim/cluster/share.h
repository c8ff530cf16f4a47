/* SPDX-License-Identifier: MIT */
/*
 * What a batch job gets of a GPU beside a service, from the simulator of one GPU: the scheduler of
 * gpreemptd and the costs of the GPU file, at loads of 10, 20, .. 90 %. A request is four kernels
 * of 0.5 ms, a batch kernel takes 20 ms.
 */
#ifndef GP_SIM_CLUSTER_SHARE_H
#define GP_SIM_CLUSTER_SHARE_H

#include "sim/cluster/cluster.h"

/* Fills in cluster->share and cluster->slowdown, unless the scenario gives the share. */
int gp_sim_cluster_share(struct gp_sim_cluster *cluster, struct gp_diag *diag);

#endif
