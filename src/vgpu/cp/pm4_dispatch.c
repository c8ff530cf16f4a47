// SPDX-License-Identifier: MIT
/* Dispatches of PM4 queues: the registers they are made of, what they cost, what they execute. */

#include "abi/bits.h"
#include "vgpu/cp/execute.h"
#include "vgpu/isa/launch.h"
#include "vgpu/heap.h"

#define WORKGROUPS_MAX (1ull << 36)
#define WORKGROUP_NS   10000 /* code without a name costs what an unknown kernel does */
#define ADDRESS_SHIFT  8     /* of addresses in registers */

void gp_vgpu_cp_pm4_register(struct gp_vgpu_cp_ring *ring, u32 number, u32 value)
{
	if (number >= GP_PM4_NUM_THREAD_X && number < GP_PM4_NUM_THREAD_X + 3)
		ring->pm4.threads[number - GP_PM4_NUM_THREAD_X] = gp_bits(value, 0, 15);
	else if (number >= GP_PM4_USER_DATA && number < GP_PM4_USER_DATA + GP_PM4_USER_DATAS)
		ring->pm4.user[number - GP_PM4_USER_DATA] = value;
	else if (number == GP_PM4_PGM_LO || number == GP_PM4_PGM_LO + 1)
		ring->pm4.program[number - GP_PM4_PGM_LO] = value;
	else if (number == GP_PM4_SCRATCH_BASE_LO || number == GP_PM4_SCRATCH_BASE_LO + 1)
		ring->pm4.scratch[number - GP_PM4_SCRATCH_BASE_LO] = value;
	else if (number == GP_PM4_PGM_RSRC1)
		ring->pm4.rsrc1 = value;
	else if (number == GP_PM4_PGM_RSRC2)
		ring->pm4.rsrc2 = value;
	else if (number == GP_PM4_PGM_RSRC3)
		ring->pm4.rsrc3 = value;
	else if (number == GP_PM4_TMPRING_SIZE)
		ring->pm4.tmpring = value;
}

static u64 groups_of(u32 dimension, u32 threads, bool in_threads)
{
	return in_threads ? gp_divide_up(dimension, threads) : dimension;
}

/* COMPUTE_PGM_RSRC2: bits 15 to 23 count granules of 512 bytes. */
static u32 lds_bytes(u32 rsrc2)
{
	return gp_bits(rsrc2, 15, 23) * 512;
}

static struct gp_isa_launch *launch_new(struct gp_vgpu_cp *cp, const struct gp_vgpu_cp_ring *ring,
					const u32 sizes[3], bool in_threads)
{
	struct gp_isa_launch *launch = gp_vgpu_alloc(sizeof(*launch));

	if (!launch)
		return NULL;
	launch->gfx = gp_vgpu_cp_gfx(cp, ring);
	launch->entry = gp_join64(ring->pm4.program[0], ring->pm4.program[1]) << ADDRESS_SHIFT;
	launch->rsrc1 = ring->pm4.rsrc1;
	launch->rsrc2 = ring->pm4.rsrc2;
	launch->rsrc3 = ring->pm4.rsrc3;
	memcpy(launch->user, ring->pm4.user, sizeof(launch->user));
	launch->lds_bytes = lds_bytes(ring->pm4.rsrc2);
	for (u32 i = 0; i < 3; i++) {
		launch->group[i] = ring->pm4.threads[i] ? ring->pm4.threads[i] : 1;
		if (in_threads)
			launch->grid[i] = sizes[i];
		else if (__builtin_mul_overflow(sizes[i], launch->group[i], &launch->grid[i]))
			launch->grid[i] = 0; /* more than there can be: it is refused */
	}
	launch->scratch = gp_join64(ring->pm4.scratch[0], ring->pm4.scratch[1]) << ADDRESS_SHIFT;
	launch->scratch_waves = gp_bits(ring->pm4.tmpring, 0, 11);
	launch->scratch_bytes = gp_bits(ring->pm4.tmpring, 12, 24) * 1024;
	return launch;
}

void gp_vgpu_cp_pm4_dispatch(struct gp_vgpu_cp *cp, const struct gp_vgpu_cp_ring *ring,
			     const u32 words[4], struct gp_vgpu_work *work,
			     struct gp_isa_launch **launch)
{
	const struct gp_vgpu_gpu *gpu = &cp->client->machine.gpus[ring->queue.gpu_index];
	bool in_threads = words[3] & GP_PM4_DISPATCH_THREADS;
	u64 groups = 1, threads = 1;

	for (u32 i = 0; i < 3; i++) {
		u32 size = ring->pm4.threads[i] ? ring->pm4.threads[i] : 1;

		threads *= size;
		if (__builtin_mul_overflow(groups, groups_of(words[i], size, in_threads), &groups))
			groups = WORKGROUPS_MAX;
	}
	*launch = NULL;
	if (groups && gp_vgpu_cp_computes(cp)) /* a group that is too large fails when it starts */
		*launch = launch_new(cp, ring, words, in_threads);
	threads = GP_MIN(threads, (u64)GP_GFX9_WORKGROUP_MAX);
	*work = (struct gp_vgpu_work){
		.flags = GP_VGPU_BARRIER | (groups ? GP_VGPU_KERNEL : 0),
		.workgroups = GP_MIN(groups, WORKGROUPS_MAX),
		.workgroup_ns = WORKGROUP_NS,
		.waves_per_workgroup = (u32)gp_divide_up(threads, gpu->wave_size),
		.vgprs = gp_kernel_vgprs(ring->pm4.rsrc1, gpu->gfx_version),
	};
}
