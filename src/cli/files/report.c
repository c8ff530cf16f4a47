// SPDX-License-Identifier: MIT
/* gpreempt report: how work went from HIP through HSA to the GPU, from a profiler's files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/daemon/diary.h"
#include "cli/files/reading.h"
#include "cli/files/report_command.h"
#include "trace/analyse/submission.h"
#include "trace/read/rocprof.h"

#define DEPTH_MAX 4 /* directories in directories: rocprofv3 makes one per host */

struct input {
	char *path;
	struct gp_trace_rocprof_stats stats;
};

enum { OPTION_LAST = 256, OPTION_DECISIONS };

struct arguments {
	u64 last_ns;           /* of decisions on disk; 0: files of a profiler are reported */
	const char *decisions; /* the file of them */
	struct gp_cli_report_cli cli;
	struct gp_trace_submission submission;
	struct input *inputs;
	size_t count, capacity;
};

static int set_option(void *ctx, int id, const char *value)
{
	struct arguments *arguments = ctx;

	if (id == OPTION_LAST)
		return gp_option_duration(arguments->cli.command, "last", value, GP_NS_PER_S,
					  INT64_MAX / 2, &arguments->last_ns);
	if (id == OPTION_DECISIONS)
		arguments->decisions = value;
	else
		gp_cli_report_option(&arguments->cli, id, value);
	return arguments->cli.usage;
}

/* What gpreemptd decided, instead of a profiler's files. */
static int report_decisions(struct arguments *arguments)
{
	const char *path = arguments->decisions ? arguments->decisions : GP_DIARY_FILE;
	struct gp_doc *doc;
	struct timespec now;
	int error;
	s64 to;

	clock_gettime(CLOCK_REALTIME, &now);
	to = (s64)now.tv_sec * (s64)GP_NS_PER_S + now.tv_nsec;
	doc = gp_cli_diary_report(path, to - (s64)arguments->last_ns, to,
				  &arguments->cli.sink.diag);
	if (!doc)
		return -EIO;
	error = gp_cli_report_print(&arguments->cli, doc);
	gp_doc_free(doc);
	return error;
}

static int add_input(struct arguments *arguments, const char *path)
{
	char *copy = strdup(path);

	if (!copy || gp_array_grow((void **)&arguments->inputs, arguments->count,
				   &arguments->capacity, sizeof(*arguments->inputs))) {
		free(copy);
		return -ENOMEM;
	}
	arguments->inputs[arguments->count++] = (struct input){.path = copy};
	return 0;
}

static bool looks_like_profile(const char *name)
{
	static const char *const ends[] = {".csv", ".db", ".json"};
	static const char *const packed[] = {"", ".gz", ".zst"};
	const char *base = strrchr(name, '/');

	for (size_t i = 0; i < GP_ARRAY_SIZE(ends); i++) {
		for (size_t k = 0; k < GP_ARRAY_SIZE(packed); k++) {
			size_t len = strlen(name), end = strlen(ends[i]), pack = strlen(packed[k]);

			if (len - (base ? (size_t)(base + 1 - name) : 0) > end + pack &&
			    !strncmp(name + len - pack - end, ends[i], end) &&
			    !strcmp(name + len - pack, packed[k]))
				return true;
		}
	}
	return false;
}

/* Files as named; of directories every .csv, .db and .json below, compressed or not. */
static int collect(struct arguments *arguments, const char *path, bool named, int depth)
{
	static const struct gp_root live = {""};
	struct gp_names names = {0};
	struct stat info;
	int error;

	if (stat(path, &info) != 0) {
		error = -errno;
		return named ? gp_fail(&arguments->cli.sink.diag, error, "cannot open %s: %s", path,
				       strerror(-error))
			     : 0;
	}
	if (!S_ISDIR(info.st_mode))
		return named || looks_like_profile(path) ? add_input(arguments, path) : 0;
	if (depth == DEPTH_MAX)
		return 0;
	error = gp_root_list(&live, &names, "%s", path);
	if (error)
		return gp_fail(&arguments->cli.sink.diag, error, "cannot read %s: %s", path,
			       strerror(-error));
	for (size_t i = 0; i < names.count && !error; i++) {
		struct gp_buf child = {0};

		gp_buf_printf(&child, "%s/%s", path, names.items[i]);
		error = child.error ? child.error
				    : collect(arguments, gp_buf_str(&child), false, depth + 1);
		gp_buf_free(&child);
	}
	gp_names_free(&names);
	return error;
}

