// SPDX-License-Identifier: MIT
/* What each message of a client means. The longer ones are in request_open.c and request_act.c. */
#include "holder/holder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core.h"
struct gp_holder_request *gp_holder_request_begin(struct gp_holder_connection *connection,
						  const struct gp_proto_msg *header, u32 id)
{
	struct gp_holder_target *target = gp_holder_target_find(connection, id);
	struct gp_holder_request *request = gp_holder_request_add(connection, header, target);

	if (!request) {
		connection->closing = true;
		return NULL;
	}
	if (target)
		return request;
	gp_holder_request_refuse(request, -EBADF, GP_SAY_NO_TARGET);
	return NULL;
}

static int hello(struct gp_holder_connection *connection, const struct gp_wire_message *message)
{
	const struct gp_proto_msg_hello *asked = (const void *)message->body;
	struct gp_proto_msg_hello mine = {.pid = (u32)getpid()};
	struct gp_holder_request *request;

	if (message->header.type != GP_MSG_HELLO || !gp_wire_fits(message, sizeof(*asked), 0, 0))
		return -EPROTO;
	request = gp_holder_request_add(connection, &message->header, NULL);
	if (!request)
		return -ENOMEM;
	connection->greeted = true;
	gp_wire_text(connection->name, sizeof(connection->name), asked->name, sizeof(asked->name));
	snprintf(mine.name, sizeof(mine.name), "gpreempt-holder");
	gp_holder_request_answer(request, 0, &mine, sizeof(mine));
	return 0;
}

static int close_target(struct gp_holder_connection *connection,
			const struct gp_wire_message *message)
{
	const struct gp_proto_msg_target *asked = (const void *)message->body;
	struct gp_holder_request *request =
		gp_holder_request_begin(connection, &message->header, asked->target);

	if (!request)
		return 0;
	gp_holder_target_remove(request->target); /* sets request->target to NULL */
	gp_holder_request_answer(request, 0, NULL, 0);
	return 0;
}

/* ---- information ---- */

/* Who holds the members of this target. */
static void add_owners(const struct gp_holder_target *target, struct gp_proto_msg_info *info)
{
	struct gp_holder *holder = target->connection->holder;
	struct gp_list *l, *m;

	gp_list_each (struct gp_holder_connection, owner, link, &holder->connections) {
		u64 since = 0;
		bool copies = false;

		gp_list_each (struct gp_holder_target, other, link, &owner->targets) {
			if (!other->hold.active)
				continue;
			gp_list_for_each (l, &other->links)
				gp_list_for_each (m, &target->links) {
					if (gp_holder_linked_member(l) !=
					    gp_holder_linked_member(m))
						continue;
					since = other->hold.since_ns;
					copies |= other->hold.copies;
				}
			if (other == target) /* a group nobody is in yet */
				since = other->hold.since_ns;
		}
		if (!since)
			continue;
		info->suspended = 1;
		info->mine |= owner == target->connection;
		info->flags |= copies ? GP_SUSPEND_COPIES : 0;
		if (!info->owner_count++)
			info->owner_pid = owner->pid;
		if (!info->since_ns || since < info->since_ns)
			info->since_ns = since;
	}
}

static int info(struct gp_holder_connection *connection, const struct gp_wire_message *message)
{
	const struct gp_proto_msg_target *asked = (const void *)message->body;
	struct gp_holder_request *request =
		gp_holder_request_begin(connection, &message->header, asked->target);
	struct gp_proto_msg_info answer = {0};
	struct gp_list *at;

	if (!request)
		return 0;
	gp_list_for_each (at, &request->target->links) {
		struct gp_holder_member *member = gp_holder_linked_member(at);

		if (!answer.process_count++) {
			answer.mechanism = member->ops ? member->ops->mechanism : 0;
			answer.priority = gp_holder_member_priority(member);
			answer.why = member->why;
		}
	}
	if (request->target->group[0] && !answer.process_count)
		gp_holder_say_empty_group(&answer.why);
	add_owners(request->target, &answer);
	gp_holder_request_answer(request, 0, &answer, sizeof(answer));
	return 0;
}

/* ---- leases, priority, share ---- */

static int renew(struct gp_holder_connection *connection, const struct gp_wire_message *message)
{
	const struct gp_proto_msg_target *asked = (const void *)message->body;
	struct gp_holder_request *request;
	struct gp_list *at;

	if (!asked->target) {
		request = gp_holder_request_add(connection, &message->header, NULL);
		if (!request)
			return -ENOMEM;
		gp_list_for_each (at, &connection->targets)
			gp_holder_hold_renew(gp_container(at, struct gp_holder_target, link));
		gp_holder_request_answer(request, 0, NULL, 0);
		return 0;
	}
	request = gp_holder_request_begin(connection, &message->header, asked->target);
	if (!request)
		return 0;
	if (!request->target->hold.active) {
		gp_holder_request_refuse(request, -ENOLCK, GP_SAY_LEASE_ENDED);
		return 0;
	}
	gp_holder_hold_renew(request->target);
	gp_holder_request_answer(request, 0, NULL, 0);
	return 0;
}

