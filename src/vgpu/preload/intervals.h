/* SPDX-License-Identifier: MIT */
/*
 * A set of disjoint address ranges with a value each: a sorted array, so a look-up is a binary
 * search and an insertion one memmove(). Not thread-safe.
 */
#ifndef GP_VGPU_PRELOAD_INTERVALS_H
#define GP_VGPU_PRELOAD_INTERVALS_H

#include "base/types.h"

struct gp_vgpu_interval {
	u64 start, end; /* end is the first address after it */
	void *value;
};

struct gp_vgpu_intervals {
	struct gp_vgpu_interval *items;
	size_t count, room;
};

/* The interval that holds `address`, or NULL. */
struct gp_vgpu_interval *gp_vgpu_intervals_find(const struct gp_vgpu_intervals *set, u64 address);
/* The first interval that ends after `address`; count when there is none. */
size_t gp_vgpu_intervals_after(const struct gp_vgpu_intervals *set, u64 address);
bool gp_vgpu_intervals_overlap(const struct gp_vgpu_intervals *set, u64 start, u64 end);
/* -EINVAL when it is empty or overlaps another, -ENOMEM. */
int gp_vgpu_intervals_insert(struct gp_vgpu_intervals *set, u64 start, u64 end, void *value);
void gp_vgpu_intervals_remove(struct gp_vgpu_intervals *set, u64 start);

#endif
