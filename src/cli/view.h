/* SPDX-License-Identifier: MIT */
/*
 * How a command shows its answer: as text, JSON or CSV (--format, --json), once or again and again
 * (--watch, --count). Commands that list something have these options; each says only how one
 * answer is made.
 */
#ifndef GP_CLI_VIEW_H
#define GP_CLI_VIEW_H

#include "cli/command.h"
#include "show/doc.h"

enum gp_cli_view_option {
	GP_VIEW_JSON = 'j',
	GP_VIEW_WATCH = 'w',
	GP_VIEW_COUNT = 1024,
	GP_VIEW_FORMAT,
};

/* clang-format off */
#define GP_VIEW_OPTION_WATCH \
	{GP_VIEW_WATCH, "watch", GP_OPTIONAL_ARGUMENT, "TIME", GP_COMPLETE_NONE, \
	 N_("repeat every second (or every TIME) until Ctrl-C")}
#define GP_VIEW_OPTION_COUNT \
	{GP_VIEW_COUNT, "count", GP_REQUIRED_ARGUMENT, "N", GP_COMPLETE_NONE, \
	 N_("stop --watch after N readings")}
#define GP_VIEW_OPTION_FORMAT \
	{GP_VIEW_FORMAT, "format", GP_REQUIRED_ARGUMENT, "FORMAT", GP_COMPLETE_FORMAT, \
	 N_("print text (default), json, or csv: the list with the names\n" \
	    "and values of JSON, for spreadsheets and scripts")}
/* All of them; `json_help` says what its JSON has. */
#define GP_VIEW_OPTIONS(json_help) \
	GP_VIEW_OPTION_WATCH, GP_VIEW_OPTION_COUNT, \
	{GP_VIEW_JSON, "json", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE, json_help}, \
	GP_VIEW_OPTION_FORMAT
/* clang-format on */

struct gp_cli_view {
	enum gp_show_format format; /* TEXT, JSON or CSV */
	bool watch;
	u64 interval_ns;           /* 0: one second */
	u64 count;                 /* readings; 0: until it is ended */
	bool scroll;               /* --watch does not redraw the screen */
	bool (*passes)(int error); /* whether --watch goes on after a reading without an answer */
	enum gp_cli_colour { GP_COLOUR_AUTO, GP_COLOUR_ALWAYS, GP_COLOUR_NEVER } colour;
};

/* Whether the option belongs to the view, and takes it: 0 or GP_EXIT_USAGE after a message. */
bool gp_cli_view_has(int id);
int gp_cli_view_set(struct gp_cli_view *view, const struct gp_command *command, int id,
		    const char *value);
/* GP_EXIT_OK, or GP_EXIT_USAGE after a message if the options do not go together. */
int gp_cli_view_check(const struct gp_cli_view *view, const struct gp_command *command);
/* A program reads it: without colours and sentences. */
static inline bool gp_cli_view_is_data(const struct gp_cli_view *view)
{
	return view->format != GP_SHOW_TEXT;
}

/* Whether text has colours. */
bool gp_cli_view_colour(const struct gp_cli_view *view);

/*
 * `make` makes an answer, *doc: 0, or -errno after a message. An answer is printed also with an
 * error. Once, or until a signal ends it or there is no answer; 0 or the last error. With --watch,
 * messages to the sink that are the same in every reading are shown once, on a screen below the
 * answer.
 */
int gp_cli_view_run(const struct gp_cli_view *view, struct gp_command_diag *sink,
		    int (*make)(void *ctx, struct gp_doc **doc), void *ctx);

#endif
