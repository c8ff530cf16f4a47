// SPDX-License-Identifier: MIT
/* DBG_TRAP's exceptions: raised, asked for, cleared; and the settings without effect here. */
#include <errno.h>

#include "vgpu/server/state.h"

#define MASK_RANGE(first, last) \
	(GP_KFD_EC_MASK(last) | (GP_KFD_EC_MASK(last) - GP_KFD_EC_MASK(first)))

static const u64 queue_exceptions =
	MASK_RANGE(GP_KFD_EC_QUEUE_WAVE_ABORT, GP_KFD_EC_QUEUE_WAVE_APERTURE_VIOLATION) |
	MASK_RANGE(GP_KFD_EC_QUEUE_PACKET_FIRST, GP_KFD_EC_QUEUE_PACKET_LAST) |
	MASK_RANGE(GP_KFD_EC_QUEUE_PREEMPTION_ERROR, GP_KFD_EC_QUEUE_NEW);
static const u64 device_exceptions =
	MASK_RANGE(GP_KFD_EC_DEVICE_QUEUE_DELETE, GP_KFD_EC_DEVICE_NEW);
static const u64 process_exceptions =
	MASK_RANGE(GP_KFD_EC_PROCESS_RUNTIME, GP_KFD_EC_PROCESS_DEVICE_REMOVE);

/* One byte for the debugger. */
static void tell(const struct gp_vgpu_process *target)
{
	gp_vgpu_foreign_tell(target->debug.event_fd);
}

void gp_vgpu_raise(struct gp_vgpu_server *server, struct gp_vgpu_process *target,
		   struct gp_vgpu_queue *queue, u32 exception)
{
	u64 mask = GP_KFD_EC_MASK(exception);

	(void)server;
	if (!target->debug.enabled)
		return;
	if (mask & device_exceptions && queue)
		target->debug.device_status[queue->device->index] |= mask;
	else if (mask & process_exceptions)
		target->debug.process_status |= mask;
	else if (queue)
		queue->exception_status |= mask;
	if (target->debug.exception_mask & mask)
		tell(target);
}

/* kfd_set_dbg_ev_from_interrupt(): an enabled exception is the debugger's alone. */
int gp_vgpu_debug_exception(struct gp_vgpu_server *server, struct gp_vgpu_process *target,
			    const struct gp_vgpu_exception *what)
{
	u64 mask = what->code >= 1 && what->code <= 64 ? GP_KFD_EC_MASK(what->code) : 0;
	const struct gp_vgpu_device *device = gp_vgpu_device(server, what->gpu_id);
	struct gp_vgpu_queue *queue = gp_vgpu_queue(target, what->queue_id);

	if (mask & queue_exceptions && queue)
		gp_vgpu_raise(server, target, queue, what->code);
	else if (mask == GP_KFD_EC_MASK(GP_KFD_EC_DEVICE_MEMORY_VIOLATION) && device && queue)
		gp_vgpu_raise(server, target, queue, what->code);
	else
		return GP_VGPU_TELL_OLD;
	if (target->debug.enabled && target->debug.exception_mask & mask)
		return GP_VGPU_TOLD;
	if (mask & queue_exceptions && target->runtime_state == GP_KFD_RUNTIME_ENABLED)
		return GP_VGPU_TELL_RUNTIME;
	return GP_VGPU_TELL_OLD;
}

void gp_vgpu_debug_clear_status(struct gp_vgpu_process *target)
{
	for (struct gp_vgpu_queue *queue = target->newest; queue; queue = queue->older)
		queue->exception_status = 0;
	for (u32 i = 0; i < GP_VGPU_MAX_GPUS; i++)
		target->debug.device_status[i] = 0;
	target->debug.process_status = 0;
}

int gp_vgpu_debug_set_mask(struct gp_vgpu_server *server, struct gp_vgpu_process *target,
			   struct gp_vgpu_request *request)
{
	u64 mask =
		GP_VGPU_ARGS(request, gp_kfd_dbg_trap_args)->set_exceptions_enabled.exception_mask;
	u64 pending = target->debug.process_status;

	(void)server;
	for (struct gp_vgpu_queue *queue = target->newest; queue; queue = queue->older)
		pending |= queue->exception_status;
	for (u32 i = 0; i < GP_VGPU_MAX_GPUS; i++)
		pending |= target->debug.device_status[i];
	if (mask & pending)
		tell(target);
	target->debug.exception_mask = mask;
	return 0;
}

/* Queues newest first, then devices, then the process: the first with something enabled. */
int gp_vgpu_debug_query_event(struct gp_vgpu_server *server, struct gp_vgpu_process *target,
			      struct gp_vgpu_request *request)
{
	struct gp_kfd_dbg_trap_query_debug_event_args *args =
		&GP_VGPU_ARGS(request, gp_kfd_dbg_trap_args)->query_debug_event;
	u64 clear = args->exception_mask, enabled = target->debug.exception_mask;
	u64 *status = NULL;

	args->exception_mask = 0;
	args->queue_id = args->gpu_id = 0;
	for (struct gp_vgpu_queue *queue = target->newest; queue && !status; queue = queue->older)
		if (enabled & queue->exception_status) {
			status = &queue->exception_status;
			args->queue_id = queue->id;
			args->gpu_id = queue->args.gpu_id;
		}
	for (u32 i = 0; i < server->device_count && !status; i++)
		if (enabled & target->debug.device_status[i]) {
			status = &target->debug.device_status[i];
			args->gpu_id = server->devices[i].file.gpu.gpu_id;
		}
	if (!status && enabled & target->debug.process_status)
		status = &target->debug.process_status;
	if (!status)
		return -EAGAIN;
	args->exception_mask = *status;
	*status &= ~clear;
	return 0;
}

