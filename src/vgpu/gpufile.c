// SPDX-License-Identifier: MIT
#include "vgpu/gpufile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/i18n.h"

/*
 * Figures of the real chip beside the model's are read straight into struct gp_vgpu_gpufile; those
 * that depend on the personality are in the section of its name.
 */
#define FIGURE(section, name, member, min, max) \
	GP_FIGURE(struct gp_vgpu_gpufile, section, name, member, min, max)

static const struct gp_gpufile_figure_spec common[] = {
	FIGURE("chip", "vram_bytes", gpu.vram_bytes, 1ull << 25, GP_MAX_BYTES),
	FIGURE("chip", "fcompute_mhz", fcompute_mhz, 1, 100000),
	FIGURE("chip", "memory_width", memory_width, 1, 65536),
	FIGURE("chip", "memory_mhz", memory_mhz, 1, 100000),
	FIGURE("chip", "l1_kb", l1_kb, 1, 1u << 20),
	FIGURE("chip", "instruction_kb", instruction_kb, 1, 1u << 20),
	FIGURE("chip", "l2_kb", l2_kb, 1, 1u << 20),
	FIGURE("chip", "l3_kb", l3_kb, 0, 1u << 30),
	FIGURE("chip", "pcie_mb_per_s", pcie_mb_per_s, 1, 1u << 24),
	FIGURE("chip", "xgmi_mb_per_s", xgmi_mb_per_s, 1, 1u << 24),
};

#define SHOWN(name, member, min, max) FIGURE(NULL, name, member, min, max)

static const struct gp_gpufile_figure_spec presented[] = {
	/* The rules are those of gfx9. A later number is presented as it stands, so that a
	 * program's refusal to act on it can be tested. */
	SHOWN("gfx_version", gpu.gfx_version, 90000, 129999),
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

const char *gp_vgpu_personality_name(enum gp_vgpu_personality personality)
{
	return personality == GP_NATIVE ? "native" : "compat";
}

static u64 page_align(u64 bytes)
{
	return (bytes + 4095) & ~(u64)4095;
}

void gp_vgpu_cwsr_sizes(u32 gfx_version, u32 cu_per_xcc, u32 array_count, u32 arrays_per_engine,
			u64 *cwsr_bytes, u32 *ctl_stack_bytes, u32 *debug_bytes)
{
	/* Per CU: VGPRs (the large file of gfx908, gfx90a and gfx94x, or not), SGPRs, LDS, HWREGs.
	 */
	bool large = gfx_version == 90008 || gfx_version == 90010 ||
		     (gfx_version >= 90400 && gfx_version <= 90402);
	u64 per_cu = (large ? 0x80000 : 0x40000) + 0x4000 + 0x10000 + 0x1000;
	u64 limit = (u64)array_count / arrays_per_engine * 512;
	u64 waves = GP_MIN((u64)cu_per_xcc * 40, limit);
	/* A header of 40 bytes, 8 bytes per wave, 8 of padding. */
	u64 stack = page_align(40 + waves * 8 + 8);

	*ctl_stack_bytes = (u32)stack;
	*cwsr_bytes = stack + page_align(cu_per_xcc * per_cu);
	*debug_bytes = (u32)((waves * 32 + 63) & ~63ull);
}

static bool is_figure(const struct gp_gpufile_figure_spec *specs, size_t count, const char *section,
		      const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(specs[i].name, name) == 0 &&
		    (!specs[i].section || strcmp(specs[i].section, section) == 0))
			return true;
	return false;
}

/* A name that is misspelt must not pass as one that is left at some default. */
static int check_names(const char *section, bool shown, const json_t *root, const char *path,
		       struct gp_diag *diag)
{
	const char *name;
	json_t *value;

	json_object_foreach(json_object_get(root, section), name, value)
	{
		bool known = shown ? is_figure(presented, GP_ARRAY_SIZE(presented), section, name)
				   : is_figure(common, GP_ARRAY_SIZE(common), section, name) ||
					     is_figure(gp_gpufile_figures, gp_gpufile_figure_count,
						       section, name);

		if (!known)
			return gp_fail(diag, -EINVAL, "%s: unknown figure %s.%s", path, section,
				       name);
	}
	return 0;
}

/* Before anything is found missing: name the misspelt entry, not the one it should be. */
static int check_keys(const json_t *root, const char *path, struct gp_diag *diag)
{
	static const char *const keys[] = {"name",   "title",  "chip", "cost",
					   "compat", "native", NULL};
	int error = gp_gpufile_figure_keys(root, path, NULL, keys, diag);

	for (size_t i = 2; !error && i < GP_ARRAY_SIZE(keys) - 1; i++)
		error = check_names(keys[i], i >= 4, root, path, diag);
	return error;
}

