// SPDX-License-Identifier: MIT
/*
 * deadline: earliest deadline first. A burst of work that arrives is due deadline_ns later; the
 * job that is due first runs, all others yield. Jobs without a deadline run behind all that have
 * one, by priority.
 *
 * Admission: a job is taken on a device while the sum of (budget + cost of a preemption) over
 * the shorter of deadline and period stays within utilisation_ppm; otherwise it is refused, and the
 * reason has the three numbers.
 *
 * Overload: a burst that uses up its budget is put off by one period, with a new budget, as often
 * as needed. So a job that needs more than it declared is late, and does not make others late. A
 * burst that comes before the last one's period is over continues with the rest of that budget. The
 * time of suspending and resuming is not charged to a job: admission has counted it.
 */
#include "sched/state.h"

#define PPM     1000000ull
#define LOOK_NS 10000 /* budgets are not looked at more often */

static u64 key(const struct gp_sched *s, const struct gp_sched_member *m, bool held)
{
	(void)held;
	if (m->ppm)
		return m->deadline;
	return GP_SCHED_BACKGROUND | (GP_SCHED_PRIORITY_MAX - gp_sched_member_priority(s, m));
}

static bool yields(const struct gp_sched *s, const struct gp_sched_member *best,
		   const struct gp_sched_member *m)
{
	return key(s, best, false) < key(s, m, false);
}

static u64 returns(const struct gp_sched *s, const struct gp_sched_member *best,
		   const struct gp_sched_member *m)
{
	return yields(s, best, m) ? GP_SCHED_NEVER : 0;
}

/* The budget lasts that long at least; longer while others run beside it or jobs are switched. */
static void watch(struct gp_sched *s, struct gp_sched_member *m)
{
	m->tick_at = m->ppm ? gp_later(s->now, GP_MAX(m->budget, LOOK_NS)) : GP_SCHED_NEVER;
}

static void start(struct gp_sched *s, struct gp_sched_member *m)
{
	gp_sched_device_clock(s, gp_member_device(s, m));
	m->clock = gp_member_device(s, m)->clock;
	watch(s, m);
}

static void postpone(const struct gp_sched *s, struct gp_sched_member *m)
{
	const struct gp_sched_job_spec *spec = &gp_member_job(s, m)->spec;

	m->deadline = gp_later(m->deadline, spec->period_ns);
	m->period_end = gp_later(m->period_end, spec->period_ns);
	m->budget = spec->budget_ns;
}

static void arrive(struct gp_sched *s, struct gp_sched_member *m)
{
	const struct gp_sched_job_spec *spec = &gp_member_job(s, m)->spec;

	if (!m->ppm)
		return;
	m->due = gp_later(s->now, spec->deadline_ns);
	if (s->now >= m->period_end) {
		m->deadline = m->due;
		m->period_end = gp_later(s->now, spec->period_ns);
		m->budget = spec->budget_ns;
	} else if (!m->budget) {
		postpone(s, m);
	}
	watch(s, m);
}

static void drain(struct gp_sched *s, struct gp_sched_member *m)
{
	struct gp_sched_action *note;

	if (!m->ppm || s->now <= m->due)
		return;
	note = gp_sched_emit(s, GP_SCHED_NOTE, GP_SCHED_WHY_MISSED, m->job, GP_SCHED_NONE,
			     m->device);
	note->reason.waited_ns = s->now - m->due;
	note->reason.limit_ns = gp_member_job(s, m)->spec.deadline_ns;
}

static void ran(struct gp_sched *s, struct gp_sched_member *m, u64 ns)
{
	struct gp_sched_device *d = gp_member_device(s, m);

	(void)ns;
	gp_sched_device_clock(s, d);
	m->budget -= GP_MIN(m->budget, (d->clock - m->clock) >> 4);
	m->clock = d->clock;
}

static void tick(struct gp_sched *s, struct gp_sched_member *m)
{
	if (m->ppm && !m->budget) {
		struct gp_sched_action *note = gp_sched_emit(s, GP_SCHED_NOTE, GP_SCHED_WHY_OVERRUN,
							     m->job, GP_SCHED_NONE, m->device);

		note->reason.limit_ns = gp_member_job(s, m)->spec.budget_ns;
		note->reason.ran_ns = m->ran_ns;
		postpone(s, m);
	}
	watch(s, m);
}

static void join(struct gp_sched *s, struct gp_sched_member *m)
{
	struct gp_sched_device *d = gp_member_device(s, m);
	const struct gp_sched_job_spec *spec = &gp_member_job(s, m)->spec;
	struct gp_sched_action *note;
	u64 need;

	m->ppm = 0;
	if (!spec->deadline_ns)
		return;
	need = GP_MIN(spec->budget_ns + d->suspend_ns + d->resume_ns, 1ull << 43) * PPM /
	       GP_MIN(spec->deadline_ns, spec->period_ns);
	need = GP_MAX(GP_MIN(need, 1000 * PPM), 1);
	if (d->admitted_ppm + need <= d->config.utilisation_ppm) {
		m->ppm = (u32)need;
		m->period_end = m->deadline = m->due = 0;
		d->admitted_ppm += m->ppm;
		return;
	}
	/* A change of policy can refuse any number at once: those beyond the room are only counted.
	 */
	if (s->action_count + GP_SCHED_EVENT_ROOM > GP_SCHED_ACTIONS) {
		s->stats.why[GP_SCHED_WHY_REFUSED]++;
		return;
	}
	note = gp_sched_emit(s, GP_SCHED_NOTE, GP_SCHED_WHY_REFUSED, m->job, GP_SCHED_NONE,
			     m->device);
	note->reason.used_ppm = d->admitted_ppm;
	note->reason.needs_ppm = (u32)need;
	note->reason.limit_ppm = d->config.utilisation_ppm;
}

static void leave(struct gp_sched *s, struct gp_sched_member *m)
{
	gp_member_device(s, m)->admitted_ppm -= m->ppm;
	m->ppm = 0;
}

const struct gp_sched_policy gp_sched_policy_deadline = {
	.name = "deadline",
	.declines = true,
	.ahead = true,
	.clock = true,
	.suspends = GP_SCHED_WHY_INVERSION,
	.resumes = GP_SCHED_WHY_CLEAR,
	.key = key,
	.yields = yields,
	.returns = returns,
	.arrive = arrive,
	.drain = drain,
	.start = start,
	.ran = ran,
	.tick = tick,
	.join = join,
	.leave = leave,
};
