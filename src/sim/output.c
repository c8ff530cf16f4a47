// SPDX-License-Identifier: MIT
#include "sim/output.h"

#include "base/i18n.h"

#define CURVE_STEPS 100

/* Jain's index over CU time by weight, in steps of 0.001; 1: all jobs have the same. */
static double fairness(const struct gp_sim_row *row)
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
	return squares > 0 ? (double)(u64)(1000 * sum * sum / (jobs * squares)) / 1000 : 0;
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

static double lost_share(const struct gp_sim_row *row)
{
	const struct gp_sim_result *result = &row->result;

	return result->time_ns ? 100 * (double)result->switch_ns / (double)result->time_ns /
					 row->scenario->gpus
			       : 0;
}

static struct gp_show_value quantile(const struct gp_sim_job_result *job, u32 permille)
{
	return gp_v_if(job->latency.count, gp_v_ns(gp_histogram_at(&job->latency, permille)));
}

/* ---- tables and pictures ---- */

static void put_job_row(struct gp_doc *doc, const struct gp_sim_row *row, u32 index)
{
	const struct gp_sim_job_result *job = &row->result.jobs[index];

	gp_doc_cell(doc, gp_v_text(row->label));
	gp_doc_cell(doc, gp_v_text(row->scenario->jobs[index].name));
	gp_doc_cell(doc, gp_v_count(job->completed));
	gp_doc_cell(doc, gp_v_real(GP_UNIT_RATE, per_second(job->completed, row->result.time_ns)));
	gp_doc_cell(doc, quantile(job, 500));
	gp_doc_cell(doc, quantile(job, 990));
	gp_doc_cell(doc, gp_v_if(job->latency.count, gp_v_ns(job->latency.max)));
	gp_doc_cell(doc, gp_v_percent(busy_share(row, job->cu_ns)));
	gp_doc_cell(doc, gp_v_count(job->suspends));
	gp_doc_cell(doc, gp_v_ns(job->held_ns));
}

static void put_jobs(struct gp_doc *doc, const struct gp_sim_row *rows, size_t count)
{
	gp_doc_table(doc, NULL, "Jobs");
	gp_doc_column(doc, NULL, "POLICY");
	gp_doc_column(doc, NULL, "JOB");
	gp_doc_column(doc, NULL, "REQUESTS");
	gp_doc_column(doc, NULL, "RATE");
	gp_doc_column(doc, NULL, "P50");
	gp_doc_column(doc, NULL, "P99");
	gp_doc_column(doc, NULL, "MAX");
	gp_doc_column(doc, NULL, "GPU TIME");
	gp_doc_column(doc, NULL, "PREEMPTIONS");
	gp_doc_column(doc, NULL, "TIME SUSPENDED");
	for (size_t r = 0; r < count; r++) {
		for (u32 i = 0; i < rows[r].result.job_count; i++)
			if (rows[r].result.jobs[i].arrived)
				put_job_row(doc, &rows[r], i);
	}
}

static void put_policies(struct gp_doc *doc, const struct gp_sim_row *rows, size_t count)
{
	gp_doc_table(doc, NULL, "Policies");
	gp_doc_column(doc, NULL, "POLICY");
	gp_doc_column(doc, NULL, "PREEMPTIONS");
	gp_doc_column(doc, NULL, "DECLINED");
	gp_doc_column(doc, NULL, "RUNLIST UPDATES");
	gp_doc_column(doc, NULL, "GPU TIME LOST");
	gp_doc_column(doc, NULL, "FAIRNESS");
	for (size_t r = 0; r < count; r++) {
		const struct gp_sim_result *result = &rows[r].result;
		char text[16];

		gp_doc_cell(doc, gp_v_text(rows[r].label));
		gp_doc_cell(doc, gp_v_count(result->suspends));
		gp_doc_cell(doc, gp_v_count(result->declined));
		gp_doc_cell(doc, gp_v_count(result->updates));
		gp_doc_cell(doc, gp_v_percent(lost_share(&rows[r])));
		snprintf(text, sizeof(text), "%.3f", fairness(&rows[r]));
		gp_doc_cell(doc, gp_v_as(gp_v_real(GP_UNIT_REAL, 0), text));
	}
}

/* GPU time in per cent of what was judged. */
static double part_of(const struct gp_sim_verdict *verdict, u64 ns)
{
	return 100 * (double)ns / (double)verdict->time_ns;
}

