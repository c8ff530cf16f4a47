// SPDX-License-Identifier: MIT
/*
 * Keeps processes off the GPU outside of the core's decisions: see keep.h. Each process has a
 * second target for it, so that an operation of the core on the first one does not end the hold;
 * the suspension is a lease that this thread renews like any other.
 *
 * An agent cannot answer while its process is stopped, so a process that is stopped already is
 * suspended from outside, where the mechanism of its GPU can. One that its agent suspended before
 * it was stopped stays suspended until it continues: nothing but the agent can undo it.
 *
 * A process is suspended with its job: a stopped rank of a job that goes on is left as it is.
 */
#include <errno.h>
#include <stdio.h>

#include "daemon/daemon.h"
#include "gpu/gpu.h"

#define AGAIN_NS     (100 * GP_NS_PER_MS) /* doubles with each failure */
#define AGAIN_MAX_NS (5 * GP_NS_PER_S)
#define TIMEOUT_MS   1000 /* of one suspension */

static void arm(struct gp_daemon *daemon, u64 at)
{
	if (!gp_timer_armed(&daemon->keep_timer) || daemon->keep_timer.at_ns > at)
		gp_timer_set(&daemon->loop, &daemon->keep_timer, at);
}

/* ---- what the record and the totals say ---- */

static enum gp_proto_kept state_of(const struct gp_daemon_job *job, int *error)
{
	enum gp_proto_kept worst = GP_KEPT_NOT;

	*error = 0;
	gp_list_each (const struct gp_daemon_client, client, job_link, &job->clients) {
		if (client->keep.state == GP_KEPT_FAILED)
			*error = client->keep.error;
		worst = GP_MAX(worst, client->keep.state);
	}
	return worst;
}

/* A process that is held by name may be suspended anew, because it was stopped and continued
 * meanwhile: to its owner that is one suspension. */
static bool is_held_anew(const struct gp_daemon_client *client)
{
	enum gp_proto_kept state = client->keep.state;

	return (state == GP_KEPT_NOT || state == GP_KEPT_ASKED) && gp_daemon_hold_of(client);
}

void gp_daemon_keep_account(struct gp_daemon_job *job)
{
	u64 now = gp_monotonic_ns(), held;
	bool off = job->away.by == GP_AWAY_HAND, was = job->off.since_ns != GP_DAEMON_NEVER;

	gp_list_each (const struct gp_daemon_client, client, job_link, &job->clients)
		off |= client->keep.state == GP_KEPT_HELD || (was && is_held_anew(client));
	if (off == was)
		return;
	if (off) {
		job->off.since_ns = now;
		job->off.count++;
		return;
	}
	held = now - GP_MIN(job->off.since_ns, now);
	job->off.total_ns += held;
	job->off.longest_ns = GP_MAX(job->off.longest_ns, held);
	job->off.since_ns = GP_DAEMON_NEVER;
}

void gp_daemon_keep_view(const struct gp_daemon_job *job, struct gp_proto_msg_job *out)
{
	u64 now = gp_monotonic_ns(), held = 0;
	int error;

	if (job->off.since_ns != GP_DAEMON_NEVER)
		held = now - GP_MIN(job->off.since_ns, now);
	out->kept = state_of(job, &error);
	out->keep_error = error;
	/* Held is held, whoever holds it. */
	out->held_ns += job->off.total_ns + held;
	out->suspends += job->off.count;
	if (out->held_since == GP_DAEMON_NEVER && out->kept == GP_KEPT_HELD)
		out->held_since = job->off.since_ns;
	out->longest_ns = GP_MAX(out->longest_ns, GP_MAX(job->off.longest_ns, held));
	snprintf(out->owner, sizeof(out->owner), "%s", job->away.owner);
}

/* One line for the whole job, once it is settled. */
static void note(struct gp_daemon *daemon, struct gp_daemon_job *job, u64 asked_ns)
{
	int error;
	enum gp_proto_kept state = state_of(job, &error);

	gp_daemon_keep_account(job);
	if (state == GP_KEPT_ASKED || state == job->kept_said)
		return;
	u64 now = gp_monotonic_ns();
	u64 since = state == GP_KEPT_NOT ? job->kept_ns : asked_ns;
	gp_daemon_report_kept(daemon, job, state, error, now - GP_MIN(since, now));
	job->kept_said = state;
	job->kept_ns = now;
}

