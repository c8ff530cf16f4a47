/* SPDX-License-Identifier: MIT */
/* What the pictures of a page share: the drawing and its axes. Sizes are those of the drawing,
 * which the page scales. */
#ifndef GP_SHOW_PLOT_H
#define GP_SHOW_PLOT_H

#include "show/parts.h"

#define GP_SHOW_PLOT_WIDTH   900.0
#define GP_SHOW_PLOT_RIGHT   885.0
#define GP_SHOW_PLOT_TOP     10.0
#define GP_SHOW_PLOT_COLOURS 6 /* .c0 to .c5 of the style */

void gp_show_plot_text(struct gp_buf *out, const char *text);
void gp_show_plot_value(struct gp_buf *out, struct gp_show_value value);
/* The same at an axis: 0 has no unit. */
void gp_show_plot_mark(struct gp_buf *out, struct gp_show_value value);
void gp_show_plot_begin(struct gp_buf *out, const struct gp_show_block *block, double height);
void gp_show_plot_end(struct gp_buf *out);
/* A line of a legend, between gp_show_plot_legend(out, true) and (out, false), before the drawing.
 */
void gp_show_plot_legend(struct gp_buf *out, bool begin);

/* The least of 1, 2 and 5 times a power of ten with which `range` has at most `marks` steps. */
double gp_show_plot_step(double range, int marks);
/* The same for nanoseconds: whole minutes where seconds are not round. */
u64 gp_show_plot_step_ns(u64 range, int marks);
/* Lines from top to bottom with times below them, from 0 to range_ns, between left and
 * GP_SHOW_PLOT_RIGHT. */
void gp_show_plot_times(struct gp_buf *out, u64 range_ns, double left, double bottom);

void gp_show_plot_curves(struct gp_buf *out, const struct gp_show_block *block);
void gp_show_plot_lanes(struct gp_buf *out, const struct gp_show_block *block);

#endif
