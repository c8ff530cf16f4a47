#include "trace/map.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_CAPACITY 64

/* Multiplication spreads addresses, which differ in their middle bits only, over the high bits. */
static size_t place(const struct gp_map *map, u64 a, u64 b)
{
	u64 hash = (a + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;

	hash = (hash ^ hash >> 29 ^ b) * 0x94d049bb133111ebu;
	return (size_t)(hash ^ hash >> 32) & (map->capacity - 1);
}

/* The slot of (a, b), or the free one where it belongs. The map is never full. */
static struct gp_map_slot *find(const struct gp_map *map, u64 a, u64 b)
{
	size_t i = place(map, a, b);

	while (map->slots[i].value != GP_MAP_NONE && (map->slots[i].a != a || map->slots[i].b != b))
		i = (i + 1) & (map->capacity - 1);
	return &map->slots[i];
}

static int grow(struct gp_map *map)
{
	struct gp_map bigger = {.capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY,
				.count = map->count};

	bigger.slots = malloc(bigger.capacity * sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < bigger.capacity; i++)
		bigger.slots[i].value = GP_MAP_NONE;
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].value != GP_MAP_NONE)
			*find(&bigger, map->slots[i].a, map->slots[i].b) = map->slots[i];
	free(map->slots);
	*map = bigger;
	return 0;
}

void gp_map_free(struct gp_map *map)
{
	free(map->slots);
	*map = (struct gp_map){0};
}

u32 gp_map_get(const struct gp_map *map, u64 a, u64 b)
{
	return map->capacity ? find(map, a, b)->value : GP_MAP_NONE;
}

int gp_map_put(struct gp_map *map, u64 a, u64 b, u32 value)
{
	struct gp_map_slot *slot;

	if (map->count >= map->capacity / 2 && grow(map) < 0)
		return -ENOMEM;
	slot = find(map, a, b);
	if (slot->value == GP_MAP_NONE)
		map->count++;
	*slot = (struct gp_map_slot){.a = a, .b = b, .value = value};
	return 0;
}
