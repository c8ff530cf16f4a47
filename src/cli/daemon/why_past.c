// SPDX-License-Identifier: MIT
/* gpreempt why --at: what the record says of a time that is over. */
#include "cli/daemon/why_state.h"

#include "base/clock.h"
#include "cli/daemon/diary.h"
#include "show/reason.h"

int gp_cli_why_past_set(struct gp_cli_why_past *past, const struct gp_command *command,
			const char *text)
{
	s64 begin;

	if (!gp_cli_diary_time_parse(text, (s64)gp_clock_ns(CLOCK_REALTIME), &begin, &past->until))
		return gp_usage_error(command,
				      "'%s' is not a time; give 14:03, 14:03:05 or '2026-11-17 "
				      "14:03:05'",
				      text);
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

size_t gp_cli_why_past_look(struct gp_cli_why_past *past, s64 offset, u64 job, u32 pid,
			    const struct gp_proto_msg_decision *lines, size_t count)
{
	size_t kept = 0;

	past->held = past->observed = false;
	while (kept < count && (s64)lines[kept].at_ns + offset <= past->until) {
		const struct gp_proto_msg_decision *line = &lines[kept++];
		bool held;

		if ((line->job != job && line->job_pid != pid) || !changes(line, &held))
			continue;
		if (held && !past->held)
			past->since = (s64)line->at_ns + offset;
		past->held = held;
		past->observed = line->observed;
	}
	return kept;
}

void gp_cli_why_past_line(struct gp_doc *doc, const struct gp_cli_why_past *past, size_t count)
{
	char since[32];

	gp_cli_diary_time(past->since, since, sizeof(since));
	if (!count)
		gp_doc_line(doc, "The record has no decision about it from before %s.", past->text);
	else if (past->held && past->observed)
		gp_doc_line(doc,
			    "At %s it was not held. With mode = act it would have been, since %s.",
			    past->text, since);
	else if (past->held)
		gp_doc_line(doc, "At %s it was held, since %s.", past->text, since);
	else
		gp_doc_line(doc, "At %s it was not held.", past->text);
}
