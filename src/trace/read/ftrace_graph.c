// SPDX-License-Identifier: MIT
/* The function_graph tracer: columns in front of the calls, and the calls. */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "trace/read/ftrace_parts.h"

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || gp_is_digit(c) || c == '_' ||
	       c == '.' || c == '$';
}

bool gp_trace_ftrace_function(const char **p, const char *end, const char **name, size_t *len)
{
	const char *q = *p, *dot;

	while (q < end && is_name(*q))
		q++;
	if (q == *p || gp_is_digit(**p))
		return false;
	*name = *p;
	dot = memchr(*p, '.', (size_t)(q - *p));
	*len = (size_t)((dot && dot > *p ? dot : q) - *p);
	*p = q;
	gp_skip_blanks(&q, end);
	if (q < end && *q == '[') {
		const char *close = memchr(q, ']', (size_t)(end - q));

		if (close)
			*p = close + 1;
	}
	return true;
}

bool gp_trace_ftrace_duration(const char *p, const char *end, struct gp_event *event)
{
	const char *q;
	u64 us, fraction = 0, scale = 1000;

	gp_skip_blanks(&p, end);
	if (p < end && strchr("$@*#!+", *p))
		p++;
	gp_skip_blanks(&p, end);
	if (p == end)
		return true;
	if (!gp_parse_u64(&p, end, &us) || us > UINT64_MAX / 1000 - 1)
		return false;
	if (GP_PARSE_LITERAL(&p, end, "."))
		for (; p < end && gp_is_digit(*p); p++) {
			scale /= 10;
			fraction += (u64)(*p - '0') * scale;
		}
	gp_skip_blanks(&p, end);
	q = p;
	if (!GP_PARSE_LITERAL(&q, end, "us"))
		return false;
	event->duration_ns = us * 1000 + fraction;
	event->valid |= GP_EV_DURATION;
	return true;
}

/* The stack of the thread that printed, or of its CPU. NULL: no memory. */
static struct gp_trace_graph_stack *stack(struct gp_trace_ftrace_reader *reader,
					  const struct gp_event *event)
{
	/* Every CPU has a thread 0. */
	bool thread = event->valid & GP_EV_PID && event->pid;
	u64 key = thread ? event->pid : event->cpu;
	u32 at = gp_map_get(&reader->stack_of, thread, key);

	if (at == GP_MAP_NONE) {
		at = (u32)reader->stack_count;
		if (gp_array_grow((void **)&reader->stacks, reader->stack_count,
				  &reader->stack_capacity, sizeof(*reader->stacks)) ||
		    gp_map_put(&reader->stack_of, thread, key, at))
			return NULL;
		reader->stacks[reader->stack_count++].depth = 0;
	}
	return &reader->stacks[at];
}

static int enter(struct gp_trace_ftrace_reader *reader, struct gp_event *event)
{
	struct gp_trace_graph_stack *calls = stack(reader, event);
	u32 id;

	if (!calls || gp_strings_add(&reader->names, event->name, event->name_len, &id))
		return -ENOMEM;
	if (calls->depth < GP_GRAPH_DEPTH)
		calls->names[calls->depth] = id;
	calls->depth++;
	event->kind = GP_EVENT_ENTER;
	event->valid &= ~(u32)GP_EV_DURATION;
	return gp_trace_ftrace_deliver(reader, event);
}

/* "}" closes what was opened last; a comment behind it says what that was, and is believed. */
static int leave(struct gp_trace_ftrace_reader *reader, struct gp_event *event, const char *p,
		 const char *end)
{
	struct gp_trace_graph_stack *calls = stack(reader, event);
	bool opened;

	if (!calls)
		return -ENOMEM;
	opened = calls->depth > 0; /* a trace may begin in the middle of a call */
	calls->depth -= opened;
	gp_skip_blanks(&p, end);
	if (GP_PARSE_LITERAL(&p, end, "/* ") &&
	    gp_trace_ftrace_function(&p, end, &event->name, &event->name_len)) {
		/* as it says */
	} else if (opened && calls->depth < GP_GRAPH_DEPTH) {
		const struct gp_string *name = &reader->names.items[calls->names[calls->depth]];

		event->name = name->text;
		event->name_len = name->len;
	}
	event->kind = GP_EVENT_LEAVE;
	return gp_trace_ftrace_deliver(reader, event);
}

