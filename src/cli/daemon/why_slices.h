/* SPDX-License-Identifier: MIT */
/* `gpreempt why` of a job whose GPU divides its time in slices: its slice, its share, its memory.
 */
#ifndef GP_CLI_WHY_SLICES_H
#define GP_CLI_WHY_SLICES_H

#include "proto/daemon.h"
#include "show/doc.h"

void gp_cli_why_slices(struct gp_doc *doc, const struct gp_proto_msg_job *job);

#endif
