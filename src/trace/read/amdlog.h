/* SPDX-License-Identifier: MIT */
/*
 * Reader of AMD_LOG_LEVEL logs of every era from ROCm 4.x to the 2026 sources: prefixes with and
 * without pid, the 6.3 'd' quirk, lines of ROCr itself, logs wrapped by docker, mpirun, pytest or a
 * mail, torn and interleaved lines. One pass, constant memory. Facts:
 * docs/reference/formats/amd-log.md.
 */
#ifndef GP_TRACE_READ_AMDLOG_H
#define GP_TRACE_READ_AMDLOG_H

#include "base/diag.h"
#include "trace/read/event.h"

/* Longest line kept whole. The runtime cuts messages at 4096 bytes; a longer line is damage. */
#define GP_AMDLOG_LINE_MAX (64u << 10)

struct gp_trace_amdlog_stats {
	u64 bytes;
	u64 lines;          /* newline-terminated, plus a last one without newline */
	u64 recognised;     /* with a log prefix; each of these counts a line once */
	u64 unknown;        /* without one: other programs' output; blank lines are not counted */
	u64 torn;           /* with two messages, or with one whose fields break off */
	u64 overlong;       /* longer than GP_AMDLOG_LINE_MAX: only the start was read */
	u64 without_pid;    /* recognised, but this era or level prints no pid */
	u64 first_bad_line; /* line number of the first torn or overlong line, 0 = none */
	bool binary;        /* NUL bytes were seen outside of log lines */
};

struct gp_trace_amdlog_options {
	const char *name; /* for messages */
	/* Only lines that name a hardware queue are looked at: events other than CREATED,
	 * SELECTED, ACQUIRED, RELEASED, DELETED, DISPATCH, BARRIER and OTHER with a queue are not
	 * delivered; `unknown`, `torn`, `recognised` and `without_pid` are not counted, and
	 * `overlong` only for the lines looked at. */
	bool fast;
	/* Called after each block with the bytes read; may be NULL. */
	void (*progress)(void *ctx, u64 done_bytes);
	void *progress_ctx;
};

/*
 * Reads fd to its end. 0, the return of the callback, or -errno: a read error; -EINVAL for
 * compressed or binary input and input without a single log line (the message names file and line
 * and says what to do). `stats` is filled in every case.
 */
int gp_trace_amdlog_read(int fd, const struct gp_trace_amdlog_options *options,
			 struct gp_diag *diag, gp_event_fn fn, void *ctx,
			 struct gp_trace_amdlog_stats *stats);

#endif
