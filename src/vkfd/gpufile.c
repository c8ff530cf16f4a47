#include "vkfd/gpufile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/i18n.h"
#include "vkfd/figure.h"

#define GP_MAX_BYTES (1ull << 50)

/*
 * Figures of the real chip are read straight into struct gp_gpufile; those that depend on the
 * personality are in the section of its name.
 */
struct figure {
	const char *section, *name;
	size_t offset;
	u8 size; /* of the member: 4 or 8 bytes */
	u64 min, max;
};

#define FIGURE(section, name, member, min, max)                                   \
	{                                                                         \
		section, name, offsetof(struct gp_gpufile, member),               \
			sizeof(((struct gp_gpufile *)NULL)->member), (min), (max) \
	}
#define CHIP(name, min, max) FIGURE("chip", #name, chip.name, min, max)
#define COST(name, max)      FIGURE("cost", #name, chip.name, 0, max)

static const struct figure common[] = {
	CHIP(xcc_count, 1, GP_MODEL_MAX_XCC),
	CHIP(cu_per_xcc, 1, GP_MODEL_MAX_CU),
	CHIP(simd_per_cu, 1, 16),
	CHIP(waves_per_simd, 1, 64),
	CHIP(wave_size, 32, 64),
	CHIP(vgpr_per_simd, 64, 8192),
	CHIP(lds_per_cu, 1024, 1u << 20),
	CHIP(slots, 4, 32),
	CHIP(vmids, 1, 15),
	CHIP(sdma_queues_per_engine, 1, 16),
	CHIP(clock_khz, 1000, 100000000),
	CHIP(wave_fixed_bytes, 0, 1u << 20),
	FIGURE("chip", "vram_bytes", gpu.vram_bytes, 1ull << 30, GP_MAX_BYTES),
	FIGURE("chip", "fcompute_mhz", fcompute_mhz, 1, 100000),
	FIGURE("chip", "memory_width", memory_width, 1, 65536),
	FIGURE("chip", "memory_mhz", memory_mhz, 1, 100000),
	FIGURE("chip", "l1_kb", l1_kb, 1, 1u << 20),
	FIGURE("chip", "instruction_kb", instruction_kb, 1, 1u << 20),
	FIGURE("chip", "l2_kb", l2_kb, 1, 1u << 20),
	FIGURE("chip", "pcie_mb_per_s", pcie_mb_per_s, 1, 1u << 24),
	FIGURE("chip", "xgmi_mb_per_s", xgmi_mb_per_s, 1, 1u << 24),
	COST(quantum_ns, GP_MAX_NS),
	COST(dispatch_ns, GP_MAX_NS),
	COST(complete_ns, GP_MAX_NS),
	COST(unmap_ns, GP_MAX_NS),
	COST(unmap_queue_ns, GP_MAX_NS),
	COST(map_ns, GP_MAX_NS),
	COST(map_queue_ns, GP_MAX_NS),
	COST(save_ns, GP_MAX_NS),
	COST(restore_ns, GP_MAX_NS),
	FIGURE("cost", "save_bytes_per_us", chip.save_bytes_per_us, 1, GP_MAX_BYTES),
	FIGURE("cost", "restore_bytes_per_us", chip.restore_bytes_per_us, 1, GP_MAX_BYTES),
	FIGURE("cost", "sdma_bytes_per_us", chip.sdma_bytes_per_us, 1, GP_MAX_BYTES),
	COST(sdma_packet_ns, GP_MAX_NS),
	COST(contention_permille, 100000),
	COST(jitter_permille, 1000),
};

#define SHOWN(name, member, min, max) FIGURE(NULL, name, member, min, max)

