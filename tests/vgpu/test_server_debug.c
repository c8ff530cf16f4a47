// SPDX-License-Identifier: MIT
/* DBG_TRAP: who may, the session, exceptions, snapshots, settings. */
#include <poll.h>

#include "debug_scene.h"

/* ---- permission ---- */

static void targets_that_are_not_there_are_esrch(void **state)
{
	struct fake_server *fake = scene.fake;

	(void)state;
	assert_int_equal(enable(fake, scene.debugger, 999), -ESRCH);
	assert_int_equal(enable(fake, scene.debugger, -5), -ESRCH);
	task_add(fake, 2, 2, 0);
	fake->tasks[fake->task_count - 1].kernel = true;
	assert_int_equal(enable(fake, scene.debugger, 2), -ESRCH);
	task_add(fake, OTHER, OTHER, 0); /* never opened /dev/kfd, not traced */
	assert_int_equal(enable(fake, scene.debugger, OTHER), -ESRCH);
	assert_null(gp_vgpu_process_find(&fake->server, OTHER));
	process_end(fake, scene.target);
	assert_int_equal(op_from(scene.debugger, 0, TARGET, GP_KFD_DBG_DISABLE), -ESRCH);
}

static void a_process_may_debug_itself_without_ptrace(void **state)
{
	struct gp_kfd_dbg_trap_args args = {.pid = TARGET,
					    .op = GP_KFD_DBG_ENABLE,
					    .enable = {.rinfo_size = 16}};
	u32 ids[] = {0};

	(void)state;
	assert_int_equal(op_from(scene.target, 0, TARGET, GP_KFD_DBG_DISABLE), -EINVAL);
	assert_int_equal(enable_from(scene.fake, scene.target, 0, TARGET, 0, -1), -EBADF);
	/* NULL and size 0 are fine; the size comes back. */
	args.enable.rinfo_size = 0;
	assert_int_equal(run(scene.fake, &(struct call){.process = scene.target,
							.nr = _IOC_NR(GP_KFD_IOC_DBG_TRAP),
							.flags = GP_VGPU_NULL_ARRAY,
							.args = &args,
							.args_size = sizeof(args),
							.fd = dup(2)}),
			 0);
	assert_int_equal(args.enable.rinfo_size, 16);
	assert_int_equal(enable(scene.fake, scene.target, TARGET), -EALREADY);
	assert_int_equal(suspend(scene.fake, scene.target, TARGET, ids, 1), -EPERM);
	assert_int_equal(resume(scene.fake, scene.target, TARGET, ids, 1), -EPERM);
	assert_int_equal(op_from(scene.target, 0, TARGET, GP_KFD_DBG_GET_QUEUE_SNAPSHOT), 0);
	assert_int_equal(op_from(scene.target, 0, TARGET, 99), -EINVAL);
	assert_int_equal(op_from(scene.target, 0, TARGET, GP_KFD_DBG_DISABLE), 0);
	assert_int_equal(op_from(scene.target, 0, TARGET, GP_KFD_DBG_DISABLE), -EINVAL);
}

static void a_bad_rinfo_pointer_undoes_enable(void **state)
{
	struct gp_kfd_dbg_trap_args args = {.pid = TARGET,
					    .op = GP_KFD_DBG_ENABLE,
					    .enable = {.rinfo_size = 16}};

	(void)state;
	assert_int_equal(run(scene.fake, &(struct call){.process = scene.target,
							.nr = _IOC_NR(GP_KFD_IOC_DBG_TRAP),
							.flags = GP_VGPU_BAD_ARRAY,
							.args = &args,
							.args_size = sizeof(args),
							.fd = dup(2)}),
			 -EFAULT);
	assert_int_equal(op_from(scene.target, 0, TARGET, GP_KFD_DBG_DISABLE), -EINVAL);
}

