// SPDX-License-Identifier: MIT
/* gpreempt find, and queue_finder: the queues of a process, from logs and the live system. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "cli/command.h"
#include "cli/view.h"
#include "cli/watch/documents.h"
#include "show/term.h"

struct arguments {
	const struct gp_command *command;
	struct gp_inspect_find_options find;
	struct gp_cli_view view;
	bool long_form, no_file;
	bool found;         /* a queue, in the last reading */
	const char *output; /* queue_finder -o */
};

enum { OPTION_ALL = 256, OPTION_FAST, OPTION_NO_LIVE, OPTION_ROOT, OPTION_NO_FILE };

static int set_option(void *ctx, int id, const char *value)
{
	struct arguments *arguments = ctx;

	if (gp_cli_view_has(id))
		return gp_cli_view_set(&arguments->view, arguments->command, id, value);
	switch (id) {
	case OPTION_ALL:
		arguments->find.all = true;
		break;
	case OPTION_FAST:
		arguments->find.fast = true;
		break;
	case OPTION_NO_LIVE:
		arguments->find.no_live = true;
		break;
	case OPTION_ROOT:
		arguments->find.root.dir = value;
		break;
	case OPTION_NO_FILE:
		arguments->no_file = true;
		break;
	case 'c':
		arguments->find.container = value;
		break;
	case 'l':
		arguments->long_form = true;
		break;
	case 'o':
		arguments->output = value;
		break;
	}
	return 0;
}

/* Options that contradict each other; GP_EXIT_OK when none do. */
static int check_combinations(const struct arguments *arguments, bool without_log)
{
	const struct gp_inspect_find_options *find = &arguments->find;

	if (find->no_live && without_log)
		return gp_usage_error(arguments->command, "%s", _("--no-live needs a log"));
	if (find->no_live && (find->container || !gp_root_is_live(&find->root)))
		return gp_usage_error(arguments->command, "%s",
				      _("--no-live cannot be combined with --container or --root"));
	if (find->all && find->container)
		return gp_usage_error(arguments->command, "%s",
				      _("--container cannot be combined with --all"));
	if (find->container && !*find->container)
		return gp_usage_error(arguments->command, "%s", _("--container needs a name"));
	return gp_command_check_root(arguments->command, &find->root);
}

/* Reads the command line; 0, or the status to exit with in *status. */
static int parse(struct arguments *arguments, int argc, char **argv, int *status)
{
	int first, parsed;

	*status = GP_EXIT_USAGE;
	parsed = gp_command_parse(arguments->command, argc, argv, set_option, arguments, &first);
	if (parsed) {
		*status = parsed < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
		return -1;
	}
	if (!arguments->find.all) {
		if (first == argc) {
			gp_usage_error(arguments->command, "%s", _("missing pid"));
			return -1;
		}
		if (!gp_argument_pid(argv[first], &arguments->find.pid)) {
			gp_usage_error(
				arguments->command,
				"'%s' is not a pid; 'gpreempt ps' lists the processes that use a "
				"GPU",
				argv[first]);
			return -1;
		}
		first++;
	}
	if (check_combinations(arguments, first == argc))
		return -1;
	arguments->find.logs = argv + first;
	arguments->find.log_count = (size_t)(argc - first);
	return 0;
}

static size_t queue_total(const struct gp_inspect_find_result *result)
{
	size_t total = 0;

	for (size_t i = 0; i < result->count; i++)
		total += result->processes[i].count;
	return total;
}

static void show_progress(void *ctx, const char *name, u64 done, u64 total)
{
	if (name)
		gp_progress_update(ctx, name, done, total);
	else
		gp_progress_end(ctx);
}

static int find(struct arguments *arguments, struct gp_diag *diag,
		struct gp_inspect_find_result *result)
{
	struct gp_progress progress;
	int error;

	gp_progress_start(&progress, diag);
	progress.wanted &= !arguments->view.watch;
	arguments->find.stdin_name = _("standard input");
	arguments->find.progress = show_progress;
	arguments->find.progress_ctx = &progress;
	error = gp_inspect_find(&arguments->find, diag, result);
	gp_progress_end(&progress);
	return error;
}

static int print_doc(struct gp_doc *doc)
{
	int error = gp_show_print(doc, stdout, GP_SHOW_TEXT);

	gp_doc_free(doc);
	return error;
}

