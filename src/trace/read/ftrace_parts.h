/* SPDX-License-Identifier: MIT */
/* The inside of the ftrace reader: ftrace.c finds out what a line is, ftrace_graph.c reads the
 * function_graph tracer's, ftrace_event.c what stands behind "task-pid [cpu] time:". */
#ifndef GP_TRACE_READ_FTRACE_PARTS_H
#define GP_TRACE_READ_FTRACE_PARTS_H

#include "base/parse.h"
#include "trace/read/ftrace.h"
#include "base/string_table.h"

#define GP_GRAPH_DEPTH 128 /* calls in calls whose names are kept */

/* Functions that one thread (or CPU, where the thread is not printed) is in. */
struct gp_trace_graph_stack {
	u32 names[GP_GRAPH_DEPTH];
	u32 depth; /* may be more than are kept */
};

struct gp_trace_ftrace_reader {
	const struct gp_trace_ftrace_options *options;
	gp_event_fn fn;
	void *ctx;
	struct gp_trace_ftrace_stats *stats;
	struct gp_strings names;
	struct gp_map stack_of; /* (is a pid, pid or cpu) -> stack */
	struct gp_trace_graph_stack *stacks;
	size_t stack_count, stack_capacity;
	struct gp_map last_time; /* (0, cpu) -> index in times */
	u64 *times;
	size_t time_count, time_capacity;
};

/* Counts and hands on; notes times that go back. */
int gp_trace_ftrace_deliver(struct gp_trace_ftrace_reader *reader, struct gp_event *event);
/* A function_graph line, [p, end); *known is whether it is one. */
int gp_trace_ftrace_graph(struct gp_trace_ftrace_reader *reader, const struct gp_line *line,
			  const char *p, bool *known);
/* What the graph shows of calls: "func() {", "func();", "}"; event has the rest. */
int gp_trace_ftrace_calls(struct gp_trace_ftrace_reader *reader, struct gp_event *event,
			  const char *p, const char *end);
/* " + 47.000 us " in front of calls; false if the text is not a duration. Blank means none. */
bool gp_trace_ftrace_duration(const char *p, const char *end, struct gp_event *event);
/* Behind "task-pid [cpu] flags time: ". */
int gp_trace_ftrace_body(struct gp_trace_ftrace_reader *reader, struct gp_event *event,
			 const char *p, const char *end);
/* "[KFD-TRACE] NAME: key=value ..." anywhere in a print; false when it is not there. */
bool gp_trace_ftrace_print(struct gp_event *event, const char *p, const char *end);
/* "12.345678"; leaves *p behind it. */
bool gp_trace_ftrace_seconds(const char **p, const char *end, u64 *ns);
/* A function's name at *p, without module and compiler suffix; leaves *p behind both. */
bool gp_trace_ftrace_function(const char **p, const char *end, const char **name, size_t *len);

#endif
