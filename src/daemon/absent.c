// SPDX-License-Identifier: MIT
/*
 * Jobs that cannot use the GPU although they may have work: the host has stopped their processes
 * (a signal, a debugger, a freezer), or another process than this one has suspended them. Such a
 * job has no claim, nothing is asked of it, and nothing that it leaves undone is an error.
 *
 * A job is away when every process of it that has work is; without any work, when all are. One
 * stopped rank of several does not take the claim of the others, which may wait for it on the GPU;
 * it is left out of the job's operations until it is continued.
 *
 * The kernel notifies of the v2 freezer and the holder of suspensions. The other states are looked
 * at: twice per second for a process with a claim, ten times per second for one that is stopped,
 * and soon after an operation that does not come back. With no claim and no operation nothing is
 * read.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "daemon/daemon.h"

#define POLL_NS    (GP_NS_PER_S / 2)
#define AWAY_NS    (100 * GP_NS_PER_MS)
#define CONFIRM_NS (20 * GP_NS_PER_MS) /* between two looks that must agree */
#define PROMPT_NS  (50 * GP_NS_PER_MS) /* an operation usually takes less */

_Static_assert((int)GP_AWAY_FROZEN == (int)GP_STOPPED_FROZEN, "the same states");

/* ---- looking ---- */

/* Its group may have changed; a watch ends with the last process that needs it. */
static void watch_group(struct gp_daemon_client *client, const char *events)
{
	struct gp_daemon *daemon = client->daemon;
	struct gp_stopped_watch watch = {.fd = daemon->group_watch.fd};
	int number;

	if (watch.fd < 0)
		return;
	number = *events ? gp_stopped_watch_add(&watch, &daemon->root, events) : 0;
	number = GP_MAX(number, 0);
	if (client->away.group != number) {
		int before = client->away.group;
		bool used = false;

		client->away.group = number;
		gp_list_each (const struct gp_daemon_client, other, link, &daemon->clients)
			used |= other->away.group == before;
		if (before && !used)
			gp_stopped_watch_remove(&watch, before);
	}
}

static void set_stopped(struct gp_daemon_client *client, enum gp_stopped stopped)
{
	if (client->away.stopped == stopped)
		return;
	client->away.stopped = stopped;
	if (!stopped)
		gp_daemon_keep_continued(client);
	gp_daemon_absent_changed(client);
	if (!stopped)
		gp_daemon_share_continue(client);
}

/* A process that the holder controls from outside has no other debugger; when it is stopped by a
 * signal it waits for the holder, as the kernel sees it. */
static bool is_traced_by_us(const struct gp_daemon_client *client)
{
	return (client->keep.outside && client->keep.target) ||
	       (client->attached && client->target);
}

/* The holder wakes threads of a stopped process when it takes hold of them, and on a busy host they
 * are not stopped again at once. */
static bool is_being_taken(const struct gp_daemon_client *client)
{
	return client->keep.outside && client->keep.ticket;
}

/* True: the look must be repeated soon. */
static bool look(struct gp_daemon_client *client)
{
	struct gp_daemon_client_away *away = &client->away;
	struct gp_stopped_look now;

	if (client->pidfd < 0 || gp_stopped_read(&client->daemon->root, &client->daemon->freezers,
						 client->who.pid, &now))
		return false; /* its end is seen elsewhere */
	/* One that is killed does not continue: it stays stopped until it has ended. */
	if (!now.by && away->stopped && gp_stopped_ends(&client->daemon->root, client->who.pid))
		return false;
	if (!now.by && away->stopped && is_being_taken(client))
		return true;
	bool ours = is_traced_by_us(client);
	if (now.by == GP_STOPPED_TRACED && ours)
		now.by = GP_STOPPED_SIGNAL;
	watch_group(client, now.events);
	/* Threads that the holder took hold of have switched since. */
	bool agree = gp_stopped_agree(&away->look, &now) || (ours && now.by && away->stopped);
	bool doubt = now.by && !agree;
	away->look = now;
	set_stopped(client, agree ? now.by : GP_STOPPED_NOT);
	return doubt;
}

bool gp_daemon_absent_stopped(struct gp_daemon_client *client)
{
	if (look(client))
		set_stopped(client, client->away.look.by); /* the operation is the second sign */
	return client->away.stopped;
}

