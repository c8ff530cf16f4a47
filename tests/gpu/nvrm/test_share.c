// SPDX-License-Identifier: MIT
/* Shares as time slices: set, read back, set again when something else has changed them. */
#include "rig.h"

static const struct gp_gpu_control_ops *const ops = &gp_nvrm_control;

enum { OFFLINE = 15, OFFLINE_US = 31 }; /* thousandths beside an online process, and its slice */

static void share_sets_timeslices_and_lifts_them(void **state)
{
	struct gp_nvrm_detail detail;
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_attach(&rig);
	assert_int_equal(fake_timeslice(&rig.fake, 0), 2048);
	assert_int_equal(ops->share(rig.control, 0), -EINVAL);
	assert_int_equal(ops->share(rig.control, 1001), -EINVAL);
	assert_int_equal(ops->share(rig.control, 50), 2048 * 50 / 950);
	assert_int_equal(fake_timeslice(&rig.fake, 0), 2048 * 50 / 950);
	assert_int_equal(ops->share(rig.control, 1), 2);
	assert_int_equal(fake_timeslice(&rig.fake, 0), 2);
	assert_int_equal(ops->share(rig.control, 500), 2048);
	assert_int_equal(fake_timeslice(&rig.fake, 0), 2048);
	assert_int_equal(ops->share(rig.control, 999), 1000000);
	assert_int_equal(fake_timeslice(&rig.fake, 0), 1000000);
	assert_int_equal(gp_nvrm_detail(rig.control, 0, &detail), 0);
	assert_int_equal(detail.valid,
			 GP_NVRM_HARDWARE_ID | GP_NVRM_TIMESLICE | GP_NVRM_MODES | GP_NVRM_STATS);
	assert_int_equal(detail.timeslice_us, 1000000);
	assert_int_equal(detail.channels, 8);
	assert_int_equal(detail.compute_mode, 2);
	assert_int_equal(gp_nvrm_detail(rig.control, 4, &detail), -ENOENT);
	assert_int_equal(ops->share(rig.control, 1000), 2048);
	assert_int_equal(fake_timeslice(&rig.fake, 0), 2048);
	rig_remove(&rig);
}

static void detaching_leaves_the_process_running_and_its_timeslice_as_it_was(void **state)
{
	struct gp_gpu_control_done done;
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_attach(&rig);
	assert_int_equal(ops->share(rig.control, 20), 2048 * 20 / 980);
	assert_int_equal(ops->suspend(rig.control, NULL, 0, 0, &done), 0);
	ops->detach(rig.control);
	rig.control = NULL;
	rig_counts(&rig, 8, 0);
	assert_int_equal(fake_timeslice(&rig.fake, 0), 2048);
	rig_remove(&rig);
}

/* Pumps as the holder does, whenever the control wakes it, until the group's slice is `us`. The
 * results of the pumps or-ed together. */
static int pump_until(struct rig *rig, u32 group, u64 us)
{
	struct pollfd fd = {.fd = ops->fd(rig->control), .events = POLLIN};
	time_t end = time(NULL) + 60;
	int changed = 0;

	while (fake_timeslice(&rig->fake, group) != us) {
		int result;

		assert_true(time(NULL) < end);
		assert_true(poll(&fd, 1, 60000) == 1);
		result = ops->pump(rig->control);
		assert_true(result >= 0);
		changed |= result;
	}
	return changed;
}

/* A daemon that runs before the programs sees a group before libcuda has given it its slice. */
static void a_slice_that_libcuda_sets_afterwards_is_set_again(void **state)
{
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "make");
	rig_attach(&rig);
	assert_int_equal(ops->share(rig.control, OFFLINE), OFFLINE_US);
	rig_say(&rig, "slice");
	assert_int_equal(fake_timeslice(&rig.fake, 0), 2048);
	pump_until(&rig, 0, OFFLINE_US);
	/* What is given back is what libcuda wanted, not what was there before. */
	assert_int_equal(ops->share(rig.control, 1000), 2048);
	assert_int_equal(fake_timeslice(&rig.fake, 0), 2048);
	rig_remove(&rig);
}

/* The same after years: there is no time from which on slices are taken for granted. */
static void a_slice_that_changes_later_is_set_again(void **state)
{
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_attach(&rig);
	assert_int_equal(ops->share(rig.control, OFFLINE), OFFLINE_US);
	for (int i = 0; i < 3; i++) {
		struct timespec nap = {.tv_sec = 2};

		nanosleep(&nap, NULL);
		rig_say(&rig, "slice");
		pump_until(&rig, 0, OFFLINE_US);
	}
	rig_remove(&rig);
}

