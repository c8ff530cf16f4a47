// SPDX-License-Identifier: MIT
/* Calls of the debug trap that crash a driver of the field are not sent. */
#include "testlib.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "gpu/kfd/debug.h"

static struct gp_kfd_dbg_trap_args suspend(u64 array, u32 count)
{
	struct gp_kfd_dbg_trap_args args = {.op = GP_KFD_DBG_SUSPEND_QUEUES};

	args.suspend_queues.queue_array_ptr = array;
	args.suspend_queues.num_queues = count;
	return args;
}

static struct gp_kfd_dbg_trap_args resume(u64 array, u32 count)
{
	struct gp_kfd_dbg_trap_args args = {.op = GP_KFD_DBG_RESUME_QUEUES};

	args.resume_queues.queue_array_ptr = array;
	args.resume_queues.num_queues = count;
	return args;
}

static void an_array_is_there_and_not_too_long(void **state)
{
	struct gp_kfd_dbg_trap_args args;

	(void)state;
	args = suspend(0, 1);
	assert_false(gp_kfd_debug_harmless(&args));
	args = resume(0, 1);
	assert_false(gp_kfd_debug_harmless(&args));
	args = suspend(4096, GP_KFD_MAX_QUEUES + 1);
	assert_false(gp_kfd_debug_harmless(&args));
	args = resume(4096, 0xffffffffu);
	assert_false(gp_kfd_debug_harmless(&args));
	args = suspend(0, 0);
	assert_true(gp_kfd_debug_harmless(&args));
	args = suspend(4096, GP_KFD_MAX_QUEUES);
	assert_true(gp_kfd_debug_harmless(&args));
	args = resume(4096, 1);
	assert_true(gp_kfd_debug_harmless(&args));
}

/* /dev/null answers every request with ENOTTY, so that the other error shows that it was not asked.
 */
static void a_harmful_call_does_not_reach_the_driver(void **state)
{
	static struct gp_kfd_debug_target target;
	struct gp_kfd_dbg_trap_args bad = suspend(0, 1), good = suspend(4096, 1);

	(void)state;
	target.kfd = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_true(target.kfd >= 0);
	assert_int_equal(gp_kfd_debug_trap(&target, GP_KFD_DBG_SUSPEND_QUEUES, &good), -ENOTTY);
	assert_int_equal(gp_kfd_debug_trap(&target, GP_KFD_DBG_SUSPEND_QUEUES, &bad), -EINVAL);
	close(target.kfd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_array_is_there_and_not_too_long),
		cmocka_unit_test(a_harmful_call_does_not_reach_the_driver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
