// SPDX-License-Identifier: MIT
/*
 * What the model knows of the figures that rocm-smi and amd-smi read: activity, as the share of the
 * CUs' time since the file was read before, and clocks, which do not change. No link fails here, so
 * PCIe has no errors. Temperatures, power, fans and traffic of links are not modelled; gpu_metrics
 * has them as the driver does without a reading.
 */
#include <stdio.h>
#include <string.h>

#include "abi/gpu_metrics.h"
#include "vgpu/server/tree.h"

#define WINDOW_NS GP_NS_PER_MS /* the least to average over */

static void sample(struct gp_vgpu_device *device)
{
	struct gp_vgpu_activity *seen = &device->activity;
	struct gp_model_stats stats;
	u64 passed, all, busy;

	gp_model_stats(device->model, &stats);
	passed = stats.now_ns - seen->at_ns;
	if (passed < WINDOW_NS)
		return;
	busy = stats.busy_cu_ns - seen->busy_cu_ns;
	all = device->file.gpu.cu_count * passed;
	seen->percent = all ? (u32)(GP_MIN(busy, all) * 100 / all) : 0;
	seen->at_ns = stats.now_ns;
	seen->busy_cu_ns = stats.busy_cu_ns;
}

static void metrics_1_3(const struct gp_vgpu_device *device, u64 now, struct gp_metrics_1_3 *out)
{
	memset(out, 0xff, sizeof(*out));
	out->header = (struct gp_metrics_header){sizeof(*out), GP_METRICS_FORMAT, 3};
	out->gfx_percent = (u16)device->activity.percent;
	out->clock_ns = now;
	out->stamp = now / GP_METRICS_STAMP_NS;
	out->gfx_mhz = (u16)device->file.fcompute_mhz;
	out->memory_mhz = (u16)device->file.memory_mhz;
}

static void metrics_1_7(const struct gp_vgpu_device *device, u64 now, struct gp_metrics_1_7 *out)
{
	memset(out, 0xff, sizeof(*out));
	out->header = (struct gp_metrics_header){sizeof(*out), GP_METRICS_FORMAT, 7};
	out->gfx_percent = (u16)device->activity.percent;
	out->clock_ns = now;
	out->stamp = now / GP_METRICS_STAMP_NS;
	for (u32 i = 0; i < device->file.gpu.xcc_count && i < GP_METRICS_GFX_CLKS; i++)
		out->gfx_mhz[i] = (u16)device->file.fcompute_mhz;
	/* One partition with all XCCs; the activity of each is not known. */
	out->partitions = 1;
	/* Clocks that do not change are not throttled. */
	out->samples = (u32)(now / GP_NS_PER_MS);
	memset(out->throttled, 0, sizeof(out->throttled));
	out->pcie_width = GP_TREE_PCIE_LANES;
	out->pcie_speed = (u16)(gp_vgpu_tree_pcie_gt(&device->file) * 10);
	out->pcie_recoveries = out->pcie_replays = out->pcie_rollovers = 0;
	out->pcie_naks_sent = out->pcie_naks_received = out->pcie_other_recoveries = 0;
	out->memory_mhz = (u16)device->file.memory_mhz;
}

static void write_metrics(struct gp_vgpu_files *files, const struct gp_vgpu_device *device, u64 now)
{
	u32 bus = device->file.location_id >> 8;
	union {
		struct gp_metrics_1_3 old;
		struct gp_metrics_1_7 new;
	} metrics;
	char path[96];
	bool new = device->file.gpu.gfx_version >= GP_TREE_GFX94X;

	if (new)
		metrics_1_7(device, now, &metrics.new);
	else
		metrics_1_3(device, now, &metrics.old);
	snprintf(path, sizeof(path), GP_TREE_PCI "/gpu_metrics", bus, bus);
	gp_vgpu_files_write(files, path, (const char *)&metrics,
			    new ? sizeof(metrics.new) : sizeof(metrics.old));
	gp_vgpu_files_number(files, device->activity.percent, GP_TREE_PCI "/gpu_busy_percent", bus,
			     bus);
}

void gp_vgpu_tree_metrics(struct gp_vgpu_server *server, struct gp_vgpu_files *files)
{
	u64 now = gp_vgpu_server_now(server);

	for (u32 i = 0; i < server->device_count; i++) {
		sample(&server->devices[i]);
		write_metrics(files, &server->devices[i], now);
	}
}
