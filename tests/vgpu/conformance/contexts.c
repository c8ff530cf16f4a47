// SPDX-License-Identifier: MIT
/* CREATE_PROCESS, KFD 1.19: a descriptor with a KFD process of its own. Read in Linux 7.1. */
#include "conformance.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

#include "abi/aql.h"

#define PROC "/sys/class/kfd/kfd/proc"

static void open_secondary(struct self *second)
{
	*second = (struct self){.kfd = -1, .render = -1, .secondary = true};
	open_kfd(second);
	EXPECT(call(second->kfd, GP_KFD_IOC_CREATE_PROCESS, NULL), 0);
}

static bool has_queue(u32 context, u32 id)
{
	char path[128];

	snprintf(path, sizeof(path), PROC "/%d/context_%u/queues/%u/size", (int)getpid(), context,
		 id);
	return access(path, F_OK) == 0;
}

static bool has_context(u32 context)
{
	char path[128];

	snprintf(path, sizeof(path), PROC "/%d/context_%u/pasid", (int)getpid(), context);
	return access(path, F_OK) == 0;
}

static void version_with_processes_of_descriptors(struct self *me)
{
	struct gp_kfd_get_version_args version = {0};

	open_kfd(me);
	EXPECT(call(me->kfd, GP_KFD_IOC_GET_VERSION, &version), 0);
	EXPECT(version.minor_version, GP_KFD_MINOR_CREATE_PROCESS);
}

static void unknown_before(struct self *me)
{
	open_kfd(me);
	EXPECT(call(me->kfd, GP_KFD_IOC_CREATE_PROCESS, NULL), -ENOTTY);
}

static void descriptor_gets_one_process(struct self *me)
{
	struct self second, third;
	int copy;

	open_kfd(me);
	open_secondary(&second);
	EXPECT(process_number(me, 0, "processes"), 2);
	/* One for each descriptor, whatever it is called. */
	EXPECT(call(second.kfd, GP_KFD_IOC_CREATE_PROCESS, NULL), -EINVAL);
	copy = dup(second.kfd);
	CHECK(copy >= 0);
	EXPECT(call(copy, GP_KFD_IOC_CREATE_PROCESS, NULL), -EINVAL);
	open_secondary(&third);
	EXPECT(process_number(me, 0, "processes"), 3);
	CHECK(has_context(0) && has_context(1) && !has_context(2));
}

static void process_ends_with_the_last_copy(struct self *me)
{
	struct self second;
	int copy;

	open_kfd(me);
	open_secondary(&second);
	copy = dup(second.kfd);
	CHECK(copy >= 0 && close(second.kfd) == 0);
	EXPECT(process_number(me, 0, "processes"), 2);
	CHECK(close(copy) == 0);
	UNTIL(me, process_number(me, 0, "processes") == 1);
	CHECK(!has_context(0));
	/* And its number is free again. */
	open_secondary(&second);
	CHECK(has_context(0));
	CHECK(process_exists(me, getpid()));
}

static void queues_are_its_own(struct self *me)
{
	struct self second;
	u32 mine, id;

	open_gpu(me);
	mine = must_create(me, COMPUTE);
	open_secondary(&second);
	open_gpu(&second);
	id = must_create(&second, COMPUTE);
	EXPECT(id, mine); /* numbers are those of each process */
	CHECK(has_queue(0, id));
	id = must_create(&second, COMPUTE);
	EXPECT(destroy_queue(me, id), -EINVAL);
	submit(&second, id, 1000);
	UNTIL(me, __atomic_load_n(second.queues[id].read_index, __ATOMIC_ACQUIRE) == 1);
	submit(me, mine, 1000);
	UNTIL(me, __atomic_load_n(me->queues[mine].read_index, __ATOMIC_ACQUIRE) == 1);
	EXPECT(destroy_queue(&second, id), 0);
	CHECK(!has_queue(0, id));
	/* The queues that are left go with it. */
	CHECK(close(second.kfd) == 0);
	UNTIL(me, process_number(me, 0, "processes") == 1);
	EXPECT(destroy_queue(me, mine), 0);
}

