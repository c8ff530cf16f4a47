/* SPDX-License-Identifier: MIT */
/*
 * Analysis: the workloads of two programs side by side, and the suitable way to preempt one for the
 * other, with the reason.
 */
#ifndef GP_TRACE_ANALYSE_COMPARE_H
#define GP_TRACE_ANALYSE_COMPARE_H

#include "show/doc.h"
#include "trace/analyse/workload.h"

/* Cost of one suspend or resume of a process as seen in the field; it unmaps and maps every queue
 * of the device. An estimate until it is measured on this machine. */
#define GP_SUSPEND_COST_NS 500000ull

enum gp_trace_strategy {
	GP_STRATEGY_UNKNOWN,         /* too little in the logs */
	GP_STRATEGY_WAIT,            /* pauses of the batch job come soon enough */
	GP_STRATEGY_SUSPEND_PROCESS, /* two processes: stop one as a whole */
	GP_STRATEGY_SUSPEND_QUEUES,  /* one process, separate queues: stop some of them */
	GP_STRATEGY_TIME_SLICE,      /* one process, shared queues: only whole turns */
};

struct gp_trace_comparison {
	const struct gp_trace_workload *cases[2];
	const char *names[2];
	size_t queues[2];
	bool same_process;    /* at least one pid is in both */
	bool pids_known;      /* both logs name every queue's process */
	size_t same_ids;      /* HSA ids in both; ids are per process */
	size_t shared_queues; /* of the same process and address */
	bool has_overlap;     /* both have times of one clock */
	u64 overlap_ns;       /* both were submitting */
	int online;           /* which looks latency-critical: 0, 1, or -1 */
	u64 batch_pause_ns;   /* mean time between pauses of the other; 0 = has none */
	enum gp_trace_strategy strategy;
};

/* 0 or -ENOMEM. */
int gp_trace_compare(const struct gp_trace_workload *a, const char *a_name,
		     const struct gp_trace_workload *b, const char *b_name,
		     struct gp_trace_comparison *out);
/* NULL without memory. */
struct gp_doc *gp_trace_compare_doc(const struct gp_trace_comparison *comparison);

#endif
