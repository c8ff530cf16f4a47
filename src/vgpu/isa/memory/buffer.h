/* SPDX-License-Identifier: MIT */
/*
 * MUBUF and MTBUF: buffers that four scalar registers describe. buffer.c finds the lanes' addresses
 * and moves data as they are, buffer_format.c converts them. Private to vgpu/isa.
 */
#ifndef GP_VGPU_ISA_BUFFER_H
#define GP_VGPU_ISA_BUFFER_H

#include "vgpu/isa/memory/access.h"

/* A buffer and where in it each lane goes. */
struct gp_isa_buffer {
	u64 base; /* with the offset of the scalar register, which is not checked */
	u32 stride, records, index_stride;
	bool bound;      /* an unbound one reads 0 and drops what is written */
	bool swizzled;   /* dwords of index_stride records lie side by side */
	bool structured; /* records are counted, not bytes */
	bool unchecked;  /* private memory */
	u8 data_format, number_format;
	u8 select[4]; /* which component, or 0 or 1, a format load returns */
	struct gp_isa_row offset, index;
};

/* `format`: the instruction converts. */
void gp_isa_buffer_find(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
			const struct gp_isa_inst *inst, bool format, struct gp_isa_buffer *buffer);

/* Dwords out of range, or lanes if `whole`, read 0 and are not written. Result as in access.h. */
u32 gp_isa_buffer_gather(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			 const struct gp_isa_buffer *buffer, u32 bytes, bool whole,
			 gp_isa_lanes *out);
u32 gp_isa_buffer_scatter(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			  const struct gp_isa_buffer *buffer, u32 bytes, bool whole,
			  const gp_isa_lanes *in);

/* Where loads with the LDS bit put their first lane. */
static inline u32 gp_isa_buffer_lds(const struct gp_isa_wave *wave, const struct gp_isa_inst *inst)
{
	return (wave->s[GP_ISA_M0] & 0xffff) + (u32)inst->memory.offset;
}

gp_isa_execute gp_isa_buffer_load, gp_isa_buffer_store, gp_isa_buffer_atomic;
gp_isa_execute gp_isa_buffer_store_lds, gp_isa_buffer_cache;
gp_isa_execute gp_isa_buffer_load_format, gp_isa_buffer_store_format; /* buffer_format.c */

#endif