static const struct figure presented[] = {
	SHOWN("gfx_version", gpu.gfx_version, 90000, 200000),
	SHOWN("xcc_count", gpu.xcc_count, 1, GP_MODEL_MAX_XCC),
	SHOWN("device_id", gpu.device_id, 1, 0xffff),
	SHOWN("pci_revision", gpu.pci_revision, 0, 0xff),
	SHOWN("subsystem_vendor", subsystem_vendor, 0, 0xffff),
	SHOWN("subsystem_device", subsystem_device, 0, 0xffff),
	SHOWN("arrays_per_xcc", array_count, 1, 64),
	SHOWN("arrays_per_engine", arrays_per_engine, 1, 16),
	SHOWN("cu_per_array", cu_per_array, 1, 64),
	SHOWN("capability", capability, 0, UINT32_MAX),
	SHOWN("debug_prop", debug_prop, 0, UINT32_MAX),
	SHOWN("mec_firmware", mec_firmware, 0, 0x3ff),
	SHOWN("sdma_firmware", sdma_firmware, 0, 0x3ff),
	SHOWN("sdma_engines", sdma_engines, 1, GP_MODEL_MAX_ENGINES),
	SHOWN("sdma_xgmi_engines", sdma_xgmi_engines, 0, GP_MODEL_MAX_ENGINES),
};

const char *gp_personality_name(enum gp_personality personality)
{
	return personality == GP_NATIVE ? "native" : "compat";
}

static u64 page_align(u64 bytes)
{
	return (bytes + 4095) & ~(u64)4095;
}

void gp_cwsr_sizes(u32 gfx_version, u32 cu_per_xcc, u32 array_count, u32 arrays_per_engine,
		   u64 *cwsr_bytes, u32 *ctl_stack_bytes, u32 *debug_bytes)
{
	/* Per CU: VGPRs (the large file of gfx908, gfx90a and gfx94x, or not), SGPRs, LDS, HWREGs.
	 */
	bool large = gfx_version == 90008 || gfx_version == 90010 ||
		     (gfx_version >= 90400 && gfx_version <= 90402);
	u64 per_cu = (large ? 0x80000 : 0x40000) + 0x4000 + 0x10000 + 0x1000;
	bool gfx10 = gfx_version >= 100100;
	u64 limit = (u64)array_count / arrays_per_engine * 512;
	u64 waves = gfx10 ? (u64)cu_per_xcc * 32 : GP_MIN((u64)cu_per_xcc * 40, limit);
	/* A header of 40 bytes, 8 (12) bytes a wave, 8 of padding. */
	u64 stack = page_align(40 + waves * (gfx10 ? 12 : 8) + 8);

	if (gfx_version / 10000 == 10 && stack > 0x7000)
		stack = 0x7000;
	*ctl_stack_bytes = (u32)stack;
	*cwsr_bytes = stack + page_align(cu_per_xcc * per_cu);
	*debug_bytes = (u32)((waves * 32 + 63) & ~63ull);
}

static int read_figure(const struct figure *figure, const char *section, const json_t *root,
		       const char *path, struct gp_diag *diag, struct gp_gpufile *out)
{
	json_t *entry = json_object_get(json_object_get(root, section), figure->name);
	char name[96];
	u64 number;
	int error;

	snprintf(name, sizeof(name), "%s.%s", section, figure->name);
	error = gp_figure_read(entry, path, name, figure->min, figure->max, diag, &number);
	if (error)
		return error;
	if (figure->size == sizeof(u32))
		memcpy((char *)out + figure->offset, &(u32){(u32)number}, sizeof(u32));
	else
		memcpy((char *)out + figure->offset, &number, sizeof(u64));
	return json_object_set(out->figures, name, entry) ? -ENOMEM : 0;
}

/* A name that is misspelt must not pass as one that is left at some default. */
static int check_names(const struct figure *figures, size_t count, const char *section,
		       const json_t *root, const char *path, struct gp_diag *diag)
{
	const char *name;
	json_t *value;

	json_object_foreach(json_object_get(root, section), name, value)
	{
		bool known = false;

		for (size_t i = 0; i < count && !known; i++)
			known = strcmp(figures[i].name, name) == 0 &&
				(!figures[i].section || strcmp(figures[i].section, section) == 0);
		if (!known)
			return gp_fail(diag, -EINVAL, _("%s: %s.%s: there is no such figure"), path,
				       section, name);
	}
	return 0;
}

