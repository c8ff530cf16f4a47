// SPDX-License-Identifier: MIT
/* CREATE, DESTROY, UPDATE, SET_CU_MASK, GET_QUEUE_WAVE_STATE, ALLOC_QUEUE_GWS and memory. */
#include "fake_server.h"

static int start(void **state)
{
	*state = fake_start(2, GP_ERA_6_12, GP_COMPAT);
	return 0;
}

static int start_native(void **state)
{
	*state = fake_start(1, GP_ERA_6_12, GP_NATIVE);
	return 0;
}

static int stop(void **state)
{
	fake_stop(*state);
	return 0;
}

static void ids_are_lowest_first_per_process_over_all_devices(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, 100), *b = process_add(fake, 200);

	assert_int_equal(create_on(fake, a, 0, GP_KFD_QUEUE_COMPUTE_AQL), 0);
	assert_int_equal(create_on(fake, a, 1, GP_KFD_QUEUE_COMPUTE_AQL), 1);
	assert_int_equal(create(fake, b), 0);
	assert_int_equal(create(fake, a), 2);
	assert_int_equal(destroy(fake, a, 1), 0);
	assert_int_equal(create(fake, a), 1);
}

static void doorbells_are_slots_of_a_slice_per_process_and_device(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, 100), *b = process_add(fake, 200);
	struct gp_kfd_create_queue_args args = queue_args(fake, 1, GP_KFD_QUEUE_COMPUTE_AQL);

	create(fake, a);
	assert_int_equal(CALL(fake, a, CREATE_QUEUE, &args), 0);
	assert_true(args.doorbell_offset == (3ull << 62 | (u64)gpu_id(fake, 1) << 46));
	args = queue_args(fake, 0, GP_KFD_QUEUE_COMPUTE_AQL);
	assert_int_equal(CALL(fake, a, CREATE_QUEUE, &args), 0);
	assert_int_equal(args.doorbell_offset & 0x1fff, 8);
	assert_int_equal(gp_vgpu_queue(a, args.queue_id)->doorbell, 0x802);
	create(fake, b);
	assert_int_equal(gp_vgpu_queue(b, 0)->doorbell, 0x1000);
}

static void compute_doorbells_step_over_the_reserved_ranges(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, 100);
	struct gp_vgpu_queue *queue;

	memset(a->doorbells[0], 0xff, 0x100 / 8);
	create(fake, a);
	queue = gp_vgpu_queue(a, 0);
	assert_int_equal(queue->doorbell_id, 0x1e9);
	memset(a->doorbells[0], 0xff, 0x300 / 8);
	create(fake, a);
	assert_int_equal(gp_vgpu_queue(a, 1)->doorbell_id, 0x3e9);
}

static void sdma_queues_take_engines_in_turn_and_fixed_doorbells(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, 100);
	static const u32 engines[] = {0, 1, 0, 1}, slots[] = {0x100, 0x10a, 0x300, 0x30a};
	struct gp_kfd_create_queue_args args;

	for (u32 i = 0; i < 4; i++) {
		assert_int_equal(create_on(fake, a, 0, GP_KFD_QUEUE_SDMA), i);
		assert_int_equal(gp_vgpu_queue(a, i)->sdma_engine, engines[i]);
		assert_int_equal(gp_vgpu_queue(a, i)->doorbell_id, slots[i]);
	}
	assert_int_equal(create_on(fake, a, 0, GP_KFD_QUEUE_SDMA_XGMI), 4);
	assert_int_equal(gp_vgpu_queue(a, 4)->sdma_engine, 2);
	args = queue_args(fake, 0, GP_KFD_QUEUE_SDMA_BY_ENGINE);
	args.sdma_engine_id = 1;
	assert_int_equal(CALL(fake, a, CREATE_QUEUE, &args), 0);
	assert_int_equal(gp_vgpu_queue(a, 5)->sdma_engine, 1);
	args.sdma_engine_id = 3;
	assert_int_equal(CALL(fake, a, CREATE_QUEUE, &args), -EINVAL);
}

