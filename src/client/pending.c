// SPDX-License-Identifier: MIT
/*
 * Asynchronous calls. One about a target that is not open on this connection (it is being opened,
 * or the holder was replaced) waits in the list until the answer to OPEN is there: no call waits
 * for a program that does not answer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>

#include "client/client.h"

void gp_client_arm_timer(struct gpreempt *context)
{
	struct itimerspec when = {0};
	u64 first = UINT64_MAX;

	for (const struct gp_client_pending *at = context->pending; at; at = at->next)
		if (at->serial && at->deadline_ns < first)
			first = at->deadline_ns;
	if (first != UINT64_MAX)
		when.it_value = gp_timespec(first);
	timerfd_settime(context->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

bool gp_client_pending_late(const struct gpreempt *context, u64 now)
{
	for (const struct gp_client_pending *at = context->pending; at; at = at->next)
		if (at->serial && at->deadline_ns <= now)
			return true;
	return false;
}

/* ---- the list, oldest first ---- */

static struct gp_client_pending *add(struct gpreempt *context, u16 type,
				     struct gpreempt_target *target, size_t size)
{
	struct gp_client_pending *pending;
	struct gp_client_pending **at = &context->pending;

	if (context->pending_count >= GP_LIB_PENDING) {
		gp_client_fail(context, -EAGAIN,
			       "too many calls in progress on this context (maximum %d); read "
			       "their events first",
			       GP_LIB_PENDING);
		return NULL;
	}
	pending = calloc(1, sizeof(*pending) + size);
	if (!pending) {
		gp_client_fail(context, -ENOMEM, "out of memory");
		return NULL;
	}
	pending->type = type;
	pending->target = target;
	pending->size = size;
	pending->sent_ns = gp_monotonic_ns();
	while (*at)
		at = &(*at)->next;
	*at = pending;
	context->pending_count++;
	return pending;
}

static void discard(struct gpreempt *context, struct gp_client_pending *pending)
{
	for (struct gp_client_pending **at = &context->pending; *at; at = &(*at)->next) {
		if (*at != pending)
			continue;
		*at = pending->next;
		context->pending_count--;
		free(pending);
		return;
	}
}

static int next_ticket(struct gpreempt *context)
{
	context->ticket = context->ticket == INT32_MAX ? 1 : context->ticket + 1;
	return context->ticket;
}

/* Its end, if anybody waits for it. */
static void end(struct gpreempt *context, struct gp_client_pending *pending, int result,
		const char *text)
{
	if (pending->target && pending->ticket)
		gp_client_event(context,
				&(struct gpreempt_event){.kind = GPREEMPT_EVENT_DONE,
							 .ticket = pending->ticket,
							 .result = result,
							 .pid = pending->target->pid,
							 .target = pending->target},
				text);
	discard(context, pending);
}

void gp_client_pending_lost(struct gpreempt *context, int error)
{
	for (struct gpreempt_target *target = context->targets; target; target = target->next)
		target->opening = false;
	while (context->pending)
		end(context, context->pending, error, NULL);
	gp_client_arm_timer(context);
}

void gp_client_pending_forget(struct gpreempt *context, const struct gpreempt_target *target)
{
	struct gp_client_pending *next;

	for (struct gp_client_pending *at = context->pending; at; at = next) {
		next = at->next;
		if (at->target != target)
			continue;
		at->target = NULL;
		if (!at->serial) /* never sent: there will be no answer */
			discard(context, at);
	}
}

/* ---- sending ---- */

static int send_pending(struct gpreempt *context, struct gp_client_pending *pending,
			const void *body, size_t size, int fd)
{
	u32 serial = gp_client_next_serial(context);
	int error = gp_wire_send(context->socket, pending->type, serial, 0, body, size, fd);

	if (error)
		return error;
	pending->serial = serial;
	pending->deadline_ns =
		gp_monotonic_ns() + (u64)(pending->timeout_ms + context->extra_ms) * GP_NS_PER_MS;
	gp_client_arm_timer(context);
	return 0;
}

static int send_open(struct gpreempt *context, struct gpreempt_target *target, int *ticket)
{
	struct gp_client_pending *pending = add(context, GP_MSG_OPEN, target, 0);

	if (!pending)
		return -EAGAIN;
	pending->timeout_ms = GP_LIB_CALL_MS;
	int error =
		send_pending(context, pending, &target->ask, sizeof(target->ask), target->pidfd);
	if (error) {
		discard(context, pending);
		return gp_client_cannot_send(context, error);
	}
	if (ticket)
		*ticket = pending->ticket = next_ticket(context);
	target->opening = true;
	return 0;
}

