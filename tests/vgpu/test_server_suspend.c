// SPDX-License-Identifier: MIT
/* DBG_TRAP: SUSPEND and RESUME, what they cost, and what life and death do to them. */
#include "debug_scene.h"

/* ---- suspend and resume ---- */

static void the_id_array_says_what_was_done(void **state)
{
	u32 ids[3] = {0, 5, 1}, twice[2] = {0, 0}, one[1] = {9};

	(void)state;
	attach(2);
	assert_int_equal(suspend(scene.fake, scene.debugger, TARGET, ids, 3), 2);
	assert_int_equal(ids[0], 0);
	assert_int_equal(ids[1], 0x80000005);
	assert_int_equal(ids[2], 1);
	assert_int_equal(suspend(scene.fake, scene.debugger, TARGET, twice, 2), 1);
	assert_int_equal(twice[0], 0);
	assert_int_equal(twice[1], 0x80000000);
	assert_int_equal(resume(scene.fake, scene.debugger, TARGET, ids, 3), 2);
	assert_int_equal(ids[1], 0x80000005);
	assert_int_equal(resume(scene.fake, scene.debugger, TARGET, one, 1), 0);
	assert_int_equal(one[0], 0x80000009);
	one[0] = 0x80000000; /* left from an earlier call */
	assert_int_equal(suspend(scene.fake, scene.debugger, TARGET, one, 1), 1);
	assert_int_equal(one[0], 0);
	one[0] = 0x40000000;
	assert_int_equal(suspend(scene.fake, scene.debugger, TARGET, one, 1), 0);
	assert_int_equal(one[0], 0xc0000000);
}

static void array_errors_are_the_drivers(void **state)
{
	struct gp_kfd_dbg_trap_args args = {.pid = TARGET};
	u32 ids[1] = {0};

	(void)state;
	attach(2);
	assert_int_equal(suspend(scene.fake, scene.debugger, TARGET, NULL, 1), -EINVAL);
	assert_int_equal(suspend(scene.fake, scene.debugger, TARGET, NULL, 0), 0);
	args.op = GP_KFD_DBG_SUSPEND_QUEUES;
	args.suspend_queues.num_queues = 1025;
	assert_int_equal(trap(scene.fake, scene.debugger, 0, &args, 0, NULL, 0), -EINVAL);
	args.suspend_queues.num_queues = 1;
	assert_int_equal(trap(scene.fake, scene.debugger, 0, &args, GP_VGPU_BAD_ARRAY, NULL, 0),
			 -EFAULT);
	args.suspend_queues.num_queues = 2; /* fewer came than were said */
	assert_int_equal(trap(scene.fake, scene.debugger, 0, &args, 0, ids, 1), -EFAULT);
	args = (struct gp_kfd_dbg_trap_args){.pid = TARGET, .op = GP_KFD_DBG_RESUME_QUEUES};
	args.resume_queues.num_queues = 1025;
	assert_int_equal(trap(scene.fake, scene.debugger, 0, &args, 0, NULL, 0), -EINVAL);
	assert_int_equal(resume(scene.fake, scene.debugger, TARGET, NULL, 7), 2);
}

static void every_call_is_one_preemption_of_the_device_even_when_nothing_changes(void **state)
{
	u32 ids[] = {0, 1, 2};
	u64 before;

	(void)state;
	attach(3);
	before = updates(scene.fake, 0);
	suspend(scene.fake, scene.debugger, TARGET, ids, 3);
	assert_int_equal(updates(scene.fake, 0), before + 1);
	assert_int_equal(suspend(scene.fake, scene.debugger, TARGET, ids, 1), 1);
	assert_int_equal(updates(scene.fake, 0), before + 2);
	assert_int_equal(resume(scene.fake, scene.debugger, TARGET, ids, 3), 3);
	assert_int_equal(updates(scene.fake, 0), before + 3);
	assert_int_equal(resume(scene.fake, scene.debugger, TARGET, ids, 1), 1);
	assert_int_equal(updates(scene.fake, 0), before + 4);
}

