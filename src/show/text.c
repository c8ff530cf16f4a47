// SPDX-License-Identifier: MIT
/* A document on a terminal. */
#include <errno.h>
#include <stdlib.h>

#include "base/core.h"
#include "base/i18n.h"
#include "base/utf8.h"
#include "show/parts.h"
#include "show/term.h"

#define COLUMN_GAP 2

struct writer {
	FILE *out;
	bool colour;
};

/* Text that cannot drive a terminal. */
static void put_safe(const struct writer *writer, const char *text, enum gp_show_colour colour)
{
	char *shown = strdup(text);

	if (shown)
		gp_text_make_safe(shown);
	if (writer->colour && colour)
		fprintf(writer->out, "%s%s%s", gp_term_colour_code(colour), shown ? shown : "",
			gp_term_colour_code(GP_PLAIN));
	else
		fputs(shown ? shown : "", writer->out);
	free(shown);
}

static void put_line(const struct writer *writer, const char *text, enum gp_show_colour colour)
{
	put_safe(writer, text, colour);
	fputc('\n', writer->out);
}

/* The text of a cell, "-" if it has none; valid until the next call with this buffer. */
static const char *cell_text(const struct gp_show_value *value, struct gp_buf *text)
{
	text->len = 0;
	gp_show_value_text(value, text);
	return text->len ? text->data : "-";
}

static void put_cell(const struct writer *writer, const char *text, enum gp_show_colour colour,
		     size_t width, bool right, bool last)
{
	size_t have = gp_term_width(text);
	int pad = width > have ? (int)(width - have) : 0;

	fprintf(writer->out, "%*s", right ? pad : 0, "");
	put_safe(writer, text, colour);
	if (!last)
		fprintf(writer->out, "%*s", (right ? 0 : pad) + COLUMN_GAP, "");
}

/* Widths in terminal cells, 0 for a column that is not shown; returns the last one shown. */
static size_t measure(const struct gp_show_block *block, size_t *widths, struct gp_buf *text)
{
	size_t last = 0;

	for (size_t c = 0; c < block->column_count; c++) {
		if (!gp_show_column_shown(block, c))
			continue;
		last = c;
		widths[c] = gp_term_width(block->columns[c].title);
		for (size_t i = c; i < block->cell_count; i += block->column_count) {
			size_t width = gp_term_width(cell_text(&block->cells[i], text));

			widths[c] = GP_MAX(widths[c], width);
		}
	}
	return last;
}

static int put_rows(const struct writer *writer, const struct gp_show_block *block)
{
	size_t columns = block->column_count, cells = gp_show_block_rows(block) * columns, last;
	size_t *widths = calloc(columns + 1, sizeof(*widths));
	struct gp_buf text = {0};
	int error;

	if (!widths)
		return -ENOMEM;
	last = measure(block, widths, &text);
	for (size_t c = 0; c < columns; c++) {
		if (widths[c])
			put_cell(writer, block->columns[c].title, GP_BOLD, widths[c],
				 gp_show_column_right(block, c), c == last);
	}
	fputc('\n', writer->out);
	for (size_t i = 0; i < cells; i++) {
		const struct gp_show_value *value = &block->cells[i];
		size_t c = i % columns;

		if (widths[c])
			put_cell(writer, cell_text(value, &text), value->colour, widths[c],
				 gp_show_column_right(block, c), c == last);
		if (c + 1 == columns)
			fputc('\n', writer->out);
	}
	error = text.error;
	gp_buf_free(&text);
	free(widths);
	return error;
}

/* A head, aligned columns, "-" for a missing value. */
static int put_table(const struct writer *writer, const struct gp_doc *doc,
		     const struct gp_show_block *block)
{
	const char *if_empty = block->if_empty              ? block->if_empty
			       : doc->kind == GP_DOC_REPORT ? _("none")
							    : NULL;

	if (block->title)
		put_line(writer, block->title, GP_PLAIN);
	if (gp_show_block_rows(block) || !if_empty)
		return put_rows(writer, block);
	put_line(writer, if_empty, GP_PLAIN);
	return 0;
}

