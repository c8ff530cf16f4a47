// SPDX-License-Identifier: MIT
/* gpreempt hqd: the hardware queue slots, decoded. */
#include "cli/watch/kfd_command.h"

static int sample(struct gp_cli_kfd_cli *cli, struct gp_cli_kfd_output *out)
{
	return gp_cli_kfd_sample_slots(cli, out, gp_inspect_hqd_read);
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	return gp_cli_kfd_command_run(command, argc, argv, sample);
}

static const struct gp_option options[] = {
	GP_KFD_OPTION_FILE(N_("read a saved copy of hqds; - is standard input")),
	GP_KFD_OPTION_MQDS,
	{GP_OPT_ALL, "all", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("also list inactive slots (without their stale values)")},
	GP_KFD_OPTION_PER_XCC,
	GP_KFD_OPTION_RAW,
	GP_KFD_OPTION_REGISTERS,
	GP_KFD_COMMON_OPTIONS,
};

const struct gp_command gp_cli_hqd = {
	.name = "hqd",
	.arguments = "[FILE]",
	.completion = GP_COMPLETE_FILE,
	.summary = N_("Show the hardware queue slots of AMD GPUs"),
	.description = N_(
		"Decodes /sys/kernel/debug/kfd/hqds (needs root), or a saved copy of it: which\n"
		"queues are in a hardware slot, their process, priority, ring and pointers. RPTR\n"
		"and WPTR count what was read and written since the queue was created, and "
		"BACKLOG\n"
		"is their difference, in AQL packets (dw: dwords); PRIO is pipe/queue priority;\n"
		"DOORBELL is the dword offset in the doorbell BAR. PID comes from the descriptor\n"
		"(mqds) with the same ring, MQD address and doorbell. CHECK is ok, high (backlog "
		"of\n"
		"100 packets or more), off (the queue is not time-sliced) or inactive."),
	.options = options,
	.examples = "  sudo gpreempt hqd\n"
		    "  sudo gpreempt hqd --watch 500ms --pid 4242\n"
		    "  # copies taken elsewhere\n"
		    "  gpreempt hqd --file hqds.txt --mqds mqds.txt\n"
		    "  ssh gpu1 sudo cat /sys/kernel/debug/kfd/hqds | gpreempt hqd -f - --json\n",
	.run = run,
};
