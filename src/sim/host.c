// SPDX-License-Identifier: MIT
/* What a daemon does with the scheduler's decisions: driver calls, one after the other for each
 * job, their answers, and leases that end by themselves. */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "sim/engine_parts.h"

/* Updates that no operation waits for: a lease that ended. */
#define LEASE_TAG (SIM_DEATH_TAG - 1u)

static void set_queue(struct gp_sim *sim, u32 index, bool enabled)
{
	struct gp_sim_run_queue *queue = &sim->queues[index];
	const struct gp_sim_job *spec = &sim->scenario->jobs[sim->processes[queue->process].job];
	struct gp_model_queue_config config = {.type = GP_MODEL_COMPUTE,
					       .priority = 7,
					       .enabled = enabled};

	if (spec->stream != GP_SCHED_STREAM_NORMAL)
		config.priority = spec->stream == GP_SCHED_STREAM_HIGH ? 11 : 0;
	for (u32 cu = 0; cu < spec->cu_limit; cu++)
		gp_bit_set(config.cu_mask, cu);
	gp_model_queue_set(sim->model[queue->gpu], queue->model, &config);
}

/* The driver works on one call at a time: until then, nothing of the next one has happened. */
void gp_sim_update_waiting(struct gp_sim *sim, u32 gpu)
{
	struct gp_sim_run_updates *waiting = &sim->updates[gpu];
	const struct gp_sim_run_update *update;

	if (waiting->under_way || waiting->first == waiting->count)
		return;
	update = &waiting->update[waiting->first];
	if (update->process != GP_SCHED_NONE) {
		const struct gp_sim_run_process *process = &sim->processes[update->process];

		for (u32 i = 0; i < process->queue_count; i++)
			set_queue(sim, process->first_queue + i, update->enables);
	}
	if (gp_model_runlist_update(sim->model[gpu], sim->now, 0, update->tag))
		return;
	waiting->under_way = true;
	waiting->first++;
	/* What is left moves to the front when it is the smaller part: each moves once or so. */
	if (waiting->first * 2 < waiting->count)
		return;
	waiting->count -= waiting->first;
	memmove(waiting->update, waiting->update + waiting->first,
		waiting->count * sizeof(*waiting->update));
	waiting->first = 0;
}

void gp_sim_update(struct gp_sim *sim, u32 gpu, u64 tag, u32 process, bool enables)
{
	struct gp_sim_run_updates *waiting = &sim->updates[gpu];

	if (gp_array_grow((void **)&waiting->update, waiting->count, &waiting->room,
			  sizeof(*waiting->update))) {
		gp_sim_break(sim, -ENOMEM, "out of memory for runlist updates", waiting->count, 0);
		return;
	}
	for (u32 i = 0; process != GP_SCHED_NONE && i < sim->processes[process].queue_count; i++)
		sim->queues[sim->processes[process].first_queue + i].enabled = enables;
	waiting->update[waiting->count++] = (struct gp_sim_run_update){tag, process, enables};
	gp_sim_update_waiting(sim, gpu);
}

/* The driver call of every process of the job, as kfd-debug makes it: one for all its queues. How
 * many updates were asked for; calls that would change nothing are not made. */
static int call_driver(struct gp_sim *sim, u32 job, bool suspend, u64 tag)
{
	int made = 0;

	for (u32 p = sim->jobs[job].first_process; p != GP_SCHED_NONE;
	     p = sim->processes[p].next_of_job) {
		struct gp_sim_run_process *process = &sim->processes[p];
		bool change = false;

		if (process->dying)
			continue;
		for (u32 i = 0; i < process->queue_count; i++) {
			if (sim->queues[process->first_queue + i].enabled == suspend)
				change = true;
		}
		if (!change)
			continue;
		gp_sim_update(sim, process->gpu, tag, p, !suspend);
		made++;
	}
	return made;
}

void gp_sim_tell_held(const struct gp_sim *sim, u32 index)
{
	const struct gp_sim_observer *observer = sim->options->observer;

	/* The run is over by then, and holds that were open at its end have been reported. */
	if (observer && observer->held && !sim->draining)
		observer->held(observer->data, index, sim->jobs[index].held_since, sim->now);
}

