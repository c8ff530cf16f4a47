/* SPDX-License-Identifier: MIT */
/*
 * A cluster scenario: nodes with GPUs, and jobs that arrive and need several of them at once
 * (gangs). It is read from a file with a section [cluster] and a CSV trace
 * (docs/reference/cluster-simulator.md), or built by code. The list of jobs is made before anything
 * runs, so that every arrangement of the cluster gets the same jobs at the same times.
 *
 * An online job is a service: it stays for `run` once it has started, and keeps its GPUs busy for
 * `busy` thousandths of that time. An offline job has `run` of work on each of its GPUs and ends
 * when that is done, however long it takes.
 */
#ifndef GP_SIM_CLUSTER_CLUSTER_H
#define GP_SIM_CLUSTER_CLUSTER_H

#include "base/diag.h"
#include "base/types.h"

enum {
	GP_SIM_CLUSTER_NODES = 100000,
	GP_SIM_CLUSTER_GPUS = 16,                     /* of a node */
	GP_SIM_CLUSTER_KINDS = 256,                   /* [job NAME] sections */
	GP_SIM_CLUSTER_TRACED = GP_SIM_CLUSTER_KINDS, /* the "section" of jobs of a trace */
	GP_SIM_CLUSTER_JOBS = 4 << 20,                /* that arrive */
	GP_SIM_CLUSTER_SIZES = 64, /* different numbers of nodes and GPUs, of each class */
	GP_SIM_CLUSTER_LOADS = 11, /* of 0, 10, .. 100 % */
	GP_SIM_CLUSTER_NAME = 48,
};

#define GP_SIM_CLUSTER_TIME_MAX 15552000000000000ull /* 180 days: a thousand times fits 64 bits */
#define GP_SIM_CLUSTER_FULL     1000u                /* a whole GPU, in thousandths */

enum gp_sim_cluster_arrival { GP_SIM_CLUSTER_NEVER, GP_SIM_CLUSTER_POISSON, GP_SIM_CLUSTER_EVERY };

/* Jobs of one kind, drawn from the seed. */
struct gp_sim_cluster_kind {
	char name[GP_SIM_CLUSTER_NAME];
	u32 line;
	bool online, per_node; /* per_node: arrivals at each node, not at the cluster */
	bool random_run;       /* run_ns is a mean */
	enum gp_sim_cluster_arrival arrival;
	u64 every_ns, run_ns, checkpoint_ns;
	u32 nodes, gpus; /* GPUs on each node */
	u32 busy;        /* thousandths */
};

struct gp_sim_cluster_job {
	u64 at_ns, run_ns;
	u64 checkpoint_ns; /* of its work; 0: it starts again from nothing */
	u32 nodes, gpus;
	u32 busy;
	u16 kind; /* its section, or GP_SIM_CLUSTER_TRACED */
	bool online;
};

struct gp_sim_cluster {
	char title[128], chip[128], trace[256];
	u32 nodes, gpus;
	u64 time_ns, seed;
	u64 grace_ns;    /* from a kill to a free GPU */
	u64 restart_ns;  /* of a job that was killed, before it continues */
	u64 patience_ns; /* an offline job that waited so long has nodes kept for it */
	/* What a batch job gets of a GPU beside a service that keeps it busy for 0, 10, .. 100 %,
	 * in thousandths; and the p99 of that service's requests, in thousandths of what it is
	 * alone (0: not known). From the simulator of one GPU (share.h) unless the file has it. */
	bool share_given;
	u32 share[GP_SIM_CLUSTER_LOADS], slowdown[GP_SIM_CLUSTER_LOADS];
	/* Owned: gp_sim_cluster_free(). */
	struct gp_sim_cluster_kind *kinds;
	size_t kind_count, kind_room;
	struct gp_sim_cluster_job *jobs; /* by time, once gp_sim_cluster_prepare() is done */
	size_t job_count, job_room;
};

/* Usual values, and no job. */
void gp_sim_cluster_init(struct gp_sim_cluster *cluster);
void gp_sim_cluster_free(struct gp_sim_cluster *cluster);

/* Whether a scenario is one of a cluster: it has a section [cluster]. */
bool gp_sim_cluster_is(const char *text, size_t size);
/* Reads a scenario and the trace that it names. Errors name file, line and what to do. */
int gp_sim_cluster_parse(struct gp_sim_cluster *cluster, const char *name, const char *text,
			 size_t size, struct gp_diag *diag);
/* Adds the jobs of a CSV file. */
int gp_sim_cluster_trace(struct gp_sim_cluster *cluster, const char *path, struct gp_diag *diag);

/* 0, -ENOMEM or -E2BIG. */
int gp_sim_cluster_add_job(struct gp_sim_cluster *cluster, const struct gp_sim_cluster_job *job);
/* Draws the jobs of all kinds and sorts them. Said on diag when there are too many, none, or one
 * that the cluster can never run. */
int gp_sim_cluster_prepare(struct gp_sim_cluster *cluster, const char *name, struct gp_diag *diag);

/* The share for any load in thousandths, between two points on a straight line. */
u32 gp_sim_cluster_left(const struct gp_sim_cluster *cluster, u32 busy);

#endif
