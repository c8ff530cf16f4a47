// SPDX-License-Identifier: MIT
/*
 * The functions that open a path. /dev/kfd and the render nodes give a device; other paths of the
 * virtual GPU lead into its tree; libc handles the rest.
 */
/* Both the plain and the 64-bit names are defined here, so neither may stand for the other. */
#undef _FILE_OFFSET_BITS
#include "vgpu/preload/parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "abi/drm.h"
#include "abi/kfd_debug.h"
#include "abi/kfd_driver.h"

/* For runtimes too old to do it: before the first queue, so right away. */
static void enable_runtime(struct gp_vgpu_client *client)
{
	struct gp_kfd_runtime_enable_args args = {.mode_mask = GP_KFD_RUNTIME_ENABLE};

	/* A second descriptor of the process finds it enabled: EBUSY, which is fine. */
	(void)gp_vgpu_forward(client, _IOC_NR(GP_KFD_IOC_RUNTIME_ENABLE), &args, sizeof(args));
}

static int gpu_of_minor(const struct gp_vgpu_client *client, u32 minor)
{
	for (u32 i = 0; i < client->machine.gpu_count; i++)
		if (client->machine.gpus[i].render_minor == minor)
			return (int)i;
	/* card0 and so on: the primary nodes, in the same order. */
	return minor < client->machine.gpu_count ? (int)minor : -1;
}

static int open_device(struct gp_vgpu_node device, int flags)
{
	struct gp_vgpu_client *client = gp_vgpu_client();
	int gpu = 0, fd, saved = errno;

	if (!client) {
		errno = ENODEV;
		return -1;
	}
	if (device.kind == GP_VGPU_FD_RENDER)
		gpu = gpu_of_minor(client, device.minor);
	fd = gpu < 0 ? -ENOENT : gp_vgpu_fd_open(device.kind, (u32)gpu, flags);
	if (fd < 0) {
		errno = -fd;
		return -1;
	}
	if (device.kind == GP_VGPU_FD_KFD && client->machine.runtime_enable)
		enable_runtime(client);
	errno = saved;
	return fd;
}

#define MODE_OF(flags, mode)                                               \
	do {                                                               \
		va_list list;                                              \
                                                                           \
		if ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE) { \
			va_start(list, flags);                             \
			(mode) = va_arg(list, mode_t);                     \
			va_end(list);                                      \
		}                                                          \
	} while (0)

/* ---- device files made with mknod() ---- */

/* Only the kernel can make one. A link to the name that udev gives the device stands in for it. */
#define KFD_BY_NUMBER "/dev/char/235:"
_Static_assert(GP_KFD_MAJOR == 235, "its name says so");

static int make_node(int directory, const char *path, mode_t mode, dev_t device)
{
	char target[64] = KFD_BY_NUMBER;

	if (!gp_vgpu_root() || !S_ISCHR(mode) || major(device) != GP_KFD_MAJOR)
		return (int)syscall(SYS_mknodat, directory, path, mode, (unsigned int)device);
	gp_vgpu_number(target + strlen(target), minor(device));
	return symlinkat(target, directory, path);
}

GP_VGPU_EXPORT int mknod(const char *path, mode_t mode, dev_t device)
{
	return make_node(AT_FDCWD, path, mode, device);
}

GP_VGPU_EXPORT int mknodat(int directory, const char *path, mode_t mode, dev_t device)
{
	return make_node(directory, path, mode, device);
}

/* There was nothing to open: was it such a node? The driver has minor 0 alone. */
static int open_node(int directory, const char *path, int flags)
{
	char target[64] = "";
	int saved = errno;

	if (!gp_vgpu_root() || !path || errno != ENOENT ||
	    syscall(SYS_readlinkat, directory, path, target, sizeof(target) - 1) < 0 ||
	    strncmp(target, KFD_BY_NUMBER, sizeof(KFD_BY_NUMBER) - 1) != 0) {
		errno = saved;
		return -1;
	}
	if (strcmp(target + sizeof(KFD_BY_NUMBER) - 1, "0") != 0) {
		errno = ENODEV;
		return -1;
	}
	return open_device((struct gp_vgpu_node){GP_VGPU_FD_KFD, 0}, flags);
}

