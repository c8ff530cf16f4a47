/* SPDX-License-Identifier: MIT */
/*
 * Reader of the output of `gpreempt log --json`, the record of gpreemptd: one object per line. Each
 * line becomes an event of kind DECISION on the MONOTONIC clock. Lines that the daemon had already
 * dropped show as gaps in the numbering and become LOST. Format: docs/reference/json.md.
 */
#ifndef GP_TRACE_READ_DECISION_LOG_H
#define GP_TRACE_READ_DECISION_LOG_H

#include "base/diag.h"
#include "base/lines.h"
#include "trace/read/event.h"

struct gp_trace_decision_log_stats {
	struct gp_lines_stats lines;
	u64 decisions;
	u64 damaged; /* lines that are not a decision */
	u64 lost, gaps;
};

struct gp_trace_decision_job {
	u64 id; /* 0: none */
	u32 pid, priority;
};

/* The whole line, of which the event is a part. Numbers that are missing are 0. */
struct gp_trace_decision {
	struct gp_event event;
	struct gp_trace_decision_job job, other;
	u64 gpu_id, ran_ns;
};

/* Of a DECISION from this reader. */
static inline const struct gp_trace_decision *gp_trace_decision_of(const struct gp_event *event)
{
	return (const struct gp_trace_decision *)event;
}

/* 0, the return of the callback, or -errno after an error message; -EINVAL without a decision. */
int gp_trace_decision_log_read(int fd, const char *name, struct gp_diag *diag, gp_event_fn fn,
			       void *ctx, struct gp_trace_decision_log_stats *stats);

#endif
