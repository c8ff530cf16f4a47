// SPDX-License-Identifier: MIT
/* Decoding of SMEM, DS, FLAT, MUBUF, MTBUF and MIMG. */
#include "vgpu/isa/decode.h"

#define SADDR_OFF 0x7f

enum segment { SEGMENT_FLAT, SEGMENT_SCRATCH, SEGMENT_GLOBAL };

void gp_isa_decode_smem(struct gp_isa_inst *inst, const u32 *raw)
{
	bool immediate = bit(raw[0], 17), scalar = bit(raw[0], 14);

	inst->format = GP_ISA_SMEM;
	inst->words = 2;
	inst->opcode = (u16)bits(raw[0], 18, 8);
	inst->src[0] = (u16)(bits(raw[0], 0, 6) * 2);
	inst->dst = inst->src[1] = (u16)bits(raw[0], 6, 7);
	inst->memory.nv = bit(raw[0], 15);
	inst->memory.glc = bit(raw[0], 16);
	inst->memory.offset = immediate ? extend(raw[1], 21) : 0;
	inst->memory.soffset = GP_ISA_NO_OPERAND;
	if (scalar)
		inst->memory.soffset = (u16)bits(raw[1], 25, 7);
	else if (!immediate)
		inst->memory.soffset = (u16)bits(raw[1], 0, 7);
}

void gp_isa_decode_ds(struct gp_isa_inst *inst, const u32 *raw)
{
	bool acc = bit(raw[0], 25);

	inst->format = GP_ISA_DS;
	inst->words = 2;
	inst->opcode = (u16)bits(raw[0], 17, 8);
	inst->memory.offset = (s32)bits(raw[0], 0, 16);
	inst->memory.gds = bit(raw[0], 16);
	inst->memory.soffset = GP_ISA_NO_OPERAND;
	inst->src[0] = vgpr(bits(raw[1], 0, 8), false);
	inst->src[1] = vgpr(bits(raw[1], 8, 8), acc);
	inst->src[2] = vgpr(bits(raw[1], 16, 8), acc);
	inst->dst = row(bits(raw[1], 24, 8), acc);
}

/* Whether the address has a part in a VGPR. Scratch: gfx942 has a bit that says so; on gfx90a it
 * is the VGPR or the SGPR. */
static bool flat_has_vaddr(enum gp_isa_gfx gfx, const struct gp_isa_inst *inst)
{
	if (inst->format != GP_ISA_SCRATCH)
		return true;
	return gfx == GP_ISA_GFX942 ? bit(inst->raw[0], 13) : inst->src[2] == GP_ISA_NO_OPERAND;
}

int gp_isa_decode_flat(enum gp_isa_gfx gfx, struct gp_isa_inst *inst, const u32 *raw)
{
	static const u8 formats[] = {
		[SEGMENT_FLAT] = GP_ISA_FLAT,
		[SEGMENT_SCRATCH] = GP_ISA_SCRATCH,
		[SEGMENT_GLOBAL] = GP_ISA_GLOBAL,
	};
	u32 segment = bits(raw[0], 14, 2), saddr = bits(raw[1], 16, 7);
	bool acc = bit(raw[1], 23);

	inst->words = 2;
	if (segment >= GP_ARRAY_SIZE(formats))
		return -EINVAL;
	inst->format = formats[segment];
	inst->opcode = (u16)bits(raw[0], 18, 7);
	inst->memory.offset =
		segment == SEGMENT_FLAT ? (s32)bits(raw[0], 0, 12) : extend(raw[0], 13);
	inst->memory.soffset = GP_ISA_NO_OPERAND;
	inst->memory.lds = bit(raw[0], 13) && segment != SEGMENT_SCRATCH;
	inst->memory.glc = bit(raw[0], 16);
	inst->memory.slc = bit(raw[0], 17);
	inst->memory.scc = bit(raw[0], 25);
	if (segment != SEGMENT_FLAT && saddr != SADDR_OFF)
		inst->src[2] = (u16)saddr;
	if (flat_has_vaddr(gfx, inst))
		inst->src[0] = vgpr(bits(raw[1], 0, 8), false);
	inst->src[1] = vgpr(bits(raw[1], 8, 8), acc);
	inst->dst = row(bits(raw[1], 24, 8), acc);
	return 0;
}

/* What MUBUF, MTBUF and MIMG have in the second word. */
static void buffer_operands(struct gp_isa_inst *inst, u32 word)
{
	bool acc = bit(word, 23);

	inst->words = 2;
	inst->src[0] = vgpr(bits(word, 0, 8), false);
	inst->src[1] = vgpr(bits(word, 8, 8), acc);
	inst->dst = row(bits(word, 8, 8), acc);
	inst->src[2] = (u16)(bits(word, 16, 5) * 4);
	inst->memory.soffset = (u16)bits(word, 24, 8);
}

void gp_isa_decode_mubuf(struct gp_isa_inst *inst, const u32 *raw)
{
	inst->format = GP_ISA_MUBUF;
	inst->opcode = (u16)bits(raw[0], 18, 7);
	buffer_operands(inst, raw[1]);
	inst->memory.offset = (s32)bits(raw[0], 0, 12);
	inst->memory.offen = bit(raw[0], 12);
	inst->memory.idxen = bit(raw[0], 13);
	inst->memory.glc = bit(raw[0], 14);
	inst->memory.scc = bit(raw[0], 15);
	inst->memory.lds = bit(raw[0], 16);
	inst->memory.slc = bit(raw[0], 17);
}

void gp_isa_decode_mtbuf(struct gp_isa_inst *inst, const u32 *raw)
{
	inst->format = GP_ISA_MTBUF;
	inst->opcode = (u16)bits(raw[0], 15, 4);
	buffer_operands(inst, raw[1]);
	inst->memory.offset = (s32)bits(raw[0], 0, 12);
	inst->memory.offen = bit(raw[0], 12);
	inst->memory.idxen = bit(raw[0], 13);
	inst->memory.glc = bit(raw[0], 14);
	inst->memory.data_format = (u8)bits(raw[0], 19, 4);
	inst->memory.number_format = (u8)bits(raw[0], 23, 3);
	inst->memory.scc = bit(raw[1], 21);
	inst->memory.slc = bit(raw[1], 22);
}

/* Images are refused by name; only their operation is decoded. */
void gp_isa_decode_mimg(struct gp_isa_inst *inst, const u32 *raw)
{
	inst->format = GP_ISA_MIMG;
	inst->opcode = (u16)(bits(raw[0], 18, 7) | bits(raw[0], 0, 1) << 7);
	buffer_operands(inst, raw[1]);
}
