// SPDX-License-Identifier: MIT
/*
 * The record of gpreemptd as work. It has no kernels, but it says when a job needed the GPU so much
 * that others had to wait, and until when: this becomes a KERNEL of the job that was served. The
 * job that had to wait ran before: another KERNEL.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "trace/analyse/recording.h"
#include "trace/read/decision_log.h"

struct job {
	u32 pid, priority;
	u64 gpu;
	u64 free_since; /* arrived or was resumed; 0: unknown */
	u32 served_by;  /* index of the job it waits for, or GP_MAP_NONE */
	u64 since;      /* of the first that waits for it */
	u32 waiting;    /* for it */
};

struct reader {
	gp_event_fn fn;
	void *ctx;
	struct job *jobs;
	size_t count, room;
	struct gp_map by_id;
};

static int find_job(struct reader *r, const struct gp_trace_decision_job *from, u32 *out)
{
	*out = GP_MAP_NONE;
	if (!from->id)
		return 0;
	*out = gp_map_get(&r->by_id, from->id, 0);
	if (*out == GP_MAP_NONE) {
		*out = (u32)r->count;
		if (gp_array_grow((void **)&r->jobs, r->count, &r->room, sizeof(*r->jobs)) ||
		    gp_map_put(&r->by_id, from->id, 0, *out))
			return -ENOMEM;
		r->jobs[r->count++] = (struct job){.pid = from->pid, .served_by = GP_MAP_NONE};
	}
	r->jobs[*out].priority = from->priority;
	return 0;
}

static int report(struct reader *r, u32 job, u64 from, u64 to)
{
	struct gp_event event = {
		.kind = GP_EVENT_KERNEL,
		.clock = GP_CLOCK_MONOTONIC,
		.valid = GP_EV_TIME | GP_EV_DURATION | GP_EV_PID | GP_EV_GPU | GP_EV_PRIORITY,
		.time_ns = from,
		.duration_ns = to - from,
		.pid = r->jobs[job].pid,
		.gpu = r->jobs[job].gpu,
		.priority = r->jobs[job].priority,
	};

	return from < to ? r->fn(r->ctx, &event) : 0;
}

/* The job it waited for has been served, unless others wait for the same job. */
static int stop_waiting(struct reader *r, u32 job, u64 at)
{
	u32 other = r->jobs[job].served_by;

	r->jobs[job].served_by = GP_MAP_NONE;
	if (other == GP_MAP_NONE || --r->jobs[other].waiting)
		return 0;
	return report(r, other, r->jobs[other].since, at);
}

static bool is_kind(const struct gp_event *event, const char *kind)
{
	return strcmp(event->name, kind) == 0;
}

static int take_decision(void *ctx, const struct gp_event *event)
{
	const struct gp_trace_decision *line = gp_trace_decision_of(event);
	struct reader *r = ctx;
	u64 at = event->time_ns;
	u32 job, other;
	int error;

	if (event->kind != GP_EVENT_DECISION)
		return 0;
	error = find_job(r, &line->job, &job);
	if (!error)
		error = find_job(r, &line->other, &other);
	if (error || job == GP_MAP_NONE || !at)
		return error;
	if (line->gpu_id)
		r->jobs[job].gpu = line->gpu_id;
	if (is_kind(event, "came")) {
		r->jobs[job].free_since = at;
	} else if (is_kind(event, "resume") || is_kind(event, "went")) {
		r->jobs[job].free_since = at;
		return stop_waiting(r, job, at);
	} else if (is_kind(event, "suspend") && r->jobs[job].served_by == GP_MAP_NONE) {
		u64 from = r->jobs[job].free_since;

		if (!from)
			from = line->ran_ns < at ? at - line->ran_ns : at;
		r->jobs[job].free_since = 0;
		error = report(r, job, from, at);
		if (error || other == GP_MAP_NONE || other == job)
			return error;
		r->jobs[job].served_by = other;
		r->jobs[other].gpu = r->jobs[job].gpu;
		if (!r->jobs[other].waiting++)
			r->jobs[other].since = at;
	}
	return 0;
}

int gp_trace_decisions_read(int fd, const char *name, gp_event_fn fn, void *ctx, u64 *lines)
{
	struct reader r = {.fn = fn, .ctx = ctx};
	struct gp_trace_decision_log_stats stats;
	int error = gp_trace_decision_log_read(fd, name, NULL, take_decision, &r, &stats);

	*lines = stats.decisions;
	free(r.jobs);
	gp_map_free(&r.by_id);
	return error;
}
