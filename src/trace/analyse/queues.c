// SPDX-License-Identifier: MIT
#include "trace/analyse/queues.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "trace/analyse/queues_parts.h"

struct gp_trace_log_queues *gp_trace_log_queues_new(void)
{
	struct gp_trace_log_queues *queues = calloc(1, sizeof(*queues));

	if (queues)
		queues->last_row = GP_MAP_NONE;
	return queues;
}

void gp_trace_log_queues_free(struct gp_trace_log_queues *queues)
{
	if (!queues)
		return;
	for (size_t i = 0; i < queues->count; i++)
		free(queues->rows[i].stream_handles);
	free(queues->rows);
	free(queues->states);
	free(queues->errors);
	gp_map_free(&queues->by_address);
	gp_map_free(&queues->by_object);
	gp_map_free(&queues->bound);
	gp_map_free(&queues->old_owners);
	gp_map_free(&queues->erring);
	gp_map_free(&queues->users);
	free(queues);
}

void gp_trace_log_queues_next_input(struct gp_trace_log_queues *queues)
{
	gp_trace_log_queues_settle_input(queues);
	queues->input++;
	queues->input_row = queues->count;
	queues->with_pid = queues->without_pid = 0;
	queues->last_row = GP_MAP_NONE;
}

/* ---- rows ---- */

static u32 event_pid(const struct gp_event *event)
{
	return event->valid & GP_EV_PID ? event->pid : 0;
}

/* Who uses this address in this input, for lines that lost their pid. */
static int note_user(struct gp_trace_log_queues *queues, u32 row)
{
	u64 address = queues->rows[row].address;
	u32 before = gp_map_get(&queues->users, queues->input, address);

	queues->states[row].input = queues->input;
	if (!queues->rows[row].pid || before == row)
		return 0;
	return gp_map_put(&queues->users, queues->input, address,
			  before == GP_MAP_NONE ? row : GP_SEVERAL);
}

static int add_row(struct gp_trace_log_queues *queues, const struct gp_event *event, u32 *row)
{
	if (queues->count >= GP_SEVERAL ||
	    gp_array_grow((void **)&queues->rows, queues->count, &queues->capacity,
			  sizeof(*queues->rows)) < 0 ||
	    gp_array_grow((void **)&queues->states, queues->count, &queues->state_capacity,
			  sizeof(*queues->states)) < 0 ||
	    gp_map_put(&queues->by_address, gp_event_owner(queues, event), event->queue,
		       (u32)queues->count) < 0)
		return -ENOMEM;
	*row = (u32)queues->count++;
	queues->rows[*row] =
		(struct gp_trace_log_queue){.pid = event_pid(event), .address = event->queue};
	queues->states[*row] = (struct gp_trace_queue_state){.used = false};
	queues->last_row = *row;
	return note_user(queues, *row);
}

/* A line without pid: written so, or torn? */
static void note_prefix(struct gp_trace_queue_state *state, const struct gp_event *event)
{
	state->prefixed |= !event->headless;
	state->threaded |= !event->headless && (event->valid & GP_EV_TID);
}

static int find_row(struct gp_trace_log_queues *queues, const struct gp_event *event, u32 *row)
{
	u32 pid = event_pid(event);

	*row = queues->last_row;
	if (*row == GP_MAP_NONE || queues->rows[*row].pid != pid ||
	    queues->rows[*row].address != event->queue) {
		*row = gp_map_get(&queues->by_address, gp_event_owner(queues, event), event->queue);
		if (*row == GP_MAP_NONE && add_row(queues, event, row) < 0)
			return -ENOMEM;
		if (queues->states[*row].input != queues->input && note_user(queues, *row) < 0)
			return -ENOMEM;
		queues->last_row = *row;
	}
	if (!pid)
		note_prefix(&queues->states[*row], event);
	return 0;
}

/*
 * Addresses are used again. A queue cannot be created twice, nor get a stream once it is deleted:
 * then it is a new one, even if the log did not say that the old one went.
 */
static int find_living_row(struct gp_trace_log_queues *queues, const struct gp_event *event,
			   u32 *row)
{
	struct gp_trace_log_queue *old;
	bool anew;

	if (find_row(queues, event, row) < 0)
		return -ENOMEM;
	old = &queues->rows[*row];
	anew = event->kind == GP_EVENT_QUEUE_CREATED
		       ? old->created || old->deleted
		       : old->deleted && (event->kind == GP_EVENT_QUEUE_SELECTED ||
					  event->kind == GP_EVENT_QUEUE_ACQUIRED);
	if (!anew)
		return 0;
	if (!old->deleted)
		queues->states[*row].deleted_at = queues->events;
	old->deleted = true;
	if (add_row(queues, event, row) < 0)
		return -ENOMEM;
	if (!event_pid(event))
		note_prefix(&queues->states[*row], event);
	return 0;
}

