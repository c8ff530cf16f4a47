// SPDX-License-Identifier: MIT
/* gpreempt analyze: the five questions about queues, answered from whatever files there are. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/bundle.h"
#include "cli/files/reading.h"
#include "cli/files/report_command.h"
#include "inspect/kfd_input.h"
#include "trace/read/plain.h"
#include "trace/analyse/inquiry.h"
#include "base/lines.h"

enum { OPTION_CLOCK = 256 };

struct arguments {
	struct gp_cli_report_cli cli;
	enum gp_trace_clock clock;
};

static int set_option(void *ctx, int id, const char *value)
{
	static const struct {
		const char *name;
		enum gp_trace_clock clock;
	} clocks[] = {
		{"local", GP_CLOCK_TRACE},    {"global", GP_CLOCK_TRACE},
		{"mono", GP_CLOCK_MONOTONIC}, {"mono_raw", GP_CLOCK_MONOTONIC_RAW},
		{"boot", GP_CLOCK_BOOTTIME},
	};
	struct arguments *arguments = ctx;

	if (gp_cli_report_option(&arguments->cli, id, value))
		return arguments->cli.usage;
	for (size_t i = 0; i < GP_ARRAY_SIZE(clocks); i++) {
		if (!strcmp(value, clocks[i].name)) {
			arguments->clock = clocks[i].clock;
			return 0;
		}
	}
	return gp_usage_error(
		arguments->cli.command,
		"--trace-clock: unknown clock '%s' (local, global, mono, mono_raw or boot)", value);
}

/* Files are looked at twice; what comes through a pipe is kept in a file of its own meanwhile. */
static int seekable(struct gp_cli_report_cli *cli, int fd, const char *name)
{
	char buffer[65536];
	FILE *copy;
	long got = 0;
	int own = -1;

	if (lseek(fd, 0, SEEK_CUR) >= 0)
		return fd;
	copy = tmpfile();
	while (copy && (got = gp_read_some(fd, buffer, sizeof(buffer))) > 0)
		if (fwrite(buffer, 1, (size_t)got, copy) != (size_t)got)
			break;
	if (copy && !fflush(copy) && !ferror(copy))
		own = dup(fileno(copy));
	if (copy)
		fclose(copy);
	close(fd);
	/* Half of it is not what was asked about. */
	if (got < 0) {
		if (own >= 0)
			close(own);
		return gp_fail(&cli->sink.diag, (int)got, "cannot read %s: %s", name,
			       strerror((int)-got));
	}
	if (own < 0 || lseek(own, 0, SEEK_SET) < 0)
		return gp_fail(&cli->sink.diag, -EIO,
			       "cannot copy %s to a temporary file; check the free space in TMPDIR "
			       "(default: /tmp)",
			       name);
	return own;
}

/* The command for a copy of a debugfs file, which is a state without events; NULL: it is none. */
static const char *debugfs_command(int fd)
{
	char start[4096];
	long got = gp_trace_plain_start(fd, start, sizeof(start));

	return got > 0 ? gp_inspect_kfd_command(start, (size_t)got) : NULL;
}

static int read_file(struct arguments *arguments, struct gp_trace_inquiry *inquiry,
		     const char *path)
{
	struct gp_cli_file_watch reading;
	const char *name, *command;
	int fd = gp_cli_report_open(&arguments->cli, path, &name), error;

	if (fd >= 0)
		fd = seekable(&arguments->cli, fd, name);
	if (fd < 0)
		return fd;
	command = debugfs_command(fd);
	if (command) {
		close(fd);
		return gp_fail(&arguments->cli.sink.diag, -EINVAL,
			       "%s: this is a copy of a debugfs file; read it with 'gpreempt %s'",
			       name, command);
	}
	gp_cli_file_watch_begin(&reading, fd, name, &arguments->cli.sink.diag);
	error = gp_trace_inquiry_add(inquiry, fd, name, &arguments->cli.sink.diag);
	gp_cli_file_watch_end(&reading);
	close(fd);
	return error;
}

/* Programs and documents, our own reports among them, quote lines of logs and are none. */
static bool quotes(const char *name)
{
	static const char *const ends[] = {".c",  ".cc", ".cpp", ".h",   ".hip", ".cl",
					   ".py", ".sh", ".md",  ".rst", ".htm", ".html"};
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < GP_ARRAY_SIZE(ends); i++)
		if (strcmp(dot, ends[i]) == 0)
			return true;
	return false;
}

#define NAMED_MAX 5 /* in a note about what is left out of a directory */