/* As a runtime has them that the driver does not check: pages of the program. */
static u8 *pages(size_t size)
{
	u8 *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

static void memory_goes_after_the_descriptor(struct self *me)
{
	open_gpu(me);
	for (int i = 0; i < 20; i++) {
		struct gp_kfd_create_queue_args args;
		struct self second;
		u8 *ring, *pointers = pages(4096);

		open_secondary(&second);
		open_gpu(&second);
		args = good_queue(&second, COMPUTE);
		ring = pages(args.ring_size);
		for (u32 at = 0; at < args.ring_size; at += GP_AQL_PACKET_BYTES)
			ring[at] = GP_AQL_INVALID;
		args.ring_base_address = (uintptr_t)ring;
		args.write_pointer_address = (uintptr_t)pointers;
		args.read_pointer_address = (uintptr_t)pointers + 64;
		EXPECT(create_queue(&second, &args), 0);
		submit(&second, args.queue_id, 1000);
		UNTIL(me, __atomic_load_n(pointers + 64, __ATOMIC_ACQUIRE) == 1);
		/* Nothing looks at the ring any more. */
		CHECK(close(second.kfd) == 0 && munmap(pointers, 4096) == 0);
		CHECK(munmap(ring, args.ring_size) == 0);
		UNTIL(me, process_number(me, 0, "processes") == 1);
		close(second.render);
	}
}

static void buffers_are_its_own(struct self *me)
{
	struct self second;
	struct gp_kfd_free_memory_of_gpu_args object = {0};
	struct gp_kfd_alloc_memory_of_gpu_args args = {.size = 4096,
						       .flags = GP_KFD_ALLOC_GTT |
								GP_KFD_ALLOC_WRITABLE};

	open_gpu(me);
	open_secondary(&second);
	args.gpu_id = me->gpu_id;
	args.va_addr = 0x700000000000ull;
	/* Nothing is bound before its own ACQUIRE_VM. */
	EXPECT(call(second.kfd, GP_KFD_IOC_ALLOC_MEMORY_OF_GPU, &args), -ENODEV);
	open_gpu(&second);
	EXPECT(call(second.kfd, GP_KFD_IOC_ALLOC_MEMORY_OF_GPU, &args), 0);
	object.handle = args.handle;
	EXPECT(call(me->kfd, GP_KFD_IOC_FREE_MEMORY_OF_GPU, &object), -EINVAL);
	EXPECT(call(second.kfd, GP_KFD_IOC_FREE_MEMORY_OF_GPU, &object), 0);
}

static void pages_svm_and_debugger_are_for_the_primary_one(struct self *me)
{
	struct self second;
	struct gp_kfd_svm_args svm = {.start_addr = 0x10000, .size = 4096};
	struct gp_kfd_dbg_trap_args trap = {.pid = (u32)getpid(), .op = GP_KFD_DBG_ENABLE};
	struct gp_kfd_alloc_memory_of_gpu_args args = {.va_addr = 0x10000,
						       .size = 4096,
						       .flags = GP_KFD_ALLOC_USERPTR};

	open_gpu(me);
	open_secondary(&second);
	open_gpu(&second);
	args.gpu_id = second.gpu_id;
	EXPECT(call(second.kfd, GP_KFD_IOC_ALLOC_MEMORY_OF_GPU, &args), -EOPNOTSUPP);
	EXPECT(call(second.kfd, GP_KFD_IOC_SVM, &svm), -EOPNOTSUPP);
	EXPECT(call(second.kfd, GP_KFD_IOC_DBG_TRAP, &trap), -EOPNOTSUPP);
}

const struct row rows_contexts[] = {
	{"kfd 1.3", "linux 7.0 says 1.19", version_with_processes_of_descriptors, ERA_7_0, NULL},
	{"kfd 1.3", "CREATE_PROCESS is ENOTTY before 1.19", unknown_before, BEFORE_7_0, NULL},
	{"kfd 1.19/1", "CREATE_PROCESS: one per descriptor, EINVAL after that, numbers from 0",
	 descriptor_gets_one_process, ERA_7_0, NULL},
	{"kfd 1.19/2", "a secondary process ends with the last copy of its descriptor",
	 process_ends_with_the_last_copy, ERA_7_0, NULL},
	{"kfd 1.19/3", "its queues are its own, with ids from 0, in context_N of sysfs",
	 queues_are_its_own, ERA_7_0, NULL},
	{"kfd 1.19/3", "the memory of its queues can be unmapped once its descriptor is closed",
	 memory_goes_after_the_descriptor, COMPAT | ERA_7_0, NULL},
	{"kfd 1.19/4", "its address spaces and buffers are its own", buffers_are_its_own, ERA_7_0,
	 NULL},
	{"kfd 1.19/5", "USERPTR, SVM and DBG_TRAP are EOPNOTSUPP in it",
	 pages_svm_and_debugger_are_for_the_primary_one, ERA_7_0, NULL},
	{0},
};
