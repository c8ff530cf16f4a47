/* SPDX-License-Identifier: MIT */
/*
 * The holder: the one process per user that holds suspensions. One thread (the loop) owns every
 * structure here and decides; it talks to agents itself, and a worker thread per process does what
 * blocks (ptrace, ioctls). Jobs travel between them: the loop posts one, the worker fills it in and
 * posts it back.
 *
 *   connection (a client) --> target (a job it opened, with the client's hold on it)
 *                                --> link --> member (one process by one mechanism) --> worker
 *
 * A member's queues are to be suspended when the hold of any target that links to it covers them.
 * Holds end when their client lets go or its connection ends, when their lease or limit does, or
 * with the process.
 *
 *   holder.c      the loop: descriptors, timers, signals
 *   connection.c  clients: receiving, sending, limits answer.c   answers, in order per target
 *   request.c     what each message means           request_open.c, request_act.c  the longer ones
 *   target.c      targets, links, holds             member.c   members, jobs that come back
 *   job.c         jobs, and where they are done     worker.c   the thread
 *   apply.c       makes a process as it should be   elsewhere.c  clients hear of others' holds
 *   breaker.c     devices that do not let go        agents.c   programs with an agent; groups
 *   direct.c, direct_apply.c  the mechanism kfd-agent   guardian.c watches the holder
 */
#ifndef GP_HOLDER_HOLDER_H
#define GP_HOLDER_HOLDER_H

#include <pthread.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/loop.h"
#include "gpu/control.h"
#include "holder/job.h"
#include "proto/wire.h"

enum {
	GP_HOLDER_CONNECTIONS = 256,
	GP_HOLDER_TARGETS = 256,           /* of one connection; root's may have all */
	GP_HOLDER_MEMBERS = 4096,          /* of all */
	GP_HOLDER_AGENTS_USER = 512,       /* agents of one user: others only when opened */
	GP_HOLDER_REQUESTS = 64,           /* unanswered of one connection: then it is not read */
	GP_HOLDER_REQUESTS_TARGET = 4,     /* and so many more for each target it has open */
	GP_HOLDER_OUT_BYTES = 1024 * 1024, /* not taken by one client: then it is cut off */
	GP_HOLDER_JOBS = 256,              /* of one member: then no suspend is accepted */
	GP_HOLDER_TURN = 16,               /* messages of one client before the next has its turn */
	GP_HOLDER_IDLE_MS = 5000,
	GP_HOLDER_TIMEOUT_MS = 10000, /* of a suspend whose caller does not say */
};

#define GP_NEVER UINT64_MAX

struct gp_holder;
struct gp_holder_direct;

/* ---- holds ---- */

struct gp_holder_hold {
	bool active;
	bool all;    /* every queue, also later ones; otherwise ids */
	bool copies; /* of `all`: GP_SUSPEND_COPIES */
	bool off;    /* GP_SUSPEND_OFF */
	u32 *ids;    /* sorted */
	u32 count;   /* of ids */
	u32 lease_ms, grace;
	u64 since_ns, lease_ends_ns, limit_ends_ns; /* GP_NEVER: its suspend is still under way */
};

/* ---- processes ---- */

struct gp_holder_member {
	struct gp_watch watch; /* its worker's end of jobs */
	struct gp_list link;   /* in holder->members */
	struct gp_holder *holder;
	u32 pid;
	int pidfd;
	u32 asked;                            /* mechanism its first opener wanted */
	const struct gp_gpu_control_ops *ops; /* NULL: being probed */
	struct gp_proto_reasons why;          /* of its mechanism */
	struct gp_list links;                 /* struct gp_holder_link by member */
	struct gp_holder_worker *worker;      /* NULL: not needed so far */
	struct gp_holder_direct *direct;      /* the loop talks to its agent; NULL: it does not */
	bool attached, pinned;                /* by its worker; to the mechanism a client named */
	bool uses_nvidia;                     /* its agent leaves it to us */
	enum gp_proto_code no_agent;          /* why its agent is not used any more; 0: it may be */
	u32 jobs, worker_jobs;                /* under way; those of them that its worker has */
	bool gone, stopping;
	bool twin;                 /* the process may have another member */
	bool again;                /* an APPLY could not be posted: it is, later */
	u32 own_priority;          /* what it was started with, when its mechanism knows */
	bool leasing, lease_again; /* a LEASE is under way; another is due after it */
	u64 leased_until_ns;       /* by the clock of its agent, as last answered */
	u32 gpus[GP_HOLDER_GPUS];
	u32 gpu_count;
};

