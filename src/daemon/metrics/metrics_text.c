// SPDX-License-Identifier: MIT
/*
 * The figures for Prometheus that are summed over jobs: the number of series stays bounded, and
 * none names a program or a user. metrics_gpu.c, metrics_job.c and metrics_process.c have the
 * others.
 */
#include <string.h>

#include "base/buf.h"
#include "daemon/daemon.h"
#include "daemon/metrics/metrics_write.h"
#include "gpu/gpu.h"
#include "proto/swapped.h"

const char *const gp_daemon_metrics_classes[GP_DAEMON_CLASSES] = GP_CLASS_NAMES;

void gp_daemon_metrics_add(struct gp_daemon_metrics_activity *sum,
			   const struct gp_proto_msg_job *job)
{
	sum->active_ns += job->active_ns;
	sum->switches += job->switches;
	sum->switched_out += job->switched_out;
	sum->lost_ns += job->lost_ns;
}

/* A counter that went back would be read as one that was started again. What is held or busy now
 * is counted up to now, which may be a little later than the end that is recorded for it. */
u64 gp_daemon_metrics_never_less(u64 *last, u64 value)
{
	*last = GP_MAX(*last, value);
	return *last;
}

/* ---- histograms ---- */

static void by_class(struct gp_buf *out, const char *name, const char *help,
		     const struct gp_daemon_spread *spreads)
{
	gp_daemon_metrics_describe(out, name, "histogram", help);
	for (u32 i = 0; i < GP_DAEMON_CLASSES; i++)
		gp_daemon_metrics_histogram(out, name, gp_daemon_metrics_classes[i], &spreads[i]);
}

static void alone(struct gp_buf *out, const char *name, const char *help,
		  const struct gp_daemon_spread *spread)
{
	gp_daemon_metrics_describe(out, name, "histogram", help);
	gp_daemon_metrics_histogram(out, name, NULL, spread);
}

static void latencies(const struct gp_daemon *daemon, struct gp_buf *out)
{
	const struct gp_daemon_metrics *metrics = &daemon->metrics;

	by_class(out, "latency_seconds",
		 "Time from the arrival of work in a process to its completion, by class.",
		 metrics->burst);
	by_class(out, "request_seconds",
		 "Time from the begin to the end of requests that programs announce, by class.",
		 metrics->request);
	alone(out, "waited_seconds",
	      "Time from the arrival of work to the decision to suspend other jobs for it.",
	      &metrics->waited);
	alone(out, "suspend_seconds", "Time the driver took to suspend a job.", &metrics->suspend);
	alone(out, "resume_seconds", "Time the driver took to resume a job.", &metrics->resume);
	if (!daemon->config.latency_target_ns)
		return;
	gp_daemon_metrics_describe(
		out, "latency_target_seconds", "gauge",
		"Latency that 99 % of the work of this class should not exceed (latency_target).");
	gp_daemon_metrics_series(out, "latency_target_seconds");
	gp_daemon_metrics_label(out, "class", gp_daemon_metrics_classes[GP_CLASS_ONLINE]);
	gp_daemon_metrics_seconds(out, daemon->config.latency_target_ns);
}

/* ---- decisions ---- */

static void decisions(struct gp_daemon *daemon, struct gp_buf *out,
		      const struct gp_proto_msg_stats *stats)
{
	struct gp_daemon_metrics *metrics = &daemon->metrics;

	gp_daemon_metrics_number(out, "preemptions_total", "counter",
				 "Jobs suspended to make room for another job, in mode act.",
				 stats->preemptions);
	gp_daemon_metrics_number(out, "would_preemptions_total", "counter",
				 "Jobs that would have been suspended, in mode observe.",
				 stats->would_preemptions);
	gp_daemon_metrics_describe(out, "would_suspended_seconds_total", "counter",
				   "Time that jobs would have been suspended, in mode observe.");
	gp_daemon_metrics_series(out, "would_suspended_seconds_total");
	gp_daemon_metrics_seconds(out, stats->beside_ns);
	gp_daemon_metrics_describe(
		out, "declined_total", "counter",
		"Declined requests, by reason: cost (a preemption would cost more than it saves), "
		"owed (earlier preemptions cost the job more than it got), admission (the "
		"deadline cannot be met).");
	gp_daemon_metrics_labelled(out, "declined_total", "reason", "cost",
				   stats->why[GP_SCHED_WHY_DECLINED]);
	gp_daemon_metrics_labelled(out, "declined_total", "reason", "owed",
				   stats->why[GP_SCHED_WHY_OWED]);
	gp_daemon_metrics_labelled(out, "declined_total", "reason", "admission",
				   stats->why[GP_SCHED_WHY_REFUSED]);
	gp_daemon_metrics_describe(out, "put_off_total", "counter",
				   "Suspensions that were delayed, by reason.");
	for (u32 i = GP_SCHED_SHIELD_NONE + 1; i < GP_DAEMON_SHIELDS; i++)
		gp_daemon_metrics_labelled(out, "put_off_total", "reason", gp_sched_shield_name(i),
					   metrics->put_off[i]);
	gp_daemon_metrics_describe(out, "decisions_total", "counter",
				   "All decisions and notes, by reason.");
	for (u32 i = 0; i < GP_SCHED_WHYS; i++)
		gp_daemon_metrics_labelled(out, "decisions_total", "reason", gp_sched_why_name(i),
					   stats->why[i]);
	gp_daemon_metrics_describe(out, "suspended_seconds_total", "counter",
				   "Time that jobs were suspended, by class, in mode act.");
	for (u32 i = 0; i < GP_DAEMON_CLASSES; i++) {
		gp_daemon_metrics_series(out, "suspended_seconds_total");
		gp_daemon_metrics_label(out, "class", gp_daemon_metrics_classes[i]);
		gp_daemon_metrics_seconds(out,
					  gp_daemon_metrics_never_less(&metrics->suspended_ns[i],
								       stats->suspended_ns[i]));
	}
}

