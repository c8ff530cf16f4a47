// SPDX-License-Identifier: MIT
/*
 * The PCI device of a GPU, its two DRM nodes and the module, as far as libdrm, rocm-smi, amd-smi
 * and RCCL look. A file is there if the model knows its value: hwmon has the clocks, but neither
 * temperatures nor power. Clocks have one level each. tree_metrics.c writes what changes.
 */
#include <stdio.h>
#include <unistd.h>

#include "abi/drm.h"
#include "base/file.h"
#include "vgpu/server/files.h"
#include "vgpu/server/tree.h"

u32 gp_vgpu_tree_pcie_gt(const struct gp_vgpu_gpufile *gpu)
{
	return gpu->pcie_mb_per_s / GP_TREE_PCIE_LANES / 125;
}

static void add_hex(struct gp_vgpu_files *files, const char *directory, const char *name,
		    int digits, u32 value)
{
	char text[16];

	snprintf(text, sizeof(text), "0x%0*x\n", digits, value);
	gp_vgpu_files_text(files, text, "%s/%s", directory, name);
}

/* The identity, for those who look for a GPU among the devices of the bus. */
static void pci_files(struct gp_vgpu_files *files, const struct gp_vgpu_gpufile *gpu,
		      const char *pci, u32 bus)
{
	char text[256];

	add_hex(files, pci, "vendor", 4, GP_TREE_VENDOR);
	add_hex(files, pci, "device", 4, gpu->gpu.device_id);
	add_hex(files, pci, "revision", 2, gpu->gpu.pci_revision);
	add_hex(files, pci, "subsystem_vendor", 4, gpu->subsystem_vendor);
	add_hex(files, pci, "subsystem_device", 4, gpu->subsystem_device);
	gp_vgpu_files_text(files, "0x120000\n", "%s/class", pci);
	gp_vgpu_files_text(files, "-1\n", "%s/numa_node", pci);
	snprintf(text, sizeof(text),
		 "DRIVER=amdgpu\nPCI_CLASS=120000\nPCI_ID=%04X:%04X\nPCI_SUBSYS_ID=%04X:%04X\n"
		 "PCI_SLOT_NAME=0000:%02x:00.0\n",
		 GP_TREE_VENDOR, gpu->gpu.device_id, gpu->subsystem_vendor, gpu->subsystem_device,
		 bus);
	gp_vgpu_files_text(files, text, "%s/uevent", pci);
	gp_vgpu_files_link(files, "../../../bus/pci", "%s/subsystem", pci);
	gp_vgpu_files_link(files, "../../../bus/pci/drivers/amdgpu", "%s/driver", pci);
}

/* The PCI core's: 16 lanes with 125 MB/s per GT/s each. */
static void link_files(struct gp_vgpu_files *files, const struct gp_vgpu_gpufile *gpu,
		       const char *pci)
{
	static const char *const prefixes[] = {"max", "current"};
	char speed[32];

	snprintf(speed, sizeof(speed), "%u.0 GT/s PCIe\n", gp_vgpu_tree_pcie_gt(gpu));
	for (u32 i = 0; i < GP_ARRAY_SIZE(prefixes); i++) {
		gp_vgpu_files_text(files, speed, "%s/%s_link_speed", pci, prefixes[i]);
		gp_vgpu_files_number(files, GP_TREE_PCIE_LANES, "%s/%s_link_width", pci,
				     prefixes[i]);
	}
	gp_vgpu_files_number(files, 0, "%s/pcie_replay_count", pci);
	gp_vgpu_files_text(files, "active\n", "%s/power/runtime_status", pci);
}

/* All of VRAM is visible to the CPU (large BAR); see memory_info() in preload/drm.c. */
static void memory_files(struct gp_vgpu_files *files, const struct gp_vgpu_gpufile *gpu,
			 const char *pci)
{
	gp_vgpu_files_number(files, gpu->gpu.vram_bytes, "%s/mem_info_vram_total", pci);
	gp_vgpu_files_number(files, 0, "%s/mem_info_vram_used", pci);
	gp_vgpu_files_number(files, gpu->gpu.vram_bytes, "%s/mem_info_vis_vram_total", pci);
	gp_vgpu_files_number(files, 0, "%s/mem_info_vis_vram_used", pci);
	/* Half of the host's memory, as the driver does it; what is in use there is not counted. */
	gp_vgpu_files_number(files, (u64)sysconf(_SC_PHYS_PAGES) * (u64)sysconf(_SC_PAGESIZE) / 2,
			     "%s/mem_info_gtt_total", pci);
}

