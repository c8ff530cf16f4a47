// SPDX-License-Identifier: MIT
/* The AMD log on the timeline: calls on their thread, and each packet on its stream and queue, with
 * a flow from the call to the packet to the moment a host thread saw it complete. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/parse.h"
#include "trace/analyse/perfetto_parts.h"

/* Calls in calls; a log whose calls never return would nest for ever. */
#define DEPTH 16
/* Packets of a queue that no thread has waited for yet; beyond that, the oldest have no end. */
#define PENDING    256
#define QUEUE_KEY  (1ull << 63)
#define STREAM_KEY (1ull << 62)

struct frame {
	u32 name;
	bool has_stream;
	u64 stream;
};

struct gp_trace_perfetto_thread {
	u32 pid, tid; /* of its track */
	struct frame frames[DEPTH];
	u32 depth;
	u32 kernel; /* name + 1 of the next packet */
	bool waiting;
	u64 signal; /* it waits for */
};

struct pending {
	u64 flow;
	u32 packet;
};

struct gp_trace_perfetto_queue {
	u32 pid, tid;
	u32 packets;             /* so far */
	struct pending *pending; /* a log may have queues without number: only as many as needed */
	size_t pending_count, pending_capacity;
};

void gp_trace_perfetto_log_free(struct gp_trace_perfetto *p)
{
	gp_map_free(&p->thread_map);
	gp_map_free(&p->queue_map);
	gp_map_free(&p->signals);
	gp_map_free(&p->packets);
	free(p->threads);
	for (size_t i = 0; i < p->queue_count; i++)
		free(p->queues[i].pending);
	free(p->queues);
}

/* NULL without memory. */
static struct gp_trace_perfetto_thread *thread_of(struct gp_trace_perfetto *p,
						  const struct gp_event *event)
{
	u64 tid = event->valid & GP_EV_TID ? event->tid : 0;
	u32 at = gp_map_get(&p->thread_map, gp_perfetto_pid(event), tid);

	if (at != GP_MAP_NONE)
		return &p->threads[at];
	at = (u32)p->thread_count;
	if (gp_array_grow((void **)&p->threads, p->thread_count, &p->thread_capacity,
			  sizeof(*p->threads)) ||
	    gp_map_put(&p->thread_map, gp_perfetto_pid(event), tid, at))
		return NULL;
	p->threads[p->thread_count++] = (struct gp_trace_perfetto_thread){.tid = GP_MAP_NONE};
	return &p->threads[at];
}

/* Its track, which a thread that only waits need not have. */
static int place(struct gp_trace_perfetto *p, struct gp_trace_perfetto_thread *thread,
		 const struct gp_event *event)
{
	return thread->tid != GP_MAP_NONE
		       ? 0
		       : gp_trace_perfetto_thread_track(p, event, GP_GROUP_PROCESS, &thread->pid,
							&thread->tid);
}

/* ---- calls ---- */

static void mark(struct gp_trace_perfetto *p, const struct gp_trace_perfetto_thread *thread,
		 char phase, u32 name, const struct gp_event *event)
{
	gp_trace_perfetto_mark(p, phase, thread->pid, thread->tid, p->names.items[name].text,
			       p->names.items[name].len, event);
}

static void close_from(struct gp_trace_perfetto *p, struct gp_trace_perfetto_thread *thread,
		       u32 depth, const struct gp_event *event)
{
	while (thread->depth > depth)
		mark(p, thread, 'E', thread->frames[--thread->depth].name, event);
}

/* Where a call is among those that are open, or DEPTH. */
static u32 find_frame(const struct gp_trace_perfetto_thread *thread, u32 name)
{
	for (u32 i = thread->depth; i-- > 0;)
		if (thread->frames[i].name == name)
			return i;
	return DEPTH;
}

/* What is behind a word of the event's text, up to *end; NULL = it does not have it. */
static const char *behind(const struct gp_event *event, const char *word, const char **end)
{
	const char *found =
		event->text ? memmem(event->text, event->text_len, word, strlen(word)) : NULL;

	*end = event->text ? event->text + event->text_len : NULL;
	return found ? found + strlen(word) : NULL;
}

/* "..., stream:0x561e91de73e0, ..." or "stream:<null>". */
static bool find_stream(const struct gp_event *event, u64 *stream)
{
	const char *end, *found = behind(event, "stream:", &end);

	if (!found)
		return false;
	*stream = 0;
	return GP_PARSE_LITERAL(&found, end, "<null>") ||
	       (GP_PARSE_LITERAL(&found, end, "0x") && gp_parse_hex(&found, end, stream));
}

