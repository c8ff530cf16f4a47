/* SPDX-License-Identifier: MIT */
/* The command line of `gpreempt sim`, shared by gpreempt and gpreempt-sim. */
#ifndef GP_SIM_COMMAND_H
#define GP_SIM_COMMAND_H

#include "base/command.h"

enum gp_sim_option {
	GP_SIM_OPTION_POLICY = 256,
	GP_SIM_OPTION_SEED,
	GP_SIM_OPTION_TIME,
	GP_SIM_OPTION_ALONE,
	GP_SIM_OPTION_JSON,
	GP_SIM_OPTION_HTML,
	GP_SIM_OPTION_PERFETTO,
	GP_SIM_OPTION_FAULTS,
	GP_SIM_OPTION_REPLAY,
	GP_SIM_OPTION_EVENTS,
	GP_SIM_OPTION_EXPERIMENT,
	GP_SIM_OPTION_GRID,
	GP_SIM_OPTION_ORACLE,
	/* Handled by gpreempt before it starts gpreempt-sim. */
	GP_SIM_OPTION_FROM,
	GP_SIM_OPTION_OUTPUT,
	GP_SIM_OPTION_KERNEL,
	GP_SIM_OPTION_BURST,
};

extern const struct gp_command gp_sim_command;

#endif
