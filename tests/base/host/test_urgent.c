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

/* Runs in a process of its own, whose exit status is the answer. */
static int in_child(int (*what)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (!pid)
		_exit(what());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
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

static int without_permission(void)
{
	struct rlimit none = {0};

	setrlimit(RLIMIT_RTPRIO, &none);
	setrlimit(RLIMIT_NICE, &none);
	if (setgid(65534) < 0 || setuid(65534) < 0)
		return 101;
	return obtain();
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

static void what_is_reported_is_what_the_kernel_has(void **state)
{
	(void)state;
	assert_true(in_child(obtain) <= GP_URGENCY_REALTIME);
	assert_string_equal(gp_urgency_name(GP_URGENCY_REALTIME), "realtime");
	if (geteuid() == 0)
		assert_int_equal(in_child(without_permission), GP_URGENCY_NORMAL);
}

static void a_thread_that_never_waits_returns_to_the_ordinary_class(void **state)
{
	int left;

	(void)state;
	left = in_child(never_wait);
	if (left == 102)
		skip();
	assert_int_equal(left, GP_URGENCY_NORMAL);
}

static void children_are_ordinary(void **state)
{
	int child;

	(void)state;
	child = in_child(child_of_urgent);
	if (child == 102)
		skip();
	assert_int_equal(child, GP_URGENCY_NORMAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_reported_is_what_the_kernel_has),
		cmocka_unit_test(a_thread_that_never_waits_returns_to_the_ordinary_class),
		cmocka_unit_test(children_are_ordinary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
