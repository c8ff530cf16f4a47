/* SPDX-License-Identifier: MIT */
/*
 * A line on a terminal that says how much of a file was read, at which rate, and how long the rest
 * takes. A separate thread looks at the position of the descriptor, so that no reader has to
 * report it. Nothing happens if stderr is not a terminal.
 */
#ifndef GP_CLI_FILES_READING_H
#define GP_CLI_FILES_READING_H

#include <pthread.h>

#include "show/term.h"

struct gp_cli_file_watch {
	struct gp_progress progress;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool running, over;
	int fd;
	u64 total;
	const char *name;
};

/* The descriptor stays open, and the name valid, until the end; messages go to `diag`. */
void gp_cli_file_watch_begin(struct gp_cli_file_watch *reading, int fd, const char *name,
			     struct gp_diag *diag);
/* Clears the line. */
void gp_cli_file_watch_end(struct gp_cli_file_watch *reading);

#endif
