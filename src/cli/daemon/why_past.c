// SPDX-License-Identifier: MIT
/* gpreempt why --at: what the record says of a time that is over. */
#include "cli/daemon/why_state.h"

#include "base/clock.h"
#include "cli/daemon/daemon_client.h"
#include "cli/daemon/diary.h"
#include "show/reason.h"

int gp_cli_why_past_set(struct gp_cli_why_past *past, const struct gp_command *command,
			const char *text)
{
	s64 now = (s64)gp_clock_ns(CLOCK_REALTIME), end;

	if (!gp_cli_diary_time_parse(text, now, &end, &past->until))
		return gp_usage_error(command,
				      "'%s' is not a time; give 14:03, 14:03:05 or '2026-11-17 "
				      "14:03:05'",
				      text);
	/* It names a whole second, which has begun. */
	if (end - now >= (s64)GP_NS_PER_S)
		return gp_usage_error(command, "'%s' is in the future", text);
	past->text = text;
	return 0;
}

/* Decisions begin and end holds; the rest explains them. */
static bool changes(const struct gp_proto_msg_decision *line, bool *held)
{
	*held = line->kind == GP_DECISION_SUSPEND;
	return line->kind == GP_DECISION_SUSPEND || line->kind == GP_DECISION_RESUME ||
	       line->kind == GP_DECISION_WENT ||
	       (line->kind == GP_DECISION_NOTE && line->why == GP_SCHED_WHY_LEASE_LOST);
}

static void look_off(struct gp_cli_why_past *past, const struct gp_proto_msg_decision *line, s64 at)
{
	enum gp_cli_off off = gp_cli_decision_off(line);

	if (off == GP_CLI_OFF_BEGINS && !past->off) {
		past->off = line;
		past->off_since = at;
	} else if (off == GP_CLI_OFF_ENDS) {
		past->off = NULL;
	}
}

size_t gp_cli_why_past_look(struct gp_cli_why_past *past, s64 offset, u64 job, u32 pid,
			    const struct gp_proto_msg_decision *lines, size_t count)
{
	size_t kept = 0;

	past->held = past->observed = false;
	past->off = NULL;
	while (kept < count && (s64)lines[kept].at_ns + offset <= past->until) {
		const struct gp_proto_msg_decision *line = &lines[kept++];
		bool held;

		if (line->job != job && line->job_pid != pid)
			continue;
		look_off(past, line, (s64)line->at_ns + offset);
		if (!changes(line, &held))
			continue;
		if (held && !past->held)
			past->since = (s64)line->at_ns + offset;
		past->held = held;
		past->observed = line->observed;
	}
	return kept;
}

/* In the words of who or what had it held. */
static void off_line(struct gp_doc *doc, const struct gp_cli_why_past *past)
{
	char since[32], who[128];

	gp_cli_diary_time(past->off_since, since, sizeof(since));
	gp_cli_decision_who(past->off->other_name, 0, who, sizeof(who));
	if (past->off->away == GP_AWAY_OWNER)
		gp_doc_line(doc, "At %s it was held by %s, since %s.", past->text, who, since);
	else if (past->off->away == GP_AWAY_HAND)
		gp_doc_line(doc, "At %s it was suspended by hand, since %s.", past->text, since);
	else
		gp_doc_line(doc,
			    "At %s its GPU work was suspended because it was stopped, since %s.",
			    past->text, since);
}

bool gp_cli_why_past_held(const struct gp_cli_why_past *past)
{
	return past->off || (past->held && !past->observed);
}

void gp_cli_why_past_line(struct gp_doc *doc, const struct gp_cli_why_past *past, size_t count)
{
	char since[32];

	gp_cli_diary_time(past->since, since, sizeof(since));
	if (!count)
		gp_doc_line(doc, "The record has no decision about it from before %s.", past->text);
	else if (past->off)
		off_line(doc, past);
	else if (past->held && past->observed)
		gp_doc_line(doc,
			    "At %s it was not held. With mode = act it would have been, since %s.",
			    past->text, since);
	else if (past->held)
		gp_doc_line(doc, "At %s it was held, since %s.", past->text, since);
	else
		gp_doc_line(doc, "At %s it was not held.", past->text);
}
