/* SPDX-License-Identifier: MIT */
/*
 * Whether the host has stopped a process: by a signal (SIGSTOP, Ctrl-Z), by a debugger, or by the
 * freezer of a control group (v1 or v2; `podman pause`). Such a process answers nothing and
 * finishes nothing until it is continued.
 *
 * The kernel reports a change only for the freezer of v2 (struct gp_stopped_watch); the others must
 * be looked at. A debugger or strace stops a thread for an instant at every system call, so a stop
 * by signal or debugger counts only if two looks agree: gp_stopped_agree().
 */
#ifndef GP_BASE_HOST_STOPPED_H
#define GP_BASE_HOST_STOPPED_H

#include "base/file.h"

enum gp_stopped {
	GP_STOPPED_NOT,
	GP_STOPPED_SIGNAL,
	GP_STOPPED_TRACED, /* at least one thread waits for a debugger */
	GP_STOPPED_FROZEN,
};

/* Where the freezers of this machine are; "" where there is none. */
struct gp_freezers {
	char v1[128], v2[128];           /* mount points */
	char v1_root[128], v2_root[128]; /* what is mounted there, as a path in the hierarchy */
};
/* From /proc/self/mountinfo. */
void gp_freezers_find(const struct gp_root *root, struct gp_freezers *out);

struct gp_stopped_look {
	enum gp_stopped by;
	u64 switches;     /* context switches of all threads; GP_STOPPED_SIGNAL, _TRACED */
	char events[512]; /* cgroup.events of its group of v2, under the root; "": none */
};

/* One look. -ESRCH when there is no such process. A file that cannot be read counts as not stopped.
 */
int gp_stopped_read(const struct gp_root *root, const struct gp_freezers *freezers, u32 pid,
		    struct gp_stopped_look *out);
/* Whether two looks at a process, the second a moment later, show that it is stopped. */
bool gp_stopped_agree(const struct gp_stopped_look *first, const struct gp_stopped_look *second);

/* Whether a process was killed or ends by itself, also before its end is reported: such a process
 * is not stopped any more, and does not continue either. */
bool gp_stopped_ends(const struct gp_root *root, u32 pid);

/* Reports changes of cgroup.events: a descriptor that is readable when one has changed. */
struct gp_stopped_watch {
	int fd; /* -1: not open */
};
int gp_stopped_watch_open(struct gp_stopped_watch *watch);
void gp_stopped_watch_close(struct gp_stopped_watch *watch);
/* A number > 0, the same for all processes of a group, or -errno. */
int gp_stopped_watch_add(struct gp_stopped_watch *watch, const struct gp_root *root,
			 const char *events);
void gp_stopped_watch_remove(struct gp_stopped_watch *watch, int number);
/* The number of a group that has changed, or 0: none is left. */
int gp_stopped_watch_next(struct gp_stopped_watch *watch);

const char *gp_stopped_name(enum gp_stopped by);

#endif
