// SPDX-License-Identifier: MIT
/* off: no job yields. The hardware alone shares the device. */
#include "sched/state.h"

static u64 key(const struct gp_sched *s, const struct gp_sched_member *m, bool held)
{
	(void)s, (void)m, (void)held;
	return 0;
}

static bool yields(const struct gp_sched *s, const struct gp_sched_member *best,
		   const struct gp_sched_member *m)
{
	(void)s, (void)best, (void)m;
	return false;
}

static u64 returns(const struct gp_sched *s, const struct gp_sched_member *best,
		   const struct gp_sched_member *m)
{
	(void)s, (void)best, (void)m;
	return 0;
}

const struct gp_sched_policy gp_sched_policy_off = {
	.name = "off",
	.suspends = GP_SCHED_WHY_INVERSION,
	.resumes = GP_SCHED_WHY_CLEAR,
	.key = key,
	.yields = yields,
	.returns = returns,
};
