// SPDX-License-Identifier: MIT
#include "inspect/grid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

void gp_inspect_grid_free(struct gp_inspect_grid *grid)
{
	free(grid->rows);
	free(grid->cells);
	*grid = (struct gp_inspect_grid){0};
}

void gp_inspect_grid_column(struct gp_inspect_grid *grid, const char *title, enum gp_align align)
{
	if (grid->column_count == GP_GRID_COLUMNS) {
		grid->error = -ENOMEM;
		return;
	}
	grid->columns[grid->column_count].title = title;
	grid->columns[grid->column_count++].align = align;
}

void gp_inspect_grid_row(struct gp_inspect_grid *grid, const char *name)
{
	struct gp_inspect_grid_row *row;

	if (gp_array_grow((void **)&grid->rows, grid->row_count, &grid->row_capacity,
			  sizeof(*grid->rows))) {
		grid->error = -ENOMEM;
		return;
	}
	row = &grid->rows[grid->row_count++];
	*row = (struct gp_inspect_grid_row){.first_cell = grid->cell_count};
	strncpy(row->name, name, sizeof(row->name) - 1);
}

void gp_inspect_grid_cell(struct gp_inspect_grid *grid, enum gp_show_colour colour,
			  const char *text)
{
	struct gp_inspect_grid_cell *cell;

	if (gp_array_grow((void **)&grid->cells, grid->cell_count, &grid->cell_capacity,
			  sizeof(*grid->cells))) {
		grid->error = -ENOMEM;
		return;
	}
	cell = &grid->cells[grid->cell_count++];
	*cell = (struct gp_inspect_grid_cell){.colour = colour};
	strncpy(cell->text, text, sizeof(cell->text) - 1);
}

static int compare_rows(const void *a, const void *b)
{
	const struct gp_inspect_grid_row *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* Rows by name; NULL without memory or rows. */
static const struct gp_inspect_grid_row **sort_rows(const struct gp_inspect_grid *grid)
{
	const struct gp_inspect_grid_row **sorted;

	if (!grid->row_count)
		return NULL;
	sorted = calloc(grid->row_count, sizeof(*sorted));
	if (!sorted)
		return NULL;
	for (size_t i = 0; i < grid->row_count; i++)
		sorted[i] = &grid->rows[i];
	qsort(sorted, grid->row_count, sizeof(*sorted), compare_rows);
	return sorted;
}

static const struct gp_inspect_grid_cell *find_cells(const struct gp_inspect_grid *before,
						     const struct gp_inspect_grid_row **sorted,
						     const struct gp_inspect_grid_row *row)
{
	const struct gp_inspect_grid_row **found;

	if (!sorted)
		return NULL;
	found = bsearch(&row, sorted, before->row_count, sizeof(*sorted), compare_rows);
	return found ? before->cells + (*found)->first_cell : NULL;
}

static void add_cell(struct gp_table *table, const struct gp_inspect_grid_cell *cell, bool changed,
		     bool colour)
{
	if (changed && !colour)
		gp_table_cellf(table, "%s*", cell->text[0] ? cell->text : "-");
	else
		gp_table_cell(table, cell->text);
	gp_table_paint(table, changed ? GP_REVERSE : cell->colour);
}

struct gp_table *gp_inspect_grid_table(const struct gp_inspect_grid *grid,
				       const struct gp_inspect_grid *before, bool colour)
{
	struct gp_table *table = gp_table_new();
	const struct gp_inspect_grid_row **sorted = before ? sort_rows(before) : NULL;

	for (size_t c = 0; table && c < grid->column_count; c++)
		gp_table_column(table, grid->columns[c].title, grid->columns[c].align);
	for (size_t r = 0; table && !grid->error && r < grid->row_count; r++) {
		const struct gp_inspect_grid_cell *cells = grid->cells + grid->rows[r].first_cell;
		const struct gp_inspect_grid_cell *old =
			before ? find_cells(before, sorted, &grid->rows[r]) : NULL;

		for (size_t c = 0; c < grid->column_count; c++) {
			/* A row that was not there is new as a whole. */
			bool changed = before && (!old || strcmp(old[c].text, cells[c].text) != 0);

			add_cell(table, &cells[c], changed, colour);
		}
	}
	free(sorted);
	if (grid->error) {
		gp_table_free(table);
		return NULL;
	}
	return table;
}
