// SPDX-License-Identifier: MIT
/* Events: what happens to targets without being asked, and the ends of asynchronous calls. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/client.h"

int gp_client_events_init(struct gp_client_events *events)
{
	events->first = NULL;
	events->last = &events->first;
	events->count = 0;
	events->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (events->fd < 0)
		return -errno;
	pthread_mutex_init(&events->lock, NULL);
	return 0;
}

void gp_client_events_free(struct gp_client_events *events)
{
	while (events->first) {
		struct gp_client_event *event = events->first;

		events->first = event->next;
		free(event);
	}
	close(events->fd);
	pthread_mutex_destroy(&events->lock);
}

/* With the lock held: a state that was not read is forgotten when the next one comes. */
static void forget_state(struct gp_client_events *events, const struct gpreempt_event *next)
{
	for (struct gp_client_event **at = &events->first; *at; at = &(*at)->next) {
		struct gp_client_event *item = *at;

		if (item->event.kind != next->kind || item->event.target != next->target ||
		    item->event.pid != next->pid)
			continue;
		*at = item->next;
		if (!*at)
			events->last = at;
		events->count--;
		free(item);
		return;
	}
}

void gp_client_event(struct gpreempt *context, const struct gpreempt_event *event, const char *text)
{
	struct gp_client_events *events = &context->events;
	struct gp_client_event *item = NULL;
	size_t length = text ? strlen(text) : 0;
	const u64 one = 1;

	pthread_mutex_lock(&events->lock);
	/* Nobody may be reading them. Ends of calls are few: GP_LIB_PENDING at a time. States are
	 * one per process, and the last of them must arrive. */
	if (event->kind == GPREEMPT_EVENT_HELD_ELSEWHERE)
		forget_state(events, event);
	if (events->count < GP_LIB_EVENTS || event->kind == GPREEMPT_EVENT_DONE ||
	    event->kind == GPREEMPT_EVENT_HELD_ELSEWHERE)
		item = calloc(1, sizeof(*item) + length + 1);
	if (item) {
		item->event = *event;
		if (length)
			memcpy(item->text, text, length);
		*events->last = item;
		events->last = &item->next;
		if (events->count++ == 0)
			(void)!write(events->fd, &one, sizeof(one));
	}
	pthread_mutex_unlock(&events->lock);
}

/* With the lock held: the descriptor says whether there are any. */
static void emptied(struct gp_client_events *events)
{
	u64 count;

	if (!events->count)
		(void)!read(events->fd, &count, sizeof(count));
}

static bool take(struct gpreempt *context, struct gpreempt_event *out)
{
	struct gp_client_events *events = &context->events;
	struct gp_client_event *item;

	pthread_mutex_lock(&events->lock);
	item = events->first;
	if (item) {
		*out = item->event;
		events->first = item->next;
		if (!events->first)
			events->last = &events->first;
		events->count--;
		emptied(events);
	}
	pthread_mutex_unlock(&events->lock);
	if (!item)
		return false;
	if (out->kind == GPREEMPT_EVENT_DONE && out->result < 0)
		gp_client_fail(context, out->result, "%s",
			       *item->text ? item->text : strerror(-out->result));
	free(item);
	return true;
}

void gp_client_forget_target(struct gpreempt *context, const struct gpreempt_target *target)
{
	struct gp_client_events *events = &context->events;

	gp_client_pending_forget(context, target);
	pthread_mutex_lock(&events->lock);
	for (struct gp_client_event **at = &events->first; *at;) {
		struct gp_client_event *item = *at;

		if (item->event.target == target) {
			*at = item->next;
			if (!*at)
				events->last = at;
			events->count--;
			free(item);
		} else {
			at = &item->next;
		}
	}
	emptied(events);
	pthread_mutex_unlock(&events->lock);
}

void gp_client_dispatch(struct gpreempt *context, const struct gp_wire_message *message)
{
	struct gp_proto_msg_event event;

	if (message->header.serial) {
		gp_client_pending_answer(context, message);
		return;
	}
	if (message->header.type != GP_MSG_EVENT || !gp_wire_fits(message, sizeof(event), 0, 0))
		return;
	memcpy(&event, message->body, sizeof(event));
	if (event.kind < GP_EVENT_LEASE_LOST || event.kind > GP_EVENT_HELD_ELSEWHERE)
		return;
	for (struct gpreempt_target *target = context->targets; target; target = target->next) {
		if (target->id != event.target || target->generation != context->generation)
			continue;
		if (event.kind == GP_EVENT_LEASE_LOST)
			target->held = false;
		if (event.kind == GP_EVENT_HELD_ELSEWHERE && event.result)
			target->held_elsewhere = true;
		gp_client_event(
			context,
			&(struct gpreempt_event){.kind = (enum gpreempt_event_kind)event.kind,
						 .result = event.result,
						 .pid = event.pid,
						 .target = target},
			NULL);
		return;
	}
}

/* With the call lock held: everything that has come, and calls that took too long. */
static void collect(struct gpreempt *context)
{
	u64 ticks;

	while (context->socket >= 0) {
		int error = gp_wire_receive(context->socket, &context->message, 0);
		if (error == -EAGAIN)
			break;
		if (error) {
			gp_client_lost(context, error == -EPROTO ? error : -ECONNRESET);
			break;
		}
		if (context->message.fd >= 0)
			close(context->message.fd);
		gp_client_dispatch(context, &context->message);
	}
	if (read(context->timer, &ticks, sizeof(ticks)) < 0)
		return;
	/* The holder hangs. It lets go of everything when it finds the connection gone. */
	if (gp_client_pending_late(context, gp_monotonic_ns()))
		gp_client_lost(context, -ETIME);
	gp_client_arm_timer(context);
}

int gpreempt_fd(struct gpreempt *context)
{
	return context->epoll;
}

int gpreempt_next_event(struct gpreempt *context, struct gpreempt_event *event)
{
	if (take(context, event))
		return 1;
	if (context->pid != getpid() || pthread_mutex_trylock(&context->call) != 0)
		return 0;
	collect(context);
	pthread_mutex_unlock(&context->call);
	return take(context, event);
}
