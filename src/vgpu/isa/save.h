/* SPDX-License-Identifier: MIT */
/*
 * Waves in memory, as the trap handler of the driver writes them when a queue leaves the hardware
 * and reads them when it comes back: vector registers, accumulation registers, scalar registers,
 * registers of the hardware and, behind the first wave of a group, its LDS.
 *
 * A wave that waits at a barrier is saved in front of it and arrives again.
 */
#ifndef GP_VGPU_ISA_SAVE_H
#define GP_VGPU_ISA_SAVE_H

#include "vgpu/isa/launch.h"

/* Scalar registers that every wave has: s0 to s101, FLAT_SCRATCH, XNACK_MASK, VCC, four unused. */
#define GP_ISA_SAVED_SCALARS 112

/* The registers GPR_ALLOC and LDS_ALLOC of a wave of this dispatch. */
u32 gp_isa_gpr_alloc(const struct gp_isa_launch *launch);
u32 gp_isa_lds_alloc(const struct gp_isa_launch *launch);
/* Vector and accumulation registers together. */
u32 gp_isa_vectors(u32 gpr_alloc);

/* Bytes of a wave; `first`: of its group. */
u32 gp_isa_saved_bytes(const struct gp_isa_wave *wave, bool first);

/* Where it goes on: in front of a barrier that it waits at. */
u64 gp_isa_saved_pc(const struct gp_isa_wave *wave);
/* Writes all of its bytes; what the handler leaves alone is 0. The wave does not change. */
void gp_isa_save(enum gp_isa_gfx gfx, const struct gp_isa_wave *wave, bool first, u8 *out);
/* Keeps what is not in those bytes: the group, private memory, what s_getreg reads. */
void gp_isa_restore(struct gp_isa_wave *wave, bool first, const u8 *in);
/* After its waves were restored: none of them is at a barrier. */
void gp_isa_restore_group(struct gp_isa_group *group);

/*
 * The two words of the control stack by which the hardware finds a wave again: how many registers
 * it has, and whether it is the first or the last of its group.
 */
u32 gp_isa_relaunch_state(const struct gp_isa_wave *wave);
u32 gp_isa_relaunch_wave(u32 scratch_slot, bool scratch, bool first, bool last);

#endif
