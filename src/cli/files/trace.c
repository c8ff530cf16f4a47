// SPDX-License-Identifier: MIT
/* gpreempt trace: runs a program with AMD logging and KFD in ftrace, and ends in the report of
 * gpreempt analyze over what was recorded. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "cli/files/report_command.h"
#include "trace/capture/clocks.h"
#include "trace/capture/guardian.h"
#include "trace/capture/launch.h"
#include "trace/capture/tracefs.h"
#include "trace/analyse/inquiry.h"

#define EXIT_RECORDING 125
#define LOG_PREFIX     "amd_log"
#define TEXT_FILE      "ftrace.txt"
#define BINARY_FILE    "trace.dat"

enum { OPTION_OUTPUT = 'o', OPTION_CONTAINER = 256, OPTION_ROOT, OPTION_BINARY };

struct arguments {
	struct gp_cli_report_cli cli;
	const char *output, *container;
	struct gp_root root;
	bool binary;              /* trace.dat, not ftrace.txt */
	char directory[PATH_MAX]; /* absolute: the program may go elsewhere */
};

static int set_option(void *ctx, int id, const char *value)
{
	struct arguments *arguments = ctx;

	if (gp_cli_report_option(&arguments->cli, id, value))
		return arguments->cli.usage;
	if (id == OPTION_OUTPUT)
		arguments->output = value;
	else if (id == OPTION_CONTAINER)
		arguments->container = value;
	else if (id == OPTION_BINARY)
		arguments->binary = true;
	else
		arguments->root.dir = value;
	return 0;
}

/* ---- where it goes ---- */

static int make_parents(char *path)
{
	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		int failed = mkdir(path, 0777) && errno != EEXIST ? -errno : 0;

		*p = '/';
		if (failed)
			return failed;
	}
	return mkdir(path, 0777) && errno != EEXIST ? -errno : 0;
}

/* What an older run left would be taken for this one's. */
static int make_directory(struct arguments *arguments)
{
	struct gp_root live = {.dir = ""};
	struct gp_names names = {0};
	char path[PATH_MAX];
	time_t now = time(NULL);
	int error;

	if (arguments->output)
		snprintf(path, sizeof(path), "%s", arguments->output);
	else
		strftime(path, sizeof(path), "gpreempt_trace_%Y%m%d_%H%M%S", localtime(&now));
	error = make_parents(path);
	if (!error && !realpath(path, arguments->directory))
		error = -errno;
	if (!error)
		error = gp_root_list(&live, &names, "%s", arguments->directory);
	if (error)
		return gp_fail(&arguments->cli.sink.diag, error, "cannot create %s: %s", path,
			       strerror(-error));
	if (names.count)
		error = gp_fail(&arguments->cli.sink.diag, -EEXIST,
				"%s is not empty; name a new directory", path);
	gp_names_free(&names);
	return error;
}

static int path_of(const struct arguments *arguments, char *out, size_t size, const char *name)
{
	return snprintf(out, size, "%s/%s", arguments->directory, name) < (int)size ? 0
										    : -ENAMETOOLONG;
}

/* ---- the kernel's part ---- */

static void restore(void *ctx)
{
	gp_capture_tracefs_restore(ctx);
}

/* False, after saying why, when there will be no trace of the kernel. */
static bool start_trace(struct arguments *arguments, struct gp_capture_tracefs *trace,
			struct gp_capture_guardian *guardian)
{
	struct gp_diag *diag = &arguments->cli.sink.diag;

	/* Its driver is a process: tracefs, which may well be there, shows nothing of it. */
	if (gp_root_is_live(&arguments->root) && getenv("GPREEMPT_VGPU")) {
		gp_diag(diag, GP_WARNING, "%s",
			_("cannot trace KFD: a virtual GPU has no kernel driver"));
		return false;
	}
	if (gp_capture_tracefs_find(trace, &arguments->root, diag))
		return false;
	gp_capture_tracefs_name(trace);
	/* First, so that nothing is ever changed without somebody to put it back. */
	int error = gp_capture_guardian_start(guardian, restore, trace);
	if (error) {
		gp_diag(diag, GP_WARNING,
			"cannot trace KFD: cannot start the process that restores tracefs: %s",
			strerror(-error));
		return false;
	}
	return gp_capture_tracefs_start(trace, &arguments->root, diag) == 0;
}

/* 0 when the file was written; nothing is left of it otherwise. */
static int save_trace(struct arguments *arguments, const struct gp_capture_tracefs *trace,
		      bool binary)
{
	char path[PATH_MAX];
	int error = path_of(arguments, path, sizeof(path), binary ? BINARY_FILE : TEXT_FILE), fd;

	if (error)
		return error;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		error = -errno;
	else
		error = binary ? gp_capture_tracefs_save_binary(trace, &arguments->root, fd)
			       : gp_capture_tracefs_save(trace, fd);
	if (fd >= 0 && close(fd) && !error)
		error = -errno;
	if (!error)
		return 0;
	unlink(path);
	if (error == -ENODATA)
		gp_diag(&arguments->cli.sink.diag, GP_WARNING,
			"%s: nothing was recorded: the program made no such call while the trace "
			"ran",
			path);
	else
		gp_diag(&arguments->cli.sink.diag, GP_WARNING, "cannot write %s: %s", path,
			strerror(-error));
	return error;
}

