// SPDX-License-Identifier: MIT
/* T3 and T0: snapshots, and a plain queue from end to end. */
#include "conformance.h"

static struct gp_kfd_dbg_trap_args snapshot(void *entries, u32 room, u32 entry_size)
{
	struct gp_kfd_dbg_trap_args debug = {.pid = (u32)getpid(),
					     .op = GP_KFD_DBG_GET_QUEUE_SNAPSHOT};

	debug.queue_snapshot.snapshot_buf_ptr = (uintptr_t)entries;
	debug.queue_snapshot.num_queues = room;
	debug.queue_snapshot.entry_size = entry_size;
	return debug;
}

static void three_queues(struct self *me)
{
	open_gpu(me);
	must_create(me, COMPUTE);
	must_create(me, SDMA);
	must_create(me, COMPUTE);
	EXPECT(ME(me, do_enable, (u64)getpid(), 0), 0);
}

static void newest_first(struct self *me)
{
	struct gp_kfd_queue_snapshot_entry e[4] = {{.queue_id = 77}, {0}, {0}, {.queue_id = 77}};
	struct gp_kfd_dbg_trap_args debug = snapshot(e, 4, sizeof(e[0]));

	three_queues(me);
	EXPECT(call(me->kfd, GP_KFD_IOC_DBG_TRAP, &debug), 0);
	EXPECT(debug.queue_snapshot.num_queues, 3);
	for (u32 i = 0; i < 3; i++) {
		const struct gp_kfd_create_queue_args *args = &me->queues[2 - i].args;

		EXPECT(e[i].queue_id, 2 - i);
		EXPECT(e[i].gpu_id, me->gpu_id);
		EXPECT(e[i].queue_type, args->queue_type);
		EXPECT(e[i].ring_base_address, args->ring_base_address);
		EXPECT(e[i].ring_size, RING_BYTES);
		EXPECT(e[i].write_pointer_address, args->write_pointer_address);
		EXPECT(e[i].read_pointer_address, args->read_pointer_address);
		EXPECT(e[i].ctx_save_restore_address, args->ctx_save_restore_address);
		EXPECT(e[i].ctx_save_restore_area_size, args->ctx_save_restore_size);
		EXPECT(e[i].exception_status, NEW);
	}
	EXPECT(e[3].queue_id, 77);
}

static void room_and_size(struct self *me)
{
	struct gp_kfd_queue_snapshot_entry e[4] = {{0}, {.queue_id = 77}};
	u64 small[8] = {0};
	struct gp_kfd_dbg_trap_args debug = snapshot(e, 1, sizeof(e[0]));

	three_queues(me);
	EXPECT(call(me->kfd, GP_KFD_IOC_DBG_TRAP, &debug), 0);
	EXPECT(debug.queue_snapshot.num_queues, 3);
	EXPECT(e[0].queue_id, 2);
	EXPECT(e[1].queue_id, 77);
	debug = snapshot(NULL, 0, sizeof(e[0]));
	EXPECT(call(me->kfd, GP_KFD_IOC_DBG_TRAP, &debug), 0);
	EXPECT(debug.queue_snapshot.num_queues, 3);
	debug = snapshot(NULL, 8, sizeof(e[0]));
	EXPECT(call(me->kfd, GP_KFD_IOC_DBG_TRAP, &debug), -EFAULT);
	debug = snapshot(small, 4, 16);
	EXPECT(call(me->kfd, GP_KFD_IOC_DBG_TRAP, &debug), 0);
	EXPECT(debug.queue_snapshot.num_queues, 3);
	EXPECT(debug.queue_snapshot.entry_size, 16);
	EXPECT(small[0], NEW);
	EXPECT(small[1], me->queues[2].args.ring_base_address);
	EXPECT(small[3], me->queues[1].args.ring_base_address);
	EXPECT(small[6], 0);
	debug = snapshot(small, 4, 0);
	EXPECT(call(me->kfd, GP_KFD_IOC_DBG_TRAP, &debug), -EINVAL);
}

static void plain_queue(struct self *me)
{
	open_gpu(me);
	must_create(me, COMPUTE);
	for (int i = 0; i < 3; i++)
		submit(me, 0, 1000);
	UNTIL(me, look(me, getpid(), 0).completed == 3);
	UNTIL(me, ME(me, do_read_index, 0) == 3);
	EXPECT(destroy_queue(me, 0), 0);
	EXPECT(process_number(me, getpid(), "queue_count"), 0);
}

const struct row rows_snapshot[] = {
	{"6.12 T0", "create, three dispatches, read pointer 3, destroy", plain_queue, EVERYWHERE,
	 NULL},
	{"6.12 T3", "a snapshot lists the newest queue first, with the ioctl's queue type",
	 newest_first, DEBUGGER, NULL},
	{"6.12 T3", "room 1 of 3 fills 1 and says 3; NULL EFAULT; entry size 16 works, 0 is EINVAL",
	 room_and_size, DEBUGGER, NULL},
	{0},
};
