// SPDX-License-Identifier: MIT
/* Collects what the oracle needs of a run, and compares: see judge.h. */
#include "sim/judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/i18n.h"

#define STRETCH_NONE 1000000u
#define STRETCH_MAX  100000000u

static bool is_online(const struct gp_sim_job *job)
{
	return job->spec.class == GP_SCHED_CLASS_ONLINE;
}

static u32 cus_of(const struct gp_sim_scenario *s)
{
	return s->chip.model.xcc_count * s->chip.model.cu_per_xcc;
}

static bool fills_gpu(const struct gp_sim_scenario *s, const struct gp_sim_job *job)
{
	for (u32 i = 0; i < job->work_count; i++) {
		u32 cus = s->work[job->work_first + i].workgroups;

		if (cus && cus < cus_of(s))
			return false;
	}
	return !job->cu_limit && (!job->cus || job->cus == cus_of(s));
}

int gp_sim_judge_can(const struct gp_sim_scenario *s, struct gp_diag *diag)
{
	u32 online = 0, offline = 0;

	if (s->gpus != 1)
		return gp_fail(diag, -EINVAL, "--oracle needs a scenario with one GPU");
	for (u32 i = 0; i < s->job_count; i++) {
		const struct gp_sim_job *job = &s->jobs[i];
		bool open = job->arrival != GP_SIM_CLOSED && job->arrival != GP_SIM_RECORDED_CLOSED;

		online += is_online(job);
		offline += job->spec.class == GP_SCHED_CLASS_OFFLINE;
		if (job->spec.class == GP_SCHED_CLASS_NORMAL)
			return gp_fail(diag, -EINVAL,
				       "--oracle: job %s must have class online or offline",
				       job->name);
		if (is_online(job) && !open)
			return gp_fail(diag, -EINVAL,
				       "--oracle: online job %s needs arrival = poisson, every or "
				       "recorded",
				       job->name);
		if (!is_online(job) && job->arrival != GP_SIM_CLOSED)
			return gp_fail(diag, -EINVAL,
				       "--oracle: offline job %s needs arrival = closed",
				       job->name);
		if (!fills_gpu(s, job))
			return gp_fail(diag, -EINVAL,
				       "--oracle: the kernels of job %s must fill the GPU",
				       job->name);
	}
	if (!online || !offline)
		return gp_fail(diag, -EINVAL,
			       "--oracle needs at least one online job and one offline job");
	return 0;
}

static void take_request(void *data, u32 index, u64 arrived, u64 done, u64 work)
{
	struct gp_sim_judge *judge = data;
	const struct gp_sim_job *job = &judge->scenario->jobs[index];

	if (!is_online(job) || arrived < judge->from_ns)
		return;
	gp_histogram_add(&judge->latency, done - arrived);
	if (judge->error || gp_array_grow((void **)&judge->requests, judge->request_count,
					  &judge->request_room, sizeof(*judge->requests))) {
		judge->error = -ENOMEM;
		return;
	}
	judge->requests[judge->request_count++] = (struct gp_sim_oracle_request){
		.arrived_ns = arrived - judge->from_ns,
		.work_ns = work * judge->stretch_ppm / STRETCH_NONE,
		.due_ns = done - judge->from_ns,
		.server = index,
	};
}

static void take_used(void *data, u32 job, u64 cu_ns)
{
	struct gp_sim_judge *judge = data;

	(void)job;
	if (judge->error || gp_array_grow((void **)&judge->samples, judge->sample_count,
					  &judge->sample_room, sizeof(*judge->samples))) {
		judge->error = -ENOMEM;
		return;
	}
	judge->samples[judge->sample_count++] = cu_ns;
}

void gp_sim_judge_begin(struct gp_sim_judge *judge, const struct gp_sim_scenario *scenario,
			u64 from_ns, const struct gp_sim_alone *alone)
{
	*judge = (struct gp_sim_judge){.scenario = scenario,
				       .from_ns = from_ns,
				       .stretch_ppm = alone->stretch_ppm};
	judge->observer = (struct gp_sim_observer){.request = take_request,
						   .used = take_used,
						   .used_from_ns = from_ns,
						   .used_every_ns = GP_SIM_JUDGE_SAMPLE_NS,
						   .data = judge};
}

/* Requests that have arrived and are not done count as done, so that it is rather too small. */
static u32 stretch_of(const struct gp_sim_scenario *s, const struct gp_sim_result *result)
{
	u64 used = 0, work = 0;

	for (u32 i = 0; i < s->job_count; i++) {
		const struct gp_sim_job *job = &s->jobs[i];
		u64 recorded = 0;

		if (!is_online(job))
			continue;
		used += result->jobs[i].cu_ns / cus_of(s);
		for (u32 w = 0; w < job->work_count; w++)
			recorded += s->work[job->work_first + w].kernel_ns;
		work += job->work_count ? recorded
					: result->jobs[i].arrived * job->kernels * job->kernel_ns;
	}
	if (!work || used <= work)
		return STRETCH_NONE;
	return (u32)GP_MIN((double)used * STRETCH_NONE / (double)work, STRETCH_MAX);
}

int gp_sim_judge_alone(const struct gp_sim_scenario *scenario, u64 from_ns, u64 max_events,
		       struct gp_diag *diag, struct gp_sim_alone *out)
{
	struct gp_sim_judge *judge = calloc(1, sizeof(*judge));
	struct gp_sim_options options = {.only_job = GP_SCHED_NONE,
					 .only_online = true,
					 .max_events = max_events};
	struct gp_sim_result result;
	int error = judge ? 0 : -ENOMEM;

