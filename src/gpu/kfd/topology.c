// SPDX-License-Identifier: MIT
#include "gpu/kfd/kfd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "abi/bits.h"
#include "base/i18n.h"
#include "base/parse.h"

/* heap_type of a memory bank (kfd_sysfs.h of amdkfd 6.12): 0 is system memory. */
enum { GP_HEAP_VRAM_PUBLIC = 1, GP_HEAP_VRAM_PRIVATE = 2 };

/* False when the line is not "key number". */
static bool take_property(const char *line, const char *end, struct gp_kfd_property *wanted,
			  size_t count)
{
	const char *space = memchr(line, ' ', (size_t)(end - line));
	const char *p = space ? space + 1 : end;
	u64 value;

	if (!space || space == line || !gp_parse_u64(&p, end, &value) || p != end)
		return false;
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(wanted[i].key);

		if (len == (size_t)(space - line) && memcmp(line, wanted[i].key, len) == 0) {
			wanted[i].value = value;
			wanted[i].known = true;
		}
	}
	return true;
}

size_t gp_kfd_parse_properties(const char *text, size_t len, struct gp_kfd_property *wanted,
			       size_t count)
{
	const char *p = text, *end = text + len;
	size_t malformed = 0;

	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *stop = newline ? newline : end;

		if (stop > p && stop[-1] == '\r')
			stop--;
		if (stop > p && !take_property(p, stop, wanted, count))
			malformed++;
		p = newline ? newline + 1 : end;
	}
	return malformed;
}

enum {
	P_SIMD_COUNT,
	P_SIMD_PER_CU,
	P_GFX,
	P_LOCATION,
	P_DOMAIN,
	P_MINOR,
	P_SDMA,
	P_SDMA_QUEUES,
	P_CP_QUEUES,
	P_CWSR,
	P_FIRMWARE,
	P_CAPABILITY,
	P_XCC,
	P_UNIQUE,
	P_COUNT,
};

static bool fits32(const struct gp_kfd_property *property)
{
	return property->known && property->value <= UINT32_MAX;
}

static void take_u32(struct gp_gpu *gpu, u32 bit, u32 *field,
		     const struct gp_kfd_property *property)
{
	if (!fits32(property))
		return;
	*field = (u32)property->value;
	gpu->valid |= bit;
}

/* KFD has VMIDs 3 to 15 of GPUs without graphics (gfx908, gfx90a, gfx94x, gfx950), 8 to 15 of
 * others. */
static u32 processes_of(u32 gfx_version)
{
	bool compute = gfx_version == 90008 || gfx_version == 90010 ||
		       (gfx_version >= 90400 && gfx_version < 90600);

	return compute ? 13 : 8;
}

static void apply_properties(struct gp_gpu *gpu, const struct gp_kfd_property *p)
{
	take_u32(gpu, GP_GPU_GFX, &gpu->gfx_version, &p[P_GFX]);
	if (gpu->valid & GP_GPU_GFX)
		gpu->processes = processes_of(gpu->gfx_version);
	take_u32(gpu, GP_GPU_CP_QUEUES, &gpu->cp_queues, &p[P_CP_QUEUES]);
	take_u32(gpu, GP_GPU_FIRMWARE, &gpu->firmware, &p[P_FIRMWARE]);
	take_u32(gpu, GP_GPU_CAPABILITY, &gpu->capability, &p[P_CAPABILITY]);
	take_u32(gpu, GP_GPU_XCC, &gpu->xcc_count, &p[P_XCC]);
	if (fits32(&p[P_SIMD_COUNT]) && fits32(&p[P_SIMD_PER_CU]) && p[P_SIMD_PER_CU].value) {
		gpu->cu_count = (u32)(p[P_SIMD_COUNT].value / p[P_SIMD_PER_CU].value);
		gpu->valid |= GP_GPU_CU;
	}
	if (fits32(&p[P_SDMA]) && fits32(&p[P_SDMA_QUEUES])) {
		gpu->sdma_engines = (u32)p[P_SDMA].value;
		gpu->sdma_queues_per_engine = (u32)p[P_SDMA_QUEUES].value;
		gpu->valid |= GP_GPU_SDMA;
	}
	if (p[P_CWSR].known && p[P_CWSR].value) {
		gpu->cwsr_bytes = p[P_CWSR].value;
		gpu->valid |= GP_GPU_CWSR;
	}
	if (fits32(&p[P_LOCATION]) && fits32(&p[P_DOMAIN])) {
		/* location_id = bus << 8 | device << 3 | function */
		u32 location = (u32)p[P_LOCATION].value;

		gpu->pci_domain = (u32)p[P_DOMAIN].value;
		gpu->pci_bus = gp_bits(location, 8, 15);
		gpu->pci_device = gp_bits(location, 3, 7);
		gpu->pci_function = gp_bits(location, 0, 2);
		gpu->valid |= GP_GPU_PCI;
	}
	/* As ROCr names it; boards without a number of their own have 0. */
	if (p[P_UNIQUE].known && p[P_UNIQUE].value)
		snprintf(gpu->uuid, sizeof(gpu->uuid), "GPU-%016llx",
			 (unsigned long long)p[P_UNIQUE].value);
}

