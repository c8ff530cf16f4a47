// SPDX-License-Identifier: MIT
/*
 * Writes trace events as text in pieces of 64 KiB. It does not build a JSON tree: a timeline has
 * millions of events.
 */
#include "show/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#define FLUSH (64u << 10)

static void flush(struct gp_timeline *timeline)
{
	if (timeline->text.error)
		return;
	fwrite(gp_buf_str(&timeline->text), 1, timeline->text.len, timeline->out);
	timeline->text.len = 0;
}

/* Timelines have millions of events: faster than printf(). */
static void put_number(struct gp_buf *out, u64 number)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	gp_buf_add(out, digits + at, sizeof(digits) - at);
}

/* Microseconds, with nanoseconds behind the point. */
static void put_time(struct gp_buf *out, const char *key, u64 ns)
{
	u64 part = ns % 1000;
	char digits[] = {'.', (char)('0' + part / 100), (char)('0' + part / 10 % 10),
			 (char)('0' + part % 10)};

	gp_buf_puts(out, key);
	put_number(out, ns / 1000);
	gp_buf_add(out, digits, sizeof(digits));
}

static void put_track(struct gp_timeline *timeline, char phase, u64 pid)
{
	struct gp_buf *out = &timeline->text;
	char start[] = ",\n{\"ph\":\"?\",\"pid\":";

	start[strlen(",\n{\"ph\":\"")] = phase;
	gp_buf_puts(out, timeline->any ? start : start + 1);
	put_number(out, pid);
	timeline->any = true;
}

static void put_name(struct gp_timeline *timeline, const char *what, const char *name)
{
	struct gp_buf *out = &timeline->text;

	gp_buf_puts(out, ",\"name\":\"");
	gp_buf_puts(out, what);
	gp_buf_puts(out, "\",\"args\":{\"name\":");
	gp_json_escape(out, name, strlen(name));
	gp_buf_puts(out, "}}");
}

static void put_args(struct gp_buf *out, const struct gp_timeline_arg *args, size_t count)
{
	gp_buf_puts(out, ",\"args\":{");
	for (size_t i = 0; i < count && args[i].key; i++) {
		gp_buf_puts(out, i ? ",\"" : "\"");
		gp_buf_puts(out, args[i].key);
		gp_buf_puts(out, "\":");
		if (args[i].text)
			gp_json_escape(out, args[i].text, args[i].len);
		else
			put_number(out, args[i].number);
	}
	gp_buf_puts(out, "}");
}

void gp_timeline_begin(struct gp_timeline *timeline, FILE *out)
{
	*timeline = (struct gp_timeline){.out = out};
	gp_buf_puts(&timeline->text, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
}

void gp_timeline_name_process(struct gp_timeline *timeline, u64 pid, const char *name)
{
	put_track(timeline, 'M', pid);
	put_name(timeline, "process_name", name);
}

void gp_timeline_name_track(struct gp_timeline *timeline, u64 pid, u64 tid, const char *name)
{
	put_track(timeline, 'M', pid);
	gp_buf_puts(&timeline->text, ",\"tid\":");
	put_number(&timeline->text, tid);
	put_name(timeline, "thread_name", name);
}

void gp_timeline_add(struct gp_timeline *timeline, const struct gp_timeline_event *event)
{
	struct gp_buf *out = &timeline->text;

	put_track(timeline, event->phase, event->pid);
	gp_buf_puts(out, ",\"tid\":");
	put_number(out, event->tid);
	if (event->name) {
		gp_buf_puts(out, ",\"name\":");
		gp_json_escape(out, event->name,
			       event->name_len ? event->name_len : strlen(event->name));
	}
	put_time(out, ",\"ts\":", event->time_ns);
	if (event->phase == 'X')
		put_time(out, ",\"dur\":", event->length_ns);
	if (event->phase == 'i')
		gp_buf_puts(out, event->everywhere ? ",\"s\":\"g\"" : ",\"s\":\"t\"");
	if (event->flow) {
		gp_buf_puts(out, ",\"cat\":\"");
		gp_buf_puts(out, event->flow);
		gp_buf_puts(out, "\",\"id\":");
		put_number(out, event->flow_id);
		if (event->phase == 'f')
			gp_buf_puts(out, ",\"bp\":\"e\"");
	}
	if (event->args[0].key)
		put_args(out, event->args, GP_ARRAY_SIZE(event->args));
	gp_buf_puts(out, "}");
	if (timeline->out && out->len > FLUSH)
		flush(timeline);
}

void gp_timeline_span(struct gp_timeline *timeline, const struct gp_timeline_event *event, u64 id)
{
	struct gp_timeline_event half = *event;

	half.phase = 'b';
	half.flow = "overlap";
	half.flow_id = id;
	gp_timeline_add(timeline, &half);
	half.phase = 'e';
	half.time_ns += event->length_ns;
	half.args[0].key = NULL;
	gp_timeline_add(timeline, &half);
}

int gp_timeline_slice(struct gp_timeline *timeline, struct gp_timeline_lanes *lanes,
		      const char *title, struct gp_timeline_event *event)
{
	u64 first = event->tid;
	u32 index;

	for (u32 lane = 0; lane < GP_TIMELINE_LANES; lane++) {
		index = gp_map_get(&lanes->map, event->pid, first + lane);
		if (index == GP_MAP_NONE) {
			index = (u32)lanes->count;
			if (gp_array_grow((void **)&lanes->ends, lanes->count, &lanes->capacity,
					  sizeof(*lanes->ends)) ||
			    gp_map_put(&lanes->map, event->pid, first + lane, index))
				return -ENOMEM;
			lanes->ends[lanes->count++] = 0;
			gp_timeline_name_track(timeline, event->pid, first + lane, title);
		}
		if (lanes->ends[index] > event->time_ns)
			continue;
		lanes->ends[index] = event->time_ns + event->length_ns;
		event->tid = first + lane;
		event->phase = 'X';
		gp_timeline_add(timeline, event);
		return 0;
	}
	gp_timeline_span(timeline, event, ++lanes->overlaps);
	return 1;
}

void gp_timeline_lanes_free(struct gp_timeline_lanes *lanes)
{
	gp_map_free(&lanes->map);
	free(lanes->ends);
	*lanes = (struct gp_timeline_lanes){0};
}

int gp_timeline_end(struct gp_timeline *timeline)
{
	gp_buf_puts(&timeline->text, GP_TIMELINE_TAIL);
	if (timeline->text.error || !timeline->out)
		return timeline->text.error;
	flush(timeline);
	return fflush(timeline->out) || ferror(timeline->out) ? -EIO : 0;
}

void gp_timeline_free(struct gp_timeline *timeline)
{
	gp_buf_free(&timeline->text);
}
