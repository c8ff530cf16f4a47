// SPDX-License-Identifier: MIT
/*
 * The options, without what they do: gpreempt prints help, completion and manual from this table
 * and starts gpreempt-sim, which parses with the same table.
 */
#include "sim/program/command.h"

static const struct gp_option options[] = {
	{GP_SIM_OPTION_POLICY, "policy", GP_REQUIRED_ARGUMENT, "NAME,...", GP_COMPLETE_POLICY,
	 N_("run the scenario once with each policy in the list:\n"
	    "off, priority, fair, deadline, quantum (default: the\n"
	    "policy in the scenario)")},
	{GP_SIM_OPTION_ALONE, "alone", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("also run each job alone")},
	{GP_SIM_OPTION_ORACLE, "oracle", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("compare with the best possible schedule")},
	{GP_SIM_OPTION_SEED, "seed", GP_REQUIRED_ARGUMENT, "N", GP_COMPLETE_NONE,
	 N_("random seed (default: the seed in the scenario); with\n"
	    "--faults, the first seed (default 1)")},
	{GP_SIM_OPTION_TIME, "time", GP_REQUIRED_ARGUMENT, "TIME", GP_COMPLETE_NONE,
	 N_("virtual time to run, such as 500ms or 10s (default: the\n"
	    "time in the scenario; 10s with --grid)")},
	{GP_SIM_OPTION_HTML, "html", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("write an HTML page with tables and latency curves")},
	{GP_SIM_OPTION_PERFETTO, "perfetto", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("write a trace of the run with the first policy, for\n"
	    "ui.perfetto.dev")},
	{GP_SIM_OPTION_FAULTS, "faults", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("run random scenarios with faults and check every\n"
	    "invariant after every event")},
	{GP_SIM_OPTION_REPLAY, "replay", GP_REQUIRED_ARGUMENT, "SEED", GP_COMPLETE_NONE,
	 N_("repeat the random scenario with this seed")},
	{GP_SIM_OPTION_EVENTS, "events", GP_REQUIRED_ARGUMENT, "N", GP_COMPLETE_NONE,
	 N_("stop after N events (default 300 million;\n"
	    "1 million with --faults)")},
	{GP_SIM_OPTION_EXPERIMENT, "experiment", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("compare the model with a study in which two processes\n"
	    "completed less work than one")},
	{GP_SIM_OPTION_GRID, "grid", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("run 1 to 64 servers together with 1 to 256 batch jobs\n"
	    "and compare with the best possible schedule")},
	{GP_SIM_OPTION_JSON, "json", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("print the results as JSON")},
	{GP_SIM_OPTION_FROM, "from", GP_REQUIRED_ARGUMENT, "[CLASS=]FILE", GP_COMPLETE_FILE,
	 N_("replay a rocprof profile, an AMD log or the JSON\n"
	    "output of 'gpreempt log'; may be repeated")},
	{GP_SIM_OPTION_OUTPUT, "output", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("write the scenario made from the --from files to FILE\n"
	    "without running it")},
	{GP_SIM_OPTION_KERNEL, "kernel", GP_REQUIRED_ARGUMENT, "TIME", GP_COMPLETE_NONE,
	 N_("kernel duration to assume if a --from file has none")},
	{GP_SIM_OPTION_BURST, "burst", GP_REQUIRED_ARGUMENT, "TIME", GP_COMPLETE_NONE,
	 N_("group kernels of a queue into one request if they\n"
	    "are at most TIME apart (default 100us; not for\n"
	    "CLASS offline)")},
	{0},
};

const struct gp_command gp_sim_command = {
	.name = "sim",
	.arguments = "SCENARIO | --from FILE... | --faults | --replay SEED | --experiment | --grid",
	.completion = GP_COMPLETE_SCENARIO,
	.summary = N_("Run the scheduler on a GPU model in virtual time"),
	.description = N_(
		"SCENARIO is a file that describes jobs, their work, a GPU and a policy\n"
		"(docs/reference/simulator.md), or the name of an installed scenario: serve, "
		"fair,\n"
		"deadline, multi-process or cluster. The simulator runs the scheduler of "
		"gpreemptd\n"
		"on the GPU model of 'gpreempt vgpu'. A file with a section [cluster] describes\n"
		"nodes and jobs that need several GPUs (docs/reference/cluster-simulator.md); it\n"
		"is run with exclusive GPUs, with kill and requeue, and with shared GPUs. The "
		"same\n"
		"file and seed always give the same results.\n"
		"All times are modelled, not measured."),
	.exit_status = N_("Exit status: 0 ok, 1 failed or an invariant did not hold, 2 bad usage."),
	.options = options,
	.examples = "  gpreempt sim --alone --policy off,priority serve\n"
		    "  # two programs, each profiled alone: what if they shared the GPU?\n"
		    "  gpreempt sim --from online=server.csv --from offline=trainer.csv \\\n"
		    "      --policy off,priority\n"
		    "  gpreempt sim --html page.html cluster\n"
		    "  gpreempt sim --faults --events 20000000\n",
};
