// SPDX-License-Identifier: MIT
/* APPLY over the connection of an agent: the calls that bring its queues to what is wanted. */
#include "holder/direct.h"

#include <errno.h>
#include <stdlib.h>

#define TRIES 5 /* the pauses between them double from 1 ms */

/* What the change that was answered took; how many queues it changed. */
int gp_holder_direct_take_done(struct gp_holder_member *member,
			       const struct gp_wire_message *message, u32 *queues)
{
	const struct gp_proto_msg_done *answer = (const void *)message->body;
	struct gp_gpu_control_done *done = &gp_holder_direct_job(member->direct)->done;

	if (message->header.status < 0)
		return message->header.status;
	if (!gp_wire_fits(message, sizeof(*answer), 0, 0))
		return -EPROTO;
	if (answer->issue_ns && !done->issued_ns)
		done->issued_ns = member->direct->sent_ns + answer->issue_ns;
	done->driver_ns += answer->driver_ns;
	*queues = answer->queues;
	return 0;
}

void gp_holder_direct_apply(struct gp_holder_member *member)
{
	struct gp_holder_direct *direct = member->direct;
	struct gp_holder_job *job = gp_holder_direct_job(direct);

	job->done = (struct gp_gpu_control_done){0};
	job->started = 0;
	if (gp_holder_want_empty(&job->want)) {
		if (direct->touched)
			gp_holder_direct_act(member, GP_DIRECT_RESUMING, GP_MSG_AGENT_RESUME, NULL,
					     0);
		else
			gp_holder_direct_finish(member, 0);
		return;
	}
	if (job->want.lease_ms)
		direct->lease_ms = GP_MAX(job->want.lease_ms, (u32)GP_LEASE_MIN_MS);
	if (job->want.all && !job->check_count)
		gp_holder_direct_act(member, GP_DIRECT_STOPPING, GP_MSG_AGENT_SUSPEND, NULL, 0);
	else
		gp_holder_direct_call(member, GP_DIRECT_LISTING, GP_MSG_AGENT_QUEUES, NULL, 0);
}

static void conclude(struct gp_holder_member *member, int error)
{
	struct gp_holder_direct *direct = member->direct;
	bool empty = gp_holder_want_empty(&gp_holder_direct_job(direct)->want);

	direct->error = error;
	/* What cannot be started must not stay stopped while nothing holds it: the end of the
	 * connection starts everything, and the next job makes a new one. */
	if (error && error != -ESRCH && empty) {
		gp_holder_direct_finish(member, error);
		gp_holder_direct_free(member);
		return;
	}
	if (!error && empty)
		direct->touched = false;
	if ((error && error != -ESRCH) || !direct->known)
		gp_holder_direct_call(member, GP_DIRECT_NOTING, GP_MSG_AGENT_QUEUES, NULL, 0);
	else
		gp_holder_direct_finish(member, error);
}

void gp_holder_direct_applied(struct gp_holder_member *member, int error)
{
	struct gp_holder_direct *direct = member->direct;
	struct gp_holder_job *job = gp_holder_direct_job(direct);
	u64 now = gp_monotonic_ns();

	if (gp_holder_worth_another_try(error) && direct->tries + 1 < TRIES &&
	    now < job->deadline_ns) {
		if (error == -EIO && !gp_holder_want_empty(&job->want))
			gp_holder_direct_act(member, GP_DIRECT_UNDOING, GP_MSG_AGENT_RESUME, NULL,
					     0);
		else
			gp_holder_direct_wait(member, GP_DIRECT_PAUSING,
					      now + (GP_NS_PER_MS << direct->tries));
	} else if (!error && job->counted) {
		gp_holder_direct_call(member, GP_DIRECT_COUNTING, GP_MSG_AGENT_QUEUES, NULL, 0);
	} else {
		conclude(member, error);
	}
}

void gp_holder_direct_stop_covered(struct gp_holder_member *member)
{
	struct gp_holder_direct *direct = member->direct;

	if (gp_holder_direct_job(direct)->want.all)
		gp_holder_direct_act(member, GP_DIRECT_STOPPING, GP_MSG_AGENT_SUSPEND, NULL, 0);
	else if (direct->stop_count)
		gp_holder_direct_act(member, GP_DIRECT_STOPPING, GP_MSG_AGENT_SUSPEND,
				     direct->stops, direct->stop_count);
	else
		gp_holder_direct_applied(member, 0);
}

/* Some queues only: those that are not covered start, the others stop. */
void gp_holder_direct_listed(struct gp_holder_member *member, const struct gp_wire_message *message)
{
	struct gp_holder_direct *direct = member->direct;
	struct gp_holder_job *job = gp_holder_direct_job(direct);
	struct gp_gpu_control_queues list;
	int error = gp_holder_direct_take_queues(message, &list);
	u32 *starts, start_count = 0;

	if (!error)
		error = gp_holder_job_check(job, &list);
	free(direct->stops);
	direct->stops = calloc(2 * list.count + 1, sizeof(u32));
	direct->stop_count = 0;
	starts = direct->stops + list.count;
	if (!direct->stops)
		error = -ENOMEM;
	for (size_t i = 0; !error && i < list.count; i++)
		if (gp_holder_want_covers(&job->want, &list.items[i]))
			direct->stops[direct->stop_count++] = list.items[i].id;
		else if (list.items[i].suspended)
			starts[start_count++] = list.items[i].id;
	gp_gpu_control_queues_free(&list);
	if (!error && (start_count > GP_PROTO_IDS || direct->stop_count > GP_PROTO_IDS))
		error = -E2BIG;
	if (error)
		gp_holder_direct_finish(member, error);
	else if (start_count)
		gp_holder_direct_act(member, GP_DIRECT_STARTING, GP_MSG_AGENT_RESUME, starts,
				     start_count);
	else
		gp_holder_direct_stop_covered(member);
}

void gp_holder_direct_counted(struct gp_holder_member *member,
			      const struct gp_wire_message *message)
{
	struct gp_holder_job *job = gp_holder_direct_job(member->direct);
	struct gp_gpu_control_queues list;

	if (!gp_holder_direct_take_queues(message, &list))
		gp_holder_job_count(job, &list);
	gp_gpu_control_queues_free(&list);
	conclude(member, 0);
}

void gp_holder_direct_noted(struct gp_holder_member *member, const struct gp_wire_message *message)
{
	struct gp_gpu_control_queues list;

	if (!gp_holder_direct_take_queues(message, &list)) {
		gp_holder_job_note_gpus(gp_holder_direct_job(member->direct), &list);
		member->direct->known = list.count > 0;
	}
	gp_gpu_control_queues_free(&list);
	gp_holder_direct_finish(member, member->direct->error);
}
