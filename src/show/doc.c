// SPDX-License-Identifier: MIT
/*
 * Builds documents. Titles are translated and texts copied when they are added, so that callers
 * may reuse their buffers; the renderers only read.
 */
#include "show/doc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/i18n.h"
#include "show/parts.h"
#include "show/term.h"

static char *copy(struct gp_doc *doc, const char *text, size_t len)
{
	char *out = malloc(len + 1);

	if (!out) {
		doc->error = -ENOMEM;
		return NULL;
	}
	memcpy(out, text, len);
	out[len] = '\0';
	return out;
}

char *gp_show_copy(struct gp_doc *doc, const char *text)
{
	return text ? copy(doc, text, strlen(text)) : NULL;
}

/* Of "" gettext() returns the catalogue's header. */
static char *copy_title(struct gp_doc *doc, const char *text)
{
	return gp_show_copy(doc, text && *text ? gettext(text) : text);
}

static struct gp_show_value copy_value(struct gp_doc *doc, struct gp_show_value value)
{
	if (value.unit == GP_UNIT_JSON && !value.json) {
		doc->error = -ENOMEM;
		return gp_v_missing();
	}
	if (value.text)
		value.text = copy(doc, value.text, value.len);
	value.code = gp_show_copy(doc, value.code);
	return value.unit == GP_UNIT_TEXT && !value.text ? gp_v_missing() : value;
}

static void free_value(struct gp_show_value *value)
{
	free((char *)value->text);
	free((char *)value->code);
	json_decref(value->json);
}

static struct gp_doc *new_doc(enum gp_doc_kind kind, const char *name, const char *title)
{
	struct gp_doc *doc = calloc(1, sizeof(*doc));

	if (!doc)
		return NULL;
	doc->kind = kind;
	doc->name = gp_show_copy(doc, name);
	doc->title = copy_title(doc, title);
	return doc;
}

struct gp_doc *gp_doc_new(const char *name, const char *title)
{
	return new_doc(GP_DOC_REPORT, name, title);
}

struct gp_doc *gp_doc_new_answer(void)
{
	return new_doc(GP_DOC_ANSWER, NULL, NULL);
}

struct gp_doc *gp_doc_new_list(void)
{
	return new_doc(GP_DOC_LIST, NULL, NULL);
}

static void free_block(struct gp_show_block *block)
{
	for (size_t c = 0; c < block->column_count; c++) {
		free(block->columns[c].key);
		free(block->columns[c].title);
	}
	for (size_t c = 0; c < block->cell_count; c++)
		free_value(&block->cells[c]);
	free_value(&block->value);
	free(block->columns);
	free(block->cells);
	free(block->if_empty);
	free(block->values);
	free(block->key);
	free(block->title);
}

void gp_doc_free(struct gp_doc *doc)
{
	if (!doc)
		return;
	for (size_t i = 0; i < doc->count; i++)
		free_block(&doc->blocks[i]);
	free(doc->blocks);
	free(doc->name);
	free(doc->title);
	free(doc);
}

void gp_doc_title(struct gp_doc *doc, const char *title)
{
	if (!doc)
		return;
	free(doc->title);
	doc->title = gp_show_copy(doc, title);
}

struct gp_show_block *gp_show_block_add(struct gp_doc *doc, enum gp_show_block_type type,
					const char *key)
{
	struct gp_show_block *block;

	if (!doc ||
	    gp_array_grow((void **)&doc->blocks, doc->count, &doc->capacity, sizeof(*block))) {
		if (doc)
			doc->error = -ENOMEM;
		return NULL;
	}
	block = &doc->blocks[doc->count++];
	*block = (struct gp_show_block){.type = type, .key = gp_show_copy(doc, key)};
	return block;
}

static struct gp_show_block *add(struct gp_doc *doc, enum gp_show_block_type type, const char *key,
				 const char *title)
{
	struct gp_show_block *block = gp_show_block_add(doc, type, key);

	if (block)
		block->title = copy_title(doc, title);
	return block;
}

