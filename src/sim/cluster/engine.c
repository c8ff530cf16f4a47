// SPDX-License-Identifier: MIT
/* Events of a cluster in virtual time: see engine.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/i18n.h"
#include "sim/cluster/state.h"

#define PROGRESS_EVENTS 16384

const char *gp_sim_cluster_name(enum gp_sim_cluster_arrangement arrangement)
{
	static const char *const names[] = {"exclusive", "requeue", "share"};

	return names[arrangement];
}

double gp_sim_cluster_hours(gp_sim_gpu_time time)
{
	return (double)time / GP_SIM_CLUSTER_FULL / 3600e9;
}

void gp_sim_cluster_event(struct gp_sim_cluster_engine *e, u64 at_ns, u32 task)
{
	if (at_ns > e->cluster->time_ns)
		return; /* after the end of the run */
	if (e->events.count == e->event_room) {
		if (gp_array_grow((void **)&e->events.entry, e->event_room, &e->event_room,
				  sizeof(*e->events.entry))) {
			e->error = -ENOMEM;
			return;
		}
		e->events.room = (u32)e->event_room;
	}
	gp_heap_push(&e->events, at_ns, e->tasks[task].turn, task);
}

/* ---- jobs beside each other ---- */

static void affect(struct gp_sim_cluster_engine *e, u32 task)
{
	if (task == GP_SIM_CLUSTER_NONE || e->tasks[task].mark == e->pass)
		return;
	if (gp_array_grow((void **)&e->affected, e->affected_count, &e->affected_room,
			  sizeof(*e->affected))) {
		e->error = -ENOMEM;
		return;
	}
	e->tasks[task].mark = e->pass;
	e->affected[e->affected_count++] = task;
}

/* Rates of the task and of those that share a GPU with it, which may have changed. */
static void update_all(struct gp_sim_cluster_engine *e, u32 task, const u32 *gpus)
{
	const struct gp_sim_cluster_job *job = &e->cluster->jobs[task];

	e->pass++;
	e->affected_count = 0;
	for (u32 i = 0; i < gp_sim_cluster_size(job); i++) {
		affect(e, e->gpus[gpus[i]].offline);
		gp_sim_cluster_split(e, gpus[i]);
	}
	for (size_t i = 0; i < e->affected_count; i++)
		gp_sim_cluster_update(e, e->affected[i]);
}

/* Takes the GPUs from the task. */
static void release(struct gp_sim_cluster_engine *e, u32 index)
{
	struct gp_sim_cluster_task *task = &e->tasks[index];
	u32 *gpus = task->gpus;

	task->gpus = NULL;
	task->rate = 0;
	task->turn++;
	for (u32 i = 0; i < gp_sim_cluster_size(&e->cluster->jobs[index]); i++)
		gp_sim_cluster_assign(e, gpus[i], index, false);
	update_all(e, index, gpus);
	free(gpus);
}

/* What a job counts in: its class, and its section of the scenario. */
struct counted {
	struct gp_sim_cluster_class *in[2];
	u32 count;
};

static struct counted counted(const struct gp_sim_cluster_engine *e,
			      const struct gp_sim_cluster_job *job)
{
	struct gp_sim_cluster_class *kinds = e->out->kinds;

	return (struct counted){.in = {job->online ? &e->out->online : &e->out->offline,
				       kinds ? &kinds[job->kind] : NULL},
				.count = kinds ? 2 : 1};
}

static void kill_task(struct gp_sim_cluster_engine *e, u32 index)
{
	struct gp_sim_cluster_task *task = &e->tasks[index];
	struct counted in = counted(e, &e->cluster->jobs[index]);

	gp_sim_cluster_settle_task(e, index);
	for (u32 i = 0; i < gp_sim_cluster_size(&e->cluster->jobs[index]); i++)
		gp_sim_cluster_settle_gpu(e, task->gpus[i]);
	gp_sim_cluster_lose(e, index);
	release(e, index);
	task->killed = true;
	for (u32 i = 0; i < in.count; i++)
		in.in[i]->kills++;
	gp_sim_cluster_wait(e, index);
}

/* ---- the life of a job ---- */

