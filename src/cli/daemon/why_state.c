// SPDX-License-Identifier: MIT
/* What gpreemptd knows about a job, in sentences: of `gpreempt why`, and of the detail in `top`. */
#include "cli/daemon/why_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/ahead.h"
#include "cli/control/target_command.h"
#include "cli/daemon/daemon_client.h"
#include "cli/daemon/why_slices.h"
#include "cli/watch/top_view.h"

enum { HOLDER_MS = 2000 };

/* What becomes of work that the GPU already has. */
static void add_kept(struct gp_doc *doc, const struct gp_cli_why_about *about)
{
	const struct gp_proto_msg_job *job = about->job;

	switch (job->kept) {
	case GP_KEPT_HELD:
		gp_doc_line(doc, "Its GPU work is suspended until then.");
		break;
	case GP_KEPT_ASKED:
		gp_doc_line(doc, "Its GPU work is being suspended.");
		break;
	case GP_KEPT_FAILED:
		gp_doc_line(doc, "Its GPU work cannot be suspended: %s. gpreemptd tries again.",
			    strerror(-job->keep_error));
		break;
	default:
		if (job->away != GP_AWAY_HAND && job->busy_queues && about->status->mode)
			gp_doc_line(doc, "Work that the GPU already has goes on. To suspend it as "
					 "well, set follow_stop = yes in a [rule] section.");
	}
}

static void add_away(struct gp_doc *doc, const struct gp_cli_why_about *about)
{
	const struct gp_proto_msg_job *job = about->job;
	struct gp_units_text away = gp_duration_text(
		about->status->now_ns - GP_MIN(job->away_since, about->status->now_ns));

	switch (job->away) {
	case GP_AWAY_OWNER:
		gp_doc_line(doc,
			    "It has been held by %s for %s. gpreemptd does not schedule it until "
			    "that ends.",
			    job->owner, away.text);
		break;
	case GP_AWAY_HAND:
		gp_doc_line(doc,
			    "It has been suspended by hand for %s. gpreemptd does not schedule it "
			    "until it is resumed.",
			    away.text);
		break;
	case GP_AWAY_SWAPPED:
		gp_doc_line(doc,
			    "It has been swapped out for %s: %s of GPU memory are in host memory "
			    "until no job with precedence needs its place.",
			    away.text, gp_size_text(job->swapped).text);
		break;
	case GP_AWAY_TRACED:
		gp_doc_line(doc,
			    "It has been stopped by a debugger for %s. gpreemptd does not schedule "
			    "it until it continues.",
			    away.text);
		break;
	case GP_AWAY_FROZEN:
		gp_doc_line(doc,
			    "It has been stopped for %s: its control group is frozen. gpreemptd "
			    "does not schedule it until it continues.",
			    away.text);
		break;
	default:
		gp_doc_line(doc,
			    "It has been stopped by a signal for %s. gpreemptd does not schedule "
			    "it until it continues.",
			    away.text);
	}
	add_kept(doc, about);
}

static void add_held(struct gp_doc *doc, const struct gp_cli_why_about *about)
{
	const struct gp_proto_msg_job *job = about->job;
	bool observed = !about->status->mode;
	struct gp_units_text held = gp_duration_text(
		about->status->now_ns - GP_MIN(job->held_since, about->status->now_ns));

	if (job->away)
		add_away(doc, about);
	else if (job->held_since == GP_DAEMON_NEVER)
		gp_doc_line(doc, "It is allowed to run.");
	else if (job->held_for != GP_DAEMON_NONE)
		gp_doc_line(doc,
			    observed ? _("It is not held. With mode = act it would have been held "
					 "for the last %s, to make room for pid %u.")
				     : _("It has been held for %s, to make room for pid %u."),
			    held.text, job->held_for);
	else
		gp_doc_line(doc,
			    observed ? _("It is not held. With mode = act it would have been held "
					 "for the last %s.")
				     : _("It has been held for %s."),
			    held.text);
}

/* Suspensions that are not gpreemptd's, if a holder of this user has some. */
static void add_others(struct gp_doc *doc, const struct gp_cli_why_about *about)
{
	struct gp_cli_holder *holder = calloc(1, sizeof(*holder));
	struct gp_cli_holds holds = {0};

	if (!holder)
		return;
	holder->socket = -1;
	if (!gp_cli_holder_connect(holder, HOLDER_MS) &&
	    !gp_cli_holder_holds(holder, &holds, HOLDER_MS)) {
		for (size_t i = 0; i < holds.count; i++) {
			const struct gp_proto_msg_hold *hold = &holds.items[i];
			char who[128];

			if ((u32)hold->pid != about->pid ||
			    (u32)hold->owner_pid == about->status->pid)
				continue;
			gp_cli_decision_who(hold->owner, 0, who, sizeof(who));
			gp_doc_line(doc,
				    hold->flags & GP_SUSPEND_COPIES
					    ? _("It is suspended by process %d (%s), including its "
						"copies between host and GPU.")
					    : _("It is suspended by process %d (%s)."),
				    hold->owner_pid, who);
		}
	}
	free(holds.items);
	gp_cli_holder_close(holder);
	free(holder);
}

