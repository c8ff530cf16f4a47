/* SPDX-License-Identifier: MIT */
/*
 * gpreempt top from decisions on disk: the snapshots that gpreemptd wrote (decision_log), one after
 * the other, in the tables of `gpreempt top --once`.
 */
#ifndef GP_CLI_WATCH_TOP_REPLAY_H
#define GP_CLI_WATCH_TOP_REPLAY_H

#include "cli/watch/top_view.h"

struct gp_cli_top_replay {
	const char *path;
	const char *at; /* "14:03", "2026-11-17 14:03:05"; NULL: the last snapshot */
	enum gp_cli_top_sort sort;
	const char *filter;
	bool once;
	enum gp_show_format format; /* TEXT, JSON or CSV */
};

/* On a terminal, keys go back and forth; otherwise one snapshot is printed. -errno after saying
 * why. */
int gp_cli_top_replay(const struct gp_cli_top_replay *replay, struct gp_diag *diag);

#endif
