/* SPDX-License-Identifier: MIT */
/*
 * Memory for what the preload library keeps: libc's allocator is not asked. The application may
 * have another one, which calls munmap() with its locks held; munmap() is ours and takes our locks.
 * So nothing may be allocated from that one while a lock is held that munmap() takes.
 *
 * Memory is zeroed and aligned to 64 bytes. Blocks up to 1 MiB are kept for the next that asks.
 * All functions may be called by any thread and take no lock but their own.
 */
#ifndef GP_VGPU_HEAP_H
#define GP_VGPU_HEAP_H

#include <stddef.h>

/* NULL without memory. */
void *gp_vgpu_alloc(size_t bytes);
/* Behind what the old one had nothing is zeroed. NULL: the old one is as it was. */
void *gp_vgpu_realloc(void *old, size_t bytes);
void gp_vgpu_free(void *memory);
/* Page-aligned addresses for a mapping (MAP_FIXED) that stays as long as the process; NULL: none
 * are left. Blocks up to 1 MiB have such addresses as well. A forked child has none of its parent's
 * device mappings, but may unmap them: nothing of ours may be mapped where they were. */
void *gp_vgpu_addresses(size_t bytes);
/* In a forked child: another thread may have been in here. */
void gp_vgpu_heap_forked(void);

#endif
