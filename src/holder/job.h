/* SPDX-License-Identifier: MIT */
/*
 * What the loop wants done to a process, and the three places that do it: the loop itself over the
 * connection of an agent (direct.h), a worker thread (worker.c), and in it the calls of a mechanism
 * (apply.c). A job is posted, filled in where it is done, and comes back to the loop.
 */
#ifndef GP_HOLDER_JOB_H
#define GP_HOLDER_JOB_H

#include "base/core.h"
#include "gpu/control.h"
#include "proto/message.h"

enum { GP_HOLDER_GPUS = 16 }; /* of one member */

struct gp_holder_member;
struct gp_holder_request;
struct gp_holder_worker;

/* ---- what is wanted ---- */

/* What a process's queues should be: the sum of all holds on it. */
struct gp_holder_want {
	bool all;                 /* of every GPU */
	bool copies;              /* of all of them, where they are not queues */
	bool off;                 /* kfd-agent: off the GPU, also without work */
	u32 gpus[GP_HOLDER_GPUS]; /* of these GPUs */
	u32 gpu_count;
	u32 *ids; /* and these */
	u32 id_count;
	u32 grace;    /* the longest asked for */
	u32 lease_ms; /* until the last lease ends */
};

bool gp_holder_want_empty(const struct gp_holder_want *want);
bool gp_holder_want_covers(const struct gp_holder_want *want,
			   const struct gp_gpu_control_queue *queue);
void gp_holder_want_free(struct gp_holder_want *want);

/* ---- jobs ---- */

enum gp_holder_job_kind {
	GP_JOB_PROBE,    /* which mechanism; `asked`: AUTO leaves it open until it is attached */
	GP_JOB_APPLY,    /* make it so: `want` */
	GP_JOB_LEASE,    /* `value` ms from now */
	GP_JOB_QUEUES,   /* list them */
	GP_JOB_SHARE,    /* `value` */
	GP_JOB_PRIORITY, /* `value` */
	GP_JOB_STOP,     /* detach; the thread ends */
	GP_JOB_NOTICE,   /* from the worker by itself: `result` as pump() returned it */
};

struct gp_holder_job {
	struct gp_list link;
	enum gp_holder_job_kind kind;
	struct gp_holder_member *member;
	struct gp_holder_request *request; /* that waits for it; NULL: none */
	bool suspends;                     /* of APPLY: its failure counts against the device */
	struct gp_holder_want want;
	struct gp_holder_want mine; /* SUSPEND of part of it: that part */
	bool counted; /* others hold it as well: count the queues stopped for `mine` */
	u32 *check;   /* queues that must exist, or nothing is done */
	u32 check_count;
	u32 asked, value;
	u32 looks; /* for an agent that took no connection */
	bool by_worker;
	enum gp_proto_code no_agent; /* of PROBE: why it is not kfd-agent */
	u64 deadline_ns;             /* no retry after it */

	/* filled in by the worker */
	int result;
	struct gp_proto_reasons why;
	const struct gp_gpu_control_ops *ops;
	struct gp_gpu_control_done done; /* queues: how many are stopped now */
	u32 started;                     /* how many run because of it */
	u64 finished_ns;
	struct gp_gpu_control_queues queues;
	u32 gpus[GP_HOLDER_GPUS];
	u32 gpu_count;
};

/* ---- job.c ---- */
struct gp_holder_job *gp_holder_job_new(struct gp_holder_member *member,
					enum gp_holder_job_kind kind,
					struct gp_holder_request *request);
void gp_holder_job_post(struct gp_holder_job *job);
/* To the agent's connection, or to the worker. */
void gp_holder_job_route(struct gp_holder_job *job);
void gp_holder_job_route_all(struct gp_list *jobs);
/* The loop did it itself. */
void gp_holder_job_end(struct gp_holder_job *job, int result);
void gp_holder_job_free(struct gp_holder_job *job);

/* ---- worker.c ---- */
/* The loop watches its end at member->watch, and closes that. */
int gp_holder_worker_start(struct gp_holder_member *member, struct gp_holder_worker **out);
void gp_holder_worker_post(struct gp_holder_worker *worker, struct gp_holder_job *job);
/* The next job that came back; NULL none. */
struct gp_holder_job *gp_holder_worker_take(struct gp_holder_worker *worker);
/* Something may have happened to the process: SIGCHLD. */
void gp_holder_worker_nudge(struct gp_holder_worker *worker);
/* After STOP came back. */
void gp_holder_worker_join(struct gp_holder_worker *worker);

/* ---- apply.c: in the worker's thread ---- */
struct gp_holder_applied {
	const struct gp_gpu_control_ops *const *mechanisms;
	const struct gp_gpu_control_ops *ops;
	struct gp_gpu_control *control; /* NULL: not attached */
	u32 pid;
	int pidfd;
	struct gp_holder_want want;
	bool gone;
	bool pinned; /* a client named this mechanism; otherwise a better one may turn up */
	int error;   /* why there are no ops: the outcome of PROBE */
	struct gp_proto_reasons why;
};
void gp_holder_apply_job(struct gp_holder_applied *applied, struct gp_holder_job *job);
/* Any thread: whether the driver may succeed at another try. */
bool gp_holder_worth_another_try(int error);
bool gp_holder_has_ended(int pidfd);
/* Any thread: adds the reason of a result that has none; which devices these queues are on. */
void gp_holder_job_explain(struct gp_holder_job *job, u32 mechanism, u32 pid);
/* Any thread: -ENOENT unless all queues that must exist do; how many are stopped for its hold. */
int gp_holder_job_check(const struct gp_holder_job *job, const struct gp_gpu_control_queues *list);
void gp_holder_job_count(struct gp_holder_job *job, const struct gp_gpu_control_queues *list);
void gp_holder_job_note_gpus(struct gp_holder_job *job, const struct gp_gpu_control_queues *list);
/* Events of the control; 1: a notice is due, with *result for it. */
int gp_holder_apply_pump(struct gp_holder_applied *applied, int *result);
void gp_holder_apply_end(struct gp_holder_applied *applied);

#endif
