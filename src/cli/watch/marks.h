/* SPDX-License-Identifier: MIT */
/*
 * Remembers the cells of a reading, so that those that changed are marked in the next one: in
 * reverse where there is colour, with a '*' where there is none. Starts as {0}.
 */
#ifndef GP_CLI_WATCH_MARKS_H
#define GP_CLI_WATCH_MARKS_H

#include "cli/watch/row.h"

enum { GP_CLI_MARK_TEXT = 64 };

struct gp_cli_reading {
	struct gp_cli_marked_row {
		char name[GP_CLI_MARK_TEXT];
		size_t first; /* of its texts */
	} * rows;
	size_t row_count, row_capacity;
	char (*texts)[GP_CLI_MARK_TEXT];
	size_t text_count, text_capacity;
};

struct gp_cli_marks {
	bool colour, again; /* again: there is a reading before this one */
	struct gp_cli_reading now, before;
};

/* Remembers the row, and marks its cells. The same thing has the same name in every reading. */
void gp_cli_marks_row(struct gp_cli_marks *marks, const char *name, struct gp_cli_row *row);
/* The reading is complete. */
void gp_cli_marks_next(struct gp_cli_marks *marks);
void gp_cli_marks_free(struct gp_cli_marks *marks);

#endif
