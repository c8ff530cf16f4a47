// SPDX-License-Identifier: MIT
/* Packets in a queue: order, barriers, launch and completion, limits, actions. */
#include "rig.h"

static void packets_of_a_queue_launch_in_order(void **state)
{
	struct rig *rig = rig_default();
	u32 queue = rig_queue(rig, 7);
	u64 expected = 1;

	(void)state;
	rig_map(rig);
	/* Of very different length, so that only the order of the queue can keep them apart. */
	for (u64 tag = 1; tag <= 6; tag++)
		rig_submit(rig, queue, rig_kernel(tag, tag % 2 ? 9 : 1, tag % 3 ? 5000 : 70));
	rig_drain(rig);
	for (u32 i = 0; i < rig->count; i++)
		if (rig->action[i].kind == GP_MODEL_LAUNCHED)
			assert_int_equal(rig->action[i].tag, expected++);
	assert_int_equal(expected, 7);
	assert_int_equal(rig_state(rig, queue).completed, 6);
	rig_free(rig);
}

static void packets_without_barrier_overlap_and_may_complete_out_of_order(void **state)
{
	struct rig *rig = rig_default();
	u32 queue = rig_queue(rig, 7);
	u64 t0;

	(void)state;
	rig_map(rig);
	t0 = rig->now;
	rig_submit(rig, queue, rig_kernel(1, 4, 10000));
	rig_submit(rig, queue, rig_kernel(2, 4, 2000));
	rig_drain(rig);
	assert_int_equal(rig_at(rig, GP_MODEL_LAUNCHED, 1), t0 + 100);
	assert_int_equal(rig_at(rig, GP_MODEL_LAUNCHED, 2), t0 + 200);
	assert_int_equal(rig_at(rig, GP_MODEL_COMPLETED, 2), t0 + 200 + 2000 + 50);
	assert_int_equal(rig_at(rig, GP_MODEL_COMPLETED, 1), t0 + 100 + 10000 + 50);
	rig_free(rig);
}

static void barrier_bit_waits_for_everything_earlier_to_complete(void **state)
{
	struct rig *rig = rig_default();
	u32 queue = rig_queue(rig, 7);
	struct gp_model_work third = rig_kernel(3, 1, 1000);
	u64 first;

	(void)state;
	rig_map(rig);
	rig_submit(rig, queue, rig_kernel(1, 4, 10000));
	rig_submit(rig, queue, rig_kernel(2, 4, 2000));
	third.barrier = true;
	rig_submit(rig, queue, third);
	rig_drain(rig);
	first = rig_at(rig, GP_MODEL_COMPLETED, 1);
	assert_true(rig_at(rig, GP_MODEL_COMPLETED, 2) < first);
	assert_int_equal(rig_at(rig, GP_MODEL_LAUNCHED, 3), first + 100);
	rig_free(rig);
}

static void read_index_moves_when_the_first_workgroup_starts(void **state)
{
	struct rig *rig = rig_default();
	u32 first = rig_queue(rig, 7), second = rig_queue(rig, 7);
	u64 t0;

	(void)state;
	rig_map(rig);
	t0 = rig->now;
	rig_submit(rig, first, rig_kernel(1, 8, 5000));
	rig_until(rig, t0 + 99);
	assert_int_equal(rig_state(rig, first).launched, 0);
	rig_until(rig, t0 + 100);
	assert_int_equal(rig_state(rig, first).launched, 1);
	assert_int_equal(rig_state(rig, first).completed, 0);
	/* All CUs are taken: dispatched is not launched. */
	rig_submit(rig, second, rig_kernel(2, 1, 5000));
	rig_until(rig, t0 + 5099);
	assert_int_equal(rig_state(rig, second).launched, 0);
	rig_drain(rig);
	assert_int_equal(rig_at(rig, GP_MODEL_LAUNCHED, 2), t0 + 5100);
	assert_int_equal(rig_find(rig, GP_MODEL_COMPLETED, 2)->start_ns, t0 + 5100);
	assert_int_equal(rig_find(rig, GP_MODEL_COMPLETED, 2)->end_ns, t0 + 10100);
	assert_int_equal(rig_find(rig, GP_MODEL_COMPLETED, 2)->at_ns, t0 + 10150);
	assert_int_equal(rig_find(rig, GP_MODEL_COMPLETED, 2)->queue, second);
	rig_free(rig);
}

