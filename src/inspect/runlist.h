/* SPDX-License-Identifier: MIT */
/*
 * The runlist that the firmware works through (`gpreempt runlist`): the processes in the order of
 * their turns, the queues mapped for each, and whether it is oversubscribed.
 */
#ifndef GP_INSPECT_RUNLIST_H
#define GP_INSPECT_RUNLIST_H

#include "inspect/kfd_input.h"

struct gp_inspect_runlists {
	struct gp_kfd_runlist list;
	char source[4096];
	char pids_from[4096]; /* "" = pids are unknown */
	bool incomplete;      /* one of the files was damaged; only with `partial` */
};

int gp_inspect_runlist_read(const struct gp_inspect_kfd_query *query, struct gp_diag *diag,
			    struct gp_inspect_runlists *out);
void gp_inspect_runlists_free(struct gp_inspect_runlists *runlists);

/* Of one node; its entries are items[first] to items[end - 1]. */
struct gp_inspect_runlist_figures {
	size_t processes, queues, others, first, end;
	bool oversubscribed;
};

/* Entries are in the order of the nodes: `from` is the end of the node before, or 0. */
struct gp_inspect_runlist_figures gp_inspect_runlist_count(const struct gp_kfd_runlist *list,
							   const struct gp_kfd_runlist_node *node,
							   size_t from);

/* "compute", "sdma3"; the buffer holds at least 16 bytes. */
void gp_inspect_runlist_engine(const struct gp_kfd_runlist_entry *entry, char *out, size_t size);
/* "normal", "debug", "static", "other" */
const char *gp_inspect_runlist_type(const struct gp_kfd_runlist_entry *entry);

#endif