struct gp_holder_link {
	struct gp_list by_target, by_member;
	struct gp_holder_target *target;
	struct gp_holder_member *member;
	s32 held_by; /* that its client knows of: GP_EVENT_HELD_ELSEWHERE */
};

static inline struct gp_holder_member *gp_holder_linked_member(const struct gp_list *by_target)
{
	return gp_container(by_target, struct gp_holder_link, by_target)->member;
}

static inline struct gp_holder_target *gp_holder_linked_target(const struct gp_list *by_member)
{
	return gp_container(by_member, struct gp_holder_link, by_member)->target;
}

/* ---- clients ---- */

struct gp_holder_target {
	struct gp_list link; /* in connection->targets */
	struct gp_holder_connection *connection;
	u32 id;
	bool opened; /* its client knows the id */
	u32 asked, gpu_id;
	char group[GP_PROTO_NAME]; /* "": one process */
	u32 pid;                   /* of one process */
	struct gp_list links;
	struct gp_list order; /* its requests that are answered in order */
	struct gp_holder_hold hold;
	u32 share; /* that its client gave it, GP_SHARE_SIZE and FIRST; 0: none */
	u32 lost;  /* members that ended */
};

struct gp_holder_request {
	struct gp_list link;                     /* in connection->requests, oldest first */
	struct gp_list order;                    /* in target->order; empty: it waits for none */
	struct gp_holder_connection *connection; /* NULL: gone since */
	struct gp_holder_target *target;         /* NULL: gone since */
	u16 type;
	u32 serial;
	u64 sent_ns, deadline_ns;
	u32 waiting; /* jobs, and 1 for the group's first look */
	bool answered, sent;
	/* what came in so far */
	int error;
	struct gp_proto_reasons why;
	u64 first_ns, last_ns, issued_ns, driver_ns;
	u32 queues, processes;
	s32 value;       /* SHARE: the time slice that the driver has; 0: none */
	u32 first;       /* QUEUES: index wanted */
	bool fresh_hold; /* SUSPEND: nothing was held before it */
	u32 *added;      /* SUSPEND: queues that were not held before it */
	u32 added_count;
	struct gp_proto_msg_queue *records;
	size_t record_count, record_capacity;
	/* the answer, until it is its turn */
	s32 status;
	void *body;
	size_t body_size;
};

struct gp_holder_out {
	struct gp_holder_out *next;
	size_t size;
	struct gp_proto_msg header;
	u8 body[];
};

struct gp_holder_connection {
	struct gp_watch watch;
	struct gp_list link;
	struct gp_holder *holder;
	bool greeted, closing, paused;
	bool armed_out; /* waits for room in the socket */
	pid_t pid;
	char name[GP_PROTO_NAME];
	struct gp_list targets, requests;
	u32 target_count, request_count, next_target;
	struct gp_holder_out *out, **out_end;
	size_t out_bytes;
};

/* ---- devices that do not let go ---- */

struct gp_holder_breaker {
	u32 gpu_id; /* 0: free */
	u32 failures;
	bool open;
	bool told;           /* that it may be tried again */
	u64 trying_until_ns; /* one suspend is under way to see whether it works again; 0: none */
	u64 retry_ns, pause_ns;
};

/* ---- programs with an agent ---- */

