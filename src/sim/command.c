// SPDX-License-Identifier: MIT
#include "sim/command.h"

static const struct gp_option options[] = {
	{GP_SIM_OPTION_POLICY, "policy", GP_REQUIRED_ARGUMENT, "NAME,...", GP_COMPLETE_NONE,
	 N_("off, priority, fair, deadline, quantum: one run\neach, side by side (default: the "
	    "scenario's)")},
	{GP_SIM_OPTION_ALONE, "alone", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("also run each job by itself")},
	{GP_SIM_OPTION_SEED, "seed", GP_REQUIRED_ARGUMENT, "N", GP_COMPLETE_NONE,
	 N_("instead of the scenario's; for faults that of the\nfirst one (default 1)")},
	{GP_SIM_OPTION_TIME, "time", GP_REQUIRED_ARGUMENT, "TIME", GP_COMPLETE_NONE,
	 N_("virtual time to run, such as 500ms or 10s")},
	{GP_SIM_OPTION_HTML, "html", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("a page with tables and latency curves")},
	{GP_SIM_OPTION_PERFETTO, "perfetto", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("a trace of the first run for the Perfetto UI")},
	{GP_SIM_OPTION_FAULTS, "faults", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("random scenarios with faults; every invariant is\nchecked after every event")},
	{GP_SIM_OPTION_REPLAY, "replay", GP_REQUIRED_ARGUMENT, "SEED", GP_COMPLETE_NONE,
	 N_("one of them again")},
	{GP_SIM_OPTION_EVENTS, "events", GP_REQUIRED_ARGUMENT, "N", GP_COMPLETE_NONE,
	 N_("stop after so many events (default 300 million;\n1 million for faults)")},
	{GP_SIM_OPTION_EXPERIMENT, "experiment", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("the multi-process experiment, study beside model")},
	{GP_SIM_OPTION_JSON, "json", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE, N_("figures as JSON")},
	{GP_SIM_OPTION_FROM, "from", GP_REQUIRED_ARGUMENT, "[CLASS=]FILE", GP_COMPLETE_FILE,
	 N_("replay a rocprof profile, an AMD log or\n"
	    "the JSON of 'gpreempt log'; once per file")},
	{GP_SIM_OPTION_OUTPUT, "output", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("write the scenario of --from instead of running it")},
	{GP_SIM_OPTION_KERNEL, "kernel", GP_REQUIRED_ARGUMENT, "TIME", GP_COMPLETE_NONE,
	 N_("duration of kernels without a duration in --from")},
	{GP_SIM_OPTION_BURST, "burst", GP_REQUIRED_ARGUMENT, "TIME", GP_COMPLETE_NONE,
	 N_("kernels this close on a queue are one request\n(default 100us; those of CLASS offline "
	    "never "
	    "are)")},
	{0},
};

const struct gp_command gp_sim_command = {
	.name = "sim",
	.arguments = "SCENARIO | --from FILE... | --faults | --replay SEED | --experiment",
	.completion = GP_COMPLETE_FILE,
	.summary = N_("Run the scheduler on a GPU model in virtual time"),
	.description =
		N_("SCENARIO is a small file with jobs, their work, a GPU and a policy\n"
		   "(docs/reference/simulator.md), or a shipped one: serve, fair, deadline,\n"
		   "multi-process. The scheduler is that of gpreemptd, the GPU that of 'gpreempt\n"
		   "vgpu'. The same file and seed give the same figures, bit for bit. Times are\n"
		   "modelled and never measurements."),
	.exit_status = N_("Exit status: 0 ok, 1 failed or an invariant did not hold, 2 bad usage."),
	.options = options,
	.examples = "  gpreempt sim --alone --policy off,priority serve\n"
		    "  # two programs, each profiled alone: what if they shared the GPU?\n"
		    "  gpreempt sim --from online=server.csv --from offline=trainer.csv \\\n"
		    "      --policy off,priority\n"
		    "  gpreempt sim --faults --events 20000000\n",
};
