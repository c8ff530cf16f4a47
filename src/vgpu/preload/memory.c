// SPDX-License-Identifier: MIT
/* ALLOC, FREE, MAP and UNMAP, as amdkfd 6.12 answers them (kfd_chardev.c). */
#include "vgpu/cp/cp.h"
#include "vgpu/preload/memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/kfd_driver.h"
#include "vgpu/heap.h"

#define DOMAINS                                                                                \
	(GP_KFD_ALLOC_VRAM | GP_KFD_ALLOC_GTT | GP_KFD_ALLOC_USERPTR | GP_KFD_ALLOC_DOORBELL | \
	 GP_KFD_ALLOC_MMIO_REMAP)

static u64 page_align(u64 size)
{
	return (size + GP_KFD_PAGE - 1) & ~(u64)(GP_KFD_PAGE - 1);
}

struct gp_vgpu_memory *gp_vgpu_memory_create(void)
{
	struct gp_vgpu_memory *memory = gp_vgpu_alloc(sizeof(*memory));

	if (!memory)
		return NULL;
	pthread_mutex_init(&memory->lock, NULL);
	if (gp_vgpu_arena_create(&memory->arena)) {
		gp_vgpu_free(memory);
		return NULL;
	}
	return memory;
}

void gp_vgpu_memory_forked(struct gp_vgpu_memory *memory)
{
	if (memory)
		gp_vgpu_close_own(memory->arena.fd);
}

void gp_vgpu_memory_destroy(struct gp_vgpu_memory *memory)
{
	if (!memory)
		return;
	gp_vgpu_gem_destroy(memory);
	for (u32 gpu = 0; gpu < GP_VGPU_MAX_GPUS; gpu++) {
		for (u32 i = 0; i < memory->handles[gpu].count; i++) {
			struct gp_vgpu_bo *bo = memory->handles[gpu].items[i];

			if (bo && bo->pages)
				(void)gp_vgpu_pages_put(memory, bo->pages);
			gp_vgpu_free(bo);
		}
		gp_vgpu_free(memory->handles[gpu].items);
		gp_vgpu_free(memory->mapped[gpu].items);
		if (memory->mmio[gpu].window)
			gp_vgpu_arena_give(&memory->arena, &memory->mmio[gpu]);
	}
	if (memory->page.window)
		gp_vgpu_arena_give(&memory->arena, &memory->page);
	gp_vgpu_pages_end(memory);
	gp_vgpu_free(memory->offsets.items);
	gp_vgpu_arena_destroy(&memory->arena);
	pthread_mutex_destroy(&memory->lock);
	gp_vgpu_free(memory);
}

/* ---- handles ---- */

struct gp_vgpu_bo *gp_vgpu_bo_find(struct gp_vgpu_client *client, u64 handle)
{
	int gpu = gp_vgpu_gpu_index(client, (u32)(handle >> GP_KFD_HANDLE_GPU_SHIFT));
	struct gp_vgpu_handles *handles = gpu < 0 ? NULL : &client->memory->handles[gpu];

	return handles && (u32)handle < handles->count ? handles->items[(u32)handle] : NULL;
}

static int take_handle(struct gp_vgpu_handles *handles, struct gp_vgpu_bo *bo, u32 *index)
{
	u32 at = handles->lowest_free;

	while (at < handles->count && handles->items[at])
		at++;
	if (at == handles->room) {
		u32 room = handles->room ? handles->room * 2 : 64;
		void *items = gp_vgpu_realloc(handles->items, room * sizeof(*handles->items));

		if (!items)
			return -ENOMEM;
		handles->items = items;
		handles->room = room;
	}
	if (at == handles->count)
		handles->count++;
	handles->items[at] = bo;
	handles->lowest_free = at + 1;
	*index = at;
	return 0;
}

static void give_handle(struct gp_vgpu_handles *handles, u32 index)
{
	handles->items[index] = NULL;
	if (index < handles->lowest_free)
		handles->lowest_free = index;
}