static void end_trace(struct arguments *arguments, struct gp_capture_tracefs *trace,
		      struct gp_capture_guardian *guardian, bool started)
{
	int error;

	if (started) {
		gp_capture_tracefs_stop(trace);
		error = arguments->binary ? save_trace(arguments, trace, true) : -ENOTSUP;
		/* Where pages cannot be had, or addresses are hidden, the kernel's text can. */
		if (error && error != -ENODATA)
			save_trace(arguments, trace, false);
	}
	if (!guardian->pid)
		return;
	error = gp_capture_tracefs_restore(trace);
	if (error)
		gp_diag(&arguments->cli.sink.diag, GP_WARNING,
			"cannot remove everything that this recording added to %s: %s", trace->dir,
			strerror(-error));
	gp_capture_guardian_dismiss(guardian);
}

/* How the clocks related, before and after. */
static void save_clocks(struct arguments *arguments, const struct gp_capture_clock_sample *before)
{
	struct gp_capture_clock_sample samples[2] = {*before};
	struct gp_buf text = {0};
	char path[PATH_MAX];

	gp_capture_clock_sample(&samples[1]);
	gp_capture_clock_samples_json(samples, 2, &text);
	if (!path_of(arguments, path, sizeof(path), "clocks.json"))
		gp_cli_report_write(&arguments->cli, path, &text);
	gp_buf_free(&text);
}

/* ---- the report ---- */

/* A trace without events has its head only. */
static bool has_lines(int fd)
{
	char text[4096];
	ssize_t got = pread(fd, text, sizeof(text), 0);
	bool start = true;

	for (ssize_t i = 0; i < got; i++) {
		if (start && text[i] != '#' && text[i] != '\n')
			return true;
		start = text[i] == '\n';
	}
	return false;
}

static int add_file(struct arguments *arguments, struct gp_trace_inquiry *inquiry, const char *name,
		    size_t *added)
{
	char path[PATH_MAX];
	int error = path_of(arguments, path, sizeof(path), name), fd;

	fd = error ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (has_lines(fd)) {
		error = gp_trace_inquiry_add(inquiry, fd, path, &arguments->cli.sink.diag);
		*added += !error;
	} else {
		gp_diag(&arguments->cli.sink.diag, GP_WARNING,
			"%s: nothing was recorded: the program made no such call while the trace "
			"ran",
			path);
	}
	close(fd);
	return error;
}

static int add_logs(struct arguments *arguments, struct gp_trace_inquiry *inquiry, size_t *added)
{
	struct gp_root live = {.dir = ""};
	struct gp_names names = {0};
	int error = gp_root_list(&live, &names, "%s", arguments->directory);

	for (size_t i = 0; i < names.count && !error; i++)
		if (!strncmp(names.items[i], LOG_PREFIX, strlen(LOG_PREFIX)))
			error = add_file(arguments, inquiry, names.items[i], added);
	gp_names_free(&names);
	return error;
}

static int report(struct arguments *arguments, const struct gp_capture_tracefs *trace)
{
	struct gp_diag *diag = &arguments->cli.sink.diag;
	struct gp_trace_inquiry inquiry = {0};
	size_t logs = 0, added;
	int error = gp_trace_inquiry_init(&inquiry, GP_CLOCK_MONOTONIC);

	inquiry.kcq_traced = trace->kcq;
	if (!error)
		error = gp_cli_report_timeline(&arguments->cli);
	if (arguments->cli.timeline) {
		inquiry.tap = gp_trace_perfetto_event;
		inquiry.tap_ctx = arguments->cli.timeline;
	}
	if (!error)
		error = add_logs(arguments, &inquiry, &logs);
	if (!error && !logs)
		gp_diag(diag, GP_WARNING, "%s",
			_("no AMD log: the program did not use HIP, cleared its environment, or "
			  "ran with a low AMD_LOG_LEVEL"));
	added = logs;
	if (!error)
		error = add_file(arguments, &inquiry, TEXT_FILE, &added);
	if (!error)
		error = add_file(arguments, &inquiry, BINARY_FILE, &added);
	if (!error && added)
		error = add_file(arguments, &inquiry, "clocks.json", &added);
	error = gp_cli_report_timeline_end(&arguments->cli, error);
	if (!error)
		error = gp_trace_inquiry_finish(&inquiry);
	if (!error && added) {
		struct gp_doc *doc = gp_trace_inquiry_doc(&inquiry);

		error = gp_cli_report_print(&arguments->cli, doc);
		gp_doc_free(doc);
	}
	gp_trace_inquiry_free(&inquiry);
	return error;
}

