// SPDX-License-Identifier: MIT
/*
 * From words to a decoded instruction: which encoding the first word has, how long the instruction
 * is, and where its fields are. Operations are looked up in the tables; what an operation does with
 * its operands is no concern here, except where opcodes give a field another meaning.
 */
#include "vgpu/isa/decode.h"

/* Source operands that announce a second word. */
#define SOURCE_SDWA 249
#define SOURCE_DPP  250

/* Where the operations of the short encodings are within the opcodes of VOP3. */
#define VOP3_VOP2 0x100
#define VOP3_VOP1 0x140
#define VOP3_OWN  0x1c0

/* Opcodes whose fields differ from those of their neighbours. */
enum {
	SOP1_GETPC = 0x1c, /* has no source */
	SOPK_SETREG_IMMEDIATE = 0x14,
	VOP1_ACCVGPR_MOV = 0x52,
	VOP2_CNDMASK = 0x00,
	VOP2_MADMK_F32 = 0x17,
	VOP2_MADAK_F32 = 0x18,
	VOP2_ADD_CO = 0x19, /* to 0x1e: carry out; from 0x1c on carry in */
	VOP2_ADDC_CO = 0x1c,
	VOP2_SUBBREV_CO = 0x1e,
	VOP2_MADMK_F16 = 0x24,
	VOP2_MADAK_F16 = 0x25,
	VOP3_DIV_SCALE_F32 = 0x1e0 - VOP3_OWN,
	VOP3_DIV_SCALE_F64 = 0x1e1 - VOP3_OWN,
	VOP3_MAD_U64_U32 = 0x1e8 - VOP3_OWN,
	VOP3_MAD_I64_I32 = 0x1e9 - VOP3_OWN,
	VOP3P_MATRIX_FIRST = 0x3e,
	VOP3P_ACCVGPR_READ = 0x58,
	VOP3P_ACCVGPR_WRITE = 0x59,
};

/* A literal behind the words so far, if a source asks for one. */
static void literal_add(struct gp_isa_inst *inst, bool wanted)
{
	if (!wanted)
		return;
	inst->literal = inst->raw[inst->words];
	inst->words++;
}

static void sop2_decode(struct gp_isa_inst *inst, u32 word)
{
	inst->format = GP_ISA_SOP2;
	inst->opcode = (u16)bits(word, 23, 7);
	inst->dst = (u16)bits(word, 16, 7);
	inst->src[0] = (u16)bits(word, 0, 8);
	inst->src[1] = (u16)bits(word, 8, 8);
	literal_add(inst, inst->src[0] == GP_ISA_LITERAL || inst->src[1] == GP_ISA_LITERAL);
}

/* The 16 bits are the literal, with their sign; s_setreg_imm32_b32 has them in the offset. */
static void sopk_decode(struct gp_isa_inst *inst, u32 word)
{
	inst->format = GP_ISA_SOPK;
	inst->opcode = (u16)bits(word, 23, 5);
	inst->dst = (u16)bits(word, 16, 7);
	inst->memory.offset = extend(word, 16);
	inst->literal = (u32)inst->memory.offset;
	literal_add(inst, inst->opcode == SOPK_SETREG_IMMEDIATE);
}

static void sop1_decode(struct gp_isa_inst *inst, u32 word)
{
	inst->format = GP_ISA_SOP1;
	inst->opcode = (u16)bits(word, 8, 8);
	inst->dst = (u16)bits(word, 16, 7);
	inst->src[0] = (u16)bits(word, 0, 8);
	literal_add(inst, inst->src[0] == GP_ISA_LITERAL && inst->opcode != SOP1_GETPC);
}

static void sopc_decode(struct gp_isa_inst *inst, u32 word)
{
	inst->format = GP_ISA_SOPC;
	inst->opcode = (u16)bits(word, 16, 7);
	inst->src[0] = (u16)bits(word, 0, 8);
	inst->src[1] = (u16)bits(word, 8, 8);
	literal_add(inst, inst->src[0] == GP_ISA_LITERAL || inst->src[1] == GP_ISA_LITERAL);
}

static void sopp_decode(struct gp_isa_inst *inst, u32 word)
{
	inst->format = GP_ISA_SOPP;
	inst->opcode = (u16)bits(word, 16, 7);
	inst->literal = bits(word, 0, 16);
}

