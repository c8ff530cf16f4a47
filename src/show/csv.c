// SPDX-License-Identifier: MIT
/*
 * A document as CSV: its list, or its facts in one row if it has no list; or all its tables.
 * Quoting as in RFC 4180; lines end with a line feed. Names and values are those of JSON, except
 * that control characters are masked as in text; a missing value is empty.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core.h"
#include "base/utf8.h"
#include "show/parts.h"

struct writer {
	struct gp_buf line;
	bool begun; /* the line has a field */
};

/* Other users choose the names of their processes: a field cannot drive a terminal. */
static void put_field(struct writer *writer, const char *text, size_t len)
{
	char *shown = strndup(text, len);
	bool quoted = false;

	if (!shown) {
		writer->line.error = -ENOMEM;
		return;
	}
	gp_text_make_safe(shown);
	len = strlen(shown);
	for (size_t i = 0; i < len; i++)
		quoted |= strchr(",\"", shown[i]) != NULL;
	/* Spaces at the ends are part of the field, but not every reader keeps them. */
	quoted |= len && (shown[0] == ' ' || shown[len - 1] == ' ');
	gp_buf_puts(&writer->line, writer->begun ? "," : "");
	writer->begun = true;
	gp_buf_puts(&writer->line, quoted ? "\"" : "");
	for (size_t i = 0; i < len; i++)
		gp_buf_add(&writer->line, shown[i] == '"' ? "\"\"" : &shown[i],
			   shown[i] == '"' ? 2 : 1);
	gp_buf_puts(&writer->line, quoted ? "\"" : "");
	free(shown);
}

static void put_json(struct writer *writer, const json_t *json)
{
	char *text;

	if (json_is_string(json)) {
		put_field(writer, json_string_value(json), json_string_length(json));
		return;
	}
	text = json_is_null(json) ? NULL : json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
	put_field(writer, text ? text : "", text ? strlen(text) : 0);
	free(text);
}

/* A nested value is the text that people read or, if it has none, JSON. */
static void put_value(struct writer *writer, const struct gp_show_value *value)
{
	json_t *json;

	if (value->unit == GP_UNIT_JSON && value->text) {
		put_field(writer, value->text, value->len);
		return;
	}
	json = gp_show_value_json(value);
	put_json(writer, json);
	json_decref(json);
}

static int end_line(struct writer *writer, FILE *out)
{
	int error = writer->line.error;

	gp_buf_puts(&writer->line, "\n");
	if (!error &&
	    fwrite(gp_buf_str(&writer->line), 1, writer->line.len, out) != writer->line.len)
		error = -EIO;
	writer->line.len = 0;
	writer->begun = false;
	return error;
}

/* ---- the list ---- */

static bool has_keys(const struct gp_show_block *block)
{
	for (size_t c = 0; c < block->column_count; c++) {
		if (block->columns[c].key)
			return true;
	}
	return false;
}

/* The table that was marked or, without one, the first that JSON has. */
static const struct gp_show_block *find_list(const struct gp_doc *doc)
{
	const struct gp_show_block *first = NULL;

	for (size_t i = 0; i < doc->count; i++) {
		const struct gp_show_block *block = &doc->blocks[i];

		if (block->type != GP_BLOCK_TABLE || !has_keys(block))
			continue;
		if (block->main)
			return block;
		if (!first)
			first = block;
	}
	return first;
}

static int put_list(struct writer *writer, const struct gp_show_block *block,
		    const struct gp_show_csv *how, FILE *out)
{
	int error = 0;

	if (how->time && how->header)
		put_field(writer, "time", 4);
	for (size_t c = 0; how->header && c < block->column_count; c++) {
		if (block->columns[c].key)
			put_field(writer, block->columns[c].key, strlen(block->columns[c].key));
	}
	if (how->header)
		error = end_line(writer, out);
	for (size_t r = 0; !error && r < gp_show_block_rows(block); r++) {
		if (how->time)
			put_field(writer, how->time, strlen(how->time));
		for (size_t c = 0; c < block->column_count; c++) {
			if (block->columns[c].key)
				put_value(writer, &block->cells[r * block->column_count + c]);
		}
		error = end_line(writer, out);
	}
	return error;
}

/* ---- facts ---- */

