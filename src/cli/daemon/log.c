// SPDX-License-Identifier: MIT
/* gpreempt log: what gpreemptd decided, and why; once or as it happens. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "cli/daemon/daemon_client.h"

enum {
	OPTION_FOLLOW = 'f',
	OPTION_JSON = 'j',
	OPTION_ALL = 'a',
	OPTION_PERFETTO = 256,
	OPTION_LINES = 'n'
};

struct settings {
	const struct gp_command *command;
	struct gp_command_diag sink;
	struct gp_cli_daemon_client client;
	bool follow, json, all;
	bool known; /* there is a line about pid */
	const char *perfetto;
	u64 lines; /* UINT64_MAX: all there are */
	u32 pid;
	u64 job;                            /* the one that pid is in now; 0: none */
	u64 next;                           /* number of the next line that is expected */
	struct gp_proto_msg_decision *line; /* those to be shown, when only the last are wanted */
	size_t count, capacity;
};

static int set(void *ctx, int id, const char *value)
{
	struct settings *settings = ctx;

	switch (id) {
	case OPTION_FOLLOW:
		settings->follow = true;
		break;
	case OPTION_JSON:
		settings->json = true;
		break;
	case OPTION_ALL:
		settings->all = true;
		break;
	case OPTION_PERFETTO:
		settings->perfetto = value;
		break;
	case OPTION_LINES:
		return gp_option_count(settings->command, "lines", value, 0, UINT64_MAX,
				       &settings->lines);
	}
	return 0;
}

static bool wanted(struct settings *settings, const struct gp_proto_msg_decision *line)
{
	bool about =
		!settings->pid || line->job_pid == settings->pid ||
		line->other_pid == settings->pid ||
		(settings->job && (line->job == settings->job || line->other == settings->job));

	settings->known |= about;
	return about && (settings->json || settings->all || !gp_cli_decision_is_routine(line));
}

static int print(const struct gp_proto_msg_decision *line, void *data)
{
	struct settings *settings = data;
	struct gp_doc *doc;
	int error;

	if (!wanted(settings, line))
		return 0;
	doc = gp_doc_new_answer();
	if (settings->json)
		gp_cli_decision_facts(doc, &settings->client, line);
	else
		gp_cli_decision_line(doc, &settings->client, line, "");
	error = gp_show_print(doc, stdout, settings->json ? GP_SHOW_JSON_LINE : GP_SHOW_TEXT);
	gp_doc_free(doc);
	return error;
}

static int collect(const struct gp_proto_msg_decision *line, void *data)
{
	struct settings *settings = data;

	if (!wanted(settings, line))
		return 0;
	if (gp_array_grow((void **)&settings->line, settings->count, &settings->capacity,
			  sizeof(*settings->line)))
		return gp_fail(&settings->sink.diag, -ENOMEM, "out of memory");
	settings->line[settings->count++] = *line;
	return 0;
}

/* What was: all of it, or its last lines. */
static int show_past(struct settings *settings)
{
	bool all = settings->lines == UINT64_MAX;
	int error = gp_cli_daemon_decisions(&settings->client, &settings->sink.diag,
					    &settings->next, 0, all ? print : collect, settings);
	size_t first = settings->count > settings->lines ? settings->count - settings->lines : 0;

	for (size_t i = first; !error && i < settings->count; i++)
		error = print(&settings->line[i], settings);
	return error;
}

/* Events may have come before the answers were read: lines already shown are skipped. */
static int follow(struct settings *settings)
{
	struct gp_wire_message *message = &settings->client.message;
	int error;

	while (!(error = gp_wire_receive(settings->client.socket, message, -1))) {
		struct gp_proto_msg_decision line;

		if (message->header.type != GP_MSG_DAEMON_DECISION ||
		    !gp_wire_fits(message, sizeof(line), 0, 0))
			continue;
		memcpy(&line, message->body, sizeof(line));
		if (line.id < settings->next)
			continue;
		if (line.id > settings->next)
			gp_diag(&settings->sink.diag, GP_WARNING,
				ngettext("%llu line was lost because 'gpreempt log' could not keep "
					 "up",
					 "%llu lines were lost because 'gpreempt log' could not "
					 "keep up",
					 (unsigned long)(line.id - settings->next)),
				(unsigned long long)(line.id - settings->next));
		settings->next = line.id + 1;
		error = print(&line, settings);
		if (error || fflush(stdout))
			return error ? error : -EIO;
	}
	return gp_fail(&settings->sink.diag, error, "gpreemptd has exited");
}

