// SPDX-License-Identifier: MIT
/* The table of ioctls, and the checks of arguments that the library and the server share. */
#include "vgpu/ioctls.h"

#include <errno.h>

#include "abi/kfd_debug.h"

#define PRELOAD GP_VGPU_IN_PRELOAD
#define SERVER  GP_VGPU_IN_SERVER
#define BOTH    GP_VGPU_IN_BOTH
#define REMOVED GP_VGPU_REMOVED
#define PROCESS GP_VGPU_LOCK_PROCESS
#define EVENTS  GP_VGPU_LOCK_EVENTS

/* clang-format off */
const struct gp_vgpu_ioctl gp_vgpu_ioctls[GP_KFD_NR_END] = {
	[0x01] = {"GET_VERSION", GP_KFD_IOC_GET_VERSION, PRELOAD, 0, 0},
	[0x02] = {"CREATE_QUEUE", GP_KFD_IOC_CREATE_QUEUE, BOTH, 0, 0},
	[0x03] = {"DESTROY_QUEUE", GP_KFD_IOC_DESTROY_QUEUE, BOTH, 0, 0},
	[0x04] = {"SET_MEMORY_POLICY", GP_KFD_IOC_SET_MEMORY_POLICY, PRELOAD, PROCESS, 0},
	/* The server's handler is a turn in the process's line: how the library waits for locks. */
	[0x05] = {"GET_CLOCK_COUNTERS", GP_KFD_IOC_GET_CLOCK_COUNTERS, BOTH, PROCESS, 0},
	[0x06] = {"GET_PROCESS_APERTURES", GP_KFD_IOC_GET_PROCESS_APERTURES, PRELOAD, PROCESS, 0},
	[0x07] = {"UPDATE_QUEUE", GP_KFD_IOC_UPDATE_QUEUE, BOTH, 0, 0},
	[0x08] = {"CREATE_EVENT", GP_KFD_IOC_CREATE_EVENT, PRELOAD, EVENTS, 0},
	[0x09] = {"DESTROY_EVENT", GP_KFD_IOC_DESTROY_EVENT, PRELOAD, EVENTS, 0},
	[0x0a] = {"SET_EVENT", GP_KFD_IOC_SET_EVENT, PRELOAD, 0, 0},
	[0x0b] = {"RESET_EVENT", GP_KFD_IOC_RESET_EVENT, PRELOAD, 0, 0},
	[0x0c] = {"WAIT_EVENTS", GP_KFD_IOC_WAIT_EVENTS, PRELOAD, EVENTS, 0},
	[0x0d] = {"DBG_REGISTER", GP_KFD_IOC_DBG_REGISTER, REMOVED, 0, 0},
	[0x0e] = {"DBG_UNREGISTER", GP_KFD_IOC_DBG_UNREGISTER, REMOVED, 0, 0},
	[0x0f] = {"DBG_ADDRESS_WATCH", GP_KFD_IOC_DBG_ADDRESS_WATCH, REMOVED, 0, 0},
	[0x10] = {"DBG_WAVE_CONTROL", GP_KFD_IOC_DBG_WAVE_CONTROL, REMOVED, 0, 0},
	[0x11] = {"SET_SCRATCH_BACKING_VA", GP_KFD_IOC_SET_SCRATCH_BACKING_VA, PRELOAD, PROCESS, 0},
	[0x12] = {"GET_TILE_CONFIG", GP_KFD_IOC_GET_TILE_CONFIG, PRELOAD, PROCESS, 0},
	[0x13] = {"SET_TRAP_HANDLER", GP_KFD_IOC_SET_TRAP_HANDLER, PRELOAD, PROCESS, 0},
	[0x14] = {"GET_PROCESS_APERTURES_NEW", GP_KFD_IOC_GET_PROCESS_APERTURES_NEW, PRELOAD, PROCESS, 0},
	[0x15] = {"ACQUIRE_VM", GP_KFD_IOC_ACQUIRE_VM, PRELOAD, PROCESS, 0},
	/* Buffers are the library's; the server accounts for VRAM. */
	[0x16] = {"ALLOC_MEMORY_OF_GPU", GP_KFD_IOC_ALLOC_MEMORY_OF_GPU, BOTH, PROCESS, 0},
	[0x17] = {"FREE_MEMORY_OF_GPU", GP_KFD_IOC_FREE_MEMORY_OF_GPU, BOTH, PROCESS, 0},
	[0x18] = {"MAP_MEMORY_TO_GPU", GP_KFD_IOC_MAP_MEMORY_TO_GPU, PRELOAD, PROCESS, 0},
	[0x19] = {"UNMAP_MEMORY_FROM_GPU", GP_KFD_IOC_UNMAP_MEMORY_FROM_GPU, PRELOAD, PROCESS, 0},
	[0x1a] = {"SET_CU_MASK", GP_KFD_IOC_SET_CU_MASK, BOTH, 0, 0},
	[0x1b] = {"GET_QUEUE_WAVE_STATE", GP_KFD_IOC_GET_QUEUE_WAVE_STATE, SERVER, 0, 0},
	[0x1c] = {"GET_DMABUF_INFO", GP_KFD_IOC_GET_DMABUF_INFO, PRELOAD, 0, 0},
	[0x1d] = {"IMPORT_DMABUF", GP_KFD_IOC_IMPORT_DMABUF, PRELOAD, PROCESS, 0},
	[0x1e] = {"ALLOC_QUEUE_GWS", GP_KFD_IOC_ALLOC_QUEUE_GWS, SERVER, 0, 0},
	[0x1f] = {"SMI_EVENTS", GP_KFD_IOC_SMI_EVENTS, BOTH, 0, 3},
	[0x20] = {"SVM", GP_KFD_IOC_SVM, PRELOAD, PROCESS, GP_KFD_MINOR_SVM},
	[0x21] = {"SET_XNACK_MODE", GP_KFD_IOC_SET_XNACK_MODE, PRELOAD, PROCESS, GP_KFD_MINOR_SVM},
	/* The library copies before it dispatches: the descriptor may be that of another process. */
	[0x22] = {"CRIU_OP", GP_KFD_IOC_CRIU_OP, SERVER, 0, GP_KFD_MINOR_CRIU},
	[0x23] = {"AVAILABLE_MEMORY", GP_KFD_IOC_AVAILABLE_MEMORY, SERVER, 0, GP_KFD_MINOR_MEMORY},
	[0x24] = {"EXPORT_DMABUF", GP_KFD_IOC_EXPORT_DMABUF, PRELOAD, PROCESS, GP_KFD_MINOR_DMABUF_EXPORT},
	[0x25] = {"RUNTIME_ENABLE", GP_KFD_IOC_RUNTIME_ENABLE, BOTH, 0, GP_KFD_MINOR_DEBUG},
	[0x26] = {"DBG_TRAP", GP_KFD_IOC_DBG_TRAP, BOTH, 0, GP_KFD_MINOR_DEBUG},
	/* A new client of the server, not a request of one. */
	[0x27] = {"CREATE_PROCESS", GP_KFD_IOC_CREATE_PROCESS, PRELOAD, 0, GP_KFD_MINOR_CREATE_PROCESS},
};
/* clang-format on */

