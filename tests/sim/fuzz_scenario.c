// SPDX-License-Identifier: MIT
/* Any text is a scenario or a clear refusal; what is accepted runs, within its limit of events. */
#include <stdlib.h>

#include "sim/engine.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct gp_sim_scenario scenario;
	struct gp_sim_options options = {.max_events = 2000,
					 .only_job = GP_SCHED_NONE,
					 .check = true};
	struct gp_sim_result result;

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