/* One word of text, such as the name of the node or the partition mode. */
static bool take_word(const struct gp_buf *text, char *out, size_t size)
{
	size_t len = strcspn(gp_buf_str(text), "\n");

	if (!len || len >= size)
		return false;
	memcpy(out, gp_buf_str(text), len);
	out[len] = '\0';
	return true;
}

static void read_vram(const struct gp_root *root, const char *node, struct gp_gpu *gpu)
{
	struct gp_names banks;
	struct gp_buf text = {0};

	if (gp_root_list(root, &banks, GP_KFD_NODES "/%s/mem_banks", node))
		return;
	for (size_t i = 0; i < banks.count; i++) {
		struct gp_kfd_property p[] = {{.key = "heap_type"}, {.key = "size_in_bytes"}};
		u64 sum;

		if (gp_root_read(root, GP_KFD_PROPERTIES_LIMIT, &text,
				 GP_KFD_NODES "/%s/mem_banks/%s/properties", node, banks.items[i]))
			continue;
		gp_kfd_parse_properties(gp_buf_str(&text), text.len, p, GP_ARRAY_SIZE(p));
		if (!p[0].known || !p[1].known ||
		    (p[0].value != GP_HEAP_VRAM_PUBLIC && p[0].value != GP_HEAP_VRAM_PRIVATE) ||
		    __builtin_add_overflow(gpu->vram_bytes, p[1].value, &sum))
			continue;
		gpu->vram_bytes = sum;
		gpu->valid |= GP_GPU_VRAM;
	}
	gp_buf_free(&text);
	gp_names_free(&banks);
}

/* Partitions of one device share a PCI device; only kernels that can partition name the mode.
 * Boards without an FRU have no product name. */
static void read_drm(const struct gp_root *root, u32 minor, struct gp_gpu *gpu)
{
	struct gp_buf text = {0};

	if (gp_root_read(root, 4096, &text,
			 "/sys/class/drm/renderD%u/device/current_compute_partition", minor) == 0 &&
	    take_word(&text, gpu->partition, sizeof(gpu->partition)))
		gpu->valid |= GP_GPU_PARTITION;
	if (gp_root_read(root, 4096, &text, "/sys/class/drm/renderD%u/device/product_name",
			 minor) == 0)
		take_word(&text, gpu->product, sizeof(gpu->product));
	gp_buf_free(&text);
}

