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

/* Visits of that cost, for all requests. */
static void cut(const struct gp_sim_oracle_request *requests, const u64 *done, size_t count,
		u64 visit, struct best *best, struct best *out)
{
	*out = (struct best){0};
	for (size_t i = 0; i < count; i += PART) {
		struct best part =
			solve(requests + i, done + i, GP_MIN(count - i, (size_t)PART), visit, best);

		/* A visit over the border of two parts is in both of them. */
		out->lost_ns += part.lost_ns - (i ? visit : 0);
		out->pause_ns += part.pause_ns;
		out->visits += part.visits - (i ? 1 : 0);
	}
}

/*
 * When each server is needed next: next[i] is the request of the same server after the ones that
 * request i may be served with, or `count`; NONE where request i is served with one before.
 */
#define NONE SIZE_MAX

static void find_next(const struct gp_sim_oracle_request *requests, size_t count, u32 servers,
		      size_t *next, size_t *last)
{
	for (u32 i = 0; i < servers; i++)
		last[i] = count;
	for (size_t i = count; i--;) {
		u32 server = requests[i].server;

		next[i] = last[server];
		last[server] = i;
	}
	/* The order is that of due times as well: a later one is due later. */
	for (size_t i = 0; i < count; i++) {
		size_t follower = next[i];

		if (follower == NONE || follower == count)
			continue;
		for (u64 due = requests[i].due_ns;
		     follower != count && requests[follower].arrived_ns <= due;) {
			size_t after = next[follower];

			due = requests[follower].due_ns;
			next[follower] = NONE;
			follower = after;
		}
		next[i] = follower;
	}
}

/* Requests to a server that has lost its place of k: the one that is needed last loses it. */
static u64 count_reloads(const struct gp_sim_oracle_request *requests, size_t count, u32 servers,
			 u32 k, const size_t *next, size_t *needed)
{
	u64 reloads = 0;
	u32 resident = 0;

	/* needed[s]: 0: not on the hardware, and never was; 1: was; else next need + 2. */
	for (u32 i = 0; i < servers; i++)
		needed[i] = 0;
	for (size_t i = 0; i < count; i++) {
		size_t *own = &needed[requests[i].server], *least = NULL;

		if (next[i] == NONE)
			continue;
		if (*own < 2) {
			reloads += *own; /* the first time it was there from the start */
			resident++;
		}
		*own = next[i] + 2;
		if (resident <= k)
			continue;
		for (u32 s = 0; s < servers; s++)
			if (needed[s] >= 2 && &needed[s] != own && (!least || needed[s] > *least))
				least = &needed[s];
		if (least) {
			*least = 1;
			resident--;
		}
	}
	return reloads;
}

struct gp_sim_oracle_limits gp_sim_oracle_limits(const struct gp_model_chip *chip, u32 servers,
						 u32 batch, u64 max_suspend_ns)
{
	return (struct gp_sim_oracle_limits){
		.servers = servers,
		.places = chip->vmids,
		.change_ns = chip->unmap_ns + chip->map_ns,
		.queue_ns = chip->unmap_queue_ns + chip->map_queue_ns,
		.batch = batch,
		.max_suspend_ns = max_suspend_ns,
	};
}

/* Turns that no visit lies between. */
static u64 turns_of(const struct gp_sim_oracle_limits *limits, u64 time_ns, u64 visits)
{
	u64 turns = limits->batch > 1 && limits->max_suspend_ns
			    ? gp_scale(time_ns, limits->batch, limits->max_suspend_ns)
			    : 0;

	return turns > visits ? turns - visits : 0;
}

struct scratch {
	u64 *done;
	struct best *best;
	size_t *next, *needed;
};

/* With k servers on the hardware. */
static struct gp_sim_oracle_result
with_resident(const struct gp_sim_oracle_request *requests, size_t count,
	      const struct gp_sim_oracle_cost *cost, const struct gp_sim_oracle_limits *limits,
	      u32 k, u64 time_ns, u64 work_ns, const struct scratch *scratch)
{
	u64 queues = k > 1 ? 2 * (u64)(k - 1) * limits->queue_ns : 0, lost;
	u64 visit = cost->suspend_ns + cost->resume_ns + queues;
	struct gp_sim_oracle_result result = {.resident = k, .online_ns = work_ns};
	struct best best;

	cut(requests, scratch->done, count, visit, scratch->best, &best);
	result.pause_ns = best.pause_ns;
	result.visits = best.visits;
	if (k < limits->servers)
		result.reloads = count_reloads(requests, count, limits->servers, k, scratch->next,
					       scratch->needed);
	/* The visit itself has the cost of one: its first server comes as the batch program goes.
	 */
	result.change_ns = (result.reloads - GP_MIN(result.reloads, best.visits)) *
			   (limits->change_ns + limits->queue_ns);
	result.turn_ns = turns_of(limits, time_ns, best.visits) * visit;
	lost = work_ns + best.lost_ns + result.change_ns + result.turn_ns;
	result.offline_ns = time_ns > lost ? time_ns - lost : 0;
	return result;
}

int gp_sim_oracle(struct gp_sim_oracle_request *requests, size_t count,
		  const struct gp_sim_oracle_cost *cost, const struct gp_sim_oracle_limits *limits,
		  u64 time_ns, struct gp_sim_oracle_result *out)
{
	u32 most = limits->places ? GP_MIN(limits->servers, limits->places) : 0;
	struct scratch scratch = {calloc(count + 1, sizeof(*scratch.done)),
				  calloc(PART + 1, sizeof(*scratch.best)),
				  calloc(count + 1, sizeof(*scratch.next)),
				  calloc(limits->servers + 1, sizeof(*scratch.needed))};
	bool memory = scratch.done && scratch.best && scratch.next && scratch.needed;
	u64 work;

	*out = (struct gp_sim_oracle_result){0};
	if (memory) {
		work = prepare(requests, count, scratch.done);
		if (most)
			find_next(requests, count, limits->servers, scratch.next, scratch.needed);
		for (u32 k = most ? 1 : 0; k <= most; k++) {
			struct gp_sim_oracle_result with =
				with_resident(requests, count, cost, limits, k, time_ns, work,
					      &scratch);

			if (k <= 1 || with.offline_ns > out->offline_ns)
				*out = with;
		}
	}
	free(scratch.done);
	free(scratch.best);
	free(scratch.next);
	free(scratch.needed);
	return memory ? 0 : -ENOMEM;
}
