// SPDX-License-Identifier: MIT
/* The pictures of an HTML page, as inline SVG. */
#include "base/core.h"
#include "show/parts.h"

static void put_string(struct gp_buf *out, const char *text)
{
	gp_show_escape(out, text, strlen(text), NULL);
}

static void put_value(struct gp_buf *out, const struct gp_show_value *value)
{
	gp_show_escape_value(out, value, NULL);
}

/* A picture of a curve: where it is in the drawing, and what is around it. */
#define CURVE_WIDTH  900.0
#define CURVE_HEIGHT 170.0
#define CURVE_LEFT   70.0
#define CURVE_TOP    10.0
#define CURVE_RIGHT  890.0
#define CURVE_BOTTOM 140.0
#define CURVE_LINES  2   /* above the bottom line, across */
#define CURVE_MARKS  4   /* below it, along */
#define CURVE_TITLES 512 /* values up to which each shows its number under the pointer */

static void begin_figure(struct gp_buf *out, const char *title, double height)
{
	gp_buf_puts(out, "<figure><figcaption>");
	put_string(out, title);
	gp_buf_printf(out,
		      "</figcaption><svg viewBox=\"0 0 %.0f %.0f\" class=\"c\" role=\"img\" "
		      "aria-label=\"",
		      CURVE_WIDTH, height);
	put_string(out, title);
	gp_buf_puts(out, "\">");
}

/* A number at a line across: "1500", "2.4 M"; the curve says how exact. */
static void put_level(struct gp_buf *out, double value)
{
	static const char *const units[] = {"", " k", " M", " G", " T"};
	size_t unit = 0;

	for (; value >= 10000 && unit + 1 < GP_ARRAY_SIZE(units); unit++)
		value /= 1000;
	gp_buf_printf(out, value == (double)(u64)value ? "%.0f%s" : "%.1f%s", value, units[unit]);
}

static void put_frame(struct gp_buf *out, const struct gp_show_block *block, u64 most)
{
	for (int i = 0; i <= CURVE_LINES; i++) {
		double share = (double)i / CURVE_LINES;
		double y = CURVE_BOTTOM - share * (CURVE_BOTTOM - CURVE_TOP);

		gp_buf_printf(
			out,
			"<path d=\"M%.0f %.1fH%.0f\"/><text x=\"%.0f\" y=\"%.1f\" class=\"e\">",
			CURVE_LEFT, y, CURVE_RIGHT, CURVE_LEFT - 8, y + 4);
		put_level(out, share * (double)most);
		gp_buf_puts(out, "</text>");
	}
	for (int i = 0; i <= CURVE_MARKS; i++) {
		struct gp_show_value at =
			gp_v_ns(block->step * block->value_count / CURVE_MARKS * (u64)i);
		double x = CURVE_LEFT + (CURVE_RIGHT - CURVE_LEFT) * i / CURVE_MARKS;

		gp_buf_printf(out, "<text x=\"%.1f\" y=\"%.0f\" class=\"%s\">", x,
			      CURVE_BOTTOM + 20,
			      i == CURVE_MARKS ? "e"
			      : i              ? "m"
					       : "s");
		put_value(out, &at);
		gp_buf_puts(out, "</text>");
	}
}

void gp_show_plot_series(struct gp_buf *out, const struct gp_show_block *block)
{
	double width =
		(CURVE_RIGHT - CURVE_LEFT) / (double)(block->value_count ? block->value_count : 1);
	bool titled = block->value_count <= CURVE_TITLES;
	u64 most = 1;

	for (size_t i = 0; i < block->value_count; i++)
		most = block->values[i] > most ? block->values[i] : most;
	begin_figure(out, block->title, CURVE_HEIGHT);
	put_frame(out, block, most);
	for (size_t i = 0; i < block->value_count; i++) {
		double height =
			(double)block->values[i] / (double)most * (CURVE_BOTTOM - CURVE_TOP);
		struct gp_show_value at = gp_v_ns(block->step * i);

		if (!block->values[i])
			continue;
		gp_buf_printf(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"",
			      CURVE_LEFT + (double)i * width, CURVE_BOTTOM - height, width, height);
		if (titled) {
			gp_buf_puts(out, "><title>");
			put_value(out, &at);
			gp_buf_printf(out, ": %llu</title></rect>",
				      (unsigned long long)block->values[i]);
		} else {
			gp_buf_puts(out, "/>");
		}
	}
	gp_buf_puts(out, "</svg></figure>\n");
}

