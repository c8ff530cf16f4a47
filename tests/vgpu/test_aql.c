// SPDX-License-Identifier: MIT
#include "fake_machine.h"

static void dispatch_becomes_work_with_its_shape(void **state)
{
	struct fake_queue queue = fake_queue(3, 64);
	struct gp_aql_dispatch packet = fake_dispatch(fake_kernel(NULL, 0));
	const struct gp_vgpu_work *work;

	(void)state;
	packet.setup = 3;
	packet.workgroup_x = 16;
	packet.workgroup_y = 8;
	packet.workgroup_z = 2;
	packet.grid_x = 33;
	packet.grid_y = 9;
	packet.grid_z = 2;
	packet.group_segment_bytes = 4096;
	packet.header |= GP_AQL_HEADER_BARRIER;
	fake_put(&queue, &packet);
	assert_true(fake_step());
	work = fake_work();
	assert_non_null(work);
	assert_int_equal(work->queue_id, 3);
	assert_int_equal(work->flags, GP_VGPU_KERNEL | GP_VGPU_BARRIER);
	assert_int_equal(work->workgroups, 3 * 2 * 1);
	assert_int_equal(work->waves_per_workgroup, 4);
	assert_int_equal(work->vgprs, 32);
	assert_int_equal(work->lds_bytes, 4096);
	assert_null(fake_work());
	assert_int_equal(fake->client.shared->mirrors[3].write_index, 1);
}

static void nothing_is_read_before_the_doorbell(void **state)
{
	struct fake_queue queue = fake_queue(1, 64);
	struct gp_aql_dispatch packet = fake_dispatch(fake_kernel(NULL, 0));

	(void)state;
	fake_put(&queue, &packet);
	*fake_doorbell(1) = UINT64_MAX;
	assert_false(fake_step());
	assert_null(fake_work());
	*fake_doorbell(1) = 0;
	assert_true(fake_step());
	assert_non_null(fake_work());
}

static void read_index_moves_at_launch_and_signal_fires_at_completion(void **state)
{
	struct fake_queue queue = fake_queue(1, 64);
	struct gp_aql_dispatch packet = fake_dispatch(fake_kernel(NULL, 0));
	struct gp_amd_signal *signal = fake_signal(1);
	u64 *mailbox = fake_take(8, 8);
	struct gp_vgpu_work work;

	(void)state;
	signal->event_mailbox = va(mailbox);
	signal->event_id = 77;
	packet.completion_signal = va(signal);
	fake_put(&queue, &packet);
	fake_step();
	work = *fake_work();
	assert_int_equal(queue.amd->read_dispatch_id, 0);
	assert_int_equal(fake_header(&queue, 0) & 0xff, GP_AQL_KERNEL_DISPATCH);
	fake_done(&work, GP_VGPU_LAUNCHED);
	assert_int_equal(queue.amd->read_dispatch_id, 1);
	assert_int_equal(fake->client.shared->mirrors[1].read_index, 1);
	assert_int_equal(fake_header(&queue, 0) & 0xff, GP_AQL_INVALID);
	assert_int_equal(signal->value, 1);
	assert_int_equal(fake->event_count, 0);
	fake_done(&work, GP_VGPU_COMPLETED);
	assert_int_equal(signal->value, 0);
	assert_int_equal(signal->start_ts, FAKE_START / 10);
	assert_int_equal(signal->end_ts, FAKE_END / 10);
	assert_int_equal(*mailbox, 77);
	assert_int_equal(fake->event_count, 1);
	assert_int_equal(fake->events[0], 77);
	/* A second answer about the same packet changes nothing. */
	fake_done(&work, GP_VGPU_COMPLETED);
	assert_int_equal(signal->value, 0);
}

static void unwritten_packet_stops_the_ring(void **state)
{
	struct fake_queue queue = fake_queue(1, 64);
	struct gp_aql_dispatch packet = fake_dispatch(fake_kernel(NULL, 0));
	u16 header = packet.header;

	(void)state;
	packet.header = GP_AQL_INVALID;
	fake_put(&queue, &packet);
	packet.header = header;
	fake_put(&queue, &packet);
	assert_false(fake_step());
	memcpy(queue.ring, &header, sizeof(header));
	assert_true(fake_step());
	assert_non_null(fake_work());
	assert_non_null(fake_work());
}

