/* SPDX-License-Identifier: MIT */
/*
 * Reading small files whole, writing a file so that it is either complete or absent, and listing
 * directories. Paths of the live system go through `struct gp_root`, so that a test can point
 * every reader at a copied tree (--root DIR). All functions return 0 or -errno and print nothing.
 */
#ifndef GP_BASE_FILE_H
#define GP_BASE_FILE_H

#include "base/buf.h"

/* "" is the live system; otherwise a directory that holds sys/, proc/, ... without a final '/'. */
struct gp_root {
	const char *dir;
};

/* True when paths are those of the running machine. */
bool gp_root_is_live(const struct gp_root *root);

/* Joins root and a formatted absolute path. -ENAMETOOLONG when it does not fit. */
int gp_root_path(const struct gp_root *root, char *out, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * Reads a whole file of at most `limit` bytes (-EFBIG above it). Works on /proc and /sys files,
 * whose size is not known before they are read.
 */
int gp_file_read(const char *path, size_t limit, struct gp_buf *out);

/* The same from an open file, up to its end; appends. */
int gp_file_read_fd(int fd, size_t limit, struct gp_buf *out);

/* The same under a root. Values that must be one number are read with gp_root_read_u64(). */
int gp_root_read(const struct gp_root *root, size_t limit, struct gp_buf *out, const char *format,
		 ...) __attribute__((format(printf, 4, 5)));
int gp_root_read_u64(const struct gp_root *root, u64 *value, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Target of a symbolic link, NUL-terminated. */
int gp_root_readlink(const struct gp_root *root, char *out, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

bool gp_root_exists(const struct gp_root *root, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Writes to a temporary file in the same directory, syncs it and renames it over `path`. A
 * failure leaves whatever was there before and no temporary file. A device or pipe is written to
 * as it is; a symbolic link is followed; "-" is standard output.
 */
int gp_file_write_atomic(const char *path, const void *data, size_t len);

/*
 * The same for a default name, which the user did not choose: replaces a symbolic link, device or
 * pipe of that name instead of following it or writing to it.
 */
int gp_file_replace(const char *path, const void *data, size_t len);

/* "-", in an option that names an output file. False of NULL. */
bool gp_file_is_standard(const char *path);

/* Writes all of it to an open file. */
int gp_file_write_fd(int fd, const void *data, size_t len);

/* Names in a directory, sorted (numbers by value), without "." and "..". */
struct gp_names {
	char **items;
	size_t count;
	size_t capacity;
};

int gp_root_list(const struct gp_root *root, struct gp_names *out, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void gp_names_free(struct gp_names *names);

/* As many descriptors for this process as the system lets it have: each client is some. */
void gp_raise_descriptors(void);

#endif
