// SPDX-License-Identifier: MIT
/* Tables and JSON of simulations: see output.h. */
#include "sim/output.h"

#include <errno.h>
#include <string.h>

#include "base/i18n.h"
#include "base/json.h"
#include "base/units.h"
#include "show/table.h"

static const u32 permilles[] = {500, 900, 990, 999};

static void time_cell(struct gp_table *table, bool known, u64 ns)
{
	if (known)
		gp_table_cell(table, gp_duration_text(ns).text);
	else
		gp_table_missing(table);
}

/* Jain's index over CU time by weight, in thousandths; 1000: everybody has the same. */
static u64 fairness(const struct gp_sim_row *row)
{
	double sum = 0, squares = 0;
	u32 jobs = 0;

	for (u32 i = 0; i < row->result.job_count; i++) {
		u32 weight = row->scenario->jobs[i].spec.weight;
		double share = (double)row->result.jobs[i].cu_ns /
			       (weight ? weight : GP_SCHED_WEIGHT_DEFAULT);

		if (!row->result.jobs[i].arrived)
			continue;
		sum += share;
		squares += share * share;
		jobs++;
	}
	return squares > 0 ? (u64)(1000 * sum * sum / (jobs * squares)) : 0;
}

static double per_second(u64 count, u64 ns)
{
	return ns ? (double)count * 1e9 / (double)ns : 0;
}

/* CU time used of what the GPUs have, in per cent. */
static double busy_share(const struct gp_sim_row *row, u64 cu_ns)
{
	const struct gp_model_chip *chip = &row->scenario->chip.model;
	double all = (double)row->result.time_ns * chip->xcc_count * chip->cu_per_xcc *
		     row->scenario->gpus;

	return all > 0 ? 100 * (double)cu_ns / all : 0;
}

static void job_row(struct gp_table *table, const struct gp_sim_row *row, u32 index)
{
	const struct gp_sim_job_result *job = &row->result.jobs[index];
	bool known = job->latency.count != 0;

	gp_table_cell(table, row->label);
	gp_table_cell(table, row->scenario->jobs[index].name);
	gp_table_cellf(table, "%llu", (unsigned long long)job->completed);
	gp_table_cellf(table, "%.1f", per_second(job->completed, row->result.time_ns));
	time_cell(table, known, gp_histogram_at(&job->latency, 500));
	time_cell(table, known, gp_histogram_at(&job->latency, 990));
	time_cell(table, known, job->latency.max);
	gp_table_cellf(table, "%.1f %%", busy_share(row, job->cu_ns));
	gp_table_cellf(table, "%llu", (unsigned long long)job->suspends);
	time_cell(table, true, job->held_ns);
}

int gp_sim_print(const struct gp_sim_row *rows, size_t count, FILE *out, bool colour)
{
	struct gp_table *jobs = gp_table_new(), *runs = gp_table_new();
	int error;

	gp_table_column(jobs, _("policy"), GP_LEFT);
	gp_table_column(jobs, _("job"), GP_LEFT);
	gp_table_column(jobs, _("requests"), GP_RIGHT);
	gp_table_column(jobs, _("per second"), GP_RIGHT);
	gp_table_column(jobs, "p50", GP_RIGHT);
	gp_table_column(jobs, "p99", GP_RIGHT);
	gp_table_column(jobs, _("max"), GP_RIGHT);
	gp_table_column(jobs, _("of the GPU"), GP_RIGHT);
	gp_table_column(jobs, _("preempted"), GP_RIGHT);
	gp_table_column(jobs, _("held"), GP_RIGHT);
	gp_table_column(runs, _("policy"), GP_LEFT);
	gp_table_column(runs, _("preemptions"), GP_RIGHT);
	gp_table_column(runs, _("declined"), GP_RIGHT);
	gp_table_column(runs, _("runlist updates"), GP_RIGHT);
	gp_table_column(runs, _("GPU time lost"), GP_RIGHT);
	gp_table_column(runs, _("fairness"), GP_RIGHT);
	for (size_t r = 0; r < count; r++) {
		const struct gp_sim_result *result = &rows[r].result;

		for (u32 i = 0; i < result->job_count; i++)
			if (result->jobs[i].arrived)
				job_row(jobs, &rows[r], i);
		gp_table_cell(runs, rows[r].label);
		gp_table_cellf(runs, "%llu", (unsigned long long)result->suspends);
		gp_table_cellf(runs, "%llu", (unsigned long long)result->declined);
		gp_table_cellf(runs, "%llu", (unsigned long long)result->updates);
		gp_table_cellf(runs, "%.2f %%",
			       result->time_ns
				       ? 100 * (double)result->switch_ns / (double)result->time_ns /
						 rows[r].scenario->gpus
				       : 0);
		gp_table_cellf(runs, "%.3f", (double)fairness(&rows[r]) / 1000);
	}
	error = gp_table_print(jobs, out, colour);
	if (!error && fputc('\n', out) == EOF)
		error = -EIO;
	if (!error)
		error = gp_table_print(runs, out, colour);
	gp_table_free(jobs);
	gp_table_free(runs);
	return error;
}

