/*
 * Repeats a reading until it was done often enough or the user ends it (SIGINT, SIGTERM), and
 * leaves the terminal as it was. Signals are taken through a signalfd, so nothing runs in a
 * handler and nothing is global.
 */
#ifndef GP_CLI_WATCH_H
#define GP_CLI_WATCH_H

#include "base/types.h"

#define GP_WATCH_SECONDS_MAX 86400.0

struct gp_watch {
	u64 interval_ns;
	u64 count;   /* readings; 0 = until ended */
	bool redraw; /* on a terminal: from the top of a cleared screen, cursor hidden */
};

/* "0.5" as a time; false when it is none between 0.01 s and a day. */
bool gp_watch_seconds(const char *text, u64 *interval_ns);

/* Stops at the first reading that does not return 0 and returns what it returned. */
int gp_watch_run(const struct gp_watch *watch, int (*sample)(void *ctx), void *ctx);

#endif
