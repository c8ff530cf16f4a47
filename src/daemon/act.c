// SPDX-License-Identifier: MIT
/*
 * Carries out decisions of the core through libgpreempt: one asynchronous call per process of a
 * job; the operation ends when all calls have. A lease is renewed only by this thread, only for a
 * client whose suspension is confirmed and whose job's last action is SUSPEND, and never after a
 * resume. In mode `observe` every operation is answered at once and nothing is done.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/i18n.h"
#include "daemon/daemon.h"
#include "gpu/gpu.h"

/* ---- the end of operations ---- */

static void free_operation(struct gp_daemon_operation *operation)
{
	gp_list_remove(&operation->link);
	free(operation);
}

static void count_cost(struct gp_daemon *daemon, const struct gp_daemon_operation *operation)
{
	bool suspend = operation->suspend;

	gp_daemon_histogram_add(suspend ? &daemon->stats.suspend : &daemon->stats.resume,
				operation->cost_ns);
	gp_daemon_spread_add(suspend ? &daemon->metrics.suspend : &daemon->metrics.resume,
			     operation->cost_ns);
}

static void end_operation(struct gp_daemon *daemon, struct gp_daemon_operation *operation)
{
	/* All its processes are away, which the core hears next, and nothing was done. */
	if (!operation->sent && !operation->result && operation->withdrawn) {
		free_operation(operation);
		return;
	}
	daemon->stats.operations++;
	/* The others are counted when the core says so, with the time-outs. */
	if (operation->result < 0)
		daemon->stats.failures += !operation->token;
	else if (operation->cost_ns != GP_SCHED_UNKNOWN)
		count_cost(daemon, operation);
	gp_daemon_report_done(daemon, operation);
	struct gp_daemon_job *job = daemon->by_handle[operation->job];
	if (job && job->id == operation->job_id)
		gp_daemon_worth_done(daemon, job, operation);
	if (operation->token)
		gp_daemon_act_answer(daemon, operation->token, operation->job, operation->result,
				     operation->cost_ns);
	free_operation(operation);
}

/* A process that ended meanwhile, or is away, needs no stopping. */
static void end_part(struct gp_daemon *daemon, struct gp_daemon_operation *operation,
		     struct gp_daemon_client *client, int result)
{
	struct gpreempt_latency latency = {.size = sizeof(latency)};

	if (result < 0 && result != -ESRCH && client && gp_daemon_absent_excuses(client))
		result = -ESRCH;
	if (result < 0 && result != -ESRCH && !operation->result)
		operation->result = result;
	if (result >= 0 && client && client->target &&
	    gpreempt_target_latency(client->target, &latency) == 0 && latency.total_ns) {
		u64 cost = latency.driver_ns ? latency.driver_ns : latency.total_ns;

		if (operation->cost_ns == GP_SCHED_UNKNOWN || cost > operation->cost_ns)
			operation->cost_ns = cost;
	}
	/* Only what the last action wants is ours to renew. */
	if (operation->suspend && client && client->job) {
		client->held = result >= 0 && client->job->wanted_held;
		client->leased_ns = operation->cost_ns == GP_SCHED_UNKNOWN
					    ? gp_monotonic_ns()
					    : operation->started_ns + operation->cost_ns;
	}
	if (--operation->pending == 0)
		end_operation(daemon, operation);
}

void gp_daemon_act_done(struct gp_daemon *daemon, const struct gpreempt_event *event)
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

