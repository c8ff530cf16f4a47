// SPDX-License-Identifier: MIT
/*
 * Places on the hardware. A device runs `places` processes at once. With more, the hardware rotates
 * through all that have queues, idle ones too, and one that has work waits for its quantum. So
 * while a device has work, idle jobs are parked: suspended, the one that has been idle for longest
 * first, until the others fit. A parked job is not denied anything: it is resumed in the event that
 * brings its work, and when there is room for all. Its wait counts from its work on.
 *
 * Only jobs with queues on one device are parked, and only under policies that ask for it.
 */
#include "sched/state.h"

static bool parks(const struct gp_sched_device *d)
{
	return d->policy->parks && d->config.can_suspend && d->config.places;
}

static bool may_park(const struct gp_sched_device *d, const struct gp_sched_job *j,
		     const struct gp_sched_member *m)
{
	bool alone = j->members.next == &m->job_link && m->job_link.next == &j->members;

	/* One that has not had work yet is about to, and so is one that usually comes back soon. */
	if (m->drained == GP_SCHED_NEVER ||
	    (m->gap_ns && m->gap_ns < 4 * (d->suspend_ns + d->resume_ns)))
		return false;
	return parks(d) && m->queues && !m->contends && !gp_job_held(j) && alone && !j->shield &&
	       !j->absent && j->pin == GP_SCHED_PIN_NONE && j->run == GP_SCHED_RUNNING;
}

void gp_sched_park_place(struct gp_sched *s, struct gp_sched_member *m)
{
	struct gp_sched_device *d = gp_member_device(s, m);
	const struct gp_sched_job *j = gp_member_job(s, m);
	u32 processes = m->queues ? GP_MAX(j->process_count, 1u) : 0;
	u32 resident = gp_job_held(j) ? 0 : processes, id = gp_member_index(s, m);

	d->processes += processes - m->processes;
	d->resident += resident - m->resident;
	m->processes = processes;
	m->resident = resident;
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
	if (!m || !d->contenders || d->resident <= d->config.places)
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
	j->aged_since = s->now;
	gp_sched_job_arm(s, j);
}
