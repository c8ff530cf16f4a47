// SPDX-License-Identifier: MIT
/* Hints and usage in; states and names out. */
#include "sched/state.h"

int gp_sched_hint(struct gp_sched *s, u64 now, u32 index, u32 device, u64 at_ns)
{
	struct gp_sched_job *j = gp_sched_job(s, index);
	struct gp_sched_member *m;
	u64 ahead;
	int error;

	if (!j || device >= s->config.devices)
		return -ENOENT;
	m = gp_sched_job_member(s, j, device);
	if (!m)
		return -ENOENT;
	error = gp_sched_begin(s, now);
	if (error)
		return error;
	at_ns = GP_MIN(at_ns, GP_SCHED_TIME_MAX);
	if (m->contends || j->absent || at_ns < s->now || !s->device[device].policy->ahead)
		return 0;
	ahead = s->device[device].suspend_ns;
	m->hint_at = at_ns - GP_MIN(at_ns, ahead);
	m->hint_at = GP_MAX(m->hint_at, s->now);
	gp_sched_member_arm(s, m);
	if (m->hint_at == s->now)
		gp_sched_member_timer(s, m);
	gp_sched_settle(s);
	return 0;
}

int gp_sched_usage(struct gp_sched *s, u64 now, u32 index, u32 device,
		   const struct gp_sched_usage *usage)
{
	struct gp_sched_job *j = gp_sched_job(s, index);
	struct gp_sched_member *m;
	int error;

	if (!j || device >= s->config.devices)
		return -ENOENT;
	m = gp_sched_job_member(s, j, device);
	if (!m)
		return -ENOENT;
	if (usage->cu_ns > GP_SCHED_SPAN_MAX || usage->copy_ns > GP_SCHED_SPAN_MAX)
		return -EINVAL;
	error = gp_sched_begin(s, now);
	if (error)
		return error;
	if (s->device[device].policy->used)
		s->device[device].policy->used(s, m, usage);
	m->usage_at = s->now;
	gp_sched_member_place(s, m);
	gp_sched_member_arm(s, m);
	gp_sched_settle(s);
	return 0;
}

int gp_sched_job_state(const struct gp_sched *s, u32 index, struct gp_sched_job_state *out)
{
	const struct gp_sched_job *j = gp_sched_job(s, index);
	const struct gp_list *link;

	if (!j)
		return -ENOENT;
	*out = (struct gp_sched_job_state){
		.tag = j->spec.tag,
		.class = j->spec.class,
		.pin = j->pin,
		/* One that is parked waits for nothing. */
		.run = j->parked ? GP_SCHED_RUNNING : j->run,
		.absent = j->absent,
		.parked = j->parked,
		.priority = j->priority,
		.weight = j->weight,
		.processes = j->process_count,
		.queues = j->queue_count,
		.held_since = j->parked ? GP_SCHED_NEVER : j->held_since,
		.held_by = j->held_by,
		.held_for = gp_sched_job_held_for(s, j),
		.held_ns = j->held_ns + (gp_job_held(j) && !j->parked ? s->now - j->held_since : 0),
		.ran_ns = j->ran_ns,
		.blocked_ns = j->blocked_ns,
		.absent_ns = j->absent_ns + (j->absent ? s->now - j->absent_since : 0),
		.suspends = j->suspends,
		.declined = j->declined,
		.failures = j->failures,
		.suspend_ns = j->suspend_ns ? j->suspend_ns : GP_SCHED_UNKNOWN,
		.resume_ns = j->resume_ns ? j->resume_ns : GP_SCHED_UNKNOWN,
		.burst_ns = GP_SCHED_UNKNOWN,
	};
	gp_list_for_each (link, &j->members) {
		const struct gp_sched_member *m =
			gp_container(link, struct gp_sched_member, job_link);

		out->devices++;
		out->busy_queues += gp_member_work(m);
		if (m->contends && !m->ghost && !gp_job_held(j)) {
			out->ran_ns += s->now - m->mark;
			out->running++;
		} else if (m->contends && !m->ghost) {
			out->blocked_ns += s->now - m->mark;
			out->blocked++;
		}
		if (m->burst_ns &&
		    (out->burst_ns == GP_SCHED_UNKNOWN || m->burst_ns > out->burst_ns))
			out->burst_ns = m->burst_ns;
	}
	return 0;
}

