// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "trace/analyse/queues_parts.h"

/* One line in so many may have lost its pid; more, and they were written without. */
#define TORN_SHARE 16

static bool has_packets(const struct gp_trace_log_queue *row)
{
	return row->dispatches > 0 || row->barriers > 0;
}

/* ---- one row out of two ---- */

static void merge_times(struct gp_trace_log_queue *to, struct gp_trace_queue_state *to_state,
			const struct gp_trace_log_queue *from,
			const struct gp_trace_queue_state *from_state)
{
	if (!(from->valid & GP_LQ_FIRST))
		return;
	if (from_state->used) {
		gp_trace_log_queue_used_at(to, to_state, from->first_ns, from_state->clock);
		gp_trace_log_queue_used_at(to, to_state, from->last_ns, from_state->clock);
	} else if (!(to->valid & GP_LQ_FIRST)) {
		to->first_ns = from->first_ns;
		to->last_ns = from->last_ns;
		to_state->clock = from_state->clock;
		to->valid |= GP_LQ_FIRST;
	}
}

static void merge_pointers(struct gp_trace_log_queue *to, struct gp_trace_queue_state *to_state,
			   const struct gp_trace_log_queue *from,
			   const struct gp_trace_queue_state *from_state)
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
static void merge_facts(struct gp_trace_log_queue *to, const struct gp_trace_log_queue *from)
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

static u64 earlier(u64 a, u64 b)
{
	return !a || (b && b < a) ? b : a;
}

static int merge(struct gp_trace_log_queues *queues, u32 to_index, u32 from_index)
{
	struct gp_trace_log_queue *to = &queues->rows[to_index], *from = &queues->rows[from_index];
	struct gp_trace_queue_state *to_state = &queues->states[to_index],
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
	if (!to->failed)
		to->failure = from->failure;
	to->failed |= from->failed;
	to_state->created_at = earlier(to_state->created_at, from_state->created_at);
	to_state->created_ns = earlier(to_state->created_ns, from_state->created_ns);
	to_state->used_at = earlier(to_state->used_at, from_state->used_at);
	if (from_state->deleted_at > to_state->deleted_at)
		to_state->deleted_at = from_state->deleted_at;
	for (size_t i = 0; i < from->stream_count; i++)
		if (gp_trace_log_queue_bind(queues, to_index, from->stream_handles[i]) < 0)
			return -ENOMEM;
	from_state->gone = true;
	return 0;
}

/* ---- lines whose pid was torn off ---- */

void gp_trace_log_queues_settle_input(struct gp_trace_log_queues *queues)
{
	bool prints_pids = queues->without_pid <= queues->with_pid / TORN_SHARE;

	for (size_t i = queues->input_row; i < queues->count; i++) {
		struct gp_trace_queue_state *state = &queues->states[i];

		state->torn = !queues->rows[i].pid &&
			      (!state->prefixed || (prints_pids && !state->threaded));
	}
}

static int adopt_torn_rows(struct gp_trace_log_queues *queues)
{
	int ret = 0;

	for (u32 i = 0; i < queues->count && ret == 0; i++) {
		u32 user;

		if (!queues->states[i].torn)
			continue;
		user = gp_map_get(&queues->users, queues->states[i].input, queues->rows[i].address);
		if (user != GP_MAP_NONE && user != GP_SEVERAL)
			ret = merge(queues, user, i);
	}
	return ret;
}

/* ---- created under one address, used under another ---- */

struct process {
	u32 named, used;   /* the one row without and with packets, GP_MAP_NONE or GP_SEVERAL */
	bool same_address; /* a queue is created and used under one address, or both are printed */
};

static void count_row(struct process *process, const struct gp_trace_log_queue *row, u32 index)
{
	u32 *slot = has_packets(row) ? &process->used : &process->named;

	if (row->key != GP_ADDRESS_UNKNOWN || (row->created && has_packets(row)))
		process->same_address = true;
	else
		*slot = *slot == GP_MAP_NONE ? index : GP_SEVERAL;
}

/* Created before it was used, and not gone by then. */
static bool may_be_one(const struct gp_trace_log_queues *queues, u32 named, u32 used)
{
	const struct gp_trace_queue_state *created = &queues->states[named],
					  *user = &queues->states[used];

	if (!created->created_at || created->created_at > user->used_at)
		return false;
	if (created->deleted_at && created->deleted_at < user->used_at)
		return false;
	return !created->created_ns || !user->used || user->clock != GP_CLOCK_MONOTONIC ||
	       created->created_ns <= queues->rows[used].first_ns;
}

static int collect(struct gp_trace_log_queues *queues, struct gp_map *by_pid,
		   struct process **processes, size_t *count)
{
	size_t capacity = 0;

	for (u32 i = 0; i < queues->count; i++) {
		u32 pid = queues->rows[i].pid, at = gp_map_get(by_pid, pid, 0);

		/* Rows without pid may be of several processes. */
		if (queues->states[i].gone || !pid)
			continue;
		if (at == GP_MAP_NONE) {
			at = (u32)*count;
			if (gp_array_grow((void **)processes, *count, &capacity,
					  sizeof(**processes)) < 0 ||
			    gp_map_put(by_pid, pid, 0, at) < 0)
				return -ENOMEM;
			(*processes)[(*count)++] =
				(struct process){.named = GP_MAP_NONE, .used = GP_MAP_NONE};
		}
		count_row(&(*processes)[at], &queues->rows[i], i);
	}
	return 0;
}

