// SPDX-License-Identifier: MIT
/* gpreempt why: what gpreemptd did to and for one process, in sentences. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "cli/ahead.h"
#include "cli/daemon/daemon_client.h"
#include "cli/daemon/why_state.h"
#include "cli/view.h"
#include "cli/watch/why_driver.h"
#include "show/reason.h"

enum { OPTION_LINES = 'n', OPTION_DRIVER = 256, OPTION_ROOT, OPTION_AT };
enum { DEFAULT_LINES = 20 };

struct story {
	const struct gp_command *command;
	struct gp_command_diag sink;
	struct gp_cli_daemon_client client;
	u32 pid;
	u64 lines;
	struct gp_cli_view view;
	bool driver;
	struct gp_cli_why_past past;
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
	if (id == OPTION_AT)
		return gp_cli_why_past_set(&story->past, story->command, value);
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

static const char *claim_name(u32 claim)
{
	return claim == GP_CLAIM_HOLDS        ? "holds"
	       : claim == GP_CLAIM_NOT_LISTED ? "not_listed"
					      : "unchecked";
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

	if (!story->count && story->past.text)
		return;
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
	if (story->past.text)
		gp_cli_why_past_line(doc, &story->past, story->count);
	else
		gp_cli_why_state(doc, &(struct gp_cli_why_about){story->pid, &story->status,
								 &story->job});
	add_lines(doc, story);
}

/* Every decision in JSON. */
static void add_facts(struct gp_doc *doc, const struct story *story)
{
	const struct gp_proto_msg_job *job = &story->job;
	struct gp_proto_msg_ahead ahead;

	gp_doc_fact(doc, "pid", NULL, gp_v_count(story->pid));
	gp_doc_fact(doc, "mode", NULL, gp_v_text(story->status.mode ? "act" : "observe"));
	gp_doc_fact(doc, "at", NULL, gp_v_text(story->past.text));
	gp_doc_fact(doc, "held_at", NULL,
		    gp_v_if(story->past.text && story->count,
			    gp_v_bool(gp_cli_why_past_held(&story->past))));
	gp_doc_fact(doc, "known", NULL, gp_v_bool(job->id != 0));
	gp_doc_fact(doc, "held", NULL, gp_v_bool(job->id && job->held_since != GP_DAEMON_NEVER));
	gp_doc_fact(doc, "claim", NULL, gp_v_if(job->id, gp_v_text(claim_name(job->claim))));
	gp_doc_fact(doc, "away", NULL, gp_v_text(gp_cli_away_name(job->away)));
	gp_doc_fact(doc, "owner", NULL, gp_v_text_or_missing(job->owner));
	gp_doc_fact(doc, "kept", NULL, gp_v_text(gp_cli_kept_name(job->kept)));
	gp_doc_fact(doc, "reniced", NULL, gp_v_bool(job->changed & GP_DAEMON_SET_PRIORITY));
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
	if (story->past.text)
		story->count =
			gp_cli_why_past_look(&story->past, story->client.wall_ns, story->job.id,
					     story->pid, story->line, story->count);
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
		return gp_usage_error(
			command,
			"'%s' is not a pid; 'gpreempt ps' lists the processes that use a "
			"GPU",
			argv[first]);
	gp_command_diag_init(&story.sink, command);
	if (story.past.text && (story.driver || story.view.watch))
		return gp_usage_error(command, "--at cannot be combined with --driver or --watch");
	if (!gp_root_is_live(&story.root) && !story.driver)
		return gp_usage_error(command, "--root needs --driver");
	if (gp_cli_view_check(&story.view, command) ||
	    (story.driver && gp_command_check_root(command, &story.root)))
		return GP_EXIT_USAGE;
	story.view.passes = gp_cli_daemon_is_away;
	error = gp_cli_view_run(&story.view, &story.sink, make, &story);
	free(story.line);
	return error ? GP_EXIT_FAILED : GP_EXIT_OK;
}

static const struct gp_option options[] = {
	{OPTION_LINES, "lines", GP_REQUIRED_ARGUMENT, "N", GP_COMPLETE_NONE,
	 N_("show the last N decisions (default 20)")},
	{OPTION_AT, "at", GP_REQUIRED_ARGUMENT, "TIME", GP_COMPLETE_NONE,
	 N_("explain TIME (14:03, '2026-11-17 14:03:05') by the decisions\nbefore it, as far as "
	    "they are in the record")},
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
		    "  gpreempt why --at 14:03 4711\n"
		    "  gpreempt why --driver 4711\n",
	.run = run,
};
