// SPDX-License-Identifier: MIT
/* Reads the logs and the live system for gpreempt find and hands both to the join. */
#include <errno.h>
#include <stdlib.h>

#include "base/i18n.h"
#include "inspect/find_parts.h"

#define GP_KFD_SYSFS   "/sys/class/kfd/kfd"
#define GP_KFD_DEBUGFS "/sys/kernel/debug/kfd/mqds"

/* ---- the live system ---- */

static void live_free(struct gp_inspect_find_machine *live)
{
	gp_gpu_process_list_free(&live->processes);
	gp_gpu_state_free(&live->state);
	gp_container_names_free(&live->names);
}

/* Files that were saved without sysfs: the descriptors alone say which processes have queues. */
static int read_saved(const struct gp_inspect_find_options *options, struct gp_diag *diag,
		      struct gp_inspect_find_machine *live)
{
	int error = 0;

	for (size_t i = 0; gp_gpu_kinds[i] && !error; i++)
		if (gp_gpu_kinds[i]->watch)
			error = gp_gpu_kinds[i]->watch(&options->root, diag, &live->state);
	return error;
}

/* KFD alone lists queues; other kinds have no `watch`. */
static int read_live(const struct gp_inspect_find_options *options, struct gp_diag *diag,
		     struct gp_inspect_find_machine *live)
{
	int error = 0;

	if (!gp_root_exists(&options->root, GP_KFD_SYSFS)) {
		if (!gp_root_is_live(&options->root) &&
		    gp_root_exists(&options->root, GP_KFD_DEBUGFS))
			return read_saved(options, diag, live);
		if (!options->log_count)
			gp_diag(diag, GP_NOTE,
				"no KFD on this machine (%s is absent: amdgpu is not loaded or "
				"found no device)",
				GP_KFD_SYSFS);
		return 0;
	}
	/* The driver lists pids of the first pid namespace: another process may have ours there. */
	if (!gp_process_host_view(&options->root)) {
		gp_diag(diag, GP_NOTE,
			"inside a container the live system is not shown, because the driver "
			"lists host pids; run on the host to see it");
		return 0;
	}
	live->present = true;
	for (size_t i = 0; gp_gpu_kinds[i] && !error; i++) {
		const struct gp_gpu_ops *ops = gp_gpu_kinds[i];

		if (!ops->describe || !ops->watch)
			continue;
		error = ops->describe(&options->root, diag, 0, &live->processes);
		if (!error && live->processes.count)
			error = ops->watch(&options->root, diag, &live->state);
	}
	return error;
}

const struct gp_gpu_process *gp_inspect_find_listed(const struct gp_inspect_find_machine *live,
						    u32 pid)
{
	for (size_t i = 0; i < live->processes.count; i++) {
		if (live->processes.items[i].pid == pid)
			return &live->processes.items[i];
	}
	return NULL;
}

/* Whether sysfs or a descriptor names the process. */
static bool has_queues(const struct gp_inspect_find_machine *live, u32 pid)
{
	const struct gp_kfd_slot_list *descriptors = &live->state.descriptors;

	for (size_t i = 0; i < descriptors->count; i++)
		if (descriptors->items[i].pid == pid)
			return true;
	return gp_inspect_find_listed(live, pid) != NULL;
}

/* ---- one process ---- */

static bool owns(const struct gp_inspect_find_identity *identity,
		 const struct gp_trace_log_queue *queue)
{
	if (!queue->pid)
		return identity->unnamed;
	for (size_t i = 0; i < identity->count; i++) {
		if (identity->pids[i] == queue->pid)
			return true;
	}
	return false;
}

