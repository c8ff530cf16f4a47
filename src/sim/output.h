/* SPDX-License-Identifier: MIT */
/* What a simulation shows: a table, JSON, a page with plots, a trace for the Perfetto UI. */
#ifndef GP_SIM_OUTPUT_H
#define GP_SIM_OUTPUT_H

#include <jansson.h>
#include <stdio.h>

#include "base/buf.h"
#include "show/timeline.h"
#include "sim/engine.h"

/* One policy's run; several are shown side by side. */
struct gp_sim_row {
	const char *label; /* "priority", "fair", "alone" */
	const struct gp_sim_scenario *scenario;
	struct gp_sim_result result;
};

int gp_sim_print(const struct gp_sim_row *rows, size_t count, FILE *out, bool colour);
json_t *gp_sim_json(const struct gp_sim_row *rows, size_t count);
/* One self-contained page: works offline, dark and light. */
int gp_sim_html(const struct gp_sim_row *rows, size_t count, struct gp_buf *out);

/* Collects a trace while the engine runs; at most `limit` events are kept. */
struct gp_sim_trace {
	struct gp_sim_observer observer; /* hand this to gp_sim_run() */
	struct gp_timeline timeline;     /* the caller ends and frees it */
	u64 events, limit, dropped;
};

void gp_sim_trace_begin(struct gp_sim_trace *trace, const struct gp_sim_scenario *scenario,
			u64 limit);
/* Escapes for HTML. */
void gp_sim_html_text(struct gp_buf *out, const char *text);

#endif
