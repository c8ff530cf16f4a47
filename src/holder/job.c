// SPDX-License-Identifier: MIT
/* Jobs, and where they are done: by the loop over the agent's connection, or by a worker. */
#include "holder/direct.h"

#include <errno.h>
#include <stdlib.h>

#define AGENT_LOOKS 10 /* for an agent that takes no connection */

struct gp_holder_job *gp_holder_job_new(struct gp_holder_member *member,
					enum gp_holder_job_kind kind,
					struct gp_holder_request *request)
{
	struct gp_holder_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->kind = kind;
	job->member = member;
	job->request = request;
	job->deadline_ns = request ? request->deadline_ns : gp_monotonic_ns() + GP_NS_PER_S;
	gp_list_init(&job->link);
	return job;
}

void gp_holder_job_post(struct gp_holder_job *job)
{
	job->member->jobs++;
	if (job->request)
		job->request->waiting++;
	gp_holder_job_route(job);
}

/* Until something is attached the choice is open: the program may have its agent by now. */
static bool may_have_agent(const struct gp_holder_job *job)
{
	const struct gp_holder_member *member = job->member;
	u32 asked = job->kind == GP_JOB_PROBE ? job->asked : member->asked;

	return member->holder->options.mechanisms[0] == &gp_holder_agent_control &&
	       (asked == GP_MECHANISM_AUTO || asked == GP_MECHANISM_KFD_AGENT) &&
	       job->kind != GP_JOB_STOP && !member->attached && !member->worker_jobs &&
	       (!member->pinned || member->ops == &gp_holder_agent_control) && !member->no_agent;
}

void gp_holder_job_end(struct gp_holder_job *job, int result)
{
	job->result = result;
	job->finished_ns = gp_monotonic_ns();
	gp_holder_job_explain(job, GP_MECHANISM_KFD_AGENT, job->member->pid);
	gp_list_add_tail(&job->member->holder->finished, &job->link);
}

/* The mechanism is settled, and the worker busy: a driver that does not come back from one call
 * delays no further OPEN. */
static bool is_chosen(const struct gp_holder_member *member, u32 asked)
{
	return member->attached && member->ops && member->worker_jobs &&
	       (asked == GP_MECHANISM_AUTO || asked == member->ops->mechanism);
}

/* The member is freed after its STOP: jobs of it that wait for a look at the agents end before. */
static void end_parked(struct gp_holder *holder, const struct gp_holder_member *member)
{
	struct gp_list *at, *next;

	gp_list_for_each_safe(at, next, &holder->parked)
	{
		struct gp_holder_job *job = gp_container(at, struct gp_holder_job, link);

		if (job->member != member)
			continue;
		gp_list_remove(at);
		gp_holder_job_end(job, -ESRCH);
	}
}

void gp_holder_job_route(struct gp_holder_job *job)
{
	struct gp_holder_member *member = job->member;
	struct gp_holder *holder = member->holder;
	int error = 0;

	if (job->kind == GP_JOB_STOP)
		end_parked(holder, member);
	if (!member->direct && may_have_agent(job)) {
		if (gp_holder_direct_bind(member)) {
			/* Now, so that whoever opens it next finds it. */
			if (!member->ops)
				member->ops = &gp_holder_agent_control;
		} else if (holder->wanted_busy && job->kind == GP_JOB_PROBE &&
			   job->looks++ < AGENT_LOOKS) {
			gp_list_add_tail(&holder->parked, &job->link);
			return;
		}
	}
	if (member->direct) {
		gp_holder_direct_post(job);
		return;
	}
	bool lost = member->ops == &gp_holder_agent_control; /* it takes no connection now */
	if (lost && job->kind != GP_JOB_PROBE && job->kind != GP_JOB_STOP) {
		bool is_resumed = job->kind == GP_JOB_APPLY && gp_holder_want_empty(&job->want);

		error = is_resumed ? 0 : -ETIME;
		gp_holder_job_end(job, gp_holder_has_ended(member->pidfd) ? -ESRCH : error);
		return;
	}
	job->no_agent = member->no_agent      ? member->no_agent
			: lost                ? GP_SAY_AGENT_SILENT
			: member->uses_nvidia ? GP_SAY_USES_NVIDIA
					      : GP_SAY_AGENT_NONE;
	if (job->kind == GP_JOB_PRIORITY && member->ops &&
	    member->ops->traits & GP_CONTROL_AGENT_PRIORITY) {
		gp_holder_agents_tell_priority(member, job->value);
		gp_holder_job_end(job, 0);
		return;
	}
	if (job->kind == GP_JOB_PROBE && is_chosen(member, job->asked)) {
		job->ops = member->ops;
		job->why = member->why;
		gp_holder_job_end(job, 0);
		return;
	}
	if (!member->worker && job->kind == GP_JOB_STOP)
		error = -ESRCH; /* never needed: nothing to stop */
	else if (!member->worker)
		error = gp_holder_worker_start(member, &member->worker);
	if (error) {
		gp_holder_job_end(job, error);
		return;
	}
	job->by_worker = true;
	member->worker_jobs++;
	gp_holder_worker_post(member->worker, job);
}

void gp_holder_job_route_all(struct gp_list *jobs)
{
	struct gp_list moved, *at, *next;

	gp_list_init(&moved);
	gp_list_for_each_safe(at, next, jobs)
	{
		gp_list_remove(at);
		gp_list_add_tail(&moved, at);
	}
	gp_list_for_each_safe(at, next, &moved)
	{
		gp_list_remove(at);
		gp_holder_job_route(gp_container(at, struct gp_holder_job, link));
	}
}

void gp_holder_job_free(struct gp_holder_job *job)
{
	gp_holder_want_free(&job->want);
	gp_holder_want_free(&job->mine);
	gp_gpu_control_queues_free(&job->queues);
	free(job->check);
	free(job);
}

void gp_holder_member_notice(struct gp_holder_member *member, int result)
{
	struct gp_holder_job *job = gp_holder_job_new(member, GP_JOB_NOTICE, NULL);

	if (job)
		gp_holder_job_end(job, result);
}
