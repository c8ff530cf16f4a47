// SPDX-License-Identifier: MIT
/* Jobs of a scenario file, and what was recorded of them: see scenario_read.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/core.h"
#include "base/i18n.h"
#include "base/parse.h"
#include "sim/scenario_read.h"

/* "closed", "closed 2ms", "poisson 120/s", "every 8ms", "recorded", "recorded closed". */
static int take_arrival(struct gp_sim_reader *r, const char *value)
{
	struct gp_sim_job *job = r->job;
	const char *rest = strchr(value, ' ');
	size_t word = rest ? (size_t)(rest - value) : strlen(value);

	rest = rest ? rest + 1 : "";
	if (word == 6 && memcmp(value, "closed", 6) == 0) {
		job->arrival = GP_SIM_CLOSED;
		if (!*rest || gp_sim_parse_time(rest, &job->think_ns))
			return 0;
	} else if (word == 5 && memcmp(value, "every", 5) == 0) {
		job->arrival = GP_SIM_EVERY;
		if (gp_sim_parse_time(rest, &job->every_ns) && job->every_ns >= 100)
			return 0;
	} else if (word == 7 && memcmp(value, "poisson", 7) == 0) {
		const char *p = rest, *end = rest + strlen(rest);
		u64 rate;

		job->arrival = GP_SIM_POISSON;
		if (gp_parse_u64(&p, end, &rate) && strcmp(p, "/s") == 0 && rate &&
		    rate <= GP_SIM_RATE_MAX) {
			job->every_ns = GP_NS_PER_S / rate;
			return 0;
		}
	} else if (strcmp(value, "recorded") == 0 || strcmp(value, "recorded closed") == 0) {
		job->arrival = *rest ? GP_SIM_RECORDED_CLOSED : GP_SIM_RECORDED;
		return 0;
	}
	return gp_sim_reader_wrong(
		r, "arrival", value,
		_("\"closed\", \"closed THINK-TIME\", \"every TIME\", \"recorded\", \"recorded "
		  "closed\" or \"poisson N/s\" (N from 1 to 10000000)"));
}

static int take_word(struct gp_sim_reader *r, const char *key, const char *value,
		     const char *const *words, int *out, const char *wanted)
{
	for (int i = 0; words[i]; i++) {
		if (strcmp(words[i], value) == 0) {
			*out = i;
			return 0;
		}
	}
	return gp_sim_reader_wrong(r, key, value, wanted);
}

static int job_word(struct gp_sim_reader *r, const char *name, const char *value, bool *known)
{
	static const char *const classes[] = {"normal", "online", "offline", NULL};
	static const char *const streams[] = {"low", "normal", "high", NULL};
	struct gp_sim_job *job = r->job;
	u64 number;
	int word = 0, error;

	*known = true;
	if (strcmp(name, "class") == 0) {
		error = take_word(r, name, value, classes, &word, _("normal, online or offline"));
		job->spec.class = (enum gp_sched_class)word;
		return error;
	}
	if (strcmp(name, "stream") == 0) {
		error = take_word(r, name, value, streams, &word, _("low, normal or high"));
		job->stream = (enum gp_sched_stream)word;
		return error;
	}
	if (strcmp(name, "arrival") == 0)
		return take_arrival(r, value);
	if (strcmp(name, "gpu") == 0 && strcmp(value, "all") == 0) {
		job->gpu = GP_SIM_ALL_GPUS;
		return 0;
	}
	if (strcmp(name, "gpu") == 0) {
		error = gp_sim_reader_number(r, name, value, 0, GP_SIM_GPUS - 1, &number);
		job->gpu = error ? 0 : (u32)number;
		return error;
	}
	if (strcmp(name, "cus") == 0 && strcmp(value, "all") == 0) {
		job->cus = 0;
		return 0;
	}
	*known = false;
	return 0;
}

