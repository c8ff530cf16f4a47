/* SPDX-License-Identifier: MIT */
/*
 * Architected Queuing Language packets as an AMD compute queue reads them, and the kernel
 * descriptor a dispatch points at. Written from the HSA Platform System Architecture 1.2 (packets),
 * hsa_ext_amd.h of ROCr 5.2.3 (barrier-value), amd_aql_queue.cpp of ROCr 5.2.3 (PM4 in a vendor
 * packet, error codes) and LLVM's AMDGPU usage document (kernel descriptor). Holds no code but
 * field extraction.
 */
#ifndef GP_ABI_AQL_H
#define GP_ABI_AQL_H

#include <stddef.h>

#include <stdbool.h>
#include <stdint.h>

#include "abi/bits.h"

#define GP_AQL_PACKET_BYTES 64

enum gp_aql_type {
	GP_AQL_VENDOR = 0,
	GP_AQL_INVALID = 1, /* not written yet, or already consumed */
	GP_AQL_KERNEL_DISPATCH = 2,
	GP_AQL_BARRIER_AND = 3,
	GP_AQL_AGENT_DISPATCH = 4, /* never valid on a GPU's queue */
	GP_AQL_BARRIER_OR = 5,
};

/* Header: type in 7:0, barrier bit 8, acquire scope 10:9, release scope 12:11. */
#define GP_AQL_HEADER_BARRIER (1u << 8)

static inline enum gp_aql_type gp_aql_type(uint16_t header)
{
	return (enum gp_aql_type)(header & 0xff);
}

struct gp_aql_dispatch {
	uint16_t header;
	uint16_t setup; /* dimensions in 1:0 */
	uint16_t workgroup_x, workgroup_y, workgroup_z;
	uint16_t reserved0;
	uint32_t grid_x, grid_y, grid_z; /* in work items */
	uint32_t private_segment_bytes;  /* per work item */
	uint32_t group_segment_bytes;    /* per workgroup: static and dynamic */
	uint64_t kernel_object;          /* address of the kernel descriptor */
	uint64_t kernarg_address;
	uint64_t reserved2;
	uint64_t completion_signal;
};
_Static_assert(sizeof(struct gp_aql_dispatch) == GP_AQL_PACKET_BYTES, "dispatch packet");
_Static_assert(offsetof(struct gp_aql_dispatch, grid_x) == 12, "dispatch grid");
_Static_assert(offsetof(struct gp_aql_dispatch, kernel_object) == 32, "dispatch kernel");
_Static_assert(offsetof(struct gp_aql_dispatch, completion_signal) == 56, "dispatch signal");

#define GP_AQL_BARRIER_SIGNALS 5

/* Barrier-AND and barrier-OR. Handle 0 means no dependency. */
struct gp_aql_barrier {
	uint16_t header, reserved0;
	uint32_t reserved1;
	uint64_t dependencies[GP_AQL_BARRIER_SIGNALS];
	uint64_t reserved2;
	uint64_t completion_signal;
};
_Static_assert(sizeof(struct gp_aql_barrier) == GP_AQL_PACKET_BYTES, "barrier packet");
_Static_assert(offsetof(struct gp_aql_barrier, dependencies) == 8, "barrier dependencies");
_Static_assert(offsetof(struct gp_aql_barrier, completion_signal) == 56, "barrier signal");

/* Third byte of a vendor packet. */
enum gp_aql_vendor_format {
	GP_AQL_FORMAT_PM4_IB = 1, /* AMD_AQL_FORMAT_PM4_IB */
	GP_AQL_FORMAT_BARRIER_VALUE = 2,
};

/* hsa_signal_condition_t */
enum gp_aql_condition {
	GP_AQL_EQ = 0,
	GP_AQL_NE = 1,
	GP_AQL_LT = 2,
	GP_AQL_GTE = 3,
};

