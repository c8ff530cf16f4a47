/* SPDX-License-Identifier: MIT */
/*
 * The experiment of the multi-process study (seeds/003) on the model: parameters are fitted on the
 * one-process rows alone; two and six processes are predictions, shown beside the study's figures.
 */
#ifndef GP_SIM_EXPERIMENT_H
#define GP_SIM_EXPERIMENT_H

#include <jansson.h>
#include <stdio.h>

#include "base/diag.h"

/* Prints the table, or JSON. 0 or -errno. */
int gp_sim_experiment(FILE *out, bool json, bool colour, struct gp_diag *diag);

#endif
