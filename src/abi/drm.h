/* SPDX-License-Identifier: MIT */
/*
 * The ioctls of a DRM render node that user space sends to amdgpu before it computes: the few of
 * DRM itself, AMDGPU_INFO and buffers. Structures are those of include/uapi/drm/{drm,amdgpu_drm}.h
 * (Linux 6.12), as far as they are answered here; sizes are asserted.
 */
#ifndef GP_ABI_DRM_H
#define GP_ABI_DRM_H

#include <stddef.h>
#include <stdint.h>

#define GP_DRM_MAJOR              226 /* Documentation/admin-guide/devices.txt */
#define GP_DRM_FIRST_RENDER       128

#define GP_DRM_NR_VERSION         0x00
#define GP_DRM_NR_GET_UNIQUE      0x01
#define GP_DRM_NR_GET_CLIENT      0x05
#define GP_DRM_NR_GET_CAP         0x0c
#define GP_DRM_NR_GEM_CLOSE       0x09
#define GP_DRM_NR_PRIME_TO_FD     0x2d
#define GP_DRM_NR_PRIME_TO_HANDLE 0x2e
/* DRM_COMMAND_BASE, 0x40, and the number of amdgpu */
#define GP_DRM_NR_GEM_CREATE    0x40
#define GP_DRM_NR_GEM_MMAP      0x41
#define GP_DRM_NR_INFO          0x45
#define GP_DRM_NR_GEM_METADATA  0x46
#define GP_DRM_NR_GEM_WAIT_IDLE 0x47
#define GP_DRM_NR_GEM_VA        0x48
#define GP_DRM_NR_GEM_OP        0x50

/* Which amdgpu speaks: Linux 6.12. */
#define GP_DRM_AMDGPU_MAJOR 3
#define GP_DRM_AMDGPU_MINOR 59
#define GP_DRM_AMDGPU_NAME  "amdgpu"
#define GP_DRM_AMDGPU_DATE  "20150101"
#define GP_DRM_AMDGPU_TEXT  "AMD GPU"

struct gp_drm_version {
	int32_t major, minor, patchlevel;
	uint64_t name_length, name;
	uint64_t date_length, date;
	uint64_t text_length, text;
};
_Static_assert(sizeof(struct gp_drm_version) == 64, "drm_version");
_Static_assert(offsetof(struct gp_drm_version, name_length) == 16, "drm_version.name_len");

struct gp_drm_get_cap {
	uint64_t capability, value;
};

#define GP_DRM_CAP_PRIME               0x5
#define GP_DRM_CAP_TIMESTAMP_MONOTONIC 0x6
#define GP_DRM_CAP_SYNCOBJ             0x13
#define GP_DRM_CAP_SYNCOBJ_TIMELINE    0x14
#define GP_DRM_PRIME_BOTH              3

struct gp_drm_client {
	int32_t idx, auth;
	uint64_t pid, uid, magic, iocs;
};
_Static_assert(sizeof(struct gp_drm_client) == 40, "drm_client");

struct gp_drm_amdgpu_info {
	uint64_t return_pointer;
	uint32_t return_size, query;
	uint32_t argument[4];
};
_Static_assert(sizeof(struct gp_drm_amdgpu_info) == 32, "drm_amdgpu_info");

enum gp_drm_amdgpu_query {
	GP_AMDGPU_INFO_ACCEL_WORKING = 0x00,
	GP_AMDGPU_INFO_HW_IP_INFO = 0x02,
	GP_AMDGPU_INFO_HW_IP_COUNT = 0x03,
	GP_AMDGPU_INFO_FW_VERSION = 0x0e,
	GP_AMDGPU_INFO_VRAM_USAGE = 0x10,
	GP_AMDGPU_INFO_GTT_USAGE = 0x11,
	GP_AMDGPU_INFO_VRAM_GTT = 0x14,
	GP_AMDGPU_INFO_READ_MMR_REG = 0x15,
	GP_AMDGPU_INFO_DEV_INFO = 0x16,
	GP_AMDGPU_INFO_VIS_VRAM_USAGE = 0x17,
	GP_AMDGPU_INFO_MEMORY = 0x19,
};

