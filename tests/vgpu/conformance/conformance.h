/* SPDX-License-Identifier: MIT */
/*
 * The conformance test of the virtual GPU: one row for each rule of the driver, run on a live
 * machine (`gpreempt vgpu -- conformance`) with raw ioctls. A row is a function that runs in a
 * process of its own; it fails by saying why and leaving. It may start actors, processes that do
 * what it tells them, and is often the debugger itself.
 *
 * Nothing here waits for time to pass. A call "blocks" when the machine's status says that it is
 * parked, a process is gone when the status does not list it, and an update of the runlist is over
 * when none is pending; all of these are waited for with one deadline.
 */
#ifndef GP_TEST_CONFORMANCE_H
#define GP_TEST_CONFORMANCE_H

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "abi/kfd_debug.h"
#include "abi/kfd_driver.h"
#include "base/types.h"

struct self;

/* ---- rows ---- */

enum where {
	EVERYWHERE = 0,
	NATIVE = 1 << 0, /* only there: what compat does not check */
	COMPAT = 1 << 1,
	ROCM = 1 << 10,     /* a GPU that Debian's ROCm knows */
	DEBUGGER = 1 << 11, /* a driver with RUNTIME_ENABLE and DBG_TRAP: since 6.5 */
	ERA_6_1 = 1 << 12,  /* one without */
	ERA_6_12 = 1 << 2,  /* or later */
	ERA_6_16 = 1 << 13,
	ERA_7_0 = 1 << 14,
	BEFORE_7_0 = 1 << 15,
	ERA_6_5 = 1 << 3,
	/* Machines for rows of their own. */
	REFUSED = 1 << 4, /* without --checkpoint */
	NO_HWS = 1 << 5,  /* sched_policy 2 */
	RESETS = 1 << 6,  /* a GPU that hangs is reset */
	OLD_FW = 1 << 8,  /* one whose firmware cannot debug with GWS */
	SPECIAL = REFUSED | NO_HWS | RESETS | OLD_FW,
};

struct row {
	/* Number of the rule: "kfd S/N" was read in the driver's code, "6.12 N" and "6.12 TN" were
	 * seen on the running driver of Linux 6.12. */
	const char *id;
	const char *rule;
	void (*run)(struct self *me); /* NULL: open */
	unsigned int where;
	const char *open; /* why it is */
};

#define OPEN(id, rule, reason)                     \
	{                                          \
		id, rule, NULL, EVERYWHERE, reason \
	}

extern const struct row rows_dispatch[], rows_permission[], rows_runtime[], rows_suspend[],
	rows_resume[], rows_life[], rows_update[], rows_priority[], rows_create[], rows_theft[],
	rows_cost[], rows_snapshot[], rows_text[], rows_sysfs[], rows_evict[], rows_machines[],
	rows_library[], rows_unmap[], rows_share[], rows_contexts[];

/* Ends the row: what it needs is not on this host. */
_Noreturn void skip(const char *why);
/* Says where and what, and ends the process. */
_Noreturn void fail(const char *file, int line, const char *what, s64 got, s64 expected);

