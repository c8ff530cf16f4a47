// SPDX-License-Identifier: MIT
/*
 * A document as one HTML page: styles inside, pictures as inline SVG, no script and nothing loaded
 * from elsewhere, so that it opens from a mail or without a network. It follows the reader's light
 * or dark setting. Every text is escaped, and the page's policy also forbids scripts.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/i18n.h"
#include "show/parts.h"

#define CONTENTS 5 /* headings from which on a page has a list of contents */

static const char head[] =
	"<meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
	"'unsafe-inline'\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<meta name=\"color-scheme\" content=\"light dark\">\n<title>";

static void put_string(struct gp_buf *out, const char *text)
{
	gp_show_escape(out, text, strlen(text), NULL);
}

static void put_value(struct gp_buf *out, const struct gp_show_value *value)
{
	gp_show_escape_value(out, value, NULL);
}

double gp_show_amount(const struct gp_show_value *value)
{
	switch (value->unit) {
	case GP_UNIT_COUNT:
	case GP_UNIT_NS:
	case GP_UNIT_BYTES:
		return (double)value->number;
	case GP_UNIT_PERCENT:
	case GP_UNIT_RATE:
	case GP_UNIT_REAL:
		return value->real;
	default:
		return 0;
	}
}

static double column_most(const struct gp_show_block *block, size_t column)
{
	double most = 0;

	for (size_t i = column; i < block->cell_count; i += block->column_count) {
		double value = gp_show_amount(&block->cells[i]);

		most = value > most ? value : most;
	}
	return most;
}

#define BAR_WIDTH 120.0

/* What is the same for every row of a column. */
struct look {
	bool shown, numeric;
	double most; /* of bars; 0 = none are drawn */
};

/* Short words are not broken; long names, which have no blanks, may be anywhere. */
static bool is_short(const struct gp_show_value *value)
{
	return value->unit != GP_UNIT_TEXT || value->len <= 24;
}

/* In its colour, where that says something. */
static void put_painted(struct gp_buf *out, const struct gp_show_value *value)
{
	const char *class = value->colour == GP_RED      ? "r"
			    : value->colour == GP_GREEN  ? "o"
			    : value->colour == GP_YELLOW ? "y"
							 : NULL;

	if (class)
		gp_buf_printf(out, "<span class=\"%s\">", class);
	put_value(out, value);
	if (class)
		gp_buf_puts(out, "</span>");
}

static void put_row(struct gp_buf *out, const struct gp_show_block *block, const struct look *looks,
		    size_t row)
{
	gp_buf_puts(out, "<tr>");
	for (size_t c = 0; c < block->column_count; c++) {
		const struct gp_show_value *value = &block->cells[row * block->column_count + c];

		if (!looks[c].shown)
			continue;
		gp_buf_puts(out, looks[c].numeric  ? "<td class=\"n\">"
				 : is_short(value) ? "<td class=\"w\">"
						   : "<td class=\"x\">");
		put_painted(out, value);
		if (looks[c].most > 0)
			gp_buf_printf(
				out,
				" <svg width=\"%.0f\" height=\"10\" aria-hidden=\"true\"><rect "
				"width=\"%.1f\" height=\"10\"/></svg>",
				BAR_WIDTH, gp_show_amount(value) / looks[c].most * BAR_WIDTH);
		gp_buf_puts(out, "</td>");
	}
	gp_buf_puts(out, "</tr>\n");
}

/* The data does not have it, which is not the same as "none". */
static bool is_absent(const struct gp_show_value *value)
{
	return value->unit == GP_UNIT_TEXT && value->code && strcmp(value->code, "absent") == 0;
}

static void put_caption(struct gp_buf *out, const char *title)
{
	if (!title)
		return;
	gp_buf_puts(out, "<p class=\"k\">");
	put_string(out, title);
	gp_buf_puts(out, "</p>");
}

/* Whether the data has nothing of what the row is about. */
static bool row_absent(const struct gp_show_block *block, size_t row)
{
	const struct gp_show_value *cells = block->cells + row * block->column_count;

	for (size_t c = 1; c < block->column_count; c++)
		if (is_absent(&cells[c]))
			return true;
	return false;
}

/* Rows about which the data says nothing: all in one line. */
static void put_absent_rows(struct gp_buf *out, const struct gp_show_block *block)
{
	bool any = false;

	for (size_t r = 0; r < gp_show_block_rows(block); r++) {
		if (!row_absent(block, r))
			continue;
		gp_buf_puts(out, any ? "; " : "<p class=\"k\">");
		if (!any)
			put_string(out, _("Not in this data: "));
		put_value(out, &block->cells[r * block->column_count]);
		any = true;
	}
	if (any)
		gp_buf_puts(out, "</p>\n");
}

