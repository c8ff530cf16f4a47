// SPDX-License-Identifier: MIT
/* A request and its answer, over a connection that may have to be made first. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/core.h"
#include "client/client.h"

#define GREETINGS 5

int gp_client_enter(struct gpreempt *context)
{
	if (context->pid != getpid())
		return gp_client_fail(
			context, -EPERM,
			"this context was opened before fork(); a child process must open "
			"its own");
	pthread_mutex_lock(&context->call);
	return 0;
}

void gp_client_leave(struct gpreempt *context)
{
	pthread_mutex_unlock(&context->call);
}

void gp_client_lost(struct gpreempt *context, int error)
{
	if (context->socket < 0)
		return;
	close(context->socket); /* leaves the epoll set by itself */
	context->socket = -1;
	gp_client_pending_lost(context, error);
	for (struct gpreempt_target *target = context->targets; target; target = target->next) {
		struct gpreempt_event event = {.pid = target->pid, .target = target};

		if (target->held) {
			event.kind = GPREEMPT_EVENT_LEASE_LOST;
			event.result = error;
			gp_client_event(context, &event, NULL);
		}
		/* The holder held it for others as well; the next one says what it holds. */
		if (target->held_elsewhere) {
			event.kind = GPREEMPT_EVENT_HELD_ELSEWHERE;
			event.result = 0;
			gp_client_event(context, &event, NULL);
		}
		target->held = target->held_elsewhere = false;
	}
}

/* Ends the connection and says why, in terms of the holder. */
static int lose(struct gpreempt *context, int error)
{
	pid_t holder = context->holder;

	gp_client_lost(context, error);
	if (error == -ETIME)
		return gp_client_fail(
			context, error,
			"the holder (pid %d) did not answer in time, so this program has lost its "
			"suspensions; use 'gpreempt release --all' to end a hung holder",
			(int)holder);
	if (error == -EPROTONOSUPPORT)
		return gp_client_fail(context, error,
				      "the holder (pid %d) is a different version; it exits when "
				      "idle, or use 'gpreempt release --all' to end it",
				      (int)holder);
	if (error == -EPROTO)
		return gp_client_fail(context, error,
				      "malformed reply from the holder (pid %d); it may be a "
				      "different version (use 'gpreempt release --all' to end it)",
				      (int)holder);
	return gp_client_fail(context, -ECONNRESET,
			      "the holder (pid %d) exited, which ended the suspensions of this "
			      "program; the next call starts a new holder",
			      (int)holder);
}

int gp_client_malformed(struct gpreempt *context)
{
	return lose(context, -EPROTO);
}

u32 gp_client_next_serial(struct gpreempt *context)
{
	/* Serials are seen as positive ints too; 0 is an event's. */
	context->serial = context->serial >= INT32_MAX ? 1 : context->serial + 1;
	return context->serial;
}

/* Sends, waiting for room at most until the deadline. */
static int push(struct gpreempt *context, u16 type, u32 serial, const void *body, size_t size,
		int fd, u64 deadline_ns)
{
	for (;;) {
		int error = gp_wire_send(context->socket, type, serial, 0, body, size, fd);
		if (error != -EAGAIN)
			return error;
		struct pollfd one = {.fd = context->socket, .events = POLLOUT};
		int ready = poll(&one, 1, gp_client_left_ms(deadline_ns));
		if (ready == 0)
			return -ETIME;
		if (ready < 0 && errno != EINTR)
			return -errno;
	}
}

static int pull(struct gpreempt *context, u16 type, u32 serial, u64 deadline_ns)
{
	struct gp_wire_message *message = &context->message;

	for (;;) {
		int error =
			gp_wire_receive(context->socket, message, gp_client_left_ms(deadline_ns));
		if (error)
			return error == -EAGAIN ? -ETIME : error;
		if (message->fd >= 0) /* none is expected */
			close(message->fd);
		message->fd = -1;
		if (message->header.serial != serial) {
			gp_client_dispatch(context, message);
			continue;
		}
		if (message->header.type != type ||
		    (message->header.status < 0 && !gp_wire_why(message)))
			return message->header.status == -EPROTONOSUPPORT ? -EPROTONOSUPPORT
									  : -EPROTO;
		return 0;
	}
}

/* The answer's status; its reasons are kept as the sentence when it is an error. */
static int status_of(struct gpreempt *context)
{
	const struct gp_wire_message *message = &context->message;
	char text[2 * GP_PROTO_TEXT];

	if (message->header.status >= 0)
		return message->header.status;
	gp_proto_reasons_text(gp_wire_why(message), text, sizeof(text));
	if (!*text)
		snprintf(text, sizeof(text), "%s", strerror(-message->header.status));
	return gp_client_fail(context, message->header.status, "%s", text);
}

static int exchange(struct gpreempt *context, u16 type, const void *body, size_t size, int fd,
		    int timeout_ms, bool *delivered)
{
	u64 deadline_ns = gp_monotonic_ns() + (u64)timeout_ms * GP_NS_PER_MS;
	u32 serial = gp_client_next_serial(context);
	int error = push(context, type, serial, body, size, fd, deadline_ns);

	*delivered = !error;
	if (!error)
		error = pull(context, type, serial, deadline_ns);
	return error ? lose(context, error) : status_of(context);
}

