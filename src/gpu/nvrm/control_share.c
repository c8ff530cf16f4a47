// SPDX-License-Identifier: MIT
/* A share of the GPU as time slices of the channel groups of a process. */
#include <errno.h>

#include "base/core.h"
#include "gpu/nvrm/control_state.h"

#define GP_SLICE_MAX_US 1000000u /* the longest that was tried anywhere (GPreempt) */

/*
 * Two busy users of a GPU take turns, each for its slice, so a share s of the whole beside a user
 * with the slice found (2048 us on an H200) is s / (1 - s) of that. 500 is the default.
 */
u64 gp_nvrm_slice_for(u64 found, u32 thousandths)
{
	u64 us = found * thousandths / (GP_NVRM_SHARE_ALL - thousandths);

	return us < 1 ? 1 : GP_MIN(us, GP_SLICE_MAX_US);
}

static int set_group(struct gp_nvrm_target *control, struct gp_nvrm_group *group, u64 us)
{
	struct gp_nvrm_session session = gp_nvrm_objects_session(&control->objects, group->client);
	struct gp_nvrm_entry entry = {
		.file = control->objects.clients[group->client].file,
		.client = session.client,
		.object = group->handle,
		.timeslice = group->timeslice,
	};
	int error = gp_nvrm_lifeline_remember(control->lifeline, &entry);

	if (!error)
		error = gp_nvrm_set_timeslice(&session, group->handle, us);
	if (!error)
		group->timeslice_set = us;
	return error;
}

int gp_nvrm_apply_share(struct gp_nvrm_target *control)
{
	int first = 0;

	for (size_t i = 0; i < control->objects.group_count; i++) {
		struct gp_nvrm_group *g = &control->objects.groups[i];
		struct gp_nvrm_session session =
			gp_nvrm_objects_session(&control->objects, g->client);
		int error = 0;
		u64 us;

		if (!g->compute)
			continue;
		if (!g->timeslice)
			error = gp_nvrm_timeslice(&session, g->handle, &g->timeslice);
		if (!error && !g->timeslice)
			error = -EIO;
		us = gp_nvrm_slice_for(g->timeslice, control->share);
		if (!error && us != g->timeslice_set)
			error = set_group(control, g, us);
		if (error && error != -ENOENT && error != -EACCES && !first)
			first = error;
	}
	return first;
}

int gp_nvrm_lift_share(struct gp_nvrm_target *control)
{
	int first = 0;

	for (size_t i = 0; i < control->objects.group_count; i++) {
		struct gp_nvrm_group *g = &control->objects.groups[i];
		struct gp_nvrm_session session =
			gp_nvrm_objects_session(&control->objects, g->client);
		int error;

		if (!g->timeslice_set)
			continue;
		error = gp_nvrm_set_timeslice(&session, g->handle, g->timeslice);
		if (error && error != -ENOENT && error != -EACCES) {
			first = first ? first : error;
			continue;
		}
		g->timeslice_set = 0;
	}
	if (!first)
		gp_nvrm_lifeline_forget(control->lifeline);
	return first;
}