static void ring_wraps_and_a_full_ring_is_read_once(void **state)
{
	struct fake_queue queue = fake_queue(1, 4);
	struct gp_aql_dispatch packet = fake_dispatch(fake_kernel(NULL, 0));
	struct gp_amd_signal *signal = fake_signal(1000);

	(void)state;
	packet.completion_signal = va(signal);
	for (u32 i = 0; i < 4; i++)
		fake_put(&queue, &packet);
	fake_step();
	fake_step();
	assert_int_equal(fake->client.shared->work_ring.produced, 4);
	for (u32 i = 0; i < 40; i++) {
		fake_run(fake_work());
		fake_put(&queue, &packet);
		fake_step();
	}
	assert_int_equal(signal->value, 1000 - 40);
	assert_int_equal(queue.amd->read_dispatch_id, 40);
	assert_int_equal(fake->client.shared->work_ring.produced, 44);
}

static void barrier_and_waits_for_all_and_holds_what_follows(void **state)
{
	struct fake_queue queue = fake_queue(1, 64);
	struct gp_aql_dispatch kernel = fake_dispatch(fake_kernel(NULL, 0));
	struct gp_amd_signal *first = fake_signal(1), *second = fake_signal(2);
	struct gp_aql_barrier barrier = {
		.header = GP_AQL_BARRIER_AND | GP_AQL_HEADER_BARRIER,
		.dependencies = {va(first), 0, va(second)},
	};
	const struct gp_vgpu_work *work;

	(void)state;
	fake_put(&queue, &barrier);
	fake_put(&queue, &kernel);
	assert_false(fake_step());
	first->value = 0;
	assert_false(fake_step());
	assert_null(fake_work());
	second->value = 0;
	assert_true(fake_step());
	work = fake_work();
	assert_int_equal(work->flags, GP_VGPU_BARRIER);
	/* The kernel must not overtake it. */
	assert_int_equal(fake_work()->flags, GP_VGPU_KERNEL | GP_VGPU_BARRIER);
}

static void barrier_without_its_bit_does_not_serialise_what_follows(void **state)
{
	struct fake_queue queue = fake_queue(1, 64);
	struct gp_aql_dispatch kernel = fake_dispatch(fake_kernel(NULL, 0));
	struct gp_aql_barrier barrier = {.header = GP_AQL_BARRIER_AND};

	(void)state;
	fake_put(&queue, &kernel);
	fake_put(&queue, &barrier);
	fake_put(&queue, &kernel);
	fake_step();
	assert_int_equal(fake_work()->flags, GP_VGPU_KERNEL);
	assert_int_equal(fake_work()->flags, 0);
	assert_int_equal(fake_work()->flags, GP_VGPU_KERNEL);
}

static void barrier_or_needs_one(void **state)
{
	struct fake_queue queue = fake_queue(1, 64);
	struct gp_amd_signal *first = fake_signal(1), *second = fake_signal(1);
	struct gp_aql_barrier barrier = {
		.header = GP_AQL_BARRIER_OR,
		.dependencies = {va(first), va(second)},
	};

	(void)state;
	fake_put(&queue, &barrier);
	assert_false(fake_step());
	second->value = 0;
	assert_true(fake_step());
}

static void barrier_value_compares_as_it_says(void **state)
{
	static const struct {
		u32 condition;
		s64 value, wrong, right;
	} rows[] = {
		{GP_AQL_EQ, 5, 4, 0x105},
		{GP_AQL_NE, 5, 0x205, 6},
		{GP_AQL_LT, 5, 5, 0x104},
		{GP_AQL_GTE, 5, 4, 6},
	};
	struct fake_queue queue = fake_queue(1, 64);

	(void)state;
	for (u32 i = 0; i < GP_ARRAY_SIZE(rows); i++) {
		struct gp_amd_signal *signal = fake_signal(rows[i].wrong);
		struct gp_aql_barrier_value packet = {
			.header = GP_AQL_VENDOR,
			.format = GP_AQL_FORMAT_BARRIER_VALUE,
			.signal = va(signal),
			.value = rows[i].value,
			.mask = 0xff,
			.condition = rows[i].condition,
		};

		fake_put(&queue, &packet);
		assert_false(fake_step());
		signal->value = rows[i].right;
		assert_true(fake_step());
		assert_int_equal(fake_work()->flags, 0);
	}
}

