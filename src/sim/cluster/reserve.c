// SPDX-License-Identifier: MIT
/*
 * Nodes that are kept for a job that would wait for ever otherwise: a gang needs several nodes at
 * the same time, and smaller jobs would take each GPU as soon as it is free. See state.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "sim/cluster/state.h"

#define OFFLINE_PART 10 /* of all nodes, one in so many is kept for offline jobs at most */

static void keep(struct gp_sim_cluster_engine *e, u32 node, u32 task)
{
	e->nodes[node].kept_for = task;
	e->nodes[node].ready = false;
	gp_sim_cluster_list_again(e, node);
}

/* An online job needs a node that is kept for an offline job: that waits again as the others do. */
static void drop(struct gp_sim_cluster_engine *e, u32 index)
{
	struct gp_sim_cluster_task *task = &e->tasks[index];
	bool complete = task->reserved_count == e->cluster->jobs[index].nodes;
	u32 *reserved = task->reserved;

	task->reserved = NULL;
	e->kept[0] -= e->cluster->jobs[index].nodes;
	for (u32 i = 0; i < task->reserved_count; i++)
		keep(e, reserved[i], GP_SIM_CLUSTER_NONE);
	free(reserved);
	if (complete) {
		e->kept_tasks--;
		gp_sim_cluster_wait(e, index);
	}
}

/* One more node for the task, or false. Nodes without any GPU for it are not looked at: those that
 * are kept are among them. */
static bool keep_one(struct gp_sim_cluster_engine *e, u32 index, enum gp_sim_cluster_list list)
{
	struct gp_sim_cluster_task *task = &e->tasks[index];

	for (u32 i = e->cluster->gpus; i; i--) {
		struct gp_list *first = e->bucket[list][i].next;
		u32 node;

		if (gp_list_empty(&e->bucket[list][i]))
			continue;
		node = (u32)(gp_container(first - list, struct gp_sim_cluster_node, link[0]) -
			     e->nodes);
		if (e->nodes[node].kept_for != GP_SIM_CLUSTER_NONE)
			drop(e, e->nodes[node].kept_for);
		task->reserved[task->reserved_count++] = node;
		keep(e, node, index);
		return true;
	}
	return false;
}

bool gp_sim_cluster_reserve(struct gp_sim_cluster_engine *e, u32 index)
{
	const struct gp_sim_cluster_job *job = &e->cluster->jobs[index];
	enum gp_sim_cluster_list list = gp_sim_cluster_last_list(e, job->online);
	struct gp_sim_cluster_task *task = &e->tasks[index];

	if (!task->reserved) {
		u32 limit = job->online ? e->cluster->nodes : e->cluster->nodes / OFFLINE_PART;

		/* Two that have some of the nodes each would wait for each other. */
		if (e->kept[job->online] && e->kept[job->online] + job->nodes > limit)
			return false;
		task->reserved = malloc(job->nodes * sizeof(*task->reserved));
		task->reserved_count = task->ready = 0;
		e->kept[job->online] += job->nodes;
	}
	if (!task->reserved) {
		e->error = -ENOMEM;
		return false;
	}
	while (task->reserved_count < job->nodes && keep_one(e, index, list))
		;
	if (task->reserved_count < job->nodes)
		return false;
	e->kept_tasks++;
	return true;
}

void gp_sim_cluster_kept_changed(struct gp_sim_cluster_engine *e, u32 index)
{
	struct gp_sim_cluster_node *node = &e->nodes[index];
	const struct gp_sim_cluster_job *job = &e->cluster->jobs[node->kept_for];
	struct gp_sim_cluster_task *task = &e->tasks[node->kept_for];
	bool ready = node->count[gp_sim_cluster_last_list(e, job->online)] >= job->gpus;

	if (ready == node->ready)
		return;
	node->ready = ready;
	task->ready += ready ? 1 : -1u;
	if (task->ready < job->nodes)
		return;
	if (gp_array_grow((void **)&e->can_start, e->can_start_count, &e->can_start_room,
			  sizeof(*e->can_start)))
		e->error = -ENOMEM;
	else
		e->can_start[e->can_start_count++] = node->kept_for;
}

static void start(struct gp_sim_cluster_engine *e, u32 index)
{
	const struct gp_sim_cluster_job *job = &e->cluster->jobs[index];
	enum gp_sim_cluster_list list = gp_sim_cluster_last_list(e, job->online);
	struct gp_sim_cluster_task *task = &e->tasks[index];
	u32 *gpus = malloc(gp_sim_cluster_size(job) * sizeof(*gpus)), *reserved = task->reserved;

	if (!gpus) {
		e->error = -ENOMEM;
		return;
	}
	for (u32 i = 0; i < job->nodes; i++)
		gp_sim_cluster_pick_on(e, reserved[i], list, job->gpus, gpus + i * job->gpus);
	task->reserved = NULL;
	e->kept[job->online] -= job->nodes;
	e->kept_tasks--;
	for (u32 i = 0; i < job->nodes; i++)
		keep(e, reserved[i], GP_SIM_CLUSTER_NONE);
	free(reserved);
	gp_sim_cluster_start(e, index, gpus);
}

void gp_sim_cluster_start_reserved(struct gp_sim_cluster_engine *e)
{
	while (!e->error && e->can_start_count) {
		u32 task = e->can_start[--e->can_start_count];

		/* An online job may have taken a GPU since. */
		if (e->tasks[task].reserved && e->tasks[task].ready == e->cluster->jobs[task].nodes)
			start(e, task);
	}
}
