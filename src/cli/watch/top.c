// SPDX-License-Identifier: MIT
/* gpreempt top: GPUs and jobs as gpreemptd sees them, or the scheduler inside the driver. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/daemon/diary.h"
#include "cli/view.h"
#include "cli/watch/top_replay.h"
#include "cli/watch/top_screen.h"

enum { OPTION_ONCE = '1', OPTION_SORT = 's', OPTION_FILTER = 'f' };
enum { OPTION_BATCH = 'b', OPTION_INTERVAL = 'd' };
enum { OPTION_DRIVER = 256, OPTION_ROOT, OPTION_REPLAY, OPTION_AT, OPTION_COLOUR };

struct settings {
	const struct gp_command *command;
	struct gp_cli_view view; /* watch: --batch */
	bool once, driver;
	u64 interval_ns;
	enum gp_cli_top_sort sort;
	const char *filter, *replay, *at;
	struct gp_root root;
};

static int set_colour(struct settings *settings, const char *value)
{
	if (strcmp(value, "auto") == 0)
		settings->view.colour = GP_COLOUR_AUTO;
	else if (strcmp(value, "always") == 0)
		settings->view.colour = GP_COLOUR_ALWAYS;
	else if (strcmp(value, "never") == 0)
		settings->view.colour = GP_COLOUR_NEVER;
	else
		return gp_usage_error(settings->command,
				      "invalid colour '%s' (auto, always or never)", value);
	return 0;
}

static int set(void *ctx, int id, const char *value)
{
	struct settings *settings = ctx;

	switch (id) {
	case OPTION_ONCE:
		settings->once = true;
		break;
	case GP_VIEW_JSON:
	case GP_VIEW_FORMAT:
		settings->once = true;
		return gp_cli_view_set(&settings->view, settings->command, id, value);
	case OPTION_FILTER:
		settings->filter = value;
		break;
	case OPTION_BATCH:
		settings->view.watch = settings->view.scroll = true;
		break;
	case OPTION_INTERVAL:
		return gp_option_duration(settings->command, "interval", value, 100 * GP_NS_PER_MS,
					  3600 * GP_NS_PER_S, &settings->interval_ns);
	case OPTION_COLOUR:
		return set_colour(settings, value);
	case OPTION_DRIVER:
		settings->driver = true;
		break;
	case OPTION_REPLAY:
		settings->replay = value;
		break;
	case OPTION_AT:
		settings->at = value;
		break;
	case OPTION_ROOT:
		settings->root.dir = value;
		break;
	case OPTION_SORT:
		for (enum gp_cli_top_sort sort = 0; sort < GP_TOP_SORTS; sort++) {
			if (strcmp(value, gp_cli_top_sort_name(sort)) == 0) {
				settings->sort = sort;
				return 0;
			}
		}
		return gp_usage_error(
			settings->command,
			"invalid order '%s' (priority, ran, held, preemptions, pid, p99 or gpu)",
			value);
	}
	return 0;
}

struct source {
	const struct settings *settings;
	struct gp_cli_daemon_client *client; /* NULL: the driver */
	struct gp_diag *diag;
};

static int make(void *ctx, struct gp_doc **doc)
{
	const struct source *source = ctx;
	const struct settings *settings = source->settings;
	struct gp_cli_top_data top = {0};
	char policy[16] = "";
	int error = source->client && source->client->socket < 0
			    ? gp_cli_daemon_open(source->client, source->diag)
			    : 0;

	if (!error)
		error = source->client
				? gp_cli_top_read(&top, source->client, source->diag)
				: gp_cli_top_read_driver(&top, &settings->root, source->diag);
	if (!error) {
		gp_cli_top_arrange(&top, settings->sort, settings->filter);
		if (source->client)
			gp_inspect_driver_sched_policy(&settings->root, policy, sizeof(policy));
		*doc = gp_cli_top_doc(&top, policy);
	}
	if (error && source->client)
		gp_cli_daemon_close(source->client); /* opened again if it goes on */
	gp_cli_top_free(&top);
	return error;
}

/*
 * The daemon if it answers; else the driver, if it has a scheduler. Without either, the messages
 * say what is missing of both.
 */
static int choose(struct settings *settings, struct gp_cli_daemon_client *client,
		  struct gp_diag *diag)
{
	char policy[16];
	int error;

	gp_inspect_driver_sched_policy(&settings->root, policy, sizeof(policy));
	/* Asked once: one that does not answer would be waited for twice. */
	error = gp_cli_daemon_open(client, *policy ? NULL : diag);
	settings->driver = *policy && (error == -ENOENT || error == -ECONNREFUSED);
	if (settings->driver)
		return 0;
	if (error && *policy)
		return gp_cli_daemon_open(client, diag);
	if (error == -ENOENT || error == -ECONNREFUSED)
		gp_diag(diag, GP_NOTE,
			"'gpreempt ps' lists the processes that use a GPU; it needs no daemon");
	return error;
}

static bool wants_screen(const struct settings *settings)
{
	return !settings->once && !settings->view.watch && isatty(STDIN_FILENO) &&
	       isatty(STDOUT_FILENO);
}