static void sdma_queues_run_out_per_device_and_come_back(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, 100), *b = process_add(fake, 200);

	for (u32 i = 0; i < 16; i++)
		assert_int_equal(create_on(fake, a, 0, GP_KFD_QUEUE_SDMA), i);
	assert_int_equal(create_on(fake, b, 0, GP_KFD_QUEUE_SDMA), -ENOMEM);
	assert_int_equal(create_on(fake, b, 0, GP_KFD_QUEUE_SDMA_XGMI), 0);
	assert_int_equal(destroy(fake, a, 3), 0);
	assert_int_equal(create_on(fake, b, 0, GP_KFD_QUEUE_SDMA), 1);
	assert_int_equal(gp_vgpu_queue(b, 1)->sdma_engine, 1);
	process_end(fake, a);
	assert_int_equal(create_on(fake, b, 0, GP_KFD_QUEUE_SDMA), 2);
}

static void create_refuses_what_the_driver_refuses(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, 100);
	struct gp_kfd_create_queue_args good = queue_args(fake, 0, GP_KFD_QUEUE_COMPUTE_AQL), args;

#define REFUSED(field, value, error)                                         \
	do {                                                                 \
		args = good;                                                 \
		args.field = (value);                                        \
		assert_int_equal(CALL(fake, a, CREATE_QUEUE, &args), error); \
	} while (0)
	REFUSED(queue_percentage, 101, -EINVAL);
	REFUSED(queue_priority, 16, -EINVAL);
	REFUSED(ring_size, 3000, -EINVAL);
	REFUSED(gpu_id, 1, -EINVAL);
	REFUSED(queue_type, 9, -524);
	REFUSED(queue_percentage, 0x100 | 50, 0);
	REFUSED(ring_size, 0, 0);
	assert_int_equal(gp_vgpu_queue(a, 1)->args.ring_size, 1024);
	/* Sizes are checked only where the driver is presented as it is. */
	REFUSED(ctl_stack_size, 1, 0);
	assert_int_equal(a->queue_count, 3);
}

static void native_checks_the_save_area(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, 100);
	struct gp_kfd_create_queue_args good = queue_args(fake, 0, GP_KFD_QUEUE_COMPUTE_AQL), args;

	REFUSED(ctl_stack_size, 3 * PAGE, -EINVAL);
	REFUSED(ctx_save_restore_size, 15 * PAGE, -EINVAL);
	REFUSED(eop_buffer_size, 2048, -EINVAL);
	REFUSED(eop_buffer_address, 0, 0);
	good.queue_type = GP_KFD_QUEUE_SDMA;
	REFUSED(ctl_stack_size, 0, 0);
}

static void a_process_has_127_queues_on_a_device(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, 100);

	for (u32 i = 0; i < GP_KFD_PROCESS_QUEUES; i++)
		assert_int_equal(create(fake, a), i);
	assert_int_equal(create(fake, a), -ENOSPC);
	assert_int_equal(create_on(fake, a, 1, GP_KFD_QUEUE_COMPUTE_AQL), GP_KFD_PROCESS_QUEUES);
}

/* Without oversubscription the slots are the limit; what is off or an SDMA engine's takes none. */
static void the_other_policies_count_the_queues_that_are_on(void **state)
{
	static const struct {
		u32 policy;
		int full;
	} policies[] = {{GP_POLICY_NO_OVERSUBSCRIBE, -EPERM}, {GP_POLICY_NO_HWS, -EBUSY}};
	struct fake_server *fake = *state;
	u32 slots = fake->server.devices[0].file.chip.slots;

	for (u32 i = 0; i < 2; i++) {
		struct gp_vgpu_process *a = process_add(fake, 100 + (pid_t)i);

		fake->server.options.policy = policies[i].policy;
		for (u32 k = 0; k < slots; k++)
			assert_int_equal(create(fake, a), k);
		assert_int_equal(create(fake, a), policies[i].full);
		assert_int_equal(create_on(fake, a, 0, GP_KFD_QUEUE_SDMA), slots);
		assert_int_equal(update_percent(fake, a, 3, 0), 0);
		assert_int_equal(create(fake, a), slots + 1);
		assert_int_equal(create(fake, a), policies[i].full);
		process_end(fake, a);
	}
	fake->server.options.policy = GP_POLICY_HWS;
}