static void errors(struct gp_buf *out, const struct gp_proto_msg_stats *stats)
{
	gp_daemon_metrics_number(out, "operations_total", "counter",
				 "Suspend and resume operations.", stats->operations);
	gp_daemon_metrics_number(out, "renewals_total", "counter", "Leases renewed.",
				 stats->renewals);
	gp_daemon_metrics_describe(
		out, "errors_total", "counter",
		"Errors, by kind: operation (a suspend or resume failed), timeout (a suspend or "
		"resume got no answer), lease_lost (a job resumed because its lease expired), "
		"client_refused and message_delayed (a user exceeded a limit).");
	gp_daemon_metrics_labelled(out, "errors_total", "kind", "operation", stats->failures);
	gp_daemon_metrics_labelled(out, "errors_total", "kind", "timeout",
				   stats->why[GP_SCHED_WHY_TIMEOUT]);
	gp_daemon_metrics_labelled(out, "errors_total", "kind", "lease_lost", stats->leases_lost);
	gp_daemon_metrics_labelled(out, "errors_total", "kind", "client_refused",
				   stats->refused_clients);
	gp_daemon_metrics_labelled(out, "errors_total", "kind", "message_delayed",
				   stats->dropped_messages);
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
	gp_daemon_metrics_describe(
		out, "time_slices", "gauge",
		"Jobs with a hardware time slice, by state: confirmed (read back from the "
		"driver), requested, failed (will be retried).");
	for (u32 i = GP_SLICE_CONFIRMED; i < GP_ARRAY_SIZE(states); i++)
		gp_daemon_metrics_labelled(out, "time_slices", "state", states[i], count[i]);
}

enum held_by { BY_GPREEMPTD, BY_OWNER, BY_HAND, BY_STOP, BYS };

/* Which hold without max_suspend a job is under. */
static enum held_by kept_by(const struct gp_daemon_job *job)
{
	if (job->away.by == GP_AWAY_HAND)
		return BY_HAND;
	gp_list_each (const struct gp_daemon_client, client, job_link, &job->clients) {
		/* Without its task plugin Slurm only stops a job. Its control group says that it is
		 * one: any user may call a group "slurm-17". */
		if (client->keep.hold || client->who.slurm_job)
			return BY_OWNER;
	}
	return BY_STOP;
}

/* Alerts compare that of gpreemptd with max_suspend; the others are meant to last. */
static void longest(struct gp_daemon *daemon, struct gp_buf *out)
{
	static const char *const names[] = {"gpreemptd", "owner", "hand", "stop"};
	u64 held[GP_DAEMON_CLASSES][BYS] = {0}, now = gp_monotonic_ns();

	gp_list_each (const struct gp_daemon_job, job, link, &daemon->jobs) {
		u64 *of_class = held[job->spec.class], *most = &of_class[BY_GPREEMPTD];

		*most = GP_MAX(*most, gp_daemon_figures_hold(daemon, job));
		most = &of_class[kept_by(job)];
		if (job->off.since_ns != GP_DAEMON_NEVER)
			*most = GP_MAX(*most, now - GP_MIN(job->off.since_ns, now));
	}
	gp_daemon_metrics_describe(
		out, "longest_hold_seconds", "gauge",
		"Of the jobs that are held now, the longest time without a break, by class and "
		"holder: gpreemptd (for other jobs), owner (by name, such as Slurm), hand "
		"(gpreempt "
		"suspend), stop (the host has stopped the job).");
	for (u32 i = 0; i < GP_DAEMON_CLASSES; i++) {
		for (u32 by = 0; by < BYS; by++) {
			gp_daemon_metrics_series(out, "longest_hold_seconds");
			gp_daemon_metrics_label(out, "class", gp_daemon_metrics_classes[i]);
			gp_daemon_metrics_label(out, "by", names[by]);
			gp_daemon_metrics_seconds(out, held[i][by]);
		}
	}
	gp_daemon_metrics_describe(out, "max_suspend_seconds", "gauge",
				   "Maximum time a job is held without a break (max_suspend).");
	gp_daemon_metrics_series(out, "max_suspend_seconds");
	gp_daemon_metrics_seconds(out, daemon->config.max_suspend_ns);
}

