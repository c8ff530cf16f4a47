// SPDX-License-Identifier: MIT
/* Compute units: occupancy, who gets free CUs, masks, tails, contention, jitter. */
#include "rig.h"

static void occupancy_follows_waves_registers_and_lds(void **state)
{
	struct gp_model_chip chip = rig_config().chip;

	(void)state;
	/* 4 SIMDs of 8 waves. */
	assert_int_equal(gp_model_occupancy(&chip, 1, 8, 0), 32);
	assert_int_equal(gp_model_occupancy(&chip, 4, 8, 0), 8);
	assert_int_equal(gp_model_occupancy(&chip, 5, 8, 0), 6);
	assert_int_equal(gp_model_occupancy(&chip, 33, 8, 0), 0);
	assert_int_equal(gp_model_occupancy(&chip, 0, 8, 0), 0);
	/* 512 registers: 64 leave 8 waves, 65 are 72 and leave 7. */
	assert_int_equal(gp_model_occupancy(&chip, 1, 64, 0), 32);
	assert_int_equal(gp_model_occupancy(&chip, 1, 65, 0), 28);
	assert_int_equal(gp_model_occupancy(&chip, 1, 72, 0), 28);
	assert_int_equal(gp_model_occupancy(&chip, 1, 512, 0), 4);
	assert_int_equal(gp_model_occupancy(&chip, 1, 513, 0), 0);
	assert_int_equal(gp_model_occupancy(&chip, 1, UINT32_MAX, 0), 0);
	assert_int_equal(gp_model_occupancy(&chip, 1, 0, 0), 32);
	assert_int_equal(gp_model_occupancy(&chip, 1, 8, 20000), 3);
	assert_int_equal(gp_model_occupancy(&chip, 1, 8, 65536), 1);
	assert_int_equal(gp_model_occupancy(&chip, 1, 8, 65537), 0);
}

static void saved_bytes_of_a_workgroup_are_registers_lds_and_fixed_parts(void **state)
{
	struct gp_model_chip chip = rig_config().chip;

	(void)state;
	chip.wave_fixed_bytes = 100;
	assert_int_equal(gp_model_workgroup_bytes(&chip, 1, 8, 0), 100 + 8 * 64 * 4);
	assert_int_equal(gp_model_workgroup_bytes(&chip, 3, 9, 7), 3 * (100 + 16 * 64 * 4) + 7);
	assert_true(gp_model_workgroup_bytes(&chip, UINT32_MAX, UINT32_MAX, UINT32_MAX) >=
		    GP_MODEL_TIME_MAX);
}

static void workgroups_that_share_a_cu_run_side_by_side(void **state)
{
	struct rig *rig = rig_default();
	u32 queue = rig_queue(rig, 7);
	struct gp_model_work work = rig_kernel(1, 8 * 8, 10000);
	u64 t0;

	(void)state;
	rig_map(rig);
	t0 = rig->now;
	work.waves_per_workgroup = 4; /* 8 to a CU, 64 on the chip: one batch */
	rig_submit(rig, queue, work);
	rig_until(rig, t0 + 100);
	assert_int_equal(rig_state(rig, queue).resident_waves, 256);
	work.workgroups++;
	work.tag = 2;
	work.barrier = true;
	rig_submit(rig, queue, work); /* one more: two */
	rig_drain(rig);
	assert_int_equal(rig_find(rig, GP_MODEL_COMPLETED, 1)->end_ns, t0 + 100 + 10000);
	assert_int_equal(rig_find(rig, GP_MODEL_COMPLETED, 2)->end_ns -
				 rig_find(rig, GP_MODEL_COMPLETED, 2)->start_ns,
			 20000);
	assert_int_equal(rig_stats(rig).batches, 3);
	rig_free(rig);
}

static void last_batch_uses_fewer_cus(void **state)
{
	struct rig *rig = rig_default();
	u32 queue = rig_queue(rig, 7), other = rig_queue(rig, 7);
	u64 t0;

	(void)state;
	rig_map(rig);
	t0 = rig->now;
	rig_submit(rig, queue, rig_kernel(1, 11, 10000));
	rig_until(rig, t0 + 10000);
	assert_int_equal(rig_state(rig, queue).resident_waves, 8 * 32);
	rig_until(rig, t0 + 10100);
	assert_int_equal(rig_state(rig, queue).resident_waves, 3 * 32);
	/* The five CUs of the tail are free for others. */
	rig_submit(rig, other, rig_kernel(2, 8, 1000));
	rig_until(rig, t0 + 10200);
	assert_int_equal(rig_state(rig, other).resident_waves, 5 * 32);
	rig_drain(rig);
	assert_int_equal(rig_state(rig, queue).cu_ns, 11 * 10000);
	assert_int_equal(rig_find(rig, GP_MODEL_COMPLETED, 1)->end_ns, t0 + 20100);
	rig_free(rig);
}