static void enable_tells_the_runtime_state(void **state)
{
	const struct gp_kfd_runtime_info *info;

	(void)state;
	runtime_enable(scene.fake, scene.target, GP_KFD_RUNTIME_ENABLE | GP_KFD_RUNTIME_TTMP_SAVE);
	assert_int_equal(enable(scene.fake, scene.target, TARGET), 0);
	info = (const void *)answer_of(scene.fake, scene.fake->sequence)->payload;
	assert_int_equal(answer_of(scene.fake, scene.fake->sequence)->payload_bytes, 16);
	assert_int_equal(info->runtime_state, GP_KFD_RUNTIME_ENABLED);
	assert_int_equal(info->r_debug, 0x1234);
	assert_int_equal(info->ttmp_setup, 1);
}

static void another_process_needs_ptrace_before_anything_else_is_looked_at(void **state)
{
	static const u32 ops[] = {GP_KFD_DBG_GET_QUEUE_SNAPSHOT, GP_KFD_DBG_RESUME_QUEUES,
				  GP_KFD_DBG_DISABLE};

	(void)state;
	assert_int_equal(enable(scene.fake, scene.debugger, TARGET), -EPERM);
	for (u32 i = 0; i < GP_ARRAY_SIZE(ops); i++)
		assert_int_equal(op_from(scene.debugger, 0, TARGET, ops[i]), -EPERM);
	set_tracer(scene.fake, TARGET, DEBUGGER);
	assert_int_equal(op_from(scene.debugger, 0, TARGET, GP_KFD_DBG_GET_QUEUE_SNAPSHOT),
			 -EINVAL);
	assert_int_equal(op_from(scene.debugger, 0, TARGET, GP_KFD_DBG_SUSPEND_QUEUES), -EINVAL);
}

static void the_tracing_thread_itself_must_enable(void **state)
{
	(void)state;
	set_tracer(scene.fake, TARGET, THREAD_Y);
	assert_int_equal(enable(scene.fake, scene.debugger, TARGET), -EPERM);
	set_tracer(scene.fake, TARGET, DEBUGGER);
	assert_int_equal(enable_from(scene.fake, scene.debugger, THREAD_Y, TARGET, 0, dup(2)),
			 -EPERM);
	/* A failed one by the tracer makes it the debugger: then any thread may. */
	assert_int_equal(enable_from(scene.fake, scene.debugger, 0, TARGET, 0, -1), -EBADF);
	assert_int_equal(enable_from(scene.fake, scene.debugger, THREAD_Y, TARGET, 0, dup(2)), 0);
	assert_int_equal(enable(scene.fake, scene.debugger, TARGET), -EALREADY);
}

static void a_thread_id_of_another_process_is_not_believed(void **state)
{
	struct gp_vgpu_process *thief = process_add(scene.fake, OTHER);

	(void)state;
	set_tracer(scene.fake, TARGET, DEBUGGER);
	assert_int_equal(enable_from(scene.fake, thief, DEBUGGER, TARGET, 0, dup(2)), -EPERM);
}

static void only_the_lead_thread_counts(void **state)
{
	(void)state;
	task_add(scene.fake, 101, TARGET, DEBUGGER);
	assert_int_equal(enable(scene.fake, scene.debugger, 101), -EPERM);
	set_tracer(scene.fake, TARGET, DEBUGGER);
	assert_int_equal(enable(scene.fake, scene.debugger, 101), 0);
}

static void after_enable_any_thread_may_and_detaching_changes_nothing(void **state)
{
	u32 ids[] = {0, 1};

	(void)state;
	attach(2);
	set_tracer(scene.fake, TARGET, 0);
	assert_int_equal(op_from(scene.debugger, THREAD_Y, TARGET, GP_KFD_DBG_GET_QUEUE_SNAPSHOT),
			 0);
	assert_int_equal(suspend(scene.fake, scene.debugger, TARGET, ids, 2), 2);
	assert_int_equal(resume(scene.fake, scene.debugger, TARGET, ids, 2), 2);
	assert_int_equal(op_from(scene.debugger, THREAD_Y, TARGET, GP_KFD_DBG_DISABLE), 0);
	assert_int_equal(op_from(scene.debugger, 0, TARGET, GP_KFD_DBG_GET_QUEUE_SNAPSHOT), -EPERM);
	assert_int_equal(enable(scene.fake, scene.debugger, TARGET), -EPERM);
}

