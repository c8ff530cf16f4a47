// SPDX-License-Identifier: MIT
/*
 * Decides on which track an event is drawn. Kernels of one queue that overlap get lanes beside
 * each other, because slices of one track must nest.
 */
#include "trace/analyse/perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "trace/analyse/perfetto_parts.h"
#include "trace/read/source.h"

/* Rows of a profile are not sorted; what begins before the first row still has a time above 0. */
#define BEFORE_FIRST_NS 3600000000000ull

struct gp_trace_perfetto *gp_trace_perfetto_new(FILE *out)
{
	struct gp_trace_perfetto *perfetto = calloc(1, sizeof(*perfetto));

	if (!perfetto)
		return NULL;
	gp_timeline_begin(&perfetto->timeline, out);
	gp_timeline_name_process(&perfetto->timeline, 0, "gpreempt");
	return perfetto;
}

/* Counted from the clock's start. */
u64 gp_trace_perfetto_time(const struct gp_trace_perfetto *p, const struct gp_event *event,
			   u64 time)
{
	u64 base = p->base[event->clock];

	return time > base ? time - base : 0;
}

int gp_trace_perfetto_process(struct gp_trace_perfetto *p, const struct gp_event *event,
			      enum gp_trace_perfetto_group group, u64 who, u32 *id)
{
	static const char *const titles[] = {"process", "GPU", "copy engines", "kernel thread"};
	u64 key = (u64)event->clock << 8 | group;
	char number[24] = "", title[80];

	*id = gp_map_get(&p->processes, key, who);
	if (*id != GP_MAP_NONE)
		return 0;
	*id = ++p->process_count;
	if (gp_map_put(&p->processes, key, who, *id))
		return -ENOMEM;
	if (who != UINT64_MAX && group != GP_GROUP_COPIES)
		snprintf(number, sizeof(number), " %llu", (unsigned long long)who);
	snprintf(title, sizeof(title), "%s%s (%s)", titles[group], number,
		 gp_trace_clock_name(event->clock));
	gp_timeline_name_process(&p->timeline, *id, title);
	return 0;
}

int gp_trace_perfetto_track(struct gp_trace_perfetto *p, u32 process, u64 key, const char *title,
			    u32 *id)
{
	*id = gp_map_get(&p->track_map, process, key);
	if (*id != GP_MAP_NONE)
		return 0;
	*id = (u32)p->track_count;
	if (gp_map_put(&p->track_map, process, key, *id))
		return -ENOMEM;
	p->track_count++;
	gp_timeline_name_track(&p->timeline, process, *id, title);
	return 0;
}

int gp_trace_perfetto_thread_track(struct gp_trace_perfetto *p, const struct gp_event *event,
				   enum gp_trace_perfetto_group group, u32 *pid, u32 *tid)
{
	char title[48];
	u64 thread = event->valid & GP_EV_TID ? event->tid : 0;
	int ret = gp_trace_perfetto_process(p, event, group, gp_perfetto_pid(event), pid);

	snprintf(title, sizeof(title), thread > INT32_MAX ? "thread 0x%llx" : "thread %llu",
		 (unsigned long long)thread);
	return ret ? ret : gp_trace_perfetto_track(p, *pid, thread, title, tid);
}

void gp_trace_perfetto_mark(struct gp_trace_perfetto *p, char phase, u32 pid, u32 tid,
			    const char *name, size_t len, const struct gp_event *event)
{
	gp_timeline_add(&p->timeline,
			&(struct gp_timeline_event){
				.phase = phase,
				.pid = pid,
				.tid = tid,
				.name = len ? name : "unnamed",
				.name_len = len,
				.time_ns = gp_trace_perfetto_time(p, event, event->time_ns),
			});
}

static struct gp_timeline_event slice_of(const struct gp_trace_perfetto *p, u32 pid, u32 tid,
					 const char *name, size_t len, const struct gp_event *event,
					 u64 begin, u64 length)
{
	struct gp_timeline_event slice = {
		.phase = 'X',
		.pid = pid,
		.tid = tid,
		.name = len ? name : "unnamed",
		.name_len = len,
		.time_ns = gp_trace_perfetto_time(p, event, begin),
		.length_ns = length,
	};

	if (event->valid & GP_EV_GRID) {
		slice.args[0] = (struct gp_timeline_arg){"grid", .number = event->grid};
		slice.args[1] = (struct gp_timeline_arg){"workgroup", .number = event->workgroup};
	}
	return slice;
}