bool gp_vgpu_is_sdma(u32 queue_type)
{
	return queue_type == GP_KFD_QUEUE_SDMA || queue_type == GP_KFD_QUEUE_SDMA_XGMI ||
	       queue_type == GP_KFD_QUEUE_SDMA_BY_ENGINE;
}

/* access_ok() */
static bool is_user(u64 address, u64 size)
{
	return address <= GP_KFD_USER_END && size <= GP_KFD_USER_END - address;
}

int gp_vgpu_check_ring(u32 minor, u32 percentage, u32 priority, u64 ring, u32 *ring_size)
{
	/* The bits above it came with XCCs. */
	u32 mask = minor < GP_KFD_MINOR_DEBUG ? ~0u : GP_KFD_PERCENT_MASK;

	if ((percentage & mask) > GP_KFD_MAX_QUEUE_PERCENTAGE ||
	    priority > GP_KFD_MAX_QUEUE_PRIORITY)
		return -EINVAL;
	if (ring && !is_user(ring, sizeof(u64)))
		return -EFAULT;
	if (*ring_size & (*ring_size - 1))
		return -EINVAL;
	if (*ring_size < GP_KFD_MIN_RING_SIZE)
		*ring_size = GP_KFD_MIN_RING_SIZE;
	return 0;
}

int gp_vgpu_check_create(u32 minor, struct gp_kfd_create_queue_args *args)
{
	u32 last = minor < GP_KFD_MINOR_SDMA_BY_ENGINE ? GP_KFD_QUEUE_SDMA_XGMI
						       : GP_KFD_QUEUE_SDMA_BY_ENGINE;
	int error = gp_vgpu_check_ring(minor, args->queue_percentage, args->queue_priority,
				       args->ring_base_address, &args->ring_size);

	if (error)
		return error;
	if (!is_user(args->read_pointer_address, sizeof(u32)) ||
	    !is_user(args->write_pointer_address, sizeof(u32)) ||
	    !is_user(args->eop_buffer_address, sizeof(u32)) ||
	    !is_user(args->ctx_save_restore_address, sizeof(u32)))
		return -EFAULT;
	return args->queue_type <= last ? 0 : -GP_KFD_ENOTSUPP;
}

int gp_vgpu_check_buffer_sizes(const struct gp_vgpu_gpu *gpu,
			       const struct gp_kfd_create_queue_args *args)
{
	if (gp_vgpu_is_sdma(args->queue_type))
		return 0;
	if (args->eop_buffer_address && args->eop_buffer_size < GP_KFD_EOP_MIN)
		return -EINVAL;
	return args->ctl_stack_size != gpu->ctl_stack_bytes ||
			       args->ctx_save_restore_size < gpu->cwsr_bytes
		       ? -EINVAL
		       : 0;
}
