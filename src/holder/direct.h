/* SPDX-License-Identifier: MIT */
/* The insides of the mechanism kfd-agent: direct.c runs its jobs, direct_apply.c has the longest.
 */
#ifndef GP_HOLDER_DIRECT_H
#define GP_HOLDER_DIRECT_H

#include "holder/holder.h"

/* Whether the process has an agent that controls it; from then on it has member->direct. */
bool gp_holder_direct_bind(struct gp_holder_member *member);
void gp_holder_direct_post(struct gp_holder_job *job);
void gp_holder_direct_message(struct gp_holder_member *member,
			      const struct gp_wire_message *message);
/* Its connection ended; `version`: because the agent, which never answered, is a different one. */
void gp_holder_direct_lost(struct gp_holder_member *member, bool version);
/* Ends calls that took too long; when the next one's time is over. */
u64 gp_holder_direct_expire(struct gp_holder *holder, u64 now);
/* Closes the connection; the agent lets go. Jobs that wait go where they can be done now. */
void gp_holder_direct_free(struct gp_holder_member *member);

/* ---- inside ---- */

enum gp_holder_direct_step {
	GP_DIRECT_IDLE,
	GP_DIRECT_GREETING, /* PROBE: the answer to HELLO */
	GP_DIRECT_CALLING,  /* a job that is one call */
	GP_DIRECT_LISTING,  /* APPLY: which queues there are */
	GP_DIRECT_STARTING, /* those that are not covered */
	GP_DIRECT_STOPPING,
	GP_DIRECT_RESUMING, /* all of them */
	GP_DIRECT_UNDOING,  /* before another try */
	GP_DIRECT_PAUSING,
	GP_DIRECT_COUNTING, /* the queues stopped for this hold */
	GP_DIRECT_NOTING,   /* which GPUs it has queues on, for the breaker */
};

struct gp_holder_direct {
	struct gp_holder_agent *agent;
	struct gp_list jobs; /* the first is under way, unless GP_DIRECT_IDLE */
	enum gp_holder_direct_step step;
	u32 serial;            /* of the call under way */
	u64 sent_ns, until_ns; /* of the call, or the end of the pause */
	int tries, error;
	bool broken;  /* the call could not be sent */
	bool touched; /* the agent may hold something for us */
	bool known;   /* its GPUs were noted */
	u32 lease_ms;
	u32 *stops;
	u32 stop_count;
};

static inline struct gp_holder_job *gp_holder_direct_job(const struct gp_holder_direct *direct)
{
	return gp_container(direct->jobs.next, struct gp_holder_job, link);
}

void gp_holder_direct_finish(struct gp_holder_member *member, int result);
/* Waits for an answer, or a pause to end, until this time. */
void gp_holder_direct_wait(struct gp_holder_member *member, enum gp_holder_direct_step step,
			   u64 until_ns);
void gp_holder_direct_call(struct gp_holder_member *member, enum gp_holder_direct_step step,
			   u16 type, const void *body, size_t size);
/* GP_MSG_AGENT_SUSPEND or RESUME; no ids: all. */
void gp_holder_direct_act(struct gp_holder_member *member, enum gp_holder_direct_step step,
			  u16 type, const u32 *ids, u32 count);
int gp_holder_direct_take_queues(const struct gp_wire_message *message,
				 struct gp_gpu_control_queues *out);

/* ---- direct_apply.c: the steps of APPLY ---- */

void gp_holder_direct_apply(struct gp_holder_member *member);
int gp_holder_direct_take_done(struct gp_holder_member *member,
			       const struct gp_wire_message *message, u32 *queues);
void gp_holder_direct_applied(struct gp_holder_member *member, int error);
void gp_holder_direct_stop_covered(struct gp_holder_member *member);
void gp_holder_direct_listed(struct gp_holder_member *member,
			     const struct gp_wire_message *message);
void gp_holder_direct_counted(struct gp_holder_member *member,
			      const struct gp_wire_message *message);
void gp_holder_direct_noted(struct gp_holder_member *member, const struct gp_wire_message *message);

#endif