	*out = (struct gp_sim_alone){.stretch_ppm = STRETCH_NONE};
	if (error)
		return error;
	gp_sim_judge_begin(judge, scenario, from_ns, out);
	options.observer = &judge->observer;
	error = gp_sim_run(scenario, &options, diag, &result);
	if (!error) {
		out->p99_ns = gp_histogram_at(&judge->latency, 990);
		out->stretch_ppm = stretch_of(scenario, &result);
		gp_sim_result_free(&result);
	}
	gp_sim_judge_free(judge);
	free(judge);
	return error;
}

/* The CU time that a job used in the window that begins with that sample. */
static u64 used_in(const struct gp_sim_judge *judge, size_t window, u32 job)
{
	u32 jobs = judge->scenario->job_count;

	return judge->samples[(window + GP_SIM_JUDGE_WINDOW) * jobs + job] -
	       judge->samples[window * jobs + job];
}

/* Of all batch jobs in one window. */
static double least_share(const struct gp_sim_judge *judge, size_t window)
{
	const struct gp_sim_scenario *s = judge->scenario;
	u64 left = GP_SIM_JUDGE_SAMPLE_NS * GP_SIM_JUDGE_WINDOW * cus_of(s), least = UINT64_MAX;
	u32 batch = 0;

	for (u32 i = 0; i < s->job_count; i++) {
		u64 used = used_in(judge, window, i);

		if (is_online(&s->jobs[i])) {
			left -= GP_MIN(left, used);
			continue;
		}
		batch++;
		least = GP_MIN(least, used);
	}
	return left ? (double)least * batch / (double)left : 1;
}

static void judge_shares(const struct gp_sim_judge *judge, struct gp_sim_verdict *out)
{
	size_t samples = judge->sample_count / judge->scenario->job_count;

	for (size_t window = 0; window + GP_SIM_JUDGE_WINDOW < samples; window++) {
		double share = least_share(judge, window);

		if (!out->share_known || share < out->share)
			out->share = share;
		out->share_known = true;
	}
}

/* The cheapest batch job to stop, so that the bound holds for any choice among them. */
static struct gp_sim_oracle_cost cheapest(const struct gp_sim_scenario *s)
{
	struct gp_sim_oracle_cost best = {UINT64_MAX / 4, UINT64_MAX / 4};

	for (u32 i = 0; i < s->job_count; i++) {
		struct gp_sim_oracle_cost cost;

		if (is_online(&s->jobs[i]))
			continue;
		cost = gp_sim_oracle_cost(&s->chip.model, s->jobs[i].vgprs);
		if (cost.suspend_ns + cost.resume_ns < best.suspend_ns + best.resume_ns)
			best = cost;
	}
	return best;
}

/* Servers are named by their job. */
static struct gp_sim_oracle_limits limits_of(const struct gp_sim_scenario *s)
{
	u32 batch = 0;

	for (u32 i = 0; i < s->job_count; i++)
		batch += !is_online(&s->jobs[i]);
	return gp_sim_oracle_limits(&s->chip.model, s->job_count, batch, s->sched.max_suspend_ns);
}

/*
 * Where servers took less of the GPU than alone, because the scheduler let them run one after the
 * other, the oracle has the use of that.
 */
static void shorten(struct gp_sim_judge *judge, u64 online_ns)
{
	u64 work = 0, nominal = 0;

	for (size_t i = 0; i < judge->request_count; i++)
		work += judge->requests[i].work_ns;
	nominal = gp_scale(work, STRETCH_NONE, judge->stretch_ppm);
	online_ns = GP_MAX(online_ns, nominal);
	if (online_ns >= work)
		return;
	for (size_t i = 0; i < judge->request_count; i++)
		judge->requests[i].work_ns = gp_scale(judge->requests[i].work_ns, online_ns, work);
}

int gp_sim_judge_end(struct gp_sim_judge *judge, const struct gp_sim_result *result,
		     struct gp_sim_verdict *out)
{
	const struct gp_sim_scenario *s = judge->scenario;
	struct gp_sim_oracle_limits limits = limits_of(s);
	int error = judge->error;

	*out = (struct gp_sim_verdict){.cost = cheapest(s)};
	if (error || judge->sample_count < s->job_count || result->time_ns <= judge->from_ns)
		return error ? error : -EINVAL;
	out->time_ns = result->time_ns - judge->from_ns;
	for (u32 i = 0; i < s->job_count; i++) {
		u64 used = (result->jobs[i].cu_ns - judge->samples[i]) / cus_of(s);

		*(is_online(&s->jobs[i]) ? &out->online_ns : &out->offline_ns) += used;
	}
	shorten(judge, out->online_ns);
	/* A visit at either end may be half inside. */
	error = gp_sim_oracle(judge->requests, judge->request_count, &out->cost, &limits,
			      out->time_ns + out->cost.suspend_ns + out->cost.resume_ns,
			      &out->oracle);
	out->oracle.offline_ns = GP_MIN(out->oracle.offline_ns, out->time_ns);
	out->ratio = out->oracle.offline_ns
			     ? (double)out->offline_ns / (double)out->oracle.offline_ns
			     : 1;
	judge_shares(judge, out);
	return error;
}

void gp_sim_judge_free(struct gp_sim_judge *judge)
{
	free(judge->requests);
	free(judge->samples);
	judge->requests = NULL;
	judge->samples = NULL;
}
