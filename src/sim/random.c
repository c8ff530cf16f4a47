// SPDX-License-Identifier: MIT
/* Scenarios made up from a seed, for the fault tests: a few jobs of every kind on a small GPU, with
 * every fault possible. */
#include <stdio.h>
#include <string.h>

#include "base/core.h"
#include "sim/scenario.h"

struct dice {
	u64 state;
};

static u64 roll(struct dice *dice, u64 below)
{
	dice->state = gp_mix(dice->state);
	return dice->state % below;
}

static u64 pick(struct dice *dice, const u64 *values, size_t count)
{
	return values[roll(dice, count)];
}

static void random_job(struct dice *dice, struct gp_sim_job *job, u32 index, u32 gpus)
{
	static const u64 kernels[] = {20000, 100000, 500000, 2000000, 20000000};

	*job = (struct gp_sim_job){
		.spec = {.class = (enum gp_sched_class)roll(dice, 3),
			 .priority = roll(dice, 2) ? (u32)roll(dice, 3000) : GP_SCHED_NONE,
			 .weight = (u32)roll(dice, 300)},
		.stream = (enum gp_sched_stream)roll(dice, 3),
		.processes = 1 + (u32)roll(dice, 3),
		.queues = 1 + (u32)roll(dice, 3),
		.gpu = roll(dice, 3) ? (u32)roll(dice, gpus) : GP_SIM_ALL_GPUS,
		.arrival = (enum gp_sim_arrival)roll(dice, 3),
		.every_ns = 200000 + roll(dice, 20000000),
		.depth = 1 + (u32)roll(dice, 2),
		.think_ns = roll(dice, 2) * roll(dice, 3000000),
		.kernels = 1 + (u32)roll(dice, 6),
		.kernel_ns = pick(dice, kernels, GP_ARRAY_SIZE(kernels)),
		.rounds = 1,
		.vgprs = 64,
		.gap_ns = roll(dice, 3) ? 0 : roll(dice, 200000),
		.hint_ns = roll(dice, 4) ? 0 : roll(dice, 2000000),
		.start_ns = roll(dice, 3) ? 0 : roll(dice, 100000000),
	};
	snprintf(job->name, sizeof(job->name), "job%u", index);
	if (roll(dice, 4) == 0) {
		job->spec.deadline_ns = GP_NS_PER_MS + roll(dice, 50000000);
		job->spec.budget_ns = 1 + job->spec.deadline_ns / (2 + roll(dice, 8));
	}
	if (roll(dice, 5) == 0)
		job->spec.max_suspend_ns = 10000000 + roll(dice, GP_NS_PER_S);
}

/* A recording instead of arrivals: bursts on several queues, some of them close together. */
static void random_work(struct dice *dice, struct gp_sim_scenario *s, u32 index)
{
	struct gp_sim_job *job = &s->jobs[index];
	u32 requests = 1 + (u32)roll(dice, 60);
	u64 at = roll(dice, 5000000);

	job->processes = 1;
	job->arrival = roll(dice, 2) ? GP_SIM_RECORDED : GP_SIM_RECORDED_CLOSED;
	for (u32 i = 0; i < requests; i++) {
		struct gp_sim_kernel kernel = {.job = index,
					       .at_ns = at,
					       .queue = (u32)roll(dice, job->queues),
					       .workgroups = (u32)roll(dice, 12)};

		for (u32 left = 1 + (u32)roll(dice, 5); left; left--) {
			kernel.kernel_ns = 1 + roll(dice, 3000000);
			/* Without memory the recording is shorter. */
			if (gp_sim_scenario_add_kernel(s, &kernel))
				return;
			kernel.more = true;
		}
		at += roll(dice, 20000000);
	}
}

/*
 * For shares: long runs of jobs that nearly always have work, below others that have some, with few
 * priorities and few events. Some have more jobs than the GPU has VMIDs.
 */
