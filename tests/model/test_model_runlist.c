// SPDX-License-Identifier: MIT
/* The runlist: what an update costs, what it does to whom, grace, disabled queues. */
#include "rig.h"

#define GROUP_BYTES 65536 /* 32 waves of 8 registers, 64 lanes */

static void an_update_costs_unmap_save_map_and_restore(void **state)
{
	struct rig *rig = rig_default();
	u32 queue[2] = {rig_queue(rig, 7), rig_queue(rig, 7)};
	const struct gp_model_action *unmapped;
	u64 t0, unmap, map;

	(void)state;
	rig_map(rig);
	rig_submit(rig, queue[0],
		   rig_kernel(1, 3, 100000)); /* 3 CUs: 2 in one XCC, 1 in the other */
	rig_until(rig, rig->now + 1100);
	t0 = rig->now;
	rig_update(rig, 0, 5);
	assert_int_equal(rig_state(rig, queue[0]).saved_waves, 3 * 32);
	rig_drain(rig);
	unmap = 1000 + 2 * 10 + 300 + 2 * GROUP_BYTES;
	map = 2000 + 2 * 20 + 400 + 2 * GROUP_BYTES;
	unmapped = rig_find(rig, GP_MODEL_UNMAPPED, 5);
	assert_int_equal(unmapped->at_ns, t0 + unmap);
	assert_int_equal(unmapped->saved_bytes, 3 * GROUP_BYTES);
	assert_int_equal(unmapped->saved_waves, 3 * 32);
	assert_int_equal(unmapped->unmapped_queues, 2);
	assert_int_equal(rig_at(rig, GP_MODEL_MAPPED, 5), t0 + unmap + map);
	assert_int_equal(rig_find(rig, GP_MODEL_COMPLETED, 1)->end_ns, t0 + unmap + map + 99000);
	assert_int_equal(rig_stats(rig).saved_bytes, 3 * GROUP_BYTES);
	assert_int_equal(rig_stats(rig).restored_bytes, 3 * GROUP_BYTES);
	assert_int_equal(rig_stats(rig).ran_wg_ns, 3 * 100000);
	rig_free(rig);
}

static void saving_and_restoring_have_a_bandwidth_each(void **state)
{
	struct gp_model_config config = rig_config();
	struct rig *rig;
	u64 t0, unmap, map;
	u32 queue;

	(void)state;
	config.chip.save_bytes_per_us = 500;
	config.chip.restore_bytes_per_us = 4000;
	rig = rig_new(&config);
	queue = rig_queue(rig, 7);
	rig_map(rig);
	rig_submit(rig, queue, rig_kernel(1, 1, 100000));
	rig_until(rig, rig->now + 1100);
	t0 = rig->now;
	rig_update(rig, 0, 5);
	rig_drain(rig);
	unmap = 1000 + 10 + 300 + GROUP_BYTES * 2;
	map = 2000 + 20 + 400 + GROUP_BYTES / 4;
	assert_int_equal(rig_at(rig, GP_MODEL_UNMAPPED, 5), t0 + unmap);
	assert_int_equal(rig_at(rig, GP_MODEL_MAPPED, 5), t0 + unmap + map);
	rig_free(rig);
}

static void with_nothing_resident_nothing_is_saved(void **state)
{
	struct rig *rig = rig_default();
	u64 t0;

	(void)state;
	rig_queue(rig, 7);
	rig_map(rig);
	t0 = rig->now;
	rig_update(rig, 0, 5);
	rig_drain(rig);
	assert_int_equal(rig_at(rig, GP_MODEL_UNMAPPED, 5), t0 + 1010);
	assert_int_equal(rig_at(rig, GP_MODEL_MAPPED, 5), t0 + 1010 + 2020);
	rig_free(rig);
}

static void with_nothing_mapped_an_update_costs_nothing(void **state)
{
	struct rig *rig = rig_default();

	(void)state;
	rig_update(rig, 0, 5);
	rig_drain(rig);
	assert_int_equal(rig_at(rig, GP_MODEL_UNMAPPED, 5), 0);
	assert_int_equal(rig_at(rig, GP_MODEL_MAPPED, 5), 0);
	rig_queue(rig, 7);
	rig_update(rig, 0, 6);
	rig_drain(rig);
	assert_int_equal(rig_at(rig, GP_MODEL_UNMAPPED, 6), 0);
	assert_int_equal(rig_at(rig, GP_MODEL_MAPPED, 6), 2020);
	rig_free(rig);
}

