// SPDX-License-Identifier: MIT
/* The urgent class: what is reported is what the kernel has, and a thread that never waits loses
 * it.
 */
#include "testlib.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/host/urgent.h"

#define MORE_URGENT (-15)
#define MAY_NOT     103

/* Runs in a process of its own, whose exit status is the answer. Its nice value does not depend on
 * that of the caller, unless that may not lower it (a user, or root in a container): then the test
 * is skipped. */
static int in_child(int nice, int (*what)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (!pid)
		_exit(setpriority(PRIO_PROCESS, 0, nice) < 0 ? MAY_NOT : what());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == MAY_NOT)
		skip();
	return WEXITSTATUS(status);
}

static int obtain(void)
{
	enum gp_urgency got = gp_urgent_begin();
	int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

	if ((got == GP_URGENCY_REALTIME) != (policy == SCHED_RR))
		return 100;
	return (int)got;
}

static int give_up_permission(void)
{
	struct rlimit none = {0};

	setrlimit(RLIMIT_RTPRIO, &none);
	setrlimit(RLIMIT_NICE, &none);
	return setgid(65534) < 0 || setuid(65534) < 0 ? -1 : 0;
}

static int without_permission(void)
{
	return give_up_permission() < 0 ? 101 : obtain();
}

static int never_wait(void)
{
	volatile unsigned long count = 0;

	if (gp_urgent_begin() != GP_URGENCY_REALTIME)
		return 102;
	while (gp_urgent_now() == GP_URGENCY_REALTIME)
		count++;
	return gp_urgent_now();
}

static int child_of_urgent(void)
{
	int status = 0;
	pid_t pid;

	if (gp_urgent_begin() == GP_URGENCY_NORMAL)
		return 102;
	pid = fork();
	if (!pid)
		_exit((int)gp_urgent_now());
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static int child_without_permission(void)
{
	return give_up_permission() < 0 ? 101 : child_of_urgent();
}

static void what_is_reported_is_what_the_kernel_has(void **state)
{
	(void)state;
	assert_true(in_child(0, obtain) <= GP_URGENCY_REALTIME);
	assert_string_equal(gp_urgency_name(GP_URGENCY_REALTIME), "realtime");
	if (geteuid() == 0)
		assert_int_equal(in_child(0, without_permission), GP_URGENCY_NORMAL);
}

static void a_thread_that_never_waits_returns_to_the_ordinary_class(void **state)
{
	int left;

	(void)state;
	left = in_child(0, never_wait);
	if (left == 102)
		skip();
	assert_int_equal(left, GP_URGENCY_NORMAL);
}

static void children_are_ordinary(void **state)
{
	int child;

	(void)state;
	child = in_child(0, child_of_urgent);
	if (child == 102)
		skip();
	assert_int_equal(child, GP_URGENCY_NORMAL);
}

static void a_process_that_was_started_nice_has_ordinary_children(void **state)
{
	int left;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(in_child(MORE_URGENT, without_permission), GP_URGENCY_NICE);
	assert_int_equal(in_child(MORE_URGENT, child_without_permission), GP_URGENCY_NORMAL);
	assert_int_equal(in_child(MORE_URGENT, child_of_urgent), GP_URGENCY_NORMAL);
	left = in_child(MORE_URGENT, never_wait);
	if (left != 102)
		assert_int_equal(left, GP_URGENCY_NICE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_reported_is_what_the_kernel_has),
		cmocka_unit_test(a_thread_that_never_waits_returns_to_the_ordinary_class),
		cmocka_unit_test(children_are_ordinary),
		cmocka_unit_test(a_process_that_was_started_nice_has_ordinary_children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
