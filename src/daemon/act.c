// SPDX-License-Identifier: MIT
/*
 * Carries out decisions of the core through libgpreempt: one asynchronous call per process of a
 * job; the operation ends when all calls have. A lease is renewed only by this thread, only for a
 * client whose suspension is confirmed and whose job's last action is SUSPEND, and never after a
 * resume. In mode `observe` every operation is answered at once and nothing is done.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/i18n.h"
#include "daemon/daemon.h"
#include "gpu/gpu.h"

#define OPEN_AGAIN_NS (5 * GP_NS_PER_S)

/* ---- the library ---- */

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

static void end_operation(struct gp_daemon *daemon, struct gp_daemon_operation *operation)
{
	daemon->stats.operations++;
	/* The others are counted when the core says so, with the time-outs. */
	if (operation->result < 0)
		daemon->stats.failures += !operation->token;
	else if (operation->cost_ns != GP_SCHED_UNKNOWN)
		gp_daemon_histogram_add(operation->suspend ? &daemon->stats.suspend
							   : &daemon->stats.resume,
					operation->cost_ns);
	gp_daemon_report_done(daemon, operation);
	if (operation->token)
		gp_daemon_act_answer(daemon, operation->token, operation->job, operation->result,
				     operation->cost_ns);
	gp_list_remove(&operation->link);
	free(operation);
}

/* A process that ended meanwhile needs no stopping. */
static void end_part(struct gp_daemon *daemon, struct gp_daemon_operation *operation,
		     struct gp_daemon_client *client, int result)
{
	struct gpreempt_latency latency = {.size = sizeof(latency)};

	if (result < 0 && result != -ESRCH && !operation->result)
		operation->result = result;
	if (result >= 0 && client && client->target &&
	    gpreempt_target_latency(client->target, &latency) == 0 && latency.total_ns) {
		u64 cost = latency.driver_ns ? latency.driver_ns : latency.total_ns;

		if (operation->cost_ns == GP_SCHED_UNKNOWN || cost > operation->cost_ns)
			operation->cost_ns = cost;
	}
	/* Only what the last action wants is ours to renew. */
	if (operation->suspend && client && client->job)
		client->held = result >= 0 && client->job->wanted_held;
	if (--operation->pending == 0)
		end_operation(daemon, operation);
}

static void part_done(struct gp_daemon *daemon, const struct gpreempt_event *event)
{
	for (size_t i = 0; i < daemon->ticket_count; i++) {
		struct gp_daemon_ticket ticket = daemon->tickets[i];

		if (ticket.ticket != event->ticket)
			continue;
		daemon->tickets[i] = daemon->tickets[--daemon->ticket_count];
		end_part(daemon, ticket.operation, ticket.client, event->result);
		return;
	}
}

/* A device is broken while any client reports it: a client that ends withdraws only its report. */
static void note_broken(struct gp_daemon *daemon)
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
		broken ? _("preemption is disabled on the GPU of process %u after driver failures")
		       : _("preemption is enabled again on the GPU of process %u"),
		client->who.pid);
	note_broken(daemon);
}

static void library_event(struct gp_daemon *daemon, const struct gpreempt_event *event)
{
	struct gp_daemon_client *client = client_of(daemon, event->target);

	switch (event->kind) {
	case GPREEMPT_EVENT_DONE:
		if (!gp_daemon_share_done(client, event))
			part_done(daemon, event);
		break;
	case GPREEMPT_EVENT_LEASE_LOST:
		if (client && client->job && client->held) {
			client->held = false;
			gp_daemon_act_answer(daemon, 0, client->job->handle, 0, 0);
		}
		break;
	case GPREEMPT_EVENT_BREAKER:
		if (client)
			breaker(daemon, client, event->result != 0);
		break;
	case GPREEMPT_EVENT_QUEUES:
		if (client && client->attached)
			gp_daemon_attach_queues(client);
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
		gp_diag(daemon->diag, GP_WARNING, "cannot preempt jobs, retrying: %s",
			*daemon->problem ? daemon->problem : strerror(-error));
		gp_timer_set(&daemon->loop, &daemon->library_timer,
			     gp_monotonic_ns() + OPEN_AGAIN_NS);
		return;
	}
	daemon->problem[0] = 0;
	gp_list_each (struct gp_daemon_client, client, link, &daemon->clients)
		gp_daemon_act_open(client);
}

void gp_daemon_act_start(struct gp_daemon *daemon)
{
	gp_timer_init(&daemon->library_timer, library_time);
	open_library(daemon);
}

