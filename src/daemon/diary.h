/* SPDX-License-Identifier: MIT */
/*
 * The decisions on disk (decision_log): lines of proto/diary.h in a file that rotates by size. The
 * thread that decides only formats a line; another one, of the ordinary scheduling class, writes,
 * so that a slow disk delays nothing. Lines that do not fit into memory meanwhile are counted and
 * left out. A file that was removed or renamed is created again with the next lines. Instead of a
 * file, decisions can go to the journal (diary_journal.c).
 */
#ifndef GP_DAEMON_DIARY_H
#define GP_DAEMON_DIARY_H

#include <stdatomic.h>

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
struct gp_proto_msg_job;

/* "journal", or "journal:/PATH" for another socket: the path of the socket of journald. NULL: it is
 * a file. */
const char *gp_daemon_journal_socket(const char *decision_log);
/* Sends the decisions of these lines; waits while journald is slow, but not long once *quit is set.
 * 0 or the first -errno. */
int gp_daemon_journal_put(const char *socket, const struct gp_buf *lines, const atomic_bool *quit);

/* On or off, and which file, as the configuration says. A file that cannot be written does not
 * replace another one. */
int gp_daemon_diary_configure(struct gp_daemon *daemon);
/* GPUs and jobs as they are now; by itself it does that every ten seconds. */
void gp_daemon_diary_snapshot(struct gp_daemon *daemon);
/* Writes what is pending: to a file however long that takes, to a journal for a second or two. */
void gp_daemon_diary_stop(struct gp_daemon *daemon);
/* The last figures of a job that ended, between two snapshots. */
void gp_daemon_diary_job(struct gp_daemon *daemon, const struct gp_proto_msg_job *job);
void gp_daemon_diary_decision(struct gp_daemon *daemon, const struct gp_proto_msg_decision *line);

#endif