static json_t *job_json(const struct gp_sim_row *row, u32 index)
{
	const struct gp_sim_job_result *job = &row->result.jobs[index];
	bool known = job->latency.count != 0;
	json_t *latency = json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o}", "p50_ns",
		gp_json_u64_if(known, gp_histogram_at(&job->latency, permilles[0])), "p90_ns",
		gp_json_u64_if(known, gp_histogram_at(&job->latency, permilles[1])), "p99_ns",
		gp_json_u64_if(known, gp_histogram_at(&job->latency, permilles[2])), "p999_ns",
		gp_json_u64_if(known, gp_histogram_at(&job->latency, permilles[3])), "max_ns",
		gp_json_u64_if(known, job->latency.max), "mean_ns",
		gp_json_u64_if(known, known ? job->latency.sum / job->latency.count : 0));

	return json_pack("{s:o, s:I, s:I, s:I, s:I, s:f, s:f, s:I, s:I, s:o}", "name",
			 gp_json_str(row->scenario->jobs[index].name), "arrived",
			 (json_int_t)job->arrived, "completed", (json_int_t)job->completed, "lost",
			 (json_int_t)job->lost, "kernels", (json_int_t)job->kernels, "per_second",
			 per_second(job->completed, row->result.time_ns), "gpu_percent",
			 busy_share(row, job->cu_ns), "preempted", (json_int_t)job->suspends,
			 "held_ns", (json_int_t)job->held_ns, "latency", latency);
}

json_t *gp_sim_json(const struct gp_sim_row *rows, size_t count)
{
	json_t *runs = json_array();

	for (size_t r = 0; r < count; r++) {
		const struct gp_sim_result *result = &rows[r].result;
		json_t *jobs = json_array(), *why = json_object();

		for (u32 i = 0; i < result->job_count; i++)
			if (result->jobs[i].arrived)
				json_array_append_new(jobs, job_json(&rows[r], i));
		for (u32 i = 0; i < GP_SCHED_WHYS; i++)
			if (result->stats_why[i])
				json_object_set_new(why, gp_sched_why_name(i),
						    json_integer((json_int_t)result->stats_why[i]));
		json_array_append_new(
			runs,
			json_pack(
				"{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:b, s:o, s:o}",
				"policy", rows[r].label, "time_ns", (json_int_t)result->time_ns,
				"seed", (json_int_t)rows[r].scenario->seed, "events",
				(json_int_t)result->events, "gpu_events",
				(json_int_t)result->gpu_events, "preemptions",
				(json_int_t)result->suspends, "declined",
				(json_int_t)result->declined, "runlist_updates",
				(json_int_t)result->updates, "gpu_time_lost_ns",
				(json_int_t)result->switch_ns, "fairness",
				(double)fairness(&rows[r]) / 1000, "cut", result->cut, "jobs", jobs,
				"reasons", why));
	}
	return json_pack("{s:s, s:s, s:s, s:o}", "title", rows[0].scenario->title, "chip",
			 rows[0].scenario->chip.name, "kind", "model, not a measurement", "runs",
			 runs);
}
