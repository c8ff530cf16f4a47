// SPDX-License-Identifier: MIT
/* More processes than VMIDs, more queues than slots: rotation by quantum. */
#include "rig.h"

/* `processes` of one queue each; fills queue[]. */
static struct rig *many(u32 vmids, u32 slots, u32 processes, u32 queues_each, u32 *queue)
{
	struct gp_model_config config = rig_config();
	struct rig *rig;
	u32 process;

	config.chip.vmids = vmids;
	config.chip.slots = slots;
	rig = rig_new(&config);
	for (u32 i = 0; i < processes; i++) {
		assert_int_equal(gp_model_process_add(rig->model, &process), 0);
		for (u32 k = 0; k < queues_each; k++)
			*queue++ = rig_queue_of(rig, process, 7);
	}
	return rig;
}

static void every_queue_makes_progress(struct rig *rig, const u32 *queue, u32 count)
{
	struct gp_model_stats before, after;

	rig_map(rig);
	assert_true(rig_stats(rig).oversubscribed);
	for (u32 i = 0; i < count; i++)
		rig_submit(rig, queue[i], rig_kernel(i, 8 * 100, 10000));
	before = rig_stats(rig);
	rig_until(rig, rig->now + 20000000);
	after = rig_stats(rig);
	assert_true(after.rotations > before.rotations + 3);
	assert_true(after.saved_bytes > 0 && after.restored_bytes > 0);
	for (u32 i = 0; i < count; i++)
		assert_true(rig_state(rig, queue[i]).cu_ns > 0);
	for (u32 i = 0; i < count; i++)
		rig_submit(rig, queue[i], rig_kernel(1000 + i, 1, 1000));
	rig_drain(rig);
	for (u32 i = 0; i < count; i++)
		assert_int_equal(rig_state(rig, queue[i]).completed, 2);
	assert_int_equal(rig_stats(rig).ran_wg_ns, count * (8 * 100 * 10000ull + 1000));
}

static void too_many_processes_take_turns(void **state)
{
	u32 queue[5];
	struct rig *rig = many(2, 24, 5, 1, queue);

	(void)state;
	every_queue_makes_progress(rig, queue, 5);
	rig_free(rig);
}

static void too_many_queues_take_turns(void **state)
{
	u32 queue[7];
	struct rig *rig = many(13, 3, 1, 7, queue);

	(void)state;
	every_queue_makes_progress(rig, queue, 7);
	rig_free(rig);
}

static void both_limits_at_once(void **state)
{
	u32 queue[12];
	struct rig *rig = many(2, 5, 4, 3, queue);

	(void)state;
	every_queue_makes_progress(rig, queue, 12);
	rig_free(rig);
}

static void never_more_than_the_slots_and_vmids_are_used(void **state)
{
	u32 queue[12];
	struct rig *rig = many(2, 5, 4, 3, queue);

	(void)state;
	rig_map(rig);
	for (u32 i = 0; i < 12; i++)
		rig_submit(rig, queue[i], rig_kernel(i, 800, 10000));
	for (u32 step = 0; step < 200; step++) {
		u64 slots = 0;

		rig_until(rig, rig->now + 50000);
		for (u32 i = 0; i < 12; i++) {
			struct gp_model_queue_state s = rig_state(rig, queue[i]);

			if (!s.mapped)
				continue;
			assert_true(s.slot < 5 && s.vmid_index < 2);
			assert_false(slots >> s.slot & 1);
			slots |= 1ull << s.slot;
		}
		assert_true(rig_stats(rig).mapped_queues <= 5);
	}
	rig_free(rig);
}

static void a_runlist_that_fits_is_never_rotated(void **state)
{
	u32 queue[6];
	struct rig *rig = many(2, 6, 2, 3, queue);

	(void)state;
	rig_map(rig);
	for (u32 i = 0; i < 6; i++)
		rig_submit(rig, queue[i], rig_kernel(i, 800, 10000));
	rig_drain(rig);
	assert_int_equal(rig_stats(rig).rotations, 0);
	assert_false(rig_stats(rig).oversubscribed);
	rig_free(rig);
}

static void rotation_stops_when_it_fits_again(void **state)
{
	u32 queue[3];
	struct rig *rig = many(2, 24, 3, 1, queue);
	u64 rotations;

	(void)state;
	rig_map(rig);
	for (u32 i = 0; i < 3; i++)
		rig_submit(rig, queue[i], rig_kernel(i, 8000, 10000));
	rig_until(rig, rig->now + 3000000);
	assert_true(rig_stats(rig).rotations > 1);
	while (rig_state(rig, queue[2]).vmid_index != 0)
		rig_until(rig, rig->now + 10000);
	rig_set(rig, queue[1], false, 7, 0); /* a suspended queue does not count */
	rig_map(rig);
	/* And the order is that of the runlist again. */
	assert_int_equal(rig_state(rig, queue[0]).slot, 0);
	assert_int_equal(rig_state(rig, queue[2]).slot, 1);
	rotations = rig_stats(rig).rotations;
	rig_until(rig, rig->now + 3000000);
	assert_int_equal(rig_stats(rig).rotations, rotations);
	assert_true(rig_state(rig, queue[0]).mapped && rig_state(rig, queue[2]).mapped);
	rig_free(rig);
}

