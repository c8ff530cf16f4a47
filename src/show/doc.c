// SPDX-License-Identifier: MIT
#include "show/doc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/i18n.h"
#include "base/utf8.h"
#include "show/parts.h"

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

static char *copy_string(struct gp_doc *doc, const char *text)
{
	return text ? copy(doc, text, strlen(text)) : NULL;
}

static struct gp_show_value copy_value(struct gp_doc *doc, struct gp_show_value value)
{
	if (value.unit == GP_UNIT_TEXT) {
		value.text = copy(doc, value.text, value.len);
		if (!value.text)
			value = gp_v_missing();
		else if (value.code)
			value.code = copy_string(doc, value.code);
	}
	return value;
}

static void free_value(struct gp_show_value *value)
{
	if (value->unit != GP_UNIT_TEXT)
		return;
	free((char *)value->text);
	free((char *)value->code);
}

struct gp_doc *gp_doc_new(const char *report, const char *title)
{
	struct gp_doc *doc = calloc(1, sizeof(*doc));

	if (!doc)
		return NULL;
	doc->report = copy_string(doc, report);
	doc->title = copy_string(doc, title);
	return doc;
}

void gp_doc_free(struct gp_doc *doc)
{
	if (!doc)
		return;
	for (size_t i = 0; i < doc->count; i++) {
		struct gp_show_block *block = &doc->blocks[i];

		for (size_t c = 0; c < block->column_count; c++) {
			free(block->columns[c].key);
			free(block->columns[c].title);
		}
		for (size_t c = 0; c < block->cell_count; c++)
			free_value(&block->cells[c]);
		free_value(&block->value);
		free(block->columns);
		free(block->cells);
		free(block->values);
		free(block->key);
		free(block->title);
	}
	free(doc->blocks);
	free(doc->report);
	free(doc->title);
	free(doc);
}

static struct gp_show_block *add(struct gp_doc *doc, enum gp_show_block_type type, const char *key,
				 const char *title)
{
	struct gp_show_block *block;

	if (gp_array_grow((void **)&doc->blocks, doc->count, &doc->capacity, sizeof(*block))) {
		doc->error = -ENOMEM;
		return NULL;
	}
	block = &doc->blocks[doc->count++];
	*block = (struct gp_show_block){.type = type};
	block->key = copy_string(doc, key);
	block->title = copy_string(doc, title);
	return block;
}

void gp_doc_section(struct gp_doc *doc, const char *key, const char *title)
{
	add(doc, GP_BLOCK_SECTION, key, title);
}

void gp_doc_fact(struct gp_doc *doc, const char *key, const char *label, struct gp_show_value value)
{
	struct gp_show_block *block = add(doc, GP_BLOCK_FACT, key, label);

	if (block)
		block->value = copy_value(doc, value);
}

void gp_doc_note(struct gp_doc *doc, const char *format, ...)
{
	struct gp_buf text = {0};
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0 || gp_buf_reserve(&text, (size_t)len + 1)) {
		doc->error = -ENOMEM;
		return;
	}
	va_start(args, format);
	vsnprintf(text.data, (size_t)len + 1, format, args);
	va_end(args);
	add(doc, GP_BLOCK_NOTE, NULL, text.data);
	gp_buf_free(&text);
}

void gp_doc_table(struct gp_doc *doc, const char *key, const char *title)
{
	add(doc, GP_BLOCK_TABLE, key, title);
}

/* The table that columns and cells go to: the block added last. */
static struct gp_show_block *table(struct gp_doc *doc)
{
	if (doc->error || !doc->count || doc->blocks[doc->count - 1].type != GP_BLOCK_TABLE)
		return NULL;
	return &doc->blocks[doc->count - 1];
}

void gp_doc_column(struct gp_doc *doc, const char *key, const char *title)
{
	struct gp_show_block *block = table(doc);

	if (!block)
		return;
	if (gp_array_grow((void **)&block->columns, block->column_count, &block->column_capacity,
			  sizeof(*block->columns))) {
		doc->error = -ENOMEM;
		return;
	}
	block->columns[block->column_count++] = (struct gp_doc_column){
		.key = copy_string(doc, key),
		.title = copy_string(doc, title),
	};
}

void gp_doc_bars(struct gp_doc *doc)
{
	struct gp_show_block *block = table(doc);

	if (block && block->column_count)
		block->columns[block->column_count - 1].bars = true;
}

void gp_doc_cell(struct gp_doc *doc, struct gp_show_value value)
{
	struct gp_show_block *block = table(doc);

	if (!block)
		return;
	if (gp_array_grow((void **)&block->cells, block->cell_count, &block->cell_capacity,
			  sizeof(*block->cells))) {
		doc->error = -ENOMEM;
		return;
	}
	block->cells[block->cell_count++] = copy_value(doc, value);
}

