/* SPDX-License-Identifier: MIT */
/*
 * The decisions on disk (decision_log): lines of proto/diary.h in a file that rotates by size. The
 * thread that decides only formats a line; another one, of the ordinary scheduling class, writes,
 * so that a slow disk delays nothing. Lines that do not fit into memory meanwhile are counted and
 * left out. A file that was removed or renamed is created again with the next lines.
 */
#ifndef GP_DAEMON_DIARY_H
#define GP_DAEMON_DIARY_H

#include "base/loop.h"
#include "daemon/config/config.h"
#include "proto/diary.h"

struct gp_daemon_diary_writer;

struct gp_daemon_diary {
	struct gp_daemon_diary_writer *writer; /* NULL: decisions are not written */
	/* Replaced by a reload: they still write what was pending then. */
	struct gp_daemon_diary_writer *ending;
	struct gp_timer timer; /* of snapshots */
};

struct gp_daemon;

/* On or off, and which file, as the configuration says. */
void gp_daemon_diary_configure(struct gp_daemon *daemon);
/* GPUs and jobs as they are now; by itself it does that every ten seconds. */
void gp_daemon_diary_snapshot(struct gp_daemon *daemon);
/* Writes what is pending, however long that takes. */
void gp_daemon_diary_stop(struct gp_daemon *daemon);
void gp_daemon_diary_decision(struct gp_daemon *daemon, const struct gp_proto_msg_decision *line);

#endif
