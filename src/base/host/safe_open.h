/* SPDX-License-Identifier: MIT */
/*
 * Reading a file below a directory whose content belongs to another user: the root of a container,
 * a home. Symbolic links cannot lead out of it, and only regular files are opened (no pipe that
 * would block, no device). Used where root reads files of others.
 */
#ifndef GP_BASE_HOST_SAFE_OPEN_H
#define GP_BASE_HOST_SAFE_OPEN_H

#include "base/buf.h"

/*
 * Reads `path` (relative) with the directory `dir` as its root: absolute links and ".." stay below
 * it. At most `limit` bytes (-EFBIG); -EINVAL when it is not a regular file, or one of /proc.
 */
int gp_read_beneath(const char *dir, const char *path, size_t limit, struct gp_buf *out);

/*
 * The two ways to name the file, as a descriptor opened with O_PATH or -errno. The second is for
 * kernels before 5.6 and sandboxes without openat2(): it follows no link at all.
 */
int gp_locate_in_root(int dir, const char *path);
int gp_locate_by_steps(int dir, const char *path);

#endif
