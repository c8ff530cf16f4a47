// SPDX-License-Identifier: MIT
/*
 * RUNTIME_ENABLE, DBG_TRAP and SMI_EVENTS: the server answers; this file transfers the arrays and
 * descriptors that the structures point to. A bad pointer travels as a flag, because the driver
 * detects it only after its permission checks.
 */
#include "vgpu/preload/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/kfd_debug.h"
#include "vgpu/heap.h"

/* Whether it can be written, by writing what is there. */
static bool is_writable(u64 address, u32 size)
{
	u8 bytes[sizeof(struct gp_kfd_runtime_info)];

	if (size > sizeof(bytes))
		size = sizeof(bytes);
	return !gp_vgpu_copy_in(bytes, address, size) && !gp_vgpu_copy_out(address, bytes, size);
}

static int enable(struct gp_vgpu_client *client, struct gp_kfd_dbg_trap_args *args)
{
	struct gp_vgpu_call call = gp_vgpu_ioctl_call(GP_KFD_IOC_DBG_TRAP, args);
	struct gp_kfd_runtime_info info;
	u64 user = args->enable.rinfo_ptr;
	u32 room = args->enable.rinfo_size < sizeof(info) ? args->enable.rinfo_size : sizeof(info);
	int result;

	if (gp_vgpu_is_open((int)args->enable.dbg_fd))
		call.send_fd = (int)args->enable.dbg_fd;
	if (!user)
		call.flags |= GP_VGPU_NULL_ARRAY;
	if (!is_writable(user, room))
		call.flags |= GP_VGPU_BAD_ARRAY;
	call.payload = &info;
	call.payload_room = sizeof(info);
	result = gp_vgpu_client_request(client, &call);
	if (result >= 0 && call.payload_size == sizeof(info) && room)
		(void)gp_vgpu_copy_out(user, &info, room);
	return result;
}

/* SUSPEND and RESUME: ids in, ids with their result bits out. */
static int change_queues(struct gp_vgpu_client *client, struct gp_kfd_dbg_trap_args *args, u64 user,
			 u32 count)
{
	struct gp_vgpu_call call = gp_vgpu_ioctl_call(GP_KFD_IOC_DBG_TRAP, args);
	u32 *ids = NULL;
	int result;

	if (!user) {
		call.flags |= GP_VGPU_NULL_ARRAY;
	} else if (count && count <= GP_KFD_MAX_QUEUES) {
		ids = gp_vgpu_alloc(count * sizeof(*ids));
		if (!ids)
			return -ENOMEM;
		if (gp_vgpu_copy_in(ids, user, count * sizeof(*ids)))
			call.flags |= GP_VGPU_BAD_ARRAY;
		else
			call.payload_size = count * (u32)sizeof(*ids);
		call.payload = ids;
		call.payload_room = count * (u32)sizeof(*ids);
	}
	result = gp_vgpu_client_request(client, &call);
	/* An array that cannot be written loses the results, not the call. */
	if (result >= 0 && ids && call.payload_size)
		(void)gp_vgpu_copy_out(user, ids, call.payload_size);
	gp_vgpu_free(ids);
	return result;
}

struct snapshot {
	u64 *buffer;
	u32 *count, *entry_size;
	u32 largest; /* the driver's entry */
	u32 most;    /* entries there can be */
};

static int snapshot(struct gp_vgpu_client *client, struct gp_kfd_dbg_trap_args *args,
		    struct snapshot what)
{
	struct gp_vgpu_call call = gp_vgpu_ioctl_call(GP_KFD_IOC_DBG_TRAP, args);
	u64 user = *what.buffer;
	u32 room = *what.count, stride = *what.entry_size, entry, filled;
	u8 *entries;
	int result;

	if (room > what.most)
		room = what.most;
	entries = gp_vgpu_alloc((size_t)room * what.largest + 1);
	if (!entries)
		return -ENOMEM;
	if (!user)
		call.flags |= GP_VGPU_NULL_ARRAY;
	call.payload = entries;
	call.payload_room = room * what.largest;
	result = gp_vgpu_client_request(client, &call);
	entry = *what.entry_size < what.largest ? *what.entry_size : what.largest;
	filled = result >= 0 && entry ? call.payload_size / entry : 0;
	for (u32 i = 0; i < filled && result >= 0; i++)
		if (gp_vgpu_copy_out(user + (u64)i * stride, entries + (size_t)i * entry, entry))
			result = -EFAULT;
	gp_vgpu_free(entries);
	return result;
}

