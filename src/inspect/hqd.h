/* SPDX-License-Identifier: MIT */
/*
 * The hardware queue slots (`gpreempt hqd`) and the queue descriptors (`gpreempt mqd`) as read at
 * one moment, live or from a file, with the pid of every slot where it can be known.
 */
#ifndef GP_INSPECT_HQD_H
#define GP_INSPECT_HQD_H

#include "inspect/kfd_input.h"
#include "inspect/slot_view.h"

struct gp_inspect_slots {
	enum gp_inspect_slot_view view;
	struct gp_kfd_slot_list list;
	char source[4096];    /* file the slots come from */
	char pids_from[4096]; /* file the pids come from; "" = pids are not known */
	bool incomplete;      /* one of the files was damaged; only with `partial` */
};

/* -errno with the reason said; -ESRCH is never returned here, an empty list is 0. */
int gp_inspect_hqd_read(const struct gp_inspect_kfd_query *query, struct gp_diag *diag,
			struct gp_inspect_slots *out);
int gp_inspect_mqd_read(const struct gp_inspect_kfd_query *query, struct gp_diag *diag,
			struct gp_inspect_slots *out);
void gp_inspect_slots_free(struct gp_inspect_slots *slots);

/* The object documented in docs/json.md; `options->view` is set from the slots. */
json_t *gp_inspect_slots_json(const struct gp_inspect_slots *slots,
			      const struct gp_inspect_slot_options *options);

#endif