static void each_change_is_one_update_of_its_device(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, 100);
	struct gp_kfd_create_queue_args args = queue_args(fake, 0, GP_KFD_QUEUE_COMPUTE_AQL);
	u64 before = updates(fake, 0), other = updates(fake, 1);

	create(fake, a);
	assert_int_equal(updates(fake, 0), before + 1);
	update_percent(fake, a, 0, 0);
	update_percent(fake, a, 0, 0); /* no change, all the same */
	assert_int_equal(updates(fake, 0), before + 3);
	/* A queue that is off is not on the hardware: nothing to take away. */
	destroy(fake, a, 0);
	assert_int_equal(updates(fake, 0), before + 3);
	args.queue_percentage = 0;
	CALL(fake, a, CREATE_QUEUE, &args);
	assert_int_equal(updates(fake, 0), before + 3);
	create(fake, a);
	destroy(fake, a, 1);
	assert_int_equal(updates(fake, 0), before + 5);
	assert_int_equal(updates(fake, 1), other);
}

/* The driver waits for the fence of the unmap; the new runlist is the hardware's business. */
static void a_change_returns_with_the_fence_before_the_queues_run_again(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, 100);
	struct gp_kfd_update_queue_args args = {.queue_id = 1};
	struct gp_model_stats stats;
	u64 before;
	u32 slow;

	create(fake, a);
	create(fake, a);
	before = updates(fake, 0);
	slow = begin(fake, &(struct call){.process = a,
					  .nr = _IOC_NR(GP_KFD_IOC_UPDATE_QUEUE),
					  .args = &args,
					  .args_size = sizeof(args)});
	assert_int_equal(result_of(fake, slow), NOT_YET);
	for (int us = 0; us < 1000 && result_of(fake, slow) == NOT_YET; us++)
		pass(fake, 1000);
	assert_int_equal(result_of(fake, slow), 0);
	gp_model_stats(fake->server.devices[0].model, &stats);
	assert_int_equal(stats.updates, before); /* counted when it is mapped */
	assert_int_equal(updates(fake, 0), before + 1);
}

static void update_answers_as_the_driver(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, 100);
	struct gp_kfd_update_queue_args good = {.ring_base_address = 0x7f0000000000,
						.ring_size = 65536,
						.queue_percentage = 100,
						.queue_priority = 7};
	struct gp_kfd_update_queue_args args = good;
	struct gp_vgpu_queue *queue;

	create(fake, a);
	queue = gp_vgpu_queue(a, 0);
	args.queue_percentage = 101;
	assert_int_equal(update_full(fake, a, args), -EINVAL);
	args = good;
	args.queue_priority = 16;
	assert_int_equal(update_full(fake, a, args), -EINVAL);
	args = good;
	args.ring_size = 3000;
	assert_int_equal(update_full(fake, a, args), -EINVAL);
	args = good;
	args.queue_id = 5;
	assert_int_equal(update_full(fake, a, args), -EFAULT);
	assert_true(gp_vgpu_queue_active(queue));
	args = good;
	args.ring_base_address = 0;
	assert_int_equal(update_full(fake, a, args), 0);
	assert_false(gp_vgpu_queue_active(queue));
	args = good;
	args.ring_size = 0;
	assert_int_equal(update_full(fake, a, args), 0);
	assert_true(gp_vgpu_queue_active(queue));
	assert_int_equal(queue->args.ring_size, 1024);
	args = good;
	args.queue_priority = 15;
	args.queue_percentage = 50;
	assert_int_equal(update_full(fake, a, args), 0);
	assert_int_equal(queue->priority, 15);
	assert_true(gp_vgpu_queue_active(queue));
}

