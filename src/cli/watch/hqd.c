// SPDX-License-Identifier: MIT
/* gpreempt hqd: the hardware queue slots, decoded. */
#include "cli/watch/slots_command.h"

#include <errno.h>

static void say_below(const struct gp_cli_kfd_cli *cli, const struct gp_inspect_slots *slots,
		      struct gp_buf *out)
{
	struct gp_inspect_slot_counts counts = gp_inspect_slot_count(&slots->list, slots->view);

	if (slots->view != GP_VIEW_SLOTS) {
		if (!counts.total)
			gp_buf_puts(out, _("No queues.\n"));
		return;
	}
	if (!counts.active && !counts.unknown && !cli->show.all)
		gp_buf_puts(out, _("No active queues.\n"));
	if (counts.inactive && !cli->show.all)
		gp_buf_printf(out, _("Inactive slots (shown with --all): %zu\n"), counts.inactive);
	if (counts.empty && !cli->show.all)
		gp_buf_printf(out, _("Slots that the driver could not read: %zu\n"), counts.empty);
	if (counts.unknown)
		gp_buf_printf(out,
			      _("Slots with an unknown register layout (shown with --raw): %zu\n"),
			      counts.unknown);
	if (!slots->pids_from[0] && counts.active)
		gp_buf_puts(out, cli->query.file ? _("PID is unknown: give the mqds saved with "
						     "this file (--mqds).\n")
						 : _("PID is unknown: cannot read mqds.\n"));
}

int gp_cli_slots_output(struct gp_cli_kfd_cli *cli, const struct gp_inspect_slots *slots,
			struct gp_cli_kfd_output *out)
{
	struct gp_inspect_slot_options show = cli->show;
	int error = 0;

	if (cli->query.pid && !slots->pids_from[0])
		return gp_fail(&cli->sink.diag, -ENODATA,
			       "--pid needs mqds to determine which process owns a queue: give a "
			       "saved copy with --mqds, or run as root");
	show.view = slots->view;
	out->empty = !slots->list.count && (cli->query.pid || cli->query.has_gpu);
	if (cli->json) {
		out->json = gp_inspect_slots_json(slots, &show);
	} else if (show.raw) {
		gp_inspect_slot_raw(&slots->list, &show, &out->text);
	} else if (show.registers) {
		gp_inspect_slot_registers(&slots->list, &show, &out->text);
	} else {
		error = gp_inspect_slot_grid(&slots->list, &show, &out->grid);
		if (!error && !out->empty)
			say_below(cli, slots, &out->text);
	}
	return error;
}

static int sample(struct gp_cli_kfd_cli *cli, struct gp_cli_kfd_output *out)
{
	struct gp_inspect_slots slots = {0};
	int error = gp_inspect_hqd_read(&cli->query, &cli->sink.diag, &slots);

	if (!error)
		error = gp_cli_slots_output(cli, &slots, out);
	gp_inspect_slots_free(&slots);
	return error;
}

static int run(const struct gp_cli_command *command, int argc, char **argv)
{
	return gp_cli_kfd_command_run(command, argc, argv, sample);
}

static const struct gp_cli_option options[] = {
	GP_KFD_OPTION_FILE(N_("read a saved copy of hqds; - is standard input")),
	GP_KFD_OPTION_MQDS,
	{GP_OPT_ALL, "all", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("also list inactive slots (without their stale values)")},
	GP_KFD_OPTION_PER_XCC,
	GP_KFD_OPTION_RAW,
	GP_KFD_OPTION_REGISTERS,
	GP_KFD_COMMON_OPTIONS,
};

const struct gp_cli_command gp_cli_hqd = {
	.name = "hqd",
	.arguments = "",
	.summary = N_("Show the hardware queue slots of AMD GPUs"),
	.description = N_("Decodes /sys/kernel/debug/kfd/hqds (needs root), or a saved copy of it: "
			  "which\nqueues are in a hardware slot, their process, priority, ring and "
			  "pointers. RPTR,\nWPTR and BACKLOG are in AQL packets (dw: dwords); PRIO "
			  "is pipe/queue priority;\nDOORBELL is the dword on the doorbell BAR. A "
			  "slot gets its PID from the descriptor\n(mqds) with the same ring, "
			  "address and doorbell. CHECK is ok, high (backlog of 100\npackets or "
			  "more), off (the queue is not time-sliced) or inactive."),
	.options = options,
	.examples = "  sudo gpreempt hqd\n"
		    "  sudo gpreempt hqd --watch 0.5 --pid 4242\n"
		    "  # copies taken elsewhere\n"
		    "  gpreempt hqd --file hqds.txt --mqds mqds.txt\n"
		    "  ssh gpu1 sudo cat /sys/kernel/debug/kfd/hqds | gpreempt hqd -f - --json\n",
	.run = run,
};
