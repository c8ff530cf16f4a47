// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "trace/analyse/queues_parts.h"

static struct gp_trace_open_call *find_call(struct gp_trace_log_queues *queues,
					    const struct gp_event *event)
{
	bool has_tid = event->valid & GP_EV_TID;
	u64 owner = gp_event_owner(queues, event);

	for (size_t i = 0; i < queues->call_count; i++) {
		struct gp_trace_open_call *call = &queues->calls[i];

		if (call->owner == owner && call->has_tid == has_tid &&
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

static struct gp_trace_open_call *free_call(struct gp_trace_log_queues *queues)
{
	struct gp_trace_open_call *oldest = &queues->calls[0];

	if (queues->call_count < GP_OPEN_CALLS)
		return &queues->calls[queues->call_count++];
	for (size_t i = 1; i < GP_OPEN_CALLS; i++)
		if (queues->calls[i].entered < oldest->entered)
			oldest = &queues->calls[i];
	return oldest;
}

static void call_enters(struct gp_trace_log_queues *queues, const struct gp_event *event)
{
	struct gp_trace_open_call *call = find_call(queues, event);

	/* Without threads the queue that is named next may be of either call. */
	if (call && !call->has_tid) {
		call->unclear = true;
		call->depth++;
		return;
	}
	if (!call)
		call = free_call(queues);
	*call = (struct gp_trace_open_call){
		.owner = gp_event_owner(queues, event),
		.has_tid = event->valid & GP_EV_TID,
		.tid = event->valid & GP_EV_TID ? event->tid : 0,
		.row = GP_MAP_NONE,
		.depth = 1,
		.entered = queues->events,
	};
}

int gp_trace_log_queue_bind(struct gp_trace_log_queues *queues, u32 index, u64 stream)
{
	struct gp_trace_log_queue *row = &queues->rows[index];

	if (gp_map_get(&queues->bound, index, stream) != GP_MAP_NONE)
		return 0;
	if (gp_array_grow((void **)&row->stream_handles, row->stream_count, &row->stream_capacity,
			  sizeof(*row->stream_handles)) < 0)
		return -ENOMEM;
	row->stream_handles[row->stream_count++] = stream;
	row->valid |= GP_LQ_HANDLES;
	return gp_map_put(&queues->bound, index, stream, 1);
}

static int call_returns(struct gp_trace_log_queues *queues, const struct gp_event *event)
{
	struct gp_trace_open_call *call = find_call(queues, event), closed;

	if (!call || --call->depth > 0)
		return 0;
	closed = *call;
	*call = queues->calls[--queues->call_count];
	if (closed.unclear || closed.row == GP_MAP_NONE || !(event->valid & GP_EV_STREAM))
		return 0;
	return gp_trace_log_queue_bind(queues, closed.row, event->stream);
}

/* Another thread works: without thread ids, its queue would look like that of the open call. */
static void other_call(struct gp_trace_log_queues *queues, const struct gp_event *event)
{
	struct gp_trace_open_call *call;

	if (!queues->call_count || (event->valid & GP_EV_TID))
		return;
	call = find_call(queues, event);
	if (call)
		call->unclear = true;
}

int gp_trace_log_queues_call(struct gp_trace_log_queues *queues, const struct gp_event *event)
{
	if (!creates_stream(event))
		other_call(queues, event);
	else if (event->kind == GP_EVENT_API_ENTER)
		call_enters(queues, event);
	else
		return call_returns(queues, event);
	return 0;
}

void gp_trace_log_queues_call_named(struct gp_trace_log_queues *queues,
				    const struct gp_event *event, u32 row)
{
	struct gp_trace_open_call *call = find_call(queues, event);

	if (!call)
		return;
	if (!call->has_tid && call->row != GP_MAP_NONE && call->row != row)
		call->unclear = true;
	call->row = row;
}
