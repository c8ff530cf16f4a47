// SPDX-License-Identifier: MIT
/* The pictures of an HTML page, as inline SVG: axes, values over time, bars. */
#include "show/plot.h"

#include "base/core.h"

#define SERIES_LEFT   70.0
#define SERIES_BOTTOM 140.0
#define SERIES_HEIGHT 170.0
#define SERIES_LINES  4
#define SERIES_TITLES 512 /* values up to which each shows its number under the pointer */
#define TIME_MARKS    8

#define CHART_LEFT    200.0
#define CHART_RIGHT   770.0 /* the value of the longest bar is behind it */
#define CHART_ROW     32.0
#define CHART_BAR     20.0
#define CHART_MARKS   6

void gp_show_plot_text(struct gp_buf *out, const char *text)
{
	gp_show_escape(out, text, strlen(text), NULL);
}

void gp_show_plot_value(struct gp_buf *out, struct gp_show_value value)
{
	gp_show_escape_value(out, &value, NULL);
}

void gp_show_plot_mark(struct gp_buf *out, struct gp_show_value value)
{
	if (gp_show_amount(&value) > 0)
		gp_show_plot_value(out, value);
	else
		gp_buf_puts(out, "0");
}

void gp_show_plot_begin(struct gp_buf *out, const struct gp_show_block *block, double height)
{
	gp_buf_printf(out,
		      "<div class=\"t\" tabindex=\"0\"><svg viewBox=\"0 0 %.0f %.0f\" "
		      "class=\"p\" role=\"img\" aria-label=\"",
		      GP_SHOW_PLOT_WIDTH, height);
	gp_show_plot_text(out, block->title);
	gp_buf_puts(out, "\">");
}

void gp_show_plot_end(struct gp_buf *out)
{
	gp_buf_puts(out, "</svg></div>");
}

void gp_show_plot_legend(struct gp_buf *out, bool begin)
{
	gp_buf_puts(out, begin ? "<p class=\"g\">" : "</p>");
}

/* ---- axes ---- */

double gp_show_plot_step(double range, int marks)
{
	static const double digits[] = {1, 2, 5, 10};
	double power = 1, least = range / marks;

	if (!(least > 0))
		return 1;
	for (; power * 10 <= least; power *= 10)
		;
	for (; power > least; power /= 10)
		;
	for (size_t i = 0; i < GP_ARRAY_SIZE(digits); i++)
		if (digits[i] * power >= least)
			return digits[i] * power;
	return 10 * power;
}

u64 gp_show_plot_step_ns(u64 range, int marks)
{
	u64 minute = 60 * GP_NS_PER_S;
	double step = gp_show_plot_step((double)range, marks);

	if (step > (double)minute / 2) {
		step = gp_show_plot_step((double)range / (double)minute, marks);
		return step < 1 ? minute : (u64)step * minute;
	}
	return step < 1 ? 1 : (u64)step;
}

void gp_show_plot_times(struct gp_buf *out, u64 range_ns, double left, double bottom)
{
	u64 step = gp_show_plot_step_ns(range_ns, TIME_MARKS);

	for (u64 at = 0; at <= range_ns; at += step) {
		double x = left +
			   (GP_SHOW_PLOT_RIGHT - left) * (double)at / (double)GP_MAX(range_ns, 1u);

		gp_buf_printf(
			out,
			"<path d=\"M%.1f %.0fV%.0f\"/><text x=\"%.1f\" y=\"%.0f\" class=\"%s\">", x,
			GP_SHOW_PLOT_TOP, bottom, x, bottom + 20,
			x > GP_SHOW_PLOT_RIGHT - 20 ? "e" : "m");
		gp_show_plot_mark(out, gp_v_ns(at));
		gp_buf_puts(out, "</text>");
	}
}

/* A number at a line across: "1500", "2.4 M". */
static void put_level(struct gp_buf *out, double value)
{
	static const char *const units[] = {"", " k", " M", " G", " T"};
	size_t unit = 0;

	for (; value >= 10000 && unit + 1 < GP_ARRAY_SIZE(units); unit++)
		value /= 1000;
	gp_buf_printf(out, "%g%s", value, units[unit]);
}

/* ---- values over time ---- */

static double put_levels(struct gp_buf *out, u64 most)
{
	double step = gp_show_plot_step((double)most, SERIES_LINES), top = 0;

	step = step < 1 ? 1 : step;
	while (top < (double)most)
		top += step;
	for (double level = 0; level <= top; level += step) {
		double y = SERIES_BOTTOM - level / top * (SERIES_BOTTOM - GP_SHOW_PLOT_TOP);

		gp_buf_printf(
			out,
			"<path d=\"M%.0f %.1fH%.0f\"/><text x=\"%.0f\" y=\"%.1f\" class=\"e\">",
			SERIES_LEFT, y, GP_SHOW_PLOT_RIGHT, SERIES_LEFT - 8, y + 4);
		put_level(out, level);
		gp_buf_puts(out, "</text>");
	}
	return top;
}

