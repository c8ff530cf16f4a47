// SPDX-License-Identifier: MIT
/* gpreempt suspend --swap: the GPU memory of the process is moved while it is held. */
#include <errno.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/control/suspend.h"
#include "cli/control/swap.h"

int gp_cli_keeper_come_back(struct gp_cli_keeper *keeper)
{
	struct gp_nvrm_swap done;
	struct gp_doc *doc;

	if (gp_cli_swap_back(keeper->pid, &done, &keeper->sink.diag))
		return GP_EXIT_FAILED;
	doc = gp_cli_keeper_event(keeper, "swapped_in", "took_ms",
				  (int)(done.took_ns / GP_NS_PER_MS));
	gp_doc_line(doc, "%s: swapped in within %s, running again after %.1f s", keeper->name,
		    gp_duration_text(done.took_ns).text, gp_cli_keeper_held_s(keeper));
	gp_cli_keeper_print(keeper, doc);
	return GP_EXIT_OK;
}

static void say_out(const struct gp_cli_keeper *keeper, struct gp_doc *doc,
		    const struct gp_nvrm_swap *done)
{
	gp_doc_fact(doc, "bytes", NULL, gp_v_count(done->bytes));
	gp_doc_line(doc, "%s: %s of GPU memory swapped out within %s", keeper->name,
		    gp_size_text(done->bytes).text, gp_duration_text(done->took_ns).text);
	gp_cli_keeper_print(keeper, doc);
}

/* Work that was submitted must end before its memory can be moved, so it runs once more, for as
 * long as that takes. Where it fails the suspension goes on as it was. */
int gp_cli_keeper_swap_out(struct gp_cli_keeper *keeper)
{
	struct gp_nvrm_swap done;
	struct gp_doc *doc;
	int error;

	keeper->swap = false;
	if (gpreempt_target_resume(keeper->target) < 0)
		return gp_cli_keeper_failed(keeper);
	gpreempt_target_close(keeper->target);
	keeper->target = NULL;
	error = gp_cli_swap_out(keeper->pid, keeper->swap_memory, &done, &keeper->sink.diag);
	if (!error) {
		keeper->swapped = true;
		doc = gp_cli_keeper_event(keeper, "swapped_out", "took_ms",
					  (int)(done.took_ns / GP_NS_PER_MS));
		say_out(keeper, doc, &done);
		return -1;
	}
	gp_cli_keeper_say(keeper, "swap_failed", "error", -error);
	error = gp_cli_keeper_open(keeper);
	if (error >= 0)
		error = gp_cli_keeper_take(keeper);
	return error < 0 ? gp_cli_keeper_failed(keeper) : -1;
}

/* gpreemptd starts this command for a rule with `swap`, and lets go of its own hold at "swapping":
 * work that was submitted must end. */
int gp_cli_keeper_swap_now(struct gp_cli_keeper *keeper)
{
	struct gp_nvrm_swap done;
	struct gp_doc *doc;
	int error;

	keeper->swap = false;
	keeper->started_ns = gp_monotonic_ns();
	gpreempt_target_close(keeper->target);
	keeper->target = NULL;
	gp_cli_keeper_say(keeper, "swapping", NULL, 0);
	error = gp_cli_swap_out(keeper->pid, keeper->swap_memory, &done, &keeper->sink.diag);
	keeper->said = error != 0;
	if (error)
		return error;
	keeper->swapped = true;
	doc = gp_cli_keeper_event(keeper, "swapped_out", "took_ms",
				  (int)(done.took_ns / GP_NS_PER_MS));
	say_out(keeper, doc, &done);
	return 0;
}

/* Another command may have brought it back, or it may have ended. */
int gp_cli_keeper_check_swapped(struct gp_cli_keeper *keeper)
{
	struct gp_proto_swapped record;

	if (!gp_proto_swapped_start(keeper->pid)) {
		gp_cli_keeper_say(keeper, "gone", "process", (int)keeper->pid);
		gp_diag(&keeper->sink.diag, GP_NOTE, "process %u ended", keeper->pid);
		gp_proto_swapped_remove(keeper->pid);
		return GP_EXIT_OK;
	}
	if (gp_proto_swapped_find(keeper->pid, &record) == 0)
		return -1;
	gp_cli_keeper_say(keeper, "lease_lost", NULL, 0);
	gp_diag(&keeper->sink.diag, GP_ERROR, "%s was released and is running again", keeper->name);
	return GP_EXIT_FAILED;
}

int gp_cli_keeper_check_swap(struct gp_cli_keeper *keeper)
{
	struct gpreempt_target_info info = {.size = sizeof(info)};
	int error = gpreempt_target_info(keeper->target, &info);

	if (!error)
		error = gp_cli_swap_check(keeper->pid, info.mechanism, keeper->swap_memory,
					  &keeper->sink.diag);
	keeper->said = error != 0;
	return error;
}
