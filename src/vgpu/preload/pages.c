// SPDX-License-Identifier: MIT
/*
 * Pages of buffers, and dma-bufs. A dma-buf is a descriptor of the exporter's memory file whose
 * position says which entry of a directory, at the start of that file, describes the buffer. So it
 * keeps the memory alive, travels over sockets like any descriptor, and another process needs
 * nothing else to import it. The library stands in front of lseek(), so that the position stays.
 *
 * Each descriptor holds a lock on its entry (of the open file: it goes with the last copy, in
 * whichever process). So the exporter knows when nothing uses a buffer that it has freed, and gives
 * the pages back the next time it makes, shares or frees one.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/kfd_driver.h"
#include "vgpu/preload/memory.h"
#include "vgpu/heap.h"

#define MAGIC           0x6670737075626d64ull
#define ENTRIES         8192
#define DIRECTORY_BYTES (ENTRIES * sizeof(struct gp_vgpu_dmabuf))
#define SLOT_BITS       13
_Static_assert(1u << SLOT_BITS == ENTRIES, "slots");
_Static_assert(sizeof(struct gp_vgpu_dmabuf) == 512, "entries do not cross pages");

static void *map_shared(int fd, u64 bytes, u64 offset)
{
	void *at = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_NORESERVE, fd, offset);

	if (at == MAP_FAILED)
		return NULL;
	madvise(at, bytes, MADV_DONTFORK);
	madvise(at, bytes, MADV_DONTDUMP);
	return at;
}

/* Whether a descriptor of this entry is open anywhere. */
static bool entry_open(const struct gp_vgpu_memory *memory, u64 slot)
{
	struct flock lock = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = (off_t)(slot * sizeof(struct gp_vgpu_dmabuf)),
		.l_len = sizeof(struct gp_vgpu_dmabuf),
	};

	return syscall(SYS_fcntl, memory->arena.fd, F_OFD_GETLK, &lock) || lock.l_type != F_UNLCK;
}

/* Gives back what was shared, was freed, and is not in use elsewhere any more. */
static void sweep(struct gp_vgpu_memory *memory)
{
	for (u32 i = 0; i < memory->directory_used; i++) {
		struct gp_vgpu_dmabuf *entry = &memory->directory[i];

		if (entry->magic != MAGIC || __atomic_load_n(&entry->users, __ATOMIC_ACQUIRE) ||
		    entry_open(memory, i))
			continue;
		fallocate(memory->arena.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  (off_t)entry->offset, (off_t)entry->size);
		entry->magic = 0;
	}
}

int gp_vgpu_pages_create(struct gp_vgpu_memory *memory, const struct gp_vgpu_pages *like, u64 bytes,
			 bool twice, struct gp_vgpu_pages **out)
{
	struct gp_vgpu_pages *pages = gp_vgpu_alloc(sizeof(*pages));
	int error;

	sweep(memory);
	if (!pages)
		return -ENOMEM;
	*pages = *like;
	pages->users = 1;
	pages->fd = -1;
	error = gp_vgpu_arena_take(&memory->arena, bytes, twice, &pages->range);
	if (!error) {
		error = gp_vgpu_intervals_insert(&memory->offsets, pages->range.offset,
						 pages->range.offset + bytes, pages);
		if (error)
			gp_vgpu_arena_give(&memory->arena, &pages->range);
	}
	if (error) {
		gp_vgpu_free(pages);
		return error;
	}
	*out = pages;
	return 0;
}

u64 gp_vgpu_pages_put(struct gp_vgpu_memory *memory, struct gp_vgpu_pages *pages)
{
	bool foreign = pages->fd >= 0;
	u64 vram;

	if (--pages->users)
		return 0;
	vram = !foreign && pages->flags & GP_KFD_ALLOC_VRAM ? pages->range.size : 0;
	gp_vgpu_intervals_remove(&memory->offsets, pages->range.offset);
	if (pages->entry)
		__atomic_fetch_sub(&pages->entry->users, 1, __ATOMIC_ACQ_REL);
	if (foreign) {
		syscall(SYS_munmap, pages->range.view, pages->range.size);
		syscall(SYS_munmap, pages->entry_page, GP_KFD_PAGE);
		gp_vgpu_close_own(pages->fd);
	} else if (pages->entry) {
		gp_vgpu_arena_leave(&pages->range);
	} else {
		gp_vgpu_arena_give(&memory->arena, &pages->range);
	}
	sweep(memory);
	gp_vgpu_free(pages);
	return vram;
}

