// SPDX-License-Identifier: MIT
/* The promises of the core, checked from the outside in; tests call it after every event. */
#include "sched/state.h"

static const char *check_order(const struct gp_sched_order *order)
{
	for (u32 i = 0; i < order->count; i++) {
		if (i && gp_order_before(&order->entry[i], &order->entry[(i - 1) / 4]))
			return "the entries of an ordered list are out of order";
		if (*gp_order_place(order, order->entry[i].id) != i + 1)
			return "the recorded position of a list entry is wrong";
	}
	return NULL;
}

/* The queues of a member by what they have, counted again. */
struct counts {
	u32 queues, busy[3], maybe[3], doubted;
};

static void count_queues(const struct gp_sched *s, const struct gp_sched_job *j,
			 const struct gp_sched_member *m, struct counts *counts)
{
	const struct gp_list *link, *inner;

	gp_list_for_each (link, &j->processes) {
		const struct gp_sched_process *process =
			gp_container(link, struct gp_sched_process, link);

		gp_list_for_each (inner, &process->queues) {
			const struct gp_sched_queue *q =
				gp_container(inner, struct gp_sched_queue, link);
			bool maybe = q->work == GP_SCHED_MAYBE && q->epoch == m->epoch;

			if (q->member != gp_member_index(s, m) + 1)
				continue;
			counts->queues++;
			counts->doubted += q->work == GP_SCHED_MAYBE;
			counts->busy[q->stream] += q->work == GP_SCHED_BUSY || maybe;
			counts->maybe[q->stream] += maybe;
		}
	}
}

static const char *check_work(const struct gp_sched *s, const struct gp_sched_member *m)
{
	struct counts counts = {0};

	count_queues(s, gp_member_job(s, m), m, &counts);
	if (counts.queues != m->queues || !m->queues)
		return "the queue count of a member is wrong";
	for (u32 i = 0; i < 3; i++)
		if (counts.busy[i] != m->busy[i] || counts.maybe[i] != m->maybe[i])
			return "the busy-queue counts of a member are wrong";
	if (counts.doubted != m->doubted)
		return "the count of a member's queues in doubt is wrong";
	if (m->contends != ((gp_member_work(m) && !gp_member_job(s, m)->absent) || m->ghost))
		return "a member contends without work, or has work and does not contend";
	if (m->ghost && (gp_member_work(m) || m->ghost_until < s->now))
		return "a drained member keeps its slot past the time limit";
	if (m->maybe[0] + m->maybe[1] + m->maybe[2] && m->maybe_until < s->now)
		return "unknown work is kept past its time limit";
	return NULL;
}

static const char *check_place(const struct gp_sched *s, const struct gp_sched_member *m)
{
	const struct gp_sched_device *d = gp_member_device(s, m);
	const struct gp_sched_job *j = gp_member_job(s, m);
	bool held = gp_job_held(j), run = m->contends && !held;
	u32 place = m->place[GP_ORDER_RUN];

	if (!!place != run)
		return "the list of running members is wrong";
	if (!!m->place[GP_ORDER_LAST] != (run && gp_member_exposed(s, m)))
		return "the list of preemptible members is wrong";
	if (gp_member_waits(m) != (m->contends && held && m->waits) ||
	    !!m->place[GP_ORDER_HELD] + !!m->place[GP_ORDER_TURN] + !!m->place[GP_ORDER_QUEUED] >
		    1 ||
	    !m->place[GP_ORDER_TURN] != !m->place[GP_ORDER_NEXT])
		return "the list of suspended members is wrong";
	if (run && d->order[GP_ORDER_RUN].entry[place - 1].key != d->policy->key(s, m, false))
		return "the position of a running member does not match the policy";
	place = m->place[GP_ORDER_HELD];
	if (place && d->order[GP_ORDER_HELD].entry[place - 1].key != d->policy->key(s, m, true))
		return "the position of a suspended member does not match the policy";
	return NULL;
}

/* Another job with work is before it on a device where it has work. */
static bool has_reason(const struct gp_sched *s, const struct gp_sched_job *j)
{
	const struct gp_list *link;

	gp_list_for_each (link, &j->members) {
		const struct gp_sched_member *m =
			gp_container(link, struct gp_sched_member, job_link);
		const struct gp_sched_device *d = gp_member_device(s, m);
		const struct gp_sched_member *best = gp_order_top(s, &d->order[GP_ORDER_RUN]);

		if (gp_member_waits(m) && best && d->config.can_suspend &&
		    d->policy->returns(s, best, m) > s->now)
			return true;
	}
	return false;
}

/* Nothing is asked of a job that is stopped, and nothing is given to it. */
static const char *check_absent(const struct gp_sched_job *j)
{
	if (j->contending)
		return "a stopped job still contends";
	if (j->run != GP_SCHED_RUNNING || j->token || j->retry_at != GP_SCHED_NEVER)
		return "an operation on a stopped job is in progress";
	return NULL;
}

