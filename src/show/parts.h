/* SPDX-License-Identifier: MIT */
/* The inside of a document, for its writers. */
#ifndef GP_SHOW_PARTS_H
#define GP_SHOW_PARTS_H

#include "show/doc.h"

enum gp_show_block_type {
	GP_BLOCK_SECTION,
	GP_BLOCK_OPEN,
	GP_BLOCK_LIST,
	GP_BLOCK_CLOSE,
	GP_BLOCK_FACT,
	GP_BLOCK_LINE,
	GP_BLOCK_NOTE,
	GP_BLOCK_TABLE,
	GP_BLOCK_HEADLINE, /* its key is the figure */
	GP_BLOCK_SERIES,   /* from here on pictures */
	GP_BLOCK_CURVES,   /* columns are curves, values their points */
	GP_BLOCK_CHART,    /* columns are bars, cells their values */
	GP_BLOCK_LANES     /* columns are lanes; values are spans: lane, from, to, kind */
};

struct gp_doc_column {
	char *key, *title;
	bool bars, optional, right;
	bool has_value, has_text; /* of its cells: any is known, any known one is not a number */
};

struct gp_show_block {
	enum gp_show_block_type type;
	char *key, *title;          /* the text of a line or note is its title */
	struct gp_show_value value; /* FACT; of a LINE the colour */
	struct gp_doc_column *columns;
	size_t column_count, column_capacity;
	struct gp_show_value *cells;
	size_t cell_count, cell_capacity;
	char *if_empty;
	bool main;   /* TABLE: the list that CSV has */
	u64 *values; /* SERIES; CURVES: of all curves, which are columns */
	size_t value_count;
	u64 start, step;
};

enum gp_doc_kind { GP_DOC_REPORT, GP_DOC_ANSWER, GP_DOC_LIST };

struct gp_doc {
	enum gp_doc_kind kind;
	char *name, *title; /* of a report; else NULL */
	struct gp_show_block *blocks;
	size_t count, capacity, depth;
	int error;
};

static inline size_t gp_show_block_rows(const struct gp_show_block *block)
{
	return block->column_count ? block->cell_count / block->column_count : 0;
}

/* A heading: SECTION, OPEN or LIST. */
static inline bool gp_show_block_heads(const struct gp_show_block *block)
{
	return block->type <= GP_BLOCK_LIST;
}

/* A picture that only a page has. */
static inline bool gp_show_block_drawn(const struct gp_show_block *block)
{
	return block->type > GP_BLOCK_SERIES;
}

/* Whether people see the block at all. */
bool gp_show_block_shown(const struct gp_show_block *block);
/* Whether people see this column of a table. */
bool gp_show_column_shown(const struct gp_show_block *block, size_t column);
/* Whether it is aligned right. */
bool gp_show_column_right(const struct gp_show_block *block, size_t column);

/*
 * One line, with nothing in it that HTML, also that inside Markdown, would act on. `markup`: these
 * characters get a backslash; NULL: quotes, which may end an attribute, are escaped instead.
 */
void gp_show_escape(struct gp_buf *out, const char *text, size_t len, const char *markup);
void gp_show_escape_value(struct gp_buf *out, const struct gp_show_value *value,
			  const char *markup);

/* Adding to a document. The first two return NULL, the others do nothing, without a document. */
struct gp_show_block *gp_show_block_add(struct gp_doc *doc, enum gp_show_block_type type,
					const char *key);
struct gp_show_block *gp_show_block_last(struct gp_doc *doc);
char *gp_show_copy(struct gp_doc *doc, const char *text);
void gp_show_column_add(struct gp_doc *doc, struct gp_show_block *block,
			struct gp_doc_column column);
/* Frees the value if block is NULL. */
void gp_show_cell_add(struct gp_doc *doc, struct gp_show_block *block, struct gp_show_value value);

/* The style sheet of every page. */
extern const char gp_show_style[];

/* The number in a value, whatever its unit; 0 for a text. */
double gp_show_amount(const struct gp_show_value *value);

/* The pictures of a page. */
void gp_show_plot(struct gp_buf *out, const struct gp_show_block *block);
int gp_show_text(const struct gp_doc *doc, FILE *out, bool colour);

#endif
