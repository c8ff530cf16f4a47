/* SPDX-License-Identifier: MIT */
/*
 * The memory of the virtual GPUs as one process sees it: a single sparse memfd from which every
 * buffer gets a range, so that thousands of buffers cost one descriptor. The library keeps its own
 * mapping of each range, because a GPU reaches its memory whether or not the application has mapped
 * it. Offsets are never used twice; freed ranges give their pages back. The first 4 GiB of the file
 * are not given out: pages.c keeps a directory of shared buffers there.
 */
#ifndef GP_VGPU_PRELOAD_ARENA_H
#define GP_VGPU_PRELOAD_ARENA_H

#include "base/types.h"

struct gp_vgpu_window;

struct gp_vgpu_arena {
	int fd;
	u64 next; /* first offset not given out */
	struct gp_vgpu_window *current;
};

struct gp_vgpu_range {
	u64 offset, size;
	void *view;
	struct gp_vgpu_window *window;
};

int gp_vgpu_arena_create(struct gp_vgpu_arena *arena);
/* All ranges were given back. */
void gp_vgpu_arena_destroy(struct gp_vgpu_arena *arena);
/* size is a multiple of the page. `twice`: the view shows the range two times in a row. */
int gp_vgpu_arena_take(struct gp_vgpu_arena *arena, u64 size, bool twice,
		       struct gp_vgpu_range *out);
void gp_vgpu_arena_give(struct gp_vgpu_arena *arena, struct gp_vgpu_range *range);
/* The same for a range that another process goes on using. */
void gp_vgpu_arena_leave(struct gp_vgpu_range *range);
/* Offsets that nothing is behind. */
int gp_vgpu_arena_reserve(struct gp_vgpu_arena *arena, u64 size, u64 *offset);
#define GP_VGPU_ARENA_NAME "gpu memory" /* of the file */

#endif