static void enable_costs_one_and_disable_four(void **state)
{
	u64 before;

	(void)state;
	runtime_enable(scene.fake, scene.target, 1);
	create(scene.fake, scene.target);
	set_tracer(scene.fake, TARGET, DEBUGGER);
	before = updates(scene.fake, 0);
	enable(scene.fake, scene.debugger, TARGET);
	assert_int_equal(updates(scene.fake, 0), before + 1);
	assert_int_equal(op_from(scene.debugger, 0, TARGET, GP_KFD_DBG_DISABLE), 0);
	assert_int_equal(updates(scene.fake, 0), before + 5);
	enable(scene.fake, scene.debugger, TARGET);
	before = updates(scene.fake, 0);
	process_end(scene.fake, scene.debugger); /* and one for its own end */
	assert_int_equal(updates(scene.fake, 0), before + 5);
}

static void enable_without_a_runtime_leaves_the_hardware_alone(void **state)
{
	u64 before = updates(scene.fake, 0);

	(void)state;
	set_tracer(scene.fake, TARGET, DEBUGGER);
	enable(scene.fake, scene.debugger, TARGET);
	op_from(scene.debugger, 0, TARGET, GP_KFD_DBG_DISABLE);
	assert_int_equal(updates(scene.fake, 0), before);
}

static void a_suspended_kernel_keeps_its_progress(void **state)
{
	struct gp_vgpu_work work = kernel(0, 5, 10 * MS);
	u32 ids[] = {0};

	(void)state;
	attach(1);
	ring_put(scene.target, &work);
	gp_vgpu_ring_read(&scene.fake->server, scene.target);
	pass(scene.fake, 6 * MS);
	suspend(scene.fake, scene.debugger, TARGET, ids, 1);
	pass(scene.fake, 800 * MS);
	assert_int_equal(completed(scene.target), 0);
	resume(scene.fake, scene.debugger, TARGET, ids, 1);
	pass(scene.fake, 3 * MS);
	assert_int_equal(completed(scene.target), 0);
	pass(scene.fake, 2 * MS);
	assert_int_equal(completed(scene.target), 1);
}

static void the_save_areas_of_all_queues_say_what_is_in_them(void **state)
{
	struct gp_vgpu_work work = kernel(0, 5, 10 * MS);
	struct fake_server *fake = scene.fake;
	u32 ids[] = {0};

	(void)state;
	attach(2);
	ring_put(scene.target, &work);
	gp_vgpu_ring_read(&fake->server, scene.target);
	pass(fake, 5 * MS);
	suspend(fake, scene.debugger, TARGET, ids, 1);
	/* Newest first; queue 1 has saved nothing, queue 0 has a control stack as well. */
	assert_int_equal(fake->write_count, 3);
	assert_int_equal(fake->writes[0].pid, TARGET);
	assert_int_equal(fake->writes[0].words[0], 2 * PAGE);
	assert_int_equal(fake->writes[0].words[1], 0);
	assert_true(fake->writes[1].address == 0x7f0000300000ull);
	assert_int_equal(fake->writes[1].words[1], 8 * 32 * 8);
	assert_int_equal(fake->writes[1].words[0], 2 * PAGE - 8 * 32 * 8);
	assert_int_equal(fake->writes[1].words[2], 2 * PAGE + fake->writes[1].words[3]);
	assert_true(fake->writes[1].words[3] > 0);
	assert_true(fake->writes[2].address == 0x7f0000300000ull + 2 * PAGE - 8 * 32 * 8);
	assert_int_equal(fake->writes[2].words[0], 0); /* the first wave's number and place */
	assert_int_equal(fake->writes[2].words[1], 2 * PAGE);
	assert_int_equal(fake->writes[2].words[2], 1);
}

