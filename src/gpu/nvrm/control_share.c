// SPDX-License-Identifier: MIT
/* A share of the GPU as time slices of the channel groups of a process. */
#include <errno.h>

#include "base/core.h"
#include "gpu/nvrm/control_state.h"

#define GP_SLICE_MAX_US 1000000u /* the longest that was tried anywhere (GPreempt) */
/* The slice that libcuda gives a group with kernels (driver 580, H200, measured). */
#define GP_SLICE_USUAL_US 2048u

/*
 * Two busy users of a GPU take turns, each for its slice, so a share s of the whole beside a user
 * with the usual slice is s / (1 - s) of that; 500 is the usual slice itself. The slice found in a
 * group is not taken instead: a group that is just being made has another one for a moment, and
 * shares of two processes would no longer be parts of one whole.
 */
u64 gp_nvrm_slice_for(u32 thousandths)
{
	u64 us = (u64)GP_SLICE_USUAL_US * thousandths / (GP_NVRM_SHARE_ALL - thousandths);

	return us < 1 ? 1 : GP_MIN(us, GP_SLICE_MAX_US);
}

/* Slices outside of this are set by gpreempt alone: one that is found was left behind by a holder
 * that was killed together with its lifeline. */
#define GP_SLICE_SHORT_US 500u
#define GP_SLICE_LONG_US  20000u

u64 gp_nvrm_slice_before(u64 found)
{
	bool ours = found < GP_SLICE_SHORT_US || found > GP_SLICE_LONG_US;

	return ours ? GP_SLICE_USUAL_US : found;
}

/* The group, or its whole client, was freed meanwhile. */
static bool is_gone(int error)
{
	return error == -ENOENT || error == -EACCES;
}

static int set_and_check(const struct gp_nvrm_session *session, struct gp_nvrm_group *group, u64 us)
{
	int error = gp_nvrm_set_timeslice(session, group->handle, us);

	if (!error)
		error = gp_nvrm_timeslice(session, group->handle, &group->timeslice_read);
	if (!error && group->timeslice_read != us)
		error = -EIO;
	return error;
}

static struct gp_nvrm_entry slice_entry(const struct gp_nvrm_target *control,
					const struct gp_nvrm_group *group)
{
	const struct gp_nvrm_client *client = &control->objects.clients[group->client];

	return (struct gp_nvrm_entry){.file = client->file,
				      .client = client->handle,
				      .object = group->handle,
				      .timeslice = group->timeslice};
}

/* Reads the group's slice, and sets it where it is not `us`. 1: it was not. */
static int share_group(struct gp_nvrm_target *control, struct gp_nvrm_group *group, u64 us)
{
	struct gp_nvrm_session session = gp_nvrm_objects_session(&control->objects, group->client);
	struct gp_nvrm_entry entry;
	int error = gp_nvrm_timeslice(&session, group->handle, &group->timeslice_read);

	if (error)
		return error;
	if (!group->timeslice_read)
		return -EIO;
	/* A new group, or the program has set it since: libcuda does so when a context is almost
	 * made, which is after its first kernel group was seen. That is the value to go back to. */
	if (group->timeslice_read != group->timeslice_set) {
		group->timeslice = gp_nvrm_slice_before(group->timeslice_read);
		group->timeslice_set = 0;
	}
	if (group->timeslice_read == us)
		return 0;
	entry = slice_entry(control, group);
	error = gp_nvrm_lifeline_remember(control->lifeline, &entry);
	if (!error)
		error = set_and_check(&session, group, us);
	/* Also after a slice that cannot be read back: it is not as found any more. */
	if (!error || error == -EIO)
		group->timeslice_set = us;
	return error ? error : 1;
}

int gp_nvrm_apply_share(struct gp_nvrm_target *control)
{
	u64 us = gp_nvrm_slice_for(control->share);
	int first = 0, changed = 0;

	for (size_t i = 0; i < control->objects.group_count; i++) {
		struct gp_nvrm_group *g = &control->objects.groups[i];
		int error = g->compute && !g->gone ? share_group(control, g, us) : 0;

		g->gone |= is_gone(error);
		if (error > 0)
			changed = 1;
		else if (error && !is_gone(error) && !first)
			first = error;
	}
	return first ? first : changed;
}

static int lift_group(struct gp_nvrm_target *control, struct gp_nvrm_group *group)
{
	struct gp_nvrm_session session = gp_nvrm_objects_session(&control->objects, group->client);
	int error = gp_nvrm_timeslice(&session, group->handle, &group->timeslice_read);

	/* One that the program has set meanwhile stays. */
	if (!error && group->timeslice_set && group->timeslice_read == group->timeslice_set)
		error = set_and_check(&session, group, group->timeslice);
	return is_gone(error) ? 0 : error;
}

bool gp_nvrm_drop_gone(struct gp_nvrm_target *control)
{
	bool any = false;

	for (size_t i = 0; i < control->objects.group_count; i++) {
		const struct gp_nvrm_group *g = &control->objects.groups[i];
		struct gp_nvrm_entry entry = slice_entry(control, g);

		if (!g->gone)
			continue;
		gp_nvrm_lifeline_drop(control->lifeline, &entry);
		any = true;
	}
	return any;
}

int gp_nvrm_lift_share(struct gp_nvrm_target *control)
{
	int first = 0;

	for (size_t i = 0; i < control->objects.group_count; i++) {
		struct gp_nvrm_group *g = &control->objects.groups[i];
		int error = g->compute && !g->gone ? lift_group(control, g) : 0;

		if (!error)
			g->timeslice_set = 0;
		else if (!first)
			first = error;
	}
	if (!first)
		gp_nvrm_lifeline_forget(control->lifeline);
	return first;
}

u32 gp_nvrm_slice_read(const struct gp_nvrm_target *control)
{
	for (size_t i = 0; i < control->objects.group_count; i++) {
		const struct gp_nvrm_group *g = &control->objects.groups[i];

		if (g->compute && !g->gone && g->timeslice_read)
			return (u32)GP_MIN(g->timeslice_read, INT32_MAX);
	}
	return 0;
}
