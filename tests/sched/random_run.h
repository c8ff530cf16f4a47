/* SPDX-License-Identifier: MIT */
/* One run of test_sched_random.c: the core, what its host remembers, and the dice. */
#ifndef GP_TESTS_RANDOM_RUN_H
#define GP_TESTS_RANDOM_RUN_H

#include "testlib.h"
#include "sched/state.h"

#define DEVICES   3
#define JOBS      12
#define PROCESSES 24
#define QUEUES    48
#define PENDING   64
#define STEPS     600

/* An operation that the host has not answered yet. */
struct pending {
	u64 token, at;
	int result;
};

struct host_job {
	bool used, absent, parked;
	u64 suspended_at; /* by the last action; GP_SCHED_NEVER: RESUME was the last */
	u64 lease;        /* until */
	u64 cause;        /* reason of the SUSPEND */
	u64 free_until;   /* it must not be held before, after a turn began */
	enum gp_sched_shield shield;
	u64 shield_from, shield_limit;
	u64 last_token;
};

struct run {
	u64 seed, dice, now, hash, events, late;
	struct gp_sched *sched;
	void *memory;
	struct gp_sched_config config;
	struct gp_sched_device_config device[DEVICES];
	struct host_job job[JOBS];
	u32 process[PROCESSES], processes, queue[QUEUES], queues;
	struct pending pending[PENDING];
	u32 pendings;
	u64 last_token, timer_at, starved_since[DEVICES];
	u32 faults; /* in 100 operations */
	bool trace;
};

#define NEED(run, condition)                                                                      \
	do {                                                                                      \
		if (!(condition))                                                                 \
			fail_msg("GP_SCHED_SEED=%llu at %llu ns, event %llu: %s",                 \
				 (unsigned long long)(run)->seed, (unsigned long long)(run)->now, \
				 (unsigned long long)(run)->events, #condition);                  \
	} while (0)

static inline u64 roll(struct run *run, u64 sides)
{
	run->dice = gp_mix(run->dice);
	return run->dice % sides;
}

static inline u64 roll_log(struct run *run, u32 bits)
{
	return roll(run, 1ull << (roll(run, bits) + 1));
}

static inline void mix(struct run *run, u64 value)
{
	run->hash = gp_mix(run->hash ^ value);
}

#endif