/* Runs a mixed load on `bystander` with or without an update in the middle; when each packet ends.
 */
static u64 bystander_run(u64 at, u64 ends[4])
{
	struct rig *rig = rig_default();
	u32 other_process, other, bystander, masked;
	struct gp_model_work work;
	u64 t0, lost;

	assert_int_equal(gp_model_process_add(rig->model, &other_process), 0);
	other = rig_queue_of(rig, other_process, 7);
	bystander = rig_queue(rig, 7);
	masked = rig_queue(rig, 7);
	rig_set(rig, masked, true, 7, 0x03);
	rig_map(rig);
	t0 = rig->now;
	rig_submit(rig, masked, rig_kernel(4, 9, 7000));
	rig_until(rig, t0 + 150);
	rig_submit(rig, bystander, rig_kernel(1, 12, 5000));
	rig_submit(rig, bystander, (struct gp_model_work){.tag = 2});
	work = rig_kernel(3, 3, 2500);
	work.barrier = true;
	rig_submit(rig, bystander, work);
	if (at) {
		rig_until(rig, t0 + at);
		rig_set(rig, other, false, 7, 0);
		rig_update(rig, 0, 99);
	}
	rig_drain(rig);
	for (u64 tag = 1; tag <= 4; tag++)
		ends[tag - 1] = rig_at(rig, GP_MODEL_COMPLETED, tag) - t0;
	lost = at ? rig_at(rig, GP_MODEL_MAPPED, 99) - (t0 + at) : 0;
	rig_free(rig);
	return lost;
}

static void a_bystander_loses_exactly_the_switch_time(void **state)
{
	u64 undisturbed[4], disturbed[4];

	(void)state;
	bystander_run(0, undisturbed);
	/* Any moment: dispatching, running, between batches, completing. */
	for (u64 at = 151; at < 40000; at += 37) {
		u64 lost = bystander_run(at, disturbed);

		assert_true(lost >= 1030 + 2040);
		for (u32 i = 0; i < 4; i++)
			assert_int_equal(disturbed[i],
					 undisturbed[i] + (undisturbed[i] > at ? lost : 0));
	}
}

static void an_update_unmaps_all_queues_of_all_processes(void **state)
{
	struct rig *rig = rig_default();
	u32 process[3], queue[3];

	(void)state;
	for (u32 i = 0; i < 3; i++) {
		assert_int_equal(gp_model_process_add(rig->model, &process[i]), 0);
		queue[i] = rig_queue_of(rig, process[i], 7);
	}
	rig_map(rig);
	for (u32 i = 0; i < 3; i++) {
		assert_int_equal(rig_state(rig, queue[i]).vmid_index, i);
		assert_int_equal(rig_state(rig, queue[i]).slot, i);
		rig_submit(rig, queue[i], rig_kernel(i, 100, 10000));
	}
	rig_until(rig, rig->now + 5000);
	rig_set(rig, queue[1], false, 7, 0);
	rig_update(rig, 0, 5);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(rig_state(rig, queue[i]).resident_waves, 0);
	while (!rig_find(rig, GP_MODEL_MAPPED, 5))
		rig_until(rig, gp_model_next(rig->model));
	assert_int_equal(rig_find(rig, GP_MODEL_UNMAPPED, 5)->unmapped_queues, 3);
	assert_true(rig_state(rig, queue[0]).mapped && rig_state(rig, queue[2]).mapped);
	assert_false(rig_state(rig, queue[1]).mapped);
	assert_int_equal(rig_state(rig, queue[1]).slot, GP_MODEL_NONE);
	assert_int_equal(rig_state(rig, queue[2]).vmid_index, 1);
	rig_free(rig);
}

