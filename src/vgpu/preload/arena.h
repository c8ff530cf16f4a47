/*
 * The memory of the virtual GPUs as one process sees it: a single sparse memfd from which every
 * buffer gets a range, so that thousands of buffers cost one descriptor. The library keeps its own
 * mapping of each range, because a GPU reaches its memory whether or not the application has mapped
 * it. Offsets are never used twice; freed ranges give their pages back.
 */
#ifndef GP_VGPU_PRELOAD_ARENA_H
#define GP_VGPU_PRELOAD_ARENA_H

#include "base/types.h"

struct gp_vk_window;

struct gp_vk_arena {
	int fd;
	u64 next; /* first offset not given out */
	struct gp_vk_window *current;
};

struct gp_vk_range {
	u64 offset, size;
	void *view;
	struct gp_vk_window *window;
};

int gp_vk_arena_create(struct gp_vk_arena *arena);
/* All ranges were given back. */
void gp_vk_arena_destroy(struct gp_vk_arena *arena);
/* size is a multiple of the page. `twice`: the view shows the range two times in a row. */
int gp_vk_arena_take(struct gp_vk_arena *arena, u64 size, bool twice, struct gp_vk_range *out);
void gp_vk_arena_give(struct gp_vk_arena *arena, struct gp_vk_range *range);

#endif