static void scalar_decode(struct gp_isa_inst *inst, u32 word)
{
	switch (word >> 23) {
	case 0x17d:
		sop1_decode(inst, word);
		return;
	case 0x17e:
		sopc_decode(inst, word);
		return;
	case 0x17f:
		sopp_decode(inst, word);
		return;
	default:
		if (word >> 28 == 0xb)
			sopk_decode(inst, word);
		else
			sop2_decode(inst, word);
	}
}

static bool vop2_has_literal(u32 opcode)
{
	return opcode == VOP2_MADMK_F32 || opcode == VOP2_MADAK_F32 || opcode == VOP2_MADMK_F16 ||
	       opcode == VOP2_MADAK_F16;
}

/* Where VOP2 has more than two sources and one result; VCC in the short form. */
static void vop2_operands(struct gp_isa_inst *inst, u16 carry_out, u16 carry_in)
{
	u32 opcode = inst->opcode;

	if (opcode >= VOP2_ADD_CO && opcode <= VOP2_SUBBREV_CO)
		inst->sdst = carry_out;
	if (opcode == VOP2_CNDMASK || (opcode >= VOP2_ADDC_CO && opcode <= VOP2_SUBBREV_CO))
		inst->src[2] = carry_in;
	if (opcode == VOP2_MADMK_F32 || opcode == VOP2_MADMK_F16) {
		inst->src[2] = inst->src[1];
		inst->src[1] = GP_ISA_LITERAL;
	}
	if (opcode == VOP2_MADAK_F32 || opcode == VOP2_MADAK_F16)
		inst->src[2] = GP_ISA_LITERAL;
}

static void sdwa_decode(struct gp_isa_inst *inst, u32 word)
{
	inst->words = 2;
	inst->extra = GP_ISA_SDWA;
	inst->src[0] = bit(word, 23) ? (u16)bits(word, 0, 8) : vgpr(bits(word, 0, 8), false);
	if (inst->src[1] != GP_ISA_NO_OPERAND && bit(word, 31))
		inst->src[1] = (u16)(inst->src[1] - GP_ISA_VGPR);
	inst->sdwa.src_sel[0] = (u8)bits(word, 16, 3);
	inst->sdwa.src_sel[1] = (u8)bits(word, 24, 3);
	inst->sdwa.sext[0] = bit(word, 19);
	inst->sdwa.sext[1] = bit(word, 27);
	inst->neg = (u8)(bits(word, 20, 1) | bits(word, 28, 1) << 1);
	inst->abs = (u8)(bits(word, 21, 1) | bits(word, 29, 1) << 1);
	inst->sdwa.dst_sel = 6;
	if (inst->format == GP_ISA_VOPC) {
		inst->dst = bit(word, 15) ? (u16)bits(word, 8, 7) : GP_ISA_VCC;
		return;
	}
	inst->sdwa.dst_sel = (u8)bits(word, 8, 3);
	inst->sdwa.dst_unused = (u8)bits(word, 11, 2);
	inst->clamp = bit(word, 13);
	inst->omod = (u8)bits(word, 14, 2);
}

static void dpp_decode(struct gp_isa_inst *inst, u32 word)
{
	inst->words = 2;
	inst->extra = GP_ISA_DPP;
	inst->src[0] = vgpr(bits(word, 0, 8), false);
	inst->dpp.control = (u16)bits(word, 8, 9);
	inst->dpp.bound_zero = bit(word, 19);
	inst->neg = (u8)(bits(word, 20, 1) | bits(word, 22, 1) << 1);
	inst->abs = (u8)(bits(word, 21, 1) | bits(word, 23, 1) << 1);
	inst->dpp.bank_mask = (u8)bits(word, 24, 4);
	inst->dpp.row_mask = (u8)bits(word, 28, 4);
}

static void acc_sources(struct gp_isa_inst *inst, u32 which)
{
	for (u32 n = 0; n < GP_ARRAY_SIZE(inst->src); n++)
		if (which >> n & 1 && inst->src[n] >= GP_ISA_VGPR)
			inst->src[n] = (u16)(inst->src[n] + GP_ISA_AGPR - GP_ISA_VGPR);
}