static int show(struct settings *settings, struct gp_command_diag *sink)
{
	struct gp_diag *diag = &sink->diag;
	struct gp_cli_daemon_client client = {.socket = -1};
	struct gp_cli_daemon_client *from;
	bool asked = settings->driver, screen = wants_screen(settings);
	int error = asked ? 0 : choose(settings, &client, screen ? NULL : diag);

	/* The screen says what is missing, and waits for it. */
	if (error && !(screen && gp_cli_daemon_is_away(error)))
		return screen ? choose(settings, &client, diag) : error;
	from = settings->driver ? NULL : &client;
	error = -ENOTTY;
	if (screen)
#ifdef GP_HAVE_NCURSES
		error = gp_cli_top_screen(
			from, &settings->root,
			&(struct gp_cli_top_options){settings->sort, settings->filter,
						     settings->interval_ns,
						     gp_cli_view_colour(&settings->view)});
#else
		gp_diag(diag, GP_NOTE,
			"built without ncurses: one table instead of the full screen");
#endif
	/* Into a file, or on a terminal of unknown type. */
	if (error == -ENOTTY) {
		settings->view.interval_ns = settings->interval_ns;
		settings->view.passes = gp_cli_daemon_is_away;
		error = gp_cli_view_run(&settings->view, sink, make,
					&(struct source){settings, from, diag});
	}
	/* The driver's scheduler cannot be read, and there is no daemon. */
	if (error && settings->driver && !asked)
		gp_cli_daemon_open(&client, diag);
	gp_cli_daemon_close(&client);
	return error;
}

static int replay(const struct settings *settings, struct gp_diag *diag)
{
	return gp_cli_top_replay(&(struct gp_cli_top_replay){.path = settings->replay,
							     .at = settings->at,
							     .sort = settings->sort,
							     .filter = settings->filter,
							     .once = settings->once,
							     .format = settings->view.format},
				 diag);
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	struct settings settings = {.command = command,
				    .root = {.dir = ""},
				    .interval_ns = GP_NS_PER_S};
	struct gp_command_diag sink;
	int first, status = gp_command_parse(command, argc, argv, set, &settings, &first);

	if (status)
		return status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (first < argc)
		return gp_usage_error(command, "unexpected argument '%s'", argv[first]);
	gp_command_diag_init(&sink, command);
	if (settings.at && !settings.replay)
		return gp_usage_error(command, "--at needs --replay");
	if (settings.replay)
		return replay(&settings, &sink.diag) ? GP_EXIT_FAILED : GP_EXIT_OK;
	if (!gp_root_is_live(&settings.root) && !settings.driver)
		return gp_usage_error(command, "--root needs --driver");
	if (gp_command_check_root(command, &settings.root))
		return GP_EXIT_USAGE;
	return show(&settings, &sink) ? GP_EXIT_FAILED : GP_EXIT_OK;
}

static const struct gp_option options[] = {
	{OPTION_ONCE, "once", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE, N_("print once and exit")},
	{GP_VIEW_JSON, "json", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("print JSON once (schema: docs/reference/json.md)")},
	GP_VIEW_OPTION_FORMAT,
	{OPTION_SORT, "sort", GP_REQUIRED_ARGUMENT, "ORDER", GP_COMPLETE_ORDER,
	 N_("sort by priority (default), ran, held, preemptions, pid,\n"
	    "p99 or gpu (groups the jobs by GPU)")},
	{OPTION_INTERVAL, "interval", GP_REQUIRED_ARGUMENT, "TIME", GP_COMPLETE_NONE,
	 N_("time between two readings (default 1s)")},
	{OPTION_BATCH, "batch", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("print as --once does, again every interval")},
	{OPTION_COLOUR, "color", GP_REQUIRED_ARGUMENT, "WHEN", GP_COMPLETE_WHEN,
	 N_("auto (default: on a terminal, unless NO_COLOR is set),\n"
	    "always or never")},
	{OPTION_FILTER, "filter", GP_REQUIRED_ARGUMENT, "TEXT", GP_COMPLETE_NONE,
	 N_("show only jobs with TEXT in their name, group or pid")},
	{OPTION_DRIVER, "driver", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("show the driver's built-in scheduler instead of gpreemptd")},
	{OPTION_REPLAY, "replay", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("show what gpreemptd wrote to FILE (decision_log), one\nsnapshot every 10 s; keys h "
	    "and l go back and forward")},
	{OPTION_AT, "at", GP_REQUIRED_ARGUMENT, "TIME", GP_COMPLETE_NONE,
	 N_("with --replay: begin with the state at TIME (14:03,\n'2026-11-17 14:03:05'; default: "
	    "the last)")},
	{OPTION_ROOT, "root", GP_REQUIRED_ARGUMENT, "DIR", GP_COMPLETE_DIRECTORY,
	 N_("with --driver: read DIR/sys instead of the live system")},
	{0},
};

const struct gp_command gp_cli_top = {
	.name = "top",
	.arguments = "",
	.completion = GP_COMPLETE_NONE,
	.summary = N_("Show GPUs and jobs as gpreemptd schedules them"),
	.description = N_(
		"Lists each GPU with its address, name, policy and jobs, and each job with its "
		"GPU,\n"
		"class, priority, state, latency (p50 and p99 of requests where the program\n"
		"announces them, otherwise of bursts of work), and the time its work waited, ran\n"
		"and was held. On a terminal it runs full-screen and shows, for the last "
		"interval,\n"
		"the share of time in which a job had work on the GPU (BUSY%; jobs that run at "
		"the\n"
		"same time can add up to more than 100 %) or the share of the GPU that its driver\n"
		"reports (GPU%), the share of time held, and the recent past as charts; '?' lists\n"
		"the keys. --once prints the tables and exits, as does a pipe or TERM=dumb.\n"
		"\n"
		"If gpreemptd is not running and the driver has a built-in scheduler ('gpreempt\n"
		"doctor' lists it as kfd-patched), top shows that scheduler, with the logical\n"
		"priority and state of each queue. --driver always shows it. The first line of\n"
		"the output names the source."),
	.options = options,
	.examples = "  gpreempt top\n"
		    "  gpreempt top --once --sort held --filter train\n"
		    "  gpreempt top --once --driver\n"
		    "  gpreempt top --replay " GP_DIARY_FILE " --at 14:03\n",
	.run = run,
};
