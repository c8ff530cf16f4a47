/* SPDX-License-Identifier: MIT */
/*
 * A directory for what a test program writes: below $TMPDIR, so that scripts/run-suite sees and
 * removes what is left, with a name short enough for sockets.
 */
#ifndef GP_TEST_PLACE_H
#define GP_TEST_PLACE_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* NULL: it cannot be made. */
static inline char *place_make(char *out, size_t size)
{
	const char *above = getenv("TMPDIR");
	int length = snprintf(out, size, "%s/gp-XXXXXX", above && *above ? above : "/tmp");

	return length > 0 && (size_t)length < size ? mkdtemp(out) : NULL;
}

static inline int place_remove_one(const char *path, const struct stat *status, int kind,
				   struct FTW *walk)
{
	(void)status, (void)kind, (void)walk;
	return remove(path);
}

/* With everything in it, also what a process that ends still writes. */
static inline int place_remove(const char *place)
{
	struct timespec pause = {.tv_nsec = 10000000};

	for (int i = 0; i < 500; i++) {
		if (!nftw(place, place_remove_one, 16, FTW_DEPTH | FTW_PHYS) || access(place, F_OK))
			return 0;
		nanosleep(&pause, NULL);
	}
	return -1;
}

#endif