static void dependency_that_is_not_mapped_is_a_fault(void **state)
{
	struct fake_queue queue = fake_queue(1, 64);
	struct gp_aql_barrier barrier = {.header = GP_AQL_BARRIER_AND, .dependencies = {0x1000}};

	(void)state;
	fake_put(&queue, &barrier);
	assert_false(fake_step());
	assert_int_equal(fake->fault_count, 1);
	assert_int_equal(fake->faults[0], 0x1000);
	assert_false(fake_step());
	assert_int_equal(fake->fault_count, 1);
}

static void bad_packet_raises(struct gp_aql_dispatch packet, u32 code)
{
	static u32 id = 100;
	struct gp_aql_dispatch good = fake_dispatch(fake_kernel(NULL, 0));
	struct fake_queue queue = fake_queue(++id, 16);
	struct gp_amd_signal *signal = fake_signal(1);
	struct gp_vgpu_work work;

	queue.inactive->event_mailbox = va(fake_take(8, 8));
	queue.inactive->event_id = id;
	good.completion_signal = va(signal);
	fake_put(&queue, &good);
	fake_put(&queue, &packet);
	fake_put(&queue, &good);
	fake_step();
	work = *fake_work();
	assert_null(fake_work());
	/* Not before the packet is at the read index. */
	assert_int_equal(queue.inactive->value, 0);
	fake_done(&work, GP_VGPU_LAUNCHED);
	assert_int_equal(queue.inactive->value, code);
	assert_int_equal(queue.amd->read_dispatch_id, 1);
	/* What was launched before it still completes. */
	fake_done(&work, GP_VGPU_COMPLETED);
	assert_int_equal(signal->value, 0);
	assert_int_equal(fake->events[(fake->event_count - 1) % 64], id);
	fake_step();
	assert_null(fake_work());
	gp_vgpu_cp_remove(&fake->client, id);
}

static void errors_are_those_of_the_hardware(void **state)
{
	struct gp_aql_dispatch good = fake_dispatch(fake_kernel(NULL, 0)), bad;
	struct gp_kernel_descriptor *fat;

	(void)state;
	bad = good;
	bad.setup = 0;
	bad_packet_raises(bad, GP_AQL_ERROR_DIMENSIONS);
	bad = good;
	bad.grid_y = 0;
	bad_packet_raises(bad, GP_AQL_ERROR_DIMENSIONS);
	bad = good;
	bad.workgroup_x = 0;
	bad_packet_raises(bad, GP_AQL_ERROR_DIMENSIONS);
	bad = good;
	bad.workgroup_y = 5;
	bad_packet_raises(bad, GP_AQL_ERROR_WORKGROUP);
	bad = good;
	bad.group_segment_bytes = 65537;
	bad_packet_raises(bad, GP_AQL_ERROR_GROUP_MEMORY);
	bad = good;
	bad.kernel_object = 0;
	bad_packet_raises(bad, GP_AQL_ERROR_CODE);
	bad.kernel_object = 0x7000;
	bad_packet_raises(bad, GP_AQL_ERROR_CODE);
	bad = good;
	bad.kernel_object = fake_kernel(NULL, 0);
	fat = (void *)(uintptr_t)bad.kernel_object;
	fat->rsrc1 = 63; /* 512 registers: one wave a SIMD */
	bad.workgroup_x = 1024;
	bad_packet_raises(bad, GP_AQL_ERROR_REGISTERS);
	bad = good;
	bad.header = GP_AQL_AGENT_DISPATCH;
	bad_packet_raises(bad, GP_AQL_ERROR_PACKET);
	bad.header = 0x42;
	bad_packet_raises(bad, GP_AQL_ERROR_PACKET);
	bad.header = GP_AQL_VENDOR;
	bad.setup = 9;
	bad_packet_raises(bad, GP_AQL_ERROR_VENDOR);
	bad.setup = GP_AQL_FORMAT_BARRIER_VALUE;
	bad.kernel_object = 17; /* the condition */
	bad_packet_raises(bad, GP_AQL_ERROR_VENDOR);
}

