// SPDX-License-Identifier: MIT
/*
 * Requests and their answers. Order belongs to the target: what is asked of one is answered in the
 * order in which it was asked, and a program that does not answer delays nothing that is asked of
 * another.
 */
#include "holder/holder.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

static void free_request(struct gp_holder_request *request)
{
	free(request->records);
	free(request->added);
	free(request->body);
	free(request);
}

/* A renewal must not wait for a suspend of the same target that takes its time: its owner would
 * lose the lease over it. Nor must a suspension wait for a share or a priority that a program does
 * not take. */
static bool is_ordered(u16 type)
{
	return type != GP_MSG_RENEW && type != GP_MSG_OPEN && type != GP_MSG_SHARE &&
	       type != GP_MSG_PRIORITY;
}

struct gp_holder_request *gp_holder_request_add(struct gp_holder_connection *connection,
						const struct gp_proto_msg *header,
						struct gp_holder_target *target)
{
	struct gp_holder_request *request = calloc(1, sizeof(*request));

	if (!request)
		return NULL;
	request->connection = connection;
	request->target = target;
	request->type = header->type;
	request->serial = header->serial;
	request->deadline_ns = GP_NEVER;
	gp_list_init(&request->order);
	if (target && is_ordered(request->type))
		gp_list_add_tail(&target->order, &request->order);
	gp_list_add_tail(&connection->requests, &request->link);
	connection->request_count++;
	return request;
}

/* Once it was sent, and no job belongs to it any more. */
static void dispose(struct gp_holder_request *request)
{
	if (!request->sent || request->waiting)
		return;
	gp_list_remove(&request->link);
	free_request(request);
}

static void send_answer(struct gp_holder_request *request, const void *body, size_t size)
{
	gp_list_remove(&request->order);
	gp_list_init(&request->order);
	request->sent = true;
	gp_holder_connection_send(request->connection, request->type, request->serial,
				  request->status, body, size);
	gp_holder_connection_answered(request->connection);
	dispose(request);
}

/* Those that waited only for what was asked of this target before them. */
static void send_next(struct gp_holder_target *target)
{
	while (!gp_list_empty(&target->order)) {
		struct gp_holder_request *first =
			gp_container(target->order.next, struct gp_holder_request, order);

		if (!first->answered)
			return;
		send_answer(first, first->body, first->body_size);
	}
}

void gp_holder_request_answer(struct gp_holder_request *request, s32 status, const void *body,
			      size_t size)
{
	struct gp_holder_connection *connection = request->connection;
	struct gp_holder_target *target = request->target;

	if (request->answered)
		return;
	request->answered = true;
	request->status = status;
	if (!connection)
		return;
	if (gp_list_empty(&request->order)) {
		send_answer(request, body, size);
		return;
	}
	/* First in line, as almost always: no copy. */
	if (target->order.next == &request->order) {
		send_answer(request, body, size);
		send_next(target);
		return;
	}
	if (!size)
		return;
	request->body = malloc(size);
	if (!request->body) {
		connection->closing = true;
		return;
	}
	memcpy(request->body, body, size);
	request->body_size = size;
}

void gp_holder_request_forget_target(struct gp_holder_target *target)
{
	struct gp_list *at, *next;

	gp_list_for_each_safe(at, next, &target->order)
	{
		struct gp_holder_request *request =
			gp_container(at, struct gp_holder_request, order);

		gp_list_remove(&request->order);
		gp_list_init(&request->order);
		request->target = NULL;
		if (request->answered)
			send_answer(request, request->body, request->body_size);
	}
	gp_list_each (struct gp_holder_request, request, link, &target->connection->requests) {
		if (request->target == target)
			request->target = NULL;
	}
}

void gp_holder_request_abandon(struct gp_holder_request *request)
{
	gp_list_remove(&request->order);
	gp_list_init(&request->order);
	gp_list_remove(&request->link);
	request->connection = NULL;
	if (!request->waiting)
		free_request(request);
}

void gp_holder_request_fail(struct gp_holder_request *request, int error)
{
	struct gp_proto_reasons why = request->why;

	if (!why.count) {
		why.count = 1;
		gp_proto_say(&why.reason[0], error, GP_SAY_ERROR);
	}
	gp_holder_request_answer(request, error, &why, sizeof(why));
}

void gp_holder_request_refuse(struct gp_holder_request *request, int error, enum gp_proto_code code,
			      ...)
{
	va_list args;

	va_start(args, code);
	request->why.count = 1;
	gp_proto_vsay(&request->why.reason[0], error, code, args);
	va_end(args);
	gp_holder_request_fail(request, error);
}

/* A group is not complete before every agent has said who it is. */
static bool is_complete(const struct gp_holder_request *request)
{
	return request->type != GP_MSG_OPEN || !request->target || !request->target->group[0] ||
	       gp_holder_agents_settled(request->connection->holder);
}

void gp_holder_request_job_done(struct gp_holder_request *request, struct gp_holder_job *job)
{
	gp_holder_request_take(request, job);
	if (--request->waiting)
		return;
	if (!request->connection)
		free_request(request);
	else if (request->answered)
		dispose(request);
	else if (is_complete(request))
		gp_holder_request_finish(request);
}