/* Beside the best possible schedule. */
static void put_verdicts(struct gp_doc *doc, const struct gp_sim_row *rows, size_t count)
{
	bool shares = false, any = false;

	for (size_t r = 0; r < count; r++) {
		any |= rows[r].verdict != NULL;
		shares |= rows[r].verdict && rows[r].verdict->share_known;
	}
	if (!any)
		return;
	gp_doc_table(doc, NULL, "Batch work beside the best possible schedule");
	gp_doc_column(doc, NULL, "POLICY");
	gp_doc_column(doc, NULL, "ONLINE");
	gp_doc_column(doc, NULL, "OFFLINE");
	gp_doc_column(doc, NULL, "ORACLE");
	gp_doc_column(doc, NULL, "OFFLINE / ORACLE");
	gp_doc_column(doc, NULL, "LEAST SHARE");
	gp_doc_optional(doc);
	for (size_t r = 0; r < count; r++) {
		const struct gp_sim_verdict *verdict = rows[r].verdict;

		if (!verdict)
			continue;
		gp_doc_cell(doc, gp_v_text(rows[r].label));
		gp_doc_cell(doc, gp_v_percent(part_of(verdict, verdict->online_ns)));
		gp_doc_cell(doc, gp_v_percent(part_of(verdict, verdict->offline_ns)));
		gp_doc_cell(doc, gp_v_percent(part_of(verdict, verdict->oracle.offline_ns)));
		gp_sim_put_ratio(doc, true, verdict->ratio);
		gp_sim_put_ratio(doc, verdict->share_known, verdict->share);
	}
	gp_sim_explain_oracle(doc, shares);
}

void gp_sim_put_ratio(struct gp_doc *doc, bool known, double value)
{
	char text[16];

	snprintf(text, sizeof(text), "%.3f", value);
	gp_doc_cell(doc, gp_v_if(known, gp_v_as(gp_v_real(GP_UNIT_REAL, value), text)));
}

void gp_sim_explain_oracle(struct gp_doc *doc, bool shares)
{
	gp_doc_line(doc, "OFFLINE is the GPU time of batch jobs. ORACLE is the maximum that any "
			 "scheduler could give them at these preemption costs if no request "
			 "finished later than in this run.");
	if (!shares)
		return;
	gp_doc_line(doc, "LEAST SHARE is the least GPU time that any batch job got in any 5 s "
			 "window, relative to an equal share of the time that online jobs left.");
}

/* The latency of a job under every policy. */
static void put_curves(struct gp_doc *doc, const struct gp_sim_row *rows, size_t count, u32 job)
{
	bool any = false;
	char title[256];

	for (size_t r = 0; r < count; r++) {
		const struct gp_histogram *latency = &rows[r].result.jobs[job].latency;
		u64 ns[CURVE_STEPS + 1];

		if (!latency->count)
			continue;
		if (!any) {
			snprintf(title, sizeof(title),
				 _("%s: share of requests completed within the given time"),
				 rows[0].scenario->jobs[job].name);
			gp_doc_curves(doc, title);
		}
		any = true;
		for (u32 i = 0; i <= CURVE_STEPS; i++)
			ns[i] = gp_histogram_at(latency, i * 1000 / CURVE_STEPS);
		gp_doc_curve(doc, rows[r].label, ns, CURVE_STEPS + 1);
	}
}

/* ---- JSON ---- */

static void put_count(struct gp_doc *doc, const char *key, u64 number)
{
	gp_doc_fact(doc, key, NULL, gp_v_count(number));
}

static void put_real(struct gp_doc *doc, const char *key, double real)
{
	gp_doc_fact(doc, key, NULL, gp_v_real(GP_UNIT_REAL, real));
}