bool gp_daemon_absent_excuses(struct gp_daemon_client *client)
{
	if (!client->away.stopped)
		(void)gp_daemon_absent_stopped(client);
	return gp_daemon_absent_is(client);
}

bool gp_daemon_absent_is(const struct gp_daemon_client *client)
{
	return client->away.stopped || client->away.hand || gp_daemon_swap_is(client) ||
	       gp_daemon_hold_of(client);
}

/* ---- what follows for the job ---- */

static bool has_work(const struct gp_daemon_client *client)
{
	for (size_t i = 0; i < client->queue_count; i++) {
		if (client->queues[i].work != GP_SCHED_DRAINED)
			return true;
	}
	return false;
}

/* A process that is away and decides for the job, or NULL: the job is not away. */
static const struct gp_daemon_client *away_client(const struct gp_daemon_job *job)
{
	const struct gp_daemon_client *found = NULL;
	bool working = false, all = true;

	gp_list_each (const struct gp_daemon_client, client, job_link, &job->clients) {
		bool is = gp_daemon_absent_is(client), work = has_work(client);

		if (!is && work)
			return NULL;
		all &= is;
		if (is && (!found || (work && !working))) {
			found = client;
			working = work;
		}
	}
	return working || all ? found : NULL;
}

static void set_away(struct gp_daemon_job *job, const struct gp_daemon_client *client, u64 now)
{
	const struct gp_daemon_hold *hold = client ? gp_daemon_hold_of(client) : NULL;
	enum gp_proto_away by = !client                     ? GP_AWAY_NOT
				: gp_daemon_swap_is(client) ? GP_AWAY_SWAPPED
				: hold                      ? GP_AWAY_OWNER
				: client->away.stopped ? (enum gp_proto_away)client->away.stopped
						       : GP_AWAY_HAND;

	snprintf(job->away.owner, sizeof(job->away.owner), "%s", hold ? hold->owner : "");
	if (job->away.by != by)
		job->away.since = by ? now : GP_DAEMON_NEVER;
	job->away.by = by;
	job->away.pid = by == GP_AWAY_HAND && client->away.hand > 0 ? (u32)client->away.hand : 0;
	gp_daemon_keep_account(job);
}

bool gp_daemon_absent_step(struct gp_daemon *daemon)
{
	u64 now = gp_monotonic_ns();

	while (daemon->away_due) {
		struct gp_daemon_job *due = NULL;

		gp_list_each (struct gp_daemon_job, job, link, &daemon->jobs) {
			if (job->away.due) {
				due = job;
				break;
			}
		}
		if (!due) {
			daemon->away_due = false;
			break;
		}
		due->away.due = false;
		const struct gp_daemon_client *client = away_client(due);
		bool was = due->away.by != GP_AWAY_NOT;
		/* The note of its return says what it returns from. */
		if (client)
			set_away(due, client, now);
		else
			due->away.returning = was;
		gp_daemon_keep_job(daemon, due);
		if (was == (client != NULL))
			continue;
		gp_sched_job_absent(daemon->sched, now, due->handle, client != NULL);
		return true;
	}
	return false;
}

void gp_daemon_absent_noted(struct gp_daemon_job *job)
{
	if (!job->away.returning)
		return;
	job->away.returning = false;
	set_away(job, NULL, gp_monotonic_ns());
}

void gp_daemon_absent_due(struct gp_daemon_job *job, struct gp_daemon *daemon)
{
	job->away.due = true;
	daemon->away_due = true;
}

void gp_daemon_absent_changed(struct gp_daemon_client *client)
{
	struct gp_daemon *daemon = client->daemon;
	bool is = gp_daemon_absent_is(client);

	if (!client->job)
		return;
	if (is && !client->away.counted)
		gp_daemon_act_withdraw(client);
	else if (!is && client->away.counted)
		gp_daemon_act_rejoin(client);
	daemon->away_count += (u32)is - (u32)client->away.counted;
	client->away.counted = is;
	gp_daemon_absent_due(client->job, daemon);
}

void gp_daemon_absent_work(struct gp_daemon_client *client)
{
	if (!client->job || !client->daemon->away_count)
		return;
	/* It has done something: it may have been continued. */
	if (client->away.stopped)
		look(client);
	gp_daemon_absent_due(client->job, client->daemon);
}

