/* SPDX-License-Identifier: MIT */
/*
 * The agent: a library inside a program that uses a GPU. On request it suspends and resumes the
 * queues of that program (UPDATE_QUEUE with percentage 0 and back), narrows its compute units, and
 * shows whether it has work. `gpreempt run` loads it; the program is not aware of it.
 *
 * It listens on a socket (proto/directory.h, agents/ID.sock) and does not depend on any other
 * process. A connection is an owner: its queues run again when it says so, when its lease is not
 * renewed, or when the connection ends. Queue records, owners and every driver call are under one
 * lock; the list of connections, which the program's threads use to report an edge to watchers, has
 * another. Nothing here ends, blocks for long or prints in its host.
 */
#ifndef GP_AGENT_AGENT_H
#define GP_AGENT_AGENT_H

#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

#include "abi/kfd_ioctl.h"
#include "base/core.h"
#include "proto/activity.h"
#include "proto/ahead.h"
#include "proto/wire.h"

enum {
	GP_AGENT_QUEUES = GP_KFD_MAX_QUEUES, /* a record's index is the queue's KFD id */
	GP_AGENT_CONNECTIONS = 16,
	GP_AGENT_OWN_FDS = GP_AGENT_CONNECTIONS + 8,
	GP_AGENT_FD_MIN = 512,    /* ours are kept above what programs count on */
	GP_AGENT_MASK_WORDS = 32, /* 1024 CUs in a mask */
	GP_AGENT_GPUS = 64,
	GP_AGENT_NV_OBJECTS = 1024,
	GP_AGENT_DOORS = 2 * GP_AGENT_QUEUES,
	GP_AGENT_LAST = 8,
	GP_AGENT_PERCENT = 0xff, /* of a queue's percentage; the rest selects an XCC */

	GP_AGENT_TIMEOUT_MS = 10000,
	GP_AGENT_LOOK_MIN_NS = 50000,
	GP_AGENT_LOOK_MAX_NS = 4000000,
	GP_AGENT_RETRY_NS = 100000000, /* after a driver call that failed */
	GP_AGENT_STREAM_STEP = 100,    /* what a stream's -1/0/1 adds or takes */
};

/* What the agent asks of the system; tests bring their own. */
struct gp_agent_driver {
	/* As ioctl(2): -1 and errno. */
	int (*call)(void *data, int fd, unsigned long request, void *argument);
	u64 (*now)(void *data); /* CLOCK_MONOTONIC, ns */
	/* A symbol of the program, or NULL; may itself be NULL. */
	void *(*symbol)(void *data, const char *name);
	/* What was learned for --ahead auto; may itself be NULL. */
	void (*ahead)(void *data, struct gp_proto_msg_ahead *out);
	void *data;
};

struct gp_agent_queue {
	bool used;
	bool leaving; /* DESTROY_QUEUE is under way: not ours to change */
	u32 serial;   /* differs from that of a later queue with the same id */
	u32 id, gpu_id, type;
	u64 ring, read_pointer, write_pointer;
	u32 ring_bytes;
	u32 percentage, priority;     /* what the program asked for last */
	u32 driver_percentage;        /* what the driver has */
	int error;                    /* of the last change that failed; 0: none */
	int stream;                   /* -1 low, 0, 1 high: of the stream behind it */
	u32 asked_logical;            /* logical priority that the driver was last asked for, and */
	u32 driver_logical;           /* the one that it has; only where it knows them */
	u64 since_ns;                 /* suspended since; 0: running */
	u64 ran_since;                /* resumed at; 0: was never suspended */
	bool doubt;                   /* unknown, because its last signal takes too long */
	bool parked;                  /* left as it is, because it has no work: settle.c */
	u64 rest_written, rest_since; /* its write index, and since when it has not moved */
	u32 mask_bits;                /* of the program's own CU mask; 0: it has none */
	u32 mask[GP_AGENT_MASK_WORDS];
	bool narrowed; /* the driver has less than that mask */
};

