// SPDX-License-Identifier: MIT
/*
 * The dispatcher of /dev/kfd, as amdkfd's: the number alone chooses the ioctl; as much as the
 * caller sent is copied in and the rest is zero; what the caller has room for is copied back, also
 * when the ioctl failed.
 */
#include "vgpu/preload/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/kfd_debug.h"
#include "abi/kfd_driver.h"

typedef int handler(struct gp_vgpu_client *client, u32 nr, void *args, u32 size);

static int forward(struct gp_vgpu_client *client, u32 nr, void *args, u32 size)
{
	return gp_vgpu_forward(client, nr, args, size);
}

/* The oldest debugger is gone from the driver; its numbers answer this. */
static int not_permitted(struct gp_vgpu_client *client, u32 nr, void *args, u32 size)
{
	(void)client, (void)nr, (void)args, (void)size;
	return -EPERM;
}

/*
 * CRIU_OP alone may be called with the descriptor of another process, by its tracer: the server
 * knows who that is, and refuses before the driver would have read the arguments.
 */
static int checkpoint(struct gp_vgpu_client *client, struct gp_vgpu_fd fd, u32 user_bytes,
		      void *user)
{
	struct gp_kfd_criu_args args = {0};
	s32 owner = fd.owner;
	u32 bytes = user_bytes < sizeof(args) ? user_bytes : (u32)sizeof(args);
	struct gp_vgpu_call call = {
		.kind = GP_VGPU_IOCTL,
		.ioctl_nr = _IOC_NR(GP_KFD_IOC_CRIU_OP),
		.args = &args,
		.args_size = sizeof(args),
		.payload = &owner,
		.payload_size = sizeof(owner),
		.send_fd = -1,
	};
	int result;

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

#define PROCESS GP_VGPU_LOCK_PROCESS
#define EVENTS  GP_VGPU_LOCK_EVENTS

static const struct {
	unsigned int request;
	u32 minor; /* KFD version that brought it */
	handler *handle;
	u32 locks; /* of the process, that the driver's handler takes before anything else */
} ioctls[GP_KFD_NR_END] = {
#define IOCTL(name, minor, handler, ...) \
	[_IOC_NR(GP_KFD_IOC_##name)] = {GP_KFD_IOC_##name, minor, handler, __VA_ARGS__}
	IOCTL(GET_VERSION, 0, gp_vgpu_device_ioctl, 0),
	IOCTL(CREATE_QUEUE, 0, gp_vgpu_queue_ioctl, 0),
	IOCTL(DESTROY_QUEUE, 0, gp_vgpu_queue_ioctl, 0),
	IOCTL(SET_MEMORY_POLICY, 0, gp_vgpu_device_ioctl, PROCESS),
	IOCTL(GET_CLOCK_COUNTERS, 0, gp_vgpu_device_ioctl, PROCESS),
	IOCTL(GET_PROCESS_APERTURES, 0, gp_vgpu_device_ioctl, PROCESS),
	IOCTL(UPDATE_QUEUE, 0, gp_vgpu_queue_ioctl, 0),
	IOCTL(CREATE_EVENT, 0, gp_vgpu_event_ioctl, EVENTS),
	IOCTL(DESTROY_EVENT, 0, gp_vgpu_event_ioctl, EVENTS),
	IOCTL(SET_EVENT, 0, gp_vgpu_event_ioctl, 0),
	IOCTL(RESET_EVENT, 0, gp_vgpu_event_ioctl, 0),
	IOCTL(WAIT_EVENTS, 0, gp_vgpu_event_ioctl, EVENTS),
	IOCTL(DBG_REGISTER, 0, not_permitted, 0),
	IOCTL(DBG_UNREGISTER, 0, not_permitted, 0),
	IOCTL(DBG_ADDRESS_WATCH, 0, not_permitted, 0),
	IOCTL(DBG_WAVE_CONTROL, 0, not_permitted, 0),
	IOCTL(SET_SCRATCH_BACKING_VA, 0, gp_vgpu_device_ioctl, PROCESS),
	IOCTL(GET_TILE_CONFIG, 0, gp_vgpu_device_ioctl, PROCESS),
	IOCTL(SET_TRAP_HANDLER, 0, gp_vgpu_device_ioctl, PROCESS),
	IOCTL(GET_PROCESS_APERTURES_NEW, 0, gp_vgpu_device_ioctl, PROCESS),
	IOCTL(ACQUIRE_VM, 0, gp_vgpu_device_ioctl, PROCESS),
	IOCTL(ALLOC_MEMORY_OF_GPU, 0, gp_vgpu_memory_ioctl, PROCESS),
	IOCTL(FREE_MEMORY_OF_GPU, 0, gp_vgpu_memory_ioctl, PROCESS),
	IOCTL(MAP_MEMORY_TO_GPU, 0, gp_vgpu_memory_ioctl, PROCESS),
	IOCTL(UNMAP_MEMORY_FROM_GPU, 0, gp_vgpu_memory_ioctl, PROCESS),
	IOCTL(SET_CU_MASK, 0, gp_vgpu_queue_ioctl, 0),
	IOCTL(GET_QUEUE_WAVE_STATE, 0, forward, 0),
	IOCTL(GET_DMABUF_INFO, 0, gp_vgpu_device_ioctl, 0),
	IOCTL(IMPORT_DMABUF, 0, gp_vgpu_device_ioctl, PROCESS),
	IOCTL(ALLOC_QUEUE_GWS, 0, forward, 0),
	IOCTL(SMI_EVENTS, 3, gp_vgpu_debug_ioctl, 0),
	IOCTL(SVM, GP_KFD_MINOR_SVM, gp_vgpu_svm_ioctl, PROCESS),
	IOCTL(SET_XNACK_MODE, GP_KFD_MINOR_SVM, gp_vgpu_device_ioctl, PROCESS),
	IOCTL(CRIU_OP, GP_KFD_MINOR_CRIU, forward, 0),
	IOCTL(AVAILABLE_MEMORY, GP_KFD_MINOR_MEMORY, forward, 0),
	IOCTL(EXPORT_DMABUF, GP_KFD_MINOR_DMABUF_EXPORT, gp_vgpu_device_ioctl, PROCESS),
	IOCTL(RUNTIME_ENABLE, GP_KFD_MINOR_DEBUG, gp_vgpu_debug_ioctl, 0),
	IOCTL(DBG_TRAP, GP_KFD_MINOR_DEBUG, gp_vgpu_debug_ioctl, 0),
#undef IOCTL
};

int gp_vgpu_forward(struct gp_vgpu_client *client, u32 nr, void *args, u32 size)
{
	/* A caller with a longer structure than the driver's has bytes nobody looks at. */
	u32 known = _IOC_SIZE(ioctls[nr].request);
	struct gp_vgpu_call call = {
		.kind = GP_VGPU_IOCTL,
		.ioctl_nr = nr,
		.args = args,
		.args_size = size < known ? size : known,
		.send_fd = -1,
	};

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

static int dispatch(struct gp_vgpu_client *client, u32 nr, unsigned int user_bytes, void *user)
{
	unsigned int request = ioctls[nr].request;
	u32 bytes = _IOC_SIZE(request) > user_bytes ? _IOC_SIZE(request) : user_bytes;
	_Alignas(8) u8 small[512];
	u8 *data = bytes <= sizeof(small) ? small : malloc(bytes);
	u64 address = (u64)(uintptr_t)user;
	int result = 0;

	if (!data)
		return -ENOMEM;
	memset(data, 0, bytes);
	/* _IOC_WRITE is the caller's direction: the driver reads. */
	if (_IOC_DIR(request) & _IOC_WRITE)
		result = gp_vgpu_copy_in(data, address, user_bytes);
	if (!result) {
		wait_for_locks(client, ioctls[nr].locks);
		result = ioctls[nr].handle(client, nr, data, bytes);
		if ((_IOC_DIR(request) & _IOC_READ) && gp_vgpu_copy_out(address, data, user_bytes))
			result = -EFAULT;
	}
	if (data != small)
		free(data);
	return result;
}

int gp_vgpu_kfd_ioctl(struct gp_vgpu_fd fd, unsigned long request, void *user)
{
	u32 nr = _IOC_NR(request);
	struct gp_vgpu_client *client;

	if (nr >= GP_ARRAY_SIZE(ioctls) || !ioctls[nr].handle)
		return -ENOTTY;
	/* A descriptor belongs to the process that opened it. */
	client = gp_vgpu_client();
	if (!client)
		return -ENODEV;
	if (ioctls[nr].minor > client->machine.kfd_minor)
		return -ENOTTY;
	if (nr == _IOC_NR(GP_KFD_IOC_CRIU_OP))
		return checkpoint(client, fd, _IOC_SIZE(request), user);
	if (fd.owner != client->pid)
		return -EBADF;
	return dispatch(client, nr, _IOC_SIZE(request), user);
}