static void note_client(struct gp_daemon_client *client)
{
	note(client->daemon, client->job, client->keep.asked_ns);
}

/* ---- one process ---- */

static void drop_target(struct gp_daemon_client_keep *keep)
{
	if (keep->target)
		gpreempt_target_close(keep->target);
	keep->target = NULL;
	keep->ticket = 0;
	keep->leased = false;
}

static void fail(struct gp_daemon_client *client, int error)
{
	struct gp_daemon_client_keep *keep = &client->keep;
	u64 pause = GP_MIN(AGAIN_NS << GP_MIN(keep->tries, 8u), AGAIN_MAX_NS);

	keep->tries++;
	keep->error = error;
	drop_target(keep);
	keep->again_ns = gp_monotonic_ns() + pause;
	keep->state = keep->asleep ? GP_KEPT_HELD : GP_KEPT_FAILED;
	arm(client->daemon, keep->again_ns);
	note_client(client);
}

static void suspend(struct gp_daemon_client *client)
{
	struct gp_daemon *daemon = client->daemon;
	struct gp_daemon_client_keep *keep = &client->keep;
	struct gpreempt_suspend_options options = {
		.size = sizeof(options),
		.lease_ms = (uint32_t)(daemon->config.lease_ns / GP_NS_PER_MS),
		.limit_ms = GPREEMPT_LIMIT_MAX_MS, /* then it is asked for anew */
		.timeout_ms = TIMEOUT_MS,
	};
	int ticket = gpreempt_target_suspend_async(keep->target, &options);

	keep->suspends = true;
	keep->ticket = GP_MAX(ticket, 0);
	if (ticket < 0)
		fail(client, ticket);
}

static u32 mechanism_for(const struct gp_daemon_client *client)
{
	if (client->attached)
		return client->kind->outside_mechanism;
	/* One that was stopped before it had a queue has nothing to suspend. */
	return client->keep.outside && client->queue_count
		       ? gp_gpu_kind(client->queues[0].gpu_id)->outside_mechanism
		       : GPREEMPT_AUTO;
}

static void begin(struct gp_daemon_client *client)
{
	struct gp_daemon_client_keep *keep = &client->keep;
	struct gpreempt_target_options options = {.size = sizeof(options)};
	int ticket;

	drop_target(keep);
	if (!keep->asked_ns)
		keep->asked_ns = gp_monotonic_ns();
	keep->outside = client->attached || client->away.stopped;
	if (!keep->asleep)
		keep->state = GP_KEPT_ASKED;
	options.mechanism = mechanism_for(client);
	keep->suspends = false;
	ticket = gpreempt_target_open_async(client->daemon->library, (int)client->who.pid, &options,
					    &keep->target);
	keep->ticket = GP_MAX(ticket, 0);
	if (ticket >= 0)
		return;
	keep->target = NULL;
	fail(client, ticket);
}

static void succeed(struct gp_daemon_client *client)
{
	struct gp_daemon_client_keep *keep = &client->keep;

	keep->state = GP_KEPT_HELD;
	keep->leased = true;
	keep->asleep = false;
	keep->error = 0;
	arm(client->daemon, gp_monotonic_ns() + client->daemon->config.lease_ns / 3);
	note_client(client);
}

static void let_go(struct gp_daemon_client *client)
{
	/* The end of the target is the end of its suspension. */
	drop_target(&client->keep);
	client->keep = (struct gp_daemon_client_keep){0};
	note_client(client);
}

/* The lease is over although it was to be held. */
static void lose(struct gp_daemon_client *client)
{
	struct gp_daemon_client_keep *keep = &client->keep;

	keep->leased = false;
	/* A stopped agent does not answer the holder, and does not resume anything either. One that
	 * was continued since the last look resumes by itself, and is asked again. */
	keep->asleep = !keep->outside && gp_daemon_absent_stopped(client);
	if (keep->tries++ && !keep->asleep)
		fail(client, -ENOLCK);
	else
		begin(client);
}

/* ---- which processes ---- */

static bool follows(const struct gp_daemon_client *client)
{
	enum gp_stopped stopped = client->away.stopped;
	enum gp_proto_away by = client->job->away.by;

	/* A debugger wants to find everything as it was. */
	return client->job->follow && by && by != GP_AWAY_HAND && !client->job->away.returning &&
	       (stopped == GP_STOPPED_SIGNAL || stopped == GP_STOPPED_FROZEN);
}

