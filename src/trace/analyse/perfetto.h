/* SPDX-License-Identifier: MIT */
/*
 * Writer: events as the JSON that ui.perfetto.dev and chrome://tracing open. A group of tracks for
 * each process, GPU and clock; calls and kernel functions as slices on their thread, kernels,
 * copies and a log's packets on their stream and queue, with a flow from the call that submitted
 * them to their completion, everything else (decisions, lost events) as instants. Clocks are not
 * mixed: each has its own tracks, counted from its own first event.
 */
#ifndef GP_TRACE_ANALYSE_PERFETTO_H
#define GP_TRACE_ANALYSE_PERFETTO_H

#include <stdio.h>

#include "trace/read/event.h"

struct gp_trace_perfetto;

/* Writes the start; NULL without memory. The stream stays the caller's. */
struct gp_trace_perfetto *gp_trace_perfetto_new(FILE *out);
/* A gp_event_fn. */
int gp_trace_perfetto_event(void *ctx, const struct gp_event *event);
/* Writes the end and frees; 0, or -EIO when the stream failed. */
int gp_trace_perfetto_end(struct gp_trace_perfetto *perfetto);

#endif
