// SPDX-License-Identifier: MIT
/*
 * Buffers of the render node, as amdgpu 6.12 answers (amdgpu_gem.c, drm_prime.c): ROCr maps memory
 * with them for hipMemMap() and hipMallocAsync(). Handles belong to a GPU of the process, not to an
 * open file: programs have one file per GPU. The address space is that of KFD.
 */
#include <errno.h>
#include <string.h>

#include "abi/kfd_driver.h"
#include "vgpu/cp/cp.h"
#include "vgpu/preload/memory.h"
#include "vgpu/heap.h"

#define PAGE_MASK (GP_KFD_PAGE - 1ull)

/* Under the lock. NULL: no such handle. */
static struct gp_vgpu_pages *gem_find(struct gp_vgpu_client *client, u32 gpu, u32 handle)
{
	const struct gp_vgpu_gem *gem = &client->memory->gem[gpu];

	return handle && handle <= gem->count ? gem->items[handle - 1] : NULL;
}

/* A handle for pages that the caller has a reference of; a second import finds the first handle. */
static int gem_add(struct gp_vgpu_memory *memory, u32 gpu, struct gp_vgpu_pages *pages, u32 *handle)
{
	struct gp_vgpu_gem *gem = &memory->gem[gpu];
	u32 at;

	for (at = 0; at < gem->count && gem->items[at]; at++)
		;
	if (at == gem->count) {
		void *items = gp_vgpu_realloc(gem->items, (gem->count + 64) * sizeof(*gem->items));

		if (!items)
			return -ENOMEM;
		gem->items = items;
		memset(gem->items + at, 0, 64 * sizeof(*gem->items));
		gem->count += 64;
	}
	gem->items[at] = pages;
	*handle = at + 1;
	return 0;
}

/* Takes mappings of this handle away; all of them, or that at `va`. True if there was one. */
static bool gem_unmap(struct gp_vgpu_memory *memory, u32 gpu, u32 handle, const u64 *va)
{
	struct gp_vgpu_intervals *mapped = &memory->mapped[gpu];
	bool any = false;

	for (size_t i = mapped->count; i-- > 0;) {
		struct gp_vgpu_bo *bo = mapped->items[i].value;

		if (bo->gem != handle || (va && bo->va != *va))
			continue;
		gp_vgpu_intervals_remove(mapped, bo->va);
		gp_vgpu_free(bo);
		any = true;
	}
	return any;
}

static u64 gem_remove(struct gp_vgpu_memory *memory, u32 gpu, u32 handle)
{
	struct gp_vgpu_pages *pages = memory->gem[gpu].items[handle - 1];

	gem_unmap(memory, gpu, handle, NULL);
	memory->gem[gpu].items[handle - 1] = NULL;
	return gp_vgpu_pages_put(memory, pages);
}

void gp_vgpu_gem_destroy(struct gp_vgpu_memory *memory)
{
	for (u32 gpu = 0; gpu < GP_VGPU_MAX_GPUS; gpu++) {
		for (u32 i = 0; i < memory->gem[gpu].count; i++)
			if (memory->gem[gpu].items[i])
				(void)gem_remove(memory, gpu, i + 1);
		gp_vgpu_free(memory->gem[gpu].items);
	}
}

/* ---- handles ---- */

