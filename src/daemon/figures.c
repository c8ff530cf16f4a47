// SPDX-License-Identifier: MIT
/* Totals of jobs: see figures.h. */
#include "daemon/daemon.h"

static struct gp_daemon_job_totals *side_of(struct gp_daemon_job_figures *figures)
{
	return figures->observed ? &figures->would : &figures->did;
}

/* What the core has counted, up to now: its own time stands still while nothing happens. False: it
 * has forgotten the job. */
static bool look(struct gp_daemon *daemon, const struct gp_daemon_job *job,
		 struct gp_daemon_job_counted *out)
{
	struct gp_sched_job_state state;
	u64 now = gp_monotonic_ns(), since = now - GP_MIN(gp_sched_now(daemon->sched), now);

	if (gp_sched_job_state(daemon->sched, job->handle, &state))
		return false;
	*out = (struct gp_daemon_job_counted){
		.held_ns = state.held_ns + (state.held_since == GP_SCHED_NEVER ? 0 : since),
		.ran_ns = state.ran_ns + state.running * since,
		.blocked_ns = state.blocked_ns + state.blocked * since,
	};
	return true;
}

/* Adds what was counted since the last look. Returns the time held. */
static u64 add(struct gp_daemon *daemon, const struct gp_daemon_job *job,
	       struct gp_daemon_job_figures *figures)
{
	struct gp_daemon_job_totals *side = side_of(figures);
	struct gp_daemon_job_counted now, *last = &figures->counted;
	u64 held;

	if (!look(daemon, job, &now))
		return 0;
	held = now.held_ns - GP_MIN(last->held_ns, now.held_ns);
	side->held_ns += held;
	figures->ran_ns += now.ran_ns - GP_MIN(last->ran_ns, now.ran_ns);
	if (figures->observed)
		figures->ran_ns += now.blocked_ns - GP_MIN(last->blocked_ns, now.blocked_ns);
	if (job->suspend_reason)
		side->longest_ns = GP_MAX(side->longest_ns,
					  side->held_ns - GP_MIN(figures->began_ns, side->held_ns));
	*last = now;
	return held;
}

static void add_to_all(struct gp_proto_msg_stats *stats, const struct gp_daemon_job *job, u64 held)
{
	if (job->figures.observed)
		stats->beside_ns += held;
	else
		stats->suspended_ns[job->spec.class] += held;
}

void gp_daemon_figures_count(struct gp_daemon *daemon, struct gp_daemon_job *job)
{
	add_to_all(&daemon->stats, job, add(daemon, job, &job->figures));
}

/* From now on it is counted on the other side. */
static void change_side(struct gp_daemon *daemon, struct gp_daemon_job *job, bool observed)
{
	gp_daemon_figures_count(daemon, job);
	job->figures.observed = observed;
	job->figures.began_ns = side_of(&job->figures)->held_ns;
}

/* ---- what is decided ---- */

/* `other` has waited since its work came or, if that is later, since the job that makes room for it
 * ran beside it. Several that make room at once, or one after the other, are one time of waiting.
 */
static void count_wait(struct gp_daemon *daemon, struct gp_daemon_job *other,
		       const struct gp_sched_reason *reason, bool observed)
{
	struct gp_daemon_job_figures *figures = &other->figures;
	u64 waited = reason->waited_ns, start;

	if (waited == GP_SCHED_UNKNOWN)
		return;
	if (reason->ran_ns != GP_SCHED_UNKNOWN)
		waited = GP_MIN(waited, reason->ran_ns);
	gp_daemon_histogram_add(observed ? &daemon->stats.would_waited : &daemon->stats.waited,
				waited);
	if (!observed)
		gp_daemon_spread_add(&daemon->metrics.waited, waited);
	start = GP_MAX(reason->at_ns - GP_MIN(waited, reason->at_ns), figures->waited_until);
	(observed ? &figures->would : &figures->did)->waited_ns +=
		reason->at_ns - GP_MIN(start, reason->at_ns);
	figures->waited_until = GP_MAX(figures->waited_until, reason->at_ns);
}

