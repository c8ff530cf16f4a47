// SPDX-License-Identifier: MIT
/*
 * The functions on descriptors that this library stands in front of. A descriptor that is not ours
 * goes straight to the kernel.
 */
/* Both the plain and the 64-bit names are defined here, so neither may stand for the other. */
#undef _FILE_OFFSET_BITS
#include "vgpu/cp/cp.h"
#include "vgpu/preload/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/drm.h"
#include "abi/kfd_driver.h"

GP_VGPU_EXPORT int close(int fd)
{
	/* Ours: for the application it is not open. */
	if (gp_vgpu_fd_forget(fd)) {
		errno = EBADF;
		return -1;
	}
	return GP_VGPU_REAL(close)(fd);
}

/* Not declared before glibc 2.34. */
int close_range(unsigned int first, unsigned int last, int flags);
void closefrom(int first);

/* Closes what the application may close, in stretches between ours. */
GP_VGPU_EXPORT int close_range(unsigned int first, unsigned int last, int flags)
{
	int result = 0;

	if (flags || first > last || first > INT_MAX)
		return (int)syscall(SYS_close_range, first, last, flags);
	for (int fd = gp_vgpu_fd_next((int)first); fd >= 0 && (unsigned int)fd <= last && !result;
	     fd = gp_vgpu_fd_next(fd + 1)) {
		if (!gp_vgpu_fd_forget(fd))
			continue;
		if (first < (unsigned int)fd)
			result = (int)syscall(SYS_close_range, first, (unsigned int)fd - 1, 0);
		first = (unsigned int)fd + 1;
	}
	return result || first > last ? result : (int)syscall(SYS_close_range, first, last, 0);
}

GP_VGPU_EXPORT void closefrom(int first)
{
	close_range(first < 0 ? 0 : (unsigned int)first, ~0u, 0);
}

GP_VGPU_EXPORT int dup(int fd)
{
	int copy = GP_VGPU_REAL(dup)(fd);

	if (copy >= 0)
		gp_vgpu_fd_duplicate(fd, copy);
	return copy;
}

GP_VGPU_EXPORT int dup2(int fd, int to)
{
	int copy = GP_VGPU_REAL(dup2)(fd, to);

	if (copy >= 0)
		gp_vgpu_fd_duplicate(fd, copy);
	return copy;
}

GP_VGPU_EXPORT int dup3(int fd, int to, int flags)
{
	int copy = GP_VGPU_REAL(dup3)(fd, to, flags);

	if (copy >= 0)
		gp_vgpu_fd_duplicate(fd, copy);
	return copy;
}

GP_VGPU_EXPORT int fcntl(int fd, int command, ...)
{
	va_list list;
	void *argument;
	int result;

	va_start(list, command);
	argument = va_arg(list, void *);
	va_end(list);
	/* Libc takes the argument of F_DUPFD and of all others alike. */
	result = GP_VGPU_REAL(fcntl)(fd, command, argument);
	if (result >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC))
		gp_vgpu_fd_duplicate(fd, result);
	return result;
}

GP_VGPU_EXPORT_AS(fcntl) int fcntl64(int fd, int command, ...);

/* ---- devices ---- */

static int device_ioctl(struct gp_vgpu_fd fd, unsigned long request, void *argument)
{
	struct gp_vgpu_client *client;
	int saved = errno, result;

	if (fd.kind == GP_VGPU_FD_KFD) {
		result = gp_vgpu_kfd_ioctl(fd, request, argument);
	} else {
		client = gp_vgpu_client_take(fd);
		result = client ? gp_vgpu_drm_ioctl(client, fd.gpu_index, request, argument)
				: -ENODEV;
		gp_vgpu_client_put(client);
	}
	errno = saved;
	if (result >= 0)
		return result;
	errno = -result;
	return -1;
}

/*
 * A /dev/kfd that another process opened, received over a socket or kept through exec: not in our
 * table, but it has the name that gp_vgpu_fd_open() gave it.
 */
static bool is_handed_over(int fd, pid_t *owner)
{
	static const char name[] = "/memfd:" GP_VGPU_KFD_NAME;
	char link[32], target[64] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (syscall(SYS_readlink, link, target, sizeof(target) - 1) < 0 ||
	    memcmp(target, name, sizeof(name) - 1) != 0)
		return false;
	*owner = (pid_t)strtol(target + sizeof(name) - 1, NULL, 10);
	return true;
}

GP_VGPU_EXPORT int ioctl(int fd, unsigned long request, ...)
{
	struct gp_vgpu_fd ours = gp_vgpu_fd_get(fd);
	va_list list;
	void *argument;
	int result;

	va_start(list, request);
	argument = va_arg(list, void *);
	va_end(list);
	if (ours.kind == GP_VGPU_FD_KFD || ours.kind == GP_VGPU_FD_RENDER) {
		ours = gp_vgpu_fd_check(fd);
		if (ours.kind != GP_VGPU_FD_NONE)
			return device_ioctl(ours, request, argument);
	}
	result = GP_VGPU_REAL(ioctl)(fd, request, argument);
	if (result < 0 && errno == ENOTTY && _IOC_TYPE(request) == GP_KFD_IOC_TYPE) {
		struct gp_vgpu_fd theirs = {.kind = GP_VGPU_FD_KFD};

		if (gp_vgpu_root() && is_handed_over(fd, &theirs.owner))
			return device_ioctl(theirs, request, argument);
		errno = ENOTTY;
	}
	return result;
}

