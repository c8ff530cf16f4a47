/* SPDX-License-Identifier: MIT */
/* The inside of the rocprof readers. */
#ifndef GP_TRACE_READ_ROCPROF_PARTS_H
#define GP_TRACE_READ_ROCPROF_PARTS_H

#include "trace/read/rocprof.h"

int gp_trace_rocprof_csv(int fd, const char *name, struct gp_diag *diag, gp_event_fn fn, void *ctx,
			 struct gp_trace_rocprof_stats *stats);
int gp_trace_rocprof_json(int fd, const char *name, struct gp_diag *diag, gp_event_fn fn, void *ctx,
			  struct gp_trace_rocprof_stats *stats);

int gp_trace_rocpd(int fd, const char *name, struct gp_diag *diag, gp_event_fn fn, void *ctx,
		   struct gp_trace_rocprof_stats *stats);

/* Time and duration from begin and end; false (and counted) when they run backwards. */
bool gp_trace_rocprof_times(struct gp_event *event, u64 begin, u64 end,
			    struct gp_trace_rocprof_stats *stats);
/*
 * The domain of a row decides (HIP_RUNTIME_API, HSA_CORE_API, MARKER_CORE_API): a marker may have
 * any name. Without one (NULL) the name does: hipMalloc and __hipPushCallConfiguration belong to
 * HIP, hsa_queue_create to HSA.
 */
enum gp_trace_layer gp_trace_rocprof_layer(const char *domain, const char *name, size_t len);
/* "( ptr(0x7f) size(4096))": the bytes it is about, when it says so. */
void gp_trace_rocprof_bytes(struct gp_event *event, const char *arguments, size_t len);

#endif
