// SPDX-License-Identifier: MIT
/* A document as Markdown. Markup in names from outside is escaped. */
#include <errno.h>

#include "base/i18n.h"
#include "show/parts.h"

/* Characters that Markdown would act on. */
#define MARKUP "\\`*_[]|~"

static void put_string(struct gp_buf *out, const char *text)
{
	gp_show_escape(out, text, strlen(text), MARKUP);
}

static void put_value(struct gp_buf *out, const struct gp_show_value *value)
{
	gp_show_escape_value(out, value, MARKUP);
}

static void put_row(struct gp_buf *out, const struct gp_show_block *block, size_t row)
{
	gp_buf_puts(out, "|");
	for (size_t c = 0; c < block->column_count; c++) {
		if (!gp_show_column_shown(block, c))
			continue;
		gp_buf_puts(out, " ");
		put_value(out, &block->cells[row * block->column_count + c]);
		gp_buf_puts(out, " |");
	}
	gp_buf_puts(out, "\n");
}

static void put_table(struct gp_buf *out, const struct gp_show_block *block)
{
	gp_buf_puts(out, "\n");
	if (block->title) {
		gp_buf_puts(out, "**");
		put_string(out, block->title);
		gp_buf_puts(out, "**\n\n");
	}
	gp_buf_puts(out, "|");
	for (size_t c = 0; c < block->column_count; c++) {
		if (!gp_show_column_shown(block, c))
			continue;
		gp_buf_puts(out, " ");
		put_string(out, block->columns[c].title);
		gp_buf_puts(out, " |");
	}
	gp_buf_puts(out, "\n|");
	for (size_t c = 0; c < block->column_count; c++) {
		if (gp_show_column_shown(block, c))
			gp_buf_puts(out, gp_show_column_right(block, c) ? "---:|" : "---|");
	}
	gp_buf_puts(out, "\n");
	for (size_t r = 0; r < gp_show_block_rows(block); r++)
		put_row(out, block, r);
	gp_buf_puts(out, "\n");
}

static void put_block(struct gp_buf *out, const struct gp_show_block *block, bool first_fact)
{
	switch (block->type) {
	case GP_BLOCK_SECTION:
	case GP_BLOCK_OPEN:
	case GP_BLOCK_LIST:
		gp_buf_puts(out, "\n## ");
		put_string(out, block->title);
		gp_buf_puts(out, "\n\n");
		break;
	case GP_BLOCK_FACT:
		if (first_fact)
			gp_buf_puts(out, "\n| | |\n|---|---|\n");
		gp_buf_puts(out, "| ");
		put_string(out, block->title);
		gp_buf_puts(out, " | ");
		put_value(out, &block->value);
		gp_buf_puts(out, " |\n");
		break;
	case GP_BLOCK_NOTE:
		gp_buf_puts(out, "- ");
		put_string(out, block->title);
		gp_buf_puts(out, "\n");
		break;
	case GP_BLOCK_LINE:
		put_string(out, block->title);
		gp_buf_puts(out, "\n\n");
		break;
	case GP_BLOCK_TABLE:
		put_table(out, block);
		break;
	case GP_BLOCK_CLOSE:
	case GP_BLOCK_SERIES: /* a picture; the tables have its figures */
	case GP_BLOCK_CURVES:
	case GP_BLOCK_CHART:
	case GP_BLOCK_LANES:
		break;
	case GP_BLOCK_HEADLINE:
		gp_buf_puts(out, "\n**");
		put_string(out, block->key ? block->key : "");
		gp_buf_puts(out, "** ");
		put_string(out, block->title);
		gp_buf_puts(out, "\n\n");
		break;
	}
}

int gp_doc_markdown(const struct gp_doc *doc, struct gp_buf *out)
{
	enum gp_show_block_type before = GP_BLOCK_SECTION;

	if (doc->error)
		return doc->error;
	if (doc->title) {
		gp_buf_puts(out, "# ");
		put_string(out, doc->title);
		gp_buf_puts(out, "\n");
	}
	for (size_t i = 0; i < doc->count; i++) {
		const struct gp_show_block *block = &doc->blocks[i];

		if (!gp_show_block_shown(block))
			continue;
		if (block->type == GP_BLOCK_NOTE && before != GP_BLOCK_NOTE)
			gp_buf_puts(out, "\n");
		put_block(out, block, before != GP_BLOCK_FACT);
		before = block->type;
	}
	return out->error;
}
