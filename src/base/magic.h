/* SPDX-License-Identifier: MIT */
/*
 * Which compression a file has, by its first bytes. The readers of text use it to say what to do
 * with a compressed file instead of calling it garbled.
 */
#ifndef GP_BASE_MAGIC_H
#define GP_BASE_MAGIC_H

#include "base/types.h"

/*
 * The name ("gzip", "zstd", "xz", "bzip2", "lz4", "zip"), or NULL. *command (may be NULL) gets the
 * command that writes the plain text of the file named after it to standard output.
 */
const char *gp_compression(const char *data, size_t len, const char **command);

#endif
