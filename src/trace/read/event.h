/* SPDX-License-Identifier: MIT */
/*
 * The one event type. Readers turn a format into these, analyses consume them; neither knows the
 * other. An event borrows its text from the reader's buffer: a consumer copies what it keeps.
 * Fields that a source did not have are clear in `valid`.
 */
#ifndef GP_TRACE_READ_EVENT_H
#define GP_TRACE_READ_EVENT_H

#include "base/types.h"

enum gp_trace_clock {
	GP_CLOCK_MONOTONIC,     /* AMD_LOG_LEVEL */
	GP_CLOCK_MONOTONIC_RAW, /* the log of ROCr */
	GP_CLOCK_BOOTTIME,      /* rocprof */
	GP_CLOCK_TRACE,         /* ftrace: what trace_clock was set to; "local" unless changed */
	GP_CLOCK_DMESG,         /* of the kernel log, near the local clock of ftrace */
};

enum gp_event_kind {
	GP_EVENT_OTHER, /* a line of the format that says nothing about queues */
	GP_EVENT_QUEUE_CREATED,
	GP_EVENT_QUEUE_SELECTED, /* an existing queue got one more stream */
	GP_EVENT_QUEUE_ACQUIRED,
	GP_EVENT_QUEUE_RELEASED,
	GP_EVENT_QUEUE_DELETED,
	GP_EVENT_QUEUE_ERROR, /* the runtime's queue error callback; `name`: HSA_STATUS_... */
	GP_EVENT_DISPATCH,
	GP_EVENT_BARRIER,
	GP_EVENT_KERNEL_NAME, /* `name`; belongs to the next dispatch of the same thread */
	GP_EVENT_API_ENTER,   /* `name`; `text`: its arguments */
	GP_EVENT_API_RETURN,  /* `name`; `stream` when it returned one */
	GP_EVENT_VERSION,     /* `name`: the runtime's version string */
	GP_EVENT_OLD_RUNTIME, /* a message that only ROCm 5.2 and older print */
	GP_EVENT_COPY_START,  /* the runtime hands a copy to a copy engine; `text`: its fields */
	GP_EVENT_WAIT, /* a host thread waits for a signal, named in `text`, until its next line */
	GP_EVENT_KFD,  /* a log line of KFD; `name`: which, `text`: its key=value fields */
	GP_EVENT_CALL, /* a finished API call: `name`, time, duration, `layer` */
	GP_EVENT_KERNEL,   /* a kernel that ran on the GPU: `name`, time, duration */
	GP_EVENT_COPY,     /* a finished copy: `name` (direction), time, duration */
	GP_EVENT_TOTAL,    /* a line of a profiler's summary: `name`, `count`, `duration_ns` */
	GP_EVENT_AGENT,    /* a device: `name`; `gpu` is its node, `count` its compute units */
	GP_EVENT_ENTER,    /* a kernel function was entered: `name` */
	GP_EVENT_LEAVE,    /* and left; `duration_ns` if the tracer has it */
	GP_EVENT_POINT,    /* a tracepoint or probe hit: `name`, `text` */
	GP_EVENT_MARK,     /* written into the trace by a program: `text` */
	GP_EVENT_DECISION, /* of gpreemptd: `name` what, `text` why; `count` the errno it met */
	GP_EVENT_PROCESS,  /* a tool's list has it: `name`, `gpu` or `count` of them, `size` */
	GP_EVENT_LOST,     /* the tracer dropped `count` events (0 = it does not say) */
};

/* Where a finished call, or a line of a summary, belongs. */
enum gp_trace_layer { GP_LAYER_HIP, GP_LAYER_HSA, GP_LAYER_COPY, GP_LAYER_KERNEL, GP_LAYER_OTHER };

enum gp_trace_event_field {
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
	GP_EV_DURATION = 1u << 12,
	GP_EV_CPU = 1u << 13,
	GP_EV_GRID = 1u << 14, /* grid and workgroup */
	GP_EV_GPU = 1u << 15,
	GP_EV_REGISTERS = 1u << 16, /* vgpr, sgpr */
	GP_EV_CORRELATION = 1u << 17,
	GP_EV_COUNT = 1u << 18,
	GP_EV_STAGES = 1u << 19, /* dispatch_ns and complete_ns */
	GP_EV_BYTES = 1u << 20,  /* size, in bytes: of a call's or copy's memory */
	GP_EV_WAVE = 1u << 21,
	GP_EV_LDS = 1u << 22, /* lds, scratch */
};

struct gp_event {
	enum gp_event_kind kind;
	enum gp_trace_clock clock;
	u32 valid; /* enum gp_trace_event_field */
	/* Found without the prefix it was written with, in a torn line or an abort's dump: whose it
	 * is may have been written all the same. */
	bool headless;
	/* The reader delivers some kinds only: events of other kinds may have happened. */
	bool partial;
	u64 line; /* 1-based, in its input */
	u64 time_ns;
	u32 pid;
	u64 tid; /* as logged: a pthread address or a hash, not the kernel's tid */
	u64 queue;
	u64 object;
	u64 hsa_id;
	u64 rptr, wptr; /* packets */
	u64 size;       /* packets; with GP_EV_BYTES bytes */
	u32 priority;   /* HSA: 0 low, 1 normal, 2 high; of a KERNEL: the job's logical one */
	u32 refcount;   /* streams on the queue after this event */
	u64 stream;
	const char *name;
	size_t name_len;
	/* What follows; of packets (behind "Header") and of the kinds that say so only. */
	const char *text;
	size_t text_len;
	/* Of GP_EVENT_CALL and the kinds behind it only. */
	u64 duration_ns;
	enum gp_trace_layer layer;
	u32 cpu;
	u64 gpu;
	u64 grid, workgroup; /* work-items, all dimensions multiplied */
	u32 vgpr, sgpr, wave;
	u64 lds, scratch; /* bytes */
	u64 correlation;
	u64 count;
	u64 dispatch_ns, complete_ns; /* handed to the queue, seen complete */
};

/* Returns 0 to go on; anything else stops the reader, which returns it. */
typedef int (*gp_event_fn)(void *ctx, const struct gp_event *event);

#endif
