// SPDX-License-Identifier: MIT
/* nv-suspend and nv-timeslice: the operations of gpu/control.h. */
#include "gpu/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/core.h"
#include "gpu/nvrm/control_state.h"
#include "gpu/nvrm/lifeline_page.h"
#include "gpu/nvrm/nvrm.h"
#include "gpu/nvrm/target.h"

#define GP_ROUNDS_MAX      4           /* looks for groups made while a suspend was under way */
#define GP_LEASE_MARGIN_NS 50000000ull /* after the end of a lease that the holder keeps */

/* ---- the parts of it that can end ---- */

/* Lets go of everything that keeps the dead target's clients alive in the driver. */
static void let_go(struct gp_nvrm_target *control)
{
	control->gone = true;
	gp_nvrm_objects_free(&control->objects);
	gp_nvrm_lifeline_stop(control->lifeline);
	control->lifeline = NULL;
}

static bool target_ended(struct gp_nvrm_target *control)
{
	struct pollfd fd = {.fd = control->base.pidfd, .events = POLLIN};

	return control->gone || (poll(&fd, 1, 0) == 1 && fd.revents);
}

static int watch(struct gp_nvrm_target *control, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(control->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int hand_over(struct gp_nvrm_target *control, u32 from)
{
	int error = 0;

	for (u32 i = from; i < control->objects.file_count && !error; i++)
		error = gp_nvrm_lifeline_file(control->lifeline, control->objects.files[i].fd);
	return error;
}

static int revive(struct gp_nvrm_target *control)
{
	int error;

	if (gp_nvrm_lifeline_alive(control->lifeline))
		return 0;
	error = gp_nvrm_lifeline_restart(control->lifeline, control->port, control->base.pidfd);
	if (!error)
		error = hand_over(control, 0);
	return error ? error : watch(control, gp_nvrm_lifeline_fd(control->lifeline));
}

int gp_nvrm_catch_up(struct gp_nvrm_target *control)
{
	bool fired;
	int error;

	if (target_ended(control)) {
		if (!control->gone)
			let_go(control);
		return -ESRCH;
	}
	fired = gp_nvrm_lifeline_fired(control->lifeline);
	if (fired)
		gp_nvrm_all_run(control);
	error = revive(control);
	return error ? error : fired;
}

/* ---- attach and detach ---- */

static void destroy(struct gp_nvrm_target *control)
{
	gp_nvrm_objects_free(&control->objects);
	gp_nvrm_lifeline_stop(control->lifeline);
	if (control->base.pidfd >= 0)
		close(control->base.pidfd);
	if (control->timer >= 0)
		close(control->timer);
	if (control->epoll >= 0)
		close(control->epoll);
	free(control);
}

static int open_parts(struct gp_nvrm_target *control, int pidfd)
{
	int error;

	control->base.pidfd = fcntl(pidfd, F_DUPFD_CLOEXEC, 3);
	control->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	control->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (control->base.pidfd < 0 || control->timer < 0 || control->epoll < 0)
		return -errno;
	error = gp_nvrm_lifeline_start(control->port, control->base.pidfd, &control->lifeline);
	if (!error)
		error = watch(control, control->base.pidfd);
	if (!error)
		error = watch(control, control->timer);
	return error ? error : watch(control, gp_nvrm_lifeline_fd(control->lifeline));
}

int gp_nvrm_find_files(struct gp_nvrm_target *control)
{
	struct gp_nvrm_objects *objects = &control->objects;
	u32 before = objects->file_count, owner;
	int found = gp_nvrm_target_files(control->port, control->base.pidfd, control->base.pid,
					 objects->files, &objects->file_count, &owner);

	return found < 0 ? found : hand_over(control, before);
}

int gp_nvrm_attach(const struct gp_nvrm_port *port, int pidfd, u32 pid,
		   struct gp_proto_message *why, struct gp_gpu_control **out)
{
	struct gp_nvrm_target *control;
	int error = gp_nvrm_target_check(port, pidfd, pid, why);

	*out = NULL;
	if (error)
		return error;
	control = malloc(sizeof(*control));
	if (!control)
		return -ENOMEM;
	*control = (struct gp_nvrm_target){
		.port = port,
		.base = {.pid = pid, .pidfd = -1},
		.epoll = -1,
		.timer = -1,
		.objects = {.port = port},
		.lease_ns = GP_NVRM_LEASE_NS,
		.share = GP_NVRM_SHARE_ALL,
	};
	error = open_parts(control, pidfd);
	if (!error)
		error = gp_nvrm_find_files(control);
	if (!error)
		error = gp_nvrm_objects_scan(&control->objects);
	if (error) {
		destroy(control);
		return gp_proto_say(why, error, GP_SAY_NV_CHANNELS, pid);
	}
	control->objects.gpu_id = gp_nvrm_gpu_of(&port->root, pid);
	control->looked_ns = gp_monotonic_ns();
	*out = &control->base;
	return 0;
}

static int attach(int pidfd, u32 pid, struct gp_proto_message *why, struct gp_gpu_control **out)
{
	return gp_nvrm_attach(&gp_nvrm_port_system, pidfd, pid, why, out);
}

static int probe(int pidfd, u32 pid, struct gp_proto_message *why)
{
	int error = gp_nvrm_target_check(&gp_nvrm_port_system, pidfd, pid, why);

	return error ? error : gp_proto_say(why, 0, GP_SAY_NV_WORKS);
}

static void detach(struct gp_gpu_control *base)
{
	struct gp_nvrm_target *control = gp_nvrm_target(base);
	struct gp_gpu_control_done done = {0};

	if (!base)
		return;
	gp_nvrm_catch_up(control);
	if (!control->gone) {
		for (size_t i = 0; i < control->objects.group_count; i++)
			control->objects.groups[i].suspended = false;
		/* What fails here the lifeline tries again when its socket closes. */
		gp_nvrm_start_unmarked(control, &done);
		gp_nvrm_lift_share(control);
	}
	destroy(control);
}

/* ---- operations ---- */

static bool named(const u32 *ids, size_t count, u32 id)
{
	for (size_t i = 0; ids && i < count; i++) {
		if (ids[i] == id)
			return true;
	}
	return !ids;
}

/* Every id is that of a group that can be stopped. */
static bool all_known(const struct gp_nvrm_target *control, const u32 *ids, size_t count)
{
	for (size_t i = 0; ids && i < count; i++) {
		bool found = false;

		for (size_t k = 0; k < control->objects.group_count; k++)
			found |= control->objects.groups[k].id == ids[i] &&
				 control->objects.groups[k].compute;
		if (!found)
			return false;
	}
	return true;
}

/* Groups that run no kernels belong to the copy engines. They are not queues: they stop
 * only with the whole process. Returns the number of queues. */
static u32 mark_groups(struct gp_nvrm_target *control, const u32 *ids, size_t count, bool suspended)
{
	u32 marked = 0;

	for (size_t i = 0; i < control->objects.group_count; i++) {
		struct gp_nvrm_group *g = &control->objects.groups[i];

		if (!g->compute && !ids)
			g->suspended = suspended && control->copies;
		if (!g->compute || !named(ids, count, g->id))
			continue;
		g->suspended = suspended;
		marked++;
	}
	return marked;
}

int gp_nvrm_suspend_new(struct gp_nvrm_target *control, u32 gap, struct gp_gpu_control_done *done)
{
	int found = 1, error = 0;

	for (int i = 0; i < GP_ROUNDS_MAX && found > 0 && !error; i++) {
		found = gp_nvrm_objects_extend(&control->objects, gap);
		if (found < 0)
			return found;
		/* Also when nothing is new here: a listing may have found it before. */
		if (control->all)
			mark_groups(control, NULL, 0, true);
		error = gp_nvrm_stop_marked(control, done);
	}
	return error;
}

static int suspend_once(struct gp_nvrm_target *control, const u32 *ids, size_t count,
			struct gp_gpu_control_done *done)
{
	int error;

	control->all = !ids;
	done->queues = mark_groups(control, ids, count, true);
	/* What is known first: looking for more takes as long as the call itself. */
	error = gp_nvrm_stop_marked(control, done);
	if (!error && !ids) {
		error = gp_nvrm_suspend_new(control, GP_NVRM_GAP_QUICK, done);
		done->queues = mark_groups(control, NULL, 0, true);
	}
	/* Copies whose suspension has ended. */
	if (!error)
		error = gp_nvrm_start_unmarked(control, done);
	if (!error)
		error = gp_nvrm_lifeline_renew(control->lifeline,
					       gp_monotonic_ns() + control->lease_ns);
	return error;
}

static int op_suspend(struct gp_gpu_control *base, const u32 *ids, size_t count, u32 grace,
		      struct gp_gpu_control_done *done)
{
	struct gp_nvrm_target *control = gp_nvrm_target(base);
	struct gp_gpu_control_done undone = {0};
	int error;

	(void)grace; /* the hardware stops kernels where they are, at once */
	*done = (struct gp_gpu_control_done){0};
	/* A holder that was stopped for longer than its lease on the way tries once more. */
	for (int i = 0; i < 2; i++) {
		error = gp_nvrm_catch_up(control);
		if (error < 0)
			return error;
		if (!all_known(control, ids, count) &&
		    (gp_nvrm_objects_renew(&control->objects) < 0 ||
		     !all_known(control, ids, count)))
			return -ENOENT;
		error = suspend_once(control, ids, count, done);
		if (error != -ETIME)
			break;
	}
	if (error) {
		control->all = control->all && ids;
		mark_groups(control, ids, count, false);
		gp_nvrm_start_unmarked(control, &undone);
	}
	gp_nvrm_set_timer(control);
	return error;
}

static int op_resume(struct gp_gpu_control *base, const u32 *ids, size_t count,
		     struct gp_gpu_control_done *done)
{
	struct gp_nvrm_target *control = gp_nvrm_target(base);
	int error = gp_nvrm_catch_up(control);

	*done = (struct gp_gpu_control_done){0};
	/* Starting needs no lifeline. */
	if (control->gone)
		return error;
	if (!all_known(control, ids, count))
		return -ENOENT;
	/* What is stopped after this was named: what comes is not among it. */
	control->all = false;
	done->queues = mark_groups(control, ids, count, false);
	error = gp_nvrm_start_unmarked(control, done);
	gp_nvrm_set_timer(control);
	return error;
}

static void op_copies(struct gp_gpu_control *base, bool stop)
{
	struct gp_nvrm_target *control = gp_nvrm_target(base);

	control->copies = stop;
	for (size_t i = 0; i < control->objects.group_count && !stop; i++) {
		struct gp_nvrm_group *g = &control->objects.groups[i];

		g->suspended = g->suspended && g->compute;
	}
}

static int op_share(struct gp_gpu_control *base, u32 part)
{
	struct gp_nvrm_target *control = gp_nvrm_target(base);
	u32 thousandths = GP_SHARE_SIZE(part);
	int error;

	if (thousandths < 1 || thousandths > GP_NVRM_SHARE_ALL)
		return -EINVAL;
	error = gp_nvrm_catch_up(control);
	if (error < 0)
		return error;
	control->share = thousandths;
	control->young_ns = gp_monotonic_ns() + GP_NVRM_YOUNG_NS;
	/* Groups made meanwhile get it now and not at the next look. */
	gp_nvrm_objects_extend(&control->objects, GP_NVRM_GAP_QUICK);
	if (thousandths == GP_NVRM_SHARE_ALL)
		error = gp_nvrm_lift_share(control);
	else
		error = gp_nvrm_apply_share(control);
	control->share_error = GP_MIN(error, 0);
	gp_nvrm_set_timer(control);
	return error < 0 ? error : (int)gp_nvrm_slice_read(control);
}

static int op_fd(struct gp_gpu_control *base)
{
	return gp_nvrm_target(base)->epoll;
}

static int op_queues(struct gp_gpu_control *base, struct gp_gpu_control_queues *out)
{
	struct gp_nvrm_target *control = gp_nvrm_target(base);
	int error = gp_nvrm_catch_up(control);

	out->count = 0;
	if (error >= 0)
		error = gp_nvrm_objects_renew(&control->objects);
	return error < 0 ? error : gp_nvrm_list(&control->objects, out);
}

/* The lifeline waits a little longer than the holder, which ends leases itself when it can. Should
 * it be too late, pump() says so. */
static int op_lease(struct gp_gpu_control *base, u32 lease_ms)
{
	struct gp_nvrm_target *control = gp_nvrm_target(base);

	if (control->gone)
		return -ESRCH;
	control->leased = true;
	control->lease_ns = lease_ms * GP_NS_PER_MS + GP_LEASE_MARGIN_NS;
	gp_nvrm_lifeline_renew(control->lifeline, gp_monotonic_ns() + control->lease_ns);
	return 0;
}

static int op_look(int pidfd, u32 pid, struct gp_gpu_control_queues *out)
{
	return gp_nvrm_look(&gp_nvrm_port_system, pidfd, pid, out);
}

const struct gp_gpu_control_ops gp_nvrm_control = {
	.mechanism = GP_MECHANISM_NV_SUSPEND,
	.probe = probe,
	.attach = attach,
	.detach = detach,
	.fd = op_fd,
	.pump = gp_nvrm_pump,
	.queues = op_queues,
	.suspend = op_suspend,
	.resume = op_resume,
	.share = op_share,
	.copies = op_copies,
	.traits = GP_CONTROL_AGENT_PRIORITY,
	.look = op_look,
	.lease = op_lease,
};

void gp_nvrm_control_lease(struct gp_gpu_control *base, u64 lease_ns)
{
	gp_nvrm_target(base)->lease_ns = lease_ns;
}

struct gp_nvrm_lifeline *gp_nvrm_control_lifeline(struct gp_gpu_control *base)
{
	return gp_nvrm_target(base)->lifeline;
}

u64 gp_nvrm_scan_calls(struct gp_gpu_control *base)
{
	return gp_nvrm_target(base)->objects.calls;
}
