/* SPDX-License-Identifier: MIT */
/*
 * Lines of a text that may be of any size: one pass, a fixed buffer, long lines clipped. Used by
 * the readers of line formats, except the AMD log, whose speed matters most.
 */
#ifndef GP_BASE_LINES_H
#define GP_BASE_LINES_H

#include "base/diag.h"
#include "base/types.h"

/* Longest line kept whole; of a longer one only the start is handed on. */
#define GP_LINE_MAX (64u << 10)

struct gp_line {
	const char *text; /* without its line end; a carriage return before it is left out too */
	size_t len;
	u64 number; /* from 1 */
	bool cut;   /* its end was not seen: the last line without a newline, or a clipped one */
};

struct gp_lines_stats {
	u64 bytes, lines;
	u64 overlong;
	u64 nulls; /* lines with NUL bytes in them */
};

/* Returns 0 to go on; anything else stops the reader, which returns it. */
typedef int (*gp_line_fn)(void *ctx, const struct gp_line *line);

/*
 * Reads fd to its end. 0, the return of the callback, or -errno after an error message: a read
 * error, or -EINVAL for compressed input.
 */
int gp_lines_read(int fd, const char *name, struct gp_diag *diag, gp_line_fn fn, void *ctx,
		  struct gp_lines_stats *stats);

/* Reads once, again after a signal, waiting where nothing is there yet: bytes, 0 = end, -errno. */
long gp_read_some(int fd, char *buffer, size_t size);

#endif
