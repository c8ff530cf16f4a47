// SPDX-License-Identifier: MIT
/* Nodes, listed by how many of their GPUs a job could have. See state.h. */
#include "sim/cluster/state.h"

static void count(const struct gp_sim_cluster_engine *e, u32 node, u8 out[GP_SIM_CLUSTER_LISTS])
{
	const struct gp_sim_cluster_gpu *gpu = &e->gpus[(size_t)node * e->cluster->gpus];

	memset(out, 0, GP_SIM_CLUSTER_LISTS);
	for (u32 i = 0; i < e->cluster->gpus; i++) {
		bool online = gpu[i].online != GP_SIM_CLUSTER_NONE;
		bool offline = gpu[i].offline != GP_SIM_CLUSTER_NONE;

		out[GP_SIM_CLUSTER_EMPTY] += !online && !offline;
		out[GP_SIM_CLUSTER_NO_ONLINE] += !online;
		out[GP_SIM_CLUSTER_NO_OFFLINE] += !offline;
	}
	out[GP_SIM_CLUSTER_OPEN] = out[GP_SIM_CLUSTER_EMPTY];
}

void gp_sim_cluster_lists_init(struct gp_sim_cluster_engine *e)
{
	for (int list = 0; list < GP_SIM_CLUSTER_LISTS; list++) {
		for (u32 i = 0; i <= GP_SIM_CLUSTER_GPUS; i++)
			gp_list_init(&e->bucket[list][i]);
		for (u32 i = 0; i < e->cluster->nodes; i++) {
			e->nodes[i].kept_for = GP_SIM_CLUSTER_NONE;
			e->nodes[i].count[list] = e->nodes[i].listed[list] = (u8)e->cluster->gpus;
			gp_list_add_tail(&e->bucket[list][e->cluster->gpus],
					 &e->nodes[i].link[list]);
		}
		e->bucket_count[list][e->cluster->gpus] = e->cluster->nodes;
	}
}

bool gp_sim_cluster_has(const struct gp_sim_cluster_engine *e, enum gp_sim_cluster_list list,
			u32 nodes, u32 gpus)
{
	u32 found = 0;

	for (u32 i = gpus; i <= e->cluster->gpus && found < nodes; i++)
		found += e->bucket_count[list][i];
	return found >= nodes;
}

static bool may_take(const struct gp_sim_cluster_gpu *gpu, enum gp_sim_cluster_list list,
		     bool empty)
{
	bool online = gpu->online != GP_SIM_CLUSTER_NONE;
	bool offline = gpu->offline != GP_SIM_CLUSTER_NONE;

	if (empty || list == GP_SIM_CLUSTER_EMPTY || list == GP_SIM_CLUSTER_OPEN)
		return empty && !online && !offline;
	return list == GP_SIM_CLUSTER_NO_ONLINE ? !online && offline : !offline && online;
}

u32 gp_sim_cluster_pick_on(const struct gp_sim_cluster_engine *e, u32 node,
			   enum gp_sim_cluster_list list, u32 wanted, u32 *out)
{
	u32 first = node * e->cluster->gpus, found = 0;

	for (int empty = 1; empty >= 0; empty--)
		for (u32 i = first; i < first + e->cluster->gpus && found < wanted; i++)
			if (may_take(&e->gpus[i], list, empty))
				out[found++] = i;
	return found;
}

void gp_sim_cluster_pick(const struct gp_sim_cluster_engine *e, enum gp_sim_cluster_list list,
			 const struct gp_sim_cluster_job *job, u32 *gpus)
{
	u32 left = job->nodes;

	for (u32 i = job->gpus; i <= e->cluster->gpus && left; i++) {
		struct gp_list *link;

		gp_list_for_each (link, &e->bucket[list][i]) {
			const struct gp_sim_cluster_node *node =
				gp_container(link - list, struct gp_sim_cluster_node, link[0]);

			gpus += gp_sim_cluster_pick_on(e, (u32)(node - e->nodes), list, job->gpus,
						       gpus);
			if (!--left)
				break;
		}
	}
}

static bool sees(const struct gp_sim_cluster_engine *e, const struct gp_sim_cluster_node *node,
		 int list)
{
	bool online = list == GP_SIM_CLUSTER_EMPTY || list == GP_SIM_CLUSTER_NO_ONLINE;

	return node->kept_for == GP_SIM_CLUSTER_NONE ||
	       (online && !e->cluster->jobs[node->kept_for].online);
}

void gp_sim_cluster_list_again(struct gp_sim_cluster_engine *e, u32 index)
{
	struct gp_sim_cluster_node *node = &e->nodes[index];

	count(e, index, node->count);
	for (int list = 0; list < GP_SIM_CLUSTER_LISTS; list++) {
		u8 now = sees(e, node, list) ? node->count[list] : 0;

		if (now == node->listed[list])
			continue;
		gp_list_remove(&node->link[list]);
		e->bucket_count[list][node->listed[list]]--;
		node->listed[list] = now;
		gp_list_add_tail(&e->bucket[list][now], &node->link[list]);
		e->bucket_count[list][now]++;
	}
	if (node->kept_for != GP_SIM_CLUSTER_NONE)
		gp_sim_cluster_kept_changed(e, index);
}

enum gp_sim_cluster_list gp_sim_cluster_last_list(const struct gp_sim_cluster_engine *e,
						  bool online)
{
	if (online)
		return e->arrangement == GP_SIM_CLUSTER_EXCLUSIVE ? GP_SIM_CLUSTER_EMPTY
								  : GP_SIM_CLUSTER_NO_ONLINE;
	return e->arrangement == GP_SIM_CLUSTER_SHARE ? GP_SIM_CLUSTER_NO_OFFLINE
						      : GP_SIM_CLUSTER_OPEN;
}

void gp_sim_cluster_assign(struct gp_sim_cluster_engine *e, u32 gpu, u32 task, bool give)
{
	struct gp_sim_cluster_gpu *one = &e->gpus[gpu];
	u32 *place = e->cluster->jobs[task].online ? &one->online : &one->offline;

	gp_sim_cluster_settle_gpu(e, gpu);
	*place = give ? task : GP_SIM_CLUSTER_NONE;
	gp_sim_cluster_list_again(e, gpu / e->cluster->gpus);
}
