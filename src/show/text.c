// SPDX-License-Identifier: MIT
/* A document on a terminal. */
#include <errno.h>
#include <stdlib.h>

#include "base/i18n.h"
#include "base/utf8.h"
#include "show/parts.h"
#include "show/table.h"

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
		fprintf(writer->out, "%s%s%s", gp_show_colour_code(colour), shown ? shown : "",
			gp_show_colour_code(GP_PLAIN));
	else
		fputs(shown ? shown : "", writer->out);
	free(shown);
}

static void put_line(const struct writer *writer, const char *text, enum gp_show_colour colour)
{
	put_safe(writer, text, colour);
	fputc('\n', writer->out);
}

static void put_cell(struct gp_table *table, const struct gp_show_value *value)
{
	struct gp_buf text = {0};

	gp_show_value_text(value, &text);
	gp_table_cell(table, gp_buf_str(&text));
	gp_table_paint(table, value->colour);
	gp_buf_free(&text);
}

static int put_table(const struct writer *writer, const struct gp_doc *doc,
		     const struct gp_show_block *block)
{
	const char *if_empty = block->if_empty              ? block->if_empty
			       : doc->kind == GP_DOC_REPORT ? _("none")
							    : NULL;
	size_t rows = gp_show_block_rows(block);
	struct gp_table *table;
	int error;

	if (block->title)
		put_line(writer, block->title, GP_PLAIN);
	if (!rows && if_empty) {
		put_line(writer, if_empty, GP_PLAIN);
		return 0;
	}
	table = gp_table_new();
	for (size_t c = 0; c < block->column_count; c++) {
		if (gp_show_column_shown(block, c))
			gp_table_column(table, block->columns[c].title,
					gp_show_column_right(block, c) ? GP_RIGHT : GP_LEFT);
	}
	for (size_t i = 0; i < rows * block->column_count; i++) {
		if (gp_show_column_shown(block, i % block->column_count))
			put_cell(table, &block->cells[i]);
	}
	error = gp_table_print(table, writer->out, writer->colour);
	gp_table_free(table);
	return error;
}

/* Facts that follow each other line up. Returns the first block after them. */
static size_t put_facts(const struct writer *writer, const struct gp_doc *doc, size_t from)
{
	size_t width = 0, end = from;

	for (; end < doc->count &&
	       (doc->blocks[end].type == GP_BLOCK_FACT || !gp_show_block_shown(&doc->blocks[end]));
	     end++) {
		const char *label = doc->blocks[end].title;
		size_t cells = label ? gp_show_text_width(label) : 0;

		width = cells > width ? cells : width;
	}
	for (size_t i = from; i < end; i++) {
		const struct gp_show_block *block = &doc->blocks[i];
		struct gp_buf text = {0};

		if (!gp_show_block_shown(block))
			continue;
		gp_show_value_text(&block->value, &text);
		put_safe(writer, block->title, GP_PLAIN);
		fprintf(writer->out, ":%*s ", (int)(width - gp_show_text_width(block->title)), "");
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

		if (!gp_show_block_shown(block) || block->type == GP_BLOCK_CURVES) {
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