/* Why it counts for less than it says. */
static void add_claim(struct gp_doc *doc, const struct gp_proto_msg_job *job)
{
	if (job->claim == GP_CLAIM_NOT_LISTED)
		gp_doc_line(
			doc,
			"It reports queues that the driver does not list; gpreemptd ignores them.");
	if (job->claim == GP_CLAIM_UNCHECKED)
		gp_doc_line(doc, "It reports queues that cannot be checked against the driver's "
				 "list; gpreemptd ignores them.");
	if (job->ceiling != GP_DAEMON_NONE)
		gp_doc_line(doc,
			    "It requested a higher priority than its user may have (max_priority = "
			    "%u).",
			    job->ceiling);
}

static void add_state(struct gp_doc *doc, const struct gp_cli_why_about *about)
{
	const struct gp_proto_msg_job *job = about->job;
	const char *job_class = gp_cli_class_name(job->job_class);
	struct gp_proto_msg_ahead ahead;
	char who[128], processes[48], queues[48];

	gp_cli_decision_who(job->name, job->pid, who, sizeof(who));
	snprintf(processes, sizeof(processes),
		 ngettext("%u process", "%u processes", job->processes), job->processes);
	snprintf(queues, sizeof(queues), ngettext("%u queue", "%u queues", job->queues),
		 job->queues);
	if (gp_cli_top_sees_work(job->gpu_id)) {
		gp_doc_line(
			doc,
			"%s is a job of class %s with priority %u: %s, %s; queues with work: %u.",
			who, job_class, job->priority, processes, queues, job->busy_queues);
	} else {
		gp_doc_line(doc, "%s is a job of class %s with priority %u: %s, %s.", who,
			    job_class, job->priority, processes, queues);
		gp_cli_why_slices(doc, job);
	}
	if (gp_cli_ahead_read(about->pid, &ahead))
		gp_cli_ahead_lines(doc, &ahead);
	if (*job->rule)
		gp_doc_line(doc, "The rule '%.*s' of the configuration applies to it.",
			    (int)sizeof(job->rule), job->rule);
	if (job->changed & GP_DAEMON_SET_PRIORITY)
		gp_doc_line(doc, *job->rule ? _("Its priority was set by a user (renice), which "
						"overrides the rule.")
					    : _("Its priority was set by a user (renice)."));
	add_claim(doc, job);
	add_held(doc, about);
	add_others(doc, about);
}

/* What was not measured yet is not said. */
static void add_costs(struct gp_doc *doc, const struct gp_proto_msg_job *job)
{
	bool suspend = job->suspend_ns != GP_DAEMON_UNKNOWN;
	bool resume = job->resume_ns != GP_DAEMON_UNKNOWN;

	if (!job->suspends)
		return;
	if (suspend && resume)
		gp_doc_line(doc, "Suspending it is expected to take %s, resuming it %s.",
			    gp_duration_text(job->suspend_ns).text,
			    gp_duration_text(job->resume_ns).text);
	else if (suspend)
		gp_doc_line(doc, "Suspending it is expected to take %s.",
			    gp_duration_text(job->suspend_ns).text);
	else if (resume)
		gp_doc_line(doc, "Resuming it is expected to take %s.",
			    gp_duration_text(job->resume_ns).text);
}

static void add_totals(struct gp_doc *doc, const struct gp_cli_why_about *about)
{
	const struct gp_proto_msg_job *job = about->job;

	gp_doc_line(doc,
		    _("In total it ran for %s and was held for %s. Suspensions: %llu; "
		      "preemptions declined: %llu; failed operations: %llu."),
		    gp_cli_top_sees_work(job->gpu_id) || job->activity
			    ? gp_duration_text(gp_cli_top_ran_ns(job)).text
			    : "?",
		    gp_duration_text(job->held_ns).text, (unsigned long long)job->suspends,
		    (unsigned long long)job->declined, (unsigned long long)job->failures);
	if (!about->status->mode || job->would_suspends)
		gp_doc_line(doc,
			    _("In mode observe, mode act would have held it for %s "
			      "(suspensions: %llu)."),
			    gp_duration_text(job->would_held_ns).text,
			    (unsigned long long)job->would_suspends);
	if (job->preempted)
		gp_doc_line(doc,
			    ngettext("Other jobs were suspended %llu time to let it run; its work "
				     "waited %s in total.",
				     "Other jobs were suspended %llu times to let it run; its work "
				     "waited %s in total.",
				     (unsigned long)job->preempted),
			    (unsigned long long)job->preempted,
			    gp_duration_text(job->waited_ns).text);
	if (job->would_preempted)
		gp_doc_line(doc,
			    ngettext("In mode observe, other jobs would have been suspended %llu "
				     "time to let it run.",
				     "In mode observe, other jobs would have been suspended %llu "
				     "times to let it run.",
				     (unsigned long)job->would_preempted),
			    (unsigned long long)job->would_preempted);
	add_costs(doc, job);
}

void gp_cli_why_state(struct gp_doc *doc, const struct gp_cli_why_about *about)
{
	if (about->status->mode == 0)
		gp_doc_line(doc, "gpreemptd only observes (mode = observe): the decisions below "
				 "were recorded, not carried out.");
	if (*about->status->problem)
		gp_doc_line(doc, "gpreemptd cannot act: %.*s", (int)sizeof(about->status->problem),
			    about->status->problem);
	if (about->job->id) {
		add_state(doc, about);
		add_totals(doc, about);
	} else {
		gp_doc_line(doc, "Process %u does not belong to any current job.", about->pid);
	}
}
