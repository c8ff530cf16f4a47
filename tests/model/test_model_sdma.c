// SPDX-License-Identifier: MIT
/* SDMA engines. 1000 bytes per microsecond is one nanosecond a byte; 10 ns a packet. */
#include "rig.h"

static struct gp_model_work copy(u64 tag, u64 bytes)
{
	return (struct gp_model_work){.tag = tag, .bytes = bytes};
}

static void an_engine_runs_one_packet_at_a_time(void **state)
{
	struct rig *rig = rig_default();
	u32 queue = rig_sdma(rig, 0);
	u64 t0;

	(void)state;
	rig_map(rig);
	t0 = rig->now;
	rig_submit(rig, queue, copy(1, 5000));
	rig_submit(rig, queue, copy(2, 0));
	rig_drain(rig);
	assert_int_equal(rig_at(rig, GP_MODEL_LAUNCHED, 1), t0);
	assert_int_equal(rig_at(rig, GP_MODEL_COMPLETED, 1), t0 + 5010);
	assert_int_equal(rig_at(rig, GP_MODEL_LAUNCHED, 2), t0 + 5010);
	assert_int_equal(rig_at(rig, GP_MODEL_COMPLETED, 2), t0 + 5020);
	rig_free(rig);
}

static void queues_of_an_engine_take_turns(void **state)
{
	struct rig *rig = rig_default();
	u32 queue[2] = {rig_sdma(rig, 0), rig_sdma(rig, 0)};
	static const u64 order[] = {1, 11, 2, 12, 3, 13};
	u32 seen = 0;

	(void)state;
	rig_map(rig);
	for (u64 i = 1; i <= 3; i++) {
		rig_submit(rig, queue[0], copy(i, 1000));
		rig_submit(rig, queue[1], copy(10 + i, 1000));
	}
	rig_drain(rig);
	for (u32 i = 0; i < rig->count; i++)
		if (rig->action[i].kind == GP_MODEL_COMPLETED)
			assert_int_equal(rig->action[i].tag, order[seen++]);
	assert_int_equal(seen, 6);
	rig_free(rig);
}

static void engines_do_not_wait_for_each_other(void **state)
{
	struct rig *rig = rig_default();
	u32 zero = rig_sdma(rig, 0), one = rig_sdma(rig, 1);
	u64 t0;

	(void)state;
	rig_map(rig);
	t0 = rig->now;
	rig_submit(rig, zero, copy(1, 100000));
	rig_submit(rig, one, copy(2, 1000));
	rig_drain(rig);
	assert_int_equal(rig_at(rig, GP_MODEL_COMPLETED, 2), t0 + 1010);
	assert_int_equal(rig_at(rig, GP_MODEL_COMPLETED, 1), t0 + 100010);
	rig_free(rig);
}

static void an_unmap_waits_for_the_packet_under_way(void **state)
{
	struct rig *rig = rig_default();
	u32 queue = rig_sdma(rig, 0);
	u64 t0;

	(void)state;
	rig_map(rig);
	t0 = rig->now;
	rig_submit(rig, queue, copy(1, 50000));
	rig_submit(rig, queue, copy(2, 1000));
	rig_until(rig, t0 + 100);
	rig_update(rig, 0, 7);
	rig_drain(rig);
	assert_int_equal(rig_at(rig, GP_MODEL_COMPLETED, 1), t0 + 50010);
	assert_int_equal(rig_at(rig, GP_MODEL_UNMAPPED, 7), t0 + 50010);
	assert_int_equal(rig_find(rig, GP_MODEL_UNMAPPED, 7)->saved_bytes, 0);
	assert_int_equal(rig_at(rig, GP_MODEL_MAPPED, 7), t0 + 50010 + 2020);
	/* Nothing starts in between. */
	assert_int_equal(rig_at(rig, GP_MODEL_LAUNCHED, 2), t0 + 50010 + 2020);
	rig_free(rig);
}

static void an_engine_has_so_many_queues_and_no_more(void **state)
{
	struct gp_model_queue_config config = {.type = GP_MODEL_SDMA, .enabled = true};
	struct rig *rig = rig_default();
	u32 queue[8], other;

	(void)state;
	for (u32 i = 0; i < 8; i++)
		queue[i] = rig_sdma(rig, 0);
	assert_int_equal(gp_model_queue_add(rig->model, rig->process, &config, &other), -ENOSPC);
	rig_sdma(rig, 1);
	assert_int_equal(gp_model_queue_remove(rig->model, queue[3], NULL), 0);
	other = rig_sdma(rig, 0);
	rig_map(rig);
	assert_int_equal(rig_state(rig, other).slot, 3);
	rig_free(rig);
}

