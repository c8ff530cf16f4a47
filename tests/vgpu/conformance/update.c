// SPDX-License-Identifier: MIT
/* Section 2.6: UPDATE_QUEUE, the preemption a process can do to itself. */
#include "conformance.h"

#define PID(actor) ((u64)(actor).pid)

static int update(struct self *me, u32 id, u64 ring, u32 size, u32 percentage)
{
	struct gp_kfd_update_queue_args args = {.ring_base_address = ring,
						.queue_id = id,
						.ring_size = size,
						.queue_percentage = percentage,
						.queue_priority = 7};

	return call(me->kfd, GP_KFD_IOC_UPDATE_QUEUE, &args);
}

static u64 ring_of(struct self *me, u32 id)
{
	return me->queues[id].args.ring_base_address;
}

static bool mapped(struct self *me, u32 id)
{
	return look_settled(me, getpid(), id).mapped;
}

static void fields_are_rewritten(struct self *me)
{
	open_gpu(me);
	must_create(me, COMPUTE);
	EXPECT(update_queue(me, 0, 50, 15), 0);
	EXPECT(look(me, getpid(), 0).percentage, 50);
	EXPECT(look(me, getpid(), 0).priority, 15);
	EXPECT(update_queue(me, 0, 100, 0), 0);
	EXPECT(look(me, getpid(), 0).percentage, 100);
	EXPECT(look(me, getpid(), 0).priority, 0);
}

static void limits(struct self *me)
{
	open_gpu(me);
	must_create(me, COMPUTE);
	EXPECT(update_queue(me, 0, 101, 7), -EINVAL);
	EXPECT(update_queue(me, 0, 255, 7), -EINVAL);
	EXPECT(update_queue(me, 0, 100, 16), -EINVAL);
	EXPECT(update(me, 0, ring_of(me, 0), 12288, 100), -EINVAL);
	if (!can_debug(me)) {
		EXPECT(update_queue(me, 0, 0x0164, 7), -EINVAL);
		return;
	}
	/* Bits 8 to 15 choose an XCC for PM4; they are not the percentage. */
	EXPECT(update_queue(me, 0, 0x0364, 7), 0);
	EXPECT(look(me, getpid(), 0).percentage, 100);
	EXPECT(update_queue(me, 0, 0x0100, 7), 0);
	EXPECT(mapped(me, 0), 0);
}

static void unknown_is_efault(struct self *me)
{
	open_gpu(me);
	must_create(me, COMPUTE);
	EXPECT(update_queue(me, 1, 100, 7), -EFAULT);
	EXPECT(update_queue(me, 1023, 100, 7), -EFAULT);
	EXPECT(update_queue(me, 0xffffffff, 100, 7), -EFAULT);
	/* The limits come first. */
	EXPECT(update_queue(me, 1, 101, 7), -EINVAL);
	EXPECT(destroy_queue(me, 0), 0);
	EXPECT(update_queue(me, 0, 100, 7), -EFAULT);
}

static void zero_per_cent_is_off(struct self *me)
{
	open_gpu(me);
	must_create(me, COMPUTE);
	must_create(me, SDMA);
	EXPECT(mapped(me, 0), 1);
	EXPECT(mapped(me, 1), 1);
	EXPECT(update_queue(me, 0, 0, 7), 0);
	EXPECT(mapped(me, 0), 0);
	EXPECT(mapped(me, 1), 1);
	EXPECT(update_queue(me, 1, 0, 7), 0);
	EXPECT(mapped(me, 1), 0);
	EXPECT(update_queue(me, 0, 100, 7), 0);
	EXPECT(mapped(me, 0), 1);
	EXPECT(mapped(me, 1), 0);
}

static void no_ring_is_off(struct self *me)
{
	open_gpu(me);
	must_create(me, COMPUTE);
	EXPECT(update(me, 0, 0, RING_BYTES, 100), 0);
	EXPECT(mapped(me, 0), 0);
	EXPECT(update(me, 0, ring_of(me, 0), RING_BYTES, 100), 0);
	EXPECT(mapped(me, 0), 1);
	submit(me, 0, 1000);
	UNTIL(me, look(me, getpid(), 0).completed == 1);
}

static void small_rings_grow(struct self *me)
{
	char path[96], *size;

	open_gpu(me);
	must_create(me, COMPUTE);
	EXPECT(update(me, 0, ring_of(me, 0), 0, 100), 0);
	EXPECT(mapped(me, 0), 1);
	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues/0/size", (int)getpid());
	size = slurp(path);
	CHECK(size && strcmp(size, "1024") == 0);
	free(size);
	EXPECT(update(me, 0, ring_of(me, 0), RING_BYTES, 100), 0);
}

static void ring_must_be_the_mapping(struct self *me)
{
	u64 other;

	open_gpu(me);
	must_create(me, COMPUTE);
	other = (uintptr_t)gpu_buffer(me, RING_BYTES * 2);
	EXPECT(update(me, 0, ring_of(me, 0), RING_BYTES / 2, 100), -EFAULT);
	EXPECT(update(me, 0, ring_of(me, 0), RING_BYTES * 2, 100), -EFAULT);
	EXPECT(update(me, 0, other, RING_BYTES, 100), -EFAULT);
	EXPECT(update(me, 0, ring_of(me, 0) + 4096, RING_BYTES, 100), -EFAULT);
	/* Also to turn it off. */
	EXPECT(update(me, 0, other, RING_BYTES, 0), -EFAULT);
	EXPECT(mapped(me, 0), 1);
}