/* Whether a table would be only its head. */
static bool all_absent(const struct gp_show_block *block)
{
	for (size_t r = 0; r < gp_show_block_rows(block); r++)
		if (!row_absent(block, r))
			return false;
	return gp_show_block_rows(block) > 0;
}

static void put_table(struct gp_buf *out, const struct gp_show_block *block)
{
	struct look *looks = calloc(block->column_count + 1, sizeof(*looks));

	if (!looks) {
		out->error = -ENOMEM;
		return;
	}
	for (size_t c = 0; c < block->column_count; c++) {
		looks[c].shown = gp_show_column_shown(block, c);
		looks[c].numeric = gp_show_column_right(block, c);
		looks[c].most = block->columns[c].bars ? column_most(block, c) : 0;
	}
	put_caption(out, block->title);
	if (all_absent(block)) {
		put_absent_rows(out, block);
		free(looks);
		return;
	}
	gp_buf_puts(out, "<div class=\"t\" tabindex=\"0\"><table>");
	gp_buf_puts(out, "<thead><tr>");
	for (size_t c = 0; c < block->column_count; c++) {
		if (!looks[c].shown)
			continue;
		gp_buf_puts(out, looks[c].numeric ? "<th scope=\"col\" class=\"n\">"
						  : "<th scope=\"col\">");
		put_string(out, block->columns[c].title);
		gp_buf_puts(out, "</th>");
	}
	gp_buf_puts(out, "</tr></thead><tbody>\n");
	for (size_t r = 0; r < gp_show_block_rows(block); r++)
		if (!row_absent(block, r))
			put_row(out, block, looks, r);
	gp_buf_puts(out, "</tbody></table></div>\n");
	put_absent_rows(out, block);
	free(looks);
}

/* ---- what is not there ---- */

/* What is said instead of this block, or NULL if it has something to show. */
static const char *absence(const struct gp_show_block *block)
{
	if (block->type == GP_BLOCK_TABLE && !gp_show_block_rows(block))
		return block->if_empty ? block->if_empty : _("none");
	if (block->type == GP_BLOCK_FACT && is_absent(&block->value))
		return block->value.text;
	return NULL;
}

/* Blocks of a section that have nothing to show and say so in the same words: one line. */
static void put_absent(struct gp_buf *out, const struct gp_doc *doc, size_t from, size_t to,
		       bool *said)
{
	for (size_t i = from; i < to; i++) {
		const char *words = gp_show_block_shown(&doc->blocks[i]) && !said[i]
					    ? absence(&doc->blocks[i])
					    : NULL;
		const char *before = "";

		if (!words)
			continue;
		gp_buf_puts(out, "<p class=\"k\">");
		for (size_t k = i; k < to; k++) {
			const struct gp_show_block *block = &doc->blocks[k];
			const char *same = gp_show_block_shown(block) ? absence(block) : NULL;

			if (said[k] || !same || strcmp(same, words) != 0)
				continue;
			said[k] = true;
			if (!block->title)
				continue;
			gp_buf_puts(out, before);
			put_string(out, block->title);
			before = ", ";
		}
		gp_buf_puts(out, *before ? ": " : "");
		put_string(out, words);
		gp_buf_puts(out, "</p>\n");
	}
}

/* ---- the page ---- */

struct page {
	struct gp_buf *out;
	size_t headings;
	bool section;     /* inside one: headings are of the second level */
	const char *list; /* open: "dl" or "ul" */
};

static bool is_chief(const struct gp_show_block *block, bool section)
{
	return gp_show_block_shown(block) && gp_show_block_heads(block) &&
	       (block->type == GP_BLOCK_SECTION || !section);
}

static void set_list(struct page *page, const char *list)
{
	if (page->list == list)
		return;
	if (page->list)
		gp_buf_printf(page->out, "</%s>\n", page->list);
	if (list)
		gp_buf_printf(page->out, *list == 'u' ? "<%s class=\"m\">\n" : "<%s>\n", list);
	page->list = list;
}

static void put_heading(struct page *page, const struct gp_show_block *block)
{
	struct gp_buf *out = page->out;

	page->section |= block->type == GP_BLOCK_SECTION;
	if (is_chief(block, page->section))
		gp_buf_printf(out, "<h2 id=\"s%zu\">", ++page->headings);
	else
		gp_buf_puts(out, "<h3>");
	put_string(out, block->title);
	gp_buf_puts(out, is_chief(block, page->section) ? "</h2>\n" : "</h3>\n");
}

static void put_line(struct gp_buf *out, const char *before, const char *text, const char *after)
{
	gp_buf_puts(out, before);
	put_string(out, text);
	gp_buf_puts(out, after);
}