/* A connection in its role of holding suspensions. */
struct gp_agent_owner {
	bool all;                                     /* every queue, also those created later */
	u64 named[GP_AGENT_QUEUES / 64];              /* or these */
	u64 since_ns, lease_ns, lease_end, limit_end; /* lease_end 0: holds nothing */
	bool off; /* GP_SUSPEND_OFF: queues without work are stopped as well */
	/* Until then queues that its last suspension took off stay off without work: UINT64_MAX
	 * while it lasts; 0: it took none off, or they are back. */
	u64 room_until;
	pid_t pid;
};

struct gp_agent_connection {
	int fd; /* -1: free */
	bool greeted, watching;
	u32 held;   /* as it was last informed: GP_MSG_AGENT_HELD */
	u32 serial; /* of the connection, to see that it is still the same */
};

/* From the environment that `gpreempt run` made. */
struct gp_agent_identity {
	u32 priority, job_class, weight;
	u64 deadline_us;
	char group[GP_PROTO_NAME], name[GP_PROTO_NAME];
};

/* What a change cost; for struct gp_proto_msg_done. */
struct gp_agent_cost {
	u64 first_call_ns; /* CLOCK_MONOTONIC; 0: the driver was not called */
	u64 driver_ns;
	u32 changed;
};

/* What the doorbell of a queue needs to know, without a lock. */
struct gp_agent_ringer {
	u64 ring;         /* first packet */
	u64 mask;         /* packets - 1; 0: no AQL queue */
	u64 last;         /* index of the last packet rung << 1 | its barrier bit */
	u64 drained_at;   /* write index when it was last seen drained, and */
	u64 drained_rung; /* doorbells by then: an index is taken before its packet is rung */
	u64 signal;       /* of the last packet rung; 0: none, or the program used it again */
	u32 quiet;        /* 1: the next doorbell must make the queue busy */
	u32 parked;       /* 1: the next doorbell must stop or start the queue first */
	u32 gpu_id;
};

/* Queue object to id: open addressing. Keys are set and cleared under the lock, read without. */
struct gp_agent_door {
	u64 object; /* 0: never used; 1: no longer used */
	u32 id;
};

struct gp_agent_gpu {
	u32 gpu_id, cus;
	u32 step; /* CUs that a mask has or has not together */
};

/* An object that libcuda made in NVIDIA's resource manager. */
struct gp_agent_nv_object {
	u32 client, parent, handle;
	u32 kind;     /* enum in nvidia.c; 0: free */
	u32 device;   /* groups and devices: the manager's number of the GPU */
	bool compute; /* groups: it runs kernels */
};

struct gp_agent_nv {
	struct gp_agent_nv_object object[GP_AGENT_NV_OBJECTS];
	u32 highest; /* one more than the last in use */
	u32 groups;  /* that run kernels */
};

struct gp_agent {
	struct gp_agent_driver driver;

	/* ---- under `lock` ---- */
	pthread_mutex_t lock;
	int kfd; /* a duplicate, or the program's descriptor if none could be made */
	bool kfd_is_ours;
	u32 kfd_minor;      /* 0: not known yet */
	bool runtime_asked; /* RUNTIME_ENABLE was called */
	bool sched_asked;   /* whether the driver knows logical priorities, and */
	u32 sched_features; /* what it answered: GP_KFD_QUEUE_SCHED_* */
	u32 queue_count, serial;
	u32 highest; /* one more than the highest id in use */
	struct gp_agent_queue queue[GP_AGENT_QUEUES];
	struct gp_agent_owner owner[GP_AGENT_CONNECTIONS];
	u64 retry_at; /* when a change that failed is tried again; 0: none failed */
	u32 retries;
	u32 share_first, share; /* thousandths */
	u32 share_by;           /* 1 + the index of the owner that set it; 0: none */
	u32 ruled, ruled_most;  /* priority for the driver; the most that a stream makes of it */
	u32 ruled_by;           /* as share_by; 0: the driver gets the program's own */
	u32 gpu_count;
	struct gp_agent_gpu gpu[GP_AGENT_GPUS];
	struct gp_agent_nv nv;
	struct gp_agent_identity identity;

