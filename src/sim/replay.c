// SPDX-License-Identifier: MIT
/*
 * Recorded work: requests that come when they came in a trace (open), or each so long after the end
 * of the one before it on its queue (closed), which is how a program that waits for its results
 * behaves when it is made to wait longer.
 */
#include "sim/engine_parts.h"

#define RETRY_NS 5000000u /* its process died: again after that */

static const struct gp_sim_job *spec_of(const struct gp_sim *sim, u32 work)
{
	return &sim->scenario->jobs[sim->scenario->work[work].job];
}

static u32 end_of(const struct gp_sim_job *spec)
{
	return spec->work_first + spec->work_count;
}

static bool is_closed(const struct gp_sim_job *spec)
{
	return spec->arrival == GP_SIM_RECORDED_CLOSED;
}

/* The next request at or behind `from`, of that queue or of any (GP_SCHED_NONE). */
static u32 find(const struct gp_sim *sim, const struct gp_sim_job *spec, u32 from, u32 queue)
{
	for (u32 i = from; i < end_of(spec); i++) {
		const struct gp_sim_kernel *kernel = &sim->scenario->work[i];

		if (!kernel->more && (queue == GP_SCHED_NONE || kernel->queue == queue))
			return i;
	}
	return GP_SCHED_NONE;
}

static u32 kernels_of(const struct gp_sim *sim, u32 work)
{
	u32 end = end_of(spec_of(sim, work)), i = work + 1;

	while (i < end && sim->scenario->work[i].more)
		i++;
	return i - work;
}

static void announce(struct gp_sim *sim, const struct gp_sim_job *spec, u32 process, u64 at)
{
	if (!spec->hint_ns)
		return;
	sim->processes[process].next_arrival = at;
	gp_sim_push(sim, at > sim->now + spec->hint_ns ? at - spec->hint_ns : sim->now, SIM_HINT,
		    process);
}

void gp_sim_replay_start(struct gp_sim *sim, u32 index, u32 process)
{
	const struct gp_sim_job *spec = &sim->scenario->jobs[index];
	struct gp_sim_run_job *job = &sim->jobs[index];

	job->process = process;
	if (job->replaying) /* it came back after a death: what is under way goes on */
		return;
	job->replaying = true;
	for (u32 queue = 0; queue < (is_closed(spec) ? GP_SIM_QUEUES : 1u); queue++) {
		u32 first =
			find(sim, spec, spec->work_first, is_closed(spec) ? queue : GP_SCHED_NONE);

		if (first != GP_SCHED_NONE)
			gp_sim_push(sim, spec->start_ns + sim->scenario->work[first].at_ns,
				    SIM_REPLAY, first);
	}
}

void gp_sim_replay(struct gp_sim *sim, u32 work)
{
	const struct gp_sim_kernel *kernel = &sim->scenario->work[work];
	const struct gp_sim_job *spec = spec_of(sim, work);
	struct gp_sim_run_process *process = &sim->processes[sim->jobs[kernel->job].process];
	bool there = process->alive && !process->dying && process->job == kernel->job;

	if (gp_sim_stopped(sim, kernel->job))
		return;
	if (!is_closed(spec)) {
		u32 next = find(sim, spec, work + 1, GP_SCHED_NONE);

		if (next != GP_SCHED_NONE) {
			u64 at = spec->start_ns + sim->scenario->work[next].at_ns;

			gp_sim_push(sim, at, SIM_REPLAY, next);
			if (there)
				announce(sim, spec, sim->jobs[kernel->job].process, at);
		}
	} else if (!there) {
		gp_sim_push(sim, sim->now + RETRY_NS, SIM_REPLAY, work);
		return;
	}
	if (there) {
		gp_sim_request(sim, sim->jobs[kernel->job].process, kernels_of(sim, work), work);
		return;
	}
	sim->result->jobs[kernel->job].arrived++;
	sim->result->jobs[kernel->job].lost++;
}

void gp_sim_replay_next(struct gp_sim *sim, u32 work)
{
	const struct gp_sim_job *spec = spec_of(sim, work);
	const struct gp_sim_kernel *kernel = &sim->scenario->work[work];
	u32 count = kernels_of(sim, work);
	u64 end = kernel->at_ns;

	if (!is_closed(spec))
		return;
	for (u32 i = 0; i < count; i++)
		end += kernel[i].kernel_ns;
	u32 next = find(sim, spec, work + count, kernel->queue);

	if (next == GP_SCHED_NONE)
		return;
	u64 at = sim->scenario->work[next].at_ns;

	gp_sim_push(sim, sim->now + (at > end ? at - end : 0), SIM_REPLAY, next);
}
