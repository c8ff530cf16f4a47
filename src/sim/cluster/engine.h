/* SPDX-License-Identifier: MIT */
/*
 * A cluster in virtual time: the same jobs under one of three arrangements.
 *
 *   exclusive  a GPU belongs to one job until that ends; an online job waits for free GPUs
 *   requeue    the same, but an online job takes GPUs from offline jobs: those are killed, lose
 *              what they did since their last checkpoint, and wait to be started again
 *   share      an online job may start on GPUs with offline jobs, and an offline job on GPUs with
 *              online jobs: the offline job runs in the time that the other leaves, suspended and
 *              resumed by gpreempt, and loses nothing
 *
 * An event costs the logarithm of the jobs that run, and the size of the gangs it moves; nothing
 * looks at all nodes, GPUs or waiting jobs. All arithmetic is on integers: every nanosecond of
 * every GPU is accounted for, exactly.
 */
#ifndef GP_SIM_CLUSTER_ENGINE_H
#define GP_SIM_CLUSTER_ENGINE_H

#include "base/histogram.h"
#include "sim/cluster/cluster.h"

enum gp_sim_cluster_arrangement {
	GP_SIM_CLUSTER_EXCLUSIVE,
	GP_SIM_CLUSTER_REQUEUE,
	GP_SIM_CLUSTER_SHARE,
	GP_SIM_CLUSTER_ARRANGEMENTS,
};

/* Where the time of the GPUs goes; together they are all of it. */
enum gp_sim_cluster_use {
	GP_SIM_CLUSTER_ONLINE,    /* work of online jobs */
	GP_SIM_CLUSTER_OFFLINE,   /* work of offline jobs that was not lost */
	GP_SIM_CLUSTER_LOST,      /* work of offline jobs that were killed */
	GP_SIM_CLUSTER_RESTART,   /* jobs that are being killed or started again */
	GP_SIM_CLUSTER_SWITCHING, /* preemption: what neither job gets of a shared GPU */
	GP_SIM_CLUSTER_STALLED,   /* waits for a slower GPU of the same gang */
	GP_SIM_CLUSTER_RESERVED,  /* an online job has the GPU for itself and does not use it */
	GP_SIM_CLUSTER_FREE,      /* no job */
	GP_SIM_CLUSTER_USES,
};

/* GPU time in thousandths of nanoseconds. */
__extension__ typedef unsigned __int128 gp_sim_gpu_time;

struct gp_sim_cluster_class {
	u64 arrived, completed, running, waiting; /* the last two at the end of the run */
	u64 kills;
	u64 starts;               /* with those after a kill */
	struct gp_histogram wait; /* from arrival to the first start, ns; of jobs that started */
	u64 waited_ns;            /* the longest wait of those that did not */
};

struct gp_sim_cluster_result {
	u64 time_ns, events;
	bool cut; /* stopped by the limit on events */
	gp_sim_gpu_time use[GP_SIM_CLUSTER_USES];
	struct gp_sim_cluster_class online, offline;
	/* The caller's, GP_SIM_CLUSTER_TRACED + 1 of them: of each section. NULL: not counted. */
	struct gp_sim_cluster_class *kinds;
};

struct gp_sim_cluster_options {
	u64 max_events; /* 0: no limit */
	bool check;     /* every invariant after every event (slow) */
	/* Called now and then with the virtual time; may be NULL. */
	void (*progress)(void *data, u64 now_ns);
	void *data;
};

/* "exclusive" */
const char *gp_sim_cluster_name(enum gp_sim_cluster_arrangement arrangement);
/* "online" */
const char *gp_sim_cluster_use_name(enum gp_sim_cluster_use use);
double gp_sim_cluster_hours(gp_sim_gpu_time time);

/* The cluster must be prepared. -EFAULT: an invariant does not hold, said on diag. */
int gp_sim_cluster_run(const struct gp_sim_cluster *cluster,
		       enum gp_sim_cluster_arrangement arrangement,
		       const struct gp_sim_cluster_options *options, struct gp_diag *diag,
		       struct gp_sim_cluster_result *out);

#endif
