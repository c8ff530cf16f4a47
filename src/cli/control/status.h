/* SPDX-License-Identifier: MIT */
/* `gpreempt status`: one job in status.c, every suspension in status_holds.c. */
#ifndef GP_CLI_CONTROL_STATUS_H
#define GP_CLI_CONTROL_STATUS_H

#include "cli/control/target_command.h"
#include "cli/view.h"
#include "show/doc.h"

struct gp_cli_status {
	char **words; /* of the command line */
	const struct gp_command *command;
	struct gp_command_diag sink;
	const char *group;
	u32 pid;
	u32 *ids; /* only these queues; NULL: all */
	size_t id_count;
	struct gp_cli_view view;
	struct gp_doc *doc; /* of the last reading */
	bool daemon_away;   /* gpreemptd was asked for the owner of a hold in vain */
	bool partly;        /* of the job's queues some are suspended, others run */
	u64 now_ns;
	struct gp_proto_msg_hold *holds;
	size_t hold_count, hold_room;
	pid_t holder_pid; /* of this user's */
	u32 others;       /* holders of other users that answered */
	struct gp_cli_holder holder;
};

/* ---- status.c ---- */

const char *gp_cli_status_mechanism(u32 mechanism);
/* Seconds since a moment; negative before it. */
double gp_cli_status_since(const struct gp_cli_status *status, u64 then_ns);
/* A cell with a time; `known` false: missing. */
void gp_cli_status_seconds(struct gp_doc *doc, bool known, double seconds);

/* ---- status_holds.c ---- */

int gp_cli_status_all(struct gp_cli_status *status);

#endif