void gp_trace_perfetto_slice(struct gp_trace_perfetto *p, u32 pid, u32 tid, const char *name,
			     size_t len, const struct gp_event *event, u64 begin, u64 length)
{
	struct gp_timeline_event slice = slice_of(p, pid, tid, name, len, event, begin, length);

	gp_timeline_add(&p->timeline, &slice);
}

void gp_trace_perfetto_flow(struct gp_trace_perfetto *p, char phase, u32 pid, u32 tid,
			    const char *kind, u64 id, const struct gp_event *event, u64 time)
{
	gp_timeline_add(&p->timeline, &(struct gp_timeline_event){
					      .phase = phase,
					      .pid = pid,
					      .tid = tid,
					      .name = kind,
					      .time_ns = gp_trace_perfetto_time(p, event, time),
					      .flow = kind,
					      .flow_id = id,
				      });
}

int gp_trace_perfetto_instant(struct gp_trace_perfetto *p, u32 pid, u32 tid, const char *name,
			      size_t len, const struct gp_event *event)
{
	struct gp_timeline_event instant = {
		.phase = 'i',
		.pid = pid,
		.tid = tid,
		.name = len ? name : "unnamed",
		.name_len = len,
		.time_ns = gp_trace_perfetto_time(p, event, event->time_ns),
	};

	if (event->text_len)
		instant.args[0] = (struct gp_timeline_arg){"text", event->text, event->text_len, 0};
	gp_timeline_add(&p->timeline, &instant);
	return 0;
}

/* ---- profiles ---- */

static bool submits(const struct gp_event *event)
{
	return memmem(event->name, event->name_len, "Launch", 6) ||
	       memmem(event->name, event->name_len, "Memcpy", 6) ||
	       memmem(event->name, event->name_len, "Memset", 6);
}

static int put_call(struct gp_trace_perfetto *p, const struct gp_event *event)
{
	u32 pid, tid;

	if (gp_trace_perfetto_thread_track(p, event, GP_GROUP_PROCESS, &pid, &tid))
		return -ENOMEM;
	gp_trace_perfetto_slice(p, pid, tid, event->name, event->name_len, event, event->time_ns,
				event->duration_ns);
	if (!(event->valid & GP_EV_CORRELATION) || !submits(event))
		return 0;
	gp_trace_perfetto_flow(p, 's', pid, tid, "submit", event->correlation, event,
			       event->time_ns);
	return gp_map_put(&p->submitted, event->correlation, 0, 1);
}

/* A step of a flow from a call, when it is known that there is one. */
static int put_submitted(struct gp_trace_perfetto *p, char phase, u32 pid, u32 tid,
			 const struct gp_event *event)
{
	struct gp_timeline_event flow = {
		.phase = phase,
		.pid = pid,
		.tid = tid,
		.name = "submit",
		.time_ns = gp_trace_perfetto_time(p, event, event->time_ns),
		.flow = "submit",
		.flow_id = event->correlation,
	};

	if (gp_map_get(&p->submitted, event->correlation, 0) != GP_MAP_NONE) {
		gp_timeline_add(&p->timeline, &flow);
		return 0;
	}
	if (gp_array_grow((void **)&p->awaiting, p->awaiting_count, &p->awaiting_capacity,
			  sizeof(*p->awaiting)))
		return -ENOMEM;
	p->awaiting[p->awaiting_count++] = flow;
	return 0;
}

static void put_awaiting(struct gp_trace_perfetto *p)
{
	for (size_t i = 0; i < p->awaiting_count; i++)
		if (gp_map_get(&p->submitted, p->awaiting[i].flow_id, 0) != GP_MAP_NONE)
			gp_timeline_add(&p->timeline, &p->awaiting[i]);
}

/* The first of the tracks of a queue or stream, for slices that may overlap. */
static int lanes_of(struct gp_trace_perfetto *p, u32 process, u64 key, u32 *first)
{
	*first = gp_map_get(&p->track_map, process, key);
	if (*first != GP_MAP_NONE)
		return 0;
	*first = (u32)p->track_count;
	p->track_count += GP_TIMELINE_LANES;
	return gp_map_put(&p->track_map, process, key, *first);
}

