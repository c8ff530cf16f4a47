// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "show/table.h"
#include "show/term.h"
#include "cli/command.h"
#include "inspect/ps.h"

enum { OPTION_JSON = 'j', OPTION_ROOT = 256 };

struct settings {
	struct gp_root root;
	bool json;
};

static int set(void *ctx, int id, const char *value)
{
	struct settings *settings = ctx;

	if (id == OPTION_JSON)
		settings->json = true;
	else if (id == OPTION_ROOT)
		settings->root.dir = value;
	return 0;
}

static int print(const struct gp_inspect_ps *ps, bool as_json)
{
	int error;

	if (as_json) {
		json_t *json = gp_inspect_ps_json(ps);

		error = gp_json_print(stdout, json, false);
		json_decref(json);
	} else {
		struct gp_table *table = gp_inspect_ps_table(ps);

		error = gp_table_print(table, stdout, gp_term_colour(stdout));
		gp_table_free(table);
	}
	return error;
}

static int run(const struct gp_cli_command *command, int argc, char **argv)
{
	struct settings settings = {.root = {.dir = ""}};
	struct gp_cli_diag sink;
	struct gp_inspect_ps ps;
	int first, error, status = gp_cli_parse(command, argc, argv, set, &settings, &first);

	if (status)
		return status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (first < argc)
		return gp_cli_usage_error(command, "unexpected argument '%s'", argv[first]);
	gp_cli_diag_init(&sink, command);
	if (gp_cli_check_root(command, &settings.root))
		return GP_EXIT_USAGE;
	error = gp_inspect_ps_read(&settings.root, &sink.diag, &ps);
	if (error)
		return GP_EXIT_FAILED;
	error = print(&ps, settings.json);
	gp_inspect_ps_free(&ps);
	/* A stream that failed is reported by the caller. */
	if (error && error != -EIO)
		gp_fail(&sink.diag, error, "cannot print the list: %s", strerror(-error));
	return error ? GP_EXIT_FAILED : GP_EXIT_OK;
}

static const struct gp_cli_option options[] = {
	{OPTION_JSON, "json", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("print JSON (schema: docs/json.md), with the figures of each GPU")},
	{OPTION_ROOT, "root", GP_REQUIRED_ARGUMENT, "DIR", GP_COMPLETE_DIRECTORY,
	 N_("read DIR/sys and DIR/proc instead of the live system")},
	{0},
};

const struct gp_cli_command gp_cli_ps = {
	.name = "ps",
	.arguments = "",
	.completion = GP_COMPLETE_NONE,
	.summary = N_("List the processes that use a GPU, with their queues and containers"),
	.description =
		N_("One line per process known to the driver. GPUS are KFD topology nodes, QUEUES "
		   "are\ncounted by type, SDMA is the time spent in copy engines, CUS the number "
		   "of compute\nunits that hold its waves now, EVICTED the time the driver kept it "
		   "off the GPU.\nFigures are sums over all GPUs; '-' means unknown."),
	.options = options,
	.examples = "  gpreempt ps\n"
		    "  # pids of all processes with compute queues\n"
		    "  gpreempt ps --json | jq '.processes[] | select(.queue_counts.compute > 0) "
		    "| .pid'\n",
	.run = run,
};
