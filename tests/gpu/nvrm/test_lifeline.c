// SPDX-License-Identifier: MIT
/* Whoever stopped a process may die, hang or be stopped at any point: the process runs again. */
#include "rig.h"

static const struct gp_gpu_control_ops *const ops = &gp_nvrm_control;

#define MS 1000000ull

/* A process that holds the rig's program, and tells of its progress a letter at a time. */
struct holder {
	pid_t pid;
	int said;
};

static void tell(int fd, char letter)
{
	if (write(fd, &letter, 1) != 1)
		_exit(9);
}

/* Suspends, renews when it is time, and tells when the target was started under it. */
static _Noreturn void hold(struct rig *rig, u64 lease, int said)
{
	struct gp_gpu_control *control;
	struct gp_gpu_control_done done;
	int error;

	if (gp_nvrm_attach(&rig->fake.port, rig->pidfd, (u32)rig->pid, NULL, &control))
		_exit(1);
	gp_nvrm_control_lease(control, lease);
	error = GP_MIN(ops->share(control, 50), 0);
	/* On a machine that is busy the lease may pass each time. */
	if (!error) {
		do
			error = ops->suspend(control, NULL, 0, 0, &done);
		while (error == -ETIME);
	}
	if (error)
		_exit(2);
	tell(said, 's');
	for (;;) {
		struct pollfd fd = {.fd = ops->fd(control), .events = POLLIN};
		int result;

		poll(&fd, 1, -1);
		result = ops->pump(control);
		if (result < 0)
			_exit(3);
		if (result == 1)
			tell(said, 'r');
	}
}

/* Suspends, resumes and shares as fast as it can. */
static _Noreturn void flutter(struct rig *rig, u64 lease, int said)
{
	struct gp_gpu_control *control;
	struct gp_gpu_control_done done;

	if (gp_nvrm_attach(&rig->fake.port, rig->pidfd, (u32)rig->pid, NULL, &control))
		_exit(1);
	gp_nvrm_control_lease(control, lease);
	tell(said, 's');
	for (u32 i = 0;; i++) {
		ops->suspend(control, NULL, 0, 0, &done);
		ops->share(control, 1 + i % 999);
		ops->pump(control);
		if (i % 3)
			ops->resume(control, NULL, 0, &done);
	}
}

static struct holder start(struct rig *rig, void (*role)(struct rig *, u64, int), u64 lease)
{
	struct holder holder;
	pid_t self = getpid();
	int pair[2];

	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	holder.pid = fork();
	assert_true(holder.pid >= 0);
	if (holder.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != self)
			_exit(0);
		close(pair[0]);
		role(rig, lease, pair[1]);
	}
	close(pair[1]);
	holder.said = pair[0];
	return holder;
}

static char hear(const struct holder *holder)
{
	struct pollfd fd = {.fd = holder->said, .events = POLLIN};
	char letter = 0;

	assert_int_equal(poll(&fd, 1, 60000), 1);
	assert_int_equal(read(holder->said, &letter, 1), 1);
	return letter;
}

static void end(struct holder *holder)
{
	kill(holder->pid, SIGKILL);
	waitpid(holder->pid, NULL, 0);
	close(holder->said);
}

static void nap(void)
{
	struct timespec time = {.tv_nsec = 1000000};

	nanosleep(&time, NULL);
}

static void await_timeslice(struct rig *rig, u64 us)
{
	time_t limit = time(NULL) + 60;

	while (fake_timeslice(&rig->fake, 0) != us && time(NULL) < limit)
		nap();
	assert_int_equal(fake_timeslice(&rig->fake, 0), us);
}

static void await_stop(const struct holder *holder)
{
	int status;

	assert_int_equal(waitpid(holder->pid, &status, WUNTRACED), holder->pid);
	assert_true(WIFSTOPPED(status));
}

/* Nobody but the program has its file open any more. */
static void await_no_copies(struct rig *rig)
{
	time_t limit = time(NULL) + 60;

	rig_end_program(rig);
	while (fake_open_files(&rig->fake) && time(NULL) < limit)
		nap();
	assert_int_equal(fake_open_files(&rig->fake), 0);
}

