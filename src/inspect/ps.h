/* SPDX-License-Identifier: MIT */
/*
 * gpreempt ps: every process that the GPU drivers list, joined with /proc and its container. It is
 * a snapshot: processes that exit while it is taken are left out.
 */
#ifndef GP_INSPECT_PS_H
#define GP_INSPECT_PS_H

#include "base/diag.h"
#include "base/file.h"
#include "gpu/gpu.h"
#include "base/host/container.h"

struct gp_inspect_ps_row {
	bool process_known; /* /proc shows it */
	bool contained;
	struct gp_process process;
	struct gp_container container;
	const struct gp_gpu_process *gpu; /* in the snapshot's list */
	bool busy_known;                  /* the caller may know for how long it had a GPU */
	u64 busy_ns;
	u64 memory;       /* the caller may know, where the driver lists none: on all GPUs; 0: no */
	char held_by[64]; /* the caller may know: "slurm"; "": not held by name */
};

struct gp_inspect_ps {
	bool driver_present; /* KFD */
	bool nvidia_present;
	bool busy_known; /* of some row */
	bool held_known; /* as well */
	struct gp_gpu_list gpus;
	struct gp_gpu_process_list processes;
	struct gp_inspect_ps_row *rows; /* by pid */
	size_t count, capacity;
};

/* 0, or -errno with a message. Without any driver it is an empty snapshot and a note. */
int gp_inspect_ps_read(const struct gp_root *root, struct gp_diag *diag, struct gp_inspect_ps *out);
void gp_inspect_ps_free(struct gp_inspect_ps *ps);

#endif
