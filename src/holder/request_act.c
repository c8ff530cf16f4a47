// SPDX-License-Identifier: MIT
/* SUSPEND, RESUME and QUEUES: what the workers do for a client. */
#include "holder/holder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/core.h"

/* ---- what comes in from the jobs ---- */

static void take_record(struct gp_holder_request *request, const struct gp_holder_job *job,
			const struct gp_gpu_control_queue *queue)
{
	struct gp_proto_msg_queue *record;
	struct gp_list *at;

	if (gp_array_grow((void **)&request->records, request->record_count,
			  &request->record_capacity, sizeof(*request->records)))
		return;
	record = &request->records[request->record_count++];
	*record = (struct gp_proto_msg_queue){
		.pid = (s32)job->member->pid,
		.gpu_id = queue->gpu_id,
		.valid = queue->valid,
		.kfd_id = queue->id,
		.hsa_id = queue->hsa_id,
		.type = queue->type,
		.state = queue->failed      ? GP_QUEUE_IS_FAILED
			 : queue->suspended ? GP_QUEUE_IS_SUSPENDED
					    : GP_QUEUE_IS_RUNNING,
		.ring = queue->ring,
		.ring_bytes = queue->ring_bytes,
		.object = queue->object,
		.read_index = queue->read_index,
		.write_index = queue->write_index,
		.hardware_priority = queue->priority,
		.logical_priority = queue->has_logical ? queue->logical
						       : gp_holder_member_priority(job->member),
		.busy = queue->busy,
	};
	gp_list_for_each (at, &job->member->links) {
		struct gp_holder_target *target = gp_holder_linked_target(at);

		if (!queue->suspended || !gp_holder_hold_covers(target, queue))
			continue;
		record->owner_pid = target->connection->pid;
		record->since_ns = target->hold.since_ns;
		break;
	}
}

void gp_holder_request_take(struct gp_holder_request *request, struct gp_holder_job *job)
{
	u64 sent = request->sent_ns;

	if (job->kind == GP_JOB_QUEUES)
		for (size_t i = 0; i < job->queues.count; i++)
			take_record(request, job, &job->queues.items[i]);
	/* A group goes on without a member that ended. */
	bool group = request->target && request->target->group[0];
	if (job->result < 0 && !(group && job->result == -ESRCH)) {
		request->error = job->result;
		request->why = job->why;
	}
	if (job->kind == GP_JOB_SHARE && job->result > 0)
		request->value = job->result;
	if (job->kind != GP_JOB_APPLY || job->result < 0)
		return;
	request->processes++;
	request->queues += request->type == GP_MSG_RESUME ? job->started : job->done.queues;
	request->driver_ns += job->done.driver_ns;
	if (job->done.issued_ns > sent && (job->done.issued_ns - sent > request->issued_ns))
		request->issued_ns = job->done.issued_ns - sent;
	if (!request->first_ns || job->finished_ns < request->first_ns)
		request->first_ns = job->finished_ns;
	if (job->finished_ns > request->last_ns)
		request->last_ns = job->finished_ns;
}

/* ---- suspend ---- */

static int check_options(struct gp_holder_request *request,
			 const struct gp_proto_msg_suspend *asked)
{
	if ((asked->lease_ms && asked->lease_ms < GP_LEASE_MIN_MS) ||
	    asked->lease_ms > GP_LIMIT_MAX_MS || asked->limit_ms > GP_LIMIT_MAX_MS) {
		gp_holder_request_refuse(request, -EINVAL, GP_SAY_LEASE_RANGE, GP_LEASE_MIN_MS,
					 GP_LIMIT_MAX_MS, GP_LIMIT_MAX_MS);
		return -EINVAL;
	}
	if (asked->grace > GP_SUSPEND_GRACE_MAX) {
		gp_holder_request_refuse(request, -EINVAL, GP_SAY_GRACE_RANGE);
		return -EINVAL;
	}
	if (asked->flags & ~(u32)(GP_SUSPEND_COPIES | GP_SUSPEND_OFF)) {
		gp_holder_request_refuse(request, -EINVAL, GP_SAY_BAD_FLAG);
		return -EINVAL;
	}
	if ((asked->flags & GP_SUSPEND_COPIES) && (asked->count || request->target->gpu_id)) {
		gp_holder_request_refuse(request, -EINVAL, GP_SAY_COPIES_WHOLE);
		return -EINVAL;
	}
	if (asked->count && request->target->group[0]) {
		gp_holder_request_refuse(request, -EINVAL, GP_SAY_GROUP_QUEUES);
		return -EINVAL;
	}
	return 0;
}

static int check_breakers(struct gp_holder_request *request)
{
	struct gp_list *at;
	u32 gpu_id;

	gp_list_for_each (at, &request->target->links) {
		struct gp_holder_member *member = gp_holder_linked_member(at);
		int error = gp_holder_breaker_check(member->holder, member, &gpu_id);

		if (error) {
			gp_holder_request_refuse(request, error, GP_SAY_BREAKER, gpu_id);
			return error;
		}
	}
	/* All of it is the one try, also where two processes of a group use the same device. */
	gp_list_for_each (at, &request->target->links)
		gp_holder_breaker_try(gp_holder_linked_member(at));
	return 0;
}

