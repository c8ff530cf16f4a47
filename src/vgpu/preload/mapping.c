// SPDX-License-Identifier: MIT
/* Where a GPU address really is, and what mmap() on a device descriptor gives. */
#include "vgpu/cp/cp.h"
#include "vgpu/preload/memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/kfd_driver.h"

static void *bo_pointer(struct gp_vgpu_client *client, const struct gp_vgpu_bo *bo, u64 va,
			u64 size)
{
	u64 offset = va - bo->va;

	if (offset > bo->size || size > bo->size - offset)
		return NULL;
	if (bo->pages)
		return (u8 *)bo->pages->range.view + bo->offset + offset;
	if (bo->flags & GP_KFD_ALLOC_USERPTR)
		return (void *)(uintptr_t)(bo->user + offset);
	if (bo->flags & GP_KFD_ALLOC_DOORBELL) {
		u8 *view = gp_vgpu_cp_doorbell_view(client, bo->gpu_index);

		return view ? view + offset : NULL;
	}
	if (bo->flags & GP_KFD_ALLOC_MMIO_REMAP) { /* there once the application has mapped it */
		const struct gp_vgpu_range *page = &client->memory->mmio[bo->gpu_index];

		return page->window ? (u8 *)page->view + offset : NULL;
	}
	return NULL;
}

void *gp_vgpu_gpu_pointer(struct gp_vgpu_client *client, u32 gpu_id, u64 va, u64 size)
{
	struct gp_vgpu_memory *memory = client->memory;
	int gpu = gp_vgpu_gpu_index(client, gpu_id);
	struct gp_vgpu_interval *found;
	void *pointer = NULL;

	if (gpu < 0)
		return NULL;
	pthread_mutex_lock(&memory->lock);
	found = gp_vgpu_intervals_find(&memory->mapped[gpu], va);
	if (found)
		pointer = bo_pointer(client, found->value, va, size);
	pthread_mutex_unlock(&memory->lock);
	if (!found && gp_vgpu_svm_covers(client, (u32)gpu, va, size))
		pointer = (void *)(uintptr_t)va;
	return pointer;
}

bool gp_vgpu_is_allocation(struct gp_vgpu_client *client, u32 gpu_id, u64 va, u64 size)
{
	/* The driver compares whole pages, and lengths only from one page on. */
	u64 page = va / GP_KFD_PAGE, pages = size / GP_KFD_PAGE;
	struct gp_vgpu_memory *memory = client->memory;
	int gpu = gp_vgpu_gpu_index(client, gpu_id);
	struct gp_vgpu_interval *found;
	bool exact;

	if (gpu < 0)
		return false;
	pthread_mutex_lock(&memory->lock);
	found = gp_vgpu_intervals_find(&memory->mapped[gpu], va);
	exact = found && found->start / GP_KFD_PAGE == page &&
		(!pages || page + pages == found->end / GP_KFD_PAGE);
	pthread_mutex_unlock(&memory->lock);
	return exact;
}

void *gp_vgpu_memory_kernel_map(struct gp_vgpu_client *client, u64 handle, u64 *size)
{
	struct gp_vgpu_memory *memory = client->memory;
	struct gp_vgpu_bo *bo;
	void *view = NULL;

	pthread_mutex_lock(&memory->lock);
	bo = gp_vgpu_bo_find(client, handle);
	if (bo && bo->pages) {
		bo->pinned = true;
		view = bo->pages->range.view;
		*size = bo->pages->range.size;
	}
	pthread_mutex_unlock(&memory->lock);
	return view;
}

void *gp_vgpu_memory_event_page(struct gp_vgpu_client *client, u64 size, u64 *offset)
{
	struct gp_vgpu_memory *memory = client->memory;
	int error = 0;

	pthread_mutex_lock(&memory->lock);
	if (!memory->page.window)
		error = gp_vgpu_arena_take(&memory->arena, size, false, &memory->page);
	pthread_mutex_unlock(&memory->lock);
	if (error)
		return NULL;
	*offset = memory->page.offset;
	return memory->page.view;
}