static void count_preemption(struct gp_daemon *daemon, struct gp_daemon_job *other,
			     const struct gp_sched_reason *reason, bool observed)
{
	struct gp_proto_msg_stats *stats = &daemon->stats;

	if (!observed) {
		stats->preemptions++;
		other->figures.did.preempted++;
	} else {
		stats->would_preemptions++;
		if (reason->cost_ns != GP_SCHED_UNKNOWN)
			stats->would_cost_ns += reason->cost_ns;
		other->figures.would.preempted++;
	}
	count_wait(daemon, other, reason, observed);
}

void gp_daemon_figures_suspend(struct gp_daemon *daemon, struct gp_daemon_job *job,
			       const struct gp_sched_reason *reason)
{
	bool observed = daemon->config.mode != GP_MODE_ACT;
	/* Turns that the device needs anyway were not waited for by anything. */
	bool turn = reason->why == GP_SCHED_WHY_TURN_OVER && reason->policy == GP_SCHED_PRIORITY;
	struct gp_daemon_job *other =
		reason->other < daemon->config.max_jobs ? daemon->by_handle[reason->other] : NULL;

	if (reason->why == GP_SCHED_WHY_JOINED)
		return;
	change_side(daemon, job, observed);
	/* Not from the core's sum: it may have this one when the end of the last is reported. */
	side_of(&job->figures)->suspends += reason->why != GP_SCHED_WHY_PARKED;
	job->suspend_reason = reason->id;
	if (!observed && (u32)reason->shield < GP_DAEMON_SHIELDS)
		daemon->metrics.put_off[reason->shield]++;
	if (other && reason->why != GP_SCHED_WHY_PINNED && !turn)
		count_preemption(daemon, other, reason, observed);
}

u64 gp_daemon_figures_end(struct gp_daemon *daemon, struct gp_daemon_job *job)
{
	struct gp_daemon_job_figures *figures = &job->figures;
	struct gp_sched_job_state state = {0};
	u64 ago = figures->lost_ns, *all = &daemon->stats.suspended_ns[job->spec.class];

	figures->lost_ns = 0;
	figures->began_ns += ago;
	/* Before its suspension ends: it is the longest one with what is counted now. */
	gp_daemon_figures_count(daemon, job);
	job->suspend_reason = 0;
	figures->did.held_ns -= GP_MIN(ago, figures->did.held_ns);
	*all -= GP_MIN(ago, *all);
	gp_sched_job_state(daemon->sched, job->handle, &state);
	figures->ran_ns += state.busy_queues ? ago : 0;
	change_side(daemon, job, daemon->config.mode != GP_MODE_ACT);
	return ago;
}

void gp_daemon_figures_mode(struct gp_daemon *daemon)
{
	bool observed = daemon->config.mode != GP_MODE_ACT;

	gp_list_each (struct gp_daemon_job, job, link, &daemon->jobs) {
		if (job->figures.observed != observed)
			change_side(daemon, job, observed);
	}
}

/* ---- views ---- */

void gp_daemon_figures_view(struct gp_daemon *daemon, const struct gp_daemon_job *job,
			    struct gp_proto_msg_job *out)
{
	struct gp_daemon_job_figures now = job->figures;

	add(daemon, job, &now);
	out->held_ns = now.did.held_ns;
	out->longest_ns = now.did.longest_ns;
	out->suspends = now.did.suspends;
	out->preempted = now.did.preempted;
	out->waited_ns = now.did.waited_ns;
	out->would_held_ns = now.would.held_ns;
	out->would_longest_ns = now.would.longest_ns;
	out->would_suspends = now.would.suspends;
	out->would_preempted = now.would.preempted;
	out->would_waited_ns = now.would.waited_ns;
	out->ran_ns = now.ran_ns;
}

void gp_daemon_figures_stats(struct gp_daemon *daemon, struct gp_proto_msg_stats *out)
{
	gp_list_each (const struct gp_daemon_job, job, link, &daemon->jobs) {
		struct gp_daemon_job_figures now = job->figures;

		add_to_all(out, job, add(daemon, job, &now));
	}
}

u64 gp_daemon_figures_hold(struct gp_daemon *daemon, const struct gp_daemon_job *job)
{
	struct gp_daemon_job_figures now = job->figures;

	if (!job->suspend_reason || now.observed)
		return 0;
	add(daemon, job, &now);
	return now.did.held_ns - GP_MIN(now.began_ns, now.did.held_ns);
}