/* Some calls never say that they returned: they end with the one around them, or when they are
 * entered again. A return of nothing that was entered is left out: it would end another call. */
static int put_api(struct gp_trace_perfetto *p, struct gp_trace_perfetto_thread *thread,
		   const struct gp_event *event)
{
	struct frame frame = {0};
	u32 at;

	/* Without a thread id they cannot be distinguished. */
	if (!(event->valid & GP_EV_TID))
		return 0;
	if (place(p, thread, event) ||
	    gp_strings_add(&p->names, event->name, event->name_len, &frame.name))
		return -ENOMEM;
	at = find_frame(thread, frame.name);
	if (at != DEPTH)
		close_from(p, thread, at, event);
	if (event->kind == GP_EVENT_API_RETURN)
		return 0;
	if (thread->depth == DEPTH)
		close_from(p, thread, 0, event);
	frame.has_stream = find_stream(event, &frame.stream);
	mark(p, thread, 'B', frame.name, event);
	thread->frames[thread->depth++] = frame;
	return 0;
}

/* ---- packets ---- */

static struct gp_trace_perfetto_queue *queue_of(struct gp_trace_perfetto *p,
						const struct gp_event *event, u32 *at)
{
	char title[48];
	u32 pid, tid;

	*at = gp_map_get(&p->queue_map, gp_perfetto_pid(event), event->queue);
	if (*at != GP_MAP_NONE)
		return &p->queues[*at];
	*at = (u32)p->queue_count;
	snprintf(title, sizeof(title), "queue 0x%llx", (unsigned long long)event->queue);
	if (gp_trace_perfetto_process(p, event, GP_GROUP_PROCESS, gp_perfetto_pid(event), &pid) ||
	    gp_trace_perfetto_track(p, pid, event->queue ^ QUEUE_KEY, title, &tid) ||
	    gp_array_grow((void **)&p->queues, p->queue_count, &p->queue_capacity,
			  sizeof(*p->queues)) ||
	    gp_map_put(&p->queue_map, gp_perfetto_pid(event), event->queue, *at))
		return NULL;
	p->queues[p->queue_count++] = (struct gp_trace_perfetto_queue){.pid = pid, .tid = tid};
	return &p->queues[*at];
}

static bool find_signal(const struct gp_event *event, const char *key, u64 *signal)
{
	const char *end, *found = behind(event, key, &end);

	return found && gp_parse_hex(&found, end, signal) && *signal;
}

/* The packet on the stream of the call that wrote it; the flow passes there. */
static int put_on_stream(struct gp_trace_perfetto *p, const struct gp_trace_perfetto_thread *thread,
			 const char *name, size_t len, u64 flow, const struct gp_event *event)
{
	const struct frame *frame = NULL;
	char title[48];
	u32 pid, tid;

	for (u32 i = thread->depth; i-- > 0 && !frame;)
		if (thread->frames[i].has_stream)
			frame = &thread->frames[i];
	if (!frame)
		return 0;
	if (frame->stream)
		snprintf(title, sizeof(title), "stream 0x%llx", (unsigned long long)frame->stream);
	else
		snprintf(title, sizeof(title), "null stream");
	if (gp_trace_perfetto_process(p, event, GP_GROUP_PROCESS, gp_perfetto_pid(event), &pid) ||
	    gp_trace_perfetto_track(p, pid, frame->stream ^ STREAM_KEY, title, &tid))
		return -ENOMEM;
	gp_trace_perfetto_slice(p, pid, tid, name, len, event, event->time_ns,
				GP_PERFETTO_POINT_NS);
	gp_trace_perfetto_flow(p, 't', pid, tid, "packet", flow, event, event->time_ns);
	return 0;
}

static int await_packet(struct gp_trace_perfetto_queue *queue, u64 flow)
{
	if (queue->pending_count == PENDING)
		memmove(queue->pending, queue->pending + 1,
			--queue->pending_count * sizeof(*queue->pending));
	if (gp_array_grow((void **)&queue->pending, queue->pending_count, &queue->pending_capacity,
			  sizeof(*queue->pending)))
		return -ENOMEM;
	queue->pending[queue->pending_count++] =
		(struct pending){.flow = flow, .packet = queue->packets};
	return 0;
}

