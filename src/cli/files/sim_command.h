/* SPDX-License-Identifier: MIT */
/* `gpreempt sim` and what it does itself before the simulator runs: recordings become scenarios. */
#ifndef GP_CLI_FILES_SIM_COMMAND_H
#define GP_CLI_FILES_SIM_COMMAND_H

#include "cli/command.h"

/* Options that the simulator itself does not know. */
enum gp_cli_sim_from_option { GP_SIM_FROM = 512, GP_SIM_OUTPUT, GP_SIM_KERNEL, GP_SIM_BURST };

/* Reads the recordings of --from; writes the scenario, or becomes the simulator with it. */
int gp_cli_sim_from(const struct gp_cli_command *command, int argc, char **argv);

#endif
