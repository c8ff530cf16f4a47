// SPDX-License-Identifier: MIT
/* The simulator's loop: the earliest of arrivals, GPU events and the scheduler's timer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core.h"
#include "base/i18n.h"
#include "sim/engine_parts.h"

#define STUCK_NS                                                                        \
	100000000000ull /* without one kernel done: far more than max_suspend and turns \
			 */

void gp_sim_break(struct gp_sim *sim, int error, const char *what, u64 seen, u64 wanted)
{
	if (sim->broken)
		return;
	sim->broken = error;
	gp_fail(sim->diag, error,
		"the simulation stopped at %llu ns (seed %llu): %s (values: %llu, %llu)",
		(unsigned long long)sim->now, (unsigned long long)sim->scenario->seed, what,
		(unsigned long long)seen, (unsigned long long)wanted);
}

void gp_sim_push(struct gp_sim *sim, u64 at, enum gp_sim_run_event kind, u32 value)
{
	if (gp_heap_push(&sim->heap, at, kind, value))
		return;
	u32 room = sim->heap.room ? sim->heap.room * 2 : 1024;
	struct gp_heap_entry *grown = realloc(sim->heap.entry, room * sizeof(*grown));

	if (!grown) {
		gp_sim_break(sim, -ENOMEM, "out of memory for events", room, 0);
		return;
	}
	sim->heap.entry = grown;
	sim->heap.room = room;
	gp_heap_push(&sim->heap, at, kind, value);
}

u64 gp_sim_random(struct gp_sim *sim)
{
	return sim->random = gp_mix(sim->random);
}

bool gp_sim_chance(struct gp_sim *sim, u32 permille)
{
	return permille && gp_sim_random(sim) % 1000 < permille;
}

u64 gp_sim_clock(const struct gp_sim *sim)
{
	return (u64)((s64)sim->now + sim->offset);
}

void gp_sim_act(struct gp_sim *sim, int error)
{
	struct gp_sched_action action;

	sim->result->events++;
	/* -ENOENT and -ESTALE are how the scheduler answers news of what it no longer knows. */
	if (error < 0 && error != -ENOENT && error != -ESTALE && error != -EBUSY)
		gp_sim_break(sim, error, "the scheduler rejected an event", (u64)-error, 0);
	while (gp_sched_take(sim->sched, &action)) {
		const struct gp_sim_observer *observer = sim->options->observer;

		action.reason.at_ns = (u64)((s64)action.reason.at_ns - sim->offset);
		if (observer && observer->decision)
			observer->decision(observer->data, &action);
		switch (action.kind) {
		case GP_SCHED_SUSPEND:
		case GP_SCHED_RESUME:
			gp_sim_operation_add(sim, &action);
			break;
		case GP_SCHED_RENEW:
			gp_sim_renew(sim, (u64)((s64)action.until_ns - sim->offset));
			break;
		case GP_SCHED_SHARE:
		case GP_SCHED_TIMER:
		case GP_SCHED_NOTE:
			break;
		}
	}
}

static int add_known(struct gp_sim *sim, u32 index)
{
	struct gp_sim_run_job *job = &sim->jobs[index];
	struct gp_sched_job_spec spec = sim->scenario->jobs[index].spec;
	int error;

	spec.tag = index;
	error = gp_sched_job_add(sim->sched, gp_sim_clock(sim), &spec, &job->sched);
	gp_sim_act(sim, error);
	for (u32 p = job->first_process; !error && p != GP_SCHED_NONE;
	     p = sim->processes[p].next_of_job) {
		struct gp_sim_run_process *process = &sim->processes[p];

		if (process->dying)
			continue;
		error = gp_sched_process_add(sim->sched, gp_sim_clock(sim), job->sched,
					     &process->sched);
		gp_sim_act(sim, error);
		for (u32 q = 0; !error && q < process->queue_count; q++) {
			struct gp_sim_run_queue *queue = &sim->queues[process->first_queue + q];

			error = gp_sched_queue_add(sim->sched, gp_sim_clock(sim), process->sched,
						   process->gpu, sim->scenario->jobs[index].stream,
						   &queue->sched);
			gp_sim_act(sim, error);
			gp_sim_push(sim, sim->now + sim->scenario->notice_ns, SIM_NOTICE,
				    process->first_queue + q);
			queue->noticing = true;
		}
	}
	return error;
}