static int collect(const struct gp_inspect_find_result *result,
		   const struct gp_inspect_find_identity *identity, struct gp_trace_log_queue **out,
		   size_t *count)
{
	const struct gp_trace_log_queue *items;
	size_t total;

	*count = 0;
	items = gp_trace_log_queues_items(result->log, &total);
	*out = calloc(total ? total : 1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	for (size_t i = 0; i < total; i++) {
		if (owns(identity, &items[i]))
			(*out)[(*count)++] = items[i];
	}
	return 0;
}

static struct gp_inspect_find_process *add_process(struct gp_inspect_find_result *result)
{
	if (gp_array_grow((void **)&result->processes, result->count, &result->capacity,
			  sizeof(*result->processes)))
		return NULL;
	result->processes[result->count] = (struct gp_inspect_find_process){0};
	return &result->processes[result->count++];
}

static void describe_process(const struct gp_root *root, struct gp_inspect_find_machine *live,
			     struct gp_inspect_find_process *out,
			     struct gp_inspect_find_identity *identity)
{
	const struct gp_process *process = &out->process;

	if (!out->pid || gp_process_read(root, out->pid, &out->process)) {
		out->process = (struct gp_process){0};
		return;
	}
	out->alive = out->described = true;
	for (size_t i = 0; i < process->nspid_count && identity->count <= GP_NSPID_MAX; i++)
		identity->pids[identity->count++] = process->nspid[i];
	out->contained = gp_container_look_up(root, &live->names, out->pid, &out->container) == 0;
}

/* Fills a process from its log queues and the live system. */
static int join_process(const struct gp_inspect_find_options *options,
			struct gp_inspect_find_process *process,
			const struct gp_trace_log_queue *logged, size_t count,
			const struct gp_inspect_find_machine *live, struct gp_diag *diag)
{
	struct gp_inspect_find_live source = {.pid = process->pid,
					      .alive = process->alive,
					      .sysfs_read = live->present,
					      .sysfs = gp_inspect_find_listed(live, process->pid),
					      .state = &live->state};
	size_t matched;
	int error;

	error = gp_inspect_find_join(logged, count, options->no_live ? NULL : &source, process,
				     &matched);
	if (!error)
		gp_inspect_find_warn_about_match(process, count, matched,
						 live->state.valid & GP_WATCH_DESCRIPTORS, diag);
	return error;
}

/*
 * A pid in a log may be a container's own, or of another machine: the process of that pid here is
 * meant only if it has one of the log's queues.
 */
static int find_logged(const struct gp_inspect_find_options *options, u32 pid,
		       const struct gp_trace_log_queue *logged, size_t count,
		       struct gp_inspect_find_machine *live, struct gp_inspect_find_result *out)
{
	struct gp_inspect_find_process *process = add_process(out);
	struct gp_inspect_find_live source = {.pid = pid,
					      .alive = true,
					      .sysfs_read = live->present,
					      .sysfs = gp_inspect_find_listed(live, pid),
					      .state = &live->state};
	struct gp_inspect_find_identity unused = {0};
	size_t matched = 0;
	int error;

	if (!process)
		return -ENOMEM;
	process->pid = pid;
	process->pid_known = pid != 0;
	if (pid && has_queues(live, pid)) {
		error = gp_inspect_find_join(logged, count, &source, process, &matched);
		if (error)
			return error;
		if (matched) {
			describe_process(&options->root, live, process, &unused);
			process->alive = true;
			return 0;
		}
		process->count = 0;
	}
	return gp_inspect_find_join(logged, count, NULL, process, &matched);
}

static int find_listed(const struct gp_inspect_find_options *options, u32 pid,
		       struct gp_inspect_find_machine *live, struct gp_diag *diag,
		       struct gp_inspect_find_result *out)
{
	struct gp_inspect_find_process *process = add_process(out);
	struct gp_inspect_find_identity unused = {0};

	if (!process)
		return -ENOMEM;
	process->pid = pid;
	process->pid_known = process->alive = true;
	describe_process(&options->root, live, process, &unused);
	return join_process(options, process, NULL, 0, live, diag);
}

/* Every pid of the logs; their queues are ordered by pid. 0 stands for lines without one. */
static int find_all_logged(const struct gp_inspect_find_options *options,
			   struct gp_inspect_find_machine *live, struct gp_inspect_find_result *out)
{
	const struct gp_trace_log_queue *items;
	size_t total, next;
	int error = 0;

	items = gp_trace_log_queues_items(out->log, &total);
	for (size_t i = 0; i < total && !error; i = next) {
		for (next = i; next < total && items[next].pid == items[i].pid;)
			next++;
		error = find_logged(options, items[i].pid, &items[i], next - i, live, out);
	}
	return error;
}

static int find_all_live(const struct gp_inspect_find_options *options,
			 struct gp_inspect_find_machine *live, struct gp_diag *diag,
			 struct gp_inspect_find_result *out)
{
	int error = 0;

	for (size_t i = 0; i < live->processes.count && !error; i++)
		error = find_listed(options, live->processes.items[i].pid, live, diag, out);
	for (size_t i = 0; i < live->state.descriptors.count && !live->present && !error; i++) {
		u32 pid = live->state.descriptors.items[i].pid;
		size_t seen = 0;

		while (seen < out->count && out->processes[seen].pid != pid)
			seen++;
		if (pid && seen == out->count)
			error = find_listed(options, pid, live, diag, out);
	}
	if (!error && out->count)
		gp_inspect_find_note_missing(&out->processes[0], live, diag);
	return error;
}

/*
 * The host pid of the process that is meant. A log may outlive its process or come from another
 * machine, so with a log and no container named, a pid that cannot be resolved is not an error.
 */
static int resolve(const struct gp_inspect_find_options *options, struct gp_diag *diag, u32 *pid)
{
	bool lenient = options->log_count && !options->container;
	struct gp_pid_candidates found = {0};
	int error;

	error = gp_container_resolve(&options->root, lenient ? NULL : diag, options->container,
				     options->pid, &found);
	if (!error && found.items[0].process.pid != options->pid) {
		*pid = found.items[0].process.pid;
		gp_diag(diag, GP_NOTE,
			options->container
				? N_("pid %u in the container is process %u on this machine")
				: N_("pid %u means process %u on this machine"),
			options->pid, *pid);
	}
	gp_pid_candidates_free(&found);
	return lenient && error != -ENOMEM ? 0 : error;
}

static int find_pid(const struct gp_inspect_find_options *options,
		    struct gp_inspect_find_machine *live, struct gp_diag *diag,
		    struct gp_inspect_find_result *out)
{
	struct gp_inspect_find_identity identity = {.pids = {options->pid}, .count = 1};
	struct gp_inspect_find_process *process = add_process(out);
	struct gp_trace_log_queue *logged = NULL;
	size_t count;
	int error = 0;

	if (!process)
		return -ENOMEM;
	process->pid = options->pid;
	process->pid_known = true;
	if (!options->no_live) {
		/* With hidepid, /proc hides processes that the driver still lists. */
		if (options->container || !has_queues(live, options->pid))
			error = resolve(options, diag, &process->pid);
		if (error)
			return error;
		describe_process(&options->root, live, process, &identity);
		process->alive |= has_queues(live, process->pid);
	}
	gp_inspect_find_claim_unnamed(options, out, &identity, diag);
	error = collect(out, &identity, &logged, &count);
	if (!error) {
		gp_inspect_find_note_alias(&identity, logged, count, process, diag);
		error = join_process(options, process, logged, count, live, diag);
	}
	free(logged);
	if (error)
		return error;
	gp_inspect_find_note_missing(process, live, diag);
	gp_inspect_find_note_log(options, process, count, out, diag);
	/* The process of that pid here may be any: one of the log's machine is meant. */
	if (count && !options->container && process->pid == options->pid &&
	    !has_queues(live, process->pid)) {
		process->process = (struct gp_process){0};
		process->alive = process->described = process->contained = false;
	}
	return gp_inspect_find_report_absent(options, out, diag);
}

int gp_inspect_find(const struct gp_inspect_find_options *options, struct gp_diag *diag,
		    struct gp_inspect_find_result *out)
{
	struct gp_inspect_find_machine live = {0};
	int error;

	*out = (struct gp_inspect_find_result){0};
	error = gp_inspect_find_read_logs(options, diag, out);
	if (!error && !options->no_live)
		error = read_live(options, diag, &live);
	if (error)
		;
	else if (!options->all)
		error = find_pid(options, &live, diag, out);
	else if (options->log_count)
		error = find_all_logged(options, &live, out);
	else
		error = find_all_live(options, &live, diag, out);
	if (error == -ENOMEM)
		gp_diag(diag, GP_ERROR, "out of memory");
	live_free(&live);
	return error;
}

void gp_inspect_find_result_free(struct gp_inspect_find_result *result)
{
	for (size_t i = 0; i < result->count; i++)
		free(result->processes[i].queues);
	free(result->processes);
	free(result->inputs);
	gp_trace_log_queues_free(result->log);
	*result = (struct gp_inspect_find_result){0};
}