static void before_the_fix_every_call_needs_ptrace_but_disable_needs_nothing(void **state)
{
	struct gp_vgpu_process *anybody = process_add(scene.fake, OTHER);
	u32 ids[] = {0};

	(void)state;
	attach(1);
	assert_int_equal(op_from(scene.debugger, THREAD_Y, TARGET, GP_KFD_DBG_GET_QUEUE_SNAPSHOT),
			 -EPERM);
	assert_int_equal(suspend(scene.fake, scene.debugger, TARGET, ids, 1), 1);
	set_tracer(scene.fake, TARGET, 0);
	assert_int_equal(resume(scene.fake, scene.debugger, TARGET, ids, 1), -EPERM);
	assert_int_equal(op_from(anybody, 0, TARGET, GP_KFD_DBG_DISABLE), 0);
	assert_false(gp_vgpu_queue(scene.target, 0)->suspended);
}

static void enable_makes_a_process_of_one_that_never_opened_kfd(void **state)
{
	struct gp_vgpu_process *made;

	(void)state;
	task_add(scene.fake, OTHER, OTHER, DEBUGGER);
	assert_int_equal(enable(scene.fake, scene.debugger, OTHER), 0);
	made = gp_vgpu_process_find(&scene.fake->server, OTHER);
	assert_non_null(made);
	assert_true(made->debug.enabled);
	assert_int_equal(made->runtime_state, GP_KFD_RUNTIME_DISABLED);
}

static void a_second_debugger_steals_the_session(void **state)
{
	struct gp_vgpu_process *thief = process_add(scene.fake, OTHER);
	u32 ids[] = {0, 1};

	(void)state;
	attach(2);
	suspend(scene.fake, scene.debugger, TARGET, ids, 2);
	assert_int_equal(enable(scene.fake, thief, TARGET), -EPERM);
	set_tracer(scene.fake, TARGET, OTHER);
	assert_int_equal(op_from(thief, 0, TARGET, GP_KFD_DBG_GET_QUEUE_SNAPSHOT), 0);
	assert_int_equal(enable(scene.fake, thief, TARGET), -EALREADY);
	set_tracer(scene.fake, TARGET, 0);
	assert_int_equal(op_from(thief, 0, TARGET, GP_KFD_DBG_GET_QUEUE_SNAPSHOT), 0);
	assert_int_equal(resume(scene.fake, scene.debugger, TARGET, ids, 2), -EPERM);
	/* Neither's death resumes anything. */
	process_end(scene.fake, thief);
	pass(scene.fake, MS);
	assert_true(gp_vgpu_queue(scene.target, 0)->suspended);
	process_end(scene.fake, scene.debugger);
	pass(scene.fake, MS);
	assert_true(gp_vgpu_queue(scene.target, 0)->suspended);
	/* A rescuer: ENABLE fails and gives it the session. */
	task_add(scene.fake, 400, 400, 0);
	thief = process_add(scene.fake, 400);
	set_tracer(scene.fake, TARGET, 400);
	assert_int_equal(enable(scene.fake, thief, TARGET), -EALREADY);
	assert_int_equal(resume(scene.fake, thief, TARGET, NULL, 0), 2);
	assert_int_equal(op_from(thief, 0, TARGET, GP_KFD_DBG_DISABLE), 0);
	assert_int_equal(enable(scene.fake, thief, TARGET), 0);
}

static void the_robbed_takes_the_session_back_with_enable(void **state)
{
	struct gp_vgpu_process *thief = process_add(scene.fake, OTHER);
	u32 ids[] = {0};

	(void)state;
	attach(1);
	suspend(scene.fake, scene.debugger, TARGET, ids, 1);
	set_tracer(scene.fake, TARGET, OTHER);
	enable(scene.fake, thief, TARGET);
	set_tracer(scene.fake, TARGET, DEBUGGER);
	assert_int_equal(enable(scene.fake, scene.debugger, TARGET), -EALREADY);
	set_tracer(scene.fake, TARGET, 0);
	assert_int_equal(resume(scene.fake, scene.debugger, TARGET, ids, 1), 1);
	suspend(scene.fake, scene.debugger, TARGET, ids, 1);
	process_end(scene.fake, scene.debugger);
	assert_false(gp_vgpu_queue(scene.target, 0)->suspended);
}