struct gp_holder_agent {
	struct gp_watch watch;
	struct gp_list link;
	struct gp_holder *holder;
	char name[GP_PROTO_NAME];        /* of the socket */
	struct gp_holder_member *member; /* that it acts for; NULL: none */
	u32 serial;                      /* of the last request to it */
	bool greeted, late;              /* late: it did not answer HELLO in time */
	bool refused;                    /* it is a different version */
	pid_t pid;
	uid_t uid;
	u32 priority;
	u32 told, told_serial; /* the priority that was sent to it, until it confirms it; 0: none */
	u64 deadline_ns;       /* to answer HELLO */
	s32 held_by;           /* another holder; -1: not visible here */
	char group[GP_PROTO_NAME];
};

/* A priority that no agent has; kept while the process lives. */
struct gp_holder_priority {
	struct gp_list link;
	u32 pid, value;
	int pidfd;
};

/* ---- the holder ---- */

struct gp_holder_options {
	const struct gp_gpu_control_ops *const *mechanisms; /* in AUTO's order, NULL-terminated */
	int listen_fd;                                      /* -1: none (tests) */
	const char *lock_name; /* in the directory, which is watched; NULL: none (tests) */
	int lock_fd;
	bool inline_jobs; /* run in the loop, for tests that must be repeatable */
	u32 idle_ms;      /* 0: never ends by itself */
	u64 *guard_ns;    /* where the guardian reads by when we must have acted; NULL */
};

struct gp_holder {
	struct gp_holder_options options;
	struct gp_loop loop;
	struct gp_timer timer; /* rings for everything that has a time */
	struct gp_watch listen, signals, inotify, directory;
	bool ending;
	bool homeless; /* the directory is gone: no client can connect */
	u64 idle_since_ns;
	struct gp_list connections, members, agents, priorities;
	u32 connection_count, member_count, group_targets;
	u64 look_again_ns;   /* at agents that took no connection; 0: there was none */
	u32 wanted;          /* the process whose agent was looked for last */
	bool wanted_busy;    /* its agent took no connection */
	u64 accept_again_ns; /* no connection is accepted until then; 0: they are */
	struct gp_holder_breaker breakers[GP_HOLDER_GPUS];
	struct gp_list finished; /* jobs that the loop did itself */
	struct gp_list parked;   /* PROBEs that wait for an agent to take a connection */
	pid_t guardian;
	struct gp_wire_message message; /* the one being read */
};

/* ---- holder.c ---- */
int gp_holder_open(struct gp_holder *holder, const struct gp_holder_options *options);
/* One round: waits at most timeout_ms (-1: until something happens) and handles what there is.
 * 0 go on, 1 it is time to end. */
int gp_holder_step(struct gp_holder *holder, int timeout_ms);
/* Lets everything go and waits for the workers. */
void gp_holder_close(struct gp_holder *holder);
/* The timer must ring by then. */
void gp_holder_wake_at(struct gp_holder *holder, u64 when_ns);

/* ---- connection.c ---- */
/* Takes a connected socket over. */
int gp_holder_connection_add(struct gp_holder *holder, int fd);
void gp_holder_connection_accept(struct gp_watch *listen, u32 events);
/* Accepts again when it is time after there was no descriptor left; when that will be. */
u64 gp_holder_connection_accept_again(struct gp_holder *holder, u64 now);
void gp_holder_connection_remove(struct gp_holder_connection *connection);
/* Removes those that were marked `closing`, at a time when none is in use. */
void gp_holder_connection_sweep(struct gp_holder *holder);
void gp_holder_connection_event(struct gp_holder_connection *connection, u32 kind, u32 target,
				s32 pid, s32 result);

/* To its client, now or when it has room. */
void gp_holder_connection_send(struct gp_holder_connection *connection, u16 type, u32 serial,
			       s32 status, const void *body, size_t size);
/* One request less: it may be read again. */
void gp_holder_connection_answered(struct gp_holder_connection *connection);

/* ---- answer.c ---- */
struct gp_holder_request *gp_holder_request_add(struct gp_holder_connection *connection,
						const struct gp_proto_msg *header,
						struct gp_holder_target *target);
