// SPDX-License-Identifier: MIT
/* Any text is a scenario or a clear refusal; what is accepted runs, within its limit of events. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core.h"
#include "sim/cluster/engine.h"
#include "sim/engine.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* Small clusters run as well; the file of a trace is not opened. */
static void run_cluster(const char *text, size_t size)
{
	static struct gp_sim_cluster_result result;
	struct gp_sim_cluster_options options = {.max_events = 500, .check = true};
	struct gp_sim_cluster cluster;
	u64 jobs = 0;

	if (memmem(text, size, "[trace]", 7))
		return;
	gp_sim_cluster_init(&cluster);
	if (gp_sim_cluster_parse(&cluster, "fuzz", text, size, NULL) == 0 && cluster.nodes <= 64) {
		for (size_t i = 0; i < cluster.kind_count; i++)
			jobs += cluster.time_ns / GP_MAX(cluster.kinds[i].every_ns / 64, 1);
		if (jobs < 100000 && gp_sim_cluster_prepare(&cluster, "fuzz", NULL) == 0 &&
		    gp_sim_cluster_run(&cluster, size % GP_SIM_CLUSTER_ARRANGEMENTS, &options, NULL,
				       &result) == -EFAULT)
			abort();
	}
	gp_sim_cluster_free(&cluster);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct gp_sim_scenario scenario;
	struct gp_sim_options options = {.max_events = 2000,
					 .only_job = GP_SCHED_NONE,
					 .check = true};
	struct gp_sim_result result;

	if (gp_sim_cluster_is((const char *)data, size))
		run_cluster((const char *)data, size);
	if (gp_sim_scenario_init(&scenario, NULL))
		abort();
	if (gp_sim_scenario_parse(&scenario, "fuzz", (const char *)data, size, NULL)) {
		gp_sim_scenario_free(&scenario);
		return 0;
	}
	/* Memory, not time, is what many queues cost here. */
	u32 queues = 0;

	for (u32 i = 0; i < scenario.job_count; i++)
		queues += scenario.jobs[i].processes * scenario.jobs[i].queues;
	if (queues <= 64 && gp_sim_run(&scenario, &options, NULL, &result) == 0)
		gp_sim_result_free(&result);
	gp_sim_scenario_free(&scenario);
	return 0;
}
