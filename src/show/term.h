/* SPDX-License-Identifier: MIT */
/*
 * Capabilities of the terminal, and a progress line on stderr for work that takes longer than one
 * second. Nothing here writes to a stream that is not a terminal.
 */
#ifndef GP_SHOW_TERM_H
#define GP_SHOW_TERM_H

#include <stdio.h>

#include "base/diag.h"
#include "base/types.h"
#include "show/value.h"

/* Colour on a terminal, unless NO_COLOR is set (https://no-color.org) or TERM is "dumb". */
bool gp_term_colour(FILE *out);

/* Lines of the terminal on this stream; 0 when it is not one or does not say. */
size_t gp_term_lines(FILE *out);

/* Escape sequence that starts a colour; GP_PLAIN ends it. */
const char *gp_term_colour_code(enum gp_show_colour colour);
/* Terminal cells that a UTF-8 text takes: two for a Chinese character. */
size_t gp_term_width(const char *text);

struct gp_progress {
	bool shown;
	bool wanted;    /* stderr is a terminal */
	u64 started_ns; /* CLOCK_MONOTONIC */
	u64 last_ns;
	const char *step; /* that is shown */
	struct gp_diag *diag;
};

/* `diag`: what prints messages meanwhile; NULL: nothing does. */
void gp_progress_start(struct gp_progress *progress, struct gp_diag *diag);
/* At most a few times per second, in bytes; total 0 = unknown, otherwise the time left is shown.
 * `what` is shown before the figures. */
void gp_progress_update(struct gp_progress *progress, const char *what, u64 done, u64 total);
/* The same for anything that is counted. */
void gp_progress_count(struct gp_progress *progress, const char *what, u64 done, u64 total);
/* For steps of unknown length: which one it is, and the seconds since the start. The first
 * time at once, then as often as the others. */
void gp_progress_step(struct gp_progress *progress, const char *step);
/* Clears the line if one was shown. */
void gp_progress_end(struct gp_progress *progress);

#endif