static void scratch_is_asked_for_at_the_head_and_waited_for(void **state)
{
	struct fake_queue queue = fake_queue(1, 64);
	struct gp_aql_dispatch small = fake_dispatch(fake_kernel(NULL, 0)), big = small;
	struct gp_vgpu_work work;

	(void)state;
	big.private_segment_bytes = 256;
	fake_put(&queue, &small);
	fake_put(&queue, &big);
	fake_step();
	work = *fake_work();
	assert_null(fake_work());
	assert_int_equal(queue.inactive->value, 0);
	fake_done(&work, GP_VGPU_LAUNCHED);
	assert_int_equal(queue.inactive->value, 0);
	fake_done(&work, GP_VGPU_COMPLETED);
	assert_int_equal(queue.inactive->value, GP_AQL_ERROR_SCRATCH);
	assert_int_equal(queue.amd->read_dispatch_id, 1);
	assert_false(fake_step());
	queue.amd->compute_tmpring_size = 0x1000;
	queue.amd->scratch_wave64_lane_byte_size = 256;
	assert_false(fake_step());
	queue.inactive->value = 0;
	assert_true(fake_step());
	assert_non_null(fake_work());
}

static void single_use_scratch_is_given_back(void **state)
{
	struct fake_queue queue = fake_queue(1, 64);
	struct gp_aql_dispatch packet = fake_dispatch(fake_kernel(NULL, 0));

	(void)state;
	queue.amd->compute_tmpring_size = 0x1000;
	queue.amd->scratch_wave64_lane_byte_size = 1024;
	queue.amd->queue_properties = GP_AMD_QUEUE_SCRATCH_ONCE;
	packet.private_segment_bytes = 1024;
	fake_put(&queue, &packet);
	packet.private_segment_bytes = 0;
	fake_put(&queue, &packet);
	fake_step();
	fake_run(fake_work());
	assert_int_equal(queue.inactive->value, GP_AQL_SCRATCH_RECLAIM);
	assert_null(fake_work());
	queue.amd->queue_properties = 0;
	assert_false(fake_step());
	queue.inactive->value = 0;
	assert_true(fake_step());
	assert_non_null(fake_work());
}

static void removed_queue_is_not_touched(void **state)
{
	struct fake_queue queue = fake_queue(1, 64);
	struct gp_aql_dispatch packet = fake_dispatch(fake_kernel(NULL, 0));
	struct gp_amd_signal *signal = fake_signal(1);
	struct gp_vgpu_work work;

	(void)state;
	packet.completion_signal = va(signal);
	fake_put(&queue, &packet);
	fake_step();
	work = *fake_work();
	gp_vgpu_cp_remove(&fake->client, 1);
	assert_int_equal(fake->client.cp->records_used, 0);
	fake_put(&queue, &packet);
	fake_run(&work);
	assert_int_equal(queue.amd->read_dispatch_id, 0);
	assert_int_equal(signal->value, 1);
	assert_null(fake_work());
	/* Nor when its record has another packet. */
	queue = fake_queue(2, 64);
	fake_put(&queue, &packet);
	fake_step();
	assert_int_not_equal(fake_work()->tag, work.tag);
	fake_run(&work);
	assert_int_equal(signal->value, 1);
}

static void queue_whose_memory_goes_stands_still(void **state)
{
	struct fake_queue queue = fake_queue(1, 64), other = fake_queue(2, 64);
	struct gp_aql_dispatch packet = fake_dispatch(fake_kernel(NULL, 0));
	struct gp_vgpu_work work;

	(void)state;
	fake_put(&queue, &packet);
	fake_step();
	work = *fake_work();
	gp_vgpu_cp_unmapped(&fake->client, va(queue.ring) + 4095, 1);
	fake_put(&queue, &packet);
	fake_put(&other, &packet);
	fake_run(&work);
	assert_int_equal(queue.amd->read_dispatch_id, 0);
	assert_int_equal(fake_work()->queue_id, 2);
	assert_null(fake_work());
	gp_vgpu_cp_unmapped(&fake->client, va(&other.amd->read_dispatch_id) - 4095, 4096);
	fake_put(&other, &packet);
	assert_false(fake_step());
}