static bool is_wanted(struct gp_daemon_client *client)
{
	const struct gp_daemon *daemon = client->daemon;

	client->keep.hold = gp_daemon_hold_of(client);
	/* Off the GPU already; work that was submitted must end while it is moved. */
	if (gp_daemon_swap_is(client))
		return false;
	if (daemon->config.mode != GP_MODE_ACT || !daemon->library)
		return false;
	/* What has no queue has nothing to suspend; a running agent suspends what comes. */
	if (!client->queue_count && (client->attached || client->away.stopped))
		return false;
	return client->keep.hold || follows(client);
}

static void update(struct gp_daemon_client *client)
{
	const struct gp_daemon_client_keep *keep = &client->keep;
	bool wanted = is_wanted(client);

	if (!wanted && (keep->state != GP_KEPT_NOT || keep->target))
		let_go(client);
	else if (wanted && keep->state == GP_KEPT_NOT)
		begin(client);
}

void gp_daemon_keep_job(struct gp_daemon *daemon, struct gp_daemon_job *job)
{
	gp_list_each (struct gp_daemon_client, client, job_link, &job->clients)
		update(client);
	/* One that continued before its hold ended has resumed by itself. */
	note(daemon, job, job->kept_ns);
}

void gp_daemon_keep_all(struct gp_daemon *daemon)
{
	gp_list_each (struct gp_daemon_client, client, link, &daemon->clients) {
		if (client->job)
			update(client);
	}
}

void gp_daemon_keep_continued(struct gp_daemon_client *client)
{
	struct gp_daemon_client_keep *keep = &client->keep;

	if (!keep->asleep)
		return;
	/* Its agent resumes it now. */
	keep->asleep = false;
	if (!keep->leased) {
		drop_target(keep);
		keep->state = GP_KEPT_NOT;
	}
}

void gp_daemon_keep_close(struct gp_daemon_client *client)
{
	drop_target(&client->keep);
	client->keep = (struct gp_daemon_client_keep){0};
	if (client->job)
		gp_daemon_keep_account(client->job);
}

void gp_daemon_keep_forget(struct gp_daemon_client *client)
{
	client->keep.target = NULL;
	gp_daemon_keep_close(client);
}

/* ---- events ---- */

bool gp_daemon_keep_event(struct gp_daemon *daemon, const struct gpreempt_event *event)
{
	struct gp_daemon_client *client = NULL;

	gp_list_each (struct gp_daemon_client, at, link, &daemon->clients) {
		if (event->target && at->keep.target == event->target)
			client = at;
	}
	if (!client)
		return false;
	if (event->kind == GPREEMPT_EVENT_LEASE_LOST && client->keep.leased) {
		lose(client);
	} else if (event->kind == GPREEMPT_EVENT_DONE && client->keep.ticket == event->ticket) {
		client->keep.ticket = 0;
		if (event->result < 0)
			fail(client, event->result);
		else if (client->keep.suspends)
			succeed(client);
		else
			suspend(client);
	}
	return true;
}

static void keep_time(struct gp_timer *timer)
{
	struct gp_daemon *daemon = gp_container(timer, struct gp_daemon, keep_timer);
	u64 now = gp_monotonic_ns(), next = UINT64_MAX;

	gp_list_each (struct gp_daemon_client, client, link, &daemon->clients) {
		struct gp_daemon_client_keep *keep = &client->keep;

		if (!client->job || keep->state == GP_KEPT_NOT)
			continue;
		if (keep->leased) {
			daemon->stats.renewals++;
			if (gpreempt_target_renew(keep->target) < 0)
				lose(client);
			else
				keep->tries = 0;
		} else if (!keep->ticket && keep->again_ns <= now) {
			begin(client);
		}
		if (keep->leased)
			next = GP_MIN(next, now + daemon->config.lease_ns / 3);
		else if (!keep->ticket && keep->state != GP_KEPT_NOT)
			next = GP_MIN(next, keep->again_ns);
	}
	gp_timer_set(&daemon->loop, timer, next);
	gp_daemon_host_settle(daemon);
}

void gp_daemon_keep_start(struct gp_daemon *daemon)
{
	gp_timer_init(&daemon->keep_timer, keep_time);
	gp_list_init(&daemon->holds);
}
