/*
 * The dispatcher of /dev/kfd, as amdkfd's: the number alone chooses the ioctl; as much as the
 * caller sent is copied in and the rest is zero; what the caller has room for is copied back, also
 * when the ioctl failed.
 */
#include "vkfd/preload/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/kfd_debug.h"
#include "abi/kfd_driver.h"

typedef int handler(struct gp_vk_client *client, u32 nr, void *args, u32 size);

static int forward(struct gp_vk_client *client, u32 nr, void *args, u32 size)
{
	return gp_vk_forward(client, nr, args, size);
}

/* The oldest debugger is gone from the driver; its numbers answer this. */
static int not_permitted(struct gp_vk_client *client, u32 nr, void *args, u32 size)
{
	(void)client, (void)nr, (void)args, (void)size;
	return -EPERM;
}

/* Checkpoints need CAP_CHECKPOINT_RESTORE on the device's kernel; nobody has it here. */
static int not_allowed(struct gp_vk_client *client, u32 nr, void *args, u32 size)
{
	(void)client, (void)nr, (void)args, (void)size;
	return -EACCES;
}

static const struct {
	unsigned int request;
	u32 minor; /* KFD version that brought it */
	handler *handle;
} ioctls[GP_KFD_NR_END] = {
#define IOCTL(name, minor, handler) \
	[_IOC_NR(GP_KFD_IOC_##name)] = {GP_KFD_IOC_##name, minor, handler}
	IOCTL(GET_VERSION, 0, gp_vk_device_ioctl),
	IOCTL(CREATE_QUEUE, 0, gp_vk_queue_ioctl),
	IOCTL(DESTROY_QUEUE, 0, gp_vk_queue_ioctl),
	IOCTL(SET_MEMORY_POLICY, 0, gp_vk_device_ioctl),
	IOCTL(GET_CLOCK_COUNTERS, 0, gp_vk_device_ioctl),
	IOCTL(GET_PROCESS_APERTURES, 0, gp_vk_device_ioctl),
	IOCTL(UPDATE_QUEUE, 0, gp_vk_queue_ioctl),
	IOCTL(CREATE_EVENT, 0, gp_vk_event_ioctl),
	IOCTL(DESTROY_EVENT, 0, gp_vk_event_ioctl),
	IOCTL(SET_EVENT, 0, gp_vk_event_ioctl),
	IOCTL(RESET_EVENT, 0, gp_vk_event_ioctl),
	IOCTL(WAIT_EVENTS, 0, gp_vk_event_ioctl),
	IOCTL(DBG_REGISTER, 0, not_permitted),
	IOCTL(DBG_UNREGISTER, 0, not_permitted),
	IOCTL(DBG_ADDRESS_WATCH, 0, not_permitted),
	IOCTL(DBG_WAVE_CONTROL, 0, not_permitted),
	IOCTL(SET_SCRATCH_BACKING_VA, 0, gp_vk_device_ioctl),
	IOCTL(GET_TILE_CONFIG, 0, gp_vk_device_ioctl),
	IOCTL(SET_TRAP_HANDLER, 0, gp_vk_device_ioctl),
	IOCTL(GET_PROCESS_APERTURES_NEW, 0, gp_vk_device_ioctl),
	IOCTL(ACQUIRE_VM, 0, gp_vk_device_ioctl),
	IOCTL(ALLOC_MEMORY_OF_GPU, 0, gp_vk_memory_ioctl),
	IOCTL(FREE_MEMORY_OF_GPU, 0, gp_vk_memory_ioctl),
	IOCTL(MAP_MEMORY_TO_GPU, 0, gp_vk_memory_ioctl),
	IOCTL(UNMAP_MEMORY_FROM_GPU, 0, gp_vk_memory_ioctl),
	IOCTL(SET_CU_MASK, 0, gp_vk_queue_ioctl),
	IOCTL(GET_QUEUE_WAVE_STATE, 0, forward),
	IOCTL(GET_DMABUF_INFO, 0, gp_vk_device_ioctl),
	IOCTL(IMPORT_DMABUF, 0, gp_vk_device_ioctl),
	IOCTL(ALLOC_QUEUE_GWS, 0, forward),
	IOCTL(SMI_EVENTS, 3, gp_vk_debug_ioctl),
	IOCTL(SVM, GP_KFD_MINOR_SVM, gp_vk_svm_ioctl),
	IOCTL(SET_XNACK_MODE, GP_KFD_MINOR_SVM, gp_vk_device_ioctl),
	IOCTL(CRIU_OP, GP_KFD_MINOR_CRIU, not_allowed),
	IOCTL(AVAILABLE_MEMORY, GP_KFD_MINOR_MEMORY, forward),
	IOCTL(EXPORT_DMABUF, GP_KFD_MINOR_DMABUF_EXPORT, gp_vk_device_ioctl),
	IOCTL(RUNTIME_ENABLE, GP_KFD_MINOR_DEBUG, gp_vk_debug_ioctl),
	IOCTL(DBG_TRAP, GP_KFD_MINOR_DEBUG, gp_vk_debug_ioctl),
#undef IOCTL
};

int gp_vk_forward(struct gp_vk_client *client, u32 nr, void *args, u32 size)
{
	/* A caller with a longer structure than the driver's has bytes nobody looks at. */
	u32 known = _IOC_SIZE(ioctls[nr].request);
	struct gp_vk_call call = {
		.kind = GP_VKFD_IOCTL,
		.ioctl_nr = nr,
		.args = args,
		.args_size = size < known ? size : known,
		.send_fd = -1,
	};

	return gp_vk_request(client, &call);
}

int gp_vk_gpu_index(const struct gp_vk_client *client, u32 gpu_id)
{
	for (u32 i = 0; i < client->machine.gpu_count; i++)
		if (client->machine.gpus[i].gpu_id == gpu_id)
			return (int)i;
	return -1;
}

int gp_vk_bound_gpu(struct gp_vk_client *client, u32 gpu_id, int unbound, u32 *index)
{
	int gpu = gp_vk_gpu_index(client, gpu_id);

	if (gpu < 0)
		return -EINVAL;
	if (!(client->acquired_vm & 1u << gpu))
		return unbound;
	*index = (u32)gpu;
	return 0;
}

static int dispatch(struct gp_vk_client *client, u32 nr, unsigned int user_bytes, void *user)
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
		result = gp_vk_copy_in(data, address, user_bytes);
	if (!result) {
		result = ioctls[nr].handle(client, nr, data, bytes);
		if ((_IOC_DIR(request) & _IOC_READ) && gp_vk_copy_out(address, data, user_bytes))
			result = -EFAULT;
	}
	if (data != small)
		free(data);
	return result;
}

int gp_vk_kfd_ioctl(struct gp_vk_fd fd, unsigned long request, void *user)
{
	u32 nr = _IOC_NR(request);
	struct gp_vk_client *client;

	if (nr >= GP_ARRAY_SIZE(ioctls) || !ioctls[nr].handle)
		return -ENOTTY;
	/* A descriptor belongs to the process that opened it. */
	client = gp_vk_client();
	if (!client)
		return -ENODEV;
	if (ioctls[nr].minor > client->machine.kfd_minor)
		return -ENOTTY;
	if (fd.owner != client->pid)
		return -EBADF;
	/* The capability is asked for before the arguments are read. */
	if (nr == _IOC_NR(GP_KFD_IOC_CRIU_OP))
		return not_allowed(client, nr, NULL, 0);
	return dispatch(client, nr, _IOC_SIZE(request), user);
}
