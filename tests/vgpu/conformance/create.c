// SPDX-License-Identifier: MIT
/* CREATE_QUEUE's checks and the numbers it gives out; apertures. */
#include "conformance.h"

/* A good queue, changed in one thing. */
typedef void change(struct self *me, struct gp_kfd_create_queue_args *args);

static int created_with(struct self *me, change *modify)
{
	struct gp_kfd_create_queue_args args = good_queue(me, COMPUTE);
	int error;

	modify(me, &args);
	error = call(me->kfd, GP_KFD_IOC_CREATE_QUEUE, &args);
	if (!error)
		EXPECT(destroy_queue(me, args.queue_id), 0);
	return error;
}

static void larger_stack(struct self *me, struct gp_kfd_create_queue_args *args)
{
	(void)me;
	args->ctl_stack_size += 4096;
}

static void smaller_area(struct self *me, struct gp_kfd_create_queue_args *args)
{
	(void)me;
	args->ctx_save_restore_size -= 4096;
}

static void larger_area(struct self *me, struct gp_kfd_create_queue_args *args)
{
	(void)me;
	args->ctx_save_restore_size += 4096;
}

static void area_elsewhere(struct self *me, struct gp_kfd_create_queue_args *args)
{
	(void)me;
	args->ctx_save_restore_address += 4096;
}

static void small_eop(struct self *me, struct gp_kfd_create_queue_args *args)
{
	(void)me;
	args->eop_buffer_size = 2048;
}

static void no_eop(struct self *me, struct gp_kfd_create_queue_args *args)
{
	(void)me;
	args->eop_buffer_address = 0;
}

static void half_ring(struct self *me, struct gp_kfd_create_queue_args *args)
{
	(void)me;
	args->ring_size /= 2;
}

static void double_ring(struct self *me, struct gp_kfd_create_queue_args *args)
{
	(void)me;
	args->ring_size *= 2;
}

static void odd_ring(struct self *me, struct gp_kfd_create_queue_args *args)
{
	(void)me;
	args->ring_size = 12288;
}

static void ring_inside(struct self *me, struct gp_kfd_create_queue_args *args)
{
	(void)me;
	args->ring_base_address += 4096;
}

static void wptr_not_mapped(struct self *me, struct gp_kfd_create_queue_args *args)
{
	static _Alignas(4096) u64 page[512];

	(void)me;
	args->write_pointer_address = (uintptr_t)page;
}

static void wptr_in_large_mapping(struct self *me, struct gp_kfd_create_queue_args *args)
{
	args->write_pointer_address = (uintptr_t)gpu_buffer(me, 65536);
}

static void rptr_in_large_mapping(struct self *me, struct gp_kfd_create_queue_args *args)
{
	args->read_pointer_address = (uintptr_t)gpu_buffer(me, 65536);
}

static void wptr_anywhere_in_its_page(struct self *me, struct gp_kfd_create_queue_args *args)
{
	(void)me;
	args->write_pointer_address += 256;
}

static void percentage_101(struct self *me, struct gp_kfd_create_queue_args *args)
{
	(void)me;
	args->queue_percentage = 101;
}

static void percentage_0(struct self *me, struct gp_kfd_create_queue_args *args)
{
	(void)me;
	args->queue_percentage = 0;
}

static void priority_16(struct self *me, struct gp_kfd_create_queue_args *args)
{
	(void)me;
	args->queue_priority = 16;
}

static void wrong_gpu(struct self *me, struct gp_kfd_create_queue_args *args)
{
	(void)me;
	args->gpu_id = 1;
}

static void wrong_type(struct self *me, struct gp_kfd_create_queue_args *args)
{
	(void)me;
	args->queue_type = 9;
}

static void unchanged(struct self *me, struct gp_kfd_create_queue_args *args)
{
	(void)me, (void)args;
}

