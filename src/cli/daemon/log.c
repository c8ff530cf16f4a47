// SPDX-License-Identifier: MIT
/* gpreempt log: what gpreemptd decided, and why; once or as it happens. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"
#include "cli/daemon/daemon_client.h"
#include "cli/view.h"
#include "cli/wait.h"

enum {
	OPTION_FOLLOW = 'f',
	OPTION_ALL = 'a',
	OPTION_PERFETTO = 256,
	OPTION_EACH,
	OPTION_SINCE,
	OPTION_LINES = 'n'
};

/* With --follow: how long lines that repeat the last one are counted before they are shown, and how
 * often it looks for a gpreemptd that has exited. */
enum { REPEAT_MS = 1000, AGAIN_MS = 250, WATCH_LINES = 20 };

struct settings {
	const struct gp_command *command;
	struct gp_command_diag sink;
	struct gp_cli_daemon_client client;
	struct gp_cli_view view;
	bool follow, all, each;
	bool headed; /* CSV: the head was printed */
	bool known;  /* there is a line about pid */
	const char *perfetto;
	u64 lines;   /* UINT64_MAX: all there are */
	u64 from_ns; /* CLOCK_MONOTONIC: earlier lines are left out */
	u32 pid;
	u64 job;                            /* the one that pid is in now; 0: none */
	u64 next;                           /* number of the next line that is expected */
	struct gp_proto_msg_decision *line; /* those to be shown, when only the last are wanted */
	size_t count, capacity;
	/* Text: lines that say the same and are not printed yet, the first and the last of them. */
	struct gp_proto_msg_decision same, last;
	u64 times;
	u64 since_ns; /* CLOCK_MONOTONIC: when the first of them came */
};

static int set(void *ctx, int id, const char *value)
{
	struct settings *settings = ctx;
	u64 now = gp_monotonic_ns(), since = 0;
	int error;

	if (gp_cli_view_has(id))
		return gp_cli_view_set(&settings->view, settings->command, id, value);
	settings->follow |= id == OPTION_FOLLOW;
	settings->each |= id == OPTION_EACH;
	settings->all |= id == OPTION_ALL;
	if (id == OPTION_PERFETTO)
		settings->perfetto = value;
	if (id == OPTION_LINES)
		return gp_option_count(settings->command, "lines", value, 0, UINT64_MAX,
				       &settings->lines);
	if (id != OPTION_SINCE)
		return 0;
	error = gp_option_duration(settings->command, "since", value, GP_NS_PER_MS,
				   366 * 86400 * GP_NS_PER_S, &since);
	settings->from_ns = now - GP_MIN(since, now - 1);
	return error;
}

static bool wanted(struct settings *settings, const struct gp_proto_msg_decision *line)
{
	bool about =
		!settings->pid || line->job_pid == settings->pid ||
		line->other_pid == settings->pid ||
		(settings->job && (line->job == settings->job || line->other == settings->job));

	settings->known |= about;
	return about && line->at_ns >= settings->from_ns &&
	       (gp_cli_view_is_data(&settings->view) || settings->all ||
		!gp_cli_decision_is_routine(line));
}

static int print_doc(struct gp_doc *doc, enum gp_show_format format)
{
	int error = gp_show_print(doc, stdout, format);

	gp_doc_free(doc);
	return error;
}

/* ---- lines that say the same ---- */

static int flush_same(struct settings *settings)
{
	struct gp_doc *doc;

	if (!settings->times)
		return 0;
	doc = gp_doc_new_answer();
	gp_cli_decision_lines(doc, &settings->client, &settings->same, &settings->last,
			      settings->times, "");
	settings->times = 0;
	return print_doc(doc, GP_SHOW_TEXT);
}

static int print_text(struct settings *settings, const struct gp_proto_msg_decision *line)
{
	bool repeats = settings->same.id && !settings->each &&
		       gp_cli_decision_repeats(line, &settings->same);
	int error = repeats ? 0 : flush_same(settings);

	if (!settings->times) {
		settings->same = *line;
		settings->since_ns = gp_monotonic_ns();
	}
	settings->last = *line;
	settings->times++;
	/* With --follow, a new line is shown at once; lines that repeat it wait a while. */
	return error || repeats || !settings->follow ? error : flush_same(settings);
}