#define GP_AMDGPU_FAMILY_AI       141 /* gfx9 */
#define GP_AMDGPU_VRAM_TYPE_HBM   6
#define GP_AMDGPU_GPU_COUNTER_KHZ 100000 /* the 100 MHz reference clock */
#define GP_AMDGPU_GART_PAGE       4096
#define GP_AMDGPU_VA_ALIGNMENT    4096
#define GP_AMDGPU_VA_OFFSET       0x10000ull
#define GP_AMDGPU_VA_MAX          0x800000000000ull
#define GP_AMDGPU_HIGH_VA_OFFSET  0xffff800000000000ull
#define GP_AMDGPU_HIGH_VA_MAX     0xffffffffffe00000ull
#define GP_AMDGPU_PTE_FRAGMENT    (2u << 20)
/* External revision: first number of the chip's range plus its revision (amdgpu/soc15.c). */
#define GP_AMDGPU_EXTERNAL_REV_GFX90A 0x3c
#define GP_AMDGPU_EXTERNAL_REV_GFX942 0x46

struct gp_amdgpu_info_device {
	uint32_t device_id, chip_rev, external_rev, pci_rev, family;
	uint32_t num_shader_engines, num_shader_arrays_per_engine, gpu_counter_freq;
	uint64_t max_engine_clock, max_memory_clock;
	uint32_t cu_active_number, cu_ao_mask, cu_bitmap[4][4];
	uint32_t enabled_rb_pipes_mask, num_rb_pipes, num_hw_gfx_contexts, pcie_gen;
	uint64_t ids_flags, virtual_address_offset, virtual_address_max;
	uint32_t virtual_address_alignment, pte_fragment_size, gart_page_size, ce_ram_size;
	uint32_t vram_type, vram_bit_width, vce_harvest_config, gc_double_offchip_lds_buf;
	uint64_t prim_buf_gpu_addr, pos_buf_gpu_addr, cntl_sb_buf_gpu_addr, param_buf_gpu_addr;
	uint32_t prim_buf_size, pos_buf_size, cntl_sb_buf_size, param_buf_size;
	uint32_t wave_front_size, num_shader_visible_vgprs, num_cu_per_sh, num_tcc_blocks;
	uint32_t gs_vgt_table_depth, gs_prim_buffer_depth, max_gs_waves_per_vgt, pcie_num_lanes;
	uint32_t cu_ao_bitmap[4][4];
	uint64_t high_va_offset, high_va_max;
};
_Static_assert(offsetof(struct gp_amdgpu_info_device, max_engine_clock) == 32, "clocks");
_Static_assert(offsetof(struct gp_amdgpu_info_device, cu_bitmap) == 56, "cu_bitmap");
_Static_assert(offsetof(struct gp_amdgpu_info_device, virtual_address_offset) == 144, "va");
_Static_assert(offsetof(struct gp_amdgpu_info_device, high_va_offset) == 336, "high va");

struct gp_amdgpu_heap_info {
	uint64_t total_heap_size, usable_heap_size, heap_usage, max_allocation;
};

struct gp_amdgpu_memory_info {
	struct gp_amdgpu_heap_info vram, cpu_accessible_vram, gtt;
};

struct gp_amdgpu_vram_gtt {
	uint64_t vram_size, vram_cpu_accessible_size, gtt_size;
};

/* ---- buffers ---- */

struct gp_drm_gem_close {
	uint32_t handle, pad;
};

#define GP_DRM_CLOEXEC 02000000 /* O_CLOEXEC, O_RDWR */
#define GP_DRM_RDWR    02

struct gp_drm_prime_handle {
	uint32_t handle, flags;
	int32_t fd;
};
_Static_assert(sizeof(struct gp_drm_prime_handle) == 12, "drm_prime_handle");

#define GP_AMDGPU_DOMAIN_CPU          0x1
#define GP_AMDGPU_DOMAIN_GTT          0x2
#define GP_AMDGPU_DOMAIN_VRAM         0x4
#define GP_AMDGPU_CPU_ACCESS_REQUIRED 0x1

struct gp_amdgpu_gem_create_in {
	uint64_t bo_size, alignment, domains, domain_flags;
};

union gp_amdgpu_gem_create {
	struct gp_amdgpu_gem_create_in in;
	struct {
		uint32_t handle, pad;
	} out;
};
_Static_assert(sizeof(union gp_amdgpu_gem_create) == 32, "drm_amdgpu_gem_create");

union gp_amdgpu_gem_mmap {
	struct {
		uint32_t handle, pad;
	} in;
	struct {
		uint64_t offset; /* for mmap() on the node */
	} out;
};
_Static_assert(sizeof(union gp_amdgpu_gem_mmap) == 8, "drm_amdgpu_gem_mmap");

#define GP_AMDGPU_METADATA_SET 1
#define GP_AMDGPU_METADATA_GET 2

struct gp_amdgpu_gem_metadata {
	uint32_t handle, op;
	uint64_t flags, tiling;
	uint32_t bytes, words[64];
};
_Static_assert(sizeof(struct gp_amdgpu_gem_metadata) == 288, "drm_amdgpu_gem_metadata");

