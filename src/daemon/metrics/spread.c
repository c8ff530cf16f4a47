// SPDX-License-Identifier: MIT
/* A histogram with round bounds: see spread.h. */
#include "daemon/metrics/spread.h"

#include "base/clock.h"

u64 gp_daemon_spread_bound(u32 bucket)
{
	static const u64 steps[] = {1, 2, 5};
	u64 unit = GP_NS_PER_US;

	for (u32 i = 0; i < bucket / 3; i++)
		unit *= 10;
	return steps[bucket % 3] * unit;
}

void gp_daemon_spread_add(struct gp_daemon_spread *spread, u64 ns)
{
	u32 bucket = 0;

	while (bucket < GP_DAEMON_SPREAD_BOUNDS && ns > gp_daemon_spread_bound(bucket))
		bucket++;
	spread->count++;
	spread->sum_ns += ns;
	spread->bucket[bucket]++;
}
