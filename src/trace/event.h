/*
 * The one event type. Readers turn a format into these, analyses consume them; neither knows the
 * other. An event borrows its text from the reader's buffer: a consumer copies what it keeps.
 * Fields that a source did not have are clear in `valid`.
 */
#ifndef GP_TRACE_EVENT_H
#define GP_TRACE_EVENT_H

#include "base/types.h"

enum gp_clock {
	GP_CLOCK_MONOTONIC,     /* AMD_LOG_LEVEL */
	GP_CLOCK_MONOTONIC_RAW, /* ROCr's own log */
};

enum gp_event_kind {
	GP_EVENT_OTHER, /* a line of the format that says nothing about queues */
	GP_EVENT_QUEUE_CREATED,
	GP_EVENT_QUEUE_SELECTED, /* an existing queue got one more stream */
	GP_EVENT_QUEUE_ACQUIRED,
	GP_EVENT_QUEUE_RELEASED,
	GP_EVENT_QUEUE_DELETED,
	GP_EVENT_QUEUE_ERROR, /* the runtime's queue error callback */
	GP_EVENT_DISPATCH,
	GP_EVENT_BARRIER,
	GP_EVENT_KERNEL_NAME, /* `name`; belongs to the next dispatch of the same thread */
	GP_EVENT_API_ENTER,   /* `name` */
	GP_EVENT_API_RETURN,  /* `name`; `stream` when it returned one */
	GP_EVENT_VERSION,     /* `name`: the runtime's version string */
	GP_EVENT_OLD_RUNTIME, /* a message that only ROCm 5.2 and older print */
};

enum gp_event_field {
	GP_EV_TIME = 1u << 0,
	GP_EV_PID = 1u << 1,
	GP_EV_TID = 1u << 2,
	GP_EV_QUEUE = 1u << 3,  /* queue: HWq= or the address of a life-cycle line */
	GP_EV_OBJECT = 1u << 4, /* object: SWq= */
	GP_EV_HSA_ID = 1u << 5,
	GP_EV_RPTR = 1u << 6,
	GP_EV_WPTR = 1u << 7,
	GP_EV_SIZE = 1u << 8,
	GP_EV_PRIORITY = 1u << 9,
	GP_EV_REFCOUNT = 1u << 10,
	GP_EV_STREAM = 1u << 11,
};

struct gp_event {
	enum gp_event_kind kind;
	enum gp_clock clock;
	u32 valid; /* enum gp_event_field */
	/* Found without the prefix it was written with, in a torn line or an abort's dump: whose it
	 * is may have been written all the same. */
	bool headless;
	/* The reader delivers some kinds only: what was not told may have happened. */
	bool partial;
	u64 line; /* 1-based, in its input */
	u64 time_ns;
	u32 pid;
	u64 tid; /* as logged: a pthread address or a hash, not the kernel's tid */
	u64 queue;
	u64 object;
	u64 hsa_id;
	u64 rptr, wptr; /* packets */
	u64 size;       /* packets */
	u32 priority;   /* HSA: 0 low, 1 normal, 2 high */
	u32 refcount;   /* streams on the queue after this event */
	u64 stream;
	const char *name;
	size_t name_len;
};

/* Returns 0 to go on; anything else stops the reader, which returns it. */
typedef int (*gp_event_fn)(void *ctx, const struct gp_event *event);

#endif