int gp_client_begin_open(struct gpreempt_target *target)
{
	struct gpreempt *context = target->context;
	int ticket = 0;

	for (int attempt = 0;; attempt++) {
		int error = gp_client_greet(context, false);

		if (!error)
			error = send_open(context, target, &ticket);
		/* A holder that ended while nothing was asked of it is replaced. */
		if (error != -ECONNRESET || attempt)
			return error ? error : ticket;
	}
}

/* 0: the target is open, 1: it will be. */
static int make_ready(struct gpreempt *context, struct gpreempt_target *target)
{
	int error = gp_client_greet(context, false);

	if (error)
		return error;
	if (target->generation == context->generation)
		return 0;
	if (!target->opening)
		error = send_open(context, target, NULL);
	return error ? error : 1;
}

int gp_client_begin(struct gpreempt_target *target, u16 type, void *body, size_t size,
		    u32 timeout_ms)
{
	struct gpreempt *context = target->context;

	for (int attempt = 0;; attempt++) {
		struct gp_client_pending *pending;
		int ready = make_ready(context, target), error = 0;

		if (ready < 0 && (ready != -ECONNRESET || attempt))
			return ready;
		if (ready < 0)
			continue;
		pending = add(context, type, target, ready ? size : 0);
		if (!pending)
			return -EAGAIN;
		pending->timeout_ms = timeout_ms;
		if (ready) {
			memcpy(pending->body, body, size);
		} else {
			memcpy(body, &target->id, sizeof(target->id));
			error = send_pending(context, pending, body, size, -1);
		}
		if (!error)
			return pending->ticket = next_ticket(context);
		discard(context, pending);
		error = gp_client_cannot_send(context, error);
		if (error != -ECONNRESET || attempt)
			return error;
	}
}

/* ---- answers ---- */

/* What was asked of it while it was being opened. */
static void send_waiting(struct gpreempt *context, struct gpreempt_target *target)
{
	for (;;) {
		struct gp_client_pending *at = context->pending;

		while (at && (at->target != target || at->serial))
			at = at->next;
		if (!at)
			return;
		memcpy(at->body, &target->id, sizeof(target->id));
		int error = send_pending(context, at, at->body, at->size, -1);
		if (!error)
			continue;
		if (error != -EAGAIN) {
			gp_client_lost(context, -ECONNRESET); /* ends them all */
			return;
		}
		end(context, at, error, NULL);
	}
}

static void end_waiting(struct gpreempt *context, const struct gpreempt_target *target, int result,
			const char *text)
{
	struct gp_client_pending *next;

	for (struct gp_client_pending *at = context->pending; at; at = next) {
		next = at->next;
		if (at->target == target && !at->serial)
			end(context, at, result, text);
	}
}

static void opened(struct gpreempt *context, struct gp_client_pending *pending,
		   const struct gp_wire_message *message, const char *text)
{
	const struct gp_proto_msg_opened *answer = (const void *)message->body;
	struct gpreempt_target *target = pending->target;
	int result = message->header.status;

	if (result >= 0 && !gp_wire_fits(message, sizeof(*answer), 0, 0))
		result = -EPROTO;
	if (!target && result >= 0) {
		struct gp_proto_msg_target body = {.target = answer->target};

		/* It was closed meanwhile. */
		(void)gp_wire_send(context->socket, GP_MSG_CLOSE, gp_client_next_serial(context), 0,
				   &body, sizeof(body), -1);
	}
	if (target)
		target->opening = false;
	if (target && result >= 0)
		gp_client_target_opened(context, target, answer->target);
	end(context, pending, GP_MIN(result, 0), text);
	if (target && result < 0)
		end_waiting(context, target, result, text);
	else if (target)
		send_waiting(context, target);
}

void gp_client_pending_answer(struct gpreempt *context, const struct gp_wire_message *message)
{
	struct gp_client_pending *pending = context->pending;
	char text[2 * GP_PROTO_TEXT] = "";
	int result = message->header.status;

	while (pending && pending->serial != message->header.serial)
		pending = pending->next;
	if (!pending)
		return; /* its caller has given up */
	pending->serial = 0;
	gp_client_arm_timer(context);
	if (result < 0 && gp_wire_why(message))
		gp_proto_reasons_text(gp_wire_why(message), text, sizeof(text));
	if (pending->type == GP_MSG_OPEN) {
		opened(context, pending, message, text);
		return;
	}
	if (pending->target && pending->type != GP_MSG_SHARE && result >= 0) {
		if (gp_client_measure(pending->target, message, pending->sent_ns) < 0)
			result = -EPROTO;
		else
			pending->target->held = pending->type == GP_MSG_SUSPEND;
	}
	end(context, pending, result, text);
}
