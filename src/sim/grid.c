// SPDX-License-Identifier: MIT
/* Runs the grid and prints it: see grid.h. */
#include "sim/grid.h"

#include <errno.h>
#include <stdlib.h>

#include "base/i18n.h"
#include "show/doc.h"
#include "sim/output.h"

#define WARM_UP_NS 2000000000ull /* programs start, and a queue of first requests is worked off */
#define JUDGED_NS  10000000000ull
#define REQUEST_NS 2000000u /* of GPU time */
#define KERNELS    4        /* of a request */
#define BATCH_NS   20000000u

static const u32 batch_jobs[] = {1, 4, 16, 64, 256};
static const u32 servers[] = {1, 4, 16, 64};
static const u32 loads[] = {10, 50, 80}; /* per cent of the GPU */

struct point {
	u32 batch, servers, load;
	u64 p99_ns;
	struct gp_sim_alone alone;
	u64 requests, suspends;
	bool rotates; /* the servers and one batch job do not fit on the hardware at once */
	struct gp_sim_verdict verdict;
};

/* Servers with random arrivals and, beside them, batch jobs that always have work. */
static int make_scenario(struct gp_sim_scenario *s, const struct gp_sim_grid *grid,
			 const struct point *point, struct gp_diag *diag)
{
	int error = gp_sim_scenario_init(s, diag);

	if (error)
		return error;
	s->seed = grid->seed;
	s->device.policy = grid->policy;
	s->time_ns = WARM_UP_NS + (grid->time_ns ? grid->time_ns : JUDGED_NS);
	for (u32 i = 0; i < point->servers + point->batch; i++) {
		struct gp_sim_job *job = gp_sim_scenario_add_job(s);
		bool server = i < point->servers;

		if (!job)
			return -ENOMEM;
		snprintf(job->name, sizeof(job->name), "%s%u", server ? "server" : "batch",
			 server ? i : i - point->servers);
		job->spec.class = server ? GP_SCHED_CLASS_ONLINE : GP_SCHED_CLASS_OFFLINE;
		job->arrival = server ? GP_SIM_POISSON : GP_SIM_CLOSED;
		job->every_ns = (u64)REQUEST_NS * point->servers * 100 / point->load;
		job->kernels = server ? KERNELS : 1;
		job->kernel_ns = server ? REQUEST_NS / KERNELS : BATCH_NS;
		job->depth = server ? 1 : 2;
	}
	return 0;
}

static int run_point(const struct gp_sim_grid *grid, struct point *point, struct gp_diag *diag)
{
	struct gp_sim_judge *judge = malloc(sizeof(*judge));
	struct gp_sim_options options = {.only_job = GP_SCHED_NONE};
	struct gp_sim_scenario s = {0};
	struct gp_sim_result result = {0};
	int error = judge ? make_scenario(&s, grid, point, diag) : -ENOMEM;

	if (!error) {
		gp_sim_judge_begin(judge, &s, WARM_UP_NS, &point->alone);
		options.observer = &judge->observer;
		error = gp_sim_run(&s, &options, diag, &result);
	}
	if (!error) {
		point->p99_ns = gp_histogram_at(&judge->latency, 990);
		point->requests = judge->latency.count;
		point->suspends = result.suspends;
		point->rotates = point->servers + 1 > s.chip.model.vmids;
		error = gp_sim_judge_end(judge, &result, &point->verdict);
		gp_sim_judge_free(judge);
	}
	gp_sim_result_free(&result);
	gp_sim_scenario_free(&s);
	free(judge);
	return error;
}

static int run_alone(const struct gp_sim_grid *grid, struct point *point, struct gp_diag *diag)
{
	struct gp_sim_scenario s = {0};
	int error = make_scenario(&s, grid, point, diag);

	if (!error)
		error = gp_sim_judge_alone(&s, WARM_UP_NS, 0, diag, &point->alone);
	gp_sim_scenario_free(&s);
	return error;
}

/* ---- output ---- */

