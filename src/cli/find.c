#include "cli/command.h"

static int run(const struct gp_command *command, int argc, char **argv)
{
	(void)argc, (void)argv;
	return gp_usage_error(command, "%s", _("name a pid"));
}

static const struct gp_option options[] = {{0}};

const struct gp_command gp_command_queue_finder = {
	.name = "queue_finder",
	.arguments = "PID [LOG]",
	.completion = GP_COMPLETE_PID,
	.summary = N_("List a process's GPU queues and write them as a Python file"),
	.options = options,
	.examples = "",
	.run = run,
};
