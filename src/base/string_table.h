/* SPDX-License-Identifier: MIT */
/*
 * Texts, each kept once and known by a number from 0 on in order of first appearance: used to count
 * by name (kernels, calls, functions). Zero-initialised is empty. Hashed with a secret, so that no
 * input can be made for which it is slow.
 */
#ifndef GP_BASE_STRING_TABLE_H
#define GP_BASE_STRING_TABLE_H

#include "base/map.h"

struct gp_string {
	char *text; /* NUL-terminated; may contain NULs */
	size_t len;
};

struct gp_strings {
	struct gp_string *items;
	size_t count, capacity;
	struct gp_map map;
	u64 secret[2];
};

void gp_strings_free(struct gp_strings *strings);
/* The number of a text, which is added when it is new. 0 or -ENOMEM. */
int gp_strings_add(struct gp_strings *strings, const char *text, size_t len, u32 *id);
/* The number of a text that is there, or GP_MAP_NONE. */
u32 gp_strings_find(const struct gp_strings *strings, const char *text, size_t len);

#endif
