// SPDX-License-Identifier: MIT
/*
 * The figures in the text format of Prometheus (version 0.0.4), summed over jobs: the number of
 * series stays bounded, and every user of this machine may read them. No floating point, so that no
 * locale puts a comma into a number.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "daemon/daemon.h"
#include "gpu/gpu.h"
#include "proto/swapped.h"

enum {
	/* Of the histograms' powers of two those from 1 us to 34 s are shown. */
	FIRST_BUCKET = 9,
	LAST_BUCKET = 34,
};

static const char *const classes[GP_DAEMON_CLASSES] = GP_CLASS_NAMES;

void gp_daemon_metrics_add(struct gp_daemon_metrics_activity *sum,
			   const struct gp_proto_msg_job *job)
{
	sum->active_ns += job->active_ns;
	sum->switches += job->switches;
	sum->switched_out += job->switched_out;
	sum->lost_ns += job->lost_ns;
}

static void describe(struct gp_buf *out, const char *name, const char *type, const char *help)
{
	gp_buf_printf(out, "# HELP gpreempt_%s %s\n# TYPE gpreempt_%s %s\n", name, help, name,
		      type);
}

void gp_daemon_metrics_escape(struct gp_buf *out, const char *value)
{
	for (; *value; value++) {
		if (*value == '\n')
			gp_buf_puts(out, "\\n");
		else if (*value == '"' || *value == '\\')
			gp_buf_printf(out, "\\%c", *value);
		else
			gp_buf_add(out, value, 1);
	}
}

static void seconds(struct gp_buf *out, u64 ns)
{
	gp_buf_printf(out, "%llu.%09llu", (unsigned long long)(ns / GP_NS_PER_S),
		      (unsigned long long)(ns % GP_NS_PER_S));
}

static void number(struct gp_buf *out, const char *name, const char *type, const char *help,
		   u64 value)
{
	describe(out, name, type, help);
	gp_buf_printf(out, "gpreempt_%s %llu\n", name, (unsigned long long)value);
}

/* One of several series of a metric; the label needs no escaping. */
static void labelled(struct gp_buf *out, const char *name, const char *label, const char *value,
		     u64 count)
{
	gp_buf_printf(out, "gpreempt_%s{%s=\"%s\"} %llu\n", name, label, value,
		      (unsigned long long)count);
}

/* A counter that went back would be read as one that was started again. What is held or busy now
 * is counted up to now, which may be a little later than the end that is recorded for it. */
static u64 never_less(u64 *last, u64 value)
{
	*last = GP_MAX(*last, value);
	return *last;
}

/* ---- histograms ---- */

static void histogram(struct gp_buf *out, const char *name, const char *class,
		      const struct gp_proto_daemon_histogram *histogram)
{
	char label[32] = "", alone[32] = "";
	u64 below = 0;

	if (class) {
		snprintf(label, sizeof(label), "class=\"%s\",", class);
		snprintf(alone, sizeof(alone), "{class=\"%s\"}", class);
	}
	for (u32 i = 0; i <= LAST_BUCKET; i++) {
		below += histogram->bucket[i];
		if (i < FIRST_BUCKET)
			continue;
		/* Whole nanoseconds: the bucket's highest is one less than the next one's first. */
		gp_buf_printf(out, "gpreempt_%s_bucket{%sle=\"", name, label);
		seconds(out, (2ull << i) - 1);
		gp_buf_printf(out, "\"} %llu\n", (unsigned long long)below);
	}
	gp_buf_printf(out, "gpreempt_%s_bucket{%sle=\"+Inf\"} %llu\ngpreempt_%s_sum%s ", name,
		      label, (unsigned long long)histogram->count, name, alone);
	seconds(out, histogram->sum_ns);
	gp_buf_printf(out, "\ngpreempt_%s_count%s %llu\n", name, alone,
		      (unsigned long long)histogram->count);
}

static void latencies(struct gp_buf *out, const struct gp_proto_msg_stats *stats)
{
	describe(out, "latency_seconds", "histogram",
		 "Time from the arrival of work in a process to its completion, by class.");
	for (u32 i = 0; i < GP_DAEMON_CLASSES; i++)
		histogram(out, "latency_seconds", classes[i], &stats->burst[i]);
	describe(out, "waited_seconds", "histogram",
		 "Time from the arrival of work to the decision to suspend other jobs for it.");
	histogram(out, "waited_seconds", NULL, &stats->waited);
	describe(out, "suspend_seconds", "histogram", "Time the driver took to suspend a job.");
	histogram(out, "suspend_seconds", NULL, &stats->suspend);
	describe(out, "resume_seconds", "histogram", "Time the driver took to resume a job.");
	histogram(out, "resume_seconds", NULL, &stats->resume);
}

