/* SPDX-License-Identifier: MIT */
/*
 * Buffers of this process: their address on the GPUs and their real place. memory.c answers the
 * ioctls of KFD, gem.c those of the render node, pages.c shares the pages between them and with
 * other processes, and mapping.c looks up addresses for the command processor and mmap().
 */
#ifndef GP_VGPU_PRELOAD_MEMORY_H
#define GP_VGPU_PRELOAD_MEMORY_H

#include "abi/drm.h"
#include "vgpu/preload/arena.h"
#include "vgpu/preload/intervals.h"
#include "vgpu/preload/parts.h"

/* What a graphics program says about the content of a buffer. */
struct gp_vgpu_metadata {
	u64 flags, tiling;
	u32 bytes, words[64];
};

/* A dma-buf, in the memory file of its exporter. */
struct gp_vgpu_dmabuf {
	u64 magic;
	u64 generation; /* counts uses of the entry */
	u64 offset, size;
	u32 gpu_id, flags; /* GP_KFD_ALLOC_VRAM or _GTT, and _PUBLIC */
	u32 users;         /* processes that have its pages */
	u32 drm;           /* made by the render node, not by KFD */
	struct gp_vgpu_metadata metadata;
	u8 pad[512 - 48 - sizeof(struct gp_vgpu_metadata)];
};

/* The pages of a buffer, and how many buffers and handles use them. */
struct gp_vgpu_pages {
	u32 users;                  /* buffers and GEM handles of this process */
	struct gp_vgpu_range range; /* its offset is where mmap() on a render node finds it */
	u32 gpu_index, flags;       /* as in struct gp_vgpu_dmabuf */
	bool drm;
	int fd;                       /* of another process: its memory file, else -1 */
	u64 at;                       /* and where it is there */
	struct gp_vgpu_dmabuf *entry; /* NULL = never shared */
	void *entry_page;             /* of another process: mapped for it */
	u64 position;                 /* of its descriptors */
	struct gp_vgpu_metadata metadata;
};

struct gp_vgpu_bo {
	u64 handle;
	u64 va, size; /* as the GPU sees it, whole pages */
	u32 flags, gpu_index;
	u32 mapped; /* GPUs, a bit each */
	u64 user;   /* USERPTR: where the pages are */
	struct gp_vgpu_pages *pages;
	u64 offset;  /* in the pages */
	u32 gem;     /* a mapping of this GEM handle, and no buffer; 0 = a buffer */
	bool pinned; /* the event page: may not be freed */
};

struct gp_vgpu_gem {
	struct gp_vgpu_pages **items; /* handle - 1 */
	u32 count;
};

/* Handles of one GPU: an index is given out again as soon as it is free, lowest first. */
struct gp_vgpu_handles {
	struct gp_vgpu_bo **items;
	u32 count, room;
	u32 lowest_free;
};

#define GP_VGPU_CONTEXTS 64

struct gp_vgpu_memory {
	pthread_mutex_t lock;
	struct gp_vgpu_arena arena;
	struct gp_vgpu_handles handles[GP_VGPU_MAX_GPUS];
	struct gp_vgpu_gem gem[GP_VGPU_MAX_GPUS];
	u64 contexts[GP_VGPU_MAX_GPUS][GP_VGPU_CONTEXTS];  /* next submission of each, 0 = free */
	u32 lists;                                         /* of buffers, ever made */
	struct gp_vgpu_intervals mapped[GP_VGPU_MAX_GPUS]; /* by GPU address: struct gp_vgpu_bo */
	struct gp_vgpu_intervals offsets; /* by mmap offset: struct gp_vgpu_pages */
	struct gp_vgpu_dmabuf *directory; /* of the dma-bufs of this process */
	u32 directory_used;               /* entries that were ever used */
	struct gp_vgpu_range mmio[GP_VGPU_MAX_GPUS];
	struct gp_vgpu_range page; /* an event page of our own making */
};

/* Under the lock. NULL when there is no such buffer. */
struct gp_vgpu_bo *gp_vgpu_bo_find(struct gp_vgpu_client *client, u64 handle);

/* Gives it a handle. */
int gp_vgpu_bo_add(struct gp_vgpu_client *client, struct gp_vgpu_bo *bo, u32 *index);

/* ---- VRAM is shared by all processes of the machine: the server counts it. Not under the lock. */

int gp_vgpu_account_alloc(struct gp_vgpu_client *client, u32 gpu_index, u32 flags, u64 bytes);
void gp_vgpu_account_free(struct gp_vgpu_client *client, u32 gpu_index, u64 vram_bytes);

/* ---- pages.c, under the lock ---- */

int gp_vgpu_pages_create(struct gp_vgpu_memory *memory, const struct gp_vgpu_pages *like, u64 bytes,
			 bool twice, struct gp_vgpu_pages **out);
/* Returns the bytes of VRAM that are free now. */
u64 gp_vgpu_pages_put(struct gp_vgpu_memory *memory, struct gp_vgpu_pages *pages);
/* A new descriptor, or -errno. */
int gp_vgpu_pages_export(struct gp_vgpu_client *client, struct gp_vgpu_pages *pages, int flags);
/* -EBADF for a descriptor that is not open, -EINVAL for one that is not a dma-buf. */
int gp_vgpu_pages_import(struct gp_vgpu_client *client, int fd, struct gp_vgpu_pages **out);
void gp_vgpu_pages_end(struct gp_vgpu_memory *memory); /* all were put */
int gp_vgpu_dmabuf_read(int fd, struct gp_vgpu_dmabuf *out, u64 *position);

/* ---- gem.c ---- */

void gp_vgpu_gem_destroy(struct gp_vgpu_memory *memory);
int gp_vgpu_gem_create(struct gp_vgpu_client *client, u32 gpu, union gp_amdgpu_gem_create *args);
int gp_vgpu_gem_close(struct gp_vgpu_client *client, u32 gpu, const struct gp_drm_gem_close *args);
int gp_vgpu_gem_import(struct gp_vgpu_client *client, u32 gpu, struct gp_drm_prime_handle *args);
int gp_vgpu_gem_export(struct gp_vgpu_client *client, u32 gpu, struct gp_drm_prime_handle *args);
int gp_vgpu_gem_mmap(struct gp_vgpu_client *client, u32 gpu, union gp_amdgpu_gem_mmap *args);
int gp_vgpu_gem_wait_idle(struct gp_vgpu_client *client, u32 gpu,
			  union gp_amdgpu_gem_wait_idle *args);
int gp_vgpu_gem_op(struct gp_vgpu_client *client, u32 gpu, const struct gp_amdgpu_gem_op *args);
int gp_vgpu_gem_metadata(struct gp_vgpu_client *client, u32 gpu,
			 struct gp_amdgpu_gem_metadata *args);
int gp_vgpu_gem_va(struct gp_vgpu_client *client, u32 gpu, const struct gp_amdgpu_gem_va *args);

/* ---- submit.c ---- */

int gp_vgpu_submit_context(struct gp_vgpu_client *client, u32 gpu, union gp_amdgpu_ctx *args);
int gp_vgpu_submit_list(struct gp_vgpu_client *client, union gp_amdgpu_bo_list *args);
int gp_vgpu_submit_commands(struct gp_vgpu_client *client, u32 gpu, union gp_amdgpu_cs *args);
int gp_vgpu_submit_wait(struct gp_vgpu_client *client, u32 gpu, union gp_amdgpu_wait_cs *args);

#endif