/* Adds the named queues to the hold and notes which are new there. */
static int add_ids(struct gp_holder_request *request, struct gp_holder_hold *hold, const u32 *ids,
		   u32 count)
{
	u32 *all = reallocarray(hold->ids, hold->count + count, sizeof(u32));

	if (!all)
		return -ENOMEM;
	hold->ids = all;
	request->added = calloc(count, sizeof(u32));
	if (!request->added)
		return -ENOMEM;
	for (u32 i = 0; i < count; i++) {
		bool known = false;

		for (u32 k = 0; k < hold->count && !known; k++)
			known = all[k] == ids[i];
		if (known)
			continue;
		all[hold->count++] = ids[i];
		request->added[request->added_count++] = ids[i];
	}
	return 0;
}

static int make_hold(struct gp_holder_request *request, const struct gp_proto_msg_suspend *asked)
{
	struct gp_holder_hold *hold = &request->target->hold;
	u64 now = gp_monotonic_ns();

	request->fresh_hold = !hold->active;
	if (asked->count && !hold->all && add_ids(request, hold, asked->ids, asked->count))
		return -ENOMEM;
	if (!asked->count)
		hold->all = true;
	hold->lease_ms = asked->lease_ms ? asked->lease_ms : GP_LEASE_MS;
	hold->grace = asked->grace;
	hold->copies = asked->flags & GP_SUSPEND_COPIES;
	hold->off = asked->flags & GP_SUSPEND_OFF;
	if (hold->active)
		hold->lease_ends_ns = hold->lease_ends_ns == GP_NEVER
					      ? GP_NEVER
					      : now + hold->lease_ms * GP_NS_PER_MS;
	else
		*hold = (struct gp_holder_hold){
			.active = true,
			.all = hold->all,
			.copies = hold->copies,
			.off = hold->off,
			.ids = hold->ids,
			.count = hold->count,
			.lease_ms = hold->lease_ms,
			.grace = hold->grace,
			.since_ns = now,
			.lease_ends_ns = GP_NEVER, /* begins when it is stopped */
			.limit_ends_ns = now + (asked->limit_ms ? asked->limit_ms : GP_LIMIT_MS) *
						       GP_NS_PER_MS,
		};
	gp_holder_wake_at(request->connection->holder,
			  GP_MIN(hold->limit_ends_ns, hold->lease_ends_ns));
	return 0;
}

int gp_holder_request_suspend(struct gp_holder_connection *connection,
			      const struct gp_wire_message *message)
{
	const struct gp_proto_msg_suspend *asked = (const void *)message->body;
	struct gp_holder_request *request =
		gp_holder_request_begin(connection, &message->header, asked->target);
	struct gp_list *at;
	int error = 0;

	if (!request || check_options(request, asked))
		return 0;
	if (!request->target->group[0] && gp_list_empty(&request->target->links)) {
		gp_holder_request_refuse(request, -ESRCH, GP_SAY_GONE, request->target->pid);
		return 0;
	}
	if (check_breakers(request))
		return 0;
	u64 now = gp_monotonic_ns();
	request->sent_ns = asked->sent_ns && asked->sent_ns <= now ? asked->sent_ns : now;
	request->deadline_ns =
		now + (asked->timeout_ms ? asked->timeout_ms : GP_HOLDER_TIMEOUT_MS) * GP_NS_PER_MS;
	gp_holder_wake_at(connection->holder, request->deadline_ns);
	error = make_hold(request, asked);
	gp_list_for_each (at, &request->target->links) {
		struct gp_holder_member *member = gp_holder_linked_member(at);

		if (!error)
			error = gp_holder_member_apply(member, request, true, asked->ids,
						       asked->count);
	}
	if (error) {
		request->error = error;
		/* What was not even tried says nothing of the device. */
		gp_list_for_each (at, &request->target->links) {
			struct gp_holder_member *member = gp_holder_linked_member(at);

			gp_holder_breaker_report(member->holder, member, error);
		}
	}
	if (!request->waiting)
		gp_holder_request_finish(request);
	return 0;
}

static void forget_added(struct gp_holder_request *request)
{
	struct gp_holder_hold *hold = &request->target->hold;

	for (u32 i = 0; i < request->added_count; i++)
		for (u32 k = 0; k < hold->count; k++)
			if (hold->ids[k] == request->added[i])
				hold->ids[k--] = hold->ids[--hold->count];
}

