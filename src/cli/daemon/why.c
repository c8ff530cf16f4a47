// SPDX-License-Identifier: MIT
/* gpreempt why: what gpreemptd did to and for one process, in sentences. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/units.h"
#include "cli/ahead.h"
#include "cli/daemon/daemon_client.h"
#include "cli/daemon/why_slices.h"
#include "cli/control/target_command.h"
#include "cli/view.h"
#include "cli/watch/top_view.h"
#include "cli/watch/why_driver.h"
#include "show/reason.h"

enum { OPTION_LINES = 'n', OPTION_DRIVER = 256, OPTION_ROOT };
enum { DEFAULT_LINES = 20, HOLDER_MS = 2000 };

struct story {
	const struct gp_command *command;
	struct gp_command_diag sink;
	struct gp_cli_daemon_client client;
	u32 pid;
	u64 lines;
	struct gp_cli_view view;
	bool driver;
	struct gp_root root;
	struct gp_proto_msg_daemon_status status;
	struct gp_proto_msg_job job; /* id 0: not known now */
	struct gp_proto_msg_decision *line;
	size_t count, capacity;
};

static int set(void *ctx, int id, const char *value)
{
	struct story *story = ctx;

	if (gp_cli_view_has(id))
		return gp_cli_view_set(&story->view, story->command, id, value);
	if (id == OPTION_DRIVER)
		story->driver = true;
	if (id == OPTION_ROOT)
		story->root.dir = value;
	if (id == OPTION_LINES)
		return gp_option_count(story->command, "lines", value, 0, UINT64_MAX,
				       &story->lines);
	return 0;
}

static int collect(const struct gp_proto_msg_decision *line, void *data)
{
	struct story *story = data;

	if (gp_array_grow((void **)&story->line, story->count, &story->capacity,
			  sizeof(*story->line)))
		return gp_fail(&story->sink.diag, -ENOMEM, "out of memory");
	story->line[story->count++] = *line;
	return 0;
}

static int read_all(struct story *story)
{
	struct gp_cli_daemon_client *client = &story->client;
	struct gp_diag *diag = &story->sink.diag;
	struct gp_proto_msg_job *jobs = NULL;
	u64 first = 1;
	int error = gp_cli_daemon_ask(client, diag, GP_MSG_DAEMON_STATUS, NULL, 0,
				      sizeof(story->status), 0);

	if (error < 0)
		return error;
	memcpy(&story->status, client->message.body, sizeof(story->status));
	error = gp_cli_daemon_jobs(client, diag, story->pid, &jobs);
	if (error > 0)
		story->job = jobs[0];
	free(jobs);
	if (error < 0)
		return error;
	return gp_cli_daemon_decisions(client, diag, &first, story->pid, collect, story);
}

/* ---- the document ---- */

/* What becomes of work that the GPU already has. */
static void add_kept(struct gp_doc *doc, const struct story *story)
{
	const struct gp_proto_msg_job *job = &story->job;

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
		if (job->away != GP_AWAY_HAND && job->busy_queues && story->status.mode)
			gp_doc_line(doc, "Work that the GPU already has goes on. To suspend it as "
					 "well, set follow_stop = yes in a [rule] section.");
	}
}

static void add_away(struct gp_doc *doc, const struct story *story)
{
	const struct gp_proto_msg_job *job = &story->job;
	struct gp_units_text away = gp_duration_text(story->status.now_ns -
						     GP_MIN(job->away_since, story->status.now_ns));

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
	add_kept(doc, story);
}

