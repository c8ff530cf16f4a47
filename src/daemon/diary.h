/* SPDX-License-Identifier: MIT */
/*
 * The decisions on disk (decision_log): lines of proto/diary.h in a file that rotates by size. The
 * thread that decides only formats a line; another one, of the ordinary scheduling class, writes,
 * so that a slow disk delays nothing. Lines that do not fit into memory meanwhile are counted and
 * left out.
 */
#ifndef GP_DAEMON_DIARY_H
#define GP_DAEMON_DIARY_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/loop.h"
#include "daemon/config/config.h"
#include "proto/diary.h"

struct gp_daemon_diary {
	bool on;
	char path[GP_CONFIG_TEXT];
	u64 limit; /* bytes of one file */
	u32 files; /* the current one included */
	u32 group; /* that may read them */
	pthread_t writer;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct gp_buf pending; /* with the lock, as `quit` */
	bool quit;
	u64 dropped, dropped_said;
	atomic_int error; /* of the last write; 0: none */
	int error_said;
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