static void random_shares(struct dice *dice, struct gp_sim_scenario *s)
{
	static const u64 kernels[] = {500000, 2000000, 20000000},
			 loads[] = {5, 20, 50, 80, 95, 120};
	static const u64 levels[] = {500, 500, 500, 600, 1000, 2000}, chances[] = {0, 0, 0, 20};
	u32 batch = 1 + (u32)roll(dice, roll(dice, 4) ? 6 : 80);
	u32 servers = (u32)roll(dice, roll(dice, 4) ? 5 : 24);
	u64 load = pick(dice, loads, GP_ARRAY_SIZE(loads));

	s->time_ns = 6000000000ull + roll(dice, 5000000000ull);
	s->gpus = 1;
	s->device.policy = GP_SCHED_PRIORITY;
	for (u32 i = 0; i < batch + servers; i++) {
		struct gp_sim_job *job = gp_sim_scenario_add_job(s);
		bool server = i >= batch;

		if (!job)
			return;
		snprintf(job->name, sizeof(job->name), "job%u", i);
		job->spec.priority = server ? 2000 - 100 * (u32)roll(dice, 3)
					    : (u32)pick(dice, levels, GP_ARRAY_SIZE(levels));
		job->kernels = 1 + (u32)roll(dice, 4);
		job->kernel_ns = pick(dice, kernels, GP_ARRAY_SIZE(kernels));
		job->arrival = server ? GP_SIM_POISSON : GP_SIM_CLOSED;
		job->depth = 1 + (u32)roll(dice, 2);
		job->think_ns = server ? 0 : roll(dice, 3) / 2 * roll(dice, 3000000);
		if (server)
			job->every_ns =
				job->kernels * job->kernel_ns * GP_MAX(servers, 1) * 100 / load;
	}
	s->faults = (struct gp_sim_faults){
		.fail = (u32)pick(dice, chances, GP_ARRAY_SIZE(chances)),
		.hang = (u32)pick(dice, chances, GP_ARRAY_SIZE(chances)),
		.late = (u32)pick(dice, chances, GP_ARRAY_SIZE(chances)),
		.stop = (u32)roll(dice, 2) * 200,
	};
}

void gp_sim_scenario_random(struct gp_sim_scenario *s, u64 seed)
{
	static const u64 chances[] = {0, 0, 5, 50, 300};
	struct dice dice = {gp_mix(seed)};

	gp_sim_scenario_free(s);
	s->seed = seed;
	s->time_ns = 500000000 + roll(&dice, 3000000000ull);
	s->gpus = 1 + (u32)roll(&dice, 3);
	/* Eight CUs: the same decisions, far fewer events in the model. */
	s->chip.model.xcc_count = 1;
	s->chip.model.cu_per_xcc = 8;
	s->chip.model.vmids = 2 + (u32)roll(&dice, 12);
	s->notice_ns = roll(&dice, 50000);
	s->call_ns = roll(&dice, 100000);
	if (roll(&dice, 4) == 0) {
		random_shares(&dice, s);
		return;
	}
	s->device.policy = (enum gp_sched_policy_id)roll(&dice, GP_SCHED_POLICIES);
	for (u32 i = 0, jobs = 2 + (u32)roll(&dice, 7); i < jobs; i++) {
		struct gp_sim_job *job = gp_sim_scenario_add_job(s);

		/* Without memory there are fewer jobs. */
		if (job)
			random_job(&dice, job, i, s->gpus);
	}
	for (u32 i = 0; i < s->job_count; i++)
		if (roll(&dice, 6) == 0)
			random_work(&dice, s, i);
	s->faults = (struct gp_sim_faults){
		.fail = (u32)pick(&dice, chances, GP_ARRAY_SIZE(chances)),
		.hang = (u32)pick(&dice, chances, GP_ARRAY_SIZE(chances)),
		.late = (u32)pick(&dice, chances, GP_ARRAY_SIZE(chances)),
		.twice = (u32)pick(&dice, chances, GP_ARRAY_SIZE(chances)),
		/* In thousandths per second, so up to several in a run. */
		.kill = (u32)roll(&dice, 2) * 1000,
		.restart = (u32)roll(&dice, 2) * 500,
		.jump = roll(&dice, 4) ? 0 : 1000,
		.destroy = (u32)roll(&dice, 2) * 1000,
		.stop = (u32)roll(&dice, 2) * 4000,
	};
	if (roll(&dice, 4) == 0)
		s->faults.doubt = 1 + (u32)roll(&dice, 1000);
}
