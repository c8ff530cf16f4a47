// SPDX-License-Identifier: MIT
/* Who holds which queues, and for how long. */
#include "agent/agent.h"

#include <errno.h>
#include <string.h>

#define RETRIES_MAX 50 /* then less often, but a queue is never left stopped for nobody */
#define SELDOM_NS   (1000 * GP_NS_PER_MS)
#define ROOM_NS     (1000 * GP_NS_PER_MS) /* by then another suspension takes queues off */

static bool names(const struct gp_agent_owner *owner, u32 id)
{
	return owner->named[id / 64] >> (id % 64) & 1;
}

static bool holds_nothing(const struct gp_agent_owner *owner)
{
	u64 any = owner->all;

	for (size_t i = 0; i < GP_ARRAY_SIZE(owner->named); i++)
		any |= owner->named[i];
	return !any;
}

bool gp_agent_owner_holds(const struct gp_agent_owner *owner, const struct gp_agent_queue *queue)
{
	return owner->lease_end && (owner->all || names(owner, queue->id));
}

bool gp_agent_held(const struct gp_agent *agent, const struct gp_agent_queue *queue)
{
	for (u32 i = 0; i < GP_AGENT_CONNECTIONS; i++)
		if (gp_agent_owner_holds(&agent->owner[i], queue))
			return true;
	return false;
}

void gp_agent_forget_id(struct gp_agent *agent, u32 id)
{
	for (u32 i = 0; i < GP_AGENT_CONNECTIONS; i++)
		agent->owner[i].named[id / 64] &= ~(1ull << (id % 64));
}

/* The limit counts from the first suspend and is not moved by renewals. */
static void set_lease(struct gp_agent_owner *owner, u64 at)
{
	owner->lease_end = at + owner->lease_ns;
	if (owner->lease_end > owner->limit_end)
		owner->lease_end = owner->limit_end;
}

static bool known(const struct gp_agent *agent, u32 id)
{
	return id < GP_AGENT_QUEUES && agent->queue[id].used;
}

static void clear(struct gp_agent_owner *owner, u64 at)
{
	if (owner->off)
		owner->room_until = at + ROOM_NS;
	owner->all = false;
	memset(owner->named, 0, sizeof(owner->named));
	owner->lease_end = 0;
	owner->off = false;
}

static void report(const struct gp_agent_cost *cost, u64 sent_ns, u32 queues,
		   struct gp_proto_msg_done *done)
{
	*done = (struct gp_proto_msg_done){
		.issue_ns = cost->first_call_ns > sent_ns && sent_ns ? cost->first_call_ns - sent_ns
								     : 0,
		.driver_ns = cost->driver_ns,
		.queues = queues,
		.processes = 1,
	};
}

static u32 stopped_for(const struct gp_agent *agent, const struct gp_agent_owner *owner)
{
	u32 count = 0;

	for (u32 id = 0; id < agent->highest; id++)
		count += agent->queue[id].used && (owner->all || names(owner, id));
	return count;
}

/* Held, and not stopped by the program itself as well. */
static u32 stopped(const struct gp_agent *agent)
{
	u32 count = 0;

	for (u32 id = 0; id < agent->highest; id++) {
		const struct gp_agent_queue *queue = &agent->queue[id];

		count += queue->used && queue->since_ns && (queue->percentage & GP_AGENT_PERCENT);
	}
	return count;
}

static int check(const struct gp_agent *agent, const struct gp_proto_msg_suspend *ask)
{
	if ((ask->lease_ms && ask->lease_ms < GP_LEASE_MIN_MS) || ask->lease_ms > GP_LIMIT_MAX_MS ||
	    ask->limit_ms > GP_LIMIT_MAX_MS)
		return -EINVAL;
	for (u32 i = 0; i < ask->count; i++)
		if (!known(agent, ask->ids[i]))
			return -ENOENT;
	return 0;
}

int gp_agent_suspend(struct gp_agent *agent, struct gp_agent_owner *owner,
		     const struct gp_proto_msg_suspend *ask, struct gp_proto_msg_done *done)
{
	u64 start = gp_agent_now(agent);
	u64 limit_ns = (ask->limit_ms ? ask->limit_ms : GP_LIMIT_MS) * GP_NS_PER_MS;
	u32 timeout = ask->timeout_ms ? ask->timeout_ms : GP_AGENT_TIMEOUT_MS;
	struct gp_agent_owner before = *owner;
	struct gp_agent_cost cost = {0};
	int error = check(agent, ask);

	if (error)
		return error;
	if (holds_nothing(owner)) {
		owner->since_ns = start;
		owner->limit_end = start + limit_ns;
	}
	for (u32 i = 0; i < ask->count; i++)
		owner->named[ask->ids[i] / 64] |= 1ull << (ask->ids[i] % 64);
	if (!ask->count)
		owner->all = true;
	owner->off = ask->flags & GP_SUSPEND_OFF;
	owner->room_until = owner->off ? UINT64_MAX : 0;
	owner->lease_ns = (ask->lease_ms ? ask->lease_ms : GP_LEASE_MS) * GP_NS_PER_MS;
	set_lease(owner, start);
	error = gp_agent_settle(agent, start + timeout * GP_NS_PER_MS, &cost);
	if (error) {
		/* All or nothing: what this call stopped runs again. */
		struct gp_agent_cost ignored = {0};

		*owner = before;
		if (gp_agent_settle(agent, 0, &ignored))
			agent->retry_at = gp_agent_now(agent) + GP_AGENT_RETRY_NS;
		return error;
	}
	/* The time in the driver is not taken from the lease. */
	set_lease(owner, gp_agent_now(agent));
	report(&cost, ask->sent_ns, stopped_for(agent, owner), done);
	return (int)done->queues;
}

