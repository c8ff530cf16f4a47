// SPDX-License-Identifier: MIT
/*
 * The options, without what they do: gpreempt prints help, completion and manual from this table
 * and starts gpreempt-selftest, which parses with the same table.
 */
#include "selftest/command.h"

static const struct gp_option options[] = {
	{GP_SELFTEST_OPTION_GPU, "gpu", GP_REQUIRED_ARGUMENT, "NODE", GP_COMPLETE_NONE,
	 N_("node number of the GPU to test, or nvidiaN (default: the\n"
	    "first GPU)")},
	{GP_SELFTEST_OPTION_CYCLES, "cycles", GP_REQUIRED_ARGUMENT, "N", GP_COMPLETE_NONE,
	 N_("number of suspend and resume cycles (default 100)")},
	{GP_SELFTEST_OPTION_SHARED, "shared-gpu", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("test the GPU even if other processes use it; each\n"
	    "suspension interrupts them briefly")},
	{GP_SELFTEST_OPTION_YES, "yes", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("do not ask for confirmation on gfx11 and later")},
	{GP_SELFTEST_OPTION_CALIBRATE, "calibrate", GP_OPTIONAL_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("measure the costs of unmapping, mapping and dispatching\n"
	    "on this GPU, and write them to FILE as a GPU file for\n"
	    "'gpreempt vgpu' and scenarios (gpreempt-calibration.json)")},
	{GP_SELFTEST_OPTION_BASE, "base", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("with --calibrate: the GPU file for everything that is not\n"
	    "measured (default: the one with the gfx version, CUs and\n"
	    "XCCs of this GPU, else the nearest of its gfx family)")},
	{GP_SELFTEST_OPTION_JSON, "json", GP_OPTIONAL_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("write the results as JSON to FILE in addition to the\n"
	    "table; without FILE, print JSON instead of the table")},
	{0},
};

const struct gp_command gp_selftest_command = {
	.name = "selftest",
	.arguments = "",
	.completion = GP_COMPLETE_NONE,
	.summary = N_("Test suspending and resuming GPU work on this machine"),
	.description = N_("Runs a small GPU program and, with each mechanism, suspends and resumes "
			  "it. Checks that\n"
			  "its work stops while it is suspended and completes afterwards, even if "
			  "the holder is\n"
			  "killed. Prints which mechanisms work, why the others do not, and how "
			  "long they take.\n"
			  "\n"
			  "The program has 1, 4 and 16 queues on AMD GPUs, and 1, 2 and 4 CUDA "
			  "contexts on NVIDIA\n"
			  "GPUs. kfd-cumask and nv-timeslice do not suspend: they give the program "
			  "a part of the\n"
			  "GPU; their times are for setting and removing that share.\n"
			  "\n"
			  "The kernel of the program checks its registers and shared memory. If "
			  "neither this build\n"
			  "nor hiprtc provides a kernel for an AMD GPU, and on a virtual GPU "
			  "without --compute on,\n"
			  "only the order and number of packets are checked.\n"
			  "\n"
			  "A GPU that other processes use is refused unless --shared-gpu is given; "
			  "on NVIDIA GPUs,\n"
			  "only processes that you may inspect are found. All sockets, processes "
			  "and files of the\n"
			  "test are removed at the end, except the file with the results."),
	.exit_status = N_("Exit status: 0 a mechanism works, 1 none works or the GPU was refused, "
			  "2 bad usage."),
	.options = options,
	.examples = "  gpreempt selftest --json result.json\n"
		    "  # without a GPU\n"
		    "  gpreempt vgpu -- gpreempt selftest\n",
};
