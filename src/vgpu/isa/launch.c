// SPDX-License-Identifier: MIT
/* The first state of waves, and the turns that the waves of a group take; see launch.h. */
#include "vgpu/isa/launch.h"

#include "vgpu/isa/vector/lanes.h"
#include "vgpu/isa/save.h"

/* Instructions of a wave before the next one of its group, on average. */
#define TURN_LEAST 64u
#define TURN_MOST  2048u

/* COMPUTE_PGM_RSRC1 and 2 (AMDGPU ABI, kernel descriptor). */
#define RSRC1_FLOAT_MODE(rsrc1) ((rsrc1) >> 12 & 0xff)
#define RSRC1_DX10_CLAMP        (1u << 21)
#define RSRC1_IEEE              (1u << 23)
#define RSRC1_FP16_OVFL         (1u << 26)
#define RSRC2_SCRATCH           (1u << 0)
#define RSRC2_USERS(rsrc2)      ((rsrc2) >> 1 & 0x1f)
#define RSRC2_ID(axis)          (1u << (7 + (axis)))
#define RSRC2_GROUP_INFO        (1u << 10)

void gp_isa_groups(const struct gp_isa_launch *launch, u32 count[3])
{
	for (u32 axis = 0; axis < 3; axis++)
		count[axis] = (u32)gp_divide_up(launch->grid[axis], launch->group[axis]);
}

/* Work-items of the group: the last ones of a grid may be smaller. */
static void size_of(const struct gp_isa_launch *launch, const u32 id[3], u32 size[3])
{
	for (u32 axis = 0; axis < 3; axis++)
		size[axis] = GP_MIN(launch->group[axis],
				    launch->grid[axis] - id[axis] * launch->group[axis]);
}

u32 gp_isa_waves(const struct gp_isa_launch *launch, const u32 id[3])
{
	u32 size[3];

	size_of(launch, id, size);
	return (u32)gp_divide_up((u64)size[0] * size[1] * size[2], GP_ISA_LANES);
}

static u32 mode_of(u32 rsrc1)
{
	return RSRC1_FLOAT_MODE(rsrc1) | (rsrc1 & RSRC1_DX10_CLAMP ? GP_ISA_MODE_DX10_CLAMP : 0) |
	       (rsrc1 & RSRC1_IEEE ? GP_ISA_MODE_IEEE : 0) |
	       (rsrc1 & RSRC1_FP16_OVFL ? GP_ISA_MODE_FP16_OVFL : 0);
}

/* User registers, then the ids of the group that the kernel asks for, then the scratch offset. */
static void start_scalars(const struct gp_isa_launch *launch, const u32 id[3], u32 slot, u32 waves,
			  bool first, struct gp_isa_wave *wave)
{
	u32 at = GP_MIN(RSRC2_USERS(launch->rsrc2), (u32)GP_ISA_USER_SCALARS);

	memcpy(wave->s, launch->user, at * sizeof(u32));
	for (u32 axis = 0; axis < 3; axis++)
		if (launch->rsrc2 & RSRC2_ID(axis))
			wave->s[at++] = id[axis];
	if (launch->rsrc2 & RSRC2_GROUP_INFO)
		wave->s[at++] = (first ? 1u << 31 : 0) | waves;
	if (!(launch->rsrc2 & RSRC2_SCRATCH))
		return;
	if (launch->gfx == GP_ISA_GFX942) /* the register itself, instead of an offset */
		gp_isa_set_pair(wave, GP_ISA_FLAT_SCRATCH, wave->scratch);
	else
		wave->s[at] = slot * launch->scratch_bytes;
}

/* Packed into v0: ten bits for each axis. */
static u64 start_lanes(const u32 size[3], u32 index, struct gp_isa_wave *wave)
{
	u32 items = size[0] * size[1] * size[2];
	u64 exec = 0;

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		u32 item = index * GP_ISA_LANES + lane;
		u32 x = item % size[0], y = item / size[0] % size[1], z = item / size[0] / size[1];

		wave->v[0][lane] = x | y << 10 | z << 20;
		if (item < items)
			exec |= 1ull << lane;
	}
	return exec;
}

void gp_isa_start(const struct gp_isa_launch *launch, const u32 id[3], u32 index, u32 slot,
		  struct gp_isa_group *group, struct gp_isa_wave *wave)
{
	u32 size[3];

	size_of(launch, id, size);
	memset(wave, 0, offsetof(struct gp_isa_wave, v));
	wave->pc = launch->entry;
	wave->mode = mode_of(launch->rsrc1);
	wave->group = group;
	wave->gpr_alloc = gp_isa_gpr_alloc(launch);
	wave->lds_alloc = gp_isa_lds_alloc(launch);
	if (launch->scratch && launch->scratch_bytes) {
		wave->scratch = launch->scratch + (u64)slot * launch->scratch_bytes;
		wave->scratch_lane_bytes = launch->scratch_bytes / GP_ISA_LANES;
	}
	start_scalars(launch, id, slot, gp_isa_waves(launch, id), !index, wave);
	gp_isa_set_pair(wave, GP_ISA_EXEC, start_lanes(size, index, wave));
}

/* Turns differ in length, so that waves meet, and are left, at any of their instructions; all waves
 * together use about the budget. */
static u32 turn_of(const struct gp_isa_wave *wave, u32 budget)
{
	u32 mean = GP_MAX(GP_MIN(budget / wave->group->waves, TURN_MOST), TURN_LEAST);

	return mean / 2 + ((u32)wave->executed * 2654435761u >> 16) % mean;
}

enum gp_isa_stop gp_isa_run_group(struct gp_isa_runner *runner, struct gp_isa_group *group,
				  struct gp_isa_wave *const waves[], u32 budget, u32 *failed)
{
	u64 used = 0;

	while (group->ended < group->waves && used < budget) {
		bool idle = true;

		for (u32 i = 0; i < group->waves; i++) {
			u64 before = waves[i]->executed;
			enum gp_isa_stop stop;

			if (waves[i]->stop == GP_ISA_ENDED)
				continue;
			stop = gp_isa_run(runner, waves[i], turn_of(waves[i], budget));
			used += waves[i]->executed - before;
			if (stop >= GP_ISA_FAULT) {
				*failed = i;
				return stop;
			}
			idle &= stop == GP_ISA_WAITS || waves[i]->executed == before;
		}
		if (idle)
			return GP_ISA_WAITS;
	}
	return group->ended == group->waves ? GP_ISA_ENDED : GP_ISA_RUNNING;
}
