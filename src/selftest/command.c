// SPDX-License-Identifier: MIT
#include "selftest/command.h"

static const struct gp_option options[] = {
	{GP_SELFTEST_OPTION_GPU, "gpu", GP_REQUIRED_ARGUMENT, "NODE", GP_COMPLETE_NONE,
	 N_("the GPU with this node number, or nvidiaN (default: the\nfirst)")},
	{GP_SELFTEST_OPTION_CYCLES, "cycles", GP_REQUIRED_ARGUMENT, "N", GP_COMPLETE_NONE,
	 N_("suspend and resume so many times (default 100)")},
	{GP_SELFTEST_OPTION_SHARED, "shared-gpu", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("even if others use it; each suspension interrupts\nthem briefly")},
	{GP_SELFTEST_OPTION_YES, "yes", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("do not ask on gfx11 and later")},
	{GP_SELFTEST_OPTION_JSON, "json", GP_OPTIONAL_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("results as JSON, into FILE beside the table or on\nstandard output instead of it")},
	{0},
};

const struct gp_command gp_selftest_command = {
	.name = "selftest",
	.arguments = "",
	.completion = GP_COMPLETE_NONE,
	.summary = N_("Try stopping and continuing GPU work on this machine"),
	.description = N_(
		"Starts a small GPU program of its own and, by each mechanism (kfd-agent and\n"
		"kfd-debug with 1, 4 and 16 queues; on NVIDIA nv-suspend and nv-timeslice with\n"
		"1, 2 and 4 CUDA contexts), suspends and resumes it, watches that its work\n"
		"stands still while suspended and completes afterwards, and kills the holder\n"
		"while it holds. nv-timeslice gives it a small share beside another program.\n"
		"Prints what works, why the rest does not, and how long suspend and resume (or\n"
		"setting and lifting the share) take. The work is a kernel that checks its own\n"
		"registers and shared memory; on AMD where this build or hiprtc has one for the\n"
		"GPU, otherwise barrier packets: then only order and count are checked, as on a\n"
		"virtual GPU. An AMD GPU that other processes use is refused. Sockets, processes\n"
		"and files are its own and removed at the end, but for gpreempt-selftest.json in\n"
		"the working directory."),
	.exit_status = N_("Exit status: 0 a mechanism works, 1 none does or it was refused, 2 bad "
			  "usage."),
	.options = options,
	.examples = "  gpreempt selftest --json result.json\n"
		    "  # without a GPU\n"
		    "  gpreempt vgpu -- gpreempt selftest\n",
};
