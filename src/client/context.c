// SPDX-License-Identifier: MIT
/* Contexts: opening, closing, names. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "client/client.h"

/* Watches an event source for good; sockets come and go. */
static int watch(const struct gpreempt *context, int fd)
{
	struct epoll_event readable = {.events = EPOLLIN};

	return epoll_ctl(context->epoll, EPOLL_CTL_ADD, fd, &readable) < 0 ? -errno : 0;
}

static void discard(struct gpreempt *context)
{
	if (context->socket >= 0)
		close(context->socket);
	if (context->timer >= 0)
		close(context->timer);
	if (context->epoll >= 0)
		close(context->epoll);
	while (context->pending) {
		struct gp_client_pending *pending = context->pending;

		context->pending = pending->next;
		free(pending);
	}
	gp_client_events_free(&context->events);
	pthread_mutex_destroy(&context->call);
	free(context);
}

static int make(struct gpreempt **out)
{
	/* Tells apart contexts in the thread-local sentences; no state of any context. */
	static atomic_uint_fast64_t count;
	struct gpreempt *context = calloc(1, sizeof(*context));

	if (!context)
		return -ENOMEM;
	int error = gp_client_events_init(&context->events);
	if (error) {
		free(context);
		return error;
	}
	pthread_mutex_init(&context->call, NULL);
	context->number = atomic_fetch_add(&count, 1) + 1;
	context->pid = getpid();
	context->socket = -1;
	context->extra_ms = GP_LIB_EXTRA_MS;
	context->epoll = epoll_create1(EPOLL_CLOEXEC);
	context->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (context->epoll < 0 || context->timer < 0)
		error = -errno;
	if (!error)
		error = watch(context, context->timer);
	if (!error)
		error = watch(context, context->events.fd);
	if (error)
		discard(context);
	else
		*out = context;
	return error;
}

int gpreempt_open(struct gpreempt **out)
{
	struct gpreempt *context;
	int error = make(&context);

	*out = NULL;
	if (error)
		return gp_client_fail(NULL, error,
				      "cannot initialise libgpreempt: %s; check the limit of open "
				      "files (ulimit -n)",
				      strerror(-error));
	error = gp_client_greet(context, true);
	if (error) {
		gp_client_forget_errors(context);
		discard(context);
		return error;
	}
	*out = context;
	return 0;
}

void gpreempt_close(struct gpreempt *context)
{
	if (!context)
		return;
	while (context->targets)
		gpreempt_target_close(context->targets);
	gp_client_forget_errors(context);
	discard(context);
}

const char *gpreempt_mechanism_name(enum gpreempt_mechanism mechanism)
{
	return (unsigned)mechanism < GP_MECHANISM_COUNT ? gp_proto_mechanism_name(mechanism) : NULL;
}

const char *gpreempt_version(void)
{
	return GP_VERSION;
}
