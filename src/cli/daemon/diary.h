/* SPDX-License-Identifier: MIT */
/*
 * Decisions on disk (decision_log of gpreemptd): reading the files, and what they say about a span
 * of time: which job had which GPU when, and which was held for which. Used by `gpreempt report
 * --last` and `gpreempt top --replay`.
 */
#ifndef GP_CLI_DAEMON_DIARY_H
#define GP_CLI_DAEMON_DIARY_H

#include "base/diag.h"
#include "proto/diary.h"
#include "show/doc.h"

typedef int (*gp_cli_diary_fn)(void *ctx, const struct gp_proto_diary_line *line);

/* Calls `each` for every line from `since_wall_ns` on, oldest first. `rotated`: path.1, path.2 ..
 * as well. Says why when a file cannot be read; lines that are damaged are counted and said. */
int gp_cli_diary_read(const char *path, bool rotated, s64 since_wall_ns, struct gp_diag *diag,
		      gp_cli_diary_fn each, void *ctx);

/* "2026-11-17 14:03:05", local time. */
void gp_cli_diary_time(s64 wall_ns, char *out, size_t size);
/* "14:03", "2026-11-17 14:03:05". A time of day is that of the day of `latest`, or of the day
 * before if it is not before that. *until: the end of the second or minute that the text names. */
bool gp_cli_diary_time_parse(const char *text, s64 latest_wall_ns, s64 *out, s64 *until);

/* The report on [from, to) from the files. NULL after saying why. */
struct gp_doc *gp_cli_diary_report(const char *path, s64 from_wall_ns, s64 to_wall_ns,
				   struct gp_diag *diag);

#endif
