// SPDX-License-Identifier: MIT
/* Looks at the rings to detect when queues drain; activity.c says when and why. */
#include "agent/agent.h"

#include <sys/uio.h>

#include "abi/amd_signal.h"
#include "abi/aql.h"

#define LOOK_PART      8                  /* of the time since work came */
#define LOOK_CLOSER    4                  /* of the distance to when it is usually done */
#define LOOK_BLIND_NS  (1 * GP_NS_PER_MS) /* where doorbells are not seen */
#define PARKED_LOOK_NS (1 * GP_NS_PER_MS)
#define OFF_LOOK_NS    (4 * GP_NS_PER_MS) /* the runtime's own queues, while they are off the GPU */
#define CLAIM_MIN_NS   (10 * GP_NS_PER_MS) /* what a last packet may take at least */
#define CLAIM_TIMES    2                   /* of what most of the last bursts took */
#define DOUBT_MAX_NS   (60 * GP_NS_PER_S)  /* then it is no longer looked at */

bool gp_agent_peek(const struct gp_agent *agent, u64 address, void *out, size_t size)
{
	struct iovec here = {.iov_base = out, .iov_len = size};
	struct iovec there = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};

	return address && process_vm_readv(agent->pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

bool gp_agent_peek_indices(const struct gp_agent *agent, const struct gp_agent_queue *queue,
			   u64 *read_index, u64 *write_index)
{
	/* The write index first: what is read later can only have caught up. */
	struct iovec here[2] = {{write_index, sizeof(u64)}, {read_index, sizeof(u64)}};
	struct iovec there[2] = {{(void *)(uintptr_t)queue->write_pointer, sizeof(u64)},
				 {(void *)(uintptr_t)queue->read_pointer, sizeof(u64)}};

	return queue->write_pointer && queue->read_pointer &&
	       process_vm_readv(agent->pid, here, 2, there, 2, 0) == (ssize_t)(2 * sizeof(u64));
}

u64 gp_agent_look_interval(u64 elapsed, u64 usual)
{
	u64 wait = elapsed / LOOK_PART;
	u64 off = (elapsed > usual ? elapsed - usual : usual - elapsed) / LOOK_CLOSER;

	if (usual && off < wait)
		wait = off;
	return wait < GP_AGENT_LOOK_MIN_NS   ? GP_AGENT_LOOK_MIN_NS
	       : wait > GP_AGENT_LOOK_MAX_NS ? GP_AGENT_LOOK_MAX_NS
					     : wait;
}

/* How long its last packet has been running, at most: no time counts in which it was suspended. */
static u64 ran_for(const struct gp_agent *agent, const struct gp_agent_queue *queue)
{
	u64 since = queue->rest_since > queue->ran_since ? queue->rest_since : queue->ran_since;

	return gp_agent_now(agent) - since;
}

/*
 * A signal that has not fired is a claim with a limit: the program may have set it for its next
 * packet, or the memory may be another signal by now, and then it never fires. Where the program
 * did so through the runtime that is known. Otherwise the claim ends after the time that work of
 * this program has taken, and is looked at less and less often: when it fires after all, the next
 * limit is longer.
 */
static u32 state_of_claim(const struct gp_agent *agent, const struct gp_agent_queue *queue)
{
	u64 limit = CLAIM_TIMES * __atomic_load_n(&agent->most_ns, __ATOMIC_RELAXED);

	if (limit < CLAIM_MIN_NS)
		limit = CLAIM_MIN_NS;
	return !queue->since_ns && ran_for(agent, queue) > limit ? GP_ACTIVITY_UNKNOWN
								 : GP_ACTIVITY_BUSY;
}

/*
 * A caught-up AQL queue. Its last packet stays in the ring until the ring has come round. Where the
 * packet has no barrier bit, packets before it may still run, unless there was none since the queue
 * was last seen drained.
 */
static u32 state_of_last(struct gp_agent *agent, struct gp_agent_queue *queue, u64 written,
			 u64 rung)
{
	const struct gp_agent_ringer *ringer = &agent->ringer[queue->id];
	u64 last = __atomic_load_n(&ringer->last, __ATOMIC_ACQUIRE), signal;
	u64 packet = ringer->ring + ((written - 1) & ringer->mask) * GP_AQL_PACKET_BYTES;
	bool rang = agent->hooked && rung && last >> 1 == written - 1;
	s64 value;

	if (written == ringer->drained_at && rung == ringer->drained_rung)
		return GP_ACTIVITY_DRAINED;
	if (!gp_agent_peek(agent, packet + offsetof(struct gp_aql_dispatch, completion_signal),
			   &signal, sizeof(signal)) ||
	    !signal ||
	    !gp_agent_peek(agent, signal + offsetof(struct gp_amd_signal, value), &value,
			   sizeof(value)))
		return GP_ACTIVITY_UNKNOWN;
	if (value > 0 && !(rang && __atomic_load_n(&ringer->signal, __ATOMIC_ACQUIRE) != signal)) {
		u32 state = state_of_claim(agent, queue);

		queue->doubt = state == GP_ACTIVITY_UNKNOWN;
		return state;
	}
	if (rang && !(last & 1) && written - ringer->drained_at > 1)
		return GP_ACTIVITY_UNKNOWN;
	return GP_ACTIVITY_DRAINED;
}

static void examine(struct gp_agent *agent, struct gp_agent_queue *queue)
{
	struct gp_proto_activity_slot *slot = &agent->activity->slot[queue->id];
	struct gp_agent_ringer *ringer = &agent->ringer[queue->id];
	u64 rung = __atomic_load_n(&slot->doorbells, __ATOMIC_SEQ_CST), read_at, written;
	u32 state = GP_ACTIVITY_UNKNOWN;
	bool doubted = queue->doubt;

	queue->doubt = false;
	if (gp_agent_peek_indices(agent, queue, &read_at, &written)) {
		/* That a parked one moved is for gp_agent_check_parked() to see. */
		if (!queue->parked)
			gp_agent_note_rest(agent, queue, read_at, written);
		if (read_at != written && queue->type != GP_KFD_QUEUE_COMPUTE)
			state = GP_ACTIVITY_BUSY;
		else if (ringer->mask)
			state = state_of_last(agent, queue, written, rung);
		else if (queue->type != GP_KFD_QUEUE_COMPUTE)
			state = GP_ACTIVITY_DRAINED; /* a DMA engine reports what it has done */
	}
	if (state == GP_ACTIVITY_BUSY) {
		gp_agent_rise(agent, queue->id);
		return;
	}
	/* Came and went unseen, because no doorbell of this queue reaches us. */
	if (ringer->mask && state == GP_ACTIVITY_DRAINED && written != ringer->drained_at &&
	    __atomic_load_n(&slot->state, __ATOMIC_SEQ_CST) == GP_ACTIVITY_DRAINED)
		gp_agent_rise(agent, queue->id);
	gp_agent_fall(agent, queue->id, state, rung, doubted || queue->doubt);
	if (ringer->mask && state == GP_ACTIVITY_DRAINED) {
		ringer->drained_at = written;
		ringer->drained_rung = rung;
	}
}

/* When work that rang no doorbell of ours must be seen; 0: it need not be. */
static u64 unheard_interval(const struct gp_agent *agent)
{
	u64 wait = 0;

	for (u32 i = 0; i < GP_AGENT_CONNECTIONS; i++)
		if (agent->owner[i].off)
			wait = OFF_LOOK_NS;
	for (u32 id = 0; id < agent->highest; id++) {
		const struct gp_agent_queue *queue = &agent->queue[id];

		if (!queue->used || !queue->parked)
			continue;
		if (queue->driver_percentage & GP_AGENT_PERCENT)
			return PARKED_LOOK_NS;
		wait = OFF_LOOK_NS;
	}
	return wait;
}

bool gp_agent_look(struct gp_agent *agent)
{
	bool again = gp_agent_check_parked(agent) || unheard_interval(agent);

	for (u32 id = 0; id < agent->highest && agent->activity; id++) {
		struct gp_agent_queue *queue = &agent->queue[id];

		if (!queue->used || queue->leaving)
			continue;
		examine(agent, queue);
		/* One that stands still does not change. */
		again |= !queue->since_ns &&
			 (queue->doubt || __atomic_load_n(&agent->activity->slot[id].state,
							  __ATOMIC_RELAXED) == GP_ACTIVITY_BUSY);
	}
	return again || !agent->hooked;
}

bool gp_agent_busy(struct gp_agent *agent, struct gp_agent_queue *queue, u32 *busy)
{
	u32 state = GP_ACTIVITY_UNKNOWN;

	if (agent->activity) {
		examine(agent, queue);
		state = __atomic_load_n(&agent->activity->slot[queue->id].state, __ATOMIC_SEQ_CST);
	}
	*busy = state == GP_ACTIVITY_BUSY;
	return state != GP_ACTIVITY_UNKNOWN;
}

/* When a queue in doubt is to be looked at again; 0: there is none, or it has been long enough. */
static u64 doubt_interval(const struct gp_agent *agent)
{
	u64 wait = 0;

	for (u32 id = 0; id < agent->highest; id++) {
		const struct gp_agent_queue *queue = &agent->queue[id];
		u64 ran;

		if (!queue->used || !queue->doubt || queue->since_ns)
			continue;
		ran = ran_for(agent, queue);
		if (ran < DOUBT_MAX_NS && (!wait || ran / LOOK_PART < wait))
			wait = ran / LOOK_PART;
	}
	return wait;
}

/* With watch_lock held: a doorbell meanwhile would set the timer, and this set it to later. */
static void look_later(struct gp_agent *agent)
{
	u64 wait = LOOK_BLIND_NS, unheard = unheard_interval(agent);

	/* Work on a queue that is off must be seen also where nobody watches. */
	if (unheard == PARKED_LOOK_NS ||
	    (unheard && !__atomic_load_n(&agent->watchers, __ATOMIC_SEQ_CST))) {
		gp_agent_arm(agent, unheard);
		return;
	}
	if (!__atomic_load_n(&agent->watchers, __ATOMIC_SEQ_CST) || !agent->queue_count)
		return;
	if (__atomic_load_n(&agent->busy, __ATOMIC_RELAXED)) {
		wait = gp_agent_look_interval(gp_agent_now(agent) -
						      __atomic_load_n(&agent->edge_ns,
								      __ATOMIC_RELAXED),
					      __atomic_load_n(&agent->usual_ns, __ATOMIC_RELAXED));
	} else if (agent->hooked) {
		wait = doubt_interval(agent);
	}
	if (unheard && (!wait || unheard < wait))
		wait = unheard;
	if (wait)
		gp_agent_arm(agent, wait);
}

void gp_agent_look_later(struct gp_agent *agent)
{
	pthread_mutex_lock(&agent->watch_lock);
	look_later(agent);
	pthread_mutex_unlock(&agent->watch_lock);
}

void gp_agent_look_now(struct gp_agent *agent)
{
	/* Before the look: the doorbell of a queue that it has passed sets the timer. */
	pthread_mutex_lock(&agent->watch_lock);
	agent->look_at = 0;
	pthread_mutex_unlock(&agent->watch_lock);
	if (gp_agent_look(agent))
		gp_agent_look_later(agent);
}
