// SPDX-License-Identifier: MIT
#include "selftest/command.h"

static const struct gp_option options[] = {
	{GP_SELFTEST_OPTION_GPU, "gpu", GP_REQUIRED_ARGUMENT, "NODE", GP_COMPLETE_NONE,
	 N_("test the GPU with this node number, or nvidiaN (default:\nthe first)")},
	{GP_SELFTEST_OPTION_CYCLES, "cycles", GP_REQUIRED_ARGUMENT, "N", GP_COMPLETE_NONE,
	 N_("number of suspend and resume cycles (default 100)")},
	{GP_SELFTEST_OPTION_SHARED, "shared-gpu", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("test a GPU that other processes use; each suspension\n"
	    "interrupts them briefly")},
	{GP_SELFTEST_OPTION_YES, "yes", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("do not ask for confirmation on gfx11 and later")},
	{GP_SELFTEST_OPTION_JSON, "json", GP_OPTIONAL_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("write the results as JSON: to FILE, as well as the table,\n"
	    "or to standard output instead of the table")},
	{0},
};

const struct gp_command gp_selftest_command = {
	.name = "selftest",
	.arguments = "",
	.completion = GP_COMPLETE_NONE,
	.summary = N_("Test suspending and resuming GPU work on this machine"),
	.description = N_(
		"Suspends and resumes a small GPU program with each mechanism (kfd-agent and "
		"kfd-debug\n"
		"with 1, 4 and 16 queues; on NVIDIA nv-suspend and nv-timeslice with 1, 2 and 4 "
		"CUDA\n"
		"contexts). Checks that its work makes no progress while suspended and completes\n"
		"afterwards, and kills the holder during a suspension. With nv-timeslice the "
		"program gets\n"
		"a small share while another program runs. Prints which mechanisms work, why the "
		"others\n"
		"do not, and how long suspend and resume (or setting and lifting the share) take. "
		"The\n"
		"program runs a kernel that checks its registers and shared memory. On AMD GPUs "
		"for which\n"
		"neither this build nor hiprtc has such a kernel it submits barrier packets; then, "
		"as on\n"
		"a virtual GPU, only order and count are checked. Refuses an AMD GPU that other "
		"processes\n"
		"use. Uses separate sockets, processes and files and removes them at the end, "
		"except\n"
		"gpreempt-selftest.json in the working directory."),
	.exit_status = N_("Exit status: 0 a mechanism works, 1 none works or the GPU was refused, "
			  "2 bad usage."),
	.options = options,
	.examples = "  gpreempt selftest --json result.json\n"
		    "  # without a GPU\n"
		    "  gpreempt vgpu -- gpreempt selftest\n",
};
