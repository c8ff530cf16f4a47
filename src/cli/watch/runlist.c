// SPDX-License-Identifier: MIT
/* gpreempt runlist: what the firmware scheduler was given to run. */
#include <errno.h>

#include "cli/watch/kfd_command.h"
#include "inspect/runlist.h"

static int sample(struct gp_cli_kfd_cli *cli, struct gp_cli_kfd_output *out)
{
	struct gp_inspect_runlists runlists = {0};
	int error = gp_inspect_runlist_read(&cli->query, &cli->sink.diag, &runlists);

	if (!error && cli->query.pid && !runlists.pids_from[0])
		error = gp_fail(&cli->sink.diag, -ENODATA,
				"--pid needs mqds to determine which process owns a queue: give a "
				"saved copy with --mqds, or run as root");
	if (!error) {
		out->empty = (cli->query.has_gpu && !runlists.list.node_count) ||
			     (cli->query.pid && !runlists.list.count);
		if (cli->json) {
			out->json = gp_inspect_runlist_json(&runlists, cli->show.raw);
		} else if (cli->show.raw) {
			gp_inspect_runlist_raw(&runlists, &out->text);
		} else {
			error = gp_inspect_runlist_grid(&runlists, &out->grid);
			gp_inspect_runlist_summary(&runlists, &out->text);
		}
	}
	gp_inspect_runlists_free(&runlists);
	return error;
}

static int run(const struct gp_cli_command *command, int argc, char **argv)
{
	return gp_cli_kfd_command_run(command, argc, argv, sample);
}

static const struct gp_cli_option options[] = {
	GP_KFD_OPTION_FILE(N_("read a saved copy of rls; - is standard input")),
	GP_KFD_OPTION_MQDS,
	GP_KFD_OPTION_RAW,
	GP_KFD_COMMON_OPTIONS,
};

const struct gp_cli_command gp_cli_runlist = {
	.name = "runlist",
	.arguments = "",
	.summary = N_("Show the runlist of the GPU's firmware scheduler"),
	.description = N_(
		"Decodes /sys/kernel/debug/kfd/rls (needs root), or a saved copy of it: "
		"the\nprocesses in the order of their turns and the queues mapped for each. MAPPED "
		"is\nmapped queues / all queues of the process; the rest are suspended, evicted "
		"or\ndisabled. An oversubscribed list does not fit on the GPU at once, and loops."),
	.options = options,
	.examples = "  sudo gpreempt runlist\n"
		    "  gpreempt runlist --file rls.txt --mqds mqds.txt --json\n",
	.run = run,
};