static void add_held(struct gp_doc *doc, const struct story *story)
{
	const struct gp_proto_msg_job *job = &story->job;
	bool observed = !story->status.mode;
	struct gp_units_text held = gp_duration_text(story->status.now_ns -
						     GP_MIN(job->held_since, story->status.now_ns));

	if (job->away)
		add_away(doc, story);
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
static void add_others(struct gp_doc *doc, const struct story *story)
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

			if ((u32)hold->pid != story->pid ||
			    (u32)hold->owner_pid == story->status.pid)
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

static const char *claim_name(u32 claim)
{
	return claim == GP_CLAIM_HOLDS        ? "holds"
	       : claim == GP_CLAIM_NOT_LISTED ? "not_listed"
					      : "unchecked";
}

static void add_state(struct gp_doc *doc, const struct story *story)
{
	const struct gp_proto_msg_job *job = &story->job;
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
	if (gp_cli_ahead_read(story->pid, &ahead))
		gp_cli_ahead_lines(doc, &ahead);
	if (*job->rule)
		gp_doc_line(doc, "The rule '%.*s' of the configuration applies to it.",
			    (int)sizeof(job->rule), job->rule);
	add_claim(doc, job);
	add_held(doc, story);
	add_others(doc, story);
}

static void add_totals(struct gp_doc *doc, const struct story *story)
{
	const struct gp_proto_msg_job *job = &story->job;

	gp_doc_line(doc,
		    story->status.mode
			    ? _("In total it ran for %s and was held for %s. Suspensions: %llu; "
				"preemptions declined: %llu; failed operations: %llu.")
			    : _("In total it ran for %s. With mode = act it would have been held "
				"for %s (suspensions: %llu). Preemptions declined: %llu; failed "
				"operations: %llu."),
		    gp_cli_top_sees_work(job->gpu_id) || job->activity
			    ? gp_duration_text(gp_cli_top_ran_ns(job)).text
			    : "?",
		    gp_duration_text(job->held_ns).text, (unsigned long long)job->suspends,
		    (unsigned long long)job->declined, (unsigned long long)job->failures);
	if (job->preempted)
		gp_doc_line(doc,
			    ngettext("Other jobs were suspended %llu time to let it run; its work "
				     "waited %s in total.",
				     "Other jobs were suspended %llu times to let it run; its work "
				     "waited %s in total.",
				     (unsigned long)job->preempted),
			    (unsigned long long)job->preempted,
			    gp_duration_text(job->waited_ns).text);
	if (job->suspends)
		gp_doc_line(doc, "Suspending it is expected to take %s, resuming it %s.",
			    gp_duration_text(job->suspend_ns).text,
			    gp_duration_text(job->resume_ns).text);
}

/* Whether a line has another priority of the job than the job itself: a stream's. */
static bool has_streams(const struct story *story, size_t first)
{
	for (size_t i = first; story->job.id && i < story->count; i++) {
		const struct gp_proto_msg_decision *line = &story->line[i];
		u32 seen = line->job == story->job.id     ? line->job_priority
			   : line->other == story->job.id ? line->other_priority
							  : story->job.priority;

		if (seen == story->job.priority + GP_SCHED_STREAM_STEP ||
		    seen + GP_SCHED_STREAM_STEP == story->job.priority)
			return true;
	}
	return false;
}

static void add_lines(struct gp_doc *doc, const struct story *story)
{
	size_t first = story->count > story->lines ? story->count - (size_t)story->lines : 0;

	if (!story->count) {
		gp_doc_line(doc, "No decisions about it are recorded.");
		return;
	}
	gp_doc_line(doc, "Decisions (%zu of %zu):", story->count - first, story->count);
	if (has_streams(story, first))
		gp_doc_line(
			doc,
			"  (a stream priority raised or lowered some of these priorities by %u)",
			GP_SCHED_STREAM_STEP);
	for (size_t i = first; i < story->count; i++)
		gp_cli_decision_line(doc, &story->client, &story->line[i], "  ");
}

static void add_sentences(struct gp_doc *doc, const struct story *story)
{
	if (story->status.mode == 0)
		gp_doc_line(doc, "gpreemptd only observes (mode = observe): the decisions below "
				 "were recorded, not carried out.");
	if (*story->status.problem)
		gp_doc_line(doc, "gpreemptd cannot act: %.*s", (int)sizeof(story->status.problem),
			    story->status.problem);
	if (story->job.id) {
		add_state(doc, story);
		add_totals(doc, story);
	} else {
		gp_doc_line(doc, "Process %u does not belong to any current job.", story->pid);
	}
	add_lines(doc, story);
}

/* Every decision in JSON. */
static void add_facts(struct gp_doc *doc, const struct story *story)
{
	const struct gp_proto_msg_job *job = &story->job;
	struct gp_proto_msg_ahead ahead;

	gp_doc_fact(doc, "pid", NULL, gp_v_count(story->pid));
	gp_doc_fact(doc, "mode", NULL, gp_v_text(story->status.mode ? "act" : "observe"));
	gp_doc_fact(doc, "known", NULL, gp_v_bool(job->id != 0));
	gp_doc_fact(doc, "held", NULL, gp_v_bool(job->id && job->held_since != GP_DAEMON_NEVER));
	gp_doc_fact(doc, "claim", NULL, gp_v_if(job->id, gp_v_text(claim_name(job->claim))));
	gp_doc_fact(doc, "away", NULL, gp_v_text(gp_cli_away_name(job->away)));
	gp_doc_fact(doc, "owner", NULL, gp_v_text_or_missing(job->owner));
	gp_doc_fact(doc, "kept", NULL, gp_v_text(gp_cli_kept_name(job->kept)));
	gp_doc_fact(doc, "switched_out", NULL,
		    gp_v_if(job->activity, gp_v_count(job->switched_out)));
	gp_doc_fact(doc, "lost_ns", NULL, gp_v_if(job->activity, gp_v_ns(job->lost_ns)));
	gp_doc_fact(doc, "memory_bytes", NULL, gp_v_if(job->memory, gp_v_count(job->memory)));
	gp_doc_fact(doc, "swapped_bytes", NULL, gp_v_count(job->swapped));
	gp_doc_fact(doc, "not_swapped", NULL, gp_v_if(*job->swap_said, gp_v_text(job->swap_said)));
	gp_cli_ahead_facts(doc, gp_cli_ahead_read(story->pid, &ahead), &ahead);
	gp_doc_open_list(doc, "decisions", NULL);
	for (size_t i = 0; i < story->count; i++) {
		gp_doc_open(doc, NULL, NULL);
		gp_cli_decision_facts(doc, &story->client, &story->line[i]);
		gp_doc_close(doc);
	}
	gp_doc_close(doc);
}

/* The decisions as a list; CSV has no place for the rest. */
static void add_table(struct gp_doc *doc, const struct story *story)
{
	gp_cli_decision_table(doc, &story->client);
	for (size_t i = 0; i < story->count; i++)
		gp_cli_decision_row(doc, &story->client, &story->line[i]);
}

static int make(void *ctx, struct gp_doc **doc)
{
	struct story *story = ctx;
	int error;

	if (story->driver)
		return gp_cli_why_driver(&story->root, &story->sink.diag, story->pid, story->lines,
					 doc);
	story->count = 0;
	story->job = (struct gp_proto_msg_job){0};
	error = gp_cli_daemon_open(&story->client, &story->sink.diag);
	if (error)
		return error;
	error = read_all(story);
	if (!error && !story->job.id && !story->count)
		error = gp_cli_daemon_unknown(&story->sink.diag, story->pid);
	if (!error) {
		*doc = gp_doc_new_answer();
		if (story->view.format == GP_SHOW_CSV)
			add_table(*doc, story);
		else if (story->view.format == GP_SHOW_JSON)
			add_facts(*doc, story);
		else
			add_sentences(*doc, story);
	}
	gp_cli_daemon_close(&story->client);
	return error;
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	struct story story = {.command = command, .lines = DEFAULT_LINES, .root = {.dir = ""}};
	int first, error, status = gp_command_parse(command, argc, argv, set, &story, &first);

	if (status)
		return status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (argc - first != 1)
		return gp_usage_error(command, "specify one process");
	if (!gp_argument_pid(argv[first], &story.pid))
		return gp_usage_error(command, "'%s' is not a pid", argv[first]);
	gp_command_diag_init(&story.sink, command);
	if (!gp_root_is_live(&story.root) && !story.driver)
		return gp_usage_error(command, "--root needs --driver");
	if (gp_cli_view_check(&story.view, command) ||
	    (story.driver && gp_command_check_root(command, &story.root)))
		return GP_EXIT_USAGE;
	error = gp_cli_view_run(&story.view, &story.sink, make, &story);
	free(story.line);
	return error ? GP_EXIT_FAILED : GP_EXIT_OK;
}

static const struct gp_option options[] = {
	{OPTION_LINES, "lines", GP_REQUIRED_ARGUMENT, "N", GP_COMPLETE_NONE,
	 N_("show the last N decisions (default 20)")},
	GP_VIEW_OPTIONS(N_("print JSON, with every decision")),
	{OPTION_DRIVER, "driver", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("show decisions of the driver's scheduler, not of gpreemptd")},
	{OPTION_ROOT, "root", GP_REQUIRED_ARGUMENT, "DIR", GP_COMPLETE_DIRECTORY,
	 N_("with --driver: read DIR/sys instead of the live system")},
	{0},
};

const struct gp_command gp_cli_why = {
	.name = "why",
	.arguments = "PID",
	.completion = GP_COMPLETE_PID,
	.summary =
		N_("Explain why a process runs or waits: which job preempted it, and at what cost"),
	.description = N_("Prints what gpreemptd knows about the job of PID: whether it may run, "
			  "which job it makes\n"
			  "room for, how often and how long it was held, and the latest decisions "
			  "about it, with\n"
			  "the state and the cost on which each was based."),
	.options = options,
	.examples = "  gpreempt why 4711\n"
		    "  gpreempt why --lines 100 4711\n"
		    "  gpreempt why --driver 4711\n",
	.run = run,
};
