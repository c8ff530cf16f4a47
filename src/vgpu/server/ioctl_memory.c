// SPDX-License-Identifier: MIT
/* Accounts of GPU memory, by process. The objects themselves belong to the clients. */
#include <errno.h>

#include "vgpu/server/state.h"

/* Never more than asked for plus a page; sizes near 2^64 are refused before. */
static u64 pages(u64 bytes)
{
	return (bytes + GP_KFD_PAGE - 1) & ~(u64)(GP_KFD_PAGE - 1);
}

static int allocate(struct gp_vgpu_server *server, struct gp_vgpu_process *process,
		    const struct gp_kfd_alloc_memory_of_gpu_args *args)
{
	struct gp_vgpu_device *device = gp_vgpu_device(server, args->gpu_id);
	u64 limit;

	if (!args->size || !device)
		return -EINVAL;
	if (!(args->flags & GP_KFD_ALLOC_VRAM))
		return 0;
	limit = device->file.gpu.vram_bytes -
		GP_MIN(device->vram_used, device->file.gpu.vram_bytes);
	if (args->size > limit || pages(args->size) > limit)
		return -ENOMEM;
	device->vram_used += pages(args->size);
	process->vram_used[device->index] += pages(args->size);
	return 0;
}

/* A client that says too much only spoils its own account, down to zero. */
static int release(struct gp_vgpu_server *server, struct gp_vgpu_process *process,
		   const struct gp_vgpu_request *request)
{
	struct gp_vgpu_device *device;
	struct gp_vgpu_free object;
	u64 bytes;

	if (request->header.payload_size < sizeof(object))
		return 0; /* not VRAM */
	memcpy(&object, request->payload, sizeof(object));
	device = gp_vgpu_device(server, object.gpu_id);
	if (!device)
		return -EINVAL;
	bytes = object.bytes > device->file.gpu.vram_bytes ? UINT64_MAX : pages(object.bytes);
	bytes = GP_MIN(bytes, process->vram_used[device->index]);
	process->vram_used[device->index] -= bytes;
	device->vram_used -= bytes;
	return 0;
}

static int available(struct gp_vgpu_server *server, struct gp_kfd_get_available_memory_args *args)
{
	const struct gp_vgpu_device *device = gp_vgpu_device(server, args->gpu_id);

	if (!device)
		return -EINVAL;
	args->available = device->file.gpu.vram_bytes - device->vram_used;
	args->available &= ~(u64)(GP_KFD_VRAM_ALIGN - 1);
	return 0;
}

int gp_vgpu_serve_alloc_memory(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	return allocate(server, request->owner,
			GP_VGPU_ARGS(request, gp_kfd_alloc_memory_of_gpu_args));
}

int gp_vgpu_serve_free_memory(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	return release(server, request->owner, request);
}

int gp_vgpu_serve_available_memory(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	return available(server, GP_VGPU_ARGS(request, gp_kfd_get_available_memory_args));
}