static void exact_buffers(struct self *me)
{
	static change *const bad[] = {
		larger_stack,
		smaller_area,
		larger_area,
		area_elsewhere,
		small_eop,
		half_ring,
		double_ring,
		ring_inside,
		wptr_not_mapped,
		wptr_in_large_mapping,
		rptr_in_large_mapping,
	};

	open_gpu(me);
	EXPECT(created_with(me, unchanged), 0);
	for (size_t i = 0; i < GP_ARRAY_SIZE(bad); i++)
		EXPECT(created_with(me, bad[i]), -EINVAL);
	EXPECT(process_number(me, getpid(), "queue_count"), 0);
}

static void checks_of_all_ages(struct self *me)
{
	open_gpu(me);
	EXPECT(created_with(me, odd_ring), -EINVAL);
	EXPECT(created_with(me, percentage_101), -EINVAL);
	EXPECT(created_with(me, priority_16), -EINVAL);
	EXPECT(created_with(me, wrong_gpu), -EINVAL);
	EXPECT(created_with(me, wrong_type), -GP_KFD_ENOTSUPP);
}

static void what_is_allowed(struct self *me)
{
	open_gpu(me);
	EXPECT(created_with(me, no_eop), 0);
	EXPECT(created_with(me, wptr_anywhere_in_its_page), 0);
	EXPECT(created_with(me, percentage_0), 0);
}

static void same_buffers_twice(struct self *me)
{
	struct gp_kfd_create_queue_args args;

	open_gpu(me);
	args = good_queue(me, COMPUTE);
	EXPECT(call(me->kfd, GP_KFD_IOC_CREATE_QUEUE, &args), 0);
	EXPECT(args.queue_id, 0);
	EXPECT(call(me->kfd, GP_KFD_IOC_CREATE_QUEUE, &args), 0);
	EXPECT(args.queue_id, 1);
}

static void ids_are_reused(struct self *me)
{
	struct actor other = start_target(0, 1);

	open_gpu(me);
	EXPECT(must_create(me, COMPUTE), 0); /* as the other's is */
	EXPECT(must_create(me, SDMA), 1);
	EXPECT(must_create(me, COMPUTE), 2);
	EXPECT(destroy_queue(me, 1), 0);
	EXPECT(must_create(me, COMPUTE), 1);
	EXPECT(destroy_queue(me, 9), -EINVAL);
	EXPECT(DO(&other, do_create, COMPUTE), 1);
}

static void doorbell_offsets(struct self *me)
{
	u64 first, second, dma;

	open_gpu(me);
	must_create(me, COMPUTE);
	must_create(me, COMPUTE);
	must_create(me, SDMA);
	first = me->queues[0].args.doorbell_offset;
	second = me->queues[1].args.doorbell_offset;
	dma = me->queues[2].args.doorbell_offset;
	EXPECT(first >> 62, 3);
	EXPECT(first >> 46 & 0xffff, me->gpu_id);
	EXPECT(first & 0xfff, 0);
	EXPECT(second - first, 8);
	/* SDMA has the place of its engine, from doorbell 0x100 on. */
	CHECK((dma & 0x1fff) / 8 >= 0x100);
}

static void no_vm_no_queue(struct self *me)
{
	struct gp_kfd_create_queue_args args = {.ring_size = 4096, .queue_percentage = 100};

	open_kfd(me);
	args.gpu_id = (u32)gpu_number(me, "gpu_id");
	args.queue_type = SDMA;
	EXPECT(call(me->kfd, GP_KFD_IOC_CREATE_QUEUE, &args), -ESRCH);
}

