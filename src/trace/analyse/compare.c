// SPDX-License-Identifier: MIT
#include "trace/analyse/compare.h"

#include <string.h>

/* A case that is idle this much more than the other, in hundredths, looks like the online one. */
#define IDLE_MARGIN 20

static bool knows_pids(const struct gp_trace_log_queue *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!rows[i].pid)
			return false;
	return count > 0;
}

/* Keys of the one map: what is counted, and of which queue of A. */
enum { KEY_PID, KEY_ID, KEY_QUEUE };

static int note_a(struct gp_map *map, const struct gp_trace_log_queue *rows, size_t count)
{
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		if (rows[i].pid)
			error = gp_map_put(map, KEY_PID, rows[i].pid, 1);
		if (!error && rows[i].pid)
			error = gp_map_put(map, KEY_QUEUE + (u64)rows[i].pid, rows[i].address, 1);
		if (!error && rows[i].valid & GP_LQ_HSA_ID)
			error = gp_map_put(map, KEY_ID, rows[i].hsa_id, 1);
	}
	return error;
}

/* True the first time a thing of A is seen in B. */
static bool common(struct gp_map *map, u64 a, u64 b)
{
	return gp_map_get(map, a, b) == 1 && gp_map_put(map, a, b, 2) == 0;
}

static int compare_queues(struct gp_trace_comparison *out)
{
	const struct gp_trace_log_queue *a, *b;
	struct gp_map map = {0};
	int error;

	a = gp_trace_log_queues_items(out->cases[0]->queues, &out->queues[0]);
	b = gp_trace_log_queues_items(out->cases[1]->queues, &out->queues[1]);
	out->pids_known = knows_pids(a, out->queues[0]) && knows_pids(b, out->queues[1]);
	error = note_a(&map, a, out->queues[0]);
	for (size_t i = 0; i < out->queues[1] && !error && map.count; i++) {
		if (b[i].valid & GP_LQ_HSA_ID)
			out->same_ids += common(&map, KEY_ID, b[i].hsa_id);
		if (!b[i].pid)
			continue;
		out->same_process |= gp_map_get(&map, KEY_PID, b[i].pid) != GP_MAP_NONE;
		out->shared_queues += common(&map, KEY_QUEUE + (u64)b[i].pid, b[i].address);
	}
	gp_map_free(&map);
	return error;
}

static void compare_times(struct gp_trace_comparison *out)
{
	const struct gp_trace_workload *a = out->cases[0], *b = out->cases[1];
	u64 from, to;

	if (!a->has_time || !b->has_time)
		return;
	from = a->first_ns > b->first_ns ? a->first_ns : b->first_ns;
	to = a->last_ns < b->last_ns ? a->last_ns : b->last_ns;
	out->has_overlap = true;
	out->overlap_ns = to > from ? to - from : 0;
}

/* Hundredths of its time in which a case submitted nothing. */
static u64 idle_share(const struct gp_trace_workload *workload)
{
	u64 length = workload->last_ns - workload->first_ns;

	return length ? (u64)((double)workload->idle_ns * 100 / (double)length) : 0;
}

static int find_online(const struct gp_trace_comparison *comparison)
{
	const struct gp_trace_workload *a = comparison->cases[0], *b = comparison->cases[1];

	if (a->dispatches < 2 || b->dispatches < 2 || !a->has_time || !b->has_time)
		return -1;
	if (idle_share(a) >= idle_share(b) + IDLE_MARGIN)
		return 0;
	if (idle_share(b) >= idle_share(a) + IDLE_MARGIN)
		return 1;
	return -1;
}

static enum gp_trace_strategy choose(struct gp_trace_comparison *out)
{
	const struct gp_trace_workload *a = out->cases[0], *b = out->cases[1];

	if (!a->dispatches || !b->dispatches)
		return GP_STRATEGY_UNKNOWN;
	if (out->online >= 0) {
		const struct gp_trace_workload *batch = out->cases[!out->online];

		if (batch->idle_gaps)
			out->batch_pause_ns = (batch->last_ns - batch->first_ns) / batch->idle_gaps;
		/* On average half of that is left when the urgent work comes. */
		if (out->batch_pause_ns && out->batch_pause_ns / 2 < 2 * GP_SUSPEND_COST_NS)
			return GP_STRATEGY_WAIT;
	}
	if (!out->pids_known)
		return GP_STRATEGY_UNKNOWN;
	if (!out->same_process)
		return GP_STRATEGY_SUSPEND_PROCESS;
	return out->shared_queues ? GP_STRATEGY_TIME_SLICE : GP_STRATEGY_SUSPEND_QUEUES;
}

int gp_trace_compare(const struct gp_trace_workload *a, const char *a_name,
		     const struct gp_trace_workload *b, const char *b_name,
		     struct gp_trace_comparison *out)
{
	int error;

	memset(out, 0, sizeof(*out));
	out->cases[0] = a;
	out->cases[1] = b;
	out->names[0] = a_name;
	out->names[1] = b_name;
	error = compare_queues(out);
	compare_times(out);
	out->online = find_online(out);
	out->strategy = choose(out);
	return error;
}
