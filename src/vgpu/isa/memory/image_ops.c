// SPDX-License-Identifier: MIT
/* The table of MIMG. All refused: kernels for compute on these GPUs use buffers, and gfx942 has no
 * images at all. */
#include "vgpu/isa/inst.h"

static const struct gp_isa_op mimg_ops[] = {
	[0x00] = {.name = "image_load", .gfx = GP_ISA_GFX90A},
	[0x01] = {.name = "image_load_mip", .gfx = GP_ISA_GFX90A},
	[0x02] = {.name = "image_load_pck", .gfx = GP_ISA_GFX90A},
	[0x03] = {.name = "image_load_pck_sgn", .gfx = GP_ISA_GFX90A},
	[0x04] = {.name = "image_load_mip_pck", .gfx = GP_ISA_GFX90A},
	[0x05] = {.name = "image_load_mip_pck_sgn", .gfx = GP_ISA_GFX90A},
	[0x08] = {.name = "image_store", .gfx = GP_ISA_GFX90A},
	[0x09] = {.name = "image_store_mip", .gfx = GP_ISA_GFX90A},
	[0x0a] = {.name = "image_store_pck", .gfx = GP_ISA_GFX90A},
	[0x0b] = {.name = "image_store_mip_pck", .gfx = GP_ISA_GFX90A},
	[0x0e] = {.name = "image_get_resinfo", .gfx = GP_ISA_GFX90A},
	[0x10] = {.name = "image_atomic_swap", .gfx = GP_ISA_GFX90A},
	[0x11] = {.name = "image_atomic_cmpswap", .gfx = GP_ISA_GFX90A},
	[0x12] = {.name = "image_atomic_add", .gfx = GP_ISA_GFX90A},
	[0x13] = {.name = "image_atomic_sub", .gfx = GP_ISA_GFX90A},
	[0x14] = {.name = "image_atomic_smin", .gfx = GP_ISA_GFX90A},
	[0x15] = {.name = "image_atomic_umin", .gfx = GP_ISA_GFX90A},
	[0x16] = {.name = "image_atomic_smax", .gfx = GP_ISA_GFX90A},
	[0x17] = {.name = "image_atomic_umax", .gfx = GP_ISA_GFX90A},
	[0x18] = {.name = "image_atomic_and", .gfx = GP_ISA_GFX90A},
	[0x19] = {.name = "image_atomic_or", .gfx = GP_ISA_GFX90A},
	[0x1a] = {.name = "image_atomic_xor", .gfx = GP_ISA_GFX90A},
	[0x1b] = {.name = "image_atomic_inc", .gfx = GP_ISA_GFX90A},
	[0x1c] = {.name = "image_atomic_dec", .gfx = GP_ISA_GFX90A},
	[0x20] = {.name = "image_sample", .gfx = GP_ISA_GFX90A},
};
const struct gp_isa_table gp_isa_mimg = {mimg_ops, GP_ARRAY_SIZE(mimg_ops)};
