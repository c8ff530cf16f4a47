/* gpreempt top: GPUs and jobs as gpreemptd sees them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/term.h"
#include "cli/top_screen.h"

enum { OPTION_ONCE = '1', OPTION_JSON = 'j', OPTION_SORT = 's', OPTION_FILTER = 'f' };

struct settings {
	const struct gp_command *command;
	bool once, json;
	enum gp_top_sort sort;
	const char *filter;
};

static int set(void *ctx, int id, const char *value)
{
	struct settings *settings = ctx;

	switch (id) {
	case OPTION_ONCE:
		settings->once = true;
		break;
	case OPTION_JSON:
		settings->json = settings->once = true;
		break;
	case OPTION_FILTER:
		settings->filter = value;
		break;
	case OPTION_SORT:
		for (enum gp_top_sort sort = 0; sort < GP_TOP_SORTS; sort++) {
			if (strcmp(value, gp_top_sort_name(sort)) == 0) {
				settings->sort = sort;
				return 0;
			}
		}
		gp_usage_error(settings->command,
			       _("'%s' is no order: priority, ran, held, preemptions or pid"),
			       value);
		return -EINVAL;
	}
	return 0;
}

static int print_table(struct gp_table *table)
{
	int error = gp_table_print(table, stdout, gp_term_colour(stdout));

	gp_table_free(table);
	return error;
}

static int print(const struct gp_top *top)
{
	int error;

	printf(top->status.mode ? _("gpreemptd (pid %u), mode %s: %u jobs, %u held\n")
				: _("gpreemptd (pid %u), mode %s: %u jobs, %u would be held\n"),
	       top->status.pid, top->status.mode ? "act" : "observe", top->status.jobs,
	       top->status.held);
	if (*top->status.problem)
		printf(_("gpreemptd cannot act: %.*s\n"), (int)sizeof(top->status.problem),
		       top->status.problem);
	putchar('\n');
	error = print_table(gp_top_devices(top));
	putchar('\n');
	return error ? error : print_table(gp_top_jobs(top));
}

static int once(const struct settings *settings, struct gp_daemon_client *client,
		struct gp_diag *diag)
{
	struct gp_top top = {0};
	int error = gp_top_read(&top, client, diag);

	if (!error) {
		gp_top_arrange(&top, settings->sort, settings->filter);
		if (settings->json) {
			json_t *json = gp_top_json(&top);

			error = gp_json_print(stdout, json, false);
			json_decref(json);
		} else {
			error = print(&top);
		}
	}
	gp_top_free(&top);
	return error;
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	struct settings settings = {.command = command};
	struct gp_daemon_client client;
	struct gp_cli_diag sink;
	int first, error, status = gp_command_parse(command, argc, argv, set, &settings, &first);

	if (status)
		return status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (first < argc)
		return gp_usage_error(command, _("there is nothing to do with '%s'"), argv[first]);
	gp_cli_diag_init(&sink, command);
	if (gp_daemon_open(&client, &sink.diag))
		return GP_EXIT_FAILED;
	error = -ENOTTY;
	if (!settings.once && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		error = gp_top_screen(&client, settings.sort, settings.filter);
	/* Into a file, or on a terminal of which nothing is known. */
	if (error == -ENOTTY)
		error = once(&settings, &client, &sink.diag);
	gp_daemon_close(&client);
	return error ? GP_EXIT_FAILED : GP_EXIT_OK;
}

static const struct gp_option options[] = {
	{OPTION_ONCE, "once", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE, N_("print it once and end")},
	{OPTION_JSON, "json", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("print JSON once (schema: docs/json.md)")},
	{OPTION_SORT, "sort", GP_REQUIRED_ARGUMENT, "ORDER", GP_COMPLETE_NONE,
	 N_("priority (default), ran, held, preemptions or pid")},
	{OPTION_FILTER, "filter", GP_REQUIRED_ARGUMENT, "TEXT", GP_COMPLETE_NONE,
	 N_("only jobs with TEXT in their name, group or pid")},
	{0},
};

const struct gp_command gp_command_top = {
	.name = "top",
	.arguments = "",
	.completion = GP_COMPLETE_NONE,
	.summary = N_("Show GPUs and jobs as gpreemptd schedules them"),
	.description =
		N_("Each GPU with its policy and who is on it, and each job: class, priority, "
		   "state,\nqueues with work, how long its work waited, ran and was held, and how "
		   "often.\nOn a terminal it is a full screen with keys (j/k select, o order, / "
		   "filter,\nn renice, s suspend, c continue, q quit); --once prints it."),
	.options = options,
	.examples = "  gpreempt top\n"
		    "  gpreempt top --once --sort held --filter train\n",
	.run = run,
};
