// SPDX-License-Identifier: MIT
/*
 * A row is found again by its name, not by its place: a queue that ends must not mark every row
 * below it. Texts are compared, because a change that is not visible needs no mark.
 */
#include "cli/watch/marks.h"

#include <stdlib.h>

static void reading_free(struct gp_cli_reading *reading)
{
	free(reading->rows);
	free(reading->texts);
	*reading = (struct gp_cli_reading){0};
}

/* The texts of the row of that name; most readings have the same rows, so `at` is tried first. */
static const char (*find(const struct gp_cli_reading *before, const char *name,
			 size_t at))[GP_CLI_MARK_TEXT]
{
	for (size_t i = 0; i < before->row_count; i++) {
		const struct gp_cli_marked_row *row = &before->rows[(at + i) % before->row_count];

		if (strcmp(row->name, name) == 0)
			return (const char(*)[GP_CLI_MARK_TEXT])(before->texts + row->first);
	}
	return NULL;
}

static char *remember(struct gp_cli_reading *now, const struct gp_show_value *value)
{
	struct gp_buf text = {0};
	char *kept;

	if (gp_array_grow((void **)&now->texts, now->text_count, &now->text_capacity,
			  sizeof(*now->texts)))
		return NULL;
	kept = now->texts[now->text_count++];
	gp_show_value_text(value, &text);
	snprintf(kept, GP_CLI_MARK_TEXT, "%s", gp_buf_str(&text));
	gp_buf_free(&text);
	return kept;
}

void gp_cli_marks_row(struct gp_cli_marks *marks, const char *name, struct gp_cli_row *row)
{
	struct gp_cli_reading *now = &marks->now;
	const char(*old)[GP_CLI_MARK_TEXT] = find(&marks->before, name, now->row_count);
	struct gp_cli_marked_row *marked;

	if (gp_array_grow((void **)&now->rows, now->row_count, &now->row_capacity,
			  sizeof(*now->rows)))
		return;
	marked = &now->rows[now->row_count++];
	marked->first = now->text_count;
	snprintf(marked->name, sizeof(marked->name), "%s", name);
	for (size_t i = 0; i < row->count; i++) {
		struct gp_show_value *value = &row->cells[i].value;
		const char *text = remember(now, value);

		/* A row that was not there is new as a whole. */
		if (!text || !marks->again || (old && strcmp(old[i], text) == 0))
			continue;
		value->colour = GP_REVERSE;
		if (!marks->colour)
			*value = gp_v_as(*value, gp_cli_text(row, "%s*", text));
	}
}

void gp_cli_marks_next(struct gp_cli_marks *marks)
{
	reading_free(&marks->before);
	marks->before = marks->now;
	marks->now = (struct gp_cli_reading){0};
	marks->again = true;
}

void gp_cli_marks_free(struct gp_cli_marks *marks)
{
	reading_free(&marks->now);
	reading_free(&marks->before);
}
