// SPDX-License-Identifier: MIT
/* The files that exist from the start: topology, and what tree_device.c makes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/parse.h"
#include "vgpu/server/files.h"
#include "vgpu/server/tree.h"

#define TOPOLOGY GP_TREE_KFD "/topology"

/* Linux 6.12 amdkfd: kfd_topology.c, kfd_crat.h. */
#define GENERATION        2 /* the CPU and the GPUs were added; it never changes after that */
#define HEAP_SYSTEM       0
#define HEAP_FB_PUBLIC    1
#define LINK_PCIE         2
#define LINK_XGMI         11
#define LINK_ENABLED      1
#define PCIE_WEIGHT       20
#define XGMI_WEIGHT       15
#define CACHE_DATA        9  /* data | HSA CU */
#define CACHE_INSTRUCTION 10 /* instruction | HSA CU */
#define FIRST_SIMD        0x80001000u
#define SIMD_STRIDE       0x1000u
#define GLOBAL_WAVE_SYNC  64
#define SCRATCH_SLOTS     32
#define CPU_MHZ           2800 /* for max_engine_clk_ccompute; nothing computes with it */

/* Lines of "key value"; the order is the driver's, and libhsakmt stops at the first odd line. */
static void add(struct gp_buf *out, const char *key, u64 value)
{
	gp_buf_printf(out, "%s %llu\n", key, (unsigned long long)value);
}

static void publish(struct gp_vgpu_files *files, struct gp_buf *text, const char *path)
{
	if (text->error)
		files->error = text->error;
	else
		gp_vgpu_files_write(files, path, gp_buf_str(text), text->len);
	gp_buf_free(text);
}

/* The first number after `key` in a file of this host; `otherwise` when there is none. */
static u64 host_number(const char *path, const char *key, u64 otherwise)
{
	struct gp_buf text = {0};
	u64 value = otherwise;
	const char *at = NULL;

	if (gp_file_read(path, 4u << 20, &text) == 0)
		at = strstr(gp_buf_str(&text), key);
	if (at) {
		const char *end = text.data + text.len;

		at += strlen(key);
		while (at < end && (*at == ' ' || *at == '\t' || *at == ':'))
			at++;
		gp_parse_u64(&at, end, &value);
	}
	gp_buf_free(&text);
	return value;
}

/* What a node's properties file needs, for the CPU and for GPUs. */
struct node {
	u32 cpu_cores, cpu_core_base;
	u32 memory_banks, caches, links;
	const struct gp_vgpu_gpufile *gpu; /* NULL for the CPU */
	u32 index;
};

static void add_shape(struct gp_buf *text, const struct gp_vgpu_gpufile *gpu, u32 simd_base)
{
	static const struct gp_vgpu_gpufile none;
	const struct gp_vgpu_gpufile *file = gpu ? gpu : &none;

	add(text, "simd_id_base", simd_base);
	add(text, "max_waves_per_simd", file->chip.waves_per_simd);
	add(text, "lds_size_in_kb", file->chip.lds_per_cu >> 10);
	add(text, "gds_size_in_kb", 0);
	add(text, "num_gws", gpu ? GLOBAL_WAVE_SYNC : 0);
	add(text, "wave_front_size", file->chip.wave_size);
	add(text, "array_count", file->array_count);
	add(text, "simd_arrays_per_engine", file->arrays_per_engine);
	add(text, "cu_per_simd_array", file->cu_per_array);
	add(text, "simd_per_cu", file->chip.simd_per_cu);
	add(text, "max_slots_scratch_cu", gpu ? SCRATCH_SLOTS : 0);
	add(text, "gfx_target_version", file->gpu.gfx_version);
	add(text, "vendor_id", gpu ? GP_TREE_VENDOR : 0);
	add(text, "device_id", file->gpu.device_id);
	add(text, "location_id", file->location_id);
	add(text, "domain", 0);
	add(text, "drm_render_minor", file->gpu.render_minor);
	add(text, "hive_id", file->hive_id);
	add(text, "num_sdma_engines", file->sdma_engines);
	add(text, "num_sdma_xgmi_engines", file->sdma_xgmi_engines);
	add(text, "num_sdma_queues_per_engine", file->chip.sdma_queues_per_engine);
	add(text, "num_cp_queues", file->cp_queues);
}

