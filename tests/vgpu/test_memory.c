// SPDX-License-Identifier: MIT
/* Buffers: where they are, who may see them, what they cost. */
#include "standin.h"

#include <errno.h>
#include <sys/mman.h>

#include "abi/kfd_driver.h"
#include "vgpu/heap.h"
#include "vgpu/preload/memory.h"

#define VA 0x200000000ull

static struct gp_kfd_alloc_memory_of_gpu_args alloc(u64 va, u64 size, u32 flags, u32 gpu_id)
{
	struct gp_kfd_alloc_memory_of_gpu_args args = {.va_addr = va,
						       .size = size,
						       .flags = flags,
						       .gpu_id = gpu_id};

	assert_int_equal(kfd(GP_KFD_IOC_ALLOC_MEMORY_OF_GPU, &args), 0);
	return args;
}

static int alloc_error(struct gp_kfd_alloc_memory_of_gpu_args args)
{
	return kfd(GP_KFD_IOC_ALLOC_MEMORY_OF_GPU, &args);
}

static int release(u64 handle)
{
	struct gp_kfd_free_memory_of_gpu_args args = {.handle = handle};

	return kfd(GP_KFD_IOC_FREE_MEMORY_OF_GPU, &args);
}

static int map_to(u64 handle, unsigned long request, u32 gpu_id)
{
	struct gp_kfd_map_memory_to_gpu_args args = {.handle = handle,
						     .device_ids_array_ptr = (uintptr_t)&gpu_id,
						     .n_devices = 1};
	int error = kfd(request, &args);

	assert_int_equal(args.n_success, !error);
	return error;
}

#define MAP(handle, gpu)   map_to(handle, GP_KFD_IOC_MAP_MEMORY_TO_GPU, gpu)
#define UNMAP(handle, gpu) map_to(handle, GP_KFD_IOC_UNMAP_MEMORY_FROM_GPU, gpu)

static void *gpu_pointer(u32 gpu, u64 va, u64 size)
{
	return gp_vgpu_gpu_pointer(&standin.client, gpu, va, size);
}

/* ---- tests ---- */

static void memory_needs_a_vm(void **state)
{
	struct gp_kfd_alloc_memory_of_gpu_args args = {.va_addr = VA,
						       .size = 4096,
						       .flags = GP_KFD_ALLOC_VRAM,
						       .gpu_id = GPU0};

	(void)state;
	assert_int_equal(alloc_error(args), -ENODEV);
	args.gpu_id = 1;
	assert_int_equal(alloc_error(args), -EINVAL);
}

static void application_and_gpu_see_the_same_pages(void **state)
{
	struct gp_kfd_alloc_memory_of_gpu_args bo;
	u8 *cpu, *gpu;

	(void)state;
	acquire_both();
	bo = alloc(VA, 8192, GP_KFD_ALLOC_VRAM | GP_KFD_ALLOC_PUBLIC, GPU0);
	assert_null(gpu_pointer(GPU0, VA, 1));
	assert_int_equal(MAP(bo.handle, GPU0), 0);
	cpu = gp_vgpu_memory_mmap(&standin.client, NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED,
				  true, (off_t)bo.mmap_offset);
	assert_ptr_not_equal(cpu, MAP_FAILED);
	gpu = gpu_pointer(GPU0, VA + 4096, 4096);
	assert_non_null(gpu);
	cpu[4100] = 42;
	assert_int_equal(gpu[4], 42);
	munmap(cpu, 8192);
	/* A GPU does not care what the application has mapped. */
	assert_int_equal(gpu[4], 42);
	assert_null(gpu_pointer(GPU0, VA + 4096, 4097));
	assert_null(gpu_pointer(GPU1, VA, 1));
}

static void mapped_memory_is_busy_until_unmapped_everywhere(void **state)
{
	u64 handle;

	(void)state;
	acquire_both();
	handle = alloc(VA, 4096, GP_KFD_ALLOC_VRAM, GPU0).handle;
	assert_int_equal(MAP(handle, GPU0), 0);
	assert_int_equal(MAP(handle, GPU1), 0);
	assert_int_equal(MAP(handle, GPU1), 0);
	assert_int_equal(release(handle), -EBUSY);
	assert_int_equal(UNMAP(handle, GPU0), 0);
	assert_int_equal(release(handle), -EBUSY);
	assert_non_null(gpu_pointer(GPU1, VA, 4096));
	assert_int_equal(UNMAP(handle, GPU1), 0);
	assert_int_equal(release(handle), 0);
	assert_int_equal(release(handle), -EINVAL);
	assert_int_equal(MAP(handle, GPU0), -ENOMEM);
}

