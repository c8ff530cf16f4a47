/* SPDX-License-Identifier: MIT */
/*
 * What `hqd`, `mqd` and `runlist` have in common: their options, and printing one reading or a
 * stream of them. Each command says only how a reading is made.
 */
#ifndef GP_CLI_WATCH_KFD_COMMAND_H
#define GP_CLI_WATCH_KFD_COMMAND_H

#include "cli/command.h"
#include "cli/view.h"
#include "cli/watch/documents.h"

enum gp_cli_kfd_option {
	GP_OPT_FILE = 'f',
	GP_OPT_PID = 'p',
	GP_OPT_GPU = 'g',
	GP_OPT_ALL = 'a',
	GP_OPT_COUNT = 'n',
	GP_OPT_ROOT = 256,
	GP_OPT_MQDS,
	GP_OPT_GFX,
	GP_OPT_RAW,
	GP_OPT_REGISTERS,
	GP_OPT_PER_XCC,
	GP_OPT_PARTIAL,
};

/* clang-format off */
#define GP_KFD_OPTION_FILE(help) \
	{GP_OPT_FILE, "file", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE, help}
#define GP_KFD_OPTION_MQDS \
	{GP_OPT_MQDS, "mqds", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE, \
	 N_("read the pids for --file from a saved copy of mqds")}
#define GP_KFD_OPTION_RAW \
	{GP_OPT_RAW, "raw", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE, N_("print the raw words")}
#define GP_KFD_OPTION_REGISTERS \
	{GP_OPT_REGISTERS, "registers", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE, \
	 N_("print every register by name, with its bit fields")}
#define GP_KFD_OPTION_PER_XCC \
	{GP_OPT_PER_XCC, "per-xcc", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE, \
	 N_("print one row per XCC (default: one row per queue, with the\n" \
	    "values of its first XCC and, under XCC, how many it uses)")}
/* Every command has these, last in its table. */
#define GP_KFD_COMMON_OPTIONS \
	{GP_OPT_PID, "pid", GP_REQUIRED_ARGUMENT, "PID", GP_COMPLETE_PID, \
	 N_("show only queues of this process")}, \
	{GP_OPT_GPU, "gpu", GP_REQUIRED_ARGUMENT, "ID", GP_COMPLETE_NONE, \
	 N_("show only this GPU (KFD gpu_id in hex, as printed)")}, \
	{GP_VIEW_WATCH, "watch", GP_OPTIONAL_ARGUMENT, "TIME", GP_COMPLETE_NONE, \
	 N_("repeat every second (or every TIME) and mark changes")}, \
	{GP_OPT_COUNT, "count", GP_REQUIRED_ARGUMENT, "N", GP_COMPLETE_NONE, \
	 N_("stop --watch after N readings")}, \
	{GP_VIEW_JSON, "json", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE, \
	 N_("print JSON; with --watch one object per line")}, \
	GP_VIEW_OPTION_FORMAT, \
	{GP_OPT_GFX, "gfx", GP_REQUIRED_ARGUMENT, "NAME", GP_COMPLETE_NONE, \
	 N_("decode registers for this GPU, such as gfx942 (default:\n" \
	    "from the topology, else from the register addresses)")}, \
	{GP_OPT_PARTIAL, "partial", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE, \
	 N_("show the intact blocks of a damaged file")}, \
	{GP_OPT_ROOT, "root", GP_REQUIRED_ARGUMENT, "DIR", GP_COMPLETE_DIRECTORY, \
	 N_("read DIR/sys instead of the live system")}, \
	{0}
/* clang-format on */

struct gp_cli_kfd_cli {
	const struct gp_command *command;
	struct gp_command_diag sink;
	struct gp_inspect_kfd_query query;
	struct gp_cli_slot_options show;
	struct gp_cli_view view;
};

/* One reading, ready to print. */
struct gp_cli_kfd_output {
	struct gp_doc *doc;
	bool empty; /* nothing matches --pid or --gpu */
};

/* Makes a reading; -errno with a message. */
typedef int (*gp_kfd_sample)(struct gp_cli_kfd_cli *cli, struct gp_cli_kfd_output *out);

/* 0, or an error with a message if --pid was given and the pids are unknown. */
int gp_cli_kfd_check_owners(struct gp_cli_kfd_cli *cli, const char *pids_from);
/* Makes a reading of hqd or mqd. */
typedef int (*gp_kfd_read_slots)(const struct gp_inspect_kfd_query *query, struct gp_diag *diag,
				 struct gp_inspect_slots *out);
int gp_cli_kfd_sample_slots(struct gp_cli_kfd_cli *cli, struct gp_cli_kfd_output *out,
			    gp_kfd_read_slots read);

/* Parses the options, reads once or repeatedly, prints; returns the exit status. */
int gp_cli_kfd_command_run(const struct gp_command *command, int argc, char **argv,
			   gp_kfd_sample sample);

#endif
