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
	bool leased;     /* the holder renews the lease, not pump() */
	u64 looked_ns;   /* when new groups were last looked for thoroughly */
	u64 young_ns;    /* until then slices are checked often: a group is new, or the share */
	u32 share;       /* thousandths */
	int share_error; /* of the last check of the slices */
	bool all;        /* new groups are stopped */
	bool copies;     /* `all` includes groups without kernels */
	bool gone;       /* the target ended; nothing of it is held any more */
};

static inline struct gp_nvrm_target *gp_nvrm_target(struct gp_gpu_control *base)
{
	return gp_container(base, struct gp_nvrm_target, base);
}

/* ---- control.c ---- */

/* Brings what is believed in line with what happened. 1: the target was started by its lifeline.
 * When no lifeline can be started the result is an error, but the rest is in line. */
int gp_nvrm_catch_up(struct gp_nvrm_target *control);
/* Copies descriptors of the control device that the target opened since. */
int gp_nvrm_find_files(struct gp_nvrm_target *control);
/* Stops groups and channels made since, where all of the target is stopped. */
int gp_nvrm_suspend_new(struct gp_nvrm_target *control, u32 gap, struct gp_gpu_control_done *done);

/* ---- control_pump.c ---- */

#define GP_NVRM_YOUNG_NS (2 * GP_NS_PER_S)

/* Renews the lease, looks for new groups and checks slices when it is time. As pump(). */
int gp_nvrm_pump(struct gp_gpu_control *base);
/* The holder's loop is woken in time for that. */
void gp_nvrm_set_timer(struct gp_nvrm_target *control);

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

/* Reads the timeslices of all groups with kernels and sets those that are not what the control's
 * share asks for. 1: some were not. -EIO: one is not what it was set to. */
int gp_nvrm_apply_share(struct gp_nvrm_target *control);
/* Sets all timeslices back. */
int gp_nvrm_lift_share(struct gp_nvrm_target *control);
/* Groups that were freed need nothing back. True: there are some. */
bool gp_nvrm_drop_gone(struct gp_nvrm_target *control);
/* Microseconds for a share of a GPU whose other user has the usual slice. */
u64 gp_nvrm_slice_for(u32 thousandths);
/* The slice to go back to from one that was found. */
u64 gp_nvrm_slice_before(u64 found);
/* The slice that the driver has, as last read; 0: no group with kernels was read. */
u32 gp_nvrm_slice_read(const struct gp_nvrm_target *control);

#endif
