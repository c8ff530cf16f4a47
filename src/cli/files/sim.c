// SPDX-License-Identifier: MIT
/* `gpreempt sim` is a program of its own: this file describes it and runs it. */
#include <string.h>

#include "cli/files/sim_command.h"

enum {
	OPTION_POLICY = 256,
	OPTION_SEED,
	OPTION_TIME,
	OPTION_ALONE,
	OPTION_JSON,
	OPTION_HTML,
	OPTION_PERFETTO,
	OPTION_FAULTS,
	OPTION_REPLAY,
	OPTION_EVENTS,
	OPTION_EXPERIMENT,
};

static int run(const struct gp_cli_command *command, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--from") == 0 || strncmp(argv[i], "--from=", 7) == 0)
			return gp_cli_sim_from(command, argc, argv);
	return gp_cli_exec(command, "gpreempt-sim", argc, argv);
}

static const struct gp_cli_option options[] = {
	{OPTION_POLICY, "policy", GP_REQUIRED_ARGUMENT, "NAME,...", GP_COMPLETE_NONE,
	 N_("off, priority, fair, deadline, quantum: one run\neach, side by side (default: the "
	    "scenario's)")},
	{OPTION_ALONE, "alone", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("also run each job by itself")},
	{OPTION_SEED, "seed", GP_REQUIRED_ARGUMENT, "N", GP_COMPLETE_NONE,
	 N_("instead of the scenario's; for faults that of the\nfirst one (default 1)")},
	{OPTION_TIME, "time", GP_REQUIRED_ARGUMENT, "TIME", GP_COMPLETE_NONE,
	 N_("virtual time to run, such as 500ms or 10s")},
	{OPTION_HTML, "html", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("a page with tables and latency curves")},
	{OPTION_PERFETTO, "perfetto", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("a trace of the first run for the Perfetto UI")},
	{OPTION_FAULTS, "faults", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("random scenarios with faults; every invariant is\nchecked after every event")},
	{OPTION_REPLAY, "replay", GP_REQUIRED_ARGUMENT, "SEED", GP_COMPLETE_NONE,
	 N_("one of them again")},
	{OPTION_EVENTS, "events", GP_REQUIRED_ARGUMENT, "N", GP_COMPLETE_NONE,
	 N_("stop after so many events (default 300 million;\n1 million for faults)")},
	{OPTION_EXPERIMENT, "experiment", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("the multi-process experiment, study beside model")},
	{OPTION_JSON, "json", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE, N_("figures as JSON")},
	{GP_SIM_FROM, "from", GP_REQUIRED_ARGUMENT, "[CLASS=]FILE", GP_COMPLETE_FILE,
	 N_("replay what a profile of rocprof's, an AMD log or\nthe JSON of 'gpreempt log' "
	    "recorded; "
	    "once for each file")},
	{GP_SIM_OUTPUT, "output", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("write the scenario of --from instead of running it")},
	{GP_SIM_KERNEL, "kernel", GP_REQUIRED_ARGUMENT, "TIME", GP_COMPLETE_NONE,
	 N_("how long kernels take of which --from does not tell")},
	{GP_SIM_BURST, "burst", GP_REQUIRED_ARGUMENT, "TIME", GP_COMPLETE_NONE,
	 N_("kernels this close on a queue are one request\n(default 100us; those of CLASS offline "
	    "never "
	    "are)")},
	{0},
};

const struct gp_cli_command gp_cli_sim = {
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
	.run = run,
};
