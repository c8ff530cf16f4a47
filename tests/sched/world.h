/* SPDX-License-Identifier: MIT */
/*
 * A scheduler with a host of a few lines, for tests that read like sentences: jobs of one process
 * with one queue, time that passes, operations answered after `takes` (or by hand when that is
 * NEVER). Every action is kept; a test asks what was done since it last looked.
 */
#ifndef GP_TEST_SCHED_WORLD_H
#define GP_TEST_SCHED_WORLD_H

#include "testlib.h"
#include "sched/state.h"

#define US     1000ull
#define MS     1000000ull
#define S      1000000000ull
#define ALWAYS GP_SCHED_NEVER
#define LOG    65536
#define TOKENS 256 /* operations under way */

struct world {
	struct gp_sched *sched;
	void *memory;
	struct gp_sched_config config;
	struct gp_sched_device_config device;
	u64 now, takes, driver_ns; /* 0: as long as it takes */
	bool serial;               /* operations wait for each other */
	u64 last_due;
	struct gp_sched_action log[LOG];
	u32 logged, looked;
	u64 token[TOKENS], due[TOKENS];
	u32 tokens;
	u32 process[64], queue[64]; /* of job i, the first on device 0 */
	u64 ran[64];                /* device time while busy and not held, by this host's view */
	bool busy[64], held[64];
};

static inline void check(struct world *w)
{
	const char *broken = gp_sched_check(w->sched);

	if (broken)
		fail_msg("at %llu ns: %s", (unsigned long long)w->now, broken);
}

/* After every event: the actions are taken and done. */
static inline void done(struct world *w, int result)
{
	struct gp_sched_action action;

	assert_int_equal(result, 0);
	while (gp_sched_take(w->sched, &action)) {
		assert_true(w->logged < LOG);
		w->log[w->logged++] = action;
		if (action.kind == GP_SCHED_SUSPEND)
			w->held[action.job] = true;
		if (action.kind == GP_SCHED_RESUME)
			w->held[action.job] = false;
		if (action.token && w->takes != GP_SCHED_NEVER) {
			assert_true(w->tokens < TOKENS);
			w->last_due = (w->serial ? GP_MAX(w->now, w->last_due) : w->now) + w->takes;
			w->due[w->tokens] = w->last_due;
			w->token[w->tokens++] = action.token;
		}
	}
	check(w);
}

/* One device with everything that blurs a sentence switched off: a test asks for what it is about.
 */
static inline struct world *world(enum gp_sched_policy_id policy)
{
	struct world *w = calloc(1, sizeof(*w));
	size_t size;

	assert_non_null(w);
	gp_sched_defaults(&w->config);
	w->config.devices = 2;
	w->config.max_jobs = 64;
	w->config.max_processes = 64;
	w->config.max_queues = 128;
	size = gp_sched_memory(&w->config);
	w->memory = malloc(size);
	assert_non_null(w->memory);
	assert_int_equal(gp_sched_init(&w->sched, w->memory, size, &w->config), 0);
	gp_sched_device_defaults(&w->device);
	w->device.policy = policy;
	w->device.suspend_ns = w->device.resume_ns = 10 * US;
	w->device.min_run_ns = w->device.linger_ns = w->device.age_step_ns = 0;
	w->takes = 10 * US;
	done(w, gp_sched_device_set(w->sched, 0, 0, &w->device));
	return w;
}

static inline void end(struct world *w)
{
	free(w->memory);
	free(w);
}

/* The device's numbers were changed in w->device. */
static inline void reconfigure(struct world *w)
{
	done(w, gp_sched_device_set(w->sched, w->now, 0, &w->device));
	w->looked = w->logged;
}

static inline u32 job_like(struct world *w, const struct gp_sched_job_spec *spec)
{
	u32 job;

	done(w, gp_sched_job_add(w->sched, w->now, spec, &job));
	done(w, gp_sched_process_add(w->sched, w->now, job, &w->process[job]));
	done(w, gp_sched_queue_add(w->sched, w->now, w->process[job], 0, GP_SCHED_STREAM_NORMAL,
				   &w->queue[job]));
	w->ran[job] = 0;
	w->busy[job] = w->held[job] = false;
	return job;
}

static inline u32 job(struct world *w, u32 priority)
{
	struct gp_sched_job_spec spec = {.priority = priority};

	return job_like(w, &spec);
}