static void put_job(struct gp_doc *doc, const struct gp_sim_row *row, u32 index)
{
	const struct gp_sim_job_result *job = &row->result.jobs[index];
	const struct gp_histogram *latency = &job->latency;

	gp_doc_open(doc, NULL, NULL);
	gp_doc_fact(doc, "name", NULL, gp_v_text(row->scenario->jobs[index].name));
	put_count(doc, "arrived", job->arrived);
	put_count(doc, "completed", job->completed);
	put_count(doc, "lost", job->lost);
	put_count(doc, "kernels", job->kernels);
	put_real(doc, "per_second", per_second(job->completed, row->result.time_ns));
	put_real(doc, "gpu_percent", busy_share(row, job->cu_ns));
	put_count(doc, "preempted", job->suspends);
	put_count(doc, "held_ns", job->held_ns);
	gp_doc_open(doc, "latency", NULL);
	gp_doc_fact(doc, "p50_ns", NULL, quantile(job, 500));
	gp_doc_fact(doc, "p90_ns", NULL, quantile(job, 900));
	gp_doc_fact(doc, "p99_ns", NULL, quantile(job, 990));
	gp_doc_fact(doc, "p999_ns", NULL, quantile(job, 999));
	gp_doc_fact(doc, "max_ns", NULL, gp_v_if(latency->count, gp_v_ns(latency->max)));
	gp_doc_fact(doc, "mean_ns", NULL,
		    gp_v_if(latency->count,
			    gp_v_ns(latency->count ? latency->sum / latency->count : 0)));
	gp_doc_close(doc);
	gp_doc_close(doc);
}

static void put_verdict(struct gp_doc *doc, const struct gp_sim_verdict *verdict)
{
	gp_doc_open(doc, "oracle", NULL);
	put_count(doc, "judged_ns", verdict->time_ns);
	put_count(doc, "online_ns", verdict->online_ns);
	put_count(doc, "offline_ns", verdict->offline_ns);
	put_count(doc, "possible_ns", verdict->oracle.offline_ns);
	put_real(doc, "ratio", verdict->ratio);
	put_count(doc, "visits", verdict->oracle.visits);
	put_count(doc, "suspend_ns", verdict->cost.suspend_ns);
	put_count(doc, "resume_ns", verdict->cost.resume_ns);
	gp_doc_fact(doc, "least_share", NULL,
		    gp_v_if(verdict->share_known, gp_v_real(GP_UNIT_REAL, verdict->share)));
	gp_doc_close(doc);
}

static void put_run(struct gp_doc *doc, const struct gp_sim_row *row)
{
	const struct gp_sim_result *result = &row->result;

	gp_doc_open(doc, NULL, NULL);
	gp_doc_fact(doc, "policy", NULL, gp_v_text(row->label));
	put_count(doc, "time_ns", result->time_ns);
	put_count(doc, "seed", row->scenario->seed);
	put_count(doc, "events", result->events);
	put_count(doc, "gpu_events", result->gpu_events);
	put_count(doc, "preemptions", result->suspends);
	put_count(doc, "declined", result->declined);
	put_count(doc, "runlist_updates", result->updates);
	put_count(doc, "gpu_time_lost_ns", result->switch_ns);
	put_real(doc, "fairness", fairness(row));
	gp_doc_fact(doc, "cut", NULL, gp_v_bool(result->cut));
	if (row->verdict)
		put_verdict(doc, row->verdict);
	gp_doc_open_list(doc, "jobs", NULL);
	for (u32 i = 0; i < result->job_count; i++)
		if (result->jobs[i].arrived)
			put_job(doc, row, i);
	gp_doc_close(doc);
	gp_doc_open(doc, "reasons", NULL);
	for (u32 i = 0; i < GP_SCHED_WHYS; i++)
		if (result->stats_why[i])
			put_count(doc, gp_sched_why_name(i), result->stats_why[i]);
	gp_doc_close(doc);
	gp_doc_close(doc);
}

struct gp_doc *gp_sim_doc(const struct gp_sim_row *rows, size_t count)
{
	const struct gp_sim_scenario *scenario = rows[0].scenario;
	struct gp_doc *doc = gp_doc_new_answer();

	gp_doc_title(doc, *scenario->title ? scenario->title : "gpreempt sim");
	gp_doc_fact(doc, "title", NULL, gp_v_text(scenario->title));
	gp_doc_fact(doc, "chip", NULL, gp_v_text(scenario->chip.name));
	gp_doc_fact(doc, "kind", NULL, gp_v_text("model, not a measurement"));
	put_jobs(doc, rows, count);
	put_policies(doc, rows, count);
	put_verdicts(doc, rows, count);
	gp_doc_line(doc, "All times come from the GPU model; nothing was measured.");
	for (u32 job = 0; job < rows[0].result.job_count; job++)
		put_curves(doc, rows, count, job);
	gp_doc_open_list(doc, "runs", NULL);
	for (size_t r = 0; r < count; r++)
		put_run(doc, &rows[r]);
	gp_doc_close(doc);
	return doc;
}
