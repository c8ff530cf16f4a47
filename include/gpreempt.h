/* SPDX-License-Identifier: MIT */
/*
 * libgpreempt: suspend and resume the GPU work of other processes without losing any of it.
 *
 * A context is a connection to the holder, the one process per user that holds suspensions (it is
 * started on demand). A target is a job: one process, or every process of a named group. Suspending
 * takes the target's queues off the GPU in the middle of their kernels; resuming lets them continue
 * exactly where they stopped. Rings, doorbells and order are untouched.
 *
 * A suspension is a lease: its owner renews it (gpreempt_target_renew()), and the target runs again
 * within 100 ms of the lease's end when the owner or the holder dies or hangs, and in any case
 * after the limit. Suspensions nest by owner: a target runs when every owner has resumed it.
 *
 * Functions return 0 (or a count) or -errno; gpreempt_error() has the sentence for people. Every
 * function may be called from any thread; calls on one context wait for each other.
 */
#ifndef GPREEMPT_H
#define GPREEMPT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gpreempt;        /* a context */
struct gpreempt_target; /* a job seen through it */

/* How a target is stopped. AUTO takes the first that works there. */
enum gpreempt_mechanism {
	GPREEMPT_AUTO = 0,
	GPREEMPT_KFD_AGENT = 1,
	GPREEMPT_KFD_DEBUG = 2,
	GPREEMPT_KFD_MODULE = 3,
	GPREEMPT_NV_SUSPEND = 4,
};

/* Logical priorities: 0..65535, higher wins. */
enum {
	GPREEMPT_PRIORITY_OFFLINE = 500,
	GPREEMPT_PRIORITY_DEFAULT = 1000,
	GPREEMPT_PRIORITY_ONLINE = 2000,
	GPREEMPT_PRIORITY_MAX = 65535,
};

enum {
	GPREEMPT_LEASE_MS = 100,    /* default lease */
	GPREEMPT_LEASE_MIN_MS = 50, /* shorter ones are refused with -EINVAL */
	GPREEMPT_LIMIT_MS = 2000,   /* default limit of one suspension, renewals included */
	GPREEMPT_LIMIT_MAX_MS = 3600000,
	GPREEMPT_QUEUES_MAX = 1024, /* queues named in one call */
};

/* ---- contexts ---- */

/* Connects to the holder, starting it when there is none. */
int gpreempt_open(struct gpreempt **out);
/* Resumes everything this context holds. NULL is allowed. */
void gpreempt_close(struct gpreempt *context);
/* The sentence of the last error on this context in this thread; "" when there was none. The text
 * is valid until the thread's next call. A NULL context: why gpreempt_open() failed. */
const char *gpreempt_error(const struct gpreempt *context);
/* "kfd-debug", ...; "auto" for AUTO and NULL for a number that is not a mechanism. */
const char *gpreempt_mechanism_name(enum gpreempt_mechanism mechanism);
/* "MAJOR.MINOR.PATCH" of the library. */
const char *gpreempt_version(void);

/* ---- targets ---- */

struct gpreempt_target_options {
	size_t size; /* sizeof(struct gpreempt_target_options): lets the struct grow */
	enum gpreempt_mechanism mechanism;
	uint32_t gpu_id; /* act on queues of this GPU only; 0: all */
};

/* Options may be NULL. -ESRCH no such process, -EPERM not yours, -ENODEV it does not use a GPU that
 * can be controlled, -EBUSY it is under another debugger, -EOPNOTSUPP no mechanism works (the
 * sentence says what each lacks). */
int gpreempt_target_open(struct gpreempt *context, int pid,
			 const struct gpreempt_target_options *options,
			 struct gpreempt_target **out);
/* The same without waiting: returns a ticket (> 0), and the target at once. Its end is an event
 * with that ticket; asynchronous calls on the target are made when it is open, and fail if it
 * cannot be. The caller closes it in either case. */
int gpreempt_target_open_async(struct gpreempt *context, int pid,
			       const struct gpreempt_target_options *options,
			       struct gpreempt_target **out);
/* Every process that was started with `gpreempt run --group NAME`, now and later. */
int gpreempt_group_open(struct gpreempt *context, const char *name,
			const struct gpreempt_target_options *options,
			struct gpreempt_target **out);
