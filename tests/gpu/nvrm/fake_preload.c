// SPDX-License-Identifier: MIT
/*
 * The fake resource manager for programs that open the real one: /dev/nvidiactl and
 * /proc/driver/nvidia are those of the directory in GPREEMPT_FAKE_NVIDIA. For LD_PRELOAD, into
 * whatever contains gpu/nvrm; the fake libcuda talks to the fake by itself.
 */
#undef _FILE_OFFSET_BITS
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "abi/nvrm_ioctl.h"
#include "fake.h"

#define EXPORT __attribute__((visibility("default")))

static struct fake fake;

__attribute__((constructor)) static void join(void)
{
	const char *dir = getenv("GPREEMPT_FAKE_NVIDIA");

	if (dir)
		fake_join(&fake, dir);
}

static const char *moved(const char *path, char *buffer, size_t size)
{
	if (!fake.rm || (strncmp(path, "/proc/driver/nvidia", 19) && strcmp(path, "/dev/nvidia0")))
		return path;
	snprintf(buffer, size, "%s%s", fake.dir, path);
	return buffer;
}

#define OPEN(name, leading, named)                                                             \
	EXPORT int name(named const char *path, int flags, ...)                                \
	{                                                                                      \
		static int (*real)(named const char *, int, ...);                              \
		char buffer[512];                                                              \
		int fd;                                                                        \
		va_list list;                                                                  \
		mode_t mode;                                                                   \
                                                                                               \
		va_start(list, flags);                                                         \
		mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;               \
		va_end(list);                                                                  \
		if (!real)                                                                     \
			*(void **)&real = dlsym(RTLD_NEXT, #name);                             \
		if (!fake.rm || strcmp(path, "/dev/nvidiactl"))                                \
			return real(leading moved(path, buffer, sizeof(buffer)), flags, mode); \
		fd = fake.port.open_control(&fake.port);                                       \
		if (fd < 0)                                                                    \
			errno = -fd;                                                           \
		return fd < 0 ? -1 : fd;                                                       \
	}
#define NOTHING
#define COMMA_DIRECTORY directory,
#define DIRECTORY       int directory,
OPEN(open, NOTHING, NOTHING)
OPEN(open64, NOTHING, NOTHING)
OPEN(openat, COMMA_DIRECTORY, DIRECTORY)
OPEN(openat64, COMMA_DIRECTORY, DIRECTORY)

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	static int (*real)(int, unsigned long, ...);
	va_list list;
	void *arg;
	int error;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "ioctl");
	if (!fake.rm || _IOC_TYPE(request) != 'F')
		return real(fd, request, arg);
	error = fake.port.ioctl(&fake.port, fd, request, arg);
	if (error)
		errno = -error;
	return error ? -1 : 0;
}

static int dressed(int result, int fd, struct stat *status)
{
	if (result == 0 && fake.rm && S_ISREG(status->st_mode) &&
	    fake.port.is_control(&fake.port, fd)) {
		status->st_mode = S_IFCHR | 0600;
		status->st_rdev = makedev(GP_NV_MAJOR, GP_NV_MINOR_CONTROL);
	}
	return result;
}

EXPORT DIR *opendir(const char *path)
{
	static DIR *(*real)(const char *);
	char buffer[512];

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "opendir");
	return real(moved(path, buffer, sizeof(buffer)));
}

EXPORT int access(const char *path, int mode)
{
	static int (*real)(const char *, int);
	char buffer[512];

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "access");
	return real(moved(path, buffer, sizeof(buffer)), mode);
}

/* The fake's own question about the inode comes through here as well. */
static __thread int inside;

EXPORT int fstat(int fd, struct stat *status)
{
	static int (*real)(int, struct stat *);
	int result;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "fstat");
	result = real(fd, status);
	if (!inside) {
		inside = 1;
		dressed(result, fd, status);
		inside = 0;
	}
	return result;
}

EXPORT int fstat64(int fd, struct stat64 *status)
{
	return fstat(fd, (struct stat *)status);
}