/* 0, or 1 if no lane is free: then there is no track for flows. */
static int put_lane(struct gp_trace_perfetto *p, u32 pid, u64 key, const char *title,
		    const struct gp_event *event, u32 *tid)
{
	struct gp_timeline_event slice;
	int ret = lanes_of(p, pid, key, tid);

	if (ret)
		return ret;
	slice = slice_of(p, pid, *tid, event->name, event->name_len, event, event->time_ns,
			 event->duration_ns);
	ret = gp_timeline_slice(&p->timeline, &p->lanes, title, &slice);
	*tid = (u32)slice.tid;
	return ret;
}

/* rocprof v1 knows no correlation, but when the packet was written, and by which thread. */
static int put_dispatched(struct gp_trace_perfetto *p, const struct gp_event *event, u64 id)
{
	const u32 needed = GP_EV_STAGES | GP_EV_PID | GP_EV_TID;
	u32 pid, tid;

	if ((event->valid & needed) != needed || event->dispatch_ns > event->time_ns)
		return 0;
	if (gp_trace_perfetto_thread_track(p, event, GP_GROUP_PROCESS, &pid, &tid))
		return -ENOMEM;
	gp_trace_perfetto_slice(p, pid, tid, "dispatch", strlen("dispatch"), event,
				event->dispatch_ns, GP_PERFETTO_POINT_NS);
	gp_trace_perfetto_flow(p, 's', pid, tid, "dispatch", id, event, event->dispatch_ns);
	return 1;
}

static int put_step(struct gp_trace_perfetto *p, char phase, u32 pid, u32 tid, u64 id,
		    const struct gp_event *event)
{
	if (event->valid & GP_EV_CORRELATION)
		return put_submitted(p, phase, pid, tid, event);
	gp_trace_perfetto_flow(p, phase, pid, tid, "dispatch", id, event, event->time_ns);
	return 0;
}

/* Kernels and copies: on their queue, and on their stream if it is known. */
static int put_run(struct gp_trace_perfetto *p, const struct gp_event *event)
{
	bool copy = event->kind == GP_EVENT_COPY, correlated = event->valid & GP_EV_CORRELATION;
	u64 gpu = event->valid & GP_EV_GPU ? event->gpu : UINT64_MAX;
	u64 queue = event->valid & GP_EV_QUEUE ? event->queue : 0, id = event->correlation;
	char title[64];
	int begun = correlated, lane;
	u32 pid, tid;

	if (!correlated) {
		id = ++p->flows;
		begun = put_dispatched(p, event, id);
		if (begun < 0)
			return begun;
	}
	if (event->valid & GP_EV_STREAM) {
		snprintf(title, sizeof(title), "stream %llu", (unsigned long long)event->stream);
		if (gp_trace_perfetto_process(p, event, GP_GROUP_PROCESS, gp_perfetto_pid(event),
					      &pid))
			return -ENOMEM;
		lane = put_lane(p, pid, event->stream ^ 1ull << 59, title, event, &tid);
		if (lane < 0)
			return lane;
		if (begun && lane == 0 && put_step(p, 't', pid, tid, id, event))
			return -ENOMEM;
	}
	snprintf(title, sizeof(title), copy ? "copies" : "queue %llu", (unsigned long long)queue);
	if (gp_trace_perfetto_process(p, event, copy ? GP_GROUP_COPIES : GP_GROUP_GPU,
				      copy ? 0 : gpu, &pid))
		return -ENOMEM;
	lane = put_lane(p, pid, queue, title, event, &tid);
	if (lane < 0)
		return lane;
	if (gp_trace_perfetto_count_run(
		    p, pid, gp_trace_perfetto_time(p, event, event->time_ns),
		    gp_trace_perfetto_time(p, event, event->time_ns + event->duration_ns)))
		return -ENOMEM;
	return begun && lane == 0 ? put_step(p, 'f', pid, tid, id, event) : 0;
}

