// SPDX-License-Identifier: MIT
/* DBG_TRAP's operations on queues: suspend, resume, snapshot; and the end of a session. */
#include <errno.h>
#include <stdlib.h>

#include "vgpu/server/state.h"

#define NOT_FOUND UINT32_MAX

/* The first entry that names the queue; its INVALID bit may be left from an earlier call. */
static u32 index_of(const u32 *ids, u32 count, u32 id)
{
	for (u32 i = 0; i < count; i++)
		if ((ids[i] & ~GP_KFD_DBG_QUEUE_INVALID) == id)
			return i;
	return NOT_FOUND;
}

/* The array of a SUSPEND or RESUME with every entry marked invalid; NULL with *result if refused.
 */
static u32 *take_ids(struct gp_vgpu_request *request, u32 count, int *result)
{
	u32 *ids = (u32 *)(void *)request->payload;

	*result = 0;
	if (count > GP_KFD_MAX_QUEUES || (count && request->header.flags & GP_VGPU_NULL_ARRAY))
		*result = -EINVAL;
	else if (count && (request->header.flags & GP_VGPU_BAD_ARRAY ||
			   request->header.payload_size < count * sizeof(*ids)))
		*result = -EFAULT;
	if (*result || !count)
		return NULL;
	for (u32 i = 0; i < count; i++)
		ids[i] |= GP_KFD_DBG_QUEUE_INVALID;
	request->payload_out = (u32)(count * sizeof(*ids));
	return ids;
}

/* ---- SUSPEND ---- */

static bool may_suspend(const struct gp_vgpu_queue *queue)
{
	return !(queue->exception_status & GP_KFD_EC_MASK(GP_KFD_EC_QUEUE_NEW)) &&
	       !queue->destroying;
}

static bool suspend_one(struct gp_vgpu_server *server, struct gp_vgpu_queue *queue)
{
	if (queue->suspended)
		return true;
	if (!may_suspend(queue))
		return false;
	queue->suspended = true;
	gp_vgpu_queue_apply(server, queue);
	return true;
}

/* One device: its entries are counted, or marked, and exceptions cleared. */
static u32 suspended_on(struct gp_vgpu_process *target, const struct gp_vgpu_device *device,
			u32 *ids, u32 count, u64 clear)
{
	u32 suspended = 0;

	for (struct gp_vgpu_queue *queue = target->newest; queue; queue = queue->older) {
		u32 at = queue->device == device ? index_of(ids, count, queue->id) : NOT_FOUND;

		if (at == NOT_FOUND)
			continue;
		if (device->hung) {
			ids[at] |= GP_KFD_DBG_QUEUE_ERROR;
			continue;
		}
		suspended += !(ids[at] & GP_KFD_DBG_QUEUE_INVALID);
		/* Of all queues in the list, those that were skipped too. */
		queue->exception_status &= ~clear;
	}
	return suspended;
}

static void suspended(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	const struct gp_kfd_dbg_trap_suspend_queues_args *args =
		&GP_VGPU_ARGS(request, gp_kfd_dbg_trap_args)->suspend_queues;
	u32 *ids = (u32 *)(void *)request->payload;

	request->result = 0;
	for (u32 i = 0; i < server->device_count; i++)
		if (request->context[0] >> i & 1)
			request->result += suspended_on(request->owner, &server->devices[i], ids,
							args->num_queues, args->exception_mask);
	/* Of every queue of the process, those that run on too. */
	for (struct gp_vgpu_queue *q = request->owner->newest; q && request->result; q = q->older)
		gp_vgpu_save_headers(server, q, q->args.ctx_save_restore_address);
}

int gp_vgpu_debug_suspend(struct gp_vgpu_server *server, struct gp_vgpu_process *target,
			  struct gp_vgpu_request *request)
{
	const struct gp_kfd_dbg_trap_suspend_queues_args *args =
		&GP_VGPU_ARGS(request, gp_kfd_dbg_trap_args)->suspend_queues;
	int result;
	u32 *ids = take_ids(request, args->num_queues, &result);

	if (!ids)
		return result;
	for (struct gp_vgpu_queue *queue = target->newest; queue; queue = queue->older) {
		u32 at = index_of(ids, args->num_queues, queue->id);

		if (at == NOT_FOUND || !suspend_one(server, queue))
			continue;
		ids[at] &= ~GP_KFD_DBG_QUEUE_INVALID;
		request->context[0] |= 1ull << queue->device->index;
	}
	request->resume = suspended;
	for (u32 i = 0; i < server->device_count; i++)
		if (request->context[0] >> i & 1)
			gp_vgpu_update(server, &server->devices[i], args->grace_period, request);
	if (!request->waiting)
		suspended(server, request);
	return (int)request->result;
}

