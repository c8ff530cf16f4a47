// SPDX-License-Identifier: MIT
/* A simulation as Chrome trace events, which the Perfetto UI opens: a process per job, with a track
 * for requests, one for each queue and one for being held; decisions are instants. */
#include <errno.h>
#include <string.h>

#include "show/reason.h"
#include "sim/output.h"

enum { TRACK_REQUESTS = 1, TRACK_HELD = 2, TRACK_QUEUE = 16 };

void gp_sim_json_text(struct gp_buf *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			gp_buf_printf(out, "\\%c", c);
		else if (c < 0x20)
			gp_buf_printf(out, "\\u%04x", c);
		else
			gp_buf_add(out, text, 1);
	}
}

static bool room(struct gp_sim_trace *trace)
{
	if (trace->events >= trace->limit) {
		trace->dropped++;
		return false;
	}
	gp_buf_puts(&trace->text, trace->events++ ? ",\n" : "\n");
	return true;
}

static void span(struct gp_sim_trace *trace, const char *name, u32 job, u32 track, u64 from, u64 to)
{
	if (!room(trace))
		return;
	gp_buf_printf(&trace->text,
		      "{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%llu.%03llu,"
		      "\"dur\":%llu.%03llu}",
		      name, job + 1, track, (unsigned long long)(from / 1000),
		      (unsigned long long)(from % 1000), (unsigned long long)((to - from) / 1000),
		      (unsigned long long)((to - from) % 1000));
}

static void on_request(void *data, u32 job, u64 arrived, u64 done)
{
	span(data, "request", job, TRACK_REQUESTS, arrived, done);
}

static void on_kernel(void *data, u32 job, u32 queue, u64 start, u64 end)
{
	span(data, "kernel", job, TRACK_QUEUE + queue, start, end);
}

static void on_held(void *data, u32 job, u64 from, u64 to)
{
	span(data, "held", job, TRACK_HELD, from, to);
}

static void on_decision(void *data, const struct gp_sched_action *action)
{
	struct gp_sim_trace *trace = data;
	char text[256];

	if (action->kind == GP_SCHED_TIMER || action->kind == GP_SCHED_RENEW || !room(trace))
		return;
	gp_sched_reason_text(&action->reason, NULL, NULL, text, sizeof(text));
	gp_buf_printf(&trace->text,
		      "{\"ph\":\"i\",\"s\":\"g\",\"name\":\"%s\",\"pid\":0,\"tid\":1,"
		      "\"ts\":%llu.%03llu,\"args\":{\"why\":\"",
		      gp_sched_why_name(action->reason.why),
		      (unsigned long long)(action->reason.at_ns / 1000),
		      (unsigned long long)(action->reason.at_ns % 1000));
	gp_sim_json_text(&trace->text, text);
	gp_buf_puts(&trace->text, "\"}}");
}

static void name_process(struct gp_sim_trace *trace, u32 pid, const char *name)
{
	if (!room(trace))
		return;
	gp_buf_printf(&trace->text,
		      "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"args\":{\"name\":\"",
		      pid);
	gp_sim_json_text(&trace->text, name);
	gp_buf_puts(&trace->text, "\"}}");
}

void gp_sim_trace_begin(struct gp_sim_trace *trace, const struct gp_sim_scenario *scenario,
			u64 limit)
{
	memset(trace, 0, sizeof(*trace));
	trace->scenario = scenario;
	trace->limit = limit;
	trace->observer = (struct gp_sim_observer){.request = on_request,
						   .kernel = on_kernel,
						   .held = on_held,
						   .decision = on_decision,
						   .data = trace};
	gp_buf_puts(&trace->text, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	name_process(trace, 0, "scheduler");
	for (u32 i = 0; i < scenario->job_count; i++)
		name_process(trace, i + 1, scenario->jobs[i].name);
}

int gp_sim_trace_end(struct gp_sim_trace *trace)
{
	gp_buf_puts(&trace->text, "\n]}\n");
	return trace->text.error;
}

void gp_sim_trace_free(struct gp_sim_trace *trace)
{
	gp_buf_free(&trace->text);
}