static void preempts(struct self *me)
{
	struct actor other = start_target(0, 1);
	u64 then, saved, updates;

	open_gpu(me);
	must_create(me, COMPUTE);
	hold_clock(me, 0);
	submit_kernel(me, 0, LONG, 1);
	run_for(me, getpid(), 0, 100 * MS);
	saved = figure(me, "saved_bytes");
	updates = figure(me, "updates");
	/* No RUNTIME_ENABLE, no debugger, and the queue is still new. */
	EXPECT(NOW(me, update_queue(me, 0, 0, 7)), 0);
	EXPECT(figure(me, "updates"), updates + 1);
	CHECK(figure(me, "saved_bytes") > saved);
	EXPECT(mapped(me, 0), 0);
	then = look(me, getpid(), 0).cu_ns;
	CHECK(then > LONG_CU_NS / 4 && then < LONG_CU_NS * 3 / 4);
	EXPECT(DO(&other, do_submit, 0, 2000), 0);
	UNTIL(me, look(me, other.pid, 0).completed == 1);
	EXPECT(look(me, getpid(), 0).cu_ns, then);
	EXPECT(look(me, getpid(), 0).completed, 0);
	EXPECT(update_queue(me, 0, 100, 7), 0);
	UNTIL(me, look(me, getpid(), 0).completed == 1);
	CHECK(look(me, getpid(), 0).cu_ns > LONG_CU_NS * 98 / 100);
	CHECK(look(me, getpid(), 0).cu_ns < LONG_CU_NS * 102 / 100);
}

static void repeated_costs_again(struct self *me)
{
	u64 updates;

	open_gpu(me);
	must_create(me, COMPUTE);
	EXPECT(update_queue(me, 0, 0, 7), 0);
	updates = figure(me, "updates");
	EXPECT(update_queue(me, 0, 0, 7), 0);
	EXPECT(figure(me, "updates"), updates + 1);
}

static void does_not_block_destroy(struct self *me)
{
	open_gpu(me);
	must_create(me, COMPUTE);
	EXPECT(update_queue(me, 0, 0, 7), 0);
	EXPECT(destroy_queue(me, 0), 0);
	if (!can_debug(me))
		return;
	/* Under a debugger neither. */
	EXPECT(enable_runtime(me, 1), 0);
	must_create(me, COMPUTE);
	EXPECT(ME(me, do_enable, (u64)getpid(), 0), 0);
	EXPECT(update_queue(me, 0, 0, 7), 0);
	EXPECT(destroy_queue(me, 0), 0);
}

static void per_cent_has_no_effect(struct self *me)
{
	u64 whole;

	open_gpu(me);
	must_create(me, COMPUTE);
	submit(me, 0, 10000);
	UNTIL(me, look(me, getpid(), 0).completed == 1);
	whole = look(me, getpid(), 0).cu_ns;
	EXPECT(update_queue(me, 0, 1, 7), 0);
	EXPECT(mapped(me, 0), 1);
	submit(me, 0, 10000);
	UNTIL(me, look(me, getpid(), 0).completed == 2);
	CHECK(look(me, getpid(), 0).cu_ns < 2 * whole + whole / 10);
}

static void does_not_wake_the_suspended(struct self *me)
{
	struct actor target = start_target(1, 1);

	attach(me, &target, 0);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), 1);
	EXPECT(DO(&target, do_update, 0, 100, 15), 0);
	EXPECT(look_settled(me, target.pid, 0).mapped, 0);
	EXPECT(look(me, target.pid, 0).suspended, 1);
}

const struct row rows_update[] = {
	{"kfd 2.6/1", "percentage and priority are rewritten", fields_are_rewritten, EVERYWHERE,
	 NULL},
	{"kfd 2.6/1, 6.12 T7", "percentage over 100, priority over 15, ring no power of 2: EINVAL",
	 limits, EVERYWHERE, NULL},
	{"kfd 2.6/1, 6.12 T7", "an unknown id is EFAULT", unknown_is_efault, EVERYWHERE, NULL},
	{"kfd 2.6/2, 6.12 T7", "percentage 0 takes the queue off, 100 puts it on again",
	 zero_per_cent_is_off, EVERYWHERE, NULL},
	{"kfd 2.6/2, 6.12 T7", "ring address 0 takes it off too", no_ring_is_off, EVERYWHERE, NULL},
	{"kfd 2.6/2, 6.12 T7", "sizes below 1024 become 1024: ring_size 0 does not disable",
	 small_rings_grow, EVERYWHERE, NULL},
	{"kfd 2.6/3, 6.12 T7",
	 "the ring must be exactly its mapping, also with percentage 0: EFAULT",
	 ring_must_be_the_mapping, NATIVE, NULL},
	{"kfd 2.6/4, 6.12 T7", "percentage 0 is a real preemption: waves saved, progress kept",
	 preempts, EVERYWHERE, NULL},
	{"6.12 T7", "percentage 0 again costs a preemption again", repeated_costs_again, EVERYWHERE,
	 NULL},
	{"kfd 2.6/4, 6.12 T7", "DESTROY of a queue at percentage 0 does not block",
	 does_not_block_destroy, EVERYWHERE, NULL},
	{"kfd 2.6/5, 6.12 T7", "percentages from 1 to 99 are like 100", per_cent_has_no_effect,
	 EVERYWHERE, NULL},
	{"6.12 T7", "UPDATE to 100 does not wake a suspended queue", does_not_wake_the_suspended,
	 DEBUGGER, NULL},
	{0},
};
