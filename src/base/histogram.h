/* SPDX-License-Identifier: MIT */
/*
 * A histogram of durations in bounded memory: buckets of a width that grows with the value, so that
 * a percentile is at most 1/128 (0.8 %) above the true one whatever the range. No allocation.
 */
#ifndef GP_BASE_HISTOGRAM_H
#define GP_BASE_HISTOGRAM_H

#include "base/types.h"

enum {
	GP_HISTOGRAM_SUB = 128, /* buckets for each power of two */
	GP_HISTOGRAM_BUCKETS = (64 - 6) * GP_HISTOGRAM_SUB,
};

struct gp_histogram {
	u64 count, sum, max;
	u64 min; /* valid when count is not 0 */
	u64 bucket[GP_HISTOGRAM_BUCKETS];
};

void gp_histogram_add(struct gp_histogram *histogram, u64 value);
/* The value that at least permille/1000 of all values do not exceed; 0 when there is none. */
u64 gp_histogram_at(const struct gp_histogram *histogram, u32 permille);
/* Largest value that falls into a bucket. */
u64 gp_histogram_bound(u32 bucket);

#endif
