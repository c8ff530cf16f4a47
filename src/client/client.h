/* SPDX-License-Identifier: MIT */
/*
 * The insides of libgpreempt: what a context and a target are made of, and the few operations its
 * files share. The public face is include/gpreempt.h.
 *
 * A context has two locks. `call` is held while a request is under way; it guards the socket, the
 * targets and everything else but the queue of events, which has its own lock (`events.lock`, taken
 * last) so that gpreempt_next_event() never waits for a request. A connection that is lost is made
 * again by the next call; `generation` says which connection a target's number belongs to.
 */
#ifndef GP_CLIENT_CLIENT_H
#define GP_CLIENT_CLIENT_H

#include <pthread.h>
#include <stdarg.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/i18n.h"
#include "base/types.h"
#include "gpreempt.h"
#include "proto/wire.h"

enum {
	GP_LIB_CALL_MS = 10000,  /* for calls without a time-out */
	GP_LIB_EXTRA_MS = 5000,  /* for the holder, on top of a suspension's time-out */
	GP_LIB_START_MS = 20000, /* starting a holder and shaking hands */
	GP_LIB_PENDING = 4096,   /* asynchronous calls under way in one context */
	GP_LIB_EVENTS = 1024,    /* events kept; more are dropped, but never the end of a call */
};

/* An asynchronous call that has not ended. */
struct gp_client_pending {
	struct gp_client_pending *next;
	u32 serial;                     /* 0: not sent, its target is being opened */
	int ticket;                     /* 0: no event at its end */
	struct gpreempt_target *target; /* NULL: closed since */
	u64 sent_ns, deadline_ns;
	u32 timeout_ms;
	u16 type;    /* GP_MSG_OPEN, SUSPEND, RESUME or SHARE */
	size_t size; /* of the body, until it is sent */
	u64 body[];
};

struct gp_client_event {
	struct gp_client_event *next;
	struct gpreempt_event event;
	char text[]; /* why it failed; "": strerror() */
};

struct gp_client_events {
	pthread_mutex_t lock;
	struct gp_client_event *first, **last;
	size_t count;
	int fd; /* eventfd: readable while there is one */
};

struct gpreempt {
	pthread_mutex_t call;
	u64 number; /* differs between contexts that had the same address */
	pid_t pid;  /* of the process that opened it */
	int socket; /* -1: no connection */
	pid_t holder;
	u32 generation; /* of the connection; counts from 1 */
	u32 serial;
	int ticket;
	u32 extra_ms; /* GP_LIB_EXTRA_MS; tests have less patience */
	struct gpreempt_target *targets;
	struct gp_client_pending *pending; /* oldest first */
	u32 pending_count;
	int epoll, timer; /* what gpreempt_fd() gives; the earliest deadline of `pending` */
	struct gp_client_events events;
	struct gp_wire_message message; /* the last answer */
};

struct gpreempt_target {
	struct gpreempt *context;
	struct gpreempt_target *next;
	struct gp_proto_msg_open ask;
	int pid, pidfd; /* 0 and -1 for a group */
	u32 id, generation;
	bool opening;        /* OPEN was sent on this connection, its answer is not there */
	bool held;           /* suspended by this context, as far as it knows */
	bool held_elsewhere; /* the last event said so, of any process */
	u32 share;           /* to be given to a new holder; 0: none */
	bool measured;
	struct gpreempt_latency latency;
};

/* ---- error.c: the sentence of the last error, by thread ---- */

