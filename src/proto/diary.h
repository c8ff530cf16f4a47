/* SPDX-License-Identifier: MIT */
/*
 * Decisions on disk: one JSON object per line, written by gpreemptd (decision_log) and read by
 * `gpreempt top --replay` and `gpreempt report --last`. A line is a decision, or belongs to a
 * snapshot: the state of the daemon, then its GPUs and jobs. Members have the names of the fields
 * of proto/daemon.h; those that are 0 are left out, unknown ones are null. A reader skips members
 * and lines that it does not know, so that files of other versions stay readable.
 */
#ifndef GP_PROTO_DIARY_H
#define GP_PROTO_DIARY_H

#include "base/buf.h"
#include "proto/daemon.h"

#define GP_DIARY_FILE "/var/log/gpreempt/decisions.jsonl"

enum gp_proto_diary_kind {
	GP_DIARY_DECISION,
	GP_DIARY_STATE, /* a snapshot begins */
	GP_DIARY_DEVICE,
	GP_DIARY_JOB,
	GP_DIARY_KINDS,
};

struct gp_proto_diary_line {
	enum gp_proto_diary_kind kind;
	s64 wall_ns; /* CLOCK_REALTIME */
	union {
		struct gp_proto_msg_decision decision;
		struct gp_proto_msg_daemon_status state;
		struct gp_proto_msg_device device;
		struct gp_proto_msg_job job;
	} is;
};

/* "suspend", "came"; NULL of one that is not known. */
const char *gp_proto_decision_kind_name(u32 kind);

/* Appends the line; out->error without memory. */
void gp_proto_diary_write(struct gp_buf *out, const struct gp_proto_diary_line *line);
/* False: it is not a line of this format, or of a kind that is not known. */
bool gp_proto_diary_read(const char *text, size_t len, struct gp_proto_diary_line *out);

#endif