static void percentage_0_preempts_a_kernel_and_100_lets_it_finish(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, 100);
	struct gp_vgpu_work work = kernel(0, 77, 10 * MS);
	struct gp_kfd_get_queue_wave_state_args waves = {.queue_id = 0};
	struct gp_vgpu_done done = {0};
	u64 began;

	create(fake, a);
	ring_put(a, &work);
	assert_int_equal(gp_vgpu_ring_read(&fake->server, a), 0);
	pass(fake, 4 * MS);
	began = fake->now;
	assert_int_equal(CALL(fake, a, GET_QUEUE_WAVE_STATE, &waves), -EINVAL);
	assert_int_equal(update_percent(fake, a, 0, 0), 0);
	assert_true(fake->now > began); /* the unmap took its time */
	assert_int_equal(CALL(fake, a, GET_QUEUE_WAVE_STATE, &waves), 0);
	assert_int_equal(waves.ctl_stack_used_size, 8 * 32 * 8);
	assert_true(waves.save_area_used_size > 0);
	pass(fake, 50 * MS);
	assert_true(ring_get(a, &done));
	assert_int_equal(done.kind, GP_VGPU_LAUNCHED);
	assert_false(ring_get(a, &done));
	assert_int_equal(update_percent(fake, a, 0, 100), 0);
	pass(fake, 5 * MS);
	assert_false(ring_get(a, &done));
	pass(fake, 2 * MS);
	assert_true(ring_get(a, &done));
	assert_int_equal(done.kind, GP_VGPU_COMPLETED);
	assert_int_equal(done.tag, 77);
	assert_true(done.end_raw_ns > done.start_raw_ns + 60 * MS);
}

static void cu_masks_are_dealt_out_to_the_xccs(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, 100);
	struct gp_kfd_set_cu_mask_args args = {.num_cu_mask = 32};
	u32 words[1] = {0x0d}; /* bits 0, 2, 3 */
	struct call call = {.process = a,
			    .nr = _IOC_NR(GP_KFD_IOC_SET_CU_MASK),
			    .args = &args,
			    .args_size = sizeof(args),
			    .payload = words,
			    .payload_size = sizeof(words)};
	u64 before;

	create(fake, a);
	before = updates(fake, 0);
	assert_int_equal(run(fake, &call), 0);
	/* The model numbers its CUs as the driver deals them out. */
	assert_int_equal(gp_vgpu_queue(a, 0)->cu_mask[0], words[0]);
	assert_int_equal(updates(fake, 0), before + 1);
	args.num_cu_mask = 33;
	assert_int_equal(run(fake, &call), -EINVAL);
	args.num_cu_mask = 0;
	assert_int_equal(run(fake, &call), -EINVAL);
	args.num_cu_mask = 64; /* more than was sent */
	assert_int_equal(run(fake, &call), -EFAULT);
	args.num_cu_mask = 32;
	args.queue_id = 9;
	assert_int_equal(run(fake, &call), -EFAULT);
	args.queue_id = 0;
	call.flags = GP_VGPU_BAD_ARRAY;
	assert_int_equal(run(fake, &call), -EFAULT);
	args.num_cu_mask = 33; /* found out before the pointer */
	assert_int_equal(run(fake, &call), -EINVAL);
}

