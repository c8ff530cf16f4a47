/* SPDX-License-Identifier: MIT */
/*
 * Reading a clock. Times inside gpreempt are nanoseconds of CLOCK_MONOTONIC unless a name says
 * otherwise; base/core.h defines the units.
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

static inline struct timespec gp_timespec(u64 ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / GP_NS_PER_S),
				 .tv_nsec = (long)(ns % GP_NS_PER_S)};
}

#endif
