/* SPDX-License-Identifier: MIT */
/* The state of a controlled process, shared by control*.c and report.c. */
#ifndef GP_GPU_NVRM_CONTROL_STATE_H
#define GP_GPU_NVRM_CONTROL_STATE_H

#include "base/core.h"
#include "gpu/control.h"
#include "gpu/nvrm/lifeline.h"
#include "gpu/nvrm/objects.h"

#define GP_NVRM_SHARE_ALL 1000u

struct gp_nvrm_target {
	struct gp_gpu_control base; /* with its own copy of the pidfd */
	const struct gp_nvrm_port *port;
	int epoll, timer;
	struct gp_nvrm_objects objects;
	struct gp_nvrm_lifeline *lifeline;
	u64 lease_ns;
	bool leased;   /* the holder renews the lease, not pump() */
	u64 looked_ns; /* when new groups were last looked for thoroughly */
	u32 share;     /* thousandths */
	bool all;      /* new groups are stopped */
	bool copies;   /* `all` includes groups without kernels */
	bool gone;     /* the target ended; nothing of it is held any more */
};

static inline struct gp_nvrm_target *gp_nvrm_target(struct gp_gpu_control *base)
{
	return gp_container(base, struct gp_nvrm_target, base);
}

/* ---- control_stop.c ---- */

/* Stops the channels of groups marked `suspended` that are not stopped yet. All or nothing: on an
 * error they run, and their groups are not marked any more. */
int gp_nvrm_stop_marked(struct gp_nvrm_target *control, struct gp_gpu_control_done *done);
/* Starts the stopped channels of groups that are not marked. */
int gp_nvrm_start_unmarked(struct gp_nvrm_target *control, struct gp_gpu_control_done *done);
/* The lifeline fired: nothing is stopped any more. */
void gp_nvrm_all_run(struct gp_nvrm_target *control);
bool gp_nvrm_any_stopped(const struct gp_nvrm_target *control);
const struct gp_nvrm_group *gp_nvrm_group_of(const struct gp_nvrm_objects *objects,
					     const struct gp_nvrm_channel *channel);

/* ---- report.c ---- */

/* The groups that run kernels, as queues. */
int gp_nvrm_list(const struct gp_nvrm_objects *objects, struct gp_gpu_control_queues *out);

/* ---- control_share.c ---- */

/* Sets the timeslices that the control's share asks for where they are not. */
int gp_nvrm_apply_share(struct gp_nvrm_target *control);
/* Sets all timeslices back. */
int gp_nvrm_lift_share(struct gp_nvrm_target *control);
/* Microseconds for a share of a GPU whose other user has the slice `found`. */
u64 gp_nvrm_slice_for(u64 found, u32 thousandths);

#endif