/* How long taking a kernel off takes, that runs on two CUs of a mask. */
static u64 unmap_ns(struct fake_server *fake, struct gp_vgpu_process *process, u32 mask)
{
	struct gp_kfd_set_cu_mask_args args = {.num_cu_mask = 32};
	struct gp_vgpu_work work = kernel(0, mask, 10 * MS);
	u64 began;

	assert_int_equal(run(fake, &(struct call){.process = process,
						  .nr = _IOC_NR(GP_KFD_IOC_SET_CU_MASK),
						  .args = &args,
						  .args_size = sizeof(args),
						  .payload = &mask,
						  .payload_size = sizeof(mask)}),
			 0);
	work.workgroups = 2;
	ring_put(process, &work);
	assert_int_equal(gp_vgpu_ring_read(&fake->server, process), 0);
	pass(fake, MS);
	began = fake->now;
	assert_int_equal(update_percent(fake, process, 0, 0), 0);
	began = fake->now - began;
	assert_int_equal(update_percent(fake, process, 0, 100), 0);
	pass(fake, 20 * MS);
	assert_int_equal(completed(process), 1);
	return began;
}

/* XCCs save side by side: two CUs of one take longer than one CU of each of two. */
static void bits_beside_each_other_are_in_different_xccs(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, 100);
	u64 apart, together, bytes = 32 * (512 + 64 * 64 * 4);

	create(fake, a);
	apart = unmap_ns(fake, a, 1u << 0 | 1u << 1);
	together = unmap_ns(fake, a, 1u << 0 | 1u << 2);
	assert_int_equal(together - apart, gp_divide_up(2 * bytes, 100) - gp_divide_up(bytes, 100));
	assert_int_equal(unmap_ns(fake, a, 1u << 5 | 1u << 6), apart);
	assert_int_equal(unmap_ns(fake, a, 1u << 1 | 1u << 7), together);
}

static void one_queue_of_a_process_has_gws(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, 100);
	struct gp_kfd_alloc_queue_gws_args args = {.num_gws = 64};

	create(fake, a);
	create(fake, a);
	assert_int_equal(CALL(fake, a, ALLOC_QUEUE_GWS, &args), 0);
	args.queue_id = 1;
	assert_int_equal(CALL(fake, a, ALLOC_QUEUE_GWS, &args), -EBUSY);
	args.queue_id = 5;
	assert_int_equal(CALL(fake, a, ALLOC_QUEUE_GWS, &args), -EINVAL);
	args.queue_id = 0;
	args.num_gws = 0;
	assert_int_equal(CALL(fake, a, ALLOC_QUEUE_GWS, &args), 0);
	assert_int_equal(CALL(fake, a, ALLOC_QUEUE_GWS, &args), -EINVAL);
}

static void destroy_of_an_unknown_queue_is_einval(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, 100);

	create(fake, a);
	assert_int_equal(destroy(fake, a, 1), -EINVAL);
	assert_int_equal(destroy(fake, a, 5000), -EINVAL);
	assert_int_equal(destroy(fake, a, 0), 0);
	assert_int_equal(destroy(fake, a, 0), -EINVAL);
}

static void a_destroyed_queue_leaves_the_model(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, 100);
	struct gp_vgpu_work work = kernel(0, 1, 10 * MS);

	create(fake, a);
	ring_put(a, &work);
	gp_vgpu_ring_read(&fake->server, a);
	pass(fake, MS);
	assert_int_equal(a->outstanding, 1);
	assert_int_equal(destroy(fake, a, 0), 0);
	pass(fake, MS);
	assert_int_equal(a->outstanding, 0);
	assert_int_equal(a->dones_due, 0);
	assert_null(fake->server.devices[0].zombies);
	assert_int_equal(a->model_process[0], GP_MODEL_NONE);
	/* The same id again starts afresh. */
	assert_int_equal(create(fake, a), 0);
	pass(fake, 50 * MS);
	assert_int_equal(completed(a), 0);
}