void gp_daemon_act_cancel(struct gp_daemon *daemon)
{
	struct gp_list *link, *next;

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

static void set_controlled(struct gp_daemon_client *client, int error)
{
	struct gp_daemon *daemon = client->daemon;
	bool was = client->job->uncontrolled;

	if (error && error != -ESRCH && !client->open_tries &&
	    gp_daemon_user_may_log(daemon, client->who.uid))
		gp_diag(daemon->diag, GP_WARNING, "cannot preempt process %u (%s): %s",
			client->who.pid, client->who.name, gpreempt_error(daemon->library));
	client->job->uncontrolled = error != 0;
	if (!error)
		gp_daemon_act_reshare(daemon, client->job);
	if (was != client->job->uncontrolled && client->state == GP_CLIENT_READY)
		gp_daemon_host_respec(daemon, client->job);
}

/* A program with an agent may be mute to the holder: its opening is not waited for, and is taken to
 * succeed until its end says otherwise. */
static int open_target(struct gp_daemon_client *client)
{
	struct gpreempt *library = client->daemon->library;
	struct gpreempt_target_options options = {.size = sizeof(options)};
	int pid = (int)client->who.pid, ticket;

	if (client->attached) {
		options.mechanism = client->kind->outside_mechanism;
		return gpreempt_target_open(library, pid, &options, &client->target);
	}
	ticket = gpreempt_target_open_async(library, pid, &options, &client->target);
	client->opening = GP_MAX(ticket, 0);
	return GP_MIN(ticket, 0);
}

void gp_daemon_act_open(struct gp_daemon_client *client)
{
	int error;

	if (!client->job || client->target || !client->daemon->library || gp_daemon_swap_is(client))
		return;
	error = open_target(client);
	/* The pid was looked up by number: it must still be the same process. */
	if (!error && client->pidfd >= 0 &&
	    syscall(SYS_pidfd_send_signal, client->pidfd, 0, NULL, 0) < 0 && errno == ESRCH) {
		gpreempt_target_close(client->target);
		error = -ESRCH;
	}
	if (error) {
		client->target = NULL;
		client->opening = 0;
	}
	set_controlled(client, error);
}

bool gp_daemon_act_opened(struct gp_daemon_client *client, const struct gpreempt_event *event)
{
	if (!client || !client->opening || client->opening != event->ticket)
		return false;
	client->opening = 0;
	/* A holder that ended is replaced, and asked again, by the next call. */
	if (event->result >= 0 || event->result == -ECONNRESET || event->result == -ETIME)
		return true;
	set_controlled(client, event->result);
	gp_daemon_act_close(client);
	return true;
}

/* Calls under way end without it. */
static void drop_calls(struct gp_daemon_client *client, bool away)
{
	struct gp_daemon *daemon = client->daemon;

	for (size_t i = 0; i < daemon->ticket_count;) {
		struct gp_daemon_ticket ticket = daemon->tickets[i];

		if (ticket.client != client) {
			i++;
			continue;
		}
		daemon->tickets[i] = daemon->tickets[--daemon->ticket_count];
		if (away) {
			ticket.operation->sent--;
			ticket.operation->withdrawn = true;
			client->away.asked |= ticket.operation->suspend;
		}
		end_part(daemon, ticket.operation, NULL, -ESRCH);
	}
}

void gp_daemon_act_close(struct gp_daemon_client *client)
{
	struct gp_daemon *daemon = client->daemon;

	drop_calls(client, false);
	if (client->broken) {
		client->broken = false;
		gp_daemon_library_broken(daemon);
	}
	gp_daemon_share_forget(client);
	if (client->target)
		gpreempt_target_close(client->target);
	client->target = NULL;
	client->opening = 0;
	client->held = false;
}

/* ---- operations ---- */

/* More processes than the GPU runs at once: then a queue without work is in the way. */
static bool is_crowded(const struct gp_daemon *daemon, u32 device)
{
	struct gp_sched_device_state state;

	return gp_sched_device_state(daemon->sched, device, &state) == 0 && state.crowded;
}

static struct gp_daemon_operation *begin(struct gp_daemon *daemon, struct gp_daemon_job *job,
					 const struct gp_sched_action *action)
{
	struct gp_daemon_operation *operation = calloc(1, sizeof(*operation));
	struct gp_sched_job_state state = {0};

	if (!operation)
		return NULL;
	gp_sched_job_state(daemon->sched, job->handle, &state);
	*operation = (struct gp_daemon_operation){
		.token = action->token,
		.reason = action->reason.id,
		.job_id = job->id,
		.job = job->handle,
		.suspend = action->kind == GP_SCHED_SUSPEND,
		/* Also of a process that joins a job that is parked. */
		.parks = action->kind == GP_SCHED_SUSPEND && state.parked,
		.off = is_crowded(daemon, action->reason.device),
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
		.flags = (with_copies(daemon, client) ? GPREEMPT_SUSPEND_COPIES : 0) |
			 (operation->off ? GPREEMPT_SUSPEND_OFF : 0),
	};

	if (client->job->spec.max_suspend_ns)
		limit_ms = client->job->spec.max_suspend_ns / GP_NS_PER_MS;
	/* The core resumes at the limit; the library's own is for when it does not. */
	limit_ms = GP_MIN(limit_ms + limit_ms / 4 + 100, GPREEMPT_LIMIT_MAX_MS);
	options.limit_ms = operation->parks ? GPREEMPT_LIMIT_MAX_MS : (uint32_t)limit_ms;
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
		bool ours = client->held || client->away.asked;

		if (!operation->suspend)
			client->held = client->away.asked = false;
		if (gp_daemon_absent_is(client)) {
			/* It resumes when it is continued; its answer is not waited for. */
			if (!operation->suspend && ours && client->target)
				(void)!gpreempt_target_resume_async(client->target);
			operation->withdrawn = true;
			continue;
		}
		operation->pending++;
		int sent = send_part(daemon, operation, client);
		if (sent > 0)
			operation->sent++;
		else
			end_part(daemon, operation, client, sent);
	}
	if (operation->pending > 1)
		gp_daemon_absent_asked(daemon);
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
		if (gpreempt_target_renew(client->target) < 0)
			gp_daemon_act_lose(client);
		else
			client->leased_ns = gp_monotonic_ns();
	}
}

