// SPDX-License-Identifier: MIT
/* The best possible schedule, by dynamic programming over visits: see oracle.h. */
#include "sim/oracle.h"

#include <errno.h>
#include <stdlib.h>

#define PART  4096 /* requests that are solved together */
#define WAVES 4    /* of a workgroup, as the engine submits it */

/* Requests 0 to i - 1 cost at least that, in pauses and visits. */
struct best {
	u64 lost_ns, pause_ns, visits;
};

struct gp_sim_oracle_cost gp_sim_oracle_cost(const struct gp_model_chip *chip, u32 vgprs)
{
	u64 per_cu = gp_model_occupancy(chip, WAVES, vgprs, 0);
	u64 bytes = per_cu * chip->cu_per_xcc * gp_model_workgroup_bytes(chip, WAVES, vgprs, 0);
	u64 change = chip->unmap_ns + chip->unmap_queue_ns + chip->map_ns + chip->map_queue_ns;

	return (struct gp_sim_oracle_cost){
		.suspend_ns = change + chip->save_ns + bytes * 1000 / chip->save_bytes_per_us,
		.resume_ns = change + chip->restore_ns + bytes * 1000 / chip->restore_bytes_per_us,
	};
}

static int by_arrival(const void *a, const void *b)
{
	const struct gp_sim_oracle_request *x = a, *y = b;

	return (x->arrived_ns > y->arrived_ns) - (x->arrived_ns < y->arrived_ns);
}

/* Due times in the order of arrival and possible; done[i]: the earliest end of requests 0 to i. */
static u64 prepare(struct gp_sim_oracle_request *requests, size_t count, u64 *done)
{
	u64 end = 0, due = 0, work = 0;

	if (count)
		qsort(requests, count, sizeof(*requests), by_arrival);
	for (size_t i = 0; i < count; i++) {
		end = GP_MAX(end, requests[i].arrived_ns) + requests[i].work_ns;
		due = GP_MAX(due, GP_MAX(end, requests[i].due_ns));
		requests[i].due_ns = due;
		done[i] = end;
		work += requests[i].work_ns;
	}
	return work;
}

/*
 * Visits that begin with request `first`. The latest begin that meets every due time is `latest`;
 * from `dense` on there is no pause, and a visit that begins later does not end earlier.
 */
static void extend(const struct gp_sim_oracle_request *requests, size_t first, size_t count,
		   u64 cost, s64 not_before, struct best *best)
{
	s64 latest = INT64_MAX, dense = INT64_MIN, work = 0;

	for (size_t i = first; i < count; i++) {
		dense = GP_MAX(dense, (s64)requests[i].arrived_ns - work);
		work += (s64)requests[i].work_ns;
		latest = GP_MIN(latest, (s64)requests[i].due_ns - work);
		if (latest < not_before)
			return;
		u64 pause = dense > latest ? (u64)(dense - latest) : 0;
		struct best with = {best[first].lost_ns + cost + pause,
				    best[first].pause_ns + pause, best[first].visits + 1};

		if (with.lost_ns < best[i + 1].lost_ns)
			best[i + 1] = with;
	}
}

/* A part that starts where the one before ends; its first visit needs no room before it. */
static struct best solve(const struct gp_sim_oracle_request *requests, const u64 *done,
			 size_t count, u64 cost, struct best *best)
{
	for (size_t i = 0; i <= count; i++)
		best[i] = (struct best){.lost_ns = i ? UINT64_MAX : 0};
	for (size_t i = 0; i < count; i++)
		extend(requests, i, count, cost, i ? (s64)(done[i - 1] + cost) : INT64_MIN, best);
	return best[count];
}

int gp_sim_oracle(struct gp_sim_oracle_request *requests, size_t count,
		  const struct gp_sim_oracle_cost *cost, u64 time_ns,
		  struct gp_sim_oracle_result *out)
{
	u64 visit = cost->suspend_ns + cost->resume_ns, lost = 0;
	u64 *done = calloc(count + 1, sizeof(*done));
	struct best *best = calloc(PART + 1, sizeof(*best));
	int error = done && best ? 0 : -ENOMEM;

	*out = (struct gp_sim_oracle_result){0};
	if (!error)
		out->online_ns = prepare(requests, count, done);
	for (size_t i = 0; !error && i < count; i += PART) {
		struct best part =
			solve(requests + i, done + i, GP_MIN(count - i, (size_t)PART), visit, best);

		/* A visit over the border of two parts is in both of them. */
		lost += part.lost_ns - (i ? visit : 0);
		out->pause_ns += part.pause_ns;
		out->visits += part.visits - (i ? 1 : 0);
	}
	lost += out->online_ns;
	out->offline_ns = time_ns > lost ? time_ns - lost : 0;
	free(done);
	free(best);
	return error;
}