static void vram_has_a_limit_and_comes_back(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, 100), *b = process_add(fake, 200);
	struct gp_kfd_alloc_memory_of_gpu_args alloc = {.size = 40ull << 20,
							.gpu_id = gpu_id(fake, 0),
							.flags = GP_KFD_ALLOC_VRAM};
	struct gp_kfd_get_available_memory_args room = {.gpu_id = gpu_id(fake, 0)};
	struct gp_vgpu_free object = {.bytes = (40ull << 20) - 5, .gpu_id = gpu_id(fake, 0)};
	struct gp_kfd_free_memory_of_gpu_args handle = {0};

	assert_int_equal(CALL(fake, a, ALLOC_MEMORY_OF_GPU, &alloc), 0);
	assert_int_equal(CALL(fake, b, ALLOC_MEMORY_OF_GPU, &alloc), -ENOMEM);
	alloc.size = UINT64_MAX - 3;
	assert_int_equal(CALL(fake, b, ALLOC_MEMORY_OF_GPU, &alloc), -ENOMEM);
	alloc.size = 4097;
	assert_int_equal(CALL(fake, b, ALLOC_MEMORY_OF_GPU, &alloc), 0);
	assert_int_equal(b->vram_used[0], 8192);
	assert_int_equal(CALL(fake, b, AVAILABLE_MEMORY, &room), 0);
	assert_int_equal(room.available, 22ull << 20);
	assert_int_equal(run(fake, &(struct call){.process = a,
						  .nr = _IOC_NR(GP_KFD_IOC_FREE_MEMORY_OF_GPU),
						  .args = &handle,
						  .args_size = sizeof(handle),
						  .payload = &object,
						  .payload_size = sizeof(object)}),
			 0);
	assert_int_equal(a->vram_used[0], 0);
	process_end(fake, b);
	assert_int_equal(fake->server.devices[0].vram_used, 0);
	alloc.size = 0;
	assert_int_equal(CALL(fake, a, ALLOC_MEMORY_OF_GPU, &alloc), -EINVAL);
	alloc = (struct gp_kfd_alloc_memory_of_gpu_args){.size = 1, .gpu_id = 1};
	assert_int_equal(CALL(fake, a, ALLOC_MEMORY_OF_GPU, &alloc), -EINVAL);
	room.gpu_id = 1;
	assert_int_equal(CALL(fake, a, AVAILABLE_MEMORY, &room), -EINVAL);
}

static void a_client_that_frees_too_much_spoils_only_its_own_account(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, 100), *b = process_add(fake, 200);
	struct gp_kfd_alloc_memory_of_gpu_args alloc = {.size = 1 << 20,
							.gpu_id = gpu_id(fake, 0),
							.flags = GP_KFD_ALLOC_VRAM};
	struct gp_vgpu_free object = {.bytes = UINT64_MAX, .gpu_id = gpu_id(fake, 0)};
	struct gp_kfd_free_memory_of_gpu_args handle = {0};

	CALL(fake, a, ALLOC_MEMORY_OF_GPU, &alloc);
	CALL(fake, b, ALLOC_MEMORY_OF_GPU, &alloc);
	run(fake, &(struct call){.process = a,
				 .nr = _IOC_NR(GP_KFD_IOC_FREE_MEMORY_OF_GPU),
				 .args = &handle,
				 .args_size = sizeof(handle),
				 .payload = &object,
				 .payload_size = sizeof(object)});
	assert_int_equal(a->vram_used[0], 0);
	assert_int_equal(fake->server.devices[0].vram_used, 1 << 20);
}

static s64 criu(struct fake_server *fake, struct gp_vgpu_process *caller, s32 owner, u32 op)
{
	struct gp_kfd_criu_args args = {.op = op};

	return run(fake, &(struct call){.process = caller,
					.nr = _IOC_NR(GP_KFD_IOC_CRIU_OP),
					.args = &args,
					.args_size = sizeof(args),
					.payload = &owner,
					.payload_size = sizeof(owner)});
}

