// SPDX-License-Identifier: MIT
#include "vgpu/preload/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vgpu/preload/parts.h"
#include "vgpu/heap.h"

/* Small buffers share a window of the file; larger ones have a window each. */
#define WINDOW_BYTES (1ull << 30)
#define LARGE_BYTES  (1ull << 26)
#define FILE_BYTES   (1ull << 60)
/* Where DRM's own mmap offsets start (DRM_FILE_PAGE_OFFSET_START): never 0. */
#define FIRST_OFFSET (1ull << 32)

struct gp_vgpu_window {
	u64 offset, size, used;
	u8 *map;
	u64 map_bytes;
	u32 users; /* ranges, plus one while it is the current window */
};

int gp_vgpu_arena_create(struct gp_vgpu_arena *arena)
{
	int fd = memfd_create(GP_VGPU_ARENA_NAME, MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)FILE_BYTES)) {
		int error = -errno;

		syscall(SYS_close, fd);
		return error;
	}
	*arena = (struct gp_vgpu_arena){.fd = gp_vgpu_own_fd(fd), .next = FIRST_OFFSET};
	return 0;
}

static void *map(void *at, u64 size, int prot, int flags, int fd, u64 offset)
{
	return (void *)syscall(SYS_mmap, at, size, prot, flags, fd, offset);
}

static struct gp_vgpu_window *open_window(struct gp_vgpu_arena *arena, u64 size, bool twice)
{
	struct gp_vgpu_window *window = gp_vgpu_alloc(sizeof(*window));
	const int prot = PROT_READ | PROT_WRITE, shared = MAP_SHARED | MAP_NORESERVE;
	void *first, *second = NULL;

	if (!window)
		return NULL;
	window->offset = arena->next;
	window->size = size;
	window->map_bytes = twice ? size * 2 : size;
	window->users = 1;
	if (!twice) {
		first = map(NULL, size, prot, shared, arena->fd, window->offset);
	} else {
		first = map(NULL, size * 2, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			    -1, 0);
		for (u64 half = 0; first != MAP_FAILED && half < 2; half++) {
			second = map((u8 *)first + half * size, size, prot, shared | MAP_FIXED,
				     arena->fd, window->offset);
			if (second == MAP_FAILED) {
				syscall(SYS_munmap, first, size * 2);
				first = MAP_FAILED;
			}
		}
	}
	if (first == MAP_FAILED) {
		gp_vgpu_free(window);
		return NULL;
	}
	madvise(first, window->map_bytes, MADV_DONTFORK);
	madvise(first, window->map_bytes, MADV_DONTDUMP);
	window->map = first;
	arena->next += size;
	return window;
}

static void close_window(struct gp_vgpu_window *window)
{
	if (!window || --window->users)
		return;
	syscall(SYS_munmap, window->map, window->map_bytes);
	gp_vgpu_free(window);
}

/* The shared window has no room for this: the next one. */
static struct gp_vgpu_window *shared_window(struct gp_vgpu_arena *arena, u64 size)
{
	struct gp_vgpu_window *window = arena->current;

	if (window && window->size - window->used >= size)
		return window;
	window = open_window(arena, WINDOW_BYTES, false);
	if (!window)
		return NULL;
	close_window(arena->current);
	arena->current = window;
	return window;
}

int gp_vgpu_arena_take(struct gp_vgpu_arena *arena, u64 size, bool twice, struct gp_vgpu_range *out)
{
	bool own = twice || size >= LARGE_BYTES;
	struct gp_vgpu_window *window;

	if (!size || size > FILE_BYTES - arena->next)
		return -ENOMEM;
	window = own ? open_window(arena, size, twice) : shared_window(arena, size);
	if (!window)
		return -ENOMEM;
	if (!own)
		window->users++;
	*out = (struct gp_vgpu_range){
		.offset = window->offset + window->used,
		.size = size,
		.view = window->map + window->used,
		.window = window,
	};
	window->used += size;
	return 0;
}

void gp_vgpu_arena_give(struct gp_vgpu_arena *arena, struct gp_vgpu_range *range)
{
	fallocate(arena->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)range->offset,
		  (off_t)range->size);
	close_window(range->window);
}

void gp_vgpu_arena_leave(struct gp_vgpu_range *range)
{
	close_window(range->window);
}

int gp_vgpu_arena_reserve(struct gp_vgpu_arena *arena, u64 size, u64 *offset)
{
	if (size > FILE_BYTES - arena->next)
		return -ENOMEM;
	*offset = arena->next;
	arena->next += size;
	return 0;
}

void gp_vgpu_arena_destroy(struct gp_vgpu_arena *arena)
{
	close_window(arena->current);
	arena->current = NULL;
	gp_vgpu_close_own(arena->fd);
}
