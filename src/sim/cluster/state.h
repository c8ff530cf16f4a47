/* SPDX-License-Identifier: MIT */
/*
 * Inside the engine of clusters: jobs, nodes and GPUs while they run. engine.c has the events,
 * queue.c the waiting jobs, place.c the nodes, reserve.c nodes that are
 * kept for a job, account.c the time of the GPUs, check.c the
 * invariants.
 */
#ifndef GP_SIM_CLUSTER_STATE_H
#define GP_SIM_CLUSTER_STATE_H

#include "base/core.h"
#include "sim/cluster/engine.h"

#define GP_SIM_CLUSTER_NONE UINT32_MAX

enum gp_sim_cluster_state {
	GP_SIM_CLUSTER_TO_COME,
	GP_SIM_CLUSTER_WAITS,
	GP_SIM_CLUSTER_STARTS, /* has GPUs; its victims are ending, or it loads its checkpoint */
	GP_SIM_CLUSTER_RUNS,
	GP_SIM_CLUSTER_DONE,
};

struct gp_sim_cluster_task {
	u8 state;
	bool killed;    /* it starts from a checkpoint */
	u32 turn;       /* events with another number are of an earlier start or rate */
	u32 rate;       /* thousandths of a GPU, on each of its GPUs */
	u32 mark;       /* of the last pass that saw it */
	u64 settled_ns; /* `left` is right at this time */
	u64 left;       /* work on each GPU, thousandths of ns */
	u32 *gpus;      /* nodes * gpus of them while it has GPUs */
	u32 *reserved;  /* nodes that are kept for it while it waits; NULL: none */
	u32 reserved_count;
	u32 ready; /* of them: those with enough GPUs */
};

/* What a node is listed by: how many of its GPUs have no job at all, no online, no offline job. An
 * offline job does not see nodes that are kept for any job, an online job those that are kept for
 * an online job. */
enum gp_sim_cluster_list {
	GP_SIM_CLUSTER_EMPTY, /* for online jobs */
	GP_SIM_CLUSTER_OPEN,  /* the same for offline jobs */
	GP_SIM_CLUSTER_NO_ONLINE,
	GP_SIM_CLUSTER_NO_OFFLINE,
	GP_SIM_CLUSTER_LISTS,
};

struct gp_sim_cluster_node {
	struct gp_list link[GP_SIM_CLUSTER_LISTS];
	u8 listed[GP_SIM_CLUSTER_LISTS]; /* as the lists have it */
	u8 count[GP_SIM_CLUSTER_LISTS];  /* as it is, kept or not */
	bool ready;                      /* counted in `ready` of the task that it is kept for */
	u32 kept_for;                    /* task, or GP_SIM_CLUSTER_NONE */
};

struct gp_sim_cluster_gpu {
	u32 online, offline; /* tasks, or GP_SIM_CLUSTER_NONE */
	u64 settled_ns;
	u16 split[GP_SIM_CLUSTER_USES]; /* since then, in thousandths */
};

/* Jobs of one class and size. They are numbered in the order of their arrival, and a job that was
 * killed goes where it was: the heap is by number. */
struct gp_sim_cluster_queue {
	struct gp_heap waiting;
	size_t room;
	u32 nodes, gpus;
	bool online, blocked; /* blocked: found no place in this pass */
};

struct gp_sim_cluster_engine {
	const struct gp_sim_cluster *cluster;
	enum gp_sim_cluster_arrangement arrangement;
	struct gp_sim_cluster_result *out;
	u64 now;
	u32 next; /* job to arrive */
	struct gp_sim_cluster_task *tasks;
	struct gp_sim_cluster_node *nodes;
	struct gp_sim_cluster_gpu *gpus;
	/* Nodes by list and number. */
	struct gp_list (*bucket)[GP_SIM_CLUSTER_GPUS + 1];
	u32 bucket_count[GP_SIM_CLUSTER_LISTS][GP_SIM_CLUSTER_GPUS + 1];
	struct gp_sim_cluster_queue queues[2 * GP_SIM_CLUSTER_SIZES];
	u32 queue_count;
	u8 *queue_of; /* by job */
	struct gp_heap events;
	size_t event_room;
	u32 kept[2], kept_tasks; /* nodes that are kept for offline and online jobs; the jobs */
	u32 *can_start;          /* tasks whose nodes are all ready */
	size_t can_start_count, can_start_room;
	u32 pass;      /* for marks */
	u32 *affected; /* scratch: tasks whose rate may have changed */
	size_t affected_count, affected_room;
	int error;
};