static void suspended_and_disabled_are_two_things(void **state)
{
	struct gp_vgpu_queue *queue;
	u32 ids[] = {0};

	(void)state;
	attach(1);
	queue = gp_vgpu_queue(scene.target, 0);
	suspend(scene.fake, scene.debugger, TARGET, ids, 1);
	assert_int_equal(update_percent(scene.fake, scene.target, 0, 100), 0);
	assert_false(gp_vgpu_queue_active(queue));
	assert_int_equal(update_percent(scene.fake, scene.target, 0, 0), 0);
	assert_int_equal(resume(scene.fake, scene.debugger, TARGET, ids, 1), 1);
	assert_false(gp_vgpu_queue_active(queue));
	assert_int_equal(suspend(scene.fake, scene.debugger, TARGET, ids, 1), 1);
	assert_int_equal(resume(scene.fake, scene.debugger, TARGET, ids, 1), 1);
	update_percent(scene.fake, scene.target, 0, 100);
	assert_true(gp_vgpu_queue_active(queue));
}

static void a_queue_created_meanwhile_runs(void **state)
{
	struct gp_vgpu_work work = kernel(1, 6, MS);
	u32 ids[] = {0};

	(void)state;
	attach(1);
	suspend(scene.fake, scene.debugger, TARGET, ids, 1);
	assert_int_equal(create(scene.fake, scene.target), 1);
	ring_put(scene.target, &work);
	gp_vgpu_ring_read(&scene.fake->server, scene.target);
	pass(scene.fake, 3 * MS);
	assert_int_equal(completed(scene.target), 1);
	assert_true(gp_vgpu_queue(scene.target, 0)->suspended);
}

static void sdma_queues_suspend_like_the_others(void **state)
{
	u32 ids[] = {0, 1};

	(void)state;
	attach(1);
	assert_int_equal(create_on(scene.fake, scene.target, 0, GP_KFD_QUEUE_SDMA), 1);
	snapshot(scene.fake, scene.debugger, TARGET, NEW_MASK);
	assert_int_equal(suspend(scene.fake, scene.debugger, TARGET, ids, 2), 2);
}

static void each_device_is_preempted_once(void **state)
{
	u64 first, second;
	u32 ids[] = {0, 1};

	(void)state;
	attach(1);
	create_on(scene.fake, scene.target, 1, GP_KFD_QUEUE_COMPUTE_AQL);
	snapshot(scene.fake, scene.debugger, TARGET, NEW_MASK);
	first = updates(scene.fake, 0);
	second = updates(scene.fake, 1);
	assert_int_equal(suspend(scene.fake, scene.debugger, TARGET, ids, 2), 2);
	assert_int_equal(updates(scene.fake, 0), first + 1);
	assert_int_equal(updates(scene.fake, 1), second + 1);
}

static void grace_is_what_the_register_makes_of_it(void **state)
{
	static const u32 written[][2] = {{0, 1},     {1, 1},       {255, 255},
					 {300, 44},  {511, 255},   {0xfffffffe, 254},
					 {256, ~0u}, {65536, ~0u}, {0xffffffff, 0x40}};

	(void)state;
	for (u32 i = 0; i < GP_ARRAY_SIZE(written); i++)
		assert_int_equal(gp_vgpu_model_grace(written[i][0]), written[i][1]);
}

static void grace_256_waits_for_the_kernel_and_a_long_one_hangs_the_scheduler(void **state)
{
	struct gp_vgpu_work work = kernel(0, 5, 20000 * MS);
	struct gp_kfd_dbg_trap_args args = {.pid = TARGET,
					    .op = GP_KFD_DBG_SUSPEND_QUEUES,
					    .suspend_queues = {.num_queues = 1,
							       .grace_period = 256}};
	u32 ids[] = {0};
	u64 began;

	(void)state;
	attach(1);
	ring_put(scene.target, &work);
	gp_vgpu_ring_read(&scene.fake->server, scene.target);
	pass(scene.fake, MS);
	began = scene.fake->now;
	assert_int_equal(trap(scene.fake, scene.debugger, 0, &args, 0, ids, 1), 0);
	assert_int_equal(ids[0], 0x40000000);
	assert_int_equal(scene.fake->now - began, 9000 * MS);
	assert_true(scene.fake->server.devices[0].hung);
	assert_int_equal(resume(scene.fake, scene.debugger, TARGET, ids, 1), 0);
	assert_int_equal(update_percent(scene.fake, scene.target, 0, 100), -EACCES);
	assert_int_equal(create(scene.fake, scene.target), -ETIME);
	assert_int_equal(scene.target->queue_count, 1);
}