int gp_sim_sched_start(struct gp_sim *sim)
{
	int error =
		gp_sched_init(&sim->sched, sim->sched_memory, sim->sched_size, &sim->sched_config);
	struct gp_sched_device_config device = sim->scenario->device;

	device.places = sim->scenario->chip.model.vmids;
	sim->epoch++;
	for (u32 gpu = 0; !error && gpu < sim->scenario->gpus; gpu++) {
		error = gp_sched_device_set(sim->sched, gp_sim_clock(sim), gpu, &device);
		gp_sim_act(sim, 0);
	}
	for (u32 i = 0; !error && i < sim->scenario->job_count; i++) {
		sim->jobs[i].sched = GP_SCHED_NONE;
		if (sim->jobs[i].running)
			error = add_known(sim, i);
	}
	return error;
}

/* ---- set-up ---- */

static u32 total_processes(const struct gp_sim_scenario *s, u32 *queues)
{
	u32 processes = 0;

	*queues = 0;
	for (u32 i = 0; i < s->job_count; i++) {
		processes += s->jobs[i].processes;
		*queues += s->jobs[i].processes * s->jobs[i].queues;
	}
	return processes;
}

static int make_models(struct gp_sim *sim, u32 processes, u32 queues)
{
	for (u32 gpu = 0; gpu < sim->scenario->gpus; gpu++) {
		struct gp_model_config config = {
			.chip = sim->scenario->chip.model,
			.max_processes = processes,
			.max_queues = queues,
			.max_work = processes * SIM_RING,
			.seed = gp_mix(sim->scenario->seed + gpu),
		};
		size_t size = gp_model_memory(&config);
		int error;

		sim->model_memory[gpu] = size ? malloc(size) : NULL;
		sim->queue_of_model[gpu] = calloc(queues, sizeof(u32));
		if (!sim->model_memory[gpu] || !sim->queue_of_model[gpu])
			return size ? -ENOMEM : -EINVAL;
		error = gp_model_init(&sim->model[gpu], sim->model_memory[gpu], size, &config);
		if (error)
			return error;
	}
	return 0;
}

static int set_up(struct gp_sim *sim)
{
	const struct gp_sim_scenario *s = sim->scenario;
	u32 queues, processes = total_processes(s, &queues);
	bool faults = s->faults.kill || s->faults.destroy;

	/* Those that die leave their places a little later than their successors need one. */
	sim->process_room = faults ? processes * 4 : processes;
	sim->queue_room = faults ? queues * 4 : queues;
	sim->sched_config = s->sched;
	sim->sched_config.devices = s->gpus;
	sim->sched_config.max_jobs = s->job_count;
	sim->sched_config.max_processes = sim->process_room;
	sim->sched_config.max_queues = sim->queue_room;
	sim->sched_size = gp_sched_memory(&sim->sched_config);
	sim->sched_memory = sim->sched_size ? malloc(sim->sched_size) : NULL;
	sim->jobs = calloc(s->job_count, sizeof(*sim->jobs));
	sim->processes = calloc(sim->process_room, sizeof(*sim->processes));
	sim->queues = calloc(sim->queue_room, sizeof(*sim->queues));
	sim->requests = calloc(SIM_BACKLOG, sizeof(*sim->requests));
	sim->result->jobs = calloc(s->job_count, sizeof(*sim->result->jobs));
	sim->result->job_count = s->job_count;
	if (!sim->sched_size)
		return gp_fail(
			sim->diag, -EINVAL,
			"the scheduler rejected this scenario: lease, max_suspend or op_timeout is "
			"out of range, or there are too many processes or queues");
	if (!sim->sched_memory || !sim->jobs || !sim->processes || !sim->queues || !sim->requests ||
	    !sim->result->jobs)
		return gp_fail(sim->diag, -ENOMEM, "out of memory");
	sim->request_free = sim->process_free = GP_SCHED_NONE;
	for (u32 i = 0; i < s->job_count; i++)
		sim->jobs[i].first_process = GP_SCHED_NONE;
	sim->random = gp_mix(s->seed);
	int error = make_models(sim, sim->process_room, sim->queue_room);

	if (error)
		return gp_fail(sim->diag, error, "cannot create the GPU model: %s",
			       strerror(-error));
	error = gp_sim_sched_start(sim);
	if (error)
		return gp_fail(sim->diag, error, "the scheduler rejected this scenario: %s",
			       strerror(-error));
	for (u32 i = 0; i < s->job_count; i++) {
		if (sim->options->only_job != GP_SCHED_NONE && sim->options->only_job != i)
			continue;
		if (sim->options->only_online && s->jobs[i].spec.class != GP_SCHED_CLASS_ONLINE)
			continue;
		gp_sim_push(sim, s->jobs[i].start_ns, SIM_START, i);
	}
	if (s->faults.kill || s->faults.restart || s->faults.jump || s->faults.destroy ||
	    s->faults.stop)
		gp_sim_push(sim, GP_NS_PER_MS, SIM_FAULT, 0);
	if (s->device.policy == GP_SCHED_FAIR)
		gp_sim_push(sim, 0, SIM_USAGE, 0);
	if (sim->options->observer && sim->options->observer->used)
		gp_sim_push(sim, sim->options->observer->used_from_ns, SIM_SAMPLE, 0);
	return sim->broken;
}

