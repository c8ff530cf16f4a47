// SPDX-License-Identifier: MIT
/* Stopping, starting and sharing, end to end: a program, its descriptors, the manager. */
#include "rig.h"

static const struct gp_gpu_control_ops *const ops = &gp_nvrm_control;

static void stop(struct rig *rig, u32 queues)
{
	struct gp_gpu_control_done done;

	assert_int_equal(ops->suspend(rig->control, NULL, 0, 0, &done), 0);
	assert_int_equal(done.queues, queues);
}

static void go(struct rig *rig)
{
	struct gp_gpu_control_done done;

	assert_int_equal(ops->resume(rig->control, NULL, 0, &done), 0);
}

static u64 switches(const struct rig *rig)
{
	return atomic_load(&rig->fake.rm->switches);
}

static void suspend_stops_kernels_and_not_copies_and_resume_undoes_it(void **state)
{
	struct gp_gpu_control_done done;
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_attach(&rig);
	rig_counts(&rig, 8, 0);
	assert_int_equal(ops->suspend(rig.control, NULL, 0, 0, &done), 0);
	rig_counts(&rig, 8, 8);
	assert_int_equal(done.queues, 1);
	assert_true(done.issued_ns && done.driver_ns);
	assert_int_equal(switches(&rig), 1);
	assert_int_equal(ops->resume(rig.control, NULL, 0, &done), 0);
	assert_int_equal(done.queues, 1);
	rig_counts(&rig, 8, 0);
	assert_int_equal(switches(&rig), 2);
	assert_int_equal(atomic_load(&rig.fake.rm->bad), 0);
	rig_remove(&rig);
}

static void suspend_with_copies_stops_both_and_resume_starts_both(void **state)
{
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_attach(&rig);
	ops->copies(rig.control, true);
	stop(&rig, 1); /* the copy engines are no queues */
	rig_all_counts(&rig, 8, 12);
	assert_int_equal(switches(&rig), 1); /* all in one call */
	stop(&rig, 1);
	assert_int_equal(switches(&rig), 1);
	go(&rig);
	rig_all_counts(&rig, 0, 0);
	assert_int_equal(switches(&rig), 2);
	stop(&rig, 1); /* it is the wish of whoever suspends, not of the last */
	rig_all_counts(&rig, 8, 12);
	gp_nvrm_control.detach(rig.control);
	rig.control = NULL;
	rig_all_counts(&rig, 0, 0);
	assert_int_equal(atomic_load(&rig.fake.rm->bad), 0);
	rig_remove(&rig);
}