void gp_doc_section(struct gp_doc *doc, const char *key, const char *title)
{
	if (add(doc, GP_BLOCK_SECTION, key, title))
		doc->depth = 1;
}

static void open_block(struct gp_doc *doc, enum gp_show_block_type type, const char *key,
		       const char *title)
{
	if (!add(doc, type, key, title))
		return;
	if (++doc->depth >= GP_DOC_DEPTH)
		doc->error = -E2BIG;
}

void gp_doc_open(struct gp_doc *doc, const char *key, const char *title)
{
	open_block(doc, GP_BLOCK_OPEN, key, title);
}

void gp_doc_open_list(struct gp_doc *doc, const char *key, const char *title)
{
	open_block(doc, GP_BLOCK_LIST, key, title);
}

void gp_doc_close(struct gp_doc *doc)
{
	if (doc && doc->depth && gp_show_block_add(doc, GP_BLOCK_CLOSE, NULL))
		doc->depth--;
}

void gp_doc_fact(struct gp_doc *doc, const char *key, const char *label, struct gp_show_value value)
{
	struct gp_show_block *block = add(doc, GP_BLOCK_FACT, key, label);

	if (block)
		block->value = copy_value(doc, value);
	else
		json_decref(value.json);
}

/* NULL without memory. */
static char *format_text(const char *format, va_list args)
{
	char *text = NULL;

	return vasprintf(&text, format, args) < 0 ? NULL : text;
}

void gp_doc_factf(struct gp_doc *doc, const char *key, const char *label, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = format_text(format, args);
	va_end(args);
	gp_doc_fact(doc, key, label, gp_v_text(text));
	if (doc && !text)
		doc->error = -ENOMEM;
	free(text);
}

static void add_text(struct gp_doc *doc, enum gp_show_block_type type, const char *format,
		     va_list args)
{
	char *text = format_text(gettext(format), args);
	struct gp_show_block *block = gp_show_block_add(doc, type, NULL);

	if (block)
		block->title = text;
	else
		free(text);
	if (doc && !text)
		doc->error = -ENOMEM;
}

void gp_doc_line(struct gp_doc *doc, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_text(doc, GP_BLOCK_LINE, format, args);
	va_end(args);
}

void gp_doc_note(struct gp_doc *doc, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_text(doc, GP_BLOCK_NOTE, format, args);
	va_end(args);
}

void gp_doc_table(struct gp_doc *doc, const char *key, const char *title)
{
	add(doc, GP_BLOCK_TABLE, key, title);
}

struct gp_show_block *gp_show_block_last(struct gp_doc *doc)
{
	return doc && !doc->error && doc->count ? &doc->blocks[doc->count - 1] : NULL;
}

/* The table that columns and cells go to: the block added last. */
static struct gp_show_block *table(struct gp_doc *doc)
{
	struct gp_show_block *block = gp_show_block_last(doc);

	return block && block->type == GP_BLOCK_TABLE ? block : NULL;
}

static struct gp_doc_column *last_column(struct gp_doc *doc)
{
	struct gp_show_block *block = table(doc);

	return block && block->column_count ? &block->columns[block->column_count - 1] : NULL;
}

void gp_doc_if_empty(struct gp_doc *doc, const char *text)
{
	struct gp_show_block *block = table(doc);

	if (!block)
		return;
	free(block->if_empty);
	block->if_empty = copy_title(doc, text ? text : "");
}

void gp_show_column_add(struct gp_doc *doc, struct gp_show_block *block,
			struct gp_doc_column column)
{
	if (gp_array_grow((void **)&block->columns, block->column_count, &block->column_capacity,
			  sizeof(*block->columns))) {
		doc->error = -ENOMEM;
		free(column.key);
		free(column.title);
		return;
	}
	block->columns[block->column_count++] = column;
}

void gp_doc_main(struct gp_doc *doc)
{
	struct gp_show_block *block = table(doc);

	if (block)
		block->main = true;
}

void gp_doc_column(struct gp_doc *doc, const char *key, const char *title)
{
	struct gp_show_block *block = table(doc);

	if (block)
		gp_show_column_add(doc, block,
				   (struct gp_doc_column){
					   .key = gp_show_copy(doc, key),
					   .title = copy_title(doc, title),
					   .optional = doc->kind == GP_DOC_REPORT,
				   });
}