static void say_nothing_found(const struct gp_inspect_find_options *find, struct gp_diag *diag)
{
	if (find->log_count)
		gp_fail(diag, -ENOENT,
			"the log contains no queues; record it with AMD_LOG_LEVEL=4 (5 with ROCm "
			"7.1 or later)");
	else
		gp_fail(diag, -ENOENT,
			"no process has a KFD queue; start a GPU program, then try again");
}

struct reading {
	struct arguments *arguments;
	struct gp_command_diag diag;
};

static int make(void *ctx, struct gp_doc **doc)
{
	struct reading *reading = ctx;
	struct arguments *arguments = reading->arguments;
	struct gp_inspect_find_result result = {0};
	int error = find(arguments, &reading->diag.diag, &result);

	arguments->found = queue_total(&result) != 0;
	if (!error && gp_cli_view_is_data(&arguments->view))
		*doc = gp_cli_find_list_doc(&result);
	else if (!error)
		*doc = gp_cli_find_doc(&result, arguments->long_form);
	gp_inspect_find_result_free(&result);
	return error;
}

/* Once, queue by queue: a log may have millions. */
static int print_json(struct reading *reading)
{
	struct gp_inspect_find_result result = {0};
	int error = find(reading->arguments, &reading->diag.diag, &result);

	reading->arguments->found = queue_total(&result) != 0;
	if (!error)
		error = gp_cli_find_print_json(stdout, &result, reading->arguments->find.all);
	gp_inspect_find_result_free(&result);
	return error;
}

/* What is read once cannot be read again. */
static bool reads_stdin(const struct arguments *arguments)
{
	for (size_t i = 0; i < arguments->find.log_count; i++) {
		if (gp_file_is_standard(arguments->find.logs[i]))
			return true;
	}
	return false;
}

static int run_find(const struct gp_command *command, int argc, char **argv)
{
	struct arguments arguments = {.command = command, .find.root.dir = ""};
	struct reading reading = {.arguments = &arguments};
	int status, error;

	if (parse(&arguments, argc, argv, &status))
		return status;
	if (gp_cli_view_check(&arguments.view, command))
		return GP_EXIT_USAGE;
	if (arguments.view.watch && reads_stdin(&arguments))
		return gp_usage_error(
			command, "--watch needs a file that can be read repeatedly, not a pipe");
	gp_command_diag_init(&reading.diag, command);
	error = arguments.view.format == GP_SHOW_JSON && !arguments.view.watch
			? print_json(&reading)
			: gp_cli_view_run(&arguments.view, &reading.diag, make, &reading);
	if (!error && !arguments.found && arguments.find.all)
		say_nothing_found(&arguments.find, &reading.diag.diag);
	return error || !arguments.found ? GP_EXIT_FAILED : GP_EXIT_OK;
}

static int write_python(const struct arguments *arguments,
			const struct gp_inspect_find_process *process, struct gp_diag *diag)
{
	struct gp_buf text = {0};
	char name[64];
	const char *path = arguments->output;
	int error;

	if (!path) {
		snprintf(name, sizeof(name), "queue_config_pid_%u.py", process->pid);
		path = name;
	}
	error = gp_cli_queue_finder_python(process, &text);
	if (!error)
		error = gp_file_write_atomic(path, gp_buf_str(&text), text.len);
	gp_buf_free(&text);
	if (error)
		return gp_fail(diag, error, "cannot write %s: %s; choose another path with -o",
			       path, strerror(-error));
	if (!gp_cli_view_is_data(&arguments->view) && !gp_file_is_standard(path))
		printf(_("\nPython configuration written: %s\n"), path);
	return 0;
}

static int run_queue_finder(const struct gp_command *command, int argc, char **argv)
{
	struct arguments arguments = {.command = command, .find.root.dir = ""};
	struct gp_inspect_find_result result = {0};
	struct gp_command_diag diag;
	int status, error;

	if (parse(&arguments, argc, argv, &status))
		return status;
	gp_command_diag_init(&diag, command);
	error = find(&arguments, &diag.diag, &result);
	if (!error && !queue_total(&result))
		error = gp_fail(&diag.diag, -ENOENT, "process %u: no queue found; no file written",
				arguments.find.pid);
	if (!error) {
		if (gp_cli_view_is_data(&arguments.view))
			error = gp_cli_find_print_json(stdout, &result, false);
		else if (!gp_file_is_standard(arguments.output))
			error = print_doc(gp_cli_queue_finder_doc(&result.processes[0]));
		/* Output that cannot be written must not leave a file behind. */
		if (!error && fflush(stdout))
			error = -EIO;
		if (!error && !arguments.no_file &&
		    (!gp_cli_view_is_data(&arguments.view) || arguments.output))
			error = write_python(&arguments, &result.processes[0], &diag.diag);
	}
	gp_inspect_find_result_free(&result);
	return error ? GP_EXIT_FAILED : GP_EXIT_OK;
}