/* Closing the context lets go of every suspension. */
void gp_daemon_act_stop(struct gp_daemon *daemon)
{
	struct gp_list *link, *next;

	gp_daemon_act_lift(daemon, false);
	gp_timer_set(&daemon->loop, &daemon->library_timer, UINT64_MAX);
	gp_list_each (struct gp_daemon_client, client, link, &daemon->clients) {
		client->target = NULL;
		client->held = client->broken = false;
	}
	/* The next holder, or this one in mode act again, says so if it still is. */
	for (u32 i = 0; i < daemon->device_count; i++)
		daemon->devices[i].broken = false;
	gp_loop_unwatch(&daemon->loop, &daemon->library_watch);
	gpreempt_close(daemon->library);
	daemon->library = NULL;
	daemon->ticket_count = 0;
	gp_list_for_each_safe(link, next, &daemon->operations)
	{
		struct gp_daemon_operation *operation =
			gp_container(link, struct gp_daemon_operation, link);

		operation->result = operation->suspend ? -ECANCELED : 0;
		end_operation(daemon, operation);
	}
}

/* ---- targets ---- */

void gp_daemon_act_open(struct gp_daemon_client *client)
{
	struct gp_daemon *daemon = client->daemon;
	struct gpreempt_target_options options = {.size = sizeof(options)};
	bool was = client->job && client->job->uncontrolled;
	int error;

	if (!client->job || client->target || !daemon->library)
		return;
	if (client->attached)
		options.mechanism = client->kind->outside_mechanism;
	error = gpreempt_target_open(daemon->library, (int)client->who.pid, &options,
				     &client->target);
	/* The pid was looked up by number: it must still be the same process. */
	if (!error && client->pidfd >= 0 &&
	    syscall(SYS_pidfd_send_signal, client->pidfd, 0, NULL, 0) < 0 && errno == ESRCH) {
		gpreempt_target_close(client->target);
		error = -ESRCH;
	}
	if (error) {
		client->target = NULL;
		if (error != -ESRCH && !client->open_tries)
			gp_diag(daemon->diag, GP_WARNING, "cannot preempt process %u (%s): %s",
				client->who.pid, client->who.name, gpreempt_error(daemon->library));
	}
	client->job->uncontrolled = error != 0;
	if (!error)
		gp_daemon_act_reshare(daemon, client->job);
	if (was != client->job->uncontrolled && client->state == GP_CLIENT_READY)
		gp_daemon_host_respec(daemon, client->job);
}

void gp_daemon_act_close(struct gp_daemon_client *client)
{
	struct gp_daemon *daemon = client->daemon;

	/* Calls under way end without it. */
	for (size_t i = 0; i < daemon->ticket_count;) {
		struct gp_daemon_ticket ticket = daemon->tickets[i];

		if (ticket.client != client) {
			i++;
			continue;
		}
		daemon->tickets[i] = daemon->tickets[--daemon->ticket_count];
		end_part(daemon, ticket.operation, NULL, -ESRCH);
	}
	if (client->broken) {
		client->broken = false;
		note_broken(daemon);
	}
	gp_daemon_share_forget(client);
	if (client->target)
		gpreempt_target_close(client->target);
	client->target = NULL;
	client->held = false;
}

/* ---- operations ---- */

static struct gp_daemon_operation *begin(struct gp_daemon *daemon, struct gp_daemon_job *job,
					 const struct gp_sched_action *action)
{
	struct gp_daemon_operation *operation = calloc(1, sizeof(*operation));

	if (!operation)
		return NULL;
	*operation = (struct gp_daemon_operation){
		.token = action->token,
		.reason = action->reason.id,
		.job_id = job->id,
		.job = job->handle,
		.suspend = action->kind == GP_SCHED_SUSPEND,
		.pending = 1, /* this function's own, until all calls are sent */
		.cost_ns = GP_SCHED_UNKNOWN,
		.started_ns = gp_monotonic_ns(),
	};
	gp_list_add_tail(&daemon->operations, &operation->link);
	return operation;
}

/* Whether one of its GPUs also stops copies: they belong to the whole process. */
static bool with_copies(const struct gp_daemon *daemon, const struct gp_daemon_client *client)
{
	for (size_t i = 0; i < client->queue_count; i++) {
		u32 gpu_id = client->queues[i].gpu_id, node = GP_DAEMON_NONE;

		for (u32 k = 0; k < daemon->device_count; k++)
			if (daemon->devices[k].gpu_id == gpu_id)
				node = daemon->devices[k].node;
		if (gp_daemon_config_copies(&daemon->config, gpu_id, node))
			return true;
	}
	return false;
}