void gp_doc_series(struct gp_doc *doc, const char *key, const char *title, const u64 *values,
		   size_t count, u64 start, u64 step)
{
	struct gp_show_block *block = add(doc, GP_BLOCK_SERIES, key, title);

	if (!block)
		return;
	block->values = malloc(count ? count * sizeof(*values) : 1);
	if (!block->values) {
		doc->error = -ENOMEM;
		return;
	}
	memcpy(block->values, values, count * sizeof(*values));
	block->value_count = count;
	block->start = start;
	block->step = step;
}

int gp_doc_error(const struct gp_doc *doc)
{
	return doc->error;
}

bool gp_show_block_numeric(const struct gp_show_block *block, size_t column)
{
	bool any = false;

	for (size_t i = column; i < block->cell_count; i += block->column_count) {
		if (block->cells[i].unit == GP_UNIT_MISSING)
			continue;
		if (!gp_value_is_number(&block->cells[i]))
			return false;
		any = true;
	}
	return any;
}

static void show_ns(u64 ns, struct gp_buf *out)
{
	if (ns < 1000)
		gp_buf_printf(out, "%llu ns", (unsigned long long)ns);
	else if (ns < 1000000)
		gp_buf_printf(out, "%.2f µs", (double)ns / 1e3);
	else if (ns < 1000000000)
		gp_buf_printf(out, "%.2f ms", (double)ns / 1e6);
	else
		gp_buf_printf(out, "%.3f s", (double)ns / 1e9);
}

static void show_bytes(u64 bytes, struct gp_buf *out)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	double value = (double)bytes;
	size_t unit = 0;

	if (bytes < 1024) {
		gp_buf_printf(out, "%llu B", (unsigned long long)bytes);
		return;
	}
	for (value /= 1024; value >= 1024 && unit + 1 < GP_ARRAY_SIZE(units); value /= 1024)
		unit++;
	gp_buf_printf(out, "%.1f %s", value, units[unit]);
}

void gp_show_value_show(const struct gp_show_value *value, struct gp_buf *out)
{
	switch (value->unit) {
	case GP_UNIT_MISSING:
		gp_buf_puts(out, "-");
		break;
	case GP_UNIT_TEXT:
		gp_buf_add(out, value->text, value->len);
		break;
	case GP_UNIT_COUNT:
		gp_buf_printf(out, "%llu", (unsigned long long)value->number);
		break;
	case GP_UNIT_HEX:
		gp_buf_printf(out, "0x%llx", (unsigned long long)value->number);
		break;
	case GP_UNIT_NS:
		show_ns(value->number, out);
		break;
	case GP_UNIT_BYTES:
		show_bytes(value->number, out);
		break;
	case GP_UNIT_PERCENT:
		/* A share that rounds to nothing is still not nothing. */
		gp_buf_printf(out, value->real > 0 && value->real < 0.1 ? "%.4f %%" : "%.2f %%",
			      value->real);
		break;
	case GP_UNIT_RATE:
		gp_buf_printf(out, "%.1f /s", value->real);
		break;
	case GP_UNIT_REAL:
		gp_buf_printf(out, "%.3g", value->real);
		break;
	case GP_UNIT_BOOL:
		gp_buf_puts(out, value->number ? _("yes") : _("no"));
		break;
	}
}

/* The entity of a character, or NULL. */
static const char *entity(u32 code, bool quotes)
{
	switch (code) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return quotes ? "&quot;" : NULL;
	case '\'':
		return quotes ? "&#39;" : NULL;
	default:
		return NULL;
	}
}

void gp_doc_escape(struct gp_buf *out, const char *text, size_t len, const char *markup)
{
	for (size_t i = 0; i < len;) {
		u32 code;
		size_t step = gp_utf8_next(text + i, len - i, &code);
		const char *named = step ? entity(code, !markup) : NULL;

		if (!step)
			gp_buf_puts(out, "�");
		else if (named)
			gp_buf_puts(out, named);
		else if (code < ' ' || (code >= 0x7f && code < 0xa0))
			gp_buf_puts(out, " ");
		else if (markup && code < 0x80 && strchr(markup, (int)code))
			gp_buf_printf(out, "\\%c", (char)code);
		else
			gp_buf_add(out, text + i, step);
		i += step ? step : 1;
	}
}

void gp_doc_escape_value(struct gp_buf *out, const struct gp_show_value *value, const char *markup)
{
	struct gp_buf text = {0};

	gp_show_value_show(value, &text);
	gp_doc_escape(out, gp_buf_str(&text), text.len, markup);
	gp_buf_free(&text);
}