static void packet_that_is_no_kernel_takes_dispatch_and_completion_only(void **state)
{
	struct rig *rig = rig_default();
	u32 queue = rig_queue(rig, 7);
	u64 t0;

	(void)state;
	rig_map(rig);
	t0 = rig->now;
	rig_submit(rig, queue, (struct gp_model_work){.tag = 1, .barrier = true});
	rig_submit(rig, queue, (struct gp_model_work){.tag = 2, .barrier = true});
	rig_drain(rig);
	assert_int_equal(rig_at(rig, GP_MODEL_LAUNCHED, 1), t0 + 100);
	assert_int_equal(rig_at(rig, GP_MODEL_COMPLETED, 1), t0 + 150);
	assert_int_equal(rig_at(rig, GP_MODEL_LAUNCHED, 2), t0 + 250);
	assert_int_equal(rig_at(rig, GP_MODEL_COMPLETED, 2), t0 + 300);
	assert_int_equal(rig_stats(rig).batches, 0);
	rig_free(rig);
}

static void work_in_a_queue_that_is_not_mapped_waits(void **state)
{
	struct rig *rig = rig_default();
	u32 queue = rig_queue(rig, 7);

	(void)state;
	rig_submit(rig, queue, rig_kernel(1, 1, 1000));
	assert_int_equal(gp_model_next(rig->model), GP_MODEL_NEVER);
	rig_until(rig, 1000000);
	assert_int_equal(rig->count, 0);
	assert_false(rig_state(rig, queue).mapped);
	rig_map(rig);
	assert_true(rig_state(rig, queue).mapped);
	rig_drain(rig);
	assert_non_null(rig_find(rig, GP_MODEL_COMPLETED, 1));
	rig_free(rig);
}

static void removing_a_queue_drops_its_work_without_actions(void **state)
{
	struct rig *rig = rig_default();
	u32 queue = rig_queue(rig, 7), dropped = 0;

	(void)state;
	rig_map(rig);
	for (u64 tag = 1; tag <= 3; tag++)
		rig_submit(rig, queue, rig_kernel(tag, 20, 10000));
	rig_until(rig, rig->now + 15000);
	assert_int_equal(gp_model_queue_remove(rig->model, queue, &dropped), -EBUSY);
	rig_set(rig, queue, false, 7, 0);
	rig_map(rig);
	assert_true(rig_state(rig, queue).saved_waves > 0);
	assert_int_equal(gp_model_process_remove(rig->model, rig->process), -EBUSY);
	assert_int_equal(gp_model_queue_remove(rig->model, queue, &dropped), 0);
	assert_int_equal(dropped, 3);
	rig_check(rig);
	rig_drain(rig);
	assert_int_equal(rig->count, 0);
	assert_true(rig_stats(rig).dropped_wg_ns > 0);
	assert_int_equal(rig_stats(rig).dropped_wg_ns, rig_stats(rig).ran_wg_ns);
	assert_int_equal(gp_model_queue_remove(rig->model, queue, &dropped), -EINVAL);
	assert_int_equal(gp_model_process_remove(rig->model, rig->process), 0);
	assert_int_equal(gp_model_process_remove(rig->model, rig->process), -EINVAL);
	rig_free(rig);
}