static int post_value(struct gp_holder_request *request, struct gp_holder_member *member,
		      enum gp_holder_job_kind kind, u32 value)
{
	struct gp_holder_job *job = gp_holder_job_new(member, kind, request);

	if (!job)
		return -ENOMEM;
	job->value = value;
	gp_holder_job_post(job);
	return 0;
}

static int set_value(struct gp_holder_connection *connection, const struct gp_wire_message *message)
{
	const struct gp_proto_msg_value *asked = (const void *)message->body;
	bool share = message->header.type == GP_MSG_SHARE;
	struct gp_holder_request *request =
		gp_holder_request_begin(connection, &message->header, asked->target);
	struct gp_list *at;
	int error = 0;

	if (!request)
		return 0;
	if (share ? !GP_SHARE_SIZE(asked->value) ||
			    GP_SHARE_FIRST(asked->value) + GP_SHARE_SIZE(asked->value) >
				    GP_SHARE_ALL
		  : asked->value > GP_PRIORITY_MAX) {
		gp_holder_request_refuse(request, -EINVAL,
					 share ? GP_SAY_SHARE_RANGE : GP_SAY_PRIORITY_RANGE);
		return 0;
	}
	request->deadline_ns = gp_monotonic_ns() + GP_HOLDER_TIMEOUT_MS * GP_NS_PER_MS;
	gp_holder_wake_at(connection->holder, request->deadline_ns);
	if (share)
		request->target->share = asked->value == GP_SHARE_ALL ? 0 : asked->value;
	gp_list_for_each (at, &request->target->links) {
		struct gp_holder_member *member = gp_holder_linked_member(at);

		if (!share)
			error = gp_holder_member_set_priority(member, asked->value);
		if (!error && (share || gp_holder_member_hears_priority(member)))
			error = post_value(request, member, share ? GP_JOB_SHARE : GP_JOB_PRIORITY,
					   asked->value);
		if (error)
			request->error = error;
	}
	if (!request->waiting)
		gp_holder_request_finish(request);
	return 0;
}

/* ---- everybody's holds ---- */

struct walk {
	struct gp_proto_msg_holds *answer;
	u32 skip, room, total;
};

static void add_hold(struct walk *walk, const struct gp_holder_target *target,
		     const struct gp_holder_member *member)
{
	const struct gp_holder_hold *hold = &target->hold;
	struct gp_proto_msg_hold *record;

	if (walk->total++ < walk->skip || walk->answer->count == walk->room)
		return;
	record = &walk->answer->holds[walk->answer->count++];
	*record = (struct gp_proto_msg_hold){
		.pid = member ? (s32)member->pid : 0,
		.owner_pid = target->connection->pid,
		.mechanism = (u16)(member && member->ops ? member->ops->mechanism : 0),
		.flags = hold->copies ? GP_SUSPEND_COPIES : 0,
		.queues = hold->all ? 0 : hold->count,
		/* Not last: gcc 11.2 would then take the rest for forgotten (Ubuntu 22.04). */
		.lease_ends_ns = GP_MIN(hold->lease_ends_ns, hold->limit_ends_ns),
		.since_ns = hold->since_ns,
	};
	memcpy(record->owner, target->connection->name, sizeof(record->owner));
}

static int holds(struct gp_holder_connection *connection, const struct gp_wire_message *message)
{
	const struct gp_proto_msg_target *asked = (const void *)message->body;
	struct gp_holder_request *request =
		gp_holder_request_add(connection, &message->header, NULL);
	const u32 room =
		(GP_PROTO_MAX - sizeof(struct gp_proto_msg) - sizeof(struct gp_proto_msg_holds)) /
		sizeof(struct gp_proto_msg_hold);
	struct walk walk = {.skip = asked->target, .room = room};
	struct gp_list *l;

	if (!request)
		return -ENOMEM;
	walk.answer = calloc(1, sizeof(*walk.answer) + room * sizeof(struct gp_proto_msg_hold));
	if (!walk.answer)
		return -ENOMEM;
	gp_list_each (struct gp_holder_connection, owner, link, &connection->holder->connections) {
		gp_list_each (struct gp_holder_target, target, link, &owner->targets) {
			if (!target->hold.active)
				continue;
			if (gp_list_empty(&target->links))
				add_hold(&walk, target, NULL);
			gp_list_for_each (l, &target->links)
				add_hold(&walk, target, gp_holder_linked_member(l));
		}
	}
	gp_holder_request_answer(request, (s32)walk.total, walk.answer,
				 sizeof(*walk.answer) +
					 walk.answer->count * sizeof(struct gp_proto_msg_hold));
	free(walk.answer);
	return 0;
}

