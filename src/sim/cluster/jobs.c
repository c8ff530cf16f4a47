// SPDX-License-Identifier: MIT
/* The jobs of a cluster scenario: drawn from the seed, or from a CSV trace. See cluster.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/core.h"
#include "base/csv.h"
#include "base/i18n.h"
#include "sim/chance.h"
#include "sim/cluster/cluster.h"

int gp_sim_cluster_add_job(struct gp_sim_cluster *cluster, const struct gp_sim_cluster_job *job)
{
	if (cluster->job_count == GP_SIM_CLUSTER_JOBS)
		return -E2BIG;
	if (gp_array_grow((void **)&cluster->jobs, cluster->job_count, &cluster->job_room,
			  sizeof(*cluster->jobs)))
		return -ENOMEM;
	cluster->jobs[cluster->job_count++] = *job;
	return 0;
}

/* ---- the trace ---- */

#define ERROR_LIMIT 20 /* that are reported of one trace */

enum column { SUBMIT, CLASS, NODES, GPUS, RUN, BUSY, CHECKPOINT, COLUMNS };

static const char *const columns[] = {
	[SUBMIT] = "submit_s",
	[CLASS] = "class",
	[NODES] = "nodes",
	[GPUS] = "gpus",
	[RUN] = "run_s",
	[BUSY] = "busy_percent",
	[CHECKPOINT] = "checkpoint_s",
};

struct trace {
	struct gp_sim_cluster *cluster;
	const char *file;
	struct gp_diag *diag;
	bool header;
	u32 errors;
	size_t field[COLUMNS]; /* SIZE_MAX: the file does not have it */
};

static bool field_is(const struct gp_field *field, const char *text)
{
	return field->len == strlen(text) && memcmp(field->text, text, field->len) == 0;
}

static int take_header(struct trace *trace, const struct gp_csv_record *record)
{
	trace->header = true;
	for (int i = 0; i < COLUMNS; i++) {
		trace->field[i] = SIZE_MAX;
		for (size_t f = 0; f < record->count; f++)
			if (field_is(&record->fields[f], columns[i]))
				trace->field[i] = f;
		if (trace->field[i] == SIZE_MAX && i < BUSY)
			return gp_fail(trace->diag, -EINVAL,
				       "%s: column %s is missing (needed: submit_s, class, nodes, "
				       "gpus, run_s; optional: busy_percent, checkpoint_s)",
				       trace->file, columns[i]);
	}
	return 0;
}

/* The other records are looked at as well. */
static int wrong(struct trace *trace, const struct gp_csv_record *record, enum column column)
{
	int error = gp_fail(trace->diag, -EINVAL, "%s:%llu: invalid value in column %s",
			    trace->file, (unsigned long long)record->line, columns[column]);

	return ++trace->errors == ERROR_LIMIT ? error : 0;
}

/* A column that may be missing or empty has its value already. */
static bool take_number(const struct trace *trace, const struct gp_csv_record *record,
			enum column column, u64 min, u64 max, u64 *out)
{
	size_t at = trace->field[column];
	u64 value;

	if (column >= BUSY && (at >= record->count || !record->fields[at].len))
		return true;
	if (at >= record->count || !gp_field_u64(&record->fields[at], &value) || value < min ||
	    value > max)
		return false;
	*out = value;
	return true;
}

static int take_record(void *ctx, const struct gp_csv_record *record)
{
	static const u64 least[COLUMNS] = {[NODES] = 1, [GPUS] = 1, [RUN] = 1};
	static const u64 most[COLUMNS] = {
		[SUBMIT] = GP_SIM_CLUSTER_TIME_MAX / GP_NS_PER_S,
		[NODES] = GP_SIM_CLUSTER_NODES,
		[GPUS] = GP_SIM_CLUSTER_GPUS,
		[RUN] = GP_SIM_CLUSTER_TIME_MAX / GP_NS_PER_S,
		[BUSY] = 100,
		[CHECKPOINT] = GP_SIM_CLUSTER_TIME_MAX / GP_NS_PER_S,
	};
	struct trace *trace = ctx;
	u64 value[COLUMNS] = {[BUSY] = 100};
	struct gp_sim_cluster_job job;
	const struct gp_field *class;
	int error;

	if (!trace->header)
		return take_header(trace, record);
	for (int i = 0; i < COLUMNS; i++)
		if (i != CLASS &&
		    !take_number(trace, record, (enum column)i, least[i], most[i], &value[i]))
			return wrong(trace, record, (enum column)i);
	class = trace->field[CLASS] < record->count ? &record->fields[trace->field[CLASS]] : NULL;
	if (!class || (!field_is(class, "online") && !field_is(class, "offline")))
		return wrong(trace, record, CLASS);
	job = (struct gp_sim_cluster_job){.at_ns = value[SUBMIT] * GP_NS_PER_S,
					  .run_ns = value[RUN] * GP_NS_PER_S,
					  .checkpoint_ns = value[CHECKPOINT] * GP_NS_PER_S,
					  .nodes = (u32)value[NODES],
					  .gpus = (u32)value[GPUS],
					  .busy = (u32)value[BUSY] * 10,
					  .kind = GP_SIM_CLUSTER_TRACED,
					  .online = field_is(class, "online")};
	error = gp_sim_cluster_add_job(trace->cluster, &job);
	return error == -E2BIG ? gp_fail(trace->diag, error, "%s: too many jobs (maximum %d)",
					 trace->file, GP_SIM_CLUSTER_JOBS)
			       : error;
}