static void actions_are_never_lost_when_their_room_is_full(void **state)
{
	struct gp_model_config config = rig_config();
	struct gp_model_action action;
	struct gp_model_work work = {.barrier = true};
	struct rig *rig;
	u64 launched = 0, completed = 0, taken = 0;
	u32 queue;

	(void)state;
	config.max_queues = 1;
	rig = rig_new(&config);
	queue = rig_queue(rig, 7);
	rig_map(rig);
	for (work.tag = 1; work.tag <= config.max_work; work.tag++)
		rig_submit(rig, queue, work);
	work.tag = 0;
	assert_int_equal(gp_model_submit(rig->model, rig->now, queue, &work), -EAGAIN);
	/* Nobody takes: time must stop rather than an action be lost. */
	gp_model_advance(rig->model, 1000000000);
	gp_model_advance(rig->model, 1000000000);
	assert_true(gp_model_next(rig->model) < 1000000000);
	assert_int_equal(gp_model_runlist_update(rig->model, 1000000000, 0, 5), -EAGAIN);
	do {
		while (gp_model_take(rig->model, &action)) {
			taken++;
			if (action.kind == GP_MODEL_LAUNCHED)
				assert_int_equal(action.tag, ++launched);
			else
				assert_int_equal(action.tag, ++completed);
		}
		gp_model_advance(rig->model, 1000000000);
		rig_check(rig);
	} while (launched < config.max_work || completed < config.max_work);
	assert_int_equal(taken, 2 * config.max_work);
	assert_false(gp_model_take(rig->model, &action));
	assert_int_equal(gp_model_next(rig->model), GP_MODEL_NEVER);
	rig_free(rig);
}

static void many_launches_at_once_wait_for_room_together(void **state)
{
	struct gp_model_config config = rig_config();
	struct gp_model_action action;
	u32 queue[64], launched = 0;
	struct rig *rig;
	u64 t0;

	(void)state;
	config.chip.cu_per_xcc = 32;
	config.chip.slots = 64;
	rig = rig_new(&config);
	for (u32 i = 0; i < 64; i++)
		queue[i] = rig_queue(rig, 7);
	rig_map(rig);
	/* 120 actions that nobody takes leave room for 24. */
	for (u64 tag = 0; tag < 60; tag++)
		rig_submit(rig, queue[0], (struct gp_model_work){.tag = tag});
	t0 = rig->now + 100000;
	gp_model_advance(rig->model, t0);
	for (u32 i = 0; i < 64; i++) {
		struct gp_model_work work = rig_kernel(1000 + i, 1, 5000);

		assert_int_equal(gp_model_submit(rig->model, t0, queue[i], &work), 0);
	}
	gp_model_advance(rig->model, t0 + 100);
	assert_true(gp_model_next(rig->model) <= t0 + 100);
	rig_check(rig);
	while (gp_model_take(rig->model, &action))
		assert_true(action.tag < 1000);
	gp_model_advance(rig->model, t0 + 100);
	while (gp_model_take(rig->model, &action)) {
		assert_int_equal(action.kind, GP_MODEL_LAUNCHED);
		assert_int_equal(action.at_ns, t0 + 100); /* late to be taken, not late */
		launched++;
	}
	assert_int_equal(launched, 64);
	rig_free(rig);
}

static void work_that_cannot_be_represented_is_refused(void **state)
{
	struct rig *rig = rig_default();
	u32 queue = rig_queue(rig, 7), copies = rig_sdma(rig, 0);
	const struct gp_model_work good = rig_kernel(1, 1, 1);
	struct gp_model_work bad[9];

	(void)state;
	for (u32 i = 0; i < GP_ARRAY_SIZE(bad); i++)
		bad[i] = good;
	bad[0].workgroups = 0;
	bad[1].workgroups = (1ull << 40) + 1;
	bad[2].workgroup_ns = 0;
	bad[3].workgroup_ns = (1ull << 50) + 1;
	bad[4].waves_per_workgroup = 0;
	bad[5].waves_per_workgroup = 33;
	bad[6].vgprs = 513;
	bad[7].lds_bytes = 65537;
	bad[8].workgroups = 1ull << 40, bad[8].workgroup_ns = 1ull << 50;
	for (u32 i = 0; i < GP_ARRAY_SIZE(bad); i++)
		assert_int_equal(gp_model_submit(rig->model, 0, queue, &bad[i]), -EINVAL);
	bad[0] = good;
	bad[0].bytes = (1ull << 50) + 1;
	assert_int_equal(gp_model_submit(rig->model, 0, copies, &bad[0]), -EINVAL);
	assert_int_equal(gp_model_submit(rig->model, 0, 77, &good), -EINVAL);
	assert_int_equal(gp_model_submit(rig->model, 0, GP_MODEL_NONE, &good), -EINVAL);
	rig_submit(rig, queue, rig_kernel(2, 1ull << 12, 1ull << 49));
	rig_submit(rig, queue, rig_kernel(3, 1ull << 40, 1ull << 20));
	rig_free(rig);
}

