// SPDX-License-Identifier: MIT
/*
 * A document as one HTML page: styles inside, pictures as inline SVG, no script and nothing loaded
 * from elsewhere, so that it opens from a mail or without a network. It follows the reader's light
 * or dark setting. Every text is escaped, and the page's policy also forbids scripts.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/i18n.h"
#include "show/parts.h"

static const char head[] =
	"<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
	"'unsafe-inline'\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<meta name=\"color-scheme\" content=\"light dark\">\n<title>";

static const char style[] =
	"</title>\n<style>\n"
	":root{--fg:#1c1e21;--bg:#fff;--dim:#667;--line:#d8dce2;--head:#f3f5f8;--bar:#3b78c3}\n"
	"@media(prefers-color-scheme:dark){:root{--fg:#e3e6ea;--bg:#15181c;--dim:#99a3b0;--line:#"
	"323841;--head:#1e2329;--bar:#5b9be6}}\n"
	"body{font:15px/1.5 "
	"system-ui,sans-serif;color:var(--fg);background:var(--bg);max-width:72rem;margin:2rem "
	"auto;padding:0 1rem}\n"
	"h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2.2rem;border-bottom:1px solid "
	"var(--line)}\n"
	"table{border-collapse:collapse;margin:.8rem 0;display:block;overflow-x:auto}\n"
	"th,td{padding:.25rem .7rem;border-bottom:1px solid "
	"var(--line);text-align:left;vertical-align:top}\n"
	"th{background:var(--head)}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;"
	"white-space:nowrap}\n"
	"td{overflow-wrap:anywhere}caption{text-align:left;color:var(--dim);padding:.3rem 0}\n"
	"dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem "
	"1.2rem}dt{color:var(--dim)}dd{margin:0}\n"
	"td.w{white-space:nowrap}\n"
	"svg{fill:var(--bar)}figure{margin:1rem 0}figcaption{color:var(--dim)}\n"
	"svg.c{display:block;width:100%;height:auto;font-size:12px}svg.c path{stroke:var(--line)}\n"
	"svg.c "
	"path.l{fill:none;stroke-width:2}.l0{color:#2a78d6}.l1{color:#d9480f}.l2{color:#2b8a3e}.l3{"
	"color:#862e9c}.l4{color:#c2255c}.l5{color:#0b7285}svg.c path.l{stroke:currentColor}\n"
	"svg.c text{fill:var(--dim);font-variant-numeric:tabular-nums}rect:hover{opacity:.7}\n"
	".s{text-anchor:start}.m{text-anchor:middle}.e{text-anchor:end}\n"
	"</style></head><body>\n";

static void put_string(struct gp_buf *out, const char *text)
{
	gp_show_escape(out, text, strlen(text), NULL);
}

static void put_value(struct gp_buf *out, const struct gp_show_value *value)
{
	gp_show_escape_value(out, value, NULL);
}

static double amount(const struct gp_show_value *value)
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
		double value = amount(&block->cells[i]);

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
						   : "<td>");
		put_value(out, value);
		if (looks[c].most > 0)
			gp_buf_printf(
				out,
				" <svg width=\"%.0f\" height=\"10\" aria-hidden=\"true\"><rect "
				"width=\"%.1f\" height=\"10\"/></svg>",
				BAR_WIDTH, amount(value) / looks[c].most * BAR_WIDTH);
		gp_buf_puts(out, "</td>");
	}
	gp_buf_puts(out, "</tr>\n");
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
	gp_buf_puts(out, "<table>");
	if (block->title) {
		gp_buf_puts(out, "<caption>");
		put_string(out, block->title);
		gp_buf_puts(out, "</caption>");
	}
	gp_buf_puts(out, "<thead><tr>");
	for (size_t c = 0; c < block->column_count; c++) {
		if (!looks[c].shown)
			continue;
		gp_buf_puts(out, looks[c].numeric ? "<th class=\"n\">" : "<th>");
		put_string(out, block->columns[c].title);
		gp_buf_puts(out, "</th>");
	}
	gp_buf_puts(out, "</tr></thead><tbody>\n");
	for (size_t r = 0; r < gp_show_block_rows(block); r++)
		put_row(out, block, looks, r);
	gp_buf_puts(out, "</tbody></table>\n");
	free(looks);
}

static void put_block(struct gp_buf *out, const struct gp_show_block *block)
{
	switch (block->type) {
	case GP_BLOCK_SECTION:
	case GP_BLOCK_OPEN:
	case GP_BLOCK_LIST:
		gp_buf_puts(out, "<h2>");
		put_string(out, block->title);
		gp_buf_puts(out, "</h2>\n");
		break;
	case GP_BLOCK_FACT:
		gp_buf_puts(out, "<dt>");
		put_string(out, block->title);
		gp_buf_puts(out, "</dt><dd>");
		put_value(out, &block->value);
		gp_buf_puts(out, "</dd>\n");
		break;
	case GP_BLOCK_LINE:
	case GP_BLOCK_NOTE:
		gp_buf_puts(out, "<p>");
		put_string(out, block->title);
		gp_buf_puts(out, "</p>\n");
		break;
	case GP_BLOCK_TABLE:
		put_table(out, block);
		break;
	case GP_BLOCK_SERIES:
		gp_show_plot_series(out, block);
		break;
	case GP_BLOCK_CURVES:
		gp_show_plot_curves(out, block);
		break;
	case GP_BLOCK_CLOSE:
		break;
	}
}

int gp_doc_html(const struct gp_doc *doc, struct gp_buf *out)
{
	bool facts = false;

	if (doc->error)
		return doc->error;
	gp_buf_puts(out, head);
	put_string(out, doc->title ? doc->title : "gpreempt");
	gp_buf_puts(out, style);
	if (doc->title) {
		gp_buf_puts(out, "<h1>");
		put_string(out, doc->title);
		gp_buf_puts(out, "</h1>\n");
	}
	for (size_t i = 0; i < doc->count; i++) {
		bool fact = doc->blocks[i].type == GP_BLOCK_FACT;

		if (!gp_show_block_shown(&doc->blocks[i]))
			continue;
		if (fact != facts)
			gp_buf_puts(out, fact ? "<dl>\n" : "</dl>\n");
		facts = fact;
		put_block(out, &doc->blocks[i]);
	}
	if (facts)
		gp_buf_puts(out, "</dl>\n");
	gp_buf_puts(out, "</body></html>\n");
	return out->error;
}