/* ---- what a line says about a queue ---- */

static int note_identity(struct gp_trace_log_queues *queues, u32 index,
			 const struct gp_event *event)
{
	struct gp_trace_log_queue *row = &queues->rows[index];

	if (event->valid & GP_EV_HSA_ID) {
		row->hsa_id = event->hsa_id;
		row->valid |= GP_LQ_HSA_ID;
	}
	if (!(event->valid & GP_EV_OBJECT))
		return 0;
	/* Only 6.2 and later print the object, and then the other address is the ring. */
	row->key = GP_ADDRESS_RING;
	if ((row->valid & GP_LQ_OBJECT) && row->object == event->object)
		return 0;
	row->object = event->object;
	row->valid |= GP_LQ_OBJECT;
	return gp_map_put(&queues->by_object, gp_row_owner(queues, index), row->object, index);
}

void gp_trace_log_queue_used_at(struct gp_trace_log_queue *row, struct gp_trace_queue_state *state,
				u64 time_ns, enum gp_trace_clock clock)
{
	bool replace = !(row->valid & GP_LQ_FIRST) || !state->used ||
		       (state->clock == GP_CLOCK_MONOTONIC_RAW && clock == GP_CLOCK_MONOTONIC);

	if (!replace && clock != state->clock)
		return;
	/* Lines of different threads are not in order. */
	if (replace || time_ns < row->first_ns)
		row->first_ns = time_ns;
	if (replace || time_ns > row->last_ns)
		row->last_ns = time_ns;
	row->valid |= GP_LQ_FIRST;
	state->used = true;
	state->clock = clock;
}

static int packet(struct gp_trace_log_queues *queues, const struct gp_event *event)
{
	struct gp_trace_log_queue *row;
	struct gp_trace_queue_state *state;
	u32 index;

	if (find_row(queues, event, &index) < 0)
		return -ENOMEM;
	row = &queues->rows[index];
	state = &queues->states[index];
	if (!state->used_at)
		state->used_at = queues->events;
	if (event->kind == GP_EVENT_DISPATCH)
		row->dispatches++;
	else
		row->barriers++;
	if (event->valid & GP_EV_TIME)
		gp_trace_log_queue_used_at(row, state, event->time_ns, event->clock);
	if (event->valid & GP_EV_RPTR) {
		row->rptr = event->rptr;
		row->valid |= GP_LQ_RPTR;
		state->pointers_at = queues->events;
		/* The two belong together: a pointer of an older packet would lie about the
		 * backlog. */
		row->valid &= ~(u32)GP_LQ_WPTR;
	}
	if (event->valid & GP_EV_WPTR) {
		row->wptr = event->wptr;
		row->valid |= GP_LQ_WPTR;
	}
	return note_identity(queues, index, event);
}

static void note_refcount(struct gp_trace_log_queue *row, const struct gp_event *event)
{
	if (!(event->valid & GP_EV_REFCOUNT))
		return;
	row->streams = event->refcount;
	if (row->streams > row->streams_max)
		row->streams_max = row->streams;
	row->valid |= GP_LQ_STREAMS;
}

static void note_created(struct gp_trace_log_queues *queues, u32 index,
			 const struct gp_event *event)
{
	struct gp_trace_log_queue *row = &queues->rows[index];
	struct gp_trace_queue_state *state = &queues->states[index];

	row->created = true;
	state->created_at = queues->events;
	if ((event->valid & GP_EV_TIME) && event->clock == GP_CLOCK_MONOTONIC)
		state->created_ns = event->time_ns;
	if (event->valid & GP_EV_SIZE) {
		row->size_packets = event->size;
		row->valid |= GP_LQ_SIZE;
	}
	if (event->valid & GP_EV_PRIORITY) {
		row->priority = event->priority;
		row->valid |= GP_LQ_PRIORITY;
	}
	if ((event->valid & GP_EV_TIME) && !(row->valid & GP_LQ_FIRST)) {
		row->first_ns = row->last_ns = event->time_ns;
		row->valid |= GP_LQ_FIRST;
		state->clock = event->clock;
	}
}

/* Packets say when it was used; a log without them (AMD_LOG_LEVEL=3) how long it lived. */
static void note_life(struct gp_trace_log_queue *row, const struct gp_trace_queue_state *state,
		      const struct gp_event *event)
{
	if (!state->used && row->valid & GP_LQ_FIRST && event->valid & GP_EV_TIME &&
	    event->clock == state->clock && event->time_ns > row->last_ns)
		row->last_ns = event->time_ns;
}

/* ---- events ---- */

