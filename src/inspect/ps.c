// SPDX-License-Identifier: MIT
#include "inspect/ps.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpu/control.h"

#define GP_KFD_SYSFS   "/sys/class/kfd/kfd"
#define GP_NVIDIA_PROC "/proc/driver/nvidia"

void gp_inspect_ps_free(struct gp_inspect_ps *ps)
{
	gp_gpu_list_free(&ps->gpus);
	gp_gpu_process_list_free(&ps->processes);
	free(ps->rows);
	*ps = (struct gp_inspect_ps){0};
}

static int fill_rows(const struct gp_root *root, struct gp_container_names *names, bool host_view,
		     struct gp_inspect_ps *ps)
{
	for (size_t i = 0; i < ps->processes.count; i++) {
		const struct gp_gpu_process *gpu = &ps->processes.items[i];
		struct gp_inspect_ps_row *row;
		int error = gp_array_grow((void **)&ps->rows, ps->count, &ps->capacity,
					  sizeof(*ps->rows));

		if (error)
			return error;
		row = &ps->rows[ps->count++];
		*row = (struct gp_inspect_ps_row){.gpu = gpu};
		/* In another pid namespace this /proc has another process under the same pid. */
		if ((!host_view && !gpu->by_descriptors) ||
		    gp_process_read(root, gpu->pid, &row->process))
			continue;
		row->process_known = true;
		row->contained = gp_container_look_up(root, names, gpu->pid, &row->container) == 0;
		/* The container must be that of the process whose command is shown. */
		if ((row->process.valid & GP_PROCESS_START) &&
		    !gp_process_same(root, &row->process))
			ps->count--;
	}
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	const struct gp_gpu_process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Adds its GPUs and processes to those of KFD; the caller frees the lists. */
static int append_nvidia(struct gp_gpu_list *gpus, struct gp_gpu_process_list *processes,
			 struct gp_inspect_ps *out)
{
	int error = 0;

	for (size_t i = 0; i < gpus->count && !error; i++) {
		error = gp_array_grow((void **)&out->gpus.items, out->gpus.count,
				      &out->gpus.capacity, sizeof(*gpus->items));
		if (!error)
			out->gpus.items[out->gpus.count++] = gpus->items[i];
	}
	while (processes->count && !error) {
		error = gp_array_grow((void **)&out->processes.items, out->processes.count,
				      &out->processes.capacity, sizeof(*processes->items));
		if (!error)
			out->processes.items[out->processes.count++] =
				processes->items[--processes->count];
	}
	if (out->processes.count)
		qsort(out->processes.items, out->processes.count, sizeof(*out->processes.items),
		      by_pid);
	return error;
}

/* The channel groups of processes that may be inspected; those of others stay unknown. */
static void look_for_queues(struct gp_gpu_process *process)
{
	int pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	struct gp_gpu_control_queues found = {0};

	if (pidfd < 0)
		return;
	if (gp_nvrm_control.look(pidfd, process->pid, &found) == 0 && found.count)
		process->queues = calloc(found.count, sizeof(*process->queues));
	for (size_t i = 0; process->queues && i < found.count; i++)
		process->queues[process->queue_count++] =
			(struct gp_gpu_queue){.id = found.items[i].id,
					      .gpu_id = found.items[i].gpu_id,
					      .type = GP_QUEUE_COMPUTE};
	free(found.items);
	close(pidfd);
}

static int read_nvidia(const struct gp_root *root, struct gp_diag *diag, struct gp_inspect_ps *out)
{
	struct gp_gpu_process_list processes = {0};
	struct gp_gpu_list gpus = {0};
	int error;

	gp_nvrm_ops.discover(root, diag, &gpus);
	error = gp_nvrm_ops.describe(root, diag, 0, &processes);
	for (size_t i = 0; !error && !*root->dir && i < processes.count; i++)
		look_for_queues(&processes.items[i]);
	if (!error)
		error = append_nvidia(&gpus, &processes, out);
	gp_gpu_list_free(&gpus);
	gp_gpu_process_list_free(&processes);
	return error;
}

int gp_inspect_ps_read(const struct gp_root *root, struct gp_diag *diag, struct gp_inspect_ps *out)
{
	struct gp_container_names names = {0};
	bool host_view = gp_process_host_view(root);
	int error;

	*out = (struct gp_inspect_ps){.driver_present = gp_root_exists(root, GP_KFD_SYSFS),
				      .nvidia_present = gp_root_exists(root, GP_NVIDIA_PROC)};
	if (!out->driver_present && !out->nvidia_present) {
		gp_diag(diag, GP_NOTE,
			"no GPU driver found: neither %s (amdgpu) nor %s (NVIDIA) exists",
			GP_KFD_SYSFS, GP_NVIDIA_PROC);
		return 0;
	}
	/* A GPU that cannot be described still has processes: its errors are not final. */
	if (out->driver_present)
		gp_kfd_ops.discover(root, diag, &out->gpus);
	error = out->driver_present ? gp_kfd_ops.describe(root, diag, 0, &out->processes) : 0;
	if (!error && out->nvidia_present)
		error = read_nvidia(root, diag, out);
	if (!error)
		error = fill_rows(root, &names, host_view, out);
	gp_container_names_free(&names);
	if (error) {
		gp_inspect_ps_free(out);
		return error;
	}
	if (!host_view && out->driver_present && out->count)
		gp_diag(diag, GP_NOTE,
			"inside a container only pids are shown, because KFD lists host pids; run "
			"on the host to see commands and users");
	return 0;
}