/* ---- ALLOC ---- */

/* The driver pins user pages and so finds out about addresses that are not there. */
static int check_user_pages(u64 address, u64 size)
{
	unsigned char present[4096];
	const u64 step = sizeof(present) * GP_KFD_PAGE;
	u64 start = address & ~(u64)(GP_KFD_PAGE - 1), end = page_align(address + size);

	if (end <= start || end > GP_KFD_USER_END)
		return -EFAULT;
	for (; start < end; start += step)
		if (mincore((void *)(uintptr_t)start, end - start < step ? end - start : step,
			    present))
			return -EFAULT;
	return 0;
}

static int check_alloc(struct gp_vgpu_client *client, struct gp_kfd_alloc_memory_of_gpu_args *args,
		       u32 *gpu)
{
	int error;

	if (!args->size || args->size > GP_KFD_USER_END || args->va_addr > GP_KFD_USER_END)
		return -EINVAL;
	/* The pages of the program are for its primary KFD process alone. */
	if (client->file && args->flags & GP_KFD_ALLOC_USERPTR)
		return -EOPNOTSUPP;
	if (gp_vgpu_svm_overlaps(client, args->va_addr, args->size))
		return -EADDRINUSE;
	if ((args->flags & GP_KFD_ALLOC_USERPTR) &&
	    gp_vgpu_svm_overlaps(client, args->mmap_offset, args->size))
		return -EADDRINUSE;
	error = gp_vgpu_bound_gpu(client, args->gpu_id, -ENODEV, gpu);
	if (error)
		return error;
	switch (args->flags & DOMAINS) {
	case GP_KFD_ALLOC_VRAM:
	case GP_KFD_ALLOC_GTT:
		return 0;
	case GP_KFD_ALLOC_USERPTR:
		return args->mmap_offset ? check_user_pages(args->mmap_offset, args->size)
					 : -EINVAL;
	case GP_KFD_ALLOC_DOORBELL:
		return args->size == GP_KFD_DOORBELL_SLICE ? 0 : -EINVAL;
	case GP_KFD_ALLOC_MMIO_REMAP:
		return args->size == GP_KFD_PAGE ? 0 : -EINVAL;
	default:
		return -EINVAL;
	}
}

/* A queue's ring is there once, and mapped twice in a row. */
static u64 pages_bytes(const struct gp_kfd_alloc_memory_of_gpu_args *args)
{
	return page_align(args->flags & GP_KFD_ALLOC_AQL_QUEUE_MEM ? args->size / 2 : args->size);
}

static void count_buffer(struct gp_vgpu_client *client, u32 change)
{
	if (client->shared)
		__atomic_fetch_add(&client->shared->buffers, change, __ATOMIC_RELAXED);
}

int gp_vgpu_bo_add(struct gp_vgpu_client *client, struct gp_vgpu_bo *bo, u32 *index)
{
	int error = take_handle(&client->memory->handles[bo->gpu_index], bo, index);

	if (error)
		return error;
	bo->handle =
		(u64)client->machine.gpus[bo->gpu_index].gpu_id << GP_KFD_HANDLE_GPU_SHIFT | *index;
	count_buffer(client, 1);
	return 0;
}

/* Makes the buffer under the lock. *args come back as the driver returns them. */
static int create(struct gp_vgpu_client *client, struct gp_vgpu_bo *bo,
		  struct gp_kfd_alloc_memory_of_gpu_args *args)
{
	const struct gp_vgpu_pages like = {
		.gpu_index = bo->gpu_index,
		.flags = args->flags & (GP_KFD_ALLOC_VRAM | GP_KFD_ALLOC_GTT | GP_KFD_ALLOC_PUBLIC),
	};
	struct gp_vgpu_memory *memory = client->memory;
	u32 index;
	int error = 0;

