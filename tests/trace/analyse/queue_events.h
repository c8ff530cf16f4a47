/* SPDX-License-Identifier: MIT */
/* Events for the queue analysis, without a log. */
#ifndef GP_TEST_TRACE_QUEUE_EVENTS_H
#define GP_TEST_TRACE_QUEUE_EVENTS_H

#include "logs.h"

static inline struct gp_trace_log_queues *queues_new(void **state)
{
	struct gp_trace_log_queues *queues = gp_trace_log_queues_new();

	(void)state;
	assert_non_null(queues);
	return queues;
}

static inline void feed(struct gp_trace_log_queues *queues, struct gp_event event)
{
	assert_int_equal(gp_trace_log_queues_event(queues, &event), 0);
}

static inline void feed_call(struct gp_trace_log_queues *queues, enum gp_event_kind kind, u64 tid,
			     u64 stream)
{
	const char *name = "hipStreamCreateWithFlags";

	feed(queues, (struct gp_event){.kind = kind,
				       .valid = GP_EV_PID | GP_EV_TID | (stream ? GP_EV_STREAM : 0),
				       .pid = 7,
				       .tid = tid,
				       .stream = stream,
				       .name = name,
				       .name_len = strlen(name)});
}

static inline void feed_selected(struct gp_trace_log_queues *queues, u64 tid, u64 queue)
{
	feed(queues, (struct gp_event){.kind = GP_EVENT_QUEUE_SELECTED,
				       .valid = GP_EV_PID | GP_EV_TID | GP_EV_QUEUE,
				       .pid = 7,
				       .tid = tid,
				       .queue = queue});
}

static inline void feed_packet(struct gp_trace_log_queues *queues, u32 pid, u64 queue, u64 time_ns,
			       enum gp_trace_clock clock)
{
	feed(queues, (struct gp_event){.kind = GP_EVENT_DISPATCH,
				       .clock = clock,
				       .valid = (pid ? GP_EV_PID : 0) | GP_EV_QUEUE |
						(time_ns ? GP_EV_TIME : 0),
				       .pid = pid,
				       .time_ns = time_ns,
				       .queue = queue});
}

static inline void feed_created(struct gp_trace_log_queues *queues, u32 pid, u64 queue)
{
	feed(queues, (struct gp_event){.kind = GP_EVENT_QUEUE_CREATED,
				       .valid = GP_EV_PID | GP_EV_QUEUE | GP_EV_SIZE | GP_EV_TIME |
						GP_EV_PRIORITY,
				       .pid = pid,
				       .time_ns = 5,
				       .size = 64,
				       .priority = 2,
				       .queue = queue});
}

static inline void feed_life(struct gp_trace_log_queues *queues, enum gp_event_kind kind, u32 pid,
			     u64 queue, int refcount)
{
	feed(queues, (struct gp_event){.kind = kind,
				       .valid = (pid ? GP_EV_PID : 0) | GP_EV_QUEUE |
						(refcount < 0 ? 0 : GP_EV_REFCOUNT),
				       .pid = pid,
				       .refcount = (u32)refcount,
				       .queue = queue});
}

/* What is left of a packet's line when its beginning went into another. */
static inline void feed_tail(struct gp_trace_log_queues *queues, u64 queue)
{
	feed(queues, (struct gp_event){.kind = GP_EVENT_DISPATCH,
				       .valid = GP_EV_QUEUE,
				       .headless = true,
				       .queue = queue});
}

static inline const struct gp_trace_log_queue *finish(struct gp_trace_log_queues *queues,
						      size_t *count)
{
	assert_int_equal(gp_trace_log_queues_finish(queues), 0);
	return gp_trace_log_queues_items(queues, count);
}

#endif
