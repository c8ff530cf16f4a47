/* SPDX-License-Identifier: MIT */
/*
 * The shortest of several times. A host can only lengthen a time, and how often it does depends on
 * its load: the shortest counts when four more came close to it. Fewer are not enough: a busy host
 * lengthens several by the same time.
 */
#ifndef GP_SELFTEST_LEAST_H
#define GP_SELFTEST_LEAST_H

#include <stdbool.h>
#include <stdint.h>

enum {
	GP_SELFTEST_ROUNDS = 12, /* at least */
	/* Or a second: a busy host lengthens several by the same time. */
	GP_SELFTEST_MANY_ROUNDS = 200,
	GP_SELFTEST_MOST_ROUNDS = 1000,
	GP_SELFTEST_CLOSE = 200, /* within this part of the time */
	GP_SELFTEST_NEXT = 4,    /* that must be close */
};

#define GP_SELFTEST_LEAST_NS 1000000000
#define GP_SELFTEST_MOST_NS  8000000000 /* no more rounds after that */

struct gp_selftest_least {
	uint64_t ns;                     /* 0: none was seen */
	uint64_t next[GP_SELFTEST_NEXT]; /* those after it */
};

/* A time of 0 was not seen. */
static inline void gp_selftest_least_take(struct gp_selftest_least *least, uint64_t ns)
{
	for (int i = -1; i < GP_SELFTEST_NEXT && ns; i++) {
		uint64_t *place = i < 0 ? &least->ns : &least->next[i];

		if (!*place || ns < *place) {
			uint64_t longer = *place;

			*place = ns;
			ns = longer;
		}
	}
}

static inline bool gp_selftest_least_settled(const struct gp_selftest_least *least)
{
	uint64_t last = least->next[GP_SELFTEST_NEXT - 1];

	return !least->ns || (last && last - least->ns <= least->ns / GP_SELFTEST_CLOSE);
}

/* By how much the shortest may be too long: the shortest ones are so far apart. Fewer say
 * nothing. */
static inline uint64_t gp_selftest_least_doubt(const struct gp_selftest_least *least)
{
	uint64_t last = least->next[GP_SELFTEST_NEXT - 1];

	return last ? last - least->ns : least->ns;
}

/* Whether `rounds` that took `ns` together are enough. */
static inline bool gp_selftest_rounds_enough(int rounds, uint64_t ns, bool settled)
{
	if (rounds < GP_SELFTEST_ROUNDS)
		return false;
	if (rounds >= GP_SELFTEST_MOST_ROUNDS || ns >= GP_SELFTEST_MOST_NS)
		return true;
	return settled && (rounds >= GP_SELFTEST_MANY_ROUNDS || ns >= GP_SELFTEST_LEAST_NS);
}

#endif
