// SPDX-License-Identifier: MIT
#include "gpu/kfd/kfd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/kfd_ioctl.h"
#include "base/host/process.h"
#include "base/i18n.h"
#include "base/parse.h"

#define GP_PROC       "/sys/class/kfd/kfd/proc"
#define GP_USAGES_MAX 1024 /* GPUs of one process; more is not a machine */

/* What reading says of a process, queue or GPU that went away between two reads. */
static bool vanished(int error)
{
	return error == -ENOENT || error == -ENODEV || error == -ESRCH || error == -ENOTDIR;
}

static bool whole_u32(const char *text, u32 *value)
{
	const char *end = text + strlen(text);

	return gp_parse_u32(&text, end, value) && text == end;
}

/* The gpu_id (decimal) in "vram_24428" when the name starts with `prefix`. */
static bool gpu_of(const char *name, const char *prefix, u32 *gpu_id)
{
	size_t len = strlen(prefix);

	return strncmp(name, prefix, len) == 0 && whole_u32(name + len, gpu_id);
}

/* The usage record of a GPU, made when new; the few GPUs of a machine need no index. */
static int usage_of(struct gp_gpu_process *process, u32 gpu_id, struct gp_gpu_usage **out)
{
	int error;

	for (size_t i = 0; i < process->usage_count; i++) {
		*out = &process->usages[i];
		if (process->usages[i].gpu_id == gpu_id)
			return 0;
	}
	if (process->usage_count == GP_USAGES_MAX)
		return -E2BIG;
	error = gp_array_grow((void **)&process->usages, process->usage_count,
			      &process->usage_capacity, sizeof(*process->usages));
	if (error)
		return error;
	*out = &process->usages[process->usage_count++];
	**out = (struct gp_gpu_usage){.gpu_id = gpu_id};
	return 0;
}

static void take(struct gp_gpu_usage *usage, u32 bit, u64 *field, int error, u64 value)
{
	if (error)
		return;
	*field = value;
	usage->valid |= bit;
}

static int read_usage(const struct gp_root *root, struct gp_gpu_process *process, const char *name)
{
	struct gp_gpu_usage *usage;
	u64 value = 0;
	int error;
	u32 gpu_id;

	if (gpu_of(name, "vram_", &gpu_id) || gpu_of(name, "sdma_", &gpu_id)) {
		bool vram = name[0] == 'v';

		error = usage_of(process, gpu_id, &usage);
		if (error)
			return error;
		error = gp_root_read_u64(root, &value, GP_PROC "/%u/%s", process->pid, name);
		take(usage, vram ? GP_USAGE_VRAM : GP_USAGE_SDMA,
		     vram ? &usage->vram_bytes : &usage->sdma_us, error, value);
	} else if (gpu_of(name, "stats_", &gpu_id)) {
		error = usage_of(process, gpu_id, &usage);
		if (error)
			return error;
		error = gp_root_read_u64(root, &value, GP_PROC "/%u/%s/evicted_ms", process->pid,
					 name);
		take(usage, GP_USAGE_EVICTED, &usage->evicted_ms, error, value);
		error = gp_root_read_u64(root, &value, GP_PROC "/%u/%s/cu_occupancy", process->pid,
					 name);
		take(usage, GP_USAGE_OCCUPANCY, &usage->cu_occupancy, error, value);
	} else if (strcmp(name, "pasid") == 0) {
		process->pasid_known = gp_root_read_u64(root, &process->pasid, GP_PROC "/%u/pasid",
							process->pid) == 0;
	}
	return 0;
}

static enum gp_gpu_queue_type queue_type(u64 type)
{
	switch (type) {
	case GP_KFD_SYSFS_COMPUTE:
		return GP_QUEUE_COMPUTE;
	case GP_KFD_SYSFS_SDMA:
	case GP_KFD_SYSFS_SDMA_BY_ENGINE:
		return GP_QUEUE_SDMA;
	case GP_KFD_SYSFS_SDMA_XGMI:
		return GP_QUEUE_SDMA_XGMI;
	default:
		return GP_QUEUE_OTHER;
	}
}

/* 0, or why this queue cannot be described; a queue without its GPU is useless. */
static int read_queue(const struct gp_root *root, u32 pid, const char *name,
		      struct gp_gpu_queue *queue)
{
	u64 gpu_id, type, size;
	int error;

	*queue = (struct gp_gpu_queue){0};
	if (!whole_u32(name, &queue->id))
		return -ENOENT;
	error = gp_root_read_u64(root, &gpu_id, GP_PROC "/%u/queues/%s/gpuid", pid, name);
	if (!error)
		error = gp_root_read_u64(root, &type, GP_PROC "/%u/queues/%s/type", pid, name);
	if (!error)
		error = gp_root_read_u64(root, &size, GP_PROC "/%u/queues/%s/size", pid, name);
	if (error)
		return error;
	if (gpu_id > UINT32_MAX)
		return -EINVAL;
	queue->gpu_id = (u32)gpu_id;
	queue->type = queue_type(type);
	queue->size = size;
	return 0;
}

