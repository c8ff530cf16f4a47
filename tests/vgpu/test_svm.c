// SPDX-License-Identifier: MIT
/* Ranges of managed memory, and the paths that belong to the machine. */
#include "standin.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "abi/drm.h"
#include "abi/kfd_driver.h"

#define PAGES 16

static u8 *memory;

static int setup(void **state)
{
	memory = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	return standin_setup(state);
}

static int teardown(void **state)
{
	munmap(memory, PAGES * 4096);
	return standin_teardown(state);
}

static int svm(u32 op, u32 page, u32 pages, u32 count, struct gp_kfd_svm_attribute *attributes)
{
	size_t bytes = count * sizeof(*attributes);
	struct gp_kfd_svm_args *args = calloc(1, sizeof(*args) + bytes);
	unsigned long nr =
		_IOC(_IOC_READ | _IOC_WRITE, 'K', _IOC_NR(GP_KFD_IOC_SVM), sizeof(*args) + bytes);
	int error;

	args->start_addr = (uintptr_t)memory + page * 4096ull;
	args->size = pages * 4096ull;
	args->op = op;
	args->nattr = count;
	memcpy(args->attrs, attributes, bytes);
	error = kfd(nr, args);
	memcpy(attributes, args->attrs, bytes);
	free(args);
	return error;
}

static int set(u32 page, u32 pages, u32 type, u32 value)
{
	struct gp_kfd_svm_attribute attribute = {type, value};

	return svm(GP_KFD_SVM_SET, page, pages, 1, &attribute);
}

static u32 get(u32 page, u32 pages, u32 type)
{
	struct gp_kfd_svm_attribute attribute = {type, 0};

	assert_int_equal(svm(GP_KFD_SVM_GET, page, pages, 1, &attribute), 0);
	return attribute.value;
}

static bool reaches(u32 gpu, u32 page, u32 pages)
{
	u64 va = (uintptr_t)memory + page * 4096ull;

	return gp_vgpu_gpu_pointer(&standin.client, gpu, va, pages * 4096ull) == (void *)va;
}

/* ---- tests ---- */

/* The server hears of each move, for readers of SMI events. */
static void a_prefetch_moves_what_is_not_there_yet(void **state)
{
	u32 before = standin.requests;

	(void)state;
	assert_int_equal(set(0, 4, GP_KFD_SVM_PREFETCH_LOC, GPU0), 0);
	assert_int_equal(standin.requests - before, 1);
	assert_int_equal(standin.last_payload, sizeof(struct gp_vgpu_migration));
	assert_int_equal(set(0, 4, GP_KFD_SVM_PREFETCH_LOC, GPU0), 0);
	assert_int_equal(set(0, 4, GP_KFD_SVM_PREFERRED_LOC, GPU1), 0);
	assert_int_equal(standin.requests - before, 1);
	/* To another GPU through system memory, and of half of it back. */
	assert_int_equal(set(0, 4, GP_KFD_SVM_PREFETCH_LOC, GPU1), 0);
	assert_int_equal(standin.requests - before, 3);
	assert_int_equal(set(0, 2, GP_KFD_SVM_PREFETCH_LOC, GP_KFD_SVM_LOCATION_SYSMEM), 0);
	assert_int_equal(standin.requests - before, 4);
	assert_int_equal(set(0, 4, GP_KFD_SVM_PREFETCH_LOC, GP_KFD_SVM_LOCATION_SYSMEM), 0);
	assert_int_equal(standin.requests - before, 5);
}

static void a_gpu_reaches_what_it_was_given(void **state)
{
	(void)state;
	assert_false(reaches(GPU0, 4, 1));
	assert_int_equal(set(4, 4, GP_KFD_SVM_ACCESS, GPU0), 0);
	assert_int_equal(set(8, 2, GP_KFD_SVM_ACCESS_IN_PLACE, GPU0), 0);
	assert_true(reaches(GPU0, 4, 6));
	assert_false(reaches(GPU1, 4, 1));
	assert_false(reaches(GPU0, 3, 2));
	assert_false(reaches(GPU0, 9, 2));
	assert_int_equal(set(5, 1, GP_KFD_SVM_NO_ACCESS, GPU0), 0);
	assert_false(reaches(GPU0, 4, 2));
	assert_true(reaches(GPU0, 6, 4));
}

/* Not even where it has nothing at all: a length that wraps must not end before it begins. */
static void no_gpu_reaches_past_the_end_of_all_addresses(void **state)
{
	u64 va = (uintptr_t)memory;

	(void)state;
	assert_null(gp_vgpu_gpu_pointer(&standin.client, GPU0, va, UINT64_MAX));
	assert_null(gp_vgpu_gpu_pointer(&standin.client, GPU0, va, UINT64_MAX - va + 1));
	assert_int_equal(set(0, 4, GP_KFD_SVM_ACCESS, GPU0), 0);
	assert_null(gp_vgpu_gpu_pointer(&standin.client, GPU0, va, UINT64_MAX - 7));
}

