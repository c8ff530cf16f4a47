// SPDX-License-Identifier: MIT
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/clock.h"

#define FIRST_BITS 6

/*
 * Keys come from logs, and the writer of a log must not be able to choose keys that collide, so
 * the multipliers are secret. All steps but the last lose nothing, and the last, the high bits of a
 * product with a random odd number, brings any two numbers together with a chance of at most 2 in
 * capacity (multiply-shift hashing, Dietzfelbinger et al. 1997).
 */
static size_t place(const struct gp_map *map, u64 a, u64 b)
{
	u64 hash = (a + 1) * map->key[0];

	hash = (hash ^ hash >> 32 ^ b) * map->key[1];
	return (size_t)((hash ^ hash >> 32) * map->key[2] >> (64 - map->bits));
}

/* The order of results never depends on the keys: no one walks over a map. */
static void choose_keys(struct gp_map *map)
{
	u64 now = gp_monotonic_ns();
	ssize_t got;

	/* Stays where the kernel gives nothing, early in the boot or by a filter: hard to guess. */
	map->key[0] = (now << 32 ^ (u64)(uintptr_t)map->slots) * 0x9e3779b97f4a7c15u;
	map->key[1] = (map->key[0] ^ (u64)(uintptr_t)&now) * 0xbf58476d1ce4e5b9u;
	map->key[2] = (map->key[1] ^ now >> 32) * 0x94d049bb133111ebu;
	got = getrandom(map->key, sizeof(map->key), GRND_NONBLOCK);
	(void)got;
	for (size_t i = 0; i < GP_ARRAY_SIZE(map->key); i++)
		map->key[i] |= 1;
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
	struct gp_map bigger = *map;

	bigger.bits = map->capacity ? map->bits + 1 : FIRST_BITS;
	bigger.capacity = (size_t)1 << bigger.bits;
	bigger.slots = malloc(bigger.capacity * sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	if (!map->capacity)
		choose_keys(&bigger);
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

u64 gp_map_probes(const struct gp_map *map)
{
	u64 probes = 0;

	for (size_t i = 0; i < map->capacity; i++) {
		const struct gp_map_slot *slot = &map->slots[i];

		if (slot->value != GP_MAP_NONE)
			probes += 1 + ((i - place(map, slot->a, slot->b)) & (map->capacity - 1));
	}
	return probes;
}
