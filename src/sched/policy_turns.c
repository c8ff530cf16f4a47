// SPDX-License-Identifier: MIT
/*
 * Turns within the policy `priority`, on a device whose hardware takes turns by itself (`slices`).
 * There a job of high priority has long slices and one of low priority very short ones: it is off
 * the device as soon as the other one has work. Two such jobs side by side would make the device
 * change between them all the time. So jobs that say so (in_turns) run one at a time, each for a
 * turn; the jobs that do not are not held up by that and come first.
 *
 * A round lasts slice_ns for each job, at most half a second, and at most three quarters of
 * max_suspend, so that no job is resumed by that bound in the middle of the turn of another. A
 * job's part of the round is its weight, and twice as much for every 250 levels of priority, as the
 * slices are.
 */
#include "sched/state.h"

#define LEVEL_STEP 250u
#define LEVELS_MAX 10u
#define SUM_MAX    (1ull << 30)
/* Any ten seconds have at least 20 rounds: equals differ by at most a turn, which is a twentieth.
 */
#define ROUND_NS (500ull * 1000 * 1000)

static u64 part_of(const struct gp_sched_job *j)
{
	return (u64)j->weight << GP_MIN(j->priority / LEVEL_STEP, LEVELS_MAX);
}

static u64 turn_of(const struct gp_sched *s, const struct gp_sched_member *m)
{
	const struct gp_sched_device *d = gp_member_device(s, m);
	u64 own = part_of(gp_member_job(s, m)), sum = 0, count = 0, round;
	const struct gp_list *link;

	gp_list_for_each (link, &d->members) {
		const struct gp_sched_member *other =
			gp_container(link, struct gp_sched_member, link);

		if (!other->contends || !gp_sched_turns_has(s, other))
			continue;
		sum += part_of(gp_member_job(s, other));
		count++;
	}
	for (; sum > SUM_MAX; sum >>= 1)
		own >>= 1;
	round = GP_MIN(d->config.slice_ns * count, GP_MAX(d->config.slice_ns, ROUND_NS));
	round = GP_MIN(round, s->config.max_suspend_ns / 4 * 3);
	return GP_MAX(gp_scale(round, own, GP_MAX(sum, 1)), 4 * (d->suspend_ns + d->resume_ns));
}

u64 gp_sched_turns_key(const struct gp_sched_member *m)
{
	return GP_SCHED_BACKGROUND + m->turn;
}

void gp_sched_turns_arrive(struct gp_sched *s, struct gp_sched_member *m)
{
	m->turn = ++gp_member_device(s, m)->turn;
}

void gp_sched_turns_start(struct gp_sched *s, struct gp_sched_member *m)
{
	m->tick_at = gp_later(s->now, turn_of(s, m));
	if (gp_member_job(s, m)->run == GP_SCHED_RESUMING)
		m->tick_at = gp_later(m->tick_at, gp_member_device(s, m)->resume_ns);
}

void gp_sched_turns_tick(struct gp_sched *s, struct gp_sched_member *m)
{
	gp_sched_turns_arrive(s, m);
	gp_sched_turns_start(s, m);
}