/* It computes from now on: its victims are gone, its checkpoint is loaded. */
static void begin(struct gp_sim_cluster_engine *e, u32 index)
{
	const struct gp_sim_cluster_job *job = &e->cluster->jobs[index];
	struct gp_sim_cluster_task *task = &e->tasks[index];
	struct counted in = counted(e, job);

	task->state = GP_SIM_CLUSTER_RUNS;
	task->settled_ns = e->now;
	task->turn++;
	for (u32 i = 0; i < in.count; i++) {
		in.in[i]->starts++;
		if (!task->killed)
			gp_histogram_add(&in.in[i]->wait, e->now - job->at_ns);
	}
	if (job->online)
		gp_sim_cluster_event(e, e->now + job->run_ns, index);
	update_all(e, index, task->gpus);
}

void gp_sim_cluster_start(struct gp_sim_cluster_engine *e, u32 index, u32 *gpus)
{
	const struct gp_sim_cluster_job *job = &e->cluster->jobs[index];
	struct gp_sim_cluster_task *task = &e->tasks[index];
	u64 wait = task->killed ? e->cluster->restart_ns : 0;

	for (u32 i = 0; i < gp_sim_cluster_size(job); i++) {
		u32 victim = e->gpus[gpus[i]].offline;

		if (job->online && e->arrangement == GP_SIM_CLUSTER_REQUEUE &&
		    victim != GP_SIM_CLUSTER_NONE) {
			kill_task(e, victim);
			wait = e->cluster->grace_ns;
		}
	}
	task->gpus = gpus;
	task->state = GP_SIM_CLUSTER_STARTS;
	task->turn++;
	for (u32 i = 0; i < gp_sim_cluster_size(job); i++)
		gp_sim_cluster_assign(e, gpus[i], index, true);
	if (wait) {
		gp_sim_cluster_event(e, e->now + wait, index);
		update_all(e, index, gpus);
	} else {
		begin(e, index);
	}
}

static void end(struct gp_sim_cluster_engine *e, u32 index)
{
	const struct gp_sim_cluster_job *job = &e->cluster->jobs[index];
	struct gp_sim_cluster_task *task = &e->tasks[index];
	struct counted in = counted(e, job);

	if (!job->online) {
		for (u32 i = 0; i < gp_sim_cluster_size(job); i++)
			gp_sim_cluster_settle_gpu(e, task->gpus[i]);
		gp_sim_cluster_settle_task(e, index);
	}
	task->state = GP_SIM_CLUSTER_DONE;
	for (u32 i = 0; i < in.count; i++)
		in.in[i]->completed++;
	release(e, index);
}

static void arrive(struct gp_sim_cluster_engine *e)
{
	const struct gp_sim_cluster_job *job = &e->cluster->jobs[e->next];
	struct gp_sim_cluster_task *task = &e->tasks[e->next];
	struct counted in = counted(e, job);

	for (u32 i = 0; i < in.count; i++)
		in.in[i]->arrived++;
	task->left = job->online ? 0 : job->run_ns * GP_SIM_CLUSTER_FULL;
	gp_sim_cluster_wait(e, e->next++);
}

/* ---- the run ---- */

/* One event; false at the end of the run. */
static bool step(struct gp_sim_cluster_engine *e)
{
	bool arrives = e->next < e->cluster->job_count;
	u64 at = arrives ? e->cluster->jobs[e->next].at_ns : UINT64_MAX;
	struct gp_heap_entry event;

	if (e->events.count && e->events.entry[0].key <= at) {
		event = gp_heap_pop(&e->events);
		if (event.kind != e->tasks[event.value].turn)
			return true; /* of an earlier rate */
		e->now = event.key;
		if (e->tasks[event.value].state == GP_SIM_CLUSTER_STARTS)
			begin(e, event.value);
		else
			end(e, event.value);
	} else if (arrives && at < e->cluster->time_ns) {
		e->now = at;
		arrive(e);
	} else {
		return false;
	}
	e->out->events++;
	gp_sim_cluster_schedule(e);
	return true;
}