static int send_part(struct gp_daemon *daemon, struct gp_daemon_operation *operation,
		     struct gp_daemon_client *client)
{
	u64 limit_ms = daemon->config.max_suspend_ns / GP_NS_PER_MS;
	struct gpreempt_suspend_options options = {
		.size = sizeof(options),
		.lease_ms = (uint32_t)(daemon->config.lease_ns / GP_NS_PER_MS),
		.flags = with_copies(daemon, client) ? GPREEMPT_SUSPEND_COPIES : 0,
	};

	if (client->job->spec.max_suspend_ns)
		limit_ms = client->job->spec.max_suspend_ns / GP_NS_PER_MS;
	/* The core resumes at the limit; the library's own is for when it does not. */
	limit_ms = GP_MIN(limit_ms + limit_ms / 4 + 100, GPREEMPT_LIMIT_MAX_MS);
	options.limit_ms = (uint32_t)limit_ms;
	if (!client->target)
		return operation->suspend ? -EOPNOTSUPP : 0;
	if (gp_array_grow((void **)&daemon->tickets, daemon->ticket_count, &daemon->ticket_capacity,
			  sizeof(*daemon->tickets)))
		return -ENOMEM;
	int ticket = operation->suspend ? gpreempt_target_suspend_async(client->target, &options)
					: gpreempt_target_resume_async(client->target);
	if (ticket < 0)
		return ticket;
	daemon->tickets[daemon->ticket_count++] = (struct gp_daemon_ticket){.ticket = ticket,
									    .operation = operation,
									    .client = client};
	return 1;
}

/* What is expected of the operation: an answer with it teaches the core nothing new. */
static u64 expected_cost(struct gp_daemon *daemon, const struct gp_daemon_job *job,
			 const struct gp_sched_action *action)
{
	struct gp_sched_job_state of_job = {0};
	struct gp_sched_device_state of_device = {0};
	bool suspend = action->kind == GP_SCHED_SUSPEND;
	u32 device = action->reason.device == GP_SCHED_NONE ? 0 : action->reason.device;
	u64 cost = GP_SCHED_UNKNOWN;

	if (gp_sched_job_state(daemon->sched, job->handle, &of_job) == 0)
		cost = suspend ? of_job.suspend_ns : of_job.resume_ns;
	if (cost == GP_SCHED_UNKNOWN &&
	    gp_sched_device_state(daemon->sched, device, &of_device) == 0)
		cost = suspend ? of_device.suspend_ns : of_device.resume_ns;
	return cost;
}

static void operate(struct gp_daemon *daemon, struct gp_daemon_job *job,
		    const struct gp_sched_action *action)
{
	struct gp_daemon_operation *operation;

	if (daemon->config.mode != GP_MODE_ACT) {
		if (action->token)
			gp_daemon_act_answer(daemon, action->token, job->handle, 0,
					     expected_cost(daemon, job, action));
		return;
	}
	operation = begin(daemon, job, action);
	if (!operation) {
		gp_daemon_act_answer(daemon, action->token, job->handle, -ENOMEM, GP_SCHED_UNKNOWN);
		return;
	}
	gp_list_each (struct gp_daemon_client, client, job_link, &job->clients) {
		if (!operation->suspend)
			client->held = false;
		operation->pending++;
		int sent = send_part(daemon, operation, client);
		if (sent <= 0)
			end_part(daemon, operation, client, sent);
	}
	end_part(daemon, operation, NULL, 0);
}

void gp_daemon_act_suspend(struct gp_daemon *daemon, struct gp_daemon_job *job,
			   const struct gp_sched_action *action)
{
	operate(daemon, job, action);
}

void gp_daemon_act_resume(struct gp_daemon *daemon, struct gp_daemon_job *job,
			  const struct gp_sched_action *action)
{
	operate(daemon, job, action);
}

void gp_daemon_act_renew(struct gp_daemon *daemon)
{
	gp_list_each (struct gp_daemon_client, client, link, &daemon->clients) {
		if (!client->held || !client->target || !client->job->wanted_held)
			continue;
		daemon->stats.renewals++;
		if (gpreempt_target_renew(client->target) < 0) {
			client->held = false;
			gp_daemon_act_answer(daemon, 0, client->job->handle, 0, 0);
		}
	}
}
