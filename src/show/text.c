// SPDX-License-Identifier: MIT
/* A report on a terminal, and as JSON. */
#include <errno.h>
#include <stdlib.h>

#include "base/i18n.h"
#include "show/table.h"
#include "base/utf8.h"
#include "show/parts.h"

/* A copy that cannot drive a terminal. */
static char *safe(const char *text, size_t len)
{
	char *out = strndup(text, len);

	if (out)
		gp_text_make_safe(out);
	return out;
}

static void put_heading(FILE *out, const char *text, bool colour)
{
	char *shown = safe(text, strlen(text));

	if (colour)
		fprintf(out, "%s%s%s\n", gp_show_colour_code(GP_BOLD), shown ? shown : "",
			gp_show_colour_code(GP_PLAIN));
	else
		fprintf(out, "%s\n", shown ? shown : "");
	free(shown);
}

static int put_table(const struct gp_show_block *block, FILE *out, bool colour)
{
	struct gp_table *table = gp_table_new();
	int error;

	if (!table)
		return -ENOMEM;
	if (!gp_block_rows(block)) {
		gp_table_free(table);
		fprintf(out, "%s\n", _("none"));
		return 0;
	}
	for (size_t c = 0; c < block->column_count; c++) {
		gp_table_column(table, block->columns[c].title,
				gp_show_block_numeric(block, c) ? GP_RIGHT : GP_LEFT);
		gp_table_optional(table);
	}
	for (size_t i = 0; i < gp_block_rows(block) * block->column_count; i++) {
		struct gp_buf text = {0};

		if (block->cells[i].unit == GP_UNIT_MISSING) {
			gp_table_missing(table);
			continue;
		}
		gp_show_value_show(&block->cells[i], &text);
		gp_table_cell(table, gp_buf_str(&text));
		gp_buf_free(&text);
	}
	error = gp_table_print(table, out, colour);
	gp_table_free(table);
	return error;
}

/* Facts that follow each other line up. */
static size_t put_facts(const struct gp_doc *doc, size_t from, FILE *out)
{
	size_t width = 0, end = from;

	for (; end < doc->count && doc->blocks[end].type == GP_BLOCK_FACT; end++) {
		size_t cells = gp_show_text_width(doc->blocks[end].title);

		width = cells > width ? cells : width;
	}
	for (size_t i = from; i < end; i++) {
		const struct gp_show_block *block = &doc->blocks[i];
		struct gp_buf text = {0};
		char *shown;

		gp_show_value_show(&block->value, &text);
		shown = safe(gp_buf_str(&text), text.len);
		fprintf(out, "%s:%*s %s\n", block->title,
			(int)(width - gp_show_text_width(block->title)), "", shown ? shown : "");
		free(shown);
		gp_buf_free(&text);
	}
	return end;
}

/* A curve in one line of block characters. */
static void put_series(const struct gp_show_block *block, FILE *out)
{
	static const char *const marks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	u64 most = 0;

	for (size_t i = 0; i < block->value_count; i++)
		most = block->values[i] > most ? block->values[i] : most;
	fprintf(out, "%s |", block->title);
	for (size_t i = 0; i < block->value_count; i++) {
		u64 value = block->values[i];

		fputs(marks[value ? 1 + (size_t)((double)value / (double)most * 7) : 0], out);
	}
	fprintf(out, "| %llu\n", (unsigned long long)most);
}

int gp_doc_print(const struct gp_doc *doc, FILE *out, bool colour)
{
	enum gp_show_block_type before = GP_BLOCK_SECTION;
	int error = doc->error;

	if (!error)
		put_heading(out, doc->title, colour);
	for (size_t i = 0; i < doc->count && !error;) {
		const struct gp_show_block *block = &doc->blocks[i];

		if (block->type == GP_BLOCK_SECTION || before == GP_BLOCK_TABLE ||
		    (block->type == GP_BLOCK_TABLE && before != GP_BLOCK_SECTION))
			fputc('\n', out);
		before = block->type;
		i++;
		switch (block->type) {
		case GP_BLOCK_SECTION:
			put_heading(out, block->title, colour);
			break;
		case GP_BLOCK_FACT:
			i = put_facts(doc, i - 1, out);
			break;
		case GP_BLOCK_NOTE: {
			char *shown = safe(block->title, strlen(block->title));

			fprintf(out, "- %s\n", shown ? shown : "");
			free(shown);
			break;
		}
		case GP_BLOCK_TABLE:
			if (block->title)
				put_heading(out, block->title, false);
			error = put_table(block, out, colour);
			break;
		case GP_BLOCK_SERIES:
			put_series(block, out);
			break;
		}
	}
	return error ? error : ferror(out) ? -EIO : 0;
}

static json_t *value_json(const struct gp_show_value *value)
{
	switch (value->unit) {
	case GP_UNIT_TEXT:
		return value->code ? gp_json_str(value->code)
				   : gp_json_text(value->text, value->len);
	case GP_UNIT_COUNT:
	case GP_UNIT_NS:
	case GP_UNIT_BYTES:
		return gp_json_u64_if(true, value->number);
	case GP_UNIT_HEX:
		return gp_json_hex(value->number);
	case GP_UNIT_PERCENT:
	case GP_UNIT_RATE:
	case GP_UNIT_REAL:
		return json_real(value->real);
	case GP_UNIT_BOOL:
		return json_boolean(value->number);
	case GP_UNIT_MISSING:
		break;
	}
	return json_null();
}

static json_t *table_json(const struct gp_show_block *block)
{
	json_t *rows = json_array();

	for (size_t r = 0; r < gp_block_rows(block); r++) {
		json_t *row = json_object();

		for (size_t c = 0; c < block->column_count; c++)
			json_object_set_new(row, block->columns[c].key,
					    value_json(&block->cells[r * block->column_count + c]));
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *series_json(const struct gp_show_block *block)
{
	json_t *values = json_array();

	for (size_t i = 0; i < block->value_count; i++)
		json_array_append_new(values, gp_json_u64_if(true, block->values[i]));
	return json_pack("{s:o, s:o, s:o}", "start_ns", gp_json_u64_if(true, block->start),
			 "step_ns", gp_json_u64_if(true, block->step), "values", values);
}

json_t *gp_doc_json(const struct gp_doc *doc)
{
	json_t *top = json_object(), *section = top;

	if (doc->error || !top) {
		json_decref(top);
		return NULL;
	}
	json_object_set_new(top, "report", gp_json_str(doc->report));
	for (size_t i = 0; i < doc->count; i++) {
		const struct gp_show_block *block = &doc->blocks[i];

		switch (block->type) {
		case GP_BLOCK_SECTION:
			section = json_object();
			json_object_set_new(top, block->key, section);
			break;
		case GP_BLOCK_FACT:
			json_object_set_new(section, block->key, value_json(&block->value));
			break;
		case GP_BLOCK_NOTE:
			if (!json_object_get(section, "notes"))
				json_object_set_new(section, "notes", json_array());
			json_array_append_new(json_object_get(section, "notes"),
					      gp_json_str(block->title));
			break;
		case GP_BLOCK_TABLE:
			json_object_set_new(section, block->key, table_json(block));
			break;
		case GP_BLOCK_SERIES:
			json_object_set_new(section, block->key, series_json(block));
			break;
		}
	}
	return top;
}
