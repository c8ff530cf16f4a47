#include "trace/perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "trace/source.h"
#include "trace/string_table.h"

#define CLOCKS 8
/* Rows of a profile are not sorted; what begins before the first row still has a time above 0. */
#define BEFORE_FIRST_NS 3600000000000ull
/* Kernels of one queue that overlap are drawn on tracks beside each other, up to so many. */
#define LANES 8

enum group { GROUP_PROCESS, GROUP_GPU, GROUP_COPIES, GROUP_KERNEL };

struct track {
	u64 last_end; /* of slices that must not overlap */
};

struct gp_perfetto {
	FILE *out;
	bool started[CLOCKS];
	u64 base[CLOCKS];
	struct gp_map processes; /* (clock and group, pid or gpu) -> number */
	u32 process_count;
	struct gp_map threads; /* (process, key) -> track */
	struct track *tracks;
	size_t track_count, track_capacity;
	struct gp_map pending; /* (pid, tid) -> kernel name + 1 */
	struct gp_map entered; /* (track, name) -> index in times */
	u64 *times;
	size_t time_count, time_capacity;
	struct gp_strings names;
};

struct gp_perfetto *gp_perfetto_new(FILE *out)
{
	struct gp_perfetto *perfetto = calloc(1, sizeof(*perfetto));

	if (!perfetto)
		return NULL;
	perfetto->out = out;
	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
	      "{\"ph\":\"M\",\"pid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"gpreempt\"}}",
	      out);
	return perfetto;
}

static void put_text(FILE *out, const char *text, size_t len)
{
	fputc('"', out);
	for (size_t i = 0; i < len;) {
		u32 code;
		size_t step = gp_utf8_next(text + i, len - i, &code);

		if (!step) {
			fputs("\\ufffd", out);
			i++;
			continue;
		}
		if (code == '"' || code == '\\')
			fprintf(out, "\\%c", (char)code);
		else if (code < ' ' || code == 0x7f)
			fprintf(out, "\\u%04x", code);
		else
			fwrite(text + i, 1, step, out);
		i += step;
	}
	fputc('"', out);
}

/* Microseconds with nanoseconds behind the point, counted from the clock's start. */
static void put_time(struct gp_perfetto *p, const struct gp_event *event, u64 time)
{
	u64 since = time > p->base[event->clock] ? time - p->base[event->clock] : 0;

	fprintf(p->out, ",\"ts\":%llu.%03llu", (unsigned long long)(since / 1000),
		(unsigned long long)(since % 1000));
}

/* The number of a process or GPU on a clock; its name is written when it is new. */
static int process(struct gp_perfetto *p, const struct gp_event *event, enum group group, u64 who,
		   u32 *id)
{
	static const char *const titles[] = {"process", "GPU", "copy engines", "kernel thread"};
	u64 key = (u64)event->clock << 8 | group;

	*id = gp_map_get(&p->processes, key, who);
	if (*id != GP_MAP_NONE)
		return 0;
	*id = ++p->process_count;
	if (gp_map_put(&p->processes, key, who, *id))
		return -ENOMEM;
	fprintf(p->out,
		",\n{\"ph\":\"M\",\"pid\":%u,\"name\":\"process_name\",\"args\":{\"name\":\"%s",
		*id, titles[group]);
	if (who != UINT64_MAX && group != GROUP_COPIES)
		fprintf(p->out, " %llu", (unsigned long long)who);
	fprintf(p->out, " (%s)\"}}", gp_clock_name(event->clock));
	return 0;
}

/* The track of a thread or queue; `title` is written when it is new. */
static int track(struct gp_perfetto *p, u32 process_id, u64 key, const char *title, u32 *id)
{
	*id = gp_map_get(&p->threads, process_id, key);
	if (*id != GP_MAP_NONE)
		return 0;
	*id = (u32)p->track_count;
	if (gp_array_grow((void **)&p->tracks, p->track_count, &p->track_capacity,
			  sizeof(*p->tracks)) ||
	    gp_map_put(&p->threads, process_id, key, *id))
		return -ENOMEM;
	p->tracks[p->track_count++] = (struct track){0};
	fprintf(p->out,
		",\n{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"thread_name\",\"args\":{"
		"\"name\":",
		process_id, *id);
	put_text(p->out, title, strlen(title));
	fputs("}}", p->out);
	return 0;
}

static void open_event(struct gp_perfetto *p, const char *phase, u32 pid, u32 tid, const char *name,
		       size_t len, const struct gp_event *event, u64 time)
{
	fprintf(p->out, ",\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u,\"name\":", phase, pid, tid);
	put_text(p->out, name, len);
	put_time(p, event, time);
}

