// SPDX-License-Identifier: MIT
/* A simulation as Chrome trace events, which the Perfetto UI opens: a process per job, with a track
 * for requests, one for each queue and one for being held; decisions are instants. */
#include <string.h>

#include "show/reason.h"
#include "sim/output.h"

enum { TRACK_REQUESTS = 1, TRACK_HELD = 2, TRACK_QUEUE = 16 };

static bool room(struct gp_sim_trace *trace)
{
	if (trace->events >= trace->limit) {
		trace->dropped++;
		return false;
	}
	trace->events++;
	return true;
}

static void span(struct gp_sim_trace *trace, const char *name, u32 job, u32 track, u64 from, u64 to)
{
	if (room(trace))
		gp_timeline_add(&trace->timeline, &(struct gp_timeline_event){
							  .phase = 'X',
							  .pid = job + 1,
							  .tid = track,
							  .name = name,
							  .time_ns = from,
							  .length_ns = to - from,
						  });
}

static void on_request(void *data, u32 job, u64 arrived, u64 done, u64 work)
{
	(void)work;
	span(data, "request", job, TRACK_REQUESTS, arrived, done);
}

static void on_kernel(void *data, u32 job, u32 queue, u64 start, u64 end)
{
	span(data, "kernel", job, TRACK_QUEUE + queue, start, end);
}

static void on_held(void *data, u32 job, u64 from, u64 to)
{
	span(data, "suspended", job, TRACK_HELD, from, to);
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
						  .tid = 1,
						  .name = gp_sched_why_name(action->reason.why),
						  .time_ns = action->reason.at_ns,
						  .args = {{"why", text, strlen(text), 0}},
					  });
}

void gp_sim_trace_begin(struct gp_sim_trace *trace, const struct gp_sim_scenario *scenario,
			u64 limit)
{
	memset(trace, 0, sizeof(*trace));
	trace->limit = limit;
	trace->observer = (struct gp_sim_observer){.request = on_request,
						   .kernel = on_kernel,
						   .held = on_held,
						   .decision = on_decision,
						   .data = trace};
	gp_timeline_begin(&trace->timeline, NULL);
	gp_timeline_name_process(&trace->timeline, 0, "scheduler");
	for (u32 i = 0; i < scenario->job_count; i++)
		gp_timeline_name_process(&trace->timeline, i + 1, scenario->jobs[i].name);
}
