/* SPDX-License-Identifier: MIT */
/*
 * The throughput of one to six processes on an MI308X, measured and modelled: the parameters are
 * fitted on the rows with one process alone; two and six processes are predictions, shown beside
 * the measured figures for each suspected cause.
 */
#ifndef GP_SIM_EXPERIMENT_H
#define GP_SIM_EXPERIMENT_H

#include <stdio.h>

#include "base/diag.h"

/* Prints the table, or JSON. 0 or -errno. */
int gp_sim_experiment(FILE *out, bool json, struct gp_diag *diag);

#endif
