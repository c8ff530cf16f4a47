// SPDX-License-Identifier: MIT
/* Jobs, their processes and queues: how they come and go. */
#include <errno.h>

#include "base/core.h"
#include "sim/engine_parts.h"

/* ---- processes and queues ---- */

static u32 place_process(struct gp_sim *sim)
{
	u32 index = sim->process_free;

	if (index != GP_SCHED_NONE)
		sim->process_free = sim->processes[index].next_free;
	else if (sim->process_count < sim->process_room)
		index = sim->process_count++;
	return index;
}

static void free_place(struct gp_sim *sim, u32 index)
{
	sim->processes[index].next_free = sim->process_free;
	sim->process_free = index;
}

static void make_queue(struct gp_sim *sim, u32 process, u32 index)
{
	struct gp_sim_run_process *owner = &sim->processes[process];
	const struct gp_sim_job *spec = &sim->scenario->jobs[owner->job];
	struct gp_model_queue_config config = {.type = GP_MODEL_COMPUTE,
					       .priority = 7,
					       .enabled = true};
	struct gp_sim_run_queue *queue = &sim->queues[index];
	int error;

	if (spec->stream != GP_SCHED_STREAM_NORMAL)
		config.priority = spec->stream == GP_SCHED_STREAM_HIGH ? 11 : 0;
	for (u32 cu = 0; cu < spec->cu_limit; cu++)
		gp_bit_set(config.cu_mask, cu);
	*queue = (struct gp_sim_run_queue){.process = process,
					   .gpu = owner->gpu,
					   .enabled = true,
					   .alive = true};
	error = gp_model_queue_add(sim->model[owner->gpu], owner->model, &config, &queue->model);
	if (error) {
		gp_sim_break(sim, error, "the GPU model cannot hold another queue", index, 0);
		return;
	}
	sim->queue_of_model[owner->gpu][queue->model] = index;
	error = gp_sched_queue_add(sim->sched, gp_sim_clock(sim), owner->sched, owner->gpu,
				   spec->stream, &queue->sched);
	gp_sim_act(sim, error);
}

/* Dead processes leave the places of their queues behind: the same process index, the same queues.
 */
static u32 place_queues(struct gp_sim *sim, struct gp_sim_run_process *process, u32 count)
{
	if (process->queue_count == count)
		return process->first_queue;
	if (sim->queue_count + count > sim->queue_room)
		return GP_SCHED_NONE;
	sim->queue_count += count;
	return sim->queue_count - count;
}

/* One that comes back after a death goes on differently. */
static u64 process_seed(const struct gp_sim *sim, u32 job, u32 number)
{
	return gp_mix(gp_mix(gp_mix(sim->scenario->seed) + job) + number) + sim->now;
}

static void start_process(struct gp_sim *sim, u32 job, u32 number)
{
	const struct gp_sim_job *spec = &sim->scenario->jobs[job];
	u32 index = place_process(sim), model, first;
	u32 gpu = spec->gpu == GP_SIM_ALL_GPUS ? number % sim->scenario->gpus : spec->gpu;
	int error;

	if (index == GP_SCHED_NONE)
		return; /* its predecessors are still on their way out */
	first = place_queues(sim, &sim->processes[index], spec->queues);
	if (first == GP_SCHED_NONE) {
		free_place(sim, index);
		return;
	}
	error = gp_model_process_add(sim->model[gpu], &model);
	if (error) {
		gp_sim_break(sim, error, "the GPU model cannot hold another process", index, 0);
		return;
	}
	sim->processes[index] =
		(struct gp_sim_run_process){.job = job,
					    .gpu = gpu,
					    .model = model,
					    .first_queue = first,
					    .queue_count = spec->queues,
					    .head = GP_SCHED_NONE,
					    .tail = GP_SCHED_NONE,
					    .random = process_seed(sim, job, number),
					    .next_of_job = sim->jobs[job].first_process,
					    .alive = true};
	sim->jobs[job].first_process = index;
	error = gp_sched_process_add(sim->sched, gp_sim_clock(sim), sim->jobs[job].sched,
				     &sim->processes[index].sched);
	gp_sim_act(sim, error);
	for (u32 i = 0; i < spec->queues; i++)
		make_queue(sim, index, first + i);
	if (spec->work_count)
		gp_sim_replay_start(sim, job, index);
	for (u32 i = 0; !spec->work_count && i < (spec->arrival == GP_SIM_CLOSED ? spec->depth : 1);
	     i++)
		gp_sim_push(sim, sim->now, SIM_ARRIVAL, index);
}