/* Where the exceptions of this code's kind are kept for this source; NULL = no such source. */
static u64 *status_of(struct gp_vgpu_server *server, struct gp_vgpu_process *target, u64 mask,
		      u32 source)
{
	if (mask & queue_exceptions) {
		struct gp_vgpu_queue *queue = gp_vgpu_queue(target, source);

		return queue ? &queue->exception_status : NULL;
	}
	if (mask & device_exceptions) {
		const struct gp_vgpu_device *device = gp_vgpu_device(server, source);

		return device ? &target->debug.device_status[device->index] : NULL;
	}
	return mask & process_exceptions ? &target->debug.process_status : NULL;
}

int gp_vgpu_debug_query_info(struct gp_vgpu_server *server, struct gp_vgpu_process *target,
			     struct gp_vgpu_request *request)
{
	struct gp_kfd_dbg_trap_query_exception_info_args *args =
		&GP_VGPU_ARGS(request, gp_kfd_dbg_trap_args)->query_exception_info;
	u32 code = args->exception_code;
	u64 mask = code >= 1 && code <= 64 ? GP_KFD_EC_MASK(code) : 0;
	u64 *status = status_of(server, target, mask, args->source_id);
	u32 size = 0;

	if (request->header.flags & GP_VGPU_NULL_ARRAY || !status)
		return -EINVAL;
	if (!(*status & mask))
		return -ENODATA;
	if (code == GP_KFD_EC_PROCESS_RUNTIME) {
		struct gp_kfd_runtime_info info = {
			.r_debug = target->r_debug,
			.runtime_state = target->runtime_state,
			.ttmp_setup = target->ttmp_setup,
		};

		if (request->header.flags & GP_VGPU_BAD_ARRAY)
			return -EFAULT;
		size = sizeof(info);
		gp_vgpu_payload(request, &info, GP_MIN(args->info_size, size));
	}
	args->info_size = size;
	if (args->clear_exception)
		*status &= ~mask;
	return 0;
}

/* Accepted or refused as the driver would; waves have no instructions to trap here. */
int gp_vgpu_debug_launch(struct gp_vgpu_server *server, struct gp_vgpu_process *target,
			 struct gp_vgpu_request *request)
{
	struct gp_kfd_dbg_trap_args *args = GP_VGPU_ARGS(request, gp_kfd_dbg_trap_args);
	u32 asked = args->launch_override.support_request_mask;

	if (args->op == GP_KFD_DBG_SET_WAVE_LAUNCH_MODE) {
		u32 mode = args->launch_mode.launch_mode & 0xff; /* the driver takes 8 bits */

		if (mode != GP_KFD_LAUNCH_NORMAL && mode != GP_KFD_LAUNCH_HALT &&
		    mode != GP_KFD_LAUNCH_DEBUG)
			return -EINVAL;
		target->debug.launch_mode = mode;
		gp_vgpu_debug_refresh(server, request);
		return 0;
	}
	args->launch_override.support_request_mask = GP_KFD_TRAP_MASK_GFX90A;
	if (args->launch_override.override_mode != GP_KFD_OVERRIDE_OR &&
	    args->launch_override.override_mode != GP_KFD_OVERRIDE_REPLACE)
		return -EPERM;
	if (asked & ~GP_KFD_TRAP_MASK_GFX90A)
		return -EACCES;
	args->launch_override.enable_mask = 0;
	gp_vgpu_debug_refresh(server, request);
	return 0;
}

static int take_watch_point(struct gp_vgpu_device *device, struct gp_vgpu_process *target, u32 *id)
{
	for (u32 i = 0; i < GP_KFD_WATCH_POINTS; i++)
		if (!(device->watch_points >> i & 1)) {
			device->watch_points |= 1u << i;
			target->debug.watch_points[device->index] |= 1u << i;
			*id = i;
			return 0;
		}
	return -ENOMEM;
}

int gp_vgpu_debug_watch(struct gp_vgpu_server *server, struct gp_vgpu_process *target,
			struct gp_vgpu_request *request)
{
	struct gp_kfd_dbg_trap_args *args = GP_VGPU_ARGS(request, gp_kfd_dbg_trap_args);
	struct gp_vgpu_device *device;
	u32 id;

	if (args->op == GP_KFD_DBG_SET_NODE_ADDRESS_WATCH) {
		device = gp_vgpu_device(server, args->set_node_address_watch.gpu_id);
		if (take_watch_point(device, target, &args->set_node_address_watch.id))
			return -ENOMEM;
		gp_vgpu_update_debug(server, device, request);
		return 0;
	}
	device = gp_vgpu_device(server, args->clear_node_address_watch.gpu_id);
	id = args->clear_node_address_watch.id;
	if (id >= GP_KFD_WATCH_POINTS || !(target->debug.watch_points[device->index] >> id & 1))
		return -EINVAL;
	device->watch_points &= ~(1u << id);
	target->debug.watch_points[device->index] &= ~(1u << id);
	gp_vgpu_update_debug(server, device, request);
	return 0;
}