struct left_out {
	size_t count;
	struct gp_buf names;
};

static void leave_out(struct left_out *left, const char *name)
{
	if (++left->count <= NAMED_MAX)
		gp_buf_printf(&left->names, "%s%s", left->count > 1 ? ", " : "", name);
	else if (left->count == NAMED_MAX + 1)
		gp_buf_puts(&left->names, ", ...");
}

struct reading {
	struct arguments *arguments;
	struct gp_trace_inquiry *inquiry;
	struct left_out unknown, below;
};

/* The file if its format is known; else a note, at once or with the others. */
static int read_known(struct reading *reading, const char *path, const char *name)
{
	struct gp_diag *diag = &reading->arguments->cli.sink.diag;
	enum gp_trace_source_kind kind = GP_SOURCE_UNKNOWN;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *command;

	if (fd < 0) {
		gp_diag(diag, GP_WARNING, "cannot open %s: %s; skipped", path, strerror(errno));
		return 0;
	}
	command = debugfs_command(fd);
	if (!command)
		gp_trace_source_identify(fd, path, &kind);
	close(fd);
	if (kind != GP_SOURCE_UNKNOWN)
		return read_file(reading->arguments, reading->inquiry, path);
	if (command)
		gp_diag(diag, GP_NOTE,
			"%s: this is a copy of a debugfs file; read it with 'gpreempt %s'", path,
			command);
	else
		leave_out(&reading->unknown, name);
	return 0;
}

static int read_entry(struct reading *reading, const char *directory, const char *name)
{
	char *path = NULL;
	struct stat info;
	int error = 0;

	if (asprintf(&path, "%s/%s", directory, name) < 0)
		return -ENOMEM;
	if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
		leave_out(&reading->below, name);
	else if (!quotes(path) && stat(path, &info) == 0 && S_ISREG(info.st_mode))
		error = read_known(reading, path, name);
	free(path);
	return error;
}

static void say_left_out(struct reading *reading, const char *path)
{
	struct gp_diag *diag = &reading->arguments->cli.sink.diag;
	const struct left_out *unknown = &reading->unknown, *below = &reading->below;

	if (unknown->count)
		gp_diag(diag, GP_NOTE,
			ngettext("%zu file in %s has an unknown format and is skipped: %s",
				 "%zu files in %s have an unknown format and are skipped: %s",
				 (unsigned long)unknown->count),
			unknown->count, path, gp_buf_str(&unknown->names));
	if (below->count)
		gp_diag(diag, GP_NOTE,
			ngettext("%zu subdirectory of %s is not read; name it to include it: %s",
				 "%zu subdirectories of %s are not read; name them to include "
				 "them: %s",
				 (unsigned long)below->count),
			below->count, path, gp_buf_str(&below->names));
}

/* What is understood of the files in a directory, such as gpreempt trace leaves. */
static int read_directory(struct arguments *arguments, struct gp_trace_inquiry *inquiry,
			  const char *path)
{
	struct reading reading = {.arguments = arguments, .inquiry = inquiry};
	struct gp_root live = {.dir = ""};
	struct gp_names names = {0};
	size_t before = inquiry->count;
	int error = gp_root_list(&live, &names, "%s", path);

	if (error)
		gp_fail(&arguments->cli.sink.diag, error, "cannot read %s: %s", path,
			strerror(-error));
	for (size_t i = 0; i < names.count && !error; i++)
		error = read_entry(&reading, path, names.items[i]);
	gp_names_free(&names);
	if (!error)
		say_left_out(&reading, path);
	gp_buf_free(&reading.unknown.names);
	gp_buf_free(&reading.below.names);
	if (!error && inquiry->count == before)
		error = gp_fail(&arguments->cli.sink.diag, -ENOENT,
				"%s contains no readable log, trace or profile", path);
	return error;
}

/* `others`: more files are named, and one that is empty does not end the command. */
static int read_path(struct arguments *arguments, struct gp_trace_inquiry *inquiry,
		     const char *path, bool others)
{
	struct stat info;
	bool known = stat(path, &info) == 0;

	if (known && S_ISDIR(info.st_mode))
		return read_directory(arguments, inquiry, path);
	if (known && S_ISREG(info.st_mode) && !info.st_size && others) {
		gp_diag(&arguments->cli.sink.diag, GP_WARNING, "%s is empty; skipped", path);
		return 0;
	}
	return read_file(arguments, inquiry, path);
}

