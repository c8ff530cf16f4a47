// SPDX-License-Identifier: MIT
/*
 * Clients. A client that sends nonsense, does not read its answers or asks for more than its share
 * is cut off or has to wait; nobody else notices. Connections are only ever removed by the sweep at
 * the end of a round.
 */
#include "holder/holder.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCEPT_AGAIN_NS 100000000ull

static void free_request(struct gp_holder_request *request)
{
	free(request->records);
	free(request->added);
	free(request->body);
	free(request);
}

void gp_holder_connection_remove(struct gp_holder_connection *connection)
{
	struct gp_list *at, *next;

	gp_list_for_each_safe(at, next, &connection->targets)
		gp_holder_target_remove(gp_container(at, struct gp_holder_target, link));
	gp_list_for_each_safe(at, next, &connection->requests)
	{
		struct gp_holder_request *request =
			gp_container(at, struct gp_holder_request, link);

		gp_list_remove(&request->link);
		request->connection = NULL;
		if (!request->waiting)
			free_request(request);
	}
	while (connection->out) {
		struct gp_holder_out *out = connection->out;

		connection->out = out->next;
		free(out);
	}
	gp_loop_unwatch(&connection->holder->loop, &connection->watch);
	gp_list_remove(&connection->link);
	connection->holder->connection_count--;
	free(connection);
}

void gp_holder_connection_sweep(struct gp_holder *holder)
{
	struct gp_list *at, *next;

	gp_list_for_each_safe(at, next, &holder->connections)
	{
		struct gp_holder_connection *connection =
			gp_container(at, struct gp_holder_connection, link);

		if (connection->closing)
			gp_holder_connection_remove(connection);
	}
}

/* ---- out ---- */

static void rearm(struct gp_holder_connection *connection)
{
	gp_loop_await(&connection->holder->loop, &connection->watch,
		      (connection->paused ? 0 : EPOLLIN) | (connection->out ? EPOLLOUT : 0));
}

/* Keeps a message the socket has no room for. */
static void keep(struct gp_holder_connection *connection, const struct gp_proto_msg *header,
		 const void *body)
{
	size_t size = header->size - sizeof(*header);
	struct gp_holder_out *out;

	if (connection->out_bytes + header->size > GP_HOLDER_OUT_BYTES) {
		connection->closing = true; /* it does not read: its loss */
		return;
	}
	out = malloc(sizeof(*out) + size);
	if (!out) {
		connection->closing = true;
		return;
	}
	*out = (struct gp_holder_out){.size = size, .header = *header};
	if (size)
		memcpy(out->body, body, size);
	*connection->out_end = out;
	connection->out_end = &out->next;
	connection->out_bytes += header->size;
	rearm(connection);
}

static void send_message(struct gp_holder_connection *connection, u16 type, u32 serial, s32 status,
			 const void *body, size_t size)
{
	struct gp_proto_msg header = {.type = type,
				      .size = (u32)(sizeof(header) + size),
				      .serial = serial,
				      .status = status};
	int error = -EAGAIN;

	if (connection->closing)
		return;
	if (!connection->out)
		error = gp_wire_send(connection->watch.fd, type, serial, status, body, size, -1);
	if (error == -EAGAIN)
		keep(connection, &header, body);
	else if (error)
		connection->closing = true;
}

static void send_kept(struct gp_holder_connection *connection)
{
	while (connection->out) {
		struct gp_holder_out *out = connection->out;
		int error = gp_wire_send(connection->watch.fd, out->header.type, out->header.serial,
					 out->header.status, out->body, out->size, -1);

		if (error == -EAGAIN)
			return;
		if (error) {
			connection->closing = true;
			return;
		}
		connection->out = out->next;
		connection->out_bytes -= out->header.size;
		free(out);
	}
	connection->out_end = &connection->out;
	rearm(connection);
}

/* One that was not taken says as much as two; of states, the last one counts. */
static bool says_already(void *kept, const struct gp_proto_msg_event *event)
{
	struct gp_proto_msg_event *old = kept;

	if (event->kind == GP_EVENT_QUEUES)
		return !memcmp(old, event, sizeof(*event));
	if (event->kind != GP_EVENT_HELD_ELSEWHERE || old->kind != event->kind ||
	    old->target != event->target || old->pid != event->pid)
		return false;
	old->result = event->result;
	return true;
}

void gp_holder_connection_event(struct gp_holder_connection *connection, u32 kind, u32 target,
				s32 pid, s32 result)
{
	struct gp_proto_msg_event event = {.kind = kind,
					   .target = target,
					   .pid = pid,
					   .result = result};

	for (struct gp_holder_out *out = connection->out; out; out = out->next)
		if (out->header.type == GP_MSG_EVENT && says_already(out->body, &event))
			return;
	send_message(connection, GP_MSG_EVENT, 0, 0, &event, sizeof(event));
}

/* ---- requests, answered in their order ---- */

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
	gp_list_add_tail(&connection->requests, &request->link);
	connection->request_count++;
	return request;
}

/* A renewal, or the opening of another process, must not wait for one that does not let itself be
 * stopped: whoever asks would lose its other leases over it. Nor must a suspension wait for a share
 * or a priority that a program does not take. */
