// SPDX-License-Identifier: MIT
#include "base/string_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/core.h"

void gp_strings_free(struct gp_strings *strings)
{
	for (size_t i = 0; i < strings->count; i++)
		free(strings->items[i].text);
	free(strings->items);
	gp_map_free(&strings->map);
	memset(strings, 0, sizeof(*strings));
}

static u64 hash(const struct gp_strings *strings, const char *text, size_t len)
{
	u64 state = strings->secret[0] ^ len, word;

	for (; len >= sizeof(word); text += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		state = gp_mix((state ^ word) * strings->secret[1]);
	}
	word = 0;
	memcpy(&word, text, len);
	return gp_mix((state ^ word) * strings->secret[1]);
}

/* Texts with the same hash differ in the second half of the key: 0, 1, ... */
static u32 look(const struct gp_strings *strings, const char *text, size_t len, u64 key, u64 *nth)
{
	for (*nth = 0;; ++*nth) {
		u32 id = gp_map_get(&strings->map, key, *nth);

		if (id == GP_MAP_NONE || (strings->items[id].len == len &&
					  memcmp(strings->items[id].text, text, len) == 0))
			return id;
	}
}

u32 gp_strings_find(const struct gp_strings *strings, const char *text, size_t len)
{
	u64 nth;

	if (!strings->count)
		return GP_MAP_NONE;
	return look(strings, text, len, hash(strings, text, len), &nth);
}

int gp_strings_add(struct gp_strings *strings, const char *text, size_t len, u32 *id)
{
	u64 key, nth = 0;
	char *copy;

	if (!strings->count) {
		ssize_t got = getrandom(strings->secret, sizeof(strings->secret), GRND_NONBLOCK);

		(void)got; /* without it, the table's address stays */
		strings->secret[0] ^= (u64)(uintptr_t)strings;
		strings->secret[1] |= 1;
	}
	key = hash(strings, text, len);
	*id = strings->count ? look(strings, text, len, key, &nth) : GP_MAP_NONE;
	if (*id != GP_MAP_NONE)
		return 0;
	copy = malloc(len + 1);
	if (!copy ||
	    gp_array_grow((void **)&strings->items, strings->count, &strings->capacity,
			  sizeof(*strings->items)) ||
	    gp_map_put(&strings->map, key, nth, (u32)strings->count)) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, text, len);
	copy[len] = '\0';
	*id = (u32)strings->count;
	strings->items[strings->count++] = (struct gp_string){.text = copy, .len = len};
	return 0;
}
