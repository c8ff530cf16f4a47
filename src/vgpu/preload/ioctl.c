// SPDX-License-Identifier: MIT
/*
 * The dispatcher of /dev/kfd, which works like that of amdkfd: the number alone selects the ioctl;
 * as much as the caller sent is copied in and the rest is zero; as much as the caller has room for
 * is copied back, even after an error.
 */
#include "vgpu/preload/parts.h"

#include <errno.h>
#include <string.h>

#include "abi/kfd_debug.h"
#include "vgpu/ioctls.h"
#include "vgpu/heap.h"

/*
 * CRIU_OP alone may be called with the descriptor of another process, by its tracer. The server
 * checks that, and refuses before the driver would have read the arguments.
 */
static int checkpoint(struct gp_vgpu_client *client, struct gp_vgpu_fd fd, u32 user_bytes,
		      void *user)
{
	struct gp_kfd_criu_args args = {0};
	s32 owner = fd.owner;
	u32 bytes = user_bytes < sizeof(args) ? user_bytes : (u32)sizeof(args);
	struct gp_vgpu_call call = gp_vgpu_ioctl_call(GP_KFD_IOC_CRIU_OP, &args);
	int result;

	call.payload = &owner;
	call.payload_size = sizeof(owner);
	if (gp_vgpu_copy_in(&args, (u64)(uintptr_t)user, bytes))
		call.flags |= GP_VGPU_BAD_ARRAY;
	result = gp_vgpu_client_request(client, &call);
	if (result != -EBADF && result != -EACCES && result != -EFAULT &&
	    gp_vgpu_copy_out((u64)(uintptr_t)user, &args, bytes))
		result = -EFAULT;
	return result;
}

/* Calls that are answered here all the same wait while the driver would not let them go on. */
static void wait_for_locks(struct gp_vgpu_client *client, u32 locks)
{
	struct gp_kfd_get_clock_counters_args args = {0};

	if (client->shared && __atomic_load_n(&client->shared->locks, __ATOMIC_ACQUIRE) & locks)
		(void)gp_vgpu_forward(client, _IOC_NR(GP_KFD_IOC_GET_CLOCK_COUNTERS), &args,
				      sizeof(args));
}

