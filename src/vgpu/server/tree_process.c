// SPDX-License-Identifier: MIT
/* The files of processes, and updating a file when it is opened. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core.h"
#include "base/file.h"
#include "base/parse.h"
#include "vgpu/server/tree.h"

static u32 sysfs_type(u32 ioctl_type)
{
	switch (ioctl_type) {
	case GP_KFD_QUEUE_SDMA:
		return GP_KFD_SYSFS_SDMA;
	case GP_KFD_QUEUE_SDMA_XGMI:
		return GP_KFD_SYSFS_SDMA_XGMI;
	default:
		return GP_KFD_SYSFS_COMPUTE;
	}
}

/* CUs that hold waves of the process, by the driver's arithmetic: whole CUs' worth of waves. */
static u32 cu_occupancy(const struct gp_vgpu_process *process, const struct gp_vgpu_device *device)
{
	u32 per_cu = device->file.chip.simd_per_cu * device->file.chip.waves_per_simd;
	u32 waves = 0;

	for (u32 id = 0; id < GP_VGPU_MAX_QUEUES; id++) {
		const struct gp_vgpu_queue *queue = process->queues[id];
		struct gp_model_queue_state state;

		if (queue && queue->device == device &&
		    gp_model_queue_state(device->model, queue->model_queue, &state) == 0)
			waves += state.resident_waves;
	}
	return per_cu ? (waves + per_cu - 1) / per_cu : 0;
}

/* The files whose contents change while the process lives; `base` is its directory. */
static void write_figures(struct gp_vgpu_server *server, struct gp_vgpu_files *files,
			  const struct gp_vgpu_process *process, const char *base)
{
	for (u32 i = 0; i < server->device_count; i++) {
		const struct gp_vgpu_device *device = &server->devices[i];
		u32 gpu = device->file.gpu.gpu_id;

		gp_vgpu_files_number(files, process->vram_used[i], "%s/vram_%u", base, gpu);
		gp_vgpu_files_number(files, process->sdma_ns[i] / GP_NS_PER_US, "%s/sdma_%u", base,
				     gpu);
		gp_vgpu_files_number(files, cu_occupancy(process, device),
				     "%s/stats_%u/cu_occupancy", base, gpu);
		gp_vgpu_files_number(files, process->evicted_raw_ns[i] / GP_NS_PER_MS,
				     "%s/stats_%u/evicted_ms", base, gpu);
	}
}

/* Queue files have no newline at their end in the driver. */
static void write_queue_size(struct gp_vgpu_files *files, const struct gp_vgpu_queue *queue,
			     const char *base)
{
	char text[32];

	snprintf(text, sizeof(text), "%u", queue->args.ring_size);
	gp_vgpu_files_text(files, text, "%s/size", base);
}

static void add_queue(struct gp_vgpu_files *files, const struct gp_vgpu_queue *queue,
		      const char *path)
{
	char text[32];

	gp_vgpu_files_begin(files);
	snprintf(text, sizeof(text), "%u", queue->device->file.gpu.gpu_id);
	gp_vgpu_files_text(files, text, "%s/gpuid", gp_vgpu_files_staging());
	snprintf(text, sizeof(text), "%u", sysfs_type(queue->args.queue_type));
	gp_vgpu_files_text(files, text, "%s/type", gp_vgpu_files_staging());
	write_queue_size(files, queue, gp_vgpu_files_staging());
	gp_vgpu_files_publish(files, path);
}

/* A secondary process has its directory in that of the primary one. */
#define DIRECTORY_MAX 96
static const char *directory_of(const struct gp_vgpu_process *process, char out[DIRECTORY_MAX])
{
	int used = snprintf(out, DIRECTORY_MAX, GP_TREE_PROC "/%d", (int)process->pid);

	if (process->context != GP_VGPU_PRIMARY)
		snprintf(out + used, DIRECTORY_MAX - (size_t)used, "/context_%u",
			 process->context - 1);
	return out;
}

static void add_process(struct gp_vgpu_server *server, struct gp_vgpu_files *files,
			const struct gp_vgpu_process *process)
{
	const char *base = gp_vgpu_files_staging();
	char path[DIRECTORY_MAX];

	gp_vgpu_files_begin(files);
	gp_vgpu_files_number(files, process->pasid, "%s/pasid", base);
	gp_vgpu_files_directory(files, "%s/queues", base);
	write_figures(server, files, process, base);
	for (u32 i = 0; i < server->device_count; i++) {
		u32 gpu = server->devices[i].file.gpu.gpu_id;

		gp_vgpu_files_number(files, 0, "%s/counters_%u/faults", base, gpu);
		gp_vgpu_files_number(files, 0, "%s/counters_%u/page_in", base, gpu);
		gp_vgpu_files_number(files, 0, "%s/counters_%u/page_out", base, gpu);
	}
	gp_vgpu_files_publish(files, directory_of(process, path));
}

