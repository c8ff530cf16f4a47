// SPDX-License-Identifier: MIT
/* Scenarios as a whole: from a file, from nothing, and whether they fit together. See scenario.h.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/core.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/host/program.h"
#include "base/parse.h"
#include "sim/scenario.h"

#define FILE_LIMIT (256u << 20)

/* The names of the shipped scenarios: "serve, fair, ..." */
static const char *const shipped[] = {"serve", "fair", "deadline", "multi-process", "cluster"};

static int refuse_name(struct gp_diag *diag, const char *name)
{
	struct gp_nearest nearest = {.typed = name};
	char list[128] = "";
	size_t used = 0;

	for (size_t i = 0; i < GP_ARRAY_SIZE(shipped); i++) {
		gp_nearest_look(&nearest, shipped[i]);
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
					 shipped[i]);
	}
	if (*nearest.word)
		return gp_fail(
			diag, -ENOENT,
			"no scenario '%s'; did you mean '%s'? (installed: %s; or give a file)",
			name, nearest.word, list);
	return gp_fail(diag, -ENOENT, "no scenario '%s' (installed: %s; or give a file)", name,
		       list);
}

int gp_sim_scenario_read(const char *path, struct gp_diag *diag, char name[PATH_MAX],
			 struct gp_buf *text)
{
	char installed[PATH_MAX], built[PATH_MAX], found[PATH_MAX];
	int error;

	if (!strchr(path, '/') && !strchr(path, '.')) {
		snprintf(installed, sizeof(installed), "share/gpreempt/scenarios/%s.sim", path);
		snprintf(built, sizeof(built), "data/scenarios/%s.sim", path);
		if (gp_program_beside(installed, built, found, sizeof(found)) == 0)
			path = found;
	}
	snprintf(name, PATH_MAX, "%s", path);
	error = gp_file_read(path, FILE_LIMIT, text);
	if (error == -ENOENT && !strchr(path, '/') && !strchr(path, '.'))
		return refuse_name(diag, path);
	if (error)
		return gp_fail(diag, error, "cannot read %s: %s", path, strerror(-error));
	return 0;
}

int gp_sim_scenario_load(struct gp_sim_scenario *scenario, const char *path, struct gp_diag *diag)
{
	struct gp_buf text = {0};
	char name[PATH_MAX];
	int error = gp_sim_scenario_read(path, diag, name, &text);

	if (!error)
		error = gp_sim_scenario_parse(scenario, name, gp_buf_str(&text), text.len, diag);
	gp_buf_free(&text);
	return error;
}

int gp_sim_scenario_init(struct gp_sim_scenario *scenario, struct gp_diag *diag)
{
	memset(scenario, 0, sizeof(*scenario));
	scenario->gpus = 1;
	scenario->time_ns = GP_NS_PER_S;
	scenario->seed = 1;
	scenario->notice_ns = 10000;
	scenario->call_ns = 30000;
	gp_sched_defaults(&scenario->sched);
	gp_sched_device_defaults(&scenario->device);
	scenario->device.policy = GP_SCHED_PRIORITY;
	return gp_gpufile_load("mi308x", diag, &scenario->chip);
}

struct gp_sim_job *gp_sim_scenario_add_job(struct gp_sim_scenario *s)
{
	struct gp_sim_job *job;

	if (s->job_count == GP_SCHED_MAX_JOBS ||
	    gp_array_grow((void **)&s->jobs, s->job_count, &s->job_room, sizeof(*s->jobs)))
		return NULL;
	job = &s->jobs[s->job_count++];
	memset(job, 0, sizeof(*job));
	*job = (struct gp_sim_job){
		.spec = {.priority = GP_SCHED_NONE, .parks = true},
		.stream = GP_SCHED_STREAM_NORMAL,
		.processes = 1,
		.queues = 1,
		.depth = 1,
		.kernels = 1,
		.kernel_ns = GP_NS_PER_MS,
		.rounds = 1,
		.vgprs = 128,
	};
	return job;
}

