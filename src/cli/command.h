/* SPDX-License-Identifier: MIT */
/*
 * The commands of gpreempt, each described by one table (base/command.h) in the file of its name.
 * sim, vgpu and selftest are separate programs; their tables are shared with the programs.
 */
#ifndef GP_CLI_COMMAND_H
#define GP_CLI_COMMAND_H

#include "base/command.h"
#include "base/parse.h"
#include "show/doc.h"

/* NULL-terminated, in the order of `gpreempt --help`. */
extern const struct gp_command *const gp_cli_commands[];
/* Looks at the names of all commands. */
void gp_cli_command_nearest(struct gp_nearest *nearest);

extern const struct gp_command gp_cli_report_bundle;
extern const struct gp_command gp_cli_analyze, gp_cli_compare, gp_cli_completion, gp_cli_config,
	gp_cli_doctor, gp_cli_find, gp_cli_hqd, gp_cli_log, gp_cli_manual, gp_cli_mqd, gp_cli_ps,
	gp_cli_queue_finder, gp_cli_queues_trace, gp_cli_release, gp_cli_renice, gp_cli_report,
	gp_cli_resume, gp_cli_run, gp_cli_runlist, gp_cli_stats, gp_cli_status, gp_cli_suspend,
	gp_cli_top, gp_cli_trace, gp_cli_why;

/* The title of the group that begins with this command, translated; NULL: it begins none. */
const char *gp_cli_command_group(const struct gp_command *command);

/* Prints the answer of a command and frees it; 0, or -errno after saying why. */
int gp_cli_answer(struct gp_doc *doc, enum gp_show_format format, struct gp_diag *diag);

/* Becomes the program gpreempt-NAME of a command without run(). Returns only on failure. */
int gp_cli_exec(const struct gp_command *command, int argc, char **argv);

/* `gpreempt sim --from`: writes the scenario of recordings, or becomes the simulator with it. */
int gp_cli_sim_from(const struct gp_command *command, int argc, char **argv);

#endif