static void tear_down(struct gp_sim *sim)
{
	for (u32 gpu = 0; gpu < GP_SIM_GPUS; gpu++) {
		free(sim->model_memory[gpu]);
		free(sim->queue_of_model[gpu]);
		free(sim->updates[gpu].update);
	}
	free(sim->sched_memory);
	free(sim->heap.entry);
	free(sim->jobs);
	free(sim->processes);
	free(sim->queues);
	free(sim->requests);
}

/* ---- the loop ---- */

static void take_model(struct gp_sim *sim, u32 gpu)
{
	struct gp_model_action action;

	while (gp_model_take(sim->model[gpu], &action)) {
		sim->result->events++;
		if (action.kind == GP_MODEL_COMPLETED)
			gp_sim_completed(sim, gpu, &action);
		else if (action.kind == GP_MODEL_MAPPED && action.tag)
			gp_sim_updated(sim, gpu, action.tag);
	}
}

static u64 next_time(const struct gp_sim *sim)
{
	u64 next = sim->heap.count ? sim->heap.entry[0].key : GP_SCHED_NEVER;
	u64 timer = gp_sched_next(sim->sched);

	for (u32 gpu = 0; gpu < sim->scenario->gpus; gpu++)
		next = GP_MIN(next, gp_model_next(sim->model[gpu]));
	if (timer != GP_SCHED_NEVER) {
		s64 real = (s64)timer - sim->offset;

		next = GP_MIN(next, real > 0 ? (u64)real : 0);
	}
	return GP_MAX(next, sim->now);
}

static void handle(struct gp_sim *sim, const struct gp_heap_entry *event)
{
	sim->result->events++;
	switch ((enum gp_sim_run_event)event->kind) {
	case SIM_START:
		gp_sim_job_start(sim, event->value);
		break;
	case SIM_ARRIVAL:
		gp_sim_arrive(sim, event->value);
		break;
	case SIM_HINT:
		gp_sim_hint(sim, event->value);
		break;
	case SIM_NOTICE:
		gp_sim_notice(sim, event->value);
		break;
	case SIM_GAP:
		gp_sim_gap(sim, event->value);
		break;
	case SIM_CALL:
		gp_sim_call(sim, event->value);
		break;
	case SIM_ANSWER:
		gp_sim_answer(sim, event->value);
		break;
	case SIM_LEASE:
		gp_sim_lease(sim, event->value);
		break;
	case SIM_FAULT:
		gp_sim_fault(sim);
		break;
	case SIM_USAGE:
		gp_sim_usage(sim);
		break;
	case SIM_REPLAY:
		gp_sim_replay(sim, event->value);
		break;
	case SIM_SAMPLE:
		gp_sim_sample(sim);
		break;
	}
}

