/* SPDX-License-Identifier: MIT */
/*
 * The clock: one call for the time that intervals are measured with; base/core.h names the units.
 * Everything inside gpreempt is in nanoseconds of CLOCK_MONOTONIC; the exceptions say so.
 */
#ifndef GP_BASE_CLOCK_H
#define GP_BASE_CLOCK_H

#include <time.h>

#include "base/core.h"

static inline u64 gp_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (u64)now.tv_sec * GP_NS_PER_S + (u64)now.tv_nsec;
}

static inline u64 gp_monotonic_ns(void)
{
	return gp_clock_ns(CLOCK_MONOTONIC);
}

#endif
