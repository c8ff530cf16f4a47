// SPDX-License-Identifier: MIT
/*
 * Clients. A client that sends nonsense, does not read its answers or asks for more than its share
 * is cut off or has to wait; nobody else notices. Connections are only ever removed by the sweep at
 * the end of a round.
 */
#include "holder/holder.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCEPT_AGAIN_NS 100000000ull

void gp_holder_connection_remove(struct gp_holder_connection *connection)
{
	struct gp_list *at, *next;

	gp_list_for_each_safe(at, next, &connection->targets)
		gp_holder_target_remove(gp_container(at, struct gp_holder_target, link));
	gp_list_for_each_safe(at, next, &connection->requests)
	{
		struct gp_holder_request *request =
			gp_container(at, struct gp_holder_request, link);

		gp_holder_request_abandon(request);
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

void gp_holder_connection_send(struct gp_holder_connection *connection, u16 type, u32 serial,
			       s32 status, const void *body, size_t size)
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
	gp_holder_connection_send(connection, GP_MSG_EVENT, 0, 0, &event, sizeof(event));
}

/* ---- in ---- */

/* Each target has room for a few: one program that does not answer takes none of the others'. */
static u32 most_requests(const struct gp_holder_connection *connection)
{
	return GP_HOLDER_REQUESTS + GP_HOLDER_REQUESTS_TARGET * connection->target_count;
}

void gp_holder_connection_answered(struct gp_holder_connection *connection)
{
	connection->request_count--;
	if (connection->paused && connection->request_count < most_requests(connection) / 2) {
		connection->paused = false;
		rearm(connection);
	}
}

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

		if (connection->request_count >= most_requests(connection)) {
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