static void put_block(struct page *page, const struct gp_show_block *block)
{
	struct gp_buf *out = page->out;
	static const char facts[] = "dl", notes[] = "ul";

	set_list(page, block->type == GP_BLOCK_FACT   ? facts
		       : block->type == GP_BLOCK_NOTE ? notes
						      : NULL);
	switch (block->type) {
	case GP_BLOCK_SECTION:
	case GP_BLOCK_OPEN:
	case GP_BLOCK_LIST:
		put_heading(page, block);
		break;
	case GP_BLOCK_FACT:
		put_line(out, "<dt>", block->title, "</dt><dd>");
		put_painted(out, &block->value);
		gp_buf_puts(out, "</dd>\n");
		break;
	case GP_BLOCK_LINE:
		put_line(out, "<p>", block->title, "</p>\n");
		break;
	case GP_BLOCK_NOTE:
		put_line(out, "<li>", block->title, "</li>\n");
		break;
	case GP_BLOCK_HEADLINE:
		put_line(out, "<p class=\"h\"><b>", block->key ? block->key : "", "</b><span>");
		put_line(out, "", block->title, "</span></p>\n");
		break;
	case GP_BLOCK_TABLE:
		put_table(out, block);
		break;
	case GP_BLOCK_SERIES:
	case GP_BLOCK_CURVES:
	case GP_BLOCK_CHART:
	case GP_BLOCK_LANES:
		gp_show_plot(out, block);
		break;
	case GP_BLOCK_CLOSE:
		break;
	}
}

static void put_contents(struct gp_buf *out, const struct gp_doc *doc)
{
	bool section = false;
	size_t count = 0;

	for (size_t i = 0; i < doc->count; i++) {
		section |= doc->blocks[i].type == GP_BLOCK_SECTION;
		count += is_chief(&doc->blocks[i], section);
	}
	if (count < CONTENTS)
		return;
	put_line(out, "<nav aria-label=\"", _("Contents"), "\"><ul>");
	section = false;
	count = 0;
	for (size_t i = 0; i < doc->count; i++) {
		section |= doc->blocks[i].type == GP_BLOCK_SECTION;
		if (!is_chief(&doc->blocks[i], section))
			continue;
		gp_buf_printf(out, "<li><a href=\"#s%zu\">", ++count);
		put_line(out, "", doc->blocks[i].title, "</a></li>");
	}
	gp_buf_puts(out, "</ul></nav>\n");
}

/* When the page was written, and by which version; SOURCE_DATE_EPOCH makes it repeatable. */
static void put_footer(struct gp_buf *out)
{
	const char *fixed = getenv("SOURCE_DATE_EPOCH");
	time_t now = fixed ? (time_t)strtoll(fixed, NULL, 10) : time(NULL);
	char date[64], text[256];
	struct tm tm;

	if (!gmtime_r(&now, &tm) || !strftime(date, sizeof(date), "%Y-%m-%d %H:%M", &tm))
		date[0] = '\0';
	snprintf(text, sizeof(text), _("Written by gpreempt %s, %s UTC"), GP_VERSION, date);
	put_line(out, "<footer>", text, "</footer>\n");
}

static size_t section_end(const struct gp_doc *doc, size_t from)
{
	while (++from < doc->count && !gp_show_block_heads(&doc->blocks[from]))
		;
	return from;
}

/* The blocks of the document; what is missing in a section is said at its end. */
static int put_blocks(struct gp_buf *out, const struct gp_doc *doc)
{
	bool *said = calloc(doc->count + 1, sizeof(*said));
	struct page page = {.out = out};

	if (!said)
		return -ENOMEM;
	for (size_t i = 0, end; i < doc->count; i = end) {
		end = section_end(doc, i);
		for (size_t k = i; k < end; k++)
			if (gp_show_block_shown(&doc->blocks[k]) && !absence(&doc->blocks[k]))
				put_block(&page, &doc->blocks[k]);
		set_list(&page, NULL);
		put_absent(out, doc, i, end, said);
	}
	free(said);
	return 0;
}

int gp_doc_html(const struct gp_doc *doc, struct gp_buf *out)
{
	int error = doc->error;

	if (error)
		return error;
	put_line(out, "<!DOCTYPE html>\n<html lang=\"", C_("the lang attribute of HTML", "en"),
		 "\"><head>");
	put_line(out, head, doc->title ? doc->title : "gpreempt", "</title>\n<style>\n");
	gp_buf_puts(out, gp_show_style);
	gp_buf_puts(out, "</style></head><body><main>\n");
	if (doc->title)
		put_line(out, "<h1>", doc->title, "</h1>\n");
	put_contents(out, doc);
	error = put_blocks(out, doc);
	gp_buf_puts(out, "</main>\n");
	put_footer(out);
	gp_buf_puts(out, "</body></html>\n");
	return error ? error : out->error;
}