static void groups_made_later_get_the_slice_by_pumping_alone(void **state)
{
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_attach(&rig);
	assert_int_equal(ops->share(rig.control, OFFLINE), 0); /* nothing to set it on yet */
	rig_say(&rig, "context");
	assert_true(pump_until(&rig, 0, OFFLINE_US));
	assert_int_equal(ops->share(rig.control, OFFLINE), OFFLINE_US);
	rig_say(&rig, "churn300");
	rig_say(&rig, "context");
	assert_true(pump_until(&rig, 1, OFFLINE_US));
	rig_say(&rig, "client"); /* another library in the program, with a device of its own */
	rig_say(&rig, "context");
	assert_true(pump_until(&rig, 2, OFFLINE_US));
	rig_remove(&rig);
}

static void groups_that_are_freed_are_forgotten(void **state)
{
	struct gp_gpu_control_queues list = {0};
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_attach(&rig);
	assert_int_equal(ops->share(rig.control, OFFLINE), OFFLINE_US);
	for (int i = 0; i < 5; i++) {
		rig_say(&rig, "free");
		rig_say(&rig, "context");
		pump_until(&rig, 0, OFFLINE_US);
	}
	assert_int_equal(ops->queues(rig.control, &list), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(ops->share(rig.control, 1000), 2048);
	free(list.items);
	rig_remove(&rig);
}

static void a_slice_that_is_not_what_was_set_is_an_error(void **state)
{
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_attach(&rig);
	atomic_store(&rig.fake.rm->lose_slices, 1);
	assert_int_equal(ops->share(rig.control, OFFLINE), -EIO);
	assert_int_equal(fake_timeslice(&rig.fake, 0), 2048);
	assert_int_equal(ops->share(rig.control, OFFLINE), OFFLINE_US);
	rig_remove(&rig);
}

static void a_slice_that_cannot_be_set_is_an_error_and_is_tried_again(void **state)
{
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_attach(&rig);
	atomic_store(&rig.fake.rm->fail_slices, 3);
	assert_int_equal(ops->share(rig.control, OFFLINE), -ETIMEDOUT);
	pump_until(&rig, 0, OFFLINE_US);
	assert_int_equal(atomic_load(&rig.fake.rm->fail_slices), 0);
	/* One that fails when it is set again is said, once, so that it is asked for again. */
	rig_say(&rig, "slice");
	atomic_store(&rig.fake.rm->fail_slices, 2);
	assert_int_equal(pump_until(&rig, 0, OFFLINE_US), 1);
	rig_remove(&rig);
}

/* A holder and its lifeline were killed together. */
static void slices_that_were_left_behind_are_not_taken_for_the_programs(void **state)
{
	struct gp_gpu_control *dead;
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_attach(&rig);
	assert_int_equal(ops->share(rig.control, OFFLINE), OFFLINE_US);
	kill((pid_t)gp_nvrm_lifeline_pid(gp_nvrm_control_lifeline(rig.control)), SIGKILL);
	assert_int_equal(gp_nvrm_release_over(&rig.fake.port, rig.pidfd, (u32)rig.pid,
					      &rig.sink.diag),
			 0);
	assert_int_equal(fake_timeslice(&rig.fake, 0), 2048);
	/* Without that the next control finds the slice, and leaves the usual one behind. */
	assert_int_equal(ops->share(rig.control, 984), 125952);
	dead = rig.control; /* as if it had died without a word */
	rig_attach(&rig);
	assert_int_equal(ops->share(rig.control, OFFLINE), OFFLINE_US);
	assert_int_equal(ops->share(rig.control, 1000), 2048);
	ops->detach(dead);
	assert_int_equal(fake_timeslice(&rig.fake, 0), 2048);
	rig_remove(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(share_sets_timeslices_and_lifts_them),
		cmocka_unit_test(detaching_leaves_the_process_running_and_its_timeslice_as_it_was),
		cmocka_unit_test(a_slice_that_libcuda_sets_afterwards_is_set_again),
		cmocka_unit_test(a_slice_that_changes_later_is_set_again),
		cmocka_unit_test(groups_made_later_get_the_slice_by_pumping_alone),
		cmocka_unit_test(groups_that_are_freed_are_forgotten),
		cmocka_unit_test(a_slice_that_is_not_what_was_set_is_an_error),
		cmocka_unit_test(a_slice_that_cannot_be_set_is_an_error_and_is_tried_again),
		cmocka_unit_test(slices_that_were_left_behind_are_not_taken_for_the_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
