// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "show/table.h"
#include "show/term.h"
#include "cli/command.h"
#include "inspect/doctor.h"

enum { OPTION_JSON = 'j', OPTION_ROOT = 256, OPTION_PROBE };

struct settings {
	struct gp_root root;
	bool json, probe;
};

static int set(void *ctx, int id, const char *value)
{
	struct settings *settings = ctx;

	if (id == OPTION_JSON)
		settings->json = true;
	else if (id == OPTION_PROBE)
		settings->probe = true;
	else if (id == OPTION_ROOT)
		settings->root.dir = value;
	return 0;
}

static int print_table(struct gp_table *table)
{
	int error = gp_table_print(table, stdout, gp_term_colour(stdout));

	gp_table_free(table);
	return error;
}

static int print_text(const struct gp_inspect_doctor *d)
{
	int error = print_table(gp_inspect_doctor_facts(d));
	struct gp_table *gpus = gp_inspect_doctor_gpus(d);

	putchar('\n');
	if (gp_table_rows(gpus)) {
		if (!error)
			error = gp_table_print(gpus, stdout, gp_term_colour(stdout));
	} else {
		puts(_("No GPU found."));
	}
	gp_table_free(gpus);
	putchar('\n');
	if (!error)
		error = print_table(gp_inspect_doctor_mechanisms(d));
	putchar('\n');
	for (size_t i = 0; gp_inspect_doctor_note(i); i++)
		printf("* %s\n", gp_inspect_doctor_note(i));
	return error;
}

static int print_json(const struct gp_inspect_doctor *d)
{
	json_t *json = gp_inspect_doctor_json(d);
	int error = gp_json_print(stdout, json, false);

	json_decref(json);
	return error;
}

static int run(const struct gp_cli_command *command, int argc, char **argv)
{
	struct settings settings = {.root = {.dir = ""}};
	struct gp_cli_diag sink;
	struct gp_inspect_doctor doctor;
	int first, error, status = gp_cli_parse(command, argc, argv, set, &settings, &first);

	if (status)
		return status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (first < argc)
		return gp_cli_usage_error(command, "unexpected argument '%s'", argv[first]);
	if (settings.probe && !gp_root_is_live(&settings.root))
		return gp_cli_usage_error(
			command,
			"--probe queries the live driver and cannot be combined with --root");
	gp_cli_diag_init(&sink, command);
	if (gp_cli_check_root(command, &settings.root))
		return GP_EXIT_USAGE;
	error = gp_inspect_doctor_read(&settings.root, &sink.diag, settings.probe, &doctor);
	if (!error) {
		error = settings.json ? print_json(&doctor) : print_text(&doctor);
		gp_inspect_doctor_free(&doctor);
	}
	/* A stream that failed is reported by the caller. */
	if (error && error != -EIO)
		gp_fail(&sink.diag, error, "cannot print the report: %s", strerror(-error));
	return error ? GP_EXIT_FAILED : GP_EXIT_OK;
}

static const struct gp_cli_option options[] = {
	{OPTION_JSON, "json", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("print JSON (schema: docs/json.md)")},
	{OPTION_PROBE, "probe", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("open /dev/kfd and read its version; when gpreempt exits,\nthe driver preempts every "
	    "queue of every GPU once")},
	{OPTION_ROOT, "root", GP_REQUIRED_ARGUMENT, "DIR", GP_COMPLETE_DIRECTORY,
	 N_("read DIR/sys and DIR/proc instead of the live system;\ndevices, groups and "
	    "capabilities are not checked")},
	{0},
};

const struct gp_cli_command gp_cli_doctor = {
	.name = "doctor",
	.arguments = "",
	.completion = GP_COMPLETE_NONE,
	.summary = N_("Report which preemption mechanisms work on this machine, and why"),
	.description = N_("Reports kernel, drivers, GPUs, runtimes and permissions, then each "
			  "mechanism with\nwhat it is missing. It opens no device and disturbs no "
			  "process, except with --probe."),
	.options = options,
	.examples = "  gpreempt doctor\n"
		    "  # the mechanisms that can work here\n"
		    "  gpreempt doctor --json | jq -r '.mechanisms[] | select(.verdict == \"can\") "
		    "| .name'\n",
	.run = run,
};
