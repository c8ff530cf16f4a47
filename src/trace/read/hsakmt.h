/* SPDX-License-Identifier: MIT */
/*
 * Reader of what libhsakmt prints with HSAKMT_DEBUG_LEVEL: bare sentences without time, process or
 * prefix, some without a newline at their end. `[hsaKmtXxx] ...` becomes API_ENTER, other sentences
 * that are known POINT; everything else is other programs'. Facts:
 * docs/reference/formats/amd-log.md.
 */
#ifndef GP_TRACE_READ_HSAKMT_H
#define GP_TRACE_READ_HSAKMT_H

#include "base/diag.h"
#include "trace/read/event.h"
#include "base/lines.h"

struct gp_trace_hsakmt_stats {
	struct gp_lines_stats lines;
	u64 recognised; /* sentences */
	u64 unknown;    /* lines without one */
};

/* 0, the return of the callback, or -errno after an error message; -EINVAL without a single
 * sentence. */
int gp_trace_hsakmt_read(int fd, const char *name, struct gp_diag *diag, gp_event_fn fn, void *ctx,
			 struct gp_trace_hsakmt_stats *stats);

#endif
