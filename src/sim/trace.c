// SPDX-License-Identifier: MIT
/*
 * A simulation as Chrome trace events, which the Perfetto UI opens: a process per job, with its
 * requests, a track for being suspended and tracks for each queue. Counters: requests of a job that
 * are not done, jobs that are suspended, and how busy the GPUs are. Decisions are instants.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "show/reason.h"
#include "sim/output.h"

#define SCHEDULER 0 /* process; jobs follow */
#define SAMPLES   4000
#define SAMPLE_NS 100000u /* the least between two */

enum { TRACK_DECISIONS = 1, TRACK_HELD = 2, TRACK_QUEUE = 16 };

static bool room(struct gp_sim_trace *trace)
{
	if (trace->events >= trace->limit) {
		trace->dropped++;
		return false;
	}
	trace->events++;
	return true;
}

static struct gp_timeline_event slice(const char *name, u32 job, u64 track, u64 from, u64 to)
{
	return (struct gp_timeline_event){.phase = 'X',
					  .pid = job + 1,
					  .tid = track,
					  .name = name,
					  .time_ns = from,
					  .length_ns = to - from};
}

static void on_request(void *data, u32 job, u64 arrived, u64 done, u64 work)
{
	struct gp_sim_trace *trace = data;
	struct gp_timeline_event event = slice("request", job, 0, arrived, done);

	event.args[0] = (struct gp_timeline_arg){"work_us", .number = work / 1000};
	if (room(trace))
		gp_timeline_span(&trace->timeline, &event, ++trace->spans);
}

static void on_kernel(void *data, u32 job, u32 queue, u64 start, u64 end)
{
	struct gp_sim_trace *trace = data;
	u64 track = TRACK_QUEUE + (u64)queue * GP_TIMELINE_LANES;
	struct gp_timeline_event event = slice("kernel", job, track, start, end);
	char title[32];

	if (!room(trace))
		return;
	snprintf(title, sizeof(title), "queue %u", queue);
	if (gp_timeline_slice(&trace->timeline, &trace->lanes, title, &event) < 0)
		trace->error = -ENOMEM;
}

static void on_held(void *data, u32 job, u64 from, u64 to)
{
	struct gp_sim_trace *trace = data;
	struct gp_timeline_event event = slice("suspended", job, TRACK_HELD, from, to);

	if (room(trace))
		gp_timeline_add(&trace->timeline, &event);
}

static void on_decision(void *data, const struct gp_sched_action *action)
{
	struct gp_sim_trace *trace = data;
	char text[256];

	if (action->kind == GP_SCHED_TIMER || action->kind == GP_SCHED_RENEW || !room(trace))
		return;
	gp_show_reason(&action->reason, NULL, NULL, text, sizeof(text));
	gp_timeline_add(&trace->timeline, &(struct gp_timeline_event){
						  .phase = 'i',
						  .everywhere = true,
						  .pid = SCHEDULER,
						  .tid = TRACK_DECISIONS,
						  .name = gp_sched_why_name(action->reason.why),
						  .time_ns = action->reason.at_ns,
						  .args = {{"why", text, strlen(text), 0}},
					  });
}

/* ---- counters ---- */

static void count(struct gp_sim_trace *trace, u32 process, const char *name, const char *key,
		  u64 at_ns, u64 value)
{
	if (room(trace))
		gp_timeline_add(&trace->timeline, &(struct gp_timeline_event){
							  .phase = 'C',
							  .pid = process,
							  .name = name,
							  .time_ns = at_ns,
							  .args = {{key, .number = value}},
						  });
}

static void on_pending(void *data, u32 job, u64 at_ns, int change)
{
	struct gp_sim_trace *trace = data;

	if (!trace->pending)
		return;
	trace->pending[job] += (u64)change;
	count(trace, job + 1, "requests not done", "requests", at_ns, trace->pending[job]);
}

static void on_holding(void *data, u64 at_ns, int change)
{
	struct gp_sim_trace *trace = data;

	trace->holding += (u64)change;
	count(trace, SCHEDULER, "suspended jobs", "jobs", at_ns, trace->holding);
}

/* The share of all CUs' time since the last sample. */
static void on_used(void *data, u32 job, u64 cu_ns)
{
	struct gp_sim_trace *trace = data;
	const struct gp_model_chip *chip = &trace->scenario->chip.model;
	u64 every = trace->observer.used_every_ns;
	double all = (double)every * chip->xcc_count * chip->cu_per_xcc * trace->scenario->gpus;

	trace->busy_ns += cu_ns;
	if (job + 1 < trace->scenario->job_count)
		return;
	if (all > 0 && trace->busy_ns >= trace->used_ns)
		count(trace, SCHEDULER, "GPU busy (%)", "percent", trace->samples * every,
		      (u64)(100 * (double)(trace->busy_ns - trace->used_ns) / all + 0.5));
	trace->used_ns = trace->busy_ns;
	trace->busy_ns = 0;
	trace->samples++;
}

/* ---- begin and end ---- */

void gp_sim_trace_begin(struct gp_sim_trace *trace, const struct gp_sim_scenario *scenario,
			u64 limit)
{
	u64 every = scenario->time_ns / SAMPLES;

	*trace = (struct gp_sim_trace){
		.limit = limit,
		.scenario = scenario,
		.samples = 1,
		.pending = calloc(scenario->job_count + 1, sizeof(u64)),
	};
	every = every > SAMPLE_NS ? every : SAMPLE_NS;
	trace->observer = (struct gp_sim_observer){.request = on_request,
						   .kernel = on_kernel,
						   .held = on_held,
						   .decision = on_decision,
						   .pending = on_pending,
						   .holding = on_holding,
						   .used = on_used,
						   .used_from_ns = every,
						   .used_every_ns = every,
						   .data = trace};
	if (!trace->pending)
		trace->error = -ENOMEM;
	gp_timeline_begin(&trace->timeline, NULL);
	gp_timeline_name_process(&trace->timeline, SCHEDULER, "scheduler");
	gp_timeline_name_track(&trace->timeline, SCHEDULER, TRACK_DECISIONS, "decisions");
	for (u32 i = 0; i < scenario->job_count; i++) {
		gp_timeline_name_process(&trace->timeline, i + 1, scenario->jobs[i].name);
		gp_timeline_name_track(&trace->timeline, i + 1, TRACK_HELD, "suspended");
	}
}

int gp_sim_trace_end(struct gp_sim_trace *trace)
{
	int error = gp_timeline_end(&trace->timeline);

	return trace->error ? trace->error : error;
}

void gp_sim_trace_free(struct gp_sim_trace *trace)
{
	gp_timeline_lanes_free(&trace->lanes);
	gp_timeline_free(&trace->timeline);
	free(trace->pending);
}