/* ---- RESUME ---- */

static void resume_one(struct gp_vgpu_server *server, struct gp_vgpu_queue *queue)
{
	if (!queue->suspended)
		return;
	queue->suspended = false;
	gp_vgpu_queue_apply(server, queue);
}

static u32 resumed_on(struct gp_vgpu_process *target, const struct gp_vgpu_device *device, u32 *ids,
		      u32 count)
{
	u32 resumed = 0;

	for (struct gp_vgpu_queue *queue = target->newest; queue; queue = queue->older) {
		u32 at;

		if (queue->device != device)
			continue;
		at = ids ? index_of(ids, count, queue->id) : 0;
		if (at == NOT_FOUND)
			continue;
		if (!device->hung)
			resumed++;
		else if (ids)
			ids[at] |= GP_KFD_DBG_QUEUE_ERROR;
	}
	return resumed;
}

static void resumed(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	const struct gp_kfd_dbg_trap_resume_queues_args *args =
		&GP_VGPU_ARGS(request, gp_kfd_dbg_trap_args)->resume_queues;
	u32 *ids = request->context[1] ? (u32 *)(void *)request->payload : NULL;

	request->result = 0;
	for (u32 i = 0; i < server->device_count; i++)
		if (request->context[0] >> i & 1)
			request->result += resumed_on(request->owner, &server->devices[i], ids,
						      args->num_queues);
	gp_vgpu_wake_waiters(server, request->owner);
}

int gp_vgpu_debug_resume(struct gp_vgpu_server *server, struct gp_vgpu_process *target,
			 struct gp_vgpu_request *request)
{
	const struct gp_kfd_dbg_trap_resume_queues_args *args =
		&GP_VGPU_ARGS(request, gp_kfd_dbg_trap_args)->resume_queues;
	bool all = request->header.flags & GP_VGPU_NULL_ARRAY;
	int result;
	u32 *ids = all ? NULL : take_ids(request, args->num_queues, &result);

	if (!all && !ids)
		return result;
	for (struct gp_vgpu_queue *queue = target->newest; queue; queue = queue->older) {
		u32 at = all ? 0 : index_of(ids, args->num_queues, queue->id);

		if (at == NOT_FOUND)
			continue;
		resume_one(server, queue);
		if (ids)
			ids[at] &= ~GP_KFD_DBG_QUEUE_INVALID;
		request->context[0] |= 1ull << queue->device->index;
	}
	request->context[1] = !all;
	request->resume = resumed;
	for (u32 i = 0; i < server->device_count; i++)
		if (request->context[0] >> i & 1)
			gp_vgpu_update(server, &server->devices[i], GP_KFD_GRACE_DEFAULT, request);
	if (!request->waiting)
		resumed(server, request);
	return (int)request->result;
}

/* ---- the end of a session ---- */

void gp_vgpu_debug_refresh(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	for (u32 i = 0; i < server->device_count; i++)
		gp_vgpu_update_debug(server, &server->devices[i], request);
}

static void clear_watch_points(struct gp_vgpu_server *server, struct gp_vgpu_process *target,
			       struct gp_vgpu_request *request)
{
	for (u32 i = 0; i < server->device_count; i++)
		for (u32 id = 0; id < GP_KFD_WATCH_POINTS; id++)
			if (target->debug.watch_points[i] >> id & 1) {
				server->devices[i].watch_points &= ~(1u << id);
				target->debug.watch_points[i] &= ~(1u << id);
				gp_vgpu_update_debug(server, &server->devices[i], request);
			}
}

/* Resume, launch mode, flags, trap off: the driver refreshes the runlist for each of them. */
void gp_vgpu_debug_deactivate(struct gp_vgpu_server *server, struct gp_vgpu_process *target,
			      struct gp_vgpu_request *request)
{
	u64 devices = 0;

	for (struct gp_vgpu_queue *queue = target->newest; queue; queue = queue->older) {
		resume_one(server, queue);
		devices |= 1ull << queue->device->index;
	}
	for (u32 i = 0; i < server->device_count; i++)
		if (devices >> i & 1)
			gp_vgpu_update(server, &server->devices[i], GP_KFD_GRACE_DEFAULT, request);
	clear_watch_points(server, target, request);
	target->debug.launch_mode = GP_KFD_LAUNCH_NORMAL;
	target->debug.flags = 0;
	for (int refreshes = 0; refreshes < 3; refreshes++)
		gp_vgpu_debug_refresh(server, request);
	gp_vgpu_wake_waiters(server, target);
}

/* ---- snapshots ---- */

