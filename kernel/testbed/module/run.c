// SPDX-License-Identifier: GPL-2.0
/*
 * Running AQL packets in modelled time. A queue works on one packet at a time
 * and in order, as if every packet had its barrier bit set. Queues that have
 * work share the CUs evenly; a dispatch never uses more CUs than it has
 * workgroups. A workgroup takes fg_workgroup_us, or as long as word 0 and 1 of
 * `reserved1` in its kernel descriptor say (in ns), which is zero in every
 * real kernel. What is left of a packet survives unmap and map: nothing runs
 * twice and nothing is left out.
 *
 * Memory of the process is reached through its own page tables, from a kernel
 * thread. Nothing here means anything about the time a GPU takes.
 */
#include <linux/mmu_context.h>
#include <linux/sched/mm.h>

#include "fakegpu.h"

#define AQL_BYTES	64
#define AQL_WORDS	16
enum { AQL_INVALID = 1, AQL_DISPATCH = 2, AQL_BARRIER_AND = 3,
       AQL_BARRIER_OR = 5 };	/* 0 and 4 do nothing here, there are no more */
#define DESCRIPTOR_NS	24	/* reserved1 of a kernel descriptor */
#define WAVE_BYTES	4096	/* of a saved wave, made up */
#define SLOT_NOTHING	(~0ull)	/* in a doorbell: not rung yet */
#define CP_CLIENT	0x14	/* SOC15_IH_CLIENTID_GRBM_CP */
#define CP_END_OF_PIPE	181
#define CP_BAD_OPCODE	183

struct amd_signal {
	s64 kind, value;
	u64 mailbox;
	u32 event_id, reserved;
};

/* ---- the clock ---- */

/* Brings it up to now, whoever asks; the thread runs for what has passed. */
void fg_clock_advance(struct fg_device *gpu)
{
	struct fg_clock *clock = &gpu->clock;
	ktime_t now = ktime_get();
	u64 ns = ktime_to_ns(ktime_sub(now, clock->last));

	clock->last = now;
	if (clock->hold_ns != U64_MAX)
		ns = min(ns, clock->hold_ns - min(clock->hold_ns,
						  clock->now_ns));
	clock->now_ns += ns;
	clock->owed_ns += ns;
}

u64 fg_clock_tick(struct fg_device *gpu)
{
	u64 ns;

	fg_clock_advance(gpu);
	ns = gpu->clock.owed_ns;
	gpu->clock.owed_ns = 0;
	return ns;
}

bool fg_clock_held(const struct fg_device *gpu)
{
	return gpu->clock.now_ns >= gpu->clock.hold_ns && !gpu->clock.owed_ns;
}

/* ---- memory of the process ---- */

static bool reach(struct fg_queue *queue, u64 va, void *data, u32 size,
		  bool write)
{
	void __user *at = (void __user *)(uintptr_t)va;
	bool done;

	if (!queue->mm || !mmget_not_zero(queue->mm))
		return false;
	kthread_use_mm(queue->mm);
	done = !(write ? copy_to_user(at, data, size) :
			 copy_from_user(data, at, size));
	kthread_unuse_mm(queue->mm);
	/* The last reference may end the process, which waits for us. */
	fg_sym.mmput_async(queue->mm);
	return done;
}

/* ---- packets ---- */

static void interrupt(struct fg_queue *queue, u32 source, u32 context)
{
	u32 entry[8] = { CP_CLIENT | source << 8 | FG_FIRST_VMID << 24, 0, 0,
			 queue->pasid, context };

	queue->gpu->figures.interrupts++;
	fg_sym.interrupt(queue->gpu->adev->kfd.dev, entry);
}

/* The queue stops there for good, and the driver is told which it was. */
static void refuse_packet(struct fg_queue *queue)
{
	u32 id = queue->doorbell / 2 & (KFD_MAX_NUM_OF_QUEUES_PER_PROCESS - 1);

	queue->stopped = true;
	interrupt(queue, CP_BAD_OPCODE,
		  id | EC_QUEUE_PACKET_UNSUPPORTED << 10);
}

static void finish(struct fg_queue *queue)
{
	struct amd_signal signal;

	queue->busy = false;
	queue->completed++;
	if (!queue->signal ||
	    !reach(queue, queue->signal, &signal, sizeof(signal), false))
		return;
	signal.value--;
	reach(queue, queue->signal + offsetof(struct amd_signal, value),
	      &signal.value, sizeof(signal.value), true);
	if (signal.mailbox) {
		u64 event = signal.event_id;

		reach(queue, signal.mailbox, &event, sizeof(event), true);
		interrupt(queue, CP_END_OF_PIPE, signal.event_id);
	}
}