/* The common part of VOP1, VOP2 and VOPC in their short form. */
static int short_decode(struct gp_isa_inst *inst, u32 word)
{
	u32 source = bits(word, 0, 9);

	inst->dst = row(bits(word, 17, 8), false);
	inst->src[0] = (u16)source;
	if (word >> 25 == 0x3f) {
		inst->format = GP_ISA_VOP1;
		inst->opcode = (u16)bits(word, 9, 8);
	} else if (word >> 25 == 0x3e) {
		inst->format = GP_ISA_VOPC;
		inst->opcode = (u16)bits(word, 17, 8);
		inst->src[1] = vgpr(bits(word, 9, 8), false);
		inst->dst = GP_ISA_VCC;
	} else {
		inst->format = GP_ISA_VOP2;
		inst->opcode = (u16)bits(word, 25, 6);
		inst->src[1] = vgpr(bits(word, 9, 8), false);
	}
	if (inst->format == GP_ISA_VOP2 && vop2_has_literal(inst->opcode)) {
		if (source == SOURCE_SDWA || source == SOURCE_DPP)
			return -EINVAL;
		literal_add(inst, true);
	} else if (source == SOURCE_SDWA) {
		sdwa_decode(inst, inst->raw[1]);
	} else if (source == SOURCE_DPP) {
		dpp_decode(inst, inst->raw[1]);
	} else {
		literal_add(inst, source == GP_ISA_LITERAL);
	}
	if (inst->format == GP_ISA_VOP2)
		vop2_operands(inst, GP_ISA_VCC, GP_ISA_VCC);
	if (inst->format == GP_ISA_VOP1 && inst->opcode == VOP1_ACCVGPR_MOV) {
		inst->dst = row(inst->dst, true);
		acc_sources(inst, 1);
	}
	return 0;
}

static bool vop3_has_sdst(const struct gp_isa_inst *inst)
{
	u32 opcode = inst->opcode;

	if (inst->format == GP_ISA_VOP2)
		return opcode >= VOP2_ADD_CO && opcode <= VOP2_SUBBREV_CO;
	return inst->format == GP_ISA_VOP3 &&
	       (opcode == VOP3_DIV_SCALE_F32 || opcode == VOP3_DIV_SCALE_F64 ||
		opcode == VOP3_MAD_U64_U32 || opcode == VOP3_MAD_I64_I32);
}

/* The format whose table has the operation, and how many of the three sources it reads. */
static void vop3_format(struct gp_isa_inst *inst, u32 opcode)
{
	u32 sources = 3;

	if (opcode < VOP3_VOP2) {
		inst->format = GP_ISA_VOPC;
		inst->opcode = (u16)opcode;
		sources = 2;
	} else if (opcode < VOP3_VOP1) {
		inst->format = GP_ISA_VOP2;
		inst->opcode = (u16)(opcode - VOP3_VOP2);
		sources = 2;
	} else if (opcode < VOP3_OWN) {
		inst->format = GP_ISA_VOP1;
		inst->opcode = (u16)(opcode - VOP3_VOP1);
		sources = 1;
	} else {
		inst->format = GP_ISA_VOP3;
		inst->opcode = (u16)(opcode - VOP3_OWN);
	}
	inst->long_form = inst->format != GP_ISA_VOP3;
	for (u32 n = 0; n < sources; n++)
		inst->src[n] = (u16)bits(inst->raw[1], 9 * n, 9);
}

static int vop3_decode(struct gp_isa_inst *inst, const u32 *raw)
{
	u16 carry_in = (u16)bits(raw[1], 18, 9);

	inst->words = 2;
	vop3_format(inst, bits(raw[0], 16, 10));
	inst->dst = (u16)bits(raw[0], 0, 8);
	inst->clamp = bit(raw[0], 15);
	inst->omod = (u8)bits(raw[1], 27, 2);
	inst->neg = (u8)bits(raw[1], 29, 3);
	if (vop3_has_sdst(inst)) {
		inst->sdst = (u16)bits(raw[0], 8, 7);
	} else {
		inst->abs = (u8)bits(raw[0], 8, 3);
		inst->opsel = (u8)bits(raw[0], 11, 4);
	}
	if (inst->format == GP_ISA_VOP2) {
		if (vop2_has_literal(inst->opcode))
			return -EINVAL;
		vop2_operands(inst, inst->sdst, carry_in);
	}
	return 0;
}