	/* ---- the service ---- */
	pid_t pid; /* the process that started it; another one has nothing of it */
	int starting;
	int listen, timer;
	u64 listen_again;               /* when to accept again after the table was full; 0: now */
	u64 place_at;                   /* when to check where the socket is; 0: not yet known */
	char path[128];                 /* of the socket; "" none */
	struct gp_wire_message message; /* the service thread's alone */

	/* ---- under `watch_lock` ---- */
	pthread_mutex_t watch_lock;
	struct gp_agent_connection connection[GP_AGENT_CONNECTIONS];
	u32 connection_serial;

	/* Ours among the program's descriptors: it may not close them. */
	int own_fd[GP_AGENT_OWN_FDS];

	/* ---- what watchers see; activity.c says which thread writes what ---- */
	struct gp_proto_activity *activity; /* NULL before the first queue */
	int activity_fd;                    /* -1: the memory is ours alone */
	u32 watchers;                       /* connections that watch */
	u32 busy;                           /* queues in GP_ACTIVITY_BUSY */
	u64 look_at;                        /* when the timer ends; 0: it is not set */
	u64 took_ns[GP_AGENT_LAST];         /* the last times from an edge to the next, in a ring */
	u32 taken;                          /* how many there were in all */
	u64 usual_ns;                       /* the median of them; 0: unknown */
	u64 most_ns;                        /* three quarters of them were not longer */
	u64 edge_ns;                        /* when a GPU last got its first one */
	bool hooked;                        /* doorbells are seen */
	struct gp_agent_ringer ringer[GP_AGENT_QUEUES];
	struct gp_agent_door door[GP_AGENT_DOORS];
};

static inline int gp_agent_call(const struct gp_agent *agent, int fd, unsigned long request,
				void *args)
{
	return agent->driver.call(agent->driver.data, fd, request, args);
}

static inline u64 gp_agent_now(const struct gp_agent *agent)
{
	return agent->driver.now(agent->driver.data);
}

/* ---- queues.c: the program's calls, and records of its queues ---- */

void gp_agent_init(struct gp_agent *agent, const struct gp_agent_driver *driver);

/* The program's ioctls, each as ioctl(2): -1 and errno. `args` is the program's own structure. */
int gp_agent_create_queue(struct gp_agent *agent, int fd, unsigned long request, void *args);
int gp_agent_destroy_queue(struct gp_agent *agent, int fd, unsigned long request, void *args);
int gp_agent_update_queue(struct gp_agent *agent, int fd, unsigned long request, void *args);
int gp_agent_set_cu_mask(struct gp_agent *agent, int fd, unsigned long request, void *args);
/* The priority that a stream gave the queue with this object: -1 low, 0, 1 high. */
void gp_agent_set_stream(struct gp_agent *agent, u64 object, int stream);
int gp_agent_get_version(struct gp_agent *agent, int fd, unsigned long request, void *args);
int gp_agent_runtime_enable(struct gp_agent *agent, int fd, unsigned long request, void *args);
u32 gp_agent_logical_priority(const struct gp_agent *agent, const struct gp_agent_queue *queue);

/* ---- logical.c: the logical priority inside a patched driver; with the lock held ---- */

/* After a queue was created, or its priority or stream changed. Never fails the program's call. */
void gp_agent_inform_driver(struct gp_agent *agent, struct gp_agent_queue *queue);
void gp_agent_inform_driver_of_all(struct gp_agent *agent);
/* A rule of gpreemptd decides instead of the program, until it is dropped. UINT32_MAX drops it. */
int gp_agent_set_ruled(struct gp_agent *agent, const struct gp_agent_owner *owner, u32 priority,
		       u32 most);
void gp_agent_drop_ruled(struct gp_agent *agent, const struct gp_agent_owner *owner);

/* ---- settle.c: makes the driver agree with the records ---- */

/* With the lock held: calls the driver for every queue that is not as it should be, and for no
 * other. `deadline` 0: none. The first error, after all were tried. */
