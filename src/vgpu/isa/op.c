// SPDX-License-Identifier: MIT
/* From a format and an opcode to the operation. */
#include "vgpu/isa/inst.h"

static const struct gp_isa_table *const tables[GP_ISA_FORMATS] = {
	[GP_ISA_SOP2] = &gp_isa_sop2,       [GP_ISA_SOPK] = &gp_isa_sopk,
	[GP_ISA_SOP1] = &gp_isa_sop1,       [GP_ISA_SOPC] = &gp_isa_sopc,
	[GP_ISA_SOPP] = &gp_isa_sopp,       [GP_ISA_SMEM] = &gp_isa_smem,
	[GP_ISA_VOP1] = &gp_isa_vop1,       [GP_ISA_VOP2] = &gp_isa_vop2,
	[GP_ISA_VOPC] = &gp_isa_vopc,       [GP_ISA_VOP3] = &gp_isa_vop3,
	[GP_ISA_VOP3P] = &gp_isa_vop3p,     [GP_ISA_DS] = &gp_isa_ds,
	[GP_ISA_FLAT] = &gp_isa_flat,       [GP_ISA_GLOBAL] = &gp_isa_global,
	[GP_ISA_SCRATCH] = &gp_isa_scratch, [GP_ISA_MUBUF] = &gp_isa_mubuf,
	[GP_ISA_MTBUF] = &gp_isa_mtbuf,     [GP_ISA_MIMG] = &gp_isa_mimg,
};

const struct gp_isa_op *gp_isa_op(enum gp_isa_gfx gfx, enum gp_isa_format format, u32 opcode)
{
	const struct gp_isa_op *op;

	if (format >= GP_ISA_FORMATS || opcode >= tables[format]->count)
		return NULL;
	op = &tables[format]->ops[opcode];
	while (op && op->name && op->gfx && !(op->gfx & gfx))
		op = op->other;
	return op && op->name ? op : NULL;
}
