// SPDX-License-Identifier: MIT
/*
 * Reads `gpreempt log --json`. The ids of lines count without gaps, so that lines which are
 * missing are counted as lost; damaged lines are skipped and counted.
 */
#include "trace/read/decision_log.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"

/* A file whose first lines are not decisions is something else. */
#define DAMAGED_MAX 1000

struct reader {
	gp_event_fn fn;
	void *ctx;
	struct gp_trace_decision_log_stats *stats;
	u64 last; /* id of the line before; 0: none */
};

static int report_gap(struct reader *reader, u64 line, u64 missing)
{
	struct gp_event event = {.kind = GP_EVENT_LOST,
				 .clock = GP_CLOCK_MONOTONIC,
				 .line = line,
				 .count = missing,
				 .valid = GP_EV_COUNT};

	reader->stats->gaps++;
	reader->stats->lost += missing;
	return reader->fn ? reader->fn(reader->ctx, &event) : 0;
}

static void take_job(const json_t *line, const char *key, const char *priority_key,
		     struct gp_trace_decision_job *job)
{
	const json_t *object = json_object_get(line, key);
	u64 number;

	gp_json_get_u64(object, "id", &job->id);
	if (gp_json_get_u64(object, "pid", &number) && number <= INT32_MAX)
		job->pid = (u32)number;
	if (gp_json_get_u64(line, priority_key, &number))
		job->priority = (u32)number;
}

static int take_decision(struct reader *reader, const json_t *object, u64 line, u64 id)
{
	struct gp_trace_decision decision = {.event = {.kind = GP_EVENT_DECISION,
						       .clock = GP_CLOCK_MONOTONIC,
						       .line = line,
						       .correlation = id,
						       .valid = GP_EV_CORRELATION}};
	struct gp_event *event = &decision.event;
	const char *why = json_string_value(json_object_get(object, "why"));
	const json_t *error = json_object_get(object, "error");

	if (!why)
		why = json_string_value(json_object_get(object, "operation"));
	event->name = json_string_value(json_object_get(object, "kind"));
	event->name_len = strlen(event->name);
	event->text = why;
	event->text_len = why ? strlen(why) : 0;
	take_job(object, "job", "job_priority", &decision.job);
	take_job(object, "other", "other_priority", &decision.other);
	gp_json_get_u64(object, "gpu_id", &decision.gpu_id);
	gp_json_get_u64(object, "ran_ns", &decision.ran_ns);
	if (gp_json_get_u64(object, "monotonic_ns", &event->time_ns))
		event->valid |= GP_EV_TIME;
	if (decision.job.pid) {
		event->pid = decision.job.pid;
		event->tid = decision.job.pid;
		event->valid |= GP_EV_PID | GP_EV_TID;
	}
	if (gp_json_get_u64(object, "waited_ns", &event->duration_ns))
		event->valid |= GP_EV_DURATION;
	if (json_is_integer(error) && json_integer_value(error) < 0) {
		event->count = 0 - (u64)json_integer_value(error);
		event->valid |= GP_EV_COUNT;
	}
	event->partial = json_is_true(json_object_get(object, "observed"));
	reader->stats->decisions++;
	return reader->fn ? reader->fn(reader->ctx, event) : 0;
}

static int take_line(void *ctx, const struct gp_line *line)
{
	struct reader *reader = ctx;
	json_t *object = NULL;
	u64 id = 0;
	int ret = 0;

	if (!line->len)
		return 0;
	if (line->text[0] == '{')
		object = json_loadb(line->text, line->len, 0, NULL);
	if (!gp_json_get_u64(object, "id", &id) || !id ||
	    !json_object_get(object, "monotonic_ns") ||
	    !json_is_string(json_object_get(object, "kind"))) {
		json_decref(object);
		return ++reader->stats->damaged > DAMAGED_MAX && !reader->stats->decisions ? -EINVAL
											   : 0;
	}
	/* A restarted daemon counts from 1. */
	if (reader->last && id > reader->last + 1)
		ret = report_gap(reader, line->number, id - reader->last - 1);
	reader->last = id;
	if (!ret)
		ret = take_decision(reader, object, line->number, id);
	json_decref(object);
	return ret;
}

int gp_trace_decision_log_read(int fd, const char *name, struct gp_diag *diag, gp_event_fn fn,
			       void *ctx, struct gp_trace_decision_log_stats *stats)
{
	struct reader reader = {.fn = fn, .ctx = ctx, .stats = stats};
	int ret;

	memset(stats, 0, sizeof(*stats));
	ret = gp_lines_read(fd, name, diag, take_line, &reader, &stats->lines);
	if (!stats->decisions && (!ret || ret == -EINVAL))
		ret = gp_fail(
			diag, -EINVAL,
			"%s: no decision found (expected the output of 'gpreempt log --json')",
			name);
	return ret;
}