static void vram_is_counted_by_the_server(void **state)
{
	struct gp_kfd_alloc_memory_of_gpu_args args = {.va_addr = VA,
						       .size = GPU_VRAM,
						       .flags = GP_KFD_ALLOC_VRAM,
						       .gpu_id = GPU0};
	u64 handle;
	u32 before;

	(void)state;
	acquire_both();
	handle = alloc(VA, 1000, GP_KFD_ALLOC_VRAM, GPU0).handle;
	assert_int_equal(standin.vram_used[0], 4096);
	assert_int_equal(alloc_error(args), -ENOMEM);
	args.gpu_id = GPU1;
	assert_int_equal(alloc_error(args), 0);
	assert_int_equal(release(handle), 0);
	assert_int_equal(standin.vram_used[0], 0);
	/* A refused allocation leaves no handle behind. */
	args.gpu_id = GPU0;
	args.size = GPU_VRAM + 4096;
	assert_int_equal(alloc_error(args), -ENOMEM);
	assert_int_equal((u32)alloc(VA, 4096, GP_KFD_ALLOC_VRAM, GPU0).handle, 0);
	before = standin.requests;
	alloc(VA + GPU_VRAM, 4096, GP_KFD_ALLOC_GTT, GPU0);
	assert_int_equal(standin.requests, before);
}

static void user_memory_may_have_another_gpu_address(void **state)
{
	u8 *own = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct gp_kfd_alloc_memory_of_gpu_args args = {
		.va_addr = VA,
		.size = 8192,
		.mmap_offset = (uintptr_t)own,
		.flags = GP_KFD_ALLOC_USERPTR,
		.gpu_id = GPU0,
	};

	(void)state;
	acquire_both();
	assert_int_equal(kfd(GP_KFD_IOC_ALLOC_MEMORY_OF_GPU, &args), 0);
	assert_int_equal(MAP(args.handle, GPU0), 0);
	assert_ptr_equal(gpu_pointer(GPU0, VA + 4097, 1), own + 4097);
	munmap(own, 8192);
	args.mmap_offset = (uintptr_t)own;
	assert_int_equal(alloc_error(args), -EFAULT);
	args.mmap_offset = 0;
	assert_int_equal(alloc_error(args), -EINVAL);
}

static void two_buffers_cannot_share_a_gpu_address(void **state)
{
	u64 first, second;

	(void)state;
	acquire_both();
	first = alloc(VA, 8192, GP_KFD_ALLOC_GTT, GPU0).handle;
	second = alloc(VA + 4096, 4096, GP_KFD_ALLOC_GTT, GPU0).handle;
	assert_int_equal(MAP(first, GPU0), 0);
	assert_int_equal(MAP(second, GPU0), -EINVAL);
	assert_int_equal(MAP(second, GPU1), 0);
}

static void handles_are_used_again_lowest_first(void **state)
{
	u64 handles[3];

	(void)state;
	acquire_both();
	for (u32 i = 0; i < 3; i++)
		handles[i] = alloc(VA + i * 4096ull, 4096, GP_KFD_ALLOC_GTT, GPU1).handle;
	assert_int_equal(handles[2], (u64)GPU1 << 32 | 2);
	assert_int_equal(release(handles[1]), 0);
	assert_int_equal(release(handles[0]), 0);
	assert_int_equal((u32)alloc(VA, 4096, GP_KFD_ALLOC_GTT, GPU1).handle, 0);
	assert_int_equal((u32)alloc(VA, 4096, GP_KFD_ALLOC_GTT, GPU1).handle, 1);
}

static void ring_memory_is_seen_twice_in_a_row(void **state)
{
	struct gp_kfd_alloc_memory_of_gpu_args ring;
	u8 *first, *second;

	(void)state;
	acquire_both();
	ring = alloc(VA, 16384, GP_KFD_ALLOC_GTT | GP_KFD_ALLOC_AQL_QUEUE_MEM, GPU0);
	assert_int_equal(MAP(ring.handle, GPU0), 0);
	first = gpu_pointer(GPU0, VA, 16384);
	second = gpu_pointer(GPU0, VA + 8192, 8192);
	first[5] = 9;
	assert_int_equal(second[5], 9);
}