static void step(struct gp_sim *sim, u64 at)
{
	sim->now = at;
	for (u32 gpu = 0; gpu < sim->scenario->gpus; gpu++) {
		if (gp_model_next(sim->model[gpu]) <= at) {
			gp_model_advance(sim->model[gpu], at);
			sim->result->gpu_events++;
		}
		take_model(sim, gpu);
	}
	/* One thing at a time, the scheduler's timer first: in between it acts on what it knows. */
	if (gp_sched_next(sim->sched) <= gp_sim_clock(sim)) {
		gp_sim_act(sim, gp_sched_timer(sim->sched, gp_sim_clock(sim)));
	} else if (sim->heap.count && sim->heap.entry[0].key <= at) {
		struct gp_heap_entry event = gp_heap_pop(&sim->heap);

		handle(sim, &event);
	}
	for (u32 gpu = 0; gpu < sim->scenario->gpus; gpu++) {
		take_model(sim, gpu);
		if (sim->updates[gpu].count)
			gp_sim_update_waiting(sim, gpu);
	}
	if (sim->options->check)
		gp_sim_check(sim);
}

static bool over_limit(struct gp_sim *sim)
{
	u64 limit = sim->options->max_events;

	if (!limit || sim->result->events + sim->result->gpu_events < limit)
		return false;
	sim->result->cut = true;
	return true;
}

static void collect(struct gp_sim *sim)
{
	struct gp_sim_result *result = sim->result;
	struct gp_sched_stats stats;

	gp_sched_stats(sim->sched, &stats);
	memcpy(result->stats_why, stats.why, sizeof(stats.why));
	result->declined = stats.why[GP_SCHED_WHY_DECLINED];
	result->time_ns = sim->now;
	for (u32 gpu = 0; gpu < sim->scenario->gpus; gpu++) {
		struct gp_model_stats model;

		/* Nothing more happens up to now; what runs is accounted for up to now. */
		gp_model_advance(sim->model[gpu], sim->now);
		gp_model_stats(sim->model[gpu], &model);
		result->updates += model.updates;
		result->switch_ns += model.switch_ns;
	}
	for (u32 q = 0; q < sim->queue_count; q++) {
		struct gp_model_queue_state state;
		struct gp_sim_run_queue *queue = &sim->queues[q];

		if (queue->alive &&
		    gp_model_queue_state(sim->model[queue->gpu], queue->model, &state) == 0)
			result->jobs[sim->processes[queue->process].job].cu_ns += state.cu_ns;
	}
	for (u32 i = 0; i < sim->scenario->job_count; i++) {
		struct gp_sim_run_job *job = &sim->jobs[i];

		result->jobs[i].suspends = job->suspends;
		result->jobs[i].held_ns = job->held_ns;
		if (!job->held)
			continue;
		result->jobs[i].held_ns += sim->now - job->held_since;
		gp_sim_tell_held(sim, i);
	}
}

/* No more arrivals and faults: what is under way must come to its end, and then add up. */
static int drain(struct gp_sim *sim)
{
	u64 since = sim->now;

	sim->draining = true;
	while (sim->request_count && !sim->broken && !over_limit(sim)) {
		u64 at = next_time(sim);
		u64 before = sim->kernels_done;

		if (at - since > STUCK_NS) {
			gp_sim_break(sim, -EFAULT, "the work does not finish", sim->request_count,
				     since);
			break;
		}
		step(sim, at);
		if (sim->kernels_done != before)
			since = sim->now;
	}
	/* The limit cuts a long backlog short; then there is nothing to add up yet. */
	if (sim->request_count)
		return sim->broken;
	if (!sim->broken)
		gp_sim_check_end(sim);
	return sim->broken;
}

int gp_sim_run(const struct gp_sim_scenario *scenario, const struct gp_sim_options *options,
	       struct gp_diag *diag, struct gp_sim_result *out)
{
	struct gp_sim sim = {.scenario = scenario,
			     .options = options,
			     .diag = diag,
			     .result = out,
			     .offset = GP_SIM_CLOCK_START};
	int error;

	memset(out, 0, sizeof(*out));
	error = set_up(&sim);
	while (!error && !sim.broken && !over_limit(&sim)) {
		u64 at = next_time(&sim);

		if (at > scenario->time_ns) {
			sim.now = scenario->time_ns;
			break;
		}
		step(&sim, at);
	}
	error = error ? error : sim.broken;
	if (!error)
		collect(&sim);
	if (!error && options->check && !out->cut)
		error = drain(&sim);
	if (error)
		gp_sim_result_free(out);
	tear_down(&sim);
	return error;
}

void gp_sim_result_free(struct gp_sim_result *result)
{
	free(result->jobs);
	result->jobs = NULL;
}