void gp_doc_optional(struct gp_doc *doc)
{
	struct gp_doc_column *column = last_column(doc);

	if (column)
		column->optional = true;
}

void gp_doc_right(struct gp_doc *doc)
{
	struct gp_doc_column *column = last_column(doc);

	if (column)
		column->right = true;
}

void gp_doc_bars(struct gp_doc *doc)
{
	struct gp_doc_column *column = last_column(doc);

	if (column)
		column->bars = true;
}

static void add_cell(struct gp_doc *doc, struct gp_show_block *block, struct gp_show_value value)
{
	bool known = value.text ? value.len : value.unit > GP_UNIT_TEXT;

	if (block->column_count && known) {
		struct gp_doc_column *column =
			&block->columns[block->cell_count % block->column_count];

		column->has_value = true;
		column->has_text |= value.unit < GP_UNIT_COUNT;
	}
	block->cells[block->cell_count++] = copy_value(doc, value);
}

void gp_doc_cell(struct gp_doc *doc, struct gp_show_value value)
{
	gp_show_cell_add(doc, table(doc), value);
}

void gp_show_cell_add(struct gp_doc *doc, struct gp_show_block *block, struct gp_show_value value)
{
	if (block && gp_array_grow((void **)&block->cells, block->cell_count, &block->cell_capacity,
				   sizeof(*block->cells))) {
		doc->error = -ENOMEM;
		block = NULL;
	}
	if (block)
		add_cell(doc, block, value);
	else
		json_decref(value.json);
}

void gp_doc_paint(struct gp_doc *doc, enum gp_show_colour colour)
{
	struct gp_show_block *block = gp_show_block_last(doc);

	if (block && block->cell_count)
		block->cells[block->cell_count - 1].colour = colour;
	else if (block)
		block->value.colour = colour;
}

int gp_doc_error(const struct gp_doc *doc)
{
	return doc ? doc->error : -ENOMEM;
}

bool gp_show_column_shown(const struct gp_show_block *block, size_t column)
{
	const struct gp_doc_column *c = &block->columns[column];

	return c->title && (c->has_value || !c->optional);
}

bool gp_show_column_right(const struct gp_show_block *block, size_t column)
{
	const struct gp_doc_column *c = &block->columns[column];

	return c->right || (c->has_value && !c->has_text);
}

bool gp_show_block_shown(const struct gp_show_block *block)
{
	if (block->type == GP_BLOCK_CLOSE)
		return false;
	if (block->type != GP_BLOCK_TABLE)
		return block->title != NULL;
	if (block->if_empty && !*block->if_empty && !gp_show_block_rows(block))
		return false;
	for (size_t c = 0; c < block->column_count; c++) {
		if (block->columns[c].title)
			return true;
	}
	return false;
}

int gp_show_print(const struct gp_doc *doc, FILE *out, enum gp_show_format format)
{
	struct gp_buf page = {0};
	int error = gp_doc_error(doc);
	json_t *json;

	if (error)
		return error;
	switch (format) {
	case GP_SHOW_TEXT:
		return gp_show_text(doc, out, gp_term_colour(out));
	case GP_SHOW_COLOUR:
		return gp_show_text(doc, out, true);
	case GP_SHOW_JSON:
	case GP_SHOW_JSON_LINE:
		json = gp_doc_json(doc);
		error = gp_json_print(out, json, format == GP_SHOW_JSON_LINE);
		json_decref(json);
		return error;
	case GP_SHOW_CSV:
		return gp_show_print_csv(doc, out, &(struct gp_show_csv){.header = true});
	case GP_SHOW_MARKDOWN:
		error = gp_doc_markdown(doc, &page);
		break;
	case GP_SHOW_HTML:
		error = gp_doc_html(doc, &page);
		break;
	}
	if (!error && (fwrite(gp_buf_str(&page), 1, page.len, out) != page.len || fflush(out)))
		error = -EIO;
	gp_buf_free(&page);
	return error;
}