/* A server with more work than it can do, or one that hangs, ends none, so it has no latency. */
static void oldest(struct gp_daemon *daemon, struct gp_buf *out)
{
	u64 oldest[GP_DAEMON_CLASSES] = {0};

	gp_list_each (const struct gp_daemon_job, job, link, &daemon->jobs) {
		u64 *of_class = &oldest[job->spec.class];

		if (!job->away.by)
			*of_class = GP_MAX(*of_class, gp_daemon_account_oldest(job));
	}
	gp_daemon_metrics_describe(
		out, "longest_work_seconds", "gauge",
		"Of the work that is under way, for how long the oldest has been, by class: "
		"announced requests of jobs that have any, otherwise bursts. Without jobs that are "
		"stopped, suspended by hand or by name, or swapped out.");
	for (u32 i = 0; i < GP_DAEMON_CLASSES; i++) {
		gp_daemon_metrics_series(out, "longest_work_seconds");
		gp_daemon_metrics_label(out, "class", gp_daemon_metrics_classes[i]);
		gp_daemon_metrics_seconds(out, oldest[i]);
	}
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
		/* What is only observed runs. */
		if (daemon->config.mode != GP_MODE_ACT)
			state.run = GP_SCHED_RUNNING;
		if (job->away.by)
			count[state.class][STOPPED]++;
		else if (state.run == GP_SCHED_RUNNING && !is_seen(job))
			count[state.class][UNKNOWN]++;
		else if (state.run == GP_SCHED_RUNNING && !state.busy_queues)
			count[state.class][IDLE]++;
		else
			count[state.class][state.run]++;
	}
	gp_daemon_metrics_describe(
		out, "jobs", "gauge",
		"Jobs, by class and state; unknown: the job may run, but its GPU does not show "
		"whether it has work; stopped: the job was stopped on the host or suspended by "
		"hand.");
	for (u32 i = 0; i < GP_DAEMON_CLASSES; i++) {
		for (u32 j = 0; j < STATES; j++) {
			gp_daemon_metrics_series(out, "jobs");
			gp_daemon_metrics_label(out, "class", gp_daemon_metrics_classes[i]);
			gp_daemon_metrics_label(out, "state", states[j]);
			gp_daemon_metrics_value(out, count[i][j]);
		}
	}
	longest(daemon, out);
	oldest(daemon, out);
	slices(daemon, out);
	gp_daemon_metrics_number(out, "processes", "gauge", "Processes of all jobs.",
				 stats->processes);
	gp_daemon_metrics_number(out, "queues", "gauge", "Queues of all jobs.", stats->queues);
	gp_daemon_metrics_number(out, "acting", "gauge", "1 in mode act, 0 in mode observe.",
				 stats->mode == GP_MODE_ACT);
	gp_daemon_metrics_number(out, "realtime", "gauge",
				 "1 if the gpreemptd thread has a real-time CPU scheduling class.",
				 daemon->urgency == GP_URGENCY_REALTIME);
	gp_daemon_metrics_number(out, "cannot_act", "gauge",
				 "1 while the daemon is in mode act but cannot preempt jobs.",
				 daemon->problem[0] != 0);
	gp_daemon_metrics_number(out, "events_total", "counter", "Events handled by the scheduler.",
				 stats->events);
}

/* Jobs that wait keep their memory. */
static void waiting(struct gp_daemon *daemon, struct gp_buf *out)
{
	u64 bytes = 0;

	gp_list_each (const struct gp_daemon_job, job, link, &daemon->jobs) {
		gp_list_each (const struct gp_daemon_client, client, job_link, &job->clients)
			bytes += job->wanted_held && !job->figures.observed ? client->memory : 0;
	}
	gp_daemon_metrics_number(
		out, "held_memory_bytes", "gauge",
		"GPU memory that suspended jobs keep, while batch jobs take turns or a rule swaps "
		"jobs out on pressure.",
		bytes);
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
	gp_daemon_metrics_number(
		out, "swapped_processes", "gauge",
		"Processes whose GPU memory is in host memory (gpreempt suspend --swap, rules "
		"with swap).",
		list.count);
	gp_daemon_metrics_number(out, "swapped_bytes", "gauge", "GPU memory of these processes.",
				 bytes);
	gp_proto_swapped_free(&list);
}

void gp_daemon_metrics_text(struct gp_daemon *daemon, struct gp_buf *out)
{
	struct gp_proto_msg_stats stats;

	gp_daemon_report_stats(daemon, &stats);
	gp_daemon_metrics_process(daemon, out);
	latencies(daemon, out);
	decisions(daemon, out, &stats);
	errors(out, &stats);
	jobs(daemon, out, &stats);
	gp_daemon_metrics_gpus(daemon, out);
	gp_daemon_metrics_jobs(daemon, out);
	swapped(out);
	waiting(daemon, out);
}
