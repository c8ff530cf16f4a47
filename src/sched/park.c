// SPDX-License-Identifier: MIT
/*
 * Places on the hardware. A device runs `places` processes at once. With more, the hardware rotates
 * through all that have queues, idle ones too, and one that has work waits for its quantum. So
 * where there are more than fit, idle jobs that the host can take off the hardware (`parks`) are
 * parked while the device has work: suspended, the one that has been idle for longest
 * first. All of them, not only as many as exceed the places: each queue on the hardware makes every
 * later change longer. A parked job is not denied anything: its work resumes it, and so does room
 * for all. Its wait counts from its work on.
 *
 * Jobs of equal priority that fill the device gain nothing by running side by side, and their
 * changes stop each other in the middle of their kernels. So one that was parked when its work came
 * is let in when its equals have drained, or after a turn; then one whose turn is over makes room
 * for it: they change places. Whether they fill the device shows in their bursts: beside others
 * these take longer than alone. Where they do not, it is let in at once.
 *
 * Only jobs with queues on one device are parked, and only under policies that ask for it.
 */
#include "sched/state.h"

#define SHIFT   4            /* of d->stretch */
#define FULL    20           /* a quarter longer beside others: they are in each other's way */
#define LONGEST 8            /* times as long counts as that */
#define LOOK_NS (1ull << 30) /* after so long it is found out again */

static bool parks(const struct gp_sched_device *d)
{
	return d->policy->parks && d->config.can_suspend && d->config.places;
}

/* More than fit, not counting those that are held for another reason than their place. */
static bool short_of_places(const struct gp_sched_device *d)
{
	return d->resident + d->parked + d->order[GP_ORDER_QUEUED].count > d->config.places ||
	       (d->processes > d->config.places && d->stretch >= FULL);
}

static bool is_alone(const struct gp_sched_job *j, const struct gp_sched_member *m)
{
	return j->members.next == &m->job_link && m->job_link.next == &j->members;
}

static bool may_park(const struct gp_sched_device *d, const struct gp_sched_job *j,
		     const struct gp_sched_member *m)
{
	/* One that has not had work yet is about to, and so is one that usually comes back soon. Of
	 * one in doubt a kernel may run: it would stand still for as long as it is parked. */
	if (m->drained == GP_SCHED_NEVER || m->doubted ||
	    (m->gap_ns && m->gap_ns < 4 * (d->suspend_ns + d->resume_ns)))
		return false;
	return parks(d) && m->queues && !m->contends && !gp_job_held(j) && is_alone(j, m) &&
	       !j->shield && !j->absent && j->spec.parks && j->pin == GP_SCHED_PIN_NONE &&
	       j->run == GP_SCHED_RUNNING;
}

void gp_sched_park_place(struct gp_sched *s, struct gp_sched_member *m)
{
	struct gp_sched_device *d = gp_member_device(s, m);
	const struct gp_sched_job *j = gp_member_job(s, m);
	u32 processes = m->queues ? GP_MAX(j->process_count, 1u) : 0;
	u32 resident = gp_job_held(j) ? 0 : processes, id = gp_member_index(s, m);
	u32 parked = j->parked ? processes : 0;

	d->processes += processes - m->processes;
	d->resident += resident - m->resident;
	m->processes = processes;
	m->resident = resident;
	d->parked += parked - m->parked;
	m->parked = parked;
	if (may_park(d, j, m))
		gp_order_set(&d->order[GP_ORDER_IDLE], id, m->drained);
	else
		gp_order_remove(&d->order[GP_ORDER_IDLE], id);
	if (j->parked && m->queues)
		gp_order_set(&d->order[GP_ORDER_PARKED], id, 0);
	else
		gp_order_remove(&d->order[GP_ORDER_PARKED], id);
}

bool gp_sched_park_step(struct gp_sched *s, struct gp_sched_device *d)
{
	struct gp_sched_member *m = gp_order_top(s, &d->order[GP_ORDER_PARKED]);

	if (m && (!parks(d) || d->processes <= d->config.places)) {
		gp_sched_job_resume(s, gp_member_job(s, m), GP_SCHED_WHY_CLEAR,
				    GP_SCHED_SHIELD_NONE, NULL);
		return true;
	}
	m = gp_order_top(s, &d->order[GP_ORDER_IDLE]);
	if (!m || !d->contenders || !short_of_places(d))
		return false;
	gp_member_job(s, m)->parked = true;
	gp_sched_job_suspend(s, gp_member_job(s, m), GP_SCHED_WHY_PARKED, m, NULL);
	return true;
}

void gp_sched_unpark(struct gp_sched *s, struct gp_sched_job *j)
{
	if (!j->parked)
		return;
	j->parked = false;
	j->held_since = j->aged_since = s->now;
	gp_sched_job_arm(s, j);
}

bool gp_sched_park_queues(const struct gp_sched *s, const struct gp_sched_member *m)
{
	struct gp_sched_device *d = gp_member_device(s, m);
	u32 level = gp_sched_member_priority(s, m);

	if (d->order[GP_ORDER_QUEUED].count == !!m->place[GP_ORDER_QUEUED])
		d->queue_level = level;
	return d->queue_level == level;
}

