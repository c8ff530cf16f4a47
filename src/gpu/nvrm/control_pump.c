// SPDX-License-Identifier: MIT
/*
 * What a control does from time to time: renews the lease of its suspension, looks for groups that
 * the program made since, and checks that the slices are still what they were set to. libcuda sets
 * the slice of a group itself, some time after the group is there; a slice set before that would
 * be lost.
 */
#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "gpu/nvrm/control_state.h"

/* Between thorough looks for new groups, each about 2 ms of calls, while something is held or
 * shared. A new group has its state within a second. */
#define GP_LOOK_NS (800 * GP_NS_PER_MS)
/* Between checks of the slices, of some 10 us per group, while there is a new one. */
#define GP_CHECK_NS (100 * GP_NS_PER_MS)

static bool is_holding(const struct gp_nvrm_target *control)
{
	return control->all || gp_nvrm_any_stopped(control);
}

static bool is_sharing(const struct gp_nvrm_target *control)
{
	return control->share != GP_NVRM_SHARE_ALL;
}

void gp_nvrm_set_timer(struct gp_nvrm_target *control)
{
	struct itimerspec time = {0};
	u64 every = UINT64_MAX;

	if (is_holding(control))
		every = control->leased ? GP_LOOK_NS : control->lease_ns / 3;
	if (is_sharing(control))
		every = GP_MIN(every,
			       gp_monotonic_ns() < control->young_ns ? GP_CHECK_NS : GP_LOOK_NS);
	if (every != UINT64_MAX)
		time.it_interval = time.it_value = gp_timespec(every);
	timerfd_settime(control->timer, 0, &time, NULL);
}

/* 1: a slice was not right. A failure is reported once, by 1 as well: the share is asked for again
 * and answered with the reason. */
static int check_slices(struct gp_nvrm_target *control)
{
	int before = control->share_error, error;

	if (!is_sharing(control))
		return 0;
	error = gp_nvrm_apply_share(control);
	control->share_error = GP_MIN(error, 0);
	if (error)
		control->young_ns = gp_monotonic_ns() + GP_NVRM_YOUNG_NS;
	return error < 0 && !before;
}

/* Descriptors, clients, groups and channels made since. 1: the queues changed. */
static int look(struct gp_nvrm_target *control)
{
	struct gp_gpu_control_done done = {0};
	size_t groups = control->objects.group_count;
	int error = gp_nvrm_find_files(control);

	control->looked_ns = gp_monotonic_ns();
	if (!error && gp_nvrm_drop_gone(control))
		error = GP_MIN(gp_nvrm_objects_renew(&control->objects), 0);
	if (!error)
		error = gp_nvrm_suspend_new(control, GP_NVRM_GAP_FULL, &done);
	if (error == -ETIME)
		error = gp_nvrm_catch_up(control);
	if (error < 0)
		return error;
	return control->objects.group_count != groups;
}

int gp_nvrm_pump(struct gp_gpu_control *base)
{
	struct gp_nvrm_target *control = gp_nvrm_target(base);
	int changed, found = 0, wrong = 0;
	u64 ticks;

	while (read(control->timer, &ticks, sizeof(ticks)) > 0)
		;
	changed = gp_nvrm_catch_up(control);
	if (changed < 0)
		return changed;
	if (!control->leased && gp_nvrm_any_stopped(control) &&
	    gp_nvrm_lifeline_renew(control->lifeline, gp_monotonic_ns() + control->lease_ns))
		changed = gp_nvrm_catch_up(control);
	if (changed >= 0 && (is_holding(control) || is_sharing(control)) &&
	    gp_monotonic_ns() - control->looked_ns >= GP_LOOK_NS)
		found = look(control);
	if (changed >= 0)
		wrong = check_slices(control);
	/* A look that failed is repeated; the target's end shows at the next call. */
	gp_nvrm_set_timer(control);
	return changed < 0 ? changed : changed || found > 0 || wrong;
}