static int read_queues(const struct gp_root *root, struct gp_diag *diag,
		       struct gp_gpu_process *process)
{
	struct gp_names names;
	int error = gp_root_list(root, &names, GP_PROC "/%u/queues", process->pid);

	if (error)
		return vanished(error) ? 0 : error;
	for (size_t i = 0; i < names.count && !error; i++) {
		struct gp_gpu_queue queue;
		int unreadable = read_queue(root, process->pid, names.items[i], &queue);

		if (unreadable) {
			if (!vanished(unreadable))
				gp_diag(diag, GP_WARNING,
					"process %u: cannot read queue %s: %s; skipping it",
					process->pid, names.items[i], strerror(-unreadable));
			continue;
		}
		error = gp_array_grow((void **)&process->queues, process->queue_count,
				      &process->queue_capacity, sizeof(*process->queues));
		if (!error)
			process->queues[process->queue_count++] = queue;
	}
	gp_names_free(&names);
	return error;
}

static int by_gpu_id(const void *a, const void *b)
{
	const struct gp_gpu_usage *x = a, *y = b;

	return (x->gpu_id > y->gpu_id) - (x->gpu_id < y->gpu_id);
}

/* -ENOENT: it has gone, wholly or while it was read. */
static int read_process(const struct gp_root *root, struct gp_diag *diag, u32 pid,
			struct gp_gpu_process *process)
{
	struct gp_names names;
	int error = gp_root_list(root, &names, GP_PROC "/%u", pid);

	*process = (struct gp_gpu_process){.pid = pid};
	if (error)
		return vanished(error) ? -ENOENT : error;
	for (size_t i = 0; i < names.count && !error; i++)
		error = read_usage(root, process, names.items[i]);
	if (!error)
		error = read_queues(root, diag, process);
	/* KFD empties the directory before it removes it. */
	if (!error && (names.count == 0 || !gp_root_exists(root, GP_PROC "/%u", pid)))
		error = -ENOENT;
	gp_names_free(&names);
	if (!error && process->usage_count)
		qsort(process->usages, process->usage_count, sizeof(*process->usages), by_gpu_id);
	return error;
}

static int add_process(const struct gp_root *root, struct gp_diag *diag, u32 pid,
		       struct gp_gpu_process_list *out)
{
	struct gp_gpu_process process;
	int error = read_process(root, diag, pid, &process);

	if (!error)
		error = gp_array_grow((void **)&out->items, out->count, &out->capacity,
				      sizeof(*out->items));
	if (!error) {
		out->items[out->count++] = process;
		return 0;
	}
	free(process.usages);
	free(process.queues);
	if (error == -ENOMEM)
		return error;
	if (error != -ENOENT)
		gp_diag(diag, GP_WARNING, "process %u: cannot read %s/%u: %s; skipping it", pid,
			GP_PROC, pid, strerror(-error));
	return 0;
}

int gp_kfd_describe(const struct gp_root *root, struct gp_diag *diag, u32 pid,
		    struct gp_gpu_process_list *out)
{
	struct gp_names names;
	int error;

	*out = (struct gp_gpu_process_list){0};
	if (pid)
		return add_process(root, diag, pid, out);
	error = gp_root_list(root, &names, GP_PROC);
	if (vanished(error))
		return 0;
	if (error)
		return gp_fail(diag, error, "cannot list %s: %s", GP_PROC, strerror(-error));
	for (size_t i = 0; i < names.count && !error; i++) {
		if (gp_argument_pid(names.items[i], &pid))
			error = add_process(root, diag, pid, out);
	}
	gp_names_free(&names);
	if (error)
		gp_gpu_process_list_free(out);
	return error;
}

/* KFD lists processes by their pid in the first namespace. A copied tree has its own. */
static bool sees_our_pids(const struct gp_root *root)
{
	char name[64];

	return !gp_root_is_live(root) ||
	       (gp_root_readlink(root, name, sizeof(name), "/proc/self/ns/pid") == 0 &&
		gp_process_host_view(root));
}

int gp_kfd_lists_queue(const struct gp_root *root, u32 pid, u32 gpu_id, u32 queue)
{
	u64 listed;
	int error = gp_root_read_u64(root, &listed, GP_PROC "/%u/queues/%u/gpuid", pid, queue);

	if (!error)
		return listed == gpu_id;
	if (!vanished(error) || !gp_root_exists(root, GP_PROC) || !sees_our_pids(root))
		return -EOPNOTSUPP;
	/* A driver that lists the process without its queues is older than that list. */
	return gp_root_exists(root, GP_PROC "/%u", pid) &&
			       !gp_root_exists(root, GP_PROC "/%u/queues", pid)
		       ? -EOPNOTSUPP
		       : 0;
}
