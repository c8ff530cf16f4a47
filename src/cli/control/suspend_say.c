// SPDX-License-Identifier: MIT
/* What `gpreempt suspend` prints: one event per line for people, one object for programs. */
#include "base/clock.h"
#include "cli/control/suspend.h"

struct gp_doc *gp_cli_keeper_event(const struct gp_cli_keeper *keeper, const char *event,
				   const char *key, int number)
{
	struct gp_doc *doc = gp_doc_new_answer();

	gp_doc_fact(doc, "event", NULL, gp_v_text(event));
	gp_doc_fact(doc, "pid", NULL, gp_v_if(keeper->pid, gp_v_count(keeper->pid)));
	gp_doc_fact(doc, "group", NULL, gp_v_text(keeper->group));
	if (key)
		gp_doc_fact(doc, key, NULL, gp_v_json(json_integer(number)));
	gp_doc_fact(doc, "held_ms", NULL,
		    gp_v_count((gp_monotonic_ns() - keeper->started_ns) / GP_NS_PER_MS));
	return doc;
}

void gp_cli_keeper_print(const struct gp_cli_keeper *keeper, struct gp_doc *doc)
{
	(void)gp_show_print(doc, stdout, keeper->json ? GP_SHOW_JSON_LINE : GP_SHOW_TEXT);
	gp_doc_free(doc);
	fflush(stdout);
}

void gp_cli_keeper_say(const struct gp_cli_keeper *keeper, const char *event, const char *key,
		       int number)
{
	gp_cli_keeper_print(keeper, gp_cli_keeper_event(keeper, event, key, number));
}

double gp_cli_keeper_held_s(const struct gp_cli_keeper *keeper)
{
	return (double)(gp_monotonic_ns() - keeper->started_ns) / 1e9;
}

int gp_cli_keeper_failed(struct gp_cli_keeper *keeper)
{
	gp_fail(&keeper->sink.diag, -1, "%s", gpreempt_error(keeper->context));
	return GP_EXIT_FAILED;
}

void gp_cli_keeper_details(struct gp_cli_keeper *keeper)
{
	struct gpreempt_target_info info = {.size = sizeof(info)};
	struct gpreempt_latency latency = {.size = sizeof(latency)};

	if (gpreempt_target_info(keeper->target, &info) < 0 ||
	    gpreempt_target_latency(keeper->target, &latency) < 0)
		return;
	gp_diag(&keeper->sink.diag, GP_NOTE, "mechanism %s: %s",
		gpreempt_mechanism_name(info.mechanism) ? gpreempt_mechanism_name(info.mechanism)
							: "?",
		info.why);
	gp_diag(&keeper->sink.diag, GP_NOTE,
		"suspending took %.1f us (%.1f us before the driver call, %.1f us in the driver); "
		"skew between processes: %.1f us",
		(double)latency.total_ns / 1e3, (double)latency.issue_ns / 1e3,
		(double)latency.driver_ns / 1e3, (double)latency.skew_ns / 1e3);
}

void gp_cli_keeper_note_copies(struct gp_cli_keeper *keeper)
{
	struct gpreempt_target_info info = {.size = sizeof(info)};

	if (gpreempt_target_info(keeper->target, &info) >= 0 && info.process_count &&
	    info.mechanism != GPREEMPT_NV_SUSPEND)
		gp_diag(&keeper->sink.diag, GP_NOTE,
			"--copy-engines has no effect with %s, which always suspends copy queues "
			"together with compute queues",
			gpreempt_mechanism_name(info.mechanism));
}

bool gp_cli_keeper_say_others(struct gp_cli_keeper *keeper)
{
	struct gpreempt_target_info info = {.size = sizeof(info)};
	struct gp_doc *doc;

	if (gpreempt_target_info(keeper->target, &info) < 0 || !info.suspended)
		return false;
	doc = gp_cli_keeper_event(keeper, "let_go", "owner_pid", info.owner_pid);
	gp_doc_line(doc, "%s: released after %.1f s; still suspended by process %d", keeper->name,
		    gp_cli_keeper_held_s(keeper), info.owner_pid);
	gp_cli_keeper_print(keeper, doc);
	return true;
}
