/* SPDX-License-Identifier: MIT */
/*
 * Reader of ftrace text: the function and function_graph tracers, events, kprobe events and
 * trace_printk, as in the `trace` file or from `trace-cmd report`. Kernel functions become ENTER
 * and LEAVE, whichever tracer saw them; other events POINT, user marks MARK, [KFD-TRACE] prints
 * KFD, and places where the tracer dropped events LOST. One pass; memory grows with distinct
 * functions and threads. Facts: docs/reference/formats/kernel.md.
 */
#ifndef GP_TRACE_READ_FTRACE_H
#define GP_TRACE_READ_FTRACE_H

#include "base/diag.h"
#include "trace/read/event.h"
#include "base/lines.h"

struct gp_trace_ftrace_stats {
	struct gp_lines_stats lines;
	u64 events;  /* delivered, without LOST */
	u64 unknown; /* lines that are neither event, comment, stack nor blank */
	u64 lost;    /* events that the tracer says are missing, as far as it says */
	u64 gaps;    /* places where it says so */
	u64 jumps;   /* times that go back on one CPU */
	u64 first_jump_line;
};

struct gp_trace_ftrace_options {
	const char *name; /* for messages */
	/* What trace_clock was set to; the text does not say. */
	enum gp_trace_clock clock;
};

/*
 * 0, the return of the callback, or -errno after an error message; -EINVAL without a single event.
 * Function names come without what the compiler adds (".isra.0").
 */
int gp_trace_ftrace_read(int fd, const struct gp_trace_ftrace_options *options,
			 struct gp_diag *diag, gp_event_fn fn, void *ctx,
			 struct gp_trace_ftrace_stats *stats);

#endif
