/* SPDX-License-Identifier: MIT */
/*
 * The debugger's half of /dev/kfd (KFD 1.13, Linux 6.5, and later): RUNTIME_ENABLE, DBG_TRAP and
 * what they carry, after amdkfd 6.12. DBG_TRAP is the only way to suspend another process's queues:
 * it needs ptrace on the target for its first call, a target that called RUNTIME_ENABLE before its
 * first queue, and queues whose "new" exception was cleared (a snapshot with GP_KFD_EC_QUEUE_NEW).
 */
#ifndef GP_ABI_KFD_DEBUG_H
#define GP_ABI_KFD_DEBUG_H

#include "abi/kfd_ioctl.h"

enum gp_kfd_dbg_trap_op {
	GP_KFD_DBG_ENABLE = 0,
	GP_KFD_DBG_DISABLE = 1,
	GP_KFD_DBG_SEND_RUNTIME_EVENT = 2,
	GP_KFD_DBG_SET_EXCEPTIONS_ENABLED = 3,
	/* 4 to 10 need a target whose runtime state is ENABLED, else EPERM. */
	GP_KFD_DBG_SET_WAVE_LAUNCH_OVERRIDE = 4,
	GP_KFD_DBG_SET_WAVE_LAUNCH_MODE = 5,
	GP_KFD_DBG_SUSPEND_QUEUES = 6,
	GP_KFD_DBG_RESUME_QUEUES = 7,
	GP_KFD_DBG_SET_NODE_ADDRESS_WATCH = 8,
	GP_KFD_DBG_CLEAR_NODE_ADDRESS_WATCH = 9,
	GP_KFD_DBG_SET_FLAGS = 10,
	GP_KFD_DBG_QUERY_DEBUG_EVENT = 11,
	GP_KFD_DBG_QUERY_EXCEPTION_INFO = 12,
	GP_KFD_DBG_GET_QUEUE_SNAPSHOT = 13,
	GP_KFD_DBG_GET_DEVICE_SNAPSHOT = 14,
};

/* RUNTIME_ENABLE mode_mask. */
#define GP_KFD_RUNTIME_ENABLE    (1u << 0)
#define GP_KFD_RUNTIME_TTMP_SAVE (1u << 1)

enum gp_kfd_runtime_state {
	GP_KFD_RUNTIME_DISABLED,
	GP_KFD_RUNTIME_ENABLED,
	GP_KFD_RUNTIME_ENABLED_BUSY,
	GP_KFD_RUNTIME_ENABLED_ERROR,
};

/* Set by KFD in the id array of SUSPEND and RESUME for each queue that failed. */
#define GP_KFD_DBG_QUEUE_ERROR   (1u << 30)
#define GP_KFD_DBG_QUEUE_INVALID (1u << 31)

/* grace_period of SUSPEND; see the structure. */
#define GP_KFD_GRACE_MIN     1u
#define GP_KFD_GRACE_MAX     255u
#define GP_KFD_GRACE_DEFAULT 0xffffffffu

/* Exception codes; a mask has bit code - 1. */
enum gp_kfd_exception {
	GP_KFD_EC_QUEUE_WAVE_ABORT = 1,
	GP_KFD_EC_QUEUE_WAVE_TRAP = 2,
	GP_KFD_EC_QUEUE_WAVE_MATH_ERROR = 3,
	GP_KFD_EC_QUEUE_WAVE_ILLEGAL_INSTRUCTION = 4,
	GP_KFD_EC_QUEUE_WAVE_MEMORY_VIOLATION = 5,
	GP_KFD_EC_QUEUE_WAVE_APERTURE_VIOLATION = 6,
	GP_KFD_EC_QUEUE_PACKET_FIRST = 16,
	GP_KFD_EC_QUEUE_PACKET_LAST = 23,
	GP_KFD_EC_QUEUE_PREEMPTION_ERROR = 30,
	GP_KFD_EC_QUEUE_NEW = 31,
	GP_KFD_EC_DEVICE_QUEUE_DELETE = 32,
	GP_KFD_EC_DEVICE_MEMORY_VIOLATION = 33,
	GP_KFD_EC_DEVICE_RAS_ERROR = 34,
	GP_KFD_EC_DEVICE_FATAL_HALT = 35,
	GP_KFD_EC_DEVICE_NEW = 36,
	GP_KFD_EC_PROCESS_RUNTIME = 48,
	GP_KFD_EC_PROCESS_DEVICE_REMOVE = 49,
};

