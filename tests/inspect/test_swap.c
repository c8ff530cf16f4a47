// SPDX-License-Identifier: MIT
/* Which processes are not swapped out, by what /proc shows of them. */
#include "gpu/nvrm/swap.h"
#include "inspect/swap.h"
#include "testlib.h"
#include "tree.h"

#define LIBCUDA "204a00000-204c00000 rw-s 204a00000 00:06 144 /dev/nvidia-uvm\n"

static enum gp_nvrm_swap_refusal judge(const char *maps, const char *environment, size_t size)
{
	struct tree tree;
	enum gp_nvrm_swap_refusal refusal;

	tree_make(&tree);
	tree_text(&tree, "/proc/41/maps", maps);
	tree_write(&tree, "/proc/41/environ", environment, size);
	refusal = gp_nvrm_swap_refusal(&tree.root, 41);
	tree_remove(&tree);
	return refusal;
}

static void managed_memory_is_mapped_above_libcudas(void **state)
{
	(void)state;
	assert_int_equal(judge(LIBCUDA, "", 0), GP_SWAP_POSSIBLE);
	assert_int_equal(judge(LIBCUDA "7f107a000000-7f107e000000 rw-s 7f107a000000 00:06 144 "
				       "/dev/nvidia-uvm\n",
			       "", 0),
			 GP_SWAP_MANAGED);
	assert_int_equal(judge("7f107a000000-7f107e000000 rw-p 00000000 00:00 0\n" LIBCUDA, "", 0),
			 GP_SWAP_POSSIBLE);
	assert_int_equal(judge("", "", 0), GP_SWAP_POSSIBLE);
	assert_int_equal(judge("garbage /dev/nvidia-uvm\n\n\n", "", 0), GP_SWAP_POSSIBLE);
}

static void several_ranks_with_nccl_are_a_collective(void **state)
{
	static const char nccl[] = "7f00000-7f10000 r-xp 0 00:00 1 /opt/lib/libnccl.so.2\n";
	static const char two[] = "A=1\0WORLD_SIZE=2", one[] = "WORLD_SIZE=1\0B=2";
	static const char other[] = "MY_WORLD_SIZE=8";

	(void)state;
	assert_int_equal(judge(nccl, two, sizeof(two)), GP_SWAP_COLLECTIVE);
	assert_int_equal(judge(nccl, one, sizeof(one)), GP_SWAP_POSSIBLE);
	assert_int_equal(judge(nccl, other, sizeof(other)), GP_SWAP_POSSIBLE);
	assert_int_equal(judge("", two, sizeof(two)), GP_SWAP_POSSIBLE);
	assert_int_equal(judge("7f00000-7f10000 rw-s 0 00:18 1 /dev/shm/nccl-x8 (deleted)\n", one,
			       sizeof(one)),
			 GP_SWAP_COLLECTIVE);
}

static void host_memory_is_the_least_of_machine_and_groups(void **state)
{
	struct gp_inspect_swap_host host;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	assert_true(gp_inspect_swap_host(&tree.root, 41, &host) < 0);
	tree_text(&tree, "/proc/meminfo", "MemTotal: 1000 kB\n");
	assert_true(gp_inspect_swap_host(&tree.root, 41, &host) < 0);
	tree_text(&tree, "/proc/meminfo", "MemTotal:    1000 kB\nMemAvailable:   600 kB\n");
	assert_int_equal(gp_inspect_swap_host(&tree.root, 41, &host), 0);
	assert_int_equal(host.total, 1024000);
	assert_int_equal(host.available, 614400);
	assert_true(host.limit == UINT64_MAX);
	tree_text(&tree, "/proc/41/cgroup", "0::/user/job\n");
	tree_text(&tree, "/sys/fs/cgroup/user/job/memory.max", "max\n");
	tree_text(&tree, "/sys/fs/cgroup/user/job/memory.current", "5\n");
	tree_text(&tree, "/sys/fs/cgroup/user/memory.max", "100000\n");
	tree_text(&tree, "/sys/fs/cgroup/user/memory.current", "40000\n");
	assert_int_equal(gp_inspect_swap_host(&tree.root, 41, &host), 0);
	assert_int_equal(host.limit, 60000);
	assert_true(gp_inspect_swap_need(16ull << 30) > 17ull << 30);
	tree_remove(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(managed_memory_is_mapped_above_libcudas),
		cmocka_unit_test(several_ranks_with_nccl_are_a_collective),
		cmocka_unit_test(host_memory_is_the_least_of_machine_and_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
