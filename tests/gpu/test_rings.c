// SPDX-License-Identifier: MIT
/* Ring positions of a process, read from outside in one call; here the process is this one. */
#include "testlib.h"

#include <errno.h>
#include <unistd.h>

#include "abi/amd_queue.h"
#include "gpu/rings.h"

static void all_rings_are_read_in_one_call(void **state)
{
	struct gp_amd_queue queue[3] = {0};
	struct gp_gpu_ring rings[3] = {0};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		queue[i].write_dispatch_id = 100 + i;
		queue[i].read_dispatch_id = 50 + i;
		rings[i].object = (u64)(uintptr_t)&queue[i];
	}
	assert_int_equal(gp_kfd_read_rings((u32)getpid(), rings, 3), 3);
	for (size_t i = 0; i < 3; i++) {
		assert_true(rings[i].known);
		assert_int_equal(rings[i].write_index, 100 + i);
		assert_int_equal(rings[i].read_index, 50 + i);
	}
}

static void what_is_not_there_is_unknown(void **state)
{
	struct gp_amd_queue queue = {.write_dispatch_id = 7};
	struct gp_gpu_ring rings[2] = {{.object = (u64)(uintptr_t)&queue}, {.object = 0}};

	(void)state;
	assert_int_equal(gp_kfd_read_rings((u32)getpid(), rings, 2), 1);
	assert_true(rings[0].known);
	assert_int_equal(rings[0].write_index, 7);
	assert_false(rings[1].known);
	rings[0].object = 0;
	assert_int_equal(gp_kfd_read_rings((u32)getpid(), rings, 1), -EFAULT);
	assert_int_equal(gp_kfd_read_rings((u32)getpid(), rings, 0), 0);
	assert_int_equal(gp_kfd_read_rings((u32)getpid(), rings, GP_RINGS_MAX + 1), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_rings_are_read_in_one_call),
		cmocka_unit_test(what_is_not_there_is_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