/* ---- new queues and snapshots ---- */

static void a_new_queue_is_not_suspended(void **state)
{
	u32 ids[] = {0, 1};
	u64 before;

	(void)state;
	runtime_enable(scene.fake, scene.target, 1);
	create(scene.fake, scene.target);
	create(scene.fake, scene.target);
	set_tracer(scene.fake, TARGET, DEBUGGER);
	enable(scene.fake, scene.debugger, TARGET);
	before = updates(scene.fake, 0);
	assert_int_equal(suspend(scene.fake, scene.debugger, TARGET, ids, 2), 0);
	assert_int_equal(ids[0], 0x80000000);
	assert_int_equal(ids[1], 0x80000001);
	snapshot(scene.fake, scene.debugger, TARGET, 0);
	assert_int_equal(suspend(scene.fake, scene.debugger, TARGET, ids, 2), 0);
	assert_int_equal(updates(scene.fake, 0), before);
	snapshot(scene.fake, scene.debugger, TARGET, NEW_MASK);
	assert_int_equal(suspend(scene.fake, scene.debugger, TARGET, ids, 2), 2);
	assert_int_equal(ids[0], 0);
	assert_int_equal(ids[1], 1);
}

static void suspends_own_mask_clears_new_on_the_skipped_ones(void **state)
{
	struct gp_kfd_dbg_trap_args args = {.pid = TARGET,
					    .op = GP_KFD_DBG_SUSPEND_QUEUES,
					    .suspend_queues = {.exception_mask = NEW_MASK,
							       .num_queues = 2}};
	u32 ids[] = {0, 1};

	(void)state;
	attach(1);
	create(scene.fake, scene.target);
	assert_int_equal(trap(scene.fake, scene.debugger, 0, &args, 0, ids, 2), 1);
	assert_int_equal(ids[1], 0x80000001);
	assert_int_equal(trap(scene.fake, scene.debugger, 0, &args, 0, ids, 2), 2);
}

static u32 bytes_in(int fd)
{
	char byte;
	u32 count = 0;
	struct pollfd reader = {.fd = fd, .events = POLLIN};

	while (poll(&reader, 1, 0) == 1 && reader.revents & POLLIN && read(fd, &byte, 1) == 1)
		count += byte == '.';
	return count;
}

static void the_debugger_hears_of_births_and_deaths_it_asked_for(void **state)
{
	u64 mask = NEW_MASK | GP_KFD_EC_MASK(GP_KFD_EC_DEVICE_QUEUE_DELETE);
	struct gp_kfd_dbg_trap_args query = {.pid = TARGET, .op = GP_KFD_DBG_QUERY_DEBUG_EVENT};
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	runtime_enable(scene.fake, scene.target, 1);
	create(scene.fake, scene.target);
	set_tracer(scene.fake, TARGET, DEBUGGER);
	assert_int_equal(enable_from(scene.fake, scene.debugger, 0, TARGET, mask, ends[1]), 0);
	assert_int_equal(bytes_in(ends[0]), 0); /* not for queues that were there */
	create(scene.fake, scene.target);
	assert_int_equal(bytes_in(ends[0]), 1);
	destroy(scene.fake, scene.target, 0);
	assert_int_equal(bytes_in(ends[0]), 1);
	/* Queues first, newest first; then devices. */
	query.query_debug_event.exception_mask = NEW_MASK;
	assert_int_equal(trap(scene.fake, scene.debugger, 0, &query, 0, NULL, 0), 0);
	assert_int_equal(query.query_debug_event.queue_id, 1);
	assert_true(query.query_debug_event.exception_mask == NEW_MASK);
	query.query_debug_event.exception_mask = ~0ull;
	assert_int_equal(trap(scene.fake, scene.debugger, 0, &query, 0, NULL, 0), 0);
	assert_int_equal(query.query_debug_event.gpu_id, gpu_id(scene.fake, 0));
	assert_int_equal(trap(scene.fake, scene.debugger, 0, &query, 0, NULL, 0), -EAGAIN);
	/* Not asked for, not told; SET_EXCEPTIONS_ENABLED tells at once of what is pending. */
	scene.target->debug.exception_mask = 0;
	create(scene.fake, scene.target);
	assert_int_equal(bytes_in(ends[0]), 0);
	query = (struct gp_kfd_dbg_trap_args){.pid = TARGET,
					      .op = GP_KFD_DBG_SET_EXCEPTIONS_ENABLED,
					      .set_exceptions_enabled = {NEW_MASK}};
	assert_int_equal(trap(scene.fake, scene.debugger, 0, &query, 0, NULL, 0), 0);
	assert_int_equal(bytes_in(ends[0]), 1);
	close(ends[0]);
}

