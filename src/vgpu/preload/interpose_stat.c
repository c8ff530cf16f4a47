// SPDX-License-Identifier: MIT
/* The functions that look at a path without opening it. */
/* Both the plain and the 64-bit names are defined here, so neither may stand for the other. */
#undef _FILE_OFFSET_BITS
#include "vgpu/preload/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#define BUFFER char buffer[GP_VGPU_PATH_MAX]

GP_VGPU_EXPORT int access(const char *path, int mode)
{
	BUFFER;

	return GP_VGPU_REAL(access)(gp_vgpu_path(path, buffer), mode);
}

GP_VGPU_EXPORT int eaccess(const char *path, int mode)
{
	BUFFER;

	return GP_VGPU_REAL(eaccess)(gp_vgpu_path(path, buffer), mode);
}

GP_VGPU_EXPORT int euidaccess(const char *path, int mode)
{
	BUFFER;

	return GP_VGPU_REAL(euidaccess)(gp_vgpu_path(path, buffer), mode);
}

GP_VGPU_EXPORT int faccessat(int directory, const char *path, int mode, int flags)
{
	BUFFER;

	return GP_VGPU_REAL(faccessat)(directory, gp_vgpu_path(path, buffer), mode, flags);
}

static int fixed(int result, const char *path, struct stat *st)
{
	if (!result)
		gp_vgpu_node_stat(gp_vgpu_path_node(path), st);
	return result;
}

#define STAT(name, type)                                                               \
	GP_VGPU_EXPORT int name(const char *path, struct type *st)                     \
	{                                                                              \
		BUFFER;                                                                \
                                                                                       \
		return fixed(GP_VGPU_REAL(name)(gp_vgpu_path(path, buffer), st), path, \
			     (void *)st);                                              \
	}
STAT(stat, stat)
STAT(stat64, stat64)
STAT(lstat, stat)
STAT(lstat64, stat64)
#undef STAT

/* The names of programs built against glibc before 2.33. */
#define XSTAT(name, type)                                                                       \
	int name(int version, const char *path, struct type *st);                               \
	GP_VGPU_EXPORT int name(int version, const char *path, struct type *st)                 \
	{                                                                                       \
		BUFFER;                                                                         \
                                                                                                \
		return fixed(GP_VGPU_REAL(name)(version, gp_vgpu_path(path, buffer), st), path, \
			     (void *)st);                                                       \
	}
XSTAT(__xstat, stat)
XSTAT(__xstat64, stat64)
XSTAT(__lxstat, stat)
XSTAT(__lxstat64, stat64)
#undef XSTAT

/* With an empty path it is fstat(). */
static bool names_fd(const char *path, int flags)
{
	return (flags & AT_EMPTY_PATH) && path && !*path;
}

GP_VGPU_EXPORT int fstatat(int directory, const char *path, struct stat *st, int flags)
{
	BUFFER;

	if (names_fd(path, flags) && directory != AT_FDCWD)
		return fstat(directory, st);
	return fixed(GP_VGPU_REAL(fstatat)(directory, gp_vgpu_path(path, buffer), st, flags), path,
		     st);
}

GP_VGPU_EXPORT int fstatat64(int directory, const char *path, struct stat64 *st, int flags)
{
	BUFFER;

	if (names_fd(path, flags) && directory != AT_FDCWD)
		return fstat64(directory, st);
	return fixed(GP_VGPU_REAL(fstatat64)(directory, gp_vgpu_path(path, buffer), st, flags),
		     path, (void *)st);
}

GP_VGPU_EXPORT int statx(int directory, const char *path, int flags, unsigned int mask,
			 struct statx *st)
{
	struct gp_vgpu_node device = gp_vgpu_path_node(path);
	struct stat numbers = {0};
	BUFFER;
	int result = GP_VGPU_REAL(statx)(directory, gp_vgpu_path(path, buffer), flags, mask, st);

	if (!result && device.kind != GP_VGPU_FD_NONE) {
		gp_vgpu_node_stat(device, &numbers);
		st->stx_mode = (u16)numbers.st_mode;
		st->stx_rdev_major = major(numbers.st_rdev);
		st->stx_rdev_minor = minor(numbers.st_rdev);
	}
	return result;
}

/* ls asks for these of every name it shows. */
GP_VGPU_EXPORT ssize_t getxattr(const char *path, const char *name, void *value, size_t size)
{
	BUFFER;

	return GP_VGPU_REAL(getxattr)(gp_vgpu_path(path, buffer), name, value, size);
}

GP_VGPU_EXPORT ssize_t lgetxattr(const char *path, const char *name, void *value, size_t size)
{
	BUFFER;

	return GP_VGPU_REAL(lgetxattr)(gp_vgpu_path(path, buffer), name, value, size);
}

/* ---- links ---- */

GP_VGPU_EXPORT ssize_t readlink(const char *path, char *target, size_t size)
{
	BUFFER;

	return GP_VGPU_REAL(readlink)(gp_vgpu_path(path, buffer), target, size);
}

ssize_t __readlink_chk(const char *path, char *target, size_t size, size_t room);
GP_VGPU_EXPORT ssize_t __readlink_chk(const char *path, char *target, size_t size, size_t room)
{
	BUFFER;

	return GP_VGPU_REAL(__readlink_chk)(gp_vgpu_path(path, buffer), target, size, room);
}

GP_VGPU_EXPORT ssize_t readlinkat(int directory, const char *path, char *target, size_t size)
{
	BUFFER;

	return GP_VGPU_REAL(readlinkat)(directory, gp_vgpu_path(path, buffer), target, size);
}

static char *stripped(char *resolved)
{
	if (resolved)
		gp_vgpu_path_strip(resolved);
	return resolved;
}

GP_VGPU_EXPORT char *realpath(const char *path, char *resolved)
{
	BUFFER;

	return stripped(GP_VGPU_REAL(realpath)(gp_vgpu_path(path, buffer), resolved));
}

char *__realpath_chk(const char *path, char *resolved, size_t room);
GP_VGPU_EXPORT char *__realpath_chk(const char *path, char *resolved, size_t room)
{
	BUFFER;

	return stripped(GP_VGPU_REAL(__realpath_chk)(gp_vgpu_path(path, buffer), resolved, room));
}

GP_VGPU_EXPORT char *canonicalize_file_name(const char *path)
{
	return realpath(path, NULL);
}