static void slice(struct gp_perfetto *p, u32 pid, u32 tid, const struct gp_event *event, u64 begin,
		  u64 length)
{
	open_event(p, "X", pid, tid, event->name ? event->name : "", event->name_len, event, begin);
	fprintf(p->out, ",\"dur\":%llu.%03llu", (unsigned long long)(length / 1000),
		(unsigned long long)(length % 1000));
	if (event->valid & GP_EV_GRID)
		fprintf(p->out, ",\"args\":{\"grid\":%llu,\"workgroup\":%llu}",
			(unsigned long long)event->grid, (unsigned long long)event->workgroup);
	fputc('}', p->out);
}

static void flow(struct gp_perfetto *p, const char *phase, u32 pid, u32 tid,
		 const struct gp_event *event)
{
	open_event(p, phase, pid, tid, "submit", 6, event, event->time_ns);
	fprintf(p->out, ",\"cat\":\"submit\",\"id\":%llu%s}",
		(unsigned long long)event->correlation, *phase == 'f' ? ",\"bp\":\"e\"" : "");
}

static int instant(struct gp_perfetto *p, u32 pid, u32 tid, const char *name, size_t len,
		   const struct gp_event *event)
{
	open_event(p, "i", pid, tid, name, len, event, event->time_ns);
	fputs(",\"s\":\"t\"", p->out);
	if (event->text_len) {
		fputs(",\"args\":{\"text\":", p->out);
		put_text(p->out, event->text, event->text_len);
		fputc('}', p->out);
	}
	fputc('}', p->out);
	return 0;
}

static bool submits(const struct gp_event *event)
{
	return memmem(event->name, event->name_len, "Launch", 6) ||
	       memmem(event->name, event->name_len, "Memcpy", 6) ||
	       memmem(event->name, event->name_len, "Memset", 6);
}

static u64 pid_of(const struct gp_event *event)
{
	return event->valid & GP_EV_PID ? event->pid : UINT64_MAX;
}

static int thread_track(struct gp_perfetto *p, const struct gp_event *event, enum group group,
			u32 *pid, u32 *tid)
{
	char title[48];
	u64 thread = event->valid & GP_EV_TID ? event->tid : 0;
	int ret = process(p, event, group, pid_of(event), pid);

	snprintf(title, sizeof(title), thread > INT32_MAX ? "thread 0x%llx" : "thread %llu",
		 (unsigned long long)thread);
	return ret ? ret : track(p, *pid, thread, title, tid);
}

static int put_call(struct gp_perfetto *p, const struct gp_event *event)
{
	u32 pid, tid;

	if (thread_track(p, event, GROUP_PROCESS, &pid, &tid))
		return -ENOMEM;
	slice(p, pid, tid, event, event->time_ns, event->duration_ns);
	if (event->valid & GP_EV_CORRELATION && submits(event))
		flow(p, "s", pid, tid, event);
	return 0;
}

/* Kernels and copies: on the first lane of their queue that is free by then. */
static int put_run(struct gp_perfetto *p, const struct gp_event *event)
{
	bool copy = event->kind == GP_EVENT_COPY;
	u64 gpu = event->valid & GP_EV_GPU ? event->gpu : UINT64_MAX;
	u64 queue = event->valid & GP_EV_QUEUE ? event->queue : 0;
	u32 pid, tid = 0;

	if (process(p, event, copy ? GROUP_COPIES : GROUP_GPU, copy ? 0 : gpu, &pid))
		return -ENOMEM;
	for (u64 lane = 0; lane < LANES; lane++) {
		char title[64];

		snprintf(title, sizeof(title), copy ? "copies" : "queue %llu",
			 (unsigned long long)queue);
		if (track(p, pid, queue ^ lane << 60, title, &tid))
			return -ENOMEM;
		if (p->tracks[tid].last_end <= event->time_ns)
			break;
	}
	p->tracks[tid].last_end = event->time_ns + event->duration_ns;
	slice(p, pid, tid, event, event->time_ns, event->duration_ns);
	if (event->valid & GP_EV_CORRELATION)
		flow(p, "f", pid, tid, event);
	return 0;
}

/* A dispatch of the AMD log: an instant on its queue, under the kernel's name. */
static int put_dispatch(struct gp_perfetto *p, const struct gp_event *event)
{
	u32 name =
		gp_map_get(&p->pending, pid_of(event), event->valid & GP_EV_TID ? event->tid : 0);
	struct gp_event shown = *event;
	char title[48];
	u32 pid, tid;

	snprintf(title, sizeof(title), "queue 0x%llx", (unsigned long long)event->queue);
	if (process(p, event, GROUP_PROCESS, pid_of(event), &pid) ||
	    track(p, pid, event->queue ^ 1ull << 63, title, &tid))
		return -ENOMEM;
	shown.text_len = 0;
	if (name == GP_MAP_NONE || !name || event->kind == GP_EVENT_BARRIER)
		return instant(p, pid, tid, event->kind == GP_EVENT_BARRIER ? "barrier" : "kernel",
			       event->kind == GP_EVENT_BARRIER ? 7 : 6, &shown);
	return instant(p, pid, tid, p->names.items[name - 1].text, p->names.items[name - 1].len,
		       &shown);
}

