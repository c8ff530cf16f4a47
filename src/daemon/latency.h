/* SPDX-License-Identifier: MIT */
/*
 * Latencies of one job: requests that its programs announce, otherwise bursts of work, in which
 * several requests may wait for each other. Sixteen buckets for each power of two, so that a
 * percentile is at most 1/16 above the true one.
 */
#ifndef GP_DAEMON_LATENCY_H
#define GP_DAEMON_LATENCY_H

#include "base/types.h"

enum {
	GP_DAEMON_LATENCY_SUB = 16,
	GP_DAEMON_LATENCY_BUCKETS = 40 * GP_DAEMON_LATENCY_SUB, /* up to 2^43 ns, 2.4 hours */
	GP_DAEMON_REQUESTS = 64,                                /* open at once, of one program */
};

struct gp_daemon_latency {
	u64 count, max_ns;
	u32 bucket[GP_DAEMON_LATENCY_BUCKETS];
};

void gp_daemon_latency_add(struct gp_daemon_latency *latency, u64 ns);
/* The value that so many thousandths do not exceed; UINT64_MAX when there is none. */
u64 gp_daemon_latency_at(const struct gp_daemon_latency *latency, u32 permille);

/*
 * Requests of a program that are open. The agent reports begins and ends without an identity: the
 * oldest is taken to end first. The mean is exact in any order.
 */
struct gp_daemon_requests {
	u64 begun[GP_DAEMON_REQUESTS]; /* of the oldest of them */
	u32 first, count;
};
#define GP_DAEMON_OR_EARLIER (1ull << 63) /* in `begun`: it began then or before */

/* When the open request of this index, counted from the oldest, began at the latest. index <
 * GP_DAEMON_REQUESTS. */
u64 gp_daemon_requests_begun(const struct gp_daemon_requests *requests, u32 index);
/* A request begins or ends. `open`: how many there are after it, as the program says; if that does
 * not agree with what was seen, of the open ones it is only known that they are. Returns the
 * latency of the one that ended, or UINT64_MAX. */
u64 gp_daemon_requests_note(struct gp_daemon_requests *requests, bool begin, u32 open, u64 at_ns);

#endif