static void begin_dispatch(struct fg_queue *queue, const u32 *packet)
{
	u32 x = max(1u, packet[1] & 0xffff), y = max(1u, packet[1] >> 16),
	    z = max(1u, packet[2] & 0xffff);
	u64 kernel = packet[8] | (u64)packet[9] << 32;
	u64 ns = 0;

	queue->workgroups = DIV_ROUND_UP(max(1u, packet[3]), x) *
			    DIV_ROUND_UP(max(1u, packet[4]), y) *
			    DIV_ROUND_UP(max(1u, packet[5]), z);
	if (!kernel || !reach(queue, kernel + DESCRIPTOR_NS, &ns, sizeof(ns),
			      false) || !ns)
		ns = (u64)fg_workgroup_us * NSEC_PER_USEC;
	queue->total_ns = queue->workgroups * ns;
	queue->left_ns = queue->total_ns;
}

static void begin_barrier(struct fg_queue *queue, const u32 *packet, bool all)
{
	u32 i;

	queue->barrier = true;
	queue->wait_for_all = all;
	for (i = 0; i < ARRAY_SIZE(queue->depends); i++)
		queue->depends[i] = packet[2 + 2 * i] |
				    (u64)packet[3 + 2 * i] << 32;
}

/* True when the signals of a barrier let it through. */
static bool let_through(struct fg_queue *queue)
{
	bool any = false, named = false;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(queue->depends); i++) {
		s64 value;

		if (!queue->depends[i])
			continue;
		named = true;
		if (!reach(queue, queue->depends[i] +
			   offsetof(struct amd_signal, value), &value,
			   sizeof(value), false) || value) {
			if (queue->wait_for_all)
				return false;
		} else {
			any = true;
		}
	}
	return !named || any;
}

static u64 ring_base(const struct v9_mqd *mqd)
{
	return ((u64)mqd->cp_hqd_pq_base_hi << 32 | mqd->cp_hqd_pq_base_lo)
	       << 8;
}

static u32 ring_packets(const struct v9_mqd *mqd)
{
	return (2u << (mqd->cp_hqd_pq_control & 0x3f)) / AQL_WORDS;
}

/* Takes the next packet off the ring; true when the queue has work. */
static bool fetch(struct fg_queue *queue)
{
	u64 rung = readq(queue->gpu->bar + queue->doorbell * sizeof(u32));
	u64 report = (u64)queue->mqd->cp_hqd_pq_rptr_report_addr_hi << 32 |
		     queue->mqd->cp_hqd_pq_rptr_report_addr_lo;
	u32 packet[AQL_WORDS], invalid = AQL_INVALID, type;
	u64 at;

	if (queue->busy)
		return true;
	/* The value is the index of the last packet, not their number. */
	if (rung != SLOT_NOTHING && rung + 1 > queue->written)
		queue->written = rung + 1;
	if (queue->read >= queue->written || queue->stopped)
		return false;
	at = ring_base(queue->mqd) +
	     queue->read % ring_packets(queue->mqd) * AQL_BYTES;
	if (!reach(queue, at, packet, sizeof(packet), false))
		return false;
	type = packet[0] & 0xff;
	if (type == AQL_INVALID)
		return false;	/* not written yet */
	if (type > AQL_BARRIER_OR) {
		refuse_packet(queue);
		return false;
	}
	queue->barrier = false;
	queue->signal = packet[14] | (u64)packet[15] << 32;
	queue->total_ns = queue->left_ns = 0;
	if (type == AQL_DISPATCH)
		begin_dispatch(queue, packet);
	else if (type == AQL_BARRIER_AND || type == AQL_BARRIER_OR)
		begin_barrier(queue, packet, type == AQL_BARRIER_AND);
	/* Anything else takes no time. */
	queue->busy = true;
	queue->launched++;
	queue->read++;
	/* The packet processor gives the place back. */
	reach(queue, at, &invalid, sizeof(u16), true);
	reach(queue, report, &queue->read, sizeof(queue->read), true);
	return true;
}

/* ---- time ---- */

static bool can_run(const struct fg_queue *queue)
{
	return queue && queue->mqd && queue->busy && queue->left_ns;
}

