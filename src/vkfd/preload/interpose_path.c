/*
 * The functions that open a path. /dev/kfd and the render nodes give a device; other paths of the
 * virtual machine lead into its tree; everything else is libc's.
 */
/* Both the plain and the 64-bit names are defined here, so neither may stand for the other. */
#undef _FILE_OFFSET_BITS
#include "vkfd/preload/parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/drm.h"
#include "abi/kfd_debug.h"

/* For runtimes too old to do it: before the first queue, so right away. */
static void enable_runtime(struct gp_vk_client *client)
{
	struct gp_kfd_runtime_enable_args args = {.mode_mask = GP_KFD_RUNTIME_ENABLE};

	/* A second descriptor of the process finds it enabled: EBUSY, which is fine. */
	(void)gp_vk_forward(client, _IOC_NR(GP_KFD_IOC_RUNTIME_ENABLE), &args, sizeof(args));
}

static int gpu_of_minor(const struct gp_vk_client *client, u32 minor)
{
	for (u32 i = 0; i < client->machine.gpu_count; i++)
		if (client->machine.gpus[i].render_minor == minor)
			return (int)i;
	/* card0 and so on: the primary nodes, in the same order. */
	return minor < client->machine.gpu_count ? (int)minor : -1;
}

static int open_device(struct gp_vk_device device, int flags)
{
	struct gp_vk_client *client = gp_vk_client();
	int gpu = 0, fd, saved = errno;

	if (!client) {
		errno = ENODEV;
		return -1;
	}
	if (device.kind == GP_VK_FD_RENDER)
		gpu = gpu_of_minor(client, device.minor);
	fd = gpu < 0 ? -ENOENT : gp_vk_fd_open(device.kind, (u32)gpu, flags);
	if (fd < 0) {
		errno = -fd;
		return -1;
	}
	if (device.kind == GP_VK_FD_KFD && client->machine.runtime_enable)
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

static int open_path(int directory, const char *path, int flags, mode_t mode)
{
	struct gp_vk_device device = gp_vk_path_device(path);
	char buffer[GP_VK_PATH_MAX];

	/* O_PATH only names the file. */
	if (device.kind != GP_VK_FD_NONE && !(flags & O_PATH))
		return open_device(device, flags);
	return GP_VK_REAL(openat)(directory, gp_vk_path(path, buffer), flags, mode);
}

GP_VK_EXPORT int open(const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_OF(flags, mode);
	return open_path(AT_FDCWD, path, flags, mode);
}

GP_VK_EXPORT int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_OF(flags, mode);
	return open_path(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

GP_VK_EXPORT int openat(int directory, const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_OF(flags, mode);
	return open_path(directory, path, flags, mode);
}

GP_VK_EXPORT int openat64(int directory, const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_OF(flags, mode);
	return open_path(directory, path, flags | O_LARGEFILE, mode);
}

/* What open() becomes with _FORTIFY_SOURCE when the flags are not known to the compiler. */
int __open_2(const char *path, int flags);
GP_VK_EXPORT int __open_2(const char *path, int flags)
{
	return open_path(AT_FDCWD, path, flags, 0);
}

int __open64_2(const char *path, int flags);
GP_VK_EXPORT int __open64_2(const char *path, int flags)
{
	return open_path(AT_FDCWD, path, flags | O_LARGEFILE, 0);
}

int __openat_2(int directory, const char *path, int flags);
GP_VK_EXPORT int __openat_2(int directory, const char *path, int flags)
{
	return open_path(directory, path, flags, 0);
}

int __openat64_2(int directory, const char *path, int flags);
GP_VK_EXPORT int __openat64_2(int directory, const char *path, int flags)
{
	return open_path(directory, path, flags | O_LARGEFILE, 0);
}

GP_VK_EXPORT FILE *fopen(const char *path, const char *mode)
{
	char buffer[GP_VK_PATH_MAX];

	return GP_VK_REAL(fopen)(gp_vk_path(path, buffer), mode);
}

GP_VK_EXPORT FILE *fopen64(const char *path, const char *mode)
{
	char buffer[GP_VK_PATH_MAX];

	return GP_VK_REAL(fopen64)(gp_vk_path(path, buffer), mode);
}

GP_VK_EXPORT DIR *opendir(const char *path)
{
	char buffer[GP_VK_PATH_MAX];

	return GP_VK_REAL(opendir)(gp_vk_path(path, buffer));
}

/* Libc's scandir() calls its own opendir(), not ours. */
GP_VK_EXPORT int scandir(const char *path, struct dirent ***list,
			 int (*select)(const struct dirent *),
			 int (*compare)(const struct dirent **, const struct dirent **))
{
	char buffer[GP_VK_PATH_MAX];

	return GP_VK_REAL(scandir)(gp_vk_path(path, buffer), list, select, compare);
}

GP_VK_EXPORT int scandir64(const char *path, struct dirent64 ***list,
			   int (*select)(const struct dirent64 *),
			   int (*compare)(const struct dirent64 **, const struct dirent64 **))
{
	char buffer[GP_VK_PATH_MAX];

	return GP_VK_REAL(scandir64)(gp_vk_path(path, buffer), list, select, compare);
}

GP_VK_EXPORT int chdir(const char *path)
{
	char buffer[GP_VK_PATH_MAX];

	return GP_VK_REAL(chdir)(gp_vk_path(path, buffer));
}
