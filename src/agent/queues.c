// SPDX-License-Identifier: MIT
/* The program's calls about its queues: each is passed on to the driver and recorded. */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "abi/kfd_debug.h"
#include "abi/kfd_sched.h"

#define ARGS_MAX      256
#define CREATE_MIN    offsetof(struct gp_kfd_create_queue_args, sdma_engine_id)
#define NORMAL        7 /* hardware priority of a stream that asked for none */
#define RUNTIME_TRIES 16

void gp_agent_init(struct gp_agent *agent, const struct gp_agent_driver *driver)
{
	/* Field by field where zero is wrong; the rest of a static agent is zero, and touching its
	 * large arrays would cost memory in programs that never see a GPU. */
	agent->driver = *driver;
	pthread_mutex_init(&agent->lock, NULL);
	pthread_mutex_init(&agent->watch_lock, NULL);
	agent->kfd = agent->listen = agent->timer = agent->activity_fd = -1;
	agent->share = GP_SHARE_ALL;
	for (u32 i = 0; i < GP_AGENT_CONNECTIONS; i++)
		agent->connection[i].fd = -1;
	for (u32 i = 0; i < GP_AGENT_OWN_FDS; i++)
		agent->own_fd[i] = -1;
}

u32 gp_agent_logical_priority(const struct gp_agent *agent, const struct gp_agent_queue *queue)
{
	int priority = (int)agent->identity.priority + queue->stream * GP_AGENT_STREAM_STEP;

	if (priority < 0)
		return 0;
	return priority > GP_PRIORITY_MAX ? GP_PRIORITY_MAX : (u32)priority;
}

static struct gp_agent_queue *find(struct gp_agent *agent, u32 id)
{
	return id < GP_AGENT_QUEUES && agent->queue[id].used ? &agent->queue[id] : NULL;
}

/* ---- the program's calls ---- */

/* Ours stays open when the program closes its own; the driver knows a process, not a descriptor. */
static void keep_descriptor(struct gp_agent *agent, int fd)
{
	if (agent->kfd_is_ours)
		return;
	agent->kfd = gp_agent_own(agent, fcntl(fd, F_DUPFD_CLOEXEC, 0));
	agent->kfd_is_ours = agent->kfd >= 0;
	if (!agent->kfd_is_ours)
		agent->kfd = fd;
}

/* For runtimes too old to do it, so that the process can also be stopped from outside. It must come
 * before the first queue. Waits for a debugger that is attached, so no lock is held. */
static void enable_runtime(struct gp_agent *agent, int fd)
{
	struct gp_kfd_runtime_enable_args args = {.mode_mask = GP_KFD_RUNTIME_ENABLE};
	struct gp_kfd_get_version_args version = {0};
	bool wanted_now;

	pthread_mutex_lock(&agent->lock);
	wanted_now = !agent->runtime_asked && !agent->queue_count;
	if (wanted_now && !agent->kfd_minor &&
	    !gp_agent_call(agent, fd, GP_KFD_IOC_GET_VERSION, &version))
		agent->kfd_minor = version.minor_version;
	wanted_now = wanted_now && agent->kfd_minor >= GP_KFD_MINOR_DEBUG;
	if (wanted_now)
		agent->runtime_asked = true;
	pthread_mutex_unlock(&agent->lock);
	if (!wanted_now)
		return;
	if (agent->driver.symbol)
		args.r_debug =
			(uintptr_t)agent->driver.symbol(agent->driver.data, "_amdgpu_r_debug");
	/* EBUSY: it is on. EEXIST: a queue was faster. Both are as well as can be. */
	for (int i = 0; i < RUNTIME_TRIES; i++)
		if (!gp_agent_call(agent, fd, GP_KFD_IOC_RUNTIME_ENABLE, &args) || errno != EINTR)
			break;
}

/* Only compute queues have streams; DMA queues are created at the highest priority. */
static int stream_of(const struct gp_agent_queue *queue)
{
	if (queue->type != GP_KFD_QUEUE_COMPUTE && queue->type != GP_KFD_QUEUE_COMPUTE_AQL)
		return 0;
	return (queue->priority > NORMAL) - (queue->priority < NORMAL);
}

