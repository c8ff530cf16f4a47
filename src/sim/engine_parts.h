/* SPDX-License-Identifier: MIT */
/*
 * The engine's state, shared by its files: engine.c (the loop), process.c (jobs, processes and
 * queues that come and go), work.c (requests and kernels),
 * replay.c (recorded ones), host.c (operations and leases), fault.c (what goes wrong, and what must
 * hold all the same), share.c (does each job get its part).
 */
#ifndef GP_SIM_ENGINE_PARTS_H
#define GP_SIM_ENGINE_PARTS_H

#include "sim/engine.h"

/* The scheduler's clock at the start: an hour, as on a machine that runs, so that what a job was
 * denied never reaches back before it. */
#define GP_SIM_CLOCK_START (3600 * (s64)GP_NS_PER_S)

enum {
	SIM_RING = 64,            /* kernels of one process on the GPU at once */
	SIM_BACKLOG = 1u << 18,   /* requests under way in all; more are turned away */
	SIM_OPERATIONS = 16,      /* waiting for one job */
	SIM_DEATH_TAG = 1u << 30, /* runlist updates after a death, plus the process */
	GP_SIM_SHARE_WINDOW = 20, /* samples of 250 ms: 5 s */
};

enum gp_sim_run_event {
	SIM_START,   /* a job */
	SIM_ARRIVAL, /* at a process */
	SIM_HINT,    /* of a process */
	SIM_NOTICE,  /* of a queue: the scheduler learns its state */
	SIM_GAP,     /* a request: its next kernel */
	SIM_CALL,    /* a job: its first operation reaches the driver */
	SIM_ANSWER,  /* an operation is answered late */
	SIM_LEASE,   /* a job */
	SIM_FAULT,   /* time for one */
	SIM_USAGE,   /* the scheduler learns what each job used */
	SIM_REPLAY,  /* a recorded request, by its first kernel */
	SIM_SAMPLE,  /* the observer learns what each job used */
};

struct gp_sim_run_queue {
	u32 process, gpu, model, sched;
	u32 outstanding; /* kernels submitted and not complete */
	bool enabled;    /* the last request to the driver */
	bool alive, noticing;
};

struct gp_sim_run_process {
	u32 job, gpu, model, sched;
	u32 first_queue, queue_count, next_queue;
	u32 outstanding; /* kernels, all queues */
	u32 head, tail;  /* requests with kernels left to submit, oldest first; GP_SCHED_NONE */
	u32 requests;    /* under way */
	u64 next_arrival;
	u64 random; /* of its arrivals, so that they are the same whatever else runs */
	u32 next_of_job, next_free; /* GP_SCHED_NONE */
	bool alive, dying;
};

struct gp_sim_request {
	u32 process, next; /* next in the process's list or the free list */
	u32 left, running; /* kernels */
	u32 work;          /* its first recorded kernel, GP_SCHED_NONE */
	u32 kernels;       /* in all */
	u64 arrived;
	bool used;
};

struct gp_sim_run_operation {
	bool suspend, under_way;
	u64 token, epoch, until, issued;
	u32 pending; /* runlist updates */
	int result;
	bool silent; /* hangs: never answered */
	u64 late_ns;
	bool twice;
};

/* What a job got and was due since its work began: share.c. */
struct gp_sim_run_share {
	bool counts, excepted, running; /* since the last event */
	u32 equals;
	u64 due_ns, got_ns, sampled_at;
	u64 due_at[GP_SIM_SHARE_WINDOW], got_at[GP_SIM_SHARE_WINDOW]; /* samples */
	u32 samples;
};

struct gp_sim_run_job {
	u32 sched;    /* GP_SCHED_NONE: the scheduler does not know it */
	bool running; /* started and not stopped */
	bool held;    /* its queues are disabled */
	u64 held_since, held_until, held_ns;
	u64 held_epoch;
	bool lease_event;
	u64 absent_until; /* stopped from outside until then; 0: not */
	u64 max_suspend;
	struct gp_sim_run_operation operations[SIM_OPERATIONS];
	u32 first, count;
	u64 unanswered; /* token of the last operation whose answer is lost or late */
	u64 suspends;
	u64 told_cu_ns[GP_SIM_GPUS]; /* reported as used so far */
	u32 first_process;           /* the living ones, newest first; GP_SCHED_NONE */
	u32 process;                 /* of a recorded job: its process now */
	bool replaying;
	struct gp_sim_run_share share;
};

/* Of the runlist, and what it changes: the queues of a process, or GP_SCHED_NONE. */
struct gp_sim_run_update {
	u64 tag;
	u32 process;
	bool enables;
};

/* Updates that wait for the driver's lock, oldest first. */
struct gp_sim_run_updates {
	struct gp_sim_run_update *update;
	size_t first, count, room;
	bool under_way;
};

struct gp_sim_answer { /* late answers */
	u64 token, epoch, cost;
	int result;
};

struct gp_sim {
	const struct gp_sim_scenario *scenario;
	const struct gp_sim_options *options;
	struct gp_diag *diag;
	struct gp_sim_result *result;

	u64 now;    /* true time */
	s64 offset; /* the scheduler's clock is now + offset */
	u64 epoch;  /* of the scheduler: a restart is a new one */
	u64 random;
	bool draining; /* no more arrivals: everything runs to its end */
	int broken;    /* -errno once something must not have happened */

