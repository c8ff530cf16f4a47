/* SPDX-License-Identifier: MIT */
/*
 * The byte searches that a log of tens of gigabytes needs: the end of a line together with what in
 * it is worth a look, and the next place that can name a hardware queue. Vector code where the CPU
 * has it, plain C elsewhere, with the same answers. Used by the readers of trace/ only.
 *
 * Both searches read up to GP_SCAN_PAD bytes past what they were given, so the buffer must be that
 * much longer.
 */
#ifndef GP_TRACE_READ_SCAN_H
#define GP_TRACE_READ_SCAN_H

#include "base/types.h"

#define GP_SCAN_PAD 64

/* What stands in one line. Marks are candidates: two or three bytes that look right. */
struct gp_trace_marks {
	const char *end;     /* the newline */
	const char *time[2]; /* 'u' of the first two "us:", or NULL */
	const char *queue;   /* 'q' of the first "q=", or NULL */
	u32 queues;          /* number of "q=" in the line */
};

struct gp_trace_scan {
	const char *name;
	/* Marks of the line that starts at `line`; there is a newline after it in the buffer. */
	void (*line)(const char *line, struct gp_trace_marks *marks);
	/*
	 * First place in [p, end) where one of "qfd" is followed by one of "=Cw". "q=", "fC" and
	 * "dw" are in the messages that name a queue (HWq=, refCount, hardware queue); all nine
	 * pairs are rare elsewhere. `end` when there is none. Adds the newlines passed to
	 * *newlines.
	 */
	const char *(*queue)(const char *p, const char *end, u64 *newlines);
};

/* The best for this CPU. */
const struct gp_trace_scan *gp_trace_scan_select(void);
/* All that this CPU can run, the portable one first, for tests; returns how many. */
size_t gp_trace_scan_all(const struct gp_trace_scan **out, size_t capacity);

#endif
