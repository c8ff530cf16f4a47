/* SPDX-License-Identifier: MIT */
/*
 * A histogram for Prometheus: bounds of 1, 2 and 5 of each power of ten, from 1 us to 50 s, so that
 * targets in round milliseconds are bounds. The statistics of gpreemptd.sock have their own.
 */
#ifndef GP_DAEMON_SPREAD_H
#define GP_DAEMON_SPREAD_H

#include "base/types.h"

enum { GP_DAEMON_SPREAD_BOUNDS = 24 };

struct gp_daemon_spread {
	u64 count, sum_ns;
	u64 bucket[GP_DAEMON_SPREAD_BOUNDS + 1]; /* the last: above every bound */
};

/* The largest value of a bucket. */
u64 gp_daemon_spread_bound(u32 bucket);
void gp_daemon_spread_add(struct gp_daemon_spread *spread, u64 ns);

#endif
