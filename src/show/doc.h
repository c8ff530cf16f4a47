/* SPDX-License-Identifier: MIT */
/*
 * A document: facts, tables, lines, notes and curves as data. A command or an analysis fills in
 * one and prints it with gp_show_print(), as text for a terminal, JSON, CSV, Markdown or an HTML
 * page.
 *
 * Every part has a key and a title. The key is its name in JSON; NULL leaves the part out of JSON.
 * The title is what people read; NULL leaves the part out of everything but JSON. Titles, labels,
 * lines and notes are given in English and translated here. Text is copied.
 *
 * Running out of memory is remembered: gp_show_print() and gp_doc_error() report it.
 */
#ifndef GP_SHOW_DOC_H
#define GP_SHOW_DOC_H

#include <stdio.h>

#include "base/buf.h"
#include "base/json.h"
#include "show/value.h"

#define GP_DOC_DEPTH 8 /* gp_doc_open() inside gp_doc_open() */

struct gp_doc;

/* A report: {"report": NAME, sections...}. NULL without memory, as the next two. */
struct gp_doc *gp_doc_new(const char *name, const char *title);
/* The answer of a command: one JSON object without a wrapper. */
struct gp_doc *gp_doc_new_answer(void);
/* An answer that is a JSON array: of rows of tables, or of objects (gp_doc_open(doc, NULL, ..)). */
struct gp_doc *gp_doc_new_list(void);
void gp_doc_free(struct gp_doc *doc);
/* The title of an answer, shown as is. */
void gp_doc_title(struct gp_doc *doc, const char *title);

/* Parts up to the next section belong to this one: an object of the outermost level. */
void gp_doc_section(struct gp_doc *doc, const char *key, const char *title);
/*
 * Parts up to gp_doc_close() are members of the object `key`. Without a key they are members of
 * the enclosing object; in a list they are its next element.
 */
void gp_doc_open(struct gp_doc *doc, const char *key, const char *title);
/* An array: tables add their rows, facts their value, gp_doc_open() an object. */
void gp_doc_open_list(struct gp_doc *doc, const char *key, const char *title);
void gp_doc_close(struct gp_doc *doc);

/* "label: value"; values of facts that follow each other are aligned. */
void gp_doc_fact(struct gp_doc *doc, const char *key, const char *label,
		 struct gp_show_value value);
void gp_doc_factf(struct gp_doc *doc, const char *key, const char *label, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* A line of text, not in JSON. */
void gp_doc_line(struct gp_doc *doc, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A sentence; in JSON an element of "notes" of the enclosing object. */
void gp_doc_note(struct gp_doc *doc, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A table: its columns, then its cells row by row. A last row that is not full is dropped. */
void gp_doc_table(struct gp_doc *doc, const char *key, const char *title);
/* Shown instead of a table without rows; NULL: nothing. Default: "none" in a report, else the
 * titles.
 */
void gp_doc_if_empty(struct gp_doc *doc, const char *text);
/* Of the table added last: the list that CSV has; default: the first table that JSON has. */
void gp_doc_main(struct gp_doc *doc);
void gp_doc_column(struct gp_doc *doc, const char *key, const char *title);
/* Of the column added last: left out when no row has a value (always so in a report) .. */
void gp_doc_optional(struct gp_doc *doc);
/* .. aligned right; the default if all its values are numbers .. */
void gp_doc_right(struct gp_doc *doc);
/* .. drawn as bars on the HTML page. */
void gp_doc_bars(struct gp_doc *doc);
void gp_doc_cell(struct gp_doc *doc, struct gp_show_value value);
/* Colours the cell, fact or line added last, where the output has colours. */
void gp_doc_paint(struct gp_doc *doc, enum gp_show_colour colour);

/* The figure that matters most, and what it says. Not in JSON. Both are shown as they are. */
void gp_doc_headline(struct gp_doc *doc, const char *figure, const char *text);

/* A curve: `count` values, the first at `start`, `step` apart, both in nanoseconds. */
void gp_doc_series(struct gp_doc *doc, const char *key, const char *title, const u64 *values,
		   size_t count, u64 start, u64 step);

/*
 * Pictures on the HTML page only. Titles and names are shown as they are.
 *
 * Distributions of times: curves of `count` quantiles, evenly from 0 to 100 %.
 */
void gp_doc_curves(struct gp_doc *doc, const char *title);
void gp_doc_curve(struct gp_doc *doc, const char *name, const u64 *ns, size_t count);

/* Bars side by side, all of one unit. */
void gp_doc_chart(struct gp_doc *doc, const char *title);
void gp_doc_bar(struct gp_doc *doc, const char *name, struct gp_show_value value);

/* What happened when: lanes below each other, each with spans, on an axis from from_ns to to_ns. */
enum gp_doc_span { GP_SPAN_RUNS, GP_SPAN_WAITS, GP_SPAN_SUSPENDED, GP_SPAN_KINDS };

void gp_doc_lanes(struct gp_doc *doc, const char *title, u64 from_ns, u64 to_ns);
void gp_doc_lane(struct gp_doc *doc, const char *name);
void gp_doc_lane_span(struct gp_doc *doc, u64 from_ns, u64 to_ns, enum gp_doc_span kind);

/* 0; -ENOMEM if any call above ran out of memory, -E2BIG if it nested too deep. */
int gp_doc_error(const struct gp_doc *doc);

enum gp_show_format {
	GP_SHOW_TEXT,   /* with colour if the stream is a terminal that shows it */
	GP_SHOW_COLOUR, /* with colour, for text in memory that goes to such a terminal */
	GP_SHOW_JSON,
	GP_SHOW_JSON_LINE, /* on one line, for streams of answers */
	GP_SHOW_MARKDOWN,
	GP_SHOW_HTML, /* one page with everything in it: no script, no other file, light and dark */
	GP_SHOW_CSV,  /* its list with a head, or its facts in one row */
};

/* 0, the document's error, or -EIO if the stream failed. doc may be NULL (out of memory). */
int gp_show_print(const struct gp_doc *doc, FILE *out, enum gp_show_format format);

/* CSV of one reading after another: the head only once, and the time of the reading in front. */
struct gp_show_csv {
	bool header;
	const char *time; /* NULL: no such column */
};

int gp_show_print_csv(const struct gp_doc *doc, FILE *out, const struct gp_show_csv *how);
/* All tables, the facts first: each with a head, its name in the first column, and an empty line
 * before the next. */
int gp_show_print_csv_tables(const struct gp_doc *doc, FILE *out);

/* The same in memory: a new reference, or NULL without memory; 0 or an error. */
json_t *gp_doc_json(const struct gp_doc *doc);
int gp_doc_markdown(const struct gp_doc *doc, struct gp_buf *out);
int gp_doc_html(const struct gp_doc *doc, struct gp_buf *out);

#endif
