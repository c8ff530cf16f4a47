/* Reads the logs and the live system for gpreempt find and hands both to the join. */
#include "inspect/find.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/i18n.h"
#include "base/parse.h"
#include "inspect/container.h"
#include "inspect/process.h"

#define GP_KFD_SYSFS "/sys/class/kfd/kfd"

/* Pids named in a message; more would not be read. */
#define GP_PIDS_NAMED 8

/* ---- logs ---- */

struct log_context {
	struct gp_log_queues *queues;
	u32 pid_of_name; /* 0 = the file's name tells none */
	bool used_name;
};

static int on_event(void *ctx, const struct gp_event *event)
{
	struct log_context *log = ctx;
	struct gp_event named;

	if ((event->valid & GP_EV_PID) || !log->pid_of_name)
		return gp_log_queues_event(log->queues, event);
	named = *event;
	named.pid = log->pid_of_name;
	named.valid |= GP_EV_PID;
	log->used_name = true;
	return gp_log_queues_event(log->queues, &named);
}

/* AMD_LOG_LEVEL_FILE=name makes the runtime write name_<pid>. */
static u32 pid_of_name(const char *path)
{
	const char *under = strrchr(path, '_');
	u32 pid;

	return under && gp_argument_pid(under + 1, &pid) ? pid : 0;
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
	if (fd < 0 || fstat(fd, &info)) {
		error = gp_fail(diag, -errno, _("cannot open %s: %s"), path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return error;
	}
	if (S_ISREG(info.st_mode))
		*size = (u64)info.st_size;
	if (S_ISDIR(info.st_mode)) {
		error = gp_fail(diag, -EISDIR, _("%s is a directory; name the log files in it"),
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

static void warn_about_input(const struct gp_find_input *input, struct gp_diag *diag)
{
	const struct gp_amdlog_stats *stats = &input->stats;

	if (stats->torn || stats->overlong)
		gp_diag(diag, GP_WARNING,
			_("%s:%llu: %llu torn and %llu overlong lines; what could be read of them "
			  "is counted"),
			input->name, (unsigned long long)stats->first_bad_line,
			(unsigned long long)stats->torn, (unsigned long long)stats->overlong);
}

static int read_log(const struct gp_find_options *options, const char *path, struct gp_diag *diag,
		    struct gp_find_result *out)
{
	struct gp_find_input *input = &out->inputs[out->input_count];
	struct log_context context = {.queues = out->log, .pid_of_name = pid_of_name(path)};
	struct gp_amdlog_options reader = {
		.name = strcmp(path, "-") == 0 ? _("standard input") : path,
		.fast = options->fast,
		.progress = options->progress,
	};
	int fd, error;

	*input = (struct gp_find_input){.name = reader.name, .fast = options->fast};
	out->input_count++;
	fd = open_log(path, diag, &reader.total_bytes);
	if (fd < 0)
		return fd;
	/* One log a rank, and a rank that logged nothing: the others still count. */
	if (reader.total_bytes == 0 && options->log_count > 1 && is_empty_file(fd)) {
		gp_diag(diag, GP_WARNING, _("%s is empty"), input->name);
		close(fd);
		return 0;
	}
	error = gp_amdlog_read(fd, &reader, diag, on_event, &context, &input->stats);
	close(fd);
	if (options->progress)
		gp_progress_end(options->progress);
	input->pid_from_name = context.used_name;
	if (error == -ENOMEM)
		gp_diag(diag, GP_ERROR, _("%s: out of memory"), input->name);
	if (!error)
		warn_about_input(input, diag);
	return error;
}

static int read_logs(const struct gp_find_options *options, struct gp_diag *diag,
		     struct gp_find_result *out)
{
	int error = 0;

	out->log = gp_log_queues_new();
	out->inputs = calloc(options->log_count ? options->log_count : 1, sizeof(*out->inputs));
	if (!out->log || !out->inputs)
		return -ENOMEM;
	for (size_t i = 0; i < options->log_count && !error; i++)
		error = read_log(options, options->logs[i], diag, out);
	return error ? error : gp_log_queues_finish(out->log);
}

/* ---- the live system ---- */

struct live {
	bool present; /* a driver that lists processes is here, and its pids are ours */
	struct gp_gpu_process_list processes;
	struct gp_gpu_state state;
};

static void live_free(struct live *live)
{
	gp_gpu_process_list_free(&live->processes);
	gp_gpu_state_free(&live->state);
}

/* KFD alone lists queues; other kinds have no `describe`. */
static int read_live(const struct gp_find_options *options, struct gp_diag *diag, struct live *live)
{
	int error = 0;

	if (!gp_root_exists(&options->root, GP_KFD_SYSFS)) {
		if (!options->log_count)
			gp_diag(diag, GP_NOTE,
				_("no KFD on this machine (%s is absent: amdgpu is not loaded or "
				  "found no device)"),
				GP_KFD_SYSFS);
		return 0;
	}
	/* The driver lists pids of the first pid namespace: another process may have ours there. */
	if (!gp_process_host_view(&options->root)) {
		gp_diag(diag, GP_NOTE, "%s",
			_("this is a container: the driver lists host pids, so the live system is "
			  "left out; run on the host to see it"));
		return 0;
	}
	live->present = true;
	for (size_t i = 0; gp_gpu_kinds[i] && !error; i++) {
		const struct gp_gpu_ops *ops = gp_gpu_kinds[i];

		if (!ops->describe)
			continue;
		error = ops->describe(&options->root, diag, 0, &live->processes);
		if (!error && ops->watch && live->processes.count)
			error = ops->watch(&options->root, diag, &live->state);
	}
	return error;
}

static const struct gp_gpu_process *find_live(const struct live *live, u32 pid)
{
	for (size_t i = 0; i < live->processes.count; i++) {
		if (live->processes.items[i].pid == pid)
			return &live->processes.items[i];
	}
	return NULL;
}

/* ---- one process ---- */

/* Under which pids a process may have written its log lines: a log in a container prints the pid
 * the process has there. */
struct identity {
	u32 pids[GP_NSPID_MAX + 1];
	size_t count;
	bool unnamed; /* lines without a pid are its own too */
};

static bool owns(const struct identity *identity, const struct gp_log_queue *queue)
{
	if (!queue->pid)
		return identity->unnamed;
	for (size_t i = 0; i < identity->count; i++) {
		if (identity->pids[i] == queue->pid)
			return true;
	}
	return false;
}

static int collect(const struct gp_find_result *result, const struct identity *identity,
		   struct gp_log_queue **out, size_t *count)
{
	const struct gp_log_queue *items;
	size_t total;

	*count = 0;
	items = gp_log_queues_items(result->log, &total);
	*out = calloc(total ? total : 1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	for (size_t i = 0; i < total; i++) {
		if (owns(identity, &items[i]))
			(*out)[(*count)++] = items[i];
	}
	return 0;
}

static struct gp_find_process *add_process(struct gp_find_result *result)
{
	if (gp_array_grow((void **)&result->processes, result->count, &result->capacity,
			  sizeof(*result->processes)))
		return NULL;
	result->processes[result->count] = (struct gp_find_process){0};
	return &result->processes[result->count++];
}

static void describe_process(const struct gp_root *root, struct gp_find_process *out,
			     struct identity *identity)
{
	const struct gp_process *process = &out->process;

	if (!out->pid || gp_process_read(root, out->pid, &out->process)) {
		out->process = (struct gp_process){0};
		return;
	}
	out->alive = out->described = true;
	for (size_t i = 0; i < process->nspid_count && identity->count <= GP_NSPID_MAX; i++)
		identity->pids[identity->count++] = process->nspid[i];
	out->contained = gp_container_of(root, out->pid, &out->container) == 0;
}

static void warn_about_match(const struct gp_find_process *process, size_t logged, size_t matched,
			     bool descriptors, struct gp_diag *diag)
{
	if (logged && !matched && descriptors && process->alive)
		gp_diag(diag, GP_WARNING,
			_("process %u is running, but none of its queues is in the log: the log "
			  "is of another run or machine (--no-live reads the log alone)"),
			process->pid);
}

/* What could not be read of a process that does have queues. */
static void note_missing(const struct gp_find_process *process, const struct live *live,
			 struct gp_diag *diag)
{
	int error = live->state.descriptors_error ? live->state.descriptors_error
						  : live->state.slots_error;

	if (!find_live(live, process->pid) || !error)
		return;
	gp_diag(diag, GP_NOTE,
		_("debugfs could not be read (%s): rings, pointers and activity of the running "
		  "process are not known; run as root, with debugfs mounted"),
		strerror(-error));
}

/* Fills a process from its log queues and the live system. */
static int join_process(const struct gp_find_options *options, struct gp_find_process *process,
			const struct gp_log_queue *logged, size_t count, const struct live *live,
			struct gp_diag *diag)
{
	struct gp_find_live source = {.pid = process->pid,
				      .alive = process->alive,
				      .sysfs_read = live->present,
				      .sysfs = find_live(live, process->pid),
				      .state = &live->state};
	size_t matched;
	int error;

	error = gp_find_join(logged, count, options->no_live ? NULL : &source, process, &matched);
	if (!error)
		warn_about_match(process, count, matched, live->state.valid & GP_WATCH_DESCRIPTORS,
				 diag);
	return error;
}

static int find_one(const struct gp_find_options *options, u32 pid,
		    const struct gp_log_queue *logged, size_t count, const struct live *live,
		    struct gp_diag *diag, struct gp_find_result *out)
{
	struct gp_find_process *process = add_process(out);
	struct identity unused = {0};

	if (!process)
		return -ENOMEM;
	process->pid = pid;
	process->pid_known = pid != 0;
	if (!options->no_live) {
		describe_process(&options->root, process, &unused);
		process->alive |= find_live(live, pid) != NULL;
	}
	return join_process(options, process, logged, count, live, diag);
}

/* Every pid of the logs; their queues are ordered by pid. 0 stands for lines without one. */
static int find_all_logged(const struct gp_find_options *options, const struct live *live,
			   struct gp_diag *diag, struct gp_find_result *out)
{
	const struct gp_log_queue *items;
	size_t total, next;
	int error = 0;

	items = gp_log_queues_items(out->log, &total);
	for (size_t i = 0; i < total && !error; i = next) {
		for (next = i; next < total && items[next].pid == items[i].pid;)
			next++;
		error = find_one(options, items[i].pid, &items[i], next - i, live, diag, out);
	}
	return error;
}

static int find_all_live(const struct gp_find_options *options, const struct live *live,
			 struct gp_diag *diag, struct gp_find_result *out)
{
	int error = 0;

	for (size_t i = 0; i < live->processes.count && !error; i++)
		error = find_one(options, live->processes.items[i].pid, NULL, 0, live, diag, out);
	if (!error && out->count)
		note_missing(&out->processes[0], live, diag);
	return error;
}

/* "16, 77, ..." of the pids the logs have. */
static void logged_pids(const struct gp_find_result *result, char *out, size_t size, bool *unnamed)
{
	const struct gp_log_queue *items;
	size_t total, named = 0;
	u32 last = 0;

	items = gp_log_queues_items(result->log, &total);
	*unnamed = false;
	out[0] = '\0';
	for (size_t i = 0; i < total; i++) {
		size_t len = strlen(out);

		*unnamed |= items[i].pid == 0;
		if (!items[i].pid || items[i].pid == last)
			continue;
		last = items[i].pid;
		if (named == GP_PIDS_NAMED)
			snprintf(out + len, size - len, ", ...");
		else if (named < GP_PIDS_NAMED)
			snprintf(out + len, size - len, "%s%u", named ? ", " : "", last);
		named++;
	}
}

static int report_absent(const struct gp_find_options *options, const struct gp_find_result *out,
			 struct gp_diag *diag)
{
	const struct gp_find_process *process = &out->processes[0];
	char pids[128];
	bool unnamed;

	if (process->count)
		return 0;
	logged_pids(out, pids, sizeof(pids), &unnamed);
	if (*pids)
		return gp_fail(diag, -ESRCH,
			       _("process %u has no queue in the log; the log has queues of: %s"),
			       options->pid, pids);
	if (options->log_count && !process->alive)
		return gp_fail(diag, -ESRCH,
			       _("process %u: the log names no queue; record it with "
				 "AMD_LOG_LEVEL=4 (5 from ROCm 7.1 on)"),
			       options->pid);
	if (!process->alive)
		return gp_fail(diag, -ESRCH,
			       _("there is no process %u; a container's own pid needs --container"),
			       options->pid);
	return gp_fail(diag, -ESRCH,
		       _("process %u has no GPU queue now (it never opened /dev/kfd, or its "
			 "queues are gone)"),
		       options->pid);
}

/* What a reader of rows from a log and from the live system must know about them. */
static void note_log(const struct gp_find_options *options, const struct gp_find_process *process,
		     size_t logged, const struct gp_find_result *out, struct gp_diag *diag)
{
	char pids[128];
	bool unnamed;

	if (!options->log_count)
		return;
	logged_pids(out, pids, sizeof(pids), &unnamed);
	if (!logged && process->count && *pids)
		gp_diag(diag, GP_WARNING,
			_("the log has no queue of process %u, only of: %s; what is shown is the "
			  "live system"),
			process->pid, pids);
	else if (logged && !options->no_live && !process->alive)
		gp_diag(diag, GP_NOTE,
			_("process %u is not running: this is what the log says, and ACTIVE means "
			  "that the log did not see the queue deleted"),
			process->pid);
}

/* A log without any pid is taken as this process's; in one with pids, such lines are not. */
static void claim_unnamed(const struct gp_find_options *options, const struct gp_find_result *out,
			  struct identity *identity, struct gp_diag *diag)
{
	char pids[128];
	bool unnamed;

	logged_pids(out, pids, sizeof(pids), &unnamed);
	identity->unnamed = unnamed && !*pids;
	if (identity->unnamed)
		gp_diag(diag, GP_WARNING,
			_("this log prints no pid (ROCm up to 4.5, or 6.3 and later at level 3): "
			  "all of it is taken as process %u's"),
			options->pid);
	else if (unnamed)
		gp_diag(diag, GP_WARNING, "%s",
			_("some lines carry no pid; their queues are left out (--all shows them)"));
}

/*
 * The host pid of the process that is meant. A log may outlive its process or come from another
 * machine, so with a log and no container named, a pid that cannot be resolved is not an error.
 */
static int resolve(const struct gp_find_options *options, struct gp_diag *diag, u32 *pid)
{
	bool lenient = options->log_count && !options->container;
	struct gp_pid_candidates found = {0};
	int error;

	error = gp_container_resolve(&options->root, lenient ? NULL : diag, options->container,
				     options->pid, &found);
	if (!error && found.items[0].process.pid != options->pid) {
		*pid = found.items[0].process.pid;
		gp_diag(diag, GP_NOTE, _("pid %u of the container is process %u of this machine"),
			options->pid, *pid);
	}
	gp_pid_candidates_free(&found);
	return lenient && error != -ENOMEM ? 0 : error;
}

static int find_pid(const struct gp_find_options *options, const struct live *live,
		    struct gp_diag *diag, struct gp_find_result *out)
{
	struct identity identity = {.pids = {options->pid}, .count = 1};
	struct gp_find_process *process = add_process(out);
	struct gp_log_queue *logged = NULL;
	size_t count;
	int error = 0;

	if (!process)
		return -ENOMEM;
	process->pid = options->pid;
	process->pid_known = true;
	if (!options->no_live) {
		/* /proc may be hidden (hidepid) from one who may still read the driver's list. */
		if (options->container || !find_live(live, options->pid))
			error = resolve(options, diag, &process->pid);
		if (error)
			return error;
		describe_process(&options->root, process, &identity);
		process->alive |= find_live(live, process->pid) != NULL;
	}
	claim_unnamed(options, out, &identity, diag);
	error = collect(out, &identity, &logged, &count);
	if (!error)
		error = join_process(options, process, logged, count, live, diag);
	free(logged);
	if (error)
		return error;
	note_missing(process, live, diag);
	note_log(options, process, count, out, diag);
	return report_absent(options, out, diag);
}

int gp_find(const struct gp_find_options *options, struct gp_diag *diag, struct gp_find_result *out)
{
	struct live live = {0};
	int error;

	*out = (struct gp_find_result){0};
	error = read_logs(options, diag, out);
	if (!error && !options->no_live)
		error = read_live(options, diag, &live);
	if (error)
		;
	else if (!options->all)
		error = find_pid(options, &live, diag, out);
	else if (options->log_count)
		error = find_all_logged(options, &live, diag, out);
	else
		error = find_all_live(options, &live, diag, out);
	if (error == -ENOMEM)
		gp_diag(diag, GP_ERROR, "%s", _("out of memory"));
	live_free(&live);
	return error;
}

void gp_find_result_free(struct gp_find_result *result)
{
	for (size_t i = 0; i < result->count; i++)
		free(result->processes[i].queues);
	free(result->processes);
	free(result->inputs);
	gp_log_queues_free(result->log);
	*result = (struct gp_find_result){0};
}
