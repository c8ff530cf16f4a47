/* SPDX-License-Identifier: MIT */
/*
 * Parts of a JSON text of any size. The caller names the places it wants by path ("/traceEvents/#"
 * is each element of that array); each value found there is handed over whole, everything else is
 * passed over. Memory is one such value. Values before a cut or damaged place have been handed over
 * by then.
 */
#ifndef GP_BASE_JSONWALK_H
#define GP_BASE_JSONWALK_H

#include "base/diag.h"
#include "base/json.h"
#include "base/types.h"

#define GP_JSON_VALUE_MAX (16u << 20) /* a longer value is skipped and counted */
#define GP_JSON_DEPTH_MAX 64

struct gp_json_stats {
	u64 bytes;
	u64 values;  /* handed over */
	u64 refused; /* wanted, but too long or not JSON */
	bool cut;    /* the text ended inside, or its structure is broken */
};

/* `which` is the index of the path; the value is valid during the call. */
typedef int (*gp_json_fn)(void *ctx, size_t which, const json_t *value);

/* Objects and arrays only. 0, the return of the callback, or -errno after an error message. */
int gp_json_walk(int fd, const char *name, struct gp_diag *diag, const char *const *paths,
		 size_t count, gp_json_fn fn, void *ctx, struct gp_json_stats *stats);

#endif
