// SPDX-License-Identifier: MIT
#include "base/host/safe_open.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#else /* headers before Linux 5.6 */
#include <linux/types.h>
#define RESOLVE_IN_ROOT       0x10
#define RESOLVE_NO_MAGICLINKS 0x02
struct open_how {
	__u64 flags, mode, resolve;
};
#endif
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file.h"

#define GP_LOCATE_TRIES  16 /* -EAGAIN: something was renamed on the way */
#define GP_COMPONENT_MAX 256

int gp_locate_in_root(int dir, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	long fd = -1;

	for (int try = 0; try < GP_LOCATE_TRIES; try++) {
		fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd < 0 ? -errno : (int)fd;
}

int gp_locate_by_steps(int dir, const char *path)
{
	int at = fcntl(dir, F_DUPFD_CLOEXEC, 0);

	while (at >= 0 && *path) {
		char name[GP_COMPONENT_MAX];
		size_t len = strcspn(path, "/");
		bool last = !path[len];
		int next;

		if (len >= sizeof(name) || (len == 2 && memcmp(path, "..", 2) == 0)) {
			close(at);
			return len == 2 ? -EINVAL : -ENAMETOOLONG;
		}
		memcpy(name, path, len);
		name[len] = '\0';
		path += last ? len : len + 1;
		if (!len)
			continue;
		next = openat(at, name, O_PATH | O_CLOEXEC | O_NOFOLLOW | (last ? 0 : O_DIRECTORY));
		close(at);
		at = next;
	}
	return at < 0 ? -errno : at;
}

static int locate(const char *dir, const char *path)
{
	int fd, root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return -errno;
	fd = gp_locate_in_root(root, path);
	/* Older sandboxes answer EPERM to a system call they do not know. */
	if (fd == -ENOSYS || fd == -EPERM)
		fd = gp_locate_by_steps(root, path);
	close(root);
	return fd;
}

/* The file a descriptor of O_PATH names, opened for reading once it is known to be harmless. */
static int open_regular(int path_fd)
{
	char name[64];
	struct stat info;
	struct statfs system;
	int fd;

	if (fstat(path_fd, &info) || fstatfs(path_fd, &system))
		return -errno;
	/* A link into /proc could make the reader show itself. */
	if (!S_ISREG(info.st_mode) || system.f_type == PROC_SUPER_MAGIC)
		return -EINVAL;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int gp_read_beneath(const char *dir, const char *path, size_t limit, struct gp_buf *out)
{
	int path_fd = locate(dir, path), fd, error;

	out->len = 0;
	if (path_fd < 0)
		return path_fd;
	fd = open_regular(path_fd);
	close(path_fd);
	if (fd < 0)
		return fd;
	error = gp_file_read_fd(fd, limit, out);
	close(fd);
	return error;
}