void gp_daemon_act_lose(struct gp_daemon_client *client)
{
	struct gp_daemon_job *job = client->job;
	struct gp_sched_job_state state = {0};
	u64 now = gp_monotonic_ns(), end = client->leased_ns + client->daemon->config.lease_ns;

	client->held = false;
	gp_sched_job_state(client->daemon->sched, job->handle, &state);
	if (!state.parked)
		job->figures.lost_ns = GP_MAX(job->figures.lost_ns, now - GP_MIN(end, now));
	gp_daemon_act_answer(client->daemon, 0, job->handle, 0, 0);
}

/* A suspension of it was asked for and has not been answered. */
static bool is_being_held(const struct gp_daemon_client *client)
{
	const struct gp_daemon *daemon = client->daemon;

	for (size_t i = 0; i < daemon->ticket_count; i++)
		if (daemon->tickets[i].client == client && daemon->tickets[i].operation->suspend)
			return true;
	return false;
}

/* The core has let the whole job go: its other processes are not held without it. */
void gp_daemon_act_lost(struct gp_daemon_job *job)
{
	job->wanted_held = false;
	gp_list_each (struct gp_daemon_client, client, job_link, &job->clients) {
		if (client->target && (client->held || is_being_held(client)))
			(void)!gpreempt_target_resume_async(client->target);
		client->held = false;
	}
}

void gp_daemon_act_withdraw(struct gp_daemon_client *client)
{
	drop_calls(client, true);
}

/* The others of its job are suspended: it follows them, without an answer to the core. */
void gp_daemon_act_rejoin(struct gp_daemon_client *client)
{
	struct gp_daemon *daemon = client->daemon;
	struct gp_daemon_job *job = client->job;
	struct gp_sched_action action = {.kind = GP_SCHED_SUSPEND,
					 .reason = {.id = job->suspend_reason}};
	struct gp_daemon_operation *operation;

	if (!job->wanted_held || client->held || !client->target ||
	    daemon->config.mode != GP_MODE_ACT)
		return;
	if (client->queue_count)
		action.reason.device = gp_daemon_host_device(daemon, client->queues[0].gpu_id);
	operation = begin(daemon, job, &action);
	if (!operation)
		return;
	int sent = send_part(daemon, operation, client);
	if (sent > 0)
		operation->sent++;
	else
		end_part(daemon, operation, client, sent);
}