static void set_held(struct gp_sim *sim, u32 index, bool held, u64 until)
{
	const struct gp_sim_observer *observer = sim->options->observer;
	struct gp_sim_run_job *job = &sim->jobs[index];

	if (observer && observer->holding && held != job->held)
		observer->holding(observer->data, sim->now, held ? 1 : -1);
	if (held) {
		if (!job->held)
			job->held_since = sim->now;
		job->held_until = until;
		job->held_epoch = sim->epoch;
		if (!job->lease_event) {
			job->lease_event = true;
			gp_sim_push(sim, GP_MAX(until, sim->now), SIM_LEASE, index);
		}
	} else if (job->held) {
		job->held_ns += sim->now - job->held_since;
		gp_sim_tell_held(sim, index);
	}
	job->held = held;
}

void gp_sim_operation_add(struct gp_sim *sim, const struct gp_sched_action *action)
{
	struct gp_sched_job_state state;
	struct gp_sim_run_operation *operation;
	struct gp_sim_run_job *job;
	u32 index = GP_SCHED_NONE;

	if (gp_sched_job_state(sim->sched, action->job, &state) == 0)
		index = (u32)state.tag;
	/* A job that the scheduler has removed is known to us only by our own handle of it. */
	for (u32 i = 0; index == GP_SCHED_NONE && i < sim->scenario->job_count; i++)
		if (sim->jobs[i].sched == action->job)
			index = i;
	if (index == GP_SCHED_NONE)
		return;
	job = &sim->jobs[index];
	/* More than it can remember: the last decision counts, the one before is never answered. */
	if (job->count == SIM_OPERATIONS)
		job->count--;
	operation = &job->operations[(job->first + job->count++) % SIM_OPERATIONS];
	*operation = (struct gp_sim_run_operation){
		.suspend = action->kind == GP_SCHED_SUSPEND,
		.token = action->token,
		.epoch = sim->epoch,
		.until = (u64)((s64)action->until_ns - sim->offset),
	};
	gp_sim_operation_faults(sim, operation);
	if (action->kind == GP_SCHED_SUSPEND) {
		sim->result->suspends++;
		job->suspends++;
	} else {
		sim->result->resumes++;
		/* From here on nothing is renewed, whatever becomes of the operation. */
		job->held_epoch = 0;
	}
	if (job->count == 1)
		gp_sim_push(sim, sim->now + sim->scenario->call_ns, SIM_CALL, index);
}

/* Every job whose last decision is to be held. */
void gp_sim_renew(struct gp_sim *sim, u64 until)
{
	for (u32 i = 0; i < sim->scenario->job_count; i++) {
		struct gp_sim_run_job *job = &sim->jobs[i];
		struct gp_sim_run_operation *last =
			&job->operations[(job->first + job->count - 1) % SIM_OPERATIONS];

		if (job->count && last->suspend && last->epoch == sim->epoch)
			last->until = until;
		if (job->held && job->held_epoch == sim->epoch)
			job->held_until = until;
	}
}

static void answer(struct gp_sim *sim, const struct gp_sim_run_operation *operation, u64 cost)
{
	if (operation->silent || operation->epoch != sim->epoch)
		return;
	if (operation->result)
		sim->result->operations_failed++;
	if (operation->late_ns && sim->answer_count < GP_ARRAY_SIZE(sim->answers)) {
		sim->answers[sim->answer_count] =
			(struct gp_sim_answer){operation->token, operation->epoch, cost,
					       operation->result};
		gp_sim_push(sim, sim->now + operation->late_ns, SIM_ANSWER, sim->answer_count++);
		return;
	}
	for (int i = 0; i <= operation->twice; i++)
		gp_sim_act(sim, gp_sched_operation(sim->sched, gp_sim_clock(sim), operation->token,
						   operation->result, cost));
}