#define EXPECT(expression, expected)                                            \
	do {                                                                    \
		s64 got_ = (s64)(expression), expected_ = (s64)(expected);      \
		if (got_ != expected_)                                          \
			fail(__FILE__, __LINE__, #expression, got_, expected_); \
	} while (0)
#define CHECK(condition)                                                         \
	do {                                                                     \
		if (!(condition))                                                \
			fail(__FILE__, __LINE__, #condition, -errno, INT64_MIN); \
	} while (0)
/* Waits, with the row's deadline, until it holds. */
#define UNTIL(me, condition)                                                        \
	do {                                                                        \
		u64 deadline_ = deadline();                                         \
		while (!(condition))                                                \
			if (past(deadline_))                                        \
				fail(__FILE__, __LINE__, #condition, 0, INT64_MIN); \
	} while (0)
u64 deadline(void);
bool past(u64 deadline);

/* ---- the process and its queues: gpu.c ---- */

#define MAX_QUEUES 40
#define RING_BYTES 16384u

struct node {
	u32 cwsr_bytes, ctl_stack_bytes, debug_bytes, xcc_count, capability, gfx_version;
	u64 area_bytes; /* of the save areas of one queue */
};

struct queue {
	bool used;
	struct gp_kfd_create_queue_args args;
	u64 *write_index, *read_index, *doorbell;
	u64 written;
};

struct self {
	int kfd, render;
	bool secondary; /* its buffers cannot be pages of the program */
	u32 gpu_id;
	int pipe[2]; /* dbg_fd and what comes out of it */
	struct node node;
	void *eop, *save, *kernel;
	u64 *doorbells;
	struct queue queues[MAX_QUEUES]; /* by id */
	struct helper *helper;
	int status_fd;
};

/* 0 or more, or -errno. */
int call(int fd, unsigned long request, void *args);
/* Opens only /dev/kfd; and all, with a VM. */
void open_kfd(struct self *self);
void open_gpu(struct self *self);
/* A number from the GPU's node in the topology. */
u32 node_property(const char *name);
/* Memory both sides see, mapped to the GPU as one allocation. */
void *gpu_buffer(struct self *self, size_t size);
/* What a good CREATE_QUEUE of that type passes, with buffers of its own. */
struct gp_kfd_create_queue_args good_queue(struct self *self, u32 type);
int create_queue(struct self *self, struct gp_kfd_create_queue_args *args);
u32 must_create(struct self *self, u32 type);
/* PLAIN workgroups take 1 ms (kernels.json), LONG 200, SLOW 900, which is longer than the
 * preemption timeout; ENDLESS outlive every row. */
enum kernel { PLAIN, LONG, SLOW, ENDLESS };
/* CU time of one workgroup of LONG on each of the 80 CUs; kernel times vary by a per cent. */
#define LONG_CU_NS (80 * 200000000ull)
/* So many workgroups on every CU, one after another. */
void submit_kernel(struct self *self, u32 id, enum kernel kernel, u32 rounds);
/* A plain kernel that takes about so much model time alone on the GPU, whole milliseconds. */
void submit(struct self *self, u32 id, u32 microseconds);
/* UPDATE_QUEUE as it was created, but for these. */
int update_queue(struct self *self, u32 id, u32 percentage, u32 priority);
int destroy_queue(struct self *self, u32 id);
int enable_runtime(struct self *self, u32 mode);

/* ---- actors: actor.c ---- */

#define ARGS 6

/* Something an actor does; runs in its process, in its main thread. */
typedef s64 deed(struct self *self, const u64 *args, u64 *out);

struct actor {
	pid_t pid;
	int socket;
	u64 out[ARGS]; /* of the last deed */
};

struct actor start_actor(void);
void actor_begin(struct actor *actor, deed *what, const u64 *args);
bool actor_finished(struct actor *actor);
s64 actor_end(struct actor *actor);
/* Ends it and waits for that; it need not be our child's child. */
void actor_kill(struct self *me, struct actor *actor);
/* Another thread of this process, always the same one. */
s64 other_thread(struct self *self, deed *what, const u64 *args, u64 *out);
/* The same without waiting; returns the socket its answer comes from. */
int other_thread_begin(struct self *self, deed *what, const u64 *args);

#define LIST(...)               ((const u64[ARGS]){__VA_ARGS__})
#define BEGIN(actor, what, ...) actor_begin(actor, what, LIST(__VA_ARGS__))
#define DO(actor, what, ...)    (BEGIN(actor, what, __VA_ARGS__), actor_end(actor))
#define ME(me, what, ...)       what(me, LIST(__VA_ARGS__), (u64[ARGS]){0})
#define ASK(me, out, what, ...) what(me, LIST(__VA_ARGS__), out)
#define THREAD(me, what, ...)   other_thread(me, what, LIST(__VA_ARGS__), (u64[ARGS]){0})

/* Deeds. Unless said otherwise they return what the ioctl did, or -errno. */
deed do_open_kfd, do_open_gpu;
deed do_create;             /* type -> id */
deed do_destroy;            /* id */
deed do_update;             /* id, percentage, priority */
deed do_submit;             /* id, microseconds */
deed do_submit_one;         /* id, enum kernel: one workgroup on every CU */
deed do_read_index;         /* id -> it */
deed do_runtime;            /* mode, r_debug */
deed do_available_memory;   /* any request that only the server answers */
deed do_clock_counters;     /* one that the process answers itself */
deed do_create_event;       /* and another, with another lock */
deed do_kfd_number;         /* -> its descriptor of /dev/kfd */
deed do_criu;               /* pid, that number in it, op -> rc; out: pid, devices, objects, bos */
deed do_gws;                /* id, number */
deed do_hw_event;           /* creates one for hardware exceptions -> id */
deed do_wait_event;         /* id -> result; out: what is said of a hardware exception */
deed do_smi;                /* events of its GPU, all of them -> descriptor */
deed do_smi_read;           /* descriptor -> bytes, out: the text */
deed do_close_kfd;          /* a descriptor, not the process */
deed do_seize, do_detach;   /* pid */
deed do_enable;             /* pid, exception mask; dbg_fd = the pipe */
deed do_enable_bad_fd;      /* pid */
deed do_disable;            /* pid */
deed do_snapshot;           /* pid, exception mask to clear -> number; out: status of 0..5 */
deed do_suspend, do_resume; /* pid, count, id, id, id -> rc; out: ids */
deed do_suspend_grace;      /* pid, id, grace */
deed do_resume_all;         /* pid */
deed do_send_runtime_event; /* pid */
deed do_query_event;        /* pid, mask to clear; out: mask, queue, gpu */
deed do_op;                 /* pid, op, four words of arguments */
deed do_exec;               /* becomes `cat` until its socket closes; no answer */

/* A target: opened, its runtime on (mode 1) or not (0), with so many AQL queues. */
struct actor start_target(u32 runtime, u32 queues);
/* SEIZE, ENABLE with that mask, NEW cleared. */
void attach(struct self *me, const struct actor *target, u64 mask);
/* Bytes waiting in our pipe; they are read. */
u32 pipe_bytes(struct self *me);

/* ---- what the machine says of itself: machine.c ---- */

struct queue_view {
	bool exists, suspended, evicted, mapped;
	u64 submitted, launched, completed, cu_ns, priority, percentage;
};

/*
 * The machine is the virtual GPU (machine_socket.c) or, in the guest of kernel/testbed, the real
 * driver on a fake GPU. Both say the same in JSON; text the caller frees.
 */
char *machine_text(struct self *me);
/* Whether the driver has RUNTIME_ENABLE and DBG_TRAP. */
bool can_debug(struct self *me);
json_t *machine_status(struct self *me); /* a new reference */
struct queue_view look(struct self *me, pid_t pid, u32 id);
/* After everything that was asked for has happened. */
struct queue_view look_settled(struct self *me, pid_t pid, u32 id);
void settle(struct self *me);
/*
 * The machine's clock stands still after so much more model time (NEVER: it goes on), for as long
 * as this process lives. What takes no time on the GPU happens all the same.
 */
#define NEVER UINT64_MAX
#define MS    1000000ull
void hold_clock(struct self *me, u64 ns);
/* Lets it run for so long once the queue's work is there; it was held before that was submitted. */
void run_for(struct self *me, pid_t pid, u32 id, u64 ns);
/* What a call does to a held clock's machine: it goes on when the call waits for the hardware. */
#define NOW(me, call)                  \
	({                             \
		s64 result_;           \
		release_begin(me);     \
		result_ = (s64)(call); \
		release_end(me);       \
		result_;               \
	})
void release_begin(struct self *me);
void release_end(struct self *me);
/* A figure of the first GPU's model, everything settled. */
u64 figure(struct self *me, const char *name);
u64 gpu_number(struct self *me, const char *name);
bool process_exists(struct self *me, pid_t pid);
u64 process_number(struct self *me, pid_t pid, const char *name);
/* True when the actor's call is parked, false when it has answered. */
bool is_blocked(struct self *me, struct actor *actor);
/* Waits until the process is gone from the machine. */
void wait_gone(struct self *me, pid_t pid);
/* The whole text of a file of the machine; freed by the caller. NULL when there is none. */
char *slurp(const char *path);

#define COMPUTE GP_KFD_QUEUE_COMPUTE_AQL
#define SDMA    GP_KFD_QUEUE_SDMA
#define NEW     GP_KFD_EC_MASK(GP_KFD_EC_QUEUE_NEW)
#define DELETED GP_KFD_EC_MASK(GP_KFD_EC_DEVICE_QUEUE_DELETE)
#define RUNTIME GP_KFD_EC_MASK(GP_KFD_EC_PROCESS_RUNTIME)
#define INVALID GP_KFD_DBG_QUEUE_INVALID
#define ERROR   GP_KFD_DBG_QUEUE_ERROR

#endif
