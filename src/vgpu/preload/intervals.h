/*
 * A set of disjoint address ranges with a value each: a sorted array, so a look-up is a binary
 * search and an insertion one memmove(). Not thread-safe.
 */
#ifndef GP_VGPU_PRELOAD_INTERVALS_H
#define GP_VGPU_PRELOAD_INTERVALS_H

#include "base/types.h"

struct gp_vk_interval {
	u64 start, end; /* end is the first address after it */
	void *value;
};

struct gp_vk_intervals {
	struct gp_vk_interval *items;
	size_t count, room;
};

/* The interval that holds `address`, or NULL. */
struct gp_vk_interval *gp_vk_intervals_find(const struct gp_vk_intervals *set, u64 address);
/* The first interval that ends after `address`; count when there is none. */
size_t gp_vk_intervals_after(const struct gp_vk_intervals *set, u64 address);
bool gp_vk_intervals_overlap(const struct gp_vk_intervals *set, u64 start, u64 end);
/* -EINVAL when it is empty or overlaps another, -ENOMEM. */
int gp_vk_intervals_insert(struct gp_vk_intervals *set, u64 start, u64 end, void *value);
void gp_vk_intervals_remove(struct gp_vk_intervals *set, u64 start);

#endif
