// SPDX-License-Identifier: MIT
/* Figures with their sources: see figure.h. */
#include "gpufile/figure.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/i18n.h"

#define GP_FIGURE_FILE_LIMIT (256u << 10)

json_t *gp_gpufile_figure_file(const char *path, struct gp_diag *diag, int *error)
{
	struct gp_buf text = {0};
	json_error_t why;
	json_t *root = NULL;

	*error = gp_file_read(path, GP_FIGURE_FILE_LIMIT, &text);
	if (*error) {
		gp_fail(diag, *error, "cannot read %s: %s", path, strerror(-*error));
	} else {
		root = json_loadb(gp_buf_str(&text), text.len, JSON_REJECT_DUPLICATES, &why);
		if (!root)
			*error = gp_fail(diag, -EINVAL, "%s:%d: %s", path, why.line, why.text);
	}
	gp_buf_free(&text);
	if (root && !json_is_object(root)) {
		*error = gp_fail(diag, -EINVAL, "%s: the file must contain one JSON object", path);
		json_decref(root);
		root = NULL;
	}
	return root;
}

static bool listed(const char *word, const char *const *words)
{
	for (; word && *words; words++)
		if (strcmp(word, *words) == 0)
			return true;
	return false;
}

int gp_gpufile_figure_keys(const json_t *object, const char *path, const char *name,
			   const char *const *keys, struct gp_diag *diag)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value)
	{
		if (listed(key, keys))
			continue;
		if (name)
			return gp_fail(diag, -EINVAL, "%s: %s: unknown key \"%s\"", path, name,
				       key);
		return gp_fail(diag, -EINVAL, "%s: unknown section or key \"%s\"", path, key);
	}
	return 0;
}

static int read_number(const json_t *entry, const char *key, const char *path, const char *name,
		       u64 min, u64 max, struct gp_diag *diag, u64 *out)
{
	const json_t *value = json_object_get(entry, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return gp_fail(diag, -EINVAL, "%s: %s: \"%s\" must be a non-negative integer", path,
			       name, key);
	*out = (u64)json_integer_value(value);
	if (*out < min || *out > max)
		return gp_fail(diag, -EINVAL, "%s: %s: %llu is out of range (%llu to %llu)", path,
			       name, (unsigned long long)*out, (unsigned long long)min,
			       (unsigned long long)max);
	return 0;
}

int gp_gpufile_figure_range(const json_t *entry, const char *path, const char *name, u64 min,
			    u64 max, struct gp_diag *diag, struct gp_gpufile_range *out)
{
	bool ranged = json_object_get(entry, "low") || json_object_get(entry, "high");
	int error = gp_gpufile_figure_read(entry, path, name, min, max, diag, &out->value);

	out->low = out->high = out->value;
	if (!error && ranged)
		error = read_number(entry, "low", path, name, min, out->value, diag, &out->low);
	if (!error && ranged)
		error = read_number(entry, "high", path, name, out->value, max, diag, &out->high);
	return error;
}

int gp_gpufile_figure_read(const json_t *entry, const char *path, const char *name, u64 min,
			   u64 max, struct gp_diag *diag, u64 *out)
{
	static const char *const kinds[] = {"measured", "published", "assumed", "driver", NULL};
	static const char *const keys[] = {"value", "low", "high", "kind", "source", NULL};
	const char *source = json_string_value(json_object_get(entry, "source"));
	int error;

	if (!entry)
		return gp_fail(diag, -EINVAL, "%s: %s is missing", path, name);
	error = gp_gpufile_figure_keys(entry, path, name, keys, diag);
	if (error)
		return error;
	if (!json_object_get(entry, "value"))
		return gp_fail(diag, -EINVAL,
			       "%s: %s: expected {\"value\": N, \"kind\": WORD, \"source\": TEXT}",
			       path, name);
	error = read_number(entry, "value", path, name, min, max, diag, out);
	if (error)
		return error;
	if (!source || !*source)
		return gp_fail(diag, -EINVAL, "%s: %s: \"source\" is missing", path, name);
	if (!listed(json_string_value(json_object_get(entry, "kind")), kinds))
		return gp_fail(diag, -EINVAL,
			       "%s: %s: \"kind\" must be measured, published, assumed or driver",
			       path, name);
	return 0;
}

void gp_gpufile_figure_store(const struct gp_gpufile_figure_spec *spec, u64 number, void *out)
{
	if (spec->size == sizeof(u32))
		memcpy((char *)out + spec->offset, &(u32){(u32)number}, sizeof(u32));
	else
		memcpy((char *)out + spec->offset, &number, sizeof(u64));
}

int gp_gpufile_figure_take(const struct gp_gpufile_figure_spec *spec, const char *section,
			   const json_t *root, const char *path, struct gp_diag *diag,
			   json_t *figures, void *out)
{
	const char *where = spec->section ? spec->section : section;
	json_t *entry = json_object_get(json_object_get(root, where), spec->name);
	char name[96];
	u64 number;
	int error;

	snprintf(name, sizeof(name), "%s.%s", where, spec->name);
	error = gp_gpufile_figure_read(entry, path, name, spec->min, spec->max, diag, &number);
	if (error)
		return error;
	gp_gpufile_figure_store(spec, number, out);
	return figures && json_object_set(figures, name, entry) ? -ENOMEM : 0;
}