static void put_columns(struct gp_doc *doc)
{
	gp_doc_table(doc, "points", NULL);
	gp_doc_column(doc, "batch_jobs", "BATCH JOBS");
	gp_doc_column(doc, "servers", "SERVERS");
	gp_doc_right(doc);
	gp_doc_column(doc, "rotates", NULL);
	gp_doc_column(doc, "load_percent", "LOAD");
	gp_doc_column(doc, "requests", NULL);
	gp_doc_column(doc, "p99_ns", "P99");
	gp_doc_column(doc, "p99_alone_ns", "P99 ALONE");
	gp_doc_column(doc, "p99_ratio", "P99 / ALONE");
	gp_doc_column(doc, "offline_percent", "OFFLINE");
	gp_doc_column(doc, "oracle_percent", "ORACLE");
	gp_doc_column(doc, "oracle_ratio", "OFFLINE / ORACLE");
	gp_doc_column(doc, "least_share", "LEAST SHARE");
	gp_doc_column(doc, "preemptions_per_second", "PREEMPTIONS");
}

static void put_point(struct gp_doc *doc, const struct point *point)
{
	const struct gp_sim_verdict *v = &point->verdict;
	double time = (double)v->time_ns;
	char text[16];

	gp_doc_cell(doc, gp_v_count(point->batch));
	snprintf(text, sizeof(text), "%u%s", point->servers, point->rotates ? "*" : "");
	gp_doc_cell(doc, gp_v_as(gp_v_count(point->servers), text));
	gp_doc_cell(doc, gp_v_bool(point->rotates));
	gp_doc_cell(doc, gp_v_percent(point->load));
	gp_doc_cell(doc, gp_v_count(point->requests));
	gp_doc_cell(doc, gp_v_if(point->requests, gp_v_ns(point->p99_ns)));
	gp_doc_cell(doc, gp_v_if(point->alone.p99_ns, gp_v_ns(point->alone.p99_ns)));
	gp_sim_put_ratio(doc, point->alone.p99_ns && point->requests,
			 point->alone.p99_ns ? (double)point->p99_ns / (double)point->alone.p99_ns
					     : 0);
	gp_doc_cell(doc, gp_v_percent(100 * (double)v->offline_ns / time));
	gp_doc_cell(doc, gp_v_percent(100 * (double)v->oracle.offline_ns / time));
	gp_sim_put_ratio(doc, true, v->ratio);
	gp_sim_put_ratio(doc, v->share_known, v->share);
	gp_doc_cell(doc, gp_v_real(GP_UNIT_RATE,
				   (double)point->suspends * 1e9 / (time + (double)WARM_UP_NS)));
}

static int put_rows(struct gp_doc *doc, const struct gp_sim_grid *grid, struct gp_diag *diag)
{
	int error = 0;

	for (size_t s = 0; s < GP_ARRAY_SIZE(servers); s++) {
		for (size_t l = 0; l < GP_ARRAY_SIZE(loads); l++) {
			struct point point = {.servers = servers[s], .load = loads[l]};

			error = run_alone(grid, &point, diag);
			for (size_t b = 0; !error && b < GP_ARRAY_SIZE(batch_jobs); b++) {
				point.batch = batch_jobs[b];
				error = run_point(grid, &point, diag);
				if (!error)
					put_point(doc, &point);
			}
			if (error)
				return error;
		}
	}
	return 0;
}

struct gp_doc *gp_sim_grid(const struct gp_sim_grid *grid, struct gp_diag *diag)
{
	struct gp_doc *doc = gp_doc_new_answer();
	int error;

	gp_doc_title(doc, _("Servers together with batch jobs"));
	gp_doc_fact(doc, "kind", NULL, gp_v_text("model, not a measurement"));
	gp_doc_fact(doc, "policy", NULL, gp_v_text(gp_sched_policy_name(grid->policy)));
	put_columns(doc);
	error = put_rows(doc, grid, diag);
	gp_sim_explain_oracle(doc, true);
	gp_doc_line(doc,
		    "Rows marked * have more processes than the GPU has VMIDs even with a single "
		    "batch job: the hardware rotates through all of them, idle ones included.");
	gp_doc_line(doc, "All times come from the GPU model; nothing was measured.");
	if (!error)
		return doc;
	gp_doc_free(doc);
	return NULL;
}
