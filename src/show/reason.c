// SPDX-License-Identifier: MIT
/* Reasons in sentences. */
#include <stdio.h>

#include "base/i18n.h"
#include "base/units.h"
#include "show/reason.h"

#define TIME 24

/* What the sentences are made of. */
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
				_("%s (priority %u) makes room for %s (priority %u), whose work is "
				  "announced; estimated cost %s"),
				w->job, w->r->job_priority, w->other, w->r->other_priority,
				w->cost.text);
	case GP_SCHED_WHY_AHEAD:
		return snprintf(out, size,
				_("%s is held: it has had more than its share, %s is behind"),
				w->job, w->other);
	case GP_SCHED_WHY_TURN_OVER:
		return snprintf(out, size, _("%s is held after %s: its turn is over, %s is next"),
				w->job, w->ran.text, w->other);
	case GP_SCHED_WHY_PINNED:
		return snprintf(out, size, _("%s is held on request, for %s at most"), w->job,
				w->limit.text);
	case GP_SCHED_WHY_JOINED:
		return snprintf(out, size, _("%s is held and has a new queue: that is held too"),
				w->job);
	default:
		if (w->r->saves_ns == GP_SCHED_UNKNOWN)
			return snprintf(out, size,
					_("%s (priority %u) makes room for %s (priority %u), which "
					  "waited %s; estimated cost %s"),
					w->job, w->r->job_priority, w->other, w->r->other_priority,
					w->waited.text, w->cost.text);
		return snprintf(out, size,
				_("%s (priority %u) makes room for %s (priority %u), which waited "
				  "%s; estimated cost %s, needs %s more"),
				w->job, w->r->job_priority, w->other, w->r->other_priority,
				w->waited.text, w->cost.text, w->saves.text);
	}
}

static int say_resume(const struct words *w, char *out, size_t size)
{
	switch (w->r->why) {
	case GP_SCHED_WHY_AGED:
		return snprintf(out, size,
				_("%s runs again after %s: it has waited itself up to %s"), w->job,
				w->waited.text, w->other);
	case GP_SCHED_WHY_TURN:
		return snprintf(out, size, _("%s runs again after %s: it is its turn"), w->job,
				w->waited.text);
	case GP_SCHED_WHY_MAX_SUSPEND:
		return snprintf(out, size,
				_("%s runs again: it is never held longer than %s at a stretch"),
				w->job, w->limit.text);
	case GP_SCHED_WHY_IDLE:
		return snprintf(out, size, _("%s is let go after %s: it has no work left"), w->job,
				w->waited.text);
	case GP_SCHED_WHY_UNPINNED:
		return snprintf(out, size, _("%s is let go after %s, on request"), w->job,
				w->waited.text);
	case GP_SCHED_WHY_POLICY:
		return snprintf(out, size, _("%s runs again after %s: the rules were changed"),
				w->job, w->waited.text);
	case GP_SCHED_WHY_GONE:
		return snprintf(out, size, _("%s is let go: it is not scheduled any more"), w->job);
	case GP_SCHED_WHY_RECOVER:
		return snprintf(out, size, _("%s is let go: an operation on it failed"), w->job);
	default:
		return snprintf(out, size, _("%s runs again after %s: nobody is before it"), w->job,
				w->waited.text);
	}
}

static int say_note(const struct words *w, char *out, size_t size)
{
	const struct gp_sched_reason *r = w->r;

	switch (r->why) {
	case GP_SCHED_WHY_DECLINED:
		return snprintf(out, size,
				_("%s is not preempted for %s: that would cost %s, and it needs "
				  "only %s more"),
				w->job, w->other, w->cost.text, w->saves.text);
	case GP_SCHED_WHY_FAILED:
		return snprintf(out, size,
				_("an operation on %s failed (error %d); it is left alone for %s"),
				w->job, -r->error, w->limit.text);
	case GP_SCHED_WHY_TIMEOUT:
		return snprintf(out, size, _("an operation on %s was not answered in time"),
				w->job);
	case GP_SCHED_WHY_LEASE_LOST:
		return snprintf(out, size, _("%s runs though it was to be held: its lease ended"),
				w->job);
	case GP_SCHED_WHY_REFUSED:
		return snprintf(out, size,
				_("the deadline of %s is refused: it needs %u.%u %% of the device, "
				  "%u.%u %% of %u.%u %% are taken"),
				w->job, r->needs_ppm / 10000, r->needs_ppm / 1000 % 10,
				r->used_ppm / 10000, r->used_ppm / 1000 % 10, r->limit_ppm / 10000,
				r->limit_ppm / 1000 % 10);
	case GP_SCHED_WHY_OVERRUN:
		return snprintf(out, size,
				_("%s needs more than its budget of %s: its deadline is put off"),
				w->job, w->limit.text);
	case GP_SCHED_WHY_MISSED:
		return snprintf(out, size, _("%s was done %s after its deadline"), w->job,
				w->waited.text);
	case GP_SCHED_WHY_HINT_MISSED:
		return snprintf(out, size, _("the work that %s had announced did not come"),
				w->job);
	case GP_SCHED_WHY_LINGER:
		return snprintf(out, size,
				_("%s keeps its place for %s: it usually comes back after %s"),
				w->job, w->limit.text, w->waited.text);
	case GP_SCHED_WHY_EARLY:
		return snprintf(out, size,
				_("%s keeps its place for %s: it usually has work for %s"), w->job,
				w->limit.text, w->ran.text);
	case GP_SCHED_WHY_WEIGHT:
		if (r->policy == GP_SCHED_PRIORITY)
			return snprintf(out, size,
					_("the time slices of %s are set by its priority"), w->job);
		return snprintf(out, size, _("the share of %s is set by its weight"), w->job);
	default:
		return snprintf(out, size, "%s", gp_sched_why_name(r->why));
	}
}

int gp_sched_reason_text(const struct gp_sched_reason *reason, const char *job, const char *other,
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
	char own[TIME], others[TIME];

	if ((u32)reason->why >= GP_SCHED_WHYS)
		return snprintf(out, size, "%s", _("unknown"));
	snprintf(own, sizeof(own), _("job %u"), reason->job);
	snprintf(others, sizeof(others), _("job %u"), reason->other);
	if (!job)
		w.job = own;
	if (!other)
		w.other = others;
	if (reason->why <= GP_SCHED_WHY_JOINED)
		return say_suspend(&w, out, size);
	if (reason->why <= GP_SCHED_WHY_RECOVER)
		return say_resume(&w, out, size);
	return say_note(&w, out, size);
}