static int put_instant(struct gp_trace_perfetto *p, const struct gp_event *event)
{
	static const char *const titles[] = {
		[GP_EVENT_QUEUE_CREATED] = "queue created",
		[GP_EVENT_QUEUE_SELECTED] = "queue selected",
		[GP_EVENT_QUEUE_ACQUIRED] = "queue acquired",
		[GP_EVENT_QUEUE_RELEASED] = "queue released",
		[GP_EVENT_QUEUE_DELETED] = "queue deleted",
		[GP_EVENT_QUEUE_ERROR] = "queue error",
	};
	const char *name = event->name ? event->name : "event";
	size_t len = event->name ? event->name_len : 5;
	enum gp_trace_perfetto_group group =
		event->kind >= GP_EVENT_ENTER && event->kind != GP_EVENT_DECISION
			? GP_GROUP_KERNEL
			: GP_GROUP_PROCESS;
	u32 pid, tid;

	if (event->kind < GP_ARRAY_SIZE(titles) && titles[event->kind]) {
		name = titles[event->kind];
		len = strlen(name);
	} else if (event->kind == GP_EVENT_LOST) {
		name = "EVENTS LOST";
		len = strlen(name);
	}
	if (gp_trace_perfetto_thread_track(p, event, group, &pid, &tid))
		return -ENOMEM;
	return gp_trace_perfetto_instant(p, pid, tid, name, len, event);
}

int gp_trace_perfetto_event(void *ctx, const struct gp_event *event)
{
	struct gp_trace_perfetto *p = ctx;

	if (!(event->valid & GP_EV_TIME) || event->time_ns > UINT64_MAX - event->duration_ns)
		return event->kind == GP_EVENT_KERNEL_NAME ? gp_trace_perfetto_log(p, event) : 0;
	if (!p->started[event->clock]) {
		p->started[event->clock] = true;
		p->base[event->clock] =
			event->time_ns > BEFORE_FIRST_NS ? event->time_ns - BEFORE_FIRST_NS : 0;
	}
	switch (event->kind) {
	case GP_EVENT_CALL:
		return put_call(p, event);
	case GP_EVENT_KERNEL:
	case GP_EVENT_COPY:
		return put_run(p, event);
	case GP_EVENT_ENTER:
	case GP_EVENT_LEAVE:
		return gp_trace_perfetto_function(p, event);
	case GP_EVENT_QUEUE_CREATED:
	case GP_EVENT_QUEUE_SELECTED:
	case GP_EVENT_QUEUE_ACQUIRED:
	case GP_EVENT_QUEUE_RELEASED:
	case GP_EVENT_QUEUE_DELETED:
	case GP_EVENT_QUEUE_ERROR:
	case GP_EVENT_COPY_START: {
		int ret = gp_trace_perfetto_log(p, event);

		return ret ? ret : put_instant(p, event);
	}
	case GP_EVENT_DISPATCH:
	case GP_EVENT_BARRIER:
	case GP_EVENT_KERNEL_NAME:
	case GP_EVENT_API_ENTER:
	case GP_EVENT_API_RETURN:
	case GP_EVENT_WAIT:
	case GP_EVENT_OTHER:
	case GP_EVENT_VERSION:
	case GP_EVENT_OLD_RUNTIME:
		return gp_trace_perfetto_log(p, event);
	case GP_EVENT_TOTAL:
	case GP_EVENT_AGENT:
		return 0;
	case GP_EVENT_DECISION: {
		int ret = gp_trace_perfetto_count_held(
			p, gp_trace_perfetto_time(p, event, event->time_ns), event);

		return ret ? ret : put_instant(p, event);
	}
	default:
		return put_instant(p, event);
	}
}

int gp_trace_perfetto_end(struct gp_trace_perfetto *p)
{
	int error;

	put_awaiting(p);
	gp_trace_perfetto_counters_end(p);
	error = gp_timeline_end(&p->timeline);
	gp_timeline_free(&p->timeline);
	gp_trace_perfetto_log_free(p);
	gp_trace_perfetto_function_free(p);
	gp_map_free(&p->processes);
	gp_map_free(&p->track_map);
	gp_map_free(&p->submitted);
	free(p->awaiting);
	gp_timeline_lanes_free(&p->lanes);
	gp_strings_free(&p->names);
	free(p);
	return error;
}