static bool is_about(const struct gp_holder_target *target, u32 pid)
{
	struct gp_list *l;

	gp_list_for_each (l, &target->links)
		if (gp_holder_linked_member(l)->pid == pid)
			return true;
	return pid == 0;
}

static int release(struct gp_holder_connection *connection, const struct gp_wire_message *message)
{
	const struct gp_proto_msg_target *asked = (const void *)message->body;
	struct gp_holder_request *request =
		gp_holder_request_add(connection, &message->header, NULL);
	s32 count = 0;

	if (!request)
		return -ENOMEM;
	gp_list_each (struct gp_holder_connection, owner, link, &connection->holder->connections) {
		gp_list_each (struct gp_holder_target, target, link, &owner->targets) {
			if (!target->hold.active || !is_about(target, asked->target))
				continue;
			gp_holder_hold_lose(target);
			count++;
		}
	}
	gp_holder_request_answer(request, count, NULL, 0);
	return 0;
}

/* ---- dispatch ---- */

int gp_holder_request_handle(struct gp_holder_connection *connection,
			     struct gp_wire_message *message)
{
	static const struct {
		u16 type;
		size_t body;
		int (*handle)(struct gp_holder_connection *, const struct gp_wire_message *);
	} fixed[] = {
		{GP_MSG_CLOSE, sizeof(struct gp_proto_msg_target), close_target},
		{GP_MSG_INFO, sizeof(struct gp_proto_msg_target), info},
		{GP_MSG_QUEUES, sizeof(struct gp_proto_msg_queues_ask), gp_holder_request_queues},
		{GP_MSG_RENEW, sizeof(struct gp_proto_msg_target), renew},
		{GP_MSG_PRIORITY, sizeof(struct gp_proto_msg_value), set_value},
		{GP_MSG_SHARE, sizeof(struct gp_proto_msg_value), set_value},
		{GP_MSG_HOLDS, sizeof(struct gp_proto_msg_target), holds},
		{GP_MSG_RELEASE, sizeof(struct gp_proto_msg_target), release},
	};
	const struct gp_proto_msg_suspend *suspend = (const void *)message->body;

	if (!message->header.serial)
		return -EPROTO; /* that is for events */
	if (!connection->greeted)
		return hello(connection, message);
	switch (message->header.type) {
	case GP_MSG_OPEN:
		return gp_holder_request_open_target(connection, message);
	case GP_MSG_SUSPEND:
	case GP_MSG_RESUME:
		if (message->header.size < sizeof(struct gp_proto_msg) + sizeof(*suspend) ||
		    suspend->count > GP_PROTO_IDS ||
		    !gp_wire_fits(message, sizeof(*suspend), suspend->count, sizeof(u32)))
			return -EPROTO;
		return message->header.type == GP_MSG_SUSPEND
			       ? gp_holder_request_suspend(connection, message)
			       : gp_holder_request_resume(connection, message);
	default:
		break;
	}
	for (size_t i = 0; i < GP_ARRAY_SIZE(fixed); i++)
		if (fixed[i].type == message->header.type)
			return gp_wire_fits(message, fixed[i].body, 0, 0)
				       ? fixed[i].handle(connection, message)
				       : -EPROTO;
	return -EPROTO;
}

/* ---- the ends of requests ---- */

void gp_holder_request_finish(struct gp_holder_request *request)
{
	struct gp_proto_msg_done done = {0};

	switch (request->type) {
	case GP_MSG_OPEN:
		gp_holder_request_opened(request);
		return;
	case GP_MSG_SUSPEND:
		gp_holder_request_suspended(request);
		return;
	case GP_MSG_QUEUES:
		gp_holder_request_listed(request);
		return;
	default:
		break;
	}
	if (request->error < 0) {
		gp_holder_request_fail(request, request->error);
		return;
	}
	done = (struct gp_proto_msg_done){
		.issue_ns = request->issued_ns,
		.driver_ns = request->driver_ns,
		.skew_ns = request->last_ns - request->first_ns,
		.queues = request->queues,
		.processes = request->processes,
	};
	if (request->type == GP_MSG_RESUME)
		gp_holder_request_answer(request, (s32)request->queues, &done, sizeof(done));
	else
		gp_holder_request_answer(request, request->value, NULL, 0);
}

void gp_holder_request_expired(struct gp_holder_request *request)
{
	struct gp_holder_target *target = request->target;

	if (request->type == GP_MSG_OPEN && !request->error && target && target->group[0]) {
		gp_holder_request_finish(request); /* with those that said who they are */
		return;
	}
	if (request->type == GP_MSG_SUSPEND && target)
		gp_holder_hold_drop(target);
	if (request->type == GP_MSG_OPEN && target)
		gp_holder_target_remove(target);
	gp_holder_request_refuse(request, -ETIME, GP_SAY_TIMED_OUT);
}