/* Keeps the sentence and returns `error`. A NULL context: gpreempt_open(). */
int gp_client_fail(const struct gpreempt *context, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void gp_client_forget_errors(const struct gpreempt *context);

/* ---- start.c: the holder's program ---- */

/* Connected to a holder, which was started if there was none; -errno after saying why. */
int gp_client_connect(const struct gpreempt *context, int timeout_ms);

static inline int gp_client_left_ms(u64 deadline_ns)
{
	u64 now = gp_monotonic_ns();

	return now >= deadline_ns ? 0 : (int)gp_divide_up(deadline_ns - now, GP_NS_PER_MS);
}

/* ---- call.c: requests and answers ---- */

/* Enter and leave a call on a context; enter fails in a process that did not open it. */
int gp_client_enter(struct gpreempt *context);
void gp_client_leave(struct gpreempt *context);
/* A connection that was greeted; 0 when there is one already. */
int gp_client_greet(struct gpreempt *context, bool opening);
/*
 * Sends a request of at most GP_PROTO_MAX bytes and waits for its answer, which is in
 * context->message afterwards. When the body starts with the target's number (`target` not NULL)
 * it is filled in, the target being opened again on a new connection. Returns the answer's status.
 */
int gp_client_call(struct gpreempt *context, struct gpreempt_target *target, u16 type, void *body,
		   size_t size, int timeout_ms);
/* Opens a target on the current connection. */
int gp_client_open_target(struct gpreempt *context, struct gpreempt_target *target);
/* It has this number on the current connection. */
void gp_client_target_opened(struct gpreempt *context, struct gpreempt_target *target, u32 id);
u32 gp_client_next_serial(struct gpreempt *context);
/* The sentence for a request that could not be sent; ends the connection unless it was full. */
int gp_client_cannot_send(struct gpreempt *context, int error);
/* Says that an answer is not what its type demands, and ends the connection. */
int gp_client_malformed(struct gpreempt *context);
/* The connection is over: suspended targets run again, and requests are not answered. */
void gp_client_lost(struct gpreempt *context, int error);

/* ---- event.c ---- */

int gp_client_events_init(struct gp_client_events *events);
void gp_client_events_free(struct gp_client_events *events);
/* `text`: why an asynchronous call failed; NULL: it did not, or its error says so. */
void gp_client_event(struct gpreempt *context, const struct gpreempt_event *event,
		     const char *text);
void gp_client_forget_target(struct gpreempt *context, const struct gpreempt_target *target);
/* Takes a message that is not the answer to a call: an event, the end of an asynchronous call. */
void gp_client_dispatch(struct gpreempt *context, const struct gp_wire_message *message);

/* ---- pending.c: asynchronous calls, all with the call lock held ---- */

/* Sends a request about a target, now or when it is open, and returns the ticket under which its
 * end will be an event. */
int gp_client_begin(struct gpreempt_target *target, u16 type, void *body, size_t size,
		    u32 timeout_ms);
/* The same for its opening. */
int gp_client_begin_open(struct gpreempt_target *target);
/* The answer to one of them, or to a call whose caller has given up. */
void gp_client_pending_answer(struct gpreempt *context, const struct gp_wire_message *message);
/* The connection, or the target, is gone. */
void gp_client_pending_lost(struct gpreempt *context, int error);
void gp_client_pending_forget(struct gpreempt *context, const struct gpreempt_target *target);
/* Whether the holder took too long with one; the timer rings for the next. */
bool gp_client_pending_late(const struct gpreempt *context, u64 now);
void gp_client_arm_timer(struct gpreempt *context);

/* ---- suspend.c ---- */

/* Keeps what a suspend or resume took; -EPROTO when the answer is not a gp_proto_msg_done. */
int gp_client_measure(struct gpreempt_target *target, const struct gp_wire_message *message,
		      u64 sent_ns);

/* ---- facts that the public header repeats ---- */

#define GP_SAME(public, ours) _Static_assert((int)(public) == (int)(ours), #public)
GP_SAME(GPREEMPT_AUTO, GP_MECHANISM_AUTO);
GP_SAME(GPREEMPT_KFD_AGENT, GP_MECHANISM_KFD_AGENT);
GP_SAME(GPREEMPT_KFD_DEBUG, GP_MECHANISM_KFD_DEBUG);
GP_SAME(GPREEMPT_KFD_MODULE, GP_MECHANISM_KFD_MODULE);
GP_SAME(GPREEMPT_NV_SUSPEND, GP_MECHANISM_NV_SUSPEND);
GP_SAME(GPREEMPT_PRIORITY_OFFLINE, GP_PRIORITY_OFFLINE);
GP_SAME(GPREEMPT_PRIORITY_DEFAULT, GP_PRIORITY_DEFAULT);
GP_SAME(GPREEMPT_PRIORITY_ONLINE, GP_PRIORITY_ONLINE);
GP_SAME(GPREEMPT_PRIORITY_MAX, GP_PRIORITY_MAX);
GP_SAME(GPREEMPT_LEASE_MS, GP_LEASE_MS);
GP_SAME(GPREEMPT_LEASE_MIN_MS, GP_LEASE_MIN_MS);
GP_SAME(GPREEMPT_LIMIT_MS, GP_LIMIT_MS);
GP_SAME(GPREEMPT_LIMIT_MAX_MS, GP_LIMIT_MAX_MS);
GP_SAME(GPREEMPT_QUEUES_MAX, GP_PROTO_IDS);
GP_SAME(GPREEMPT_QUEUE_KFD_ID, GP_QUEUE_HAS_KFD_ID);
GP_SAME(GPREEMPT_QUEUE_HSA_ID, GP_QUEUE_HAS_HSA_ID);
GP_SAME(GPREEMPT_QUEUE_RING, GP_QUEUE_HAS_RING);
GP_SAME(GPREEMPT_QUEUE_OBJECT, GP_QUEUE_HAS_OBJECT);
GP_SAME(GPREEMPT_QUEUE_POINTERS, GP_QUEUE_HAS_POINTERS);
GP_SAME(GPREEMPT_QUEUE_PRIORITY, GP_QUEUE_HAS_PRIORITY);
GP_SAME(GPREEMPT_QUEUE_ACTIVITY, GP_QUEUE_HAS_ACTIVITY);
GP_SAME(GPREEMPT_QUEUE_RUNNING, GP_QUEUE_IS_RUNNING);
GP_SAME(GPREEMPT_QUEUE_SUSPENDED, GP_QUEUE_IS_SUSPENDED);
GP_SAME(GPREEMPT_QUEUE_ERROR, GP_QUEUE_IS_FAILED);
GP_SAME(GPREEMPT_SUSPEND_COPIES, GP_SUSPEND_COPIES);
GP_SAME(GPREEMPT_SUSPEND_OFF, GP_SUSPEND_OFF);
GP_SAME(GPREEMPT_EVENT_DONE, GP_EVENT_DONE);
GP_SAME(GPREEMPT_EVENT_LEASE_LOST, GP_EVENT_LEASE_LOST);
GP_SAME(GPREEMPT_EVENT_GONE, GP_EVENT_GONE);
GP_SAME(GPREEMPT_EVENT_JOINED, GP_EVENT_JOINED);
GP_SAME(GPREEMPT_EVENT_QUEUES, GP_EVENT_QUEUES);
GP_SAME(GPREEMPT_EVENT_BREAKER, GP_EVENT_BREAKER);
GP_SAME(GPREEMPT_EVENT_HELD_ELSEWHERE, GP_EVENT_HELD_ELSEWHERE);
GP_SAME(GP_SHARE_FIRST(GPREEMPT_SHARE_AT(7, 9)), 7);
GP_SAME(GP_SHARE_SIZE(GPREEMPT_SHARE_AT(7, 9)), 9);
#undef GP_SAME

#endif
