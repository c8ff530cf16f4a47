/* SPDX-License-Identifier: MIT */
/*
 * The inside of the timeline of events: perfetto.c has the tracks, and profiles; perfetto_log.c
 * follows the AMD log from call to completion; perfetto_kernel.c nests kernel functions.
 */
#ifndef GP_TRACE_ANALYSE_PERFETTO_PARTS_H
#define GP_TRACE_ANALYSE_PERFETTO_PARTS_H

#include "base/string_table.h"
#include "show/timeline.h"
#include "trace/analyse/perfetto.h"

#define GP_PERFETTO_CLOCKS 8

enum gp_trace_perfetto_group { GP_GROUP_PROCESS, GP_GROUP_GPU, GP_GROUP_COPIES, GP_GROUP_KERNEL };

/* A packet or a dispatch has no duration, but a flow needs a slice with a length. */
#define GP_PERFETTO_POINT_NS 1

struct gp_trace_perfetto_thread;
struct gp_trace_perfetto_queue;
struct gp_trace_perfetto_stack;
struct gp_trace_perfetto_change;

struct gp_trace_perfetto {
	struct gp_timeline timeline;
	bool started[GP_PERFETTO_CLOCKS];
	u64 base[GP_PERFETTO_CLOCKS];
	struct gp_map processes; /* (clock and group, pid or gpu) -> number */
	u32 process_count;
	struct gp_map track_map;        /* (process, key) -> track */
	struct gp_timeline_lanes lanes; /* of queues and streams */
	size_t track_count;
	struct gp_strings names;
	u64 flows; /* numbered here */
	/* Calls may come behind the kernels that they submit, or not be in the data. */
	struct gp_map submitted;            /* (correlation) -> its call was seen */
	struct gp_timeline_event *awaiting; /* flows to kernels whose call was not */
	size_t awaiting_count, awaiting_capacity;
	/* The AMD log. */
	struct gp_map thread_map; /* (pid, tid) -> number */
	struct gp_trace_perfetto_thread *threads;
	size_t thread_count, thread_capacity;
	struct gp_map queue_map; /* (pid, queue) -> number */
	struct gp_trace_perfetto_queue *queues;
	size_t queue_count, queue_capacity;
	struct gp_map signals; /* (pid, signal) -> queue of the packet that has it, */
	struct gp_map packets; /* and which packet of that queue */
	/* Counters. */
	struct gp_trace_perfetto_change *changes; /* of what runs on a GPU */
	size_t change_count, change_capacity;
	struct gp_map held; /* (pid) -> 1 while gpreemptd keeps its job suspended */
	u64 held_count;
	/* Kernel functions. */
	struct gp_map stack_map; /* (track) -> number */
	struct gp_trace_perfetto_stack *stacks;
	size_t stack_count, stack_capacity;
};

/* The number of a process or GPU on a clock. */
int gp_trace_perfetto_process(struct gp_trace_perfetto *p, const struct gp_event *event,
			      enum gp_trace_perfetto_group group, u64 who, u32 *id);
/* The track of a thread, stream or queue; `title` is written when it is new. */
int gp_trace_perfetto_track(struct gp_trace_perfetto *p, u32 process, u64 key, const char *title,
			    u32 *id);
/* The track of the event's thread. */
int gp_trace_perfetto_thread_track(struct gp_trace_perfetto *p, const struct gp_event *event,
				   enum gp_trace_perfetto_group group, u32 *pid, u32 *tid);
/* The begin ('B') or end ('E') of a slice. */
void gp_trace_perfetto_mark(struct gp_trace_perfetto *p, char phase, u32 pid, u32 tid,
			    const char *name, size_t len, const struct gp_event *event);
void gp_trace_perfetto_slice(struct gp_trace_perfetto *p, u32 pid, u32 tid, const char *name,
			     size_t len, const struct gp_event *event, u64 begin, u64 length);
int gp_trace_perfetto_instant(struct gp_trace_perfetto *p, u32 pid, u32 tid, const char *name,
			      size_t len, const struct gp_event *event);
/* A step of a flow, 's', 't' or 'f', on the slice that is there then. */
void gp_trace_perfetto_flow(struct gp_trace_perfetto *p, char phase, u32 pid, u32 tid,
			    const char *kind, u64 id, const struct gp_event *event, u64 time);

/* Counters, at times of the timeline. Something runs on the GPU that has this number .. */
int gp_trace_perfetto_count_run(struct gp_trace_perfetto *p, u32 pid, u64 begin_ns, u64 end_ns);
/* .. a packet says how many are in its queue .. */
void gp_trace_perfetto_count_depth(struct gp_trace_perfetto *p, u32 pid, u64 time_ns,
				   const struct gp_event *event);
/* .. and a decision, whether a job is suspended. */
int gp_trace_perfetto_count_held(struct gp_trace_perfetto *p, u64 time_ns,
				 const struct gp_event *event);
/* Writes what is left to write, and frees it. */
void gp_trace_perfetto_counters_end(struct gp_trace_perfetto *p);

/* A time of the event on the timeline. */
u64 gp_trace_perfetto_time(const struct gp_trace_perfetto *p, const struct gp_event *event,
			   u64 time);

static inline u64 gp_perfetto_pid(const struct gp_event *event)
{
	return event->valid & GP_EV_PID ? event->pid : UINT64_MAX;
}

/* A line of the AMD log, whatever it is. */
int gp_trace_perfetto_log(struct gp_trace_perfetto *p, const struct gp_event *event);
void gp_trace_perfetto_log_free(struct gp_trace_perfetto *p);
/* A kernel function that is entered or left. */
int gp_trace_perfetto_function(struct gp_trace_perfetto *p, const struct gp_event *event);
void gp_trace_perfetto_function_free(struct gp_trace_perfetto *p);

#endif
