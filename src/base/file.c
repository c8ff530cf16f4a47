// SPDX-License-Identifier: MIT
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parse.h"

#define GP_READ_CHUNK 16384

bool gp_root_is_live(const struct gp_root *root)
{
	return !root || !root->dir || !*root->dir;
}

static int join(const struct gp_root *root, char *out, size_t size, const char *format,
		va_list args)
{
	const char *dir = gp_root_is_live(root) ? "" : root->dir;
	size_t len = strlen(dir);
	int tail;

	if (len >= size)
		return -ENAMETOOLONG;
	memcpy(out, dir, len);
	tail = vsnprintf(out + len, size - len, format, args);
	if (tail < 0 || (size_t)tail >= size - len)
		return -ENAMETOOLONG;
	return 0;
}

#define GP_JOIN(root, out, format)                                    \
	({                                                            \
		va_list args_;                                        \
		int error_;                                           \
		va_start(args_, format);                              \
		error_ = join(root, out, sizeof(out), format, args_); \
		va_end(args_);                                        \
		error_;                                               \
	})

int gp_root_path(const struct gp_root *root, char *out, size_t size, const char *format, ...)
{
	va_list args;
	int error;

	va_start(args, format);
	error = join(root, out, size, format, args);
	va_end(args);
	return error;
}

int gp_file_read_fd(int fd, size_t limit, struct gp_buf *out)
{
	for (;;) {
		ssize_t got;

		if (gp_buf_reserve(out, GP_READ_CHUNK))
			return out->error;
		got = read(fd, out->data + out->len, GP_READ_CHUNK);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return 0;
		if ((size_t)got > limit - out->len)
			return -EFBIG;
		out->len += (size_t)got;
		out->data[out->len] = '\0';
	}
}

int gp_file_read(const char *path, size_t limit, struct gp_buf *out)
{
	int fd, error;

	out->len = 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	error = gp_file_read_fd(fd, limit, out);
	close(fd);
	return error;
}

int gp_root_read(const struct gp_root *root, size_t limit, struct gp_buf *out, const char *format,
		 ...)
{
	char path[PATH_MAX];
	int error = GP_JOIN(root, path, format);

	return error ? error : gp_file_read(path, limit, out);
}

int gp_root_read_u64(const struct gp_root *root, u64 *value, const char *format, ...)
{
	char path[PATH_MAX];
	struct gp_buf text = {0};
	const char *p;
	int error = GP_JOIN(root, path, format);

	if (!error)
		error = gp_file_read(path, 4096, &text);
	if (!error) {
		p = gp_buf_str(&text);
		if (!gp_parse_u64(&p, p + text.len, value) || (*p && *p != '\n'))
			error = -EINVAL;
	}
	gp_buf_free(&text);
	return error;
}

int gp_root_readlink(const struct gp_root *root, char *out, size_t size, const char *format, ...)
{
	char path[PATH_MAX];
	int error = GP_JOIN(root, path, format);
	ssize_t len;

	if (error)
		return error;
	len = readlink(path, out, size);
	if (len < 0)
		return -errno;
	if ((size_t)len >= size)
		return -ENAMETOOLONG;
	out[len] = '\0';
	return 0;
}

bool gp_root_exists(const struct gp_root *root, const char *format, ...)
{
	char path[PATH_MAX];

	return GP_JOIN(root, path, format) == 0 && access(path, F_OK) == 0;
}

int gp_file_write_fd(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t put = write(fd, at, len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		at += put;
		len -= (size_t)put;
	}
	return 0;
}

/* A device or a pipe has no content to keep: it is written to, never replaced. */
static int write_special(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY), error;

	if (fd < 0)
		return -errno;
	error = gp_file_write_fd(fd, data, len);
	if (close(fd) && !error)
		error = -errno;
	return error;
}

int gp_file_replace(const char *path, const void *data, size_t len)
{
	char temporary[PATH_MAX];
	mode_t mask;
	int fd, error;

	if (snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path) >= (int)sizeof(temporary))
		return -ENAMETOOLONG;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* mkostemp() made it 0600; give it what open(2) would have given. */
	mask = umask(0);
	umask(mask);
	error = gp_file_write_fd(fd, data, len);
	if (!error && (fchmod(fd, 0666 & ~mask) || fsync(fd)))
		error = -errno;
	if (close(fd) && !error)
		error = -errno;
	if (!error && rename(temporary, path))
		error = -errno;
	if (error)
		unlink(temporary);
	return error;
}

bool gp_file_is_standard(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

int gp_file_write_atomic(const char *path, const void *data, size_t len)
{
	char target[PATH_MAX];
	struct stat info;

	if (gp_file_is_standard(path))
		return fflush(stdout) ? -EIO : gp_file_write_fd(STDOUT_FILENO, data, len);
	if (stat(path, &info))
		return gp_file_replace(path, data, len);
	if (S_ISDIR(info.st_mode))
		return -EISDIR;
	if (!S_ISREG(info.st_mode))
		return write_special(path, data, len);
	/* A symbolic link stays: what it points to is replaced. */
	if (!realpath(path, target))
		return -errno;
	return gp_file_replace(target, data, len);
}

static int compare_names(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

static int add_name(struct gp_names *names, const char *name)
{
	int error = gp_array_grow((void **)&names->items, names->count, &names->capacity,
				  sizeof(*names->items));

	if (error)
		return error;
	names->items[names->count] = strdup(name);
	if (!names->items[names->count])
		return -ENOMEM;
	names->count++;
	return 0;
}

int gp_root_list(const struct gp_root *root, struct gp_names *out, const char *format, ...)
{
	char path[PATH_MAX];
	struct dirent *entry;
	int error = GP_JOIN(root, path, format);
	DIR *dir;

	*out = (struct gp_names){0};
	if (error)
		return error;
	dir = opendir(path);
	if (!dir)
		return -errno;
	errno = 0;
	while (!error && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			error = add_name(out, entry->d_name);
		errno = 0;
	}
	if (!error && errno)
		error = -errno;
	closedir(dir);
	if (error)
		gp_names_free(out);
	else if (out->count)
		qsort(out->items, out->count, sizeof(*out->items), compare_names);
	return error;
}

void gp_names_free(struct gp_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
	*names = (struct gp_names){0};
}

void gp_raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}
