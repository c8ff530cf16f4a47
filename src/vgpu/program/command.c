// SPDX-License-Identifier: MIT
/*
 * The options, without what they do: gpreempt prints help, completion and manual from this table
 * and starts gpreempt-vgpu, which parses with the same table.
 */
#include "vgpu/program/command.h"

static const struct gp_option options[] = {
	{GP_VGPU_OPTION_GPU, "gpu", GP_REQUIRED_ARGUMENT, "NAME|FILE", GP_COMPLETE_GPU,
	 N_("mi308x (default), mi300x, mi210 or a GPU file")},
	{GP_VGPU_OPTION_COUNT, "count", GP_REQUIRED_ARGUMENT, "N", GP_COMPLETE_NONE,
	 N_("number of GPUs, 1 to 8 (default 1)")},
	{GP_VGPU_OPTION_SPEED, "speed", GP_REQUIRED_ARGUMENT, "X", GP_COMPLETE_NONE,
	 N_("run the model at X times real time (default 1)")},
	{GP_VGPU_OPTION_PERSONALITY, "personality", GP_REQUIRED_ARGUMENT, "NAME", GP_COMPLETE_NONE,
	 N_("compat (default): a single-XCC gfx90a with all CUs of\n"
	    "the chip, which old ROCm supports; native: the real chip")},
	{GP_VGPU_OPTION_ERA, "era", GP_REQUIRED_ARGUMENT, "VERSION", GP_COMPLETE_NONE,
	 N_("Linux driver to imitate: 7.0, 6.16, 6.12 (default), 6.5 or 6.1")},
	{GP_VGPU_OPTION_RUNTIME_ENABLE, "runtime-enable", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("call RUNTIME_ENABLE for every program, because old\n"
	    "runtimes do not")},
	{GP_VGPU_OPTION_COMPUTE, "compute", GP_REQUIRED_ARGUMENT, "on|off", GP_COMPLETE_NONE,
	 N_("execute the instructions of kernels (default off: they\n"
	    "only take time)")},
	{GP_VGPU_OPTION_TRAP_HANDLER, "trap-handler", GP_REQUIRED_ARGUMENT, "FILE",
	 GP_COMPLETE_FILE,
	 N_("save and restore waves with the trap handler in FILE\n"
	    "(cwsr_trap_handler.h of a driver); needs --compute on")},
	{GP_VGPU_OPTION_SEED, "seed", GP_REQUIRED_ARGUMENT, "N", GP_COMPLETE_NONE,
	 N_("seed for the variation of kernel times (default 1)")},
	{GP_VGPU_OPTION_KERNELS, "kernels", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("read kernel costs from FILE, not the installed list")},
	{GP_VGPU_OPTION_TIMEOUT, "preemption-timeout", GP_REQUIRED_ARGUMENT, "TIME",
	 GP_COMPLETE_NONE, N_("time after which an unmap counts as hung (default 9s)")},
	{GP_VGPU_OPTION_CHECKPOINT, "checkpoint", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("allow CRIU_OP, as if the caller had\n"
	    "CAP_CHECKPOINT_RESTORE")},
	{GP_VGPU_OPTION_POLICY, "sched-policy", GP_REQUIRED_ARGUMENT, "N", GP_COMPLETE_NONE,
	 N_("amdgpu.sched_policy: 0 (default), 1 no oversubscription,\n2 no hardware scheduler")},
	{GP_VGPU_OPTION_RECOVERY, "gpu-recovery", GP_REQUIRED_ARGUMENT, "0|1", GP_COMPLETE_NONE,
	 N_("reset a GPU that hangs: 1 yes (default), 0 no")},
	{GP_VGPU_OPTION_NAME, "name", GP_REQUIRED_ARGUMENT, "NAME", GP_COMPLETE_NONE,
	 N_("name of the machine to start, stop, show or use")},
	{GP_VGPU_OPTION_JSON, "json", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("print the status as JSON")},
	{0},
};

const struct gp_command gp_vgpu_command = {
	.name = "vgpu",
	.arguments = "-- COMMAND [ARGUMENT...] | start | stop | status",
	.completion = GP_COMPLETE_VGPU,
	.summary = N_("Run a program on virtual AMD GPUs"),
	.description = N_(
		"COMMAND and its children see virtual AMD GPUs: KFD devices, files and ioctls, "
		"with\n"
		"queues, runlists and preemption like real ones. Kernels take modelled time and "
		"compute\n"
		"nothing without --compute on; copies and fills are real. By default, the machine\n"
		"stops when COMMAND exits.\n"
		"'start' creates a machine that several programs can use until 'stop'; COMMAND "
		"runs on\n"
		"it unless an option other than --name describes a new machine. Inside a machine\n"
		"(GPREEMPT_VGPU names it), all commands use that machine."),
	.exit_status = N_(
		"Exit status: that of COMMAND; 128 + N if signal N killed it; 125 if the machine\n"
		"failed or ended before COMMAND, 126 if COMMAND cannot be run (a static or\n"
		"set-user-ID program), 127 if it is not found; 2 bad usage. start, stop and\n"
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
