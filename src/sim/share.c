// SPDX-License-Identifier: MIT
/*
 * Does every job get its part? In a window of 5 s in which a job always has work, it must run for
 * at least half its fair share of what higher jobs leave. Its share is the time in which no higher
 * job with work ran on a device where it has work, over the number of its equals there. Windows
 * begin every 250 ms.
 *
 * Time that the scheduler cannot give is not due, and is counted: the job is pinned or stopped from
 * outside, or an operation on it fails, hangs or is answered late. A restart of the scheduler, a
 * jump of its clock and a time without work begin a new account.
 *
 * Work that is only announced (a hint) is not work: what it takes is not its own. A gap in which a
 * higher job lingers is no use to anyone: it is shorter than a stop and a start take.
 */
#include <errno.h>

#include "sched/state.h"
#include "sim/engine_parts.h"

#define SAMPLE_NS 250000000ull

/* What the job is entitled to, by what the scheduler knows now. */
struct claim {
	bool counts, excepted;
	u32 equals; /* 0: a higher job runs */
};

static bool has_work(const struct gp_sched_member *m)
{
	return m->contends && !m->ghost;
}

/* Its equals with work on that device, itself among them; 0 when a higher one runs there. */
static u32 equals_on(const struct gp_sched *sched, const struct gp_sched_member *m)
{
	u32 own = gp_sched_member_priority(sched, m), equals = 0;
	const struct gp_list *link;

	gp_list_for_each (link, &gp_member_device(sched, m)->members) {
		const struct gp_sched_member *other =
			gp_container(link, struct gp_sched_member, link);
		u32 theirs = gp_sched_member_priority(sched, other);

		if (!other->contends || other->ghost == GP_GHOST_HINT)
			continue;
		if (theirs > own && !gp_job_held(gp_member_job(sched, other)))
			return 0;
		equals += theirs == own && !other->ghost;
	}
	return equals;
}

static bool is_faulted(const struct gp_sim_run_job *job, const struct gp_sched_job *j)
{
	bool faulted = j->tries || (j->token && j->token == job->unanswered);

	for (u32 i = 0; i < job->count; i++) {
		const struct gp_sim_run_operation *operation =
			&job->operations[(job->first + i) % SIM_OPERATIONS];

		faulted = faulted || operation->result || operation->silent || operation->late_ns;
	}
	return faulted;
}

static struct claim claim_of(const struct gp_sim *sim, u32 index)
{
	const struct gp_sim_run_job *job = &sim->jobs[index];
	const struct gp_sched_job *j =
		job->sched == GP_SCHED_NONE ? NULL : gp_sched_job(sim->sched, job->sched);
	struct claim claim = {.equals = 1};
	const struct gp_list *link;

	if (!j)
		return claim;
	claim.excepted = j->absent || j->pin != GP_SCHED_PIN_NONE || is_faulted(job, j);
	if (j->absent || j->pin != GP_SCHED_PIN_NONE)
		return claim;
	gp_list_for_each (link, &j->members) {
		const struct gp_sched_member *m =
			gp_container(link, struct gp_sched_member, job_link);
		u32 equals;

		if (!has_work(m))
			continue;
		claim.counts = true;
		equals = equals_on(sim->sched, m);
		claim.equals = equals && claim.equals ? GP_MAX(claim.equals, equals) : 0;
	}
	return claim;
}

static void restart(struct gp_sim_run_share *share)
{
	share->samples = 0;
	share->sampled_at = 0;
	share->due_ns = share->got_ns = 0;
}

/* The last window against the one 5 s before. */
static void sample(struct gp_sim *sim, u32 index)
{
	struct gp_sim_run_share *share = &sim->jobs[index].share;
	u32 at = share->samples % GP_SIM_SHARE_WINDOW;
	u64 due = share->due_ns - share->due_at[at], got = share->got_ns - share->got_at[at];

	if (share->samples >= GP_SIM_SHARE_WINDOW) {
		sim->result->windows++;
		if (got < due / 2)
			gp_sim_break(sim, -EFAULT, "a job got less than half its fair share of 5 s",
				     got, due);
	}
	share->due_at[at] = share->due_ns;
	share->got_at[at] = share->got_ns;
	share->samples++;
}

static void account(struct gp_sim *sim, u32 index, u64 ns)
{
	struct gp_sim_run_job *job = &sim->jobs[index];
	struct gp_sim_run_share *share = &job->share;

	if (share->excepted)
		sim->result->excepted_ns += ns;
	if (!share->counts)
		return;
	if (share->equals && !share->excepted)
		share->due_ns += ns / share->equals;
	if (share->running)
		share->got_ns += ns;
}

void gp_sim_share_restart(struct gp_sim *sim)
{
	for (u32 i = 0; i < sim->scenario->job_count; i++)
		restart(&sim->jobs[i].share);
}

void gp_sim_share_check(struct gp_sim *sim)
{
	u64 ns = sim->now - sim->share_at;

	if (sim->scenario->device.policy != GP_SCHED_PRIORITY || sim->draining)
		return;
	sim->share_at = sim->now;
	for (u32 i = 0; i < sim->scenario->job_count; i++) {
		struct gp_sim_run_share *share = &sim->jobs[i].share;
		const struct gp_sched_job *j;
		struct claim claim;

		account(sim, i, ns);
		claim = claim_of(sim, i);
		if (share->counts && !claim.counts)
			restart(share);
		share->counts = claim.counts;
		share->excepted = claim.excepted;
		share->equals = claim.equals;
		j = claim.counts ? gp_sched_job(sim->sched, sim->jobs[i].sched) : NULL;
		share->running = j && j->run == GP_SCHED_RUNNING;
		if (claim.counts && sim->now >= share->sampled_at + SAMPLE_NS) {
			share->sampled_at = sim->now;
			sample(sim, i);
		}
	}
}