static void a_disabled_copy_queue_waits(void **state)
{
	struct gp_model_queue_config config = {.type = GP_MODEL_SDMA};
	struct rig *rig = rig_default();
	u32 queue = rig_sdma(rig, 0);

	(void)state;
	rig_map(rig);
	for (u64 tag = 1; tag <= 4; tag++)
		rig_submit(rig, queue, copy(tag, 10000));
	rig_until(rig, rig->now + 15000);
	assert_int_equal(gp_model_queue_set(rig->model, queue, &config), 0);
	rig_map(rig);
	rig_until(rig, rig->now + 1000000);
	assert_int_equal(rig_state(rig, queue).completed, 2);
	config.enabled = true;
	assert_int_equal(gp_model_queue_set(rig->model, queue, &config), 0);
	rig_map(rig);
	rig_drain(rig);
	assert_int_equal(rig_state(rig, queue).completed, 4);
	rig_free(rig);
}

static void an_abandoned_copy_holds_up_no_unmap(void **state)
{
	struct rig *rig = rig_default();
	u32 dead = rig_sdma(rig, 0), other = rig_sdma(rig, 0), far = rig_sdma(rig, 1);
	struct gp_model_queue_config off = {.type = GP_MODEL_SDMA};
	u64 t0;

	(void)state;
	rig_map(rig);
	t0 = rig->now;
	rig_submit(rig, dead, copy(1, 1ull << 40));
	rig_submit(rig, dead, copy(2, 1ull << 40));
	rig_submit(rig, other, copy(3, 1000));
	rig_submit(rig, far, copy(4, 5000));
	rig_until(rig, t0 + 100);
	rig_update(rig, 0, 7);
	rig_until(rig, t0 + 200); /* the unmap waits already */
	assert_int_equal(gp_model_queue_set(rig->model, dead, &off), 0);
	assert_int_equal(gp_model_queue_abandon(rig->model, dead), 0);
	rig_check(rig);
	rig_drain(rig);
	/* It still waits for the living. */
	assert_int_equal(rig_at(rig, GP_MODEL_UNMAPPED, 7), t0 + 5010);
	assert_int_equal(rig_at(rig, GP_MODEL_COMPLETED, 4), t0 + 5010);
	assert_null(rig_find(rig, GP_MODEL_COMPLETED, 1));
	assert_null(rig_find(rig, GP_MODEL_LAUNCHED, 2));
	assert_non_null(rig_find(rig, GP_MODEL_COMPLETED, 3));
	assert_int_equal(rig_state(rig, dead).submitted, 0);
	assert_int_equal(gp_model_queue_remove(rig->model, dead, NULL), 0);
	rig_free(rig);
}

static void the_engine_of_an_abandoned_copy_goes_on_at_once(void **state)
{
	struct rig *rig = rig_default();
	u32 dead = rig_sdma(rig, 0), other = rig_sdma(rig, 0), compute = rig_queue(rig, 7);
	u64 t0;

	(void)state;
	rig_map(rig);
	t0 = rig->now;
	rig_submit(rig, dead, copy(1, 1ull << 40));
	rig_submit(rig, other, copy(2, 1000));
	rig_submit(rig, compute, rig_kernel(3, 8, 1000));
	rig_until(rig, t0 + 500);
	assert_int_equal(gp_model_queue_abandon(rig->model, dead), 0);
	assert_int_equal(gp_model_queue_abandon(rig->model, dead), 0);
	assert_int_equal(gp_model_queue_abandon(rig->model, compute), 0); /* left alone */
	assert_int_equal(gp_model_queue_abandon(rig->model, 60), -EINVAL);
	rig_drain(rig);
	assert_int_equal(rig_at(rig, GP_MODEL_LAUNCHED, 2), t0 + 500);
	assert_int_equal(rig_at(rig, GP_MODEL_COMPLETED, 2), t0 + 1510);
	assert_int_equal(rig_at(rig, GP_MODEL_COMPLETED, 3), t0 + 100 + 1000 + 50);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_engine_runs_one_packet_at_a_time),
		cmocka_unit_test(queues_of_an_engine_take_turns),
		cmocka_unit_test(engines_do_not_wait_for_each_other),
		cmocka_unit_test(an_unmap_waits_for_the_packet_under_way),
		cmocka_unit_test(an_engine_has_so_many_queues_and_no_more),
		cmocka_unit_test(a_disabled_copy_queue_waits),
		cmocka_unit_test(an_abandoned_copy_holds_up_no_unmap),
		cmocka_unit_test(the_engine_of_an_abandoned_copy_goes_on_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