void gp_holder_request_suspended(struct gp_holder_request *request)
{
	struct gp_holder_target *target = request->target;
	struct gp_proto_msg_done done = {
		.issue_ns = request->issued_ns,
		.driver_ns = request->driver_ns,
		.skew_ns = request->last_ns - request->first_ns,
		.queues = request->queues,
		.processes = request->processes,
	};

	if (request->error) {
		if (target && request->error == -ENOENT && !request->fresh_hold)
			forget_added(request); /* what was held before stays */
		else if (target)
			gp_holder_hold_drop(target);
		gp_holder_request_fail(request, request->error);
		return;
	}
	if (target && target->hold.active) {
		target->hold.lease_ends_ns =
			gp_monotonic_ns() + target->hold.lease_ms * GP_NS_PER_MS;
		gp_holder_wake_at(request->connection->holder, target->hold.lease_ends_ns);
		gp_holder_elsewhere_changed(target);
	}
	gp_holder_request_answer(request, (s32)request->queues, &done, sizeof(done));
}

/* ---- resume ---- */

/* True when the hold is to be ended; otherwise the named queues were taken out of it. */
static bool ends_hold(struct gp_holder_hold *hold, const u32 *ids, u32 count)
{
	if (!count)
		return true;
	for (u32 i = 0; i < count; i++)
		for (u32 k = 0; k < hold->count; k++)
			if (hold->ids[k] == ids[i])
				hold->ids[k--] = hold->ids[--hold->count];
	return !hold->count;
}

int gp_holder_request_resume(struct gp_holder_connection *connection,
			     const struct gp_wire_message *message)
{
	const struct gp_proto_msg_suspend *asked = (const void *)message->body;
	struct gp_holder_request *request =
		gp_holder_request_begin(connection, &message->header, asked->target);
	struct gp_list *at;
	int error = 0;

	if (!request)
		return 0;
	struct gp_holder_hold *hold = &request->target->hold;
	u64 now = gp_monotonic_ns();
	request->sent_ns = asked->sent_ns && asked->sent_ns <= now ? asked->sent_ns : now;
	request->deadline_ns = now + GP_HOLDER_TIMEOUT_MS * GP_NS_PER_MS;
	gp_holder_wake_at(connection->holder, request->deadline_ns);
	if (hold->active && hold->all && asked->count) {
		gp_holder_request_refuse(request, -EINVAL, GP_SAY_HELD_TOGETHER);
		return 0;
	}
	if (hold->active) {
		if (ends_hold(hold, asked->ids, asked->count))
			gp_holder_hold_clear(hold);
		gp_list_for_each (at, &request->target->links) {
			error = gp_holder_member_apply(gp_holder_linked_member(at), request, false,
						       NULL, 0);
			/* It is resumed all the same, later. One that is gone runs nothing. */
			if (error && error != -ESRCH)
				request->error = error;
		}
		gp_holder_elsewhere_changed(request->target);
	}
	if (!request->waiting)
		gp_holder_request_finish(request);
	return 0;
}

/* ---- queues ---- */

int gp_holder_request_queues(struct gp_holder_connection *connection,
			     const struct gp_wire_message *message)
{
	const struct gp_proto_msg_queues_ask *asked = (const void *)message->body;
	struct gp_holder_request *request =
		gp_holder_request_begin(connection, &message->header, asked->target);
	struct gp_list *at;

	if (!request)
		return 0;
	request->first = asked->first;
	request->deadline_ns = gp_monotonic_ns() + GP_HOLDER_TIMEOUT_MS * GP_NS_PER_MS;
	gp_holder_wake_at(connection->holder, request->deadline_ns);
	if (!request->target->group[0] && gp_list_empty(&request->target->links))
		request->error = -ESRCH;
	gp_list_for_each (at, &request->target->links) {
		struct gp_holder_job *job =
			gp_holder_job_new(gp_holder_linked_member(at), GP_JOB_QUEUES, request);

		if (job)
			gp_holder_job_post(job);
		else
			request->error = -ENOMEM;
	}
	if (!request->waiting)
		gp_holder_request_finish(request);
	return 0;
}

void gp_holder_request_listed(struct gp_holder_request *request)
{
	size_t count = request->record_count, left = 0, size;
	u32 gpu_id = request->target ? request->target->gpu_id : 0;
	struct gp_proto_msg_queues *answer;

	if (request->error) {
		gp_holder_request_fail(request, request->error);
		return;
	}
	for (size_t i = 0; i < count; i++)
		if (!gpu_id || request->records[i].gpu_id == gpu_id)
			request->records[left++] = request->records[i];
	count = request->first < left ? left - request->first : 0;
	count = GP_MIN(count, (size_t)GP_PROTO_QUEUES);
	size = sizeof(*answer) + count * sizeof(answer->queues[0]);
	answer = calloc(1, size);
	if (!answer) {
		gp_holder_request_fail(request, -ENOMEM);
		return;
	}
	answer->count = (u32)count;
	if (count)
		memcpy(answer->queues, request->records + request->first,
		       count * sizeof(answer->queues[0]));
	gp_holder_request_answer(request, (s32)left, answer, size);
	free(answer);
}