static void copies_go_on_when_only_kernels_are_to_stand_still_any_more(void **state)
{
	struct gp_gpu_control_queues list = {0};
	struct gp_gpu_control_done done;
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_attach(&rig);
	ops->copies(rig.control, true);
	stop(&rig, 1);
	ops->copies(rig.control, false);
	stop(&rig, 1);
	rig_all_counts(&rig, 8, 0);
	ops->copies(rig.control, true);
	stop(&rig, 1);
	rig_all_counts(&rig, 8, 12);
	/* All of it was held by one, a single queue is by another, who is left. */
	ops->copies(rig.control, false);
	assert_int_equal(ops->queues(rig.control, &list), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(ops->suspend(rig.control, &list.items[0].id, 1, 0, &done), 0);
	rig_all_counts(&rig, 8, 0);
	go(&rig);
	rig_all_counts(&rig, 0, 0);
	free(list.items);
	rig_remove(&rig);
}

static void copy_channels_made_later_are_stopped_too(void **state)
{
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_attach(&rig);
	ops->copies(rig.control, true);
	stop(&rig, 1);
	rig_say(&rig, "copier");
	stop(&rig, 1);
	rig_all_counts(&rig, 8, 16);
	rig_say(&rig, "context");
	stop(&rig, 2);
	rig_all_counts(&rig, 16, 28);
	go(&rig);
	rig_all_counts(&rig, 0, 0);
	rig_remove(&rig);
}

static void a_stop_of_copies_that_fails_half_way_leaves_everything_running(void **state)
{
	struct gp_gpu_control_done done;
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_attach(&rig);
	ops->copies(rig.control, true);
	atomic_store(&rig.fake.rm->fail_disables, 100);
	assert_int_equal(ops->suspend(rig.control, NULL, 0, 0, &done), -ETIMEDOUT);
	rig_all_counts(&rig, 0, 0);
	rig_remove(&rig);
}

static void a_repeat_makes_no_call_that_would_change_nothing(void **state)
{
	struct gp_gpu_control_done done;
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_attach(&rig);
	go(&rig);
	assert_int_equal(switches(&rig), 0);
	stop(&rig, 1);
	assert_int_equal(ops->suspend(rig.control, NULL, 0, 0, &done), 0);
	assert_int_equal(done.queues, 1);
	assert_int_equal(done.issued_ns, 0);
	assert_int_equal(switches(&rig), 1);
	go(&rig);
	go(&rig);
	assert_int_equal(switches(&rig), 2);
	rig_remove(&rig);
}

static void contexts_channels_and_clients_made_later_are_stopped_too(void **state)
{
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_attach(&rig);
	stop(&rig, 0);
	rig_say(&rig, "context");
	stop(&rig, 1);
	rig_counts(&rig, 8, 8);
	rig_say(&rig, "channel");
	stop(&rig, 1);
	rig_counts(&rig, 9, 9);
	rig_say(&rig, "mig");
	stop(&rig, 2);
	rig_counts(&rig, 17, 17);
	go(&rig);
	rig_counts(&rig, 17, 0);
	/* More channels than one call takes. */
	for (int i = 0; i < 6; i++)
		rig_say(&rig, "context");
	stop(&rig, 8);
	rig_counts(&rig, 65, 65);
	go(&rig);
	rig_counts(&rig, 65, 0);
	rig_remove(&rig);
}

static void single_groups_are_stopped_by_their_id(void **state)
{
	struct gp_gpu_control_queues list = {0};
	struct gp_gpu_control_done done;
	struct rig rig;
	u32 ids[2], unknown = 0x1234;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_say(&rig, "context");
	rig_attach(&rig);
	assert_int_equal(ops->queues(rig.control, &list), 0);
	assert_int_equal(list.count, 2);
	ids[0] = list.items[0].id;
	ids[1] = list.items[1].id;
	assert_int_equal(list.items[0].object & 0xffffffff, ids[0]);
	assert_int_equal(gp_nvrm_look(&rig.fake.port, rig.pidfd, (u32)rig.pid, &list), 0);
	assert_int_equal(list.count, 2);
	assert_int_equal(list.items[1].id, ids[1]);
	assert_int_equal(ops->suspend(rig.control, &ids[1], 1, 0, &done), 0);
	assert_int_equal(done.queues, 1);
	rig_counts(&rig, 16, 8);
	assert_int_equal(ops->queues(rig.control, &list), 0);
	assert_false(list.items[0].suspended);
	assert_true(list.items[1].suspended);
	assert_int_equal(ops->suspend(rig.control, &unknown, 1, 0, &done), -ENOENT);
	assert_int_equal(ops->resume(rig.control, &unknown, 1, &done), -ENOENT);
	rig_counts(&rig, 16, 8);
	stop(&rig, 2);
	assert_int_equal(ops->resume(rig.control, ids, 1, &done), 0);
	rig_counts(&rig, 16, 8);
	assert_int_equal(ops->resume(rig.control, ids, 2, &done), 0);
	rig_counts(&rig, 16, 0);
	free(list.items);
	rig_remove(&rig);
}

static void a_context_freed_while_stopped_is_nobodys_loss(void **state)
{
	struct gp_gpu_control_queues list = {0};
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_say(&rig, "context");
	rig_attach(&rig);
	stop(&rig, 2);
	rig_say(&rig, "free");
	go(&rig);
	rig_counts(&rig, 8, 0);
	/* It is still in the table, in front of nothing and behind what exists. */
	stop(&rig, 2);
	rig_counts(&rig, 8, 8);
	assert_int_equal(ops->queues(rig.control, &list), 0);
	assert_int_equal(list.count, 1);
	assert_true(list.items[0].suspended);
	go(&rig);
	rig_counts(&rig, 8, 0);
	free(list.items);
	rig_remove(&rig);
}

static void a_stop_that_fails_half_way_leaves_everything_running(void **state)
{
	struct gp_gpu_control_done done;
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_attach(&rig);
	atomic_store(&rig.fake.rm->fail_disables, 100);
	assert_int_equal(ops->suspend(rig.control, NULL, 0, 0, &done), -ETIMEDOUT);
	rig_counts(&rig, 8, 0);
	atomic_store(&rig.fake.rm->fail_disables, 0);
	stop(&rig, 1);
	rig_counts(&rig, 8, 8);
	rig_remove(&rig);
}

static void another_layout_is_reported_and_stops_nothing(void **state)
{
	struct gp_gpu_control_done done;
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_attach(&rig);
	atomic_store(&rig.fake.rm->disable_size, 540);
	assert_int_equal(ops->suspend(rig.control, NULL, 0, 0, &done), -EPROTO);
	rig_counts(&rig, 8, 0);
	rig_remove(&rig);
}

/* Waits for the control's descriptor, then pumps. */
static int pump_when_ready(struct rig *rig)
{
	struct pollfd fd = {.fd = ops->fd(rig->control), .events = POLLIN};

	assert_int_equal(poll(&fd, 1, 60000), 1);
	return ops->pump(rig->control);
}

/* The driver frees a dead process's clients when the last copy of its file is closed: the control's
 * at the next pump, the lifeline's by itself. */
static void await_release(struct rig *rig)
{
	struct timespec nap = {.tv_nsec = 1000000};
	time_t end = time(NULL) + 60;

	while (fake_open_files(&rig->fake) && time(NULL) < end)
		nanosleep(&nap, NULL);
	assert_int_equal(fake_open_files(&rig->fake), 0);
}

static void a_process_that_exits_while_stopped_goes_away(void **state)
{
	struct gp_gpu_control_queues list = {0};
	struct gp_gpu_control_done done;
	struct rig rig;
	int result;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_attach(&rig);
	stop(&rig, 1);
	kill(rig.pid, SIGKILL);
	do
		result = pump_when_ready(&rig);
	while (result >= 0);
	assert_int_equal(result, -ESRCH);
	await_release(&rig);
	assert_int_equal(ops->suspend(rig.control, NULL, 0, 0, &done), -ESRCH);
	assert_int_equal(ops->resume(rig.control, NULL, 0, &done), -ESRCH);
	assert_int_equal(ops->queues(rig.control, &list), -ESRCH);
	assert_int_equal(ops->share(rig.control, 10), -ESRCH);
	/* Channels of a dead process are left to the driver: they were stopped, and that is all. */
	assert_int_equal(switches(&rig), 1);
	rig_remove(&rig);
}

static void groups_that_appear_while_it_is_held_are_found_by_pumping(void **state)
{
	struct rig rig;
	time_t end = time(NULL) + 60;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_attach(&rig);
	gp_nvrm_control_lease(rig.control, 3600ull * 1000000000u);
	assert_int_equal(ops->share(rig.control, 100), 2048 / 9);
	stop(&rig, 1);
	rig_say(&rig, "client");
	rig_say(&rig, "context");
	rig_counts(&rig, 16, 8);
	while (fake_channels(&rig.fake).compute_stopped < 16 && time(NULL) < end) {
		struct timespec nap = {.tv_nsec = 10000000};

		assert_true(ops->pump(rig.control) >= 0);
		nanosleep(&nap, NULL);
	}
	rig_counts(&rig, 16, 16);
	assert_int_equal(fake_timeslice(&rig.fake, 1), 2048 / 9);
	go(&rig);
	rig_counts(&rig, 16, 0);
	rig_remove(&rig);
}

static void what_a_listing_found_first_is_stopped_by_pumping_too(void **state)
{
	struct gp_gpu_control_queues list = {0};
	struct rig rig;
	time_t end = time(NULL) + 60;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_attach(&rig);
	ops->copies(rig.control, true);
	stop(&rig, 1);
	rig_say(&rig, "context");
	assert_int_equal(ops->queues(rig.control, &list), 0);
	assert_int_equal(list.count, 2);
	while (fake_channels(&rig.fake).copy_stopped < 24 && time(NULL) < end) {
		struct timespec nap = {.tv_nsec = 10000000};

		assert_true(ops->pump(rig.control) >= 0);
		nanosleep(&nap, NULL);
	}
	rig_all_counts(&rig, 16, 24);
	free(list.items);
	rig_remove(&rig);
}

static void what_is_let_go_by_name_and_what_comes_after_stays_running(void **state)
{
	struct gp_gpu_control_queues list = {0};
	struct gp_gpu_control_done done;
	struct rig rig;
	time_t end = time(NULL) + 60;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_say(&rig, "context");
	rig_attach(&rig);
	gp_nvrm_control_lease(rig.control, 3600ull * 1000000000u);
	assert_int_equal(ops->queues(rig.control, &list), 0);
	assert_int_equal(ops->share(rig.control, 100), 2048 / 9);
	stop(&rig, 2);
	assert_int_equal(ops->resume(rig.control, &list.items[0].id, 1, &done), 0);
	rig_say(&rig, "context");
	/* That it has its share tells that it was found. */
	while (fake_timeslice(&rig.fake, 2) != 2048 / 9 && time(NULL) < end) {
		struct timespec nap = {.tv_nsec = 10000000};

		assert_true(ops->pump(rig.control) >= 0);
		nanosleep(&nap, NULL);
	}
	assert_int_equal(fake_timeslice(&rig.fake, 2), 2048 / 9);
	rig_counts(&rig, 24, 8);
	free(list.items);
	rig_remove(&rig);
}

static void what_others_left_stopped_can_be_released(void **state)
{
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_attach(&rig);
	ops->copies(rig.control, true);
	stop(&rig, 1);
	assert_int_equal(gp_nvrm_release_over(&rig.fake.port, rig.pidfd, (u32)rig.pid,
					      &rig.sink.diag),
			 0);
	rig_counts(&rig, 8, 0);
	rig_remove(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(suspend_stops_kernels_and_not_copies_and_resume_undoes_it),
		cmocka_unit_test(suspend_with_copies_stops_both_and_resume_starts_both),
		cmocka_unit_test(copies_go_on_when_only_kernels_are_to_stand_still_any_more),
		cmocka_unit_test(copy_channels_made_later_are_stopped_too),
		cmocka_unit_test(a_stop_of_copies_that_fails_half_way_leaves_everything_running),
		cmocka_unit_test(a_repeat_makes_no_call_that_would_change_nothing),
		cmocka_unit_test(contexts_channels_and_clients_made_later_are_stopped_too),
		cmocka_unit_test(single_groups_are_stopped_by_their_id),
		cmocka_unit_test(a_context_freed_while_stopped_is_nobodys_loss),
		cmocka_unit_test(a_stop_that_fails_half_way_leaves_everything_running),
		cmocka_unit_test(another_layout_is_reported_and_stops_nothing),
		cmocka_unit_test(a_process_that_exits_while_stopped_goes_away),
		cmocka_unit_test(groups_that_appear_while_it_is_held_are_found_by_pumping),
		cmocka_unit_test(what_is_let_go_by_name_and_what_comes_after_stays_running),
		cmocka_unit_test(what_a_listing_found_first_is_stopped_by_pumping_too),
		cmocka_unit_test(what_others_left_stopped_can_be_released),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
