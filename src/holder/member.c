// SPDX-License-Identifier: MIT
/* Members: one process by one mechanism, and the jobs of its worker. */
#include "holder/direct.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core.h"
#define AGAIN_NS 10000000ull

struct gp_holder_member *gp_holder_member_find(struct gp_holder *holder, u32 pid, u32 mechanism)
{
	gp_list_each (struct gp_holder_member, member, link, &holder->members) {
		if (member->pid != pid || member->gone || member->stopping)
			continue;
		if (mechanism == GP_MECHANISM_AUTO || member->asked == mechanism ||
		    (member->ops && member->ops->mechanism == mechanism))
			return member;
	}
	return NULL;
}

struct gp_holder_member *gp_holder_member_add(struct gp_holder *holder, u32 pid, int pidfd,
					      u32 asked)
{
	struct gp_holder_member *member;

	if (holder->member_count == GP_HOLDER_MEMBERS)
		return NULL;
	member = calloc(1, sizeof(*member));
	if (!member)
		return NULL;
	*member = (struct gp_holder_member){.holder = holder,
					    .pid = pid,
					    .pidfd = pidfd,
					    .asked = asked,
					    .own_priority = GP_PRIORITY_DEFAULT};
	gp_list_each (struct gp_holder_member, other, link, &holder->members) {
		if (other->pid == pid && !other->gone)
			other->twin = member->twin = true;
	}
	gp_list_init(&member->links);
	member->watch.fd = -1;
	gp_list_add_tail(&holder->members, &member->link);
	holder->member_count++;
	return member;
}

static void free_member(struct gp_holder_member *member)
{
	if (member->direct)
		gp_holder_direct_free(member);
	if (member->worker)
		gp_holder_worker_join(member->worker); /* the thread has sent its last word */
	gp_loop_unwatch(&member->holder->loop, &member->watch);
	if (member->pidfd >= 0)
		close(member->pidfd);
	gp_list_remove(&member->link);
	member->holder->member_count--;
	free(member);
}

void gp_holder_member_unused(struct gp_holder_member *member)
{
	struct gp_holder_job *job;

	if (!gp_list_empty(&member->links) || member->stopping)
		return;
	job = gp_holder_job_new(member, GP_JOB_STOP, NULL);
	if (!job)
		return; /* tried again with the next change */
	member->stopping = true;
	gp_holder_job_post(job);
}

void gp_holder_member_lost(struct gp_holder_member *member)
{
	struct gp_list *at, *next;

	if (member->gone)
		return;
	member->gone = true;
	gp_list_for_each_safe(at, next, &member->links)
	{
		struct gp_holder_link *link = gp_container(at, struct gp_holder_link, by_member);
		struct gp_holder_target *target = link->target;

		target->lost++;
		gp_holder_link_remove(link);
		/* A process's hold ends with it; a group's waits for the others and the next. */
		if (!target->group[0])
			gp_holder_hold_clear(&target->hold);
		gp_holder_connection_event(target->connection, GP_EVENT_GONE, target->id,
					   (s32)member->pid, 0);
	}
	gp_holder_member_unused(member);
}

static void take_notice(struct gp_holder_member *member, int result)
{
	struct gp_list *at;

	if (result == -ESRCH) {
		gp_holder_member_lost(member);
		return;
	}
	gp_list_for_each (at, &member->links) {
		struct gp_holder_target *target = gp_holder_linked_target(at);

		if (result == 1)
			gp_holder_connection_event(target->connection, GP_EVENT_QUEUES, target->id,
						   (s32)member->pid, 0);
		else
			gp_holder_hold_lose(target);
	}
}

/* The longest lease anybody has on it. */
static u32 longest_lease(const struct gp_holder_member *member)
{
	const struct gp_list *at;
	u32 longest = 0;

	gp_list_for_each (at, &member->links) {
		const struct gp_holder_target *target = gp_holder_linked_target(at);

		if (target->hold.active)
			longest = GP_MAX(longest, target->hold.lease_ms);
	}
	return longest;
}

void gp_holder_member_lease(struct gp_holder_member *member)
{
	struct gp_holder_job *job;

	/* Whoever keeps a clock of its own in there must hear of it; one at a time is enough. */
	if (!member->ops || (!member->direct && !member->ops->lease) || member->gone ||
	    member->stopping)
		return;
	if (member->leasing) {
		member->lease_again = true;
		return;
	}
	job = gp_holder_job_new(member, GP_JOB_LEASE, NULL);
	if (!job)
		return;
	job->value = longest_lease(member);
	member->leasing = true;
	gp_holder_job_post(job);
}

