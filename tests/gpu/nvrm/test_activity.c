// SPDX-License-Identifier: MIT
/* gpu/nvrm/activity.c: what is read from the driver's event buffer, and every way it can be wrong.
 */
#include <errno.h>

#include "base/clock.h"
#include "fake_events.h"
#include "gpu/nvrm/activity.h"
#include "testlib.h"

#define GPU  GP_GPU_NVIDIA
#define ROOM 8192

struct rig {
	struct fake fake;
	struct gp_gpu_activity *activity;
	struct gp_gpu_switch switches[ROOM];
	u64 lost, until;
};

static int rig_make(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	*state = rig;
	return !rig || fake_create(&rig->fake, "580.159.04");
}

static int rig_remove(void **state)
{
	struct rig *rig = *state;

	if (rig->activity)
		gp_nvrm_activity.close(rig->activity);
	assert_int_equal(fake_open_files(&rig->fake), 0);
	assert_int_equal(atomic_load(&rig->fake.rm->bad), 0);
	fake_destroy(&rig->fake);
	free(rig);
	return 0;
}

static int rig_open(struct rig *rig)
{
	return gp_nvrm_activity_open(&rig->fake.port, GPU, &rig->activity);
}

static int rig_read(struct rig *rig)
{
	return gp_nvrm_activity.read(rig->activity, rig->switches, ROOM, &rig->lost, &rig->until);
}

static void switches_come_in_order_with_our_clock(void **state)
{
	struct rig *rig = *state;
	u64 before = gp_monotonic_ns();

	assert_int_equal(rig_open(rig), 0);
	assert_int_equal(rig_read(rig), 0);
	fake_event(&rig->fake, GP_NV_ACTIVE_START, 41, 0);
	fake_event(&rig->fake, GP_NV_ACTIVE_END, 41, 0);
	fake_event(&rig->fake, GP_NV_ACTIVE_START, 42, 0);
	assert_int_equal(rig_read(rig), 3);
	assert_int_equal(rig->switches[0].pid, 41);
	assert_true(rig->switches[0].begins && !rig->switches[1].begins);
	assert_int_equal(rig->switches[2].pid, 42);
	for (int i = 0; i < 3; i++) {
		/* Two clocks are compared one after the other, on a machine that may be busy. */
		assert_true(rig->switches[i].at_ns + GP_NS_PER_S > before);
		assert_true(rig->switches[i].at_ns <= gp_monotonic_ns());
	}
	assert_true(rig->until >= before);
	assert_int_equal(rig_read(rig), 0);
	assert_int_equal(rig->lost, 0);
}

static void a_reader_without_root_sees_its_own_user(void **state)
{
	struct rig *rig = *state;

	atomic_store(&rig->fake.rm->deny_events, FAKE_DENY_USERS);
	assert_int_equal(rig_open(rig), 0);
	fake_event(&rig->fake, GP_NV_ACTIVE_START, GP_NV_PID_HIDDEN, 0);
	assert_int_equal(rig_read(rig), 1);
	assert_int_equal(rig->switches[0].pid, GP_ACTIVITY_HIDDEN);
}

static void a_refusal_is_reported_and_leaves_nothing_open(void **state)
{
	struct rig *rig = *state;

	atomic_store(&rig->fake.rm->deny_events, FAKE_DENY_ALL);
	assert_int_equal(rig_open(rig), -EPERM);
	atomic_store(&rig->fake.rm->deny_events, FAKE_DENY_OLD);
	assert_int_equal(rig_open(rig), -EOPNOTSUPP);
	assert_int_equal(gp_nvrm_activity_open(&rig->fake.port, GPU + 1, &rig->activity), -ENODEV);
	assert_int_equal(fake_open_files(&rig->fake), 0);
	assert_null(rig->activity);
}

static void an_unknown_branch_is_left_alone(void **state)
{
	struct fake fake;
	struct gp_gpu_activity *activity = NULL;

	(void)state;
	assert_int_equal(fake_create(&fake, "123.45"), 0);
	assert_int_equal(gp_nvrm_activity_open(&fake.port, GPU, &activity), -EOPNOTSUPP);
	assert_int_equal(atomic_load(&fake.rm->calls), 0);
	fake_destroy(&fake);
}

static void without_the_gpus_time_no_record_is_from_the_future(void **state)
{
	struct rig *rig = *state;

	atomic_store(&rig->fake.rm->deny_events, FAKE_DENY_TIME);
	assert_int_equal(rig_open(rig), 0);
	fake_event(&rig->fake, GP_NV_ACTIVE_START, 41, 2 * GP_NS_PER_S);
	fake_event(&rig->fake, GP_NV_ACTIVE_END, 41, 0);
	assert_int_equal(rig_read(rig), 2);
	assert_true(rig->switches[1].at_ns <= gp_monotonic_ns());
	assert_true(rig->switches[1].at_ns - rig->switches[0].at_ns >= 2 * GP_NS_PER_S);
}