/* The names, or the values, of the members; those of objects are "object.member". */
static void put_members(struct writer *writer, json_t *object, const char *prefix, bool names)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
	{
		struct gp_buf name = {0};

		gp_buf_printf(&name, "%s%s%s", prefix, *prefix ? "." : "", key);
		if (json_is_object(value))
			put_members(writer, value, gp_buf_str(&name), names);
		else if (names)
			put_field(writer, gp_buf_str(&name), name.len);
		else
			put_json(writer, value);
		gp_buf_free(&name);
	}
}

static int put_facts(struct writer *writer, const struct gp_doc *doc, const struct gp_show_csv *how,
		     FILE *out)
{
	json_t *json = gp_doc_json(doc);
	int error = json ? 0 : -ENOMEM;

	if (!error && how->header) {
		if (how->time)
			put_field(writer, "time", 4);
		put_members(writer, json, "", true);
		error = end_line(writer, out);
	}
	if (!error) {
		if (how->time)
			put_field(writer, how->time, strlen(how->time));
		put_members(writer, json, "", false);
		error = end_line(writer, out);
	}
	json_decref(json);
	return error;
}

int gp_show_print_csv(const struct gp_doc *doc, FILE *out, const struct gp_show_csv *how)
{
	const struct gp_show_block *list = doc ? find_list(doc) : NULL;
	struct writer writer = {0};
	int error = gp_doc_error(doc);

	if (!error)
		error = list ? put_list(&writer, list, how, out)
			     : put_facts(&writer, doc, how, out);
	gp_buf_free(&writer.line);
	return error ? error : fflush(out) || ferror(out) ? -EIO : 0;
}

/* ---- all tables ---- */

struct tables {
	struct writer writer;
	FILE *out;
	bool begun; /* a table was printed */
	int error;
};

static void put_text(struct writer *writer, const char *text)
{
	put_field(writer, text, strlen(text));
}

/* An empty line before all but the first. */
static void begin_table(struct tables *tables)
{
	if (tables->begun)
		putc('\n', tables->out);
	tables->begun = true;
	put_text(&tables->writer, "table");
}

static void end_row(struct tables *tables)
{
	int error = end_line(&tables->writer, tables->out);

	tables->error = tables->error ? tables->error : error;
}

/* Objects have a column per member, anything else one column. */
static void put_array(struct tables *tables, const char *name, const json_t *rows)
{
	const json_t *first = json_array_get(rows, 0), *row;
	const char *key;
	json_t *value;
	size_t i;

	if (!first)
		return;
	begin_table(tables);
	if (!json_is_object(first))
		put_text(&tables->writer, "value");
	json_object_foreach((json_t *)(uintptr_t)first, key, value) put_text(&tables->writer, key);
	end_row(tables);
	json_array_foreach(rows, i, row)
	{
		put_text(&tables->writer, name);
		if (!json_is_object(row))
			put_json(&tables->writer, row);
		json_object_foreach((json_t *)(uintptr_t)row, key, value)
			put_json(&tables->writer, value);
		end_row(tables);
	}
}

/* The arrays or, before them, the other values of an object and of those in it. The rows of a
 * section without another name have the name of the section. */
static void put_object(struct tables *tables, json_t *object, const char *prefix, bool arrays)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
	{
		struct gp_buf name = {0};

		if (*prefix && json_is_array(value) && strcmp(key, "rows") == 0)
			gp_buf_puts(&name, prefix);
		else
			gp_buf_printf(&name, "%s%s%s", prefix, *prefix ? "." : "", key);
		if (json_is_object(value)) {
			put_object(tables, value, gp_buf_str(&name), arrays);
		} else if (arrays && json_is_array(value)) {
			put_array(tables, gp_buf_str(&name), value);
		} else if (!arrays && !json_is_array(value)) {
			if (!tables->begun) {
				begin_table(tables);
				put_text(&tables->writer, "name");
				put_text(&tables->writer, "value");
				end_row(tables);
			}
			put_text(&tables->writer, "facts");
			put_text(&tables->writer, gp_buf_str(&name));
			put_json(&tables->writer, value);
			end_row(tables);
		}
		gp_buf_free(&name);
	}
}

int gp_show_print_csv_tables(const struct gp_doc *doc, FILE *out)
{
	json_t *json = gp_doc_error(doc) ? NULL : gp_doc_json(doc);
	struct tables tables = {.out = out, .error = gp_doc_error(doc)};

	if (!json)
		return tables.error ? tables.error : -ENOMEM;
	put_object(&tables, json, "", false);
	put_object(&tables, json, "", true);
	gp_buf_free(&tables.writer.line);
	json_decref(json);
	return tables.error ? tables.error : fflush(out) || ferror(out) ? -EIO : 0;
}
