/* SPDX-License-Identifier: MIT */
/*
 * Executing the kernels of a ring, where the machine computes: a dispatch starts when the model has
 * launched it, and a packet is over when the model has completed it and its waves have ended.
 *
 * The model may complete a packet before its waves have ended here, and then launch the next one.
 * So packets pass a line per ring: one with the barrier bit waits there until everything before it
 * is over.
 */
#ifndef GP_VGPU_CP_EXECUTE_H
#define GP_VGPU_CP_EXECUTE_H

#include "vgpu/cp/cp_state.h"
#include "vgpu/isa/isa.h"

/* Whether this machine computes; false as well where that cannot be done, which is said once. */
bool gp_vgpu_cp_computes(struct gp_vgpu_cp *cp);

/* The instruction set of the GPU that the ring is on. */
enum gp_isa_gfx gp_vgpu_cp_gfx(const struct gp_vgpu_cp *cp, const struct gp_vgpu_cp_ring *ring);

/* The model launched a packet. */
void gp_vgpu_cp_execute(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_record *record);
/* The model completed it. False: its waves have not ended, and the record is kept. */
bool gp_vgpu_cp_executed(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_record *record,
			 const struct gp_vgpu_done *done);
/* Takes what has ended since. True if there was anything. */
bool gp_vgpu_cp_execute_step(struct gp_vgpu_cp *cp);
/* The queue goes: none of its waves executes afterwards. */
void gp_vgpu_cp_execute_drop(struct gp_vgpu_cp *cp, u32 queue_id);

#endif