/* The calls that the library answers, or prepares for the server (ioctls.c says which). */
static gp_vgpu_handler *const handlers[GP_KFD_NR_END] = {
	[_IOC_NR(GP_KFD_IOC_GET_VERSION)] = gp_vgpu_ioctl_get_version,
	[_IOC_NR(GP_KFD_IOC_CREATE_QUEUE)] = gp_vgpu_ioctl_create_queue,
	[_IOC_NR(GP_KFD_IOC_DESTROY_QUEUE)] = gp_vgpu_ioctl_destroy_queue,
	[_IOC_NR(GP_KFD_IOC_SET_MEMORY_POLICY)] = gp_vgpu_ioctl_set_memory_policy,
	[_IOC_NR(GP_KFD_IOC_GET_CLOCK_COUNTERS)] = gp_vgpu_ioctl_get_clock_counters,
	[_IOC_NR(GP_KFD_IOC_GET_PROCESS_APERTURES)] = gp_vgpu_ioctl_get_apertures,
	[_IOC_NR(GP_KFD_IOC_UPDATE_QUEUE)] = gp_vgpu_ioctl_update_queue,
	[_IOC_NR(GP_KFD_IOC_CREATE_EVENT)] = gp_vgpu_ioctl_create_event,
	[_IOC_NR(GP_KFD_IOC_DESTROY_EVENT)] = gp_vgpu_ioctl_destroy_event,
	[_IOC_NR(GP_KFD_IOC_SET_EVENT)] = gp_vgpu_ioctl_set_event,
	[_IOC_NR(GP_KFD_IOC_RESET_EVENT)] = gp_vgpu_ioctl_reset_event,
	[_IOC_NR(GP_KFD_IOC_WAIT_EVENTS)] = gp_vgpu_ioctl_wait_events,
	[_IOC_NR(GP_KFD_IOC_SET_SCRATCH_BACKING_VA)] = gp_vgpu_ioctl_set_scratch,
	[_IOC_NR(GP_KFD_IOC_GET_TILE_CONFIG)] = gp_vgpu_ioctl_get_tile_config,
	[_IOC_NR(GP_KFD_IOC_SET_TRAP_HANDLER)] = gp_vgpu_ioctl_set_trap_handler,
	[_IOC_NR(GP_KFD_IOC_GET_PROCESS_APERTURES_NEW)] = gp_vgpu_ioctl_get_apertures_new,
	[_IOC_NR(GP_KFD_IOC_ACQUIRE_VM)] = gp_vgpu_ioctl_acquire_vm,
	[_IOC_NR(GP_KFD_IOC_ALLOC_MEMORY_OF_GPU)] = gp_vgpu_ioctl_alloc_memory,
	[_IOC_NR(GP_KFD_IOC_FREE_MEMORY_OF_GPU)] = gp_vgpu_ioctl_free_memory,
	[_IOC_NR(GP_KFD_IOC_MAP_MEMORY_TO_GPU)] = gp_vgpu_ioctl_map_memory,
	[_IOC_NR(GP_KFD_IOC_UNMAP_MEMORY_FROM_GPU)] = gp_vgpu_ioctl_unmap_memory,
	[_IOC_NR(GP_KFD_IOC_SET_CU_MASK)] = gp_vgpu_ioctl_set_cu_mask,
	[_IOC_NR(GP_KFD_IOC_GET_DMABUF_INFO)] = gp_vgpu_ioctl_get_dmabuf_info,
	[_IOC_NR(GP_KFD_IOC_IMPORT_DMABUF)] = gp_vgpu_ioctl_import_dmabuf,
	[_IOC_NR(GP_KFD_IOC_SMI_EVENTS)] = gp_vgpu_ioctl_smi_events,
	[_IOC_NR(GP_KFD_IOC_SVM)] = gp_vgpu_ioctl_svm,
	[_IOC_NR(GP_KFD_IOC_SET_XNACK_MODE)] = gp_vgpu_ioctl_set_xnack_mode,
	[_IOC_NR(GP_KFD_IOC_EXPORT_DMABUF)] = gp_vgpu_ioctl_export_dmabuf,
	[_IOC_NR(GP_KFD_IOC_RUNTIME_ENABLE)] = gp_vgpu_ioctl_runtime_enable,
	[_IOC_NR(GP_KFD_IOC_DBG_TRAP)] = gp_vgpu_ioctl_dbg_trap,
};

struct gp_vgpu_call gp_vgpu_ioctl_call(unsigned int request, void *args)
{
	return (struct gp_vgpu_call){
		.kind = GP_VGPU_IOCTL,
		.ioctl_nr = _IOC_NR(request),
		.args = args,
		.args_size = _IOC_SIZE(request),
		.send_fd = -1,
	};
}

int gp_vgpu_forward(struct gp_vgpu_client *client, u32 nr, void *args, u32 size)
{
	struct gp_vgpu_call call = gp_vgpu_ioctl_call(gp_vgpu_ioctls[nr].request, args);

	/* A longer structure than the driver's ends in bytes that it ignores. */
	if (size < call.args_size)
		call.args_size = size;
	return gp_vgpu_client_request(client, &call);
}

int gp_vgpu_gpu_index(const struct gp_vgpu_client *client, u32 gpu_id)
{
	for (u32 i = 0; i < client->machine.gpu_count; i++)
		if (client->machine.gpus[i].gpu_id == gpu_id)
			return (int)i;
	return -1;
}