static void queues_of_equal_priority_share_cus_round_robin(void **state)
{
	struct rig *rig = rig_default();
	u32 queue[2] = {rig_queue(rig, 7), rig_queue(rig, 7)};
	u64 used[2];

	(void)state;
	rig_map(rig);
	/* The first has everything before the second comes; then each has half, at once. */
	rig_submit(rig, queue[0], rig_kernel(1, 4000, 10000));
	rig_until(rig, rig->now + 5000);
	rig_submit(rig, queue[1], rig_kernel(2, 4000, 10000));
	rig_until(rig, rig->now + 10000);
	for (u32 i = 0; i < 2; i++)
		assert_int_equal(rig_state(rig, queue[i]).resident_waves, 4 * 32);
	rig_until(rig, rig->now + 990000);
	for (u32 i = 0; i < 2; i++)
		used[i] = rig_state(rig, queue[i]).cu_ns;
	assert_true(used[0] + used[1] >= 8 * 1000000);
	assert_in_range(used[1], 3900000, 4100000);
	rig_free(rig);
}

static void one_free_cu_at_a_time_goes_round(void **state)
{
	struct gp_model_config config = rig_config();
	struct rig *rig;
	u32 queue[3];

	(void)state;
	config.chip.xcc_count = 1;
	config.chip.cu_per_xcc = 1;
	rig = rig_new(&config);
	for (u32 i = 0; i < 3; i++)
		queue[i] = rig_queue(rig, 7);
	rig_map(rig);
	for (u32 i = 0; i < 3; i++)
		rig_submit(rig, queue[i], rig_kernel(i, 100, 2000));
	rig_until(rig, rig->now + 100 + 30 * 2000);
	for (u32 i = 0; i < 3; i++)
		assert_in_range(rig_state(rig, queue[i]).cu_ns, 10 * 2000, 10 * 2000);
	rig_free(rig);
}

static void high_priority_gets_cus_as_batches_end_but_not_resident_ones(void **state)
{
	struct rig *rig = rig_default();
	u32 low = rig_queue(rig, 0), high = rig_queue(rig, 15);
	u64 t0;

	(void)state;
	rig_map(rig);
	t0 = rig->now;
	rig_submit(rig, low, rig_kernel(1, 80, 10000));
	rig_until(rig, t0 + 200);
	rig_submit(rig, high, rig_kernel(2, 16, 1000));
	rig_until(rig, t0 + 10099);
	assert_int_equal(rig_state(rig, high).resident_waves, 0);
	assert_int_equal(rig_state(rig, low).resident_waves, 8 * 32);
	rig_until(rig, t0 + 10100);
	assert_int_equal(rig_state(rig, high).resident_waves, 8 * 32);
	assert_int_equal(rig_state(rig, low).resident_waves, 0);
	rig_until(rig, t0 + 12100);
	assert_int_equal(rig_state(rig, high).resident_waves, 0);
	assert_int_equal(rig_state(rig, low).resident_waves, 8 * 32);
	rig_free(rig);
}

static void queue_priority_decides_within_a_pipe_priority(void **state)
{
	struct rig *rig = rig_default();
	u32 seven = rig_queue(rig, 7), eight = rig_queue(rig, 8);

	(void)state;
	rig_map(rig);
	rig_submit(rig, seven, rig_kernel(1, 8, 5000));
	rig_submit(rig, eight, rig_kernel(2, 8, 5000));
	rig_until(rig, rig->now + 100);
	assert_int_equal(rig_state(rig, eight).resident_waves, 8 * 32);
	assert_int_equal(rig_state(rig, seven).resident_waves, 0);
	rig_free(rig);
}

static void cu_masks_are_respected(void **state)
{
	struct rig *rig = rig_default();
	u32 masked = rig_queue(rig, 7), open = rig_queue(rig, 7);
	u64 t0;

	(void)state;
	rig_set(rig, masked, true, 7, 0x30);
	rig_map(rig);
	t0 = rig->now;
	rig_submit(rig, masked, rig_kernel(1, 10, 10000));
	rig_until(rig, t0 + 200);
	assert_int_equal(rig_state(rig, masked).resident_waves, 2 * 32);
	rig_submit(rig, open, rig_kernel(2, 100, 10000));
	rig_until(rig, t0 + 300);
	assert_int_equal(rig_state(rig, open).resident_waves, 6 * 32);
	rig_drain(rig); /* every step has checked the mask of every batch */
	assert_int_equal(rig_state(rig, masked).cu_ns, 10 * 10000);
	rig_free(rig);
}

