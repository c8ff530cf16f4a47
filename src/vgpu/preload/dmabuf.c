// SPDX-License-Identifier: MIT
/* EXPORT, IMPORT and GET_DMABUF_INFO of KFD (kfd_chardev.c), and files that are dma-bufs. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/kfd_driver.h"
#include "vgpu/preload/memory.h"
#include "vgpu/heap.h"

#define DOMAIN (GP_KFD_ALLOC_VRAM | GP_KFD_ALLOC_GTT)

int gp_vgpu_ioctl_export_dmabuf(struct gp_vgpu_client *client, void *data)
{
	struct gp_kfd_export_dmabuf_args *args = data;
	struct gp_vgpu_memory *memory = client->memory;
	struct gp_vgpu_bo *bo;
	int fd = -EINVAL;

	pthread_mutex_lock(&memory->lock);
	bo = gp_vgpu_bo_find(client, args->handle);
	if (bo && bo->pages)
		fd = gp_vgpu_pages_export(client, bo->pages, (int)args->flags);
	else if (bo && bo->flags & GP_KFD_ALLOC_USERPTR)
		fd = -EPERM;
	pthread_mutex_unlock(&memory->lock);
	if (fd < 0)
		return fd;
	args->dmabuf_fd = (u32)fd;
	return 0;
}

int gp_vgpu_ioctl_import_dmabuf(struct gp_vgpu_client *client, void *data)
{
	struct gp_kfd_import_dmabuf_args *args = data;
	struct gp_vgpu_memory *memory = client->memory;
	struct gp_vgpu_bo *bo;
	u32 gpu, index = 0;
	int error = gp_vgpu_bound_gpu(client, args->gpu_id, -ENODEV, &gpu);

	if (error)
		return error;
	bo = gp_vgpu_alloc(sizeof(*bo));
	if (!bo)
		return -ENOMEM;
	bo->va = args->va_addr;
	bo->gpu_index = gpu;
	pthread_mutex_lock(&memory->lock);
	error = gp_vgpu_pages_import(client, (int)args->dmabuf_fd, &bo->pages);
	if (!error) {
		/* The memory of another GPU counts as system memory. */
		bo->flags = (bo->pages->gpu_index == gpu ? bo->pages->flags & DOMAIN
							 : GP_KFD_ALLOC_GTT) |
			    GP_KFD_ALLOC_WRITABLE | GP_KFD_ALLOC_EXECUTABLE;
		bo->size = bo->pages->range.size;
		error = gp_vgpu_bo_add(client, bo, &index);
		if (error)
			(void)gp_vgpu_pages_put(memory, bo->pages);
	}
	pthread_mutex_unlock(&memory->lock);
	if (error) {
		gp_vgpu_free(bo);
		return error;
	}
	args->handle = bo->handle;
	return 0;
}

int gp_vgpu_ioctl_get_dmabuf_info(struct gp_vgpu_client *client, void *data)
{
	struct gp_kfd_get_dmabuf_info_args *args = data;
	u32 room = args->metadata_size;
	struct gp_vgpu_dmabuf entry;
	u64 position;
	int error = gp_vgpu_dmabuf_read((int)args->dmabuf_fd, &entry, &position);

	if (error)
		return error;
	args->size = entry.size;
	args->metadata_size = entry.metadata.bytes;
	if (entry.metadata.bytes > room || entry.metadata.bytes > sizeof(entry.metadata.words))
		return -EINVAL;
	/* Only VRAM that KFD allocated belongs to a partition; else the first GPU is named. */
	args->gpu_id = !entry.drm && entry.flags & GP_KFD_ALLOC_VRAM
			       ? entry.gpu_id
			       : client->machine.gpus[0].gpu_id;
	args->flags = entry.flags & (DOMAIN | GP_KFD_ALLOC_PUBLIC);
	return args->metadata_ptr && entry.metadata.bytes
		       ? gp_vgpu_copy_out(args->metadata_ptr, entry.metadata.words,
					  entry.metadata.bytes)
		       : 0;
}

/* ---- the descriptor itself: dma_buf_llseek(), dma_buf_mmap() ---- */

s64 gp_vgpu_dmabuf_seek(int fd, s64 offset, int whence)
{
	struct gp_vgpu_dmabuf entry;
	u64 position;

	if (offset || (whence != SEEK_SET && whence != SEEK_END) ||
	    gp_vgpu_dmabuf_read(fd, &entry, &position))
		return -EINVAL;
	return whence == SEEK_END ? (s64)entry.size : 0;
}

void *gp_vgpu_dmabuf_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	struct gp_vgpu_dmabuf entry;
	u64 position;
	void *at;

	if (gp_vgpu_dmabuf_read(fd, &entry, &position) || offset < 0 || (u64)offset > entry.size ||
	    length > entry.size - (u64)offset) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	at = (void *)syscall(SYS_mmap, addr, length, prot, flags, fd, entry.offset + (u64)offset);
	if (at != MAP_FAILED)
		madvise(at, length, MADV_DONTFORK);
	return at;
}
