// SPDX-License-Identifier: MIT
/* What goes wrong in fault tests, and what must hold all the same after every event. */
#include <errno.h>

#include "base/core.h"
#include "sched/state.h"
#include "sim/engine_parts.h"

#define FAULT_EVERY_NS                                                     \
	1000000u /* chances are per second; one is drawn every millisecond \
		  */
#define LATE_NS_MAX 500000000u
#define JUMP_NS_MAX GP_NS_PER_S
#define STOP_NS_MAX 500000000u

void gp_sim_operation_faults(struct gp_sim *sim, struct gp_sim_run_operation *operation)
{
	const struct gp_sim_faults *faults = &sim->scenario->faults;

	/* Nobody waits for an answer to the resume of a removed job. */
	if (!operation->token)
		return;
	if (gp_sim_chance(sim, faults->fail))
		operation->result = -EIO;
	if (gp_sim_chance(sim, faults->hang))
		operation->silent = true;
	if (gp_sim_chance(sim, faults->late))
		operation->late_ns = 1 + gp_sim_random(sim) % LATE_NS_MAX;
	operation->twice = gp_sim_chance(sim, faults->twice);
}

static bool happens(struct gp_sim *sim, u32 permille)
{
	return permille && gp_sim_random(sim) % 1000000 < permille;
}

static void kill_one(struct gp_sim *sim)
{
	u32 index = (u32)(gp_sim_random(sim) % GP_MAX(sim->process_count, 1));
	struct gp_sim_run_process *process = &sim->processes[index];

	if (index >= sim->process_count || !process->alive || process->dying)
		return;
	u32 job = process->job;

	gp_sim_process_die(sim, index);
	/* Whoever started it starts it again. */
	gp_sim_push(sim, sim->now + 1 + gp_sim_random(sim) % 20000000, SIM_START, job);
}

/* A queue of a process goes while the others stay: the scheduler hears of it, the ring is empty. */
static void destroy_one(struct gp_sim *sim)
{
	u32 index = (u32)(gp_sim_random(sim) % GP_MAX(sim->queue_count, 1));
	struct gp_sim_run_queue *queue = &sim->queues[index];

	if (index >= sim->queue_count || !queue->alive || queue->outstanding ||
	    sim->processes[queue->process].dying)
		return;
	gp_sim_act(sim, gp_sched_queue_remove(sim->sched, gp_sim_clock(sim), queue->sched));
	/* The program makes a new one in its place at once. */
	gp_sim_act(sim, gp_sched_queue_add(sim->sched, gp_sim_clock(sim),
					   sim->processes[queue->process].sched, queue->gpu,
					   GP_SCHED_STREAM_NORMAL, &queue->sched));
}

static void set_absent(struct gp_sim *sim, u32 index, u64 until)
{
	struct gp_sim_run_job *job = &sim->jobs[index];

	job->absent_until = until;
	if (job->sched != GP_SCHED_NONE)
		gp_sim_act(sim, gp_sched_job_absent(sim->sched, gp_sim_clock(sim), job->sched,
						    until != 0));
}

/* Something outside stops a job for a while. What it has submitted still runs on the GPU. */
static void stop_one(struct gp_sim *sim)
{
	u32 index = (u32)(gp_sim_random(sim) % sim->scenario->job_count);

	if (sim->jobs[index].running && !sim->jobs[index].absent_until)
		set_absent(sim, index, sim->now + 1 + gp_sim_random(sim) % STOP_NS_MAX);
}

/* The stops that are over; and a scheduler that has just started hears of those that are not. */
static void stops_update(struct gp_sim *sim, bool restarted)
{
	for (u32 i = 0; i < sim->scenario->job_count; i++) {
		u64 until = sim->jobs[i].absent_until;

		if (until && until <= sim->now)
			set_absent(sim, i, 0);
		else if (until && restarted)
			set_absent(sim, i, until);
	}
}