static void whoever_waits_behind_a_hang_fails_with_it(void **state)
{
	struct gp_vgpu_process *other = process_add(scene.fake, OTHER);
	struct gp_kfd_create_queue_args queue = queue_args(scene.fake, 0, GP_KFD_QUEUE_COMPUTE_AQL);
	struct gp_vgpu_work work = kernel(0, 5, 20000 * MS);
	struct gp_kfd_dbg_trap_args args = {.pid = TARGET,
					    .op = GP_KFD_DBG_SUSPEND_QUEUES,
					    .suspend_queues = {.num_queues = 1,
							       .grace_period = 256}};
	u32 ids[] = {0}, first, second;

	(void)state;
	attach(1);
	ring_put(scene.target, &work);
	gp_vgpu_ring_read(&scene.fake->server, scene.target);
	pass(scene.fake, MS);
	first = begin(scene.fake, &(struct call){.process = scene.debugger,
						 .nr = _IOC_NR(GP_KFD_IOC_DBG_TRAP),
						 .args = &args,
						 .args_size = sizeof(args),
						 .payload = ids,
						 .payload_size = sizeof(ids)});
	pass(scene.fake, 1000 * MS);
	second = begin(scene.fake, &(struct call){.process = other,
						  .nr = _IOC_NR(GP_KFD_IOC_CREATE_QUEUE),
						  .args = &queue,
						  .args_size = sizeof(queue)});
	pass(scene.fake, 7999 * MS);
	assert_int_equal(result_of(scene.fake, first), NOT_YET);
	assert_int_equal(result_of(scene.fake, second), NOT_YET);
	pass(scene.fake, MS);
	assert_int_equal(result_of(scene.fake, first), 0);
	assert_int_equal(result_of(scene.fake, second), -ETIME);
}

static void what_was_given_up_stays_given_up_however_late_the_server_is(void **state)
{
	/* Over 10 ms after the driver stopped waiting for it. */
	struct gp_vgpu_work work = kernel(0, 5, 9010 * MS);
	struct gp_kfd_dbg_trap_args args = {.pid = TARGET,
					    .op = GP_KFD_DBG_SUSPEND_QUEUES,
					    .suspend_queues = {.num_queues = 1,
							       .grace_period = 256}};
	u32 ids[] = {0}, sequence;

	(void)state;
	attach(1);
	ring_put(scene.target, &work);
	gp_vgpu_ring_read(&scene.fake->server, scene.target);
	pass(scene.fake, MS);
	sequence = begin(scene.fake, &(struct call){.process = scene.debugger,
						    .nr = _IOC_NR(GP_KFD_IOC_DBG_TRAP),
						    .args = &args,
						    .args_size = sizeof(args),
						    .payload = ids,
						    .payload_size = sizeof(ids)});
	scene.fake->now += 20000 * MS; /* it was not scheduled for 20 s */
	gp_vgpu_server_tick(&scene.fake->server);
	gp_vgpu_server_advance(&scene.fake->server);
	assert_int_equal(result_of(scene.fake, sequence), 0);
	assert_int_equal(answer_of(scene.fake, sequence)->payload[0], 0x40000000);
}

static void time_can_be_held(void **state)
{
	struct gp_vgpu_work work = kernel(0, 5, 10 * MS);
	struct gp_vgpu_server *server = &scene.fake->server;
	u64 held;

	(void)state;
	attach(1);
	gp_vgpu_server_hold(server, 5 * MS, NULL);
	held = gp_vgpu_server_now(server);
	ring_put(scene.target, &work);
	gp_vgpu_ring_read(server, scene.target);
	pass(scene.fake, 1000 * MS);
	assert_int_equal(gp_vgpu_server_now(server), held + 5 * MS);
	assert_int_equal(completed(scene.target), 0);
	gp_vgpu_server_hold(server, UINT64_MAX, NULL);
	pass(scene.fake, 4 * MS);
	assert_int_equal(completed(scene.target), 0);
	pass(scene.fake, 2 * MS);
	assert_int_equal(completed(scene.target), 1);
}