static void a_disabled_queue_continues_exactly_where_it_stopped(void **state)
{
	struct rig *rig = rig_default();
	u32 queue = rig_queue(rig, 7);
	struct gp_model_queue_state before, after;
	u64 t0, resumed;

	(void)state;
	rig_map(rig);
	t0 = rig->now;
	rig_submit(rig, queue, rig_kernel(1, 8, 100000));
	rig_until(rig, t0 + 100 + 30000);
	rig_set(rig, queue, false, 7, 0);
	rig_map(rig);
	before = rig_state(rig, queue);
	assert_int_equal(before.saved_waves, 8 * 32);
	assert_int_equal(before.saved_bytes, 8 * GROUP_BYTES);
	assert_int_equal(before.cu_ns, 8 * 30000);
	assert_int_equal(gp_model_next(rig->model), GP_MODEL_NEVER);
	rig_until(rig, rig->now + 800000000);
	after = rig_state(rig, queue);
	assert_int_equal(after.saved_waves, before.saved_waves);
	assert_int_equal(after.saved_bytes, before.saved_bytes);
	assert_int_equal(after.cu_ns, before.cu_ns);
	assert_int_equal(after.completed, 0);
	rig_set(rig, queue, true, 7, 0);
	rig_map(rig);
	resumed = rig->now;
	rig_drain(rig);
	assert_int_equal(rig_find(rig, GP_MODEL_COMPLETED, 1)->end_ns, resumed + 70000);
	assert_int_equal(rig_state(rig, queue).cu_ns, 8 * 100000);
	assert_null(rig_find(rig, GP_MODEL_LAUNCHED, 1)); /* launched once, before */
	rig_free(rig);
}

static void saved_batches_that_get_fewer_cus_are_split_and_none_runs_twice(void **state)
{
	struct rig *rig = rig_default();
	u32 queue = rig_queue(rig, 7);
	u64 resumed;

	(void)state;
	rig_map(rig);
	rig_submit(rig, queue, rig_kernel(1, 8, 100000));
	rig_until(rig, rig->now + 100 + 30000);
	rig_set(rig, queue, true, 7, 0x1c); /* 3 CUs, none, then 3 others */
	rig_map(rig);
	resumed = rig->now;
	assert_int_equal(rig_state(rig, queue).resident_waves, 3 * 32);
	assert_int_equal(rig_state(rig, queue).saved_waves, 5 * 32);
	rig_until(rig, resumed + 10000);
	rig_set(rig, queue, true, 7, 0xe0);
	rig_map(rig);
	rig_drain(rig);
	/* 30000 ran on 8; then 10000 on 3; the rest on 3 at a time. Not a nanosecond more. */
	assert_int_equal(rig_state(rig, queue).cu_ns, 8 * 100000);
	assert_int_equal(rig_stats(rig).ran_wg_ns, 8 * 100000);
	assert_int_equal(rig_stats(rig).work_wg_ns, 8 * 100000);
	rig_free(rig);
}

static void splitting_to_one_cu_again_and_again_stays_within_bounds(void **state)
{
	struct gp_model_config config = rig_config();
	struct rig *rig;
	u32 queue;

	(void)state;
	config.max_queues = 1; /* room for exactly 8 batches */
	rig = rig_new(&config);
	queue = rig_queue(rig, 7);
	rig_map(rig);
	rig_submit(rig, queue, rig_kernel(1, 500, 100000));
	rig_until(rig, rig->now + 1000);
	for (u32 i = 0; i < 60; i++) {
		rig_set(rig, queue, true, 7, i % 10 == 9 ? 0 : 1ull << (i * 5 % 8));
		rig_map(rig);
		rig_until(rig, rig->now + 1 + i * 997 % 5000);
	}
	rig_set(rig, queue, true, 7, 0);
	rig_map(rig);
	rig_drain(rig);
	assert_int_equal(rig_stats(rig).ran_wg_ns, 500 * 100000);
	rig_free(rig);
}

static void resumed_queue_and_bystander_share_what_there_is(void **state)
{
	struct rig *rig = rig_default();
	u32 queue = rig_queue(rig, 7), other = rig_queue(rig, 7);

	(void)state;
	rig_map(rig);
	rig_submit(rig, queue, rig_kernel(1, 8, 50000));
	rig_until(rig, rig->now + 20000);
	rig_set(rig, queue, false, 7, 0);
	rig_map(rig);
	rig_submit(rig, other, rig_kernel(2, 8, 50000));
	rig_until(rig, rig->now + 20000);
	/* Both have state for all CUs: the later one waits, saved, and loses nothing. */
	rig_set(rig, queue, true, 7, 0);
	rig_map(rig);
	assert_int_equal(rig_state(rig, queue).resident_waves +
				 rig_state(rig, other).resident_waves,
			 8 * 32);
	assert_int_equal(rig_state(rig, queue).saved_waves + rig_state(rig, other).saved_waves,
			 8 * 32);
	rig_drain(rig);
	assert_int_equal(rig_stats(rig).ran_wg_ns, 16 * 50000);
	assert_int_equal(rig_stats(rig).saved_bytes, rig_stats(rig).restored_bytes);
	rig_free(rig);
}

