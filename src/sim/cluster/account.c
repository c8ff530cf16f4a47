// SPDX-License-Identifier: MIT
/* The time of the GPUs: what it is used for, and how far jobs get with it. See state.h. */
#include "sim/cluster/state.h"

void gp_sim_cluster_settle_gpu(struct gp_sim_cluster_engine *e, u32 gpu)
{
	struct gp_sim_cluster_gpu *one = &e->gpus[gpu];
	u64 passed = e->now - one->settled_ns;

	for (int use = 0; passed && use < GP_SIM_CLUSTER_USES; use++)
		e->out->use[use] += (gp_sim_gpu_time)passed * one->split[use];
	one->settled_ns = e->now;
}

void gp_sim_cluster_settle_task(struct gp_sim_cluster_engine *e, u32 index)
{
	struct gp_sim_cluster_task *task = &e->tasks[index];
	u64 done = (e->now - task->settled_ns) * task->rate;

	task->settled_ns = e->now;
	if (done > task->left) {
		/* Its end was rounded up to a nanosecond: that part did no work. */
		gp_sim_gpu_time more = (gp_sim_gpu_time)(done - task->left) *
				       gp_sim_cluster_size(&e->cluster->jobs[index]);

		e->out->use[GP_SIM_CLUSTER_OFFLINE] -= more;
		e->out->use[GP_SIM_CLUSTER_SWITCHING] += more;
		done = task->left;
	}
	task->left -= done;
}

/* What an offline job could get of a GPU. */
static u32 left_on(const struct gp_sim_cluster_engine *e, const struct gp_sim_cluster_gpu *gpu)
{
	if (gpu->online == GP_SIM_CLUSTER_NONE ||
	    e->tasks[gpu->online].state != GP_SIM_CLUSTER_RUNS)
		return GP_SIM_CLUSTER_FULL;
	return gp_sim_cluster_left(e->cluster, e->cluster->jobs[gpu->online].busy);
}

static bool is_starting(const struct gp_sim_cluster_engine *e, u32 task)
{
	return task != GP_SIM_CLUSTER_NONE && e->tasks[task].state == GP_SIM_CLUSTER_STARTS;
}

void gp_sim_cluster_split(struct gp_sim_cluster_engine *e, u32 index)
{
	struct gp_sim_cluster_gpu *gpu = &e->gpus[index];
	u32 busy = 0, left = left_on(e, gpu), rate;

	gp_sim_cluster_settle_gpu(e, index);
	memset(gpu->split, 0, sizeof(gpu->split));
	if (gpu->online != GP_SIM_CLUSTER_NONE && !is_starting(e, gpu->online))
		busy = e->cluster->jobs[gpu->online].busy;
	gpu->split[GP_SIM_CLUSTER_ONLINE] = (u16)busy;
	if (is_starting(e, gpu->online)) {
		gpu->split[GP_SIM_CLUSTER_RESTART] = GP_SIM_CLUSTER_FULL;
	} else if (is_starting(e, gpu->offline)) {
		gpu->split[GP_SIM_CLUSTER_RESTART] = (u16)(GP_SIM_CLUSTER_FULL - busy);
	} else if (gpu->offline != GP_SIM_CLUSTER_NONE) {
		rate = e->tasks[gpu->offline].rate;
		gpu->split[GP_SIM_CLUSTER_OFFLINE] = (u16)rate;
		gpu->split[GP_SIM_CLUSTER_STALLED] = (u16)(left - rate);
		gpu->split[GP_SIM_CLUSTER_SWITCHING] = (u16)(GP_SIM_CLUSTER_FULL - busy - left);
	} else if (gpu->online != GP_SIM_CLUSTER_NONE) {
		gpu->split[GP_SIM_CLUSTER_RESERVED] = (u16)(GP_SIM_CLUSTER_FULL - busy);
	} else {
		gpu->split[GP_SIM_CLUSTER_FREE] = GP_SIM_CLUSTER_FULL;
	}
}

void gp_sim_cluster_update(struct gp_sim_cluster_engine *e, u32 index)
{
	struct gp_sim_cluster_task *task = &e->tasks[index];
	u32 size = gp_sim_cluster_size(&e->cluster->jobs[index]), rate = GP_SIM_CLUSTER_FULL;
	bool runs = task->state == GP_SIM_CLUSTER_RUNS;

	/* A gang is as fast as its slowest GPU. */
	for (u32 i = 0; i < size && runs; i++)
		rate = GP_MIN(rate, left_on(e, &e->gpus[task->gpus[i]]));
	if (runs && rate != task->rate) {
		gp_sim_cluster_settle_task(e, index);
		task->rate = rate;
		task->turn++;
		if (rate)
			gp_sim_cluster_event(e, e->now + gp_divide_up(task->left, rate), index);
	}
	for (u32 i = 0; i < size; i++)
		gp_sim_cluster_split(e, task->gpus[i]);
}

void gp_sim_cluster_lose(struct gp_sim_cluster_engine *e, u32 index)
{
	const struct gp_sim_cluster_job *job = &e->cluster->jobs[index];
	struct gp_sim_cluster_task *task = &e->tasks[index];
	u64 all = job->run_ns * GP_SIM_CLUSTER_FULL, done = all - task->left;
	u64 step = job->checkpoint_ns * GP_SIM_CLUSTER_FULL, kept = step ? done - done % step : 0;
	gp_sim_gpu_time lost = (gp_sim_gpu_time)(done - kept) * gp_sim_cluster_size(job);

	e->out->use[GP_SIM_CLUSTER_OFFLINE] -= lost;
	e->out->use[GP_SIM_CLUSTER_LOST] += lost;
	task->left = all - kept;
}