void gp_sim_answer(struct gp_sim *sim, u32 index)
{
	struct gp_sim_answer late = sim->answers[index];

	if (late.epoch == sim->epoch)
		gp_sim_act(sim, gp_sched_operation(sim->sched, gp_sim_clock(sim), late.token,
						   late.result, late.cost));
	/* Places are used again once all are answered. */
	sim->answers[index].epoch = 0;
	while (sim->answer_count && !sim->answers[sim->answer_count - 1].epoch)
		sim->answer_count--;
}

static void operation_over(struct gp_sim *sim, u32 index)
{
	struct gp_sim_run_job *job = &sim->jobs[index];
	struct gp_sim_run_operation done = job->operations[job->first];

	job->first = (job->first + 1) % SIM_OPERATIONS;
	job->count--;
	if (job->count)
		gp_sim_push(sim, sim->now + sim->scenario->call_ns, SIM_CALL, index);
	if (job->held && !job->lease_event) { /* its lease ended meanwhile */
		job->lease_event = true;
		gp_sim_push(sim, GP_MAX(job->held_until, sim->now), SIM_LEASE, index);
	}
	if (done.silent || done.late_ns)
		job->unanswered = done.token;
	answer(sim, &done, sim->now - done.issued);
}

void gp_sim_call(struct gp_sim *sim, u32 index)
{
	struct gp_sim_run_job *job = &sim->jobs[index];
	struct gp_sim_run_operation *operation = &job->operations[job->first];

	if (!job->count || operation->under_way)
		return;
	operation->under_way = true;
	operation->issued = sim->now;
	if (operation->epoch != sim->epoch) { /* the scheduler that asked for it is gone */
		operation_over(sim, index);
		return;
	}
	if (operation->result) { /* the driver refuses: nothing happens */
		operation_over(sim, index);
		return;
	}
	set_held(sim, index, operation->suspend, operation->until);
	if (operation->suspend && !operation->token)
		job->held_epoch = 0;
	operation->pending = (u32)call_driver(sim, index, operation->suspend, (u64)index + 1);
	if (!operation->pending)
		operation_over(sim, index);
}

void gp_sim_updated(struct gp_sim *sim, u32 gpu, u64 tag)
{
	sim->updates[gpu].under_way = false;
	if (tag >= SIM_DEATH_TAG) {
		gp_sim_process_dead(sim, (u32)(tag - SIM_DEATH_TAG));
		return;
	}
	if (tag == LEASE_TAG)
		return;
	u32 index = (u32)tag - 1;
	struct gp_sim_run_job *job = &sim->jobs[index];

	if (job->count && job->operations[job->first].under_way &&
	    --job->operations[job->first].pending == 0)
		operation_over(sim, index);
}

/* The scheduler died: its holder lets go of everything that it held. */
void gp_sim_owner_died(struct gp_sim *sim)
{
	for (u32 i = 0; i < sim->scenario->job_count; i++) {
		sim->jobs[i].unanswered = 0; /* the next one counts its tokens anew */
		if (!sim->jobs[i].held)
			continue;
		sim->jobs[i].held_until = sim->now;
		sim->jobs[i].held_epoch = 0;
		gp_sim_push(sim, sim->now, SIM_LEASE, i);
	}
}

void gp_sim_lease(struct gp_sim *sim, u32 index)
{
	struct gp_sim_run_job *job = &sim->jobs[index];

	job->lease_event = false;
	if (!job->held)
		return;
	if (sim->now < job->held_until) {
		job->lease_event = true;
		gp_sim_push(sim, job->held_until, SIM_LEASE, index);
		return;
	}
	/* While a call is under way the driver is asked again when that is over. */
	if (job->count && job->operations[job->first].under_way)
		return;
	u64 epoch = job->held_epoch;

	set_held(sim, index, false, 0);
	call_driver(sim, index, false, LEASE_TAG);
	sim->result->leases_lost++;
	if (epoch == sim->epoch && job->sched != GP_SCHED_NONE)
		gp_sim_act(sim, gp_sched_lease_lost(sim->sched, gp_sim_clock(sim), job->sched));
}
