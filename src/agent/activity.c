// SPDX-License-Identifier: MIT
/*
 * Whether the program has work: struct gp_proto_activity, in memory that watchers share.
 *
 * A queue rises to BUSY at its doorbell, by the thread that rings it, which also tells the watchers
 * when no other queue of that GPU was busy: one message, and no thread of ours wakes up. It falls
 * to DRAINED when the service thread looks and finds the read index caught up and the last
 * completion signal fired. Nobody tells us when that is: a handler on the signal
 * (hsa_amd_signal_async_handler) costs a wake of the runtime's own thread for every edge and makes
 * it spin in ROCr 5.2, and waiting on the signal's event (WAIT_EVENTS) can take the wake that the
 * program waits for, because the event resets itself. So the service thread looks again after an
 * eighth of the time the queue has been busy, between LOOK_MIN and LOOK_MAX, while somebody watches
 * and a queue that may run is busy; never otherwise. Around the time that work usually takes it
 * looks closer: until the end is seen, the GPU idles and whoever made room waits.
 *
 * A doorbell and a look may meet. The doorbell counts (a locked instruction, so a full barrier) and
 * then reads `quiet`; the look writes `quiet` and then reads the count: one of them sees the other.
 * States change under watch_lock only, so what watchers see and hear is in order and never wrong
 * for a moment; on a busy queue no lock is taken. The rest of a slot is written under the agent's
 * lock, inside an odd generation.
 */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "abi/amd_queue.h"
#include "abi/aql.h"
#include "base/clock.h"

#define TOMBSTONE 1u

/* ---- memory ---- */

/* Watchers get a descriptor that cannot be mapped writable. */
static int seal(int fd)
{
	char path[32];
	int readable;

	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE) == 0)
		return fd;
	/* Before Linux 5.1. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	readable = open(path, O_RDONLY | O_CLOEXEC);
	close(fd);
	return readable;
}

/* Requests that began before there was a memory to count them in: a program may announce one before
 * it opens a GPU, and before gpreemptd asks for the memory. */
static u32 early_requests;
static pid_t early_pid; /* a child has none of them */

static void add_early_requests(struct gp_proto_activity *activity)
{
	u32 early = __atomic_exchange_n(&early_requests, 0, __ATOMIC_SEQ_CST);

	if (early && __atomic_load_n(&early_pid, __ATOMIC_SEQ_CST) != getpid())
		early = 0;
	__atomic_add_fetch(&activity->open_requests, early, __ATOMIC_SEQ_CST);
}