	struct gp_sched *sched;
	void *sched_memory;
	size_t sched_size;
	struct gp_sched_config sched_config;

	struct gp_model *model[GP_SIM_GPUS];
	void *model_memory[GP_SIM_GPUS];
	struct gp_sim_run_updates updates[GP_SIM_GPUS];

	struct gp_heap heap;
	struct gp_sim_run_job *jobs;
	struct gp_sim_run_process *processes;
	u32 process_count, process_room;
	u32 process_free; /* places of dead ones; GP_SCHED_NONE */
	struct gp_sim_run_queue *queues;
	u32 queue_count, queue_room;
	u32 *queue_of_model[GP_SIM_GPUS]; /* model's queue -> ours */
	u32 model_queues;
	struct gp_sim_request *requests;
	u32 request_free, request_count;
	u32 request_fresh; /* places from here on were never used */
	u64 kernels_done;
	u64 share_at;                      /* shares are accounted for up to here */
	u64 checked_epoch, checked_events; /* the scheduler's at its last check */
	struct gp_sim_answer answers[64];
	u32 answer_count;
};

/* engine.c */
void gp_sim_push(struct gp_sim *sim, u64 at, enum gp_sim_run_event kind, u32 value);
u64 gp_sim_random(struct gp_sim *sim);
/* True in `permille` of 1000 calls. */
bool gp_sim_chance(struct gp_sim *sim, u32 permille);
void gp_sim_break(struct gp_sim *sim, int error, const char *what, u64 seen, u64 wanted);
/* The scheduler's clock. */
u64 gp_sim_clock(const struct gp_sim *sim);
/* An event function of the scheduler returned `error`: takes its actions. */
void gp_sim_act(struct gp_sim *sim, int error);
/* Makes a scheduler and adds all jobs, processes and queues to it. */
int gp_sim_sched_start(struct gp_sim *sim);

/* process.c */
void gp_sim_job_start(struct gp_sim *sim, u32 job);
void gp_sim_process_die(struct gp_sim *sim, u32 process);
void gp_sim_process_dead(struct gp_sim *sim, u32 process);

/* work.c */
void gp_sim_arrive(struct gp_sim *sim, u32 process);
/* A request of that many kernels arrives; `work`: they are recorded. */
void gp_sim_request(struct gp_sim *sim, u32 process, u32 kernels, u32 work);
/* Its place is free again. */
void gp_sim_end_request(struct gp_sim *sim, u32 request);
bool gp_sim_stopped(const struct gp_sim *sim, u32 job);
void gp_sim_hint(struct gp_sim *sim, u32 process);
void gp_sim_notice(struct gp_sim *sim, u32 queue);
void gp_sim_feed(struct gp_sim *sim, u32 process);
void gp_sim_gap(struct gp_sim *sim, u32 request);
/* What a job used of a GPU so far, in CU nanoseconds. */
u64 gp_sim_used(const struct gp_sim *sim, u32 job, u32 gpu);
void gp_sim_usage(struct gp_sim *sim);
void gp_sim_sample(struct gp_sim *sim);
void gp_sim_completed(struct gp_sim *sim, u32 gpu, const struct gp_model_action *action);

/* replay.c */
/* The process that the job's recording is played to; it has started. */
void gp_sim_replay_start(struct gp_sim *sim, u32 job, u32 process);
void gp_sim_replay(struct gp_sim *sim, u32 work);
/* That request is over: where each waits for the one before, the next one of its queue follows. */
void gp_sim_replay_next(struct gp_sim *sim, u32 work);

/* host.c */
/* Reports to the observer a hold that ends now, or with the simulation. */
void gp_sim_tell_held(const struct gp_sim *sim, u32 job);
void gp_sim_operation_add(struct gp_sim *sim, const struct gp_sched_action *action);
void gp_sim_renew(struct gp_sim *sim, u64 until);
void gp_sim_call(struct gp_sim *sim, u32 job);
void gp_sim_answer(struct gp_sim *sim, u32 index);
/* The driver is asked to put the queues of a process on the runlist, or to take them off, and to
 * update it; gp_sim_updated() when that is done. */
void gp_sim_update(struct gp_sim *sim, u32 gpu, u64 tag, u32 process, bool enables);
/* Hands the model the next update that waits, when the one before is done. */
void gp_sim_update_waiting(struct gp_sim *sim, u32 gpu);
void gp_sim_updated(struct gp_sim *sim, u32 gpu, u64 tag);
void gp_sim_owner_died(struct gp_sim *sim);
void gp_sim_lease(struct gp_sim *sim, u32 job);

/* fault.c */
void gp_sim_fault(struct gp_sim *sim);
void gp_sim_operation_faults(struct gp_sim *sim, struct gp_sim_run_operation *operation);
void gp_sim_check(struct gp_sim *sim);
void gp_sim_check_end(struct gp_sim *sim);

/* share.c */
/* After every event: has every job had half its share of the last 5 s? */
void gp_sim_share_check(struct gp_sim *sim);
/* The scheduler or its clock begins anew: so does every account. */
void gp_sim_share_restart(struct gp_sim *sim);

#endif