/* Ends this context's suspensions of the target. NULL is allowed. */
void gpreempt_target_close(struct gpreempt_target *target);

struct gpreempt_target_info {
	size_t size;
	enum gpreempt_mechanism mechanism; /* the one in use (of the first process of a group) */
	uint32_t process_count;
	uint32_t priority;    /* logical */
	uint32_t suspended;   /* 1: suspended by any context */
	uint32_t mine;        /* 1: suspended by this context */
	uint32_t owner_count; /* contexts that hold it */
	int32_t owner_pid;    /* the first of them; 0: none */
	uint64_t since_ns;    /* CLOCK_MONOTONIC of the suspension; 0: running */
	char why[256];        /* why this mechanism was chosen */
	uint32_t copies;      /* 1: a context used GPREEMPT_SUSPEND_COPIES */
};
int gpreempt_target_info(struct gpreempt_target *target, struct gpreempt_target_info *info);

/* ---- queues ---- */

enum gpreempt_queue_field {
	GPREEMPT_QUEUE_KFD_ID = 1 << 0,
	GPREEMPT_QUEUE_HSA_ID = 1 << 1,
	GPREEMPT_QUEUE_RING = 1 << 2,
	GPREEMPT_QUEUE_OBJECT = 1 << 3,
	GPREEMPT_QUEUE_POINTERS = 1 << 4,
	GPREEMPT_QUEUE_PRIORITY = 1 << 5, /* hardware priority */
	GPREEMPT_QUEUE_ACTIVITY = 1 << 6, /* busy is known */
};

enum gpreempt_queue_state {
	GPREEMPT_QUEUE_RUNNING = 0, /* may run; whether it has work is `busy` */
	GPREEMPT_QUEUE_SUSPENDED = 1,
	GPREEMPT_QUEUE_ERROR = 2, /* the driver failed to stop or start it */
};

struct gpreempt_queue {
	int32_t pid;
	uint32_t gpu_id;
	uint32_t valid; /* enum gpreempt_queue_field: the other fields are unknown */
	uint32_t kfd_id;
	uint64_t hsa_id;
	uint32_t type;  /* 0 compute, 1 SDMA, 2 compute AQL, 3 SDMA over xGMI */
	uint32_t state; /* enum gpreempt_queue_state */
	uint64_t ring;
	uint64_t ring_bytes;
	uint64_t object;
	uint64_t read_index, write_index; /* packets */
	uint32_t hardware_priority;       /* 0..15 */
	uint32_t logical_priority;
	uint32_t busy;     /* 1: has work that is not known to be done */
	int32_t owner_pid; /* of the context that suspended it; 0: none */
	uint64_t since_ns; /* CLOCK_MONOTONIC; 0: running */
};

/* Fills at most `room` entries of `queues` and returns how many there are. */
int gpreempt_target_queues(struct gpreempt_target *target, struct gpreempt_queue *queues,
			   size_t room);

/* ---- suspend and resume ---- */

struct gpreempt_suspend_options {
	size_t size;
	uint32_t lease_ms;   /* 0: GPREEMPT_LEASE_MS */
	uint32_t limit_ms;   /* 0: GPREEMPT_LIMIT_MS */
	uint32_t timeout_ms; /* how long the call may take; 0: 10 s. After -ETIME the queues run
			      * again */
	uint32_t grace;      /* 1..255 units of 1024 GPU clocks for waves to end; 0: the driver's */
	uint32_t flags;      /* enum gpreempt_suspend_flag */
};

enum gpreempt_suspend_flag {
	/* NVIDIA: suspend copies between host and GPU as well as kernels. Only for the target as a
	 * whole: -EINVAL with named queues or one GPU of several. AMD copy queues always stop with
	 * the others. */
	GPREEMPT_SUSPEND_COPIES = 1 << 0,
	/* AMD, programs with an agent: queues without work leave the GPU as well, so that the
	 * program needs none of its VMIDs. Each is a driver call. They return with their next work,
	 * or when the context is closed. Other mechanisms always do so, and ignore it. */
	GPREEMPT_SUSPEND_OFF = 1 << 1,
};

/* Suspends every queue of the target, all processes of a group together; returns how many queues
 * are suspended. Repeating it renews the lease. Options may be NULL. */
int gpreempt_target_suspend(struct gpreempt_target *target,
			    const struct gpreempt_suspend_options *options);
