/* SPDX-License-Identifier: MIT */
/*
 * The documents of the commands in this folder, made from the data of inspect/. The commands print
 * them; tests read them. Each returns a new document, or NULL without memory.
 */
#ifndef GP_CLI_WATCH_DOCUMENTS_H
#define GP_CLI_WATCH_DOCUMENTS_H

#include "cli/watch/marks.h"
#include "inspect/doctor.h"
#include "inspect/find.h"
#include "inspect/ps.h"
#include "inspect/runlist.h"
#include "inspect/slots.h"

/* The table sums over GPUs; JSON has each GPU. */
struct gp_doc *gp_cli_ps_doc(const struct gp_inspect_ps *ps);
struct gp_doc *gp_cli_doctor_doc(const struct gp_inspect_doctor *d);

struct gp_cli_slot_options {
	bool json;           /* for JSON: every slot, and nothing for text */
	bool csv;            /* for CSV: one list, as in JSON */
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

/* A table per process or, in the long form, one per queue with the source of each fact. */
struct gp_doc *gp_cli_find_doc(const struct gp_inspect_find_result *result, bool long_form);
/* One list of the queues of all processes, for CSV. */
struct gp_doc *gp_cli_find_list_doc(const struct gp_inspect_find_result *result);
/*
 * The JSON is written in batches of queues, because a log may have millions of them: one object, or
 * a list of them, with one queue per line. 0, -ENOMEM or -EIO.
 */
int gp_cli_find_print_json(FILE *out, const struct gp_inspect_find_result *result, bool list);
/* The summary of queue_finder, and its file: "queues = [{'addr': 0x..., ...}, ...]". */
struct gp_doc *gp_cli_queue_finder_doc(const struct gp_inspect_find_process *process);
int gp_cli_queue_finder_python(const struct gp_inspect_find_process *process, struct gp_buf *out);
const char *gp_cli_find_key_name(enum gp_inspect_find_key key);

#endif
