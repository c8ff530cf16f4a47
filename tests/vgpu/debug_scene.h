/* SPDX-License-Identifier: MIT */
/*
 * A target and a debugger (with a second thread), for the tests of DBG_TRAP.
 */
#ifndef GP_TEST_DEBUG_SCENE_H
#define GP_TEST_DEBUG_SCENE_H

#include "fake_server.h"

#define TARGET   100
#define DEBUGGER 200
#define THREAD_Y 201
#define OTHER    300

struct scene {
	struct fake_server *fake;
	struct gp_vgpu_process *target, *debugger;
};

static struct scene scene; /* rebuilt for every test */

static inline int start_with(u32 gpus, enum gp_vgpu_server_era era)
{
	scene.fake = fake_start(gpus, era, GP_COMPAT);
	scene.target = process_add(scene.fake, TARGET);
	scene.debugger = process_add(scene.fake, DEBUGGER);
	task_add(scene.fake, THREAD_Y, DEBUGGER, 0);
	return 0;
}

static inline int start(void **state)
{
	(void)state;
	return start_with(1, GP_ERA_6_12);
}

static inline int start_old(void **state)
{
	(void)state;
	return start_with(1, GP_ERA_6_5);
}

static inline int start_two(void **state)
{
	(void)state;
	return start_with(2, GP_ERA_6_12);
}

static inline int stop(void **state)
{
	(void)state;
	fake_stop(scene.fake);
	return 0;
}

/* Runtime on, n queues, traced and enabled, none of the queues new any more. */
static inline void attach(u32 queues)
{
	assert_int_equal(runtime_enable(scene.fake, scene.target, GP_KFD_RUNTIME_ENABLE), 0);
	for (u32 i = 0; i < queues; i++)
		assert_int_equal(create(scene.fake, scene.target), i);
	set_tracer(scene.fake, TARGET, DEBUGGER);
	assert_int_equal(enable(scene.fake, scene.debugger, TARGET), 0);
	assert_int_equal(snapshot(scene.fake, scene.debugger, TARGET, NEW_MASK), queues);
}

static inline s64 op_from(struct gp_vgpu_process *caller, pid_t tid, pid_t target, u32 op)
{
	struct gp_kfd_dbg_trap_args args = {.pid = (u32)target,
					    .op = op,
					    .queue_snapshot = {.num_queues = 8, .entry_size = 64}};

	return trap(scene.fake, caller, tid, &args, 0, NULL, 0);
}

#endif
