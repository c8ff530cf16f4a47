// SPDX-License-Identifier: MIT
/* What stands behind "task-pid [cpu] time:": functions, probes, events, prints and marks. */
#include <string.h>

#include "trace/read/ftrace_parts.h"

#define KFD_MARK "[KFD-TRACE] "

static void set_text(struct gp_event *event, const char *p, const char *end)
{
	gp_skip_blanks(&p, end);
	while (end > p && end[-1] == ' ')
		end--;
	event->text = p;
	event->text_len = (size_t)(end - p);
}

/* "[KFD-TRACE] NAME: key=value ..." behind the printing function's name. */
bool gp_trace_ftrace_print(struct gp_event *event, const char *p, const char *end)
{
	const char *mark = memmem(p, (size_t)(end - p), KFD_MARK, sizeof(KFD_MARK) - 1), *colon;

	if (!mark)
		return false;
	mark += sizeof(KFD_MARK) - 1;
	colon = memchr(mark, ':', (size_t)(end - mark));
	if (!colon || memchr(mark, ' ', (size_t)(colon - mark)))
		return false;
	event->kind = GP_EVENT_KFD;
	event->name = mark;
	event->name_len = (size_t)(colon - mark);
	set_text(event, colon + 1, end);
	return true;
}

/*
 * A probe's "(func+0x0/0x4c0 [amdgpu]) args" is the function's entry, a return probe's
 * "(caller+0x9/0x10 [amdgpu] <- func) ret=0" its return, whatever the probe was called.
 */
static bool take_probe(struct gp_event *event, const char *p, const char *end)
{
	const char *close, *arrow, *q = p;

	if (!GP_PARSE_LITERAL(&q, end, "("))
		return false;
	close = memchr(q, ')', (size_t)(end - q));
	if (!close)
		return false;
	arrow = memmem(q, (size_t)(close - q), " <- ", 4);
	if (arrow)
		q = arrow + 4;
	if (!gp_trace_ftrace_function(&q, close, &event->name, &event->name_len) ||
	    (!arrow && !(q < close && *q == '+')))
		return false;
	event->kind = arrow ? GP_EVENT_LEAVE : GP_EVENT_ENTER;
	set_text(event, close + 1, end);
	return true;
}

/* trace-cmd's form of the graph: "funcgraph_entry:   0.054 us   |      f();". */
static int take_graph(struct gp_trace_ftrace_reader *reader, struct gp_event *event, const char *p,
		      const char *end)
{
	const char *bar = memchr(p, '|', (size_t)(end - p));

	if (!bar || !gp_trace_ftrace_duration(p, bar, event)) {
		reader->stats->unknown++;
		return 0;
	}
	return gp_trace_ftrace_calls(reader, event, bar + 1, end);
}

/* "func <-parent", with modules in brackets. */
static bool take_function(struct gp_event *event, const char *p, const char *end)
{
	const char *arrow = p < end ? memmem(p, (size_t)(end - p), " <-", 3) : NULL;

	if (!arrow || !gp_trace_ftrace_function(&p, arrow, &event->name, &event->name_len))
		return false;
	event->kind = GP_EVENT_ENTER;
	set_text(event, arrow + 3, end);
	return true;
}

int gp_trace_ftrace_body(struct gp_trace_ftrace_reader *reader, struct gp_event *event,
			 const char *p, const char *end)
{
	const char *colon, *q = p;

	if (GP_PARSE_LITERAL(&q, end, "<stack trace>"))
		return 0;
	if (GP_PARSE_LITERAL(&q, end, "funcgraph_entry:") ||
	    GP_PARSE_LITERAL(&q, end, "funcgraph_exit:"))
		return take_graph(reader, event, q, end);
	if (gp_trace_ftrace_print(event, p, end))
		return gp_trace_ftrace_deliver(reader, event);
	/* trace-cmd prints "function:   func <-- parent". */
	if (GP_PARSE_LITERAL(&q, end, "function:")) {
		gp_skip_blanks(&q, end);
		p = q;
	}
	for (q = p; q < end && *q != ':' && *q != ' '; q++)
		;
	colon = q < end && *q == ':' && q > p ? q : NULL;
	if (colon) {
		q = colon + 1;
		gp_skip_blanks(&q, end);
		if (take_probe(event, q, end))
			return gp_trace_ftrace_deliver(reader, event);
	}
	if (take_function(event, p, end))
		return gp_trace_ftrace_deliver(reader, event);
	if (!colon) {
		reader->stats->unknown++;
		return 0;
	}
	event->name = p;
	event->name_len = (size_t)(colon - p);
	set_text(event, q, end);
	event->kind = event->name_len == 18 && !memcmp(event->name, "tracing_mark_write", 18)
			      ? GP_EVENT_MARK
			      : GP_EVENT_POINT;
	return gp_trace_ftrace_deliver(reader, event);
}