int gp_sim_cluster_trace(struct gp_sim_cluster *cluster, const char *path, struct gp_diag *diag)
{
	struct trace trace = {.cluster = cluster, .file = path, .diag = diag};
	struct gp_csv_stats stats = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC), error;

	if (fd < 0)
		return gp_fail(diag, -errno, "cannot read %s: %s", path, strerror(errno));
	error = gp_csv_read(fd, path, diag, take_record, &trace, &stats);
	close(fd);
	if (!error && trace.errors)
		error = -EINVAL;
	if (!error && stats.damaged)
		error = gp_fail(diag, -EINVAL, "%s:%llu: damaged record", path,
				(unsigned long long)stats.first_bad_line);
	return error;
}

/* ---- jobs from the seed ---- */

static int draw(struct gp_sim_cluster *cluster, u32 index)
{
	const struct gp_sim_cluster_kind *kind = &cluster->kinds[index];
	u64 random = gp_mix(cluster->seed ^ gp_mix(index + 1)), at = 0;
	u64 every = kind->per_node ? GP_MAX(kind->every_ns / cluster->nodes, 1) : kind->every_ns;
	int error = 0;

	while (!error) {
		u64 distance = kind->arrival == GP_SIM_CLUSTER_POISSON
				       ? gp_sim_exponential(&random, every)
				       : every;
		struct gp_sim_cluster_job job = {.run_ns = kind->run_ns,
						 .checkpoint_ns = kind->checkpoint_ns,
						 .nodes = kind->nodes,
						 .gpus = kind->gpus,
						 .busy = kind->busy,
						 .kind = (u16)index,
						 .online = kind->online};

		at += GP_MAX(distance, 1);
		if (at >= cluster->time_ns)
			break;
		job.at_ns = at;
		if (kind->random_run)
			job.run_ns = GP_MIN(GP_MAX(gp_sim_exponential(&random, kind->run_ns),
						   GP_NS_PER_MS),
					    GP_SIM_CLUSTER_TIME_MAX);
		error = gp_sim_cluster_add_job(cluster, &job);
	}
	return error;
}

static int compare(u64 first, u64 second)
{
	return (first > second) - (first < second);
}

/* By time, then by everything else: two that are the same may change places. */
static int by_time(const void *a, const void *b)
{
	const struct gp_sim_cluster_job *first = a, *second = b;
	int order = compare(first->at_ns, second->at_ns);

	order = order ? order : compare(second->online, first->online);
	order = order ? order : compare(first->nodes, second->nodes);
	order = order ? order : compare(first->gpus, second->gpus);
	order = order ? order : compare(first->run_ns, second->run_ns);
	order = order ? order : compare(first->checkpoint_ns, second->checkpoint_ns);
	order = order ? order : compare(first->busy, second->busy);
	return order ? order : compare(first->kind, second->kind);
}

/* Jobs that are sorted: those of a trace that the run is too short for. */
static void warn_left_out(const struct gp_sim_cluster *cluster, const char *name,
			  struct gp_diag *diag)
{
	size_t first = cluster->job_count;

	while (first && cluster->jobs[first - 1].at_ns >= cluster->time_ns)
		first--;
	if (first < cluster->job_count)
		gp_diag(diag, GP_WARNING,
			ngettext("%s: %zu job arrives after the end of the run and is left out "
				 "(see time)",
				 "%s: %zu jobs arrive after the end of the run and are left out "
				 "(see time)",
				 (unsigned long)(cluster->job_count - first)),
			name, cluster->job_count - first);
}

int gp_sim_cluster_prepare(struct gp_sim_cluster *cluster, const char *name, struct gp_diag *diag)
{
	int error = 0;

	for (u32 i = 0; !error && i < cluster->kind_count; i++)
		error = draw(cluster, i);
	if (error == -E2BIG)
		return gp_fail(diag, error, "%s: too many jobs (maximum %d)", name,
			       GP_SIM_CLUSTER_JOBS);
	if (error)
		return gp_fail(diag, error, "out of memory");
	if (!cluster->job_count)
		return gp_fail(diag, -EINVAL,
			       "%s: no job arrives in the time of the run (see [job NAME] and "
			       "[trace])",
			       name);
	qsort(cluster->jobs, cluster->job_count, sizeof(*cluster->jobs), by_time);
	for (size_t i = 0; i < cluster->job_count; i++) {
		const struct gp_sim_cluster_job *job = &cluster->jobs[i];

		if (job->nodes > cluster->nodes || job->gpus > cluster->gpus)
			return gp_fail(diag, -EINVAL,
				       "%s: a job is larger than the cluster (nodes %u of %u, GPUs "
				       "per node %u of %u)",
				       name, job->nodes, cluster->nodes, job->gpus, cluster->gpus);
	}
	warn_left_out(cluster, name, diag);
	return 0;
}