static inline u32 gp_sim_cluster_size(const struct gp_sim_cluster_job *job)
{
	return job->nodes * job->gpus;
}

/* ---- queue.c ---- */

int gp_sim_cluster_queues_init(struct gp_sim_cluster_engine *e, struct gp_diag *diag);
void gp_sim_cluster_wait(struct gp_sim_cluster_engine *e, u32 task);
/* Starts all that can start now. */
void gp_sim_cluster_schedule(struct gp_sim_cluster_engine *e);

/* ---- place.c ---- */

void gp_sim_cluster_lists_init(struct gp_sim_cluster_engine *e);
/* The list by which a job of this class is started at last, when no GPU is free. */
enum gp_sim_cluster_list gp_sim_cluster_last_list(const struct gp_sim_cluster_engine *e,
						  bool online);
/* Lists the node as it is now. */
void gp_sim_cluster_list_again(struct gp_sim_cluster_engine *e, u32 node);
/* Whether so many nodes have so many GPUs of the list. */
bool gp_sim_cluster_has(const struct gp_sim_cluster_engine *e, enum gp_sim_cluster_list list,
			u32 nodes, u32 gpus);
/* The GPUs of a job, from nodes with as few of them as will do, empty ones first; gpus[] has
 * room. gp_sim_cluster_has() said so. */
void gp_sim_cluster_pick(const struct gp_sim_cluster_engine *e, enum gp_sim_cluster_list list,
			 const struct gp_sim_cluster_job *job, u32 *gpus);
/* The same on one node: how many GPUs it chose. */
u32 gp_sim_cluster_pick_on(const struct gp_sim_cluster_engine *e, u32 node,
			   enum gp_sim_cluster_list list, u32 wanted, u32 *gpus);
/* Gives the GPU to the task, or takes it (give false). */
void gp_sim_cluster_assign(struct gp_sim_cluster_engine *e, u32 gpu, u32 task, bool give);

/* ---- reserve.c ---- */

/* Keeps nodes for a waiting task, those that are nearest to having the GPUs. True: it has as many
 * as it needs; otherwise more are added by the next call. */
bool gp_sim_cluster_reserve(struct gp_sim_cluster_engine *e, u32 task);
/* A node that is kept has changed. */
void gp_sim_cluster_kept_changed(struct gp_sim_cluster_engine *e, u32 node);
/* Starts the tasks whose nodes are all ready. */
void gp_sim_cluster_start_reserved(struct gp_sim_cluster_engine *e);

/* ---- account.c ---- */

/* Adds what passed since the last time to the uses, and the progress to the task. */
void gp_sim_cluster_settle_gpu(struct gp_sim_cluster_engine *e, u32 gpu);
void gp_sim_cluster_settle_task(struct gp_sim_cluster_engine *e, u32 task);
/* The rate of a task as its GPUs are now, and what these are used for from now on. Its end is a new
 * event if the task runs. */
void gp_sim_cluster_update(struct gp_sim_cluster_engine *e, u32 task);
void gp_sim_cluster_split(struct gp_sim_cluster_engine *e, u32 gpu);
/* Puts the task back to its last checkpoint. */
void gp_sim_cluster_lose(struct gp_sim_cluster_engine *e, u32 task);

/* ---- engine.c ---- */

void gp_sim_cluster_event(struct gp_sim_cluster_engine *e, u64 at_ns, u32 task);
/* Gives the GPUs, which gp_sim_cluster_pick() chose, to the waiting task. */
void gp_sim_cluster_start(struct gp_sim_cluster_engine *e, u32 task, u32 *gpus);

/* ---- check.c ---- */

/* -EFAULT, said on diag. */
int gp_sim_cluster_check(struct gp_sim_cluster_engine *e, struct gp_diag *diag);

#endif