static void record(struct gp_agent *agent, const struct gp_kfd_create_queue_args *args,
		   u32 percentage)
{
	struct gp_agent_queue *queue;

	if (args->queue_id >= GP_AGENT_QUEUES)
		return;
	queue = &agent->queue[args->queue_id];
	if (queue->used) { /* destroyed behind our back */
		gp_agent_forget_id(agent, queue->id);
		gp_agent_hide(agent, queue);
	} else {
		agent->queue_count++;
	}
	*queue = (struct gp_agent_queue){
		.used = true,
		.serial = ++agent->serial,
		.id = args->queue_id,
		.gpu_id = args->gpu_id,
		.type = args->queue_type,
		.ring = args->ring_base_address,
		.read_pointer = args->read_pointer_address,
		.write_pointer = args->write_pointer_address,
		.ring_bytes = args->ring_size,
		.percentage = percentage,
		.priority = args->queue_priority,
		.driver_percentage = args->queue_percentage,
		.asked_logical = GP_KFD_LOGICAL_PRIORITY_DEFAULT,
		.driver_logical = GP_KFD_LOGICAL_PRIORITY_DEFAULT,
	};
	queue->stream = stream_of(queue);
	if (agent->highest <= queue->id)
		agent->highest = queue->id + 1;
	if (gp_agent_held(agent, queue))
		queue->since_ns = gp_agent_now(agent);
	gp_agent_appear(agent, queue);
	gp_agent_share_queue(agent, queue);
	gp_agent_inform_driver(agent, queue);
}

static bool all_held(const struct gp_agent *agent)
{
	for (u32 i = 0; i < GP_AGENT_CONNECTIONS; i++)
		if (agent->owner[i].lease_end && agent->owner[i].all)
			return true;
	return false;
}

int gp_agent_create_queue(struct gp_agent *agent, int fd, unsigned long request, void *args)
{
	union {
		struct gp_kfd_create_queue_args queue;
		u8 bytes[ARGS_MAX];
	} mine = {0};
	size_t size = _IOC_SIZE(request);
	u32 percentage;
	int result, error;

	if (size < CREATE_MIN || size > ARGS_MAX)
		return gp_agent_call(agent, fd, request, args);
	if (!gp_agent_take_args(args, &mine, size))
		return gp_agent_call(agent, fd, request, args);
	gp_agent_serve(agent);
	enable_runtime(agent, fd);
	percentage = mine.queue.queue_percentage;

	pthread_mutex_lock(&agent->lock);
	/* Born standing still: it never runs a packet while the others are held. */
	if (all_held(agent) && (percentage & GP_AGENT_PERCENT) <= GP_KFD_MAX_QUEUE_PERCENTAGE)
		mine.queue.queue_percentage = percentage & ~GP_AGENT_PERCENT;
	result = gp_agent_call(agent, fd, request, &mine);
	error = errno;
	if (result == 0) {
		keep_descriptor(agent, fd);
		record(agent, &mine.queue, percentage);
	}
	pthread_mutex_unlock(&agent->lock);

	mine.queue.queue_percentage = percentage;
	/* Also on errors, as the driver does; into memory that cannot be written, with its error.
	 */
	if (!gp_agent_give_args(args, &mine, size) && result == 0) {
		result = -1;
		error = EFAULT;
	}
	if (result == 0)
		gp_agent_tell(agent, GP_MSG_AGENT_CHANGED, NULL, 0, false);
	errno = error;
	return result;
}

/*
 * A queue that a debugger suspended makes DESTROY_QUEUE wait, so the lock is not held meanwhile:
 * leases must go on. The record is marked instead.
 */
int gp_agent_destroy_queue(struct gp_agent *agent, int fd, unsigned long request, void *args)
{
	struct gp_kfd_destroy_queue_args mine;
	struct gp_agent_queue *queue;
	u32 id, serial = 0;
	int result, error;

	if (!gp_agent_take_args(args, &mine, sizeof(mine)))
		return gp_agent_call(agent, fd, request, args);
	id = mine.queue_id;
	pthread_mutex_lock(&agent->lock);
	queue = find(agent, id);
	if (queue) {
		queue->leaving = true;
		serial = queue->serial;
	}
	pthread_mutex_unlock(&agent->lock);

	result = gp_agent_call(agent, fd, request, args);
	error = errno;

	pthread_mutex_lock(&agent->lock);
	queue = find(agent, id);
	if (queue && queue->serial == serial) {
		struct gp_agent_cost cost = {0};

		if (result == 0) {
			queue->used = false;
			agent->queue_count--;
			gp_agent_forget_id(agent, id);
			gp_agent_hide(agent, queue);
		} else {
			queue->leaving = false;
			gp_agent_settle(agent, 0, &cost);
		}
	}
	pthread_mutex_unlock(&agent->lock);
	if (result == 0)
		gp_agent_tell(agent, GP_MSG_AGENT_CHANGED, NULL, 0, false);
	errno = error;
	return result;
}