static int life_cycle(struct gp_trace_log_queues *queues, const struct gp_event *event)
{
	u32 index;

	if (find_living_row(queues, event, &index) < 0)
		return -ENOMEM;
	note_refcount(&queues->rows[index], event);
	note_life(&queues->rows[index], &queues->states[index], event);
	switch (event->kind) {
	case GP_EVENT_QUEUE_DELETED:
		queues->rows[index].deleted = true;
		queues->states[index].deleted_at = queues->events;
		break;
	case GP_EVENT_QUEUE_CREATED:
		note_created(queues, index, event);
		gp_trace_log_queues_call_named(queues, event, index);
		break;
	case GP_EVENT_QUEUE_SELECTED:
	case GP_EVENT_QUEUE_ACQUIRED:
		gp_trace_log_queues_call_named(queues, event, index);
		break;
	default:
		break;
	}
	return note_identity(queues, index, event);
}

static struct gp_trace_failure failure_of(const struct gp_event *event)
{
	struct gp_trace_failure failure = {.line = event->line};

	snprintf(failure.error, sizeof(failure.error), "%.*s",
		 (int)(event->name_len < 64 ? event->name_len : 63),
		 event->name ? event->name : "");
	return failure;
}

/* Up to 5.4 the message does not name the queue: kept until all queues are known. */
static int unnamed_failure(struct gp_trace_log_queues *queues, const struct gp_event *event)
{
	u64 owner = gp_event_owner(queues, event);
	u32 at = gp_map_get(&queues->erring, owner, 0);

	if (at != GP_MAP_NONE) {
		queues->errors[at].last = queues->events;
		return 0;
	}
	if (gp_array_grow((void **)&queues->errors, queues->error_count, &queues->error_capacity,
			  sizeof(*queues->errors)) < 0 ||
	    gp_map_put(&queues->erring, owner, 0, (u32)queues->error_count) < 0)
		return -ENOMEM;
	queues->errors[queues->error_count++] =
		(struct gp_trace_unnamed_error){.first = queues->events,
						.last = queues->events,
						.failure = failure_of(event)};
	return 0;
}

/* The callback's pointer may be either address of a queue that is known already. */
static int failure(struct gp_trace_log_queues *queues, const struct gp_event *event)
{
	u64 owner = gp_event_owner(queues, event);
	u32 row;

	if (!(event->valid & GP_EV_QUEUE))
		return unnamed_failure(queues, event);
	row = gp_map_get(&queues->by_address, owner, event->queue);
	if (row == GP_MAP_NONE)
		row = gp_map_get(&queues->by_object, owner, event->queue);
	if (row == GP_MAP_NONE && find_row(queues, event, &row) < 0)
		return -ENOMEM;
	if (!queues->rows[row].failed)
		queues->rows[row].failure = failure_of(event);
	queues->rows[row].failed = true;
	return 0;
}

static int old_runtime(struct gp_trace_log_queues *queues, const struct gp_event *event)
{
	u64 owner = gp_event_owner(queues, event);

	if (queues->last_old == owner)
		return 0;
	queues->last_old = owner;
	return gp_map_put(&queues->old_owners, owner, 0, 1);
}

int gp_trace_log_queues_event(void *ctx, const struct gp_event *event)
{
	struct gp_trace_log_queues *queues = ctx;
	bool has_queue = event->valid & GP_EV_QUEUE;
	u32 row;

	queues->events++;
	queues->partial |= event->partial;
	if (has_queue && !event->headless)
		++*(event->valid & GP_EV_PID ? &queues->with_pid : &queues->without_pid);
	switch (event->kind) {
	case GP_EVENT_DISPATCH:
	case GP_EVENT_BARRIER:
		return has_queue ? packet(queues, event) : 0;
	case GP_EVENT_QUEUE_CREATED:
	case GP_EVENT_QUEUE_SELECTED:
	case GP_EVENT_QUEUE_ACQUIRED:
	case GP_EVENT_QUEUE_RELEASED:
	case GP_EVENT_QUEUE_DELETED:
		return has_queue ? life_cycle(queues, event) : 0;
	case GP_EVENT_QUEUE_ERROR:
		return failure(queues, event);
	case GP_EVENT_API_ENTER:
	case GP_EVENT_API_RETURN:
		return gp_trace_log_queues_call(queues, event);
	case GP_EVENT_OLD_RUNTIME:
		return old_runtime(queues, event);
	case GP_EVENT_OTHER:
		if (!has_queue)
			return 0;
		if (find_row(queues, event, &row) < 0)
			return -ENOMEM;
		return note_identity(queues, row, event);
	default: /* kinds that say nothing about queues */
		return 0;
	}
}

const struct gp_trace_log_queue *gp_trace_log_queues_items(const struct gp_trace_log_queues *queues,
							   size_t *count)
{
	*count = queues->count;
	return queues->rows;
}