static void note_lease(struct gp_holder_member *member, u64 lease_ms)
{
	member->leased_until_ns = gp_monotonic_ns() + lease_ms * GP_NS_PER_MS;
}

static void leased(struct gp_holder_member *member, int result, u64 lease_ms)
{
	bool again = member->lease_again;

	member->leasing = member->lease_again = false;
	if (result >= 0)
		note_lease(member, lease_ms);
	/* One that did not answer in time keeps what it was told before: whoever asked for less
	 * must not end what others hold for longer. It is asked again with the next renewal.
	 * Otherwise its own clock had run out before we came: it runs. */
	if (result < 0 && (result != -ETIME || gp_monotonic_ns() >= member->leased_until_ns))
		take_notice(member, result);
	if (again && longest_lease(member))
		gp_holder_member_lease(member);
}

void gp_holder_member_reshare(struct gp_holder_member *member)
{
	struct gp_list *at;
	struct gp_holder_job *job;

	/* With its last target its session ends, and the share with that. */
	if (gp_list_empty(&member->links) || member->gone || member->stopping)
		return;
	job = gp_holder_job_new(member, GP_JOB_SHARE, NULL);
	if (!job)
		return;
	job->value = GP_SHARE_ALL;
	gp_list_for_each (at, &member->links) {
		u32 share = gp_holder_linked_target(at)->share;

		job->value = share ? share : job->value;
	}
	gp_holder_job_post(job);
}

static int post_apply(struct gp_holder_member *member, struct gp_holder_request *request,
		      bool suspends, const u32 *check, u32 check_count)
{
	struct gp_holder_job *job;
	int error;

	job = gp_holder_job_new(member, GP_JOB_APPLY, request);
	if (!job)
		return -ENOMEM;
	error = gp_holder_member_want(member, &job->want);
	if (!error && suspends && request && request->target)
		error = gp_holder_target_want(request->target, member, &job->mine, &job->counted);
	if (!error && check_count) {
		job->check = calloc(check_count, sizeof(u32));
		if (job->check)
			memcpy(job->check, check, check_count * sizeof(u32));
		else
			error = -ENOMEM;
		job->check_count = check_count;
	}
	if (error) {
		gp_holder_job_free(job);
		return error;
	}
	job->suspends = suspends;
	gp_holder_job_post(job);
	return 0;
}

int gp_holder_member_apply(struct gp_holder_member *member, struct gp_holder_request *request,
			   bool suspends, const u32 *check, u32 check_count)
{
	int error;

	if (member->gone || member->stopping)
		return -ESRCH;
	if (suspends && member->jobs >= GP_HOLDER_JOBS)
		return -EBUSY; /* the driver does not come back from what it has */
	error = post_apply(member, request, suspends, check, check_count);
	/* What nobody holds any more must not stay stopped for want of a few bytes. */
	if (error && !suspends) {
		member->again = true;
		gp_holder_wake_at(member->holder, gp_monotonic_ns() + AGAIN_NS);
	}
	return error;
}

u64 gp_holder_member_apply_again(struct gp_holder *holder, u64 now)
{
	u64 next = GP_NEVER;

	gp_list_each (struct gp_holder_member, member, link, &holder->members) {
		if (!member->again)
			continue;
		member->again = false;
		if (gp_holder_member_apply(member, NULL, false, NULL, 0) && member->again)
			next = now + AGAIN_NS;
	}
	return next;
}

/* ---- what comes back ---- */

static void note_mechanism(struct gp_holder_member *member, const struct gp_holder_job *job)
{
	bool other = job->ops && job->ops != member->ops;

	if (job->kind == GP_JOB_PROBE && !job->result) {
		member->why = job->why;
	} else if (other && member->ops) {
		member->why.count = 1;
		gp_proto_say(&member->why.reason[0], 0, GP_SAY_WORKS_NOW,
			     gp_proto_mechanism_name(job->ops->mechanism));
	}
	if (other)
		member->ops = job->ops;
}

static void note_gpus(struct gp_holder_member *member, const struct gp_holder_job *job)
{
	if (!job->gpu_count)
		return;
	memcpy(member->gpus, job->gpus, sizeof(member->gpus));
	member->gpu_count = job->gpu_count;
}

/* The agent lets go when its connection ends; a worker that was needed before it came is next. */
static void stopped(struct gp_holder_job *job)
{
	struct gp_holder_member *member = job->member;

	if (member->direct && member->worker) {
		gp_holder_direct_free(member);
		gp_holder_job_post(job);
		return;
	}
	gp_holder_job_free(job);
	free_member(member);
}

