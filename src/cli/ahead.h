/* SPDX-License-Identifier: MIT */
/*
 * What the agent of a process learned for `gpreempt run --ahead auto`, for `status` and `why`. The
 * agent itself is asked, at its socket; for a process without one, or of another user, nothing is
 * shown.
 */
#ifndef GP_CLI_AHEAD_H
#define GP_CLI_AHEAD_H

#include "proto/ahead.h"
#include "show/doc.h"

/* False: it did not ask for hints, or does not answer. */
bool gp_cli_ahead_read(u32 pid, struct gp_proto_msg_ahead *out);
/* Sentences; or "ahead": an object, null where `known` is not set. */
void gp_cli_ahead_lines(struct gp_doc *doc, const struct gp_proto_msg_ahead *ahead);
void gp_cli_ahead_facts(struct gp_doc *doc, bool known, const struct gp_proto_msg_ahead *ahead);

#endif
