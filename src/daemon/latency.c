// SPDX-License-Identifier: MIT
/* Latencies of one job: see latency.h. */
#include "daemon/latency.h"

#include "base/core.h"

enum { SUB_BITS = 4, LAST = GP_DAEMON_LATENCY_BUCKETS - 1 };
_Static_assert(1 << SUB_BITS == GP_DAEMON_LATENCY_SUB, "the bits after the highest choose");

/* Values below twice SUB have a bucket each; above, the four bits after the highest choose. */
static u32 bucket_of(u64 ns)
{
	u32 shift;

	if (ns < 2 * GP_DAEMON_LATENCY_SUB)
		return (u32)ns;
	shift = gp_highest_bit(ns) - SUB_BITS;
	return GP_MIN((shift + 1) * GP_DAEMON_LATENCY_SUB + (u32)(ns >> shift) -
			      GP_DAEMON_LATENCY_SUB,
		      (u32)LAST);
}

static u64 bound_of(u32 bucket)
{
	u32 shift;

	if (bucket < 2 * GP_DAEMON_LATENCY_SUB)
		return bucket;
	shift = bucket / GP_DAEMON_LATENCY_SUB - 1;
	return ((u64)(bucket % GP_DAEMON_LATENCY_SUB + GP_DAEMON_LATENCY_SUB + 1) << shift) - 1;
}

void gp_daemon_latency_add(struct gp_daemon_latency *latency, u64 ns)
{
	latency->count++;
	latency->max_ns = GP_MAX(latency->max_ns, ns);
	latency->bucket[bucket_of(ns)]++;
}

u64 gp_daemon_latency_at(const struct gp_daemon_latency *latency, u32 permille)
{
	u64 wanted = (latency->count * permille + 999) / 1000, seen = 0;

	if (!latency->count)
		return UINT64_MAX;
	for (u32 i = 0; i < LAST; i++) {
		seen += latency->bucket[i];
		if (seen >= GP_MAX(wanted, 1ull))
			return GP_MIN(bound_of(i), latency->max_ns);
	}
	return latency->max_ns;
}

/* How many are open is what the program says; of those, it is known that they are open now. */
static void resync(struct gp_daemon_requests *requests, u32 open, u64 at_ns)
{
	requests->first = 0;
	requests->count = open;
	for (u32 i = 0; i < GP_DAEMON_REQUESTS; i++)
		requests->begun[i] = at_ns | GP_DAEMON_OR_EARLIER;
}

u64 gp_daemon_requests_note(struct gp_daemon_requests *requests, bool begin, u32 open, u64 at_ns)
{
	u64 begun;

	if (begin && !open)
		return UINT64_MAX; /* cannot be */
	if (requests->count + (begin ? 1 : -1u) != open)
		resync(requests, begin ? open - 1 : open + 1, at_ns);
	if (begin) {
		if (requests->count < GP_DAEMON_REQUESTS)
			requests->begun[(requests->first + requests->count) % GP_DAEMON_REQUESTS] =
				at_ns;
		requests->count++;
		return UINT64_MAX;
	}
	begun = requests->begun[requests->first % GP_DAEMON_REQUESTS];
	/* Its place is that of the first one for which there was none, if there is one. */
	requests->begun[requests->first % GP_DAEMON_REQUESTS] = at_ns | GP_DAEMON_OR_EARLIER;
	requests->first++;
	requests->count--;
	return begun & GP_DAEMON_OR_EARLIER ? UINT64_MAX : at_ns - GP_MIN(begun, at_ns);
}

u64 gp_daemon_requests_begun(const struct gp_daemon_requests *requests, u32 index)
{
	return requests->begun[(requests->first + index) % GP_DAEMON_REQUESTS] &
	       ~GP_DAEMON_OR_EARLIER;
}