static void vop3p_decode(struct gp_isa_inst *inst, const u32 *raw)
{
	u32 opcode = bits(raw[0], 16, 7);

	inst->format = GP_ISA_VOP3P;
	inst->words = 2;
	inst->opcode = (u16)opcode;
	for (u32 n = 0; n < GP_ARRAY_SIZE(inst->src); n++)
		inst->src[n] = (u16)bits(raw[1], 9 * n, 9);
	if (opcode == VOP3P_ACCVGPR_READ || opcode == VOP3P_ACCVGPR_WRITE) {
		bool write = opcode == VOP3P_ACCVGPR_WRITE;

		inst->dst = row(bits(raw[0], 0, 8), write);
		inst->src[1] = inst->src[2] = GP_ISA_NO_OPERAND;
		acc_sources(inst, write ? 0 : 1);
	} else if (opcode >= VOP3P_MATRIX_FIRST) {
		bool acc = bit(raw[0], 15);

		inst->dst = row(bits(raw[0], 0, 8), acc);
		inst->mfma.abid = (u8)bits(raw[0], 11, 4);
		inst->mfma.cbsz = (u8)bits(raw[0], 8, 3);
		inst->mfma.blgp = (u8)bits(raw[1], 29, 3);
		acc_sources(inst, bits(raw[1], 27, 2) | (acc ? 4 : 0));
	} else {
		inst->dst = row(bits(raw[0], 0, 8), false);
		inst->clamp = bit(raw[0], 15);
		inst->opsel = (u8)bits(raw[0], 11, 3);
		inst->opsel_hi = (u8)(bits(raw[1], 27, 2) | bits(raw[0], 14, 1) << 2);
		inst->abs = (u8)bits(raw[0], 8, 3);
		inst->neg = (u8)bits(raw[1], 29, 3);
	}
}

static int encoding_decode(enum gp_isa_gfx gfx, struct gp_isa_inst *inst)
{
	const u32 *raw = inst->raw;

	if (!bit(raw[0], 31))
		return short_decode(inst, raw[0]);
	if (raw[0] >> 30 == 2) {
		scalar_decode(inst, raw[0]);
		return 0;
	}
	switch (raw[0] >> 26) {
	case 0x30:
		gp_isa_decode_smem(inst, raw);
		return 0;
	case 0x34:
		if (bits(raw[0], 23, 3) == 7) {
			vop3p_decode(inst, raw);
			return 0;
		}
		return vop3_decode(inst, raw);
	case 0x36:
		gp_isa_decode_ds(inst, raw);
		return 0;
	case 0x37:
		return gp_isa_decode_flat(gfx, inst, raw);
	case 0x38:
		gp_isa_decode_mubuf(inst, raw);
		return 0;
	case 0x3a:
		gp_isa_decode_mtbuf(inst, raw);
		return 0;
	case 0x3c:
		gp_isa_decode_mimg(inst, raw);
		return 0;
	default:
		return -EINVAL;
	}
}

/* Whether a vector operation has the scalar registers that it would write: the fields name more
 * than there are. */
static bool scalars_exist(const struct gp_isa_inst *inst)
{
	u32 pairs = GP_ISA_SCALARS - 1;

	if (inst->format == GP_ISA_VOPC && inst->dst >= pairs)
		return false;
	if (inst->op->flags & GP_ISA_SCALAR_DST && inst->dst >= GP_ISA_SCALARS)
		return false;
	return inst->sdst == GP_ISA_NO_OPERAND || inst->sdst < pairs;
}

int gp_isa_decode(enum gp_isa_gfx gfx, const u32 words[3], u32 available, struct gp_isa_inst *inst)
{
	*inst = (struct gp_isa_inst){
		.words = 1,
		.dst = GP_ISA_NO_OPERAND,
		.sdst = GP_ISA_NO_OPERAND,
		.src = {GP_ISA_NO_OPERAND, GP_ISA_NO_OPERAND, GP_ISA_NO_OPERAND},
	};
	memcpy(inst->raw, words, GP_MIN(available, (u32)GP_ARRAY_SIZE(inst->raw)) * sizeof(u32));
	if (encoding_decode(gfx, inst) || inst->words > available)
		return -EINVAL;
	inst->op = gp_isa_op(gfx, inst->format, inst->opcode);
	if (!inst->op || (inst->long_form && inst->op->flags & GP_ISA_NO_VOP3) ||
	    !scalars_exist(inst))
		return -EINVAL;
	return 0;
}
