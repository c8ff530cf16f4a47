// SPDX-License-Identifier: MIT
/* epoll, a timerfd and a sorted list of timers: see loop.h. */
#include "base/loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"

int gp_loop_init(struct gp_loop *loop)
{
	struct epoll_event event = {.events = EPOLLIN};

	*loop = (struct gp_loop){.epoll = -1, .timerfd = -1, .programmed = UINT64_MAX};
	gp_list_init(&loop->timers);
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	loop->timerfd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (loop->epoll < 0 || loop->timerfd < 0 ||
	    epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->timerfd, &event) < 0) {
		int error = -errno;

		gp_loop_free(loop);
		return error;
	}
	return 0;
}

void gp_loop_free(struct gp_loop *loop)
{
	if (loop->timerfd >= 0)
		close(loop->timerfd);
	if (loop->epoll >= 0)
		close(loop->epoll);
	loop->epoll = loop->timerfd = -1;
}

int gp_loop_watch(struct gp_loop *loop, struct gp_watch *watch, int fd,
		  void (*ready)(struct gp_watch *watch, u32 events))
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = watch};

	*watch = (struct gp_watch){.fd = fd, .ready = ready};
	if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
		int error = -errno;

		close(fd);
		watch->fd = -1;
		return error;
	}
	return 0;
}

void gp_loop_await(struct gp_loop *loop, struct gp_watch *watch, u32 events)
{
	struct epoll_event event = {.events = events, .data.ptr = watch};

	if (watch->fd >= 0)
		epoll_ctl(loop->epoll, EPOLL_CTL_MOD, watch->fd, &event);
}

void gp_loop_pause(struct gp_loop *loop, struct gp_watch *watch, bool paused)
{
	if (watch->fd < 0 || watch->paused == paused)
		return;
	watch->paused = paused;
	gp_loop_await(loop, watch, paused ? 0 : EPOLLIN);
}

void gp_loop_unwatch(struct gp_loop *loop, struct gp_watch *watch)
{
	if (watch->fd < 0)
		return;
	/* Closing is not enough: a duplicate elsewhere would keep it in the set. */
	epoll_ctl(loop->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
	close(watch->fd);
	watch->fd = -1;
}

static void program(struct gp_loop *loop)
{
	struct gp_timer *first = gp_container(loop->timers.next, struct gp_timer, link);
	u64 at = gp_list_empty(&loop->timers) ? UINT64_MAX : first->at_ns;
	struct itimerspec when = {0};

	if (at == loop->programmed)
		return;
	loop->programmed = at;
	if (at != UINT64_MAX) {
		when.it_value.tv_sec = (time_t)(at / GP_NS_PER_S);
		/* A time of 0 would disarm it. */
		when.it_value.tv_nsec = (long)(at ? at % GP_NS_PER_S : 1);
	}
	timerfd_settime(loop->timerfd, TFD_TIMER_ABSTIME, &when, NULL);
}

void gp_timer_init(struct gp_timer *timer, void (*fire)(struct gp_timer *timer))
{
	gp_list_init(&timer->link);
	timer->at_ns = UINT64_MAX;
	timer->fire = fire;
}

bool gp_timer_armed(const struct gp_timer *timer)
{
	return !gp_list_empty(&timer->link);
}

/* The timerfd itself is set in gp_loop_step(): a timer is often moved several times in between. */
void gp_timer_set(struct gp_loop *loop, struct gp_timer *timer, u64 at_ns)
{
	struct gp_list *at;

	gp_list_remove(&timer->link);
	timer->at_ns = at_ns;
	if (at_ns == UINT64_MAX)
		return;
	gp_list_for_each (at, &loop->timers) {
		if (gp_container(at, struct gp_timer, link)->at_ns > at_ns)
			break;
	}
	gp_list_insert(at, &timer->link);
}

/* Fires those that are due now, also one that is armed again for a time that has come; the limit
 * gives descriptors their turn. */
static void fire(struct gp_loop *loop)
{
	u64 ticks, now;

	(void)!read(loop->timerfd, &ticks, sizeof(ticks));
	loop->programmed = UINT64_MAX;
	now = gp_monotonic_ns();
	for (int most = 1000; most && !gp_list_empty(&loop->timers); most--) {
		struct gp_timer *first = gp_container(loop->timers.next, struct gp_timer, link);

		if (first->at_ns > now)
			break;
		gp_list_remove(&first->link);
		first->fire(first);
	}
}

int gp_loop_step(struct gp_loop *loop, int timeout_ms)
{
	struct epoll_event event;

	program(loop);
	int count = epoll_wait(loop->epoll, &event, 1, timeout_ms);
	if (count < 0)
		return errno == EINTR ? 1 : -errno;
	if (!count)
		return 0;
	if (loop->woken && loop->woken(loop))
		return 1;
	struct gp_watch *watch = event.data.ptr;
	if (watch)
		watch->ready(watch, event.events);
	else
		fire(loop);
	return 1;
}