/* Before anything is missed: what is misspelt is named, not what it should have been. */
static int check_keys(const json_t *root, const char *path, struct gp_diag *diag)
{
	static const char *const keys[] = {"name",   "title",  "chip", "cost",
					   "compat", "native", NULL};
	int error = gp_figure_keys(root, path, NULL, keys, diag);

	for (size_t i = 2; !error && i < GP_ARRAY_SIZE(keys) - 1; i++) {
		bool shown = i >= 4;

		error = check_names(shown ? presented : common,
				    shown ? GP_ARRAY_SIZE(presented) : GP_ARRAY_SIZE(common),
				    keys[i], root, path, diag);
	}
	return error;
}

static int read_figures(const json_t *root, const char *path, struct gp_diag *diag,
			struct gp_gpufile *out)
{
	const char *shown = gp_personality_name(out->personality);
	int error = 0;

	for (size_t i = 0; !error && i < GP_ARRAY_SIZE(common); i++)
		error = read_figure(&common[i], common[i].section, root, path, diag, out);
	for (size_t i = 0; !error && i < GP_ARRAY_SIZE(presented); i++)
		error = read_figure(&presented[i], shown, root, path, diag, out);
	return error;
}

static int read_text(const json_t *root, const char *key, const char *path, struct gp_diag *diag,
		     char *out, size_t size)
{
	const char *text = json_string_value(json_object_get(root, key));

	if (!text || !*text || strlen(text) >= size)
		return gp_fail(diag, -EINVAL, _("%s: \"%s\" must be a text of 1 to %zu bytes"),
			       path, key, size - 1);
	strcpy(out, text);
	return 0;
}

/* What follows from the figures, and whether they fit together. */
static int derive(const char *path, struct gp_diag *diag, struct gp_gpufile *out)
{
	struct gp_vkfd_gpu *gpu = &out->gpu;
	u32 cus = out->chip.xcc_count * out->chip.cu_per_xcc;

	if (cus > GP_MODEL_MAX_CU)
		return gp_fail(diag, -EINVAL, _("%s: %u CUs are more than %d"), path, cus,
			       GP_MODEL_MAX_CU);
	if (cus % gpu->xcc_count)
		return gp_fail(diag, -EINVAL, _("%s: %u CUs cannot be shown as %u equal XCCs"),
			       path, cus, gpu->xcc_count);
	/* ROCr asserts that scratch waves divide evenly over the shader engines. */
	if (cus * 32 % (out->array_count * gpu->xcc_count) ||
	    out->array_count % out->arrays_per_engine)
		return gp_fail(
			diag, -EINVAL,
			_("%s: %u CUs do not divide over %u shader arrays, which ROCr needs"), path,
			cus, out->array_count * gpu->xcc_count);
	if (out->chip.slots % 4)
		return gp_fail(diag, -EINVAL,
			       _("%s: chip.slots: %u are not spread over four pipes"), path,
			       out->chip.slots);
	if (out->sdma_engines + out->sdma_xgmi_engines > GP_MODEL_MAX_ENGINES)
		return gp_fail(diag, -EINVAL, _("%s: more than %d SDMA engines"), path,
			       GP_MODEL_MAX_ENGINES);
	out->chip.sdma_engines = out->sdma_engines + out->sdma_xgmi_engines;
	out->cp_queues = out->chip.slots;
	gpu->cu_count = cus;
	gpu->wave_size = out->chip.wave_size;
	gp_cwsr_sizes(gpu->gfx_version, cus / gpu->xcc_count, out->array_count,
		      out->arrays_per_engine, &gpu->cwsr_bytes, &gpu->ctl_stack_bytes,
		      &gpu->debug_bytes);
	out->array_count *= gpu->xcc_count; /* sysfs shows those of all XCCs */
	snprintf(gpu->name, sizeof(gpu->name), "%s", out->title);
	return 0;
}

