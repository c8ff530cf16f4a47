// SPDX-License-Identifier: MIT
#include "vgpu/program/command.h"

static const struct gp_option options[] = {
	{GP_VGPU_OPTION_GPU, "gpu", GP_REQUIRED_ARGUMENT, "NAME|FILE", GP_COMPLETE_GPU,
	 N_("mi308x (default), mi300x, mi210 or a GPU file")},
	{GP_VGPU_OPTION_COUNT, "count", GP_REQUIRED_ARGUMENT, "N", GP_COMPLETE_NONE,
	 N_("number of GPUs, 1 to 8 (default 1)")},
	{GP_VGPU_OPTION_SPEED, "speed", GP_REQUIRED_ARGUMENT, "X", GP_COMPLETE_NONE,
	 N_("X seconds of GPU time in a second (default 1)")},
	{GP_VGPU_OPTION_PERSONALITY, "personality", GP_REQUIRED_ARGUMENT, "NAME", GP_COMPLETE_NONE,
	 N_("compat (default): a one-XCC gfx90a with this chip's\nCUs, which old ROCm knows; "
	    "native: the chip as it is")},
	{GP_VGPU_OPTION_ERA, "era", GP_REQUIRED_ARGUMENT, "VERSION", GP_COMPLETE_NONE,
	 N_("driver whose rules hold: 6.12 (default), 6.5 or 6.1")},
	{GP_VGPU_OPTION_RUNTIME_ENABLE, "runtime-enable", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("call RUNTIME_ENABLE for runtimes too old to do it")},
	{GP_VGPU_OPTION_SEED, "seed", GP_REQUIRED_ARGUMENT, "N", GP_COMPLETE_NONE,
	 N_("seed of the variation of kernel times (default 1)")},
	{GP_VGPU_OPTION_KERNELS, "kernels", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("kernel costs by name instead of the installed ones")},
	{GP_VGPU_OPTION_TIMEOUT, "preemption-timeout", GP_REQUIRED_ARGUMENT, "TIME",
	 GP_COMPLETE_NONE, N_("when an unmap counts as hung (default 9s)")},
	{GP_VGPU_OPTION_CHECKPOINT, "checkpoint", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("allow CRIU_OP, as to a caller with CAP_CHECKPOINT_RESTORE")},
	{GP_VGPU_OPTION_POLICY, "sched-policy", GP_REQUIRED_ARGUMENT, "N", GP_COMPLETE_NONE,
	 N_("amdgpu.sched_policy: 0 (default), 1 no oversubscription,\n2 no hardware scheduler")},
	{GP_VGPU_OPTION_RECOVERY, "gpu-recovery", GP_REQUIRED_ARGUMENT, "0|1", GP_COMPLETE_NONE,
	 N_("whether a GPU that hangs is reset (default 1)")},
	{GP_VGPU_OPTION_NAME, "name", GP_REQUIRED_ARGUMENT, "NAME", GP_COMPLETE_NONE,
	 N_("which machine is started, stopped, shown or used")},
	{GP_VGPU_OPTION_JSON, "json", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE, N_("status as JSON")},
	{0},
};

const struct gp_command gp_vgpu_command = {
	.name = "vgpu",
	.arguments = "-- COMMAND [ARGUMENT...] | start | stop | status",
	.completion = GP_COMPLETE_VGPU,
	.summary = N_("Run a program on virtual AMD GPUs"),
	.description = N_("COMMAND and its children see virtual AMD GPUs: KFD devices, files and "
			  "ioctls, with\n"
			  "queues, runlists and preemption like real ones. Kernels take modelled "
			  "time and compute\n"
			  "nothing; copies and fills are real. The machine ends with COMMAND. "
			  "'start' keeps a\n"
			  "machine for many programs until 'stop'; COMMAND uses it unless an "
			  "option other than\n"
			  "--name describes another. Inside a machine (GPREEMPT_VGPU names it) "
			  "commands use that\n"
			  "machine."),
	.exit_status =
		N_("Exit status: COMMAND's, or 128 + N if signal N killed it; 125 if the machine\n"
		   "failed or ended before COMMAND, 126 if COMMAND cannot be run (a static or\n"
		   "set-user-ID program), 127 if there is none; 2 bad usage. start, stop and\n"
		   "status: 0 ok, 1 not found or failed, 2 bad usage."),
	.options = options,
	.examples = "  gpreempt vgpu -- rocminfo\n"
		    "  # two MI300X, ten times as fast as real ones\n"
		    "  gpreempt vgpu --gpu mi300x --count 2 --speed 10 -- ./program\n"
		    "  # one machine for several terminals\n"
		    "  gpreempt vgpu start\n"
		    "  gpreempt vgpu -- gpreempt ps\n"
		    "  gpreempt vgpu status\n"
		    "  gpreempt vgpu stop\n",
};
