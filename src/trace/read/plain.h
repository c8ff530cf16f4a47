/* SPDX-License-Identifier: MIT */
/*
 * Compressed input: logs and traces with gzip or zstd are read like plain ones. The plain text is
 * written to a temporary file without a name, because several readers look at more than one place
 * of a file. Used wherever a command opens a file for the readers of trace/.
 */
#ifndef GP_TRACE_READ_PLAIN_H
#define GP_TRACE_READ_PLAIN_H

#include "base/diag.h"
#include "base/types.h"

/*
 * Takes over `fd`. Returns it if the file is not compressed, cannot be read at any place (a pipe),
 * or has a compression that only other programs understand; the readers name that one. Otherwise
 * returns a descriptor of the plain content, at its start, and closes `fd`. A file that is cut off
 * or damaged gives what is before the damage, with a warning. -errno after an error message:
 * nothing before the damage, no space, out of memory, or a file that expands beyond all measure.
 */
int gp_trace_plain(int fd, const char *name, struct gp_diag *diag);

/* The first bytes of the plain content, as many as there are up to `size`; -errno. `fd` stays. */
long gp_trace_plain_start(int fd, char *buffer, size_t size);

#endif
