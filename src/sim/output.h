/* SPDX-License-Identifier: MIT */
/* The results of simulations as a document, and a simulation as a timeline. */
#ifndef GP_SIM_OUTPUT_H
#define GP_SIM_OUTPUT_H

#include "show/doc.h"
#include "show/timeline.h"
#include "sim/judge.h"

/* One policy's run; several are shown side by side. */
struct gp_sim_row {
	const char *label; /* "priority", "fair", "alone" */
	const struct gp_sim_scenario *scenario;
	struct gp_sim_result result;
	const struct gp_sim_verdict *verdict; /* NULL: not compared with the oracle */
};

/* Tables, JSON, and the latency of every job as curves on a page. NULL without memory. */
struct gp_doc *gp_sim_doc(const struct gp_sim_row *rows, size_t count);

/* A cell with three digits; and the lines under a table with these columns. */
void gp_sim_put_ratio(struct gp_doc *doc, bool known, double value);
void gp_sim_explain_oracle(struct gp_doc *doc, bool shares);

/* Collects a trace while the engine runs; at most `limit` events are kept. */
struct gp_sim_trace {
	struct gp_sim_observer observer; /* hand this to gp_sim_run() */
	struct gp_timeline timeline;     /* its text is whole after gp_sim_trace_end() */
	struct gp_timeline_lanes lanes;
	const struct gp_sim_scenario *scenario;
	u64 *pending;                  /* requests of each job */
	u64 holding;                   /* jobs */
	u64 used_ns, busy_ns, samples; /* CU time up to the last sample, and of the next so far */
	u64 spans;
	u64 events, limit, dropped;
	int error;
};

void gp_sim_trace_begin(struct gp_sim_trace *trace, const struct gp_sim_scenario *scenario,
			u64 limit);
/* 0 or -ENOMEM. */
int gp_sim_trace_end(struct gp_sim_trace *trace);
void gp_sim_trace_free(struct gp_sim_trace *trace);
#endif
