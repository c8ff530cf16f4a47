// SPDX-License-Identifier: MIT
/* Queues as the client sees them: the driver's checks, and who is told what in which order. */
#include "standin.h"
#include "vgpu/preload/memory.h"

#include <errno.h>
#include <sys/mman.h>

#include "abi/kfd_driver.h"

#define VA 0x300000000ull

struct buffers {
	u64 ring, pointers, eop, save;
};

static u64 buffer(u64 va, u64 size)
{
	struct gp_kfd_alloc_memory_of_gpu_args args = {.va_addr = va,
						       .size = size,
						       .flags = GP_KFD_ALLOC_GTT,
						       .gpu_id = GPU0};
	u32 id = GPU0;
	struct gp_kfd_map_memory_to_gpu_args map = {.device_ids_array_ptr = (uintptr_t)&id,
						    .n_devices = 1};

	assert_int_equal(kfd(GP_KFD_IOC_ALLOC_MEMORY_OF_GPU, &args), 0);
	map.handle = args.handle;
	assert_int_equal(kfd(GP_KFD_IOC_MAP_MEMORY_TO_GPU, &map), 0);
	return va;
}

/* Everything a compute queue needs, as 6.12 wants it. */
static struct gp_kfd_create_queue_args good(void)
{
	static u64 next = VA;
	u64 at = next;

	next += 0x100000;
	return (struct gp_kfd_create_queue_args){
		.ring_base_address = buffer(at, 65536),
		.write_pointer_address = buffer(at + 0x20000, 4096) + 0x38,
		.read_pointer_address = at + 0x20000 + 0x80,
		.ring_size = 65536,
		.gpu_id = GPU0,
		.queue_type = GP_KFD_QUEUE_COMPUTE_AQL,
		.queue_percentage = 100,
		.queue_priority = 7,
		.eop_buffer_address = buffer(at + 0x30000, 4096),
		.eop_buffer_size = 4096,
		.ctx_save_restore_address = buffer(at + 0x40000, CWSR_BYTES),
		.ctx_save_restore_size = CWSR_BYTES,
		.ctl_stack_size = CTL_BYTES,
	};
}

static int create(struct gp_kfd_create_queue_args args)
{
	return kfd(GP_KFD_IOC_CREATE_QUEUE, &args);
}

static int destroy(u32 id)
{
	struct gp_kfd_destroy_queue_args args = {.queue_id = id};

	return kfd(GP_KFD_IOC_DESTROY_QUEUE, &args);
}

/* ---- tests ---- */

static void a_queue_reaches_server_and_cp(void **state)
{
	struct gp_kfd_create_queue_args args;

	(void)state;
	acquire_both();
	standin.client.machine.strict = 1;
	standin.next_queue = 5;
	args = good();
	assert_int_equal(kfd(GP_KFD_IOC_CREATE_QUEUE, &args), 0);
	assert_int_equal(args.queue_id, 5);
	assert_int_equal(args.doorbell_offset,
			 GP_KFD_MMAP_DOORBELL << 62 | (u64)GPU0 << GP_KFD_MMAP_GPU_ID_SHIFT | 40);
	assert_int_equal(standin.cp_queues, 1);
	assert_int_equal(standin.last_added.doorbell_slot, 5);
	assert_int_equal(standin.last_added.ring, args.ring_base_address);
	assert_int_equal(destroy(5), 0);
	assert_int_equal(standin.cp_queues, 0);
}

static void a_queue_without_a_vm_is_esrch(void **state)
{
	(void)state;
	assert_int_equal(create((struct gp_kfd_create_queue_args){.gpu_id = GPU0}), -ESRCH);
	assert_int_equal(create((struct gp_kfd_create_queue_args){.gpu_id = 5}), -EINVAL);
	assert_int_equal(standin.requests, 0);
}

#define BREAK(field, value, error)                              \
	do {                                                    \
		struct gp_kfd_create_queue_args broken_ = args; \
                                                                \
		broken_.field = (value);                        \
		assert_int_equal(create(broken_), error);       \
		assert_int_equal(standin.cp_queues, 0);         \
	} while (0)

static void properties_are_checked_as_the_driver_does(void **state)
{
	struct gp_kfd_create_queue_args args;

	(void)state;
	acquire_both();
	args = good();
	BREAK(queue_percentage, 101, -EINVAL);
	BREAK(queue_priority, 16, -EINVAL);
	BREAK(ring_size, 3000, -EINVAL);
	BREAK(queue_type, 5, -GP_KFD_ENOTSUPP);
	BREAK(gpu_id, 77, -EINVAL);
	BREAK(ring_base_address, ~0ull, -EFAULT);
	BREAK(read_pointer_address, ~0ull, -EFAULT);
	BREAK(write_pointer_address, 1ull << 60, -EFAULT);
	/* Bits 15:8 of the percentage are something else. */
	args.queue_percentage = 0x300 | 100;
	assert_int_equal(create(args), 0);
}

