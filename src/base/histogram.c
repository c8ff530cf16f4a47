// SPDX-License-Identifier: MIT
/* Histograms of durations: see histogram.h. */
#include "base/histogram.h"

/* Values below two times SUB have a bucket each; above, the seven bits after the highest choose. */
static u32 bucket_of(u64 value)
{
	if (value < 2 * GP_HISTOGRAM_SUB)
		return (u32)value;
	u32 highest = 63 - (u32)__builtin_clzll(value);
	u32 shift = highest - 7;

	return (shift + 1) * GP_HISTOGRAM_SUB + (u32)((value >> shift) - GP_HISTOGRAM_SUB);
}

u64 gp_histogram_bound(u32 bucket)
{
	if (bucket < 2 * GP_HISTOGRAM_SUB)
		return bucket;
	u32 shift = bucket / GP_HISTOGRAM_SUB - 1;
	u64 base = (u64)(bucket % GP_HISTOGRAM_SUB) + GP_HISTOGRAM_SUB;

	return (base << shift) + ((1ull << shift) - 1);
}

void gp_histogram_add(struct gp_histogram *histogram, u64 value)
{
	if (!histogram->count || value < histogram->min)
		histogram->min = value;
	if (value > histogram->max)
		histogram->max = value;
	histogram->count++;
	histogram->sum += value;
	histogram->bucket[bucket_of(value)]++;
}

u64 gp_histogram_at(const struct gp_histogram *histogram, u32 permille)
{
	u64 wanted = histogram->count / 1000 * permille + histogram->count % 1000 * permille / 1000;
	u64 seen = 0;

	/* At least one: the smallest value at 0. */
	if ((histogram->count % 1000 * permille) % 1000 || !wanted)
		wanted++;
	for (u32 i = 0; histogram->count && i < GP_HISTOGRAM_BUCKETS; i++) {
		seen += histogram->bucket[i];
		if (seen >= wanted) {
			u64 bound = gp_histogram_bound(i);

			return bound < histogram->max ? bound : histogram->max;
		}
	}
	return histogram->max;
}