static u64 blocks_in_use(void)
{
	struct stat st;

	assert_int_equal(fstat(standin.client.memory->arena.fd, &st), 0);
	return (u64)st.st_blocks;
}

static void freed_memory_gives_its_pages_back(void **state)
{
	struct gp_kfd_alloc_memory_of_gpu_args bo;
	u8 *gpu;

	(void)state;
	acquire_both();
	for (int round = 0; round < 3; round++) {
		bo = alloc(VA, 128 << 20, GP_KFD_ALLOC_VRAM, GPU0);
		assert_int_equal(MAP(bo.handle, GPU0), 0);
		gpu = gpu_pointer(GPU0, VA, 1 << 20);
		assert_int_equal(gpu[12345], 0);
		gpu[12345] = 1;
		assert_true(blocks_in_use() > 0);
		assert_int_equal(UNMAP(bo.handle, GPU0), 0);
		assert_int_equal(release(bo.handle), 0);
		assert_int_equal(blocks_in_use(), 0);
	}
}

static void waves_forget_the_mappings_of_a_closed_handle(void **state)
{
	union gp_amdgpu_gem_create create = {
		.in = {.bo_size = 8192, .domains = GP_AMDGPU_DOMAIN_VRAM}};
	struct gp_amdgpu_gem_va va = {.operation = GP_AMDGPU_VA_MAP, .va = VA, .size = 8192};
	struct gp_drm_gem_close close = {0};

	(void)state;
	acquire_both();
	assert_int_equal(gp_vgpu_gem_create(&standin.client, 0, &create), 0);
	va.handle = close.handle = create.out.handle;
	assert_int_equal(gp_vgpu_gem_va(&standin.client, 0, &va), 0);
	assert_non_null(gpu_pointer(GPU0, VA, 8192));
	standin.remapped = 0;
	assert_int_equal(gp_vgpu_gem_close(&standin.client, 0, &close), 0);
	assert_null(gpu_pointer(GPU0, VA, 8192));
	assert_int_equal(standin.remapped, 1);
}

static void exact_mappings_are_told_from_parts(void **state)
{
	struct gp_kfd_alloc_memory_of_gpu_args bo;

	(void)state;
	acquire_both();
	bo = alloc(VA, 8192, GP_KFD_ALLOC_GTT, GPU0);
	assert_int_equal(MAP(bo.handle, GPU0), 0);
	assert_true(gp_vgpu_is_allocation(&standin.client, GPU0, VA, 8192));
	assert_false(gp_vgpu_is_allocation(&standin.client, GPU0, VA, 4096));
	assert_false(gp_vgpu_is_allocation(&standin.client, GPU0, VA + 4096, 4096));
	assert_false(gp_vgpu_is_allocation(&standin.client, GPU1, VA, 8192));
	/* Lengths below a page are not compared. */
	assert_true(gp_vgpu_is_allocation(&standin.client, GPU0, VA + 8, 1024));
}

static void device_mappings_have_their_sizes(void **state)
{
	const u64 doorbell = GP_KFD_MMAP_DOORBELL << 62 | (u64)GPU0 << GP_KFD_MMAP_GPU_ID_SHIFT;
	const u64 mmio = (u64)GPU1 << GP_KFD_MMAP_GPU_ID_SHIFT;
	struct gp_kfd_alloc_memory_of_gpu_args args = {.va_addr = VA,
						       .size = 4096,
						       .flags = GP_KFD_ALLOC_DOORBELL,
						       .gpu_id = GPU0};
	struct gp_vgpu_client *client = &standin.client;
	const int prot = PROT_READ | PROT_WRITE;
	u32 *page;

	(void)state;
	acquire_both();
	assert_ptr_equal(gp_vgpu_memory_mmap(client, NULL, 4096, prot, MAP_SHARED, false,
					     (off_t)doorbell),
			 MAP_FAILED);
	assert_int_equal(errno, EINVAL);
	assert_ptr_equal(gp_vgpu_memory_mmap(client, NULL, 8192, prot, MAP_SHARED, false,
					     (off_t)mmio),
			 MAP_FAILED);
	page = gp_vgpu_memory_mmap(client, NULL, 4096, prot, MAP_SHARED, false, (off_t)mmio);
	assert_ptr_not_equal(page, MAP_FAILED);
	page[0] = 1;
	munmap(page, 4096);
	assert_int_equal(alloc_error(args), -EINVAL);
	args.size = GP_KFD_DOORBELL_SLICE;
	assert_int_equal(alloc_error(args), 0);
	args.flags = GP_KFD_ALLOC_MMIO_REMAP;
	assert_int_equal(alloc_error(args), -EINVAL);
	args.size = GP_KFD_PAGE;
	assert_int_equal(kfd(GP_KFD_IOC_ALLOC_MEMORY_OF_GPU, &args), 0);
	assert_int_equal(args.mmap_offset, (u64)GPU0 << GP_KFD_MMAP_GPU_ID_SHIFT);
	args.flags = 0;
	assert_int_equal(alloc_error(args), -EINVAL);
}

