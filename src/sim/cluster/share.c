// SPDX-License-Identifier: MIT
/* A GPU that a service and a batch job share: see share.h. */
#include "sim/cluster/share.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/core.h"
#include "base/i18n.h"
#include "sim/engine.h"

#define TIME_NS    (10 * GP_NS_PER_S)
#define REQUEST_NS (2 * GP_NS_PER_MS)
#define KERNELS    4
#define BATCH_NS   (20 * GP_NS_PER_MS)

static int add(struct gp_sim_scenario *s, bool server, u32 load)
{
	struct gp_sim_job *job = gp_sim_scenario_add_job(s);

	if (!job)
		return -ENOMEM;
	snprintf(job->name, sizeof(job->name), "%s", server ? "server" : "batch");
	job->spec.class = server ? GP_SCHED_CLASS_ONLINE : GP_SCHED_CLASS_OFFLINE;
	job->arrival = server ? GP_SIM_POISSON : GP_SIM_CLOSED;
	job->every_ns = REQUEST_NS * 100 / load;
	job->kernels = server ? KERNELS : 1;
	job->kernel_ns = server ? REQUEST_NS / KERNELS : BATCH_NS;
	job->depth = server ? 1 : 2;
	return 0;
}

/* The p99 of requests, and what the batch job got of the time that they left, in thousandths. */
static int run(const struct gp_sim_scenario *s, bool alone, struct gp_diag *diag, u64 *p99_ns,
	       u32 *share)
{
	struct gp_sim_options options = {.only_job = alone ? 0 : GP_SCHED_NONE};
	u64 all = s->time_ns * s->chip.model.xcc_count * s->chip.model.cu_per_xcc;
	struct gp_sim_result result;
	int error = gp_sim_run(s, &options, diag, &result);

	if (error)
		return error;
	*p99_ns = gp_histogram_at(&result.jobs[0].latency, 990);
	if (!alone)
		*share = (u32)gp_scale(result.jobs[1].cu_ns, GP_SIM_CLUSTER_FULL,
				       GP_MAX(all - result.jobs[0].cu_ns, 1) / 1024) /
			 1024;
	gp_sim_result_free(&result);
	return 0;
}

static int run_load(struct gp_sim_cluster *cluster, u32 tenths, struct gp_diag *diag)
{
	struct gp_sim_scenario s = {0};
	u64 alone_ns = 0, beside_ns = 0;
	u32 share = 0;
	int error = gp_sim_scenario_init(&s, diag);

	if (!error)
		error = gp_gpufile_load(cluster->chip, diag, &s.chip);
	s.seed = 1;
	s.time_ns = TIME_NS;
	if (!error)
		error = add(&s, true, tenths * 10);
	if (!error)
		error = add(&s, false, tenths * 10);
	if (!error)
		error = run(&s, true, diag, &alone_ns, &share);
	if (!error)
		error = run(&s, false, diag, &beside_ns, &share);
	gp_sim_scenario_free(&s);
	cluster->share[tenths] = share * (10 - tenths) / 10;
	cluster->slowdown[tenths] =
		alone_ns ? (u32)gp_scale(beside_ns, GP_SIM_CLUSTER_FULL, alone_ns) : 0;
	return error;
}

int gp_sim_cluster_share(struct gp_sim_cluster *cluster, struct gp_diag *diag)
{
	int error = 0;

	if (cluster->share_given)
		return 0;
	cluster->share[0] = GP_SIM_CLUSTER_FULL;
	cluster->share[GP_SIM_CLUSTER_LOADS - 1] = 0;
	for (u32 i = 1; !error && i < GP_SIM_CLUSTER_LOADS - 1; i++)
		error = run_load(cluster, i, diag);
	return error;
}