int gp_vgpu_gem_create(struct gp_vgpu_client *client, u32 gpu, union gp_amdgpu_gem_create *args)
{
	u64 domains = args->in.domains, bytes = (args->in.bo_size + PAGE_MASK) & ~PAGE_MASK;
	struct gp_vgpu_memory *memory = client->memory;
	struct gp_vgpu_pages like = {.gpu_index = gpu, .drm = true}, *pages;
	u32 handle = 0;
	int error;

	if (!bytes || bytes < args->in.bo_size || !domains ||
	    domains & ~(u64)(GP_AMDGPU_DOMAIN_CPU | GP_AMDGPU_DOMAIN_GTT | GP_AMDGPU_DOMAIN_VRAM))
		return -EINVAL;
	like.flags = domains & GP_AMDGPU_DOMAIN_VRAM ? GP_KFD_ALLOC_VRAM : GP_KFD_ALLOC_GTT;
	if (args->in.domain_flags & GP_AMDGPU_CPU_ACCESS_REQUIRED)
		like.flags |= GP_KFD_ALLOC_PUBLIC;
	error = gp_vgpu_account_alloc(client, gpu, like.flags, bytes);
	if (error)
		return error;
	pthread_mutex_lock(&memory->lock);
	error = gp_vgpu_pages_create(memory, &like, bytes, false, &pages);
	if (!error) {
		error = gem_add(memory, gpu, pages, &handle);
		if (error)
			(void)gp_vgpu_pages_put(memory, pages);
	}
	pthread_mutex_unlock(&memory->lock);
	if (error) {
		gp_vgpu_account_free(client, gpu, like.flags & GP_KFD_ALLOC_VRAM ? bytes : 0);
		return error;
	}
	memset(args, 0, sizeof(*args));
	args->out.handle = handle;
	return 0;
}

/* As in the driver, its mappings go with the handle; no wave uses the pages when they are given
 * back. */
static void gem_leave(struct gp_vgpu_client *client, u32 gpu, u32 handle)
{
	struct gp_vgpu_memory *memory = client->memory;
	bool mapped;

	pthread_mutex_lock(&memory->lock);
	mapped = gem_find(client, gpu, handle) && gem_unmap(memory, gpu, handle, NULL);
	pthread_mutex_unlock(&memory->lock);
	if (mapped)
		gp_vgpu_cp_remapped(client);
}

int gp_vgpu_gem_close(struct gp_vgpu_client *client, u32 gpu, const struct gp_drm_gem_close *args)
{
	struct gp_vgpu_memory *memory = client->memory;
	struct gp_vgpu_pages *pages;
	u32 owner = 0;
	u64 vram = 0;

	gem_leave(client, gpu, args->handle);
	pthread_mutex_lock(&memory->lock);
	pages = gem_find(client, gpu, args->handle);
	if (pages) {
		owner = pages->gpu_index;
		vram = gem_remove(memory, gpu, args->handle);
	}
	pthread_mutex_unlock(&memory->lock);
	gp_vgpu_account_free(client, owner, vram);
	return pages ? 0 : -EINVAL;
}

int gp_vgpu_gem_import(struct gp_vgpu_client *client, u32 gpu, struct gp_drm_prime_handle *args)
{
	struct gp_vgpu_memory *memory = client->memory;
	struct gp_vgpu_pages *pages;
	u32 handle = 0;
	int error;

	pthread_mutex_lock(&memory->lock);
	error = gp_vgpu_pages_import(client, args->fd, &pages);
	for (u32 i = 0; !error && !handle && i < memory->gem[gpu].count; i++) {
		if (memory->gem[gpu].items[i] == pages) {
			handle = i + 1;
			pages->users--; /* the handle has one */
		}
	}
	if (!error && !handle) {
		error = gem_add(memory, gpu, pages, &handle);
		if (error)
			(void)gp_vgpu_pages_put(memory, pages);
	}
	pthread_mutex_unlock(&memory->lock);
	if (!error)
		args->handle = handle;
	return error;
}

int gp_vgpu_gem_export(struct gp_vgpu_client *client, u32 gpu, struct gp_drm_prime_handle *args)
{
	struct gp_vgpu_memory *memory = client->memory;
	struct gp_vgpu_pages *pages;
	int fd = -ENOENT;

	if (args->flags & ~(u32)(GP_DRM_CLOEXEC | GP_DRM_RDWR))
		return -EINVAL;
	pthread_mutex_lock(&memory->lock);
	pages = gem_find(client, gpu, args->handle);
	if (pages)
		fd = gp_vgpu_pages_export(client, pages, (int)args->flags);
	pthread_mutex_unlock(&memory->lock);
	if (fd < 0)
		return fd;
	args->fd = fd;
	return 0;
}

