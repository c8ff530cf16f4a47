/* SPDX-License-Identifier: MIT */
/*
 * A heap over numbered elements that knows where each of them is, so that one can be moved or taken
 * out in the time of a push. Four children a node: a node's children share a cache line or two.
 * Less is first; equal keys by number, so that the order never depends on history.
 */
#ifndef GP_SCHED_ORDER_H
#define GP_SCHED_ORDER_H

#include "base/core.h"

struct gp_sched_order_entry {
	u64 key;
	u32 id, unused;
};

struct gp_sched_order {
	struct gp_sched_order_entry *entry;
	u32 count, room;
	/* Where element `id` keeps its place: 0 = not in here, otherwise index + 1. */
	char *place;
	u32 stride;
};

static inline void gp_order_init(struct gp_sched_order *order, void *entry, u32 room, u32 *place,
				 u32 stride)
{
	order->entry = entry;
	order->count = 0;
	order->room = room;
	order->place = (char *)place;
	order->stride = stride;
}

static inline u32 *gp_order_place(const struct gp_sched_order *order, u32 id)
{
	return (u32 *)(order->place + (size_t)order->stride * id);
}

static inline bool gp_order_has(const struct gp_sched_order *order, u32 id)
{
	return *gp_order_place(order, id) != 0;
}

static inline bool gp_order_before(const struct gp_sched_order_entry *a,
				   const struct gp_sched_order_entry *b)
{
	return a->key < b->key || (a->key == b->key && a->id < b->id);
}

static inline void gp_order_put(struct gp_sched_order *order, u32 at,
				const struct gp_sched_order_entry *entry)
{
	order->entry[at] = *entry;
	*gp_order_place(order, entry->id) = at + 1;
}

/* Fills the gap at `at` with `entry`, or one on its way up or down. */
static inline void gp_order_sift(struct gp_sched_order *order, u32 at,
				 struct gp_sched_order_entry entry)
{
	u32 child, end, i;

	for (; at && gp_order_before(&entry, &order->entry[(at - 1) / 4]); at = (at - 1) / 4)
		gp_order_put(order, at, &order->entry[(at - 1) / 4]);
	for (; (child = 4 * at + 1) < order->count; at = child) {
		end = GP_MIN(child + 4, order->count);
		for (i = child + 1; i < end; i++)
			if (gp_order_before(&order->entry[i], &order->entry[child]))
				child = i;
		if (!gp_order_before(&order->entry[child], &entry))
			break;
		gp_order_put(order, at, &order->entry[child]);
	}
	gp_order_put(order, at, &entry);
}

/* Puts the element in, or moves it to its new key. */
static inline void gp_order_set(struct gp_sched_order *order, u32 id, u64 key)
{
	struct gp_sched_order_entry entry = {key, id, 0};
	u32 place = *gp_order_place(order, id);

	GP_ASSERT(place || order->count < order->room);
	if (!place)
		gp_order_sift(order, order->count++, entry);
	else if (order->entry[place - 1].key != key)
		gp_order_sift(order, place - 1, entry);
}

static inline void gp_order_remove(struct gp_sched_order *order, u32 id)
{
	u32 place = *gp_order_place(order, id);

	if (!place)
		return;
	*gp_order_place(order, id) = 0;
	order->count--;
	if (place - 1 != order->count)
		gp_order_sift(order, place - 1, order->entry[order->count]);
}

/* The key that comes after the first one; with fewer than two elements there is none. */
static inline u64 gp_order_second_key(const struct gp_sched_order *order)
{
	u64 second = order->entry[1].key;

	for (u32 i = 2; i < GP_MIN(order->count, 5); i++)
		second = GP_MIN(second, order->entry[i].key);
	return second;
}

#endif