static void stuck_queue_leaves_room_for_the_others(void **state)
{
	struct gp_aql_dispatch packet = fake_dispatch(fake_kernel(NULL, 0));
	u32 before;

	(void)state;
	for (u32 id = 1; id <= 32; id++) {
		struct fake_queue queue = fake_queue(id, 1024);

		for (u32 i = 0; i < 1024; i++)
			fake_put(&queue, &packet);
		before = fake->client.shared->work_ring.produced;
		fake_step();
		/* None of them is ever launched, and each still got something in. */
		assert_true(fake->client.shared->work_ring.produced > before);
		assert_true(fake->client.cp->records_used <= GP_CP_RECORDS);
		while (fake_work())
			;
	}
}

static void completion_signal_that_is_not_mapped_is_a_fault(void **state)
{
	struct fake_queue queue = fake_queue(1, 64);
	struct gp_aql_dispatch packet = fake_dispatch(fake_kernel(NULL, 0));

	(void)state;
	packet.completion_signal = 0x2000;
	fake_put(&queue, &packet);
	fake_step();
	fake_run(fake_work());
	assert_int_equal(fake->fault_count, 1);
	assert_int_equal(fake->faults[0], 0x2000);
}

static void queue_that_is_not_rocrs_has_no_error_signal(void **state)
{
	u64 *pointers = fake_take(4096, 4096);
	u8 *ring = fake_take(4096, 4096);
	struct gp_vgpu_cp_queue queue = {
		.id = 5,
		.type = GP_KFD_QUEUE_COMPUTE_AQL,
		.ring = va(ring),
		.ring_bytes = 4096,
		.read_pointer = va(&pointers[0]),
		.write_pointer = va(&pointers[1]),
		.doorbell_slot = 9,
	};

	(void)state;
	memset(ring, 0x42, 4096);
	assert_int_equal(gp_vgpu_cp_add(&fake->client, &queue), 0);
	pointers[1] = 1;
	*fake_doorbell(9) = 0;
	assert_false(fake_step());
	assert_false(fake_step());
	queue.read_pointer = 8;
	assert_int_equal(gp_vgpu_cp_add(&fake->client, &queue), -EFAULT);
	queue.read_pointer = va(pointers);
	queue.ring = 0x3000;
	assert_int_equal(gp_vgpu_cp_add(&fake->client, &queue), -EFAULT);
	queue.gpu_index = 1;
	assert_int_equal(gp_vgpu_cp_add(&fake->client, &queue), -EINVAL);
}

static void updated_ring_is_read_from_its_new_place(void **state)
{
	struct fake_queue queue = fake_queue(1, 64);
	struct gp_aql_dispatch packet = fake_dispatch(fake_kernel(NULL, 0));
	struct gp_vgpu_cp_queue update = {.id = 1, .ring = 0};

	(void)state;
	assert_int_equal(gp_vgpu_cp_update(&fake->client, &update), 0);
	fake_put(&queue, &packet);
	assert_false(fake_step());
	update.ring = va(queue.ring);
	update.ring_bytes = 64 * GP_AQL_PACKET_BYTES;
	assert_int_equal(gp_vgpu_cp_update(&fake->client, &update), 0);
	assert_true(fake_step());
	update.id = 2;
	assert_int_equal(gp_vgpu_cp_update(&fake->client, &update), -ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(dispatch_becomes_work_with_its_shape),
		TEST(nothing_is_read_before_the_doorbell),
		TEST(read_index_moves_at_launch_and_signal_fires_at_completion),
		TEST(unwritten_packet_stops_the_ring),
		TEST(ring_wraps_and_a_full_ring_is_read_once),
		TEST(barrier_and_waits_for_all_and_holds_what_follows),
		TEST(barrier_without_its_bit_does_not_serialise_what_follows),
		TEST(barrier_or_needs_one),
		TEST(barrier_value_compares_as_it_says),
		TEST(dependency_that_is_not_mapped_is_a_fault),
		TEST(errors_are_those_of_the_hardware),
		TEST(scratch_is_asked_for_at_the_head_and_waited_for),
		TEST(single_use_scratch_is_given_back),
		TEST(removed_queue_is_not_touched),
		TEST(queue_whose_memory_goes_stands_still),
		TEST(stuck_queue_leaves_room_for_the_others),
		TEST(completion_signal_that_is_not_mapped_is_a_fault),
		TEST(queue_that_is_not_rocrs_has_no_error_signal),
		TEST(updated_ring_is_read_from_its_new_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
