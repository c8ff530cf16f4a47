/* SPDX-License-Identifier: MIT */
/*
 * Figures in data files: {"value": N, "kind": "measured" | "published" | "assumed" | "driver",
 * "source": "..."}, and "low" and "high" where the value is a best guess within a range. Used by
 * the readers of GPU files and kernel costs. Errors go to diag with the file and the name of the
 * entry.
 */
#ifndef GP_GPUFILE_FIGURE_H
#define GP_GPUFILE_FIGURE_H

#include <jansson.h>

#include "base/diag.h"
#include "base/types.h"

#define GP_MAX_NS    1000000000000ull /* a quarter of an hour: anything above is a slip */
#define GP_MAX_BYTES (1ull << 50)

/* The whole file, which is one JSON object; NULL with *error after reporting it on diag. */
json_t *gp_gpufile_figure_file(const char *path, struct gp_diag *diag, int *error);
/* -EINVAL if the object has a key that is not in `keys` (NULL-terminated). `name` is its entry;
 * NULL: the file itself. */
int gp_gpufile_figure_keys(const json_t *object, const char *path, const char *name,
			   const char *const *keys, struct gp_diag *diag);
/* The entry's value, a whole number of min to max; -EINVAL when anything about it is wrong. */
int gp_gpufile_figure_read(const json_t *entry, const char *path, const char *name, u64 min,
			   u64 max, struct gp_diag *diag, u64 *out);

struct gp_gpufile_range {
	u64 low, value, high; /* all the same if the entry has no range */
};

/* The same, with its range: low <= value <= high, both or neither. */
int gp_gpufile_figure_range(const json_t *entry, const char *path, const char *name, u64 min,
			    u64 max, struct gp_diag *diag, struct gp_gpufile_range *out);
/* Which end of a figure's range makes a preemption cheap. */
enum gp_gpufile_ends {
	GP_GPUFILE_FIXED, /* not part of the cost of a preemption */
	GP_GPUFILE_COST,  /* the low one */
	GP_GPUFILE_RATE,  /* the high one */
};

/* A figure that is a member of a struct. */
struct gp_gpufile_figure_spec {
	const char *section, *name; /* section NULL: the caller's */
	size_t offset;
	u8 size; /* of the member: 4 or 8 bytes */
	u64 min, max;
	enum gp_gpufile_ends ends;
};

#define GP_FIGURE(type, section, name, member, min, max)                                      \
	{                                                                                     \
		section, name, offsetof(type, member), sizeof(((type *)NULL)->member), (min), \
			(max), GP_GPUFILE_FIXED                                               \
	}

/* Stores a number in the member. */
void gp_gpufile_figure_store(const struct gp_gpufile_figure_spec *spec, u64 number, void *out);
/* Reads one into `out`; the entry is also put into `figures` as "section.name" unless that is NULL.
 */
int gp_gpufile_figure_take(const struct gp_gpufile_figure_spec *spec, const char *section,
			   const json_t *root, const char *path, struct gp_diag *diag,
			   json_t *figures, void *out);

#endif