static void a_killed_holder_lets_the_process_run(void **state)
{
	struct holder holder;
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	holder = start(&rig, hold, RIG_FOR_EVER);
	assert_int_equal(hear(&holder), 's');
	rig_counts(&rig, 8, 8);
	assert_int_equal(fake_timeslice(&rig.fake, 0), 2048 * 50 / 950);
	end(&holder);
	assert_true(fake_await_running(&rig.fake));
	await_timeslice(&rig, 2048);
	await_no_copies(&rig);
	rig_remove(&rig);
}

static void a_stopped_holder_loses_its_lease_and_learns_it(void **state)
{
	struct holder holder;
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	holder = start(&rig, hold, 300 * MS);
	assert_int_equal(hear(&holder), 's');
	kill(holder.pid, SIGSTOP);
	await_stop(&holder);
	assert_true(fake_await_running(&rig.fake));
	kill(holder.pid, SIGCONT);
	assert_int_equal(hear(&holder), 'r');
	rig_counts(&rig, 8, 0);
	end(&holder);
	await_no_copies(&rig);
	rig_remove(&rig);
}

/* Stopped before the driver did anything; the lease passes; then it goes on and stops channels
 * whose lease is over, and is stopped again before it can notice. */
static void a_holder_stopped_inside_the_call_does_not_leave_channels_stopped(void **state)
{
	struct holder holder;
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	atomic_store(&rig.fake.rm->stop_in_call, 2);
	holder = start(&rig, hold, 50 * MS);
	await_stop(&holder);
	rig_counts(&rig, 8, 0);
	/* One call is the holder's; the next is the lifeline's. */
	while (atomic_load(&rig.fake.rm->switches) < 2)
		nap();
	kill(holder.pid, SIGCONT);
	await_stop(&holder);
	assert_true(fake_await_running(&rig.fake));
	end(&holder);
	assert_true(fake_await_running(&rig.fake));
	await_no_copies(&rig);
	rig_remove(&rig);
}

static void a_holder_that_was_away_during_its_call_tries_again(void **state)
{
	struct holder holder;
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	atomic_store(&rig.fake.rm->stop_in_call, 1);
	holder = start(&rig, hold, 500 * MS);
	await_stop(&holder);
	while (atomic_load(&rig.fake.rm->switches) < 2)
		nap();
	kill(holder.pid, SIGCONT);
	assert_int_equal(hear(&holder), 's');
	/* The holder's call that was late, the lifeline's, the holder's to undo it and to do it. */
	assert_true(atomic_load(&rig.fake.rm->switches) >= 4);
	end(&holder);
	assert_true(fake_await_running(&rig.fake));
	rig_remove(&rig);
}

static void a_killed_lifeline_is_replaced(void **state)
{
	struct gp_gpu_control_done done;
	struct rig rig;
	u32 first, second;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_attach(&rig);
	assert_int_equal(ops->suspend(rig.control, NULL, 0, 0, &done), 0);
	first = gp_nvrm_lifeline_pid(gp_nvrm_control_lifeline(rig.control));
	kill((pid_t)first, SIGKILL);
	do {
		struct pollfd fd = {.fd = ops->fd(rig.control), .events = POLLIN};

		assert_int_equal(poll(&fd, 1, 60000), 1);
		assert_true(ops->pump(rig.control) >= 0);
		second = gp_nvrm_lifeline_pid(gp_nvrm_control_lifeline(rig.control));
	} while (second == first);
	rig_counts(&rig, 8, 8);
	/* The new one has the descriptors and the table: it sees to a lease that ends at once. */
	gp_nvrm_control_lease(rig.control, 1);
	ops->suspend(rig.control, NULL, 0, 0, &done);
	assert_true(fake_await_running(&rig.fake));
	rig_remove(&rig);
}

static void a_lease_that_the_holder_keeps_is_not_renewed_by_pumping(void **state)
{
	struct gp_gpu_control_done done;
	time_t limit = time(NULL) + 60;
	struct rig rig;
	int result = 0;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_attach(&rig);
	/* A second, so that the first pump is in time even on a machine that is busy. */
	assert_int_equal(ops->lease(rig.control, 1000), 0);
	assert_int_equal(ops->suspend(rig.control, NULL, 0, 0, &done), 0);
	while (!result && time(NULL) < limit) {
		nap();
		result = ops->pump(rig.control);
	}
	assert_int_equal(result, 1);
	rig_counts(&rig, 8, 0);
	/* Renewed by whoever keeps it, it lasts. */
	assert_int_equal(ops->lease(rig.control, 3600000), 0);
	assert_int_equal(ops->suspend(rig.control, NULL, 0, 0, &done), 0);
	assert_int_equal(ops->pump(rig.control), 0);
	rig_counts(&rig, 8, 8);
	assert_int_equal(ops->lease(rig.control, 0), 0);
	assert_true(fake_await_running(&rig.fake));
	rig_remove(&rig);
}