static void changed_mask_takes_effect_at_the_next_map(void **state)
{
	struct rig *rig = rig_default();
	u32 queue = rig_queue(rig, 7);

	(void)state;
	rig_map(rig);
	rig_submit(rig, queue, rig_kernel(1, 100, 10000));
	rig_until(rig, rig->now + 5000);
	rig_set(rig, queue, true, 7, 0x0f);
	rig_until(rig, rig->now + 20000);
	assert_int_equal(rig_state(rig, queue).resident_waves, 8 * 32);
	rig_map(rig);
	assert_int_equal(rig_state(rig, queue).resident_waves, 4 * 32);
	assert_int_equal(rig_state(rig, queue).saved_waves, 4 * 32);
	rig_drain(rig);
	assert_non_null(rig_find(rig, GP_MODEL_COMPLETED, 1));
	rig_free(rig);
}

static void contention_slows_a_batch_by_what_others_hold(void **state)
{
	struct gp_model_config config = rig_config();
	struct rig *rig;
	u32 first, second;
	u64 t0;

	(void)state;
	config.chip.contention_permille = 200;
	rig = rig_new(&config);
	first = rig_queue(rig, 7), second = rig_queue(rig, 7);
	rig_map(rig);
	t0 = rig->now;
	/* Alone: no others, no slowdown. */
	rig_submit(rig, first, rig_kernel(1, 4, 10000));
	rig_until(rig, t0 + 20000);
	assert_int_equal(rig_find(rig, GP_MODEL_COMPLETED, 1)->end_ns, t0 + 10100);
	/* Both start at once and hold everything: each is slowed by the whole factor. */
	t0 = rig->now;
	rig_submit(rig, first, rig_kernel(2, 4, 10000));
	rig_submit(rig, second, rig_kernel(3, 4, 10000));
	rig_until(rig, t0 + 20000);
	assert_int_equal(rig_find(rig, GP_MODEL_COMPLETED, 2)->end_ns, t0 + 12100);
	assert_int_equal(rig_find(rig, GP_MODEL_COMPLETED, 3)->end_ns, t0 + 12100);
	/* Others hold 3 of the 6 CUs that are not mine: half of it. */
	t0 = rig->now;
	rig_submit(rig, first, rig_kernel(4, 3, 10000));
	rig_until(rig, t0 + 1000);
	rig_submit(rig, second, rig_kernel(5, 2, 10000));
	rig_drain(rig);
	assert_int_equal(rig_find(rig, GP_MODEL_COMPLETED, 4)->end_ns, t0 + 10100);
	assert_int_equal(rig_find(rig, GP_MODEL_COMPLETED, 5)->end_ns, t0 + 1000 + 11100);
	assert_int_equal(rig_stats(rig).contention_wg_ns, 8 * 2000 + 2 * 1000);
	assert_int_equal(rig_stats(rig).ran_wg_ns,
			 rig_stats(rig).work_wg_ns + rig_stats(rig).contention_wg_ns);
	rig_free(rig);
}

static void very_short_workgroups_run_several_to_a_batch(void **state)
{
	struct rig *rig = rig_default();
	u32 queue = rig_queue(rig, 7);
	u64 t0;

	(void)state;
	rig_map(rig);
	t0 = rig->now;
	/* 8003 workgroups of 10 ns on 8 CUs: 1000 rounds, then a tail of 3 workgroups. */
	rig_submit(rig, queue, rig_kernel(1, 8003, 10));
	rig_drain(rig);
	assert_int_equal(rig_find(rig, GP_MODEL_COMPLETED, 1)->end_ns, t0 + 100 + 10000 + 10);
	assert_int_equal(rig_stats(rig).batches, 11);
	assert_int_equal(rig_stats(rig).work_wg_ns, 80030);
	assert_int_equal(rig_stats(rig).ran_wg_ns, 80030);
	assert_int_equal(rig_state(rig, queue).cu_ns, 80030);
	rig_free(rig);
}

