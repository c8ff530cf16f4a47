/* SPDX-License-Identifier: MIT */
/* What gpreemptd knows about the job of a process, in sentences. */
#ifndef GP_CLI_DAEMON_WHY_STATE_H
#define GP_CLI_DAEMON_WHY_STATE_H

#include "base/command.h"
#include "proto/daemon.h"
#include "show/doc.h"

struct gp_cli_why_about {
	u32 pid;
	const struct gp_proto_msg_daemon_status *status;
	const struct gp_proto_msg_job *job; /* id 0: it is in none now */
};

/* Whether it may run, for which job it waits, and what it did in all; not the decisions. */
void gp_cli_why_state(struct gp_doc *doc, const struct gp_cli_why_about *about);

/* --at: a time that is over, and what the record says of it. */
struct gp_cli_why_past {
	const char *text; /* NULL: it is about now */
	s64 until, since; /* CLOCK_REALTIME; since: of the hold */
	bool held, observed;
	/* The beginning of a hold by an owner, by hand, or by a stop; NULL: there was none. */
	const struct gp_proto_msg_decision *off;
	s64 off_since;
};
int gp_cli_why_past_set(struct gp_cli_why_past *past, const struct gp_command *command,
			const char *text);
/* How many of the lines, oldest first, are not later. `offset`: CLOCK_REALTIME - CLOCK_MONOTONIC.
 */
size_t gp_cli_why_past_look(struct gp_cli_why_past *past, s64 offset, u64 job, u32 pid,
			    const struct gp_proto_msg_decision *lines, size_t count);
bool gp_cli_why_past_held(const struct gp_cli_why_past *past);
void gp_cli_why_past_line(struct gp_doc *doc, const struct gp_cli_why_past *past, size_t count);

#endif