/* ---- decisions ---- */

static void decisions(struct gp_daemon *daemon, struct gp_buf *out,
		      const struct gp_proto_msg_stats *stats)
{
	struct gp_daemon_metrics *metrics = &daemon->metrics;

	number(out, "preemptions_total", "counter",
	       "Jobs suspended to make room for another job, in mode act.", stats->preemptions);
	number(out, "would_preemptions_total", "counter",
	       "Jobs that would have been suspended, in mode observe.", stats->would_preemptions);
	describe(out, "declined_total", "counter",
		 "Declined requests, by reason: cost (a preemption would cost more than it saves), "
		 "admission (the deadline cannot be met).");
	labelled(out, "declined_total", "reason", "cost", stats->why[GP_SCHED_WHY_DECLINED]);
	labelled(out, "declined_total", "reason", "admission", stats->why[GP_SCHED_WHY_REFUSED]);
	describe(out, "put_off_total", "counter", "Suspensions that were delayed, by reason.");
	for (u32 i = GP_SCHED_SHIELD_NONE + 1; i < GP_DAEMON_SHIELDS; i++)
		labelled(out, "put_off_total", "reason", gp_sched_shield_name(i),
			 metrics->put_off[i]);
	describe(out, "decisions_total", "counter", "All decisions and notes, by reason.");
	for (u32 i = 0; i < GP_SCHED_WHYS; i++)
		labelled(out, "decisions_total", "reason", gp_sched_why_name(i), stats->why[i]);
	describe(out, "suspended_seconds_total", "counter",
		 "Time that jobs were suspended, by class, in mode act.");
	for (u32 i = 0; i < GP_DAEMON_CLASSES; i++) {
		gp_buf_printf(out, "gpreempt_suspended_seconds_total{class=\"%s\"} ", classes[i]);
		seconds(out, never_less(&metrics->suspended_ns[i], stats->suspended_ns[i]));
		gp_buf_puts(out, "\n");
	}
}

static void errors(struct gp_buf *out, const struct gp_proto_msg_stats *stats)
{
	number(out, "operations_total", "counter", "Suspend and resume operations.",
	       stats->operations);
	number(out, "renewals_total", "counter", "Leases renewed.", stats->renewals);
	describe(out, "errors_total", "counter",
		 "Errors, by kind: operation (a suspend or resume failed), timeout (a suspend or "
		 "resume got no answer), lease_lost (a job resumed because its lease expired), "
		 "client_refused and message_delayed (a user exceeded a limit).");
	labelled(out, "errors_total", "kind", "operation", stats->failures);
	labelled(out, "errors_total", "kind", "timeout", stats->why[GP_SCHED_WHY_TIMEOUT]);
	labelled(out, "errors_total", "kind", "lease_lost", stats->leases_lost);
	labelled(out, "errors_total", "kind", "client_refused", stats->refused_clients);
	labelled(out, "errors_total", "kind", "message_delayed", stats->dropped_messages);
}

/* ---- what is there ---- */

static bool is_seen(const struct gp_daemon_job *job)
{
	gp_list_each (const struct gp_daemon_client, client, job_link, &job->clients) {
		for (size_t i = 0; i < client->queue_count; i++)
			if (!gp_gpu_has(client->queues[i].gpu_id, GP_GPU_SEES_WORK))
				return false;
	}
	return true;
}

static void slices(struct gp_daemon *daemon, struct gp_buf *out)
{
	static const char *const states[] = {NULL, "confirmed", "requested", "failed"};
	u64 count[GP_ARRAY_SIZE(states)] = {0};

	gp_list_each (const struct gp_daemon_job, job, link, &daemon->jobs) {
		struct gp_proto_msg_job view = {0};

		gp_daemon_share_view(job, &view);
		count[view.slice_state]++;
	}
	describe(out, "time_slices", "gauge",
		 "Jobs with a hardware time slice, by state: confirmed (read back from the "
		 "driver), requested, failed (will be retried).");
	for (u32 i = GP_SLICE_CONFIRMED; i < GP_ARRAY_SIZE(states); i++)
		labelled(out, "time_slices", "state", states[i], count[i]);
}

