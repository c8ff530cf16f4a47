/* SPDX-License-Identifier: MIT */
/*
 * What a full screen shows, as cells in memory: drawing fills it, a terminal copies it, and a test
 * reads it as text.
 */
#ifndef GP_CLI_WATCH_TOP_CANVAS_H
#define GP_CLI_WATCH_TOP_CANVAS_H

#include <wchar.h>

#include "base/buf.h"

enum gp_cli_style {
	GP_STYLE_PLAIN,
	GP_STYLE_TITLE, /* reversed */
	GP_STYLE_BOLD,
	GP_STYLE_DIM,
	GP_STYLE_GOOD,
	GP_STYLE_WARN,
	GP_STYLE_BAD,
	GP_STYLE_NOTE,
	GP_STYLES,
};
#define GP_STYLE_RIGHT 0x100 /* aligned right */

struct gp_cli_canvas_cell {
	wchar_t character; /* 0: the second half of a wide one */
	u32 style;
};

struct gp_cli_canvas {
	int width, height;
	bool ascii; /* the terminal shows no other characters */
	struct gp_cli_canvas_cell *cells;
};

/* Blank, of this size. 0 or -ENOMEM. */
int gp_cli_canvas_begin(struct gp_cli_canvas *canvas, int width, int height);
void gp_cli_canvas_free(struct gp_cli_canvas *canvas);
/* Text cut to a number of columns, not of bytes; nothing in it moves the cursor. Returns the
 * columns. */
int gp_cli_canvas_put(struct gp_cli_canvas *canvas, int y, int x, int width, const char *text,
		      int style);
/* The same in several lines, broken at blanks, up to line `end`. Returns the line after the last.
 */
int gp_cli_canvas_wrap(struct gp_cli_canvas *canvas, int y, int x, int end, const char *text,
		       int style);
/* The whole line in this style, blank. */
void gp_cli_canvas_fill(struct gp_cli_canvas *canvas, int y, int style);
/* A line in the style of titles. Returns the next line. */
int gp_cli_canvas_heading(struct gp_cli_canvas *canvas, int y, const char *text);
/* Lines of another canvas of the same width, from its line `from` on. */
void gp_cli_canvas_copy(struct gp_cli_canvas *canvas, int y, const struct gp_cli_canvas *other,
			int from, int lines);
/* Sets the style of a line, whatever is in it. */
void gp_cli_canvas_paint(struct gp_cli_canvas *canvas, int y, int style);
/* All lines, without blanks at their ends. */
void gp_cli_canvas_text(const struct gp_cli_canvas *canvas, struct gp_buf *out);

/*
 * A chart of percentages, oldest first, over `rows` lines: the last `width` of them. Values above
 * 100 are unknown. One line is a sparkline.
 */
void gp_cli_canvas_chart(struct gp_cli_canvas *canvas, int y, int x, int width, int rows,
			 const u8 *percent, size_t count, int style);
/* The same in one line of UTF-8. */
void gp_cli_sparkline(struct gp_buf *out, const u8 *percent, size_t count, size_t width,
		      bool ascii);

#endif
