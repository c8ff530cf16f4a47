// SPDX-License-Identifier: MIT
/* A report as Markdown. Names from outside cannot form markup: what could is escaped. */
#include <errno.h>

#include "base/i18n.h"
#include "show/parts.h"

/* What Markdown would act on. */
#define MARKUP "\\`*_[]|~"

static void put(struct gp_buf *out, const char *text, size_t len)
{
	gp_doc_escape(out, text, len, MARKUP);
}

static void put_value(struct gp_buf *out, const struct gp_show_value *value)
{
	gp_doc_escape_value(out, value, MARKUP);
}

static void put_table(struct gp_buf *out, const struct gp_show_block *block)
{
	gp_buf_puts(out, "\n");
	if (block->title) {
		gp_buf_puts(out, "**");
		put(out, block->title, strlen(block->title));
		gp_buf_puts(out, "**\n\n");
	}
	gp_buf_puts(out, "|");
	for (size_t c = 0; c < block->column_count; c++) {
		gp_buf_puts(out, " ");
		put(out, block->columns[c].title, strlen(block->columns[c].title));
		gp_buf_puts(out, " |");
	}
	gp_buf_puts(out, "\n|");
	for (size_t c = 0; c < block->column_count; c++)
		gp_buf_puts(out, gp_show_block_numeric(block, c) ? "---:|" : "---|");
	gp_buf_puts(out, "\n");
	for (size_t r = 0; r < gp_block_rows(block); r++) {
		gp_buf_puts(out, "|");
		for (size_t c = 0; c < block->column_count; c++) {
			gp_buf_puts(out, " ");
			put_value(out, &block->cells[r * block->column_count + c]);
			gp_buf_puts(out, " |");
		}
		gp_buf_puts(out, "\n");
	}
	gp_buf_puts(out, "\n");
}

static void put_block(struct gp_buf *out, const struct gp_show_block *block, bool first_fact)
{
	switch (block->type) {
	case GP_BLOCK_SECTION:
		gp_buf_puts(out, "\n## ");
		put(out, block->title, strlen(block->title));
		gp_buf_puts(out, "\n\n");
		break;
	case GP_BLOCK_FACT:
		if (first_fact)
			gp_buf_puts(out, "\n| | |\n|---|---|\n");
		gp_buf_puts(out, "| ");
		put(out, block->title, strlen(block->title));
		gp_buf_puts(out, " | ");
		put_value(out, &block->value);
		gp_buf_puts(out, " |\n");
		break;
	case GP_BLOCK_NOTE:
		gp_buf_puts(out, "- ");
		put(out, block->title, strlen(block->title));
		gp_buf_puts(out, "\n");
		break;
	case GP_BLOCK_TABLE:
		put_table(out, block);
		break;
	case GP_BLOCK_SERIES: /* a picture; the tables have its figures */
		break;
	}
}

int gp_doc_markdown(const struct gp_doc *doc, struct gp_buf *out)
{
	enum gp_show_block_type before = GP_BLOCK_SECTION;

	if (doc->error)
		return doc->error;
	gp_buf_puts(out, "# ");
	put(out, doc->title, strlen(doc->title));
	gp_buf_puts(out, "\n");
	for (size_t i = 0; i < doc->count; i++) {
		const struct gp_show_block *block = &doc->blocks[i];

		if (block->type == GP_BLOCK_NOTE && before != GP_BLOCK_NOTE)
			gp_buf_puts(out, "\n");
		put_block(out, block, before != GP_BLOCK_FACT);
		before = block->type;
	}
	return out->error;
}