static void a_debugger_that_does_not_read_does_not_stop_the_server(void **state)
{
	int ends[2];
	char block[4096] = {0};

	(void)state;
	assert_int_equal(pipe(ends), 0);
	for (int i = 0; i < 16; i++)
		assert_int_equal(write(ends[1], block, sizeof(block)), sizeof(block));
	set_tracer(scene.fake, TARGET, DEBUGGER);
	enable_from(scene.fake, scene.debugger, 0, TARGET, NEW_MASK, ends[1]);
	assert_int_equal(create(scene.fake, scene.target), 0);
	close(ends[0]);
}

static void query_exception_info_clears_and_tells(void **state)
{
	struct gp_kfd_dbg_trap_args args = {.pid = TARGET, .op = GP_KFD_DBG_QUERY_EXCEPTION_INFO};
	u32 ids[] = {1};

	(void)state;
	attach(1);
	create(scene.fake, scene.target);
#define QUERY(source, code)                                                                  \
	(args.query_exception_info =                                                         \
		 (struct gp_kfd_dbg_trap_query_exception_info_args){0, 16, source, code, 1}, \
	 trap(scene.fake, scene.debugger, 0, &args, 0, NULL, 0))
	assert_int_equal(QUERY(9, GP_KFD_EC_QUEUE_NEW), -EINVAL);
	assert_int_equal(QUERY(0, GP_KFD_EC_QUEUE_NEW), -ENODATA);
	assert_int_equal(QUERY(0, 0), -EINVAL);
	assert_int_equal(QUERY(0, 40), -EINVAL);
	assert_int_equal(QUERY(1, GP_KFD_EC_DEVICE_QUEUE_DELETE), -EINVAL);
	assert_int_equal(QUERY(gpu_id(scene.fake, 0), GP_KFD_EC_DEVICE_QUEUE_DELETE), -ENODATA);
	assert_int_equal(QUERY(0, GP_KFD_EC_PROCESS_RUNTIME), -ENODATA);
	assert_int_equal(QUERY(1, GP_KFD_EC_QUEUE_NEW), 0);
	assert_int_equal(suspend(scene.fake, scene.debugger, TARGET, ids, 1), 1);
	args.query_exception_info.exception_code = GP_KFD_EC_QUEUE_NEW;
	assert_int_equal(trap(scene.fake, scene.debugger, 0, &args, GP_VGPU_NULL_ARRAY, NULL, 0),
			 -EINVAL);
}