static void bad_handles_and_configs_are_refused(void **state)
{
	struct rig *rig = rig_default();
	struct gp_model_queue_config config = {.enabled = true};
	struct gp_model_queue_state queue_state;
	u32 queue = rig_queue(rig, 7), copies = rig_sdma(rig, 1), other;

	(void)state;
	assert_int_equal(gp_model_queue_add(rig->model, 5, &config, &other), -EINVAL);
	config.priority = 16;
	assert_int_equal(gp_model_queue_add(rig->model, rig->process, &config, &other), -EINVAL);
	config.priority = 7;
	config.cu_mask[0] = 0x100; /* the chip has 8 */
	assert_int_equal(gp_model_queue_set(rig->model, queue, &config), -EINVAL);
	config.cu_mask[0] = 0x300;
	assert_int_equal(gp_model_queue_set(rig->model, queue, &config), -EINVAL);
	config.cu_mask[0] = 0x181;
	assert_int_equal(gp_model_queue_set(rig->model, queue, &config), 0);
	assert_int_equal(gp_model_queue_set(rig->model, 50, &config), -EINVAL);
	assert_int_equal(gp_model_queue_set(rig->model, copies, &config), -EINVAL);
	config.type = GP_MODEL_SDMA;
	config.engine = 2;
	assert_int_equal(gp_model_queue_add(rig->model, rig->process, &config, &other), -EINVAL);
	config.engine = 0;
	assert_int_equal(gp_model_queue_set(rig->model, copies, &config), -EINVAL);
	config.type = (enum gp_model_queue_type)7;
	assert_int_equal(gp_model_queue_add(rig->model, rig->process, &config, &other), -EINVAL);
	assert_int_equal(gp_model_queue_state(rig->model, 50, &queue_state), -EINVAL);
	assert_int_equal(gp_model_process_remove(rig->model, 50), -EINVAL);
	assert_int_equal(gp_model_runlist_update(rig->model, 0, 0, 0), -EINVAL);
	rig_free(rig);
}

static void full_tables_say_so(void **state)
{
	struct gp_model_config config = rig_config();
	struct gp_model_queue_config queue_config = {.enabled = true};
	struct rig *rig;
	u32 handle;

	(void)state;
	config.max_processes = 1;
	config.max_queues = 2;
	rig = rig_new(&config);
	assert_int_equal(gp_model_process_add(rig->model, &handle), -ENOSPC);
	rig_queue(rig, 1);
	rig_queue(rig, 1);
	assert_int_equal(gp_model_queue_add(rig->model, rig->process, &queue_config, &handle),
			 -ENOSPC);
	for (u64 tag = 1; tag <= GP_MODEL_MAX_UPDATES + 1; tag++)
		rig_update(rig, 0, tag); /* one is under way, the others wait */
	assert_int_equal(gp_model_runlist_update(rig->model, 0, 0, 99), -EAGAIN);
	rig_free(rig);
}

