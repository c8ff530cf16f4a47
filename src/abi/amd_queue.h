/* SPDX-License-Identifier: MIT */
/*
 * amd_queue_t: the state of an AQL queue that ROCr shares with the packet processor. The read and
 * write pointers given to CREATE_QUEUE point into it, so a driver that knows only those can find
 * it. Layout of amd_hsa_queue.h, ROCr 5.2.3 (unchanged up to ROCm 6). AMD logs print its address as
 * HWq.
 */
#ifndef GP_ABI_AMD_QUEUE_H
#define GP_ABI_AMD_QUEUE_H

#include <stddef.h>

#include <stdint.h>

struct gp_hsa_queue {
	uint32_t type, features;
	uint64_t base_address;
	uint64_t doorbell_signal;
	uint32_t size; /* packets */
	uint32_t reserved1;
	uint64_t id;
};
_Static_assert(sizeof(struct gp_hsa_queue) == 40, "hsa_queue_t");

#define GP_AMD_QUEUE_PROFILING    (1u << 3)
#define GP_AMD_QUEUE_SCRATCH_ONCE (1u << 4) /* give the scratch back after the next dispatch */

struct gp_amd_queue {
	struct gp_hsa_queue hsa_queue;
	uint32_t reserved1[4];
	uint64_t write_dispatch_id;
	uint32_t group_segment_aperture_base_hi, private_segment_aperture_base_hi;
	uint32_t max_cu_id, max_wave_id;
	uint64_t max_legacy_doorbell_dispatch_id_plus_1;
	uint32_t legacy_doorbell_lock;
	uint32_t reserved2[9];
	uint64_t read_dispatch_id;
	uint32_t read_dispatch_id_field_base_byte_offset;
	uint32_t compute_tmpring_size; /* 0 = no scratch */
	uint32_t scratch_resource_descriptor[4];
	uint64_t scratch_backing_memory_location, scratch_backing_memory_byte_size;
	uint32_t scratch_wave64_lane_byte_size;
	uint32_t queue_properties;
	uint32_t reserved3[2];
	uint64_t queue_inactive_signal;
	uint32_t reserved4[14];
};
_Static_assert(sizeof(struct gp_amd_queue) == 256, "amd_queue_t");
_Static_assert(offsetof(struct gp_amd_queue, write_dispatch_id) == 0x38, "write_dispatch_id");
_Static_assert(offsetof(struct gp_amd_queue, read_dispatch_id) == 0x80, "read_dispatch_id");
_Static_assert(offsetof(struct gp_amd_queue, compute_tmpring_size) == 140, "tmpring");
_Static_assert(offsetof(struct gp_amd_queue, scratch_wave64_lane_byte_size) == 176, "lane size");
_Static_assert(offsetof(struct gp_amd_queue, queue_properties) == 180, "queue_properties");
_Static_assert(offsetof(struct gp_amd_queue, queue_inactive_signal) == 192, "inactive signal");

#endif