static void count_end(struct gp_sim_cluster_engine *e, u32 index)
{
	const struct gp_sim_cluster_task *task = &e->tasks[index];
	const struct gp_sim_cluster_job *job = &e->cluster->jobs[index];
	struct counted in = counted(e, job);

	for (u32 i = 0; i < in.count; i++) {
		struct gp_sim_cluster_class *class = in.in[i];

		class->running +=
			task->state == GP_SIM_CLUSTER_STARTS || task->state == GP_SIM_CLUSTER_RUNS;
		if (task->state != GP_SIM_CLUSTER_WAITS)
			continue;
		class->waiting++;
		if (!task->killed)
			class->waited_ns = GP_MAX(class->waited_ns, e->now - job->at_ns);
	}
}

/* Accounts for what still runs or waits at the end. */
static void finish(struct gp_sim_cluster_engine *e)
{
	u32 gpus = e->cluster->nodes * e->cluster->gpus;

	if (!e->out->cut)
		e->now = e->cluster->time_ns;
	e->out->time_ns = e->now;
	for (u32 i = 0; i < gpus; i++)
		gp_sim_cluster_settle_gpu(e, i);
	for (u32 i = 0; i < e->next; i++) {
		if (e->tasks[i].state == GP_SIM_CLUSTER_RUNS && !e->cluster->jobs[i].online)
			gp_sim_cluster_settle_task(e, i);
		count_end(e, i);
	}
}

static int prepare(struct gp_sim_cluster_engine *e, struct gp_diag *diag)
{
	size_t gpus = (size_t)e->cluster->nodes * e->cluster->gpus;

	e->tasks = calloc(e->cluster->job_count, sizeof(*e->tasks));
	e->queue_of = calloc(e->cluster->job_count, sizeof(*e->queue_of));
	e->nodes = calloc(e->cluster->nodes, sizeof(*e->nodes));
	e->gpus = calloc(gpus, sizeof(*e->gpus));
	e->bucket = calloc(GP_SIM_CLUSTER_LISTS, sizeof(*e->bucket));
	if (!e->tasks || !e->queue_of || !e->nodes || !e->gpus || !e->bucket)
		return gp_fail(diag, -ENOMEM, "out of memory");
	for (size_t i = 0; i < gpus; i++) {
		e->gpus[i].online = e->gpus[i].offline = GP_SIM_CLUSTER_NONE;
		e->gpus[i].split[GP_SIM_CLUSTER_FREE] = GP_SIM_CLUSTER_FULL;
	}
	gp_sim_cluster_lists_init(e);
	return gp_sim_cluster_queues_init(e, diag);
}

static void dismantle(struct gp_sim_cluster_engine *e)
{
	for (size_t i = 0; e->tasks && i < e->cluster->job_count; i++)
		free(e->tasks[i].gpus), free(e->tasks[i].reserved);
	free(e->tasks);
	free(e->queue_of);
	free(e->nodes);
	free(e->gpus);
	free(e->bucket);
	free(e->events.entry);
	free(e->affected);
	free(e->can_start);
	for (u32 i = 0; i < e->queue_count; i++)
		free(e->queues[i].waiting.entry);
	free(e);
}

int gp_sim_cluster_run(const struct gp_sim_cluster *cluster,
		       enum gp_sim_cluster_arrangement arrangement,
		       const struct gp_sim_cluster_options *options, struct gp_diag *diag,
		       struct gp_sim_cluster_result *out)
{
	struct gp_sim_cluster_engine *e = calloc(1, sizeof(*e));
	int error;

	*out = (struct gp_sim_cluster_result){.kinds = out->kinds};
	if (!e)
		return gp_fail(diag, -ENOMEM, "out of memory");
	e->cluster = cluster;
	e->arrangement = arrangement;
	e->out = out;
	error = prepare(e, diag);
	while (!error && step(e)) {
		error = e->error;
		if (!error && options->check)
			error = gp_sim_cluster_check(e, diag);
		if (options->progress && out->events % PROGRESS_EVENTS == 0)
			options->progress(options->data, e->now);
		out->cut = options->max_events && out->events >= options->max_events;
		if (out->cut)
			break;
	}
	if (!error) {
		finish(e);
		error = gp_sim_cluster_check(e, diag);
	}
	dismantle(e);
	return error;
}
