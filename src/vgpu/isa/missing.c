// SPDX-License-Identifier: MIT
/* Tables that are not there yet. */
#include "vgpu/isa/inst.h"

const struct gp_isa_table gp_isa_vop1, gp_isa_vop2, gp_isa_vopc, gp_isa_vop3;
const struct gp_isa_table gp_isa_ds, gp_isa_flat, gp_isa_global, gp_isa_scratch;
const struct gp_isa_table gp_isa_mubuf, gp_isa_mtbuf, gp_isa_mimg;
