#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "trace/queues_parts.h"

/* A map value that says "more than one". */
#define SEVERAL (GP_MAP_NONE - 1)

static bool has_packets(const struct gp_log_queue *row)
{
	return row->dispatches > 0 || row->barriers > 0;
}

/* ---- one row out of two ---- */

static void merge_times(struct gp_log_queue *to, struct gp_queue_state *to_state,
			const struct gp_log_queue *from, const struct gp_queue_state *from_state)
{
	if (!(from->valid & GP_LQ_FIRST))
		return;
	if (from_state->used) {
		gp_log_queue_used_at(to, to_state, from->first_ns, from_state->clock);
		gp_log_queue_used_at(to, to_state, from->last_ns, from_state->clock);
	} else if (!(to->valid & GP_LQ_FIRST)) {
		to->first_ns = from->first_ns;
		to->last_ns = from->last_ns;
		to_state->clock = from_state->clock;
		to->valid |= GP_LQ_FIRST;
	}
}

static void merge_pointers(struct gp_log_queue *to, struct gp_queue_state *to_state,
			   const struct gp_log_queue *from, const struct gp_queue_state *from_state)
{
	const u32 both = GP_LQ_RPTR | GP_LQ_WPTR;

	if (from_state->pointers_at <= to_state->pointers_at)
		return;
	to->rptr = from->rptr;
	to->wptr = from->wptr;
	to->valid = (to->valid & ~both) | (from->valid & both);
	to_state->pointers_at = from_state->pointers_at;
}

/* Facts that `to` does not have yet. */
static void merge_facts(struct gp_log_queue *to, const struct gp_log_queue *from)
{
	u32 missing = from->valid & ~to->valid;

	if (missing & GP_LQ_OBJECT)
		to->object = from->object;
	if (missing & GP_LQ_HSA_ID)
		to->hsa_id = from->hsa_id;
	if (missing & GP_LQ_SIZE)
		to->size_packets = from->size_packets;
	if (missing & GP_LQ_PRIORITY)
		to->priority = from->priority;
	if (missing & GP_LQ_STREAMS) {
		to->streams = from->streams;
		to->streams_max = from->streams_max;
	}
	to->valid |= missing &
		     (GP_LQ_OBJECT | GP_LQ_HSA_ID | GP_LQ_SIZE | GP_LQ_PRIORITY | GP_LQ_STREAMS);
}

static int merge(struct gp_log_queues *queues, u32 to_index, u32 from_index)
{
	struct gp_log_queue *to = &queues->rows[to_index], *from = &queues->rows[from_index];
	struct gp_queue_state *to_state = &queues->states[to_index],
			      *from_state = &queues->states[from_index];

	merge_times(to, to_state, from, from_state);
	merge_pointers(to, to_state, from, from_state);
	merge_facts(to, from);
	if (to->key == GP_ADDRESS_UNKNOWN)
		to->key = from->key;
	to->dispatches += from->dispatches;
	to->barriers += from->barriers;
	to->created |= from->created;
	to->deleted |= from->deleted;
	to->failed |= from->failed;
	for (size_t i = 0; i < from->stream_count; i++)
		if (gp_log_queue_bind(queues, to_index, from->stream_handles[i]) < 0)
			return -ENOMEM;
	from_state->gone = true;
	return 0;
}

/* ---- lines whose pid was torn off ---- */

static int adopt_rows_without_pid(struct gp_log_queues *queues)
{
	struct gp_map owner = {0};
	int ret = 0;

	for (u32 i = 0; i < queues->count && ret == 0; i++) {
		u64 address = queues->rows[i].address;

		if (queues->rows[i].pid)
			ret = gp_map_put(&owner, address, 0,
					 gp_map_get(&owner, address, 0) == GP_MAP_NONE ? i
										       : SEVERAL);
	}
	for (u32 i = 0; i < queues->count && ret == 0; i++) {
		u32 row = gp_map_get(&owner, queues->rows[i].address, 0);

		if (!queues->rows[i].pid && row != GP_MAP_NONE && row != SEVERAL)
			ret = merge(queues, row, i);
	}
	gp_map_free(&owner);
	return ret;
}

/* ---- created under one address, used under another ---- */