static int query_exception_info(struct gp_vgpu_client *client, struct gp_kfd_dbg_trap_args *args)
{
	/* The largest thing an exception can say of itself. */
	u8 info[sizeof(struct gp_kfd_dbg_device_info_entry)];
	struct gp_vgpu_call call = gp_vgpu_ioctl_call(GP_KFD_IOC_DBG_TRAP, args);
	u64 user = args->query_exception_info.info_ptr;
	u32 room = args->query_exception_info.info_size;
	int result;

	if (!user)
		call.flags |= GP_VGPU_NULL_ARRAY;
	call.payload = info;
	call.payload_room = sizeof(info);
	result = gp_vgpu_client_request(client, &call);
	if (result >= 0 && user && call.payload_size)
		result = gp_vgpu_copy_out(user, info,
					  call.payload_size < room ? call.payload_size : room)
				 ? -EFAULT
				 : result;
	return result;
}

int gp_vgpu_ioctl_dbg_trap(struct gp_vgpu_client *client, void *data)
{
	struct gp_kfd_dbg_trap_args *args = data;
	struct gp_vgpu_call plain;

	switch (args->op) {
	case GP_KFD_DBG_ENABLE:
		return enable(client, args);
	case GP_KFD_DBG_SUSPEND_QUEUES:
		return change_queues(client, args, args->suspend_queues.queue_array_ptr,
				     args->suspend_queues.num_queues);
	case GP_KFD_DBG_RESUME_QUEUES:
		return change_queues(client, args, args->resume_queues.queue_array_ptr,
				     args->resume_queues.num_queues);
	case GP_KFD_DBG_GET_QUEUE_SNAPSHOT:
		return snapshot(client, args,
				(struct snapshot){
					&args->queue_snapshot.snapshot_buf_ptr,
					&args->queue_snapshot.num_queues,
					&args->queue_snapshot.entry_size,
					sizeof(struct gp_kfd_queue_snapshot_entry),
					GP_KFD_MAX_QUEUES,
				});
	case GP_KFD_DBG_GET_DEVICE_SNAPSHOT:
		return snapshot(client, args,
				(struct snapshot){
					&args->device_snapshot.snapshot_buf_ptr,
					&args->device_snapshot.num_devices,
					&args->device_snapshot.entry_size,
					sizeof(struct gp_kfd_dbg_device_info_entry),
					GP_VGPU_MAX_GPUS,
				});
	case GP_KFD_DBG_QUERY_EXCEPTION_INFO:
		return query_exception_info(client, args);
	default:
		plain = gp_vgpu_ioctl_call(GP_KFD_IOC_DBG_TRAP, args);
		return gp_vgpu_client_request(client, &plain);
	}
}

int gp_vgpu_ioctl_smi_events(struct gp_vgpu_client *client, void *data)
{
	struct gp_kfd_smi_events_args *args = data;
	struct gp_vgpu_call call = gp_vgpu_ioctl_call(GP_KFD_IOC_SMI_EVENTS, args);
	int result = gp_vgpu_client_request(client, &call);

	if (result < 0 || call.receive_fd < 0) {
		if (call.receive_fd >= 0)
			syscall(SYS_close, call.receive_fd);
		return result < 0 ? result : -ENOMEM;
	}
	/* The driver's descriptor survives exec. */
	syscall(SYS_fcntl, call.receive_fd, F_SETFD, 0);
	args->anon_fd = (u32)call.receive_fd;
	return result;
}

/* It waits for a debugger with down_interruptible(), which no signal restarts. */
int gp_vgpu_ioctl_runtime_enable(struct gp_vgpu_client *client, void *data)
{
	struct gp_vgpu_call call = gp_vgpu_ioctl_call(GP_KFD_IOC_RUNTIME_ENABLE, data);

	call.never_restarts = true;
	return gp_vgpu_client_request(client, &call);
}
