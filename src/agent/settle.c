// SPDX-License-Identifier: MIT
/* Makes the driver agree with the records: held queues are stopped, the others run as the program
 * asked for. */
#include "agent/agent.h"

#include <errno.h>
#include <time.h>

#define TRIES  5
#define NAP_NS (1 * GP_NS_PER_MS)

static u32 wanted(const struct gp_agent *agent, const struct gp_agent_queue *queue)
{
	return gp_agent_held(agent, queue) ? queue->percentage & ~GP_AGENT_PERCENT
					   : queue->percentage;
}

/* Bounded: a driver that stays busy is an error, not a reason to wait for ever. */
static int update(struct gp_agent *agent, struct gp_agent_queue *queue, u32 percentage,
		  struct gp_agent_cost *cost)
{
	const struct timespec nap = {0, NAP_NS};
	struct gp_kfd_update_queue_args args = {
		.ring_base_address = queue->ring,
		.queue_id = queue->id,
		.ring_size = queue->ring_bytes,
		.queue_percentage = percentage,
		.queue_priority = queue->priority,
	};
	u64 start = gp_agent_now(agent);
	int error = 0;

	if (!cost->first_call_ns)
		cost->first_call_ns = start;
	for (int i = 0; i < TRIES; i++) {
		error = gp_agent_call(agent, agent->kfd, GP_KFD_IOC_UPDATE_QUEUE, &args) < 0
				? -errno
				: 0;
		if (error != -EINTR && error != -EAGAIN && error != -EBUSY)
			break;
		if (error != -EINTR)
			nanosleep(&nap, NULL);
	}
	cost->driver_ns += gp_agent_now(agent) - start;
	queue->error = error;
	if (error)
		return error;
	if (!(queue->driver_percentage & GP_AGENT_PERCENT) != !(percentage & GP_AGENT_PERCENT))
		cost->changed++;
	queue->driver_percentage = percentage;
	return 0;
}

/* ---- parked queues ---- */

/*
 * Stopping a queue preempts the whole device, whether it has work or not, and a HIP program has two
 * or three queues of the runtime's own that rest for ever. One that has had no work for a while is
 * held without a driver call: nothing of it runs. It is stopped when it gets work: at its
 * doorbell, before that reaches the GPU, where doorbells are seen; otherwise (the runtime's own
 * queues) at the next look, PARKED_LOOK_NS later at most.
 *
 * A queue without work still keeps a VMID for its process. Where the GPU has too few of them an
 * owner asks for all queues to be stopped (`off`). As long as it is connected, those that have
 * rested stay off when the hold ends, and are started when they get work, in the same way.
 */
#define REST_NS GP_NS_PER_S

static bool named_by_somebody(const struct gp_agent *agent, u32 id)
{
	for (u32 i = 0; i < GP_AGENT_CONNECTIONS; i++)
		if (agent->owner[i].lease_end && agent->owner[i].named[id / 64] >> (id % 64) & 1)
			return true;
	return false;
}

/* Since when its write index stands still is only known from one look to the next. */
bool gp_agent_note_rest(struct gp_agent *agent, struct gp_agent_queue *queue, u64 read_at,
			u64 written)
{
	if (queue->rest_since && written == queue->rest_written && read_at == written)
		return true;
	queue->rest_written = written;
	queue->rest_since = gp_agent_now(agent);
	return false;
}

static bool has_moved(struct gp_agent *agent, struct gp_agent_queue *queue)
{
	u64 read_at, written;

	return !gp_agent_peek_indices(agent, queue, &read_at, &written) ||
	       !gp_agent_note_rest(agent, queue, read_at, written);
}

/*
 * Caught up for REST_NS, and its last work is done. Where that cannot be known (the last packet has
 * no signal) it may be a long kernel of the program's, but not in a queue whose doorbells never
 * came to us: in those the runtime copies and fills, and waits for it.
 */
static bool rests(struct gp_agent *agent, struct gp_agent_queue *queue)
{
	u32 busy;
	bool known = gp_agent_busy(agent, queue, &busy);

	/* In this order: that look, too, may have found that it moved. */
	if (gp_agent_now(agent) - queue->rest_since < REST_NS)
		return false;
	return known ? !busy : !queue->doubt && !agent->activity->slot[queue->id].doorbells;
}