#define GP_KFD_EC_MASK(code) (1ull << ((code)-1))
_Static_assert(GP_KFD_EC_MASK(GP_KFD_EC_QUEUE_NEW) == 0x40000000, "mask of QUEUE_NEW");

struct gp_kfd_dbg_device_info_entry {
	uint64_t exception_status, lds_base, lds_limit, scratch_base, scratch_limit, gpuvm_base;
	uint64_t gpuvm_limit;
	uint32_t gpu_id, location_id, vendor_id, device_id, revision_id, subsystem_vendor_id;
	uint32_t subsystem_device_id, fw_version, gfx_target_version, simd_count;
	uint32_t max_waves_per_simd, array_count, simd_arrays_per_engine, num_xcc, capability;
	uint32_t debug_prop;
};
GP_KFD_SIZE(gp_kfd_dbg_device_info_entry, 120);
GP_KFD_AT(gp_kfd_dbg_device_info_entry, gpu_id, 56);
GP_KFD_AT(gp_kfd_dbg_device_info_entry, debug_prop, 116);

struct gp_kfd_runtime_info {
	uint64_t r_debug;
	uint32_t runtime_state, ttmp_setup;
};
GP_KFD_SIZE(gp_kfd_runtime_info, 16);
GP_KFD_AT(gp_kfd_runtime_info, runtime_state, 8);
GP_KFD_AT(gp_kfd_runtime_info, ttmp_setup, 12);

/* By the target itself, before its first queue (EEXIST after it, EBUSY when already on). */
struct gp_kfd_runtime_enable_args {
	uint64_t r_debug;
	uint32_t mode_mask, capabilities_mask;
};
GP_KFD_SIZE(gp_kfd_runtime_enable_args, 16);
GP_KFD_AT(gp_kfd_runtime_enable_args, mode_mask, 8);
GP_KFD_AT(gp_kfd_runtime_enable_args, capabilities_mask, 12);

/* queue_type here is the ioctl's numbering (GP_KFD_QUEUE_*), not that of sysfs. */
struct gp_kfd_queue_snapshot_entry {
	uint64_t exception_status, ring_base_address, write_pointer_address, read_pointer_address;
	uint64_t ctx_save_restore_address;
	uint32_t queue_id, gpu_id, ring_size, queue_type, ctx_save_restore_area_size, reserved;
};
GP_KFD_SIZE(gp_kfd_queue_snapshot_entry, 64);
GP_KFD_AT(gp_kfd_queue_snapshot_entry, queue_id, 40);
GP_KFD_AT(gp_kfd_queue_snapshot_entry, reserved, 60);

/* rinfo_ptr points at a struct gp_kfd_runtime_info; KFD writes one byte to dbg_fd per raised event.
 */
struct gp_kfd_dbg_trap_enable_args {
	uint64_t exception_mask, rinfo_ptr;
	uint32_t rinfo_size, dbg_fd;
};
GP_KFD_SIZE(gp_kfd_dbg_trap_enable_args, 24);
GP_KFD_AT(gp_kfd_dbg_trap_enable_args, rinfo_size, 16);
GP_KFD_AT(gp_kfd_dbg_trap_enable_args, dbg_fd, 20);

struct gp_kfd_dbg_trap_send_runtime_event_args {
	uint64_t exception_mask;
	uint32_t gpu_id, queue_id;
};
GP_KFD_SIZE(gp_kfd_dbg_trap_send_runtime_event_args, 16);
GP_KFD_AT(gp_kfd_dbg_trap_send_runtime_event_args, gpu_id, 8);
GP_KFD_AT(gp_kfd_dbg_trap_send_runtime_event_args, queue_id, 12);

struct gp_kfd_dbg_trap_set_exceptions_enabled_args {
	uint64_t exception_mask;
};
GP_KFD_SIZE(gp_kfd_dbg_trap_set_exceptions_enabled_args, 8);

