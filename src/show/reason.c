// SPDX-License-Identifier: MIT
/*
 * One sentence per decision and reason. Each is written out in full, never assembled from parts,
 * because word order differs between languages.
 */
#include "show/reason.h"

#include <stdio.h>
#include <string.h>

#include "base/i18n.h"
#include "base/units.h"

#define NAME 24

/* The parts of a sentence. */
struct words {
	const struct gp_sched_reason *r;
	const char *job, *other;
	struct gp_units_text waited, ran, cost, saves, limit;
};

static int say_suspend(const struct words *w, char *out, size_t size)
{
	switch (w->r->why) {
	case GP_SCHED_WHY_HINT:
		return snprintf(out, size,
				_("%s (priority %u) makes room for %s (priority %u), which "
				  "announced work; estimated cost %s"),
				w->job, w->r->job_priority, w->other, w->r->other_priority,
				w->cost.text);
	case GP_SCHED_WHY_AHEAD:
		return snprintf(out, size,
				_("%s is suspended: it has used more than its share, and %s less "
				  "than its share"),
				w->job, w->other);
	case GP_SCHED_WHY_TURN_OVER:
		return snprintf(out, size,
				_("%s is suspended after %s: its turn is over, and %s is next"),
				w->job, w->ran.text, w->other);
	case GP_SCHED_WHY_PINNED:
		return snprintf(out, size, _("%s is suspended on request, for up to %s"), w->job,
				w->limit.text);
	case GP_SCHED_WHY_JOINED:
		return snprintf(out, size,
				_("%s is already suspended, so its new queue is suspended as well"),
				w->job);
	case GP_SCHED_WHY_PARKED:
		return snprintf(out, size,
				_("%s is suspended while it has no work: the GPU runs fewer "
				  "processes at once than there are"),
				w->job);
	default:
		if (w->r->saves_ns == GP_SCHED_UNKNOWN)
			return snprintf(out, size,
					_("%s (priority %u) makes room for %s (priority %u), which "
					  "waited %s; estimated cost %s"),
					w->job, w->r->job_priority, w->other, w->r->other_priority,
					w->waited.text, w->cost.text);
		return snprintf(
			out, size,
			_("%s (priority %u) makes room for %s (priority %u), which waited %s; "
			  "estimated cost %s, without preemption it would wait about %s more"),
			w->job, w->r->job_priority, w->other, w->r->other_priority, w->waited.text,
			w->cost.text, w->saves.text);
	}
}

static int say_resume(const struct words *w, char *out, size_t size)
{
	switch (w->r->why) {
	case GP_SCHED_WHY_AGED:
		return snprintf(out, size,
				_("%s resumes after %s: ageing raised it to the level of %s"),
				w->job, w->waited.text, w->other);
	case GP_SCHED_WHY_TURN:
		return snprintf(out, size, _("%s resumes after %s: its turn has come"), w->job,
				w->waited.text);
	case GP_SCHED_WHY_MAX_SUSPEND:
		/* What it was denied before this suspension counts. */
		if (w->r->waited_ns < w->r->limit_ns)
			return snprintf(out, size,
					_("%s resumes after %s: together with earlier suspensions "
					  "it reached the limit of %s"),
					w->job, w->waited.text, w->limit.text);
		return snprintf(out, size,
				_("%s resumes: it reached the limit of %s for one suspension"),
				w->job, w->limit.text);
	case GP_SCHED_WHY_IDLE:
		return snprintf(out, size, _("%s is released after %s: it has no work left"),
				w->job, w->waited.text);
	case GP_SCHED_WHY_UNPINNED:
		return snprintf(out, size, _("%s is released on request after %s"), w->job,
				w->waited.text);
	case GP_SCHED_WHY_POLICY:
		return snprintf(out, size,
				_("%s resumes after %s: the policy, or what gpreemptd may do "
				  "on this GPU, changed"),
				w->job, w->waited.text);
	case GP_SCHED_WHY_GONE:
		return snprintf(out, size, _("%s is released: it is no longer scheduled"), w->job);
	case GP_SCHED_WHY_WITHDRAWN:
		return snprintf(
			out, size,
			_("%s is released after %s: its process was stopped or suspended by hand"),
			w->job, w->waited.text);
	case GP_SCHED_WHY_RECOVER:
		return snprintf(out, size, _("%s is released: an operation on it failed"), w->job);
	default:
		return snprintf(out, size, _("%s resumes after %s: no job is ahead of it"), w->job,
				w->waited.text);
	}
}