static const char *partitions(u32 xccs)
{
	switch (xccs) {
	case 8:
		return "SPX, DPX, QPX, CPX\n";
	case 6:
		return "SPX, TPX, CPX\n";
	case 4:
		return "SPX, DPX, CPX\n";
	case 2:
		return "SPX, CPX\n";
	default:
		return "Not supported\n";
	}
}

/* Clocks in Hz, as amdgpu_pm.c names them. */
static void hwmon_files(struct gp_vgpu_files *files, const struct gp_vgpu_gpufile *gpu,
			const char *pci, u32 index)
{
	static const char *const labels[] = {"sclk\n", "mclk\n"};
	const u32 mhz[] = {gpu->fcompute_mhz, gpu->memory_mhz};
	char directory[96];

	snprintf(directory, sizeof(directory), "%s/hwmon/hwmon%u", pci, index);
	gp_vgpu_files_text(files, "amdgpu\n", "%s/name", directory);
	gp_vgpu_files_link(files, "../..", "%s/device", directory);
	for (u32 i = 0; i < GP_ARRAY_SIZE(labels); i++) {
		gp_vgpu_files_text(files, labels[i], "%s/freq%u_label", directory, i + 1);
		gp_vgpu_files_number(files, mhz[i] * 1000000ull, "%s/freq%u_input", directory,
				     i + 1);
	}
}

/* The driver's own files. One node with all XCCs and one memory bank is SPX and NPS1. */
static void driver_files(struct gp_vgpu_files *files, const struct gp_vgpu_gpufile *gpu,
			 const char *pci)
{
	char text[32], title[GP_CHIP_TITLE + 2];

	snprintf(text, sizeof(text), "%016llx\n", (unsigned long long)gpu->unique_id);
	gp_vgpu_files_text(files, text, "%s/unique_id", pci);
	snprintf(title, sizeof(title), "%s\n", gpu->title);
	gp_vgpu_files_text(files, title, "%s/product_name", pci);
	if (gpu->mec_firmware)
		add_hex(files, pci, "fw_version/mec_fw_version", 8, gpu->mec_firmware);
	if (gpu->sdma_firmware)
		add_hex(files, pci, "fw_version/sdma_fw_version", 8, gpu->sdma_firmware);
	snprintf(text, sizeof(text), "0: %uMhz *\n", gpu->fcompute_mhz);
	gp_vgpu_files_text(files, text, "%s/pp_dpm_sclk", pci);
	snprintf(text, sizeof(text), "0: %uMhz *\n", gpu->memory_mhz);
	gp_vgpu_files_text(files, text, "%s/pp_dpm_mclk", pci);
	gp_vgpu_files_text(files, "auto\n", "%s/power_dpm_force_performance_level", pci);
	/* No page of the memory goes bad. */
	gp_vgpu_files_text(files, "", "%s/ras/gpu_vram_bad_pages", pci);
	if (gpu->gpu.gfx_version < GP_TREE_GFX94X)
		return;
	gp_vgpu_files_text(files, "SPX\n", "%s/current_compute_partition", pci);
	gp_vgpu_files_text(files, partitions(gpu->gpu.xcc_count), "%s/available_compute_partition",
			   pci);
	gp_vgpu_files_text(files, "NPS1\n", "%s/current_memory_partition", pci);
	gp_vgpu_files_text(files, "NPS1\n", "%s/available_memory_partition", pci);
}