/* The answer of a request; sent when everything asked of its target before it was. The request is
 * freed then, unless jobs still belong to it. */
void gp_holder_request_answer(struct gp_holder_request *request, s32 status, const void *body,
			      size_t size);
/* An error, with the reasons that came in so far; with a message. */
void gp_holder_request_fail(struct gp_holder_request *request, int error);
void gp_holder_request_refuse(struct gp_holder_request *request, int error, enum gp_proto_code code,
			      ...);
/* The target goes: requests about it wait for none of the others any more. */
void gp_holder_request_forget_target(struct gp_holder_target *target);
/* Its connection goes. */
void gp_holder_request_abandon(struct gp_holder_request *request);

/* ---- request.c ---- */
/* One message of a client. Nonzero: it broke the rules and is cut off. */
int gp_holder_request_handle(struct gp_holder_connection *connection,
			     struct gp_wire_message *message);
int gp_holder_request_open_target(struct gp_holder_connection *connection,
				  struct gp_wire_message *message);
void gp_holder_request_opened(struct gp_holder_request *request);
void gp_holder_say_empty_group(struct gp_proto_reasons *why);
int gp_holder_request_suspend(struct gp_holder_connection *connection,
			      const struct gp_wire_message *message);
void gp_holder_request_suspended(struct gp_holder_request *request);
int gp_holder_request_resume(struct gp_holder_connection *connection,
			     const struct gp_wire_message *message);
int gp_holder_request_queues(struct gp_holder_connection *connection,
			     const struct gp_wire_message *message);
void gp_holder_request_listed(struct gp_holder_request *request);
/* A request about a target; NULL, answered, when there is no such target. */
struct gp_holder_request *gp_holder_request_begin(struct gp_holder_connection *connection,
						  const struct gp_proto_msg *header, u32 target);
/* What a job brought; a job a request waited for is done; all of them are. */
void gp_holder_request_take(struct gp_holder_request *request, struct gp_holder_job *job);
void gp_holder_request_job_done(struct gp_holder_request *request, struct gp_holder_job *job);
void gp_holder_request_finish(struct gp_holder_request *request);
void gp_holder_request_expired(struct gp_holder_request *request);

/* ---- target.c ---- */
struct gp_holder_target *gp_holder_target_add(struct gp_holder_connection *connection);
struct gp_holder_target *gp_holder_target_find(struct gp_holder_connection *connection, u32 id);
void gp_holder_target_remove(struct gp_holder_target *target);
int gp_holder_target_link(struct gp_holder_target *target, struct gp_holder_member *member);
void gp_holder_link_remove(struct gp_holder_link *link);
/* The hold ends; queues without another hold run. */
void gp_holder_hold_drop(struct gp_holder_target *target);
void gp_holder_hold_clear(struct gp_holder_hold *hold);
/* The same without a request of the owner, which gets an event. */
void gp_holder_hold_lose(struct gp_holder_target *target);
void gp_holder_hold_renew(struct gp_holder_target *target);
bool gp_holder_hold_covers(const struct gp_holder_target *target,
			   const struct gp_gpu_control_queue *queue);
/* Nearest end of a lease, limit or waiting request; ends those that have come. */
u64 gp_holder_target_expire(struct gp_holder *holder, u64 now);
/* By when the holder must have acted; ends nothing. */
u64 gp_holder_target_due(const struct gp_holder *holder);
/* What the member should be now. */
int gp_holder_member_want(struct gp_holder_member *member, struct gp_holder_want *want);
/* What this target alone wants of it if that is only part of it; empty if it is all. *differs: the
 * others want something as well. */
int gp_holder_target_want(const struct gp_holder_target *target, struct gp_holder_member *member,
			  struct gp_holder_want *want, bool *differs);

/* ---- elsewhere.c ---- */
/* A hold of this target, or a member of it, is new or gone: the others hear of it. */
void gp_holder_elsewhere_changed(struct gp_holder_target *target);
/* The same for a process that another holder holds, or not any more. */
void gp_holder_elsewhere_member_changed(struct gp_holder_member *member);
/* Its client knows it now, and hears whether it is held. */
void gp_holder_elsewhere_opened(struct gp_holder_target *target);