bool gp_sched_park_unqueue(struct gp_sched *s, const struct gp_sched_device *d,
			   const struct gp_sched_member *best)
{
	struct gp_sched_member *m = gp_order_top(s, &d->order[GP_ORDER_QUEUED]);

	if (!m || !best || gp_sched_member_priority(s, best) <= d->queue_level)
		return false;
	gp_member_job(s, m)->queued = false;
	gp_sched_member_place(s, m);
	return true;
}

/*
 * Side by side they only slow each other down. As long as that is not known it is found out: first
 * what each of them takes alone, then beside another; and again once in a while.
 */
static bool fill_device(const struct gp_sched *s, const struct gp_sched_device *d,
			const struct gp_sched_member *m)
{
	if (!d->stretch)
		return !m->alone_ns;
	return d->stretch >= FULL && s->now - d->stretch_at < LOOK_NS;
}

bool gp_sched_park_takes_turns(const struct gp_sched *s, const struct gp_sched_member *m)
{
	const struct gp_sched_device *d = gp_member_device(s, m);
	const struct gp_sched_job *j = gp_member_job(s, m);

	return parks(d) && d->processes > d->config.places && j->spec.parks && is_alone(j, m) &&
	       m->drained != GP_SCHED_NEVER && !gp_sched_turns_has(s, m) &&
	       !gp_sched_narrow_has(s, m) &&
	       (!d->order[GP_ORDER_QUEUED].count ||
		gp_sched_member_priority(s, m) == d->queue_level);
}

void gp_sched_park_tick(const struct gp_sched *s, struct gp_sched_member *m)
{
	m->over = fill_device(s, gp_member_device(s, m), m);
}

struct gp_sched_member *gp_sched_park_exchange(const struct gp_sched *s,
					       const struct gp_sched_device *d,
					       const struct gp_sched_member *last)
{
	struct gp_sched_member *next = gp_order_top(s, &d->order[GP_ORDER_QUEUED]);

	return next && last && last->over && !gp_sched_narrow_has(s, last) &&
			       gp_sched_member_priority(s, last) == d->queue_level &&
			       gp_sched_park_returns(d) <= s->now
		       ? next
		       : NULL;
}

bool gp_sched_park_again(struct gp_sched *s, const struct gp_sched_device *d,
			 struct gp_sched_member *best)
{
	const struct gp_sched_order *run = &d->order[GP_ORDER_RUN];

	if (gp_sched_narrow_has(s, best) || run->count < 2 ||
	    gp_order_second_key(run) != run->entry[0].key)
		return false;
	best->over = false;
	d->policy->start(s, best);
	gp_sched_member_place(s, best);
	gp_sched_member_arm(s, best);
	return true;
}

void gp_sched_park_queue(struct gp_sched *s, struct gp_sched_member *m)
{
	gp_member_job(s, m)->queued = true;
	gp_member_device(s, m)->let_in_at = s->now;
}

u64 gp_sched_park_returns(const struct gp_sched_device *d)
{
	return d->stretch && d->stretch < FULL ? 0 : gp_later(d->let_in_at, d->config.turn_ns);
}

u64 gp_sched_park_round(const struct gp_sched *s, const struct gp_sched_device *d)
{
	u32 places = d->config.places;

	if (!places || d->resident <= places)
		return 0;
	return GP_MIN(d->config.turn_ns * ((d->resident + places - 1) / places),
		      s->config.max_suspend_ns);
}

void gp_sched_park_started(const struct gp_sched *s, struct gp_sched_member *m)
{
	const struct gp_sched_device *d = gp_member_device(s, m);
	const struct gp_sched_member *best = gp_order_top(s, &d->order[GP_ORDER_RUN]);

	m->beside |= best && gp_sched_member_priority(s, best) >= gp_sched_member_priority(s, m);
}

/* Does an equal or higher one run, now that its work is done? */
static bool has_company(const struct gp_sched_device *d, u32 id)
{
	const struct gp_sched_order *run = &d->order[GP_ORDER_RUN];

	return run->count > 1 &&
	       (run->entry[0].id != id || gp_order_second_key(run) == run->entry[0].key);
}

void gp_sched_park_drained(struct gp_sched *s, struct gp_sched_member *m)
{
	struct gp_sched_device *d = gp_member_device(s, m);

	if (!parks(d) || d->processes <= d->config.places || !m->ran_ns)
		return;
	if (!m->beside && !has_company(d, gp_member_index(s, m)))
		m->alone_ns = gp_sched_average(m->alone_ns, m->ran_ns);
	else if (m->alone_ns) {
		d->stretch_at = s->now;
		d->stretch = gp_sched_average(d->stretch,
					      GP_MIN(gp_scale(m->ran_ns, 1 << SHIFT, m->alone_ns),
						     (u64)LONGEST << SHIFT));
	}
}