union gp_amdgpu_gem_wait_idle {
	struct {
		uint32_t handle, flags;
		uint64_t timeout;
	} in;
	struct {
		uint32_t status, domain; /* 0: idle */
	} out;
};
_Static_assert(sizeof(union gp_amdgpu_gem_wait_idle) == 16, "drm_amdgpu_gem_wait_idle");

enum gp_amdgpu_va_operation {
	GP_AMDGPU_VA_MAP = 1,
	GP_AMDGPU_VA_UNMAP = 2,
	GP_AMDGPU_VA_CLEAR = 3,
	GP_AMDGPU_VA_REPLACE = 4,
};

#define GP_AMDGPU_VM_DELAY   (1u << 0)
#define GP_AMDGPU_VM_READ    (1u << 1)
#define GP_AMDGPU_VM_WRITE   (1u << 2)
#define GP_AMDGPU_VM_EXECUTE (1u << 3)
#define GP_AMDGPU_VM_PRT     (1u << 4)
#define GP_AMDGPU_VM_MTYPE   (0xfu << 5)
#define GP_AMDGPU_VM_NOALLOC (1u << 9)

struct gp_amdgpu_gem_va {
	uint32_t handle, pad, operation, flags;
	uint64_t va, offset, size;
};
_Static_assert(sizeof(struct gp_amdgpu_gem_va) == 40, "drm_amdgpu_gem_va");

#define GP_AMDGPU_GEM_OP_GET_CREATE_INFO 0

struct gp_amdgpu_gem_op {
	uint32_t handle, op;
	uint64_t value;
};
_Static_assert(sizeof(struct gp_amdgpu_gem_op) == 16, "drm_amdgpu_gem_op");

/* ---- command submission ---- */

#define GP_DRM_NR_CTX     0x42
#define GP_DRM_NR_BO_LIST 0x43
#define GP_DRM_NR_CS      0x44
#define GP_DRM_NR_WAIT_CS 0x49

enum gp_amdgpu_ctx_operation {
	GP_AMDGPU_CTX_ALLOC = 1,
	GP_AMDGPU_CTX_FREE = 2,
	GP_AMDGPU_CTX_QUERY = 3,
	GP_AMDGPU_CTX_QUERY2 = 4,
};

union gp_amdgpu_ctx {
	struct {
		uint32_t operation, flags, id;
		int32_t priority;
	} in;
	struct {
		uint32_t id, pad;
	} out;
};
_Static_assert(sizeof(union gp_amdgpu_ctx) == 16, "drm_amdgpu_ctx");

enum gp_amdgpu_bo_list_operation {
	GP_AMDGPU_BO_LIST_CREATE,
	GP_AMDGPU_BO_LIST_DESTROY,
	GP_AMDGPU_BO_LIST_UPDATE,
};

union gp_amdgpu_bo_list {
	struct {
		uint32_t operation, handle, count, entry_size;
		uint64_t entries;
	} in;
	struct {
		uint32_t handle, pad;
	} out;
};
_Static_assert(sizeof(union gp_amdgpu_bo_list) == 24, "drm_amdgpu_bo_list");

enum gp_amdgpu_chunk {
	GP_AMDGPU_CHUNK_IB = 1,
	GP_AMDGPU_CHUNK_FENCE = 2,
	GP_AMDGPU_CHUNK_DEPENDENCIES = 3,
	GP_AMDGPU_CHUNK_BO_HANDLES = 6,
};

struct gp_amdgpu_cs_chunk {
	uint32_t id, words;
	uint64_t data;
};

struct gp_amdgpu_cs_ib {
	uint32_t pad, flags;
	uint64_t va;
	uint32_t bytes, ip_type, ip_instance, ring;
};
_Static_assert(sizeof(struct gp_amdgpu_cs_ib) == 32, "drm_amdgpu_cs_chunk_ib");

union gp_amdgpu_cs {
	struct {
		uint32_t context, list, chunk_count, flags;
		uint64_t chunks; /* of pointers */
	} in;
	struct {
		uint64_t handle;
	} out;
};
_Static_assert(sizeof(union gp_amdgpu_cs) == 24, "drm_amdgpu_cs");

union gp_amdgpu_wait_cs {
	struct {
		uint64_t handle, timeout;
		uint32_t ip_type, ip_instance, ring, context;
	} in;
	struct {
		uint64_t status; /* 0: complete */
	} out;
};
_Static_assert(sizeof(union gp_amdgpu_wait_cs) == 32, "drm_amdgpu_wait_cs");

#endif