static void the_table_takes_each_channel_once_and_no_more_than_it_holds(void **state)
{
	struct gp_nvrm_lifeline *lifeline;
	struct gp_nvrm_entry entry = {.client = 1};
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	assert_int_equal(gp_nvrm_lifeline_start(&rig.fake.port, rig.pidfd, &lifeline), 0);
	assert_true(gp_nvrm_lifeline_alive(lifeline));
	assert_int_equal(gp_nvrm_lifeline_renew(lifeline, 5), 0); /* nothing to renew */
	for (u32 i = 0; i < GP_NVRM_LIFELINE_ROOM; i++) {
		entry.object = i;
		for (int k = 0; k < 2; k++)
			assert_int_equal(gp_nvrm_lifeline_arm(lifeline, &entry, 1, ~0ull), 0);
	}
	entry.object = GP_NVRM_LIFELINE_ROOM;
	assert_int_equal(gp_nvrm_lifeline_arm(lifeline, &entry, 1, ~0ull), -ENOSPC);
	assert_int_equal(gp_nvrm_lifeline_confirm(lifeline), 0);
	assert_false(gp_nvrm_lifeline_fired(lifeline));
	/* A lease in the past: it fires, and everybody is told. */
	gp_nvrm_lifeline_disarm(lifeline);
	assert_int_equal(gp_nvrm_lifeline_arm(lifeline, &entry, 1, 3), 0);
	while (!gp_nvrm_lifeline_fired(lifeline))
		nap();
	assert_int_equal(gp_nvrm_lifeline_confirm(lifeline), -ETIME);
	assert_int_equal(gp_nvrm_lifeline_renew(lifeline, ~0ull), -ETIME);
	assert_int_equal(gp_nvrm_lifeline_arm(lifeline, &entry, 1, ~0ull), -ETIME);
	gp_nvrm_lifeline_disarm(lifeline);
	assert_false(gp_nvrm_lifeline_fired(lifeline));
	assert_int_equal(gp_nvrm_lifeline_arm(lifeline, &entry, 1, ~0ull), 0);
	gp_nvrm_lifeline_stop(lifeline);
	rig_remove(&rig);
}

static void death_and_hangs_at_random_points_leave_nothing_stopped(void **state)
{
	struct rig rig;
	u32 seed = 12345;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	for (int i = 0; i < 24; i++) {
		struct holder holder = start(&rig, flutter, 60 * MS);
		struct timespec time = {0};

		assert_int_equal(hear(&holder), 's');
		seed = seed * 1664525u + 1013904223u;
		time.tv_nsec = (long)(seed >> 8) % 5000000;
		nanosleep(&time, NULL);
		if (i % 2) {
			kill(holder.pid, SIGSTOP);
			await_stop(&holder);
			assert_true(fake_await_running(&rig.fake));
		}
		end(&holder);
		assert_true(fake_await_running(&rig.fake));
		await_timeslice(&rig, 2048);
	}
	assert_int_equal(atomic_load(&rig.fake.rm->bad), 0);
	await_no_copies(&rig);
	rig_remove(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_killed_holder_lets_the_process_run),
		cmocka_unit_test(a_stopped_holder_loses_its_lease_and_learns_it),
		cmocka_unit_test(a_holder_stopped_inside_the_call_does_not_leave_channels_stopped),
		cmocka_unit_test(a_holder_that_was_away_during_its_call_tries_again),
		cmocka_unit_test(a_killed_lifeline_is_replaced),
		cmocka_unit_test(a_lease_that_the_holder_keeps_is_not_renewed_by_pumping),
		cmocka_unit_test(the_table_takes_each_channel_once_and_no_more_than_it_holds),
		cmocka_unit_test(death_and_hangs_at_random_points_leave_nothing_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