static void put_series(struct gp_buf *out, const struct gp_show_block *block)
{
	size_t count = GP_MAX(block->value_count, (size_t)1);
	double width = (GP_SHOW_PLOT_RIGHT - SERIES_LEFT) / (double)count, top;
	bool titled = count <= SERIES_TITLES;
	u64 most = 1;

	for (size_t i = 0; i < block->value_count; i++)
		most = GP_MAX(most, block->values[i]);
	gp_show_plot_begin(out, block, SERIES_HEIGHT);
	top = put_levels(out, most);
	gp_show_plot_times(out, block->step * count, SERIES_LEFT, SERIES_BOTTOM);
	for (size_t i = 0; i < block->value_count; i++) {
		double height = (double)block->values[i] / top * (SERIES_BOTTOM - GP_SHOW_PLOT_TOP);

		if (!block->values[i])
			continue;
		gp_buf_printf(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"",
			      SERIES_LEFT + (double)i * width, SERIES_BOTTOM - height, width,
			      height);
		if (titled) {
			gp_buf_puts(out, "><title>");
			gp_show_plot_value(out, gp_v_ns(block->step * i));
			gp_buf_printf(out, ": %llu</title></rect>",
				      (unsigned long long)block->values[i]);
		} else {
			gp_buf_puts(out, "/>");
		}
	}
	gp_show_plot_end(out);
}

/* ---- bars ---- */

static struct gp_show_value with_unit(enum gp_show_unit unit, double amount)
{
	struct gp_show_value value = {.unit = unit};

	if (unit == GP_UNIT_PERCENT || unit == GP_UNIT_RATE || unit == GP_UNIT_REAL)
		value.real = amount;
	else
		value.number = (u64)amount;
	return value;
}

static void put_chart_axis(struct gp_buf *out, enum gp_show_unit unit, double most, double bottom)
{
	double step = unit == GP_UNIT_NS ? (double)gp_show_plot_step_ns((u64)most, CHART_MARKS)
					 : gp_show_plot_step(most, CHART_MARKS);

	for (double at = 0; at <= most; at += step) {
		double x = CHART_LEFT + (CHART_RIGHT - CHART_LEFT) * at / most;

		gp_buf_printf(
			out,
			"<path d=\"M%.1f %.0fV%.0f\"/><text x=\"%.1f\" y=\"%.0f\" class=\"m\">", x,
			GP_SHOW_PLOT_TOP, bottom, x, bottom + 20);
		if (unit == GP_UNIT_COUNT || unit == GP_UNIT_REAL)
			put_level(out, at);
		else
			gp_show_plot_mark(out, with_unit(unit, at));
		gp_buf_puts(out, "</text>");
	}
}

static void put_chart(struct gp_buf *out, const struct gp_show_block *block)
{
	size_t bars = GP_MIN(block->column_count, block->cell_count);
	double most = 0, bottom = GP_SHOW_PLOT_TOP + CHART_ROW * (double)bars;
	enum gp_show_unit unit = GP_UNIT_MISSING;

	for (size_t i = 0; i < bars; i++) {
		most = GP_MAX(most, gp_show_amount(&block->cells[i]));
		unit = unit == GP_UNIT_MISSING ? block->cells[i].unit : unit;
	}
	most = most > 0 ? most : 1;
	gp_show_plot_begin(out, block, bottom + 28);
	put_chart_axis(out, unit, most, bottom);
	for (size_t i = 0; i < bars; i++) {
		double y = GP_SHOW_PLOT_TOP + CHART_ROW * (double)i;
		double width = (CHART_RIGHT - CHART_LEFT) * gp_show_amount(&block->cells[i]) / most;

		gp_buf_printf(out, "<text x=\"%.0f\" y=\"%.1f\" class=\"e n\">", CHART_LEFT - 10,
			      y + CHART_ROW / 2 + 4);
		gp_show_plot_text(out, block->columns[i].title);
		gp_buf_printf(out,
			      "</text><rect class=\"c%zu\" x=\"%.0f\" y=\"%.1f\" width=\"%.1f\" "
			      "height=\"%.0f\"/><text x=\"%.1f\" y=\"%.1f\" class=\"s n\">",
			      i % GP_SHOW_PLOT_COLOURS, CHART_LEFT, y + (CHART_ROW - CHART_BAR) / 2,
			      GP_MAX(width, 1.5), CHART_BAR, CHART_LEFT + width + 8,
			      y + CHART_ROW / 2 + 4);
		gp_show_plot_value(out, block->cells[i]);
		gp_buf_puts(out, "</text>");
	}
	gp_show_plot_end(out);
}

void gp_show_plot(struct gp_buf *out, const struct gp_show_block *block)
{
	gp_buf_puts(out, "<figure><figcaption>");
	gp_show_plot_text(out, block->title);
	gp_buf_puts(out, "</figcaption>");
	if (block->type == GP_BLOCK_SERIES)
		put_series(out, block);
	else if (block->type == GP_BLOCK_CURVES)
		gp_show_plot_curves(out, block);
	else if (block->type == GP_BLOCK_CHART)
		put_chart(out, block);
	else
		gp_show_plot_lanes(out, block);
	gp_buf_puts(out, "</figure>\n");
}
