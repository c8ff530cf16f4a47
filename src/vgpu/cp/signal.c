// SPDX-License-Identifier: MIT
/*
 * Completion signals as the command processor sees them: decrement, time stamps, and the event of
 * a waiting thread. Handles come from the program and are checked before use.
 */
#include <errno.h>

#include "abi/kfd_debug.h"
#include "vgpu/compute/compute.h"
#include "vgpu/cp/cp_state.h"

/*
 * The signal's CPU address. *copy is what it held: mailbox and event must be known before the value
 * changes, because its owner may free it right then.
 */
static struct gp_amd_signal *signal_at(struct gp_vgpu_cp *cp, u32 gpu_id, u64 handle,
				       struct gp_amd_signal *copy)
{
	struct gp_amd_signal *signal;

	if (handle % sizeof(u64))
		return NULL;
	signal = gp_vgpu_cp_place(cp, gpu_id, handle, sizeof(*signal));
	if (signal)
		*copy = *signal;
	return signal;
}

static void ring_event(struct gp_vgpu_cp *cp, u32 gpu_id, const struct gp_amd_signal *signal)
{
	u64 *mailbox;

	if (!signal->event_mailbox)
		return;
	mailbox = gp_vgpu_cp_place(cp, gpu_id, signal->event_mailbox, sizeof(*mailbox));
	if (mailbox && signal->event_mailbox % sizeof(*mailbox) == 0)
		__atomic_store_n(mailbox, signal->event_id, __ATOMIC_SEQ_CST);
	gp_vgpu_event_set(cp->client, signal->event_id);
}

int gp_vgpu_cp_signal_complete(struct gp_vgpu_cp *cp, u32 gpu_id, u64 handle, u64 start_raw_ns,
			       u64 end_raw_ns)
{
	struct gp_amd_signal copy, *signal = handle ? signal_at(cp, gpu_id, handle, &copy) : NULL;

	if (!signal)
		return handle ? -EFAULT : 0;
	if (start_raw_ns) {
		signal->start_ts = start_raw_ns / GP_GPU_CLOCK_NS;
		signal->end_ts = end_raw_ns / GP_GPU_CLOCK_NS;
	}
	__atomic_fetch_sub(&signal->value, 1, __ATOMIC_SEQ_CST);
	ring_event(cp, gpu_id, &copy);
	return 0;
}

int gp_vgpu_cp_signal_store(struct gp_vgpu_cp *cp, u32 gpu_id, u64 handle, s64 value)
{
	struct gp_amd_signal copy, *signal = handle ? signal_at(cp, gpu_id, handle, &copy) : NULL;

	if (!signal)
		return handle ? -EFAULT : 0;
	__atomic_store_n(&signal->value, value, __ATOMIC_SEQ_CST);
	ring_event(cp, gpu_id, &copy);
	return 0;
}

int gp_vgpu_cp_signal_load(struct gp_vgpu_cp *cp, u32 gpu_id, u64 handle, s64 *value)
{
	return gp_vgpu_cp_read(cp, gpu_id, handle + offsetof(struct gp_amd_signal, value), value,
			       sizeof(*value));
}

/* What send_exception_work_handler() does in the process. */
void gp_vgpu_cp_tell_runtime(struct gp_vgpu_cp *cp, const struct gp_vgpu_cp_ring *ring, u64 mask)
{
	struct gp_kfd_context_save_area_header header;
	u64 payload;

	if (gp_vgpu_copy_in(&header, ring->queue.save_area, sizeof(header)) ||
	    gp_vgpu_copy_in(&payload, header.err_payload_addr, sizeof(payload)))
		return;
	payload |= mask;
	if (!gp_vgpu_copy_out(header.err_payload_addr, &payload, sizeof(payload)))
		gp_vgpu_event_set(cp->client, header.err_event_id);
}

bool gp_vgpu_cp_exception(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring, u32 exception)
{
	struct gp_vgpu_exception what = {
		.queue_id = ring->queue.id,
		.gpu_id = ring->gpu_id,
		.code = exception,
	};
	int told = gp_vgpu_client_exception(cp->client, &what);

	if (told == GP_VGPU_TELL_RUNTIME)
		gp_vgpu_cp_tell_runtime(cp, ring, GP_KFD_EC_MASK(exception));
	return told != GP_VGPU_TELL_OLD;
}

void gp_vgpu_cp_fault(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring, u64 va)
{
	ring->hold = GP_CP_HALTED;
	ring->faulted = true;
	if (gp_vgpu_cp_exception(cp, ring, GP_KFD_EC_DEVICE_MEMORY_VIOLATION))
		return;
	/* As in the driver, without a debugger the process loses all of its queues on this GPU. */
	for (u32 i = 0; i < cp->ring_end; i++) {
		struct gp_vgpu_cp_ring *other = &cp->rings[i];

		if (!other->used || other->gpu_id != ring->gpu_id)
			continue;
		other->hold = GP_CP_HALTED;
		other->faulted = true;
		if (cp->compute)
			gp_vgpu_compute_stop(cp->compute, other->queue.id);
	}
	gp_vgpu_event_memory_fault(cp->client, ring->gpu_id, va);
}