static void attributes_come_back_where_all_pages_agree(void **state)
{
	(void)state;
	assert_int_equal(get(0, 4, GP_KFD_SVM_PREFERRED_LOC), GP_KFD_SVM_LOCATION_UNDEFINED);
	assert_int_equal(set(0, 8, GP_KFD_SVM_PREFERRED_LOC, GPU0), 0);
	assert_int_equal(set(4, 4, GP_KFD_SVM_PREFERRED_LOC, GPU1), 0);
	assert_int_equal(get(0, 4, GP_KFD_SVM_PREFERRED_LOC), GPU0);
	assert_int_equal(get(4, 4, GP_KFD_SVM_PREFERRED_LOC), GPU1);
	assert_int_equal(get(2, 4, GP_KFD_SVM_PREFERRED_LOC), GP_KFD_SVM_LOCATION_UNDEFINED);
	assert_int_equal(set(0, 2, GP_KFD_SVM_PREFETCH_LOC, GP_KFD_SVM_LOCATION_SYSMEM), 0);
	assert_int_equal(get(0, 2, GP_KFD_SVM_PREFETCH_LOC), GP_KFD_SVM_LOCATION_SYSMEM);
	assert_int_equal(set(1, 1, GP_KFD_SVM_GRANULARITY, 3), 0);
	assert_int_equal(get(0, 8, GP_KFD_SVM_GRANULARITY), 3);
	assert_int_equal(set(1, 1, GP_KFD_SVM_SET_FLAGS, 4), 0);
	assert_int_equal(set(2, 1, GP_KFD_SVM_CLR_FLAGS, GP_KFD_SVM_FLAG_COHERENT), 0);
	assert_int_equal(get(1, 1, GP_KFD_SVM_SET_FLAGS), GP_KFD_SVM_DEFAULT_FLAGS | 4);
	assert_int_equal(get(0, 8, GP_KFD_SVM_SET_FLAGS), GP_KFD_SVM_FLAG_HOST_ACCESS);
	assert_int_equal(get(0, 8, GP_KFD_SVM_CLR_FLAGS), ~(GP_KFD_SVM_DEFAULT_FLAGS | 4u));
}

static void access_is_answered_with_its_kind(void **state)
{
	struct gp_kfd_svm_attribute attributes[2] = {{GP_KFD_SVM_ACCESS, GPU0},
						     {GP_KFD_SVM_ACCESS, GPU1}};

	(void)state;
	assert_int_equal(set(0, 2, GP_KFD_SVM_ACCESS_IN_PLACE, GPU0), 0);
	assert_int_equal(svm(GP_KFD_SVM_GET, 0, 2, 2, attributes), 0);
	assert_int_equal(attributes[0].type, GP_KFD_SVM_ACCESS_IN_PLACE);
	assert_int_equal(attributes[1].type, GP_KFD_SVM_NO_ACCESS);
}

static void bad_ranges_and_attributes_are_refused(void **state)
{
	struct gp_kfd_svm_attribute none = {99, 0};
	struct gp_kfd_svm_args args = {.start_addr = (uintptr_t)memory, .size = 4096, .nattr = 1};

	(void)state;
	assert_int_equal(set(0, 1, GP_KFD_SVM_ACCESS, 77), -EINVAL);
	assert_int_equal(set(0, 1, GP_KFD_SVM_PREFERRED_LOC, 77), -EINVAL);
	assert_int_equal(set(0, 1, GP_KFD_SVM_PREFETCH_LOC, GP_KFD_SVM_LOCATION_UNDEFINED),
			 -EINVAL);
	assert_int_equal(svm(GP_KFD_SVM_SET, 0, 1, 1, &none), -EINVAL);
	assert_int_equal(svm(GP_KFD_SVM_GET, 0, 1, 1, &none), -EINVAL);
	assert_int_equal(set(0, 0, GP_KFD_SVM_ACCESS, GPU0), -EINVAL);
	assert_int_equal(svm(7, 0, 1, 0, &none), -EINVAL);
	/* More attributes than the request has room for. */
	assert_int_equal(kfd(GP_KFD_IOC_SVM, &args), -EINVAL);
	munmap(memory + 4096, 4096);
	assert_int_equal(set(0, 3, GP_KFD_SVM_ACCESS, GPU0), -EFAULT);
}

static void managed_memory_and_buffers_exclude_each_other(void **state)
{
	struct gp_kfd_alloc_memory_of_gpu_args args = {
		.va_addr = (uintptr_t)memory + 4096,
		.size = 4096,
		.flags = GP_KFD_ALLOC_GTT,
		.gpu_id = GPU0,
	};

	(void)state;
	acquire_both();
	assert_int_equal(set(1, 1, GP_KFD_SVM_ACCESS, GPU0), 0);
	assert_int_equal(kfd(GP_KFD_IOC_ALLOC_MEMORY_OF_GPU, &args), -EADDRINUSE);
	args.va_addr += 4096;
	assert_int_equal(kfd(GP_KFD_IOC_ALLOC_MEMORY_OF_GPU, &args), 0);
}

