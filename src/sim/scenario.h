/* SPDX-License-Identifier: MIT */
/*
 * A scenario: which GPUs, which jobs with which work, which policy and which faults. It is read
 * from a small text file (docs/reference/simulator.md), made up from a seed by the fault tests, or
 * built by code. Jobs, processes and queues are bounded by what the scheduler core takes
 * (GP_SCHED_MAX_JOBS and the like), everything else here, so that a hostile file cannot make the
 * simulator run endlessly.
 */
#ifndef GP_SIM_SCENARIO_H
#define GP_SIM_SCENARIO_H

#include <limits.h>

#include "base/buf.h"
#include "base/diag.h"
#include "gpufile/chip.h"
#include "sched/sched.h"

enum {
	GP_SIM_GPUS = 8,
	GP_SIM_QUEUES = 64,    /* of one process */
	GP_SIM_KERNELS = 4096, /* of one request */
	GP_SIM_WORK = 4 << 20, /* recorded kernels of all jobs */
	GP_SIM_NAME = 48,
	GP_SIM_ALL_GPUS = 0xff,
};

#define GP_SIM_TIME_MAX 86400000000000ull /* a day */
#define GP_SIM_RATE_MAX 10000000u         /* requests per second */

enum gp_sim_arrival {
	GP_SIM_CLOSED,  /* the next request when one is done, `depth` at a time */
	GP_SIM_POISSON, /* `rate` per second at random */
	GP_SIM_EVERY,   /* one in `every_ns` */
	/* Requests and their kernels come from a recording. */
	GP_SIM_RECORDED,        /* when they came then */
	GP_SIM_RECORDED_CLOSED, /* each so long after the end of its queue's last as then */
};

/* A recorded kernel. */
struct gp_sim_kernel {
	u64 at_ns; /* when its request came, from the job's start */
	u64 kernel_ns;
	u32 job, queue; /* of the scenario, of the job's process */
	u32 workgroups; /* CUs that it fills, as far as there are so many; 0: all */
	bool more;      /* belongs to the request of the one before it */
};

struct gp_sim_job {
	char name[GP_SIM_NAME];
	u32 line; /* of its section; 0: it is from no file */
	struct gp_sched_job_spec spec;
	enum gp_sched_stream stream;
	u32 processes, queues;
	u32 gpu; /* index, or GP_SIM_ALL_GPUS: process i is on GPU i modulo their number */
	enum gp_sim_arrival arrival;
	u64 every_ns;  /* mean distance for POISSON */
	u32 depth;     /* CLOSED: requests under way in each process */
	u64 think_ns;  /* CLOSED: from the end of one to the next */
	u32 kernels;   /* of a request */
	u64 kernel_ns; /* alone, on its CUs */
	u32 cus;       /* that a kernel fills; 0: all */
	u32 rounds;    /* of workgroups one after the other; a kernel takes rounds * (kernel_ns /
			  rounds) */
	u32 vgprs;     /* per lane: with the CUs what a save costs */
	u64 gap_ns;    /* host time between two kernels of a request; 0: all are queued at once */
	u32 cu_limit;  /* CU mask of its queues; 0: none */
	u64 hint_ns;   /* so long before a request arrives it is announced; 0: not */
	u64 start_ns, stop_ns;      /* stop 0: at the end */
	u32 work_first, work_count; /* recorded kernels, in the order of their requests */
};

/* Chances in thousandths, of each operation, of each time at which a queue drains (doubt) or, for
 * the last ones, in each second. */
struct gp_sim_faults {
	u32 fail, hang, late, twice;
	u32 doubt;
	u32 kill, restart, jump, destroy, stop;
};

struct gp_sim_scenario {
	char title[128];
	struct gp_gpufile_chip chip;
	u32 gpus;
	u64 time_ns, seed;
	u64 notice_ns;                /* work arrives or ends -> the scheduler knows */
	u64 call_ns;                  /* a decision -> the driver is called */
	struct gp_sched_config sched; /* times only */
	struct gp_sched_device_config device;
	struct gp_sim_faults faults;
	/* Owned: gp_sim_scenario_free(). Copies of the struct share both lists. */
	u32 job_count;
	struct gp_sim_job *jobs;
	size_t job_room;
	struct gp_sim_kernel *work;
	size_t work_count, work_room;
};

/* Usual values: an MI308X, one second, the `priority` policy, no job. Overwrites the structure
 * without freeing it. */
int gp_sim_scenario_init(struct gp_sim_scenario *scenario, struct gp_diag *diag);
void gp_sim_scenario_free(struct gp_sim_scenario *scenario);
/* Reads a file, or a shipped scenario by its bare name ("serve"). Errors name file, line and what
 * to do; unknown keys are errors. */
int gp_sim_scenario_load(struct gp_sim_scenario *scenario, const char *path, struct gp_diag *diag);
/* The text of such a file, and the path that it was found at. */
int gp_sim_scenario_read(const char *path, struct gp_diag *diag, char name[PATH_MAX],
			 struct gp_buf *text);
int gp_sim_scenario_parse(struct gp_sim_scenario *scenario, const char *name, const char *text,
			  size_t size, struct gp_diag *diag);
/* Whether the whole fits together; said on diag when it does not. */
int gp_sim_scenario_check(const struct gp_sim_scenario *scenario, const char *name,
			  struct gp_diag *diag);
/* Random jobs, work and faults instead of what the scenario has, the same for the same seed. */
void gp_sim_scenario_random(struct gp_sim_scenario *scenario, u64 seed);

/* One more job: one process with one queue and a kernel of 1 ms after another. NULL: too many, or
 * no memory. The pointer is good until the next one is added. */
struct gp_sim_job *gp_sim_scenario_add_job(struct gp_sim_scenario *scenario);
/* Appends to the recording of the job that has the last one so far, or of one that has none.
 * -EINVAL: a request that comes before the one before it; -E2BIG; -ENOMEM. */
int gp_sim_scenario_add_kernel(struct gp_sim_scenario *scenario,
			       const struct gp_sim_kernel *kernel);
/* "AT QUEUE DURATION [WORKGROUPS]"; AT "+": one more kernel of the same request. -EINVAL if it is
 * not such a line. */
int gp_sim_parse_kernel(const char *line, struct gp_sim_kernel *out);

/* "20ms", "1.5s", "300us", "10ns"; a bare number is refused. */
bool gp_sim_parse_time(const char *text, u64 *ns);
/* Name to number; false when there is no such policy. */
bool gp_sim_parse_policy(const char *name, enum gp_sched_policy_id *policy);
/* "off, priority, ...", for messages. */
void gp_sim_policy_names(char *out, size_t size);

#endif