/* ---- curves over time on a logarithmic axis ---- */

#define CURVES_BOTTOM 240.0
#define CURVES_HEIGHT 270.0
#define LABEL_WIDTH   90.0
#define COLOURS       6 /* .l0 to .l5 of the style */

/* 16 steps to a power of two, without floating point: the place on a logarithmic axis. */
static u32 log_position(u64 ns)
{
	u32 highest = ns ? 63 - (u32)__builtin_clzll(ns) : 0;

	return highest * 16 +
	       ((u32)(highest >= 4 ? ns >> (highest - 4) : ns << (4 - highest)) & 15);
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
	u64 least = UINT64_MAX, most = 1;
	struct axis axis = {.from = 1, .to = 1};

	for (size_t i = 0; i < block->value_count; i++) {
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
	u32 from = log_position(axis->from), to = log_position(axis->to);
	u32 at = log_position(GP_MIN(GP_MAX(ns, axis->from), axis->to));

	return CURVE_LEFT + (CURVE_RIGHT - CURVE_LEFT) * (at - from) / (to - from);
}

static void put_axis(struct gp_buf *out, const struct axis *axis)
{
	double last = 0;

	for (int percent = 0; percent <= 100; percent += 50) {
		double y = CURVES_BOTTOM - percent * (CURVES_BOTTOM - CURVE_TOP) / 100;

		gp_buf_printf(out,
			      "<path d=\"M%.0f %.1fH%.0f\"/><text x=\"%.0f\" y=\"%.1f\" "
			      "class=\"e\">%d %%</text>",
			      CURVE_LEFT, y, CURVE_RIGHT, CURVE_LEFT - 8, y + 4, percent);
	}
	for (u64 mark = axis->from; mark <= axis->to; mark = next_mark(mark)) {
		struct gp_show_value at = gp_v_ns(mark);
		double x = axis_x(axis, mark);

		if (mark > axis->from && mark < axis->to &&
		    (x < last + LABEL_WIDTH || x > CURVE_RIGHT - LABEL_WIDTH))
			continue;
		last = x;
		gp_buf_printf(out, "<text x=\"%.1f\" y=\"%.0f\" class=\"%s\">", x,
			      CURVES_BOTTOM + 20,
			      mark == axis->to     ? "e"
			      : mark == axis->from ? "s"
						   : "m");
		put_value(out, &at);
		gp_buf_puts(out, "</text>");
	}
}

void gp_show_plot_curves(struct gp_buf *out, const struct gp_show_block *block)
{
	struct axis axis = find_axis(block);
	size_t points = block->column_count ? block->value_count / block->column_count : 0;

	begin_figure(out, block->title, CURVES_HEIGHT);
	put_axis(out, &axis);
	for (size_t c = 0; c < block->column_count && points > 1; c++) {
		double y = CURVE_TOP + 20 + 18 * (double)c;

		gp_buf_printf(out, "<path class=\"l l%zu\" d=\"", c % COLOURS);
		for (size_t i = 0; i < points; i++)
			gp_buf_printf(out, "%c%.1f %.1f", i ? 'L' : 'M',
				      axis_x(&axis, block->values[c * points + i]),
				      CURVES_BOTTOM - (CURVES_BOTTOM - CURVE_TOP) * (double)i /
							      (double)(points - 1));
		gp_buf_printf(out, "\"/><path class=\"l l%zu\" d=\"M%.0f %.0fh20\"/>", c % COLOURS,
			      CURVE_LEFT + 12, y - 4);
		gp_buf_printf(out, "<text x=\"%.0f\" y=\"%.0f\">", CURVE_LEFT + 38, y);
		put_string(out, block->columns[c].title);
		gp_buf_puts(out, "</text>");
	}
	gp_buf_puts(out, "</svg></figure>\n");
}
