// SPDX-License-Identifier: MIT
/* The loop: descriptors, timers, signals. See holder.h. */
#include "holder/direct.h"
#include "holder/guardian.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "proto/directory.h"

#define END_SECONDS 10 /* for workers to let go */
/* While a process is attached a hung holder would stop it at its next signal: the guardian hears
 * from us every TICK and acts after MISSED. */
#define TICK_NS   (GP_NS_PER_S / 2)
#define MISSED_NS (3 * GP_NS_PER_S)

/* ---- time ---- */

void gp_holder_wake_at(struct gp_holder *holder, u64 when_ns)
{
	/* The guardian hears of it before a client gets its answer: the holder may be stopped in
	 * between. */
	if (holder->options.guard_ns && when_ns < *holder->options.guard_ns)
		__atomic_store_n(holder->options.guard_ns, when_ns, __ATOMIC_RELEASE);
	/* Otherwise it rings before, and is set again then. */
	if (when_ns < holder->timer.at_ns)
		gp_timer_set(&holder->loop, &holder->timer, when_ns);
}

static bool is_idle(const struct gp_holder *holder)
{
	return !holder->connection_count && !holder->member_count &&
	       gp_list_empty(&holder->priorities);
}

static void ring(struct gp_timer *timer)
{
	struct gp_holder *holder = gp_container(timer, struct gp_holder, timer);
	u64 now = gp_monotonic_ns();

	timer->at_ns = GP_NEVER;
	u64 next = gp_holder_target_expire(holder, now);
	u64 agents = gp_holder_agents_expire(holder, now);
	u64 accepts = gp_holder_connection_accept_again(holder, now);
	u64 members = gp_holder_member_apply_again(holder, now);
	u64 breakers = gp_holder_breaker_expire(holder, now);
	u64 calls = gp_holder_direct_expire(holder, now);
	gp_holder_priority_reap(holder);
	next = GP_MIN(GP_MIN(next, agents), GP_MIN(accepts, GP_MIN(members, breakers)));
	next = GP_MIN(next, calls);
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
	u64 now = gp_monotonic_ns(), due = gp_holder_target_due(holder);

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
		gp_holder_guardian_start(holder->options.guard_ns, &holder->guardian, false);
	}
}

static void take_signal(struct gp_watch *watch, u32 events)
{
	struct gp_holder *holder = gp_container(watch, struct gp_holder, signals);
	struct signalfd_siginfo info;
	struct gp_list *at;

	(void)events;
	if (read(watch->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo != SIGCHLD) {
		holder->ending = true;
		return;
	}
	/* Several may have come as one: each worker looks after its own. */
	gp_list_for_each (at, &holder->members) {
		struct gp_holder_worker *worker =
			gp_container(at, struct gp_holder_member, link)->worker;

		if (worker)
			gp_holder_worker_nudge(worker);
	}
	check_guardian(holder);
}

/* ---- opening ---- */

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
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : gp_loop_watch(&holder->loop, &holder->signals, fd, take_signal);
}

static void directory_changed(struct gp_watch *watch, u32 events)
{
	struct gp_holder *holder = gp_container(watch, struct gp_holder, directory);

	(void)events;
	holder->homeless = gp_proto_directory_lost(watch->fd, holder->options.lock_name,
						   holder->options.lock_fd);
	holder->ending |= holder->homeless;
}

/* Without it the holder of a directory that was removed ends when it is idle. */
static void watch_directory(struct gp_holder *holder)
{
	int fd = gp_proto_directory_watch(holder->options.lock_name);

	if (fd >= 0)
		gp_loop_watch(&holder->loop, &holder->directory, fd, directory_changed);
}

int gp_holder_open(struct gp_holder *holder, const struct gp_holder_options *options)
{
	int error;

	*holder = (struct gp_holder){.options = *options,
				     .listen = {.fd = -1},
				     .signals = {.fd = -1},
				     .inotify = {.fd = -1},
				     .directory = {.fd = -1},
				     .idle_since_ns = gp_monotonic_ns()};
	gp_list_init(&holder->connections);
	gp_list_init(&holder->members);
	gp_list_init(&holder->agents);
	gp_list_init(&holder->priorities);
	gp_list_init(&holder->finished);
	gp_list_init(&holder->parked);
	holder->message.fd = -1;
	gp_timer_init(&holder->timer, ring);
	error = gp_loop_init(&holder->loop);
	if (!error && options->listen_fd >= 0)
		error = open_signals(holder);
	if (!error && options->listen_fd >= 0)
		error = gp_loop_watch(&holder->loop, &holder->listen, options->listen_fd,
				      gp_holder_connection_accept);
	if (!error && options->lock_name)
		watch_directory(holder);
	if (!error && options->guard_ns)
		error = gp_holder_guardian_start(options->guard_ns, &holder->guardian, true);
	if (error)
		gp_holder_close(holder);
	else if (options->idle_ms)
		gp_holder_wake_at(holder, gp_monotonic_ns() + options->idle_ms * GP_NS_PER_MS);
	return error;
}

/* ---- the round ---- */

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
	if (gp_loop_step(&holder->loop, timeout_ms) < 0)
		holder->ending = true;
	run_finished(holder);
	gp_holder_connection_sweep(holder);
	run_finished(holder);
	if (!is_idle(holder)) {
		holder->idle_since_ns = GP_NEVER;
	} else if (holder->idle_since_ns == GP_NEVER) {
		holder->idle_since_ns = gp_monotonic_ns();
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
	u64 end = gp_monotonic_ns() + END_SECONDS * GP_NS_PER_S;

	holder->ending = true;
	gp_list_for_each_safe(at, next, &holder->connections)
		gp_holder_connection_remove(gp_container(at, struct gp_holder_connection, link));
	while (holder->member_count && gp_monotonic_ns() < end)
		gp_holder_step(holder, 100);
	gp_list_for_each_safe(at, next, &holder->agents)
		gp_holder_agent_remove(gp_container(at, struct gp_holder_agent, link));
	gp_holder_priority_reap(holder);
	if (holder->guardian > 0) {
		kill(holder->guardian, SIGKILL);
		waitpid(holder->guardian, NULL, 0);
	}
	gp_loop_unwatch(&holder->loop, &holder->listen);
	gp_loop_unwatch(&holder->loop, &holder->signals);
	gp_loop_unwatch(&holder->loop, &holder->inotify);
	gp_loop_unwatch(&holder->loop, &holder->directory);
	gp_loop_free(&holder->loop);
}
