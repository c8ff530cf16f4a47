/* SPDX-License-Identifier: MIT */
/*
 * How good a run was: the latency of online requests, what batch jobs got of the GPU, how close
 * that is to the oracle (oracle.h), and the least that any batch job got in five seconds. An
 * observer of the engine; used by `gpreempt sim --oracle` and `--grid`.
 */
#ifndef GP_SIM_JUDGE_H
#define GP_SIM_JUDGE_H

#include "sim/engine.h"
#include "sim/oracle.h"

#define GP_SIM_JUDGE_SAMPLE_NS 250000000ull /* between two looks at what each job has used */
#define GP_SIM_JUDGE_WINDOW    20           /* samples: 5 s */

struct gp_sim_judge {
	struct gp_sim_observer observer; /* hand this to gp_sim_run() */
	const struct gp_sim_scenario *scenario;
	u64 from_ns; /* requests and usage from here on count */
	u32 stretch_ppm;
	struct gp_histogram latency;
	struct gp_sim_oracle_request *requests;
	size_t request_count, request_room;
	u64 *samples; /* CU time used so far: of every job, sample by sample */
	size_t sample_count, sample_room;
	int error;
};

/* The online jobs of a scenario without its batch jobs. */
struct gp_sim_alone {
	u64 p99_ns;
	/* GPU time over the work of their kernels, in millionths: more than a million where several
	 * servers run side by side and slow each other down. */
	u32 stretch_ppm;
};

struct gp_sim_verdict {
	u64 time_ns;    /* that was judged */
	u64 online_ns;  /* GPU time that requests used .. */
	u64 offline_ns; /* .. and batch jobs */
	struct gp_sim_oracle_result oracle;
	struct gp_sim_oracle_cost cost;
	double ratio;     /* of offline_ns to the oracle's; 1 if both are 0 */
	bool share_known; /* the run was long enough for a window */
	double share;     /* the least of any batch job in any window, in equal shares of what the
			   * requests left */
};

/* Whether a run of the scenario can be judged; -EINVAL, said on diag, otherwise: one GPU, jobs of
 * class online with open arrivals and of class offline that always have work, kernels that fill the
 * GPU. */
int gp_sim_judge_can(const struct gp_sim_scenario *scenario, struct gp_diag *diag);
/* Runs the online jobs alone, for at most max_events (0: no limit); requests from from_ns on count
 * for the latency. */
int gp_sim_judge_alone(const struct gp_sim_scenario *scenario, u64 from_ns, u64 max_events,
		       struct gp_diag *diag, struct gp_sim_alone *out);
/* The oracle takes each request to need the GPU as long as it does alone. */
void gp_sim_judge_begin(struct gp_sim_judge *judge, const struct gp_sim_scenario *scenario,
			u64 from_ns, const struct gp_sim_alone *alone);
/* After the run. 0 or -ENOMEM. */
int gp_sim_judge_end(struct gp_sim_judge *judge, const struct gp_sim_result *result,
		     struct gp_sim_verdict *out);
void gp_sim_judge_free(struct gp_sim_judge *judge);

#endif