static int read_figures(const json_t *root, const char *path, struct gp_diag *diag,
			struct gp_vgpu_gpufile *out)
{
	const char *shown = gp_vgpu_personality_name(out->personality);
	int error = 0;

	for (size_t i = 0; !error && i < gp_gpufile_figure_count; i++)
		error = gp_gpufile_figure_take(&gp_gpufile_figures[i], NULL, root, path, diag,
					       out->figures, &out->chip);
	for (size_t i = 0; !error && i < GP_ARRAY_SIZE(common); i++)
		error = gp_gpufile_figure_take(&common[i], NULL, root, path, diag, out->figures,
					       out);
	for (size_t i = 0; !error && i < GP_ARRAY_SIZE(presented); i++)
		error = gp_gpufile_figure_take(&presented[i], shown, root, path, diag, out->figures,
					       out);
	return error;
}

/* Checks that the figures fit together and derives the rest. */
static int derive(const char *path, struct gp_diag *diag, struct gp_vgpu_gpufile *out)
{
	struct gp_vgpu_gpu *gpu = &out->gpu;
	u32 cus = out->chip.xcc_count * out->chip.cu_per_xcc;

	if (cus > GP_MODEL_MAX_CU)
		return gp_fail(diag, -EINVAL, "%s: %u CUs exceed the maximum of %d", path, cus,
			       GP_MODEL_MAX_CU);
	if (cus % gpu->xcc_count)
		return gp_fail(diag, -EINVAL, "%s: cannot divide %u CUs into %u equal XCCs", path,
			       cus, gpu->xcc_count);
	/* ROCr asserts that scratch waves divide evenly over the shader engines. */
	if (cus * 32 % (out->array_count * gpu->xcc_count) ||
	    out->array_count % out->arrays_per_engine)
		return gp_fail(diag, -EINVAL,
			       "%s: ROCr cannot divide %u CUs evenly among %u shader arrays; "
			       "change arrays_per_xcc or arrays_per_engine",
			       path, cus, out->array_count * gpu->xcc_count);
	if (out->chip.slots % 4)
		return gp_fail(diag, -EINVAL,
			       "%s: chip.slots: %u is not a multiple of 4 (the number of pipes)",
			       path, out->chip.slots);
	if (out->sdma_engines + out->sdma_xgmi_engines > GP_MODEL_MAX_ENGINES)
		return gp_fail(diag, -EINVAL, "%s: more than %d SDMA engines", path,
			       GP_MODEL_MAX_ENGINES);
	out->chip.sdma_engines = out->sdma_engines + out->sdma_xgmi_engines;
	out->cp_queues = out->chip.slots;
	gpu->cu_count = cus;
	gpu->wave_size = out->chip.wave_size;
	gp_vgpu_cwsr_sizes(gpu->gfx_version, cus / gpu->xcc_count, out->array_count,
			   out->arrays_per_engine, &gpu->cwsr_bytes, &gpu->ctl_stack_bytes,
			   &gpu->debug_bytes);
	out->array_count *= gpu->xcc_count; /* sysfs shows those of all XCCs */
	snprintf(gpu->name, sizeof(gpu->name), "%s", out->title);
	return 0;
}

bool gp_vgpu_gpufile_known(const char *name)
{
	char path[PATH_MAX];

	return gp_gpufile_path(name, path, sizeof(path)) == 0;
}

int gp_vgpu_gpufile_load(const char *name, enum gp_vgpu_personality personality,
			 struct gp_diag *diag, struct gp_vgpu_gpufile *out)
{
	char path[PATH_MAX];
	json_t *root;
	int error = gp_gpufile_path(name, path, sizeof(path));

	memset(out, 0, sizeof(*out));
	out->personality = personality;
	if (error)
		return gp_gpufile_unknown(diag, name, error);
	root = gp_gpufile_figure_file(path, diag, &error);
	if (!root)
		return error;
	out->figures = json_object();
	error = check_keys(root, path, diag);
	error = error ? error
		      : gp_gpufile_text(root, "name", path, diag, out->name, sizeof(out->name));
	error = error ? error
		      : gp_gpufile_text(root, "title", path, diag, out->title, sizeof(out->title));
	error = error ? error : read_figures(root, path, diag, out);
	error = error ? error : derive(path, diag, out);
	json_decref(root);
	if (error)
		gp_vgpu_gpufile_free(out);
	return error;
}

void gp_vgpu_gpufile_free(struct gp_vgpu_gpufile *file)
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

void gp_vgpu_gpufile_place(struct gp_vgpu_gpufile *out, const struct gp_vgpu_gpufile *file,
			   u32 index, u32 count)
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
