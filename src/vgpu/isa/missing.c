// SPDX-License-Identifier: MIT
/* Tables that are not there yet. */
#include "vgpu/isa/inst.h"

const struct gp_isa_table gp_isa_vop1, gp_isa_vop2, gp_isa_vopc, gp_isa_vop3;
