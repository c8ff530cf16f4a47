// SPDX-License-Identifier: MIT
/*
 * The figures of single jobs for Prometheus, only with `metrics_jobs`: they name programs and
 * users, and every job is a set of series that Prometheus keeps. At most `metrics_max_jobs`, the
 * oldest jobs, so that the set does not change with every scrape; how many are left out is a
 * figure.
 */
#include <stdlib.h>

#include "daemon/daemon.h"
#include "daemon/metrics/metrics_write.h"

enum figure {
	RAN,
	HELD,
	WAITED,
	SUSPENDS,
	PREEMPTED,
	WOULD_HELD,
	WOULD_SUSPENDS,
	HELD_NOW,
	ACTIVE
};

static const struct {
	const char *name, *type, *help;
	bool time;
} figures[] = {
	[RAN] = {"job_run_seconds_total", "counter",
		 "Time that this job had work and was not held.", true},
	[HELD] = {"job_held_seconds_total", "counter", "Time that this job was held.", true},
	[WAITED] = {"job_waited_seconds_total", "counter",
		    "Time that work of this job waited before other jobs were suspended for it.",
		    true},
	[SUSPENDS] = {"job_suspensions_total", "counter", "Suspensions of this job.", false},
	[PREEMPTED] = {"job_preempted_others_total", "counter",
		       "Suspensions of other jobs for this one.", false},
	[WOULD_HELD] = {"job_would_held_seconds_total", "counter",
			"Time that this job would have been held, in mode observe.", true},
	[WOULD_SUSPENDS] =
		{"job_would_suspensions_total", "counter",
		 "Suspensions of this job that mode act would have made, in mode observe.", false},
	[HELD_NOW] = {"job_held", "gauge", "1 while this job is held.", false},
	[ACTIVE] = {"job_gpu_seconds_total", "counter",
		    "Time that this job had a GPU; absent where the driver does not report it.",
		    true},
};

static u64 value_of(enum figure figure, const struct gp_proto_msg_job *job)
{
	switch (figure) {
	case RAN:
		return job->ran_ns;
	case HELD:
		return job->held_ns;
	case WAITED:
		return job->waited_ns;
	case SUSPENDS:
		return job->suspends;
	case PREEMPTED:
		return job->preempted;
	case WOULD_HELD:
		return job->would_held_ns;
	case WOULD_SUSPENDS:
		return job->would_suspends;
	case HELD_NOW:
		return job->held_since != GP_DAEMON_NEVER || job->away == GP_AWAY_HAND;
	default: /* ACTIVE */
		return job->active_ns;
	}
}

/* A group is one job of its user, whose series go on when it ends and is started again. */
static void open_series(struct gp_buf *out, const char *name, const struct gp_proto_msg_job *job,
			bool groups)
{
	gp_daemon_metrics_series(out, name);
	if (!groups) {
		gp_daemon_metrics_label_number(out, "job_id", job->id);
		gp_daemon_metrics_label_number(out, "pid", job->pid);
		gp_daemon_metrics_label(out, "program", job->name);
	}
	gp_daemon_metrics_label(out, "group", job->group);
	gp_daemon_metrics_label_number(out, "uid", job->uid);
	gp_daemon_metrics_label(out, "class", gp_daemon_metrics_classes[job->job_class]);
}

static bool is_wanted(const struct gp_daemon *daemon, const struct gp_daemon_job *job)
{
	return daemon->config.metrics_jobs == GP_METRICS_JOBS_ALL || job->group[0];
}

static void figure_of_all(struct gp_buf *out, enum figure figure,
			  const struct gp_proto_msg_job *views, u32 count, bool groups)
{
	gp_daemon_metrics_describe(out, figures[figure].name, figures[figure].type,
				   figures[figure].help);
	for (u32 i = 0; i < count; i++) {
		if (figure == ACTIVE && !views[i].activity)
			continue;
		open_series(out, figures[figure].name, &views[i], groups);
		if (figures[figure].time)
			gp_daemon_metrics_seconds(out, value_of(figure, &views[i]));
		else
			gp_daemon_metrics_value(out, value_of(figure, &views[i]));
	}
}

void gp_daemon_metrics_jobs(struct gp_daemon *daemon, struct gp_buf *out)
{
	bool groups = daemon->config.metrics_jobs == GP_METRICS_JOBS_GROUPS;
	u32 count = 0, max = daemon->config.metrics_max_jobs;
	struct gp_proto_msg_job *views;

	if (daemon->config.metrics_jobs == GP_METRICS_JOBS_NO)
		return;
	views = calloc(GP_MIN(max, daemon->job_count) + 1, sizeof(*views));
	if (!views)
		return;
	gp_list_each (const struct gp_daemon_job, job, link, &daemon->jobs) {
		if (!is_wanted(daemon, job))
			continue;
		if (count < GP_MIN(max, daemon->job_count)) {
			gp_daemon_report_job_view(daemon, job, &views[count]);
			/* In thought is not held. */
			if (job->figures.observed && views[count].kept != GP_KEPT_HELD)
				views[count].held_since = GP_DAEMON_NEVER;
		}
		count++;
	}
	for (enum figure figure = 0; figure < GP_ARRAY_SIZE(figures); figure++)
		figure_of_all(out, figure, views, GP_MIN(count, max), groups);
	free(views);
	gp_daemon_metrics_number(out, "jobs_left_out", "gauge",
				 "Jobs without separate series because there are more than "
				 "metrics_max_jobs.",
				 count > max ? count - max : 0);
}