/* The program's runtime writes its log without a word about a write that fails. */
static int check_space(struct arguments *arguments)
{
	struct statvfs fs;

	if (statvfs(arguments->directory, &fs) || (geteuid() ? fs.f_bavail : fs.f_bfree))
		return 0;
	return gp_fail(&arguments->cli.sink.diag, -ENOSPC,
		       "the file system of %s is full: the recording is incomplete",
		       arguments->directory);
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	struct arguments arguments = {.root.dir = ""};
	struct gp_capture_guardian guardian = {.fd = -1};
	struct gp_capture_tracefs trace = {0};
	struct gp_capture_launch launch = {0};
	struct gp_capture_clock_sample before;
	char log[PATH_MAX];
	int first, parsed, error, full, status = EXIT_RECORDING;
	bool started;

	gp_cli_report_cli_init(&arguments.cli, command);
	parsed = gp_command_parse(command, argc, argv, set_option, &arguments, &first);
	if (parsed)
		return parsed < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (first >= argc || !*argv[first])
		return gp_usage_error(command, "COMMAND is missing");
	/* Docker would take it for one of its options. */
	if (arguments.container && (!*arguments.container || *arguments.container == '-'))
		return gp_usage_error(command, "--container: '%s' is not a container name",
				      arguments.container);
	if (gp_command_check_root(command, &arguments.root))
		return GP_EXIT_USAGE;
	if (make_directory(&arguments) ||
	    path_of(&arguments, log, sizeof(log),
		    arguments.container ? LOG_PREFIX ".txt" : LOG_PREFIX))
		return EXIT_RECORDING;
	launch = (struct gp_capture_launch){
		.argv = argv + first,
		.container = arguments.container,
		.log = log,
		.quiet = arguments.cli.json || arguments.cli.markdown || arguments.cli.quiet,
	};
	started = start_trace(&arguments, &trace, &guardian);
	gp_capture_clock_sample(&before);
	error = gp_capture_launch_run(&launch, &status, &arguments.cli.sink.diag);
	end_trace(&arguments, &trace, &guardian, started && !error);
	if (error) {
		rmdir(arguments.directory);
		return status;
	}
	save_clocks(&arguments, &before);
	full = check_space(&arguments);
	error = report(&arguments, &trace);
	if (!arguments.cli.json && !arguments.cli.markdown && !arguments.cli.quiet)
		printf(_("\nrecorded: %s\n"), arguments.directory);
	return error || full ? EXIT_RECORDING : status;
}

static const struct gp_option options[] = {
	{OPTION_OUTPUT, "output", GP_REQUIRED_ARGUMENT, "DIR", GP_COMPLETE_DIRECTORY,
	 N_("write the recording to DIR, which must be new or empty\n"
	    "(default gpreempt_trace_<time>)")},
	{OPTION_CONTAINER, "container", GP_REQUIRED_ARGUMENT, "NAME", GP_COMPLETE_NONE,
	 N_("run COMMAND in this container (docker or podman)")},
	{OPTION_BINARY, "binary", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("write trace.dat (for trace-cmd and KernelShark, with\nnanosecond timestamps) instead "
	    "of ftrace.txt")},
	{OPTION_ROOT, "root", GP_REQUIRED_ARGUMENT, "DIR", GP_COMPLETE_DIRECTORY,
	 N_("use tracefs and symbols under DIR instead of /")},
	GP_REPORT_OPTIONS,
	GP_REPORT_PERFETTO,
	{0},
};

const struct gp_command gp_cli_trace = {
	.name = "trace",
	.arguments = "[--] COMMAND [ARGUMENT...]",
	.completion = GP_COMPLETE_COMMAND,
	.summary = N_("Run a program and report how its work reaches the GPU"),
	.description = N_("Runs COMMAND with AMD_LOG_LEVEL=5 (unless set) and, if the caller may "
			  "use ftrace, with\n"
			  "probes on the KFD functions that create, change, stop and start queues. "
			  "The probes are in\n"
			  "a separate tracefs instance and are removed at the end, even if "
			  "gpreempt is killed. Then\n"
			  "prints the report of 'gpreempt analyze', and warns about data that "
			  "could not be recorded.\n"
			  "\n"
			  "DIR receives one amd_log_PID per process (a single amd_log with old "
			  "runtimes) and\n"
			  "ftrace.txt or trace.dat, all with MONOTONIC timestamps, and "
			  "clocks.json. With --container\n"
			  "the log is the standard error of COMMAND. With --json, --markdown or "
			  "FILE '-', the\n"
			  "standard output of COMMAND goes to standard error."),
	.exit_status = N_(
		"Exit status: that of COMMAND, or 128 + N if signal N killed it; 125 if recording "
		"or\n"
		"the report failed, 126 if COMMAND cannot be run, 127 if it is not found; 2 bad\n"
		"usage."),
	.options = options,
	.examples = "  gpreempt trace -o log/gemm -- ./gemm\n"
		    "  sudo gpreempt trace --html gemm.html -- ./gemm\n"
		    "  sudo gpreempt trace --container rocm -- python3 train.py\n"
		    "  # on a virtual GPU, which has no kernel driver to trace\n"
		    "  gpreempt vgpu -- gpreempt trace -- ./gemm\n",
	.run = run,
};