static int read_paths(struct arguments *arguments, struct gp_trace_inquiry *inquiry, int count,
		      char **paths)
{
	int error = 0;

	for (int i = 0; i < count && !error; i++)
		error = read_path(arguments, inquiry, paths[i], count > 1);
	if (!error && !inquiry->count)
		error = gp_fail(&arguments->cli.sink.diag, -ENODATA, "%s",
				_("all files are empty"));
	return error;
}

/* 1: the file is not a report bundle. */
static int show_bundle(struct arguments *arguments, int count, char **paths)
{
	struct gp_doc *doc;
	json_t *bundle;
	int error;

	if (count != 1)
		return 1;
	bundle = gp_cli_bundle_read(paths[0], &arguments->cli.sink.diag, &error);
	if (!bundle)
		return error ? error : 1;
	doc = gp_cli_bundle_doc(bundle);
	error = doc ? gp_cli_report_print(&arguments->cli, doc) : -ENOMEM;
	gp_doc_free(doc);
	json_decref(bundle);
	return error;
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	struct arguments arguments = {.clock = GP_CLOCK_TRACE};
	struct gp_trace_inquiry inquiry = {0};
	int first, parsed, error;

	gp_cli_report_cli_init(&arguments.cli, command);
	parsed = gp_command_parse(command, argc, argv, set_option, &arguments, &first);
	if (parsed)
		return parsed < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (first == argc)
		return gp_usage_error(command, "%s",
				      _("no files given; name logs, traces or profiles"));
	error = show_bundle(&arguments, argc - first, argv + first);
	if (error <= 0)
		return error ? GP_EXIT_FAILED : GP_EXIT_OK;
	error = gp_trace_inquiry_init(&inquiry, arguments.clock);
	if (!error)
		error = gp_cli_report_timeline(&arguments.cli);
	if (arguments.cli.timeline) {
		inquiry.tap = gp_trace_perfetto_event;
		inquiry.tap_ctx = arguments.cli.timeline;
	}
	if (!error)
		error = read_paths(&arguments, &inquiry, argc - first, argv + first);
	error = gp_cli_report_timeline_end(&arguments.cli, error);
	if (!error)
		error = gp_trace_inquiry_finish(&inquiry);
	if (!error) {
		struct gp_doc *doc = gp_trace_inquiry_doc(&inquiry);

		error = gp_cli_report_print(&arguments.cli, doc);
		gp_doc_free(doc);
	}
	gp_trace_inquiry_free(&inquiry);
	return error ? GP_EXIT_FAILED : GP_EXIT_OK;
}

static const struct gp_option options[] = {
	{OPTION_CLOCK, "trace-clock", GP_REQUIRED_ARGUMENT, "NAME", GP_COMPLETE_NONE,
	 N_("trace_clock of the ftrace files: local (default), global,\n"
	    "mono, mono_raw or boot")},
	GP_REPORT_OPTIONS,
	GP_REPORT_PERFETTO,
	{0},
};

const struct gp_command gp_cli_analyze = {
	.name = "analyze",
	.arguments = "FILE...",
	.completion = GP_COMPLETE_FILE,
	.summary = N_("Analyze logs and traces: how queues are created, used and preempted"),
	.description = N_("Reads AMD_LOG_LEVEL logs, libhsakmt output, ftrace text (functions, "
			  "graph, events,\n"
			  "probes, trace-cmd report), trace.dat, KFD kernel messages, rocprof "
			  "files, process lists\n"
			  "from rocm-smi and amd-smi, the JSON output of 'gpreempt log', "
			  "clocks.json from\n"
			  "'gpreempt trace', and the file of 'gpreempt report-bundle'. The format "
			  "of each file is\n"
			  "detected from its content. Of a directory, the\n"
			  "files are read, without subdirectories; source files and documents are\n"
			  "skipped, because they may quote a log.\n"
			  "\n"
			  "The report shows how queues are created and how long each step takes, "
			  "what happens to\n"
			  "the MQD, which queues are used, whether doorbells can be seen, and "
			  "whether work can be\n"
			  "preempted. Each answer names the line it is based on, or states that "
			  "the data is missing."),
	.options = options,
	.examples = "  gpreempt analyze gemm_amd_log.txt ftrace.txt\n"
		    "  gpreempt analyze --trace-clock mono gpreempt_trace_20260205_101500/\n"
		    "  gpreempt analyze trace.dat\n"
		    "  trace-cmd report | gpreempt analyze -\n"
		    "  gpreempt analyze --json --trace-clock mono app.log ftrace.txt\n",
	.run = run,
};