/* libdrm tells devices apart by the primary node, so a render node alone is not enough. */
static void drm_node(struct gp_vgpu_files *files, const char *pci, const char *name, u32 minor)
{
	char target[128], text[128];

	snprintf(text, sizeof(text), "%d:%u\n", GP_DRM_MAJOR, minor);
	gp_vgpu_files_text(files, text, "%s/drm/%s/dev", pci, name);
	snprintf(text, sizeof(text), "MAJOR=%d\nMINOR=%u\nDEVNAME=dri/%s\nDEVTYPE=drm_minor\n",
		 GP_DRM_MAJOR, minor, name);
	gp_vgpu_files_text(files, text, "%s/drm/%s/uevent", pci, name);
	gp_vgpu_files_link(files, "../..", "%s/drm/%s/device", pci, name);
	gp_vgpu_files_text(files, "unsupported\n", "%s/drm/%s/power/runtime_status", pci, name);
	snprintf(target, sizeof(target), "../..%s/drm/%s", pci + 4, name);
	gp_vgpu_files_link(files, target, "/sys/dev/char/%d:%u", GP_DRM_MAJOR, minor);
	gp_vgpu_files_link(files, target, "/sys/class/drm/%s", name);
	gp_vgpu_files_device(files, "/dev/dri/%s", name);
}

void gp_vgpu_tree_device(struct gp_vgpu_files *files, const struct gp_vgpu_gpufile *gpu, u32 index)
{
	u32 bus = gpu->location_id >> 8;
	char pci[64], target[128], name[32];

	snprintf(pci, sizeof(pci), GP_TREE_PCI, bus, bus);
	pci_files(files, gpu, pci, bus);
	link_files(files, gpu, pci);
	memory_files(files, gpu, pci);
	driver_files(files, gpu, pci);
	hwmon_files(files, gpu, pci, index);
	snprintf(name, sizeof(name), "card%u", index);
	drm_node(files, pci, name, index);
	snprintf(name, sizeof(name), "renderD%u", gpu->gpu.render_minor);
	drm_node(files, pci, name, gpu->gpu.render_minor);
	snprintf(target, sizeof(target), "../../..%s", pci + 4);
	gp_vgpu_files_link(files, target, "/sys/bus/pci/devices/0000:%02x:00.0", bus);
	gp_vgpu_files_link(files, "../../../../module/amdgpu",
			   "/sys/bus/pci/drivers/amdgpu/module");
	snprintf(target, sizeof(target), "../../../..%s", pci + 4);
	gp_vgpu_files_link(files, target, "/sys/bus/pci/drivers/amdgpu/0000:%02x:00.0", bus);
}

void gp_vgpu_tree_module(struct gp_vgpu_server *server, struct gp_vgpu_files *files)
{
	struct gp_buf modules = {0}, host = {0};

	gp_buf_puts(&modules, "amdgpu 12345678 0 - Live 0x0000000000000000\n");
	/* The modules of the host do not matter here, but lsmod may show them. */
	if (gp_file_read("/proc/modules", 1u << 20, &host) == 0)
		gp_buf_add(&modules, gp_buf_str(&host), host.len);
	gp_buf_free(&host);
	if (modules.error)
		files->error = modules.error;
	else
		gp_vgpu_files_write(files, "/proc/modules", gp_buf_str(&modules), modules.len);
	gp_buf_free(&modules);
	gp_vgpu_files_text(files, "live\n", "/sys/module/amdgpu/initstate");
	gp_vgpu_files_number(files, 1, "/sys/module/amdgpu/refcnt");
	gp_vgpu_files_number(files, 12345678, "/sys/module/amdgpu/coresize");
	gp_vgpu_files_directory(files, "/sys/module/amdgpu/holders");
	gp_vgpu_files_number(files, 0, "/sys/module/amdgpu/parameters/sched_policy");
	gp_vgpu_files_number(files, 1, "/sys/module/amdgpu/parameters/cwsr_enable");
	gp_vgpu_files_number(files, 8, "/sys/module/amdgpu/parameters/num_kcq");
	gp_vgpu_files_number(files, 0, "/sys/module/amdgpu/parameters/hws_max_conc_proc");
	gp_vgpu_files_number(files, 0, "/sys/module/amdgpu/parameters/mes");
	gp_vgpu_files_text(files, "Y\n", "/sys/module/amdgpu/parameters/pcie_p2p");
	gp_vgpu_files_number(files, 4096,
			     "/sys/module/amdgpu/parameters/max_num_of_queues_per_device");
	gp_vgpu_files_number(files, server->options.preemption_timeout_ms,
			     "/sys/module/amdgpu/parameters/queue_preemption_timeout_ms");
}