int gp_vgpu_gem_mmap(struct gp_vgpu_client *client, u32 gpu, union gp_amdgpu_gem_mmap *args)
{
	struct gp_vgpu_pages *pages;
	u32 handle = args->in.handle;

	pthread_mutex_lock(&client->memory->lock);
	pages = gem_find(client, gpu, handle);
	args->out.offset = pages ? pages->range.offset : 0;
	pthread_mutex_unlock(&client->memory->lock);
	return pages ? 0 : -ENOENT;
}

/* ---- what is known about a buffer ---- */

static u32 domain_of(const struct gp_vgpu_pages *pages, u32 gpu)
{
	return pages->flags & GP_KFD_ALLOC_VRAM && pages->gpu_index == gpu ? GP_AMDGPU_DOMAIN_VRAM
									   : GP_AMDGPU_DOMAIN_GTT;
}

/* Nothing that the render node is asked for takes time. */
int gp_vgpu_gem_wait_idle(struct gp_vgpu_client *client, u32 gpu,
			  union gp_amdgpu_gem_wait_idle *args)
{
	struct gp_vgpu_pages *pages;
	u32 handle = args->in.handle;

	pthread_mutex_lock(&client->memory->lock);
	pages = gem_find(client, gpu, handle);
	if (pages) {
		memset(args, 0, sizeof(*args));
		args->out.domain = domain_of(pages, gpu);
	}
	pthread_mutex_unlock(&client->memory->lock);
	return pages ? 0 : -ENOENT;
}

int gp_vgpu_gem_op(struct gp_vgpu_client *client, u32 gpu, const struct gp_amdgpu_gem_op *args)
{
	struct gp_amdgpu_gem_create_in info = {.alignment = GP_KFD_PAGE};
	struct gp_vgpu_pages *pages;

	pthread_mutex_lock(&client->memory->lock);
	pages = gem_find(client, gpu, args->handle);
	if (pages) {
		info.bo_size = pages->range.size;
		info.domains = domain_of(pages, gpu);
		info.domain_flags =
			pages->flags & GP_KFD_ALLOC_PUBLIC ? GP_AMDGPU_CPU_ACCESS_REQUIRED : 0;
	}
	pthread_mutex_unlock(&client->memory->lock);
	if (!pages)
		return -ENOENT;
	if (args->op != GP_AMDGPU_GEM_OP_GET_CREATE_INFO)
		return -EINVAL;
	return gp_vgpu_copy_out(args->value, &info, sizeof(info));
}

int gp_vgpu_gem_metadata(struct gp_vgpu_client *client, u32 gpu,
			 struct gp_amdgpu_gem_metadata *args)
{
	struct gp_vgpu_metadata *metadata;
	struct gp_vgpu_pages *pages;
	int error = 0;

	pthread_mutex_lock(&client->memory->lock);
	pages = gem_find(client, gpu, args->handle);
	if (!pages) {
		error = -ENOENT;
	} else if (args->op == GP_AMDGPU_METADATA_GET) {
		metadata = pages->entry ? &pages->entry->metadata : &pages->metadata;
		args->tiling = metadata->tiling;
		args->flags = metadata->flags;
		args->bytes = metadata->bytes;
		memcpy(args->words, metadata->words, sizeof(args->words));
	} else if (args->op != GP_AMDGPU_METADATA_SET || args->bytes > sizeof(args->words)) {
		error = -EINVAL;
	} else {
		pages->metadata.tiling = args->tiling;
		pages->metadata.flags = args->flags;
		pages->metadata.bytes = args->bytes;
		memcpy(pages->metadata.words, args->words, sizeof(args->words));
		if (pages->entry)
			pages->entry->metadata = pages->metadata;
	}
	pthread_mutex_unlock(&client->memory->lock);
	return error;
}

/* ---- addresses ---- */

static int gem_map(struct gp_vgpu_memory *memory, u32 gpu, struct gp_vgpu_pages *pages,
		   const struct gp_amdgpu_gem_va *args)
{
	struct gp_vgpu_bo *bo;
	int error;

	if ((args->va | args->offset | args->size) & PAGE_MASK || !args->size ||
	    args->offset > pages->range.size || args->size > pages->range.size - args->offset)
		return -EINVAL;
	bo = gp_vgpu_alloc(sizeof(*bo));
	if (!bo)
		return -ENOMEM;
	*bo = (struct gp_vgpu_bo){
		.va = args->va,
		.size = args->size,
		.gpu_index = gpu,
		.pages = pages,
		.offset = args->offset,
		.gem = args->handle,
	};
	error = gp_vgpu_intervals_insert(&memory->mapped[gpu], bo->va, bo->va + bo->size, bo);
	if (error)
		gp_vgpu_free(bo);
	return error;
}