/* Facts that follow each other line up. Returns the first block after them. */
static size_t put_facts(const struct writer *writer, const struct gp_doc *doc, size_t from)
{
	size_t width = 0, end = from;

	for (; end < doc->count &&
	       (doc->blocks[end].type == GP_BLOCK_FACT || !gp_show_block_shown(&doc->blocks[end]));
	     end++) {
		const char *label = doc->blocks[end].title;
		size_t cells = label ? gp_term_width(label) : 0;

		width = cells > width ? cells : width;
	}
	for (size_t i = from; i < end; i++) {
		const struct gp_show_block *block = &doc->blocks[i];
		struct gp_buf text = {0};

		if (!gp_show_block_shown(block))
			continue;
		gp_show_value_text(&block->value, &text);
		put_safe(writer, block->title, GP_PLAIN);
		fprintf(writer->out, ":%*s ", (int)(width - gp_term_width(block->title)), "");
		put_line(writer, gp_buf_str(&text), block->value.colour);
		gp_buf_free(&text);
	}
	return end;
}

/* A curve in one line of block characters. */
static void put_series(const struct writer *writer, const struct gp_show_block *block)
{
	static const char *const marks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	u64 most = 0;

	for (size_t i = 0; i < block->value_count; i++)
		most = block->values[i] > most ? block->values[i] : most;
	put_safe(writer, block->title, GP_PLAIN);
	fputs(" |", writer->out);
	for (size_t i = 0; i < block->value_count; i++) {
		u64 value = block->values[i];

		fputs(marks[value ? 1 + (size_t)((double)value / (double)most * 7) : 0],
		      writer->out);
	}
	fprintf(writer->out, "| %llu\n", (unsigned long long)most);
}

static int put_block(const struct writer *writer, const struct gp_doc *doc,
		     const struct gp_show_block *block)
{
	switch (block->type) {
	case GP_BLOCK_TABLE:
		return put_table(writer, doc, block);
	case GP_BLOCK_SERIES:
		put_series(writer, block);
		return 0;
	case GP_BLOCK_NOTE:
		fputs("- ", writer->out);
		put_line(writer, block->title, GP_PLAIN);
		return 0;
	case GP_BLOCK_LINE:
		put_line(writer, block->title, block->value.colour);
		return 0;
	case GP_BLOCK_HEADLINE:
		put_safe(writer, block->key ? block->key : "", GP_BOLD);
		fputc(' ', writer->out);
		put_line(writer, block->title, GP_BOLD);
		return 0;
	default:
		put_line(writer, block->title, GP_BOLD);
		return 0;
	}
}

int gp_show_text(const struct gp_doc *doc, FILE *out, bool colour)
{
	const struct writer writer = {out, colour};
	const struct gp_show_block *before = NULL;
	int error = doc->error;

	if (!error && doc->title)
		put_line(&writer, doc->title, GP_BOLD);
	for (size_t i = 0; i < doc->count && !error;) {
		const struct gp_show_block *block = &doc->blocks[i];
		bool heads = gp_show_block_heads(block);

		if (!gp_show_block_shown(block) || gp_show_block_drawn(block)) {
			i++;
			continue;
		}
		/* Headings and tables stand apart; a heading is followed by what it heads. */
		if (before ? heads || before->type == GP_BLOCK_TABLE ||
				     (block->type == GP_BLOCK_TABLE && !gp_show_block_heads(before))
			   : heads && doc->title)
			fputc('\n', out);
		before = block;
		if (block->type == GP_BLOCK_FACT) {
			i = put_facts(&writer, doc, i);
			continue;
		}
		error = put_block(&writer, doc, block);
		i++;
	}
	return error ? error : ferror(out) ? -EIO : 0;
}
