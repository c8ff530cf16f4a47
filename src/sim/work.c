// SPDX-License-Identifier: MIT
/* Requests and their kernels: how they arrive, are submitted and end; and what jobs used. */
#include <errno.h>

#include "sim/chance.h"
#include "sim/engine_parts.h"

/* No more requests; those under way run to their end. */
bool gp_sim_stopped(const struct gp_sim *sim, u32 job)
{
	const struct gp_sim_job *spec = &sim->scenario->jobs[job];

	return sim->draining || (spec->stop_ns && sim->now >= spec->stop_ns);
}

/* ---- requests ---- */

static u64 next_arrival(const struct gp_sim *sim, struct gp_sim_run_process *process,
			const struct gp_sim_job *spec)
{
	u64 distance = spec->arrival == GP_SIM_POISSON
			       ? gp_sim_exponential(&process->random, spec->every_ns)
			       : spec->every_ns;

	return sim->now + GP_MAX(distance, 1);
}

/* The request's next kernel, as recorded or as all of the job; and the queue it goes to. */
static void next_kernel(struct gp_sim *sim, const struct gp_sim_request *request,
			struct gp_sim_run_process *process, struct gp_sim_kernel *out)
{
	const struct gp_sim_job *spec = &sim->scenario->jobs[process->job];

	if (request->work == GP_SCHED_NONE)
		*out = (struct gp_sim_kernel){.kernel_ns = spec->kernel_ns,
					      .workgroups = spec->cus,
					      .queue = process->next_queue++};
	else
		*out = sim->scenario->work[request->work + request->kernels - request->left];
}

static void submit(struct gp_sim *sim, u32 index, u32 process_index)
{
	struct gp_sim_run_process *process = &sim->processes[process_index];
	const struct gp_sim_job *spec = &sim->scenario->jobs[process->job];
	const struct gp_model_chip *chip = &sim->scenario->chip.model;
	struct gp_sim_request *request = &sim->requests[index];
	struct gp_sim_kernel kernel;

	next_kernel(sim, request, process, &kernel);
	u32 queue_index = process->first_queue + kernel.queue % process->queue_count;
	struct gp_sim_run_queue *queue = &sim->queues[queue_index];
	u32 per_cu = gp_model_occupancy(chip, 4, spec->vgprs, 0);
	u32 all = chip->xcc_count * chip->cu_per_xcc;
	u32 cus = kernel.workgroups ? GP_MIN(kernel.workgroups, all) : all;
	struct gp_model_work work = {
		.tag = (u64)index + 1,
		.barrier = true,
		.kernel = true,
		.workgroups = (u64)cus * per_cu * spec->rounds,
		.waves_per_workgroup = 4,
		/* Not last: gcc 11.2 would then take the rest for forgotten (Ubuntu 22.04). */
		.workgroup_ns = GP_MAX(kernel.kernel_ns / spec->rounds, 1u),
		.vgprs = spec->vgprs,
	};
	int error = gp_model_submit(sim->model[process->gpu], sim->now, queue->model, &work);

	if (error) {
		gp_sim_break(sim, error, "the GPU model rejected a kernel", queue_index, index);
		return;
	}
	request->left--;
	request->running++;
	process->outstanding++;
	if (queue->outstanding++ == 0 && !queue->noticing) {
		queue->noticing = true;
		gp_sim_push(sim, sim->now + sim->scenario->notice_ns, SIM_NOTICE, queue_index);
	}
}

/* Submits what may be submitted: requests in their order, at most a ring full of kernels. */
void gp_sim_feed(struct gp_sim *sim, u32 index)
{
	struct gp_sim_run_process *process = &sim->processes[index];
	bool gaps = sim->scenario->jobs[process->job].gap_ns != 0;

	while (process->head != GP_SCHED_NONE && process->outstanding < SIM_RING && !sim->broken) {
		u32 request = process->head;

		submit(sim, request, index);
		/* With gaps the rest of it waits for this kernel's end. */
		if (gaps || !sim->requests[request].left) {
			process->head = sim->requests[request].next;
			sim->requests[request].next = GP_SCHED_NONE;
			if (process->head == GP_SCHED_NONE)
				process->tail = GP_SCHED_NONE;
		}
	}
}

static void append(struct gp_sim *sim, struct gp_sim_run_process *process, u32 request)
{
	sim->requests[request].next = GP_SCHED_NONE;
	if (process->tail == GP_SCHED_NONE)
		process->head = request;
	else
		sim->requests[process->tail].next = request;
	process->tail = request;
}

static void tell_pending(const struct gp_sim *sim, u32 process, int change)
{
	const struct gp_sim_observer *observer = sim->options->observer;

	if (observer && observer->pending)
		observer->pending(observer->data, sim->processes[process].job, sim->now, change);
}