/* One half of a mapping that CLEAR cut. */
static int gem_keep(struct gp_vgpu_memory *memory, const struct gp_vgpu_bo *from, u64 start,
		    u64 end)
{
	const struct gp_amdgpu_gem_va part = {
		.handle = from->gem,
		.va = start,
		.offset = from->offset + (start - from->va),
		.size = end - start,
	};

	return start < end ? gem_map(memory, from->gpu_index, from->pages, &part) : 0;
}

/* Mappings of KFD stay: programs do not mix them in one range. */
static int gem_clear(struct gp_vgpu_memory *memory, u32 gpu, u64 start, u64 size)
{
	struct gp_vgpu_intervals *mapped = &memory->mapped[gpu];
	int error = 0;
	size_t at;

	if ((start | size) & PAGE_MASK || !size)
		return -EINVAL;
	for (at = gp_vgpu_intervals_after(mapped, start);
	     !error && at < mapped->count && mapped->items[at].start < start + size;) {
		struct gp_vgpu_bo *bo = mapped->items[at].value;
		struct gp_vgpu_bo copy = *bo;

		if (!bo->gem)
			return -EINVAL;
		gp_vgpu_intervals_remove(mapped, bo->va);
		gp_vgpu_free(bo);
		error = gem_keep(memory, &copy, copy.va, start > copy.va ? start : copy.va);
		if (!error && copy.va + copy.size > start + size)
			error = gem_keep(memory, &copy, start + size, copy.va + copy.size);
		at = gp_vgpu_intervals_after(mapped, start);
	}
	return error;
}

static int check_va(const struct gp_amdgpu_gem_va *args)
{
	const u32 valid = GP_AMDGPU_VM_DELAY | GP_AMDGPU_VM_READ | GP_AMDGPU_VM_WRITE |
			  GP_AMDGPU_VM_EXECUTE | GP_AMDGPU_VM_MTYPE | GP_AMDGPU_VM_NOALLOC;

	if (args->va < GP_AMDGPU_VA_OFFSET || args->va >= GP_AMDGPU_VA_MAX ||
	    args->size > GP_AMDGPU_VA_MAX - args->va)
		return -EINVAL;
	if (args->flags & ~valid && args->flags & ~(u32)(GP_AMDGPU_VM_DELAY | GP_AMDGPU_VM_PRT))
		return -EINVAL;
	return args->operation >= GP_AMDGPU_VA_MAP && args->operation <= GP_AMDGPU_VA_REPLACE
		       ? 0
		       : -EINVAL;
}

int gp_vgpu_gem_va(struct gp_vgpu_client *client, u32 gpu, const struct gp_amdgpu_gem_va *args)
{
	struct gp_vgpu_memory *memory = client->memory;
	struct gp_vgpu_pages *pages;
	int error = check_va(args);

	if (error)
		return error;
	pthread_mutex_lock(&memory->lock);
	pages = gem_find(client, gpu, args->handle);
	if (args->operation == GP_AMDGPU_VA_CLEAR) {
		error = gem_clear(memory, gpu, args->va, args->size);
	} else if (!pages) {
		error = -ENOENT;
	} else if (args->operation == GP_AMDGPU_VA_UNMAP) {
		error = gem_unmap(memory, gpu, args->handle, &args->va) ? 0 : -ENOENT;
	} else {
		if (args->operation == GP_AMDGPU_VA_REPLACE)
			error = gem_clear(memory, gpu, args->va, args->size);
		if (!error)
			error = gem_map(memory, gpu, pages, args);
	}
	pthread_mutex_unlock(&memory->lock);
	gp_vgpu_cp_remapped(client);
	return error;
}
