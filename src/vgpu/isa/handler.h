/* SPDX-License-Identifier: MIT */
/*
 * The waves of a group, saved and restored by the trap handler of the driver instead of
 * gp_isa_save() and gp_isa_restore(): its program is executed as the hardware does it when a queue
 * leaves and comes back. The host maps the program and the save area; none of it is here.
 */
#ifndef GP_VGPU_ISA_HANDLER_H
#define GP_VGPU_ISA_HANDLER_H

#include "vgpu/isa/launch.h"

/* A group in its save area. */
struct gp_isa_saving {
	struct gp_isa_group *group;
	struct gp_isa_wave *const *waves;
	const u64 *areas; /* of each wave; 0: it has ended, or is not there */
	u32 count;
	u32 first;   /* the wave whose state the LDS is part of */
	u64 handler; /* address of the program */
};

/* The waves' registers are the handler's afterwards. GP_ISA_SAVED, or why it could not go on, with
 * the wave in *failed. */
enum gp_isa_stop gp_isa_handler_save(struct gp_isa_runner *runner,
				     const struct gp_isa_saving *saving, u32 *failed);
/* All registers come from the save area. GP_ISA_RUNNING, or as above. */
enum gp_isa_stop gp_isa_handler_restore(struct gp_isa_runner *runner,
					const struct gp_isa_saving *saving, u32 *failed);

#endif