/* Works for so many ns with so many CUs; the queue had a packet before. */
static void work(struct fg_queue *queue, u64 ns, u32 sharers)
{
	while (ns && can_run(queue)) {
		u32 cus = clamp(queue->workgroups, 1u,
				max(1u, FG_CUS / sharers));
		u64 needs = DIV_ROUND_UP_ULL(queue->left_ns, cus);
		u64 now = min(ns, needs);
		u64 done = min(now * cus, queue->left_ns);

		queue->left_ns -= done;
		queue->cu_ns += done;
		ns -= now;
		if (queue->left_ns)
			return;
		finish(queue);
		if (queue->gpu->fw.unmapping)
			return;
		fetch(queue);
	}
}

bool fg_waves_in_flight(const struct fg_device *gpu)
{
	u32 i;

	for (i = 0; i < FG_SLOTS; i++)
		if (can_run(gpu->fw.slots[i]))
			return true;
	return false;
}

bool fg_waves_of(const struct fg_device *gpu, u32 pasid)
{
	u32 i;

	for (i = 0; i < FG_SLOTS; i++)
		if (can_run(gpu->fw.slots[i]) && gpu->fw.slots[i]->pasid == pasid)
			return true;
	return false;
}

/* What was fetched before goes on for so long, then more is fetched. */
void fg_run(struct fg_device *gpu, u64 ns)
{
	u32 i, sharers = 0;

	for (i = 0; i < FG_SLOTS; i++)
		sharers += can_run(gpu->fw.slots[i]);
	for (i = 0; i < FG_SLOTS; i++) {
		struct fg_queue *queue = gpu->fw.slots[i];

		if (!queue || !queue->mqd)
			continue;
		if (can_run(queue))
			work(queue, ns, sharers);
		if (gpu->fw.unmapping || !fetch(queue))
			continue;
		if (queue->barrier ? let_through(queue) : !queue->left_ns)
			finish(queue);
	}
}

/* ---- on and off a slot ---- */

void fg_queue_map(struct fg_queue *queue)
{
	u64 written;

	queue->mapped = true;
	if (!queue->mqd)
		return;
	/*
	 * A doorbell page begins with zeros, which would say "packet 0". So
	 * clear it, and after that read how far the ring is written: what was
	 * rung before is in memory by then.
	 */
	if (!queue->launched && !queue->written)
		writeq(SLOT_NOTHING,
		       queue->gpu->bar + queue->doorbell * sizeof(u32));
	mb();	/* the doorbell before the write pointer */
	if (reach(queue, queue->wptr_va, &written, sizeof(written), false) &&
	    written > queue->written)
		queue->written = written;
}

/* What the microcode of one XCC leaves in its MQD, and behind it the control stack. */
static void save_xcc(struct fg_queue *queue, struct v9_mqd *mqd, u32 waves)
{
	u32 *stack, i;

	waves = min(waves, mqd->cp_hqd_cntl_stack_size / 8);
	mqd->cp_hqd_pq_rptr = (u32)(queue->read * AQL_WORDS);
	mqd->cp_hqd_pq_wptr_lo = (u32)(queue->written * AQL_WORDS);
	mqd->cp_hqd_cntl_stack_offset = mqd->cp_hqd_cntl_stack_size - waves * 8;
	mqd->cp_hqd_wg_state_offset = mqd->cp_hqd_cntl_stack_size +
				      waves * WAVE_BYTES;
	stack = (void *)mqd + PAGE_SIZE + mqd->cp_hqd_cntl_stack_offset;
	for (i = 0; i < waves; i++) {
		stack[2 * i] = i;
		stack[2 * i + 1] = mqd->cp_hqd_cntl_stack_size + i * WAVE_BYTES;
	}
	queue->gpu->figures.saved_bytes += waves * WAVE_BYTES;
}

/* Workgroups go to the XCCs in turn. */
void fg_queue_save(struct fg_queue *queue)
{
	u32 waves = 0, xcc;

	queue->mapped = false;
	queue->slot = -1;
	queue->taken_off++;
	if (!queue->mqd)
		return;
	if (can_run(queue))
		waves = min(queue->workgroups, (u32)FG_CUS);
	for (xcc = 0; xcc < fg_xccs; xcc++)
		save_xcc(queue, fg_xcc_mqd(queue->mqd, xcc),
			 (waves + fg_xccs - 1 - xcc) / fg_xccs);
}