static void jobs(struct gp_daemon *daemon, struct gp_buf *out,
		 const struct gp_proto_msg_stats *stats)
{
	static const char *const states[] = {"running", "suspending", "suspended", "resuming",
					     "idle",    "unknown",    "stopped"};
	enum { IDLE = 4, UNKNOWN = 5, STOPPED = 6, STATES = 7 };
	u64 count[GP_DAEMON_CLASSES][STATES] = {0};

	gp_list_each (const struct gp_daemon_job, job, link, &daemon->jobs) {
		struct gp_sched_job_state state;

		if (gp_sched_job_state(daemon->sched, job->handle, &state))
			continue;
		if (job->away.by)
			count[state.class][STOPPED]++;
		else if (state.run == GP_SCHED_RUNNING && !is_seen(job))
			count[state.class][UNKNOWN]++;
		else if (state.run == GP_SCHED_RUNNING && !state.busy_queues)
			count[state.class][IDLE]++;
		else
			count[state.class][state.run]++;
	}
	describe(out, "jobs", "gauge",
		 "Jobs, by class and state; unknown: the job may run, but its GPU does not show "
		 "whether it has work; stopped: the job was stopped on the host or suspended by "
		 "hand.");
	for (u32 i = 0; i < GP_DAEMON_CLASSES; i++) {
		for (u32 j = 0; j < STATES; j++)
			gp_buf_printf(out, "gpreempt_jobs{class=\"%s\",state=\"%s\"} %llu\n",
				      classes[i], states[j], (unsigned long long)count[i][j]);
	}
	slices(daemon, out);
	number(out, "processes", "gauge", "Processes of all jobs.", stats->processes);
	number(out, "queues", "gauge", "Queues of all jobs.", stats->queues);
	number(out, "acting", "gauge", "1 in mode act, 0 in mode observe.",
	       stats->mode == GP_MODE_ACT);
	number(out, "realtime", "gauge",
	       "1 if the gpreemptd thread has a real-time CPU scheduling class.",
	       daemon->urgency == GP_URGENCY_REALTIME);
	number(out, "cannot_act", "gauge",
	       "1 while the daemon is in mode act but cannot preempt jobs.",
	       daemon->problem[0] != 0);
	number(out, "events_total", "counter", "Events handled by the scheduler.", stats->events);
}

static void device_labels(struct gp_buf *out, const char *name,
			  const struct gp_proto_msg_device *device)
{
	gp_buf_printf(out, "gpreempt_%s{gpu=\"%u\",name=\"", name, device->gpu_id);
	gp_daemon_metrics_escape(out, device->name);
	gp_buf_puts(out, "\"} ");
}

static void devices(struct gp_daemon *daemon, struct gp_buf *out)
{
	struct gp_proto_msg_device device;

	describe(out, "gpu_breaker_open", "gauge",
		 "1 while preemption is disabled on this GPU because the driver failed.");
	for (u32 i = 0; i < daemon->device_count; i++) {
		gp_daemon_report_device_view(daemon, i, &device);
		device_labels(out, "gpu_breaker_open", &device);
		gp_buf_printf(out, "%u\n", device.broken);
	}
	describe(out, "gpu_standing_down", "gauge",
		 "1 while gpreemptd does not preempt jobs on this GPU because preemption failed or "
		 "cost more than it saved.");
	for (u32 i = 0; i < daemon->device_count; i++) {
		gp_daemon_report_device_view(daemon, i, &device);
		device_labels(out, "gpu_standing_down", &device);
		gp_buf_printf(out, "%u\n", device.stands_down != GP_STAND_NOT);
	}
	describe(out, "gpu_stood_down_total", "counter",
		 "Number of times gpreemptd stopped preempting jobs on this GPU for a while.");
	for (u32 i = 0; i < daemon->device_count; i++) {
		gp_daemon_report_device_view(daemon, i, &device);
		device_labels(out, "gpu_stood_down_total", &device);
		gp_buf_printf(out, "%llu\n", (unsigned long long)device.stood_down);
	}
	describe(out, "gpu_jobs", "gauge", "Jobs with a queue on this GPU.");
	for (u32 i = 0; i < daemon->device_count; i++) {
		gp_daemon_report_device_view(daemon, i, &device);
		device_labels(out, "gpu_jobs", &device);
		gp_buf_printf(out, "%u\n", device.members);
	}
	describe(out, "gpu_busy_seconds_total", "counter",
		 "Time that at least one job had work on this GPU and was not suspended; absent "
		 "for GPUs that do not show work.");
	for (u32 i = 0; i < daemon->device_count; i++) {
		if (!gp_gpu_has(daemon->devices[i].gpu_id, GP_GPU_SEES_WORK))
			continue;
		gp_daemon_report_device_view(daemon, i, &device);
		device_labels(out, "gpu_busy_seconds_total", &device);
		seconds(out, never_less(&daemon->metrics.busy_ns[i], device.busy_ns));
		gp_buf_puts(out, "\n");
	}
}

