// SPDX-License-Identifier: MIT
#include "cli/watch/top_canvas.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/core.h"

int gp_cli_canvas_begin(struct gp_cli_canvas *canvas, int width, int height)
{
	size_t count = (size_t)GP_MAX(width, 1) * (size_t)GP_MAX(height, 1);
	struct gp_cli_canvas_cell *cells = canvas->cells;

	if (!cells || canvas->width != width || canvas->height != height)
		cells = reallocarray(canvas->cells, count, sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	canvas->cells = cells;
	canvas->width = width;
	canvas->height = height;
	for (size_t i = 0; i < count; i++)
		cells[i] = (struct gp_cli_canvas_cell){.character = L' '};
	return 0;
}

void gp_cli_canvas_free(struct gp_cli_canvas *canvas)
{
	free(canvas->cells);
	*canvas = (struct gp_cli_canvas){0};
}

struct character {
	wchar_t value;
	int columns;
	size_t bytes;
};

static struct character next(const char *text, size_t left, mbstate_t *state)
{
	struct character found = {0};

	found.bytes = mbrtowc(&found.value, text, left, state);
	if (found.bytes == (size_t)-1 || found.bytes == (size_t)-2) {
		*state = (mbstate_t){0};
		return (struct character){L'?', 1, 1};
	}
	found.columns = wcwidth(found.value);
	/* Programs choose their names: nothing in one moves the cursor. */
	if (found.columns < 0)
		return (struct character){L'?', 1, found.bytes};
	return found;
}

static int columns_of(const char *text, int width)
{
	mbstate_t state = {0};
	size_t left = strlen(text);
	int used = 0;

	while (left) {
		struct character c = next(text, left, &state);

		if (used + c.columns > width)
			break;
		used += c.columns;
		text += c.bytes;
		left -= c.bytes;
	}
	return used;
}

/* Bytes of the text that go on a line of so many columns. */
static size_t line_bytes(const char *text, int width)
{
	mbstate_t state = {0};
	size_t left = strlen(text), at = 0, blank = 0;
	int used = 0;

	while (at < left) {
		struct character c = next(text + at, left - at, &state);

		if (used + c.columns > width)
			break;
		if (text[at] == ' ')
			blank = at;
		used += c.columns;
		at += c.bytes;
	}
	return at == left || !blank || text[at] == ' ' ? at : blank;
}

int gp_cli_canvas_wrap(struct gp_cli_canvas *canvas, int y, int x, int end, const char *text,
		       int style)
{
	while (*text && y < end) {
		size_t size = line_bytes(text, canvas->width - x);
		char *line = size ? strndup(text, size) : NULL;

		if (!line)
			break;
		gp_cli_canvas_put(canvas, y++, x, canvas->width - x, line, style);
		free(line);
		text += size;
		text += strspn(text, " ");
	}
	return y;
}

int gp_cli_canvas_put(struct gp_cli_canvas *canvas, int y, int x, int width, const char *text,
		      int style)
{
	mbstate_t state = {0};
	size_t left = strlen(text);
	int used = 0, columns;

	width = GP_MIN(width, canvas->width - x);
	if (y < 0 || y >= canvas->height || x < 0 || width <= 0)
		return 0;
	columns = columns_of(text, width);
	if (style & GP_STYLE_RIGHT)
		x += width - columns;
	while (left && used < columns) {
		struct character c = next(text, left, &state);
		struct gp_cli_canvas_cell *cell = &canvas->cells[y * canvas->width + x + used];

		if (c.columns)
			*cell = (struct gp_cli_canvas_cell){c.value, (u32)style & 0xff};
		if (c.columns > 1)
			cell[1] = (struct gp_cli_canvas_cell){0, (u32)style & 0xff};
		used += c.columns;
		text += c.bytes;
		left -= c.bytes;
	}
	return columns;
}

void gp_cli_canvas_fill(struct gp_cli_canvas *canvas, int y, int style)
{
	if (y < 0 || y >= canvas->height)
		return;
	for (int x = 0; x < canvas->width; x++)
		canvas->cells[y * canvas->width + x] =
			(struct gp_cli_canvas_cell){L' ', (u32)style & 0xff};
}

int gp_cli_canvas_heading(struct gp_cli_canvas *canvas, int y, const char *text)
{
	gp_cli_canvas_fill(canvas, y, GP_STYLE_TITLE);
	gp_cli_canvas_put(canvas, y, 0, canvas->width, text, GP_STYLE_TITLE);
	return y + 1;
}

void gp_cli_canvas_copy(struct gp_cli_canvas *canvas, int y, const struct gp_cli_canvas *other,
			int from, int lines)
{
	size_t width = (size_t)canvas->width;

	lines = GP_MIN(lines, GP_MIN(canvas->height - y, other->height - from));
	if (lines > 0)
		memcpy(canvas->cells + (size_t)y * width, other->cells + (size_t)from * width,
		       (size_t)lines * width * sizeof(*canvas->cells));
}

void gp_cli_canvas_paint(struct gp_cli_canvas *canvas, int y, int style)
{
	if (y < 0 || y >= canvas->height)
		return;
	for (int x = 0; x < canvas->width; x++)
		canvas->cells[y * canvas->width + x].style = (u32)style & 0xff;
}

void gp_cli_canvas_text(const struct gp_cli_canvas *canvas, struct gp_buf *out)
{
	for (int y = 0; y < canvas->height; y++) {
		const struct gp_cli_canvas_cell *line = &canvas->cells[y * canvas->width];
		int end = canvas->width;

		while (end && line[end - 1].character == L' ')
			end--;
		for (int x = 0; x < end; x++) {
			char bytes[MB_LEN_MAX];
			mbstate_t state = {0};
			size_t size =
				line[x].character ? wcrtomb(bytes, line[x].character, &state) : 0;

			if (size != (size_t)-1)
				gp_buf_add(out, bytes, size);
		}
		gp_buf_puts(out, "\n");
	}
}

/* ---- charts ---- */

static const char *block(u32 eighths, bool ascii)
{
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const plain[] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};

	return (ascii ? plain : blocks)[GP_MIN(eighths, 8u)];
}

/* Eighths of a line that the value fills in the line that begins at `below` eighths. */
static u32 part(u8 percent, u32 rows, u32 below)
{
	u32 eighths = percent > 100 ? 0 : (percent * 8u * rows + 99) / 100;

	return eighths > below ? eighths - below : 0;
}

void gp_cli_canvas_chart(struct gp_cli_canvas *canvas, int y, int x, int width, int rows,
			 const u8 *percent, size_t count, int style)
{
	size_t shown = GP_MIN((size_t)GP_MAX(width, 0), count);

	for (int row = 0; row < rows; row++)
		for (size_t i = 0; i < shown; i++)
			gp_cli_canvas_put(canvas, y + rows - 1 - row,
					  x + width - (int)shown + (int)i, 1,
					  block(part(percent[count - shown + i], (u32)rows,
						     (u32)row * 8),
						canvas->ascii),
					  style);
}

void gp_cli_sparkline(struct gp_buf *out, const u8 *percent, size_t count, size_t width, bool ascii)
{
	size_t shown = GP_MIN(width, count);

	for (size_t i = count - shown; i < count; i++)
		gp_buf_puts(out, block(part(percent[i], 1, 0), ascii));
}