static void snapshots_are_newest_first_and_tell_the_total(void **state)
{
	struct gp_kfd_dbg_trap_args args = {.pid = TARGET, .op = GP_KFD_DBG_GET_QUEUE_SNAPSHOT};
	const struct gp_kfd_queue_snapshot_entry *entries;
	const struct answer *answer;

	(void)state;
	attach(3);
#define SNAPSHOT(room, size, flag)                                                             \
	(args.queue_snapshot = (struct gp_kfd_dbg_trap_queue_snapshot_args){0, 0, room, size}, \
	 trap(scene.fake, scene.debugger, 0, &args, flag, NULL, 0))
	assert_int_equal(SNAPSHOT(8, 200, 0), 0);
	answer = answer_of(scene.fake, scene.fake->sequence);
	entries = (const void *)answer->payload;
	assert_int_equal(args.queue_snapshot.entry_size, 64);
	assert_int_equal(args.queue_snapshot.num_queues, 3);
	assert_int_equal(answer->payload_bytes, 3 * 64);
	assert_int_equal(entries[0].queue_id, 2);
	assert_int_equal(entries[2].queue_id, 0);
	assert_int_equal(entries[0].queue_type, GP_KFD_QUEUE_COMPUTE_AQL);
	assert_int_equal(entries[0].ring_size, 65536);
	assert_int_equal(SNAPSHOT(1, 64, 0), 0);
	assert_int_equal(args.queue_snapshot.num_queues, 3);
	assert_int_equal(answer_of(scene.fake, scene.fake->sequence)->payload_bytes, 64);
	assert_int_equal(SNAPSHOT(0, 64, GP_VGPU_NULL_ARRAY), 0);
	assert_int_equal(args.queue_snapshot.num_queues, 3);
	assert_int_equal(SNAPSHOT(8, 64, GP_VGPU_NULL_ARRAY), -EFAULT);
	assert_int_equal(args.queue_snapshot.num_queues, 0);
	assert_int_equal(SNAPSHOT(8, 16, 0), 0);
	assert_int_equal(args.queue_snapshot.entry_size, 16);
	assert_int_equal(answer_of(scene.fake, scene.fake->sequence)->payload_bytes, 48);
	assert_int_equal(SNAPSHOT(8, 0, 0), -EINVAL);
	assert_int_equal(args.queue_snapshot.num_queues, 0);
}

static void device_snapshots_have_one_entry_a_gpu(void **state)
{
	struct gp_kfd_dbg_trap_args args = {
		.pid = TARGET,
		.op = GP_KFD_DBG_GET_DEVICE_SNAPSHOT,
		.device_snapshot = {.num_devices = 8, .entry_size = 200},
	};
	const struct gp_kfd_dbg_device_info_entry *entries;

	(void)state;
	attach(0);
	assert_int_equal(trap(scene.fake, scene.debugger, 0, &args, 0, NULL, 0), 0);
	assert_int_equal(args.device_snapshot.num_devices, 2);
	assert_int_equal(args.device_snapshot.entry_size, 120);
	entries = (const void *)answer_of(scene.fake, scene.fake->sequence)->payload;
	assert_int_equal(entries[1].gpu_id, gpu_id(scene.fake, 1));
	assert_int_equal(entries[0].simd_count, 32);
	assert_true(entries[0].scratch_limit == 0x20000ffffffffull);
	assert_int_equal(trap(scene.fake, scene.debugger, 0, &args, GP_VGPU_NULL_ARRAY, NULL, 0),
			 -EINVAL);
}

/* ---- settings without effect ---- */

