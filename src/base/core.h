/* SPDX-License-Identifier: MIT */
/*
 * The only header that the pure cores (sched/, model/) use: fixed-width types,
 * intrusive lists, a binary heap, pools over memory the caller owns, bitmaps and arithmetic that
 * cannot overflow. Freestanding: nothing of libc but memcpy/memset/memmove and the errno numbers,
 * so that the same source compiles in a kernel tree. Nothing here allocates.
 */
#ifndef GP_BASE_CORE_H
#define GP_BASE_CORE_H

#include "base/types.h"

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/string.h>
#else
#include <errno.h>
#include <string.h>
#endif

/* An invariant. On in the test builds of the cores (GP_CHECKED), nothing in the others. */
#ifdef GP_CHECKED
#define GP_ASSERT(condition)              \
	do {                              \
		if (!(condition))         \
			__builtin_trap(); \
	} while (0)
#else
#define GP_ASSERT(condition) ((void)sizeof(condition))
#endif

#define gp_container(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

#define GP_NS_PER_US                        1000ull
#define GP_NS_PER_MS                        1000000ull
#define GP_NS_PER_S                         1000000000ull

/* The smaller and the larger of two, as the type that both have in an expression. Each is evaluated
 * once; the names are new ones each time, because such calls nest. */
#define GP_MIN(a, b)            GP_PICK(<, a, b, __COUNTER__)
#define GP_MAX(a, b)            GP_PICK(>, a, b, __COUNTER__)
#define GP_PICK(than, a, b, id) GP_PICK_NAMED(than, a, b, id)
#define GP_PICK_NAMED(than, a, b, id)                                               \
	__extension__({                                                             \
		__typeof__(1 ? (a) : (b)) gp_first_##id = (a);                      \
		__typeof__(1 ? (a) : (b)) gp_second_##id = (b);                     \
		gp_first_##id than gp_second_##id ? gp_first_##id : gp_second_##id; \
	})

/* A circular list threaded through its elements; a head that points at itself is empty. */
struct gp_list {
	struct gp_list *next, *prev;
};

static inline void gp_list_init(struct gp_list *head)
{
	head->next = head->prev = head;
}

static inline bool gp_list_empty(const struct gp_list *head)
{
	return head->next == head;
}

static inline void gp_list_insert(struct gp_list *before, struct gp_list *link)
{
	link->next = before;
	link->prev = before->prev;
	before->prev->next = link;
	before->prev = link;
}

static inline void gp_list_add_tail(struct gp_list *head, struct gp_list *link)
{
	gp_list_insert(head, link);
}

static inline void gp_list_add_head(struct gp_list *head, struct gp_list *link)
{
	gp_list_insert(head->next, link);
}

static inline void gp_list_remove(struct gp_list *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	gp_list_init(link);
}

/* The loop body must not remove `link`; use gp_list_for_each_safe where it does. */
#define gp_list_for_each(link, head) \
	for ((link) = (head)->next; (link) != (head); (link) = (link)->next)
#define gp_list_for_each_safe(link, following, head)                              \
	for ((link) = (head)->next, (following) = (link)->next; (link) != (head); \
	     (link) = (following), (following) = (link)->next)

/* Each `item` of a list whose links are its `member`; the loop body must not remove it. */
#define gp_list_each(type, item, member, head)                                               \
	for (type *item = gp_container((head)->next, type, member); &item->member != (head); \
	     item = gp_container(item->member.next, type, member))

/*
 * Elements of one size in an array of the caller's, handed out and taken back in constant time. An
 * element that was never handed out is never touched, so a large array costs only what is used.
 * Every element starts with a struct gp_list that belongs to the pool while it is free.
 */
struct gp_pool {
	char *base;
	size_t size;      /* of an element */
	u32 count, fresh; /* elements; those below `fresh` were handed out at least once */
	u32 used;
	struct gp_list free;
};

static inline void gp_pool_init(struct gp_pool *pool, void *base, size_t size, u32 count)
{
	pool->base = base;
	pool->size = size;
	pool->count = count;
	pool->fresh = pool->used = 0;
	gp_list_init(&pool->free);
}

static inline void *gp_pool_at(const struct gp_pool *pool, u32 index)
{
	return pool->base + pool->size * index;
}

static inline u32 gp_pool_index(const struct gp_pool *pool, const void *element)
{
	return (u32)((size_t)((const char *)element - pool->base) / pool->size);
}

