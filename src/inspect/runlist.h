/* SPDX-License-Identifier: MIT */
/*
 * The runlist the firmware works through (`gpreempt runlist`): the processes in the order of their
 * turns, the queues that are mapped for each, and whether there are more than fit at once.
 */
#ifndef GP_INSPECT_RUNLIST_H
#define GP_INSPECT_RUNLIST_H

#include "base/json.h"
#include "inspect/grid.h"
#include "inspect/kfd_input.h"

struct gp_inspect_runlists {
	struct gp_kfd_runlist list;
	char source[4096];
	char pids_from[4096]; /* "" = pids are not known */
	bool incomplete;      /* one of the files was damaged; only with `partial` */
};

int gp_inspect_runlist_read(const struct gp_inspect_kfd_query *query, struct gp_diag *diag,
			    struct gp_inspect_runlists *out);
void gp_inspect_runlists_free(struct gp_inspect_runlists *runlists);

/* A row per queue, and one for a process without any. */
int gp_inspect_runlist_grid(const struct gp_inspect_runlists *runlists,
			    struct gp_inspect_grid *out);
/* One line per GPU: processes, queues, oversubscribed or not, or that there is no runlist. */
void gp_inspect_runlist_summary(const struct gp_inspect_runlists *runlists, struct gp_buf *out);
void gp_inspect_runlist_raw(const struct gp_inspect_runlists *runlists, struct gp_buf *out);
json_t *gp_inspect_runlist_json(const struct gp_inspect_runlists *runlists, bool raw);

/* "compute", "sdma3"; the buffer holds at least 16 bytes. */
void gp_inspect_runlist_engine(const struct gp_kfd_runlist_entry *entry, char *out, size_t size);

#endif