static int put_packet(struct gp_trace_perfetto *p, struct gp_trace_perfetto_thread *thread,
		      const struct gp_event *event)
{
	bool barrier = event->kind == GP_EVENT_BARRIER;
	const char *name = barrier ? "barrier" : "kernel";
	struct gp_trace_perfetto_queue *queue;
	size_t len = strlen(name);
	u64 flow, signal;
	u32 at;

	if (!barrier && thread->kernel) {
		name = p->names.items[thread->kernel - 1].text;
		len = p->names.items[thread->kernel - 1].len;
		thread->kernel = 0;
	}
	queue = queue_of(p, event, &at);
	if (!queue)
		return -ENOMEM;
	flow = ++p->flows;
	queue->packets++;
	if (thread->depth) {
		gp_trace_perfetto_flow(p, 's', thread->pid, thread->tid, "packet", flow, event,
				       event->time_ns);
		if (put_on_stream(p, thread, name, len, flow, event))
			return -ENOMEM;
	}
	gp_trace_perfetto_slice(p, queue->pid, queue->tid, name, len, event, event->time_ns,
				GP_PERFETTO_POINT_NS);
	gp_trace_perfetto_count_depth(p, queue->pid,
				      gp_trace_perfetto_time(p, event, event->time_ns), event);
	gp_trace_perfetto_flow(p, thread->depth ? 't' : 's', queue->pid, queue->tid, "packet", flow,
			       event, event->time_ns);
	if (await_packet(queue, flow))
		return -ENOMEM;
	if (!find_signal(event, "completion_signal=", &signal))
		return 0;
	return gp_map_put(&p->signals, gp_perfetto_pid(event), signal, at) ||
			       gp_map_put(&p->packets, gp_perfetto_pid(event), signal,
					  queue->packets)
		       ? -ENOMEM
		       : 0;
}

/* ---- completion ---- */

/* A thread that waited for a signal goes on: the packet that has it is complete, and with it what
 * was before it in its queue. */
static void complete(struct gp_trace_perfetto *p, const struct gp_trace_perfetto_thread *thread,
		     const struct gp_event *event)
{
	u32 at = gp_map_get(&p->signals, gp_perfetto_pid(event), thread->signal);
	u32 packet = gp_map_get(&p->packets, gp_perfetto_pid(event), thread->signal);
	struct gp_trace_perfetto_queue *queue;
	size_t done = 0;

	if (at == GP_MAP_NONE || packet == GP_MAP_NONE)
		return;
	queue = &p->queues[at];
	while (done < queue->pending_count && queue->pending[done].packet <= packet)
		done++;
	if (!done)
		return;
	gp_trace_perfetto_slice(p, queue->pid, queue->tid, "complete", 8, event, event->time_ns,
				GP_PERFETTO_POINT_NS);
	for (size_t i = 0; i < done; i++)
		gp_trace_perfetto_flow(p, 'f', queue->pid, queue->tid, "packet",
				       queue->pending[i].flow, event, event->time_ns);
	queue->pending_count -= done;
	memmove(queue->pending, queue->pending + done,
		queue->pending_count * sizeof(*queue->pending));
}

static void begin_wait(struct gp_trace_perfetto_thread *thread, const struct gp_event *event)
{
	u64 signal;

	if (!find_signal(event, "=", &signal) && !find_signal(event, "(", &signal))
		return;
	thread->waiting = true;
	thread->signal = signal;
}

/* The name belongs to the next packet of its thread. */
static int note_name(struct gp_trace_perfetto *p, struct gp_trace_perfetto_thread *thread,
		     const struct gp_event *event)
{
	u32 id;

	if (gp_strings_add(&p->names, event->name, event->name_len, &id))
		return -ENOMEM;
	thread->kernel = id + 1;
	return 0;
}

int gp_trace_perfetto_log(struct gp_trace_perfetto *p, const struct gp_event *event)
{
	struct gp_trace_perfetto_thread *thread = thread_of(p, event);

	if (!thread)
		return -ENOMEM;
	if (thread->waiting && event->kind != GP_EVENT_WAIT && event->valid & GP_EV_TIME) {
		complete(p, thread, event);
		thread->waiting = false;
	}
	switch (event->kind) {
	case GP_EVENT_API_ENTER:
	case GP_EVENT_API_RETURN:
		return put_api(p, thread, event);
	case GP_EVENT_KERNEL_NAME:
		return note_name(p, thread, event);
	case GP_EVENT_DISPATCH:
	case GP_EVENT_BARRIER:
		return event->valid & GP_EV_QUEUE ? put_packet(p, thread, event) : 0;
	case GP_EVENT_WAIT:
		begin_wait(thread, event);
		return 0;
	default:
		return 0;
	}
}