int gp_agent_settle(struct gp_agent *agent, u64 deadline, struct gp_agent_cost *cost);
/* With the lock held: what was just seen of the queue. True: caught up, and as at the last time. */
bool gp_agent_note_rest(struct gp_agent *agent, struct gp_agent_queue *queue, u64 read_at,
			u64 written);
/* Any thread: a parked queue is about to get work, and is stopped or started before. */
void gp_agent_unpark(struct gp_agent *agent, u32 id);
/* With the lock held: stops or starts parked queues whose doorbell did not reach us. True: some are
 * parked. */
bool gp_agent_check_parked(struct gp_agent *agent);

/* ---- args.c: the program's arguments ---- */

/* False: the driver would say EFAULT. The first leaves errno alone. */
bool gp_agent_take_args(const void *args, void *out, size_t size);
bool gp_agent_give_args(void *args, const void *in, size_t size);

/* ---- holds.c: owners and leases; all with the lock held ---- */

/* A bad request: -EINVAL, -ENOENT (a named queue does not exist). Fills *done. Number of queues
 * that are stopped for this owner. */
int gp_agent_suspend(struct gp_agent *agent, struct gp_agent_owner *owner,
		     const struct gp_proto_msg_suspend *ask, struct gp_proto_msg_done *done);
/* Number of queues that run again. */
int gp_agent_resume(struct gp_agent *agent, struct gp_agent_owner *owner,
		    const struct gp_proto_msg_suspend *ask, struct gp_proto_msg_done *done);
/* -ENOLCK: it holds nothing. */
int gp_agent_renew(struct gp_agent *agent, struct gp_agent_owner *owner,
		   const struct gp_proto_msg_suspend *ask);
/* The owner is gone. */
void gp_agent_let_go(struct gp_agent *agent, struct gp_agent_owner *owner);
/* The process of another connection than this one that holds everything: GP_MSG_AGENT_HELD. */
u32 gp_agent_held_by_another(const struct gp_agent *agent, u32 index);
/* Ends leases that ran out, and tries again what failed. When to call again, CLOCK_MONOTONIC; 0:
 * not needed. */
u64 gp_agent_tick(struct gp_agent *agent);
bool gp_agent_held(const struct gp_agent *agent, const struct gp_agent_queue *queue);
bool gp_agent_owner_holds(const struct gp_agent_owner *owner, const struct gp_agent_queue *queue);
/* A queue is gone: no owner holds its id any more. */
void gp_agent_forget_id(struct gp_agent *agent, u32 id);

/* ---- nvidia.c: CUDA programs ---- */

/* After the driver made or freed an object; `device` counts for devices only. */
void gp_agent_nv_made(struct gp_agent *agent, const struct gp_agent_nv_object *made, u32 class_id);
void gp_agent_nv_freed(struct gp_agent *agent, u32 client, u32 handle);
/* With the lock held: the groups that run kernels, at most `room`; how many. */
u32 gp_agent_nv_describe(const struct gp_agent *agent, struct gp_proto_msg_queue *out, u32 room);

/* ---- identity.c ---- */

void gp_agent_identify(struct gp_agent_identity *identity);

/* ---- service.c: the thread and its sockets ---- */

/* Starts the service unless it runs; harmless when it cannot be started. */
void gp_agent_serve(struct gp_agent *agent);
/* A forked child: closes what it inherited and starts from nothing. */
void gp_agent_forked(struct gp_agent *agent);
void gp_agent_remove_socket(struct gp_agent *agent);
/* Sends an event to every connection, or only to those that watch. Any thread. */
void gp_agent_tell(struct gp_agent *agent, u16 type, const void *body, size_t size,
		   bool watchers_only);
/* The same with watch_lock held. */
void gp_agent_tell_locked(struct gp_agent *agent, u16 type, const void *body, size_t size,
			  bool watchers_only);

/* ---- answer.c: one message ---- */

/* 0, or -errno: the connection is to be closed. */
int gp_agent_answer(struct gp_agent *agent, u32 index, struct gp_wire_message *message);

/* ---- activity.c: what watchers see ---- */