static void a_rotation_comes_after_a_quantum_and_carries_tag_0(void **state)
{
	u32 queue[2];
	struct rig *rig = many(1, 24, 2, 1, queue);
	u64 mapped;

	(void)state;
	rig_map(rig);
	mapped = rig->now;
	rig_submit(rig, queue[0], rig_kernel(1, 8000, 10000));
	rig_submit(rig, queue[1], rig_kernel(2, 8000, 10000));
	rig_until(rig, mapped + 100000);
	assert_int_equal(rig->count, 1); /* launched */
	rig_until(rig, mapped + 1000000);
	assert_int_equal(rig_at(rig, GP_MODEL_UNMAPPED, 0),
			 mapped + 100000 + 1010 + 300 + 4 * 65536);
	assert_true(rig_find(rig, GP_MODEL_UNMAPPED, 0)->saved_waves == 8 * 32);
	assert_non_null(rig_find(rig, GP_MODEL_MAPPED, 0));
	rig_free(rig);
}

static void updates_faster_than_the_quantum_do_not_starve_anybody(void **state)
{
	u32 queue[3];
	struct rig *rig = many(1, 24, 3, 1, queue);

	(void)state;
	rig_map(rig);
	for (u32 i = 0; i < 3; i++)
		rig_submit(rig, queue[i], rig_kernel(i, 8000, 10000));
	for (u32 i = 0; i < 60; i++) {
		rig_map(rig);
		rig_until(rig, rig->now + 30000);
	}
	for (u32 i = 0; i < 3; i++)
		assert_true(rig_state(rig, queue[i]).cu_ns > 8 * 100000);
	rig_free(rig);
}

static void an_idle_device_does_not_rotate(void **state)
{
	u32 queue[3];
	struct rig *rig = many(1, 24, 3, 1, queue);
	u64 t0;

	(void)state;
	rig_map(rig);
	assert_true(rig_stats(rig).oversubscribed);
	assert_int_equal(gp_model_next(rig->model), GP_MODEL_NEVER);
	rig_until(rig, rig->now + 10000000);
	assert_int_equal(rig_stats(rig).rotations, 0);
	/* Long after the quantum, work for one that is not mapped: at once its turn. */
	t0 = rig->now;
	rig_submit(rig, queue[1], rig_kernel(1, 1, 1000));
	rig_drain(rig);
	assert_int_equal(rig_at(rig, GP_MODEL_LAUNCHED, 1), t0 + 1010 + 2020 + 100);
	rig_free(rig);
}

static void a_queue_whose_turn_it_is_can_be_removed(void **state)
{
	u32 queue[4];
	struct rig *rig = many(1, 24, 4, 1, queue);

	(void)state;
	rig_map(rig);
	for (u32 i = 0; i < 4; i++)
		rig_submit(rig, queue[i], rig_kernel(i, 800, 10000));
	rig_until(rig, rig->now + 50000);
	rig_set(rig, queue[0], false, 7, 0);
	rig_set(rig, queue[1], false, 7, 0);
	rig_map(rig);
	assert_int_equal(gp_model_queue_remove(rig->model, queue[0], NULL), 0);
	assert_int_equal(gp_model_queue_remove(rig->model, queue[1], NULL), 0);
	rig_drain(rig);
	assert_int_equal(rig_state(rig, queue[2]).completed, 1);
	assert_int_equal(rig_state(rig, queue[3]).completed, 1);
	rig_free(rig);
}

/* It is over already: whoever waited is not made to wait for one more switch. */
static void an_update_after_the_quantum_moves_the_turn_on(void **state)
{
	u32 queue[3];
	struct rig *rig = many(1, 24, 3, 1, queue);
	u64 t0;

	(void)state;
	rig_map(rig);
	assert_true(rig_state(rig, queue[0]).mapped);
	rig_until(rig, rig->now + 10000000); /* idle: no rotation */
	rig_map(rig);
	t0 = rig->now;
	assert_true(rig_state(rig, queue[1]).mapped);
	/* With a whole quantum. */
	rig_submit(rig, queue[1], rig_kernel(1, 8, 50000));
	rig_submit(rig, queue[2], rig_kernel(2, 8, 1000));
	rig_drain(rig);
	assert_int_equal(rig_at(rig, GP_MODEL_COMPLETED, 1), t0 + 100 + 50000 + 50);
	assert_int_equal(rig_at(rig, GP_MODEL_UNMAPPED, 0), t0 + 100000 + 1010);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(too_many_processes_take_turns),
		cmocka_unit_test(too_many_queues_take_turns),
		cmocka_unit_test(both_limits_at_once),
		cmocka_unit_test(never_more_than_the_slots_and_vmids_are_used),
		cmocka_unit_test(a_runlist_that_fits_is_never_rotated),
		cmocka_unit_test(rotation_stops_when_it_fits_again),
		cmocka_unit_test(a_rotation_comes_after_a_quantum_and_carries_tag_0),
		cmocka_unit_test(updates_faster_than_the_quantum_do_not_starve_anybody),
		cmocka_unit_test(an_idle_device_does_not_rotate),
		cmocka_unit_test(an_update_after_the_quantum_moves_the_turn_on),
		cmocka_unit_test(a_queue_whose_turn_it_is_can_be_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
