// SPDX-License-Identifier: MIT
#include "vgpu/preload/intervals.h"
#include "vgpu/heap.h"

#include <errno.h>
#include <string.h>

size_t gp_vgpu_intervals_after(const struct gp_vgpu_intervals *set, u64 address)
{
	size_t low = 0, high = set->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (set->items[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

struct gp_vgpu_interval *gp_vgpu_intervals_find(const struct gp_vgpu_intervals *set, u64 address)
{
	size_t at = gp_vgpu_intervals_after(set, address);

	if (at == set->count || set->items[at].start > address)
		return NULL;
	return &set->items[at];
}

bool gp_vgpu_intervals_overlap(const struct gp_vgpu_intervals *set, u64 start, u64 end)
{
	size_t at = gp_vgpu_intervals_after(set, start);

	return at < set->count && set->items[at].start < end;
}

int gp_vgpu_intervals_insert(struct gp_vgpu_intervals *set, u64 start, u64 end, void *value)
{
	size_t at;

	if (end <= start || gp_vgpu_intervals_overlap(set, start, end))
		return -EINVAL;
	if (set->count == set->room) {
		size_t room = set->room ? set->room * 2 : 64;
		void *items = gp_vgpu_realloc(set->items, room * sizeof(*set->items));

		if (!items)
			return -ENOMEM;
		set->items = items;
		set->room = room;
	}
	at = gp_vgpu_intervals_after(set, start);
	memmove(&set->items[at + 1], &set->items[at], (set->count - at) * sizeof(*set->items));
	set->items[at] = (struct gp_vgpu_interval){start, end, value};
	set->count++;
	return 0;
}

void gp_vgpu_intervals_remove(struct gp_vgpu_intervals *set, u64 start)
{
	size_t at = gp_vgpu_intervals_after(set, start);

	if (at == set->count || set->items[at].start != start)
		return;
	set->count--;
	memmove(&set->items[at], &set->items[at + 1], (set->count - at) * sizeof(*set->items));
}
