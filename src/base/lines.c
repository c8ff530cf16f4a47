// SPDX-License-Identifier: MIT
#include "base/lines.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/i18n.h"
#include "base/magic.h"

#define BUFFER_SIZE (512u << 10)
#define MAGIC_BYTES 16

struct lines {
	gp_line_fn fn;
	void *ctx;
	struct gp_lines_stats *stats;
	char *buffer;
	size_t start, fill;
	bool skipping; /* inside a clipped line, up to its newline */
};

long gp_read_some(int fd, char *buffer, size_t size)
{
	for (;;) {
		ssize_t got = read(fd, buffer, size);

		if (got >= 0)
			return got;
		if (errno == EAGAIN) {
			struct pollfd waiting = {.fd = fd, .events = POLLIN};

			if (poll(&waiting, 1, -1) < 0 && errno != EINTR)
				return -errno;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
}

static int give(struct lines *lines, const char *text, size_t len, bool cut)
{
	struct gp_line line = {.text = text, .number = ++lines->stats->lines, .cut = cut};

	if (len > GP_LINE_MAX) {
		lines->stats->overlong++;
		len = GP_LINE_MAX;
		line.cut = true;
	}
	if (memchr(text, '\0', len))
		lines->stats->nulls++;
	while (!line.cut && len && text[len - 1] == '\r')
		len--;
	line.len = len;
	return lines->fn(lines->ctx, &line);
}

/* Hands on every whole line of [start, fill); clips one that does not fit. */
static int take(struct lines *lines)
{
	char *end = lines->buffer + lines->fill, *p = lines->buffer + lines->start, *newline;
	int ret = 0;

	while (!ret && (newline = memchr(p, '\n', (size_t)(end - p))) != NULL) {
		if (!lines->skipping)
			ret = give(lines, p, (size_t)(newline - p), false);
		lines->skipping = false;
		p = newline + 1;
	}
	if (ret)
		return ret;
	if (lines->skipping) {
		p = end;
	} else if ((size_t)(end - p) > GP_LINE_MAX) {
		ret = give(lines, p, (size_t)(end - p), true);
		lines->skipping = true;
		p = end;
	}
	lines->fill = (size_t)(end - p);
	memmove(lines->buffer, p, lines->fill);
	lines->start = 0;
	return ret;
}

static int check_magic(const struct lines *lines, const char *name, struct gp_diag *diag)
{
	const char *command, *format = gp_compression(lines->buffer, lines->fill, &command);

	if (!format)
		return 0;
	return gp_fail(diag, -EINVAL,
		       "%s is compressed (%s); decompress it first: %s FILE > NEWFILE", name,
		       format, command);
}

static int read_all(struct lines *lines, int fd, const char *name, struct gp_diag *diag)
{
	bool checked = false;
	long got;
	int ret;

	for (;;) {
		got = gp_read_some(fd, lines->buffer + lines->fill, BUFFER_SIZE - lines->fill);
		if (got < 0)
			return gp_fail(diag, (int)got, "%s: cannot read: %s", name,
				       strerror((int)-got));
		lines->stats->bytes += (u64)got;
		lines->fill += (size_t)got;
		if (got && !checked && lines->fill < MAGIC_BYTES)
			continue;
		ret = checked ? 0 : check_magic(lines, name, diag);
		checked = true;
		if (!ret)
			ret = take(lines);
		if (ret || !got)
			break;
	}
	if (!ret && lines->fill)
		ret = give(lines, lines->buffer, lines->fill, true);
	return ret;
}

int gp_lines_read(int fd, const char *name, struct gp_diag *diag, gp_line_fn fn, void *ctx,
		  struct gp_lines_stats *stats)
{
	struct lines lines = {.fn = fn, .ctx = ctx, .stats = stats};
	int ret;

	memset(stats, 0, sizeof(*stats));
	lines.buffer = malloc(BUFFER_SIZE);
	if (!lines.buffer)
		return gp_fail(diag, -ENOMEM, "%s: out of memory", name);
	ret = read_all(&lines, fd, name, diag);
	free(lines.buffer);
	return ret;
}