/* Removes what is there and has no queue, adds what has a queue and is not there. */
static void sync_queues(struct gp_vgpu_server *server, struct gp_vgpu_files *files,
			const struct gp_vgpu_process *process)
{
	u64 there[GP_VGPU_MAX_QUEUES / 64] = {0};
	struct gp_names names = {0};
	char root[PATH_MAX], base[DIRECTORY_MAX], path[128];

	snprintf(root, sizeof(root), "%s/" GP_VGPU_ROOT, server->options.directory);
	directory_of(process, base);
	if (gp_root_list(&(struct gp_root){.dir = root}, &names, "%s/queues", base))
		return;
	for (size_t i = 0; i < names.count; i++) {
		u64 id;

		if (!gp_argument_u64(names.items[i], &id) || id >= GP_VGPU_MAX_QUEUES)
			continue;
		there[id / 64] |= 1ull << id % 64;
		snprintf(path, sizeof(path), "%s/queues/%u", base, (u32)id);
		if (!process->queues[id])
			gp_vgpu_files_remove(files, path);
	}
	gp_names_free(&names);
	for (u32 id = 0; id < GP_VGPU_MAX_QUEUES; id++) {
		if (!process->queues[id] || (there[id / 64] >> id % 64 & 1))
			continue;
		snprintf(path, sizeof(path), "%s/queues/%u", base, id);
		add_queue(files, process->queues[id], path);
	}
}

void gp_vgpu_tree_process(struct gp_vgpu_server *server, struct gp_vgpu_process *process)
{
	struct gp_vgpu_files files = {.directory = server->options.directory};
	char root[PATH_MAX], base[DIRECTORY_MAX];

	snprintf(root, sizeof(root), "%s/" GP_VGPU_ROOT, server->options.directory);
	if (!gp_root_exists(&(struct gp_root){.dir = root}, "%s", directory_of(process, base)))
		add_process(server, &files, process);
	sync_queues(server, &files, process);
	if (files.error)
		gp_diag(server->diag, GP_WARNING, "cannot add process %d to the virtual sysfs: %s",
			(int)process->pid, strerror(-files.error));
}

void gp_vgpu_tree_process_gone(struct gp_vgpu_server *server, struct gp_vgpu_process *process)
{
	struct gp_vgpu_files files = {.directory = server->options.directory};
	char path[DIRECTORY_MAX];

	gp_vgpu_files_remove(&files, directory_of(process, path));
}

/* ---- refresh ---- */

static void refresh_process(struct gp_vgpu_server *server, struct gp_vgpu_files *files,
			    const struct gp_vgpu_process *process)
{
	char root[PATH_MAX], base[DIRECTORY_MAX], path[128];

	snprintf(root, sizeof(root), "%s/" GP_VGPU_ROOT, server->options.directory);
	directory_of(process, base);
	write_figures(server, files, process, base);
	for (u32 id = 0; id < GP_VGPU_MAX_QUEUES; id++) {
		if (!process->queues[id])
			continue;
		snprintf(path, sizeof(path), "%s/queues/%u", base, id);
		/* One that is being created is listed, as a whole, when that is done. */
		if (gp_root_exists(&(struct gp_root){.dir = root}, "%s", path))
			write_queue_size(files, process->queues[id], path);
	}
}

static bool starts_with(const char **path, const char *prefix)
{
	size_t len = strlen(prefix);

	if (strncmp(*path, prefix, len) != 0)
		return false;
	*path += len;
	return true;
}

static void refresh_debugfs(struct gp_vgpu_server *server, struct gp_vgpu_files *files,
			    const char *name)
{
	void (*make)(struct gp_vgpu_server *, struct gp_buf *) = NULL;
	struct gp_buf text = {0};
	char path[64];

	if (strcmp(name, "hqds") == 0)
		make = gp_vgpu_debugfs_hqds;
	else if (strcmp(name, "mqds") == 0)
		make = gp_vgpu_debugfs_mqds;
	else if (strcmp(name, "rls") == 0)
		make = gp_vgpu_debugfs_rls;
	if (!make)
		return;
	make(server, &text);
	snprintf(path, sizeof(path), GP_TREE_DEBUGFS "/%s", name);
	if (text.error)
		files->error = text.error;
	else
		gp_vgpu_files_write(files, path, gp_buf_str(&text), text.len);
	gp_buf_free(&text);
}

void gp_vgpu_tree_debugfs(struct gp_vgpu_server *server, struct gp_vgpu_files *files)
{
	refresh_debugfs(server, files, "hqds");
	refresh_debugfs(server, files, "mqds");
	refresh_debugfs(server, files, "rls");
}

static void refresh_vram(struct gp_vgpu_server *server, struct gp_vgpu_files *files)
{
	for (u32 i = 0; i < server->device_count; i++) {
		u32 bus = server->devices[i].file.location_id >> 8;

		gp_vgpu_files_number(files, server->devices[i].vram_used,
				     GP_TREE_PCI "/mem_info_vram_used", bus, bus);
		gp_vgpu_files_number(files, server->devices[i].vram_used,
				     GP_TREE_PCI "/mem_info_vis_vram_used", bus, bus);
	}
}

int gp_vgpu_tree_refresh(struct gp_vgpu_server *server, const char *path)
{
	struct gp_vgpu_files files = {.directory = server->options.directory};

	if (starts_with(&path, GP_TREE_DEBUGFS "/")) {
		refresh_debugfs(server, &files, path);
	} else if (starts_with(&path, GP_TREE_PROC "/") ||
		   starts_with(&path, GP_TREE_CLASS "/proc/")) {
		long pid = strtol(path, NULL, 10);

		for (struct gp_vgpu_process *p = server->processes; p; p = p->next)
			if (p->pid == pid && !p->dead)
				refresh_process(server, &files, p);
	} else if (strstr(path, "/mem_info_")) {
		refresh_vram(server, &files);
	} else if (strstr(path, "/gpu_busy_percent") || strstr(path, "/gpu_metrics")) {
		gp_vgpu_tree_metrics(server, &files);
	}
	return files.error;
}