struct gp_kfd_dbg_trap_set_wave_launch_override_args {
	uint32_t override_mode, enable_mask, support_request_mask, pad;
};
GP_KFD_SIZE(gp_kfd_dbg_trap_set_wave_launch_override_args, 16);

struct gp_kfd_dbg_trap_set_wave_launch_mode_args {
	uint32_t launch_mode, pad;
};
GP_KFD_SIZE(gp_kfd_dbg_trap_set_wave_launch_mode_args, 8);

/*
 * grace_period: 1..255 units of 1024 GPU clocks. 0 becomes 1; only the low 8 bits reach the
 * hardware, and a multiple of 256 there means no limit; ~0u leaves the default.
 */
struct gp_kfd_dbg_trap_suspend_queues_args {
	uint64_t exception_mask, queue_array_ptr;
	uint32_t num_queues, grace_period;
};
GP_KFD_SIZE(gp_kfd_dbg_trap_suspend_queues_args, 24);
GP_KFD_AT(gp_kfd_dbg_trap_suspend_queues_args, num_queues, 16);
GP_KFD_AT(gp_kfd_dbg_trap_suspend_queues_args, grace_period, 20);

/* A NULL array resumes every queue of the target. */
struct gp_kfd_dbg_trap_resume_queues_args {
	uint64_t queue_array_ptr;
	uint32_t num_queues, pad;
};
GP_KFD_SIZE(gp_kfd_dbg_trap_resume_queues_args, 16);
GP_KFD_AT(gp_kfd_dbg_trap_resume_queues_args, num_queues, 8);

struct gp_kfd_dbg_trap_set_node_address_watch_args {
	uint64_t address;
	uint32_t mode, mask, gpu_id, id;
};
GP_KFD_SIZE(gp_kfd_dbg_trap_set_node_address_watch_args, 24);
GP_KFD_AT(gp_kfd_dbg_trap_set_node_address_watch_args, mode, 8);
GP_KFD_AT(gp_kfd_dbg_trap_set_node_address_watch_args, id, 20);

struct gp_kfd_dbg_trap_clear_node_address_watch_args {
	uint32_t gpu_id, id;
};
GP_KFD_SIZE(gp_kfd_dbg_trap_clear_node_address_watch_args, 8);
GP_KFD_AT(gp_kfd_dbg_trap_clear_node_address_watch_args, id, 4);

struct gp_kfd_dbg_trap_set_flags_args {
	uint32_t flags, pad;
};
GP_KFD_SIZE(gp_kfd_dbg_trap_set_flags_args, 8);

struct gp_kfd_dbg_trap_query_debug_event_args {
	uint64_t exception_mask;
	uint32_t gpu_id, queue_id;
};
GP_KFD_SIZE(gp_kfd_dbg_trap_query_debug_event_args, 16);
GP_KFD_AT(gp_kfd_dbg_trap_query_debug_event_args, gpu_id, 8);
GP_KFD_AT(gp_kfd_dbg_trap_query_debug_event_args, queue_id, 12);

struct gp_kfd_dbg_trap_query_exception_info_args {
	uint64_t info_ptr;
	uint32_t info_size, source_id, exception_code, clear_exception;
};
GP_KFD_SIZE(gp_kfd_dbg_trap_query_exception_info_args, 24);
GP_KFD_AT(gp_kfd_dbg_trap_query_exception_info_args, info_size, 8);
GP_KFD_AT(gp_kfd_dbg_trap_query_exception_info_args, clear_exception, 20);

struct gp_kfd_dbg_trap_queue_snapshot_args {
	uint64_t exception_mask, snapshot_buf_ptr;
	uint32_t num_queues, entry_size;
};
GP_KFD_SIZE(gp_kfd_dbg_trap_queue_snapshot_args, 24);
GP_KFD_AT(gp_kfd_dbg_trap_queue_snapshot_args, num_queues, 16);
GP_KFD_AT(gp_kfd_dbg_trap_queue_snapshot_args, entry_size, 20);