/* ---- life and death ---- */

static void destroy_of_a_suspended_queue_blocks_until_it_is_resumed(void **state)
{
	struct gp_kfd_destroy_queue_args args = {.queue_id = 1};
	struct call call = {.process = scene.target,
			    .nr = _IOC_NR(GP_KFD_IOC_DESTROY_QUEUE),
			    .args = &args,
			    .args_size = sizeof(args)};
	u32 ids[] = {0, 1}, first, other[] = {0}, own[] = {1};

	(void)state;
	attach(2);
	suspend(scene.fake, scene.debugger, TARGET, ids, 2);
	first = begin(scene.fake, &call);
	pass(scene.fake, 2000 * MS);
	assert_int_equal(result_of(scene.fake, first), NOT_YET);
	assert_int_equal(run(scene.fake, &call), -EBUSY);
	/* It does not hold up the process's other calls. */
	assert_int_equal(create(scene.fake, scene.target), 2);
	assert_int_equal(suspend(scene.fake, scene.debugger, TARGET, own, 1), 1);
	assert_int_equal(resume(scene.fake, scene.debugger, TARGET, other, 1), 1);
	assert_int_equal(result_of(scene.fake, first), NOT_YET);
	assert_int_equal(resume(scene.fake, scene.debugger, TARGET, own, 1), 1);
	pass(scene.fake, MS);
	assert_int_equal(result_of(scene.fake, first), 0);
	assert_int_equal(run(scene.fake, &call), -EINVAL);
}

static void a_signal_ends_the_wait_and_the_queue_is_intact(void **state)
{
	struct gp_kfd_destroy_queue_args args = {.queue_id = 0};
	struct call call = {.process = scene.target,
			    .nr = _IOC_NR(GP_KFD_IOC_DESTROY_QUEUE),
			    .args = &args,
			    .args_size = sizeof(args)};
	u32 ids[] = {0}, sequence;

	(void)state;
	attach(1);
	suspend(scene.fake, scene.debugger, TARGET, ids, 1);
	sequence = begin(scene.fake, &call);
	signal_to(scene.fake, sequence);
	assert_int_equal(result_of(scene.fake, sequence), -EINTR);
	assert_int_equal(snapshot(scene.fake, scene.debugger, TARGET, 0), 1);
	sequence = begin(scene.fake, &call);
	pass(scene.fake, MS);
	assert_int_equal(result_of(scene.fake, sequence), NOT_YET);
	assert_int_equal(op_from(scene.debugger, 0, TARGET, GP_KFD_DBG_DISABLE), 0);
	pass(scene.fake, MS);
	assert_int_equal(result_of(scene.fake, sequence), 0);
	assert_int_equal(scene.target->queue_count, 0);
}

static void a_queue_on_its_way_out_is_not_suspended_again(void **state)
{
	struct gp_kfd_destroy_queue_args args = {.queue_id = 0};
	struct gp_kfd_dbg_trap_args on = {.pid = TARGET, .op = GP_KFD_DBG_RESUME_QUEUES};
	struct gp_kfd_dbg_trap_args off = {.pid = TARGET,
					   .op = GP_KFD_DBG_SUSPEND_QUEUES,
					   .suspend_queues = {.num_queues = 1}};
	struct call call = {.process = scene.debugger,
			    .nr = _IOC_NR(GP_KFD_IOC_DBG_TRAP),
			    .flags = GP_VGPU_NULL_ARRAY,
			    .args = &on,
			    .args_size = sizeof(on)};
	u32 ids[] = {0}, destroying, again;

	(void)state;
	attach(2); /* the other one is on the hardware: taking it off takes time */
	suspend(scene.fake, scene.debugger, TARGET, ids, 1);
	destroying = begin(scene.fake, &(struct call){.process = scene.target,
						      .nr = _IOC_NR(GP_KFD_IOC_DESTROY_QUEUE),
						      .args = &args,
						      .args_size = sizeof(args)});
	begin(scene.fake, &call);
	/* Stands behind the resume and before the destroy that the resume lets go on. */
	call = (struct call){.process = scene.debugger,
			     .nr = _IOC_NR(GP_KFD_IOC_DBG_TRAP),
			     .args = &off,
			     .args_size = sizeof(off),
			     .payload = ids,
			     .payload_size = sizeof(ids)};
	again = begin(scene.fake, &call);
	pass(scene.fake, MS);
	assert_int_equal(result_of(scene.fake, again), 0);
	assert_int_equal(answer_of(scene.fake, again)->payload[0], 0x80000000);
	assert_int_equal(result_of(scene.fake, destroying), 0);
}

