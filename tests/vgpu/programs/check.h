/* SPDX-License-Identifier: MIT */
/* What the programs of this directory share: each runs on a (virtual) GPU and returns 0 or 1. */
#ifndef GP_PROGRAMS_CHECK_H
#define GP_PROGRAMS_CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                        \
		}                                                                       \
	} while (0)

/* Bytes that differ everywhere and from one seed to the next. */
static inline void fill_bytes(unsigned char *bytes, size_t size, unsigned int seed)
{
	uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;

	for (size_t i = 0; i < size; i++) {
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		bytes[i] = (unsigned char)(state >> 56);
	}
}

static inline unsigned char *new_bytes(size_t size, unsigned int seed)
{
	unsigned char *bytes = malloc(size);

	CHECK(bytes);
	if (seed)
		fill_bytes(bytes, size, seed);
	else
		memset(bytes, 0, size);
	return bytes;
}

#endif
