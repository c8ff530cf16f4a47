// SPDX-License-Identifier: MIT
/*
 * The GPU file that --calibrate starts from: the one that shows the GPU as its topology does, or
 * the nearest of its gfx family. Parts of a family differ in the CUs of an XCC, and partitions of
 * one part in their XCCs: the former count first.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/host/program.h"
#include "selftest/base.h"

enum { FAMILY = 100 }; /* 90402 and 90400 are gfx94x, 90010 is gfx90x */

static u64 figure(const json_t *file, const char *section, const char *key)
{
	const json_t *entry = json_object_get(json_object_get(file, section), key);
	json_int_t value = json_integer_value(json_object_get(entry, "value"));

	return value > 0 ? (u64)value : 0;
}

static u64 apart(u64 a, u64 b)
{
	return a > b ? a - b : b - a;
}

static u32 shown_xccs(const struct gp_gpu *gpu)
{
	return (gpu->valid & GP_GPU_XCC) && gpu->xcc_count ? gpu->xcc_count : 1;
}

/* How far the GPU is from what the file shows in this section. 0: it fits; UINT64_MAX: another
 * family. */
static u64 distance(const struct gp_gpu *gpu, const json_t *file, const char *section)
{
	u64 gfx = figure(file, section, "gfx_version"), xccs = figure(file, section, "xcc_count");
	u64 cus = figure(file, "chip", "xcc_count") * figure(file, "chip", "cu_per_xcc");
	u32 own = shown_xccs(gpu);

	if (!xccs || !(gpu->valid & GP_GPU_GFX) || gfx / FAMILY != gpu->gfx_version / FAMILY)
		return UINT64_MAX;
	return apart(cus / xccs, gpu->cu_count / own) << 32 | apart(cus, gpu->cu_count) << 16 |
	       apart(xccs, own) << 8 | (gfx != gpu->gfx_version);
}

int gp_selftest_base_find(const char *directory, const struct gp_selftest_report *report,
			  char *path, size_t size)
{
	/* Only a virtual GPU shows itself as another one. */
	const char *const sections[] = {"native", report->virtual_gpu ? "compat" : "native"};
	const struct gp_root root = {.dir = ""};
	struct gp_names names;
	u64 least = UINT64_MAX;
	int error = gp_root_list(&root, &names, "%s", directory);

	if (error)
		return error;
	for (size_t i = 0; i < names.count; i++) {
		char one[PATH_MAX];
		json_t *file;

		snprintf(one, sizeof(one), "%s/%s", directory, names.items[i]);
		file = json_load_file(one, 0, NULL);
		for (size_t j = 0; j < GP_ARRAY_SIZE(sections); j++) {
			u64 far = distance(report->gpu, file, sections[j]);

			if (far >= least)
				continue;
			least = far;
			snprintf(path, size, "%s", one);
		}
		json_decref(file);
	}
	gp_names_free(&names);
	return least == UINT64_MAX ? -ENOENT : least != 0;
}

/* The path of the file; one line when it is not quite of this GPU. */
static int choose(const struct gp_selftest_report *report, char *path, size_t size,
		  struct gp_diag *diag)
{
	const struct gp_gpu *gpu = report->gpu;
	char directory[PATH_MAX], gfx[16];
	int found =
		gp_program_beside("share/gpreempt/gpus", "data/gpus", directory, sizeof(directory));

	found = found ? found : gp_selftest_base_find(directory, report, path, size);
	if (found < 0)
		return gp_fail(diag, found,
			       "no GPU file is of this kind of GPU; name one with --base");
	gp_kfd_gfx_name(gpu->gfx_version, gfx, sizeof(gfx));
	if (found)
		gp_diag(diag, GP_WARNING,
			"no GPU file fits this GPU (%s, CUs: %u, XCCs: %u); figures that are not "
			"measured come from the nearest, %s (--base names another)",
			gfx, gpu->cu_count, shown_xccs(gpu), path);
	return 0;
}

json_t *gp_selftest_base_load(const struct gp_selftest_report *report, const char *named,
			      struct gp_diag *diag)
{
	char path[PATH_MAX];
	json_error_t why = {0};
	json_t *file;

	if (named)
		snprintf(path, sizeof(path), "%s", named);
	else if (choose(report, path, sizeof(path), diag))
		return NULL;
	file = json_load_file(path, 0, &why);
	if (!json_is_object(json_object_get(file, "cost"))) {
		gp_fail(diag, -ENOENT, "cannot read the GPU file %s: %s", path,
			file ? "cost" : why.text);
		json_decref(file);
		return NULL;
	}
	return file;
}

u32 gp_selftest_base_xccs(const struct gp_selftest_report *report, const json_t *file)
{
	u64 xccs = report->virtual_gpu ? figure(file, "chip", "xcc_count") : 0;

	return xccs && xccs <= 64 ? (u32)xccs : shown_xccs(report->gpu);
}
