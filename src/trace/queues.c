#include "trace/queues.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "trace/queues_parts.h"

struct gp_log_queues *gp_log_queues_new(void)
{
	struct gp_log_queues *queues = calloc(1, sizeof(*queues));

	if (queues)
		queues->last_row = GP_MAP_NONE;
	return queues;
}

void gp_log_queues_free(struct gp_log_queues *queues)
{
	if (!queues)
		return;
	for (size_t i = 0; i < queues->count; i++)
		free(queues->rows[i].stream_handles);
	free(queues->rows);
	free(queues->states);
	gp_map_free(&queues->by_address);
	gp_map_free(&queues->by_object);
	gp_map_free(&queues->bound);
	gp_map_free(&queues->old_pids);
	free(queues);
}

/* ---- rows ---- */

static int add_row(struct gp_log_queues *queues, u32 pid, u64 address, u32 *row)
{
	if (queues->count >= GP_MAP_NONE - 1 ||
	    gp_array_grow((void **)&queues->rows, queues->count, &queues->capacity,
			  sizeof(*queues->rows)) < 0 ||
	    gp_array_grow((void **)&queues->states, queues->count, &queues->state_capacity,
			  sizeof(*queues->states)) < 0 ||
	    gp_map_put(&queues->by_address, pid, address, (u32)queues->count) < 0)
		return -ENOMEM;
	*row = (u32)queues->count++;
	queues->rows[*row] = (struct gp_log_queue){.pid = pid, .address = address};
	queues->states[*row] = (struct gp_queue_state){.used = false};
	return 0;
}

static int find_row(struct gp_log_queues *queues, u32 pid, u64 address, u32 *row)
{
	*row = queues->last_row;
	if (*row != GP_MAP_NONE && queues->rows[*row].pid == pid &&
	    queues->rows[*row].address == address)
		return 0;
	*row = gp_map_get(&queues->by_address, pid, address);
	if (*row == GP_MAP_NONE && add_row(queues, pid, address, row) < 0)
		return -ENOMEM;
	queues->last_row = *row;
	return 0;
}

static u32 event_pid(const struct gp_event *event)
{
	return event->valid & GP_EV_PID ? event->pid : 0;
}

/* ---- what a line says about a queue ---- */

static int note_identity(struct gp_log_queues *queues, u32 index, const struct gp_event *event)
{
	struct gp_log_queue *row = &queues->rows[index];

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
	return gp_map_put(&queues->by_object, row->pid, row->object, index);
}

void gp_log_queue_used_at(struct gp_log_queue *row, struct gp_queue_state *state, u64 time_ns,
			  enum gp_clock clock)
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