static void queue_entry(const struct gp_vgpu_queue *queue, struct gp_kfd_queue_snapshot_entry *out)
{
	*out = (struct gp_kfd_queue_snapshot_entry){
		.exception_status = queue->exception_status,
		.ring_base_address = queue->args.ring_base_address,
		.write_pointer_address = queue->args.write_pointer_address,
		.read_pointer_address = queue->args.read_pointer_address,
		.ctx_save_restore_address = queue->args.ctx_save_restore_address,
		.queue_id = queue->id,
		.gpu_id = queue->args.gpu_id,
		.ring_size = queue->args.ring_size,
		.queue_type = queue->args.queue_type,
		.ctx_save_restore_area_size = queue->args.ctx_save_restore_size,
	};
}

int gp_vgpu_debug_queue_snapshot(struct gp_vgpu_server *server, struct gp_vgpu_process *target,
				 struct gp_vgpu_request *request)
{
	struct gp_kfd_dbg_trap_queue_snapshot_args *args =
		&GP_VGPU_ARGS(request, gp_kfd_dbg_trap_args)->queue_snapshot;
	u32 room = args->num_queues;

	(void)server;
	args->num_queues = 0;
	if (!args->entry_size)
		return -EINVAL;
	args->entry_size =
		GP_MIN(args->entry_size, (u32)sizeof(struct gp_kfd_queue_snapshot_entry));
	for (struct gp_vgpu_queue *queue = target->newest; queue; queue = queue->older) {
		struct gp_kfd_queue_snapshot_entry entry;

		if (args->num_queues++ >= room)
			continue;
		queue_entry(queue, &entry);
		queue->exception_status &= ~args->exception_mask;
		if (request->header.flags & (GP_VGPU_NULL_ARRAY | GP_VGPU_BAD_ARRAY)) {
			args->num_queues = request->payload_out = 0;
			return -EFAULT;
		}
		gp_vgpu_payload(request, &entry, args->entry_size);
	}
	return 0;
}

static void device_entry(const struct gp_vgpu_device *device, const struct gp_vgpu_process *target,
			 struct gp_kfd_dbg_device_info_entry *out)
{
	const struct gp_vgpu_gpufile *file = &device->file;

	*out = (struct gp_kfd_dbg_device_info_entry){
		.exception_status = target->debug.device_status[device->index],
		.lds_base = GP_KFD_LDS_BASE,
		.lds_limit = GP_KFD_LDS_LIMIT,
		.scratch_base = GP_KFD_SCRATCH_BASE,
		.scratch_limit = GP_KFD_SCRATCH_LIMIT,
		.gpuvm_base = GP_KFD_GPUVM_BASE,
		.gpuvm_limit = GP_KFD_GPUVM_LIMIT,
		.gpu_id = file->gpu.gpu_id,
		.location_id = file->location_id,
		.vendor_id = GP_PCI_VENDOR_AMD,
		.device_id = file->gpu.device_id,
		.revision_id = file->gpu.pci_revision,
		.subsystem_vendor_id = file->subsystem_vendor,
		.subsystem_device_id = file->subsystem_device,
		.fw_version = file->mec_firmware,
		.gfx_target_version = file->gpu.gfx_version,
		.simd_count = file->gpu.cu_count * file->chip.simd_per_cu,
		.max_waves_per_simd = file->chip.waves_per_simd,
		.array_count = file->array_count,
		.simd_arrays_per_engine = file->arrays_per_engine,
		.num_xcc = file->gpu.xcc_count,
		.capability = file->capability,
		.debug_prop = file->debug_prop,
	};
}

int gp_vgpu_debug_device_snapshot(struct gp_vgpu_server *server, struct gp_vgpu_process *target,
				  struct gp_vgpu_request *request)
{
	struct gp_kfd_dbg_trap_device_snapshot_args *args =
		&GP_VGPU_ARGS(request, gp_kfd_dbg_trap_args)->device_snapshot;
	u32 room = GP_MIN(args->num_devices, server->device_count);

	if (request->header.flags & GP_VGPU_NULL_ARRAY)
		return -EINVAL;
	args->num_devices = server->device_count;
	args->entry_size =
		GP_MIN(args->entry_size, (u32)sizeof(struct gp_kfd_dbg_device_info_entry));
	for (u32 i = 0; i < room; i++) {
		struct gp_kfd_dbg_device_info_entry entry;

		device_entry(&server->devices[i], target, &entry);
		target->debug.device_status[i] &= ~args->exception_mask;
		if (request->header.flags & GP_VGPU_BAD_ARRAY)
			return -EFAULT;
		gp_vgpu_payload(request, &entry, args->entry_size);
	}
	return 0;
}
