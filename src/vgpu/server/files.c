// SPDX-License-Identifier: MIT
#include "vgpu/server/files.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core.h"
#include "vgpu/wire.h"

/* Beside the tree, in the machine's directory: what is not there yet, and what is there no more. */
#define STAGING_FILE "../.new"
#define STAGING_TREE "../.stage"
#define GONE_TREE    "../.gone"

static void note(struct gp_vgpu_files *files, int error)
{
	if (error && !files->error)
		files->error = error;
}

/* Path under the tree; "" when it does not fit. */
static const char *under_root(struct gp_vgpu_files *files, const char *path, char *out)
{
	int n = snprintf(out, PATH_MAX, "%s/" GP_VGPU_ROOT "/%s", files->directory, path);

	if (n < PATH_MAX)
		return out;
	note(files, -ENAMETOOLONG);
	*out = '\0';
	return out;
}

static int make_parents(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		int failed;

		*slash = '\0';
		failed = mkdir(path, 0755) && errno != EEXIST;
		*slash = '/';
		if (failed)
			return -errno;
	}
	return 0;
}

static int write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Whether the file already reads like this. */
static bool holds(const char *path, const char *data, size_t size, mode_t mode)
{
	char block[4096];
	struct stat status;
	ssize_t n = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	bool same = !fstat(fd, &status) && (status.st_mode & 07777) == mode &&
		    status.st_size == (off_t)size;
	for (; same && size; data += n, size -= (size_t)n) {
		n = read(fd, block, GP_MIN(size, sizeof(block)));
		same = n > 0 && memcmp(block, data, (size_t)n) == 0;
	}
	close(fd);
	return same;
}

/*
 * Most figures are as they were when a reader asks again. They are left alone: a rename over a file
 * makes some file systems (ext4) write its data out first, and programs wait for this server.
 */
static void write_file(struct gp_vgpu_files *files, const char *path, const void *data, size_t size,
		       mode_t mode)
{
	char target[PATH_MAX], staged[PATH_MAX];
	int fd, error;

	under_root(files, STAGING_FILE, staged);
	under_root(files, path, target);
	if (holds(target, data, size, mode))
		return;
	fd = open(staged, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0) {
		note(files, -errno);
		return;
	}
	error = write_all(fd, data, size);
	if (!error && fchmod(fd, mode))
		error = -errno;
	close(fd);
	if (!error && rename(staged, target)) {
		error = errno == ENOENT ? make_parents(target) : -errno;
		if (!error && rename(staged, target))
			error = -errno;
	}
	if (error)
		unlink(staged);
	note(files, error);
}

void gp_vgpu_files_write(struct gp_vgpu_files *files, const char *path, const void *data,
			 size_t size)
{
	write_file(files, path, data, size, 0444);
}

#define FORMAT_PATH(path, format)                                                           \
	do {                                                                                \
		va_list arguments_;                                                         \
		va_start(arguments_, format);                                               \
		if (vsnprintf(path, sizeof(path), format, arguments_) >= (int)sizeof(path)) \
			note(files, -ENAMETOOLONG);                                         \
		va_end(arguments_);                                                         \
	} while (0)

void gp_vgpu_files_number(struct gp_vgpu_files *files, u64 value, const char *format, ...)
{
	char path[PATH_MAX], text[32];
	int n = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)value);

	FORMAT_PATH(path, format);
	gp_vgpu_files_write(files, path, text, (size_t)n);
}

void gp_vgpu_files_text(struct gp_vgpu_files *files, const char *text, const char *format, ...)
{
	char path[PATH_MAX];

	FORMAT_PATH(path, format);
	gp_vgpu_files_write(files, path, text, strlen(text));
}

void gp_vgpu_files_device(struct gp_vgpu_files *files, const char *format, ...)
{
	char path[PATH_MAX];

	FORMAT_PATH(path, format);
	write_file(files, path, "", 0, 0666);
}

void gp_vgpu_files_directory(struct gp_vgpu_files *files, const char *format, ...)
{
	char path[PATH_MAX], target[PATH_MAX];

	FORMAT_PATH(path, format);
	under_root(files, path, target);
	note(files, make_parents(target));
	if (mkdir(target, 0755) && errno != EEXIST)
		note(files, -errno);
}

void gp_vgpu_files_link(struct gp_vgpu_files *files, const char *target, const char *format, ...)
{
	char path[PATH_MAX], place[PATH_MAX];

	FORMAT_PATH(path, format);
	under_root(files, path, place);
	note(files, make_parents(place));
	if (symlink(target, place) && errno != EEXIST)
		note(files, -errno);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	return remove(path) && errno != ENOENT ? -errno : 0;
}

static void remove_tree(struct gp_vgpu_files *files, const char *path)
{
	char target[PATH_MAX];

	if (nftw(under_root(files, path, target), remove_entry, 8, FTW_DEPTH | FTW_PHYS) &&
	    errno != ENOENT)
		note(files, -errno);
}

const char *gp_vgpu_files_staging(void)
{
	return STAGING_TREE;
}

void gp_vgpu_files_begin(struct gp_vgpu_files *files)
{
	remove_tree(files, STAGING_TREE);
	gp_vgpu_files_directory(files, "%s", STAGING_TREE);
}

void gp_vgpu_files_publish(struct gp_vgpu_files *files, const char *path)
{
	char staged[PATH_MAX], target[PATH_MAX];

	under_root(files, STAGING_TREE, staged);
	under_root(files, path, target);
	note(files, make_parents(target));
	if (rename(staged, target))
		note(files, -errno);
}

void gp_vgpu_files_remove(struct gp_vgpu_files *files, const char *path)
{
	char gone[PATH_MAX], target[PATH_MAX];

	remove_tree(files, GONE_TREE);
	under_root(files, GONE_TREE, gone);
	under_root(files, path, target);
	if (rename(target, gone)) {
		if (errno != ENOENT)
			note(files, -errno);
		return;
	}
	remove_tree(files, GONE_TREE);
}