static void save_area_arithmetic(struct self *me)
{
	open_gpu(me);
	/* facts/kfd.md 3.1, MI308X; and one XCC of 80 CUs by the same formula. */
	if (me->node.xcc_count == 4) {
		EXPECT(node_property("ctl_stack_size"), 8192);
		EXPECT(node_property("cwsr_size"), 12214272);
		EXPECT(me->node.area_bytes, 48959488);
	} else {
		EXPECT(me->node.xcc_count, 1);
		EXPECT(node_property("ctl_stack_size"), 28672);
		EXPECT(node_property("cwsr_size"), 28672 + 80 * 0x95000);
	}
	EXPECT(node_property("ctl_stack_size"), me->node.ctl_stack_bytes);
	EXPECT(node_property("cwsr_size"), me->node.cwsr_bytes);
}

static void apertures(struct self *me)
{
	struct gp_kfd_process_device_apertures gpus[8] = {0};
	struct gp_kfd_get_process_apertures_new_args args = {0};

	open_gpu(me);
	EXPECT(call(me->kfd, GP_KFD_IOC_GET_PROCESS_APERTURES_NEW, &args), 0);
	EXPECT(args.num_of_nodes, 1);
	args.kfd_process_device_apertures_ptr = (uintptr_t)gpus;
	EXPECT(call(me->kfd, GP_KFD_IOC_GET_PROCESS_APERTURES_NEW, &args), 0);
	EXPECT(gpus[0].gpu_id, me->gpu_id);
	args.num_of_nodes = 2; /* the CPU is a node too */
	EXPECT(call(me->kfd, GP_KFD_IOC_GET_PROCESS_APERTURES_NEW, &args), 0);
	EXPECT(args.num_of_nodes, 1);
	args.num_of_nodes = 3;
	EXPECT(call(me->kfd, GP_KFD_IOC_GET_PROCESS_APERTURES_NEW, &args), -EINVAL);
	args.num_of_nodes = 8;
	EXPECT(call(me->kfd, GP_KFD_IOC_GET_PROCESS_APERTURES_NEW, &args), -EINVAL);
}

static void any_apertures(struct self *me)
{
	struct gp_kfd_process_device_apertures gpus[8] = {0};
	struct gp_kfd_get_process_apertures_new_args args = {.kfd_process_device_apertures_ptr =
								     (uintptr_t)gpus,
							     .num_of_nodes = 8};

	open_gpu(me);
	EXPECT(call(me->kfd, GP_KFD_IOC_GET_PROCESS_APERTURES_NEW, &args), 0);
	EXPECT(args.num_of_nodes, 1);
	EXPECT(gpus[0].gpu_id, me->gpu_id);
}

const struct row rows_create[] = {
	{"6.12 T20", "every buffer must be exactly one mapping, sizes exactly the node's: EINVAL",
	 exact_buffers, NATIVE, NULL},
	{"6.12 T20",
	 "ring no power of 2, percentage 101, priority 16, bad gpu_id EINVAL; bad type 524",
	 checks_of_all_ages, EVERYWHERE, NULL},
	{"6.12 T20", "no EOP buffer, write pointer anywhere in its page, percentage 0 are fine",
	 what_is_allowed, EVERYWHERE, NULL},
	{"6.12 T20", "two queues may have the same buffers", same_buffers_twice, EVERYWHERE, NULL},
	{"kfd 3.1", "cwsr_size and ctl_stack_size of the node follow the driver's arithmetic",
	 save_area_arithmetic, ERA_6_12, NULL},
	{"kfd 7", "queue ids are the process's own, the lowest free one first", ids_are_reused,
	 EVERYWHERE, NULL},
	{"kfd 7", "doorbell_offset is type 3, gpu_id, and the queue's own 8 bytes",
	 doorbell_offsets, EVERYWHERE, NULL},
	{"kfd 9.1", "without ACQUIRE_VM a queue is ESRCH", no_vm_no_queue, EVERYWHERE, NULL},
	{"6.12 F", "GET_PROCESS_APERTURES_NEW for more nodes than there are is EINVAL", apertures,
	 DEBUGGER, NULL},
	{"6.1", "there, GET_PROCESS_APERTURES_NEW takes any number of nodes", any_apertures,
	 ERA_6_1, NULL},
	{0},
};