int gp_agent_resume(struct gp_agent *agent, struct gp_agent_owner *owner,
		    const struct gp_proto_msg_suspend *ask, struct gp_proto_msg_done *done)
{
	struct gp_agent_cost cost = {0};
	u32 before = stopped(agent), after, freed;
	int error;

	for (u32 i = 0; i < ask->count; i++)
		if (ask->ids[i] >= GP_AGENT_QUEUES)
			return -ENOENT;
	if (ask->count && owner->all) {
		/* From now on it names those it still holds; later queues are not among them. */
		owner->all = false;
		for (u32 id = 0; id < agent->highest; id++)
			if (agent->queue[id].used)
				owner->named[id / 64] |= 1ull << (id % 64);
	}
	for (u32 i = 0; i < ask->count; i++)
		owner->named[ask->ids[i] / 64] &= ~(1ull << (ask->ids[i] % 64));
	if (!ask->count || holds_nothing(owner))
		clear(owner, gp_agent_now(agent));
	error = gp_agent_settle(agent, 0, &cost);
	if (error)
		agent->retry_at = gp_agent_now(agent) + GP_AGENT_RETRY_NS;
	/* Parked ones, too, for which the driver was not called. Never less than none: a difference
	 * that wrapped would be read as an error. */
	after = stopped(agent);
	freed = before > after ? before - after : 0;
	report(&cost, ask->sent_ns, freed, done);
	return error ? error : (int)freed;
}

int gp_agent_renew(struct gp_agent *agent, struct gp_agent_owner *owner,
		   const struct gp_proto_msg_suspend *ask)
{
	if (!owner->lease_end || owner->lease_end <= gp_agent_now(agent))
		return -ENOLCK;
	if (ask->lease_ms) {
		if (ask->lease_ms < GP_LEASE_MIN_MS || ask->lease_ms > GP_LIMIT_MAX_MS)
			return -EINVAL;
		owner->lease_ns = ask->lease_ms * GP_NS_PER_MS;
	}
	set_lease(owner, gp_agent_now(agent));
	return 0;
}

void gp_agent_let_go(struct gp_agent *agent, struct gp_agent_owner *owner)
{
	struct gp_agent_cost cost = {0};
	int error, share_error;

	clear(owner, 0);
	owner->pid = 0;
	owner->room_until = 0;
	error = gp_agent_settle(agent, 0, &cost);
	share_error = gp_agent_drop_share(agent, owner);
	gp_agent_drop_ruled(agent, owner);
	if (error || share_error)
		agent->retry_at = gp_agent_now(agent) + GP_AGENT_RETRY_NS;
}

u32 gp_agent_held_by_another(const struct gp_agent *agent, u32 index)
{
	for (u32 i = 0; i < GP_AGENT_CONNECTIONS; i++) {
		const struct gp_agent_owner *owner = &agent->owner[i];

		if (i != index && owner->all && owner->lease_end)
			return owner->pid > 0 ? (u32)owner->pid : UINT32_MAX;
	}
	return 0;
}

u64 gp_agent_tick(struct gp_agent *agent)
{
	u64 at = gp_agent_now(agent), next = 0;
	bool ended = false;

	for (u32 i = 0; i < GP_AGENT_CONNECTIONS; i++) {
		struct gp_agent_owner *owner = &agent->owner[i];

		if (owner->lease_end && owner->lease_end <= at) {
			clear(owner, at);
			ended = true;
		}
		/* Queues that it left off return: they would have to be looked at for ever. */
		if (owner->room_until && owner->room_until <= at) {
			owner->room_until = 0;
			ended = true;
		}
	}
	if (ended || (agent->retry_at && agent->retry_at <= at)) {
		struct gp_agent_cost cost = {0};

		agent->retry_at = 0;
		int share_error = gp_agent_lift_share(agent);
		if (!gp_agent_settle(agent, 0, &cost) && !share_error)
			agent->retries = 0;
		else if (agent->retries < RETRIES_MAX)
			agent->retry_at = at + GP_AGENT_RETRY_NS, agent->retries++;
		else
			agent->retry_at = at + SELDOM_NS;
	}
	next = agent->retry_at;
	for (u32 i = 0; i < GP_AGENT_CONNECTIONS; i++) {
		u64 end = agent->owner[i].lease_end, room = agent->owner[i].room_until;

		if (end && (!next || end < next))
			next = end;
		if (room && room != UINT64_MAX && (!next || room < next))
			next = room;
	}
	return next;
}
