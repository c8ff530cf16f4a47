/* SPDX-License-Identifier: MIT */
/*
 * A report as data: sections of facts, tables, series and notes. An analysis fills one in once;
 * writers turn it into text for a terminal, JSON, Markdown or an HTML page. Values carry their
 * unit, so that JSON has the number (nanoseconds, bytes) and people see "11.23 ms".
 *
 * Keys are for JSON and never translated; titles, labels and notes are. Text handed in is copied.
 * Running out of memory is remembered; the writers report it.
 */
#ifndef GP_SHOW_DOC_H
#define GP_SHOW_DOC_H

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/types.h"

enum gp_show_unit {
	GP_UNIT_MISSING, /* "-", null */
	GP_UNIT_TEXT,
	GP_UNIT_COUNT,
	GP_UNIT_HEX,
	GP_UNIT_NS,
	GP_UNIT_BYTES,
	GP_UNIT_PERCENT,
	GP_UNIT_RATE, /* per second */
	GP_UNIT_REAL,
	GP_UNIT_BOOL,
};

struct gp_show_value {
	enum gp_show_unit unit;
	u64 number; /* COUNT, HEX, NS, BYTES, BOOL */
	double real;
	const char *text; /* TEXT; `len` bytes */
	size_t len;
	const char *code; /* TEXT: what JSON says instead of a translated word; or NULL */
};

static inline struct gp_show_value gp_v_missing(void)
{
	return (struct gp_show_value){0};
}
static inline struct gp_show_value gp_v_textn(const char *text, size_t len)
{
	return (struct gp_show_value){.unit = GP_UNIT_TEXT, .text = text, .len = len};
}
static inline struct gp_show_value gp_v_text(const char *text)
{
	return text ? gp_v_textn(text, strlen(text)) : gp_v_missing();
}
/* A word of ours: `code` in JSON, `text` (translated) elsewhere. */
static inline struct gp_show_value gp_v_word(const char *code, const char *text)
{
	struct gp_show_value value = gp_v_text(text);

	value.code = code;
	return value;
}
static inline struct gp_show_value gp_v_number(enum gp_show_unit unit, u64 number)
{
	return (struct gp_show_value){.unit = unit, .number = number};
}
static inline struct gp_show_value gp_v_count(u64 number)
{
	return gp_v_number(GP_UNIT_COUNT, number);
}
static inline struct gp_show_value gp_v_ns(u64 number)
{
	return gp_v_number(GP_UNIT_NS, number);
}
static inline struct gp_show_value gp_v_real(enum gp_show_unit unit, double real)
{
	return (struct gp_show_value){.unit = unit, .real = real};
}
static inline struct gp_show_value gp_v_if(bool known, struct gp_show_value value)
{
	return known ? value : gp_v_missing();
}

struct gp_doc;

/* `report` names it in JSON ("compare"). NULL without memory. */
struct gp_doc *gp_doc_new(const char *report, const char *title);
void gp_doc_free(struct gp_doc *doc);
/* What follows, up to the next section, is its. The first comes before anything else. */
void gp_doc_section(struct gp_doc *doc, const char *key, const char *title);
void gp_doc_fact(struct gp_doc *doc, const char *key, const char *label,
		 struct gp_show_value value);
/* A sentence. */
void gp_doc_note(struct gp_doc *doc, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A table: its columns, then cells row by row. `title` may be NULL. */
void gp_doc_table(struct gp_doc *doc, const char *key, const char *title);
void gp_doc_column(struct gp_doc *doc, const char *key, const char *title);
/* The page draws the column added last as bars. */
void gp_doc_bars(struct gp_doc *doc);
void gp_doc_cell(struct gp_doc *doc, struct gp_show_value value);
/* A curve: `count` values, the first at `start`, `step` apart, both nanoseconds. */
void gp_doc_series(struct gp_doc *doc, const char *key, const char *title, const u64 *values,
		   size_t count, u64 start, u64 step);

/* 0, or -ENOMEM if any call above ran out of memory. */
int gp_doc_error(const struct gp_doc *doc);

/* How people see a value. */
void gp_show_value_show(const struct gp_show_value *value, struct gp_buf *out);

/* The writers; 0, -ENOMEM, or -EIO when the stream failed. */
int gp_doc_print(const struct gp_doc *doc, FILE *out, bool colour);
json_t *gp_doc_json(const struct gp_doc *doc);
int gp_doc_markdown(const struct gp_doc *doc, struct gp_buf *out);
/* One page with everything in it: no script, no other file, light and dark. */
int gp_doc_html(const struct gp_doc *doc, struct gp_buf *out);

#endif