static int show(struct settings *settings)
{
	struct gp_cli_daemon_client *client = &settings->client;
	struct gp_diag *diag = &settings->sink.diag;
	struct gp_proto_msg_daemon_status status;
	struct gp_proto_msg_job *jobs;
	int error;

	if (settings->perfetto)
		return gp_cli_decision_perfetto(client, diag, settings->perfetto, settings->follow);
	if (settings->pid) {
		error = gp_cli_daemon_jobs(client, diag, settings->pid, &jobs);
		if (error < 0)
			return error;
		settings->job = error ? jobs[0].id : 0;
		free(jobs);
	}
	/* First the promise of what comes, then what was: nothing is between them. */
	error = settings->follow
			? gp_cli_daemon_ask(client, diag, GP_MSG_DAEMON_FOLLOW, NULL, 0, 0, 0)
			: 0;
	if (error < 0)
		return error;
	error = gp_cli_daemon_ask(client, diag, GP_MSG_DAEMON_STATUS, NULL, 0, sizeof(status), 0);
	if (error < 0)
		return error;
	memcpy(&status, client->message.body, sizeof(status));
	settings->next = status.first_decision;
	error = show_past(settings);
	if (!error && settings->pid && !settings->follow && !settings->known && !settings->job)
		error = gp_cli_daemon_unknown(diag, settings->pid);
	if (error || !settings->follow)
		return error;
	if (fflush(stdout))
		return -EIO;
	return follow(settings);
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	struct settings settings = {.command = command, .lines = UINT64_MAX};
	int first, error, status = gp_command_parse(command, argc, argv, set, &settings, &first);

	if (status)
		return status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (first < argc && !gp_argument_pid(argv[first++], &settings.pid))
		return gp_usage_error(command, "'%s' is not a pid", argv[first - 1]);
	if (first < argc)
		return gp_usage_error(command, "unexpected argument '%s'", argv[first]);
	if (settings.perfetto &&
	    (settings.json || settings.pid || settings.all || settings.lines != UINT64_MAX))
		return gp_usage_error(command, "--perfetto writes the whole record and can be "
					       "combined only with --follow");
	gp_command_diag_init(&settings.sink, command);
	if (gp_cli_daemon_open(&settings.client, &settings.sink.diag))
		return GP_EXIT_FAILED;
	error = show(&settings);
	gp_cli_daemon_close(&settings.client);
	free(settings.line);
	return error ? GP_EXIT_FAILED : GP_EXIT_OK;
}

static const struct gp_option options[] = {
	{OPTION_FOLLOW, "follow", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("keep printing new decisions as they are made")},
	{OPTION_LINES, "lines", GP_REQUIRED_ARGUMENT, "N", GP_COMPLETE_NONE,
	 N_("start with the last N lines of the record")},
	{OPTION_ALL, "all", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("also print turns of batch jobs, completed operations, and\n"
	    "jobs that start or end")},
	{OPTION_JSON, "json", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("print JSON, one object per line; implies --all")},
	{OPTION_PERFETTO, "perfetto", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("write a trace to FILE ('-': standard output) for\n"
	    "ui.perfetto.dev, with a track per job and per queue; with\n"
	    "--follow, record until Ctrl-C")},
	{0},
};

const struct gp_command gp_cli_log = {
	.name = "log",
	.arguments = "[PID]",
	.completion = GP_COMPLETE_PID,
	.summary = N_("Show what gpreemptd decided, and why"),
	.description = N_("Prints the decisions that gpreemptd has in memory, oldest first: which "
			  "job yielded to\n"
			  "which, the observed state, the expected cost, and declined preemptions. "
			  "With PID, prints\n"
			  "only decisions about that process. Lines marked [observe mode] show "
			  "what gpreemptd would\n"
			  "have done if it had run with mode = act."),
	.options = options,
	.examples = "  gpreempt log --lines 20\n"
		    "  gpreempt log --follow --json | jq 'select(.kind == \"suspend\")'\n"
		    "  gpreempt log --perfetto decisions.json\n"
		    "  gpreempt log --follow --perfetto - | gzip > trace.json.gz\n",
	.run = run,
};