void gp_vgpu_pages_end(struct gp_vgpu_memory *memory)
{
	if (memory->directory)
		syscall(SYS_munmap, memory->directory, DIRECTORY_BYTES);
}

/* ---- export ---- */

static struct gp_vgpu_dmabuf *entry_take(struct gp_vgpu_memory *memory)
{
	if (!memory->directory)
		memory->directory = map_shared(memory->arena.fd, DIRECTORY_BYTES, 0);
	for (u32 i = 0; memory->directory && i < ENTRIES; i++) {
		if (memory->directory[i].magic)
			continue;
		if (i >= memory->directory_used)
			memory->directory_used = i + 1;
		return &memory->directory[i];
	}
	return NULL;
}

static int entry_fill(struct gp_vgpu_client *client, struct gp_vgpu_pages *pages)
{
	struct gp_vgpu_memory *memory = client->memory;
	struct gp_vgpu_dmabuf *entry = entry_take(memory);

	if (!entry)
		return -ENOMEM;
	*entry = (struct gp_vgpu_dmabuf){
		.generation = entry->generation + 1,
		.offset = pages->range.offset,
		.size = pages->range.size,
		.gpu_id = client->machine.gpus[pages->gpu_index].gpu_id,
		.flags = pages->flags,
		.drm = pages->drm,
		.users = 1,
		.metadata = pages->metadata,
	};
	__atomic_store_n(&entry->magic, MAGIC, __ATOMIC_RELEASE);
	pages->entry = entry;
	pages->position = entry->generation << SLOT_BITS | (u64)(entry - memory->directory);
	return 0;
}

/* A new description of the file, with its own position and its own lock. */
static int dmabuf_open(int file, u64 position, int flags)
{
	struct flock lock = {
		.l_type = F_RDLCK,
		.l_whence = SEEK_SET,
		.l_start = (off_t)(position % ENTRIES * sizeof(struct gp_vgpu_dmabuf)),
		.l_len = sizeof(struct gp_vgpu_dmabuf),
	};
	char link[32] = "/proc/self/fd/";
	int fd, error = 0;

	gp_vgpu_number(link + strlen(link), (u32)file);
	fd = (int)syscall(SYS_openat, AT_FDCWD, link, O_RDWR | (flags & O_CLOEXEC));
	if (fd < 0)
		return -errno;
	if (syscall(SYS_lseek, fd, position, SEEK_SET) < 0 ||
	    syscall(SYS_fcntl, fd, F_OFD_SETLK, &lock))
		error = -errno;
	else
		error = gp_vgpu_fd_remember(fd, GP_VGPU_FD_DMABUF);
	if (!error)
		return fd;
	syscall(SYS_close, fd);
	return error;
}

int gp_vgpu_pages_export(struct gp_vgpu_client *client, struct gp_vgpu_pages *pages, int flags)
{
	int error = pages->entry ? 0 : entry_fill(client, pages);

	return error ? error
		     : dmabuf_open(pages->fd >= 0 ? pages->fd : client->memory->arena.fd,
				   pages->position, flags);
}

/* ---- import ---- */

static bool is_memory_file(int fd)
{
	static const char name[] = "/memfd:" GP_VGPU_ARENA_NAME;
	char link[32] = "/proc/self/fd/", target[64] = "";

	gp_vgpu_number(link + strlen(link), (u32)fd);
	return syscall(SYS_readlinkat, AT_FDCWD, link, target, sizeof(target) - 1) > 0 &&
	       !strncmp(target, name, sizeof(name) - 1);
}

static bool fits(const struct gp_vgpu_dmabuf *entry)
{
	const u64 page = GP_KFD_PAGE - 1;

	return entry->size && !(entry->size & page) && !(entry->offset & page) &&
	       entry->offset <= INT64_MAX - entry->size;
}

