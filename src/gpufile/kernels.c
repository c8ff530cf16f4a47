// SPDX-License-Identifier: MIT
/* The file is {"default": COST, "kernels": [{"prefix": TEXT, COST}...]}. */
#include "gpufile/kernels.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/i18n.h"
#include "base/host/program.h"
#include "gpufile/figure.h"

static int by_length(const void *a, const void *b)
{
	const struct gp_gpufile_kernel *x = a, *y = b;
	size_t lx = strlen(x->name), ly = strlen(y->name);

	return lx != ly ? (lx < ly) - (lx > ly) : strcmp(x->name, y->name);
}

/* `label` names the entry in messages: "default", "kernels[3]". */
static int read_kernel(const char *path, const json_t *entry, const char *label, bool needs_name,
		       struct gp_diag *diag, struct gp_gpufile_kernel *out)
{
	static const char *const keys[] = {"workgroup_ns", "prefix", NULL};
	static const char *const default_keys[] = {"workgroup_ns", NULL};
	const char *prefix = json_string_value(json_object_get(entry, "prefix"));
	char name[GP_GPUFILE_KERNEL_NAME + 64];
	int error;

	memset(out, 0, sizeof(*out));
	error = gp_gpufile_figure_keys(entry, path, label, needs_name ? keys : default_keys, diag);
	if (error)
		return error;
	if (needs_name && (!prefix || !*prefix || strlen(prefix) >= sizeof(out->name)))
		return gp_fail(diag, -EINVAL,
			       "%s: %s: \"prefix\" must be a string of 1 to %zu bytes", path, label,
			       sizeof(out->name) - 1);
	if (needs_name) {
		strcpy(out->name, prefix);
		snprintf(name, sizeof(name), "%s (%s).workgroup_ns", label, prefix);
	} else {
		snprintf(name, sizeof(name), "%s.workgroup_ns", label);
	}
	return gp_gpufile_figure_read(json_object_get(entry, "workgroup_ns"), path, name, 1,
				      GP_MAX_NS, diag, &out->workgroup_ns);
}

static int read_kernels(const char *path, const json_t *root, struct gp_diag *diag,
			struct gp_gpufile_kernel **out, size_t *named)
{
	static const char *const keys[] = {"default", "kernels", NULL};
	const json_t *list = json_object_get(root, "kernels");
	int error = gp_gpufile_figure_keys(root, path, NULL, keys, diag);

	if (!error && list && !json_is_array(list))
		error = gp_fail(diag, -EINVAL, "%s: \"kernels\" must be a list", path);
	if (error)
		return error;
	*named = json_array_size(list);
	*out = calloc(*named + 1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	for (size_t i = 0; !error && i < *named; i++) {
		char label[32];

		snprintf(label, sizeof(label), "kernels[%zu]", i);
		error = read_kernel(path, json_array_get(list, i), label, true, diag, &(*out)[i]);
	}
	if (!error)
		error = read_kernel(path, json_object_get(root, "default"), "default", false, diag,
				    &(*out)[*named]);
	return error;
}

int gp_gpufile_kernels_load(const char *path, struct gp_diag *diag, struct gp_gpufile_kernel **out,
			    size_t *count)
{
	char found[PATH_MAX];
	json_t *root;
	size_t named = 0;
	int error = 0;

	*out = NULL;
	*count = 0;
	if (!path) {
		if (gp_program_beside("share/gpreempt/kernels.json", "data/kernels.json", found,
				      sizeof(found)))
			return gp_fail(diag, -ENOENT,
				       "kernels.json is not installed; give a file with --kernels");
		path = found;
	}
	root = gp_gpufile_figure_file(path, diag, &error);
	if (!root)
		return error;
	error = read_kernels(path, root, diag, out, &named);
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