static bool is_ordered(const struct gp_holder_request *request)
{
	return request->type != GP_MSG_RENEW && request->type != GP_MSG_OPEN &&
	       request->type != GP_MSG_SHARE && request->type != GP_MSG_PRIORITY;
}

static void flush(struct gp_holder_connection *connection)
{
	struct gp_list *at, *next;

	gp_list_for_each_safe(at, next, &connection->requests)
	{
		struct gp_holder_request *request =
			gp_container(at, struct gp_holder_request, link);

		if (!request->answered && is_ordered(request))
			break;
		if (!request->answered)
			continue; /* nobody waits for that one */
		if (!request->sent) {
			send_message(connection, request->type, request->serial, request->status,
				     request->body, request->body_size);
			connection->request_count--;
			request->sent = true;
		}
		if (request->waiting)
			continue;
		gp_list_remove(&request->link);
		free_request(request);
	}
	if (connection->paused && connection->request_count < GP_HOLDER_REQUESTS / 2) {
		connection->paused = false;
		rearm(connection);
	}
}

void gp_holder_request_answer(struct gp_holder_request *request, s32 status, const void *body,
			      size_t size)
{
	struct gp_holder_connection *connection = request->connection;

	if (request->answered)
		return;
	request->answered = true;
	request->status = status;
	if (!connection)
		return;
	/* First in line, as almost always: no copy. */
	if (connection->requests.next == &request->link || !is_ordered(request)) {
		send_message(connection, request->type, request->serial, status, body, size);
		connection->request_count--;
		request->sent = true;
		if (!request->waiting) {
			gp_list_remove(&request->link);
			free_request(request);
		}
	} else if (size) {
		request->body = malloc(size);
		if (!request->body) {
			connection->closing = true;
			return;
		}
		memcpy(request->body, body, size);
		request->body_size = size;
	}
	flush(connection);
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
	if (!request->answered && request->connection) {
		if (is_complete(request))
			gp_holder_request_finish(request);
	} else if (!request->connection) {
		free_request(request);
	} else {
		flush(request->connection);
	}
}

/* ---- in ---- */

static void connection_ready(struct gp_watch *watch, u32 events)
{
	struct gp_holder_connection *connection =
		gp_container(watch, struct gp_holder_connection, watch);
	struct gp_wire_message *message = &connection->holder->message;

	if (events & EPOLLOUT)
		send_kept(connection);
	if (connection->paused && events & (EPOLLHUP | EPOLLERR))
		connection->closing = true;
	for (int i = 0; i < GP_HOLDER_TURN && !connection->closing; i++) {
		int error;

		if (connection->request_count >= GP_HOLDER_REQUESTS) {
			connection->paused = true;
			rearm(connection);
			return;
		}
		error = gp_wire_receive(connection->watch.fd, message, 0);
		if (error == -EAGAIN)
			return;
		if (error == -EPROTONOSUPPORT)
			gp_wire_refuse_version(connection->watch.fd, &message->header);
		if (error || gp_holder_request_handle(connection, message))
			connection->closing = true;
		if (!error && message->fd >= 0)
			close(message->fd);
	}
}

/* ---- coming ---- */

int gp_holder_connection_add(struct gp_holder *holder, int fd)
{
	struct gp_holder_connection *connection;
	uid_t uid;
	pid_t pid;

	if (holder->connection_count == GP_HOLDER_CONNECTIONS || gp_wire_peer(fd, &pid, &uid) ||
	    !gp_wire_peer_allowed(uid))
		return -EPERM;
	connection = calloc(1, sizeof(*connection));
	if (!connection)
		return -ENOMEM;
	connection->holder = holder;
	connection->pid = pid;
	connection->out_end = &connection->out;
	gp_list_init(&connection->targets);
	gp_list_init(&connection->requests);
	int error = gp_loop_watch(&holder->loop, &connection->watch, fd, connection_ready);
	if (error) { /* the descriptor is closed: its client sees the end */
		free(connection);
		return 0;
	}
	gp_list_add_tail(&holder->connections, &connection->link);
	holder->connection_count++;
	return 0;
}

/* With no descriptor left the socket stays readable: do not spin on it. */
static void rest(struct gp_holder *holder)
{
	gp_loop_pause(&holder->loop, &holder->listen, true);
	holder->accept_again_ns = gp_monotonic_ns() + ACCEPT_AGAIN_NS;
	gp_holder_wake_at(holder, holder->accept_again_ns);
}

u64 gp_holder_connection_accept_again(struct gp_holder *holder, u64 now)
{
	if (!holder->accept_again_ns)
		return GP_NEVER;
	if (holder->accept_again_ns > now)
		return holder->accept_again_ns;
	holder->accept_again_ns = 0;
	gp_loop_pause(&holder->loop, &holder->listen, false);
	return GP_NEVER;
}

void gp_holder_connection_accept(struct gp_watch *listen, u32 events)
{
	struct gp_holder *holder = gp_container(listen, struct gp_holder, listen);
	int fd = accept4(listen->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			rest(holder);
		return;
	}
	if (gp_holder_connection_add(holder, fd)) {
		gp_wire_refuse(fd, &(struct gp_proto_msg){.type = GP_MSG_HELLO}, -EPERM,
			       GP_SAY_NOT_SERVED);
		close(fd);
	}
}
