// SPDX-License-Identifier: MIT
/*
 * Puts cells into a row, each only for the outputs of its part (text, JSON). Texts made for one
 * row are kept in the row.
 */
#include "cli/watch/row.h"

#include <stdarg.h>
#include <stdlib.h>

void gp_cli_put(struct gp_cli_row *row, const char *key, const char *title, int flags,
		struct gp_show_value value)
{
	if (!(row->part & GP_CLI_JSON))
		key = NULL;
	if (!(row->part & GP_CLI_TEXT))
		title = NULL;
	if ((key || title) && row->count < GP_CLI_CELLS)
		row->cells[row->count++] = (struct gp_cli_cell){key, title, flags, value};
	else
		json_decref(value.json);
}

const char *gp_cli_text(struct gp_cli_row *row, const char *format, ...)
{
	char *text = row->text + row->used;
	size_t room = sizeof(row->text) - row->used;
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, room, format, args);
	va_end(args);
	if (len >= 0)
		row->used += (size_t)len < room ? (size_t)len + 1 : room - 1;
	return text;
}

void gp_cli_line(struct gp_doc *doc, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	gp_doc_line(doc, "%s", text);
}

static int by_place(const void *a, const void *b)
{
	const struct gp_cli_cell *x = a, *y = b;

	return (x->flags >> 8 & 0xff) - (y->flags >> 8 & 0xff);
}

void gp_cli_row_arrange(struct gp_cli_row *row)
{
	if (row->count && row->cells[0].flags >> 8 & 0xff)
		qsort(row->cells, row->count, sizeof(*row->cells), by_place);
}

void gp_cli_row_clear(struct gp_cli_row *row)
{
	for (size_t i = 0; i < row->count; i++)
		json_decref(row->cells[i].value.json);
	row->count = row->used = 0;
}

void gp_cli_row_columns(struct gp_cli_row *row, struct gp_doc *doc)
{
	if (row->part == GP_CLI_TEXT)
		gp_cli_row_arrange(row);
	for (size_t i = 0; i < row->count; i++) {
		const struct gp_cli_cell *cell = &row->cells[i];

		gp_doc_column(doc, cell->key, cell->title);
		if (cell->flags & GP_CLI_RIGHT)
			gp_doc_right(doc);
		if (cell->flags & GP_CLI_OPTIONAL)
			gp_doc_optional(doc);
	}
	gp_cli_row_clear(row);
}

void gp_cli_row_cells(struct gp_cli_row *row, struct gp_doc *doc)
{
	if (row->part == GP_CLI_TEXT)
		gp_cli_row_arrange(row);
	for (size_t i = 0; i < row->count; i++)
		gp_doc_cell(doc, row->cells[i].value);
	row->count = row->used = 0;
}
