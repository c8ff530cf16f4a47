// SPDX-License-Identifier: MIT
/* gpreempt compare: what two programs give the GPU to do, and how to preempt one for the other. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/files/reading.h"
#include "cli/files/report_command.h"
#include "trace/read/amdlog.h"
#include "trace/analyse/compare.h"

struct arguments {
	struct gp_cli_report_cli cli;
	const char *summary;
};

static int set_option(void *ctx, int id, const char *value)
{
	struct arguments *arguments = ctx;

	if (!gp_cli_report_option(&arguments->cli, id, value))
		arguments->summary = value;
	arguments->cli.quiet |= gp_file_is_standard(value);
	return arguments->cli.usage;
}

static int read_log(struct gp_cli_report_cli *cli, const char *path,
		    struct gp_trace_workload *workload)
{
	struct gp_trace_amdlog_options options = {0};
	struct gp_trace_amdlog_stats stats;
	struct gp_cli_file_watch reading;
	int fd = gp_cli_report_open(cli, path, &options.name), error;

	if (fd < 0)
		return fd;
	gp_cli_file_watch_begin(&reading, fd, options.name, &cli->sink.diag);
	error = gp_trace_amdlog_read(fd, &options, &cli->sink.diag, gp_trace_workload_event,
				     workload, &stats);
	gp_cli_file_watch_end(&reading);
	close(fd);
	if (!error && (stats.torn || stats.overlong))
		gp_diag(&cli->sink.diag, GP_WARNING,
			ngettext("%s: %llu damaged line is not counted (line %llu)",
				 "%s: %llu damaged lines are not counted (the first is line %llu)",
				 (unsigned long)(stats.torn + stats.overlong)),
			options.name, (unsigned long long)(stats.torn + stats.overlong),
			(unsigned long long)stats.first_bad_line);
	if (!error)
		error = gp_trace_workload_finish(workload);
	return error;
}

static int show(struct arguments *arguments, const struct gp_trace_workload *cases, char **names)
{
	struct gp_trace_comparison comparison;
	struct gp_doc *doc;
	int error;

	error = gp_trace_compare(&cases[0], names[0], &cases[1], names[1], &comparison);
	doc = error ? NULL : gp_trace_compare_doc(&comparison);
	if (doc && arguments->summary) {
		struct gp_buf text = {0};

		error = gp_doc_markdown(doc, &text);
		if (!error)
			error = gp_cli_report_write(&arguments->cli, arguments->summary, &text);
		gp_buf_free(&text);
	}
	if (!error)
		error = gp_cli_report_print(&arguments->cli, doc);
	gp_doc_free(doc);
	return error;
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	struct arguments arguments = {0};
	struct gp_trace_workload cases[2] = {0};
	int first, parsed, error = 0;

	gp_cli_report_cli_init(&arguments.cli, command);
	parsed = gp_command_parse(command, argc, argv, set_option, &arguments, &first);
	if (parsed)
		return parsed < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (argc - first != 2)
		return gp_usage_error(command, "%s", _("specify two logs to compare"));
	for (int i = 0; i < 2 && !error; i++) {
		error = gp_trace_workload_init(&cases[i]);
		if (!error)
			error = read_log(&arguments.cli, argv[first + i], &cases[i]);
	}
	if (!error)
		error = show(&arguments, cases, argv + first);
	gp_trace_workload_free(&cases[0]);
	gp_trace_workload_free(&cases[1]);
	return error ? GP_EXIT_FAILED : GP_EXIT_OK;
}

static const struct gp_option options[] = {
	{'s', "summary", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("also write the comparison as Markdown to FILE ('-': print\nonly the Markdown)")},
	GP_REPORT_OPTIONS,
	{0},
};

const struct gp_command gp_cli_compare = {
	.name = "compare",
	.arguments = "A B",
	.completion = GP_COMPLETE_FILE,
	.summary = N_("Compare the GPU work in the logs of two programs"),
	.description = N_("Reads two AMD_LOG_LEVEL logs and compares their queues, kernels (by "
			  "name and class, with\n"
			  "sizes), submission rates and pauses, and how many queues are used at "
			  "once. Recommends\n"
			  "how to preempt one program for the other, and explains why. The logs "
			  "contain the time of\n"
			  "submission, not of execution."),
	.options = options,
	.examples =
		"  gpreempt compare case_a_cnn.log case_b_transformer.log\n"
		"  gpreempt compare --summary ANALYSIS_SUMMARY.md --html cases.html a.log b.log\n",
	.run = run,
};
