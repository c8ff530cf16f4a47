/* SPDX-License-Identifier: MIT */
/*
 * A decoded instruction, and the tables of operations: one per encoding, indexed by opcode. Private
 * to vgpu/isa.
 *
 * decode.c fills struct gp_isa_inst from one to three words; the same operation of a short and a
 * long encoding (VOP2 and VOP3, with SDWA and DPP) has one entry and one function, because operands
 * and modifiers look the same after decoding.
 */
#ifndef GP_VGPU_ISA_INST_H
#define GP_VGPU_ISA_INST_H

#include "vgpu/isa/isa.h"

enum gp_isa_format {
	GP_ISA_SOP2,
	GP_ISA_SOPK,
	GP_ISA_SOP1,
	GP_ISA_SOPC,
	GP_ISA_SOPP,
	GP_ISA_SMEM,
	GP_ISA_VOP1,
	GP_ISA_VOP2,
	GP_ISA_VOPC,
	GP_ISA_VOP3, /* operations that only VOP3 has: opcode - 0x1c0 */
	GP_ISA_VOP3P,
	GP_ISA_DS,
	GP_ISA_FLAT,
	GP_ISA_GLOBAL,
	GP_ISA_SCRATCH,
	GP_ISA_MUBUF,
	GP_ISA_MTBUF,
	GP_ISA_MIMG,
	GP_ISA_FORMATS,
};

/*
 * Operand codes: 0 to 127 scalar registers, 128 to 208 integers, 235 to 239 apertures, 240 to 248
 * floats, 251 vccz, 252 execz, 253 scc, 255 the literal; from 256 on vector registers, v0 to v255,
 * then (from 512 on) a0 to a255.
 */
#define GP_ISA_LITERAL    255
#define GP_ISA_VGPR       256
#define GP_ISA_AGPR       512
#define GP_ISA_NO_OPERAND 0xffff

enum gp_isa_extra { GP_ISA_PLAIN, GP_ISA_SDWA, GP_ISA_DPP };

struct gp_isa_op;
struct gp_isa_rows;

struct gp_isa_inst {
	u64 pc; /* where it was decoded, + 1; 0 = free */
	const struct gp_isa_op *op;
	u32 raw[3];
	u32 literal; /* SOPK: the 16 bits with their sign; SOPP: without */
	u8 words;
	u8 format;      /* enum gp_isa_format, of the table that op is in */
	u8 extra;       /* enum gp_isa_extra */
	bool long_form; /* VOP1, VOP2, VOPC in the encoding VOP3 */
	u16 opcode;     /* index in the table of the format */
	/*
	 * Destination: a vector register as its row in wave->v (AGPRs from 256 on), or the code of
	 * a scalar register for SOP*, SMEM and operations such as v_readlane_b32. VOPC: scalar,
	 * always.
	 */
	u16 dst;
	u16 sdst; /* carry out of VOP3B, VCC in short forms; GP_ISA_NO_OPERAND */
	/*
	 * Operand codes; GP_ISA_NO_OPERAND what the encoding does not have (VOP3 and VOP3P: three
	 * always). Carry in and the mask of v_cndmask: src[2], VCC in short forms. v_madmk:
	 * src[1] is the literal; v_madak: src[2].
	 */
	u16 src[3];
	/* VOP3 and SDWA: bits 0 to 2 per source. VOP3P: neg is neg_lo, abs is neg_hi. */
	u8 abs, neg;
	u8 opsel;    /* VOP3: bits 0 to 2 sources, bit 3 destination; VOP3P: op_sel */
	u8 opsel_hi; /* VOP3P */
	u8 omod;     /* 0, 1: *2, 2: *4, 3: /2 */
	bool clamp;
	union {
		struct {
			u8 dst_sel, dst_unused; /* 0..3 byte, 4..5 word, 6 dword; 0 pad, 1 sign, 2
						   keep */
			u8 src_sel[2];
			bool sext[2];
		} sdwa;
		struct {
			u16 control;
			bool bound_zero; /* bound_ctrl: lanes that are not there read 0 */
			u8 bank_mask, row_mask;
		} dpp;
		struct {
			u8 cbsz, abid, blgp; /* MFMA */
		} mfma;
		/*
		 * SMEM, DS, FLAT, MUBUF, MTBUF: fields that are not used are 0. src[0]: address
		 * (VGPR; SGPR base of SMEM; of scratch there may be none), src[1]: data, src[2]:
		 * second data (DS), saddr or V# (SGPR). dst is set whether the operation has a
		 * result or not. SOPK: offset is the field of 16 bits.
		 */
		struct {
			s32 offset;  /* bytes; DS: offset0 | offset1 << 8 for pairs as well */
			u16 soffset; /* operand code or GP_ISA_NO_OPERAND */
			u8 data_format, number_format; /* MTBUF */
			bool offen, idxen, lds, gds, nv;
			bool glc, slc, scc; /* gfx942: sc0, nt, sc1 */
		} memory;
	};
};

enum gp_isa_flag {
	GP_ISA_MEMORY = 1u << 0, /* ends what may be reordered; unused by the executor */
	GP_ISA_SCALAR_DST =
		1u << 1, /* dst is a scalar register although it is a vector operation */
	GP_ISA_NO_VOP3 = 1u << 2,
};

typedef enum gp_isa_stop gp_isa_execute(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
					const struct gp_isa_inst *inst);

/*
 * One operation. `execute` sees wave->pc behind the instruction already and changes it to branch;
 * it returns GP_ISA_RUNNING, or a stop. On GP_ISA_FAULT nothing of the instruction may have been
 * written to registers, and the caller puts pc back.
 */
struct gp_isa_op {
	const char *name; /* as LLVM writes it, without _e32, _e64, _sdwa, _dpp; NULL: none */
	gp_isa_execute *execute; /* NULL: refused by name */
	u8 gfx;                  /* enum gp_isa_gfx; 0 means both */
	u8 flags;
	const struct gp_isa_op *other; /* of this opcode on the other GPU */
	u16 shape; /* for the executor of the format: which types the operands have */
	union {
		const void *lanes; /* and what to do with the lanes */
		void (*function)(void);
		void (*rows)(struct gp_isa_rows *rows); /* vop.h */
	};
};

struct gp_isa_table {
	const struct gp_isa_op *ops;
	u32 count;
};

extern const struct gp_isa_table gp_isa_sop2, gp_isa_sopk, gp_isa_sop1, gp_isa_sopc, gp_isa_sopp;
extern const struct gp_isa_table gp_isa_smem;
extern const struct gp_isa_table gp_isa_vop1, gp_isa_vop2, gp_isa_vopc, gp_isa_vop3;
extern const struct gp_isa_table gp_isa_vop3p;
extern const struct gp_isa_table gp_isa_ds, gp_isa_flat, gp_isa_global, gp_isa_scratch;
extern const struct gp_isa_table gp_isa_mubuf, gp_isa_mtbuf, gp_isa_mimg;

/* The operation of this opcode on this GPU, or NULL. */
const struct gp_isa_op *gp_isa_op(enum gp_isa_gfx gfx, enum gp_isa_format format, u32 opcode);

/* Words that the instruction may have are read only as far as its length says. 0, or -EINVAL:
 * there is no such instruction; inst->words is 1 at least. */
int gp_isa_decode(enum gp_isa_gfx gfx, const u32 words[3], u32 available, struct gp_isa_inst *inst);

#endif