static void unmapping_cuts_ranges(void **state)
{
	u64 va = (uintptr_t)memory;

	(void)state;
	assert_int_equal(set(2, 6, GP_KFD_SVM_ACCESS, GPU0), 0);
	gp_vgpu_svm_unmapped(&standin.client, va + 4 * 4096, 1);
	assert_true(reaches(GPU0, 2, 2));
	assert_false(reaches(GPU0, 4, 1));
	assert_true(reaches(GPU0, 5, 3));
	assert_false(gp_vgpu_svm_overlaps(&standin.client, va + 4 * 4096, 4096));
	gp_vgpu_svm_unmapped(&standin.client, va, PAGES * 4096);
	assert_false(gp_vgpu_svm_overlaps(&standin.client, va, PAGES * 4096));
}

/* ---- paths ---- */

static const char *rewritten(const char *path)
{
	static char buffer[GP_VGPU_PATH_MAX];

	return gp_vgpu_path(path, buffer);
}

static void only_the_machines_paths_are_rewritten(void **state)
{
	(void)state;
	unsetenv("STANDIN_ROOT");
	assert_string_equal(rewritten("/dev/kfd"), "/dev/kfd");
	setenv("STANDIN_ROOT", "/m/root", 1);
	assert_string_equal(rewritten("/dev/kfd"), "/m/root/dev/kfd");
	assert_string_equal(rewritten("/dev/kfdx"), "/dev/kfdx");
	assert_string_equal(rewritten("/dev/dri/renderD128"), "/m/root/dev/dri/renderD128");
	assert_string_equal(rewritten("/sys/class/kfd/kfd/topology"),
			    "/m/root/sys/class/kfd/kfd/topology");
	assert_string_equal(rewritten("/sys/dev/char/226:128/device"),
			    "/m/root/sys/dev/char/226:128/device");
	assert_string_equal(rewritten("/sys/dev/char/1:3"), "/sys/dev/char/1:3");
	assert_string_equal(rewritten("/proc/modules"), "/m/root/proc/modules");
	assert_string_equal(rewritten("/proc/self/maps"), "/proc/self/maps");
	assert_string_equal(rewritten("sys/class/kfd"), "sys/class/kfd");
	/* The tree has no such device, so it is the real one. */
	assert_string_equal(rewritten("/sys/bus/pci/devices/x"), "/sys/bus/pci/devices/x");
	assert_null(rewritten(NULL));
	assert_int_equal(standin.requests, 0);
	rewritten("/sys/class/kfd/kfd/proc/12/queues");
	rewritten("/sys/kernel/debug/kfd/hqds");
	assert_int_equal(standin.requests, 2);
}

static void long_paths_are_left_alone(void **state)
{
	char path[GP_VGPU_PATH_MAX];

	(void)state;
	setenv("STANDIN_ROOT", "/m/root", 1);
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	memcpy(path, "/dev/dri/", 9);
	assert_ptr_equal(rewritten(path), path);
}

static void device_nodes_look_like_device_nodes(void **state)
{
	struct stat st = {0};

	(void)state;
	setenv("STANDIN_ROOT", "/m/root", 1);
	assert_int_equal(gp_vgpu_path_node("/dev/kfd").kind, GP_VGPU_FD_KFD);
	assert_int_equal(gp_vgpu_path_node("/dev/dri/renderD129").minor, 129);
	assert_int_equal(gp_vgpu_path_node("/dev/dri/card0").kind, GP_VGPU_FD_RENDER);
	assert_int_equal(gp_vgpu_path_node("/dev/dri/renderD").kind, GP_VGPU_FD_NONE);
	assert_int_equal(gp_vgpu_path_node("/dev/dri/renderD12x").kind, GP_VGPU_FD_NONE);
	assert_int_equal(gp_vgpu_path_node("/dev/null").kind, GP_VGPU_FD_NONE);
	gp_vgpu_node_stat(gp_vgpu_path_node("/dev/dri/renderD129"), &st);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(major(st.st_rdev), GP_DRM_MAJOR);
	assert_int_equal(minor(st.st_rdev), 129);
}

static void resolved_paths_lose_the_trees_prefix(void **state)
{
	char path[64] = "/m/root/sys/class/kfd", other[64] = "/m/rooted/x";

	(void)state;
	setenv("STANDIN_ROOT", "/m/root", 1);
	gp_vgpu_path_strip(path);
	assert_string_equal(path, "/sys/class/kfd");
	gp_vgpu_path_strip(other);
	assert_string_equal(other, "/m/rooted/x");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_prefetch_moves_what_is_not_there_yet),
		TEST(a_gpu_reaches_what_it_was_given),
		TEST(no_gpu_reaches_past_the_end_of_all_addresses),
		TEST(attributes_come_back_where_all_pages_agree),
		TEST(access_is_answered_with_its_kind),
		TEST(bad_ranges_and_attributes_are_refused),
		TEST(managed_memory_and_buffers_exclude_each_other),
		TEST(unmapping_cuts_ranges),
		TEST(only_the_machines_paths_are_rewritten),
		TEST(long_paths_are_left_alone),
		TEST(device_nodes_look_like_device_nodes),
		TEST(resolved_paths_lose_the_trees_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
