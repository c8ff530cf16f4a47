/* SPDX-License-Identifier: MIT */
/* Operations of FLAT, GLOBAL and SCRATCH, for their tables. Private to vgpu/isa. */
#ifndef GP_VGPU_ISA_FLAT_H
#define GP_VGPU_ISA_FLAT_H

#include "vgpu/isa/memory/access.h"

gp_isa_execute gp_isa_flat_load, gp_isa_flat_store, gp_isa_flat_atomic;
gp_isa_execute gp_isa_global_load, gp_isa_global_store, gp_isa_global_atomic;
gp_isa_execute gp_isa_scratch_load, gp_isa_scratch_store;

#endif