struct process {
	u32 created, used; /* the one row, GP_MAP_NONE or SEVERAL */
	bool same_address; /* a queue is created and used under one address, or both are printed */
};

static void count_row(struct process *process, const struct gp_log_queue *row, u32 index)
{
	u32 *slot = NULL;

	if (row->key != GP_ADDRESS_UNKNOWN || (row->created && has_packets(row)))
		process->same_address = true;
	else if (row->created)
		slot = &process->created;
	else if (has_packets(row))
		slot = &process->used;
	if (slot)
		*slot = *slot == GP_MAP_NONE ? index : SEVERAL;
}

static int collect(struct gp_log_queues *queues, struct gp_map *by_pid, struct process **processes,
		   size_t *count)
{
	size_t capacity = 0;

	for (u32 i = 0; i < queues->count; i++) {
		u32 at = gp_map_get(by_pid, queues->rows[i].pid, 0);

		if (queues->states[i].gone)
			continue;
		if (at == GP_MAP_NONE) {
			at = (u32)*count;
			if (gp_array_grow((void **)processes, *count, &capacity,
					  sizeof(**processes)) < 0 ||
			    gp_map_put(by_pid, queues->rows[i].pid, 0, at) < 0)
				return -ENOMEM;
			(*processes)[(*count)++] =
				(struct process){.created = GP_MAP_NONE, .used = GP_MAP_NONE};
		}
		count_row(&(*processes)[at], &queues->rows[i], i);
	}
	return 0;
}

static int pair_addresses(struct gp_log_queues *queues)
{
	struct process *processes = NULL;
	struct gp_map by_pid = {0};
	size_t count = 0;
	int ret = collect(queues, &by_pid, &processes, &count);

	for (size_t i = 0; i < count && ret == 0; i++) {
		const struct process *process = &processes[i];
		struct gp_log_queue *row;

		if (process->same_address || process->created >= SEVERAL ||
		    process->used >= SEVERAL)
			continue;
		row = &queues->rows[process->created];
		row->object = row->address;
		row->valid |= GP_LQ_OBJECT;
		row->address = queues->rows[process->used].address;
		row->key = GP_ADDRESS_RING;
		ret = merge(queues, process->created, process->used);
	}
	free(processes);
	gp_map_free(&by_pid);
	return ret;
}

/* ---- the old runtime prints the queue object ---- */

static void name_old_objects(struct gp_log_queues *queues)
{
	for (size_t i = 0; i < queues->count; i++) {
		struct gp_log_queue *row = &queues->rows[i];

		if (queues->states[i].gone || row->key != GP_ADDRESS_UNKNOWN ||
		    gp_map_get(&queues->old_pids, row->pid, 0) == GP_MAP_NONE)
			continue;
		row->key = GP_ADDRESS_OBJECT;
		row->object = row->address;
		row->valid |= GP_LQ_OBJECT;
	}
}

/* ---- order ---- */

struct place {
	u32 pid;
	u32 index;
};

static int by_pid_then_index(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

static int order_rows(struct gp_log_queues *queues)
{
	struct gp_log_queue *ordered = malloc((queues->count + 1) * sizeof(*ordered));
	struct place *places = malloc((queues->count + 1) * sizeof(*places));
	size_t count = 0;

	if (!ordered || !places) {
		free(ordered);
		free(places);
		return -ENOMEM;
	}
	for (u32 i = 0; i < queues->count; i++) {
		if (queues->states[i].gone)
			free(queues->rows[i].stream_handles);
		else
			places[count++] = (struct place){queues->rows[i].pid, i};
	}
	qsort(places, count, sizeof(*places), by_pid_then_index);
	for (size_t i = 0; i < count; i++)
		ordered[i] = queues->rows[places[i].index];
	free(places);
	free(queues->rows);
	queues->rows = ordered;
	queues->capacity = queues->count + 1;
	queues->count = count;
	return 0;
}

int gp_log_queues_finish(struct gp_log_queues *queues)
{
	int ret = adopt_rows_without_pid(queues);

	if (ret == 0) {
		name_old_objects(queues);
		ret = pair_addresses(queues);
	}
	if (ret == 0)
		ret = order_rows(queues);
	return ret;
}