static void watch_points_and_launch_modes_are_accepted_as_the_driver_does(void **state)
{
	struct gp_kfd_dbg_trap_args args = {.pid = TARGET};
	u64 before;

	(void)state;
	attach(1);
	before = updates(scene.fake, 0);
#define OPERATE(operation) \
	(args.op = (operation), trap(scene.fake, scene.debugger, 0, &args, 0, NULL, 0))
	for (u32 i = 0; i < 4; i++) {
		args.set_node_address_watch.gpu_id = gpu_id(scene.fake, 0);
		assert_int_equal(OPERATE(GP_KFD_DBG_SET_NODE_ADDRESS_WATCH), 0);
		assert_int_equal(args.set_node_address_watch.id, i);
	}
	assert_int_equal(OPERATE(GP_KFD_DBG_SET_NODE_ADDRESS_WATCH), -ENOMEM);
	args.set_node_address_watch.gpu_id = 1;
	assert_int_equal(OPERATE(GP_KFD_DBG_SET_NODE_ADDRESS_WATCH), -ENODEV);
	args.clear_node_address_watch.gpu_id = gpu_id(scene.fake, 0);
	args.clear_node_address_watch.id = 2;
	assert_int_equal(OPERATE(GP_KFD_DBG_CLEAR_NODE_ADDRESS_WATCH), 0);
	assert_int_equal(OPERATE(GP_KFD_DBG_CLEAR_NODE_ADDRESS_WATCH), -EINVAL);
	args.clear_node_address_watch.gpu_id = 1;
	assert_int_equal(OPERATE(GP_KFD_DBG_CLEAR_NODE_ADDRESS_WATCH), -ENODEV);
	assert_int_equal(updates(scene.fake, 0), before + 5);
	args.launch_mode.launch_mode = 2;
	assert_int_equal(OPERATE(GP_KFD_DBG_SET_WAVE_LAUNCH_MODE), -EINVAL);
	args.launch_mode.launch_mode = 1;
	assert_int_equal(OPERATE(GP_KFD_DBG_SET_WAVE_LAUNCH_MODE), 0);
	args.launch_override = (struct gp_kfd_dbg_trap_set_wave_launch_override_args){2, 0, 0, 0};
	assert_int_equal(OPERATE(GP_KFD_DBG_SET_WAVE_LAUNCH_OVERRIDE), -EPERM);
	args.launch_override = (struct gp_kfd_dbg_trap_set_wave_launch_override_args){0, 0, ~0u, 0};
	assert_int_equal(OPERATE(GP_KFD_DBG_SET_WAVE_LAUNCH_OVERRIDE), -EACCES);
	args.launch_override = (struct gp_kfd_dbg_trap_set_wave_launch_override_args){1, 1, 1, 0};
	assert_int_equal(OPERATE(GP_KFD_DBG_SET_WAVE_LAUNCH_OVERRIDE), 0);
	args.set_flags.flags = 1;
	assert_int_equal(OPERATE(GP_KFD_DBG_SET_FLAGS), -EACCES);
	scene.fake->server.devices[0].file.capability |= GP_KFD_CAP_PRECISE_MEMORY;
	args.set_flags.flags = 1;
	assert_int_equal(OPERATE(GP_KFD_DBG_SET_FLAGS), 0);
	assert_int_equal(args.set_flags.flags, 0);
	assert_int_equal(OPERATE(GP_KFD_DBG_SET_FLAGS), 0);
	assert_int_equal(args.set_flags.flags, 1);
	assert_int_equal(OPERATE(GP_KFD_DBG_DISABLE), 0);
	assert_int_equal(scene.fake->server.devices[0].watch_points, 0);
}

#define WITH(test, first) cmocka_unit_test_setup_teardown(test, first, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(targets_that_are_not_there_are_esrch, start),
		WITH(a_process_may_debug_itself_without_ptrace, start),
		WITH(a_bad_rinfo_pointer_undoes_enable, start),
		WITH(enable_tells_the_runtime_state, start),
		WITH(another_process_needs_ptrace_before_anything_else_is_looked_at, start),
		WITH(the_tracing_thread_itself_must_enable, start),
		WITH(a_thread_id_of_another_process_is_not_believed, start),
		WITH(only_the_lead_thread_counts, start),
		WITH(after_enable_any_thread_may_and_detaching_changes_nothing, start),
		WITH(before_the_fix_every_call_needs_ptrace_but_disable_needs_nothing, start_old),
		WITH(enable_makes_a_process_of_one_that_never_opened_kfd, start),
		WITH(a_second_debugger_steals_the_session, start),
		WITH(the_robbed_takes_the_session_back_with_enable, start),
		WITH(a_new_queue_is_not_suspended, start),
		WITH(suspends_own_mask_clears_new_on_the_skipped_ones, start),
		WITH(the_debugger_hears_of_births_and_deaths_it_asked_for, start),
		WITH(a_debugger_that_does_not_read_does_not_stop_the_server, start),
		WITH(query_exception_info_clears_and_tells, start),
		WITH(snapshots_are_newest_first_and_tell_the_total, start),
		WITH(device_snapshots_have_one_entry_a_gpu, start_two),
		WITH(watch_points_and_launch_modes_are_accepted_as_the_driver_does, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
