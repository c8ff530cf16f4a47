// SPDX-License-Identifier: MIT
/* Pictures of times: distributions on a logarithmic axis, and what happened when. */
#include "base/core.h"
#include "base/i18n.h"
#include "show/plot.h"

#define CURVES_LEFT   70.0
#define CURVES_BOTTOM 250.0
#define CURVES_HEIGHT 280.0
#define LABEL_WIDTH   64.0

#define LANES_LEFT    180.0
#define LANE_ROW      30.0
#define LANE_BAR      18.0

/* ---- distributions ---- */

/* The place on a logarithmic axis, without floating point; straight between powers of two, so that
 * it never has steps. */
static u64 log_position(u64 ns)
{
	u32 highest = ns ? 63 - (u32)__builtin_clzll(ns) : 0;
	u64 rest = ns ^ (ns ? 1ull << highest : 0);

	return ((u64)highest << 16) +
	       (highest > 16 ? rest >> (highest - 16) : rest << (16 - highest));
}

struct axis {
	u64 from, to; /* 1, 2 or 5 times a power of ten */
};

/* 1, 2, 5, 10, 20 .. */
static u64 next_mark(u64 mark)
{
	u64 power = 1;

	while (mark / power >= 10)
		power *= 10;
	return mark == 2 * power ? 5 * power : mark * 2;
}

static struct axis find_axis(const struct gp_show_block *block)
{
	size_t points = block->column_count ? block->value_count / block->column_count : 0;
	u64 least = UINT64_MAX, most = 1;
	struct axis axis = {.from = 1, .to = 1};

	/* A few values near nothing would take most of a logarithmic axis: they begin at its edge.
	 */
	for (size_t i = 0; i < block->value_count; i++) {
		if (points && i % points >= points * 3 / 100)
			least = GP_MIN(least, block->values[i]);
		most = GP_MAX(most, block->values[i]);
	}
	most = GP_MIN(most, 1000000000000000000ull);
	for (u64 mark = 1; mark <= least && mark <= most; mark = next_mark(mark))
		axis.from = mark;
	for (axis.to = next_mark(axis.from); axis.to < most;)
		axis.to = next_mark(axis.to);
	return axis;
}

static double axis_x(const struct axis *axis, u64 ns)
{
	u64 from = log_position(axis->from), to = log_position(axis->to);
	u64 at = log_position(GP_MIN(GP_MAX(ns, axis->from), axis->to));

	return CURVES_LEFT +
	       (GP_SHOW_PLOT_RIGHT - CURVES_LEFT) * (double)(at - from) / (double)(to - from);
}

static void put_axis(struct gp_buf *out, const struct axis *axis)
{
	double last = CURVES_LEFT - LABEL_WIDTH;

	for (int percent = 0; percent <= 100; percent += 25) {
		double y = CURVES_BOTTOM - percent * (CURVES_BOTTOM - GP_SHOW_PLOT_TOP) / 100;

		gp_buf_printf(out,
			      "<path d=\"M%.0f %.1fH%.0f\"/><text x=\"%.0f\" y=\"%.1f\" "
			      "class=\"e\">%d %%</text>",
			      CURVES_LEFT, y, GP_SHOW_PLOT_RIGHT, CURVES_LEFT - 8, y + 4, percent);
	}
	for (u64 mark = axis->from; mark <= axis->to; mark = next_mark(mark)) {
		double x = axis_x(axis, mark);

		gp_buf_printf(out, "<path d=\"M%.1f %.0fV%.0f\"/>", x, GP_SHOW_PLOT_TOP,
			      CURVES_BOTTOM);
		if (x < last + LABEL_WIDTH)
			continue;
		last = x;
		gp_buf_printf(out, "<text x=\"%.1f\" y=\"%.0f\" class=\"%s\">", x,
			      CURVES_BOTTOM + 20, x > GP_SHOW_PLOT_RIGHT - 20 ? "e" : "m");
		gp_show_plot_value(out, gp_v_ns(mark));
		gp_buf_puts(out, "</text>");
	}
}

/* Earlier curves are broader, so that one that lies on another hides nothing; a dot is at 99 %. */
static void put_curve(struct gp_buf *out, const struct gp_show_block *block,
		      const struct axis *axis, size_t curve, size_t points)
{
	const u64 *values = block->values + curve * points;
	double height = CURVES_BOTTOM - GP_SHOW_PLOT_TOP;
	size_t p99 = (points - 1) * 99 / 100;

	gp_buf_printf(out, "<path class=\"l c%zu\" stroke-width=\"%.1f\" d=\"",
		      curve % GP_SHOW_PLOT_COLOURS,
		      2 + 1.2 * (double)(block->column_count - 1 - curve));
	for (size_t i = 0; i < points; i++)
		gp_buf_printf(out, "%c%.1f %.1f", i ? 'L' : 'M', axis_x(axis, values[i]),
			      CURVES_BOTTOM - height * (double)i / (double)(points - 1));
	gp_buf_printf(out, "\"/><circle class=\"c%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>",
		      curve % GP_SHOW_PLOT_COLOURS, axis_x(axis, values[p99]),
		      CURVES_BOTTOM - height * (double)p99 / (double)(points - 1));
	gp_show_plot_text(out, block->columns[curve].title);
	gp_buf_puts(out, ", p99 ");
	gp_show_plot_value(out, gp_v_ns(values[p99]));
	gp_buf_puts(out, "</title></circle>");
}

