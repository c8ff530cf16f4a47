/* SPDX-License-Identifier: MIT */
/*
 * The event loop: descriptors (epoll) and timers (one timerfd) of one thread. A step handles one
 * event, so that a handler may close any descriptor without another event for it being under way.
 * With nothing to do it sleeps; no internal timer wakes it.
 */
#ifndef GP_BASE_LOOP_H
#define GP_BASE_LOOP_H

#include "base/core.h"

struct gp_watch {
	int fd; /* -1: not watched */
	void (*ready)(struct gp_watch *watch, u32 events);
	bool paused;
};

struct gp_timer {
	struct gp_list link; /* in the loop, earliest first; alone when not armed */
	u64 at_ns;           /* CLOCK_MONOTONIC */
	void (*fire)(struct gp_timer *timer);
};

struct gp_loop {
	int epoll, timerfd;
	struct gp_list timers;
	u64 programmed; /* what the timerfd is set to; UINT64_MAX: nothing */
	/* Before an event is handled; true: it handled others, and this one comes again. May be
	 * NULL. */
	bool (*woken)(struct gp_loop *loop);
	bool stop;
};

int gp_loop_init(struct gp_loop *loop);
void gp_loop_free(struct gp_loop *loop);

/* Takes the descriptor: gp_loop_unwatch() closes it; on failure it is closed here. */
int gp_loop_watch(struct gp_loop *loop, struct gp_watch *watch, int fd,
		  void (*ready)(struct gp_watch *watch, u32 events));
/* Which events wake it (EPOLLIN, EPOLLOUT) instead of EPOLLIN; its end always does. */
void gp_loop_await(struct gp_loop *loop, struct gp_watch *watch, u32 events);
/* Leaves it open, and watched only for its end, until it is wanted again. */
void gp_loop_pause(struct gp_loop *loop, struct gp_watch *watch, bool paused);
void gp_loop_unwatch(struct gp_loop *loop, struct gp_watch *watch);

void gp_timer_init(struct gp_timer *timer, void (*fire)(struct gp_timer *timer));
/* Moves it when it is armed; UINT64_MAX disarms it. */
void gp_timer_set(struct gp_loop *loop, struct gp_timer *timer, u64 at_ns);
bool gp_timer_armed(const struct gp_timer *timer);

/* Handles one event; waits at most timeout_ms (-1: no limit). 1, 0 when nothing came, -errno. */
int gp_loop_step(struct gp_loop *loop, int timeout_ms);

#endif