static void a_process_killed_in_destroy_is_gone(void **state)
{
	struct gp_kfd_destroy_queue_args args = {.queue_id = 0};
	u32 ids[] = {0}, sequence;

	(void)state;
	attach(1);
	suspend(scene.fake, scene.debugger, TARGET, ids, 1);
	sequence = begin(scene.fake, &(struct call){.process = scene.target,
						    .nr = _IOC_NR(GP_KFD_IOC_DESTROY_QUEUE),
						    .args = &args,
						    .args_size = sizeof(args)});
	process_end(scene.fake, scene.target);
	pass(scene.fake, MS);
	assert_int_equal(result_of(scene.fake, sequence), NOT_YET);
	assert_int_equal(fake_of(&scene.fake->server)->tree_gone, 1);
	assert_int_equal(suspend(scene.fake, scene.debugger, TARGET, ids, 1), -ESRCH);
	assert_int_equal(scene.fake->server.devices[0].queue_count, 0);
}

static void the_debuggers_death_resumes_every_target(void **state)
{
	struct gp_vgpu_process *second = process_add(scene.fake, OTHER);
	u32 ids[] = {0};

	(void)state;
	attach(1);
	runtime_enable(scene.fake, second, 1);
	create(scene.fake, second);
	set_tracer(scene.fake, OTHER, DEBUGGER);
	enable(scene.fake, scene.debugger, OTHER);
	snapshot(scene.fake, scene.debugger, OTHER, NEW_MASK);
	assert_int_equal(suspend(scene.fake, scene.debugger, TARGET, ids, 1), 1);
	assert_int_equal(suspend(scene.fake, scene.debugger, OTHER, ids, 1), 1);
	process_end(scene.fake, scene.debugger);
	pass(scene.fake, MS);
	assert_false(gp_vgpu_queue(scene.target, 0)->suspended);
	assert_false(gp_vgpu_queue(second, 0)->suspended);
	assert_false(scene.target->debug.enabled);
	assert_null(scene.target->debug.debugger);
}

static void a_suspend_under_way_holds_up_the_target_but_nobody_else(void **state)
{
	struct gp_vgpu_process *other = process_add(scene.fake, OTHER);
	struct gp_kfd_dbg_trap_args args = {.pid = TARGET,
					    .op = GP_KFD_DBG_SUSPEND_QUEUES,
					    .suspend_queues = {.num_queues = 1}};
	struct gp_kfd_get_available_memory_args room = {.gpu_id = gpu_id(scene.fake, 0)};
	struct call memory = {.process = scene.target,
			      .nr = _IOC_NR(GP_KFD_IOC_AVAILABLE_MEMORY),
			      .args = &room,
			      .args_size = sizeof(room)};
	u32 ids[] = {0}, slow, held, free_one;

	(void)state;
	attach(1);
	slow = begin(scene.fake, &(struct call){.process = scene.debugger,
						.nr = _IOC_NR(GP_KFD_IOC_DBG_TRAP),
						.args = &args,
						.args_size = sizeof(args),
						.payload = ids,
						.payload_size = sizeof(ids)});
	held = begin(scene.fake, &memory);
	memory.process = other;
	free_one = begin(scene.fake, &memory);
	assert_int_equal(result_of(scene.fake, slow), NOT_YET);
	assert_int_equal(result_of(scene.fake, held), NOT_YET);
	assert_int_equal(result_of(scene.fake, free_one), 0);
	pass(scene.fake, MS);
	assert_int_equal(result_of(scene.fake, slow), 1);
	assert_int_equal(result_of(scene.fake, held), 0);
}

