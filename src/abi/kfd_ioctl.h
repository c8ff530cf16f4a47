/* SPDX-License-Identifier: MIT */
/*
 * The ioctls of /dev/kfd: numbers, structures and constants of KFD 1.17, written from the interface
 * as amdkfd 6.12 (6.12.115) defines it, because the header most systems carry is older than the
 * debug trap. Every size and the offsets that pin a layout are asserted.
 *
 * Before 1.17 CREATE_QUEUE was 88 bytes (no sdma_engine_id). KFD looks an ioctl up by its number
 * alone, copies as much as the caller sent and takes the rest as zero, so structures of another
 * version work; an older kernel ignores the fields that it does not know. 1.14 added the
 * event age to gp_kfd_event_data, 1.13 RUNTIME_ENABLE and DBG_TRAP (abi/kfd_debug.h), 1.12
 * EXPORT_DMABUF, 1.9 AVAILABLE_MEMORY, 1.7 CRIU_OP, 1.5 SVM. Linux 6.1 has 1.11.
 *
 * A descriptor belongs to the process that opened it: others, forked children too, get EBADF.
 */
#ifndef GP_ABI_KFD_IOCTL_H
#define GP_ABI_KFD_IOCTL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

#define GP_KFD_VERSION_MAJOR     1
#define GP_KFD_VERSION_MINOR     17