static void node_properties(struct gp_vgpu_server *server, struct gp_vgpu_files *files,
			    const struct node *node, u32 number)
{
	const struct gp_vgpu_gpufile *gpu = node->gpu;
	struct gp_buf text = {0};
	char path[128];

	add(&text, "cpu_cores_count", node->cpu_cores);
	add(&text, "simd_count", gpu ? gpu->gpu.cu_count * gpu->chip.simd_per_cu : 0);
	add(&text, "mem_banks_count", node->memory_banks);
	add(&text, "caches_count", node->caches);
	add(&text, "io_links_count", node->links);
	add(&text, "p2p_links_count", 0);
	add(&text, "cpu_core_id_base", node->cpu_core_base);
	add_shape(&text, gpu, gpu ? FIRST_SIMD + node->index * SIMD_STRIDE : 0);
	/* These two came with the buffer checks of 6.12. */
	if (server->options.era >= GP_ERA_6_12) {
		add(&text, "cwsr_size", gpu ? gpu->gpu.cwsr_bytes : 0);
		add(&text, "ctl_stack_size", gpu ? gpu->gpu.ctl_stack_bytes : 0);
	}
	if (gpu) {
		add(&text, "max_engine_clk_fcompute", gpu->fcompute_mhz);
		add(&text, "local_mem_size", 0);
		add(&text, "fw_version", gpu->mec_firmware);
		add(&text, "capability",
		    gpu->capability &
			    (server->options.era > GP_ERA_6_1 ? ~0u : ~GP_KFD_CAPS_DEBUG));
		if (server->options.era > GP_ERA_6_1)
			add(&text, "debug_prop", gpu->debug_prop);
		add(&text, "sdma_fw_version", gpu->sdma_firmware);
		add(&text, "unique_id", gpu->unique_id);
		if (server->options.era > GP_ERA_6_1)
			add(&text, "num_xcc", gpu->gpu.xcc_count);
	}
	add(&text, "max_engine_clk_ccompute", CPU_MHZ);
	snprintf(path, sizeof(path), TOPOLOGY "/nodes/%u/properties", number);
	publish(files, &text, path);
}

static void memory_bank(struct gp_vgpu_files *files, u32 node, u32 heap, u64 size, u32 width,
			u32 mhz)
{
	struct gp_buf text = {0};
	char path[128];

	add(&text, "heap_type", heap);
	add(&text, "size_in_bytes", size);
	add(&text, "flags", 0);
	add(&text, "width", width);
	add(&text, "mem_clk_max", mhz);
	snprintf(path, sizeof(path), TOPOLOGY "/nodes/%u/mem_banks/0/properties", node);
	publish(files, &text, path);
}

static void io_link(struct gp_vgpu_files *files, u32 node, u32 index, u32 to, u32 type,
		    u32 megabytes)
{
	struct gp_buf text = {0};
	char path[128];

	add(&text, "type", type);
	add(&text, "version_major", 0);
	add(&text, "version_minor", 0);
	add(&text, "node_from", node);
	add(&text, "node_to", to);
	add(&text, "weight", type == LINK_XGMI ? XGMI_WEIGHT : PCIE_WEIGHT);
	add(&text, "min_latency", 0);
	add(&text, "max_latency", 0);
	add(&text, "min_bandwidth", megabytes);
	add(&text, "max_bandwidth", megabytes);
	add(&text, "recommended_transfer_size", 0);
	add(&text, "recommended_sdma_engine_id_mask", type == LINK_PCIE && node ? 3 : 0);
	add(&text, "flags", LINK_ENABLED);
	snprintf(path, sizeof(path), TOPOLOGY "/nodes/%u/io_links/%u/properties", node, index);
	publish(files, &text, path);
}

#define GPU_CACHES 5

/* Only the driver's code for gfx94x looks for the cache beside memory. */
static u32 cache_count(const struct gp_vgpu_gpufile *gpu)
{
	return gpu->l3_kb && gpu->gpu.gfx_version >= GP_TREE_GFX94X ? GPU_CACHES : GPU_CACHES - 1;
}

/* One of each kind instead of one for each CU: ROCr and HIP look at sizes only. */
static void gpu_caches(struct gp_vgpu_files *files, const struct gp_vgpu_gpufile *gpu, u32 node,
		       u32 index)
{
	const struct {
		u32 level, kb, line, type;
	} caches[GPU_CACHES] = {
		{1, gpu->l1_kb, 64, CACHE_DATA},  {1, gpu->instruction_kb, 64, CACHE_INSTRUCTION},
		{1, 16, 64, CACHE_DATA}, /* scalar */
		{2, gpu->l2_kb, 128, CACHE_DATA}, {3, gpu->l3_kb, 64, CACHE_DATA},
	};

	for (u32 i = 0; i < cache_count(gpu); i++) {
		struct gp_buf text = {0};
		char path[128];

		add(&text, "processor_id_low", FIRST_SIMD + index * SIMD_STRIDE);
		add(&text, "level", caches[i].level);
		add(&text, "size", caches[i].kb);
		add(&text, "cache_line_size", caches[i].line);
		add(&text, "cache_lines_per_tag", 1);
		add(&text, "association", 0);
		add(&text, "latency", 0);
		add(&text, "type", caches[i].type);
		gp_buf_puts(&text, "sibling_map 1");
		for (int bit = 1; bit < 32; bit++)
			gp_buf_puts(&text, ",0");
		gp_buf_puts(&text, "\n");
		snprintf(path, sizeof(path), TOPOLOGY "/nodes/%u/caches/%u/properties", node, i);
		publish(files, &text, path);
	}
}

