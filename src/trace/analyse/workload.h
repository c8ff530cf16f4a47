/* SPDX-License-Identifier: MIT */
/*
 * Analysis: what one program gave the GPU to do, from its AMD_LOG_LEVEL log: queues, kernels by
 * name and class, sizes, rates, how many queues were used at once, and where nothing was
 * submitted. The log has the time of submission, not of execution; every time here is a time of
 * submission. One pass; memory grows with distinct queues, kernel names and threads.
 */
#ifndef GP_TRACE_ANALYSE_WORKLOAD_H
#define GP_TRACE_ANALYSE_WORKLOAD_H

#include "trace/read/event.h"
#include "trace/analyse/kernel_class.h"
#include "trace/analyse/queues.h"
#include "base/core.h"
#include "base/string_table.h"

/* Submissions this close are "at once". */
#define GP_WORKLOAD_WINDOW_NS 10000000ull
/* A pause between submissions that is worth the word. */
#define GP_WORKLOAD_IDLE_NS GP_NS_PER_MS
/* A time that goes back this far is another boot's, or the clock's fault. */
#define GP_WORKLOAD_JUMP_NS GP_NS_PER_S
#define GP_WORKLOAD_GAPS    5   /* the longest ones are kept */
#define GP_WORKLOAD_BINS    128 /* of the curve; their width doubles when time runs out */
#define GP_WORKLOAD_AT_ONCE 16  /* queues in one window, the last counts "or more" */

struct gp_trace_kernel_use {
	u32 name; /* in `names` */
	enum gp_trace_kernel_class kernel_class;
	u64 count;
	u64 sized; /* dispatches that printed grid and workgroup */
	u64 grid_low, grid_high, grid_sum;
	u64 workgroup; /* of the last */
};

struct gp_trace_gap {
	u64 start_ns, length_ns, line; /* line of the submission that ended it */
};

struct gp_trace_workload {
	struct gp_trace_log_queues *queues;
	struct gp_strings names;
	struct gp_trace_kernel_use *kernels; /* by name */
	size_t kernel_count, kernel_capacity;
	u64 dispatches, named, barriers, copies, copy_bytes, calls, waits;
	u64 unsized_copies; /* whose size is not printed, or is junk (ROCm 5.0 to 5.5) */
	bool has_time;
	enum gp_trace_clock clock; /* of everything that is about time */
	u64 timed;                 /* dispatches by it */
	u64 jumps;             /* how often it went back farther than threads write out of order */
	u64 first_ns, last_ns; /* of these */
	u64 idle_ns, idle_gaps;
	struct gp_trace_gap gaps[GP_WORKLOAD_GAPS]; /* longest first */
	size_t gap_count;
	u64 windows[GP_WORKLOAD_AT_ONCE + 1]; /* windows with n queues */
	u64 bins[GP_WORKLOAD_BINS], bin_ns;
	u64 ahead_sum, ahead_count, ahead_high; /* packets in the queue before each dispatch */
	u64 ahead_seen; /* packets of any kind that say how many are in the queue */
	u64 classes[GP_KERNEL_CLASSES];
	/* private */
	struct gp_map pending;   /* (pid, tid) -> name + 1, 0 = none */
	struct gp_map last_seen; /* (pid, queue) -> window + 1 */
	u64 window;
	u32 window_queues;
	bool in_window;
	u64 shift_ns; /* added to times since the clock went back */
};

int gp_trace_workload_init(struct gp_trace_workload *workload);
void gp_trace_workload_free(struct gp_trace_workload *workload);
/* A gp_event_fn. */
int gp_trace_workload_event(void *ctx, const struct gp_event *event);
/* After the last event: 0 or -ENOMEM. Kernels are then ordered by count. */
int gp_trace_workload_finish(struct gp_trace_workload *workload);
/*
 * Whether the log can know: at AMD_LOG_LEVEL 3 no packet is logged, at 4 those of ROCm 7 are not,
 * while copies are. False: a count of 0 means nothing.
 */
bool gp_trace_workload_has_packets(const struct gp_trace_workload *workload);
bool gp_trace_workload_has_copies(const struct gp_trace_workload *workload);
/* Dispatches per second between the first and the last; 0 when there are fewer than two. */
double gp_trace_workload_rate(const struct gp_trace_workload *workload);

#endif