/* Where a GPU is described; -ENOENT for a name that is none. Names may be typed in capitals. */
static int find_file(const char *name, char *path, size_t size)
{
	char installed[PATH_MAX], built[PATH_MAX],
		lower[sizeof(((struct gp_gpufile *)NULL)->name)] = "";
	int n;

	if (strchr(name, '/') || strstr(name, ".json")) {
		n = snprintf(path, size, "%s", name);
		return n < (int)size ? 0 : -ENAMETOOLONG;
	}
	if (!*name || strlen(name) >= sizeof(lower))
		return -ENOENT;
	for (size_t i = 0; name[i]; i++)
		lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] - 'A' + 'a' : name[i]);
	snprintf(installed, sizeof(installed), "share/gpreempt/gpus/%s.json", lower);
	snprintf(built, sizeof(built), "data/gpus/%s.json", lower);
	return gp_vkfd_find(installed, built, path, size);
}

bool gp_gpufile_known(const char *name)
{
	char path[PATH_MAX];

	return find_file(name, path, sizeof(path)) == 0;
}

int gp_gpufile_load(const char *name, enum gp_personality personality, struct gp_diag *diag,
		    struct gp_gpufile *out)
{
	char path[PATH_MAX];
	json_t *root;
	int error = find_file(name, path, sizeof(path));

	memset(out, 0, sizeof(*out));
	out->personality = personality;
	if (error)
		return gp_fail(diag, error,
			       _("there is no GPU '%s': mi210, mi300x, mi308x, or the path of a "
				 "GPU file"),
			       name);
	root = gp_figure_file(path, diag, &error);
	if (!root)
		return error;
	out->figures = json_object();
	error = check_keys(root, path, diag);
	error = error ? error : read_text(root, "name", path, diag, out->name, sizeof(out->name));
	error = error ? error
		      : read_text(root, "title", path, diag, out->title, sizeof(out->title));
	error = error ? error : read_figures(root, path, diag, out);
	error = error ? error : derive(path, diag, out);
	json_decref(root);
	if (error)
		gp_gpufile_free(out);
	return error;
}

void gp_gpufile_free(struct gp_gpufile *file)
{
	json_decref(file->figures);
	file->figures = NULL;
}

/* CRC-16 (polynomial 0x8005, reflected), the kernel's crc16(). */
static u16 crc16(const void *data, size_t size)
{
	const u8 *bytes = data;
	u16 crc = 0;

	for (size_t i = 0; i < size; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = (u16)(crc & 1 ? crc >> 1 ^ 0xa001 : crc >> 1);
	}
	return crc;
}

#define GP_FIRST_BUS    0xc1u
#define GP_RENDER_MINOR 128u

void gp_gpufile_place(struct gp_gpufile *out, const struct gp_gpufile *file, u32 index, u32 count)
{
	u32 bus = GP_FIRST_BUS + index;
	/* Linux 6.12 kfd_topology.c, kfd_generate_gpu_id(). */
	u32 identity[8] = {
		0, /* devfn */
		file->subsystem_vendor | file->subsystem_device << 16,
		0, /* domain */
		file->gpu.device_id,
		bus,
		(u32)file->gpu.vram_bytes,
		(u32)(file->gpu.vram_bytes >> 32),
		file->gpu.xcc_count << 16,
	};

	*out = *file;
	json_incref(out->figures);
	out->gpu.gpu_id = crc16(identity, sizeof(identity));
	/* The driver steps over 0 and what another GPU has; the hashes of 8 buses never meet. */
	if (out->gpu.gpu_id == 0)
		out->gpu.gpu_id = 1 + index;
	out->gpu.render_minor = GP_RENDER_MINOR + index;
	out->location_id = bus << 8;
	out->unique_id = 0x6770726565000000ull + index; /* "gpree" */
	out->hive_id = count > 1 ? 0x6770726565ff0000ull : 0;
}
