// SPDX-License-Identifier: MIT
/* gpreempt mqd: the queue descriptors, decoded. */
#include "cli/watch/kfd_command.h"

static int sample(struct gp_cli_kfd_cli *cli, struct gp_cli_kfd_output *out)
{
	return gp_cli_kfd_sample_slots(cli, out, gp_inspect_mqd_read);
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	return gp_cli_kfd_command_run(command, argc, argv, sample);
}

static const struct gp_option options[] = {
	GP_KFD_OPTION_FILE(N_("read a saved copy of mqds; - is standard input")),
	GP_KFD_OPTION_PER_XCC,
	GP_KFD_OPTION_RAW,
	GP_KFD_OPTION_REGISTERS,
	GP_KFD_COMMON_OPTIONS,
};

const struct gp_command gp_cli_mqd = {
	.name = "mqd",
	.arguments = "[FILE]",
	.completion = GP_COMPLETE_FILE,
	.summary = N_("Show the queue descriptors of every process on AMD GPUs"),
	.description = N_(
		"Decodes /sys/kernel/debug/kfd/mqds (needs root), or a saved copy of it: every\n"
		"queue of every process, whether it is on the GPU or not. A descriptor holds the\n"
		"state saved when the queue was last unmapped; for a queue in a slot, 'hqd' shows\n"
		"the current state. SAVED is the part of the control stack in use, in bytes; a "
		"value\n"
		"other than 0 means that waves were stopped in the middle of a kernel. PASID is\n"
		"'-' if the driver does not print it, as in recent kernels."),
	.options = options,
	.examples = "  sudo gpreempt mqd --pid 4242\n"
		    "  gpreempt mqd --file mqds.txt --registers\n",
	.run = run,
};