/* One try to connect and shake hands. */
static int greet(struct gpreempt *context, const struct gpreempt *said)
{
	struct gp_proto_msg_hello hello = {.pid = (u32)getpid()};
	struct epoll_event readable = {.events = EPOLLIN};
	bool delivered;
	uid_t uid;

	gp_wire_text(hello.name, sizeof(hello.name), program_invocation_short_name,
		     sizeof(hello.name));
	int fd = gp_client_connect(said, GP_LIB_START_MS);
	if (fd < 0)
		return fd;
	context->socket = fd;
	context->generation++;
	(void)gp_wire_peer(fd, &context->holder, &uid);
	int status = exchange(context, GP_MSG_HELLO, &hello, sizeof(hello), -1, GP_LIB_START_MS,
			      &delivered);
	if (status < 0) {
		char text[320];

		snprintf(text, sizeof(text), "%s", gpreempt_error(context));
		gp_client_lost(context, status);
		return gp_client_fail(said, status, "%s", text);
	}
	/* For sentences only. The peer's credentials name who called listen(), which may be gone.
	 */
	if (gp_wire_fits(&context->message, sizeof(hello), 0, 0)) {
		memcpy(&hello, context->message.body, sizeof(hello));
		if (hello.pid)
			context->holder = (pid_t)hello.pid;
	}
	if (epoll_ctl(context->epoll, EPOLL_CTL_ADD, fd, &readable) < 0) {
		status = -errno;
		gp_client_lost(context, status);
		return gp_client_fail(said, status,
				      "cannot watch the connection to the holder: %s; check the "
				      "limit of open files (ulimit -n)",
				      strerror(-status));
	}
	return 0;
}

int gp_client_greet(struct gpreempt *context, bool opening)
{
	int status = 0;

	/* One that was about to end took the connection and never looked at it. */
	for (int attempt = 0; context->socket < 0 && attempt < GREETINGS; attempt++) {
		status = greet(context, opening ? NULL : context);
		if (status != -ECONNRESET)
			break;
	}
	return status;
}

int gp_client_open_target(struct gpreempt *context, struct gpreempt_target *target)
{
	const struct gp_proto_msg_opened *opened = (const void *)context->message.body;
	bool delivered;
	int status = exchange(context, GP_MSG_OPEN, &target->ask, sizeof(target->ask),
			      target->pidfd, GP_LIB_CALL_MS, &delivered);

	if (status < 0)
		return status;
	if (!gp_wire_fits(&context->message, sizeof(*opened), 0, 0))
		return gp_client_malformed(context);
	gp_client_target_opened(context, target, opened->target);
	return 0;
}

void gp_client_target_opened(struct gpreempt *context, struct gpreempt_target *target, u32 id)
{
	struct gp_proto_msg_value body = {.target = id, .value = target->share};

	target->id = id;
	target->generation = context->generation;
	/* It ended with the holder that had it. The answer is not waited for, which a program that
	 * is stopped does not give, and a refusal is no reason not to go on; a connection that
	 * ended is found by the next call. */
	if (target->share)
		(void)gp_wire_send(context->socket, GP_MSG_SHARE, gp_client_next_serial(context), 0,
				   &body, sizeof(body), -1);
}

/* Until the OPEN that is under way is answered. */
static int await_open(struct gpreempt *context, const struct gpreempt_target *target)
{
	u64 deadline_ns =
		gp_monotonic_ns() + (u64)(GP_LIB_CALL_MS + context->extra_ms) * GP_NS_PER_MS;

	while (target->opening) {
		int error = gp_wire_receive(context->socket, &context->message,
					    gp_client_left_ms(deadline_ns));
		if (error)
			return lose(context, error == -EAGAIN ? -ETIME : error);
		if (context->message.fd >= 0)
			close(context->message.fd);
		gp_client_dispatch(context, &context->message);
	}
	return context->socket < 0 ? lose(context, -ECONNRESET) : 0;
}

/* A connection on which the target is open. */
static int prepare(struct gpreempt *context, struct gpreempt_target *target)
{
	int error = gp_client_greet(context, false);

	if (!error && target && target->opening)
		error = await_open(context, target);
	if (error || !target || target->generation == context->generation)
		return error;
	return gp_client_open_target(context, target);
}

/* A holder that ended while nothing was asked of it is replaced without a word: the request never
 * reached it. Once; a second end is an error. */
int gp_client_call(struct gpreempt *context, struct gpreempt_target *target, u16 type, void *body,
		   size_t size, int timeout_ms)
{
	for (int attempt = 0;; attempt++) {
		bool delivered = false;
		int status = prepare(context, target);
		if (status < 0)
			return status;
		if (target)
			memcpy(body, &target->id, sizeof(target->id));
		status = exchange(context, type, body, size, -1, timeout_ms, &delivered);
		if (status != -ECONNRESET || delivered || attempt)
			return status;
	}
}

int gp_client_cannot_send(struct gpreempt *context, int error)
{
	if (error != -EAGAIN)
		return lose(context, error);
	return gp_client_fail(context, error,
			      "the holder (pid %d) is busy; wait for an event and try again",
			      (int)context->holder);
}
