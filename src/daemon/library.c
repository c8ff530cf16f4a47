// SPDX-License-Identifier: MIT
/*
 * The connection to the holder: opening libgpreempt, its events, and GPUs on which the driver
 * failed. If it cannot be opened it is tried again.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/i18n.h"
#include "daemon/daemon.h"

#define OPEN_AGAIN_NS (5 * GP_NS_PER_S)

static void open_library(struct gp_daemon *daemon);

static void library_time(struct gp_timer *timer)
{
	open_library(gp_container(timer, struct gp_daemon, library_timer));
}

static struct gp_daemon_client *client_of(struct gp_daemon *daemon,
					  const struct gpreempt_target *target)
{
	gp_list_each (struct gp_daemon_client, client, link, &daemon->clients) {
		if (client->target == target)
			return client;
	}
	return NULL;
}

/* A device is broken while any client reports it: a client that ends withdraws only its report. */
void gp_daemon_library_broken(struct gp_daemon *daemon)
{
	for (u32 i = 0; i < daemon->device_count; i++)
		daemon->devices[i].broken = false;
	gp_list_each (const struct gp_daemon_client, client, link, &daemon->clients) {
		for (size_t i = 0; client->broken && i < client->queue_count; i++) {
			u32 device = gp_daemon_host_device(daemon, client->queues[i].gpu_id);

			if (device != GP_DAEMON_NONE)
				daemon->devices[device].broken = true;
		}
	}
	gp_daemon_host_configure(daemon);
}

static void breaker(struct gp_daemon *daemon, struct gp_daemon_client *client, bool broken)
{
	if (client->broken == broken)
		return;
	client->broken = broken;
	gp_diag(daemon->diag, broken ? GP_ERROR : GP_NOTE,
		broken ? _("the driver failed twice in a row to suspend queues on the GPU of "
			   "process %u; the holder leaves that GPU alone for 1 to 64 s, then it "
			   "is tried again (dmesg may say why)")
		       : _("preemption is enabled again on the GPU of process %u"),
		client->who.pid);
	gp_daemon_library_broken(daemon);
}

static void library_event(struct gp_daemon *daemon, const struct gpreempt_event *event)
{
	struct gp_daemon_client *client = client_of(daemon, event->target);

	if (gp_daemon_keep_event(daemon, event))
		return;
	/* With the holder end the suspensions of others. */
	if (client && event->result == -ECONNRESET)
		gp_daemon_absent_hand(client, 0);
	switch (event->kind) {
	case GPREEMPT_EVENT_DONE:
		if (!gp_daemon_act_opened(client, event) && !gp_daemon_share_done(client, event))
			gp_daemon_act_done(daemon, event);
		break;
	case GPREEMPT_EVENT_LEASE_LOST:
		if (client && client->job && client->held)
			gp_daemon_act_lose(client);
		break;
	case GPREEMPT_EVENT_BREAKER:
		if (client)
			breaker(daemon, client, event->result != 0);
		break;
	case GPREEMPT_EVENT_HELD_ELSEWHERE:
		if (client)
			gp_daemon_absent_hand(client, event->result);
		break;
	case GPREEMPT_EVENT_QUEUES:
		if (client && client->attached)
			gp_daemon_attach_queues(client);
		if (client)
			gp_daemon_share_renew(client);
		break;
	default:
		/* Ends of processes, and queues of agents, are seen at their source. */
		break;
	}
}

void gp_daemon_act_collect(struct gp_daemon *daemon)
{
	struct gpreempt_event event;
	bool lost = true;

	/* Bounded, so that events cannot keep this thread here. */
	for (int most = 64; most && gpreempt_next_event(daemon->library, &event) > 0; most--) {
		lost &= event.result == -ECONNRESET;
		library_event(daemon, &event);
	}
	/* Woken without an event: the library reports no end of the holder while no call is under
	 * way and no process is suspended. Sending a share twice is harmless. */
	if (lost)
		gp_daemon_share_lost(daemon);
	gp_daemon_share_send(daemon);
}

static void library_ready(struct gp_watch *watch, u32 events)
{
	struct gp_daemon *daemon = gp_container(watch, struct gp_daemon, library_watch);

	(void)events;
	gp_daemon_act_collect(daemon);
	gp_daemon_host_settle(daemon);
}

/* After a pause of this process (SIGSTOP, a frozen control group) the leases that ended meanwhile
 * come first: a timer that is due would take their jobs as held until now. */
static bool woken(struct gp_loop *loop)
{
	struct gp_daemon *daemon = gp_container(loop, struct gp_daemon, loop);
	u64 before = daemon->woken_ns;
	bool held = false;

	daemon->woken_ns = gp_monotonic_ns();
	if (!daemon->library || daemon->woken_ns - before <= daemon->config.lease_ns)
		return false;
	gp_list_each (const struct gp_daemon_client, client, link, &daemon->clients)
		held |= client->held;
	if (!held)
		return false;
	gp_daemon_act_collect(daemon);
	gp_daemon_host_settle(daemon);
	return true;
}

static void open_library(struct gp_daemon *daemon)
{
	int error;

	if (daemon->library || daemon->config.mode != GP_MODE_ACT)
		return;
	error = gpreempt_open(&daemon->library);
	if (!error) {
		/* The loop owns what it watches; this one is the library's. */
		int fd = dup(gpreempt_fd(daemon->library));

		error = fd < 0 ? -errno
			       : gp_loop_watch(&daemon->loop, &daemon->library_watch, fd,
					       library_ready);
		if (error) {
			gpreempt_close(daemon->library);
			daemon->library = NULL;
		}
	}
	if (error) {
		snprintf(daemon->problem, sizeof(daemon->problem), "%s", gpreempt_error(NULL));
		gp_diag(daemon->diag, GP_WARNING, "cannot preempt jobs: %s; retrying",
			*daemon->problem ? daemon->problem : strerror(-error));
		gp_timer_set(&daemon->loop, &daemon->library_timer,
			     gp_monotonic_ns() + OPEN_AGAIN_NS);
		return;
	}
	daemon->problem[0] = 0;
	gp_list_each (struct gp_daemon_client, client, link, &daemon->clients)
		gp_daemon_act_open(client);
	gp_daemon_keep_all(daemon);
}

void gp_daemon_act_start(struct gp_daemon *daemon)
{
	daemon->loop.woken = woken;
	gp_timer_init(&daemon->library_timer, library_time);
	open_library(daemon);
}

/* Closing the context lets go of every suspension. */
void gp_daemon_act_stop(struct gp_daemon *daemon)
{
	gp_daemon_act_lift(daemon, false);
	gp_timer_set(&daemon->loop, &daemon->library_timer, UINT64_MAX);
	gp_list_each (struct gp_daemon_client, client, link, &daemon->clients) {
		client->target = NULL;
		client->opening = 0;
		client->held = client->broken = false;
		gp_daemon_keep_forget(client);
		gp_daemon_absent_hand(client, 0);
	}
	/* The next holder, or this one in mode act again, says so if it still is. */
	for (u32 i = 0; i < daemon->device_count; i++)
		daemon->devices[i].broken = false;
	gp_loop_unwatch(&daemon->loop, &daemon->library_watch);
	gpreempt_close(daemon->library);
	daemon->library = NULL;
	gp_daemon_act_cancel(daemon);
}
