// SPDX-License-Identifier: MIT
#include <errno.h>

#include "vgpu/cp/execute.h"

/* Days of work; more would overflow the model's time. */
#define WORKGROUPS_MAX (1ull << 36)

static u64 groups_in(u32 grid, u32 workgroup)
{
	return ((u64)grid + workgroup - 1) / workgroup;
}

/* 0, or the error the packet processor raises. */
static u32 check_shape(const struct gp_aql_dispatch *packet, u64 items)
{
	u32 dimensions = packet->setup & 3;

	if (!dimensions || !packet->grid_x || !packet->grid_y || !packet->grid_z || !items)
		return GP_AQL_ERROR_DIMENSIONS;
	if (items > GP_GFX9_WORKGROUP_MAX)
		return GP_AQL_ERROR_WORKGROUP;
	if (packet->group_segment_bytes > GP_GFX9_LDS_MAX)
		return GP_AQL_ERROR_GROUP_MEMORY;
	return 0;
}

static bool registers_fit(u32 waves, u32 vgprs)
{
	u32 per_simd = vgprs ? GP_GFX90A_VGPRS / vgprs : GP_GFX9_WAVES_PER_SIMD;

	return waves <= per_simd * GP_GFX9_SIMD_PER_CU;
}

/*
 * Dynamic scratch: a dispatch that wants more than the queue has waits, alone at the head of the
 * queue, until the runtime has provided it and stored 0 into queue_inactive_signal. The runtime
 * finds the packet by the read index and frees the scratch of earlier ones, so those are over.
 */
static bool scratch_ready(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring, u32 bytes)
{
	struct gp_amd_queue queue;
	s64 value;

	if (!bytes || !gp_vgpu_cp_amd_queue(ring, &queue))
		return true;
	if (!ring->scratch_asked && queue.compute_tmpring_size &&
	    queue.scratch_wave64_lane_byte_size >= bytes) {
		ring->scratch_once = queue.queue_properties & GP_AMD_QUEUE_SCRATCH_ONCE;
		return true;
	}
	if (ring->in_flight)
		return false;
	if (ring->scratch_asked) {
		if (gp_vgpu_cp_signal_load(cp, ring->gpu_id, queue.queue_inactive_signal, &value) ||
		    value != 0)
			return false;
		ring->scratch_asked = false;
		return scratch_ready(cp, ring, bytes);
	}
	ring->scratch_asked = true;
	gp_vgpu_cp_signal_store(cp, ring->gpu_id, queue.queue_inactive_signal,
				GP_AQL_ERROR_SCRATCH);
	return false;
}

static bool wait_over(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring,
		      enum gp_vgpu_cp_blit blit, u64 kernarg)
{
	u64 fault = kernarg;
	int over = gp_vgpu_cp_blit_ready(cp, ring->gpu_id, blit, kernarg, &fault);

	if (over < 0)
		gp_vgpu_cp_fault(cp, ring, fault);
	return over > 0;
}

enum gp_vgpu_cp_verdict gp_vgpu_cp_dispatch(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring,
					    const struct gp_aql_dispatch *packet,
					    struct gp_vgpu_work *work, enum gp_vgpu_cp_blit *blit,
					    u32 *error)
{
	const struct gp_vgpu_gpu *gpu = &cp->client->machine.gpus[ring->queue.gpu_index];
	u64 items = (u64)packet->workgroup_x * packet->workgroup_y * packet->workgroup_z;
	u32 wave = gpu->wave_size ? gpu->wave_size : 64;
	struct gp_vgpu_cp_kernel kernel;
	u64 plane;

	*error = check_shape(packet, items);
	if (*error)
		return GP_CP_ERROR_OUT;
	if (gp_vgpu_cp_kernel(cp, ring->queue.gpu_index, packet->kernel_object, &kernel) ||
	    (kernel.blit == GP_CP_BLIT_UNKNOWN && !gp_vgpu_cp_computes(cp))) {
		*error = GP_AQL_ERROR_CODE;
		return GP_CP_ERROR_OUT;
	}
	work->waves_per_workgroup = (u32)((items + wave - 1) / wave);
	if (!registers_fit(work->waves_per_workgroup, kernel.vgprs)) {
		*error = GP_AQL_ERROR_REGISTERS;
		return GP_CP_ERROR_OUT;
	}
	if (!scratch_ready(cp, ring, packet->private_segment_bytes))
		return GP_CP_LATER;
	if (!wait_over(cp, ring, kernel.blit, packet->kernarg_address))
		return GP_CP_LATER;
	plane = groups_in(packet->grid_x, packet->workgroup_x) *
		groups_in(packet->grid_y, packet->workgroup_y);
	if (__builtin_mul_overflow(plane, groups_in(packet->grid_z, packet->workgroup_z),
				   &work->workgroups) ||
	    work->workgroups > WORKGROUPS_MAX)
		work->workgroups = WORKGROUPS_MAX;
	work->flags = GP_VGPU_KERNEL;
	work->workgroup_ns = kernel.workgroup_ns;
	work->vgprs = kernel.vgprs;
	work->lds_bytes = packet->group_segment_bytes;
	*blit = kernel.blit;
	return GP_CP_SUBMIT;
}