static bool writes(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC);
}

static int open_path(int directory, const char *path, int flags, mode_t mode)
{
	struct gp_vgpu_node device = gp_vgpu_path_node(path);
	char buffer[GP_VGPU_PATH_MAX];
	const char *place;
	bool inside;
	int fd;

	/* O_PATH only names the file. */
	if (device.kind != GP_VGPU_FD_NONE && !(flags & O_PATH))
		return open_device(device, flags);
	place = gp_vgpu_path_at(directory, path, buffer, &inside);
	/* The driver lets no process write to these files, not even root. */
	if (inside && writes(flags) && !(flags & O_PATH)) {
		errno = EACCES;
		return -1;
	}
	fd = GP_VGPU_REAL(openat)(directory, place, flags, mode);
	return fd < 0 ? open_node(directory, path, flags) : fd;
}

GP_VGPU_EXPORT int open(const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_OF(flags, mode);
	return open_path(AT_FDCWD, path, flags, mode);
}

GP_VGPU_EXPORT_AS(open) int open64(const char *path, int flags, ...);

GP_VGPU_EXPORT int openat(int directory, const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_OF(flags, mode);
	return open_path(directory, path, flags, mode);
}

GP_VGPU_EXPORT_AS(openat) int openat64(int directory, const char *path, int flags, ...);

/* What open() becomes with _FORTIFY_SOURCE when the flags are not known to the compiler. */
int __open_2(const char *path, int flags);
GP_VGPU_EXPORT int __open_2(const char *path, int flags)
{
	return open_path(AT_FDCWD, path, flags, 0);
}

GP_VGPU_EXPORT_AS(__open_2) int __open64_2(const char *path, int flags);

int __openat_2(int directory, const char *path, int flags);
GP_VGPU_EXPORT int __openat_2(int directory, const char *path, int flags)
{
	return open_path(directory, path, flags, 0);
}

GP_VGPU_EXPORT_AS(__openat_2) int __openat64_2(int directory, const char *path, int flags);

static bool may_open(const char *mode, bool inside)
{
	if (!inside || (mode[0] == 'r' && !strchr(mode, '+')))
		return true;
	errno = EACCES;
	return false;
}

GP_VGPU_EXPORT FILE *fopen(const char *path, const char *mode)
{
	char buffer[GP_VGPU_PATH_MAX];
	bool inside;
	const char *place = gp_vgpu_path_at(AT_FDCWD, path, buffer, &inside);

	return may_open(mode, inside) ? GP_VGPU_REAL(fopen)(place, mode) : NULL;
}

GP_VGPU_EXPORT_AS(fopen) FILE *fopen64(const char *path, const char *mode);

GP_VGPU_EXPORT DIR *opendir(const char *path)
{
	char buffer[GP_VGPU_PATH_MAX];
	bool inside;

	return GP_VGPU_REAL(opendir)(gp_vgpu_path_at(AT_FDCWD, path, buffer, &inside));
}

/* Libc's scandir() calls its own opendir(), not ours. */
GP_VGPU_EXPORT int scandir(const char *path, struct dirent ***list,
			   int (*select)(const struct dirent *),
			   int (*compare)(const struct dirent **, const struct dirent **))
{
	char buffer[GP_VGPU_PATH_MAX];

	return GP_VGPU_REAL(scandir)(gp_vgpu_path(path, buffer), list, select, compare);
}

GP_VGPU_EXPORT int scandir64(const char *path, struct dirent64 ***list,
			     int (*select)(const struct dirent64 *),
			     int (*compare)(const struct dirent64 **, const struct dirent64 **))
{
	char buffer[GP_VGPU_PATH_MAX];

	return GP_VGPU_REAL(scandir64)(gp_vgpu_path(path, buffer), list, select, compare);
}

GP_VGPU_EXPORT int chdir(const char *path)
{
	char buffer[GP_VGPU_PATH_MAX];

	return GP_VGPU_REAL(chdir)(gp_vgpu_path(path, buffer));
}