int gp_sched_device_state(const struct gp_sched *s, u32 index, struct gp_sched_device_state *out)
{
	const struct gp_sched_device *d;

	if (index >= s->config.devices)
		return -ENOENT;
	d = &s->device[index];
	*out = (struct gp_sched_device_state){
		.policy = d->config.policy,
		.members = d->member_count,
		.running = d->order[GP_ORDER_RUN].count,
		.held = d->contenders - d->order[GP_ORDER_RUN].count,
		.admitted_ppm = d->admitted_ppm,
		.narrow = d->narrow,
		.crowded = d->config.places && d->processes > d->config.places,
		.suspend_ns = d->suspend_ns,
		.resume_ns = d->resume_ns,
	};
	return 0;
}

void gp_sched_stats(const struct gp_sched *s, struct gp_sched_stats *out)
{
	*out = s->stats;
	out->now_ns = s->now;
	out->held = s->held;
}

const char *gp_sched_why_name(enum gp_sched_why why)
{
	/* clang-format off */
	static const char *const names[GP_SCHED_WHYS] = {
		[GP_SCHED_WHY_INVERSION] = "inversion",
		[GP_SCHED_WHY_HINT] = "hint",
		[GP_SCHED_WHY_AHEAD] = "ahead",
		[GP_SCHED_WHY_TURN_OVER] = "turn_over",
		[GP_SCHED_WHY_PINNED] = "pinned",
		[GP_SCHED_WHY_JOINED] = "joined",
		[GP_SCHED_WHY_PARKED] = "parked",
		[GP_SCHED_WHY_CLEAR] = "clear",
		[GP_SCHED_WHY_AGED] = "aged",
		[GP_SCHED_WHY_TURN] = "turn",
		[GP_SCHED_WHY_MAX_SUSPEND] = "max_suspend",
		[GP_SCHED_WHY_IDLE] = "idle",
		[GP_SCHED_WHY_UNPINNED] = "unpinned",
		[GP_SCHED_WHY_POLICY] = "policy",
		[GP_SCHED_WHY_GONE] = "gone",
		[GP_SCHED_WHY_WITHDRAWN] = "withdrawn",
		[GP_SCHED_WHY_RECOVER] = "recover",
		[GP_SCHED_WHY_DECLINED] = "declined",
		[GP_SCHED_WHY_OWED] = "owed",
		[GP_SCHED_WHY_FAILED] = "failed",
		[GP_SCHED_WHY_TIMEOUT] = "timeout",
		[GP_SCHED_WHY_LEASE_LOST] = "lease_lost",
		[GP_SCHED_WHY_REFUSED] = "refused",
		[GP_SCHED_WHY_OVERRUN] = "overrun",
		[GP_SCHED_WHY_MISSED] = "missed",
		[GP_SCHED_WHY_HINT_MISSED] = "hint_missed",
		[GP_SCHED_WHY_LINGER] = "linger",
		[GP_SCHED_WHY_EARLY] = "early",
		[GP_SCHED_WHY_ABSENT] = "absent",
		[GP_SCHED_WHY_PRESENT] = "present",
		[GP_SCHED_WHY_WEIGHT] = "weight",
		[GP_SCHED_WHY_ROUTINE] = "routine",
	};
	/* clang-format on */

	return (u32)why < GP_SCHED_WHYS ? names[why] : NULL;
}

const char *gp_sched_shield_name(enum gp_sched_shield shield)
{
	static const char *const names[] = {
		[GP_SCHED_SHIELD_NONE] = "none",     [GP_SCHED_SHIELD_MIN_RUN] = "min_run",
		[GP_SCHED_SHIELD_TURN] = "turn",     [GP_SCHED_SHIELD_COST] = "cost",
		[GP_SCHED_SHIELD_FAILED] = "failed", [GP_SCHED_SHIELD_PIN] = "pin",
		[GP_SCHED_SHIELD_OWED] = "owed",
	};

	return (u32)shield < GP_ARRAY_SIZE(names) ? names[shield] : NULL;
}