static void a_full_buffer_counts_what_was_lost(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(rig_open(rig), 0);
	for (u32 i = 0; i < FAKE_RECORDS + 100; i++)
		fake_event(&rig->fake, i % 2 ? GP_NV_ACTIVE_END : GP_NV_ACTIVE_START, 41, 0);
	assert_int_equal(rig_read(rig), FAKE_RECORDS - 1);
	/* Their numbers are missing before the next record... */
	assert_int_equal(rig->lost, 0);
	fake_event(&rig->fake, GP_NV_ACTIVE_START, 41, 0);
	assert_int_equal(rig_read(rig), 1);
	assert_int_equal(rig->lost, 101);
	/* ...and the buffer is read around its end. */
	rig->lost = 0;
	for (u32 i = 0; i < 50; i++)
		fake_event(&rig->fake, GP_NV_ACTIVE_START, 41, 0);
	assert_int_equal(rig_read(rig), 50);
	assert_int_equal(rig->lost, 0);
}

static void records_that_the_firmware_lost_are_counted(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(rig_open(rig), 0);
	fake_event(&rig->fake, GP_NV_ACTIVE_START, 41, 0);
	atomic_fetch_add(&rig->fake.rm->event_sequence, 7);
	fake_event(&rig->fake, GP_NV_ACTIVE_START, 41, 0);
	assert_int_equal(rig_read(rig), 2);
	assert_int_equal(rig->lost, 7);
}

static void garbage_is_dropped_and_counted(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(rig_open(rig), 0);
	fake_event(&rig->fake, 99, 41, 0);                                   /* no such tag */
	fake_event(&rig->fake, GP_NV_ACTIVE_START, 41, 3600 * GP_NS_PER_S);  /* an hour old */
	fake_event(&rig->fake, GP_NV_ACTIVE_START, 41, -3600 * GP_NS_PER_S); /* of the future */
	fake_event(&rig->fake, GP_NV_ACTIVE_START, 42, GP_NS_PER_S);
	fake_event(&rig->fake, GP_NV_ACTIVE_END, 42, 2 * GP_NS_PER_S); /* back in time */
	assert_int_equal(rig_read(rig), 1);
	assert_int_equal(rig->switches[0].pid, 42);
	assert_int_equal(rig->lost, 4);
}

static void an_index_outside_the_buffer_ends_the_reading(void **state)
{
	struct rig *rig = *state;
	struct fake_events events;

	assert_int_equal(rig_open(rig), 0);
	events = fake_events_map(&rig->fake);
	events.header->put = FAKE_RECORDS;
	assert_int_equal(rig_read(rig), -EIO);
	events.header->put = 0xffffffff;
	assert_int_equal(rig_read(rig), -EIO);
	fake_events_unmap(&events);
}

static void a_driver_that_fails_is_reported(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(rig_open(rig), 0);
	atomic_store(&rig->fake.rm->deny_events, FAKE_DENY_FLUSH);
	assert_int_equal(rig_read(rig), -ETIMEDOUT);
}

static void more_than_there_is_room_for_comes_with_the_next_call(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(rig_open(rig), 0);
	for (u32 i = 0; i < 10; i++)
		fake_event(&rig->fake, GP_NV_ACTIVE_START, 50 + i, 0);
	assert_int_equal(gp_nvrm_activity.read(rig->activity, rig->switches, 4, &rig->lost,
					       &rig->until),
			 4);
	assert_int_equal(rig_read(rig), 6);
	assert_int_equal(rig->switches[0].pid, 54);
	assert_int_equal(rig->lost, 0);
}

#define RIG_TEST(name) cmocka_unit_test_setup_teardown(name, rig_make, rig_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(switches_come_in_order_with_our_clock),
		RIG_TEST(a_reader_without_root_sees_its_own_user),
		RIG_TEST(a_refusal_is_reported_and_leaves_nothing_open),
		cmocka_unit_test(an_unknown_branch_is_left_alone),
		RIG_TEST(without_the_gpus_time_no_record_is_from_the_future),
		RIG_TEST(a_full_buffer_counts_what_was_lost),
		RIG_TEST(records_that_the_firmware_lost_are_counted),
		RIG_TEST(garbage_is_dropped_and_counted),
		RIG_TEST(an_index_outside_the_buffer_ends_the_reading),
		RIG_TEST(a_driver_that_fails_is_reported),
		RIG_TEST(more_than_there_is_room_for_comes_with_the_next_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
