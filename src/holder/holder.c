// SPDX-License-Identifier: MIT
/* The loop: descriptors, timers, signals. See holder.h. */
#include "holder/holder.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "proto/directory.h"

#define END_SECONDS 10 /* for workers to let go */
/* While a process is attached a hung holder would stop it at its next signal: the guardian hears
 * from us every TICK and acts after MISSED. */
#define TICK_NS   (GP_NS_PER_S / 2)
#define MISSED_NS (3 * GP_NS_PER_S)

u64 gp_holder_now_ns(void)
{
	return gp_monotonic_ns();
}

int gp_holder_watch(struct gp_holder *holder, int fd, u32 events, void *what)
{
	struct epoll_event event = {.events = events, .data.ptr = what};

	return epoll_ctl(holder->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int open_signals(struct gp_holder *holder)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	/* Before the first worker, which inherits it. */
	if (pthread_sigmask(SIG_BLOCK, &set, NULL))
		return -EINVAL;
	holder->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (holder->signals < 0)
		return -errno;
	return gp_holder_watch(holder, holder->signals, EPOLLIN, &holder->fixed[GP_SOURCE_SIGNAL]);
}

/* Without it the holder of a directory that was removed ends when it is idle. */
static void watch_directory(struct gp_holder *holder)
{
	holder->directory = gp_proto_directory_watch(holder->options.lock_name);
	if (holder->directory >= 0)
		gp_holder_watch(holder, holder->directory, EPOLLIN,
				&holder->fixed[GP_SOURCE_DIRECTORY]);
}

int gp_holder_open(struct gp_holder *holder, const struct gp_holder_options *options)
{
	int error = 0;

	*holder = (struct gp_holder){.options = *options,
				     .signals = -1,
				     .inotify = -1,
				     .directory = -1,
				     .armed_ns = GP_NEVER,
				     .idle_since_ns = gp_holder_now_ns()};
	for (int i = 0; i < GP_SOURCE_FIXED; i++)
		holder->fixed[i] = (enum gp_holder_source)i;
	gp_list_init(&holder->connections);
	gp_list_init(&holder->members);
	gp_list_init(&holder->agents);
	gp_list_init(&holder->priorities);
	gp_list_init(&holder->finished);
	holder->message.fd = -1;
	holder->epoll = epoll_create1(EPOLL_CLOEXEC);
	holder->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (holder->epoll < 0 || holder->timer < 0)
		error = -errno;
	if (!error)
		error = gp_holder_watch(holder, holder->timer, EPOLLIN,
					&holder->fixed[GP_SOURCE_TIMER]);
	if (!error && options->listen_fd >= 0)
		error = open_signals(holder);
	if (!error && options->listen_fd >= 0)
		error = gp_holder_watch(holder, options->listen_fd, EPOLLIN,
					&holder->fixed[GP_SOURCE_LISTEN]);
	if (!error && options->lock_name)
		watch_directory(holder);
	if (!error && options->guard_ns)
		error = gp_holder_guardian_start(options->guard_ns, &holder->guardian);
	if (error)
		gp_holder_close(holder);
	else if (options->idle_ms)
		gp_holder_wake_at(holder, gp_holder_now_ns() + options->idle_ms * GP_NS_PER_MS);
	return error;
}

/* ---- time ---- */

void gp_holder_wake_at(struct gp_holder *holder, u64 when_ns)
{
	struct itimerspec when = {.it_value = gp_timespec(when_ns)};

	/* The guardian hears of it before whoever waits for an answer does: the holder may be
	 * stopped in between. */
	if (holder->options.guard_ns && when_ns < *holder->options.guard_ns)
		__atomic_store_n(holder->options.guard_ns, when_ns, __ATOMIC_RELEASE);
	if (when_ns >= holder->armed_ns)
		return; /* it rings before, and is set anew then */
	if (!when_ns)
		when.it_value.tv_nsec = 1;
	timerfd_settime(holder->timer, TFD_TIMER_ABSTIME, &when, NULL);
	holder->armed_ns = when_ns;
}

static bool is_idle(const struct gp_holder *holder)
{
	return !holder->connection_count && !holder->member_count &&
	       gp_list_empty(&holder->priorities);
}

static void ring(struct gp_holder *holder)
{
	u64 times, now = gp_holder_now_ns();

	if (read(holder->timer, &times, sizeof(times)) != (ssize_t)sizeof(times))
		return;
	holder->armed_ns = GP_NEVER;
	u64 next = gp_holder_target_expire(holder, now);
	u64 agents = gp_holder_agents_expire(holder, now);
	u64 accepts = gp_holder_connection_accept_again(holder, now);
	u64 members = gp_holder_member_apply_again(holder, now);
	u64 breakers = gp_holder_breaker_expire(holder, now);
	gp_holder_priority_reap(holder);
	next = GP_MIN(GP_MIN(next, agents), GP_MIN(accepts, GP_MIN(members, breakers)));
	if (holder->member_count || !gp_list_empty(&holder->priorities))
		next = GP_MIN(next, now + TICK_NS);
	if (holder->options.idle_ms && is_idle(holder)) {
		u64 end = holder->idle_since_ns + holder->options.idle_ms * GP_NS_PER_MS;

		if (end <= now)
			holder->ending = true;
		next = GP_MIN(next, end);
	}
	if (next != GP_NEVER)
		gp_holder_wake_at(holder, next);
}

/* Says by when the guardian must have seen another word here. */
static void tell_guardian(struct gp_holder *holder)
{
	u64 now = gp_holder_now_ns(), due = gp_holder_target_due(holder);

	if (holder->member_count) {
		due = GP_MIN(due, now + MISSED_NS);
		gp_holder_wake_at(holder, now + TICK_NS);
	}
	__atomic_store_n(holder->options.guard_ns, due, __ATOMIC_RELEASE);
}

/* ---- signals ---- */

static void check_guardian(struct gp_holder *holder)
{
	if (holder->guardian > 0 && waitpid(holder->guardian, NULL, WNOHANG) == holder->guardian) {
		holder->guardian = 0;
		gp_holder_guardian_start(holder->options.guard_ns, &holder->guardian);
	}
}

static void take_signal(struct gp_holder *holder)
{
	struct signalfd_siginfo info;
	struct gp_list *at;

	if (read(holder->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo != SIGCHLD) {
		holder->ending = true;
		return;
	}
	/* Several may have come as one: each worker looks after its own. */
	gp_list_for_each (at, &holder->members)
		gp_holder_worker_nudge(gp_container(at, struct gp_holder_member, link)->worker);
	check_guardian(holder);
}

/* ---- the round ---- */

static void dispatch(struct gp_holder *holder, const struct epoll_event *event)
{
	enum gp_holder_source *source = event->data.ptr;

	switch (*source) {
	case GP_SOURCE_LISTEN:
		gp_holder_connection_accept(holder);
		break;
	case GP_SOURCE_TIMER:
		ring(holder);
		break;
	case GP_SOURCE_SIGNAL:
		take_signal(holder);
		break;
	case GP_SOURCE_INOTIFY:
		gp_holder_agents_changed(holder);
		break;
	case GP_SOURCE_DIRECTORY:
		holder->homeless =
			gp_proto_directory_lost(holder->directory, holder->options.lock_name,
						holder->options.lock_fd);
		holder->ending |= holder->homeless;
		break;
	case GP_SOURCE_CONNECTION:
		gp_holder_connection_ready(event->data.ptr, event->events);
		break;
	case GP_SOURCE_MEMBER:
		gp_holder_member_ready(event->data.ptr);
		break;
	case GP_SOURCE_AGENT:
		gp_holder_agent_ready(event->data.ptr, event->events);
		break;
	case GP_SOURCE_FIXED:
		break;
	}
}

static void run_finished(struct gp_holder *holder)
{
	while (!gp_list_empty(&holder->finished)) {
		struct gp_holder_job *job =
			gp_container(holder->finished.next, struct gp_holder_job, link);

		gp_list_remove(&job->link);
		gp_holder_member_job_done(job);
	}
}

int gp_holder_step(struct gp_holder *holder, int timeout_ms)
{
	struct epoll_event event;
	/* One at a time: what is handled may free what another event is about. */
	int ready = epoll_wait(holder->epoll, &event, 1, timeout_ms);

	if (ready > 0)
		dispatch(holder, &event);
	run_finished(holder);
	gp_holder_connection_sweep(holder);
	run_finished(holder);
	if (!is_idle(holder)) {
		holder->idle_since_ns = GP_NEVER;
	} else if (holder->idle_since_ns == GP_NEVER) {
		holder->idle_since_ns = gp_holder_now_ns();
		if (holder->options.idle_ms)
			gp_holder_wake_at(holder, holder->idle_since_ns +
							  holder->options.idle_ms * GP_NS_PER_MS);
	}
	if (holder->options.guard_ns)
		tell_guardian(holder);
	return holder->ending;
}

void gp_holder_close(struct gp_holder *holder)
{
	struct gp_list *at, *next;
	u64 end = gp_holder_now_ns() + END_SECONDS * GP_NS_PER_S;

	holder->ending = true;
	gp_list_for_each_safe(at, next, &holder->connections)
		gp_holder_connection_remove(gp_container(at, struct gp_holder_connection, link));
	while (holder->member_count && gp_holder_now_ns() < end)
		gp_holder_step(holder, 100);
	gp_list_for_each_safe(at, next, &holder->agents)
		gp_holder_agent_remove(gp_container(at, struct gp_holder_agent, link));
	gp_holder_priority_reap(holder);
	if (holder->guardian > 0) {
		kill(holder->guardian, SIGKILL);
		waitpid(holder->guardian, NULL, 0);
	}
	int fds[] = {holder->epoll, holder->timer, holder->signals, holder->inotify,
		     holder->directory};
	for (size_t i = 0; i < GP_ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}