static void bad_device_lists_are_refused(void **state)
{
	struct gp_kfd_map_memory_to_gpu_args args = {.n_devices = 1, .device_ids_array_ptr = 8};
	u32 ids[2] = {GPU0, 77};

	(void)state;
	acquire_both();
	args.handle = alloc(VA, 4096, GP_KFD_ALLOC_GTT, GPU0).handle;
	assert_int_equal(kfd(GP_KFD_IOC_MAP_MEMORY_TO_GPU, &args), -EFAULT);
	args.n_devices = 0;
	assert_int_equal(kfd(GP_KFD_IOC_MAP_MEMORY_TO_GPU, &args), -EINVAL);
	/* The first worked, and the caller is told so. */
	args.n_devices = 2;
	args.device_ids_array_ptr = (uintptr_t)ids;
	assert_int_equal(kfd(GP_KFD_IOC_MAP_MEMORY_TO_GPU, &args), -EINVAL);
	assert_int_equal(args.n_success, 1);
}

/* An interrupted call comes again with what it has done; that part is not done twice. */
static void a_mapping_goes_on_where_it_stopped(void **state)
{
	u32 ids[] = {GPU0, GPU1};
	struct gp_kfd_map_memory_to_gpu_args args = {
		.device_ids_array_ptr = (uintptr_t)ids,
		.n_devices = 2,
		.n_success = 1,
	};

	(void)state;
	acquire_both();
	args.handle = alloc(VA, 4096, GP_KFD_ALLOC_GTT, GPU0).handle;
	assert_int_equal(kfd(GP_KFD_IOC_MAP_MEMORY_TO_GPU, &args), 0);
	assert_int_equal(args.n_success, 2);
	assert_null(gpu_pointer(GPU0, VA, 4096));
	assert_non_null(gpu_pointer(GPU1, VA, 4096));
	assert_int_equal(kfd(GP_KFD_IOC_MAP_MEMORY_TO_GPU, &args), 0);
	assert_null(gpu_pointer(GPU0, VA, 4096));
}

static void intervals_stay_sorted_and_apart(void **state)
{
	struct gp_vgpu_intervals set = {0};

	(void)state;
	for (u64 i = 0; i < 1000; i++)
		assert_int_equal(gp_vgpu_intervals_insert(&set, i * 7919 % 1000 * 10,
							  i * 7919 % 1000 * 10 + 5, NULL),
				 0);
	assert_int_equal(gp_vgpu_intervals_insert(&set, 4, 11, NULL), -EINVAL);
	assert_int_equal(gp_vgpu_intervals_insert(&set, 7, 7, NULL), -EINVAL);
	assert_non_null(gp_vgpu_intervals_find(&set, 9994));
	assert_null(gp_vgpu_intervals_find(&set, 9995));
	gp_vgpu_intervals_remove(&set, 500);
	assert_null(gp_vgpu_intervals_find(&set, 502));
	assert_false(gp_vgpu_intervals_overlap(&set, 495, 510));
	assert_true(gp_vgpu_intervals_overlap(&set, 494, 510));
	gp_vgpu_free(set.items);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, standin_setup, standin_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(memory_needs_a_vm),
		TEST(application_and_gpu_see_the_same_pages),
		TEST(mapped_memory_is_busy_until_unmapped_everywhere),
		TEST(vram_is_counted_by_the_server),
		TEST(user_memory_may_have_another_gpu_address),
		TEST(two_buffers_cannot_share_a_gpu_address),
		TEST(handles_are_used_again_lowest_first),
		TEST(ring_memory_is_seen_twice_in_a_row),
		TEST(freed_memory_gives_its_pages_back),
		TEST(waves_forget_the_mappings_of_a_closed_handle),
		TEST(exact_mappings_are_told_from_parts),
		TEST(device_mappings_have_their_sizes),
		TEST(bad_device_lists_are_refused),
		TEST(a_mapping_goes_on_where_it_stopped),
		TEST(intervals_stay_sorted_and_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
