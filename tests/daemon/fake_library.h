/* SPDX-License-Identifier: MIT */
/*
 * An implementation of include/gpreempt.h for the daemon's tests: no holder, no GPU. It writes down
 * what it is asked ("suspend 10", "resume 10"), ends calls when the test wants, and fails the test
 * when a rule of the library is broken: a lease renewed that is not held, or while a resume is
 * under way; a share sent while another of the same process is.
 */
#ifndef GP_TESTS_DAEMON_FAKE_LIBRARY_H
#define GP_TESTS_DAEMON_FAKE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "gpreempt.h"

enum { FAKE_EVENTS = 256, FAKE_TARGETS = 64 };

struct gpreempt_target {
	int pid; /* 0: free */
	int number;
	bool held, resuming;
	int pending; /* calls under way */
	int sharing; /* of them, shares */
	uint32_t share;
	int refuses;              /* shares and suspends that wait end with this error */
	uint32_t flags, limit_ms; /* of the last suspend */
};

struct fake_library {
	bool open, wait; /* wait: calls end only with fake_finish() */
	int open_error, target_error, suspend_error, renew_error, share_error;
	int last_mechanism; /* of the last opening */
	int late_error;     /* of an opening, known by its event */
	struct gpreempt_target target[FAKE_TARGETS];
	int targets;
	struct gpreempt_event event[FAKE_EVENTS];
	size_t first, last;
	int ticket, fd;
	int suspends, resumes, renewals, opens, shares, waited_shares, lifted;
	int closed_under_way;           /* targets, each by itself, with calls that had not ended */
	int broken_rules;               /* calls that must not be */
	struct gpreempt_queue queue[4]; /* of every target */
	int queue_count;
	struct {
		int ticket;
		bool suspend;
		uint32_t share; /* of a share */
		struct gpreempt_target *target;
	} waiting[FAKE_EVENTS];
	size_t waiting_count;
};

extern struct fake_library fake;

void fake_reset(void);
/* Ends the calls that wait, in their order. */
void fake_finish(int result);
void fake_tell(enum gpreempt_event_kind kind, int pid, int result);
struct gpreempt_target *fake_target(int pid);
/* Any of its targets is. */
bool fake_held(int pid);
/* Every lease on it ends. */
void fake_lose(int pid);

#endif