static void read_properties(const struct gp_root *root, struct gp_diag *diag, const char *node,
			    struct gp_gpu *gpu)
{
	struct gp_kfd_property p[P_COUNT] = {
		[P_SIMD_COUNT] = {.key = "simd_count"},
		[P_SIMD_PER_CU] = {.key = "simd_per_cu"},
		[P_GFX] = {.key = "gfx_target_version"},
		[P_LOCATION] = {.key = "location_id"},
		[P_DOMAIN] = {.key = "domain"},
		[P_MINOR] = {.key = "drm_render_minor"},
		[P_SDMA] = {.key = "num_sdma_engines"},
		[P_SDMA_QUEUES] = {.key = "num_sdma_queues_per_engine"},
		[P_CP_QUEUES] = {.key = "num_cp_queues"},
		[P_CWSR] = {.key = "cwsr_size"},
		[P_FIRMWARE] = {.key = "fw_version"},
		[P_CAPABILITY] = {.key = "capability"},
		[P_XCC] = {.key = "num_xcc"},
		[P_UNIQUE] = {.key = "unique_id"},
	};
	struct gp_buf text = {0};
	size_t malformed;
	int error = gp_root_read(root, GP_KFD_PROPERTIES_LIMIT, &text,
				 GP_KFD_NODES "/%s/properties", node);

	if (error) {
		gp_diag(diag, GP_WARNING,
			"KFD node %s: cannot read its properties (%s); the GPU is listed without "
			"them",
			node, strerror(-error));
		gp_buf_free(&text);
		return;
	}
	malformed = gp_kfd_parse_properties(gp_buf_str(&text), text.len, p, P_COUNT);
	if (malformed)
		gp_diag(diag, GP_WARNING,
			ngettext("KFD node %s: skipped %zu malformed line in its properties "
				 "(expected \"key number\")",
				 "KFD node %s: skipped %zu malformed lines in its properties "
				 "(expected \"key number\")",
				 (unsigned long)malformed),
			node, malformed);
	apply_properties(gpu, p);
	if (fits32(&p[P_MINOR]))
		read_drm(root, (u32)p[P_MINOR].value, gpu);
	gp_buf_free(&text);
}

/* -ENODEV: the node is not a GPU, is hidden from us, or vanished. */
static int read_node(const struct gp_root *root, struct gp_diag *diag, const char *node,
		     struct gp_gpu *gpu)
{
	const char *p = node, *end = node + strlen(node);
	struct gp_buf text = {0};
	u64 gpu_id;
	int error;

	*gpu = (struct gp_gpu){0};
	if (!gp_parse_u32(&p, end, &gpu->node) || p != end)
		return -ENODEV;
	error = gp_root_read_u64(root, &gpu_id, GP_KFD_NODES "/%s/gpu_id", node);
	if (error == -EPERM || error == -EACCES)
		gp_diag(diag, GP_NOTE,
			"the device cgroup of this process hides KFD node %s; skipping it", node);
	else if (error && error != -ENOENT && error != -ENODEV)
		gp_diag(diag, GP_WARNING, "KFD node %s: cannot read its gpu_id: %s", node,
			strerror(-error));
	if (error || gpu_id == 0 || gpu_id > UINT32_MAX)
		return -ENODEV;
	gpu->gpu_id = (u32)gpu_id;
	if (gp_root_read(root, 4096, &text, GP_KFD_NODES "/%s/name", node) == 0)
		take_word(&text, gpu->name, sizeof(gpu->name));
	gp_buf_free(&text);
	read_properties(root, diag, node, gpu);
	read_vram(root, node, gpu);
	return 0;
}

int gp_kfd_discover(const struct gp_root *root, struct gp_diag *diag, struct gp_gpu_list *out)
{
	struct gp_names nodes;
	int error = gp_root_list(root, &nodes, GP_KFD_NODES);

	*out = (struct gp_gpu_list){0};
	if (error == -ENOENT || error == -ENOTDIR)
		return 0;
	if (error)
		return gp_fail(diag, error, "cannot list %s: %s", GP_KFD_NODES, strerror(-error));
	for (size_t i = 0; i < nodes.count && !error; i++) {
		struct gp_gpu gpu;

		if (read_node(root, diag, nodes.items[i], &gpu))
			continue;
		error = gp_array_grow((void **)&out->items, out->count, &out->capacity,
				      sizeof(*out->items));
		if (!error)
			out->items[out->count++] = gpu;
	}
	gp_names_free(&nodes);
	if (error)
		gp_gpu_list_free(out);
	return error;
}
