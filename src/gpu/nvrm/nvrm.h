/* SPDX-License-Identifier: MIT */
/*
 * The NVIDIA driver: its version, its devices and processes, and operations on a process over a
 * given port. gpu/gpu.h and gpu/control.h have the general interface.
 */
#ifndef GP_GPU_NVRM_NVRM_H
#define GP_GPU_NVRM_NVRM_H

#include "gpu/control.h"
#include "gpu/gpu.h"

/* "580.159.04"; false when there is no driver or its text is not understood. */
bool gp_nvrm_driver_version(const struct gp_root *root, char *out, size_t size);
/* Whether it is the open kernel modules. */
bool gp_nvrm_open_modules(const struct gp_root *root);
/* Whether a GPU is divided into instances (MIG). */
bool gp_nvrm_has_mig(const struct gp_root *root);

/* The GPU of a process's groups, as struct gp_gpu has it: the one it has open, or the machine's
 * only one. 0: it may be one of several. */
u32 gp_nvrm_gpu_of(const struct gp_root *root, u32 pid);
/* Whether the process has the control device open. */
bool gp_nvrm_used_by(const struct gp_root *root, u32 pid);

struct gp_nvrm_branch {
	u32 number;
	bool tried; /* on hardware; of the others the headers were read */
};

/* NULL: a branch whose calls were not compared with ours. */
const struct gp_nvrm_branch *gp_nvrm_branch(const char *version);

struct gp_nvrm_port;

/* attach() over a port of the caller's, which must outlive the control. */
int gp_nvrm_attach(const struct gp_nvrm_port *port, int pidfd, u32 pid,
		   struct gp_proto_message *why, struct gp_gpu_control **out);

/* Starts every channel of the process: a holder and its lifeline, both killed, leave them stopped.
 */
int gp_nvrm_release(int pidfd, u32 pid, struct gp_diag *diag);
int gp_nvrm_release_over(const struct gp_nvrm_port *port, int pidfd, u32 pid, struct gp_diag *diag);

/* The groups that run kernels, without attaching. */
int gp_nvrm_look(const struct gp_nvrm_port *port, int pidfd, u32 pid,
		 struct gp_gpu_control_queues *out);

/* One group as the driver describes it, for reports; a clear bit is a reading that failed. */
enum gp_nvrm_detail_field {
	GP_NVRM_HARDWARE_ID = 1u << 0,
	GP_NVRM_TIMESLICE = 1u << 1,
	GP_NVRM_MODES = 1u << 2,
	GP_NVRM_STATS = 1u << 3,
};
struct gp_nvrm_detail {
	u32 id, client, handle, channels;
	u32 valid; /* enum gp_nvrm_detail_field */
	u32 hardware_id;
	u64 timeslice_us;
	u32 compute_mode;      /* preemption of kernels: 0 at their end, 1 per block, 2 anywhere */
	u32 saves, cilp_saves; /* of the context, in all and in the middle of a kernel */
	u32 restores;
};
/* The `index`-th group; -ENOENT after the last. */
int gp_nvrm_detail(struct gp_gpu_control *control, size_t index, struct gp_nvrm_detail *out);
/* Calls that finding the objects took so far. */
u64 gp_nvrm_scan_calls(struct gp_gpu_control *control);

#endif
