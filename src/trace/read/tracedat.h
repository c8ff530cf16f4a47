/* SPDX-License-Identifier: MIT */
/*
 * Reader of trace.dat, what `trace-cmd record` writes: the kernel's ring buffers as they were, with
 * the formats and symbols to read them. File versions 6 and 7, compressed with zstd or not, little
 * endian. Gives the same events as the reader of ftrace text, merged over CPUs by time, but with
 * nanoseconds and the clock that was used. Nothing is trusted: sizes, offsets and lengths are
 * checked against the file. Memory: formats, symbols, and a block for each CPU.
 * Facts: docs/reference/formats/kernel.md.
 */
#ifndef GP_TRACE_READ_TRACEDAT_H
#define GP_TRACE_READ_TRACEDAT_H

#include "base/diag.h"
#include "trace/read/event.h"

struct gp_trace_tracedat_stats {
	u32 version; /* of the file */
	u32 cpus;
	u64 bytes;   /* of pages read */
	u64 events;  /* delivered, without LOST */
	u64 unknown; /* of a type whose format is not in the file */
	u64 lost;    /* events that the tracer says are missing, as far as it says */
	u64 gaps;    /* places where it says so */
	u64 jumps;   /* times that go back on one CPU */
	u64 damaged; /* pages that break off or make no sense; the rest of each is left out */
	enum gp_trace_clock clock;
	bool has_time; /* false: the clock does not count nanoseconds */
};

/* Whether a file that starts like this is one. */
bool gp_trace_tracedat_is(const char *start, size_t len);

/*
 * Reads from a file that can be read at any place; its position does not matter. Events come with
 * their number in `line`, from 1 in the order of time. 0, the return of the callback, or -errno
 * after saying why; a file cut in the middle gives what was before the cut.
 */
int gp_trace_tracedat_read(int fd, const char *name, struct gp_diag *diag, gp_event_fn fn,
			   void *ctx, struct gp_trace_tracedat_stats *stats);

#endif