struct gp_kfd_dbg_trap_device_snapshot_args {
	uint64_t exception_mask, snapshot_buf_ptr;
	uint32_t num_devices, entry_size;
};
GP_KFD_SIZE(gp_kfd_dbg_trap_device_snapshot_args, 24);
GP_KFD_AT(gp_kfd_dbg_trap_device_snapshot_args, num_devices, 16);
GP_KFD_AT(gp_kfd_dbg_trap_device_snapshot_args, entry_size, 20);

/* Returns the number of queues for SUSPEND and RESUME, otherwise 0. */
struct gp_kfd_dbg_trap_args {
	uint32_t pid; /* of the target, in the caller's pid namespace */
	uint32_t op;  /* enum gp_kfd_dbg_trap_op */
	union {
		struct gp_kfd_dbg_trap_enable_args enable;
		struct gp_kfd_dbg_trap_send_runtime_event_args send_runtime_event;
		struct gp_kfd_dbg_trap_set_exceptions_enabled_args set_exceptions_enabled;
		struct gp_kfd_dbg_trap_set_wave_launch_override_args launch_override;
		struct gp_kfd_dbg_trap_set_wave_launch_mode_args launch_mode;
		struct gp_kfd_dbg_trap_suspend_queues_args suspend_queues;
		struct gp_kfd_dbg_trap_resume_queues_args resume_queues;
		struct gp_kfd_dbg_trap_set_node_address_watch_args set_node_address_watch;
		struct gp_kfd_dbg_trap_clear_node_address_watch_args clear_node_address_watch;
		struct gp_kfd_dbg_trap_set_flags_args set_flags;
		struct gp_kfd_dbg_trap_query_debug_event_args query_debug_event;
		struct gp_kfd_dbg_trap_query_exception_info_args query_exception_info;
		struct gp_kfd_dbg_trap_queue_snapshot_args queue_snapshot;
		struct gp_kfd_dbg_trap_device_snapshot_args device_snapshot;
	};
};
GP_KFD_SIZE(gp_kfd_dbg_trap_args, 32);
GP_KFD_AT(gp_kfd_dbg_trap_args, suspend_queues, 8);

#define GP_KFD_IOC_RUNTIME_ENABLE GP_KFD_IOWR(0x25, gp_kfd_runtime_enable_args)
#define GP_KFD_IOC_DBG_TRAP       GP_KFD_IOWR(0x26, gp_kfd_dbg_trap_args)

/* ---- the first debugger; amdkfd answers EPERM ---- */

struct gp_kfd_dbg_register_args {
	uint32_t gpu_id, pad;
};
GP_KFD_SIZE(gp_kfd_dbg_register_args, 8);

struct gp_kfd_dbg_unregister_args {
	uint32_t gpu_id, pad;
};
GP_KFD_SIZE(gp_kfd_dbg_unregister_args, 8);

struct gp_kfd_dbg_address_watch_args {
	uint64_t content_ptr;
	uint32_t gpu_id, buf_size_in_bytes;
};
GP_KFD_SIZE(gp_kfd_dbg_address_watch_args, 16);
GP_KFD_AT(gp_kfd_dbg_address_watch_args, gpu_id, 8);
GP_KFD_AT(gp_kfd_dbg_address_watch_args, buf_size_in_bytes, 12);

struct gp_kfd_dbg_wave_control_args {
	uint64_t content_ptr;
	uint32_t gpu_id, buf_size_in_bytes;
};
GP_KFD_SIZE(gp_kfd_dbg_wave_control_args, 16);
GP_KFD_AT(gp_kfd_dbg_wave_control_args, gpu_id, 8);
GP_KFD_AT(gp_kfd_dbg_wave_control_args, buf_size_in_bytes, 12);

#define GP_KFD_IOC_DBG_REGISTER      GP_KFD_IOW(0x0d, gp_kfd_dbg_register_args)
#define GP_KFD_IOC_DBG_UNREGISTER    GP_KFD_IOW(0x0e, gp_kfd_dbg_unregister_args)
#define GP_KFD_IOC_DBG_ADDRESS_WATCH GP_KFD_IOW(0x0f, gp_kfd_dbg_address_watch_args)
#define GP_KFD_IOC_DBG_WAVE_CONTROL  GP_KFD_IOW(0x10, gp_kfd_dbg_wave_control_args)

#endif
