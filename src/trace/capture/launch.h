/* SPDX-License-Identifier: MIT */
/*
 * Runs the program that is watched: with AMD logging on, its output where it belongs, signals
 * passed on, and its end awaited.
 */
#ifndef GP_TRACE_CAPTURE_LAUNCH_H
#define GP_TRACE_CAPTURE_LAUNCH_H

#include "base/diag.h"
#include "base/types.h"

#define GP_LAUNCH_NOT_FOUND  127
#define GP_LAUNCH_CANNOT_RUN 126

struct gp_capture_launch {
	char **argv;           /* NULL-terminated */
	const char *container; /* run it in there, by docker or podman; NULL = here */
	/* Where each process's log goes, with "_PID" behind it; in a container, whose files are its
	 * own, where all that the program writes to standard error goes. */
	const char *log;
	bool quiet; /* standard output goes to standard error: ours carries data */
};

/* 0: it ran, and *status is its own, or 128 + N when signal N ended it. -errno after an error
 * message; then *status is one of the above if the program is to blame, and else as it was. */
int gp_capture_launch_run(const struct gp_capture_launch *launch, int *status,
			  struct gp_diag *diag);

#endif