int gp_vgpu_bound_gpu(struct gp_vgpu_client *client, u32 gpu_id, int unbound, u32 *index)
{
	int gpu = gp_vgpu_gpu_index(client, gpu_id);

	if (gpu < 0)
		return -EINVAL;
	if (!(client->acquired_vm & 1u << gpu))
		return unbound;
	*index = (u32)gpu;
	return 0;
}

/* SVM alone ends in an array, which must lie within what the caller sent. */
static bool svm_fits(const struct gp_kfd_svm_args *args, u32 bytes)
{
	return (bytes - sizeof(*args)) / sizeof(args->attrs[0]) >= args->nattr;
}

static int answer(struct gp_vgpu_client *client, u32 nr, void *args, u32 bytes)
{
	/* Only a primary KFD process has SVM and a debugger. */
	if (client->file && (nr == _IOC_NR(GP_KFD_IOC_SVM) || nr == _IOC_NR(GP_KFD_IOC_DBG_TRAP)))
		return -EOPNOTSUPP;
	switch (gp_vgpu_ioctls[nr].side) {
	case GP_VGPU_REMOVED:
		return -EPERM;
	case GP_VGPU_IN_SERVER:
		return gp_vgpu_forward(client, nr, args, bytes);
	default:
		if (nr == _IOC_NR(GP_KFD_IOC_SVM) && !svm_fits(args, bytes))
			return -EINVAL;
		return handlers[nr](client, args);
	}
}

static int dispatch(struct gp_vgpu_client *client, u32 nr, unsigned int user_bytes, void *user)
{
	unsigned int request = gp_vgpu_ioctls[nr].request;
	u32 bytes = _IOC_SIZE(request) > user_bytes ? _IOC_SIZE(request) : user_bytes;
	_Alignas(8) u8 small[512];
	u8 *data = bytes <= sizeof(small) ? small : gp_vgpu_alloc(bytes);
	u64 address = (u64)(uintptr_t)user;
	int result = 0;

	if (!data)
		return -ENOMEM;
	memset(data, 0, bytes);
	/* _IOC_WRITE is the caller's direction: the driver reads. */
	if (_IOC_DIR(request) & _IOC_WRITE)
		result = gp_vgpu_copy_in(data, address, user_bytes);
	if (!result) {
		wait_for_locks(client, gp_vgpu_ioctls[nr].locks);
		result = answer(client, nr, data, bytes);
		if ((_IOC_DIR(request) & _IOC_READ) && gp_vgpu_copy_out(address, data, user_bytes))
			result = -EFAULT;
	}
	if (data != small)
		gp_vgpu_free(data);
	return result;
}

static int call(struct gp_vgpu_client *client, struct gp_vgpu_fd fd, unsigned long request,
		void *user)
{
	u32 nr = _IOC_NR(request);

	if (gp_vgpu_ioctls[nr].minor > client->machine.kfd_minor)
		return -ENOTTY;
	if (nr == _IOC_NR(GP_KFD_IOC_CRIU_OP))
		return checkpoint(client, fd, _IOC_SIZE(request), user);
	/* A descriptor belongs to the process that opened it. */
	if (fd.owner != client->pid)
		return -EBADF;
	if (nr == _IOC_NR(GP_KFD_IOC_CREATE_PROCESS))
		return gp_vgpu_create_process(client, fd);
	return dispatch(client, nr, _IOC_SIZE(request), user);
}

int gp_vgpu_kfd_ioctl(struct gp_vgpu_fd fd, unsigned long request, void *user)
{
	u32 nr = _IOC_NR(request);
	struct gp_vgpu_client *client;
	int result;

	if (nr >= GP_KFD_NR_END || gp_vgpu_ioctls[nr].side == GP_VGPU_NOWHERE)
		return -ENOTTY;
	client = gp_vgpu_client_take(fd);
	if (!client)
		return -ENODEV;
	result = call(client, fd, request, user);
	gp_vgpu_client_put(client);
	return result;
}
