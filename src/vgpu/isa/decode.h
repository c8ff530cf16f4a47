/* SPDX-License-Identifier: MIT */
/* Fields of encoded instructions; shared by the files of the decoder. */
#ifndef GP_VGPU_ISA_DECODE_H
#define GP_VGPU_ISA_DECODE_H

#include "vgpu/isa/inst.h"

static inline u32 bits(u32 word, u32 low, u32 count)
{
	return word >> low & ((1u << count) - 1);
}

static inline bool bit(u32 word, u32 number)
{
	return word >> number & 1;
}

static inline s32 extend(u32 value, u32 count)
{
	return (s32)(value << (32 - count)) >> (32 - count);
}

static inline u16 vgpr(u32 number, bool acc)
{
	return (u16)((acc ? GP_ISA_AGPR : GP_ISA_VGPR) + number);
}

static inline u16 row(u32 number, bool acc)
{
	return (u16)(number + (acc ? GP_ISA_VECTORS : 0));
}

/* decode_memory.c: the encodings with an address, all of two words. */
void gp_isa_decode_smem(struct gp_isa_inst *inst, const u32 *raw);
void gp_isa_decode_ds(struct gp_isa_inst *inst, const u32 *raw);
int gp_isa_decode_flat(enum gp_isa_gfx gfx, struct gp_isa_inst *inst, const u32 *raw);
void gp_isa_decode_mubuf(struct gp_isa_inst *inst, const u32 *raw);
void gp_isa_decode_mtbuf(struct gp_isa_inst *inst, const u32 *raw);
void gp_isa_decode_mimg(struct gp_isa_inst *inst, const u32 *raw);

#endif
