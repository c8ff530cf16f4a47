/* SPDX-License-Identifier: MIT */
/*
 * What the hardware does around the instructions of a kernel: the first state of the waves of a
 * work-group, and running the waves of a group until all have ended.
 */
#ifndef GP_VGPU_ISA_LAUNCH_H
#define GP_VGPU_ISA_LAUNCH_H

#include "vgpu/isa/isa.h"

#define GP_ISA_USER_SCALARS 16
#define GP_ISA_GROUP_WAVES  16 /* 1,024 work-items */

/* A dispatch; registers as COMPUTE_PGM_RSRC1 to 3 have them. */
struct gp_isa_launch {
	enum gp_isa_gfx gfx;
	u64 entry; /* of the code */
	u32 rsrc1, rsrc2, rsrc3;
	u32 user[GP_ISA_USER_SCALARS]; /* s0 on; their number is in rsrc2 */
	u32 grid[3];                   /* work-items */
	u32 group[3];
	u32 lds_bytes;
	u64 scratch;       /* address of the private memory of all waves, 0 = none */
	u32 scratch_bytes; /* of a wave */
	u32 scratch_waves; /* waves it is enough for */
};

/* Groups in each direction. */
void gp_isa_groups(const struct gp_isa_launch *launch, u32 count[3]);
/* Waves of the group with this id: fewer at the end of a grid that is not a multiple of it. */
u32 gp_isa_waves(const struct gp_isa_launch *launch, const u32 id[3]);

/*
 * Wave number `index` of that group, about to execute its first instruction. `slot` says which part
 * of the private memory it has. Vector registers that hold no work-item id keep what was there.
 */
void gp_isa_start(const struct gp_isa_launch *launch, const u32 id[3], u32 index, u32 slot,
		  struct gp_isa_group *group, struct gp_isa_wave *wave);

/*
 * Runs the waves of a group in turn, about `budget` instructions altogether. GP_ISA_ENDED: all
 * have; GP_ISA_RUNNING, GP_ISA_WAITS: call again; others: *failed is the wave that cannot go on.
 */
enum gp_isa_stop gp_isa_run_group(struct gp_isa_runner *runner, struct gp_isa_group *group,
				  struct gp_isa_wave *const waves[], u32 budget, u32 *failed);

#endif
