/* SPDX-License-Identifier: MIT */
/* What gpreemptd knows about the job of a process, in sentences. */
#ifndef GP_CLI_DAEMON_WHY_STATE_H
#define GP_CLI_DAEMON_WHY_STATE_H

#include "proto/daemon.h"
#include "show/doc.h"

struct gp_cli_why_about {
	u32 pid;
	const struct gp_proto_msg_daemon_status *status;
	const struct gp_proto_msg_job *job; /* id 0: it is in none now */
};

/* Whether it may run, for which job it waits, and what it did in all; not the decisions. */
void gp_cli_why_state(struct gp_doc *doc, const struct gp_cli_why_about *about);

#endif