static u32 new_request(struct gp_sim *sim, u32 process, u32 kernels, u32 work)
{
	u32 index = sim->request_free;
	struct gp_sim_request *request;

	if (index == GP_SCHED_NONE && sim->request_fresh == SIM_BACKLOG)
		return index;
	if (index == GP_SCHED_NONE) {
		index = sim->request_fresh++;
		request = &sim->requests[index];
	} else {
		request = &sim->requests[index];
		sim->request_free = request->next;
	}
	*request = (struct gp_sim_request){.process = process,
					   .next = GP_SCHED_NONE,
					   .left = kernels,
					   .kernels = kernels,
					   .work = work,
					   .arrived = sim->now,
					   .used = true};
	sim->request_count++;
	sim->processes[process].requests++;
	tell_pending(sim, process, 1);
	return index;
}

void gp_sim_end_request(struct gp_sim *sim, u32 index)
{
	tell_pending(sim, sim->requests[index].process, -1);
	sim->requests[index].used = false;
	sim->requests[index].next = sim->request_free;
	sim->request_free = index;
	sim->request_count--;
}

void gp_sim_request(struct gp_sim *sim, u32 index, u32 kernels, u32 work)
{
	struct gp_sim_run_process *process = &sim->processes[index];
	u32 request = new_request(sim, index, kernels, work);

	sim->result->jobs[process->job].arrived++;
	if (request == GP_SCHED_NONE) {
		sim->result->jobs[process->job].lost++;
		return;
	}
	append(sim, process, request);
	gp_sim_feed(sim, index);
}

void gp_sim_arrive(struct gp_sim *sim, u32 index)
{
	struct gp_sim_run_process *process = &sim->processes[index];
	const struct gp_sim_job *spec = &sim->scenario->jobs[process->job];

	if (!process->alive || process->dying || gp_sim_stopped(sim, process->job) ||
	    spec->work_count)
		return;
	if (spec->arrival != GP_SIM_CLOSED) {
		u64 at = next_arrival(sim, process, spec);

		if (sim->now == process->next_arrival || !process->next_arrival) {
			process->next_arrival = at;
			gp_sim_push(sim, at, SIM_ARRIVAL, index);
			if (spec->hint_ns)
				gp_sim_push(sim,
					    at > sim->now + spec->hint_ns ? at - spec->hint_ns
									  : sim->now,
					    SIM_HINT, index);
		}
	}
	gp_sim_request(sim, index, spec->kernels, GP_SCHED_NONE);
}

void gp_sim_hint(struct gp_sim *sim, u32 index)
{
	struct gp_sim_run_process *process = &sim->processes[index];

	if (process->alive && !process->dying && sim->jobs[process->job].running)
		gp_sim_act(sim, gp_sched_hint(sim->sched, gp_sim_clock(sim),
					      sim->jobs[process->job].sched, process->gpu,
					      (u64)((s64)process->next_arrival + sim->offset)));
}

void gp_sim_notice(struct gp_sim *sim, u32 index)
{
	struct gp_sim_run_queue *queue = &sim->queues[index];
	enum gp_sched_work work = GP_SCHED_BUSY;

	queue->noticing = false;
	if (!queue->alive || sim->processes[queue->process].dying)
		return;
	/* Where the last signal says nothing it may be drained: more is never known. */
	if (!queue->outstanding)
		work = gp_sim_chance(sim, sim->scenario->faults.doubt) ? GP_SCHED_MAYBE
								       : GP_SCHED_DRAINED;
	gp_sim_act(sim, gp_sched_work(sim->sched, gp_sim_clock(sim), queue->sched, work,
				      GP_SCHED_UNKNOWN));
}

void gp_sim_gap(struct gp_sim *sim, u32 index)
{
	struct gp_sim_request *request = &sim->requests[index];
	struct gp_sim_run_process *process = &sim->processes[request->process];

	if (!request->used || !process->alive || process->dying)
		return;
	append(sim, process, index);
	gp_sim_feed(sim, request->process);
}

static u64 request_work(const struct gp_sim *sim, const struct gp_sim_request *request,
			const struct gp_sim_job *spec)
{
	u64 work = 0;

	if (request->work == GP_SCHED_NONE)
		return request->kernels * spec->kernel_ns;
	for (u32 i = 0; i < request->kernels; i++)
		work += sim->scenario->work[request->work + i].kernel_ns;
	return work;
}

