// SPDX-License-Identifier: MIT
/* One page with the tables' figures and the latency of every job as a curve. No script, no other
 * file: inline SVG and CSS that follows the reader's dark or light setting. */
#include <errno.h>
#include <string.h>

#include "base/core.h"
#include "base/i18n.h"
#include "sim/output.h"

enum { WIDTH = 860, HEIGHT = 300, MARGIN = 46, STEPS = 100 };

static const char style[] =
	":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:60em;"
	"margin:2em auto;padding:0 1em}table{border-collapse:collapse;margin:1em "
	"0}th,td{padding:.25em "
	".7em;text-align:right;border-bottom:1px solid #8884}th:nth-child(-n+2),td:nth-child(-n+2)"
	"{text-align:left}svg{width:100%;height:auto}text{fill:currentColor;font-size:12px}"
	".axis{stroke:currentColor;opacity:.5}.c0{stroke:#2a78d6}.c1{stroke:#d9480f}.c2{stroke:#"
	"2b8a3e}"
	".c3{stroke:#862e9c}.c4{stroke:#c2255c}.c5{stroke:#0b7285}path{fill:none;stroke-width:2}";

void gp_sim_html_text(struct gp_buf *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			gp_buf_puts(out, "&amp;");
			break;
		case '<':
			gp_buf_puts(out, "&lt;");
			break;
		case '>':
			gp_buf_puts(out, "&gt;");
			break;
		case '"':
			gp_buf_puts(out, "&quot;");
			break;
		default:
			gp_buf_add(out, text, 1);
		}
	}
}

/* 16 steps to a power of two, without floating point: where on a logarithmic axis a time is. */
static u32 log_position(u64 ns)
{
	u32 highest = ns ? 63 - (u32)__builtin_clzll(ns) : 0;
	u32 below =
		highest >= 4 ? (u32)(ns >> (highest - 4)) & 15 : (u32)(ns << (4 - highest)) & 15;

	return highest * 16 + below;
}

struct axis {
	u32 from, to; /* log_position() */
};

static u32 x_of(const struct axis *axis, u64 ns)
{
	u32 at = log_position(ns);

	at = at < axis->from ? axis->from : at > axis->to ? axis->to : at;
	return MARGIN + (at - axis->from) * (WIDTH - 2 * MARGIN) / (axis->to - axis->from);
}

static void curve(struct gp_buf *out, const struct gp_histogram *latency, const struct axis *axis,
		  u32 colour)
{
	gp_buf_printf(out, "<path class=\"c%u\" d=\"", colour % 6);
	for (u32 i = 0; i <= STEPS; i++) {
		u64 ns = gp_histogram_at(latency, i * 1000 / STEPS);

		gp_buf_printf(out, "%c%u %u", i ? 'L' : 'M', x_of(axis, ns),
			      HEIGHT - MARGIN - i * (HEIGHT - 2 * MARGIN) / STEPS);
	}
	gp_buf_puts(out, "\"/>");
}

static void plot(struct gp_buf *out, const struct gp_sim_row *rows, size_t count, u32 job)
{
	struct axis axis = {UINT32_MAX, 0};
	u32 shown = 0;

	for (size_t r = 0; r < count; r++) {
		const struct gp_histogram *latency = &rows[r].result.jobs[job].latency;

		if (!latency->count)
			continue;
		axis.from = GP_MIN(axis.from, log_position(latency->min) / 16 * 16);
		axis.to = GP_MAX(axis.to, log_position(latency->max) / 16 * 16 + 16);
		shown++;
	}
	if (!shown)
		return;
	gp_buf_puts(out, "<h2>");
	gp_sim_html_text(out, rows[0].scenario->jobs[job].name);
	gp_buf_printf(out, "</h2><svg viewBox=\"0 0 %d %d\" role=\"img\">", WIDTH, HEIGHT);
	gp_buf_printf(out, "<path class=\"axis\" d=\"M%d %dH%dM%d %dV%d\"/>", MARGIN,
		      HEIGHT - MARGIN, WIDTH - MARGIN, MARGIN, MARGIN, HEIGHT - MARGIN);
	for (u32 at = axis.from; at <= axis.to;
	     at += 16 * GP_MAX(1u, (axis.to - axis.from) / 128)) {
		u64 ns = 1ull << at / 16;
		u32 x = x_of(&axis, ns);

		if (ns < GP_NS_PER_MS)
			gp_buf_printf(out, "<text x=\"%u\" y=\"%d\">%.3g us</text>", x,
				      HEIGHT - MARGIN + 16, (double)ns / 1e3);
		else
			gp_buf_printf(out, "<text x=\"%u\" y=\"%d\">%.3g ms</text>", x,
				      HEIGHT - MARGIN + 16, (double)ns / 1e6);
	}
	shown = 0;
	for (size_t r = 0; r < count; r++) {
		const struct gp_histogram *latency = &rows[r].result.jobs[job].latency;

		if (!latency->count)
			continue;
		curve(out, latency, &axis, (u32)r);
		gp_buf_printf(out, "<path class=\"c%zu\" d=\"M%d %dh20\"/><text x=\"%d\" y=\"%d\">",
			      r % 6, MARGIN + 12, MARGIN - 4 + (int)shown * 16, MARGIN + 38,
			      MARGIN + (int)shown * 16);
		gp_sim_html_text(out, rows[r].label);
		gp_buf_puts(out, "</text>");
		shown++;
	}
	gp_buf_puts(out, "</svg>");
}

static void table(struct gp_buf *out, const struct gp_sim_row *rows, size_t count)
{
	gp_buf_printf(
		out, "<table><tr><th>%s<th>%s<th>%s<th>p50 (us)<th>p99 (us)<th>max (us)<th>%s</tr>",
		_("policy"), _("job"), _("requests"), _("preempted"));
	for (size_t r = 0; r < count; r++) {
		for (u32 i = 0; i < rows[r].result.job_count; i++) {
			const struct gp_sim_job_result *job = &rows[r].result.jobs[i];

			if (!job->arrived)
				continue;
			gp_buf_puts(out, "<tr><td>");
			gp_sim_html_text(out, rows[r].label);
			gp_buf_puts(out, "<td>");
			gp_sim_html_text(out, rows[r].scenario->jobs[i].name);
			gp_buf_printf(out, "<td>%llu<td>%.1f<td>%.1f<td>%.1f<td>%llu</tr>",
				      (unsigned long long)job->completed,
				      (double)gp_histogram_at(&job->latency, 500) / 1e3,
				      (double)gp_histogram_at(&job->latency, 990) / 1e3,
				      (double)job->latency.max / 1e3,
				      (unsigned long long)job->suspends);
		}
	}
	gp_buf_puts(out, "</table>");
}

int gp_sim_html(const struct gp_sim_row *rows, size_t count, struct gp_buf *out)
{
	const char *title = rows[0].scenario->title;

	gp_buf_puts(out,
		    "<!doctype html><html><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
		    "content=\"width=device-width\"><title>");
	gp_sim_html_text(out, *title ? title : "gpreempt sim");
	gp_buf_printf(out, "</title><style>%s</style></head><body><h1>", style);
	gp_sim_html_text(out, *title ? title : "gpreempt sim");
	gp_buf_printf(
		out, "</h1><p>%s</p>",
		_("Times are the model's, not measurements. Curves: the share of requests that "
		  "took at most so long."));
	table(out, rows, count);
	for (u32 job = 0; job < rows[0].result.job_count; job++)
		plot(out, rows, count, job);
	gp_buf_puts(out, "</body></html>\n");
	return out->error;
}