/* Ends the suspension; the target runs unless another context holds it. Harmless when nothing is
 * held. Returns how many queues run again because of it. */
int gpreempt_target_resume(struct gpreempt_target *target);
/* Only the named queues (KFD ids) of one process. -ENOENT: one of them does not exist; nothing was
 * done. */
int gpreempt_target_suspend_queues(struct gpreempt_target *target, const uint32_t *kfd_ids,
				   size_t count, const struct gpreempt_suspend_options *options);
int gpreempt_target_resume_queues(struct gpreempt_target *target, const uint32_t *kfd_ids,
				  size_t count);
/* Starts the lease anew. -ENOLCK: it had ended, and the target runs. */
int gpreempt_target_renew(struct gpreempt_target *target);

/* What the last finished suspend or resume on this target took. */
struct gpreempt_latency {
	size_t size;
	uint64_t total_ns;  /* call to answer */
	uint64_t issue_ns;  /* call to the driver call issued */
	uint64_t driver_ns; /* in the driver */
	uint64_t skew_ns;   /* first to last process of a group stopped; 0 for one process */
	uint32_t queues;
	uint32_t processes;
};
int gpreempt_target_latency(struct gpreempt_target *target, struct gpreempt_latency *latency);

/* The target's logical priority, for every context and the daemon. */
int gpreempt_target_set_priority(struct gpreempt_target *target, uint32_t priority);
/* Share of the GPU's compute units in thousandths, 1..1000; 1000 lifts it. -EOPNOTSUPP where the
 * mechanism cannot. It lasts as long as the target is open, without being renewed; of two contexts
 * that give one to the same process the last counts. Shares overlap unless they are
 * placed: GPREEMPT_SHARE_AT(first, thousandths) is the part that begins at `first` (first +
 * thousandths <= 1000), where the mechanism has parts. Returns the time slice in microseconds that
 * the driver reports after it was set, where a share is a time slice; otherwise, and while the
 * target has no queue to set it on, 0. */
#define GPREEMPT_SHARE_AT(first, thousandths) ((uint32_t)(first) << 16 | (uint32_t)(thousandths))
int gpreempt_target_share(struct gpreempt_target *target, uint32_t thousandths);

/* ---- asynchronous ---- */

/* As above, but return a ticket (> 0) at once; the end is an event with that ticket. */
int gpreempt_target_suspend_async(struct gpreempt_target *target,
				  const struct gpreempt_suspend_options *options);
int gpreempt_target_resume_async(struct gpreempt_target *target);
int gpreempt_target_share_async(struct gpreempt_target *target, uint32_t thousandths);

enum gpreempt_event_kind {
	GPREEMPT_EVENT_DONE = 1, /* an asynchronous call ended; result is what it would return */
	GPREEMPT_EVENT_LEASE_LOST = 2, /* the target runs although you did not resume it */
	GPREEMPT_EVENT_GONE = 3,       /* a process of the target ended */
	GPREEMPT_EVENT_JOINED = 4,     /* a process joined the group */
	GPREEMPT_EVENT_QUEUES = 5,     /* queues came or went */
	GPREEMPT_EVENT_BREAKER =
		6, /* result 1: preemption on its device is switched off; 0: try again */
	/* Another context suspended all queues of a process of the target: result is the pid of
	 * that context's process (-1: not visible here). 0: none does any more. Sent after opening
	 * a target that is suspended already. pid 0: every process of the target. */
	GPREEMPT_EVENT_HELD_ELSEWHERE = 7,
};

struct gpreempt_event {
	enum gpreempt_event_kind kind;
	int32_t ticket;
	int32_t result;
	int32_t pid;
	struct gpreempt_target *target;
};

/* Readable (POLLIN) when gpreempt_next_event() has something. Owned by the context. */
int gpreempt_fd(struct gpreempt *context);
/* 1: *event was filled. 0: nothing there. Never blocks. */
int gpreempt_next_event(struct gpreempt *context, struct gpreempt_event *event);

/* ---- hints ---- */

/* Informs the agent in this process that a request began (and should be done by `deadline_us` from
 * now; 0: none) or ended. No-ops, returning 0, without agent or daemon. Need no context. */
int gpreempt_request_begin(uint64_t deadline_us);
int gpreempt_request_end(void);

#ifdef __cplusplus
}
#endif

#endif
