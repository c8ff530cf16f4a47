/* SPDX-License-Identifier: MIT */
/*
 * A plain table for people: a header, aligned columns, "-" for what is missing. Widths count
 * terminal cells, so Chinese headings line up. Control characters in cells are shown as "?",
 * because process names and logs must not be able to drive the terminal.
 */
#ifndef GP_SHOW_TABLE_H
#define GP_SHOW_TABLE_H

#include <stdio.h>

#include "base/types.h"
#include "show/value.h"

enum gp_table_align { GP_LEFT, GP_RIGHT };

struct gp_table;

struct gp_table *gp_table_new(void);
void gp_table_free(struct gp_table *table);
/* Columns first, then rows of exactly that many cells. Titles are already translated. */
void gp_table_column(struct gp_table *table, const char *title, enum gp_table_align align);
/* The column added last is left out when no row has a value in it. */
void gp_table_optional(struct gp_table *table);
/* A cell; NULL or "" shows as "-". The row ends by itself when the last column is filled. */
void gp_table_cell(struct gp_table *table, const char *text);
void gp_table_cellf(struct gp_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void gp_table_missing(struct gp_table *table);
/* Colours the cell added last; used only when the table is printed with colour. */
void gp_table_paint(struct gp_table *table, enum gp_show_colour colour);
size_t gp_table_rows(const struct gp_table *table);
/* -ENOMEM if any call above ran out of memory, -EIO if the stream failed. */
int gp_table_print(const struct gp_table *table, FILE *out, bool colour);

/* Escape sequence that starts a colour; GP_PLAIN ends it. */
const char *gp_show_colour_code(enum gp_show_colour colour);
/* Terminal cells that a UTF-8 text takes. */
size_t gp_show_text_width(const char *text);

#endif
