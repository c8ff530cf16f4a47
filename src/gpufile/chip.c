// SPDX-License-Identifier: MIT
/* Reads the model's numbers of a GPU file: see chip.h. */
#include "gpufile/chip.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/i18n.h"
#include "base/host/program.h"

#define CHIP(name, min, max) GP_FIGURE(struct gp_model_chip, "chip", #name, name, min, max)
#define COST(name, min, max) GP_FIGURE(struct gp_model_chip, "cost", #name, name, min, max)
#define PREEMPTION(name, min, max, which)                                                   \
	{                                                                                   \
		"cost", #name, offsetof(struct gp_model_chip, name), sizeof(u64), min, max, \
			GP_GPUFILE_##which                                                  \
	}

const struct gp_gpufile_figure_spec gp_gpufile_figures[] = {
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
	COST(quantum_ns, 1, GP_MAX_NS),
	COST(dispatch_ns, 0, GP_MAX_NS),
	COST(complete_ns, 0, GP_MAX_NS),
	PREEMPTION(unmap_ns, 0, GP_MAX_NS, COST),
	PREEMPTION(unmap_queue_ns, 0, GP_MAX_NS, COST),
	PREEMPTION(map_ns, 0, GP_MAX_NS, COST),
	PREEMPTION(map_queue_ns, 0, GP_MAX_NS, COST),
	PREEMPTION(save_ns, 0, GP_MAX_NS, COST),
	PREEMPTION(restore_ns, 0, GP_MAX_NS, COST),
	PREEMPTION(save_bytes_per_us, 1, GP_MAX_BYTES, RATE),
	PREEMPTION(restore_bytes_per_us, 1, GP_MAX_BYTES, RATE),
	COST(sdma_bytes_per_us, 1, GP_MAX_BYTES),
	COST(sdma_packet_ns, 0, GP_MAX_NS),
	COST(contention_permille, 0, 10000),
	COST(jitter_permille, 0, 1000),
};
const size_t gp_gpufile_figure_count = GP_ARRAY_SIZE(gp_gpufile_figures);

int gp_gpufile_path(const char *name, char *path, size_t size)
{
	char installed[PATH_MAX], built[PATH_MAX], lower[GP_CHIP_NAME] = "";
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
	return gp_program_beside(installed, built, path, size);
}

int gp_gpufile_unknown(struct gp_diag *diag, const char *name, int error)
{
	return gp_fail(diag, error,
		       "unknown GPU '%s' (use mi210, mi300x, mi308x or the path of a GPU file)",
		       name);
}

int gp_gpufile_text(const json_t *root, const char *key, const char *path, struct gp_diag *diag,
		    char *out, size_t size)
{
	const char *text = json_string_value(json_object_get(root, key));

	if (!text || !*text || strlen(text) >= size)
		return gp_fail(diag, -EINVAL, "%s: \"%s\" must be a string of 1 to %zu bytes", path,
			       key, size - 1);
	strcpy(out, text);
	return 0;
}

/* As the driver presents the chip itself. */
static int read_engines(const json_t *root, const char *path, struct gp_diag *diag,
			struct gp_model_chip *out)
{
	const json_t *native = json_object_get(root, "native");
	u64 engines = 0, xgmi = 0;
	int error = gp_gpufile_figure_read(json_object_get(native, "sdma_engines"), path,
					   "native.sdma_engines", 1, GP_MODEL_MAX_ENGINES, diag,
					   &engines);

	if (!error)
		error = gp_gpufile_figure_read(json_object_get(native, "sdma_xgmi_engines"), path,
					       "native.sdma_xgmi_engines", 0,
					       GP_MODEL_MAX_ENGINES - engines, diag, &xgmi);
	out->sdma_engines = (u32)(engines + xgmi);
	return error;
}

/* Both ends of what a preemption may cost. */
static int read_ends(const json_t *root, const char *path, struct gp_diag *diag,
		     struct gp_gpufile_chip *out)
{
	out->cheap = out->dear = out->model;
	for (size_t i = 0; i < gp_gpufile_figure_count; i++) {
		const struct gp_gpufile_figure_spec *spec = &gp_gpufile_figures[i];
		const json_t *section = json_object_get(root, spec->section);
		struct gp_gpufile_range range;
		char name[96];
		int error;

		snprintf(name, sizeof(name), "%s.%s", spec->section, spec->name);
		error = gp_gpufile_figure_range(json_object_get(section, spec->name), path, name,
						spec->min, spec->max, diag, &range);
		if (error)
			return error;
		if (spec->ends == GP_GPUFILE_FIXED)
			continue;
		bool rate = spec->ends == GP_GPUFILE_RATE;

		gp_gpufile_figure_store(spec, rate ? range.high : range.low, &out->cheap);
		gp_gpufile_figure_store(spec, rate ? range.low : range.high, &out->dear);
	}
	return 0;
}

int gp_gpufile_load(const char *name, struct gp_diag *diag, struct gp_gpufile_chip *out)
{
	char path[PATH_MAX];
	json_t *root;
	int error = gp_gpufile_path(name, path, sizeof(path));

	memset(out, 0, sizeof(*out));
	if (error)
		return gp_gpufile_unknown(diag, name, error);
	root = gp_gpufile_figure_file(path, diag, &error);
	if (!root)
		return error;
	error = gp_gpufile_text(root, "name", path, diag, out->name, sizeof(out->name));
	if (!error)
		error = gp_gpufile_text(root, "title", path, diag, out->title, sizeof(out->title));
	for (size_t i = 0; !error && i < gp_gpufile_figure_count; i++)
		error = gp_gpufile_figure_take(&gp_gpufile_figures[i], NULL, root, path, diag, NULL,
					       &out->model);
	if (!error)
		error = read_engines(root, path, diag, &out->model);
	if (!error)
		error = read_ends(root, path, diag, out);
	json_decref(root);
	if (!error && out->model.xcc_count * out->model.cu_per_xcc > GP_MODEL_MAX_CU)
		error = gp_fail(diag, -EINVAL, "%s: %u CUs exceed the maximum of %d", path,
				out->model.xcc_count * out->model.cu_per_xcc, GP_MODEL_MAX_CU);
	return error;
}
