/* SPDX-License-Identifier: MIT */
/*
 * A growable byte buffer, always NUL-terminated, used for text that is built up or read whole.
 * An allocation that fails is remembered in `error`; later calls do nothing, so a caller may
 * append many times and check once. gp_buf_free() leaves an empty, reusable buffer.
 */
#ifndef GP_BASE_BUF_H
#define GP_BASE_BUF_H

#include "base/types.h"

struct gp_buf {
	char *data; /* NULL while empty */
	size_t len;
	size_t cap;
	int error; /* 0 or -ENOMEM */
};

void gp_buf_free(struct gp_buf *buf);
int gp_buf_reserve(struct gp_buf *buf, size_t more);
void gp_buf_add(struct gp_buf *buf, const void *data, size_t len);
void gp_buf_puts(struct gp_buf *buf, const char *text);
void gp_buf_printf(struct gp_buf *buf, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The text, never NULL. */
static inline const char *gp_buf_str(const struct gp_buf *buf)
{
	return buf->data ? buf->data : "";
}

/*
 * Grows an array to hold one more element: `array` is a T *, `count` and `capacity` are size_t.
 * Returns 0 or -ENOMEM; on failure the array is as it was.
 */
int gp_array_grow(void **array, size_t count, size_t *capacity, size_t element_size);

#endif