/* ---- member.c ---- */
struct gp_holder_member *gp_holder_member_find(struct gp_holder *holder, u32 pid, u32 mechanism);
struct gp_holder_member *gp_holder_member_add(struct gp_holder *holder, u32 pid, int pidfd,
					      u32 asked);
/* Stops it when nothing links to it any more. */
void gp_holder_member_unused(struct gp_holder_member *member);
/* Its process ended, or became another program. */
void gp_holder_member_lost(struct gp_holder_member *member);
/* The process's queues changed (1), it is gone (-ESRCH), or it runs although it is held. */
void gp_holder_member_notice(struct gp_holder_member *member, int result);
/* Its mechanism's own clock starts anew. */
void gp_holder_member_lease(struct gp_holder_member *member);
/* A target that gives it a share has come or gone: the share of one that does, or all of the
 * device.
 */
void gp_holder_member_reshare(struct gp_holder_member *member);
/* Brings the member to what its holds say. */
int gp_holder_member_apply(struct gp_holder_member *member, struct gp_holder_request *request,
			   bool suspends, const u32 *check, u32 check_count);
/* Posts the APPLYs that could not be posted; GP_NEVER, or when to come back. */
u64 gp_holder_member_apply_again(struct gp_holder *holder, u64 now);
/* A job that came back. */
void gp_holder_member_ready(struct gp_watch *watch, u32 events);
void gp_holder_member_job_done(struct gp_holder_job *job);
u32 gp_holder_member_priority(struct gp_holder_member *member);
/* Whether the process has something that listens to its priority: its agent. */
bool gp_holder_member_hears_priority(const struct gp_holder_member *member);
int gp_holder_member_set_priority(struct gp_holder_member *member, u32 priority);
/* Its agent has the priority, and reports it to the next holder: this one need not stay for it. */
void gp_holder_priority_kept(struct gp_holder_agent *agent, u32 priority);
/* Drops priorities of processes that ended. */
void gp_holder_priority_reap(struct gp_holder *holder);

/* ---- breaker.c ---- */
/* 0, or -EIO and in *gpu_id the member's device that is switched off. */
int gp_holder_breaker_check(struct gp_holder *holder, const struct gp_holder_member *member,
			    u32 *gpu_id);
/* A suspend is under way that was let through: no other is, until its outcome. */
void gp_holder_breaker_try(const struct gp_holder_member *member);
/* Reports pauses that are over; when the next one will be. */
u64 gp_holder_breaker_expire(struct gp_holder *holder, u64 now);
/* The outcome of a suspend on the member's devices. */
void gp_holder_breaker_report(struct gp_holder *holder, const struct gp_holder_member *member,
			      int result);

/* ---- agents.c ---- */
/* Looks at the directory and follows it from now on. */
void gp_holder_agents_watch(struct gp_holder *holder);
void gp_holder_agent_remove(struct gp_holder_agent *agent);
/* True when every agent has answered HELLO. */
bool gp_holder_agents_settled(const struct gp_holder *holder);
/* Does not wait for those that do not answer HELLO; when the next one's time is over. */
u64 gp_holder_agents_expire(struct gp_holder *holder, u64 now);
/* Links the members of a group that are known; the request waits for their probes. */
void gp_holder_agents_join(struct gp_holder *holder, struct gp_holder_target *target,
			   struct gp_holder_request *request);

/* The agent of this process, looked for in the directory if it is not known; NULL: none. */
struct gp_holder_agent *gp_holder_agents_find(struct gp_holder *holder, u32 pid);
/* For processes that are controlled otherwise and have an agent all the same. */
void gp_holder_agents_tell_priority(struct gp_holder_member *member, u32 priority);

/* ---- direct.c: the mechanism kfd-agent, in the loop ---- */
/* Only its number: no worker runs it. */
extern const struct gp_gpu_control_ops gp_holder_agent_control;

#endif