int gp_trace_ftrace_calls(struct gp_trace_ftrace_reader *reader, struct gp_event *event,
			  const char *p, const char *end)
{
	struct gp_event close;
	int ret;

	gp_skip_blanks(&p, end);
	while (end > p && end[-1] == ' ')
		end--;
	if (GP_PARSE_LITERAL(&p, end, "}"))
		return leave(reader, event, p, end);
	if (GP_PARSE_LITERAL(&p, end, "/* ")) {
		event->kind = GP_EVENT_MARK;
		event->text = p;
		event->text_len = (size_t)(end - p);
		if (event->text_len > 3 && !memcmp(end - 3, " */", 3))
			event->text_len -= 3;
		return gp_trace_ftrace_deliver(reader, event);
	}
	if (!gp_trace_ftrace_function(&p, end, &event->name, &event->name_len))
		return 0;
	gp_skip_blanks(&p, end);
	if (!GP_PARSE_LITERAL(&p, end, "(")) {
		event->kind = GP_EVENT_POINT;
		return gp_trace_ftrace_deliver(reader, event);
	}
	while (p < end && *p != '{' && *p != ';')
		p++;
	if (p < end && *p == '{')
		return enter(reader, event);
	/* A leaf is entered and left on one line. */
	close = *event;
	event->kind = GP_EVENT_ENTER;
	event->valid &= ~(u32)GP_EV_DURATION;
	ret = gp_trace_ftrace_deliver(reader, event);
	if (ret)
		return ret;
	close.kind = GP_EVENT_LEAVE;
	if (close.valid & GP_EV_TIME && close.valid & GP_EV_DURATION &&
	    close.time_ns <= UINT64_MAX - close.duration_ns)
		close.time_ns += close.duration_ns;
	else
		close.valid &= ~(u32)GP_EV_TIME;
	/* The end of a leaf is computed: the next line's time may well be before it. */
	close.valid &= ~(u32)GP_EV_CPU;
	return gp_trace_ftrace_deliver(reader, &close);
}

/* " comm-pid  " between the CPU and the duration. */
static void take_process(const char *p, const char *end, struct gp_event *event)
{
	const char *digits;
	u32 pid;

	while (end > p && end[-1] == ' ')
		end--;
	for (digits = end; digits > p && gp_is_digit(digits[-1]); digits--)
		;
	if (digits == end || digits == p || digits[-1] != '-' || !gp_parse_u32(&digits, end, &pid))
		return;
	event->pid = pid;
	event->tid = pid;
	event->valid |= GP_EV_PID | GP_EV_TID;
}

/* "13378.411863 |   0)     kq-117     | + 47.000 us   |      find_process();" with any of the first
 * columns missing. */
int gp_trace_ftrace_graph(struct gp_trace_ftrace_reader *reader, const struct gp_line *line,
			  const char *p, bool *known)
{
	const char *end = line->text + line->len, *bar, *second;
	struct gp_event event = {.line = line->number};
	const char *q = p;
	u32 cpu;

	*known = false;
	if (gp_trace_ftrace_seconds(&q, end, &event.time_ns)) {
		gp_skip_blanks(&q, end);
		if (!GP_PARSE_LITERAL(&q, end, "|"))
			return 0;
		event.valid |= GP_EV_TIME;
		gp_skip_blanks(&q, end);
		p = q;
	}
	if (!gp_parse_u32(&p, end, &cpu) || !GP_PARSE_LITERAL(&p, end, ")"))
		return 0;
	event.cpu = cpu;
	event.valid |= GP_EV_CPU;
	bar = memchr(p, '|', (size_t)(end - p));
	if (!bar) {
		/* "0)  a-1 => b-2", a change of task. */
		*known = memmem(p, (size_t)(end - p), " => ", 4);
		return 0;
	}
	second = memchr(bar + 1, '|', (size_t)(end - bar - 1));
	if (second) {
		take_process(p, bar, &event);
		p = bar + 1;
		bar = second;
	}
	if (!gp_trace_ftrace_duration(p, bar, &event))
		return 0;
	*known = true;
	return gp_trace_ftrace_calls(reader, &event, bar + 1, end);
}