/* ---- mmap ---- */

static void *map_file(void *addr, size_t length, int prot, int flags, int fd, u64 offset)
{
	void *at = (void *)syscall(SYS_mmap, addr, length, prot, flags, fd, offset);

	/* Device mappings are not copied to a child (VM_DONTCOPY). */
	if (at != MAP_FAILED)
		madvise(at, length, MADV_DONTFORK);
	return at;
}

static void *fail(int error)
{
	errno = error;
	return MAP_FAILED;
}

static void *map_buffer(struct gp_vgpu_client *client, void *addr, size_t length, int prot,
			int flags, u64 offset)
{
	struct gp_vgpu_memory *memory = client->memory;
	const struct gp_vgpu_pages *pages;
	struct gp_vgpu_interval *found;
	void *at = NULL;

	pthread_mutex_lock(&memory->lock);
	found = gp_vgpu_intervals_find(&memory->offsets, offset);
	pages = found ? found->value : NULL;
	if (pages && found->start == offset && length <= found->end - found->start)
		at = map_file(addr, length, prot, flags,
			      pages->fd >= 0 ? pages->fd : memory->arena.fd,
			      pages->fd >= 0 ? pages->at : offset);
	pthread_mutex_unlock(&memory->lock);
	return at ? at : fail(EINVAL);
}

static void *map_mmio(struct gp_vgpu_client *client, u32 gpu, void *addr, size_t length, int prot,
		      int flags)
{
	struct gp_vgpu_memory *memory = client->memory;
	struct gp_vgpu_range *page = &memory->mmio[gpu];
	int error = 0;

	if (length != GP_KFD_PAGE)
		return fail(EINVAL);
	pthread_mutex_lock(&memory->lock);
	if (!page->window)
		error = gp_vgpu_arena_take(&memory->arena, GP_KFD_PAGE, false, page);
	pthread_mutex_unlock(&memory->lock);
	if (error)
		return fail(-error);
	return map_file(addr, length, prot, flags, memory->arena.fd, page->offset);
}

static void *map_doorbells(struct gp_vgpu_client *client, u32 gpu, void *addr, size_t length,
			   int prot, int flags)
{
	void *at;
	int fd;

	if (length != GP_KFD_DOORBELL_SLICE)
		return fail(EINVAL);
	fd = gp_vgpu_cp_doorbell_fd(client, gpu);
	if (fd < 0)
		return fail(-fd);
	at = map_file(addr, length, prot, flags, fd, 0);
	if (at != MAP_FAILED)
		gp_vgpu_cp_doorbell_mapped(client, gpu, at);
	return at;
}

void *gp_vgpu_memory_mmap(struct gp_vgpu_client *client, void *addr, size_t len, int prot,
			  int flags, bool render_node, off_t offset)
{
	u64 at = (u64)offset, type = at >> GP_KFD_MMAP_TYPE_SHIFT;
	u32 gpu_id = at >> GP_KFD_MMAP_GPU_ID_SHIFT & 0xffff;
	int gpu = gp_vgpu_gpu_index(client, gpu_id), error;
	u64 page;

	if (render_node)
		return map_buffer(client, addr, len, prot, flags, at);
	switch (type) {
	case GP_KFD_MMAP_EVENTS:
		error = gp_vgpu_events_page(client, len, &page);
		return error ? fail(-error)
			     : map_file(addr, len, prot, flags, client->memory->arena.fd, page);
	case GP_KFD_MMAP_DOORBELL:
		return gpu < 0 ? fail(ENODEV)
			       : map_doorbells(client, (u32)gpu, addr, len, prot, flags);
	case GP_KFD_MMAP_MMIO:
		return gpu < 0 ? fail(EINVAL) : map_mmio(client, (u32)gpu, addr, len, prot, flags);
	default:
		return fail(EINVAL);
	}
}
