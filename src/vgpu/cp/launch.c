// SPDX-License-Identifier: MIT
/* Registers and memory that a dispatch packet asks for; see launch.h. */
#include "vgpu/cp/launch.h"

#include "abi/bits.h"

#define LDS_GRANULE 512u

/* Which user registers a kernel wants, in this order (LLVM, kernel_code_properties). */
enum property {
	WANTS_PRIVATE_BUFFER = 1u << 0,
	WANTS_PACKET = 1u << 1,
	WANTS_QUEUE = 1u << 2,
	WANTS_ARGUMENTS = 1u << 3,
	WANTS_ID = 1u << 4,
	WANTS_FLAT_SCRATCH = 1u << 5,
	WANTS_PRIVATE_SIZE = 1u << 6,
};

/* COMPUTE_TMPRING_SIZE: waves of an XCC, and KiB of each. */
#define TMPRING_WAVES_TO   11
#define TMPRING_WAVE_FROM  12
#define TMPRING_WAVE_TO    24
#define TMPRING_WAVE_BYTES 1024u

static void put(struct gp_isa_launch *out, u32 *at, u32 value)
{
	if (*at < GP_ISA_USER_SCALARS)
		out->user[(*at)++] = value;
}

static void put_wide(struct gp_isa_launch *out, u32 *at, u64 value)
{
	put(out, at, (u32)value);
	put(out, at, (u32)(value >> 32));
}

static void user_registers(const struct gp_vgpu_cp_packet *from, struct gp_isa_launch *out)
{
	u32 wants = from->descriptor->properties, at = 0;

	for (u32 i = 0; wants & WANTS_PRIVATE_BUFFER && i < 4; i++)
		put(out, &at, from->queue ? from->queue->scratch_resource_descriptor[i] : 0);
	if (wants & WANTS_PACKET)
		put_wide(out, &at, from->packet_address);
	if (wants & WANTS_QUEUE)
		put_wide(out, &at, from->queue_address);
	if (wants & WANTS_ARGUMENTS)
		put_wide(out, &at, from->packet->kernarg_address);
	if (wants & WANTS_ID)
		put_wide(out, &at, from->id);
	if (wants & WANTS_FLAT_SCRATCH)
		put_wide(out, &at, out->scratch);
	if (wants & WANTS_PRIVATE_SIZE)
		put(out, &at, from->packet->private_segment_bytes);
}

/* Older versions of ROCr also say how large the memory is; 7.2 leaves that 0. */
static u64 scratch_waves(const struct gp_vgpu_cp_packet *from, u32 wave_bytes)
{
	const struct gp_amd_queue *queue = from->queue;
	u64 of_register = gp_bits(queue->compute_tmpring_size, 0, TMPRING_WAVES_TO);

	return GP_MAX(queue->scratch_backing_memory_byte_size / wave_bytes,
		      of_register * GP_MAX(from->xccs, 1u));
}

static void scratch(const struct gp_vgpu_cp_packet *from, struct gp_isa_launch *out)
{
	const struct gp_amd_queue *queue = from->queue;
	u32 wave;

	if (!queue || !queue->compute_tmpring_size || !from->packet->private_segment_bytes)
		return;
	wave = gp_bits(queue->compute_tmpring_size, TMPRING_WAVE_FROM, TMPRING_WAVE_TO) *
	       TMPRING_WAVE_BYTES;
	if (!wave)
		return;
	out->scratch = queue->scratch_backing_memory_location;
	out->scratch_bytes = wave;
	out->scratch_waves = (u32)GP_MIN(scratch_waves(from, wave), (u64)UINT32_MAX);
}

void gp_vgpu_cp_launch(enum gp_isa_gfx gfx, const struct gp_vgpu_cp_packet *from,
		       struct gp_isa_launch *out)
{
	const struct gp_aql_dispatch *packet = from->packet;

	*out = (struct gp_isa_launch){
		.gfx = gfx,
		.entry = packet->kernel_object + (u64)from->descriptor->entry_offset,
		.rsrc1 = from->descriptor->rsrc1,
		.rsrc2 = from->descriptor->rsrc2,
		.rsrc3 = from->descriptor->rsrc3,
		.grid = {packet->grid_x, packet->grid_y, packet->grid_z},
		.group = {packet->workgroup_x, packet->workgroup_y, packet->workgroup_z},
		.lds_bytes = (packet->group_segment_bytes + LDS_GRANULE - 1) & ~(LDS_GRANULE - 1),
	};
	scratch(from, out);
	user_registers(from, out);
}