/* Two instances, the same calls; returns whether every action was the same. */
static bool same_run(u64 seed_a, u64 seed_b, u32 jitter)
{
	struct gp_model_config config = rig_config();
	struct rig *rig[2];
	u64 seed[2] = {seed_a, seed_b};
	bool same;

	config.chip.jitter_permille = jitter;
	config.chip.contention_permille = 150;
	for (u32 i = 0; i < 2; i++) {
		u32 queue[3];

		config.seed = seed[i];
		rig[i] = rig_new(&config);
		for (u32 k = 0; k < 3; k++)
			queue[k] = rig_queue(rig[i], 7 + k);
		rig_map(rig[i]);
		for (u64 tag = 1; tag <= 60; tag++) {
			rig_submit(rig[i], queue[tag % 3], rig_kernel(tag, tag * 7 % 31 + 1, 3000));
			rig_until(rig[i], rig[i]->now + tag * 137 % 900);
			if (tag % 9 == 0) {
				rig_set(rig[i], queue[tag % 2], tag % 18, 7, 0);
				rig_update(rig[i], tag % 4, tag);
			}
		}
		rig_set(rig[i], queue[0], true, 7, 0);
		rig_update(rig[i], 0, 100);
		rig_drain(rig[i]);
	}
	assert_true(rig[0]->count > 130);
	same = rig[0]->count == rig[1]->count &&
	       !memcmp(rig[0]->action, rig[1]->action, rig[0]->count * sizeof(rig[0]->action[0]));
	rig_free(rig[0]);
	rig_free(rig[1]);
	return same;
}

static void same_seed_and_inputs_give_the_same_actions(void **state)
{
	(void)state;
	assert_true(same_run(42, 42, 100));
	assert_true(same_run(42, 43, 0));
}

/* Two queues with the same kernels do not vary in step. */
static void jitter_is_each_queues_own(void **state)
{
	struct gp_model_config config = rig_config();
	u64 took[2][16];
	struct rig *rig;

	(void)state;
	config.chip.jitter_permille = 100;
	rig = rig_new(&config);
	for (u32 q = 0; q < 2; q++) {
		u32 queue = rig_queue(rig, 7);

		rig_map(rig);
		for (u64 i = 0; i < 16; i++) {
			struct gp_model_work work = rig_kernel(q * 16 + i, 1, 10000);

			work.barrier = true;
			rig_submit(rig, queue, work);
		}
		rig_drain(rig);
		for (u64 i = 0; i < 16; i++) {
			const struct gp_model_action *done =
				rig_find(rig, GP_MODEL_COMPLETED, q * 16 + i);

			took[q][i] = done->end_ns - done->start_ns;
		}
	}
	assert_memory_not_equal(took[0], took[1], sizeof(took[0]));
	rig_free(rig);
}

static void jitter_comes_from_the_seed(void **state)
{
	struct gp_model_config config = rig_config();
	struct rig *rig;
	u64 least = UINT64_MAX, most = 0;
	u32 queue;

	(void)state;
	assert_false(same_run(42, 43, 100));
	config.chip.jitter_permille = 100;
	rig = rig_new(&config);
	queue = rig_queue(rig, 7);
	rig_map(rig);
	for (u64 tag = 0; tag < 500; tag++) {
		struct gp_model_work work = rig_kernel(tag, 1, 10000);

		work.barrier = true;
		rig_submit(rig, queue, work);
	}
	rig_drain(rig);
	for (u32 i = 0; i < rig->count; i++) {
		u64 took = rig->action[i].end_ns - rig->action[i].start_ns;

		if (rig->action[i].kind != GP_MODEL_COMPLETED)
			continue;
		least = GP_MIN(least, took);
		most = GP_MAX(most, took);
	}
	assert_in_range(least, 9000, 9100);
	assert_in_range(most, 10900, 11000);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(occupancy_follows_waves_registers_and_lds),
		cmocka_unit_test(saved_bytes_of_a_workgroup_are_registers_lds_and_fixed_parts),
		cmocka_unit_test(workgroups_that_share_a_cu_run_side_by_side),
		cmocka_unit_test(last_batch_uses_fewer_cus),
		cmocka_unit_test(queues_of_equal_priority_share_cus_round_robin),
		cmocka_unit_test(one_free_cu_at_a_time_goes_round),
		cmocka_unit_test(high_priority_gets_cus_as_batches_end_but_not_resident_ones),
		cmocka_unit_test(queue_priority_decides_within_a_pipe_priority),
		cmocka_unit_test(cu_masks_are_respected),
		cmocka_unit_test(changed_mask_takes_effect_at_the_next_map),
		cmocka_unit_test(contention_slows_a_batch_by_what_others_hold),
		cmocka_unit_test(very_short_workgroups_run_several_to_a_batch),
		cmocka_unit_test(same_seed_and_inputs_give_the_same_actions),
		cmocka_unit_test(jitter_comes_from_the_seed),
		cmocka_unit_test(jitter_is_each_queues_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
