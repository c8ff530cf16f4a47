/* SPDX-License-Identifier: MIT */
/* Operations of the DS encoding, for its table. Private to vgpu/isa. */
#ifndef GP_VGPU_ISA_DS_H
#define GP_VGPU_ISA_DS_H

#include "vgpu/isa/memory/access.h"

/* gp_isa_op.shape of operations with two addresses: the offsets count 64 elements each. */
#define GP_ISA_ST64 0x200

/* ds.c: with an address in LDS */
gp_isa_execute gp_isa_ds_read, gp_isa_ds_write, gp_isa_ds_read2, gp_isa_ds_write2;
gp_isa_execute gp_isa_ds_atomic, gp_isa_ds_exchange2, gp_isa_ds_exchange_marked;
gp_isa_execute gp_isa_ds_read_own, gp_isa_ds_write_own; /* addtid */
gp_isa_execute gp_isa_ds_append, gp_isa_ds_consume;

/* ds_lanes.c: between lanes, no memory */
gp_isa_execute gp_isa_ds_swizzle, gp_isa_ds_permute, gp_isa_ds_bpermute, gp_isa_ds_nop;

/* gws.c: which of them is gp_isa_op.shape */
enum gp_isa_gws {
	GP_ISA_GWS_INIT,
	GP_ISA_GWS_BARRIER,
	GP_ISA_GWS_TAKE,
	GP_ISA_GWS_GIVE,
	GP_ISA_GWS_GIVE_MANY,
};
gp_isa_execute gp_isa_ds_gws;

#endif
