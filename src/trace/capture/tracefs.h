/* SPDX-License-Identifier: MIT */
/*
 * The functions of KFD in ftrace, while a program is traced. Everything is done under one unique
 * name: a tracefs instance, which has its own buffer, clock and switches, and a group of probes. So
 * what others trace is not touched, and putting tracefs back means removing what has this name,
 * which needs no memory of what was done: gp_capture_tracefs_restore() may come at any point, from
 * another process, and twice.
 */
#ifndef GP_TRACE_CAPTURE_TRACEFS_H
#define GP_TRACE_CAPTURE_TRACEFS_H

#include <limits.h>

#include "base/diag.h"
#include "base/file.h"

#define GP_TRACEFS_PROBES \
	256 /* functions at most; each has probes at its entry and, mostly, return */

/* How files of tracefs are changed; tests replace it with a fake kernel. -errno. */
struct gp_capture_tracefs_ops {
	int (*make)(void *ctx, const char *path);
	int (*remove)(void *ctx, const char *path);
	/* One write(); without O_TRUNC, which would remove all probes. */
	int (*put)(void *ctx, const char *path, const char *text);
};

/* The files as they are. */
extern const struct gp_capture_tracefs_ops gp_capture_tracefs_live;

struct gp_capture_tracefs {
	const struct gp_capture_tracefs_ops *ops;
	void *ctx;
	char dir[PATH_MAX - 128]; /* where it is mounted */
	char name[32];            /* of the instance, and of the group of probes */
	/* The result of gp_capture_tracefs_start(). */
	size_t functions, wanted; /* found in the driver; of so many patterns */
	size_t probes, refused;   /* functions that have probes; that the kernel refused */
	size_t tracepoints;       /* the driver's own, switched on */
	bool kcq;                 /* every function of kernel compute queues has a probe */
};

/*
 * Where tracefs is, under a root, into `trace`, which is otherwise empty. -errno after saying, as
 * a warning, why KFD will not be traced.
 */
int gp_capture_tracefs_find(struct gp_capture_tracefs *trace, const struct gp_root *root,
			    struct gp_diag *diag);

/*
 * Chooses a name and switches on what KFD does with queues. Functions are looked up in the kernel's
 * symbols under root; static functions of one name each get their probes. -errno after an error
 * message; call gp_capture_tracefs_restore() in that case as well. Call gp_capture_tracefs_name()
 * first, so that the process that restores after a SIGKILL can be started in between.
 */
void gp_capture_tracefs_name(struct gp_capture_tracefs *trace);
int gp_capture_tracefs_start(struct gp_capture_tracefs *trace, const struct gp_root *root,
			     struct gp_diag *diag);
/* Nothing more is recorded. */
int gp_capture_tracefs_stop(struct gp_capture_tracefs *trace);
/* Copies the text of what was recorded to fd. */
int gp_capture_tracefs_save(const struct gp_capture_tracefs *trace, int fd);
/*
 * The same as trace.dat, with what trace-cmd needs to read it: the pages of each CPU as the kernel
 * has them, which are taken out of the buffer. `fd` is a new file. -ENODATA: no events; -EACCES,
 * before anything was taken out: the kernel hides where its functions are.
 */
int gp_capture_tracefs_save_binary(const struct gp_capture_tracefs *trace,
				   const struct gp_root *root, int fd);
/* Removes everything of this name. 0, or the first error, after trying all of it. */
int gp_capture_tracefs_restore(const struct gp_capture_tracefs *trace);

#endif