/* By class, of current and ended processes of current jobs... and of jobs that ended. */
static void activity(struct gp_daemon *daemon, struct gp_buf *out)
{
	struct gp_daemon_metrics_activity sum[GP_DAEMON_CLASSES];
	struct gp_proto_msg_device device;

	memcpy(sum, daemon->metrics.ended, sizeof(sum));
	gp_list_each (const struct gp_daemon_job, job, link, &daemon->jobs) {
		struct gp_proto_msg_job view = {0};

		gp_daemon_activity_view(daemon, job, &view);
		gp_daemon_metrics_add(&sum[job->spec.class], &view);
	}
	describe(out, "gpu_time_seconds_total", "counter",
		 "Time that jobs had a GPU, by class, where the driver reports it.");
	for (u32 i = 0; i < GP_DAEMON_CLASSES; i++) {
		gp_buf_printf(out, "gpreempt_gpu_time_seconds_total{class=\"%s\"} ", classes[i]);
		seconds(out, never_less(&daemon->metrics.active_ns[i], sum[i].active_ns));
		gp_buf_puts(out, "\n");
	}
	describe(out, "gpu_switches_total", "counter",
		 "Times that jobs got a GPU, by class, where the driver reports it.");
	for (u32 i = 0; i < GP_DAEMON_CLASSES; i++)
		labelled(out, "gpu_switches_total", "class", classes[i], sum[i].switches);
	describe(out, "gpu_preemptions_total", "counter",
		 "Times that the hardware preempted jobs that had work, by class.");
	for (u32 i = 0; i < GP_DAEMON_CLASSES; i++)
		labelled(out, "gpu_preemptions_total", "class", classes[i], sum[i].switched_out);
	describe(out, "gpu_preempted_seconds_total", "counter",
		 "Time that preempted jobs waited to get the GPU back, by class.");
	for (u32 i = 0; i < GP_DAEMON_CLASSES; i++) {
		gp_buf_printf(out, "gpreempt_gpu_preempted_seconds_total{class=\"%s\"} ",
			      classes[i]);
		seconds(out, sum[i].lost_ns);
		gp_buf_puts(out, "\n");
	}
	describe(out, "gpu_activity", "gauge",
		 "1 while it is read which process uses this GPU; absent for GPUs whose driver "
		 "does not report it.");
	for (u32 i = 0; i < daemon->device_count; i++) {
		gp_daemon_report_device_view(daemon, i, &device);
		if (device.reading == GP_READING_NONE)
			continue;
		device_labels(out, "gpu_activity", &device);
		gp_buf_printf(out, "%u\n", device.reading == GP_READING_ON);
	}
	describe(out, "gpu_activity_lost_total", "counter",
		 "Records of the use of this GPU that are missing.");
	for (u32 i = 0; i < daemon->device_count; i++) {
		gp_daemon_report_device_view(daemon, i, &device);
		if (device.reading == GP_READING_NONE)
			continue;
		device_labels(out, "gpu_activity_lost_total", &device);
		gp_buf_printf(out, "%llu\n", (unsigned long long)device.switches_lost);
	}
}

/* Of the user of this daemon. */
static void swapped(struct gp_buf *out)
{
	struct gp_proto_swapped_list list = {0};
	u64 bytes = 0;

	if (gp_proto_swapped_read(&list))
		return;
	for (size_t i = 0; i < list.count; i++)
		bytes += list.items[i].bytes;
	number(out, "swapped_processes", "gauge",
	       "Processes whose GPU memory is in host memory (gpreempt suspend --swap).",
	       list.count);
	number(out, "swapped_bytes", "gauge", "GPU memory of these processes.", bytes);
	gp_proto_swapped_free(&list);
}

void gp_daemon_metrics_text(struct gp_daemon *daemon, struct gp_buf *out)
{
	struct gp_proto_msg_stats stats;

	gp_daemon_report_stats(daemon, &stats);
	latencies(out, &stats);
	decisions(daemon, out, &stats);
	errors(out, &stats);
	jobs(daemon, out, &stats);
	devices(daemon, out);
	activity(daemon, out);
	swapped(out);
}
