// SPDX-License-Identifier: MIT
/* Reads the logs of gpreempt find into one analysis. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parse.h"
#include "inspect/find_parts.h"
#include "trace/read/plain.h"

/* The kernel's limit for pids (PID_MAX_LIMIT). */
#define GP_PID_LARGEST (4u << 20)

/* For the callbacks of the reader. */
struct log_context {
	struct gp_trace_log_queues *queues;
	u32 pid_of_name; /* 0 = not in the file's name */
	bool used_name;
	const struct gp_inspect_find_options *options;
	const char *name;
	u64 total_bytes; /* 0 = not known */
};

static int on_event(void *ctx, const struct gp_event *event)
{
	struct log_context *log = ctx;
	struct gp_event named;

	if ((event->valid & GP_EV_PID) || !log->pid_of_name)
		return gp_trace_log_queues_event(log->queues, event);
	named = *event;
	named.pid = log->pid_of_name;
	named.valid |= GP_EV_PID;
	log->used_name = true;
	return gp_trace_log_queues_event(log->queues, &named);
}

static void on_progress(void *ctx, u64 done_bytes)
{
	struct log_context *log = ctx;

	log->options->progress(log->options->progress_ctx, log->name, done_bytes, log->total_bytes);
}

/* With AMD_LOG_LEVEL_FILE=name the runtime writes name_<pid>. A date is not a pid. */
static u32 pid_of_name(const char *path)
{
	const char *under = strrchr(path, '_');
	u32 pid;

	return under && gp_argument_pid(under + 1, &pid) && pid <= GP_PID_LARGEST ? pid : 0;
}

static int open_log(const char *path, struct gp_diag *diag, u64 *size)
{
	struct stat info;
	int fd, error;

	*size = 0;
	if (strcmp(path, "-") == 0)
		fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && (fd = gp_trace_plain(fd, path, diag)) < 0)
		return fd;
	if (fd < 0 || fstat(fd, &info)) {
		error = gp_fail(diag, -errno, "cannot open %s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return error;
	}
	if (S_ISREG(info.st_mode))
		*size = (u64)info.st_size;
	if (S_ISDIR(info.st_mode)) {
		error = gp_fail(diag, -EISDIR, "%s is a directory; specify the log files in it",
				path);
		close(fd);
		return error;
	}
	/* One pass from start to end: let the kernel read ahead further. */
	posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return fd;
}

static bool is_empty_file(int fd)
{
	struct stat info;

	return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size == 0;
}

static void warn_about_input(const struct gp_inspect_find_input *input, u32 name_pid,
			     struct gp_diag *diag)
{
	const struct gp_trace_amdlog_stats *stats = &input->stats;

	if (input->pid_from_name)
		gp_diag(diag, GP_NOTE,
			"%s: the lines have no pid; using %u from the file name "
			"(AMD_LOG_LEVEL_FILE appends it)",
			input->name, name_pid);
	if (stats->torn || stats->overlong)
		gp_diag(diag, GP_WARNING,
			"%s: some lines are damaged, line %llu first (mixed with another: %llu, "
			"longer than the reader allows: %llu); their readable parts are used",
			input->name, (unsigned long long)stats->first_bad_line,
			(unsigned long long)stats->torn, (unsigned long long)stats->overlong);
}

static int read_log(const struct gp_inspect_find_options *options, const char *path,
		    struct gp_diag *diag, struct gp_inspect_find_result *out)
{
	struct gp_inspect_find_input *input = &out->inputs[out->input_count++];
	struct log_context context = {
		.queues = out->log,
		.pid_of_name = pid_of_name(path),
		.options = options,
		.name = strcmp(path, "-") == 0 && options->stdin_name ? options->stdin_name : path,
	};
	struct gp_trace_amdlog_options reader = {.name = context.name,
						 .fast = options->fast,
						 .progress = options->progress ? on_progress : NULL,
						 .progress_ctx = &context};
	int fd, error;

	*input = (struct gp_inspect_find_input){.name = context.name, .fast = options->fast};
	fd = open_log(path, diag, &context.total_bytes);
	if (fd < 0)
		return fd;
	/* One log per rank: a rank that logged nothing does not make the others useless. */
	if (context.total_bytes == 0 && options->log_count > 1 && is_empty_file(fd)) {
		gp_diag(diag, GP_WARNING, "%s is empty; skipped", input->name);
		close(fd);
		return 0;
	}
	gp_trace_log_queues_next_input(out->log);
	error = gp_trace_amdlog_read(fd, &reader, diag, on_event, &context, &input->stats);
	close(fd);
	if (options->progress)
		options->progress(options->progress_ctx, NULL, 0, 0);
	input->pid_from_name = context.used_name;
	if (error == -ENOMEM)
		gp_diag(diag, GP_ERROR, "%s: out of memory", input->name);
	if (!error)
		warn_about_input(input, context.pid_of_name, diag);
	return error;
}

int gp_inspect_find_read_logs(const struct gp_inspect_find_options *options, struct gp_diag *diag,
			      struct gp_inspect_find_result *out)
{
	int error = 0;

	out->log = gp_trace_log_queues_new();
	out->inputs = calloc(options->log_count ? options->log_count : 1, sizeof(*out->inputs));
	if (!out->log || !out->inputs)
		return -ENOMEM;
	for (size_t i = 0; i < options->log_count && !error; i++)
		error = read_log(options, options->logs[i], diag, out);
	return error ? error : gp_trace_log_queues_finish(out->log);
}
