/* SPDX-License-Identifier: MIT */
/*
 * A hash map from a pair of numbers to an index, for the analyses of trace/: open addressing, grows
 * by doubling, nothing is ever removed. Zero-initialised is empty. Keyed by random numbers: no
 * input can be made for which it is slow.
 */
#ifndef GP_BASE_MAP_H
#define GP_BASE_MAP_H

#include "base/types.h"

#define GP_MAP_NONE UINT32_MAX

struct gp_map_slot {
	u64 a, b;
	u32 value; /* GP_MAP_NONE = free */
};

struct gp_map {
	struct gp_map_slot *slots;
	size_t capacity; /* 0 or 1 << bits */
	u32 bits;
	size_t count;
	u64 key[3]; /* random, odd; chosen with the first slots */
};

void gp_map_free(struct gp_map *map);
/* The value stored for (a, b), or GP_MAP_NONE. */
u32 gp_map_get(const struct gp_map *map, u64 a, u64 b);
/* Stores or replaces; value is not GP_MAP_NONE. 0 or -ENOMEM. */
int gp_map_put(struct gp_map *map, u64 a, u64 b, u32 value);
/* How many slots looking up every key once would visit, for tests. */
u64 gp_map_probes(const struct gp_map *map);

#endif
