/* SPDX-License-Identifier: MIT */
/*
 * Analysis: how work went from HIP through HSA to the GPU in a profiled run: calls by name, time by
 * layer, what the HIP calls waited for, kernels, copies and queues. Feeds on CALL, KERNEL, COPY,
 * TOTAL and AGENT events of one or more files; the same kernel in two files is counted once.
 */
#ifndef GP_TRACE_ANALYSE_SUBMISSION_H
#define GP_TRACE_ANALYSE_SUBMISSION_H

#include "show/doc.h"
#include "trace/read/event.h"
#include "base/string_table.h"

/* Calls, kernels and copies whose times are kept for the division of time; of more, the tables stay
 * exact and the division is that of the first ones. */
#define GP_SUBMISSION_SPANS_MAX (4u << 20)

/* Devices that are kept: more than any machine has. */
#define GP_SUBMISSION_DEVICES_MAX 4096

/* The layers whose time is kept separately; GP_LAYER_OTHER is only counted. */
#define GP_SUBMISSION_LAYERS 4

enum gp_trace_use_field {
	GP_USE_BYTES = 1u << 0,
	GP_USE_GRID = 1u << 1,
	GP_USE_REGISTERS = 1u << 2,
	GP_USE_WAVE = 1u << 3,
	GP_USE_GPU = 1u << 4,
	GP_USE_QUEUE = 1u << 5,
	GP_USE_STAGES = 1u << 6,
	GP_USE_SUMMARY = 1u << 7, /* the profiler's own summary names it */
	GP_USE_TIMED = 1u << 8,   /* total, low and high are of single calls */
	GP_USE_INSIDE = 1u << 9,  /* HIP: hsa_ns and gpu_ns */
	GP_USE_LDS = 1u << 10,
};

/* All calls of one name, or all runs of one kernel. */
struct gp_trace_use {
	u32 name;
	enum gp_trace_layer layer;
	u32 valid; /* enum gp_trace_use_field */
	u64 calls, total_ns, low_ns, high_ns;
	u64 summary_calls, summary_ns;
	u64 bytes;
	u64 hsa_ns, gpu_ns; /* of total_ns: HSA calls ran, the GPU was busy */
	/* Kernels; grid is a range, the rest is of the last run. */
	u64 grid_low, grid_high, workgroup, lds, scratch, gpu, queue;
	u32 vgpr, sgpr, wave;
	u64 stages, queued_ns, seen_ns; /* sums: dispatch to begin, end to complete */
};

struct gp_trace_device {
	u64 node, cus;
	u32 name;
};

struct gp_trace_queue_use {
	u64 gpu, queue;
	u64 kernels, busy_ns, first_ns, last_ns;
};

struct gp_trace_span {
	u64 begin, end;
	u32 use;
};

struct gp_trace_spans {
	struct gp_trace_span *items;
	size_t count, capacity;
};

struct gp_trace_submission {
	struct gp_strings names;
	struct gp_trace_use *uses; /* after finish: by layer, then by time */
	size_t use_count, use_capacity;
	struct gp_trace_device *devices;
	size_t device_count, device_capacity;
	struct gp_trace_queue_use *queues;
	size_t queue_count, queue_capacity;
	u64 duplicates; /* of other files, not counted again */
	u64 spans_left_out;
	bool has_wall;
	bool unrelated; /* the files are of several runs: times between them say nothing */
	u64 first_ns, last_ns;
	u64 sum_ns[GP_SUBMISSION_LAYERS];   /* sum over all calls; nested calls count twice */
	u64 alone_ns[GP_SUBMISSION_LAYERS]; /* the deepest layer active at each moment has it */
	u64 application_ns;                 /* no layer was active */
	bool timed[GP_SUBMISSION_LAYERS];
	u32 pid;
	bool has_pid, several_pids;
	/* private */
	struct gp_map by_name; /* (layer, name) -> use */
	struct gp_map by_queue;
	struct gp_map seen; /* (begin, end and use) -> input */
	struct gp_trace_spans spans[GP_SUBMISSION_LAYERS];
	u32 input;
};

void gp_trace_submission_free(struct gp_trace_submission *submission);
/* A gp_event_fn; zero-initialised is empty. */
int gp_trace_submission_event(void *ctx, const struct gp_event *event);
/* Before each file after the first. */
void gp_trace_submission_next_input(struct gp_trace_submission *submission);
int gp_trace_submission_finish(struct gp_trace_submission *submission);

/* Calls and time of a use: of the single calls, else of the summary. */
u64 gp_trace_use_calls(const struct gp_trace_use *use);
u64 gp_trace_use_total(const struct gp_trace_use *use);
/* Of all uses of a layer. */
u64 gp_trace_submission_layer_total(const struct gp_trace_submission *submission,
				    enum gp_trace_layer layer);

/* Adds the report's sections. */
void gp_trace_submission_doc(const struct gp_trace_submission *submission, struct gp_doc *doc);
/* Adds the checks of a run: each yes, no or not in this data. */
void gp_trace_submission_checks(const struct gp_trace_submission *submission, struct gp_doc *doc);

#endif