static int note_name(struct gp_perfetto *p, const struct gp_event *event)
{
	u32 id;

	if (gp_strings_add(&p->names, event->name, event->name_len, &id))
		return -ENOMEM;
	return gp_map_put(&p->pending, pid_of(event), event->valid & GP_EV_TID ? event->tid : 0,
			  id + 1);
}

/* A kernel function: a slice when its return tells or shows how long it took, an instant when it
 * was entered by a tracer that may not tell. */
static int put_function(struct gp_perfetto *p, const struct gp_event *event)
{
	u32 pid, tid, name, at;
	u64 length = event->duration_ns;

	if (!event->name_len)
		return 0;
	if (thread_track(p, event, GROUP_KERNEL, &pid, &tid) ||
	    gp_strings_add(&p->names, event->name, event->name_len, &name))
		return -ENOMEM;
	at = gp_map_get(&p->entered, tid, name);
	if (event->kind == GP_EVENT_ENTER) {
		if (at == GP_MAP_NONE) {
			at = (u32)p->time_count;
			if (gp_array_grow((void **)&p->times, p->time_count, &p->time_capacity,
					  sizeof(*p->times)) ||
			    gp_map_put(&p->entered, tid, name, at))
				return -ENOMEM;
			p->time_count++;
		}
		p->times[at] = event->time_ns;
		/* The graph says nothing behind a function; it prints returns. */
		return event->text ? instant(p, pid, tid, event->name, event->name_len, event) : 0;
	}
	if (!(event->valid & GP_EV_DURATION)) {
		if (at == GP_MAP_NONE || p->times[at] > event->time_ns)
			return 0;
		length = event->time_ns - p->times[at];
	}
	slice(p, pid, tid, event, event->time_ns - (length < event->time_ns ? length : 0), length);
	return 0;
}

/* API calls of the AMD log; without a thread they cannot be told apart. */
static int put_api(struct gp_perfetto *p, const struct gp_event *event)
{
	u32 pid, tid;

	if (!(event->valid & GP_EV_TID))
		return 0;
	if (thread_track(p, event, GROUP_PROCESS, &pid, &tid))
		return -ENOMEM;
	open_event(p, event->kind == GP_EVENT_API_ENTER ? "B" : "E", pid, tid, event->name,
		   event->name_len, event, event->time_ns);
	fputc('}', p->out);
	return 0;
}

static int put_instant(struct gp_perfetto *p, const struct gp_event *event)
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
	enum group group = event->kind >= GP_EVENT_ENTER && event->kind != GP_EVENT_DECISION
				   ? GROUP_KERNEL
				   : GROUP_PROCESS;
	u32 pid, tid;

	if (event->kind < GP_ARRAY_SIZE(titles) && titles[event->kind]) {
		name = titles[event->kind];
		len = strlen(name);
	} else if (event->kind == GP_EVENT_LOST) {
		name = "EVENTS LOST";
		len = strlen(name);
	}
	if (thread_track(p, event, group, &pid, &tid))
		return -ENOMEM;
	return instant(p, pid, tid, name, len, event);
}

int gp_perfetto_event(void *ctx, const struct gp_event *event)
{
	struct gp_perfetto *p = ctx;

	if (event->kind == GP_EVENT_KERNEL_NAME)
		return note_name(p, event);
	if (!(event->valid & GP_EV_TIME) || event->time_ns > UINT64_MAX - event->duration_ns)
		return 0;
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
		return put_function(p, event);
	case GP_EVENT_DISPATCH:
	case GP_EVENT_BARRIER:
		return event->valid & GP_EV_QUEUE ? put_dispatch(p, event) : 0;
	case GP_EVENT_API_ENTER:
	case GP_EVENT_API_RETURN:
		return put_api(p, event);
	case GP_EVENT_OTHER:
	case GP_EVENT_VERSION:
	case GP_EVENT_OLD_RUNTIME:
	case GP_EVENT_TOTAL:
	case GP_EVENT_AGENT:
		return 0;
	default:
		return put_instant(p, event);
	}
}

int gp_perfetto_end(struct gp_perfetto *p)
{
	int error;

	fputs("\n]}\n", p->out);
	error = fflush(p->out) || ferror(p->out) ? -EIO : 0;
	gp_map_free(&p->processes);
	gp_map_free(&p->threads);
	gp_map_free(&p->pending);
	gp_map_free(&p->entered);
	gp_strings_free(&p->names);
	free(p->tracks);
	free(p->times);
	free(p);
	return error;
}