static void batches_that_can_return_to_their_cus_are_not_split(void **state)
{
	struct rig *rig = rig_default();
	u32 large = rig_queue(rig, 7), small = rig_queue(rig, 7);

	(void)state;
	rig_map(rig);
	rig_submit(rig, large, rig_kernel(1, 7, 50000));
	rig_until(rig, rig->now + 500);
	rig_submit(rig, small, rig_kernel(2, 1, 50000));
	rig_until(rig, rig->now + 500);
	for (u32 i = 0; i < 3; i++) {
		rig_map(rig);
		assert_int_equal(rig->model->batches_pool.used, 2);
	}
	rig_free(rig);
}

static void grace_lets_batches_end_that_would_and_starts_none(void **state)
{
	struct rig *rig = rig_default();
	u32 brief = rig_queue(rig, 7), lengthy = rig_queue(rig, 7);
	u64 t0;

	(void)state;
	rig_set(rig, brief, true, 7, 0x0f);
	rig_set(rig, lengthy, true, 7, 0xf0);
	rig_map(rig);
	t0 = rig->now;
	rig_submit(rig, brief, rig_kernel(1, 8, 4000));
	rig_submit(rig, lengthy, rig_kernel(2, 4, 100000));
	rig_until(rig, t0 + 1100);
	rig_update(rig, 5, 9); /* 5000 ns */
	rig_until(rig, t0 + 4099);
	assert_int_equal(rig_state(rig, brief).resident_waves, 4 * 32);
	rig_until(rig, t0 + 4200); /* the first four are over, the others do not start */
	assert_int_equal(rig_state(rig, brief).resident_waves, 0);
	assert_int_equal(rig_state(rig, lengthy).resident_waves, 4 * 32);
	rig_drain(rig);
	/* Saved when the grace is over: the long ones only, after 6000 ns. */
	assert_int_equal(rig_find(rig, GP_MODEL_UNMAPPED, 9)->saved_waves, 4 * 32);
	assert_int_equal(rig_at(rig, GP_MODEL_UNMAPPED, 9),
			 t0 + 1100 + 5000 + 1020 + 300 + 2 * GROUP_BYTES);
	assert_int_equal(rig_find(rig, GP_MODEL_COMPLETED, 2)->end_ns,
			 rig_at(rig, GP_MODEL_MAPPED, 9) + 94000);
	assert_int_equal(rig_stats(rig).ran_wg_ns, 8 * 4000 + 4 * 100000);
	rig_free(rig);
}

static void grace_ends_as_soon_as_nothing_is_resident(void **state)
{
	struct rig *rig = rig_default();
	u32 queue = rig_queue(rig, 7);
	u64 t0;

	(void)state;
	rig_map(rig);
	t0 = rig->now;
	rig_submit(rig, queue, rig_kernel(1, 80, 4000));
	rig_until(rig, t0 + 1000);
	rig_update(rig, 200, 9);
	rig_until(rig, t0 + 10000);
	assert_int_equal(rig_at(rig, GP_MODEL_UNMAPPED, 9), t0 + 4100 + 1010);
	assert_int_equal(rig_find(rig, GP_MODEL_UNMAPPED, 9)->saved_bytes, 0);
	rig_free(rig);
}