static void cpu_node(struct gp_vgpu_server *server, struct gp_vgpu_files *files)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	struct node node = {
		.cpu_cores = cores > 0 ? (u32)cores : 1,
		/* libhsakmt finds the CPU's name by an APIC id of /proc/cpuinfo. */
		.cpu_core_base = (u32)host_number("/proc/cpuinfo", "\napicid", 0),
		.memory_banks = 1,
		.links = server->device_count,
	};

	gp_vgpu_files_number(files, 0, TOPOLOGY "/nodes/0/gpu_id");
	gp_vgpu_files_text(files, "\n", TOPOLOGY "/nodes/0/name");
	node_properties(server, files, &node, 0);
	memory_bank(files, 0, HEAP_SYSTEM, host_number("/proc/meminfo", "MemTotal", 1 << 20) << 10,
		    64, 3200);
	gp_vgpu_files_directory(files, TOPOLOGY "/nodes/0/caches");
	gp_vgpu_files_directory(files, TOPOLOGY "/nodes/0/p2p_links");
	for (u32 i = 0; i < server->device_count; i++)
		io_link(files, 0, i, server->devices[i].node, LINK_PCIE,
			server->devices[i].file.pcie_mb_per_s);
}

static void gpu_node(struct gp_vgpu_server *server, struct gp_vgpu_files *files, u32 index)
{
	const struct gp_vgpu_device *device = &server->devices[index];
	const struct gp_vgpu_gpufile *gpu = &device->file;
	struct node node = {
		.memory_banks = 1,
		.caches = cache_count(gpu),
		.links = server->device_count,
		.gpu = gpu,
		.index = index,
	};
	u32 link = 0;

	gp_vgpu_files_number(files, gpu->gpu.gpu_id, TOPOLOGY "/nodes/%u/gpu_id", device->node);
	gp_vgpu_files_text(files,
			   gpu->gpu.gfx_version < GP_TREE_GFX94X ? "aldebaran\n" : "ip discovery\n",
			   TOPOLOGY "/nodes/%u/name", device->node);
	node_properties(server, files, &node, device->node);
	memory_bank(files, device->node, HEAP_FB_PUBLIC, gpu->gpu.vram_bytes, gpu->memory_width,
		    gpu->memory_mhz);
	gpu_caches(files, gpu, device->node, index);
	gp_vgpu_files_directory(files, TOPOLOGY "/nodes/%u/p2p_links", device->node);
	gp_vgpu_files_directory(files, TOPOLOGY "/nodes/%u/perf", device->node);
	io_link(files, device->node, link++, 0, LINK_PCIE, gpu->pcie_mb_per_s);
	for (u32 i = 0; i < server->device_count; i++)
		if (i != index)
			io_link(files, device->node, link++, server->devices[i].node, LINK_XGMI,
				gpu->xgmi_mb_per_s);
}

int gp_vgpu_tree_create(struct gp_vgpu_server *server)
{
	struct gp_vgpu_files files = {.directory = server->options.directory};

	gp_vgpu_files_directory(&files, TOPOLOGY);
	gp_vgpu_files_number(&files, GENERATION, TOPOLOGY "/generation_id");
	gp_vgpu_files_text(&files, "platform_oem 0\nplatform_id 0\nplatform_rev 0\n",
			   TOPOLOGY "/system_properties");
	cpu_node(server, &files);
	for (u32 i = 0; i < server->device_count; i++) {
		gpu_node(server, &files, i);
		gp_vgpu_tree_device(&files, &server->devices[i].file, i);
	}
	gp_vgpu_files_text(&files, "MAJOR=511\nMINOR=0\nDEVNAME=kfd\n", GP_TREE_KFD "/uevent");
	gp_vgpu_files_text(&files, "511:0\n", GP_TREE_KFD "/dev");
	gp_vgpu_files_directory(&files, GP_TREE_PROC);
	gp_vgpu_files_link(&files, "../../devices/virtual/kfd/kfd", "/sys/class/kfd/kfd");
	gp_vgpu_files_device(&files, "/dev/kfd");
	gp_vgpu_tree_module(server, &files);
	gp_vgpu_tree_debugfs(server, &files);
	gp_vgpu_tree_metrics(server, &files);
	gp_vgpu_files_number(&files, 0, GP_TREE_DEBUGFS "/hang_hws");
	gp_vgpu_files_text(&files, "System mem used 0M out of 0M\nTTM mem used 0M out of 0M\n",
			   GP_TREE_DEBUGFS "/mem_limit");
	return files.error;
}