static int say_deadline(const struct words *w, char *out, size_t size)
{
	const struct gp_sched_reason *r = w->r;

	switch (r->why) {
	case GP_SCHED_WHY_REFUSED:
		return snprintf(out, size,
				_("the deadline of %s is rejected: the job needs %u.%u %% of the "
				  "device, but %u.%u %% is already reserved (limit %u.%u %%)"),
				w->job, r->needs_ppm / 10000, r->needs_ppm / 1000 % 10,
				r->used_ppm / 10000, r->used_ppm / 1000 % 10, r->limit_ppm / 10000,
				r->limit_ppm / 1000 % 10);
	case GP_SCHED_WHY_OVERRUN:
		return snprintf(out, size,
				_("%s exceeds its budget of %s: its deadline is postponed"), w->job,
				w->limit.text);
	default:
		return snprintf(out, size, _("%s finished %s after its deadline"), w->job,
				w->waited.text);
	}
}

static int say_note(const struct words *w, char *out, size_t size)
{
	const struct gp_sched_reason *r = w->r;

	switch (r->why) {
	case GP_SCHED_WHY_DECLINED:
		return snprintf(out, size,
				_("%s is not preempted for %s: preemption would cost %s, but the "
				  "running work should finish in %s"),
				w->job, w->other, w->cost.text, w->saves.text);
	case GP_SCHED_WHY_OWED:
		return snprintf(out, size,
				_("%s is not preempted for %s: it recently ran for %s and lost %s "
				  "to preemptions; it runs for another %s first"),
				w->job, w->other, w->ran.text, w->cost.text, w->limit.text);
	case GP_SCHED_WHY_FAILED:
		return snprintf(out, size,
				_("an operation on %s failed (%s); the next attempt is in %s at "
				  "the earliest"),
				w->job, strerror(-r->error), w->limit.text);
	case GP_SCHED_WHY_TIMEOUT:
		return snprintf(out, size, _("an operation on %s timed out"), w->job);
	case GP_SCHED_WHY_LEASE_LOST:
		return snprintf(
			out, size,
			_("%s is running again: its suspension was released or its lease expired"),
			w->job);
	case GP_SCHED_WHY_REFUSED:
	case GP_SCHED_WHY_OVERRUN:
	case GP_SCHED_WHY_MISSED:
		return say_deadline(w, out, size);
	case GP_SCHED_WHY_HINT_MISSED:
		return snprintf(out, size, _("the work that %s announced did not arrive"), w->job);
	case GP_SCHED_WHY_LINGER:
		return snprintf(out, size,
				_("%s keeps its slot for %s: it usually returns after %s"), w->job,
				w->limit.text, w->waited.text);
	case GP_SCHED_WHY_EARLY:
		return snprintf(out, size,
				_("%s ran out of work early and keeps its slot for %s: its work "
				  "usually lasts %s"),
				w->job, w->limit.text, w->ran.text);
	case GP_SCHED_WHY_ABSENT:
		return snprintf(out, size,
				_("%s is stopped and will not be scheduled until it continues"),
				w->job);
	case GP_SCHED_WHY_PRESENT:
		return snprintf(out, size, _("%s is scheduled again after being stopped for %s"),
				w->job, w->waited.text);
	case GP_SCHED_WHY_WEIGHT:
		if (r->policy == GP_SCHED_PRIORITY)
			return snprintf(out, size,
					_("a time slice by priority is requested for %s"), w->job);
		return snprintf(out, size, _("requested a GPU share for %s based on its weight"),
				w->job);
	default:
		return snprintf(out, size, "%s", gp_sched_why_name(r->why));
	}
}

int gp_show_reason(const struct gp_sched_reason *reason, const char *job, const char *other,
		   char *out, size_t size)
{
	struct words w = {
		.r = reason,
		.job = job,
		.other = other,
		.waited = gp_duration_text(reason->waited_ns),
		.ran = gp_duration_text(reason->ran_ns),
		.cost = gp_duration_text(reason->cost_ns),
		.saves = gp_duration_text(reason->saves_ns),
		.limit = gp_duration_text(reason->limit_ns),
	};
	char own[NAME], others[NAME];

	if ((u32)reason->why >= GP_SCHED_WHYS)
		return snprintf(out, size, "%s", _("unknown"));
	snprintf(own, sizeof(own), _("job %u"), reason->job);
	snprintf(others, sizeof(others), _("job %u"), reason->other);
	if (!job)
		w.job = own;
	if (!other)
		w.other = others;
	if (reason->why <= GP_SCHED_WHY_PARKED)
		return say_suspend(&w, out, size);
	if (reason->why <= GP_SCHED_WHY_RECOVER)
		return say_resume(&w, out, size);
	return say_note(&w, out, size);
}