static inline void pass(struct world *w, u64 ns);

static inline void gets_work(struct world *w, u32 job)
{
	w->busy[job] = true;
	done(w, gp_sched_work(w->sched, w->now, w->queue[job], GP_SCHED_BUSY, GP_SCHED_UNKNOWN));
}

static inline void gets_work_of(struct world *w, u32 job, u64 needs)
{
	w->busy[job] = true;
	done(w, gp_sched_work(w->sched, w->now, w->queue[job], GP_SCHED_BUSY, needs));
}

static inline void drains(struct world *w, u32 job)
{
	w->busy[job] = false;
	done(w, gp_sched_work(w->sched, w->now, w->queue[job], GP_SCHED_DRAINED, GP_SCHED_UNKNOWN));
}

static inline void run_for(struct world *w, u64 until)
{
	for (u32 i = 0; i < 64; i++)
		if (w->busy[i] && !w->held[i])
			w->ran[i] += until - w->now;
	w->now = until;
}

/* Time goes by: timers are served and operations answered on the way. */
static inline void pass(struct world *w, u64 ns)
{
	u64 until = w->now + ns;

	for (;;) {
		u64 at = gp_sched_next(w->sched);
		u32 which = TOKENS;

		for (u32 i = 0; i < w->tokens; i++)
			if (w->due[i] <= at) {
				at = w->due[i];
				which = i;
			}
		if (at > until)
			break;
		run_for(w, GP_MAX(at, w->now));
		if (which < TOKENS) {
			u64 token = w->token[which];
			int result;

			w->due[which] = w->due[--w->tokens];
			w->token[which] = w->token[w->tokens];
			result = gp_sched_operation(w->sched, w->now, token, 0,
						    w->driver_ns ? w->driver_ns : GP_SCHED_UNKNOWN);
			done(w, result == -ESTALE ? 0 : result); /* overtaken by a later one */
		} else {
			done(w, gp_sched_timer(w->sched, w->now));
		}
	}
	run_for(w, until);
}

/* The next action of that kind about that job since the test last looked, or NULL. */
static inline struct gp_sched_action *seen(struct world *w, enum gp_sched_action_kind kind, u32 job)
{
	for (u32 i = w->looked; i < w->logged; i++)
		if (w->log[i].kind == kind && w->log[i].job == job) {
			w->looked = i + 1;
			return &w->log[i];
		}
	return NULL;
}

/* The same, because of that; the test has then looked at everything so far. */
static inline struct gp_sched_action *look(struct world *w, enum gp_sched_action_kind kind, u32 job,
					   enum gp_sched_why why)
{
	struct gp_sched_action *found = NULL;

	for (u32 i = w->looked; i < w->logged && !found; i++)
		if (w->log[i].kind == kind && w->log[i].job == job && w->log[i].reason.why == why)
			found = &w->log[i];
	w->looked = w->logged;
	return found;
}

#define is_suspended(w, job, why) assert_non_null(look(w, GP_SCHED_SUSPEND, job, why))
#define is_resumed(w, job, why)   assert_non_null(look(w, GP_SCHED_RESUME, job, why))
#define is_noted(w, job, why)     assert_non_null(look(w, GP_SCHED_NOTE, job, why))
#define runs(w, job)              assert_int_equal(run_of(w, job), GP_SCHED_RUNNING)
#define is_held(w, job)           assert_true(gp_job_held(gp_sched_job((w)->sched, job)))
#define is_not_held(w, job)       assert_false(gp_job_held(gp_sched_job((w)->sched, job)))

static inline enum gp_sched_run run_of(struct world *w, u32 job)
{
	struct gp_sched_job_state state;

	assert_int_equal(gp_sched_job_state(w->sched, job, &state), 0);
	return state.run;
}

/* Nothing but timers and renewals since the test last looked. */
static inline void nothing_happens(struct world *w)
{
	for (u32 i = w->looked; i < w->logged; i++)
		if (w->log[i].kind != GP_SCHED_TIMER && w->log[i].kind != GP_SCHED_RENEW)
			fail_msg("at %llu ns: job %u: %s", (unsigned long long)w->now,
				 w->log[i].job, gp_sched_why_name(w->log[i].reason.why));
	w->looked = w->logged;
}

#endif