void gp_agent_early_request(const struct gp_agent *agent, bool begin)
{
	struct gp_proto_activity *activity;
	pid_t pid = getpid();
	u32 open;

	if (__atomic_exchange_n(&early_pid, pid, __ATOMIC_SEQ_CST) != pid)
		__atomic_store_n(&early_requests, 0, __ATOMIC_SEQ_CST);
	open = __atomic_load_n(&early_requests, __ATOMIC_RELAXED);
	do {
		if (!begin && !open)
			return;
	} while (!__atomic_compare_exchange_n(&early_requests, &open, begin ? open + 1 : open - 1,
					      true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	activity = agent ? __atomic_load_n(&agent->activity, __ATOMIC_SEQ_CST) : NULL;
	if (activity) /* it was made meanwhile */
		add_early_requests(activity);
}

void gp_agent_make_activity(struct gp_agent *agent)
{
	size_t size = sizeof(struct gp_proto_activity);
	struct gp_proto_activity *memory = MAP_FAILED;
	int fd;

	if (agent->activity)
		return;
	fd = memfd_create("gpreempt-activity", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED && fd >= 0) {
		close(fd);
		fd = -1;
	}
	if (memory == MAP_FAILED) /* without watchers, but doorbells find a place to count */
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			      0);
	else
		agent->activity_fd = gp_agent_own(agent, seal(fd));
	if (memory == MAP_FAILED)
		return;
	memory->magic = GP_ACTIVITY_MAGIC;
	memory->slots = GP_ACTIVITY_SLOTS;
	memory->features = GP_ACTIVITY_PARKS;
	__atomic_store_n(&agent->activity, memory, __ATOMIC_SEQ_CST);
	add_early_requests(memory);
}

void gp_agent_hide_all(struct gp_agent *agent)
{
	if (agent->activity)
		munmap(agent->activity, sizeof(struct gp_proto_activity));
	agent->activity = NULL;
	memset(agent->door, 0, sizeof(agent->door));
}

/* ---- doors ---- */

static u32 place(u64 object)
{
	return (u32)((object >> 6) * 0x9e3779b97f4a7c15ull >> 40) % GP_AGENT_DOORS;
}

static u32 find_door(const struct gp_agent *agent, u64 object)
{
	for (u32 i = place(object), n = 0; n < GP_AGENT_DOORS; i = (i + 1) % GP_AGENT_DOORS, n++) {
		u64 key = __atomic_load_n(&agent->door[i].object, __ATOMIC_ACQUIRE);

		if (key == object)
			return i;
		if (!key)
			break;
	}
	return GP_AGENT_DOORS;
}

static void add_door(struct gp_agent *agent, u64 object, u32 id)
{
	for (u32 i = place(object), n = 0; n < GP_AGENT_DOORS; i = (i + 1) % GP_AGENT_DOORS, n++) {
		if (agent->door[i].object > TOMBSTONE && agent->door[i].object != object)
			continue;
		agent->door[i].id = id;
		__atomic_store_n(&agent->door[i].object, object, __ATOMIC_RELEASE);
		return;
	}
}

int gp_agent_queue_of(const struct gp_agent *agent, u64 object)
{
	u32 door = find_door(agent, object);

	return door == GP_AGENT_DOORS ? -1 : (int)agent->door[door].id;
}

static u64 object_of(const struct gp_agent_queue *queue)
{
	return queue->read_pointer - offsetof(struct gp_amd_queue, read_dispatch_id);
}

/* ---- rising and falling ---- */

void gp_agent_arm(struct gp_agent *agent, u64 ns)
{
	struct itimerspec when = {.it_value = gp_timespec(ns)};

	agent->look_at = gp_agent_now(agent) + ns;
	if (agent->timer >= 0)
		timerfd_settime(agent->timer, 0, &when, NULL);
}

/* With watch_lock held, so that watchers hear of edges in the order in which they were. */
static void tell_edge(struct gp_agent *agent, u64 at, enum gp_proto_activity_state to, u32 id)
{
	struct gp_proto_msg_edge edge = {.now_ns = at, .busy = to, .queue = id};

	if (agent->watchers)
		gp_agent_tell_locked(agent, GP_MSG_AGENT_EDGE, &edge, sizeof(edge), true);
}

/* With watch_lock held: the slot's state, and the counts that go with it. */
static u32 set_state(struct gp_agent *agent, u32 id, u32 state)
{
	struct gp_proto_activity *activity = agent->activity;
	u32 before = activity->slot[id].state;

	__atomic_store_n(&activity->slot[id].state, state, __ATOMIC_RELEASE);
	agent->busy += (u32)(state == GP_ACTIVITY_BUSY) - (u32)(before == GP_ACTIVITY_BUSY);
	__atomic_store_n(&activity->busy_queues,
			 activity->busy_queues + (u32)(state != GP_ACTIVITY_DRAINED) -
				 (u32)(before != GP_ACTIVITY_DRAINED),
			 __ATOMIC_RELEASE);
	return before;
}

/* What is usual is the median of the last few: the first, which compiles its kernels, or two that
 * came in a row are exceptions. */
static void learn(struct gp_agent *agent, u64 took)
{
	u64 sorted[GP_AGENT_LAST];
	u32 count;

	agent->took_ns[agent->taken++ % GP_AGENT_LAST] = took;
	count = agent->taken < GP_AGENT_LAST ? agent->taken : GP_AGENT_LAST;
	for (u32 i = 0; i < count; i++) {
		u32 k = i;

		for (; k && sorted[k - 1] > agent->took_ns[i]; k--)
			sorted[k] = sorted[k - 1];
		sorted[k] = agent->took_ns[i];
	}
	agent->usual_ns = sorted[(count - 1) / 2];
	agent->most_ns = sorted[(count - 1) * 3 / 4];
}

/* With watch_lock held: how many queues of that queue's GPU are in this state. */
static u32 count_beside(const struct gp_agent *agent, u32 id, u32 state)
{
	u32 highest = __atomic_load_n(&agent->highest, __ATOMIC_RELAXED), count = 0;

	for (u32 i = 0; i < highest; i++)
		count += agent->ringer[i].gpu_id == agent->ringer[id].gpu_id &&
			 agent->activity->slot[i].state == state;
	return count;
}

/* With watch_lock held: whether a look is due soon. While another queue is busy it is, but for one
 * that stands still, and for a look that has passed this queue and finds the other one drained. */
static bool look_is_due(const struct gp_agent *agent, u64 at)
{
	return agent->look_at && agent->look_at <= at + GP_AGENT_LOOK_MAX_NS;
}

void gp_agent_rise(struct gp_agent *agent, u32 id)
{
	struct gp_proto_activity *activity = agent->activity;
	u64 at = gp_agent_now(agent);
	bool first;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* as gp_agent_tell() */
	pthread_mutex_lock(&agent->watch_lock);
	__atomic_store_n(&agent->ringer[id].quiet, 0, __ATOMIC_SEQ_CST);
	if (set_state(agent, id, GP_ACTIVITY_BUSY) != GP_ACTIVITY_BUSY) {
		activity->slot[id].last_ring_ns = at;
		first = count_beside(agent, id, GP_ACTIVITY_BUSY) == 1;
		if (first) {
			agent->edge_ns = at;
			activity->edges++;
			tell_edge(agent, at, GP_ACTIVITY_BUSY, id);
		}
		if (agent->watchers && (first || !look_is_due(agent, at)))
			gp_agent_arm(agent, GP_AGENT_LOOK_MIN_NS);
	}
	pthread_mutex_unlock(&agent->watch_lock);
	pthread_setcancelstate(cancel, NULL);
}

/* With watch_lock held. A queue that may or may not have work does not hold back the news of one
 * that has none any more: what to make of the doubt is the watcher's business. */
static void tell_fall(struct gp_agent *agent, u32 id, bool was_busy, u64 since)
{
	bool doubt = count_beside(agent, id, GP_ACTIVITY_UNKNOWN);
	u64 at = gp_agent_now(agent);

	if (count_beside(agent, id, GP_ACTIVITY_BUSY))
		return;
	if (since)
		learn(agent, at - since);
	if (doubt && !was_busy)
		return;
	tell_edge(agent, at, doubt ? GP_ACTIVITY_UNKNOWN : GP_ACTIVITY_DRAINED, id);
}

/* With watch_lock held: since when the work ran that ended with this fall; 0: it may still run, or
 * ended unseen. */
static u64 work_since(const struct gp_agent *agent, u32 id, u32 before, u32 state, bool doubted)
{
	if (before == GP_ACTIVITY_BUSY)
		return doubted && state == GP_ACTIVITY_UNKNOWN ? 0 : agent->edge_ns;
	return doubted && state == GP_ACTIVITY_DRAINED ? agent->activity->slot[id].last_ring_ns : 0;
}

/* `rung` is how many doorbells there were before the ring was looked at. */
void gp_agent_fall(struct gp_agent *agent, u32 id, u32 state, u64 rung, bool doubted)
{
	struct gp_proto_activity_slot *slot = &agent->activity->slot[id];
	struct gp_agent_ringer *ringer = &agent->ringer[id];
	u32 before;

	if (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == state)
		return;
	__atomic_store_n(&ringer->quiet, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(&agent->watch_lock);
	if (__atomic_load_n(&slot->doorbells, __ATOMIC_SEQ_CST) != rung || !ringer->quiet) {
		/* Rung meanwhile: never mind what was seen. */
		__atomic_store_n(&ringer->quiet, slot->state != GP_ACTIVITY_BUSY, __ATOMIC_SEQ_CST);
	} else {
		before = set_state(agent, id, state);
		tell_fall(agent, id, before == GP_ACTIVITY_BUSY,
			  work_since(agent, id, before, state, doubted));
	}
	pthread_mutex_unlock(&agent->watch_lock);
}

void gp_agent_doorbell(struct gp_agent *agent, u64 object, u64 value)
{
	u32 door = find_door(agent, object), id;
	struct gp_agent_ringer *ringer;
	struct gp_proto_activity_slot *slot;
	const struct gp_aql_dispatch *packet;

	if (door == GP_AGENT_DOORS)
		return;
	id = agent->door[door].id;
	ringer = &agent->ringer[id];
	slot = &agent->activity->slot[id];
	packet = (const struct gp_aql_dispatch *)(uintptr_t)(ringer->ring +
							     (value & ringer->mask) *
								     GP_AQL_PACKET_BYTES);
	/* In this order: a look that finds the index finds its signal. */
	__atomic_store_n(&ringer->signal, packet->completion_signal, __ATOMIC_RELAXED);
	__atomic_store_n(&ringer->last, value << 1 | !!(packet->header & GP_AQL_HEADER_BARRIER),
			 __ATOMIC_RELEASE);
	__atomic_fetch_add(&slot->doorbells, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&ringer->parked, __ATOMIC_SEQ_CST))
		gp_agent_unpark(agent, id);
	if (__atomic_load_n(&ringer->quiet, __ATOMIC_SEQ_CST))
		gp_agent_rise(agent, id);
}

/*
 * A program sets its completion signal for the next packet right after it has waited for the last
 * one, or destroys it, and its memory becomes another signal. Its value then says nothing about the
 * packet, which is over.
 */
void gp_agent_signal_reused(struct gp_agent *agent, u64 signal)
{
	u32 highest = __atomic_load_n(&agent->highest, __ATOMIC_RELAXED);

	for (u32 id = 0; id < highest; id++)
		if (__atomic_load_n(&agent->ringer[id].signal, __ATOMIC_RELAXED) == signal)
			__atomic_store_n(&agent->ringer[id].signal, 0, __ATOMIC_RELEASE);
}

/* ---- slots ---- */

void gp_agent_show(struct gp_agent *agent, const struct gp_agent_queue *queue)
{
	struct gp_proto_activity_slot *slot;
	u32 priority = gp_agent_logical_priority(agent, queue), suspended = queue->since_ns != 0;

	if (!agent->activity)
		return;
	slot = &agent->activity->slot[queue->id];
	if (slot->logical_priority == priority && slot->suspended == suspended &&
	    slot->ring == queue->ring)
		return;
	__atomic_add_fetch(&slot->generation, 1, __ATOMIC_SEQ_CST);
	slot->kfd_id = queue->id;
	slot->gpu_id = queue->gpu_id;
	slot->ring = queue->ring;
	slot->logical_priority = priority;
	slot->suspended = suspended;
	__atomic_add_fetch(&slot->generation, 1, __ATOMIC_SEQ_CST);
}

void gp_agent_show_all(struct gp_agent *agent)
{
	for (u32 id = 0; id < agent->highest; id++)
		if (agent->queue[id].used)
			gp_agent_show(agent, &agent->queue[id]);
}

void gp_agent_appear(struct gp_agent *agent, const struct gp_agent_queue *queue)
{
	struct gp_agent_ringer *ringer = &agent->ringer[queue->id];
	u64 packets = queue->ring_bytes / GP_AQL_PACKET_BYTES, written = 0;

	gp_agent_make_activity(agent);
	if (!agent->activity)
		return;
	agent->activity->slot[queue->id].doorbells = 0;
	*ringer =
		(struct gp_agent_ringer){.ring = queue->ring, .quiet = 1, .gpu_id = queue->gpu_id};
	if (queue->type == GP_KFD_QUEUE_COMPUTE_AQL && packets && !(packets & (packets - 1))) {
		ringer->mask = packets - 1;
		/* What is in it now was never submitted. */
		gp_agent_peek(agent, queue->write_pointer, &written, sizeof(written));
		ringer->drained_at = written;
		add_door(agent, object_of(queue), queue->id);
	}
	gp_agent_show(agent, queue);
}

void gp_agent_hide(struct gp_agent *agent, const struct gp_agent_queue *queue)
{
	struct gp_proto_activity_slot *slot;
	u32 door = find_door(agent, object_of(queue));

	if (!agent->activity)
		return;
	if (door != GP_AGENT_DOORS && agent->door[door].id == queue->id)
		__atomic_store_n(&agent->door[door].object, TOMBSTONE, __ATOMIC_RELEASE);
	slot = &agent->activity->slot[queue->id];
	gp_agent_fall(agent, queue->id, GP_ACTIVITY_DRAINED,
		      __atomic_load_n(&slot->doorbells, __ATOMIC_SEQ_CST), false);
	__atomic_add_fetch(&slot->generation, 1, __ATOMIC_SEQ_CST);
	slot->ring = 0;
	slot->suspended = 0;
	__atomic_add_fetch(&slot->generation, 1, __ATOMIC_SEQ_CST);
}

void gp_agent_request(struct gp_agent *agent, bool begin, u64 deadline_us)
{
	struct gp_proto_msg_request request = {.deadline_us = begin ? deadline_us : 0,
					       .begin = begin};
	struct gp_proto_activity *activity = __atomic_load_n(&agent->activity, __ATOMIC_ACQUIRE);

	if (!activity) {
		gp_agent_early_request(agent, begin);
		return;
	}
	/* An end without a begin counts for nothing. */
	request.open = __atomic_load_n(&activity->open_requests, __ATOMIC_RELAXED);
	do {
		if (!begin && !request.open)
			return;
	} while (!__atomic_compare_exchange_n(&activity->open_requests, &request.open,
					      begin ? request.open + 1 : request.open - 1, true,
					      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	request.open += begin ? 1 : -1u;
	request.now_ns = gp_agent_now(agent);
	if (__atomic_load_n(&agent->watchers, __ATOMIC_SEQ_CST))
		gp_agent_tell(agent, GP_MSG_AGENT_REQUEST, &request, sizeof(request), true);
}