static int print(const struct gp_proto_msg_decision *line, void *data)
{
	struct settings *settings = data;
	bool head = !settings->headed;
	struct gp_doc *doc;
	int error;

	if (!wanted(settings, line))
		return 0;
	if (!gp_cli_view_is_data(&settings->view))
		return print_text(settings, line);
	doc = gp_doc_new_answer();
	if (settings->view.format == GP_SHOW_JSON) {
		gp_cli_decision_facts(doc, &settings->client, line);
		return print_doc(doc, GP_SHOW_JSON_LINE);
	}
	gp_cli_decision_table(doc, &settings->client);
	gp_cli_decision_row(doc, &settings->client, line);
	settings->headed = true;
	error = gp_show_print_csv(doc, stdout, &(struct gp_show_csv){.header = head});
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

/* The first of the last `lines`; in text, those that say the same are one. */
static size_t first_of_last(const struct settings *settings, u64 lines)
{
	bool joined = !settings->each && !gp_cli_view_is_data(&settings->view);
	size_t first = settings->count;

	while (first && lines--) {
		first--;
		while (joined && first &&
		       gp_cli_decision_repeats(&settings->line[first], &settings->line[first - 1]))
			first--;
	}
	return first;
}

/* What was: all of it, or its last lines. */
static int show_past(struct settings *settings)
{
	bool all = settings->lines == UINT64_MAX;
	int error = gp_cli_daemon_decisions(&settings->client, &settings->sink.diag,
					    &settings->next, 0, all ? print : collect, settings);

	for (size_t i = first_of_last(settings, settings->lines); !error && i < settings->count;
	     i++)
		error = print(&settings->line[i], settings);
	/* The lines that follow belong to it. */
	return error || settings->follow ? error : flush_same(settings);
}

/* ---- --follow ---- */

static int wait_for_more(const struct settings *settings, int signals, const sigset_t *set)
{
	u64 end = settings->since_ns + REPEAT_MS * GP_NS_PER_MS, now = gp_monotonic_ns();
	int left = now < end ? (int)((end - now) / GP_NS_PER_MS) + 1 : 0;
	return gp_cli_wait(settings->client.socket, settings->times ? left : -1, signals, set);
}

/* Events may have come before the answers were read: lines already shown are skipped. */
static int take_event(struct settings *settings)
{
	const struct gp_wire_message *message = &settings->client.message;
	struct gp_proto_msg_decision line;
	int error;

	if (message->header.type != GP_MSG_DAEMON_DECISION ||
	    !gp_wire_fits(message, sizeof(line), 0, 0))
		return 0;
	memcpy(&line, message->body, sizeof(line));
	if (line.id < settings->next)
		return 0;
	if (line.id > settings->next)
		gp_diag(&settings->sink.diag, GP_WARNING,
			ngettext("%llu line was lost because 'gpreempt log' could not keep up",
				 "%llu lines were lost because 'gpreempt log' could not keep up",
				 (unsigned long)(line.id - settings->next)),
			(unsigned long long)(line.id - settings->next));
	settings->next = line.id + 1;
	error = print(&line, settings);
	return error ? error : fflush(stdout) ? -EIO : 0;
}

/* Repeated lines wait since the first of them, not the last: there may be no end of them. */
static int flush_due(struct settings *settings)
{
	if (!settings->times || gp_monotonic_ns() < settings->since_ns + REPEAT_MS * GP_NS_PER_MS)
		return 0;
	return flush_same(settings) || fflush(stdout) ? -EIO : 0;
}

/* The job that the process is in. */
static int find_job(struct settings *settings)
{
	struct gp_proto_msg_job *jobs;
	int count;

	if (!settings->pid)
		return 0;
	count = gp_cli_daemon_jobs(&settings->client, &settings->sink.diag, settings->pid, &jobs);
	if (count < 0)
		return count;
	settings->job = count ? jobs[0].id : 0;
	free(jobs);
	return 0;
}

/* First the promise of what comes, then what was: nothing is between them. */
static int begin(struct settings *settings)
{
	struct gp_cli_daemon_client *client = &settings->client;
	struct gp_diag *diag = &settings->sink.diag;
	struct gp_proto_msg_daemon_status status;
	int error = find_job(settings);

	if (!error && settings->follow)
		error = gp_cli_daemon_ask(client, diag, GP_MSG_DAEMON_FOLLOW, NULL, 0, 0, 0);
	if (error < 0)
		return error;
	error = gp_cli_daemon_ask(client, diag, GP_MSG_DAEMON_STATUS, NULL, 0, sizeof(status), 0);
	if (error < 0)
		return error;
	memcpy(&status, client->message.body, sizeof(status));
	settings->next = status.first_decision;
	return 0;
}

/* Silent while there is none. What does not pass by itself is said: once, where it is tried again.
 */
static int open_again(struct settings *settings, bool *said)
{
	int error = gp_cli_daemon_open(&settings->client, NULL);
	bool closed = error == -ECONNRESET || error == -EPIPE;

	if (!error || (gp_cli_daemon_is_away(error) && (!closed || *said)))
		return error;
	*said = true;
	return gp_cli_daemon_open(&settings->client, &settings->sink.diag);
}

/* Waits for the next gpreemptd, and goes on with its first line. Returns 0, the signal that ended
 * the wait, or -errno. */
static int reconnect(struct settings *settings, int signals, const sigset_t *set)
{
	struct gp_diag *diag = &settings->sink.diag;
	struct gp_cli_daemon_client *client = &settings->client;
	int error = flush_same(settings) || fflush(stdout) ? -EIO : -ECONNRESET, number;
	bool said = false;

	gp_diag(diag, GP_NOTE, "gpreemptd has exited; waiting until it runs again (Ctrl-C ends)");
	while (gp_cli_daemon_is_away(error)) {
		gp_cli_daemon_close(client);
		number = gp_cli_wait(settings->client.socket, AGAIN_MS, signals, set);
		if (number)
			return number;
		error = open_again(settings, &said);
		if (error)
			continue;
		gp_diag(diag, GP_NOTE, "gpreemptd restarted (pid %u)", client->pid);
		error = begin(settings);
		if (!error)
			error = gp_cli_daemon_decisions(client, diag, &settings->next, 0, print,
							settings);
	}
	return error ? error : fflush(stdout) ? -EIO : 0;
}

static int follow(struct settings *settings)
{
	struct gp_cli_daemon_client *client = &settings->client;
	int error = 0, ended = 0, number = 0, signals;
	sigset_t set;

	gp_cli_ending_signals(&set);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		sigemptyset(&set);
	while (!error && !ended && !number) {
		number = wait_for_more(settings, signals, &set);
		ended = gp_wire_receive(client->socket, &client->message, 0);
		if (!ended)
			error = take_event(settings);
		ended = ended == -EAGAIN ? 0 : ended;
		error = error ? error : flush_due(settings);
		if (!error && !number && gp_cli_daemon_is_away(ended)) {
			number = reconnect(settings, signals, &set);
			error = number < 0 ? number : 0;
			ended = 0;
		}
	}
	if (!error && (flush_same(settings) || fflush(stdout)))
		error = -EIO;
	if (signals >= 0)
		close(signals);
	if (number > 0)
		raise(number);
	return error || !ended ? error
			       : gp_fail(&settings->sink.diag, ended,
					 "malformed message from gpreemptd; it may be a different "
					 "version (restart it)");
}

static int show(struct settings *settings)
{
	struct gp_cli_daemon_client *client = &settings->client;
	struct gp_diag *diag = &settings->sink.diag;
	int error;

	if (settings->perfetto)
		return gp_cli_decision_perfetto(client, diag, settings->perfetto, settings->follow);
	error = begin(settings);
	if (error)
		return error;
	error = show_past(settings);
	if (!error && settings->pid && !settings->follow && !settings->known && !settings->job)
		error = gp_cli_daemon_unknown(diag, settings->pid);
	if (error || !settings->follow)
		return error;
	if (fflush(stdout))
		return -EIO;
	return follow(settings);
}

/* ---- --watch: the last lines, again and again ---- */

static void add_lines(struct gp_doc *doc, const struct settings *settings, size_t first)
{
	const struct gp_proto_msg_decision *line = settings->line;

	for (size_t i = first, next; i < settings->count; i = next) {
		next = i + 1;
		while (!settings->each && next < settings->count &&
		       gp_cli_decision_repeats(&line[next], &line[i]))
			next++;
		gp_cli_decision_lines(doc, &settings->client, &line[i], &line[next - 1], next - i,
				      "");
	}
}

static int make(void *ctx, struct gp_doc **doc)
{
	struct settings *settings = ctx;
	u64 next = 1, lines = settings->lines == UINT64_MAX ? WATCH_LINES : settings->lines;
	int error = gp_cli_daemon_open(&settings->client, &settings->sink.diag);
	size_t first;

	if (error)
		return error;
	settings->count = 0;
	error = find_job(settings);
	if (!error)
		error = gp_cli_daemon_decisions(&settings->client, &settings->sink.diag, &next, 0,
						collect, settings);
	gp_cli_daemon_close(&settings->client);
	if (error)
		return error;
	first = first_of_last(settings, lines);
	*doc = gp_doc_new_answer();
	if (!gp_cli_view_is_data(&settings->view)) {
		add_lines(*doc, settings, first);
		return 0;
	}
	gp_cli_decision_table(*doc, &settings->client);
	for (size_t i = first; i < settings->count; i++)
		gp_cli_decision_row(*doc, &settings->client, &settings->line[i]);
	return 0;
}

static int check(const struct settings *settings)
{
	if (settings->perfetto &&
	    (gp_cli_view_is_data(&settings->view) || settings->pid || settings->all ||
	     settings->from_ns || settings->lines != UINT64_MAX))
		return gp_usage_error(settings->command,
				      "--perfetto writes the whole record and can be "
				      "combined only with --follow");
	if (settings->view.watch && (settings->follow || settings->perfetto))
		return gp_usage_error(settings->command,
				      "--watch cannot be combined with --follow or --perfetto");
	return gp_cli_view_check(&settings->view, settings->command);
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	struct settings settings = {.command = command, .lines = UINT64_MAX};
	int first, error, status = gp_command_parse(command, argc, argv, set, &settings, &first);

	if (status)
		return status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (first < argc && !gp_argument_pid(argv[first++], &settings.pid))
		return gp_usage_error(
			command,
			"'%s' is not a pid; 'gpreempt ps' lists the processes that use a "
			"GPU",
			argv[first - 1]);
	if (first < argc)
		return gp_usage_error(command, "unexpected argument '%s'", argv[first]);
	if (check(&settings))
		return GP_EXIT_USAGE;
	gp_command_diag_init(&settings.sink, command);
	if (settings.view.watch) {
		settings.view.passes = gp_cli_daemon_is_away;
		error = gp_cli_view_run(&settings.view, &settings.sink, make, &settings);
	} else {
		error = gp_cli_daemon_open(&settings.client, &settings.sink.diag);
		if (!error)
			error = show(&settings);
		gp_cli_daemon_close(&settings.client);
	}
	free(settings.line);
	return error ? GP_EXIT_FAILED : GP_EXIT_OK;
}

static const struct gp_option options[] = {
	{OPTION_FOLLOW, "follow", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("keep printing new decisions as they are made")},
	{OPTION_LINES, "lines", GP_REQUIRED_ARGUMENT, "N", GP_COMPLETE_NONE,
	 N_("start with the last N lines of the record")},
	{OPTION_SINCE, "since", GP_REQUIRED_ARGUMENT, "TIME", GP_COMPLETE_NONE,
	 N_("start with what was decided within the last TIME")},
	{OPTION_ALL, "all", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("also print turns of batch jobs, completed operations, and\n"
	    "jobs that start or end")},
	{OPTION_EACH, "each", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("print every line (default: lines that differ only in their\n"
	    "times and costs are printed once, with a count)")},
	{GP_VIEW_WATCH, "watch", GP_OPTIONAL_ARGUMENT, "TIME", GP_COMPLETE_NONE,
	 N_("show the last lines (20, or --lines) again every second or\nevery TIME")},
	GP_VIEW_OPTION_COUNT,
	{GP_VIEW_JSON, "json", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("print JSON, one object per line; implies --all and --each")},
	GP_VIEW_OPTION_FORMAT,
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
	.examples = "  gpreempt log --since 10min --lines 20\n"
		    "  gpreempt log --follow --json | jq 'select(.kind == \"suspend\")'\n"
		    "  gpreempt log --follow --perfetto - | gzip > trace.json.gz\n",
	.run = run,
};