void gp_daemon_absent_hand(struct gp_daemon_client *client, s32 pid)
{
	if (client->away.hand == pid)
		return;
	client->away.hand = pid;
	gp_daemon_absent_changed(client);
}

/* ---- when to look ---- */

static bool has_claim(const struct gp_daemon_client *client)
{
	/* Where work is not visible every job may have some. */
	return client->busy || client->job->wanted_held || client->away.counted ||
	       ((client->daemon->strict || client->job->follow) && client->queue_count);
}

static bool is_waited_for(const struct gp_daemon *daemon, const struct gp_daemon_client *client)
{
	for (size_t i = 0; i < daemon->ticket_count; i++) {
		if (daemon->tickets[i].client == client)
			return true;
	}
	return false;
}

static void look_at_all(struct gp_timer *timer)
{
	struct gp_daemon *daemon = gp_container(timer, struct gp_daemon, absent_timer);
	u64 now = gp_monotonic_ns(), next = UINT64_MAX;
	bool everyone = now >= daemon->absent_poll_ns;

	gp_list_each (struct gp_daemon_client, client, link, &daemon->clients) {
		bool waited = is_waited_for(daemon, client);

		if (!client->job || (!has_claim(client) && !waited))
			continue;
		if (everyone || waited || client->away.counted || client->away.look.by) {
			if (look(client))
				next = GP_MIN(next, now + CONFIRM_NS);
			else if (waited)
				next = GP_MIN(next, now + PROMPT_NS);
		}
		next = GP_MIN(next, now + (client->away.counted ? AWAY_NS : POLL_NS));
	}
	if (everyone)
		daemon->absent_poll_ns = now + POLL_NS;
	gp_timer_set(&daemon->loop, timer, next);
	gp_daemon_host_settle(daemon);
}

/* Not later than `at`. */
static void look_by(struct gp_daemon *daemon, u64 at)
{
	if (!gp_timer_armed(&daemon->absent_timer) || daemon->absent_timer.at_ns > at)
		gp_timer_set(&daemon->loop, &daemon->absent_timer, at);
}

void gp_daemon_absent_asked(struct gp_daemon *daemon)
{
	u64 wait = GP_MIN(PROMPT_NS, daemon->config.operation_timeout_ns / 2);

	look_by(daemon, gp_monotonic_ns() + wait);
}

void gp_daemon_absent_adapt(struct gp_daemon *daemon)
{
	if (!gp_timer_armed(&daemon->absent_timer) &&
	    (daemon->busy_count || daemon->away_count || daemon->strict || daemon->follow))
		look_by(daemon, GP_MAX(daemon->absent_poll_ns, gp_monotonic_ns() + CONFIRM_NS));
}

void gp_daemon_absent_join(struct gp_daemon_client *client)
{
	/* Also finds the group to be notified of. */
	if (look(client))
		look_by(client->daemon, gp_monotonic_ns() + CONFIRM_NS);
}

void gp_daemon_absent_leave(struct gp_daemon_client *client)
{
	watch_group(client, "");
	client->daemon->away_count -= client->away.counted;
	client->away = (struct gp_daemon_client_away){0};
	if (client->job)
		gp_daemon_absent_due(client->job, client->daemon);
}

static void group_ready(struct gp_watch *watch, u32 events)
{
	struct gp_daemon *daemon = gp_container(watch, struct gp_daemon, group_watch);
	struct gp_stopped_watch groups = {.fd = watch->fd};
	int number;

	(void)events;
	while ((number = gp_stopped_watch_next(&groups)) > 0) {
		gp_list_each (struct gp_daemon_client, client, link, &daemon->clients) {
			if (client->away.group == number && look(client))
				look_by(daemon, gp_monotonic_ns() + CONFIRM_NS);
		}
	}
	gp_daemon_host_settle(daemon);
}

void gp_daemon_absent_start(struct gp_daemon *daemon)
{
	struct gp_stopped_watch groups;

	gp_timer_init(&daemon->absent_timer, look_at_all);
	gp_freezers_find(&daemon->root, &daemon->freezers);
	/* Without it every state is found by looking. */
	if (*daemon->freezers.v2 && gp_stopped_watch_open(&groups) == 0)
		(void)!gp_loop_watch(&daemon->loop, &daemon->group_watch, groups.fd, group_ready);
}
