// SPDX-License-Identifier: MIT
/* What must hold after every event of a cluster: see state.h. */
#include <errno.h>

#include "base/i18n.h"
#include "sim/cluster/state.h"

static int fails(const struct gp_sim_cluster_engine *e, struct gp_diag *diag, const char *what)
{
	return gp_fail(
		diag, -EFAULT,
		"an invariant of the cluster does not hold (%s, event %llu): %s; this is a bug of "
		"gpreempt, please report it with the scenario",
		gp_sim_cluster_name(e->arrangement), (unsigned long long)e->out->events, what);
}

/* Every nanosecond of every GPU has exactly one use. */
static bool time_adds_up(struct gp_sim_cluster_engine *e)
{
	u32 gpus = e->cluster->nodes * e->cluster->gpus;
	gp_sim_gpu_time sum = 0;

	for (u32 i = 0; i < gpus; i++)
		gp_sim_cluster_settle_gpu(e, i);
	for (int use = 0; use < GP_SIM_CLUSTER_USES; use++)
		sum += e->out->use[use];
	return sum == (gp_sim_gpu_time)e->now * GP_SIM_CLUSTER_FULL * gpus;
}

/* The GPU time of offline work is what the jobs have behind them: nothing is lost, or done twice.
 */
static bool work_adds_up(struct gp_sim_cluster_engine *e)
{
	gp_sim_gpu_time sum = 0;

	for (u32 i = 0; i < e->next; i++) {
		const struct gp_sim_cluster_job *job = &e->cluster->jobs[i];
		struct gp_sim_cluster_task *task = &e->tasks[i];

		if (job->online)
			continue;
		if (task->state == GP_SIM_CLUSTER_RUNS)
			gp_sim_cluster_settle_task(e, i);
		if (task->state == GP_SIM_CLUSTER_DONE && task->left)
			return false;
		sum += (gp_sim_gpu_time)(job->run_ns * GP_SIM_CLUSTER_FULL - task->left) *
		       gp_sim_cluster_size(job);
	}
	return sum == e->out->use[GP_SIM_CLUSTER_OFFLINE];
}

/* A task with GPUs is on each of them, and no GPU has another. */
static bool places_agree(const struct gp_sim_cluster_engine *e)
{
	u64 given = 0, taken = 0;

	for (u32 i = 0; i < e->next; i++) {
		const struct gp_sim_cluster_job *job = &e->cluster->jobs[i];
		const struct gp_sim_cluster_task *task = &e->tasks[i];
		bool has =
			task->state == GP_SIM_CLUSTER_STARTS || task->state == GP_SIM_CLUSTER_RUNS;

		if (has != !!task->gpus)
			return false;
		for (u32 g = 0; has && g < gp_sim_cluster_size(job); g++) {
			const struct gp_sim_cluster_gpu *gpu = &e->gpus[task->gpus[g]];

			if ((job->online ? gpu->online : gpu->offline) != i)
				return false;
			given++;
		}
	}
	for (u32 i = 0; i < e->cluster->nodes * e->cluster->gpus; i++) {
		bool both = e->gpus[i].online != GP_SIM_CLUSTER_NONE &&
			    e->gpus[i].offline != GP_SIM_CLUSTER_NONE;

		taken += (e->gpus[i].online != GP_SIM_CLUSTER_NONE) +
			 (e->gpus[i].offline != GP_SIM_CLUSTER_NONE);
		if (both && e->arrangement != GP_SIM_CLUSTER_SHARE)
			return false;
	}
	return given == taken;
}

static bool jobs_add_up(const struct gp_sim_cluster_engine *e)
{
	u64 count[GP_SIM_CLUSTER_DONE + 1] = {0}, queued = e->kept_tasks;

	for (u32 i = 0; i < e->next; i++)
		count[e->tasks[i].state]++;
	for (u32 i = 0; i < e->queue_count; i++)
		queued += e->queues[i].waiting.count;
	return !count[GP_SIM_CLUSTER_TO_COME] && queued == count[GP_SIM_CLUSTER_WAITS] &&
	       count[GP_SIM_CLUSTER_DONE] == e->out->online.completed + e->out->offline.completed &&
	       e->out->online.arrived + e->out->offline.arrived == e->next;
}

int gp_sim_cluster_check(struct gp_sim_cluster_engine *e, struct gp_diag *diag)
{
	if (!time_adds_up(e))
		return fails(e, diag, _("GPU time is missing or counted twice"));
	if (!work_adds_up(e))
		return fails(e, diag,
			     _("work of a job was lost or done twice: this is a bug in the "
			       "scheduler; report the seed"));
	if (!places_agree(e))
		return fails(e, diag,
			     _("a job and its GPUs do not agree about its state: this is a bug; "
			       "report the seed"));
	if (!jobs_add_up(e))
		return fails(e, diag,
			     _("a job is missing from the scheduler's list: this is a bug; report "
			       "the seed"));
	return 0;
}