static void unusable_configs_are_refused(void **state)
{
	struct gp_model_config good = rig_config(), bad;
	struct gp_model *model;
	char memory[64];

	(void)state;
#define REFUSED(change)                                                                         \
	do {                                                                                    \
		bad = good;                                                                     \
		bad.change;                                                                     \
		assert_int_equal(gp_model_memory(&bad), 0);                                     \
		assert_int_equal(gp_model_init(&model, memory, sizeof(memory), &bad), -EINVAL); \
	} while (0)
	REFUSED(max_queues = 0);
	REFUSED(max_work = 0);
	REFUSED(max_processes = 0);
	REFUSED(chip.xcc_count = 9);
	REFUSED(chip.cu_per_xcc = 257);
	REFUSED(chip.quantum_ns = 0);
	REFUSED(chip.save_bytes_per_us = 0);
	REFUSED(chip.restore_bytes_per_us = 0);
	REFUSED(chip.sdma_bytes_per_us = 0);
	REFUSED(chip.sdma_engines = 17);
	REFUSED(chip.clock_khz = 0);
	REFUSED(chip.unmap_ns = UINT64_MAX);
	REFUSED(chip.jitter_permille = 1001);
	REFUSED(chip.contention_permille = 10001);
	REFUSED(chip.slots = 0);
	REFUSED(chip.vmids = 0);
	assert_int_equal(gp_model_init(&model, memory, sizeof(memory), &good), -ENOMEM);
	rig_free(rig_new(&good));
}

static void time_does_not_go_back(void **state)
{
	struct rig *rig = rig_default();
	u32 queue = rig_queue(rig, 7);
	struct gp_model_work work = rig_kernel(1, 1, 1000);
	u64 t0;

	(void)state;
	rig_map(rig);
	t0 = rig->now;
	assert_int_equal(gp_model_submit(rig->model, 1, queue, &work), 0);
	gp_model_advance(rig->model, 0);
	assert_int_equal(rig_stats(rig).now_ns, t0);
	rig_drain(rig);
	assert_int_equal(rig_at(rig, GP_MODEL_LAUNCHED, 1), t0 + 100);
	gp_model_advance(rig->model, UINT64_MAX);
	assert_int_equal(rig_stats(rig).now_ns, GP_MODEL_TIME_MAX);
	rig_free(rig);
}

static void an_advance_of_so_many_events_stops_and_goes_on(void **state)
{
	struct rig *rig = rig_default();
	u32 queue = rig_queue(rig, 7), events, calls = 0;
	u64 before, end;

	(void)state;
	rig_map(rig);
	rig_submit(rig, queue, rig_kernel(1, 8 * 50, 10000));
	end = rig->now + 10000000;
	do {
		events = 10;
		before = gp_model_now(rig->model);
		calls++;
		if (gp_model_advance_some(rig->model, end, &events))
			break;
		assert_int_equal(events, 0);
		assert_true(gp_model_now(rig->model) >= before && gp_model_now(rig->model) < end);
		assert_true(gp_model_next(rig->model) <= end);
		rig_take(rig);
		rig_check(rig);
	} while (calls < 1000);
	rig_take(rig);
	assert_int_equal(gp_model_now(rig->model), end);
	assert_true(calls >= 5); /* 50 rounds of 8 batches at most, a dispatch and a completion */
	assert_int_equal(rig_find(rig, GP_MODEL_COMPLETED, 1)->end_ns -
				 rig_find(rig, GP_MODEL_COMPLETED, 1)->start_ns,
			 50 * 10000);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_of_a_queue_launch_in_order),
		cmocka_unit_test(packets_without_barrier_overlap_and_may_complete_out_of_order),
		cmocka_unit_test(barrier_bit_waits_for_everything_earlier_to_complete),
		cmocka_unit_test(read_index_moves_when_the_first_workgroup_starts),
		cmocka_unit_test(packet_that_is_no_kernel_takes_dispatch_and_completion_only),
		cmocka_unit_test(work_in_a_queue_that_is_not_mapped_waits),
		cmocka_unit_test(removing_a_queue_drops_its_work_without_actions),
		cmocka_unit_test(actions_are_never_lost_when_their_room_is_full),
		cmocka_unit_test(many_launches_at_once_wait_for_room_together),
		cmocka_unit_test(work_that_cannot_be_represented_is_refused),
		cmocka_unit_test(bad_handles_and_configs_are_refused),
		cmocka_unit_test(full_tables_say_so),
		cmocka_unit_test(unusable_configs_are_refused),
		cmocka_unit_test(time_does_not_go_back),
		cmocka_unit_test(an_advance_of_so_many_events_stops_and_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
