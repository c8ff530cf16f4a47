#include "vkfd/gpufile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/i18n.h"

#define GP_GPUFILE_LIMIT (256u << 10)
#define GP_MAX_BYTES     (1ull << 50)
#define GP_MAX_NS        1000000000000ull /* a quarter of an hour: anything above is a slip */

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

static bool known_kind(const char *kind)
{
	static const char *const kinds[] = {"measured", "published", "assumed", "driver"};

	for (size_t i = 0; kind && i < GP_ARRAY_SIZE(kinds); i++)
		if (strcmp(kind, kinds[i]) == 0)
			return true;
	return false;
}

static int read_figure(const struct figure *figure, const char *section, const json_t *root,
		       const char *path, struct gp_diag *diag, struct gp_gpufile *out)
{
	json_t *entry = json_object_get(json_object_get(root, section), figure->name);
	const json_t *value = json_object_get(entry, "value");
	const char *source = json_string_value(json_object_get(entry, "source"));
	char name[96];
	u64 number;

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return gp_fail(diag, -EINVAL, _("%s: %s.%s: there is no value"), path, section,
			       figure->name);
	number = (u64)json_integer_value(value);
	if (number < figure->min || number > figure->max)
		return gp_fail(diag, -EINVAL, _("%s: %s.%s: %llu is not in %llu to %llu"), path,
			       section, figure->name, (unsigned long long)number,
			       (unsigned long long)figure->min, (unsigned long long)figure->max);
	if (!source || !*source)
		return gp_fail(diag, -EINVAL, _("%s: %s.%s: say where it comes from (\"source\")"),
			       path, section, figure->name);
	if (!known_kind(json_string_value(json_object_get(entry, "kind"))))
		return gp_fail(diag, -EINVAL,
			       _("%s: %s.%s: \"kind\" is measured, published, assumed or driver"),
			       path, section, figure->name);
	if (figure->size == sizeof(u32))
		memcpy((char *)out + figure->offset, &(u32){(u32)number}, sizeof(u32));
	else
		memcpy((char *)out + figure->offset, &number, sizeof(u64));
	snprintf(name, sizeof(name), "%s.%s", section, figure->name);
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

static int read_figures(const json_t *root, const char *path, struct gp_diag *diag,
			struct gp_gpufile *out)
{
	const char *shown = gp_personality_name(out->personality);
	int error = 0;

	for (size_t i = 0; !error && i < GP_ARRAY_SIZE(common); i++)
		error = read_figure(&common[i], common[i].section, root, path, diag, out);
	for (size_t i = 0; !error && i < GP_ARRAY_SIZE(presented); i++)
		error = read_figure(&presented[i], shown, root, path, diag, out);
	error = error ? error
		      : check_names(common, GP_ARRAY_SIZE(common), "chip", root, path, diag);
	error = error ? error
		      : check_names(common, GP_ARRAY_SIZE(common), "cost", root, path, diag);
	return error ? error
		     : check_names(presented, GP_ARRAY_SIZE(presented), shown, root, path, diag);
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

static int find_file(const char *name, char *path, size_t size, struct gp_diag *diag)
{
	char installed[PATH_MAX], built[PATH_MAX];
	int n;

	if (strchr(name, '/') || strstr(name, ".json")) {
		n = snprintf(path, size, "%s", name);
		return n < (int)size ? 0 : -ENAMETOOLONG;
	}
	if (!*name || strlen(name) >= sizeof(((struct gp_gpufile *)NULL)->name))
		return gp_fail(diag, -ENOENT, _("there is no GPU '%s'"), name);
	snprintf(installed, sizeof(installed), "share/gpreempt/gpus/%s.json", name);
	snprintf(built, sizeof(built), "data/gpus/%s.json", name);
	if (gp_vkfd_find(installed, built, path, size))
		return gp_fail(
			diag, -ENOENT,
			_("there is no GPU '%s': mi210, mi300x, mi308x, or the path of a GPU "
			  "file"),
			name);
	return 0;
}

/* The whole file as JSON; NULL when it was said why not. */
static json_t *read_json(const char *path, struct gp_diag *diag, int *error)
{
	struct gp_buf text = {0};
	json_error_t why;
	json_t *root = NULL;

	*error = gp_file_read(path, GP_GPUFILE_LIMIT, &text);
	if (*error) {
		gp_fail(diag, *error, _("cannot read %s: %s"), path, strerror(-*error));
	} else {
		root = json_loadb(gp_buf_str(&text), text.len, JSON_REJECT_DUPLICATES, &why);
		if (!root)
			*error = gp_fail(diag, -EINVAL, _("%s:%d: %s"), path, why.line, why.text);
	}
	gp_buf_free(&text);
	return root;
}

int gp_gpufile_load(const char *name, enum gp_personality personality, struct gp_diag *diag,
		    struct gp_gpufile *out)
{
	char path[PATH_MAX];
	json_t *root;
	int error = find_file(name, path, sizeof(path), diag);

	memset(out, 0, sizeof(*out));
	out->personality = personality;
	if (error)
		return error;
	root = read_json(path, diag, &error);
	if (!root)
		return error;
	out->figures = json_object();
	error = read_text(root, "name", path, diag, out->name, sizeof(out->name));
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

/* ---- kernel costs ---- */

static int by_length(const void *a, const void *b)
{
	const struct gp_vkfd_kernel *x = a, *y = b;
	size_t lx = strlen(x->name), ly = strlen(y->name);

	return lx != ly ? (lx < ly) - (lx > ly) : strcmp(x->name, y->name);
}

static int read_kernel(const char *path, const json_t *entry, bool needs_name, struct gp_diag *diag,
		       struct gp_vkfd_kernel *out)
{
	const char *name = json_string_value(json_object_get(entry, "prefix"));
	const json_t *cost = json_object_get(entry, "workgroup_ns");
	const json_t *value = json_object_get(cost, "value");

	memset(out, 0, sizeof(*out));
	if (needs_name && (!name || !*name || strlen(name) >= sizeof(out->name)))
		return gp_fail(diag, -EINVAL, _("%s: a kernel's \"prefix\" has 1 to %zu bytes"),
			       path, sizeof(out->name) - 1);
	if (!json_is_integer(value) || json_integer_value(value) < 1 ||
	    (u64)json_integer_value(value) > GP_MAX_NS ||
	    !json_string_value(json_object_get(cost, "source")) ||
	    !known_kind(json_string_value(json_object_get(cost, "kind"))))
		return gp_fail(diag, -EINVAL,
			       _("%s: %s: \"workgroup_ns\" needs value (nanoseconds), source and "
				 "kind"),
			       path, needs_name ? name : "default");
	if (needs_name)
		strcpy(out->name, name);
	out->workgroup_ns = (u64)json_integer_value(value);
	return 0;
}

int gp_kernels_load(const char *path, struct gp_diag *diag, struct gp_vkfd_kernel **out,
		    size_t *count)
{
	char found[PATH_MAX];
	json_t *root, *list;
	size_t named;
	int error = 0;

	*out = NULL;
	*count = 0;
	if (!path) {
		if (gp_vkfd_find("share/gpreempt/kernels.json", "data/kernels.json", found,
				 sizeof(found)))
			return gp_fail(diag, -ENOENT, _("kernels.json is not installed"));
		path = found;
	}
	root = read_json(path, diag, &error);
	if (!root)
		return error;
	list = json_object_get(root, "kernels");
	named = json_array_size(list);
	*out = calloc(named + 1, sizeof(**out));
	if (!*out)
		error = -ENOMEM;
	for (size_t i = 0; !error && i < named; i++)
		error = read_kernel(path, json_array_get(list, i), true, diag, &(*out)[i]);
	if (!error)
		error = read_kernel(path, json_object_get(root, "default"), false, diag,
				    &(*out)[named]);
	json_decref(root);
	if (error) {
		free(*out);
		*out = NULL;
		return error;
	}
	qsort(*out, named, sizeof(**out), by_length);
	*count = named + 1;
	return 0;
}