/* True when the driver has all of this already. */
static bool changes_nothing(const struct gp_agent_queue *queue,
			    const struct gp_kfd_update_queue_args *args)
{
	return args->ring_base_address == queue->ring && args->ring_size == queue->ring_bytes &&
	       args->queue_priority == queue->priority &&
	       args->queue_percentage == queue->driver_percentage;
}

/* While it is held the program's wish for a percentage is kept for later; the rest is done. */
static int update_held(struct gp_agent *agent, struct gp_agent_queue *queue, int fd,
		       unsigned long request, const struct gp_kfd_update_queue_args *args)
{
	union {
		struct gp_kfd_update_queue_args update;
		u8 bytes[ARGS_MAX];
	} mine = {0};

	memcpy(&mine, args, _IOC_SIZE(request));
	mine.update.queue_percentage &= ~GP_AGENT_PERCENT;
	if (changes_nothing(queue, &mine.update))
		return 0;
	return gp_agent_call(agent, fd, request, &mine);
}

int gp_agent_update_queue(struct gp_agent *agent, int fd, unsigned long request, void *data)
{
	union {
		struct gp_kfd_update_queue_args update;
		u8 bytes[ARGS_MAX];
	} mine;
	const struct gp_kfd_update_queue_args *args = &mine.update;
	struct gp_agent_queue *queue;
	bool held, stepped = false;
	int result, error;

	if (_IOC_SIZE(request) < sizeof(*args) || _IOC_SIZE(request) > ARGS_MAX ||
	    !gp_agent_take_args(data, &mine, _IOC_SIZE(request)))
		return gp_agent_call(agent, fd, request, data);
	pthread_mutex_lock(&agent->lock);
	queue = find(agent, args->queue_id);
	/* What the driver will refuse is not ours to judge. */
	held = queue && gp_agent_held(agent, queue) &&
	       (args->queue_percentage & GP_AGENT_PERCENT) <= GP_KFD_MAX_QUEUE_PERCENTAGE;
	result = held ? update_held(agent, queue, fd, request, args)
		      : gp_agent_call(agent, fd, request, data);
	error = errno;
	if (result == 0 && queue) {
		queue->ring = args->ring_base_address;
		queue->ring_bytes = args->ring_size;
		queue->percentage = args->queue_percentage;
		queue->priority = args->queue_priority;
		queue->driver_percentage =
			held ? args->queue_percentage & ~GP_AGENT_PERCENT : args->queue_percentage;
		queue->error = 0;
		stepped = queue->stream != stream_of(queue);
		queue->stream = stream_of(queue);
		gp_agent_show(agent, queue);
		gp_agent_inform_driver(agent, queue);
	}
	pthread_mutex_unlock(&agent->lock);
	if (stepped)
		gp_agent_tell(agent, GP_MSG_AGENT_CHANGED, NULL, 0, false);
	errno = error;
	return result;
}

/* The runtime makes a queue first and then says what its stream asked for: whoever watches has the
 * queue already. */
void gp_agent_set_stream(struct gp_agent *agent, u64 object, int stream)
{
	bool stepped = false;
	int id;

	pthread_mutex_lock(&agent->lock);
	id = gp_agent_queue_of(agent, object);
	if (id >= 0 && agent->queue[id].used && stream >= -1 && stream <= 1) {
		stepped = agent->queue[id].stream != stream;
		agent->queue[id].stream = stream;
		gp_agent_show(agent, &agent->queue[id]);
		gp_agent_inform_driver(agent, &agent->queue[id]);
	}
	pthread_mutex_unlock(&agent->lock);
	if (stepped)
		gp_agent_tell(agent, GP_MSG_AGENT_CHANGED, NULL, 0, false);
}

int gp_agent_get_version(struct gp_agent *agent, int fd, unsigned long request, void *args)
{
	int result = gp_agent_call(agent, fd, request, args);

	if (result == 0) {
		pthread_mutex_lock(&agent->lock);
		agent->kfd_minor = ((struct gp_kfd_get_version_args *)args)->minor_version;
		pthread_mutex_unlock(&agent->lock);
	}
	return result;
}

int gp_agent_runtime_enable(struct gp_agent *agent, int fd, unsigned long request, void *args)
{
	int result = gp_agent_call(agent, fd, request, args);

	if (result == 0) {
		pthread_mutex_lock(&agent->lock);
		agent->runtime_asked = ((struct gp_kfd_runtime_enable_args *)args)->mode_mask &
				       GP_KFD_RUNTIME_ENABLE;
		pthread_mutex_unlock(&agent->lock);
	}
	return result;
}
