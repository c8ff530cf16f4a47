/* SPDX-License-Identifier: MIT */
/* The reading that `hqd` and `mqd` share. */
#ifndef GP_CLI_WATCH_SLOTS_COMMAND_H
#define GP_CLI_WATCH_SLOTS_COMMAND_H

#include "cli/watch/kfd_command.h"

/* Fills the output from slots that were read; says what the table leaves out. */
int gp_cli_slots_output(struct gp_cli_kfd_cli *cli, const struct gp_inspect_slots *slots,
			struct gp_cli_kfd_output *out);

#endif
