// SPDX-License-Identifier: MIT
/* gpreempt queues-trace: the queues that the driver's own prints tell of. */
#include <errno.h>
#include <unistd.h>

#include "cli/files/report_command.h"
#include "trace/read/kfdlog.h"
#include "trace/analyse/kfdqueues.h"

static int set_option(void *ctx, int id, const char *value)
{
	struct gp_cli_report_cli *cli = ctx;

	gp_cli_report_option(cli, id, value);
	return cli->usage;
}

static int read_file(struct gp_cli_report_cli *cli, const char *path,
		     struct gp_trace_kfd_queues *queues)
{
	struct gp_trace_kfdlog_stats stats;
	const char *name;
	int fd = gp_cli_report_open(cli, path, &name), error;

	if (fd < 0)
		return fd;
	error = gp_trace_kfdlog_read(fd, name, &cli->sink.diag, gp_trace_kfd_queues_event, queues,
				     &stats);
	close(fd);
	return error;
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	struct gp_cli_report_cli cli;
	struct gp_trace_kfd_queues *queues;
	int first, parsed, error = 0;
	size_t count = 0;

	gp_cli_report_cli_init(&cli, command);
	parsed = gp_command_parse(command, argc, argv, set_option, &cli, &first);
	if (parsed)
		return parsed < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (first == argc)
		return gp_usage_error(command, "%s",
				      _("no trace given; name a file, or - for standard input"));
	queues = gp_trace_kfd_queues_new();
	if (!queues)
		error = gp_fail(&cli.sink.diag, -ENOMEM, "%s", _("out of memory"));
	for (int i = first; i < argc && !error; i++)
		error = read_file(&cli, argv[i], queues);
	if (!error)
		error = gp_trace_kfd_queues_finish(queues);
	if (!error) {
		struct gp_doc *doc = gp_trace_kfd_queues_doc(queues);

		gp_trace_kfd_queues_items(queues, &count);
		error = gp_cli_report_print(&cli, doc);
		gp_doc_free(doc);
	}
	gp_trace_kfd_queues_free(queues);
	return error || !count ? GP_EXIT_FAILED : GP_EXIT_OK;
}

static const struct gp_option options[] = {
	GP_REPORT_OPTIONS,
	{0},
};

const struct gp_command gp_cli_queues_trace = {
	.name = "queues-trace",
	.arguments = "FILE...",
	.completion = GP_COMPLETE_FILE,
	.summary = N_("Explain queue ids and doorbells from the driver's trace"),
	.description =
		N_("Reads dmesg or ftrace text with [KFD-TRACE] messages, or the stock driver's\n"
		   "dynamic-debug lines. Shows the queue ids and doorbells of each process, "
		   "whether the\n"
		   "ids start at (pid % 256) x 4, what the doorbell offsets are relative to, and "
		   "whether\n"
		   "the ids or doorbells of two processes overlap."),
	.options = options,
	.examples = "  sudo dmesg | gpreempt queues-trace -\n"
		    "  gpreempt queues-trace --json kfd_trace.txt\n",
	.run = run,
};
