/* SPDX-License-Identifier: MIT */
/*
 * A small chip with round figures, driven in virtual time. Every step checks the invariants of the
 * model, and all actions are kept in order.
 *
 * 8 CUs in 2 XCCs. A kernel of rig_kernel() has one workgroup per CU (32 waves). Dispatch 100 ns,
 * completion 50 ns; unmap 1000 + 10 per queue, map 2000 + 20 per queue; save 300, restore 400, both
 * 1000 bytes per microsecond; one unit of grace is 1000 ns.
 */
#ifndef GP_TEST_MODEL_RIG_H
#define GP_TEST_MODEL_RIG_H

#include "testlib.h"
#include "model/state.h"

#define RIG_ACTIONS 16384

struct rig {
	struct gp_model *model;
	void *memory;
	struct gp_model_config config;
	u64 now;
	u32 process;
	u32 count;
	struct gp_model_action action[RIG_ACTIONS];
};

static inline struct gp_model_config rig_config(void)
{
	return (struct gp_model_config){
		.chip = {.xcc_count = 2,
			 .cu_per_xcc = 4,
			 .simd_per_cu = 4,
			 .waves_per_simd = 8,
			 .wave_size = 64,
			 .vgpr_per_simd = 512,
			 .lds_per_cu = 65536,
			 .slots = 24,
			 .vmids = 13,
			 .sdma_engines = 2,
			 .sdma_queues_per_engine = 8,
			 .quantum_ns = 100000,
			 .dispatch_ns = 100,
			 .complete_ns = 50,
			 .unmap_ns = 1000,
			 .unmap_queue_ns = 10,
			 .map_ns = 2000,
			 .map_queue_ns = 20,
			 .save_ns = 300,
			 .restore_ns = 400,
			 .save_bytes_per_us = 1000,
			 .restore_bytes_per_us = 1000,
			 .wave_fixed_bytes = 0,
			 .clock_khz = 1024000,
			 .sdma_bytes_per_us = 1000,
			 .sdma_packet_ns = 10},
		.max_processes = 64,
		.max_queues = 64,
		.max_work = 1024,
		.seed = 1,
	};
}

static inline struct rig *rig_new(const struct gp_model_config *config)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	size_t size = gp_model_memory(config);

	assert_non_null(rig);
	assert_true(size > 0);
	rig->memory = malloc(size);
	assert_non_null(rig->memory);
	/* The model must not count on zeroed memory. */
	memset(rig->memory, 0xa5, size);
	rig->config = *config;
	assert_int_equal(gp_model_init(&rig->model, rig->memory, size, config), 0);
	assert_int_equal(gp_model_process_add(rig->model, &rig->process), 0);
	return rig;
}

static inline struct rig *rig_default(void)
{
	struct gp_model_config config = rig_config();

	return rig_new(&config);
}

static inline void rig_free(struct rig *rig)
{
	free(rig->memory);
	free(rig);
}

static inline void rig_check(struct rig *rig)
{
	const char *broken = gp_model_check(rig->model);

	if (broken)
		fail_msg("at %llu: %s", (unsigned long long)rig->now, broken);
}

static inline void rig_take(struct rig *rig)
{
	struct gp_model_action action;

	while (gp_model_take(rig->model, &action)) {
		assert_true(rig->count < RIG_ACTIONS);
		if (rig->count)
			assert_true(action.at_ns >= rig->action[rig->count - 1].at_ns);
		rig->action[rig->count++] = action;
	}
}

/* Step by step to `now`. */
static inline void rig_until(struct rig *rig, u64 now)
{
	u64 next;

	while ((next = gp_model_next(rig->model)) <= now) {
		rig->now = GP_MAX(rig->now, next);
		gp_model_advance(rig->model, rig->now);
		rig_take(rig);
		rig_check(rig);
	}
	rig->now = now;
	gp_model_advance(rig->model, now);
	rig_take(rig);
	rig_check(rig);
}

/* Until nothing more will happen. */
static inline void rig_drain(struct rig *rig)
{
	u64 next;

	while ((next = gp_model_next(rig->model)) != GP_MODEL_NEVER)
		rig_until(rig, GP_MAX(rig->now, next));
}

static inline u32 rig_queue_of(struct rig *rig, u32 process, u32 priority)
{
	struct gp_model_queue_config config = {.priority = priority, .enabled = true};
	u32 queue;

	assert_int_equal(gp_model_queue_add(rig->model, process, &config, &queue), 0);
	return queue;
}

static inline u32 rig_queue(struct rig *rig, u32 priority)
{
	return rig_queue_of(rig, rig->process, priority);
}

static inline u32 rig_sdma(struct rig *rig, u32 engine)
{
	struct gp_model_queue_config config = {.type = GP_MODEL_SDMA,
					       .engine = engine,
					       .enabled = true};
	u32 queue;

	assert_int_equal(gp_model_queue_add(rig->model, rig->process, &config, &queue), 0);
	return queue;
}

static inline void rig_set(struct rig *rig, u32 queue, bool enabled, u32 priority, u64 mask)
{
	struct gp_model_queue_config config = {.priority = priority,
					       .enabled = enabled,
					       .cu_mask = {mask}};

	assert_int_equal(gp_model_queue_set(rig->model, queue, &config), 0);
}

static inline void rig_update(struct rig *rig, u32 grace, u64 tag)
{
	assert_int_equal(gp_model_runlist_update(rig->model, rig->now, grace, tag), 0);
	rig_check(rig);
}

/* The first action of a kind with a tag, or NULL. */
static inline const struct gp_model_action *rig_find(struct rig *rig,
						     enum gp_model_action_kind kind, u64 tag)
{
	for (u32 i = 0; i < rig->count; i++)
		if (rig->action[i].kind == kind && rig->action[i].tag == tag)
			return &rig->action[i];
	return NULL;
}

static inline u64 rig_at(struct rig *rig, enum gp_model_action_kind kind, u64 tag)
{
	const struct gp_model_action *action = rig_find(rig, kind, tag);

	if (!action)
		fail_msg("no action of kind %d with tag %llu", kind, (unsigned long long)tag);
	return action->at_ns;
}

/* Update and run until the new runlist is there. */
static inline void rig_map(struct rig *rig)
{
	static const u64 tag = 1000000;

	rig->count = 0;
	rig_update(rig, 0, tag);
	while (!rig_find(rig, GP_MODEL_MAPPED, tag))
		rig_until(rig, GP_MAX(rig->now, gp_model_next(rig->model)));
	rig->count = 0;
}

/* One workgroup per CU. */
static inline struct gp_model_work rig_kernel(u64 tag, u64 workgroups, u64 workgroup_ns)
{
	return (struct gp_model_work){.tag = tag,
				      .kernel = true,
				      .workgroups = workgroups,
				      .waves_per_workgroup = 32,
				      .vgprs = 8,
				      .workgroup_ns = workgroup_ns};
}

static inline void rig_submit(struct rig *rig, u32 queue, struct gp_model_work work)
{
	assert_int_equal(gp_model_submit(rig->model, rig->now, queue, &work), 0);
	rig_check(rig);
}

static inline struct gp_model_queue_state rig_state(struct rig *rig, u32 queue)
{
	struct gp_model_queue_state state;

	assert_int_equal(gp_model_queue_state(rig->model, queue, &state), 0);
	return state;
}

static inline struct gp_model_stats rig_stats(struct rig *rig)
{
	struct gp_model_stats stats;

	gp_model_stats(rig->model, &stats);
	return stats;
}

#endif
