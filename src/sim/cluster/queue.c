// SPDX-License-Identifier: MIT
/*
 * Waiting jobs: a queue for each class and size, so that a job that does not fit never hides one
 * that does, and finding the next one does not depend on how many wait. Online jobs come first; in
 * a class the oldest comes first, and smaller ones may overtake it. So that it starts at last,
 * nodes are kept for it: for an online job at once, for an offline job after `patience`. See
 * state.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/i18n.h"
#include "sim/cluster/state.h"

static u32 queue_for(struct gp_sim_cluster_engine *e, const struct gp_sim_cluster_job *job)
{
	struct gp_sim_cluster_queue *queue = e->queues;

	for (u32 i = 0; i < e->queue_count; i++, queue++)
		if (queue->online == job->online && queue->nodes == job->nodes &&
		    queue->gpus == job->gpus)
			return i;
	if (e->queue_count == GP_ARRAY_SIZE(e->queues))
		return GP_SIM_CLUSTER_NONE;
	*queue = (struct gp_sim_cluster_queue){.nodes = job->nodes,
					       .gpus = job->gpus,
					       .online = job->online};
	return e->queue_count++;
}

int gp_sim_cluster_queues_init(struct gp_sim_cluster_engine *e, struct gp_diag *diag)
{
	for (size_t i = 0; i < e->cluster->job_count; i++) {
		u32 queue = queue_for(e, &e->cluster->jobs[i]);

		if (queue == GP_SIM_CLUSTER_NONE)
			return gp_fail(
				diag, -E2BIG,
				"jobs have too many different sizes (nodes and GPUs; maximum "
				"%d)",
				(int)GP_ARRAY_SIZE(e->queues));
		e->queue_of[i] = (u8)queue;
	}
	return 0;
}

void gp_sim_cluster_wait(struct gp_sim_cluster_engine *e, u32 index)
{
	struct gp_sim_cluster_queue *queue = &e->queues[e->queue_of[index]];

	if (gp_array_grow((void **)&queue->waiting.entry, queue->waiting.count, &queue->room,
			  sizeof(*queue->waiting.entry))) {
		e->error = -ENOMEM;
		return;
	}
	queue->waiting.room = (u32)queue->room;
	gp_heap_push(&queue->waiting, index, 0, index);
	e->tasks[index].state = GP_SIM_CLUSTER_WAITS;
}

/* The oldest job of a class that has not been tried in this pass. */
static u32 oldest(const struct gp_sim_cluster_engine *e, bool online)
{
	u32 first = GP_SIM_CLUSTER_NONE;

	for (u32 i = 0; i < e->queue_count; i++) {
		const struct gp_sim_cluster_queue *queue = &e->queues[i];

		if (queue->online == online && !queue->blocked && queue->waiting.count)
			first = GP_MIN(first, queue->waiting.entry[0].value);
	}
	return first;
}

/* Where a job of this size could start; GP_SIM_CLUSTER_LISTS: nowhere. */
static enum gp_sim_cluster_list find_list(const struct gp_sim_cluster_engine *e,
					  const struct gp_sim_cluster_job *job)
{
	enum gp_sim_cluster_list first = job->online ? GP_SIM_CLUSTER_EMPTY : GP_SIM_CLUSTER_OPEN;
	enum gp_sim_cluster_list last = gp_sim_cluster_last_list(e, job->online);

	if (gp_sim_cluster_has(e, first, job->nodes, job->gpus))
		return first;
	if (last != first && gp_sim_cluster_has(e, last, job->nodes, job->gpus))
		return last;
	return GP_SIM_CLUSTER_LISTS;
}

static bool try(struct gp_sim_cluster_engine *e, u32 task)
{
	const struct gp_sim_cluster_job *job = &e->cluster->jobs[task];
	enum gp_sim_cluster_list list = find_list(e, job);
	u32 *gpus;

	if (list == GP_SIM_CLUSTER_LISTS)
		return false;
	gpus = malloc(gp_sim_cluster_size(job) * sizeof(*gpus));
	if (!gpus) {
		e->error = -ENOMEM;
		return false;
	}
	gp_heap_pop(&e->queues[e->queue_of[task]].waiting);
	gp_sim_cluster_pick(e, list, job, gpus);
	gp_sim_cluster_start(e, task, gpus);
	return true;
}

static void schedule_class(struct gp_sim_cluster_engine *e, bool online)
{
	u64 patience = online ? 0 : e->cluster->patience_ns;
	u32 task;

	while (!e->error && (task = oldest(e, online)) != GP_SIM_CLUSTER_NONE) {
		struct gp_sim_cluster_queue *queue = &e->queues[e->queue_of[task]];

		/* A job with nodes of its own, if not all of them, starts on no others. */
		if (!e->tasks[task].reserved && try(e, task))
			continue;
		if (e->now - e->cluster->jobs[task].at_ns >= patience &&
		    gp_sim_cluster_reserve(e, task))
			gp_heap_pop(&queue->waiting);
		else
			queue->blocked = true;
	}
}

void gp_sim_cluster_schedule(struct gp_sim_cluster_engine *e)
{
	for (u32 i = 0; i < e->queue_count; i++)
		e->queues[i].blocked = false;
	gp_sim_cluster_start_reserved(e);
	schedule_class(e, true);
	schedule_class(e, false);
	gp_sim_cluster_start_reserved(e);
}
