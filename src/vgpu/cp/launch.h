/* SPDX-License-Identifier: MIT */
/* A dispatch packet and its kernel as what the hardware starts waves from. */
#ifndef GP_VGPU_CP_LAUNCH_H
#define GP_VGPU_CP_LAUNCH_H

#include "abi/amd_queue.h"
#include "abi/aql.h"
#include "vgpu/isa/launch.h"

struct gp_vgpu_cp_packet {
	const struct gp_aql_dispatch *packet;
	const struct gp_kernel_descriptor *descriptor;
	const struct gp_amd_queue *queue; /* NULL: not made by ROCr */
	u64 packet_address, queue_address;
	u64 id;   /* of the dispatch in its queue */
	u32 xccs; /* of the GPU as it is shown; 0 = 1 */
};

void gp_vgpu_cp_launch(enum gp_isa_gfx gfx, const struct gp_vgpu_cp_packet *from,
		       struct gp_isa_launch *out);

#endif
