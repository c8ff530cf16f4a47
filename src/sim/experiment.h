/* SPDX-License-Identifier: MIT */
/*
 * The throughput of one to six processes on an MI308X, measured and modelled: the parameters are
 * fitted on the rows with one process alone; two and six processes are predictions, shown beside
 * the measured figures for each suspected cause.
 */
#ifndef GP_SIM_EXPERIMENT_H
#define GP_SIM_EXPERIMENT_H

#include "base/diag.h"
#include "show/doc.h"

/* The document; the caller frees it. NULL on failure, said on diag. */
struct gp_doc *gp_sim_experiment(struct gp_diag *diag);

#endif