/* A zeroed element, or NULL when all are in use. */
static inline void *gp_pool_get(struct gp_pool *pool)
{
	void *element;

	if (!gp_list_empty(&pool->free)) {
		element = pool->free.next;
		gp_list_remove(element);
	} else if (pool->fresh < pool->count) {
		element = gp_pool_at(pool, pool->fresh++);
	} else {
		return NULL;
	}
	pool->used++;
	memset(element, 0, pool->size);
	return element;
}

static inline void gp_pool_put(struct gp_pool *pool, void *element)
{
	GP_ASSERT(pool->used);
	pool->used--;
	memset(element, 0, pool->size);
	gp_list_add_head(&pool->free, element);
}

/* A binary heap, earliest first; equal keys leave in the order they came. */
struct gp_heap_entry {
	u64 key, order;
	u32 kind, value; /* the owner's */
};

struct gp_heap {
	struct gp_heap_entry *entry;
	u32 count, room;
	u64 order;
};

static inline void gp_heap_init(struct gp_heap *heap, struct gp_heap_entry *entry, u32 room)
{
	heap->entry = entry;
	heap->count = 0;
	heap->room = room;
	heap->order = 0;
}

static inline bool gp_heap_before(const struct gp_heap_entry *a, const struct gp_heap_entry *b)
{
	return a->key < b->key || (a->key == b->key && a->order < b->order);
}

/* False when there is no room. */
static inline bool gp_heap_push(struct gp_heap *heap, u64 key, u32 kind, u32 value)
{
	struct gp_heap_entry entry = {key, heap->order++, kind, value};
	u32 at = heap->count;

	if (heap->count == heap->room)
		return false;
	heap->count++;
	for (; at && gp_heap_before(&entry, &heap->entry[(at - 1) / 2]); at = (at - 1) / 2)
		heap->entry[at] = heap->entry[(at - 1) / 2];
	heap->entry[at] = entry;
	return true;
}

/* The earliest entry, taken out. The heap must not be empty. */
static inline struct gp_heap_entry gp_heap_pop(struct gp_heap *heap)
{
	struct gp_heap_entry first = heap->entry[0], last = heap->entry[--heap->count];
	u32 at = 0, child;

	for (; (child = 2 * at + 1) < heap->count; at = child) {
		if (child + 1 < heap->count &&
		    gp_heap_before(&heap->entry[child + 1], &heap->entry[child]))
			child++;
		if (!gp_heap_before(&heap->entry[child], &last))
			break;
		heap->entry[at] = heap->entry[child];
	}
	heap->entry[at] = last;
	return first;
}

/* Bitmaps are arrays of 64-bit words, lowest bit first. */
static inline bool gp_bit_test(const u64 *map, u32 bit)
{
	return map[bit / 64] >> bit % 64 & 1;
}

static inline void gp_bit_set(u64 *map, u32 bit)
{
	map[bit / 64] |= 1ull << bit % 64;
}

static inline void gp_bit_clear(u64 *map, u32 bit)
{
	map[bit / 64] &= ~(1ull << bit % 64);
}

/* Not the compiler's builtin: without a popcount instruction that is a call into its library. */
static inline u32 gp_popcount(u64 word)
{
	word -= word >> 1 & 0x5555555555555555ull;
	word = (word & 0x3333333333333333ull) + (word >> 2 & 0x3333333333333333ull);
	word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return (u32)(word * 0x0101010101010101ull >> 56);
}

/* The lowest and highest bit set of a word that is not 0. */
static inline u32 gp_lowest_bit(u64 word)
{
	return (u32)__builtin_ctzll(word);
}

static inline u32 gp_highest_bit(u64 word)
{
	return 63 - (u32)__builtin_clzll(word);
}

/* Arithmetic. The divisor is never 0. */
static inline u64 gp_divide_up(u64 value, u64 by)
{
	return value / by + (value % by != 0);
}

/* value * numerator / denominator, rounded down; both at most 2^31, the result must fit. */
static inline u64 gp_scale(u64 value, u64 numerator, u64 denominator)
{
	return value / denominator * numerator + value % denominator * numerator / denominator;
}

/* False, and *out unchanged, when the product does not fit or is above `limit`. */
static inline bool gp_multiply(u64 a, u64 b, u64 limit, u64 *out)
{
	u64 product;

	if (__builtin_mul_overflow(a, b, &product) || product > limit)
		return false;
	*out = product;
	return true;
}

/* splitmix64: a value that depends on every bit of `state`. */
static inline u64 gp_mix(u64 state)
{
	state += 0x9e3779b97f4a7c15ull;
	state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9ull;
	state = (state ^ state >> 27) * 0x94d049bb133111ebull;
	return state ^ state >> 31;
}

#endif