static void request_done(struct gp_sim *sim, u32 index, u64 done)
{
	struct gp_sim_request *request = &sim->requests[index];
	struct gp_sim_run_process *process = &sim->processes[request->process];
	u32 job = process->job, owner = request->process, work = request->work;
	const struct gp_sim_observer *observer = sim->options->observer;

	sim->result->jobs[job].completed++;
	gp_histogram_add(&sim->result->jobs[job].latency, done - request->arrived);
	if (observer && observer->request)
		observer->request(observer->data, job, request->arrived, done,
				  request_work(sim, request, &sim->scenario->jobs[job]));
	process->requests--;
	gp_sim_end_request(sim, index);
	if (sim->scenario->jobs[job].arrival == GP_SIM_CLOSED && !process->dying)
		gp_sim_push(sim, sim->now + sim->scenario->jobs[job].think_ns, SIM_ARRIVAL, owner);
	if (work != GP_SCHED_NONE)
		gp_sim_replay_next(sim, work);
}

void gp_sim_completed(struct gp_sim *sim, u32 gpu, const struct gp_model_action *action)
{
	u32 queue_index = sim->queue_of_model[gpu][action->queue], index = (u32)(action->tag - 1);
	struct gp_sim_run_queue *queue = &sim->queues[queue_index];
	struct gp_sim_request *request = &sim->requests[index];
	struct gp_sim_run_process *process = &sim->processes[queue->process];
	const struct gp_sim_observer *observer = sim->options->observer;

	if (!queue->outstanding || !request->used || !request->running) {
		gp_sim_break(sim, -EFAULT, "a kernel completed twice", queue_index, index);
		return;
	}
	if (observer && observer->kernel)
		observer->kernel(observer->data, process->job, queue_index, action->start_ns,
				 action->end_ns);
	sim->result->jobs[process->job].kernels++;
	sim->kernels_done++;
	request->running--;
	process->outstanding--;
	if (--queue->outstanding == 0 && !queue->noticing) {
		queue->noticing = true;
		gp_sim_push(sim, sim->now + sim->scenario->notice_ns, SIM_NOTICE, queue_index);
	}
	if (!request->left && !request->running)
		request_done(sim, index, action->at_ns);
	else if (request->left && sim->scenario->jobs[process->job].gap_ns)
		gp_sim_push(sim, sim->now + sim->scenario->jobs[process->job].gap_ns, SIM_GAP,
			    index);
	gp_sim_feed(sim, queue->process);
}

/* ---- usage ---- */

#define USAGE_EVERY_NS 2000000u

u64 gp_sim_used(const struct gp_sim *sim, u32 job, u32 gpu)
{
	u64 used = 0;

	for (u32 p = sim->jobs[job].first_process; p != GP_SCHED_NONE;
	     p = sim->processes[p].next_of_job) {
		const struct gp_sim_run_process *process = &sim->processes[p];

		if (process->dying || process->gpu != gpu)
			continue;
		for (u32 i = 0; i < process->queue_count; i++) {
			struct gp_model_queue_state state;
			u32 queue = process->first_queue + i;

			if (gp_model_queue_state(sim->model[gpu], sim->queues[queue].model,
						 &state) == 0)
				used += state.cu_ns;
		}
	}
	return used;
}

void gp_sim_sample(struct gp_sim *sim)
{
	const struct gp_sim_observer *observer = sim->options->observer;

	/* Kernels under way are accounted for up to the time that the model has reached. */
	for (u32 gpu = 0; gpu < sim->scenario->gpus; gpu++)
		gp_model_advance(sim->model[gpu], sim->now);
	for (u32 job = 0; job < sim->scenario->job_count; job++) {
		u64 used = sim->result->jobs[job].cu_ns; /* by processes that died */

		for (u32 gpu = 0; gpu < sim->scenario->gpus; gpu++)
			used += gp_sim_used(sim, job, gpu);
		observer->used(observer->data, job, used);
	}
	gp_sim_push(sim, sim->now + GP_MAX(observer->used_every_ns, 1), SIM_SAMPLE, 0);
}

void gp_sim_usage(struct gp_sim *sim)
{
	const struct gp_model_chip *chip = &sim->scenario->chip.model;

	for (u32 job = 0; job < sim->scenario->job_count; job++) {
		for (u32 gpu = 0; gpu < sim->scenario->gpus; gpu++) {
			u64 used = gp_sim_used(sim, job, gpu),
			    told = sim->jobs[job].told_cu_ns[gpu];
			struct gp_sched_usage usage = {
				.cu_ns = (used - told) / (chip->xcc_count * chip->cu_per_xcc)};

			sim->jobs[job].told_cu_ns[gpu] = used;
			/* Less than before: a process took its account with it. */
			if (sim->jobs[job].running && used > told)
				gp_sim_act(sim, gp_sched_usage(sim->sched, gp_sim_clock(sim),
							       sim->jobs[job].sched, gpu, &usage));
		}
	}
	gp_sim_push(sim, sim->now + USAGE_EVERY_NS, SIM_USAGE, 0);
}