void gp_holder_member_job_done(struct gp_holder_job *job)
{
	struct gp_holder_member *member = job->member;
	struct gp_holder_request *request = job->request;
	struct gp_holder *holder = member->holder;

	if (job->kind == GP_JOB_NOTICE) {
		if (!member->stopping)
			take_notice(member, job->result);
		gp_holder_job_free(job);
		return;
	}
	member->jobs--;
	member->worker_jobs -= job->by_worker;
	if (job->kind == GP_JOB_STOP) {
		stopped(job);
		return;
	}
	note_mechanism(member, job);
	note_gpus(member, job);
	member->pinned |=
		job->kind == GP_JOB_PROBE && !job->result && job->asked != GP_MECHANISM_AUTO;
	member->attached |= job->by_worker && job->result >= 0 && job->kind != GP_JOB_PROBE &&
			    job->kind != GP_JOB_PRIORITY && job->kind != GP_JOB_QUEUES;
	if (job->kind == GP_JOB_LEASE)
		leased(member, job->result, job->value);
	if (job->kind == GP_JOB_APPLY && !job->result)
		note_lease(member, longest_lease(member));
	if (job->kind == GP_JOB_APPLY && job->suspends)
		/* An agent that does not answer says nothing of the device: its program may be
		 * stopped. */
		gp_holder_breaker_report(holder, member,
					 job->result == -ETIME &&
							 member->ops == &gp_holder_agent_control
						 ? -EBUSY
						 : job->result);
	/* Off by one in the driver's books: its fail-open cannot be relied on any more. */
	if (job->result == -EUCLEAN) {
		holder->ending = true;
		job->result = -EBUSY;
	}
	if (job->result == -ESRCH)
		gp_holder_member_lost(member);
	if (request)
		gp_holder_request_job_done(request, job);
	gp_holder_job_free(job);
}

void gp_holder_member_ready(struct gp_watch *watch, u32 events)
{
	struct gp_holder_member *member = gp_container(watch, struct gp_holder_member, watch);
	struct gp_holder_job *job = gp_holder_worker_take(member->worker);

	(void)events;
	if (job)
		gp_holder_member_job_done(job);
}

/* ---- priorities ---- */

static struct gp_holder_priority *find_priority(struct gp_holder *holder, u32 pid)
{
	struct gp_list *at;

	gp_list_for_each (at, &holder->priorities)
		if (gp_container(at, struct gp_holder_priority, link)->pid == pid)
			return gp_container(at, struct gp_holder_priority, link);
	return NULL;
}

u32 gp_holder_member_priority(struct gp_holder_member *member)
{
	struct gp_holder_priority *found = find_priority(member->holder, member->pid);

	if (found)
		return found->value;
	gp_list_each (struct gp_holder_agent, agent, link, &member->holder->agents) {
		if (agent->greeted && (u32)agent->pid == member->pid)
			return agent->priority;
	}
	return member->own_priority;
}

bool gp_holder_member_hears_priority(const struct gp_holder_member *member)
{
	return member->ops && (member->direct || member->ops->priority ||
			       member->ops->traits & GP_CONTROL_AGENT_PRIORITY);
}

int gp_holder_member_set_priority(struct gp_holder_member *member, u32 value)
{
	struct gp_holder_priority *priority = find_priority(member->holder, member->pid);

	if (!priority) {
		priority = calloc(1, sizeof(*priority));
		if (!priority)
			return -ENOMEM;
		priority->pid = member->pid;
		priority->pidfd = dup(member->pidfd);
		gp_list_add_tail(&member->holder->priorities, &priority->link);
	}
	priority->value = value;
	return 0;
}

static void priority_free(struct gp_holder_priority *priority)
{
	if (priority->pidfd >= 0)
		close(priority->pidfd);
	gp_list_remove(&priority->link);
	free(priority);
}

void gp_holder_priority_kept(struct gp_holder_agent *agent, u32 value)
{
	struct gp_holder_priority *priority = find_priority(agent->holder, (u32)agent->pid);

	agent->priority = value;
	if (priority && priority->value == value)
		priority_free(priority);
}

void gp_holder_priority_reap(struct gp_holder *holder)
{
	struct gp_list *at, *next;

	gp_list_for_each_safe(at, next, &holder->priorities)
	{
		struct gp_holder_priority *priority =
			gp_container(at, struct gp_holder_priority, link);

		if (!holder->ending && !gp_holder_has_ended(priority->pidfd))
			continue;
		priority_free(priority);
	}
}