int gp_sim_reader_job_key(struct gp_sim_reader *r, const char *name, const char *value)
{
#define JOB_TIME(name, member)             GP_TIME(struct gp_sim_job, name, member)
#define JOB_NUMBER(name, member, min, max) GP_NUMBER(struct gp_sim_job, name, member, min, max)
	static const struct gp_sim_scenario_key keys[] = {
		JOB_NUMBER("priority", spec.priority, 0, GP_SCHED_PRIORITY_MAX),
		JOB_NUMBER("weight", spec.weight, 1, GP_SCHED_WEIGHT_MAX),
		JOB_TIME("deadline", spec.deadline_ns),
		JOB_TIME("budget", spec.budget_ns),
		JOB_TIME("period", spec.period_ns),
		JOB_TIME("max_suspend", spec.max_suspend_ns),
		JOB_NUMBER("processes", processes, 1, GP_SCHED_MAX_PROCESSES),
		JOB_NUMBER("queues", queues, 1, GP_SIM_QUEUES),
		JOB_NUMBER("depth", depth, 1, 1024),
		JOB_NUMBER("kernels", kernels, 1, GP_SIM_KERNELS),
		JOB_TIME("kernel", kernel_ns),
		JOB_NUMBER("cus", cus, 1, GP_MODEL_MAX_CU),
		JOB_NUMBER("rounds", rounds, 1, 100000),
		JOB_NUMBER("vgprs", vgprs, 1, 512),
		JOB_TIME("gap", gap_ns),
		JOB_NUMBER("cu_limit", cu_limit, 1, GP_MODEL_MAX_CU),
		JOB_TIME("hint", hint_ns),
		JOB_TIME("start", start_ns),
		JOB_TIME("stop", stop_ns),
	};
#undef JOB_TIME
#undef JOB_NUMBER
	bool known;
	int error = job_word(r, name, value, &known);

	return known ? error
		     : gp_sim_reader_key(r, keys, GP_ARRAY_SIZE(keys), "class stream arrival gpu",
					 r->job, name, value);
}

int gp_sim_reader_add_job(struct gp_sim_reader *r, const char *name)
{
	struct gp_sim_scenario *s = r->scenario;
	u32 index;

	if (!*name || strlen(name) >= GP_SIM_NAME)
		return gp_fail(r->diag, -EINVAL, "%s:%u: a job name must be 1 to %d bytes long",
			       r->file, r->line, GP_SIM_NAME - 1);
	if (gp_strings_find(&r->names, name, strlen(name)) != GP_MAP_NONE)
		return gp_fail(r->diag, -EINVAL, "%s:%u: duplicate job \"%s\"", r->file, r->line,
			       name);
	if (s->job_count == GP_SCHED_MAX_JOBS)
		return gp_fail(r->diag, -EINVAL, "%s:%u: too many jobs (maximum %d)", r->file,
			       r->line, GP_SCHED_MAX_JOBS);
	r->job = gp_sim_scenario_add_job(s);
	if (!r->job || gp_strings_add(&r->names, name, strlen(name), &index))
		return gp_fail(r->diag, -ENOMEM, "out of memory");
	r->job->line = r->line;
	snprintf(r->job->name, sizeof(r->job->name), "%s", name);
	return 0;
}

int gp_sim_reader_begin_work(struct gp_sim_reader *r, const char *name)
{
	struct gp_sim_scenario *s = r->scenario;
	u32 index = gp_strings_find(&r->names, name, strlen(name));

	if (index == GP_MAP_NONE)
		return gp_fail(r->diag, -EINVAL, "%s:%u: [work %s] must follow [job %s]", r->file,
			       r->line, name, name);
	if (s->jobs[index].work_count)
		return gp_fail(r->diag, -EINVAL, "%s:%u: duplicate [work %s]", r->file, r->line,
			       name);
	r->job = &s->jobs[index];
	r->work = true;
	return 0;
}

int gp_sim_reader_work(struct gp_sim_reader *r, const char *line)
{
	struct gp_sim_kernel kernel;
	int error = gp_sim_parse_kernel(line, &kernel);

	if (error)
		return gp_fail(r->diag, error,
			       "%s:%u: \"%s\": expected TIME QUEUE DURATION [WORKGROUPS], for "
			       "example \"1.5ms 0 20us 80\" (use '+' as TIME to add the kernel to "
			       "the previous request)",
			       r->file, r->line, line);
	kernel.job = (u32)(r->job - r->scenario->jobs);
	error = gp_sim_scenario_add_kernel(r->scenario, &kernel);
	if (error == -EINVAL)
		return gp_fail(r->diag, error,
			       "%s:%u: requests must be in chronological order, and the first TIME "
			       "cannot be '+'",
			       r->file, r->line);
	return error ? gp_fail(r->diag, error, "%s:%u: too many recorded kernels (maximum %d)",
			       r->file, r->line, GP_SIM_WORK)
		     : 0;
}
