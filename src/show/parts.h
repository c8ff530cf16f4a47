/* SPDX-License-Identifier: MIT */
/* The inside of a report, for its writers. */
#ifndef GP_SHOW_PARTS_H
#define GP_SHOW_PARTS_H

#include "show/doc.h"

enum gp_show_block_type {
	GP_BLOCK_SECTION,
	GP_BLOCK_FACT,
	GP_BLOCK_NOTE,
	GP_BLOCK_TABLE,
	GP_BLOCK_SERIES
};

struct gp_doc_column {
	char *key, *title;
	bool bars;
};

struct gp_show_block {
	enum gp_show_block_type type;
	char *key, *title;          /* a note's text is its title */
	struct gp_show_value value; /* FACT */
	struct gp_doc_column *columns;
	size_t column_count, column_capacity;
	struct gp_show_value *cells;
	size_t cell_count, cell_capacity;
	u64 *values; /* SERIES */
	size_t value_count;
	u64 start, step;
};

struct gp_doc {
	char *report, *title;
	struct gp_show_block *blocks;
	size_t count, capacity;
	int error;
};

/* Rows of a table; a last row that is not full is none. */
static inline size_t gp_block_rows(const struct gp_show_block *block)
{
	return block->column_count ? block->cell_count / block->column_count : 0;
}

/* Numbers stand right. */
static inline bool gp_value_is_number(const struct gp_show_value *value)
{
	return value->unit > GP_UNIT_TEXT && value->unit != GP_UNIT_BOOL;
}

/*
 * One line, with nothing in it that HTML, also that inside Markdown, would act on. `markup`: these
 * characters get a backslash; NULL: quotes, which may end an attribute, are escaped instead.
 */
void gp_doc_escape(struct gp_buf *out, const char *text, size_t len, const char *markup);
void gp_doc_escape_value(struct gp_buf *out, const struct gp_show_value *value, const char *markup);

/* A column of numbers: every known cell is one. */
bool gp_show_block_numeric(const struct gp_show_block *block, size_t column);

#endif
