/* SPDX-License-Identifier: MIT */
/*
 * The oracle: the most batch work that any scheduler could do beside given requests, on the same
 * GPU, at the same cost of a preemption. It knows every arrival in advance, decides in no time and
 * shares no code with sched/, so that the scheduler can be judged by it (judge.h).
 *
 * What it assumes
 * - One GPU, which at any time runs requests, or batch work, or neither; either fills it. There is
 *   always batch work.
 * - A visit is a stretch in which the GPU belongs to requests. Each costs suspend_ns before it and
 *   resume_ns after it, in which the GPU does nothing, whatever the number of batch programs.
 * - The GPU runs programs only while they have one of its places (VMIDs). It keeps the best number
 *   k of servers on the hardware. Each queue there makes every stop and start longer, because the
 *   hardware takes all queues off and on again. A request to another server costs an unmap and a
 *   map more: the server whose place it gets, the one that is needed last, leaves first, so that
 *   nothing else need be on the hardware then. The first one of a visit costs nothing: the batch
 *   program leaves as it comes. Requests of one server of which the next comes before the last is
 *   due cost that once.
 * - Each batch program runs at least once in max_suspend_ns, as the scheduler promises. The change
 *   from one to the next is free where a visit lies between them.
 * - A request takes work_ns from arrived_ns on and is done by due_ns. A judge takes the time at
 *   which the scheduler was done with it: the oracle may make no request later than that. As work
 *   it takes what requests take without batch jobs, or in the run where that is less: how servers
 *   share the GPU among themselves is not judged.
 *
 * Why it is an upper bound
 * - A schedule leaves for batch work the whole time less the work of the requests, less the pauses
 *   in visits (the visit goes on although no request is there), less the cost of its visits. The
 *   oracle finds the least pauses and costs of all ways to cut the requests into visits, and each
 *   thing that it leaves out of account only permits more schedules:
 * - A due time earlier than one before it is raised to that one. Then the order of arrival is as
 *   good as any other.
 * - Between two visits there must be room for a resume and a suspend. Room is counted from the
 *   earliest time at which the requests before could be done, not from when they were done.
 * - Long lists are solved in parts, each of which may have one visit for nothing.
 * - Changes of servers save no waves, and take no time from any request.
 * Only places are given in the order of arrival; requests that may wait for long could be grouped
 * better by server.
 *
 * A scheduler can beat it only where a batch kernel happens to end as a request arrives: then the
 * visit needs no suspension. That saves at most the cost of one visit for each batch kernel.
 */
#ifndef GP_SIM_ORACLE_H
#define GP_SIM_ORACLE_H

#include "model/model.h"

struct gp_sim_oracle_request {
	u64 arrived_ns, work_ns;
	u64 due_ns; /* earlier than is possible: as early as possible */
	u32 server;
};

struct gp_sim_oracle_cost {
	u64 suspend_ns, resume_ns;
};

/* What the hardware and the promises of the scheduler leave no choice in. All 0: nothing. */
struct gp_sim_oracle_limits {
	u32 servers, places;
	u64 change_ns, queue_ns; /* of a change of programs, and for each queue that is mapped */
	u32 batch;
	u64 max_suspend_ns;
};

struct gp_sim_oracle_result {
	u64 offline_ns; /* of GPU time for batch work, at most */
	u64 online_ns;  /* of GPU time for requests */
	u64 pause_ns;
	u64 visits;
	u32 resident;  /* servers on the hardware; 0: all */
	u64 reloads;   /* requests to a server that was not */
	u64 change_ns; /* for these .. */
	u64 turn_ns;   /* .. and for the turns of batch programs beyond the visits */
};

/* The cheapest stop and start of a batch program whose kernels fill the GPU: its own queue comes
 * off or on, one other queue stays. */
struct gp_sim_oracle_cost gp_sim_oracle_cost(const struct gp_model_chip *chip, u32 vgprs);
/* Of servers and batch programs of one process with one queue. */
struct gp_sim_oracle_limits gp_sim_oracle_limits(const struct gp_model_chip *chip, u32 servers,
						 u32 batch, u64 max_suspend_ns);

/*
 * Sorts the requests by arrival and raises due times. `time_ns`: the length of what is judged.
 * 0 or -ENOMEM.
 */
int gp_sim_oracle(struct gp_sim_oracle_request *requests, size_t count,
		  const struct gp_sim_oracle_cost *cost, const struct gp_sim_oracle_limits *limits,
		  u64 time_ns, struct gp_sim_oracle_result *out);

#endif