void gp_show_plot_curves(struct gp_buf *out, const struct gp_show_block *block)
{
	struct axis axis = find_axis(block);
	size_t points = block->column_count ? block->value_count / block->column_count : 0;

	gp_show_plot_legend(out, true);
	for (size_t c = 0; c < block->column_count && points > 1; c++) {
		gp_buf_printf(out, "<span class=\"c%zu\">", c % GP_SHOW_PLOT_COLOURS);
		gp_show_plot_text(out, block->columns[c].title);
		gp_buf_puts(out, " (p99 ");
		gp_show_plot_value(out,
				   gp_v_ns(block->values[c * points + (points - 1) * 99 / 100]));
		gp_buf_puts(out, ")</span> ");
	}
	gp_show_plot_legend(out, false);
	gp_show_plot_begin(out, block, CURVES_HEIGHT);
	put_axis(out, &axis);
	for (size_t c = 0; c < block->column_count && points > 1; c++)
		put_curve(out, block, &axis, c, points);
	gp_show_plot_end(out);
}

/* ---- what happened when ---- */

static const char *span_name(u64 kind)
{
	static const char *const names[GP_SPAN_KINDS] = {
		[GP_SPAN_RUNS] = N_("runs on the GPU"),
		[GP_SPAN_WAITS] = N_("waits for the GPU"),
		[GP_SPAN_SUSPENDED] = N_("suspended by gpreempt"),
	};

	return gettext(names[kind < GP_SPAN_KINDS ? kind : 0]);
}

/* A lane without a name goes on with the one above it. */
static unsigned lane_colour(const struct gp_show_block *block, u64 lane)
{
	unsigned colour = 0;

	for (u64 i = 1; i <= lane; i++)
		colour += *block->columns[i].title != '\0';
	return colour % GP_SHOW_PLOT_COLOURS;
}

static void put_span(struct gp_buf *out, const struct gp_show_block *block, const u64 *span)
{
	double scale = (GP_SHOW_PLOT_RIGHT - LANES_LEFT) / (double)block->step;
	double width = (double)(span[2] - span[1]) * scale;

	gp_buf_printf(out,
		      "<rect class=\"k%u c%u\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" "
		      "height=\"%.0f\"><title>",
		      (unsigned)span[3], lane_colour(block, span[0]),
		      LANES_LEFT + (double)span[1] * scale,
		      GP_SHOW_PLOT_TOP + LANE_ROW * (double)span[0] + (LANE_ROW - LANE_BAR) / 2,
		      GP_MAX(width, 0.8), LANE_BAR);
	gp_show_plot_text(out, span_name(span[3]));
	gp_buf_puts(out, ": ");
	gp_show_plot_value(out, gp_v_ns(span[2] - span[1]));
	gp_buf_puts(out, "</title></rect>");
}

void gp_show_plot_lanes(struct gp_buf *out, const struct gp_show_block *block)
{
	double bottom = GP_SHOW_PLOT_TOP + LANE_ROW * (double)block->column_count;
	bool used[GP_SPAN_KINDS] = {false};

	for (size_t i = 0; i + 4 <= block->value_count; i += 4)
		used[block->values[i + 3] % GP_SPAN_KINDS] = true;
	gp_show_plot_legend(out, true);
	for (u64 kind = 0; kind < GP_SPAN_KINDS; kind++) {
		if (!used[kind])
			continue;
		gp_buf_printf(out, "<span class=\"k%u\">", (unsigned)kind);
		gp_show_plot_text(out, span_name(kind));
		gp_buf_puts(out, "</span> ");
	}
	gp_show_plot_legend(out, false);
	gp_show_plot_begin(out, block, bottom + 28);
	gp_show_plot_times(out, block->step, LANES_LEFT, bottom);
	for (size_t lane = 0; lane < block->column_count; lane++) {
		gp_buf_printf(out, "<text x=\"%.0f\" y=\"%.1f\" class=\"e n\">", LANES_LEFT - 12,
			      GP_SHOW_PLOT_TOP + LANE_ROW * ((double)lane + 0.5) + 4);
		gp_show_plot_text(out, block->columns[lane].title);
		gp_buf_puts(out, "</text>");
	}
	for (size_t i = 0; i + 4 <= block->value_count; i += 4)
		put_span(out, block, block->values + i);
	gp_show_plot_end(out);
}
