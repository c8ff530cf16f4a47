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
	.description = N_("Suspends and resumes a small GPU program with each mechanism (kfd-agent "
			  "and kfd-debug\n"
			  "with 1, 4 and 16 queues; on NVIDIA nv-suspend and nv-timeslice with 1, "
			  "2 and 4 CUDA\n"
			  "contexts). Checks that its work stands still while suspended and "
			  "completes afterwards,\n"
			  "and kills the holder during a suspension. nv-timeslice gives the "
			  "program a small share\n"
			  "beside another one. Prints which mechanisms work, why the others do "
			  "not, and how long\n"
			  "suspend and resume (or setting and lifting the share) take. The program "
			  "runs a kernel\n"
			  "that checks its registers and shared memory. On AMD GPUs for which "
			  "neither this build\n"
			  "nor hiprtc has such a kernel it submits barrier packets; then, as on a "
			  "virtual GPU, only\n"
			  "order and count are checked. Refuses an AMD GPU that other processes "
			  "use. Uses its own\n"
			  "sockets, processes and files and removes them at the end, except\n"
			  "gpreempt-selftest.json in the working directory."),
	.exit_status = N_("Exit status: 0 a mechanism works, 1 none does or it was refused, 2 bad "
			  "usage."),
	.options = options,
	.examples = "  gpreempt selftest --json result.json\n"
		    "  # without a GPU\n"
		    "  gpreempt vgpu -- gpreempt selftest\n",
};
