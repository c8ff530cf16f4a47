// SPDX-License-Identifier: MIT
/*
 * Two levels of atomic words, so that every descriptor number works and nothing is locked: the
 * table is read by every close() and mmap() of the process, also before main, in signal handlers
 * and in the child of a fork that another thread interrupted.
 *
 * A word remembers the process that opened the descriptor, and its inode. A child of vfork() shares
 * our memory, so only the owner's close() forgets; a descriptor closed without us (close_range, a
 * raw system call) is detected by its inode.
 */
#include "vgpu/preload/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LEAF_BITS    16
#define LEAF_ENTRIES (1u << LEAF_BITS)
#define ROOT_ENTRIES (1u << (31 - LEAF_BITS))

/* Fields of a word: kind 2:0, gpu 6:3, owner 28:7, inode 63:29. */
#define KIND_MASK   7
#define GPU_SHIFT   3
#define OWNER_SHIFT 7
#define INODE_SHIFT 29
#define GPU_MASK    0xfull
#define OWNER_MASK  0x3fffffull /* PID_MAX_LIMIT is 2^22 */

static _Atomic(_Atomic u64 *) root[ROOT_ENTRIES];
static _Atomic int highest = -1; /* descriptor that was ever in the table */

static _Atomic u64 *entry(int fd, bool create)
{
	_Atomic u64 *leaf, *expected = NULL;
	const size_t bytes = LEAF_ENTRIES * sizeof(*leaf);

	if (fd < 0)
		return NULL;
	leaf = atomic_load_explicit(&root[fd >> LEAF_BITS], memory_order_acquire);
	if (leaf || !create)
		return leaf ? &leaf[fd & (LEAF_ENTRIES - 1)] : NULL;
	leaf = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, (off_t)0);
	if ((void *)leaf == MAP_FAILED)
		return NULL;
	if (!atomic_compare_exchange_strong(&root[fd >> LEAF_BITS], &expected, leaf)) {
		syscall(SYS_munmap, leaf, bytes);
		leaf = expected;
	}
	return &leaf[fd & (LEAF_ENTRIES - 1)];
}

bool gp_vgpu_is_open(int fd)
{
	int saved = errno;
	bool open = syscall(SYS_fcntl, fd, F_GETFD) >= 0;

	errno = saved;
	return open;
}

static void put(_Atomic u64 *at, int fd, u64 word)
{
	int seen = atomic_load(&highest);

	while (seen < fd && !atomic_compare_exchange_weak(&highest, &seen, fd))
		;
	atomic_store_explicit(at, word, memory_order_release);
}

static u64 word_of(int fd)
{
	_Atomic u64 *at = entry(fd, false);

	return at ? atomic_load_explicit(at, memory_order_acquire) : 0;
}

static struct gp_vgpu_fd decode(u64 word)
{
	return (struct gp_vgpu_fd){
		.kind = word & KIND_MASK,
		.gpu_index = word >> GPU_SHIFT & GPU_MASK,
		.owner = (pid_t)(word >> OWNER_SHIFT & OWNER_MASK),
		.file = word >> INODE_SHIFT,
	};
}

static u64 inode_bits(int fd)
{
	struct stat st;

	if (syscall(SYS_fstat, fd, &st))
		return 0;
	return (u64)st.st_ino << INODE_SHIFT;
}

struct gp_vgpu_fd gp_vgpu_fd_get(int fd)
{
	return decode(word_of(fd));
}

struct gp_vgpu_fd gp_vgpu_fd_check(int fd)
{
	u64 word = word_of(fd);
	int saved = errno;

	if (word && word >> INODE_SHIFT != inode_bits(fd) >> INODE_SHIFT)
		word = 0;
	errno = saved;
	return decode(word);
}

static int remember(int fd, enum gp_vgpu_fd_kind kind, u32 gpu_index)
{
	_Atomic u64 *at = entry(fd, true);

	if (!at)
		return -ENOMEM;
	put(at, fd,
	    (u64)kind | (u64)gpu_index << GPU_SHIFT | ((u64)getpid() & OWNER_MASK) << OWNER_SHIFT |
		    inode_bits(fd));
	return 0;
}

int gp_vgpu_fd_open(enum gp_vgpu_fd_kind kind, u32 gpu_index, int open_flags)
{
	char name[32];
	int fd, error;

	/* Whose it is can be read off it, wherever it is handed to. */
	strcpy(name, kind == GP_VGPU_FD_KFD ? GP_VGPU_KFD_NAME : "renderD");
	if (kind == GP_VGPU_FD_KFD)
		gp_vgpu_number(name + strlen(name), (u32)getpid());
	fd = memfd_create(name, MFD_ALLOW_SEALING | (open_flags & O_CLOEXEC ? MFD_CLOEXEC : 0));

	if (fd < 0)
		return -errno;
	/* A device must not store bytes by accident. */
	syscall(SYS_fcntl, fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
	error = remember(fd, kind, gpu_index);
	if (error) {
		syscall(SYS_close, fd);
		return error;
	}
	return fd;
}

void gp_vgpu_fd_mark_own(int fd)
{
	(void)remember(fd, GP_VGPU_FD_OWN, 0);
}

int gp_vgpu_fd_remember(int fd, enum gp_vgpu_fd_kind kind)
{
	return remember(fd, kind, 0);
}

void gp_vgpu_fd_duplicate(int from, int to)
{
	u64 word = word_of(from), before = word_of(to);
	_Atomic u64 *at;

	if (from == to)
		return;
	if ((word & KIND_MASK) == GP_VGPU_FD_OWN)
		word = 0;
	at = entry(to, word != 0);
	if (at)
		put(at, to, word);
	if ((before & KIND_MASK) == GP_VGPU_FD_KFD)
		gp_vgpu_file_closed(before >> INODE_SHIFT);
}

int gp_vgpu_fd_next(int fd)
{
	int last = atomic_load(&highest);

	for (; fd <= last; fd++)
		if (word_of(fd))
			return fd;
	return -1;
}

bool gp_vgpu_fd_forget(int fd)
{
	_Atomic u64 *at = entry(fd, false);
	u64 word = at ? atomic_load_explicit(at, memory_order_acquire) : 0;

	if (!word || decode(word).owner != getpid())
		return false;
	if ((word & KIND_MASK) == GP_VGPU_FD_OWN)
		return word >> INODE_SHIFT == inode_bits(fd) >> INODE_SHIFT;
	atomic_store_explicit(at, 0, memory_order_release);
	if ((word & KIND_MASK) == GP_VGPU_FD_KFD)
		gp_vgpu_file_closed(word >> INODE_SHIFT);
	return false;
}

int gp_vgpu_own_fd(int fd)
{
	/* Low enough for the usual limit of 1024, high enough for programs that count from 3. */
	const u64 preferred = 4096;
	struct rlimit limit;
	u64 base = preferred;
	int high;

	if (fd < 0)
		return fd;
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur / 4 * 3 < base)
		base = limit.rlim_cur / 4 * 3;
	high = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, (int)base);
	if (high < 0) {
		syscall(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC);
		high = fd;
	} else {
		syscall(SYS_close, fd);
	}
	gp_vgpu_fd_mark_own(high);
	return high;
}

void gp_vgpu_close_own(int fd)
{
	_Atomic u64 *at = entry(fd, false);

	if (fd < 0)
		return;
	if (at)
		atomic_store_explicit(at, 0, memory_order_release);
	syscall(SYS_close, fd);
}