static void complain(struct arguments *arguments, const struct input *input)
{
	const struct gp_trace_rocprof_stats *stats = &input->stats;
	struct gp_diag *diag = &arguments->cli.sink.diag;

	if (stats->kind == GP_ROCPROF_NONE)
		gp_diag(diag, GP_WARNING, "%s: not a rocprof file; skipped", input->path);
	if (gp_trace_rocprof_beside(stats->kind))
		gp_diag(diag, GP_WARNING, "%s (%s) contains no data about queues; skipped",
			input->path, gp_trace_rocprof_kind_name(stats->kind));
	if (stats->damaged && stats->first_bad_line)
		gp_diag(diag, GP_WARNING,
			ngettext(
				"%s: %llu damaged row is not counted (line %llu)",
				"%s: %llu damaged rows are not counted (the first is on line %llu)",
				(unsigned long)stats->damaged),
			input->path, (unsigned long long)stats->damaged,
			(unsigned long long)stats->first_bad_line);
	else if (stats->damaged)
		gp_diag(diag, GP_WARNING,
			ngettext("%s: %llu damaged entry is not counted",
				 "%s: %llu damaged entries are not counted",
				 (unsigned long)stats->damaged),
			input->path, (unsigned long long)stats->damaged);
	if (stats->backwards)
		gp_diag(diag, GP_WARNING,
			ngettext("%s: %llu entry ends before it begins and is not counted",
				 "%s: %llu entries end before they begin and are not counted",
				 (unsigned long)stats->backwards),
			input->path, (unsigned long long)stats->backwards);
	if (stats->cut && stats->kind != GP_ROCPROF_NONE)
		gp_diag(diag, GP_WARNING,
			"%s: the file is truncated; only complete entries are counted",
			input->path);
}

static int take_event(void *ctx, const struct gp_event *event)
{
	struct arguments *arguments = ctx;
	u64 before = arguments->submission.duplicates;
	int ret = gp_trace_submission_event(&arguments->submission, event);

	if (ret || !arguments->cli.timeline || arguments->submission.duplicates > before)
		return ret;
	return gp_trace_perfetto_event(arguments->cli.timeline, event);
}

static int read_inputs(struct arguments *arguments)
{
	bool versions[4] = {0};
	u64 rows = 0;

	for (size_t i = 0; i < arguments->count; i++) {
		struct input *input = &arguments->inputs[i];
		struct gp_cli_file_watch reading;
		const char *name;
		int fd = gp_cli_report_open(&arguments->cli, input->path, &name), error;

		if (fd < 0)
			return fd;
		gp_trace_submission_next_input(&arguments->submission);
		gp_cli_file_watch_begin(&reading, fd, name, &arguments->cli.sink.diag);
		error = gp_trace_rocprof_read(fd, name, &arguments->cli.sink.diag, take_event,
					      arguments, &input->stats);
		gp_cli_file_watch_end(&reading);
		close(fd);
		if (error)
			return error;
		complain(arguments, input);
		rows += input->stats.rows;
		versions[gp_trace_rocprof_version(input->stats.kind)] = true;
	}
	arguments->submission.unrelated = versions[1] + versions[2] + versions[3] > 1;
	if (arguments->submission.unrelated)
		gp_diag(&arguments->cli.sink.diag, GP_WARNING, "%s",
			_("the files come from different versions of rocprof and therefore from "
			  "different runs; their figures are added up"));
	if (!rows)
		return gp_fail(&arguments->cli.sink.diag, -ENODATA, "%s",
			       _("no rocprof file contains data; run rocprof --hip-trace "
				 "--hsa-trace --stats, or rocprofv3 --hip-trace --hsa-trace "
				 "--kernel-trace --memory-copy-trace"));
	return gp_trace_submission_finish(&arguments->submission);
}

