// SPDX-License-Identifier: MIT
/* Events: what happens to targets without being asked, and the ends of asynchronous calls. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
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

void gp_client_event(struct gpreempt *context, const struct gpreempt_event *event)
{
	struct gp_client_events *events = &context->events;
	struct gp_client_event *item = NULL;
	const u64 one = 1;

	pthread_mutex_lock(&events->lock);
	/* Nobody may be reading them. Ends of calls are few: GP_LIB_PENDING at a time. States are
	 * one per process, and the last of them must arrive. */
	if (event->kind == GPREEMPT_EVENT_HELD_ELSEWHERE)
		forget_state(events, event);
	if (events->count < GP_LIB_EVENTS || event->kind == GPREEMPT_EVENT_DONE ||
	    event->kind == GPREEMPT_EVENT_HELD_ELSEWHERE)
		item = malloc(sizeof(*item));
	if (item) {
		*item = (struct gp_client_event){.event = *event};
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

static bool take(struct gp_client_events *events, struct gpreempt_event *out)
{
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
	free(item);
	return item != NULL;
}

void gp_client_forget_target(struct gpreempt *context, const struct gpreempt_target *target)
{
	struct gp_client_events *events = &context->events;

	for (size_t i = 0; i < GP_LIB_PENDING; i++) {
		if (context->pending[i].target == target)
			context->pending[i].target = NULL;
	}
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

void gp_client_arm_timer(struct gpreempt *context)
{
	struct itimerspec when = {0};
	u64 first = UINT64_MAX;

	for (size_t i = 0; i < GP_LIB_PENDING; i++) {
		const struct gp_client_pending *pending = &context->pending[i];

		if (pending->serial && pending->deadline_ns < first)
			first = pending->deadline_ns;
	}
	if (first != UINT64_MAX) {
		when.it_value = gp_timespec(first);
	}
	timerfd_settime(context->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/* The end of an asynchronous call, or of one whose caller has given up. */
static void dispatch_answer(struct gpreempt *context, const struct gp_wire_message *message)
{
	for (size_t i = 0; i < GP_LIB_PENDING; i++) {
		struct gp_client_pending *pending = &context->pending[i];
		struct gpreempt_target *target = pending->target;
		int result = message->header.status;

		if (pending->serial != message->header.serial)
			continue;
		pending->serial = 0;
		gp_client_arm_timer(context);
		if (!target)
			return;
		if (pending->type != GP_MSG_SHARE) {
			if (result >= 0 && gp_client_measure(target, message, pending->sent_ns) < 0)
				result = -EPROTO;
			if (result >= 0)
				target->held = pending->type == GP_MSG_SUSPEND;
		}
		gp_client_event(context, &(struct gpreempt_event){.kind = GPREEMPT_EVENT_DONE,
								  .ticket = pending->ticket,
								  .result = result,
								  .pid = target->pid,
								  .target = target});
		return;
	}
}

void gp_client_dispatch(struct gpreempt *context, const struct gp_wire_message *message)
{
	struct gp_proto_msg_event event;

	if (message->header.serial) {
		dispatch_answer(context, message);
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
		gp_client_event(context, &(struct gpreempt_event){.kind = (enum gpreempt_event_kind)
										  event.kind,
								  .result = event.result,
								  .pid = event.pid,
								  .target = target});
		return;
	}
}

/* With the call lock held: everything that has come, and calls that took too long. */
static void collect(struct gpreempt *context)
{
	u64 now, ticks;

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
	now = gp_monotonic_ns();
	for (size_t i = 0; i < GP_LIB_PENDING; i++) {
		const struct gp_client_pending *pending = &context->pending[i];

		/* The holder hangs. It lets go of everything when it finds the connection gone. */
		if (pending->serial && pending->deadline_ns <= now)
			gp_client_lost(context, -ETIME);
	}
	gp_client_arm_timer(context);
}

int gpreempt_fd(struct gpreempt *context)
{
	return context->epoll;
}

int gpreempt_next_event(struct gpreempt *context, struct gpreempt_event *event)
{
	if (take(&context->events, event))
		return 1;
	if (context->pid != getpid() || pthread_mutex_trylock(&context->call) != 0)
		return 0;
	collect(context);
	pthread_mutex_unlock(&context->call);
	return take(&context->events, event);
}