/* Waits for (signal & mask) condition value. */
struct gp_aql_barrier_value {
	uint16_t header;
	uint8_t format, reserved0;
	uint32_t reserved1;
	uint64_t signal;
	int64_t value, mask;
	uint32_t condition;
	uint32_t reserved2;
	uint64_t reserved3, reserved4;
	uint64_t completion_signal;
};
_Static_assert(sizeof(struct gp_aql_barrier_value) == GP_AQL_PACKET_BYTES, "barrier-value packet");
_Static_assert(offsetof(struct gp_aql_barrier_value, condition) == 32, "barrier-value condition");
_Static_assert(offsetof(struct gp_aql_barrier_value, completion_signal) == 56, "barrier-value");

/* Bits the packet processor stores into queue_inactive_signal (DynamicScratchHandler in ROCr). */
#define GP_AQL_ERROR_SCRATCH            0x1u   /* recoverable: more scratch, then 0 is stored */
#define GP_AQL_ERROR_DIMENSIONS         0x2u   /* INCOMPATIBLE_ARGUMENTS */
#define GP_AQL_ERROR_GROUP_MEMORY       0x4u   /* INVALID_ALLOCATION */
#define GP_AQL_ERROR_CODE               0x8u   /* INVALID_CODE_OBJECT */
#define GP_AQL_ERROR_PACKET             0x20u  /* INVALID_PACKET_FORMAT */
#define GP_AQL_ERROR_WORKGROUP          0x40u  /* INVALID_ARGUMENT: group is too large */
#define GP_AQL_ERROR_REGISTERS          0x80u  /* INVALID_ISA */
#define GP_AQL_ERROR_VENDOR             0x100u /* INVALID_PACKET_FORMAT */
#define GP_AQL_SCRATCH_RECLAIM          0x200u /* recoverable: single-use scratch is free again */
#define GP_AQL_ERROR_APERTURE_VIOLATION 0x20000000u
#define GP_AQL_ERROR_ILLEGAL            0x40000000u
#define GP_AQL_ERROR_EXCEPTION          0x80000000u

/* Limits of a gfx9 dispatch: CDNA 2 ISA guide, sections 2.2 and 3.6. */
#define GP_GFX9_WORKGROUP_MAX  1024 /* work items */
#define GP_GFX9_LDS_MAX        (64u << 10)
#define GP_GFX9_SIMD_PER_CU    4
#define GP_GFX9_WAVES_PER_SIMD 8
#define GP_GFX90A_VGPRS        512 /* per lane, architectural and accumulation together */

/*
 * The kernel descriptor of LLVM (code object v3 and later). Kernels inside ROCr carry the older
 * amd_kernel_code_t instead; entry_offset, rsrc1 and rsrc2 are at the same places in both.
 */
struct gp_kernel_descriptor {
	uint32_t group_segment_bytes, private_segment_bytes, kernarg_bytes, reserved0;
	int64_t entry_offset; /* from the descriptor to the code */
	uint8_t reserved1[20];
	uint32_t rsrc3, rsrc1, rsrc2;
	uint16_t properties, reserved2;
	uint32_t reserved3;
};
_Static_assert(sizeof(struct gp_kernel_descriptor) == 64, "kernel descriptor");
_Static_assert(offsetof(struct gp_kernel_descriptor, entry_offset) == 16, "kernel entry");
_Static_assert(offsetof(struct gp_kernel_descriptor, rsrc1) == 48, "kernel rsrc1");

#define GP_KERNEL_DESCRIPTOR_ALIGN 64
#define GP_GFX_VERSION_90A         90010 /* gfx_target_version: major * 10000 + minor * 100 + step */

/* COMPUTE_PGM_RSRC1 bits 5:0 count granules of 8 registers on gfx90a and later CDNA, else of 4. */
static inline uint32_t gp_kernel_vgprs(uint32_t rsrc1, uint32_t gfx_version)
{
	bool cdna2 = gfx_version >= GP_GFX_VERSION_90A && gfx_version < 100000;

	return (gp_bits(rsrc1, 0, 5) + 1) * (cdna2 ? 8 : 4);
}

#endif