static void updates_are_served_in_order_each_with_its_own_fence(void **state)
{
	struct rig *rig = rig_default();
	u32 queue = rig_queue(rig, 7), seen = 0;
	u64 t0;

	(void)state;
	rig_map(rig);
	t0 = rig->now;
	rig_submit(rig, queue, rig_kernel(77, 8, 50000));
	rig_until(rig, t0 + 1100);
	for (u64 tag = 1; tag <= 5; tag++)
		rig_update(rig, 0, tag);
	rig_drain(rig);
	for (u32 i = 0; i < rig->count; i++) {
		if (rig->action[i].kind != GP_MODEL_UNMAPPED &&
		    rig->action[i].kind != GP_MODEL_MAPPED)
			continue;
		assert_int_equal(rig->action[i].kind,
				 seen % 2 ? GP_MODEL_MAPPED : GP_MODEL_UNMAPPED);
		assert_int_equal(rig->action[i].tag, seen / 2 + 1);
		seen++;
	}
	assert_int_equal(seen, 10);
	assert_int_equal(rig_stats(rig).updates, 6);
	assert_int_equal(rig_find(rig, GP_MODEL_COMPLETED, 77)->end_ns,
			 rig_at(rig, GP_MODEL_MAPPED, 5) + 49000);
	rig_free(rig);
}

static void switch_time_is_what_nothing_ran_in(void **state)
{
	struct rig *rig = rig_default();
	u32 queue = rig_queue(rig, 7);
	u64 before;

	(void)state;
	rig_map(rig);
	before = rig_stats(rig).switch_ns;
	assert_int_equal(before, 2020);
	rig_submit(rig, queue, rig_kernel(1, 8, 30000));
	rig_until(rig, rig->now + 1100);
	rig_update(rig, 3, 2); /* grace is not switch time */
	rig_drain(rig);
	assert_int_equal(rig_stats(rig).switch_ns - before,
			 1010 + 300 + 4 * GROUP_BYTES + 2020 + 400 + 4 * GROUP_BYTES);
	assert_int_equal(rig_stats(rig).busy_cu_ns, 8 * 30000);
	rig_free(rig);
}

static void a_queue_disabled_while_dispatching_goes_on_from_there(void **state)
{
	struct rig *rig = rig_default();
	u32 queue = rig_queue(rig, 7);
	u64 resumed;

	(void)state;
	rig_map(rig);
	rig_submit(rig, queue, (struct gp_model_work){.tag = 1});
	rig_until(rig, rig->now + 60); /* 40 left */
	rig_set(rig, queue, false, 7, 0);
	rig_map(rig);
	rig_until(rig, rig->now + 100000);
	rig_set(rig, queue, true, 7, 0);
	rig_map(rig);
	resumed = rig->now;
	rig_until(rig, resumed + 40 + 20);
	assert_int_equal(rig_at(rig, GP_MODEL_LAUNCHED, 1), resumed + 40);
	/* Of the completion 30 are left. */
	rig_set(rig, queue, false, 7, 0);
	rig_map(rig);
	assert_null(rig_find(rig, GP_MODEL_COMPLETED, 1));
	rig_set(rig, queue, true, 7, 0);
	rig_map(rig);
	resumed = rig->now;
	rig_drain(rig);
	assert_int_equal(rig_at(rig, GP_MODEL_COMPLETED, 1), resumed + 30);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_update_costs_unmap_save_map_and_restore),
		cmocka_unit_test(saving_and_restoring_have_a_bandwidth_each),
		cmocka_unit_test(with_nothing_resident_nothing_is_saved),
		cmocka_unit_test(with_nothing_mapped_an_update_costs_nothing),
		cmocka_unit_test(a_bystander_loses_exactly_the_switch_time),
		cmocka_unit_test(an_update_unmaps_all_queues_of_all_processes),
		cmocka_unit_test(a_disabled_queue_continues_exactly_where_it_stopped),
		cmocka_unit_test(saved_batches_that_get_fewer_cus_are_split_and_none_runs_twice),
		cmocka_unit_test(splitting_to_one_cu_again_and_again_stays_within_bounds),
		cmocka_unit_test(resumed_queue_and_bystander_share_what_there_is),
		cmocka_unit_test(batches_that_can_return_to_their_cus_are_not_split),
		cmocka_unit_test(grace_lets_batches_end_that_would_and_starts_none),
		cmocka_unit_test(grace_ends_as_soon_as_nothing_is_resident),
		cmocka_unit_test(updates_are_served_in_order_each_with_its_own_fence),
		cmocka_unit_test(switch_time_is_what_nothing_ran_in),
		cmocka_unit_test(a_queue_disabled_while_dispatching_goes_on_from_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
