/* SPDX-License-Identifier: MIT */
/*
 * A row of a table, made by one function per table that puts each cell with its column:
 *
 *	gp_cli_put(row, "pid", N_("PID"), GP_CLI_RIGHT, gp_v_count(job->pid));
 *
 * so that a column of the table, of the JSON and of the full screen is one line of code. JSON has
 * the cells in the order of the calls; text has them in the order of GP_CLI_AT(), or of the calls.
 */
#ifndef GP_CLI_WATCH_ROW_H
#define GP_CLI_WATCH_ROW_H

#include "show/doc.h"

enum gp_cli_part { GP_CLI_JSON = 1, GP_CLI_TEXT = 2, GP_CLI_BOTH = 3 };

enum {
	GP_CLI_RIGHT = 1 << 0,
	GP_CLI_OPTIONAL = 1 << 1, /* left out of text when no row has a value */
	GP_CLI_WIDE = 1 << 2,     /* full screen: only if there is room */
};
/* Full screen: columns with the highest rank (1 to 15) go first when there is no room; 0 stays. */
#define GP_CLI_RANK(rank)   ((rank) << 4)
#define GP_CLI_AT(place)    ((place) << 8)
#define GP_CLI_WIDTH(cells) ((cells) << 16) /* full screen */

enum { GP_CLI_CELLS = 64, GP_CLI_ROW_TEXT = 1024 };

struct gp_cli_cell {
	const char *key, *title; /* untranslated */
	int flags;
	struct gp_show_value value;
};

struct gp_cli_row {
	enum gp_cli_part part; /* cells of the other part are dropped */
	struct gp_cli_cell cells[GP_CLI_CELLS];
	size_t count;
	char text[GP_CLI_ROW_TEXT]; /* of gp_cli_text() */
	size_t used;
};

/* key NULL: not in JSON; title NULL: not in text. */
void gp_cli_put(struct gp_cli_row *row, const char *key, const char *title, int flags,
		struct gp_show_value value);
/* A text that lives as long as the row; cut when the row is full. */
const char *gp_cli_text(struct gp_cli_row *row, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Brings the cells into the order of text. */
void gp_cli_row_arrange(struct gp_cli_row *row);
/* A line that is not translated. */
void gp_cli_line(struct gp_doc *doc, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Empties the row for the next one. */
void gp_cli_row_clear(struct gp_cli_row *row);

/* Adds the row's columns or its values to the table added last, and empties it. */
void gp_cli_row_columns(struct gp_cli_row *row, struct gp_doc *doc);
void gp_cli_row_cells(struct gp_cli_row *row, struct gp_doc *doc);

#endif
