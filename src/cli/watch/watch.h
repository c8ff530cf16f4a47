/* SPDX-License-Identifier: MIT */
/*
 * Takes a reading, once or until it was done often enough or the user ends it (SIGINT, SIGTERM),
 * and writes what it printed. It can be ended at any moment, also while nobody reads the output,
 * and leaves the terminal as it was. Signals are taken through a signalfd, so nothing runs in a
 * handler and nothing is global.
 */
#ifndef GP_CLI_WATCH_WATCH_H
#define GP_CLI_WATCH_WATCH_H

#include <stdio.h>

#include "base/diag.h"
#include "base/core.h"

#define GP_WATCH_MIN (10 * GP_NS_PER_MS)
#define GP_WATCH_MAX (86400 * GP_NS_PER_S)

struct gp_cli_watch {
	struct gp_diag *diag; /* where a failure to write is said */
	bool once;            /* one reading, nothing of what follows */
	u64 interval_ns;
	u64 count;   /* readings; 0 = until ended */
	bool redraw; /* on a terminal: from the top of a cleared screen, cursor hidden */
};

/*
 * `sample` prints a reading to the stream, which is in memory and goes to standard output when it
 * returns 0. Stops at the first reading that does not, or that cannot be written (said), and
 * returns that error; 0 when it was ended.
 */
int gp_cli_watch_run(const struct gp_cli_watch *watch, int (*sample)(void *ctx, FILE *out),
		     void *ctx);

#endif