/* An owner needs its place on the GPU: now, or whenever it has no work. */
static bool is_in_the_way(const struct gp_agent *agent, const struct gp_agent_queue *queue)
{
	for (u32 i = 0; i < GP_AGENT_CONNECTIONS; i++)
		if (agent->owner[i].off && gp_agent_owner_holds(&agent->owner[i], queue))
			return true;
	return false;
}

static bool makes_room(const struct gp_agent *agent)
{
	for (u32 i = 0; i < GP_AGENT_CONNECTIONS; i++)
		if (agent->owner[i].room_until)
			return true;
	return false;
}

static bool can_park(struct gp_agent *agent, struct gp_agent_queue *queue)
{
	bool held = gp_agent_held(agent, queue), on = queue->driver_percentage & GP_AGENT_PERCENT;

	/* Where no doorbell is seen at all every queue would be the exception. */
	if (!agent->activity || !agent->hooked || held != on ||
	    !(queue->percentage & GP_AGENT_PERCENT) || named_by_somebody(agent, queue->id))
		return false;
	if (held ? is_in_the_way(agent, queue) : !makes_room(agent))
		return false;
	if (has_moved(agent, queue))
		return false;
	return queue->parked || rests(agent, queue);
}

static void set_parked(struct gp_agent *agent, struct gp_agent_queue *queue)
{
	bool park = can_park(agent, queue);

	if (!agent->activity)
		return;
	__atomic_store_n(&agent->ringer[queue->id].parked, park, __ATOMIC_SEQ_CST);
	/* A packet that was written before the doorbell could see the mark is seen here: the write
	 * index moves before the doorbell rings. */
	if (park && has_moved(agent, queue)) {
		park = false;
		__atomic_store_n(&agent->ringer[queue->id].parked, 0, __ATOMIC_SEQ_CST);
	}
	queue->parked = park;
}

/* A queue that has work and could not be started. */
static void try_again(struct gp_agent *agent)
{
	agent->retry_at = gp_agent_now(agent) + GP_AGENT_RETRY_NS;
	pthread_mutex_lock(&agent->watch_lock);
	gp_agent_arm(agent, GP_AGENT_RETRY_NS);
	pthread_mutex_unlock(&agent->watch_lock);
}

void gp_agent_unpark(struct gp_agent *agent, u32 id)
{
	struct gp_agent_cost cost = {0};
	int cancel, error = errno;

	/* A doorbell is no place where a thread is cancelled, and leaves errno alone. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&agent->lock);
	/* settle() sees that its write index has moved. */
	if (agent->queue[id].used && agent->queue[id].parked && gp_agent_settle(agent, 0, &cost))
		try_again(agent);
	pthread_mutex_unlock(&agent->lock);
	pthread_setcancelstate(cancel, NULL);
	errno = error;
}

bool gp_agent_check_parked(struct gp_agent *agent)
{
	struct gp_agent_cost cost = {0};
	bool any = false, moved = false;

	for (u32 id = 0; id < agent->highest; id++) {
		struct gp_agent_queue *queue = &agent->queue[id];

		if (!queue->used || !queue->parked)
			continue;
		any = true;
		if (!has_moved(agent, queue))
			continue;
		queue->parked = false;
		__atomic_store_n(&agent->ringer[id].parked, 0, __ATOMIC_SEQ_CST);
		moved = true;
	}
	if (moved && gp_agent_settle(agent, 0, &cost))
		try_again(agent);
	return any;
}

int gp_agent_settle(struct gp_agent *agent, u64 deadline, struct gp_agent_cost *cost)
{
	int first = 0;

	for (u32 id = 0; id < agent->highest; id++) {
		struct gp_agent_queue *queue = &agent->queue[id];
		u32 percentage;
		bool held;
		int error;

		if (!queue->used)
			continue;
		held = gp_agent_held(agent, queue);
		set_parked(agent, queue);
		percentage = queue->parked ? queue->driver_percentage : wanted(agent, queue);
		/* Each call preempts the whole device: none that changes nothing. */
		if (!queue->leaving && queue->driver_percentage != percentage) {
			if (deadline && gp_agent_now(agent) >= deadline)
				return first ? first : -ETIME;
			error = update(agent, queue, percentage, cost);
			if (error && !first)
				first = error;
		}
		if (held && !queue->since_ns)
			queue->since_ns = gp_agent_now(agent);
		else if (!held && queue->since_ns) {
			queue->since_ns = 0;
			queue->ran_since = gp_agent_now(agent);
		}
		gp_agent_show(agent, queue);
	}
	gp_agent_look_later(agent);
	return first;
}