int gp_vgpu_dmabuf_read(int fd, struct gp_vgpu_dmabuf *out, u64 *position)
{
	u64 slot;
	long at;

	if (!gp_vgpu_is_open(fd))
		return -EBADF;
	if (!is_memory_file(fd))
		return -EINVAL;
	at = syscall(SYS_lseek, fd, 0, SEEK_CUR);
	slot = (u64)at % ENTRIES;
	if (at < 0 ||
	    syscall(SYS_pread64, fd, out, sizeof(*out), slot * sizeof(*out)) != sizeof(*out) ||
	    out->magic != MAGIC || out->generation != (u64)at >> SLOT_BITS || !fits(out))
		return -EINVAL;
	*position = (u64)at;
	return gp_vgpu_fd_get(fd).kind == GP_VGPU_FD_NONE
		       ? gp_vgpu_fd_remember(fd, GP_VGPU_FD_DMABUF)
		       : 0;
}

static bool same_file(int one, int other)
{
	struct stat first, second;

	return !syscall(SYS_fstat, one, &first) && !syscall(SYS_fstat, other, &second) &&
	       first.st_ino == second.st_ino && first.st_dev == second.st_dev;
}

/* Those that this process has already. */
static struct gp_vgpu_pages *pages_find(struct gp_vgpu_memory *memory, int fd, u64 position)
{
	for (size_t i = 0; i < memory->offsets.count; i++) {
		struct gp_vgpu_pages *pages = memory->offsets.items[i].value;

		if (pages->entry && pages->position == position &&
		    same_file(fd, pages->fd >= 0 ? pages->fd : memory->arena.fd))
			return pages;
	}
	return NULL;
}

static int foreign_map(struct gp_vgpu_memory *memory, int fd, u64 position,
		       struct gp_vgpu_pages *pages)
{
	u64 at = position % ENTRIES * sizeof(struct gp_vgpu_dmabuf);

	pages->fd = gp_vgpu_own_fd((int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0));
	if (pages->fd < 0)
		return -errno;
	pages->range.view = map_shared(pages->fd, pages->range.size, pages->at);
	pages->entry_page = map_shared(pages->fd, GP_KFD_PAGE, at & ~(u64)(GP_KFD_PAGE - 1));
	if (pages->range.view && pages->entry_page &&
	    !gp_vgpu_arena_reserve(&memory->arena, pages->range.size, &pages->range.offset) &&
	    !gp_vgpu_intervals_insert(&memory->offsets, pages->range.offset,
				      pages->range.offset + pages->range.size, pages)) {
		pages->entry = (void *)((u8 *)pages->entry_page + at % GP_KFD_PAGE);
		__atomic_fetch_add(&pages->entry->users, 1, __ATOMIC_ACQ_REL);
		return 0;
	}
	if (pages->range.view)
		syscall(SYS_munmap, pages->range.view, pages->range.size);
	if (pages->entry_page)
		syscall(SYS_munmap, pages->entry_page, GP_KFD_PAGE);
	gp_vgpu_close_own(pages->fd);
	return -ENOMEM;
}

int gp_vgpu_pages_import(struct gp_vgpu_client *client, int fd, struct gp_vgpu_pages **out)
{
	struct gp_vgpu_memory *memory = client->memory;
	struct gp_vgpu_dmabuf entry;
	u64 position = 0;
	int error = gp_vgpu_dmabuf_read(fd, &entry, &position);
	int gpu = error ? -1 : gp_vgpu_gpu_index(client, entry.gpu_id);

	if (gpu < 0)
		return error ? error : -EINVAL; /* of another machine */
	*out = pages_find(memory, fd, position);
	if (*out) {
		(*out)->users++;
		return 0;
	}
	*out = gp_vgpu_alloc(sizeof(**out));
	if (!*out)
		return -ENOMEM;
	**out = (struct gp_vgpu_pages){
		.users = 1,
		.gpu_index = (u32)gpu,
		.flags = entry.flags,
		.drm = entry.drm,
		.at = entry.offset,
		.position = position,
		.range.size = entry.size,
		.metadata = entry.metadata,
	};
	error = foreign_map(memory, fd, position, *out);
	if (error)
		gp_vgpu_free(*out);
	return error;
}
