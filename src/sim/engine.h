/* SPDX-License-Identifier: MIT */
/*
 * Scheduler core x GPU model in virtual time: the host that a daemon is on a real machine, with
 * arrivals, driver calls, leases and, when asked for, faults. The same scenario gives the same
 * result, bit for bit.
 */
#ifndef GP_SIM_ENGINE_H
#define GP_SIM_ENGINE_H

#include "base/histogram.h"
#include "sim/scenario.h"

/* What happened to one job. */
struct gp_sim_job_result {
	struct gp_histogram latency; /* of requests: arrival to the end of the last kernel, ns */
	u64 arrived, completed,
		lost;          /* requests; lost: their process died, or the backlog was full */
	u64 kernels;           /* completed */
	u64 cu_ns;             /* CU time used */
	u64 held_ns, suspends; /* as the scheduler says */
};

struct gp_sim_result {
	u64 time_ns;
	u64 events;     /* of the scheduler, its host and the reports of the GPU */
	u64 gpu_events; /* inside the GPU: waves that end, without a report */
	u64 suspends, resumes, declined, leases_lost, operations_failed;
	u64 updates,
		switch_ns; /* of all GPUs: runlist updates, time without waves because of them */
	u64 stats_why[GP_SCHED_WHYS];
	/* Checks of shares (share.c): windows of 5 s, and time of jobs in which none was due. */
	u64 windows, excepted_ns;
	bool cut; /* stopped by the limit on events */
	u32 job_count;
	struct gp_sim_job_result *jobs; /* owned: gp_sim_result_free() */
};

/* Called at each change, for timelines. Any may be NULL. */
struct gp_sim_observer {
	/* work_ns: of its kernels, one after the other. */
	void (*request)(void *data, u32 job, u64 arrived_ns, u64 done_ns, u64 work_ns);
	void (*kernel)(void *data, u32 job, u32 queue, u64 start_ns, u64 end_ns);
	void (*held)(void *data, u32 job, u64 from_ns, u64 to_ns);
	void (*decision)(void *data, const struct gp_sched_action *action);
	/* A request of the job came (1) or went (-1), done or not; the job is held (1), or is no
	 * longer (-1). */
	void (*pending)(void *data, u32 job, u64 at_ns, int change);
	void (*holding)(void *data, u64 at_ns, int change);
	/* CU time that the job has used so far, on all GPUs: of each job in turn, from used_from_ns
	 * on every used_every_ns. */
	void (*used)(void *data, u32 job, u64 cu_ns);
	u64 used_from_ns, used_every_ns;
	void *data;
};

struct gp_sim_options {
	u64 max_events;   /* 0: no limit */
	bool check;       /* invariants after every event (slow) */
	u32 only_job;     /* run this job alone; GP_SCHED_NONE: all */
	bool only_online; /* leave out jobs that are not of class online */
	const struct gp_sim_observer *observer;
};

/* -EFAULT: an invariant does not hold, said on diag. */
int gp_sim_run(const struct gp_sim_scenario *scenario, const struct gp_sim_options *options,
	       struct gp_diag *diag, struct gp_sim_result *out);
void gp_sim_result_free(struct gp_sim_result *result);

#endif