static int packet(struct gp_log_queues *queues, const struct gp_event *event)
{
	struct gp_log_queue *row;
	struct gp_queue_state *state;
	u32 index;

	if (find_row(queues, event_pid(event), event->queue, &index) < 0)
		return -ENOMEM;
	row = &queues->rows[index];
	state = &queues->states[index];
	if (event->kind == GP_EVENT_DISPATCH)
		row->dispatches++;
	else
		row->barriers++;
	if (event->valid & GP_EV_TIME)
		gp_log_queue_used_at(row, state, event->time_ns, event->clock);
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

static void note_refcount(struct gp_log_queue *row, const struct gp_event *event)
{
	if (!(event->valid & GP_EV_REFCOUNT))
		return;
	row->streams = event->refcount;
	if (row->streams > row->streams_max)
		row->streams_max = row->streams;
	row->valid |= GP_LQ_STREAMS;
}

static void note_created(struct gp_log_queue *row, struct gp_queue_state *state,
			 const struct gp_event *event)
{
	row->created = true;
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

/* ---- streams ---- */

static struct gp_open_call *find_call(struct gp_log_queues *queues, const struct gp_event *event)
{
	bool has_tid = event->valid & GP_EV_TID;

	for (size_t i = 0; i < queues->call_count; i++) {
		struct gp_open_call *call = &queues->calls[i];

		if (call->pid == event_pid(event) && call->has_tid == has_tid &&
		    (!has_tid || call->tid == event->tid))
			return call;
	}
	return NULL;
}

static bool creates_stream(const struct gp_event *event)
{
	static const char hip[] = "hipStreamCreate", ext[] = "hipExtStreamCreate";

	return (event->name_len >= sizeof(hip) - 1 &&
		memcmp(event->name, hip, sizeof(hip) - 1) == 0) ||
	       (event->name_len >= sizeof(ext) - 1 &&
		memcmp(event->name, ext, sizeof(ext) - 1) == 0);
}

static void call_enters(struct gp_log_queues *queues, const struct gp_event *event)
{
	struct gp_open_call *call = find_call(queues, event);

	if (!call && queues->call_count < GP_OPEN_CALLS) {
		call = &queues->calls[queues->call_count++];
	} else if (!call) {
		call = &queues->calls[0];
		for (size_t i = 1; i < GP_OPEN_CALLS; i++)
			if (queues->calls[i].entered < call->entered)
				call = &queues->calls[i];
	}
	*call = (struct gp_open_call){
		.pid = event_pid(event),
		.has_tid = event->valid & GP_EV_TID,
		.tid = event->valid & GP_EV_TID ? event->tid : 0,
		.row = GP_MAP_NONE,
		.entered = queues->events,
	};
}

int gp_log_queue_bind(struct gp_log_queues *queues, u32 index, u64 stream)
{
	struct gp_log_queue *row = &queues->rows[index];

	if (gp_map_get(&queues->bound, index, stream) != GP_MAP_NONE)
		return 0;
	if (gp_array_grow((void **)&row->stream_handles, row->stream_count, &row->stream_capacity,
			  sizeof(*row->stream_handles)) < 0)
		return -ENOMEM;
	row->stream_handles[row->stream_count++] = stream;
	return gp_map_put(&queues->bound, index, stream, 1);
}

static int call_returns(struct gp_log_queues *queues, const struct gp_event *event)
{
	struct gp_open_call *call = find_call(queues, event);
	u32 row;

	if (!call)
		return 0;
	row = call->row;
	*call = queues->calls[--queues->call_count];
	if (row == GP_MAP_NONE || !(event->valid & GP_EV_STREAM))
		return 0;
	return gp_log_queue_bind(queues, row, event->stream);
}

/* ---- events ---- */

static int life_cycle(struct gp_log_queues *queues, const struct gp_event *event)
{
	struct gp_open_call *call;
	struct gp_log_queue *row;
	u32 index;

	if (find_row(queues, event_pid(event), event->queue, &index) < 0)
		return -ENOMEM;
	row = &queues->rows[index];
	note_refcount(row, event);
	row->deleted = event->kind == GP_EVENT_QUEUE_DELETED;
	if (event->kind == GP_EVENT_QUEUE_CREATED)
		note_created(row, &queues->states[index], event);
	if (event->kind == GP_EVENT_QUEUE_CREATED || event->kind == GP_EVENT_QUEUE_SELECTED ||
	    event->kind == GP_EVENT_QUEUE_ACQUIRED) {
		call = find_call(queues, event);
		if (call)
			call->row = index;
	}
	return note_identity(queues, index, event);
}

/* The callback's pointer may be either address of a queue that is known already. */
static int failure(struct gp_log_queues *queues, const struct gp_event *event)
{
	u32 pid = event_pid(event);
	u32 row = gp_map_get(&queues->by_address, pid, event->queue);

	if (row == GP_MAP_NONE)
		row = gp_map_get(&queues->by_object, pid, event->queue);
	if (row == GP_MAP_NONE && add_row(queues, pid, event->queue, &row) < 0)
		return -ENOMEM;
	queues->rows[row].failed = true;
	return 0;
}

static int old_runtime(struct gp_log_queues *queues, const struct gp_event *event)
{
	u32 pid = event_pid(event);

	if (queues->has_last_old_pid && queues->last_old_pid == pid)
		return 0;
	queues->has_last_old_pid = true;
	queues->last_old_pid = pid;
	return gp_map_put(&queues->old_pids, pid, 0, 1);
}

int gp_log_queues_event(void *ctx, const struct gp_event *event)
{
	struct gp_log_queues *queues = ctx;
	bool has_queue = event->valid & GP_EV_QUEUE;
	u32 row;

	queues->events++;
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
		return has_queue ? failure(queues, event) : 0;
	case GP_EVENT_API_ENTER:
		if (creates_stream(event))
			call_enters(queues, event);
		return 0;
	case GP_EVENT_API_RETURN:
		return creates_stream(event) ? call_returns(queues, event) : 0;
	case GP_EVENT_OLD_RUNTIME:
		return old_runtime(queues, event);
	case GP_EVENT_OTHER:
		if (!has_queue)
			return 0;
		if (find_row(queues, event_pid(event), event->queue, &row) < 0)
			return -ENOMEM;
		return note_identity(queues, row, event);
	case GP_EVENT_KERNEL_NAME:
	case GP_EVENT_VERSION:
		return 0;
	}
	return 0;
}

const struct gp_log_queue *gp_log_queues_items(const struct gp_log_queues *queues, size_t *count)
{
	*count = queues->count;
	return queues->rows;
}
