/* SPDX-License-Identifier: MIT */
/*
 * Shared by the commands that read files and end in a report: their options, opening the
 * files, and writing the report as text, JSON, Markdown or an HTML page.
 */
#ifndef GP_CLI_FILES_REPORT_COMMAND_H
#define GP_CLI_FILES_REPORT_COMMAND_H

#include "cli/command.h"
#include "show/doc.h"
#include "trace/analyse/perfetto.h"

enum gp_cli_report_option {
	GP_OPT_REPORT_JSON = 'j',
	GP_OPT_REPORT_MARKDOWN = 'm',
	GP_OPT_REPORT_HTML = 512,
	GP_OPT_REPORT_PERFETTO,
	GP_OPT_REPORT_FORMAT,
};

#define GP_REPORT_OPTIONS                                                                         \
	{GP_OPT_REPORT_JSON, "json", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE, N_("print JSON")},   \
		{GP_OPT_REPORT_FORMAT,                                                            \
		 "format",                                                                        \
		 GP_REQUIRED_ARGUMENT,                                                            \
		 "FORMAT",                                                                        \
		 GP_COMPLETE_FORMAT,                                                              \
		 N_("print text (default), json, or csv: every table with its\nhead, an empty "   \
		    "line between two tables")},                                                  \
		{GP_OPT_REPORT_MARKDOWN, "markdown",          GP_NO_ARGUMENT, NULL,               \
		 GP_COMPLETE_NONE,       N_("print Markdown")},                                   \
	{                                                                                         \
		GP_OPT_REPORT_HTML, "html", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE,       \
			N_("also write a self-contained HTML page to FILE ('-': print\nonly the " \
			   "page)")                                                               \
	}

/* Of the commands that have a timeline. */
#define GP_REPORT_PERFETTO                                                                         \
	{                                                                                          \
		GP_OPT_REPORT_PERFETTO, "perfetto", GP_REQUIRED_ARGUMENT, "FILE",                  \
			GP_COMPLETE_FILE,                                                          \
			N_("also write a timeline to FILE, for ui.perfetto.dev ('-':\nprint only " \
			   "the timeline)")                                                        \
	}

struct gp_cli_report_cli {
	const struct gp_command *command;
	struct gp_command_diag sink;
	bool json, markdown, csv;
	int usage;  /* GP_EXIT_USAGE after a message about a value, else 0 */
	bool quiet; /* another output goes to standard output */
	const char *html, *perfetto;
	/* The timeline, while it is written. */
	struct gp_trace_perfetto *timeline;
	FILE *file;
	char *temporary;
};

void gp_cli_report_cli_init(struct gp_cli_report_cli *cli, const struct gp_command *command);
/* True when the option was one of GP_REPORT_OPTIONS. */
bool gp_cli_report_option(struct gp_cli_report_cli *cli, int id, const char *value);
/* Opens a file, "-" is standard input; -errno after saying why. *name is what messages call it. */
int gp_cli_report_open(struct gp_cli_report_cli *cli, const char *path, const char **name);
/* Where --perfetto was given: starts the timeline, which then takes events (gp_trace_perfetto_event
 * of cli->timeline), and puts it in place, or throws it away after an error. -errno after saying
 * why.
 */
int gp_cli_report_timeline(struct gp_cli_report_cli *cli);
int gp_cli_report_timeline_end(struct gp_cli_report_cli *cli, int error);
/* Writes text to a file, whole or not at all; -errno after saying why. */
int gp_cli_report_write(struct gp_cli_report_cli *cli, const char *path, const struct gp_buf *text);
/* Prints and writes the report as asked; 0 or -errno after saying why. */
int gp_cli_report_print(struct gp_cli_report_cli *cli, const struct gp_doc *doc);

#endif
