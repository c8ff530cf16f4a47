/* SPDX-License-Identifier: MIT */
/*
 * Behaviour of amdkfd 6.12 beyond its user header, and the constants of that header that only a
 * replacement of the driver needs. Each group names its source.
 */
#ifndef GP_ABI_KFD_DRIVER_H
#define GP_ABI_KFD_DRIVER_H

#include "abi/kfd_ioctl.h"

/* ---- events: include/uapi/linux/kfd_ioctl.h, amdkfd/kfd_events.h ---- */

enum gp_kfd_event_type {
	GP_KFD_EVENT_SIGNAL = 0,
	GP_KFD_EVENT_HW_EXCEPTION = 3,
	GP_KFD_EVENT_DEBUG = 5,
	GP_KFD_EVENT_MEMORY = 8,
};

#define GP_KFD_TIMEOUT_IMMEDIATE 0u
#define GP_KFD_TIMEOUT_INFINITE  0xffffffffu
#define GP_KFD_TIMEOUT_MAX_MS    0x7fffffffu /* longer ones are cut to this */
/* Signal events have the number of their slot in the event page; the others live up here. */
#define GP_KFD_FIRST_NONSIGNAL_EVENT 0x40000000u
/* The value of an event page slot until the GPU writes it, per byte and as a whole. */
#define GP_KFD_UNSIGNALED_BYTE 0xff
#define GP_KFD_UNSIGNALED_SLOT (~0ull)
/* Slots in use before user space has said how much of the page it mapped. */
#define GP_KFD_OLDEST_EVENT_SLOTS 256u
#define GP_KFD_FIRST_EVENT_AGE    1u

/* ---- address spaces: amdkfd/kfd_flat_memory.c, gfx9 and later ---- */

#define GP_KFD_LDS_BASE      0x1000000000000ull
#define GP_KFD_LDS_LIMIT     (GP_KFD_LDS_BASE | 0xffffffffull)
#define GP_KFD_SCRATCH_BASE  0x2000000000000ull
#define GP_KFD_SCRATCH_LIMIT (GP_KFD_SCRATCH_BASE | 0xffffffffull)
#define GP_KFD_GPUVM_BASE    0x10000ull /* AMDGPU_VA_RESERVED_BOTTOM */
#define GP_KFD_GPUVM_LIMIT   0x7fffffffffffull
/* First address access_ok() refuses on x86-64 with four page-table levels. */
#define GP_KFD_USER_END 0x7ffffffff000ull

#define GP_KFD_PAGE     4096u

/* handle of ALLOC_MEMORY_OF_GPU: gpu_id, then an index that starts at 0 on each GPU. */
#define GP_KFD_HANDLE_GPU_SHIFT 32

/* ---- numbers in the handlers of amdkfd/kfd_chardev.c ---- */

enum gp_kfd_cache_policy { GP_KFD_POLICY_COHERENT, GP_KFD_POLICY_NONCOHERENT };

#define GP_KFD_APERTURES_OLD       7    /* NUM_OF_SUPPORTED_GPUS */
#define GP_KFD_MAX_CU_MASK         1024 /* longer masks are cut to this many bits */
#define GP_KFD_SYSTEM_CLOCK_HZ     1000000000ull
#define GP_KFD_TILE_MODES          32
#define GP_KFD_MACRO_TILE_MODES    16
#define GP_KFD_GB_ADDR_CONFIG_GFX9 0x2a114042u /* amdgpu/gfx_v9_0.c, golden value */
#define GP_KFD_EOP_MIN             4096u       /* kfd_queue.c */
#define GP_KFD_PERCENT_MASK        0xffu /* of queue_percentage; bits 15:8 choose an XCC for PM4 */
/* The kernel's own "not supported", which leaks to user space for a bad queue_type. */
#define GP_KFD_ENOTSUPP 524

/* ---- SVM: include/uapi/linux/kfd_ioctl.h ---- */

enum gp_kfd_svm_op { GP_KFD_SVM_SET, GP_KFD_SVM_GET };

enum gp_kfd_svm_attribute_type {
	GP_KFD_SVM_PREFERRED_LOC,
	GP_KFD_SVM_PREFETCH_LOC,
	GP_KFD_SVM_ACCESS,
	GP_KFD_SVM_ACCESS_IN_PLACE,
	GP_KFD_SVM_NO_ACCESS,
	GP_KFD_SVM_SET_FLAGS,
	GP_KFD_SVM_CLR_FLAGS,
	GP_KFD_SVM_GRANULARITY,
};

#define GP_KFD_SVM_LOCATION_SYSMEM    0u
#define GP_KFD_SVM_LOCATION_UNDEFINED 0xffffffffu
#define GP_KFD_SVM_FLAG_HOST_ACCESS   (1u << 0)
#define GP_KFD_SVM_FLAG_COHERENT      (1u << 1)
#define GP_KFD_SVM_DEFAULT_FLAGS      (GP_KFD_SVM_FLAG_HOST_ACCESS | GP_KFD_SVM_FLAG_COHERENT)
#define GP_KFD_SVM_DEFAULT_GRANULE    9u /* 2 MiB as log2 of pages */
#define GP_KFD_SVM_MAX_GRANULE        0x3fu

/* ---- device numbers ---- */

/* The major number of /dev/kfd is assigned at load time; this is a usual one. */
#define GP_KFD_MAJOR 235

#endif
