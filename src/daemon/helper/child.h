/* SPDX-License-Identifier: MIT */
/*
 * Programs that the daemon starts because what they load has no place in it (libcuda, NVML): their
 * output comes line by line, and their end is noticed. They end with the daemon.
 */
#ifndef GP_DAEMON_HELPER_CHILD_H
#define GP_DAEMON_HELPER_CHILD_H

#include <sys/types.h>

#include "base/loop.h"

enum { GP_DAEMON_LINE = 512 }; /* longer ones are cut */

struct gp_daemon;

struct gp_daemon_child {
	struct gp_list link; /* in the daemon */
	struct gp_daemon *daemon;
	pid_t pid;
	int input;             /* its standard input, which ends when this is closed; -1: none */
	struct gp_watch watch; /* its output; fd is -1 once that has ended */
	struct gp_watch exit;  /* its end */
	u64 bytes;             /* that it copies before it ends */
	/* Both may be NULL. The structure is freed after `ended`. */
	void (*line)(struct gp_daemon_child *child, const char *line);
	void (*ended)(struct gp_daemon_child *child, int status);
	void *owner;
	char text[GP_DAEMON_LINE];
	size_t used;
};

/* The path of one of our programs: beside this one, or where it is installed. 0 or -ENOENT. */
int gp_daemon_child_find(const char *program, char *out, size_t size);
/* argv[0] is its path. NULL: it could not be started. */
struct gp_daemon_child *gp_daemon_child_start(struct gp_daemon *daemon, const char *const *argv,
					      bool with_input);
/* Its lines and its end are not reported any more; it is asked to end. */
void gp_daemon_child_leave(struct gp_daemon_child *child);
/* Asks all of them to end, and waits for that, up to a limit that allows for what they copy. No
 * client may refer to one any more. */
void gp_daemon_child_end_all(struct gp_daemon *daemon);

#endif