	bo->size = page_align(args->size);
	if (args->flags & (GP_KFD_ALLOC_VRAM | GP_KFD_ALLOC_GTT))
		error = gp_vgpu_pages_create(memory, &like, pages_bytes(args),
					     args->flags & GP_KFD_ALLOC_AQL_QUEUE_MEM, &bo->pages);
	if (error)
		return error;
	error = gp_vgpu_bo_add(client, bo, &index);
	if (error) {
		if (bo->pages)
			(void)gp_vgpu_pages_put(memory, bo->pages);
		return error;
	}
	args->handle = bo->handle;
	if (bo->pages)
		args->mmap_offset = bo->pages->range.offset;
	else if (args->flags & GP_KFD_ALLOC_MMIO_REMAP)
		args->mmap_offset = GP_KFD_MMAP_MMIO << GP_KFD_MMAP_TYPE_SHIFT |
				    (u64)args->gpu_id << GP_KFD_MMAP_GPU_ID_SHIFT;
	return 0;
}

/* Returns the VRAM that is free now. */
static u64 destroy(struct gp_vgpu_client *client, struct gp_vgpu_bo *bo)
{
	struct gp_vgpu_memory *memory = client->memory;
	u64 vram = 0;

	count_buffer(client, (u32)-1);
	give_handle(&memory->handles[bo->gpu_index], (u32)bo->handle);
	if (bo->pages)
		vram = gp_vgpu_pages_put(memory, bo->pages);
	gp_vgpu_free(bo);
	return vram;
}

int gp_vgpu_account_alloc(struct gp_vgpu_client *client, u32 gpu_index, u32 flags, u64 bytes)
{
	struct gp_kfd_alloc_memory_of_gpu_args args = {
		.size = bytes,
		.gpu_id = client->machine.gpus[gpu_index].gpu_id,
		.flags = flags,
	};

	if (!(flags & GP_KFD_ALLOC_VRAM))
		return 0;
	return gp_vgpu_forward(client, _IOC_NR(GP_KFD_IOC_ALLOC_MEMORY_OF_GPU), &args,
			       sizeof(args));
}

void gp_vgpu_account_free(struct gp_vgpu_client *client, u32 gpu_index, u64 vram_bytes)
{
	struct gp_vgpu_free payload = {
		.bytes = vram_bytes,
		.gpu_id = client->machine.gpus[gpu_index].gpu_id,
	};
	struct gp_kfd_free_memory_of_gpu_args args = {0};
	struct gp_vgpu_call call = gp_vgpu_ioctl_call(GP_KFD_IOC_FREE_MEMORY_OF_GPU, &args);

	call.payload = &payload;
	call.payload_size = sizeof(payload);
	if (vram_bytes)
		(void)gp_vgpu_client_request(client, &call);
}

int gp_vgpu_ioctl_alloc_memory(struct gp_vgpu_client *client, void *data)
{
	struct gp_vgpu_memory *memory = client->memory;
	struct gp_kfd_alloc_memory_of_gpu_args *args = data, result = *args;
	struct gp_vgpu_bo *bo;
	u32 gpu;
	int error = check_alloc(client, args, &gpu);

	if (error)
		return error;
	bo = gp_vgpu_alloc(sizeof(*bo));
	if (!bo)
		return -ENOMEM;
	bo->va = args->va_addr;
	bo->flags = args->flags;
	bo->gpu_index = gpu;
	if (args->flags & GP_KFD_ALLOC_USERPTR)
		bo->user = args->mmap_offset;
	error = gp_vgpu_account_alloc(client, gpu, args->flags, pages_bytes(args));
	if (error) {
		gp_vgpu_free(bo);
		return error;
	}
	pthread_mutex_lock(&memory->lock);
	error = create(client, bo, &result);
	pthread_mutex_unlock(&memory->lock);
	if (error) {
		if (args->flags & GP_KFD_ALLOC_VRAM)
			gp_vgpu_account_free(client, gpu, pages_bytes(args));
		gp_vgpu_free(bo);
		return error;
	}
	*args = result;
	return 0;
}