#define GP_KFD_SIZE(type, bytes) _Static_assert(sizeof(struct type) == (bytes), #type)
#define GP_KFD_AT(type, field, bytes) \
	_Static_assert(offsetof(struct type, field) == (bytes), #type "." #field)

/* KFD minor versions that brought something this project depends on. */
#define GP_KFD_MINOR_SVM            5
#define GP_KFD_MINOR_CRIU           7
#define GP_KFD_MINOR_MEMORY         9
#define GP_KFD_MINOR_LINUX_6_1      11
#define GP_KFD_MINOR_DMABUF_EXPORT  12
#define GP_KFD_MINOR_DEBUG          13
#define GP_KFD_MINOR_EVENT_AGE      14
#define GP_KFD_MINOR_SDMA_BY_ENGINE 17
#define GP_KFD_MINOR_LINUX_6_16     18 /* SET_MEMORY_POLICY has flags of the process */
#define GP_KFD_MINOR_CREATE_PROCESS 19 /* Linux 7.0 */

/* ---- constants ---- */

/* queue_type of CREATE_QUEUE and of the debug snapshot. */
enum gp_kfd_queue_type {
	GP_KFD_QUEUE_COMPUTE = 0,
	GP_KFD_QUEUE_SDMA = 1,
	GP_KFD_QUEUE_COMPUTE_AQL = 2,
	GP_KFD_QUEUE_SDMA_XGMI = 3,
	GP_KFD_QUEUE_SDMA_BY_ENGINE = 4,
};

/* Values of proc/<pid>/queues/<id>/type in sysfs: an internal enumeration of the driver. */
enum gp_kfd_sysfs_queue_type {
	GP_KFD_SYSFS_COMPUTE = 0, /* AQL and PM4 alike */
	GP_KFD_SYSFS_SDMA = 1,
	GP_KFD_SYSFS_HIQ = 2,
	GP_KFD_SYSFS_DIQ = 3,
	GP_KFD_SYSFS_SDMA_XGMI = 4,
	GP_KFD_SYSFS_SDMA_BY_ENGINE = 5,
};

#define GP_KFD_MAX_QUEUE_PERCENTAGE 100
#define GP_KFD_MAX_QUEUE_PRIORITY   15
#define GP_KFD_MIN_RING_SIZE        1024
#define GP_KFD_MAX_QUEUES           1024 /* ids of one process; also the most one debug call takes */

#define GP_KFD_SIGNAL_EVENT_LIMIT   4096
#define GP_KFD_EVENT_PAGE_BYTES     (8 * GP_KFD_SIGNAL_EVENT_LIMIT)

enum gp_kfd_wait_result { GP_KFD_WAIT_COMPLETE, GP_KFD_WAIT_TIMEOUT, GP_KFD_WAIT_FAIL };

/* ALLOC_MEMORY_OF_GPU flags: one domain, then attributes. */
#define GP_KFD_ALLOC_VRAM          (1u << 0)
#define GP_KFD_ALLOC_GTT           (1u << 1)
#define GP_KFD_ALLOC_USERPTR       (1u << 2)
#define GP_KFD_ALLOC_DOORBELL      (1u << 3)
#define GP_KFD_ALLOC_MMIO_REMAP    (1u << 4)
#define GP_KFD_ALLOC_CONTIGUOUS    (1u << 23) /* 1.16 */
#define GP_KFD_ALLOC_EXT_COHERENT  (1u << 24)
#define GP_KFD_ALLOC_UNCACHED      (1u << 25)
#define GP_KFD_ALLOC_COHERENT      (1u << 26)
#define GP_KFD_ALLOC_AQL_QUEUE_MEM (1u << 27)
#define GP_KFD_ALLOC_NO_SUBSTITUTE (1u << 28)
#define GP_KFD_ALLOC_PUBLIC        (1u << 29)
#define GP_KFD_ALLOC_EXECUTABLE    (1u << 30)
#define GP_KFD_ALLOC_WRITABLE      (1u << 31)

enum gp_kfd_criu_op {
	GP_KFD_CRIU_PROCESS_INFO,
	GP_KFD_CRIU_CHECKPOINT,
	GP_KFD_CRIU_UNPAUSE,
	GP_KFD_CRIU_RESTORE,
	GP_KFD_CRIU_RESUME,
};

/* mmap offsets on /dev/kfd: type in bits 63:62, gpu_id in 61:46, byte offset below. */
#define GP_KFD_MMAP_TYPE_SHIFT   62
#define GP_KFD_MMAP_GPU_ID_SHIFT 46
#define GP_KFD_MMAP_MMIO         0ull
#define GP_KFD_MMAP_RESERVED_MEM 1ull
#define GP_KFD_MMAP_EVENTS       2ull
#define GP_KFD_MMAP_DOORBELL     3ull
#define GP_KFD_DOORBELL_SLICE    8192 /* per process and device: 1024 doorbells of 8 bytes */

/* Bits of `capability` in a topology node's properties. */
#define GP_KFD_CAP_WATCH_POINTS    (1u << 7)
#define GP_KFD_CAP_TRAP_DEBUG      (1u << 15)
#define GP_KFD_CAP_LAUNCH_OVERRIDE (1u << 16)
#define GP_KFD_CAP_LAUNCH_MODE     (1u << 17)
#define GP_KFD_CAP_PRECISE_MEMORY  (1u << 18)
#define GP_KFD_CAP_RAS_NOTIFY      (1u << 21)
#define GP_KFD_CAP_SRAM_EDC        (1u << 26)
#define GP_KFD_CAP_SVM             (1u << 27)
#define GP_KFD_CAP_COHERENT_HOST   (1u << 28)
#define GP_KFD_CAP_TRAP_DEBUG_FW   (1u << 29)
#define GP_KFD_CAP_PRECISE_ALU     (1u << 30)
/* Those that came with the debug trap (Linux 6.5). */
#define GP_KFD_CAPS_DEBUG                                                              \
	(GP_KFD_CAP_TRAP_DEBUG | GP_KFD_CAP_LAUNCH_OVERRIDE | GP_KFD_CAP_LAUNCH_MODE | \
	 GP_KFD_CAP_PRECISE_MEMORY | GP_KFD_CAP_TRAP_DEBUG_FW | GP_KFD_CAP_PRECISE_ALU)

/* ---- structures ---- */

struct gp_kfd_get_version_args {
	uint32_t major_version, minor_version;
};
GP_KFD_SIZE(gp_kfd_get_version_args, 8);
GP_KFD_AT(gp_kfd_get_version_args, minor_version, 4);

/*
 * The ring, pointer and save-area addresses are the process's own; KFD returns doorbell_offset (an
 * mmap offset on /dev/kfd) and queue_id. Before 1.17 the structure ended at sdma_engine_id.
 */
struct gp_kfd_create_queue_args {
	uint64_t ring_base_address, write_pointer_address, read_pointer_address, doorbell_offset;
	uint32_t ring_size, gpu_id, queue_type, queue_percentage, queue_priority, queue_id;
	uint64_t eop_buffer_address, eop_buffer_size, ctx_save_restore_address;
	uint32_t ctx_save_restore_size, ctl_stack_size, sdma_engine_id, pad;
};
GP_KFD_SIZE(gp_kfd_create_queue_args, 96);
GP_KFD_AT(gp_kfd_create_queue_args, doorbell_offset, 24);
GP_KFD_AT(gp_kfd_create_queue_args, ring_size, 32);
GP_KFD_AT(gp_kfd_create_queue_args, queue_id, 52);
GP_KFD_AT(gp_kfd_create_queue_args, eop_buffer_address, 56);
GP_KFD_AT(gp_kfd_create_queue_args, ctl_stack_size, 84);
GP_KFD_AT(gp_kfd_create_queue_args, sdma_engine_id, 88);

struct gp_kfd_destroy_queue_args {
	uint32_t queue_id, pad;
};
GP_KFD_SIZE(gp_kfd_destroy_queue_args, 8);

/* All fields are rewritten: pass the real ring and size even to stop a queue (percentage 0). */
struct gp_kfd_update_queue_args {
	uint64_t ring_base_address;
	uint32_t queue_id, ring_size, queue_percentage, queue_priority;
};
GP_KFD_SIZE(gp_kfd_update_queue_args, 24);
GP_KFD_AT(gp_kfd_update_queue_args, queue_id, 8);
GP_KFD_AT(gp_kfd_update_queue_args, queue_priority, 20);

/* num_cu_mask counts bits and is a multiple of 32; cu_mask_ptr points at that many bits. */
struct gp_kfd_set_cu_mask_args {
	uint32_t queue_id, num_cu_mask;
	uint64_t cu_mask_ptr;
};
GP_KFD_SIZE(gp_kfd_set_cu_mask_args, 16);
GP_KFD_AT(gp_kfd_set_cu_mask_args, cu_mask_ptr, 8);

struct gp_kfd_get_queue_wave_state_args {
	uint64_t ctl_stack_address;
	uint32_t ctl_stack_used_size, save_area_used_size, queue_id, pad;
};
GP_KFD_SIZE(gp_kfd_get_queue_wave_state_args, 24);
GP_KFD_AT(gp_kfd_get_queue_wave_state_args, ctl_stack_used_size, 8);

struct gp_kfd_alloc_queue_gws_args {
	uint32_t queue_id, num_gws, first_gws, pad;
};
GP_KFD_SIZE(gp_kfd_alloc_queue_gws_args, 16);

/* Written by KFD at the start of every XCC's save area after a suspend. */
struct gp_kfd_context_save_area_header {
	struct {
		uint32_t control_stack_offset, control_stack_size;
		uint32_t wave_state_offset, wave_state_size;
	} wave_state;
	uint32_t debug_offset, debug_size;
	uint64_t err_payload_addr;
	uint32_t err_event_id, reserved1;
};
GP_KFD_SIZE(gp_kfd_context_save_area_header, 40);
GP_KFD_AT(gp_kfd_context_save_area_header, err_payload_addr, 24);
GP_KFD_AT(gp_kfd_context_save_area_header, reserved1, 36);

struct gp_kfd_get_available_memory_args {
	uint64_t available;
	uint32_t gpu_id, pad;
};
GP_KFD_SIZE(gp_kfd_get_available_memory_args, 16);
GP_KFD_AT(gp_kfd_get_available_memory_args, gpu_id, 8);

/* KFD 1.18 calls the last word misc_process_flag. */
struct gp_kfd_set_memory_policy_args {
	uint64_t alternate_aperture_base, alternate_aperture_size;
	uint32_t gpu_id, default_policy, alternate_policy, pad;
};
GP_KFD_SIZE(gp_kfd_set_memory_policy_args, 32);
GP_KFD_AT(gp_kfd_set_memory_policy_args, gpu_id, 16);

struct gp_kfd_get_clock_counters_args {
	uint64_t gpu_clock_counter, cpu_clock_counter, system_clock_counter, system_clock_freq;
	uint32_t gpu_id, pad;
};
GP_KFD_SIZE(gp_kfd_get_clock_counters_args, 40);
GP_KFD_AT(gp_kfd_get_clock_counters_args, gpu_id, 32);

struct gp_kfd_process_device_apertures {
	uint64_t lds_base, lds_limit, scratch_base, scratch_limit, gpuvm_base, gpuvm_limit;
	uint32_t gpu_id, pad;
};
GP_KFD_SIZE(gp_kfd_process_device_apertures, 56);
GP_KFD_AT(gp_kfd_process_device_apertures, gpu_id, 48);

/* Deprecated: at most seven GPUs. Use the _new form. */
struct gp_kfd_get_process_apertures_args {
	struct gp_kfd_process_device_apertures process_apertures[7];
	uint32_t num_of_nodes, pad;
};
GP_KFD_SIZE(gp_kfd_get_process_apertures_args, 400);
GP_KFD_AT(gp_kfd_get_process_apertures_args, num_of_nodes, 392);

struct gp_kfd_get_process_apertures_new_args {
	uint64_t kfd_process_device_apertures_ptr;
	uint32_t num_of_nodes, pad;
};
GP_KFD_SIZE(gp_kfd_get_process_apertures_new_args, 16);
GP_KFD_AT(gp_kfd_get_process_apertures_new_args, num_of_nodes, 8);

struct gp_kfd_create_event_args {
	uint64_t event_page_offset;
	uint32_t event_trigger_data, event_type, auto_reset, node_id, event_id, event_slot_index;
};
GP_KFD_SIZE(gp_kfd_create_event_args, 32);
GP_KFD_AT(gp_kfd_create_event_args, event_trigger_data, 8);
GP_KFD_AT(gp_kfd_create_event_args, event_slot_index, 28);

struct gp_kfd_destroy_event_args {
	uint32_t event_id, pad;
};
GP_KFD_SIZE(gp_kfd_destroy_event_args, 8);

struct gp_kfd_set_event_args {
	uint32_t event_id, pad;
};
GP_KFD_SIZE(gp_kfd_set_event_args, 8);

struct gp_kfd_reset_event_args {
	uint32_t event_id, pad;
};
GP_KFD_SIZE(gp_kfd_reset_event_args, 8);

struct gp_kfd_memory_exception_failure {
	uint32_t NotPresent, ReadOnly, NoExecute, imprecise;
};
GP_KFD_SIZE(gp_kfd_memory_exception_failure, 16);
GP_KFD_AT(gp_kfd_memory_exception_failure, imprecise, 12);

struct gp_kfd_hsa_memory_exception_data {
	struct gp_kfd_memory_exception_failure failure;
	uint64_t va;
	uint32_t gpu_id, ErrorType;
};
GP_KFD_SIZE(gp_kfd_hsa_memory_exception_data, 32);
GP_KFD_AT(gp_kfd_hsa_memory_exception_data, va, 16);
GP_KFD_AT(gp_kfd_hsa_memory_exception_data, gpu_id, 24);
GP_KFD_AT(gp_kfd_hsa_memory_exception_data, ErrorType, 28);

struct gp_kfd_hsa_hw_exception_data {
	uint32_t reset_type, reset_cause, memory_lost, gpu_id;
};
GP_KFD_SIZE(gp_kfd_hsa_hw_exception_data, 16);
GP_KFD_AT(gp_kfd_hsa_hw_exception_data, gpu_id, 12);

struct gp_kfd_hsa_signal_event_data {
	uint64_t last_event_age;
};
GP_KFD_SIZE(gp_kfd_hsa_signal_event_data, 8);

struct gp_kfd_wait_events_args {
	uint64_t events_ptr;
	uint32_t num_events, wait_for_all, timeout, wait_result;
};
GP_KFD_SIZE(gp_kfd_wait_events_args, 24);
GP_KFD_AT(gp_kfd_wait_events_args, num_events, 8);
GP_KFD_AT(gp_kfd_wait_events_args, wait_result, 20);

struct gp_kfd_set_scratch_backing_va_args {
	uint64_t va_addr;
	uint32_t gpu_id, pad;
};
GP_KFD_SIZE(gp_kfd_set_scratch_backing_va_args, 16);
GP_KFD_AT(gp_kfd_set_scratch_backing_va_args, gpu_id, 8);

struct gp_kfd_get_tile_config_args {
	uint64_t tile_config_ptr, macro_tile_config_ptr;
	uint32_t num_tile_configs, num_macro_tile_configs, gpu_id, gb_addr_config, num_banks;
	uint32_t num_ranks;
};
GP_KFD_SIZE(gp_kfd_get_tile_config_args, 40);
GP_KFD_AT(gp_kfd_get_tile_config_args, num_tile_configs, 16);
GP_KFD_AT(gp_kfd_get_tile_config_args, num_ranks, 36);

struct gp_kfd_set_trap_handler_args {
	uint64_t tba_addr, tma_addr;
	uint32_t gpu_id, pad;
};
GP_KFD_SIZE(gp_kfd_set_trap_handler_args, 24);
GP_KFD_AT(gp_kfd_set_trap_handler_args, gpu_id, 16);

struct gp_kfd_acquire_vm_args {
	uint32_t drm_fd, gpu_id;
};
GP_KFD_SIZE(gp_kfd_acquire_vm_args, 8);
GP_KFD_AT(gp_kfd_acquire_vm_args, gpu_id, 4);

struct gp_kfd_alloc_memory_of_gpu_args {
	uint64_t va_addr, size, handle, mmap_offset;
	uint32_t gpu_id, flags;
};
GP_KFD_SIZE(gp_kfd_alloc_memory_of_gpu_args, 40);
GP_KFD_AT(gp_kfd_alloc_memory_of_gpu_args, gpu_id, 32);
GP_KFD_AT(gp_kfd_alloc_memory_of_gpu_args, flags, 36);

struct gp_kfd_free_memory_of_gpu_args {
	uint64_t handle;
};
GP_KFD_SIZE(gp_kfd_free_memory_of_gpu_args, 8);

struct gp_kfd_map_memory_to_gpu_args {
	uint64_t handle, device_ids_array_ptr;
	uint32_t n_devices, n_success;
};
GP_KFD_SIZE(gp_kfd_map_memory_to_gpu_args, 24);
GP_KFD_AT(gp_kfd_map_memory_to_gpu_args, n_devices, 16);
GP_KFD_AT(gp_kfd_map_memory_to_gpu_args, n_success, 20);

struct gp_kfd_unmap_memory_from_gpu_args {
	uint64_t handle, device_ids_array_ptr;
	uint32_t n_devices, n_success;
};
GP_KFD_SIZE(gp_kfd_unmap_memory_from_gpu_args, 24);
GP_KFD_AT(gp_kfd_unmap_memory_from_gpu_args, n_devices, 16);
GP_KFD_AT(gp_kfd_unmap_memory_from_gpu_args, n_success, 20);

struct gp_kfd_get_dmabuf_info_args {
	uint64_t size, metadata_ptr;
	uint32_t metadata_size, gpu_id, flags, dmabuf_fd;
};
GP_KFD_SIZE(gp_kfd_get_dmabuf_info_args, 32);
GP_KFD_AT(gp_kfd_get_dmabuf_info_args, metadata_size, 16);
GP_KFD_AT(gp_kfd_get_dmabuf_info_args, dmabuf_fd, 28);

struct gp_kfd_import_dmabuf_args {
	uint64_t va_addr, handle;
	uint32_t gpu_id, dmabuf_fd;
};
GP_KFD_SIZE(gp_kfd_import_dmabuf_args, 24);
GP_KFD_AT(gp_kfd_import_dmabuf_args, gpu_id, 16);
GP_KFD_AT(gp_kfd_import_dmabuf_args, dmabuf_fd, 20);

struct gp_kfd_export_dmabuf_args {
	uint64_t handle;
	uint32_t flags, dmabuf_fd;
};
GP_KFD_SIZE(gp_kfd_export_dmabuf_args, 16);
GP_KFD_AT(gp_kfd_export_dmabuf_args, flags, 8);
GP_KFD_AT(gp_kfd_export_dmabuf_args, dmabuf_fd, 12);

struct gp_kfd_smi_events_args {
	uint32_t gpuid, anon_fd;
};
GP_KFD_SIZE(gp_kfd_smi_events_args, 8);
GP_KFD_AT(gp_kfd_smi_events_args, anon_fd, 4);

/*
 * Needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN; the only ioctl a ptracer may issue on another
 * process's descriptor.
 */
struct gp_kfd_criu_args {
	uint64_t devices, bos, priv_data, priv_data_size;
	uint32_t num_devices, num_bos, num_objects, pid, op;
};
GP_KFD_SIZE(gp_kfd_criu_args, 56);
GP_KFD_AT(gp_kfd_criu_args, num_devices, 32);
GP_KFD_AT(gp_kfd_criu_args, op, 48);

struct gp_kfd_criu_device_bucket {
	uint32_t user_gpu_id, actual_gpu_id, drm_fd, pad;
};
GP_KFD_SIZE(gp_kfd_criu_device_bucket, 16);

struct gp_kfd_criu_bo_bucket {
	uint64_t addr, size, offset, restored_offset;
	uint32_t gpu_id, alloc_flags, dmabuf_fd, pad;
};
GP_KFD_SIZE(gp_kfd_criu_bo_bucket, 48);
GP_KFD_AT(gp_kfd_criu_bo_bucket, gpu_id, 32);

struct gp_kfd_svm_attribute {
	uint32_t type, value;
};
GP_KFD_SIZE(gp_kfd_svm_attribute, 8);
GP_KFD_AT(gp_kfd_svm_attribute, value, 4);

struct gp_kfd_set_xnack_mode_args {
	int32_t xnack_enabled; /* 0, 1; negative asks */
};
GP_KFD_SIZE(gp_kfd_set_xnack_mode_args, 4);

/* One entry of WAIT_EVENTS. Before 1.14 there was no signal data (event age). */
struct gp_kfd_event_data {
	union {
		struct gp_kfd_hsa_memory_exception_data memory_exception_data;
		struct gp_kfd_hsa_hw_exception_data hw_exception_data;
		struct gp_kfd_hsa_signal_event_data signal_event_data;
	};
	uint64_t kfd_event_data_ext;
	uint32_t event_id, pad;
};
GP_KFD_SIZE(gp_kfd_event_data, 48);
GP_KFD_AT(gp_kfd_event_data, event_id, 40);

/* Followed by nattr attributes; the size encoded in the request must cover them. */
struct gp_kfd_svm_args {
	uint64_t start_addr, size;
	uint32_t op; /* 0 set, 1 get */
	uint32_t nattr;
	struct gp_kfd_svm_attribute attrs[];
};
GP_KFD_SIZE(gp_kfd_svm_args, 24);
GP_KFD_AT(gp_kfd_svm_args, attrs, 24);

/* ---- numbers; those of the debugger are in abi/kfd_debug.h ---- */

#define GP_KFD_IOC_TYPE                   'K'
#define GP_KFD_IOR(nr, type)              _IOR(GP_KFD_IOC_TYPE, nr, struct type)
#define GP_KFD_IOW(nr, type)              _IOW(GP_KFD_IOC_TYPE, nr, struct type)
#define GP_KFD_IOWR(nr, type)             _IOWR(GP_KFD_IOC_TYPE, nr, struct type)

#define GP_KFD_IOC_GET_VERSION            GP_KFD_IOR(0x01, gp_kfd_get_version_args)
#define GP_KFD_IOC_CREATE_QUEUE           GP_KFD_IOWR(0x02, gp_kfd_create_queue_args)
#define GP_KFD_IOC_DESTROY_QUEUE          GP_KFD_IOWR(0x03, gp_kfd_destroy_queue_args)
#define GP_KFD_IOC_SET_MEMORY_POLICY      GP_KFD_IOW(0x04, gp_kfd_set_memory_policy_args)
#define GP_KFD_IOC_GET_CLOCK_COUNTERS     GP_KFD_IOWR(0x05, gp_kfd_get_clock_counters_args)
#define GP_KFD_IOC_GET_PROCESS_APERTURES  GP_KFD_IOR(0x06, gp_kfd_get_process_apertures_args)
#define GP_KFD_IOC_UPDATE_QUEUE           GP_KFD_IOW(0x07, gp_kfd_update_queue_args)
#define GP_KFD_IOC_CREATE_EVENT           GP_KFD_IOWR(0x08, gp_kfd_create_event_args)
#define GP_KFD_IOC_DESTROY_EVENT          GP_KFD_IOW(0x09, gp_kfd_destroy_event_args)
#define GP_KFD_IOC_SET_EVENT              GP_KFD_IOW(0x0a, gp_kfd_set_event_args)
#define GP_KFD_IOC_RESET_EVENT            GP_KFD_IOW(0x0b, gp_kfd_reset_event_args)
#define GP_KFD_IOC_WAIT_EVENTS            GP_KFD_IOWR(0x0c, gp_kfd_wait_events_args)
#define GP_KFD_IOC_SET_SCRATCH_BACKING_VA GP_KFD_IOWR(0x11, gp_kfd_set_scratch_backing_va_args)
#define GP_KFD_IOC_GET_TILE_CONFIG        GP_KFD_IOWR(0x12, gp_kfd_get_tile_config_args)
#define GP_KFD_IOC_SET_TRAP_HANDLER       GP_KFD_IOW(0x13, gp_kfd_set_trap_handler_args)
#define GP_KFD_IOC_GET_PROCESS_APERTURES_NEW \
	GP_KFD_IOWR(0x14, gp_kfd_get_process_apertures_new_args)
#define GP_KFD_IOC_ACQUIRE_VM            GP_KFD_IOW(0x15, gp_kfd_acquire_vm_args)
#define GP_KFD_IOC_ALLOC_MEMORY_OF_GPU   GP_KFD_IOWR(0x16, gp_kfd_alloc_memory_of_gpu_args)
#define GP_KFD_IOC_FREE_MEMORY_OF_GPU    GP_KFD_IOW(0x17, gp_kfd_free_memory_of_gpu_args)
#define GP_KFD_IOC_MAP_MEMORY_TO_GPU     GP_KFD_IOWR(0x18, gp_kfd_map_memory_to_gpu_args)
#define GP_KFD_IOC_UNMAP_MEMORY_FROM_GPU GP_KFD_IOWR(0x19, gp_kfd_unmap_memory_from_gpu_args)
#define GP_KFD_IOC_SET_CU_MASK           GP_KFD_IOW(0x1a, gp_kfd_set_cu_mask_args)
#define GP_KFD_IOC_GET_QUEUE_WAVE_STATE  GP_KFD_IOWR(0x1b, gp_kfd_get_queue_wave_state_args)
#define GP_KFD_IOC_GET_DMABUF_INFO       GP_KFD_IOWR(0x1c, gp_kfd_get_dmabuf_info_args)
#define GP_KFD_IOC_IMPORT_DMABUF         GP_KFD_IOWR(0x1d, gp_kfd_import_dmabuf_args)
#define GP_KFD_IOC_ALLOC_QUEUE_GWS       GP_KFD_IOWR(0x1e, gp_kfd_alloc_queue_gws_args)
#define GP_KFD_IOC_SMI_EVENTS            GP_KFD_IOWR(0x1f, gp_kfd_smi_events_args)
#define GP_KFD_IOC_SVM                   GP_KFD_IOWR(0x20, gp_kfd_svm_args)
#define GP_KFD_IOC_SET_XNACK_MODE        GP_KFD_IOWR(0x21, gp_kfd_set_xnack_mode_args)
#define GP_KFD_IOC_CRIU_OP               GP_KFD_IOWR(0x22, gp_kfd_criu_args)
#define GP_KFD_IOC_AVAILABLE_MEMORY      GP_KFD_IOWR(0x23, gp_kfd_get_available_memory_args)
#define GP_KFD_IOC_EXPORT_DMABUF         GP_KFD_IOWR(0x24, gp_kfd_export_dmabuf_args)
/* AMDKFD_IOC_CREATE_PROCESS: the descriptor gets a secondary KFD process. */
#define GP_KFD_IOC_CREATE_PROCESS _IO(GP_KFD_IOC_TYPE, 0x27)

#define GP_KFD_NR_FIRST           0x01
#define GP_KFD_NR_END             0x28 /* first number amdkfd 7.0 does not know: ENOTTY */
#define GP_KFD_NR_END_61          0x24 /* the same for Linux 6.1 (KFD 1.11) */

/* Numbers only the ROCm DKMS driver has; 0x82 is the debugger of ROCm 5.x, with other arguments. */
#define GP_KFD_NR_DKMS_IPC_IMPORT        0x80
#define GP_KFD_NR_DKMS_IPC_EXPORT        0x81
#define GP_KFD_NR_DKMS_DBG_TRAP          0x82
#define GP_KFD_NR_DKMS_CROSS_MEMORY_COPY 0x83
#define GP_KFD_NR_DKMS_RLC_SPM           0x84
#define GP_KFD_NR_DKMS_PC_SAMPLE         0x85

#endif