static void a_debugger_that_dies_in_its_suspend_leaves_nothing_suspended(void **state)
{
	struct gp_kfd_dbg_trap_args args = {.pid = TARGET,
					    .op = GP_KFD_DBG_SUSPEND_QUEUES,
					    .suspend_queues = {.num_queues = 1}};
	u32 ids[] = {0}, sequence;

	(void)state;
	attach(1);
	sequence = begin(scene.fake, &(struct call){.process = scene.debugger,
						    .nr = _IOC_NR(GP_KFD_IOC_DBG_TRAP),
						    .args = &args,
						    .args_size = sizeof(args),
						    .payload = ids,
						    .payload_size = sizeof(ids)});
	assert_int_equal(result_of(scene.fake, sequence), NOT_YET);
	process_end(scene.fake, scene.debugger);
	pass(scene.fake, MS);
	assert_int_equal(result_of(scene.fake, sequence), NOT_YET); /* nobody is answered */
	assert_false(gp_vgpu_queue(scene.target, 0)->suspended);
	assert_int_equal(create(scene.fake, scene.target), 1);
}

static void whoever_asks_about_a_target_that_dies_meanwhile_gets_esrch(void **state)
{
	struct gp_kfd_dbg_trap_args args = {.pid = TARGET,
					    .op = GP_KFD_DBG_SUSPEND_QUEUES,
					    .suspend_queues = {.num_queues = 1}};
	u32 ids[] = {0}, sequence;

	(void)state;
	attach(1);
	sequence = begin(scene.fake, &(struct call){.process = scene.debugger,
						    .nr = _IOC_NR(GP_KFD_IOC_DBG_TRAP),
						    .args = &args,
						    .args_size = sizeof(args),
						    .payload = ids,
						    .payload_size = sizeof(ids)});
	process_end(scene.fake, scene.target);
	assert_int_equal(result_of(scene.fake, sequence), -ESRCH);
	pass(scene.fake, MS);
}

#define WITH(test, first) cmocka_unit_test_setup_teardown(test, first, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(the_id_array_says_what_was_done, start),
		WITH(array_errors_are_the_drivers, start),
		WITH(every_call_is_one_preemption_of_the_device_even_when_nothing_changes, start),
		WITH(enable_costs_one_and_disable_four, start),
		WITH(enable_without_a_runtime_leaves_the_hardware_alone, start),
		WITH(a_suspended_kernel_keeps_its_progress, start),
		WITH(the_save_areas_of_all_queues_say_what_is_in_them, start),
		WITH(suspended_and_disabled_are_two_things, start),
		WITH(a_queue_created_meanwhile_runs, start),
		WITH(sdma_queues_suspend_like_the_others, start),
		WITH(each_device_is_preempted_once, start_two),
		WITH(grace_is_what_the_register_makes_of_it, start),
		WITH(grace_256_waits_for_the_kernel_and_a_long_one_hangs_the_scheduler, start),
		WITH(whoever_waits_behind_a_hang_fails_with_it, start),
		WITH(what_was_given_up_stays_given_up_however_late_the_server_is, start),
		WITH(time_can_be_held, start),
		WITH(destroy_of_a_suspended_queue_blocks_until_it_is_resumed, start),
		WITH(a_signal_ends_the_wait_and_the_queue_is_intact, start),
		WITH(a_queue_on_its_way_out_is_not_suspended_again, start),
		WITH(a_process_killed_in_destroy_is_gone, start),
		WITH(the_debuggers_death_resumes_every_target, start),
		WITH(a_suspend_under_way_holds_up_the_target_but_nobody_else, start),
		WITH(a_debugger_that_dies_in_its_suspend_leaves_nothing_suspended, start),
		WITH(whoever_asks_about_a_target_that_dies_meanwhile_gets_esrch, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