void gp_sim_job_start(struct gp_sim *sim, u32 index)
{
	struct gp_sim_run_job *job = &sim->jobs[index];
	struct gp_sched_job_spec spec = sim->scenario->jobs[index].spec;
	u32 there = 0;
	int error;

	job->max_suspend =
		spec.max_suspend_ns ? spec.max_suspend_ns : sim->scenario->sched.max_suspend_ns;
	if (!job->running) {
		spec.tag = index;
		error = gp_sched_job_add(sim->sched, gp_sim_clock(sim), &spec, &job->sched);
		gp_sim_act(sim, error);
		job->running = error == 0;
	}
	for (u32 i = job->first_process; i != GP_SCHED_NONE; i = sim->processes[i].next_of_job) {
		there++;
		/* One that is on its way out is replaced when it is gone. */
		if (sim->processes[i].dying)
			gp_sim_push(sim, sim->now + 5000000, SIM_START, index);
	}
	for (u32 i = there; job->running && i < sim->scenario->jobs[index].processes; i++)
		start_process(sim, index, i);
	/* One update maps what was created, as the driver does at each CREATE_QUEUE. */
	for (u32 gpu = 0; gpu < sim->scenario->gpus; gpu++)
		gp_sim_update(sim, gpu, SIM_DEATH_TAG - 1, GP_SCHED_NONE, false);
}

/* ---- the end of a process ---- */

void gp_sim_process_die(struct gp_sim *sim, u32 index)
{
	struct gp_sim_run_process *process = &sim->processes[index];

	if (!process->alive || process->dying)
		return;
	process->dying = true;
	gp_sim_act(sim, gp_sched_process_remove(sim->sched, gp_sim_clock(sim), process->sched));
	gp_sim_update(sim, process->gpu, SIM_DEATH_TAG + index, index, false);
}

void gp_sim_process_dead(struct gp_sim *sim, u32 index)
{
	struct gp_sim_run_process *process = &sim->processes[index];
	u32 *link = &sim->jobs[process->job].first_process;

	for (u32 i = 0; i < process->queue_count; i++) {
		struct gp_sim_run_queue *queue = &sim->queues[process->first_queue + i];
		struct gp_model_queue_state state;
		u32 dropped = queue->outstanding;

		if (gp_model_queue_state(sim->model[queue->gpu], queue->model, &state) == 0)
			sim->result->jobs[process->job].cu_ns += state.cu_ns;
		if (gp_model_queue_remove(sim->model[queue->gpu], queue->model, &dropped))
			gp_sim_break(sim, -EBUSY, "a queue of a dead process is still mapped", i,
				     0);
		if (dropped != queue->outstanding)
			gp_sim_break(sim, -EFAULT,
				     "kernels were lost that did not belong to a dead process",
				     dropped, queue->outstanding);
		queue->alive = false;
		queue->outstanding = 0;
	}
	for (u32 i = 0; i < sim->request_fresh && process->requests; i++) {
		if (!sim->requests[i].used || sim->requests[i].process != index)
			continue;
		gp_sim_end_request(sim, i);
		if (sim->requests[i].work != GP_SCHED_NONE)
			gp_sim_replay_next(sim, sim->requests[i].work);
		process->requests--;
		sim->result->jobs[process->job].lost++;
	}
	gp_model_process_remove(sim->model[process->gpu], process->model);
	while (*link != index)
		link = &sim->processes[*link].next_of_job;
	*link = process->next_of_job;
	process->alive = process->dying = false;
	process->outstanding = 0;
	free_place(sim, index);
}