/* What was at these addresses is gone. */
static void forget(void *addr, size_t length)
{
	struct gp_vgpu_client *client = gp_vgpu_client_if_any();

	if (client) {
		gp_vgpu_svm_unmapped(client, (u64)(uintptr_t)addr, length);
		gp_vgpu_cp_unmapped(client, (u64)(uintptr_t)addr, length);
		gp_vgpu_secondary_unmapped(client, (u64)(uintptr_t)addr, length);
	}
}

/*
 * New memory: what was registered at these addresses before is gone too. libc unmaps what free()
 * gives back without a call that could be seen here.
 */
static void *map_new(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	struct gp_vgpu_client *client = gp_vgpu_client_if_any();

	addr = (void *)syscall(SYS_mmap, addr, length, prot, flags, fd, offset);
	if (client && addr != MAP_FAILED)
		gp_vgpu_svm_unmapped(client, (u64)(uintptr_t)addr, length);
	return addr;
}

GP_VGPU_EXPORT int munmap(void *addr, size_t length)
{
	forget(addr, length);
	return (int)syscall(SYS_munmap, addr, length);
}

GP_VGPU_EXPORT void *mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	struct gp_vgpu_fd ours =
		flags & MAP_ANONYMOUS ? (struct gp_vgpu_fd){0} : gp_vgpu_fd_get(fd);
	struct gp_vgpu_client *client;

	if (flags & MAP_FIXED)
		forget(addr, length);
	if (ours.kind != GP_VGPU_FD_NONE && ours.kind != GP_VGPU_FD_OWN)
		ours = gp_vgpu_fd_check(fd);
	if (ours.kind == GP_VGPU_FD_DMABUF)
		return gp_vgpu_dmabuf_mmap(addr, length, prot, flags, fd, offset);
	/* Called before dlsym() works: the system call itself. */
	if (ours.kind != GP_VGPU_FD_KFD && ours.kind != GP_VGPU_FD_RENDER)
		return map_new(addr, length, prot, flags, fd, offset);
	client = gp_vgpu_client_take(ours);
	if (!client || ours.owner != client->pid) {
		gp_vgpu_client_put(client);
		errno = client ? EINVAL : ENODEV;
		return MAP_FAILED;
	}
	addr = gp_vgpu_memory_mmap(client, addr, length, prot, flags,
				   ours.kind == GP_VGPU_FD_RENDER, offset);
	gp_vgpu_client_put(client);
	return addr;
}

GP_VGPU_EXPORT_AS(mmap)
void *mmap64(void *addr, size_t length, int prot, int flags, int fd, off64_t offset);

/* Of a dma-buf it gives the size, and its position is not the application's to change. */
GP_VGPU_EXPORT off_t lseek(int fd, off_t offset, int whence)
{
	s64 result;

	if (gp_vgpu_fd_get(fd).kind != GP_VGPU_FD_DMABUF ||
	    gp_vgpu_fd_check(fd).kind != GP_VGPU_FD_DMABUF)
		return syscall(SYS_lseek, fd, offset, whence);
	result = gp_vgpu_dmabuf_seek(fd, offset, whence);
	if (result >= 0)
		return result;
	errno = (int)-result;
	return -1;
}

GP_VGPU_EXPORT_AS(lseek) off64_t lseek64(int fd, off64_t offset, int whence);

/* ---- what kind of file it is ---- */

static void fix_stat(int fd, struct stat *st)
{
	struct gp_vgpu_fd ours = gp_vgpu_fd_get(fd);
	struct gp_vgpu_node device = {ours.kind, GP_DRM_FIRST_RENDER + ours.gpu_index};

	if (ours.kind != GP_VGPU_FD_KFD && ours.kind != GP_VGPU_FD_RENDER)
		return;
	if (gp_vgpu_fd_check(fd).kind != GP_VGPU_FD_NONE)
		gp_vgpu_node_stat(device, st);
}

GP_VGPU_EXPORT int fstat(int fd, struct stat *st)
{
	int result = GP_VGPU_REAL(fstat)(fd, st);

	if (!result)
		fix_stat(fd, st);
	return result;
}

/* On x86-64 the two structures are the same. */
GP_VGPU_EXPORT int fstat64(int fd, struct stat64 *st)
{
	int result = GP_VGPU_REAL(fstat64)(fd, st);

	if (!result)
		fix_stat(fd, (struct stat *)st);
	return result;
}

/* The names of programs built against glibc before 2.33. */
int __fxstat(int version, int fd, struct stat *st);
GP_VGPU_EXPORT int __fxstat(int version, int fd, struct stat *st)
{
	int result = GP_VGPU_REAL(__fxstat)(version, fd, st);

	if (!result)
		fix_stat(fd, st);
	return result;
}

int __fxstat64(int version, int fd, struct stat64 *st);
GP_VGPU_EXPORT int __fxstat64(int version, int fd, struct stat64 *st)
{
	int result = GP_VGPU_REAL(__fxstat64)(version, fd, st);

	if (!result)
		fix_stat(fd, (struct stat *)st);
	return result;
}