static void put_inputs(const struct arguments *arguments, struct gp_doc *doc)
{
	gp_doc_section(doc, "files", _("Files"));
	gp_doc_table(doc, "rows", NULL);
	gp_doc_column(doc, "file", _("FILE"));
	gp_doc_column(doc, "kind", _("KIND"));
	gp_doc_column(doc, "entries", _("ENTRIES"));
	gp_doc_column(doc, "damaged", _("DAMAGED"));
	for (size_t i = 0; i < arguments->count; i++) {
		const struct input *input = &arguments->inputs[i];

		gp_doc_cell(doc, gp_v_text(input->path));
		gp_doc_cell(doc, gp_v_text(gp_trace_rocprof_kind_name(input->stats.kind)));
		gp_doc_cell(doc, gp_v_count(input->stats.rows));
		gp_doc_cell(doc, gp_v_count(input->stats.damaged + input->stats.backwards));
	}
}

static int show(struct arguments *arguments)
{
	struct gp_doc *doc = gp_doc_new("report", _("From HIP to the GPU"));
	int error;

	if (doc) {
		put_inputs(arguments, doc);
		gp_trace_submission_doc(&arguments->submission, doc);
		gp_trace_submission_checks(&arguments->submission, doc);
	}
	error = gp_cli_report_print(&arguments->cli, doc);
	gp_doc_free(doc);
	return error;
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	struct arguments arguments = {0};
	int first, parsed, error = 0;

	gp_cli_report_cli_init(&arguments.cli, command);
	parsed = gp_command_parse(command, argc, argv, set_option, &arguments, &first);
	if (parsed)
		return parsed < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (arguments.decisions && !arguments.last_ns)
		return gp_usage_error(command, "--decisions needs --last");
	if (arguments.last_ns && (first < argc || arguments.cli.perfetto))
		return gp_usage_error(
			command, "--last reports on gpreemptd; it takes no files and no timeline");
	if (arguments.last_ns)
		return report_decisions(&arguments) ? GP_EXIT_FAILED : GP_EXIT_OK;
	if (first == argc)
		return gp_usage_error(command, "%s",
				      _("no files given; name rocprof files or their directory"));
	for (int i = first; i < argc && !error; i++)
		error = collect(&arguments, argv[i], true, 0);
	if (!error)
		error = gp_cli_report_timeline(&arguments.cli);
	if (!error)
		error = read_inputs(&arguments);
	error = gp_cli_report_timeline_end(&arguments.cli, error);
	if (!error)
		error = show(&arguments);
	for (size_t i = 0; i < arguments.count; i++)
		free(arguments.inputs[i].path);
	free(arguments.inputs);
	gp_trace_submission_free(&arguments.submission);
	return error ? GP_EXIT_FAILED : GP_EXIT_OK;
}

static const struct gp_option options[] = {
	GP_REPORT_OPTIONS,
	GP_REPORT_PERFETTO,
	{OPTION_LAST, "last", GP_REQUIRED_ARGUMENT, "DURATION", GP_COMPLETE_NONE,
	 N_("report on gpreemptd instead of files: the last DURATION of its\ndecision_log")},
	{OPTION_DECISIONS, "decisions", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("with --last: the decision_log (default:\n/var/log/gpreempt/decisions.jsonl)")},
	{0},
};

const struct gp_command gp_cli_report = {
	.name = "report",
	.arguments = "DIR|FILE...",
	.completion = GP_COMPLETE_FILE,
	.summary = N_("Show how work gets from HIP to the GPU, based on rocprof files"),
	.description = N_(
		"Reads rocprof (v1, v2) and rocprofv3 files (CSV, JSON, database). Shows HIP\n"
		"and HSA calls, kernels, copies, queues, the time spent in each layer and where\n"
		"HIP calls wait, and checks how work is submitted. Data that appears in two\n"
		"files of one run is counted once.\n"
		"\n"
		"With --last, reports on gpreemptd instead: which job had which GPU when, and\n"
		"which was held for which, from the decisions that it writes to disk."),
	.options = options,
	.examples = "  # the directory rocprof or rocprofv3 wrote to\n"
		    "  gpreempt report out/\n"
		    "  gpreempt report --html report.html out/host/\n"
		    "  # the last hour of gpreemptd\n"
		    "  gpreempt report --last 1h --html hour.html\n"
		    "  gpreempt report --json trace_rocprof.json | jq .layers\n",
	.run = run,
};
