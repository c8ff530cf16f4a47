/* SPDX-License-Identifier: MIT */
/* Shared by the files of gpreempt find. */
#ifndef GP_INSPECT_FIND_PARTS_H
#define GP_INSPECT_FIND_PARTS_H

#include "inspect/find.h"

/* The pids under which a process may have written its log lines: a log in a container has the pids
 * of the container. */
struct gp_inspect_find_identity {
	u32 pids[GP_NSPID_MAX + 1];
	size_t count;
	bool unnamed; /* lines without a pid belong to it */
};

/* All processes, as the driver lists them. */
struct gp_inspect_find_machine {
	bool present; /* a driver that lists processes is here, and its pids are ours */
	struct gp_gpu_process_list processes;
	struct gp_gpu_state state;
	struct gp_container_names names; /* read once for all processes */
};

int gp_inspect_find_read_logs(const struct gp_inspect_find_options *options, struct gp_diag *diag,
			      struct gp_inspect_find_result *out);
void gp_inspect_find_warn_about_match(const struct gp_inspect_find_process *process, size_t logged,
				      size_t matched, bool descriptors, struct gp_diag *diag);
void gp_inspect_find_note_missing(const struct gp_inspect_find_process *process,
				  const struct gp_inspect_find_machine *live, struct gp_diag *diag);
int gp_inspect_find_report_absent(const struct gp_inspect_find_options *options,
				  const struct gp_inspect_find_result *out, struct gp_diag *diag);
void gp_inspect_find_note_alias(const struct gp_inspect_find_identity *identity,
				const struct gp_trace_log_queue *logged, size_t count,
				const struct gp_inspect_find_process *process,
				struct gp_diag *diag);
void gp_inspect_find_note_log(const struct gp_inspect_find_options *options,
			      const struct gp_inspect_find_process *process, size_t logged,
			      const struct gp_inspect_find_result *out, struct gp_diag *diag);
void gp_inspect_find_claim_unnamed(const struct gp_inspect_find_options *options,
				   const struct gp_inspect_find_result *out,
				   struct gp_inspect_find_identity *identity, struct gp_diag *diag);
const struct gp_gpu_process *gp_inspect_find_listed(const struct gp_inspect_find_machine *live,
						    u32 pid);

#endif
