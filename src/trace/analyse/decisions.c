// SPDX-License-Identifier: MIT
/*
 * Reader of `gpreempt log --json`, the record of gpreemptd: one object a line. It has no kernels,
 * but it tells when a job needed the GPU so much that others had to wait, and until when: that is
 * told as a KERNEL of the job that was served. Who had to wait ran before: that is a KERNEL of its
 * own.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/lines.h"
#include "trace/analyse/recording.h"

struct job {
	u32 pid, priority;
	u64 gpu;
	u64 free_since; /* came, or was resumed; 0: not known */
	u32 served_by;  /* who it waits for: an index, GP_MAP_NONE */
	u64 since;      /* of the first that waits for it */
	u32 waiting;    /* for it */
};

struct reader {
	gp_event_fn fn;
	void *ctx;
	struct job *jobs;
	size_t count, room;
	struct gp_map by_id;
	u64 *lines;
};

static u64 number(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value > 0 ? (u64)value : 0;
}

static int find_job(struct reader *r, const json_t *object, u64 priority, u32 *out)
{
	u64 id = number(object, "id");

	*out = GP_MAP_NONE;
	if (!id)
		return 0;
	*out = gp_map_get(&r->by_id, id, 0);
	if (*out == GP_MAP_NONE) {
		*out = (u32)r->count;
		if (gp_array_grow((void **)&r->jobs, r->count, &r->room, sizeof(*r->jobs)) ||
		    gp_map_put(&r->by_id, id, 0, *out))
			return -ENOMEM;
		r->jobs[r->count++] =
			(struct job){.pid = (u32)number(object, "pid"), .served_by = GP_MAP_NONE};
	}
	r->jobs[*out].priority = (u32)priority;
	return 0;
}

static int tell(struct reader *r, u32 job, u64 from, u64 to)
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

/* Who it waited for has been served, unless others wait for the same. */
static int stop_waiting(struct reader *r, u32 job, u64 at)
{
	u32 other = r->jobs[job].served_by;

	r->jobs[job].served_by = GP_MAP_NONE;
	if (other == GP_MAP_NONE || --r->jobs[other].waiting)
		return 0;
	return tell(r, other, r->jobs[other].since, at);
}

static int take_decision(struct reader *r, const json_t *line, const char *kind)
{
	u64 at = number(line, "monotonic_ns"), ran = number(line, "ran_ns");
	u32 job, other;
	int error = find_job(r, json_object_get(line, "job"), number(line, "job_priority"), &job);

	if (!error)
		error = find_job(r, json_object_get(line, "other"), number(line, "other_priority"),
				 &other);
	if (error || job == GP_MAP_NONE || !at)
		return error;
	if (number(line, "gpu_id"))
		r->jobs[job].gpu = number(line, "gpu_id");
	if (strcmp(kind, "came") == 0) {
		r->jobs[job].free_since = at;
	} else if (strcmp(kind, "resume") == 0 || strcmp(kind, "went") == 0) {
		r->jobs[job].free_since = at;
		return stop_waiting(r, job, at);
	} else if (strcmp(kind, "suspend") == 0 && r->jobs[job].served_by == GP_MAP_NONE) {
		u64 from = r->jobs[job].free_since;

		if (!from)
			from = ran && ran < at ? at - ran : at;
		r->jobs[job].free_since = 0;
		error = tell(r, job, from, at);
		if (error || other == GP_MAP_NONE || other == job)
			return error;
		r->jobs[job].served_by = other;
		r->jobs[other].gpu = r->jobs[job].gpu;
		if (!r->jobs[other].waiting++)
			r->jobs[other].since = at;
	}
	return 0;
}

static int take_line(void *ctx, const struct gp_line *line)
{
	struct reader *r = ctx;
	json_t *object;
	const char *kind;
	int error = 0;

	if (!line->len || *line->text != '{')
		return *r->lines ? 0 : -EINVAL; /* some other file: the first line tells */
	object = json_loadb(line->text, line->len, 0, NULL);
	kind = json_string_value(json_object_get(object, "kind"));
	if (!kind || !number(object, "monotonic_ns")) {
		error = *r->lines ? 0 : -EINVAL;
	} else {
		++*r->lines;
		error = take_decision(r, object, kind);
	}
	json_decref(object);
	return error;
}

int gp_trace_decisions_read(int fd, const char *name, struct gp_diag *diag, gp_event_fn fn,
			    void *ctx, u64 *lines)
{
	struct reader r = {.fn = fn, .ctx = ctx, .lines = lines};
	struct gp_lines_stats stats;
	int error;

	*lines = 0;
	error = gp_lines_read(fd, name, diag, take_line, &r, &stats);
	free(r.jobs);
	gp_map_free(&r.by_id);
	return error;
}