/* With the lock held: makes the memory unless it is there. */
void gp_agent_make_activity(struct gp_agent *agent);
/* With the lock held. A new queue's slot, a changed one's, one that is gone; every one. */
void gp_agent_appear(struct gp_agent *agent, const struct gp_agent_queue *queue);
void gp_agent_show(struct gp_agent *agent, const struct gp_agent_queue *queue);
void gp_agent_show_all(struct gp_agent *agent);
void gp_agent_hide(struct gp_agent *agent, const struct gp_agent_queue *queue);
/* Gives the memory back in a forked child. */
void gp_agent_hide_all(struct gp_agent *agent);
/* Any thread, before the doorbell of the queue object at this address is rung with this value. */
void gp_agent_doorbell(struct gp_agent *agent, u64 object, u64 value);
/* Any thread: the program sets or destroys this signal, so what it completed is over. */
void gp_agent_signal_reused(struct gp_agent *agent, u64 signal);
/* With the lock held: the id of the queue with this object, or -1. */
int gp_agent_queue_of(const struct gp_agent *agent, u64 object);
/* The program's hint. Any thread. */
void gp_agent_request(struct gp_agent *agent, bool begin, u64 deadline_us);
/* The same before there is an agent, or a memory for what it does. */
void gp_agent_early_request(const struct gp_agent *agent, bool begin);
/* The queue becomes busy; takes watch_lock. */
void gp_agent_rise(struct gp_agent *agent, u32 id);
/* The queue becomes drained or unknown, unless its doorbell was rung since it had `rung`
 * doorbells; takes watch_lock. `doubted`: it is or was in doubt. */
void gp_agent_fall(struct gp_agent *agent, u32 id, u32 state, u64 rung, bool doubted);
/* With watch_lock held: wakes the service thread after `ns`. */
void gp_agent_arm(struct gp_agent *agent, u64 ns);

/* ---- look.c: looking at the rings ---- */

/* With the lock held: looks at the rings. True: it must be done again soon. */
bool gp_agent_look(struct gp_agent *agent);
/* How long until the next look, when work came `elapsed` ago and usually takes `usual` (0:
 * unknown). */
u64 gp_agent_look_interval(u64 elapsed, u64 usual);
/* With the lock held: looks at one; false when it cannot be known. */
bool gp_agent_busy(struct gp_agent *agent, struct gp_agent_queue *queue, u32 *busy);
/* With the lock held, when the timer has ended: looks, and again later if that is needed. */
void gp_agent_look_now(struct gp_agent *agent);
/* Looks again in a while if a client watches and there is a reason to; takes watch_lock. */
void gp_agent_look_later(struct gp_agent *agent);
/* Reads this process's own memory where a bad address is an error and not the end. */
bool gp_agent_peek(const struct gp_agent *agent, u64 address, void *out, size_t size);
/* A queue's two indices, in one call. */
bool gp_agent_peek_indices(const struct gp_agent *agent, const struct gp_agent_queue *queue,
			   u64 *read_index, u64 *write_index);

/* ---- share.c: compute units ---- */

/* All with the lock held. This many thousandths of every GPU's CUs from `first` thousandths on, as
 * long as the owner's connection lasts. -EINVAL, or what the driver said. */
int gp_agent_set_share(struct gp_agent *agent, const struct gp_agent_owner *owner, u32 first,
		       u32 thousandths);
/* The owner is gone, and with it the share it set. What the driver said. */
int gp_agent_drop_share(struct gp_agent *agent, const struct gp_agent_owner *owner);
/* Once more for queues that could not be widened; nothing while there is a share. */
int gp_agent_lift_share(struct gp_agent *agent);
/* With the lock held: a new queue gets the share that holds. */
void gp_agent_share_queue(struct gp_agent *agent, struct gp_agent_queue *queue);

/* ---- own.c: our descriptors among the program's ---- */

/* Moves a descriptor out of the way and remembers it as ours. Takes a negative one as an error and
 * returns it. */
int gp_agent_own(struct gp_agent *agent, int fd);
bool gp_agent_owns(const struct gp_agent *agent, int fd);
void gp_agent_disown(struct gp_agent *agent, int fd);

#endif