/* ---- FREE, MAP, UNMAP ---- */

int gp_vgpu_ioctl_free_memory(struct gp_vgpu_client *client, void *data)
{
	const struct gp_kfd_free_memory_of_gpu_args *args = data;
	struct gp_vgpu_memory *memory = client->memory;
	struct gp_vgpu_bo *bo;
	u32 gpu = 0;
	u64 vram = 0;
	int error = 0;

	pthread_mutex_lock(&memory->lock);
	bo = gp_vgpu_bo_find(client, args->handle);
	if (!bo)
		error = -EINVAL;
	else if (bo->pinned)
		error = -EPERM;
	else if (bo->mapped)
		error = -EBUSY;
	if (!error) {
		gpu = bo->pages ? bo->pages->gpu_index : 0;
		vram = destroy(client, bo);
	}
	pthread_mutex_unlock(&memory->lock);
	gp_vgpu_account_free(client, gpu, vram);
	return error;
}

static int map_one(struct gp_vgpu_memory *memory, struct gp_vgpu_bo *bo, u32 gpu)
{
	int error;

	if (bo->mapped & 1u << gpu)
		return 0;
	error = gp_vgpu_intervals_insert(&memory->mapped[gpu], bo->va, bo->va + bo->size, bo);
	if (!error)
		bo->mapped |= 1u << gpu;
	return error;
}

static int unmap_one(struct gp_vgpu_client *client, struct gp_vgpu_bo *bo, u32 gpu)
{
	if (!(bo->mapped & 1u << gpu))
		return 0;
	/* Only a driver that checks the buffers of queues knows of them (queue_refcount). */
	if (client->machine.strict && gp_vgpu_queues_use(client, gpu, bo->va, bo->size))
		return -EBUSY;
	gp_vgpu_intervals_remove(&client->memory->mapped[gpu], bo->va);
	bo->mapped &= ~(1u << gpu);
	return 0;
}

/* MAP and UNMAP differ in one call; their structures are the same. */
static int change_mappings(struct gp_vgpu_client *client,
			   struct gp_kfd_map_memory_to_gpu_args *args, bool map)
{
	const u32 most = 1u << 20; /* what kmalloc() gives the driver for this array */
	struct gp_vgpu_memory *memory = client->memory;
	struct gp_vgpu_bo *bo;
	u32 *ids, gpu;
	int error;

	if (!args->n_devices || args->n_success > args->n_devices)
		return -EINVAL;
	if (args->n_devices > most)
		return -ENOMEM;
	ids = gp_vgpu_alloc(args->n_devices * sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	error = gp_vgpu_copy_in(ids, args->device_ids_array_ptr, args->n_devices * sizeof(*ids));
	if (!error)
		error = gp_vgpu_bound_gpu(client, (u32)(args->handle >> GP_KFD_HANDLE_GPU_SHIFT),
					  -ENODEV, &gpu);
	pthread_mutex_lock(&memory->lock);
	bo = error ? NULL : gp_vgpu_bo_find(client, args->handle);
	if (!error && !bo)
		error = -ENOMEM;
	for (u32 i = args->n_success; !error && i < args->n_devices; i++) {
		error = gp_vgpu_bound_gpu(client, ids[i], -ENODEV, &gpu);
		if (!error)
			error = map ? map_one(memory, bo, gpu) : unmap_one(client, bo, gpu);
		if (!error)
			args->n_success = i + 1;
	}
	pthread_mutex_unlock(&memory->lock);
	gp_vgpu_free(ids);
	return error;
}

int gp_vgpu_ioctl_map_memory(struct gp_vgpu_client *client, void *args)
{
	return change_mappings(client, args, true);
}

int gp_vgpu_ioctl_unmap_memory(struct gp_vgpu_client *client, void *args)
{
	int error = change_mappings(client, args, false);

	gp_vgpu_cp_remapped(client);
	return error;
}