void gp_sim_fault(struct gp_sim *sim)
{
	bool restarted = false;
	const struct gp_sim_faults *faults = &sim->scenario->faults;

	if (sim->draining) {
		for (u32 i = 0; i < sim->scenario->job_count; i++)
			if (sim->jobs[i].absent_until)
				set_absent(sim, i, 0);
		return;
	}
	if (happens(sim, faults->kill))
		kill_one(sim);
	if (happens(sim, faults->destroy))
		destroy_one(sim);
	if (happens(sim, faults->jump)) {
		s64 jump = (s64)(gp_sim_random(sim) % JUMP_NS_MAX);

		/* The scheduler's clock never shows a time before the start. */
		sim->offset += gp_sim_random(sim) & 1 || sim->offset - GP_SIM_CLOCK_START < jump
				       ? jump
				       : -jump;
		gp_sim_share_restart(sim);
	}
	if (happens(sim, faults->restart)) {
		gp_sim_owner_died(sim);
		int error = gp_sim_sched_start(sim);

		if (error)
			gp_sim_break(sim, error, "the scheduler did not restart", 0, 0);
		restarted = true;
		gp_sim_share_restart(sim);
	}
	if (happens(sim, faults->stop))
		stop_one(sim);
	stops_update(sim, restarted);
	gp_sim_push(sim, sim->now + FAULT_EVERY_NS, SIM_FAULT, 0);
}

static void check_hold(struct gp_sim *sim, u32 index)
{
	struct gp_sim_run_job *job = &sim->jobs[index];
	const struct gp_sim_scenario *s = sim->scenario;

	if (!job->held)
		return;
	if (job->sched != GP_SCHED_NONE && gp_sched_job(sim->sched, job->sched) &&
	    gp_sched_job(sim->sched, job->sched)->parked)
		job->held_since = sim->now; /* it has no work, and is held for as long */
	/* A hold has a lease, and leases end: held is never later than lease and the longest call.
	 */
	if (sim->now > job->held_until + s->sched.op_timeout_ns + LATE_NS_MAX)
		gp_sim_break(sim, -EFAULT, "a job is still suspended after its lease expired",
			     index, job->held_until);
	/* A clock that jumps back makes every bound of the scheduler longer by the jump. */
	u64 bound = job->max_suspend + s->sched.lease_ns + s->sched.op_timeout_ns +
		    (s->faults.jump ? 1000ull * JUMP_NS_MAX : 0);
	if (sim->now - job->held_since > bound)
		gp_sim_break(sim, -EFAULT, "a job is suspended longer than max_suspend", index,
			     sim->now - job->held_since);
}

/* Has the scheduler had an event since the last time? Between two of them its state stands still,
 * and most steps are the model's. */
static bool sched_moved(struct gp_sim *sim)
{
	u64 events = sim->sched->stats.events;

	if (sim->checked_epoch == sim->epoch && sim->checked_events == events)
		return false;
	sim->checked_epoch = sim->epoch;
	sim->checked_events = events;
	return true;
}

void gp_sim_check(struct gp_sim *sim)
{
	/* What is overdue is done first: after a jump of the clock the invariants hold again then.
	 */
	bool settled = gp_sched_next(sim->sched) > gp_sim_clock(sim);
	const char *wrong = settled && sched_moved(sim) ? gp_sched_check(sim->sched) : NULL;

	if (wrong)
		gp_sim_break(sim, -EFAULT, wrong, 0, 0);
	for (u32 i = 0; i < sim->scenario->job_count; i++)
		check_hold(sim, i);
	gp_sim_share_check(sim);
}

/* Nothing was lost or done twice: requests and kernels add up, and so does time on the CUs. */
void gp_sim_check_end(struct gp_sim *sim)
{
	u32 under_way = 0;

	for (u32 i = 0; i < sim->request_fresh; i++)
		under_way += sim->requests[i].used;
	if (under_way != sim->request_count)
		gp_sim_break(sim, -EFAULT, "the count of active requests is inconsistent",
			     under_way, sim->request_count);
	u64 arrived = 0, ended = 0;

	for (u32 i = 0; i < sim->scenario->job_count; i++) {
		arrived += sim->result->jobs[i].arrived;
		ended += sim->result->jobs[i].completed + sim->result->jobs[i].lost;
	}
	if (arrived != ended + under_way)
		gp_sim_break(sim, -EFAULT, "requests were lost", arrived, ended + under_way);
	for (u32 gpu = 0; gpu < sim->scenario->gpus; gpu++) {
		struct gp_model_stats stats;

		gp_model_stats(sim->model[gpu], &stats);
		if (stats.ran_wg_ns !=
		    stats.work_wg_ns + stats.contention_wg_ns + stats.dropped_wg_ns)
			gp_sim_break(sim, -EFAULT, "the CU time is inconsistent", stats.ran_wg_ns,
				     stats.work_wg_ns);
	}
}
