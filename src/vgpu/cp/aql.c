// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>

#include "abi/kfd_debug.h"
#include "vgpu/cp/cp_state.h"

/* A packet as it was in the ring. */
union aql_packet {
	u16 header;
	struct gp_aql_dispatch dispatch;
	struct gp_aql_barrier barrier;
	struct gp_aql_barrier_value value;
};

bool gp_vgpu_cp_amd_queue(const struct gp_vgpu_cp_ring *ring, struct gp_amd_queue *out)
{
	return ring->amd_queue && !gp_vgpu_copy_in(out, ring->amd_queue, sizeof(*out));
}

/* Bits 1 to 8 of the code are the packet errors 16 to 23 of the debug interface. */
static u32 packet_exception(u32 code)
{
	u32 bit = code ? (u32)__builtin_ctz(code) : 0;

	if (code & (code - 1) || bit < 1 || bit > 8)
		return 0;
	return GP_KFD_EC_QUEUE_PACKET_FIRST + bit - 1;
}

void gp_vgpu_cp_queue_error(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring, u32 code)
{
	u32 exception = packet_exception(code);
	struct gp_amd_queue queue;

	ring->hold = GP_CP_HALTED;
	if (exception && gp_vgpu_cp_exception(cp, ring, exception))
		return;
	if (gp_vgpu_cp_amd_queue(ring, &queue))
		gp_vgpu_cp_signal_store(cp, ring->gpu_id, queue.queue_inactive_signal, code);
}

static enum gp_vgpu_cp_verdict barrier_ready(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring,
					     const struct gp_aql_barrier *packet, bool any)
{
	u32 count = 0, met = 0;

	for (u32 i = 0; i < GP_AQL_BARRIER_SIGNALS; i++) {
		s64 value;

		if (!packet->dependencies[i])
			continue;
		count++;
		if (gp_vgpu_cp_signal_load(cp, ring->gpu_id, packet->dependencies[i], &value)) {
			gp_vgpu_cp_fault(cp, ring, packet->dependencies[i]);
			return GP_CP_LATER;
		}
		met += value == 0;
	}
	if (!count || met == count || (any && met))
		return GP_CP_SUBMIT;
	return GP_CP_LATER;
}

static bool compare(s64 value, u32 condition, s64 reference)
{
	switch (condition) {
	case GP_AQL_EQ:
		return value == reference;
	case GP_AQL_NE:
		return value != reference;
	case GP_AQL_LT:
		return value < reference;
	default:
		return value >= reference;
	}
}

static enum gp_vgpu_cp_verdict barrier_value_ready(struct gp_vgpu_cp *cp,
						   struct gp_vgpu_cp_ring *ring,
						   const struct gp_aql_barrier_value *packet)
{
	s64 value;

	if (!packet->signal)
		return GP_CP_SUBMIT;
	if (gp_vgpu_cp_signal_load(cp, ring->gpu_id, packet->signal, &value)) {
		gp_vgpu_cp_fault(cp, ring, packet->signal);
		return GP_CP_LATER;
	}
	return compare(value & packet->mask, packet->condition, packet->value) ? GP_CP_SUBMIT
									       : GP_CP_LATER;
}

static enum gp_vgpu_cp_verdict vendor_ready(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring,
					    const struct gp_aql_barrier_value *packet, u32 *error)
{
	switch (packet->format) {
	case GP_AQL_FORMAT_PM4_IB: /* ROCr flushes caches with it, and there are none */
		return GP_CP_SUBMIT;
	case GP_AQL_FORMAT_BARRIER_VALUE:
		if (packet->condition <= GP_AQL_GTE)
			return barrier_value_ready(cp, ring, packet);
		break;
	}
	*error = GP_AQL_ERROR_VENDOR;
	return GP_CP_ERROR_OUT;
}

static enum gp_vgpu_cp_verdict examine(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring,
				       const union aql_packet *packet, struct gp_vgpu_work *work,
				       enum gp_vgpu_cp_blit *blit, u32 *error)
{
	switch (gp_aql_type(packet->header)) {
	case GP_AQL_KERNEL_DISPATCH:
		return gp_vgpu_cp_dispatch(cp, ring, &packet->dispatch, work, blit, error);
	case GP_AQL_BARRIER_AND:
		return barrier_ready(cp, ring, &packet->barrier, false);
	case GP_AQL_BARRIER_OR:
		return barrier_ready(cp, ring, &packet->barrier, true);
	case GP_AQL_VENDOR:
		return vendor_ready(cp, ring, &packet->value, error);
	default:
		*error = GP_AQL_ERROR_PACKET;
		return GP_CP_ERROR_OUT;
	}
}

/* True once the runtime has taken single-use scratch back. */
static bool reclaimed(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring)
{
	struct gp_amd_queue queue;
	s64 value;

	return !gp_vgpu_cp_amd_queue(ring, &queue) ||
	       (!(queue.queue_properties & GP_AMD_QUEUE_SCRATCH_ONCE) &&
		!gp_vgpu_cp_signal_load(cp, ring->gpu_id, queue.queue_inactive_signal, &value) &&
		value == 0);
}

