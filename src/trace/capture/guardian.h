/* SPDX-License-Identifier: MIT */
/*
 * A process that puts something back when its maker does not: it sleeps until its maker says that
 * all is well or is gone, killed with SIGKILL too, and in that case calls `restore`. Signals for
 * the maker's terminal or group do not reach it.
 */
#ifndef GP_TRACE_CAPTURE_GUARDIAN_H
#define GP_TRACE_CAPTURE_GUARDIAN_H

#include <sys/types.h>

struct gp_capture_guardian {
	pid_t pid; /* 0 = none */
	int fd;
};

/* `restore` runs in the new process, with what its maker had in memory now. 0 or -errno. */
int gp_capture_guardian_start(struct gp_capture_guardian *guardian, void (*restore)(void *ctx),
			      void *ctx);
/* All is well: it ends without restoring. Waits for its end. */
void gp_capture_guardian_dismiss(struct gp_capture_guardian *guardian);

#endif