static int check_work(const struct gp_sim_job *job, const char *name, struct gp_diag *diag)
{
	bool recorded = job->arrival == GP_SIM_RECORDED || job->arrival == GP_SIM_RECORDED_CLOSED;

	if (recorded && !job->work_count)
		return gp_fail(diag, -EINVAL,
			       "%s:%u: job %s: arrival = recorded needs a [work %s] section", name,
			       job->line, job->name, job->name);
	if (!recorded && job->work_count)
		return gp_fail(
			diag, -EINVAL,
			"%s:%u: job %s: [work %s] needs arrival = recorded or recorded closed",
			name, job->line, job->name, job->name);
	if (recorded && job->processes != 1)
		return gp_fail(diag, -EINVAL,
			       "%s:%u: job %s: a job with recorded work can have only one process; "
			       "define one job per process",
			       name, job->line, job->name);
	return 0;
}

/* What the scheduler core takes, all jobs together. */
static int check_size(const struct gp_sim_scenario *s, const char *name, struct gp_diag *diag)
{
	u64 processes = 0, queues = 0;

	for (u32 i = 0; i < s->job_count; i++) {
		processes += s->jobs[i].processes;
		queues += (u64)s->jobs[i].processes * s->jobs[i].queues;
	}
	if (processes > GP_SCHED_MAX_PROCESSES || queues > GP_SCHED_MAX_QUEUES)
		return gp_fail(
			diag, -EINVAL,
			"%s: too many processes (%llu, maximum %u) or queues (%llu, maximum %u)",
			name, (unsigned long long)processes, GP_SCHED_MAX_PROCESSES,
			(unsigned long long)queues, GP_SCHED_MAX_QUEUES);
	return 0;
}

int gp_sim_scenario_check(const struct gp_sim_scenario *s, const char *name, struct gp_diag *diag)
{
	u32 cus = s->chip.model.xcc_count * s->chip.model.cu_per_xcc;

	if (!s->job_count)
		return gp_fail(diag, -EINVAL, "%s: no [job NAME] section", name);
	if (!s->time_ns)
		return gp_fail(diag, -EINVAL, "%s: [run] time must not be 0", name);
	if (!s->chip.model.quantum_ns)
		return gp_fail(diag, -EINVAL, "%s: [gpu] quantum must not be 0", name);
	for (u32 i = 0; i < s->job_count; i++) {
		const struct gp_sim_job *job = &s->jobs[i];

		if (job->gpu != GP_SIM_ALL_GPUS && job->gpu >= s->gpus)
			return gp_fail(diag, -EINVAL,
				       "%s:%u: job %s: gpu = %u is out of range ([gpu] count = %u)",
				       name, job->line, job->name, job->gpu, s->gpus);
		if (job->cus > cus || job->cu_limit > cus)
			return gp_fail(diag, -EINVAL, "%s:%u: job %s: too many CUs; the GPU has %u",
				       name, job->line, job->name, cus);
		if (job->spec.deadline_ns &&
		    (job->spec.deadline_ns < 1000 || !job->spec.budget_ns ||
		     job->spec.budget_ns > job->spec.deadline_ns ||
		     (job->spec.period_ns && job->spec.period_ns < job->spec.budget_ns)))
			return gp_fail(diag, -EINVAL,
				       "%s:%u: job %s: a deadline must be at least 1us and needs a "
				       "budget that does not exceed the deadline or the period",
				       name, job->line, job->name);
		if (job->kernel_ns / job->rounds == 0)
			return gp_fail(diag, -EINVAL,
				       "%s:%u: job %s: kernel must be at least 1 ns per round (see "
				       "rounds)",
				       name, job->line, job->name);
		if (job->stop_ns && job->stop_ns <= job->start_ns)
			return gp_fail(diag, -EINVAL, "%s:%u: job %s: stop must be after start",
				       name, job->line, job->name);
		int error = check_work(job, name, diag);

		if (error)
			return error;
	}
	return check_size(s, name, diag);
}
