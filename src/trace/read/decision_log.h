/* SPDX-License-Identifier: MIT */
/*
 * Reader of gpreempt's own record, as `gpreempt log --json` prints it: one object a line. Each line
 * becomes an event of kind DECISION on the MONOTONIC clock; numbers that are missing in between, of
 * lines that the daemon no longer had, become LOST. Facts: docs/json.md.
 */
#ifndef GP_TRACE_READ_DECISION_LOG_H
#define GP_TRACE_READ_DECISION_LOG_H

#include "base/diag.h"
#include "trace/read/event.h"
#include "base/lines.h"

struct gp_trace_decision_log_stats {
	struct gp_lines_stats lines;
	u64 decisions;
	u64 damaged; /* lines that are no such object */
	u64 lost, gaps;
};

/* 0, the callback's return, or -errno after saying why; -EINVAL without a single decision. */
int gp_trace_decision_log_read(int fd, const char *name, struct gp_diag *diag, gp_event_fn fn,
			       void *ctx, struct gp_trace_decision_log_stats *stats);

#endif
