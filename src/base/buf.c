// SPDX-License-Identifier: MIT
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gp_buf_free(struct gp_buf *buf)
{
	free(buf->data);
	*buf = (struct gp_buf){0};
}

int gp_buf_reserve(struct gp_buf *buf, size_t more)
{
	size_t need, cap;
	char *data;

	if (buf->error)
		return buf->error;
	if (__builtin_add_overflow(buf->len, more, &need) || __builtin_add_overflow(need, 1, &need))
		return buf->error = -ENOMEM;
	if (need <= buf->cap)
		return 0;
	cap = buf->cap ? buf->cap : 64;
	while (cap < need) {
		if (__builtin_mul_overflow(cap, 2, &cap))
			return buf->error = -ENOMEM;
	}
	data = realloc(buf->data, cap);
	if (!data)
		return buf->error = -ENOMEM;
	buf->data = data;
	buf->cap = cap;
	buf->data[buf->len] = '\0';
	return 0;
}

void gp_buf_add(struct gp_buf *buf, const void *data, size_t len)
{
	if (gp_buf_reserve(buf, len))
		return;
	if (len)
		memcpy(buf->data + buf->len, data, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void gp_buf_puts(struct gp_buf *buf, const char *text)
{
	gp_buf_add(buf, text, strlen(text));
}

void gp_buf_printf(struct gp_buf *buf, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0 || gp_buf_reserve(buf, (size_t)len))
		return;
	va_start(args, format);
	vsnprintf(buf->data + buf->len, (size_t)len + 1, format, args);
	va_end(args);
	buf->len += (size_t)len;
}

int gp_array_grow(void **array, size_t count, size_t *capacity, size_t element_size)
{
	size_t wanted = *capacity ? *capacity : 8;
	void *grown;

	if (count < *capacity)
		return 0;
	while (wanted <= count) {
		if (__builtin_mul_overflow(wanted, 2, &wanted))
			return -ENOMEM;
	}
	grown = reallocarray(*array, wanted, element_size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*capacity = wanted;
	return 0;
}