static int pair_addresses(struct gp_trace_log_queues *queues)
{
	struct process *processes = NULL;
	struct gp_map by_pid = {0};
	size_t count = 0;
	int ret = collect(queues, &by_pid, &processes, &count);

	for (size_t i = 0; i < count && ret == 0; i++) {
		const struct process *process = &processes[i];
		struct gp_trace_log_queue *row;

		if (process->same_address || process->named >= GP_SEVERAL ||
		    process->used >= GP_SEVERAL ||
		    !may_be_one(queues, process->named, process->used))
			continue;
		row = &queues->rows[process->named];
		row->object = row->address;
		row->valid |= GP_LQ_OBJECT;
		row->address = queues->rows[process->used].address;
		row->key = GP_ADDRESS_RING;
		ret = merge(queues, process->named, process->used);
	}
	free(processes);
	gp_map_free(&by_pid);
	return ret;
}

/* ---- the old runtime prints the queue object ---- */

static void name_old_objects(struct gp_trace_log_queues *queues)
{
	for (u32 i = 0; i < queues->count; i++) {
		struct gp_trace_log_queue *row = &queues->rows[i];

		if (queues->states[i].gone || row->key != GP_ADDRESS_UNKNOWN ||
		    gp_map_get(&queues->old_owners, gp_row_owner(queues, i), 0) == GP_MAP_NONE)
			continue;
		row->key = GP_ADDRESS_OBJECT;
		row->object = row->address;
		row->valid |= GP_LQ_OBJECT;
	}
}

/* ---- errors that do not say which queue ---- */

/* The owner's error that this queue was alive for. Without a creation it was there before. */
static struct gp_trace_unnamed_error *error_of(const struct gp_trace_log_queues *queues, u32 row,
					       u64 owner)
{
	const struct gp_trace_queue_state *state = &queues->states[row];
	u32 at = gp_map_get(&queues->erring, owner, 0);
	struct gp_trace_unnamed_error *error;

	if (at == GP_MAP_NONE || state->gone)
		return NULL;
	error = &queues->errors[at];
	if (state->created_at > error->last ||
	    (state->deleted_at && state->deleted_at < error->first))
		return NULL;
	return error;
}

static void place_errors(struct gp_trace_log_queues *queues)
{
	struct gp_trace_unnamed_error *error;

	for (u32 i = 0; i < queues->count && queues->error_count; i++) {
		error = error_of(queues, i, gp_row_owner(queues, i));
		if (error)
			error->candidates++;
	}
	for (u32 i = 0; i < queues->count && queues->error_count; i++) {
		u64 owner = gp_row_owner(queues, i), nobody = gp_owner(0, queues->states[i].input);

		error = error_of(queues, i, owner);
		if (error && error->candidates == 1) {
			if (!queues->rows[i].failed)
				queues->rows[i].failure = error->failure;
			queues->rows[i].failed = true;
		} else if (error || (owner != nobody && error_of(queues, i, nobody))) {
			/* One whose pid was torn off may be of any process in the input. */
			queues->states[i].maybe_failed = true;
		}
	}
}

/* ---- what is left to say about each row ---- */

static void complete_rows(struct gp_trace_log_queues *queues)
{
	for (size_t i = 0; i < queues->count; i++) {
		struct gp_trace_log_queue *row = &queues->rows[i];
		bool has_stream = row->valid & GP_LQ_HANDLES;

		if (row->failed || !(queues->partial || queues->states[i].maybe_failed))
			row->valid |= GP_LQ_FAILED;
		/* Up to 5.4 a creation prints no count; it is for one stream. */
		if (has_stream && row->created && !(row->valid & GP_LQ_STREAMS)) {
			row->streams = (u32)row->stream_count;
			row->valid |= GP_LQ_STREAMS;
		}
		if (has_stream && row->streams_max == 0)
			row->streams_max = row->streams ? row->streams : 1;
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

static int order_rows(struct gp_trace_log_queues *queues)
{
	struct gp_trace_log_queue *ordered = malloc((queues->count + 1) * sizeof(*ordered));
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

/* Rows are in order of their processes. */
static void mark_logged_packets(struct gp_trace_log_queues *queues)
{
	for (size_t start = 0, end; start < queues->count; start = end) {
		bool logged = false;

		for (end = start; end < queues->count; end++) {
			if (queues->rows[end].pid != queues->rows[start].pid)
				break;
			logged |= has_packets(&queues->rows[end]);
		}
		for (size_t i = start; logged && i < end; i++)
			queues->rows[i].valid |= GP_LQ_PACKETS;
	}
}

int gp_trace_log_queues_finish(struct gp_trace_log_queues *queues)
{
	int ret;

	gp_trace_log_queues_settle_input(queues);
	ret = adopt_torn_rows(queues);
	if (ret == 0) {
		name_old_objects(queues);
		ret = pair_addresses(queues);
	}
	if (ret < 0)
		return ret;
	place_errors(queues);
	complete_rows(queues);
	ret = order_rows(queues);
	if (ret == 0)
		mark_logged_packets(queues);
	return ret;
}