/* clang-format off */
#define COMMON_OPTIONS \
	{'c', "container", GP_REQUIRED_ARGUMENT, "NAME|ID|PID", GP_COMPLETE_NONE, \
	 N_("PID is a pid inside this container; specify the container by\n" \
	    "name, by id or by the host pid of any of its processes")}, \
	{OPTION_FAST, "fast", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE, \
	 N_("show only queues, counts, and first and last use; several\n" \
	    "times faster on large logs")}, \
	{OPTION_NO_LIVE, "no-live", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE, \
	 N_("read only the logs (from another machine or run)")}, \
	{OPTION_ROOT, "root", GP_REQUIRED_ARGUMENT, "DIR", GP_COMPLETE_DIRECTORY, \
	 N_("read DIR/sys and DIR/proc instead of the live system")}
/* clang-format on */

static const struct gp_option find_options[] = {
	{OPTION_ALL, "all", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("show every process in the logs or, without a log, on this\nmachine")},
	COMMON_OPTIONS,
	{'l', "long", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("print one fact per line, each with its source")},
	GP_VIEW_OPTIONS(N_("print JSON; with --watch one object per line")),
	{0},
};

static const struct gp_option finder_options[] = {
	{'o', "output", GP_REQUIRED_ARGUMENT, "FILE", GP_COMPLETE_FILE,
	 N_("write the Python configuration to FILE")},
	{OPTION_NO_FILE, "no-file", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("print the summary only")},
	COMMON_OPTIONS,
	{'j', "json", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("print JSON, as 'gpreempt find' does, instead of the summary;\n"
	    "the file is written only with --output")},
	{0},
};

const struct gp_command gp_cli_find = {
	.name = "find",
	.arguments = "PID [LOG...] | --all [LOG...]",
	.completion = GP_COMPLETE_PID,
	.summary = N_("List the GPU queues of a process"),
	.description = N_(
		"Reads AMD_LOG_LEVEL logs ('-' is standard input) and the live system, and "
		"matches\n"
		"queues by ring base and queue object. In the output, '-' means unknown.\n"
		"\n"
		"HSA ID is the id= of the log. KFD ID is the driver's id; '? 0,1' means that "
		"several\n"
		"ids are possible. ACTIVE: the queue is in a hardware slot now or, if there is "
		"only a\n"
		"log, the log does not show its deletion. RPTR, WPTR and BACKLOG are in "
		"packets; if\n"
		"they come from a log, they are those of the last packet, and BACKLOG is the "
		"number\n"
		"of packets ahead of it. STREAMS: HIP streams that share the queue; 'had 4': none\n"
		"is left of at most 4. FIRST (s) and LAST (s) are the times of the first and last\n"
		"packet on the clock of the log or, in a log without packets, of its creation and\n"
		"of the last line about it.\n"
		"SOURCES: log, sysfs (ids, sizes), mqd (descriptors), hqd (hardware slots)."),
	.options = find_options,
	.examples = "  # a running process; as root also rings, pointers and activity\n"
		    "  sudo gpreempt find 158036\n"
		    "  # a log, and the process that wrote it\n"
		    "  gpreempt find 158036 app.log\n"
		    "  # a log from elsewhere, every process in it\n"
		    "  gpreempt find --all --no-live --json app.log\n"
		    "  # a compressed log\n"
		    "  gpreempt find --no-live 158036 app.log.gz\n"
		    "  # process 16 of a container\n"
		    "  sudo gpreempt find --container zhen_vllm_dsv3 16\n",
	.run = run_find,
};

const struct gp_command gp_cli_queue_finder = {
	.name = "queue_finder",
	.alone = true,
	.arguments = "PID [LOG...]",
	.completion = GP_COMPLETE_PID,
	.summary = N_("List the GPU queues of a process and write them as a Python file"),
	.description = N_("Prints a summary and writes queue_config_pid_<pid>.py in the current "
			  "directory.\n'gpreempt find' shows more."),
	.options = finder_options,
	.examples = "  queue_finder 158036 case_a_cnn.log\n"
		    "  sudo queue_finder 158036\n"
		    "  python3 -c 'from queue_config_pid_158036 import queues; print(queues)'\n",
	.run = run_queue_finder,
};
