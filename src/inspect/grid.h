/* SPDX-License-Identifier: MIT */
/*
 * A table that remembers: rows of cells with a name each, so that a later reading can be compared
 * with an earlier one and what changed is marked. The views fill it; the command line prints it.
 */
#ifndef GP_INSPECT_GRID_H
#define GP_INSPECT_GRID_H

#include "show/table.h"
#include "base/types.h"

#define GP_GRID_COLUMNS 24
#define GP_GRID_TEXT    64

struct gp_inspect_grid_cell {
	char text[GP_GRID_TEXT]; /* "" = missing */
	enum gp_show_colour colour;
};

struct gp_inspect_grid_row {
	char name[GP_GRID_TEXT]; /* the same thing has the same name in every reading */
	size_t first_cell;
};

struct gp_inspect_grid {
	struct {
		const char *title; /* translated */
		enum gp_align align;
	} columns[GP_GRID_COLUMNS];
	size_t column_count;
	struct gp_inspect_grid_row *rows;
	size_t row_count, row_capacity;
	struct gp_inspect_grid_cell *cells;
	size_t cell_count, cell_capacity;
	int error; /* 0 or -ENOMEM */
};

void gp_inspect_grid_free(struct gp_inspect_grid *grid);
void gp_inspect_grid_column(struct gp_inspect_grid *grid, const char *title, enum gp_align align);
/* Starts a row; then one gp_inspect_grid_cell() per column. */
void gp_inspect_grid_row(struct gp_inspect_grid *grid, const char *name);
void gp_inspect_grid_cell(struct gp_inspect_grid *grid, enum gp_show_colour colour,
			  const char *text);

/*
 * The table, with cells that differ from `before` (may be NULL) marked: in reverse with colour,
 * with a '*' without. NULL without memory.
 */
struct gp_table *gp_inspect_grid_table(const struct gp_inspect_grid *grid,
				       const struct gp_inspect_grid *before, bool colour);

#endif
