/* SPDX-License-Identifier: MIT */
/*
 * The documents of the commands in this folder, made from the data of inspect/. The commands print
 * them; tests read them. Each returns a new document, or NULL without memory.
 */
#ifndef GP_CLI_WATCH_DOCUMENTS_H
#define GP_CLI_WATCH_DOCUMENTS_H

#include "cli/watch/marks.h"
#include "inspect/doctor.h"
#include "inspect/ps.h"
#include "inspect/runlist.h"
#include "inspect/slots.h"

/* The table sums over GPUs; JSON has each GPU. */
struct gp_doc *gp_cli_ps_doc(const struct gp_inspect_ps *ps);
struct gp_doc *gp_cli_doctor_doc(const struct gp_inspect_doctor *d);

struct gp_cli_slot_options {
	bool json;           /* for JSON: every slot, and nothing for text */
	bool raw, registers; /* JSON: as members; text: instead of the table */
	bool all;            /* text: also inactive slots */
	bool per_xcc;        /* text: one row per XCC instead of one per queue */
	bool from_file;
	struct gp_cli_marks *marks; /* NULL: changes are not marked */
};

struct gp_doc *gp_cli_slots_doc(const struct gp_inspect_slots *slots,
				const struct gp_cli_slot_options *options);
struct gp_doc *gp_cli_runlist_doc(const struct gp_inspect_runlists *runlists,
				  const struct gp_cli_slot_options *options);

#endif
