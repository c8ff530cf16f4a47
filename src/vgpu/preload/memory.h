/* SPDX-License-Identifier: MIT */
/*
 * Buffers that ALLOC_MEMORY_OF_GPU made in this process: their address on the GPUs and their real
 * place. memory.c answers the ioctls, mapping.c looks up addresses for the command processor and
 * mmap().
 */
#ifndef GP_VGPU_PRELOAD_MEMORY_H
#define GP_VGPU_PRELOAD_MEMORY_H

#include "vgpu/preload/arena.h"
#include "vgpu/preload/intervals.h"
#include "vgpu/preload/parts.h"

struct gp_vgpu_bo {
	u64 handle;
	u64 va, size; /* as the GPU sees it, whole pages */
	u32 flags, gpu_index;
	u32 mapped; /* GPUs, a bit each */
	u64 user;   /* USERPTR: where the pages are */
	struct gp_vgpu_range range;
	bool pinned; /* the event page: may not be freed */
};

/* Handles of one GPU: an index is given out again as soon as it is free, lowest first. */
struct gp_vgpu_handles {
	struct gp_vgpu_bo **items;
	u32 count, room;
	u32 lowest_free;
};

struct gp_vgpu_memory {
	pthread_mutex_t lock;
	struct gp_vgpu_arena arena;
	struct gp_vgpu_handles handles[GP_VGPU_MAX_GPUS];
	struct gp_vgpu_intervals mapped[GP_VGPU_MAX_GPUS]; /* by GPU address */
	struct gp_vgpu_intervals offsets;                  /* by mmap offset */
	struct gp_vgpu_range mmio[GP_VGPU_MAX_GPUS];
	struct gp_vgpu_range page; /* an event page of our own making */
};

/* Under the lock. NULL when there is no such buffer. */
struct gp_vgpu_bo *gp_vgpu_bo_find(struct gp_vgpu_client *client, u64 handle);

#endif