static void native_checks_every_buffer(void **state)
{
	struct gp_kfd_create_queue_args args;

	(void)state;
	acquire_both();
	standin.client.machine.strict = 1;
	args = good();
	BREAK(ctl_stack_size, CTL_BYTES * 2, -EINVAL);
	BREAK(ctx_save_restore_size, CWSR_BYTES - 4096, -EINVAL);
	BREAK(ctx_save_restore_size, CWSR_BYTES + 4096, -EINVAL);
	BREAK(ctx_save_restore_address, args.ring_base_address, -EINVAL);
	BREAK(eop_buffer_size, 2048, -EINVAL);
	BREAK(ring_size, 32768, -EINVAL);
	BREAK(ring_base_address, args.ring_base_address + 4096, -EINVAL);
	BREAK(write_pointer_address, args.ring_base_address, -EINVAL);
	BREAK(write_pointer_address, 0x1000, -EINVAL);
	BREAK(read_pointer_address, 0x1000, -EINVAL);
	/* Fine: no EOP buffer at all, percentage 0, the same buffers for two queues. */
	args.eop_buffer_address = 0;
	args.queue_percentage = 0;
	assert_int_equal(create(args), 0);
	standin.next_queue = 1;
	assert_int_equal(create(args), 0);
}

static int unmap(u64 va)
{
	struct gp_vgpu_interval *found;
	struct gp_kfd_unmap_memory_from_gpu_args args = {.n_devices = 1};
	u32 id = GPU0;

	found = gp_vgpu_intervals_find(&standin.client.memory->mapped[0], va);
	assert_non_null(found);
	args.handle = ((struct gp_vgpu_bo *)found->value)->handle;
	args.device_ids_array_ptr = (uintptr_t)&id;
	return kfd(GP_KFD_IOC_UNMAP_MEMORY_FROM_GPU, &args);
}

static void buffers_of_a_queue_cannot_be_unmapped(void **state)
{
	struct gp_kfd_create_queue_args args;

	(void)state;
	acquire_both();
	standin.client.machine.strict = 1;
	args = good();
	assert_int_equal(kfd(GP_KFD_IOC_CREATE_QUEUE, &args), 0);
	assert_int_equal(unmap(args.ring_base_address), -EBUSY);
	assert_int_equal(unmap(args.write_pointer_address), -EBUSY);
	assert_int_equal(unmap(args.eop_buffer_address), -EBUSY);
	assert_int_equal(unmap(args.ctx_save_restore_address), -EBUSY);
	assert_int_equal(destroy(args.queue_id), 0);
	assert_int_equal(unmap(args.ring_base_address), 0);
	/* A driver that does not check buffers does not know of them either. */
	standin.client.machine.strict = 0;
	args = good();
	assert_int_equal(kfd(GP_KFD_IOC_CREATE_QUEUE, &args), 0);
	assert_int_equal(unmap(args.ring_base_address), 0);
}

static void copy_queues_need_no_save_area(void **state)
{
	struct gp_kfd_create_queue_args args;

	(void)state;
	acquire_both();
	standin.client.machine.strict = 1;
	args = good();
	args.queue_type = GP_KFD_QUEUE_SDMA;
	args.ctl_stack_size = args.ctx_save_restore_size = 0;
	args.ctx_save_restore_address = args.eop_buffer_address = 0;
	assert_int_equal(create(args), 0);
}

static void a_queue_the_cp_refuses_is_undone(void **state)
{
	struct gp_kfd_create_queue_args args;

	(void)state;
	acquire_both();
	args = good();
	standin.cp_error = -ENOMEM;
	assert_int_equal(create(args), -ENOMEM);
	assert_int_equal(standin.last_nr, _IOC_NR(GP_KFD_IOC_DESTROY_QUEUE));
	standin.cp_error = 0;
	assert_int_equal(create(args), 0);
}

static void a_queue_the_hardware_did_not_let_go_of_is_gone_all_the_same(void **state)
{
	struct gp_kfd_create_queue_args args;

	(void)state;
	acquire_both();
	args = good();
	assert_int_equal(create(args), 0);
	standin.refuse = -ETIME;
	assert_int_equal(destroy(standin.next_queue), -ETIME);
	assert_int_equal(standin.cp_queues, 0);
	standin.refuse = 0;
	/* The server gives its id out again; this must not wait for anything. */
	assert_int_equal(create(args), 0);
	assert_int_equal(standin.cp_queues, 1);
}

