// SPDX-License-Identifier: MIT
#include "show/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/buf.h"
#include "base/utf8.h"

#define GP_COLUMN_GAP 2

struct column {
	char *title;
	enum gp_table_align align;
	bool optional;
};

struct cell {
	char *text;
	enum gp_show_colour colour;
};

struct gp_table {
	struct column *columns;
	size_t column_count, column_capacity;
	struct cell *cells;
	size_t cell_count, cell_capacity;
	int error;
};

const char *gp_show_colour_code(enum gp_show_colour colour)
{
	switch (colour) {
	case GP_BOLD:
		return "\033[1m";
	case GP_DIM:
		return "\033[2m";
	case GP_RED:
		return "\033[31m";
	case GP_GREEN:
		return "\033[32m";
	case GP_YELLOW:
		return "\033[33m";
	case GP_REVERSE:
		return "\033[7m";
	case GP_PLAIN:
		break;
	}
	return "\033[0m";
}

size_t gp_show_text_width(const char *text)
{
	mbstate_t state = {0};
	size_t width = 0, len = strlen(text);

	while (len) {
		wchar_t wide;
		size_t step = mbrtowc(&wide, text, len, &state);
		int cells;

		if (step == (size_t)-1 || step == (size_t)-2 || step == 0) {
			/* Not valid in this locale: one cell per byte, as terminals do. */
			state = (mbstate_t){0};
			step = 1;
			cells = 1;
		} else {
			cells = wcwidth(wide);
		}
		width += cells > 0 ? (size_t)cells : 0;
		text += step;
		len -= step;
	}
	return width;
}

struct gp_table *gp_table_new(void)
{
	return calloc(1, sizeof(struct gp_table));
}

void gp_table_free(struct gp_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->column_count; i++)
		free(table->columns[i].title);
	for (size_t i = 0; i < table->cell_count; i++)
		free(table->cells[i].text);
	free(table->columns);
	free(table->cells);
	free(table);
}

void gp_table_column(struct gp_table *table, const char *title, enum gp_table_align align)
{
	char *copy;

	if (!table || table->error)
		return;
	copy = strdup(title);
	if (!copy || gp_array_grow((void **)&table->columns, table->column_count,
				   &table->column_capacity, sizeof(*table->columns))) {
		free(copy);
		table->error = -ENOMEM;
		return;
	}
	table->columns[table->column_count++] = (struct column){.title = copy, .align = align};
}

void gp_table_optional(struct gp_table *table)
{
	if (table && !table->error && table->column_count)
		table->columns[table->column_count - 1].optional = true;
}

void gp_table_cell(struct gp_table *table, const char *text)
{
	char *copy;

	if (!table || table->error)
		return;
	copy = strdup(text && *text ? text : "-");
	if (!copy || gp_array_grow((void **)&table->cells, table->cell_count, &table->cell_capacity,
				   sizeof(*table->cells))) {
		free(copy);
		table->error = -ENOMEM;
		return;
	}
	gp_text_make_safe(copy);
	table->cells[table->cell_count++] = (struct cell){.text = copy};
}

void gp_table_cellf(struct gp_table *table, const char *format, ...)
{
	va_list args;
	char *text = NULL;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (text)
		gp_table_cell(table, text);
	else if (table)
		table->error = -ENOMEM;
	free(text);
}

void gp_table_missing(struct gp_table *table)
{
	gp_table_cell(table, "-");
}

void gp_table_paint(struct gp_table *table, enum gp_show_colour colour)
{
	if (table && !table->error && table->cell_count)
		table->cells[table->cell_count - 1].colour = colour;
}

size_t gp_table_rows(const struct gp_table *table)
{
	return table && table->column_count ? table->cell_count / table->column_count : 0;
}

static void print_cell(FILE *out, const char *text, size_t width, enum gp_table_align align,
		       bool last, const char *start)
{
	size_t have = gp_show_text_width(text);
	int pad = width > have ? (int)(width - have) : 0;

	if (align == GP_RIGHT)
		fprintf(out, "%*s", pad, "");
	if (start)
		fprintf(out, "%s%s%s", start, text, gp_show_colour_code(GP_PLAIN));
	else
		fputs(text, out);
	if (last)
		return;
	if (align == GP_LEFT)
		fprintf(out, "%*s", pad, "");
	fprintf(out, "%*s", GP_COLUMN_GAP, "");
}

/* Widths in cells; 0 marks a column that is not shown. */
static void measure(const struct gp_table *table, size_t *widths)
{
	size_t columns = table->column_count;

	for (size_t c = 0; c < columns; c++) {
		bool shown = !table->columns[c].optional;

		for (size_t i = c; i < table->cell_count; i += columns) {
			size_t width = gp_show_text_width(table->cells[i].text);

			shown |= strcmp(table->cells[i].text, "-") != 0;
			if (width > widths[c])
				widths[c] = width;
		}
		if (widths[c] < gp_show_text_width(table->columns[c].title))
			widths[c] = gp_show_text_width(table->columns[c].title);
		if (!shown)
			widths[c] = 0;
	}
}

int gp_table_print(const struct gp_table *table, FILE *out, bool colour)
{
	size_t columns, last = 0;
	size_t *widths;

	if (!table || table->error)
		return -ENOMEM;
	columns = table->column_count;
	widths = calloc(columns ? columns : 1, sizeof(*widths));
	if (!widths)
		return -ENOMEM;
	measure(table, widths);
	for (size_t c = 0; c < columns; c++) {
		if (widths[c])
			last = c;
	}
	for (size_t c = 0; c < columns; c++) {
		if (widths[c])
			print_cell(out, table->columns[c].title, widths[c], table->columns[c].align,
				   c == last, colour ? gp_show_colour_code(GP_BOLD) : NULL);
	}
	putc('\n', out);
	for (size_t i = 0; i < table->cell_count; i++) {
		const struct cell *cell = &table->cells[i];
		size_t c = i % columns;

		if (widths[c])
			print_cell(out, cell->text, widths[c], table->columns[c].align, c == last,
				   colour && cell->colour ? gp_show_colour_code(cell->colour)
							  : NULL);
		if (c + 1 == columns)
			putc('\n', out);
	}
	free(widths);
	return ferror(out) ? -EIO : 0;
}
