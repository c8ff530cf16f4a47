/* SPDX-License-Identifier: MIT */
/*
 * Takes a reading once, a number of times, or until a signal (SIGINT, SIGTERM), and writes its
 * output. A signal ends it at any moment, also while the output is not read, and the terminal is
 * restored. Signals arrive through a signalfd: no handler, no global state.
 */
#ifndef GP_CLI_REPEAT_H
#define GP_CLI_REPEAT_H

#include <stdio.h>

#include "base/diag.h"
#include "base/core.h"

#define GP_REPEAT_MIN (10 * GP_NS_PER_MS)
#define GP_REPEAT_MAX (86400 * GP_NS_PER_S)

struct gp_cli_repeat {
	struct gp_diag *diag; /* for failures to write */
	bool once;            /* one reading, nothing of what follows */
	u64 interval_ns;
	u64 count;   /* readings; 0 = until ended */
	bool redraw; /* on a terminal: from the top of a cleared screen, cursor hidden */
};

/*
 * `sample` prints a reading to the stream, which is in memory and goes to standard output when it
 * returns 0. Stops at the first reading that does not, or that cannot be written (with a message),
 * and returns that error; 0 when it was ended.
 */
int gp_cli_repeat_run(const struct gp_cli_repeat *watch, int (*sample)(void *ctx, FILE *out),
		      void *ctx);

#endif