static const char *check_job(const struct gp_sched *s, const struct gp_sched_job *j)
{
	bool held = gp_job_held(j);

	if (held != (j->run == GP_SCHED_SUSPENDING || j->run == GP_SCHED_SUSPENDED))
		return "the suspension flag and the run state of a job disagree";
	if (j->parked && (!held || j->contending))
		return "a job with work is parked";
	if (held && !j->parked && gp_later(j->aged_since, j->spec.max_suspend_ns) <= s->now)
		return "a job is suspended longer than max_suspend";
	if (held && !j->held_by)
		return "a job is suspended without a recorded reason";
	if (held && j->pin == GP_SCHED_PIN_RUN)
		return "a job that is pinned to run is suspended";
	if (!held && j->pin == GP_SCHED_PIN_HOLD && !j->absent)
		return "a job that is pinned to stay suspended runs";
	if (held && j->pin != GP_SCHED_PIN_HOLD && !j->contending && !j->parked)
		return "a job without work is suspended";
	if (held && j->pin != GP_SCHED_PIN_HOLD && !j->parked && !has_reason(s, j))
		return "a job is suspended, but no running job needs its place";
	if (held && !j->parked && !gp_order_has(&s->timers, gp_job_index(s, j)))
		return "a suspended job has no timer that resumes it";
	if ((j->run == GP_SCHED_SUSPENDING || j->run == GP_SCHED_RESUMING) && !j->token &&
	    j->retry_at == GP_SCHED_NEVER)
		return "a job waits for an operation that was not started";
	if (j->run == GP_SCHED_RUNNING && j->shield && j->shield != GP_SCHED_SHIELD_PIN &&
	    (j->shield_until <= s->now || !gp_order_has(&s->timers, gp_job_index(s, j))))
		return "the protection of a job from preemption did not expire on time";
	return j->absent ? check_absent(j) : NULL;
}

/* Each job that must yield yields; each held job has a reason. */
static const char *check_settled(const struct gp_sched *s, const struct gp_sched_device *d)
{
	const struct gp_sched_member *best = gp_order_top(s, &d->order[GP_ORDER_RUN]);
	const struct gp_sched_member *last = gp_order_top(s, &d->order[GP_ORDER_LAST]);

	if (best && last && last != best && d->policy->yields(s, best, last))
		return "an unprotected job runs before one that should preempt it";
	if (!best && d->order[GP_ORDER_HELD].count + d->order[GP_ORDER_TURN].count +
			     d->order[GP_ORDER_QUEUED].count)
		return "a device is idle while a job is suspended on it";
	return NULL;
}

static const char *check_members(const struct gp_sched *s, const struct gp_sched_job *j)
{
	const struct gp_list *link;
	u32 contending = 0;

	gp_list_for_each (link, &j->members) {
		const struct gp_sched_member *m =
			gp_container(link, struct gp_sched_member, job_link);
		const char *broken = check_work(s, m);

		if (!broken)
			broken = check_place(s, m);
		if (broken)
			return broken;
		contending += m->contends;
	}
	return contending == j->contending ? NULL : "the contending-member count of a job is wrong";
}

static const char *check_device(const struct gp_sched *s, const struct gp_sched_device *d)
{
	u32 members = 0, contenders = 0, switching = 0, storm = 0, slots = 0;
	const struct gp_list *link;
	u64 weights = 0, ppm = 0;

	for (u32 i = 0; i < GP_ORDERS; i++) {
		const char *broken = check_order(&d->order[i]);

		if (broken)
			return broken;
	}
	gp_list_for_each (link, &d->members) {
		const struct gp_sched_member *m = gp_container(link, struct gp_sched_member, link);

		members++;
		contenders += m->contends;
		slots += m->slot;
		weights += m->contends ? gp_member_job(s, m)->weight : 0;
		ppm += m->ppm;
	}
	for (u32 i = 0; i < s->jobs.fresh; i++) {
		const struct gp_sched_job *j = gp_sched_job(s, i);

		switching += j && j->token && j->op_device == d->index;
		storm += j && j->storms && j->op_device == d->index;
	}
	if (members != d->member_count || switching != d->switching || storm != d->storm ||
	    slots != d->slots || contenders != d->contenders || weights != d->weights ||
	    ppm != d->admitted_ppm)
		return "the sums of a device are wrong";
	if (ppm > d->config.utilisation_ppm)
		return "admitted deadline jobs exceed the capacity of the device";
	return check_settled(s, d);
}

const char *gp_sched_check(const struct gp_sched *s)
{
	const char *broken = check_order(&s->timers);
	u32 held = 0, absent = 0;

	for (u32 i = 0; !broken && i < s->jobs.fresh; i++) {
		const struct gp_sched_job *j = gp_sched_job(s, i);

		if (!j)
			continue;
		held += gp_job_held(j);
		absent += j->absent;
		broken = check_members(s, j);
		if (!broken)
			broken = check_job(s, j);
	}
	if (!broken && (held != s->held || absent != s->stats.absent))
		broken = "the counts of suspended and stopped jobs are wrong";
	if (!broken && s->held && !gp_order_has(&s->timers, s->timer_renew))
		broken = "leases are not renewed";
	for (u32 i = 0; !broken && i < s->config.devices; i++)
		broken = check_device(s, &s->device[i]);
	if (!broken && gp_sched_next(s) < s->armed)
		broken = "no timer is armed for the next event";
	return broken;
}