static void a_queue_that_was_not_destroyed_stays_with_the_cp(void **state)
{
	(void)state;
	acquire_both();
	assert_int_equal(create(good()), 0);
	standin.refuse = -EINTR;
	assert_int_equal(destroy(0), -EINTR);
	assert_int_equal(standin.cp_queues, 1);
	standin.refuse = 0;
	assert_int_equal(destroy(0), 0);
	assert_int_equal(standin.cp_queues, 0);
}

static void updates_may_stop_a_ring_but_not_move_it(void **state)
{
	struct gp_kfd_create_queue_args args, other;
	struct gp_kfd_update_queue_args update;

	(void)state;
	acquire_both();
	standin.client.machine.strict = 1;
	args = good();
	other = good();
	assert_int_equal(kfd(GP_KFD_IOC_CREATE_QUEUE, &args), 0);
	update = (struct gp_kfd_update_queue_args){
		.ring_base_address = args.ring_base_address,
		.queue_id = args.queue_id,
		.ring_size = args.ring_size,
		.queue_percentage = 0,
		.queue_priority = 15,
	};
	assert_int_equal(kfd(GP_KFD_IOC_UPDATE_QUEUE, &update), 0);
	update.ring_base_address = other.ring_base_address;
	assert_int_equal(kfd(GP_KFD_IOC_UPDATE_QUEUE, &update), -EFAULT);
	update.ring_base_address = args.ring_base_address;
	update.ring_size = 32768;
	assert_int_equal(kfd(GP_KFD_IOC_UPDATE_QUEUE, &update), -EFAULT);
	update.ring_base_address = 0;
	assert_int_equal(kfd(GP_KFD_IOC_UPDATE_QUEUE, &update), 0);
	/* Below a page no length is compared, and 0 becomes 1024. */
	update.ring_base_address = args.ring_base_address;
	update.ring_size = 0;
	assert_int_equal(kfd(GP_KFD_IOC_UPDATE_QUEUE, &update), 0);
	assert_int_equal(standin.last_added.ring_bytes, GP_KFD_MIN_RING_SIZE);
	update.queue_percentage = 101;
	update.queue_id = 99;
	assert_int_equal(kfd(GP_KFD_IOC_UPDATE_QUEUE, &update), -EINVAL);
	update.queue_percentage = 100;
	assert_int_equal(kfd(GP_KFD_IOC_UPDATE_QUEUE, &update), -EFAULT);
}

static void cu_masks_reach_the_server_in_whole_words(void **state)
{
	u32 mask[64] = {0};
	struct gp_kfd_set_cu_mask_args args = {.num_cu_mask = 100, .cu_mask_ptr = (uintptr_t)mask};

	(void)state;
	assert_int_equal(kfd(GP_KFD_IOC_SET_CU_MASK, &args), 0);
	assert_int_equal(standin.last_payload, 12);
	args.num_cu_mask = 2048;
	assert_int_equal(kfd(GP_KFD_IOC_SET_CU_MASK, &args), 0);
	assert_int_equal(standin.last_payload, GP_KFD_MAX_CU_MASK / 8);
	assert_int_equal(standin.last_flags, 0);
	/* The server refuses it, after the number of bits. */
	args.cu_mask_ptr = 8;
	assert_int_equal(kfd(GP_KFD_IOC_SET_CU_MASK, &args), 0);
	assert_int_equal(standin.last_flags, GP_VGPU_BAD_ARRAY);
}

static void xnack_cannot_change_under_a_queue(void **state)
{
	struct gp_kfd_set_xnack_mode_args xnack = {.xnack_enabled = 0};

	(void)state;
	acquire_both();
	assert_int_equal(create(good()), 0);
	assert_int_equal(kfd(GP_KFD_IOC_SET_XNACK_MODE, &xnack), -EBUSY);
	assert_int_equal(destroy(0), 0);
	assert_int_equal(kfd(GP_KFD_IOC_SET_XNACK_MODE, &xnack), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, standin_setup, standin_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_queue_reaches_server_and_cp),
		TEST(a_queue_without_a_vm_is_esrch),
		TEST(properties_are_checked_as_the_driver_does),
		TEST(native_checks_every_buffer),
		TEST(buffers_of_a_queue_cannot_be_unmapped),
		TEST(copy_queues_need_no_save_area),
		TEST(a_queue_the_cp_refuses_is_undone),
		TEST(a_queue_the_hardware_did_not_let_go_of_is_gone_all_the_same),
		TEST(a_queue_that_was_not_destroyed_stays_with_the_cp),
		TEST(updates_may_stop_a_ring_but_not_move_it),
		TEST(cu_masks_reach_the_server_in_whole_words),
		TEST(xnack_cannot_change_under_a_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
