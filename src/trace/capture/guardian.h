/* SPDX-License-Identifier: MIT */
/*
 * A process that restores something if its parent cannot: it sleeps until the parent dismisses it
 * or ends, even by SIGKILL; in the latter case it calls `restore`. Signals for the parent's
 * terminal or process group do not reach it.
 */
#ifndef GP_TRACE_CAPTURE_GUARDIAN_H
#define GP_TRACE_CAPTURE_GUARDIAN_H

#include <sys/types.h>

struct gp_capture_guardian {
	pid_t pid; /* 0 = none */
	int fd;
};

/* `restore` runs in the new process, with a copy of the parent's memory of now. 0 or -errno. */
int gp_capture_guardian_start(struct gp_capture_guardian *guardian, void (*restore)(void *ctx),
			      void *ctx);
/* Ends it without restoring, and waits for its end. */
void gp_capture_guardian_dismiss(struct gp_capture_guardian *guardian);

#endif