static void criu_is_for_the_tracer_and_with_the_capability(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, 100), *b = process_add(fake, 200);
	struct gp_kfd_criu_args args = {0};

	create(fake, a);
	assert_int_equal(criu(fake, a, 100, GP_KFD_CRIU_PROCESS_INFO), -EACCES);
	assert_int_equal(criu(fake, b, 100, GP_KFD_CRIU_PROCESS_INFO), -EBADF);
	fake->server.options.checkpoint = true;
	/* A client may not say whose descriptor it is, or name nobody. */
	assert_int_equal(CALL(fake, a, CRIU_OP, &args), -EBADF);
	assert_int_equal(criu(fake, b, 100, GP_KFD_CRIU_PROCESS_INFO), -EBADF);
	set_tracer(fake, 100, 200);
	assert_int_equal(criu(fake, b, 100, GP_KFD_CRIU_PROCESS_INFO), 0);
	assert_true(a->queues[0]->evicted);
	assert_false(gp_vgpu_queue_active(a->queues[0]));
	assert_int_equal(criu(fake, b, 100, GP_KFD_CRIU_CHECKPOINT), -EOPNOTSUPP);
	assert_int_equal(criu(fake, b, 100, GP_KFD_CRIU_UNPAUSE), 0);
	assert_true(gp_vgpu_queue_active(a->queues[0]));
	assert_int_equal(criu(fake, b, 100, GP_KFD_CRIU_UNPAUSE), -EINVAL);
}

static void unknown_ioctls_are_enotty(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, 100);
	u32 nothing = 0;

	assert_int_equal(run(fake, &(struct call){.process = a,
						  .nr = GP_KFD_NR_END,
						  .args = &nothing,
						  .args_size = sizeof(nothing)}),
			 -ENOTTY);
}

static void the_server_has_a_handler_for_each_row_that_names_it_and_no_other(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, 100);
	u8 args[GP_VGPU_ARGS_MAX] = {0};

	for (u32 nr = 0; nr < GP_KFD_NR_END; nr++) {
		const struct gp_vgpu_ioctl *row = &gp_vgpu_ioctls[nr];
		bool named = row->side == GP_VGPU_IN_SERVER || row->side == GP_VGPU_IN_BOTH;
		struct call call = {.process = a,
				    .nr = nr,
				    .args = args,
				    .args_size = GP_MIN(_IOC_SIZE(row->request), sizeof(args))};
		bool answered = run(fake, &call) != -ENOTTY;

		if (answered != named)
			fail_msg("%s: the row names the server: %d; it has a handler: %d",
				 row->name ? row->name : "no row", named, answered);
	}
}

#define WITH(test, first) cmocka_unit_test_setup_teardown(test, first, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(ids_are_lowest_first_per_process_over_all_devices, start),
		WITH(doorbells_are_slots_of_a_slice_per_process_and_device, start),
		WITH(compute_doorbells_step_over_the_reserved_ranges, start),
		WITH(sdma_queues_take_engines_in_turn_and_fixed_doorbells, start),
		WITH(sdma_queues_run_out_per_device_and_come_back, start),
		WITH(create_refuses_what_the_driver_refuses, start),
		WITH(native_checks_the_save_area, start_native),
		WITH(a_process_has_127_queues_on_a_device, start),
		WITH(the_other_policies_count_the_queues_that_are_on, start),
		WITH(each_change_is_one_update_of_its_device, start),
		WITH(a_change_returns_with_the_fence_before_the_queues_run_again, start),
		WITH(update_answers_as_the_driver, start),
		WITH(percentage_0_preempts_a_kernel_and_100_lets_it_finish, start),
		WITH(cu_masks_are_dealt_out_to_the_xccs, start),
		WITH(bits_beside_each_other_are_in_different_xccs, start),
		WITH(one_queue_of_a_process_has_gws, start),
		WITH(destroy_of_an_unknown_queue_is_einval, start),
		WITH(a_destroyed_queue_leaves_the_model, start),
		WITH(vram_has_a_limit_and_comes_back, start),
		WITH(a_client_that_frees_too_much_spoils_only_its_own_account, start),
		WITH(criu_is_for_the_tracer_and_with_the_capability, start),
		WITH(unknown_ioctls_are_enotty, start),
		WITH(the_server_has_a_handler_for_each_row_that_names_it_and_no_other, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