static bool hand_over(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring,
		      const union aql_packet *packet, struct gp_vgpu_work *work,
		      enum gp_vgpu_cp_blit blit)
{
	bool bit = packet->header & GP_AQL_HEADER_BARRIER;
	struct gp_vgpu_cp_record *record = gp_vgpu_cp_record_take(cp, ring);

	if (!record)
		return false;
	if (bit || ring->serial)
		work->flags |= GP_VGPU_BARRIER;
	/*
	 * Nothing may launch before a barrier packet is complete. Without the barrier bit it does
	 * not wait for what came before it and is over at once; with it, the next packet must not
	 * overtake it.
	 */
	ring->serial = bit && gp_aql_type(packet->header) != GP_AQL_KERNEL_DISPATCH;
	ring->fetched++;
	record->end = ring->fetched;
	record->ordered = work->flags & GP_VGPU_BARRIER;
	record->blit = blit;
	memcpy(record->packet, packet, sizeof(record->packet));
	gp_vgpu_cp_submit(cp, record, work);
	return true;
}

bool gp_vgpu_cp_aql_fetch(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring)
{
	u64 packets = ring->queue.ring_bytes / GP_AQL_PACKET_BYTES;
	u64 written = __atomic_load_n(ring->write_pointer, __ATOMIC_ACQUIRE);
	enum gp_vgpu_cp_blit blit = GP_CP_BLIT_NONE;
	struct gp_vgpu_work work = {0};
	union aql_packet packet;
	u32 error = 0;
	u8 *slot;

	cp->client->shared->mirrors[ring->queue.id].write_index = written;
	if (ring->scratch_once)
		return false;
	if (ring->reclaim_asked) {
		if (!reclaimed(cp, ring)) {
			ring->hold = GP_CP_WAITING;
			return false;
		}
		ring->reclaim_asked = false;
	}
	if (ring->fetched >= written || ring->fetched - ring->launched >= packets)
		return false;
	slot = ring->base + ring->fetched % packets * GP_AQL_PACKET_BYTES;
	if (gp_aql_type(__atomic_load_n((u16 *)slot, __ATOMIC_ACQUIRE)) == GP_AQL_INVALID)
		return false;
	memcpy(&packet, slot, sizeof(packet));
	switch (examine(cp, ring, &packet, &work, &blit, &error)) {
	case GP_CP_SUBMIT:
		return hand_over(cp, ring, &packet, &work, blit);
	case GP_CP_ERROR_OUT:
		/* The runtime looks for the bad packet at the read index. */
		if (ring->launched == ring->fetched)
			gp_vgpu_cp_queue_error(cp, ring, error);
		return false;
	default:
		if (ring->hold == GP_CP_READY)
			ring->hold = GP_CP_WAITING;
		return false;
	}
}

void gp_vgpu_cp_aql_launched(struct gp_vgpu_cp_ring *ring, const struct gp_vgpu_cp_record *record)
{
	u64 packets = ring->queue.ring_bytes / GP_AQL_PACKET_BYTES;
	u8 *slot = ring->base + (record->end - 1) % packets * GP_AQL_PACKET_BYTES;

	__atomic_store_n((u16 *)slot, GP_AQL_INVALID, __ATOMIC_RELEASE);
	ring->launched = record->end;
	__atomic_store_n(ring->read_pointer, record->end, __ATOMIC_RELEASE);
}

static void scratch_over(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring)
{
	struct gp_amd_queue queue;

	ring->scratch_once = false;
	if (!gp_vgpu_cp_amd_queue(ring, &queue) ||
	    !(queue.queue_properties & GP_AMD_QUEUE_SCRATCH_ONCE))
		return;
	ring->reclaim_asked = true;
	gp_vgpu_cp_signal_store(cp, ring->gpu_id, queue.queue_inactive_signal,
				GP_AQL_SCRATCH_RECLAIM);
}

void gp_vgpu_cp_aql_completed(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring,
			      struct gp_vgpu_cp_record *record, const struct gp_vgpu_done *done)
{
	u64 signal = record->barrier.completion_signal; /* at the same place in every packet */
	u64 fault = 0;

	if (record->blit != GP_CP_BLIT_NONE && !record->ended &&
	    gp_vgpu_cp_blit(cp, ring->gpu_id, record->blit, record->dispatch.kernarg_address,
			    &fault)) {
		gp_vgpu_cp_fault(cp, ring, fault);
		return;
	}
	if (ring->scratch_once && ring->fetched == record->end)
		scratch_over(cp, ring);
	if (gp_vgpu_cp_signal_complete(cp, ring->gpu_id, signal, done->start_raw_ns,
				       done->end_raw_ns))
		gp_vgpu_cp_fault(cp, ring, signal);
}
