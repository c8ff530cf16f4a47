// SPDX-License-Identifier: MIT
/*
 * The logical priority of queues inside the driver. A driver with the patches of kernel/patches
 * keeps one per queue and schedules by it; it learns here what the program was started with, what
 * `gpreempt renice` or a rule of gpreemptd made of it, and the step of the stream behind each
 * queue. Such an update reloads nothing. Other drivers are asked once: ENOTTY (Linux) and EINVAL
 * (the ROCm DKMS driver) both mean that they know no logical priority.
 */
#include "agent/agent.h"

#include <errno.h>

#include "abi/kfd_sched.h"

static bool driver_has_priorities(struct gp_agent *agent)
{
	struct gp_kfd_get_queue_sched_args args = {.queue_id = GP_KFD_QUEUE_SCHED_NO_QUEUE};

	if (!agent->sched_asked) {
		agent->sched_asked = true;
		if (gp_agent_call(agent, agent->kfd, GP_KFD_IOC_GET_QUEUE_SCHED, &args) == 0)
			agent->sched_features = args.features;
	}
	return agent->sched_features & GP_KFD_QUEUE_SCHED_PRIORITY;
}

/* What the driver is to have; gp_agent_logical_priority() is what the program has. */
static u32 driver_priority(const struct gp_agent *agent, const struct gp_agent_queue *queue)
{
	u32 most = GP_MAX(agent->ruled, agent->ruled_most);
	int priority = (int)agent->ruled + queue->stream * GP_AGENT_STREAM_STEP;

	if (!agent->ruled_by)
		return gp_agent_logical_priority(agent, queue);
	return priority < 0 ? 0 : GP_MIN((u32)priority, most);
}

static int set_in_driver(struct gp_agent *agent, struct gp_agent_queue *queue, u32 priority)
{
	struct gp_kfd_update_queue_sched_args args = {
		.queue = {.ring_base_address = queue->ring,
			  .queue_id = queue->id,
			  .ring_size = queue->ring_bytes,
			  .queue_percentage = queue->driver_percentage,
			  .queue_priority = queue->priority},
		.logical_priority = priority,
		.sched_flags = GP_KFD_QUEUE_SCHED_SET_PRIORITY,
	};
	int result = gp_agent_call(agent, agent->kfd,
				   _IOC(_IOC_DIR(GP_KFD_IOC_UPDATE_QUEUE), GP_KFD_IOC_TYPE,
					_IOC_NR(GP_KFD_IOC_UPDATE_QUEUE), sizeof(args)),
				   &args);

	if (result == 0)
		queue->driver_logical = priority;
	return result;
}

void gp_agent_inform_driver(struct gp_agent *agent, struct gp_agent_queue *queue)
{
	u32 priority = driver_priority(agent, queue);
	int error = errno;

	if (queue->leaving || queue->asked_logical == priority || !driver_has_priorities(agent))
		return;
	/* EACCES: above amdgpu.max_logical_priority, as class online is for a program without
	 * privilege. It gets what is just below; if not even that, the queue keeps the priority
	 * that it has. The driver is asked again when another one is wanted. */
	queue->asked_logical = priority;
	if (set_in_driver(agent, queue, priority) && errno == EACCES &&
	    priority >= GP_PRIORITY_ONLINE)
		set_in_driver(agent, queue, GP_PRIORITY_ONLINE - 1);
	errno = error;
}

void gp_agent_inform_driver_of_all(struct gp_agent *agent)
{
	for (u32 id = 0; id < agent->highest; id++)
		if (agent->queue[id].used)
			gp_agent_inform_driver(agent, &agent->queue[id]);
}

int gp_agent_set_ruled(struct gp_agent *agent, const struct gp_agent_owner *owner, u32 priority,
		       u32 most)
{
	if (priority == UINT32_MAX) {
		gp_agent_drop_ruled(agent, owner);
		return 0;
	}
	if (priority > GP_PRIORITY_MAX)
		return -EINVAL;
	agent->ruled = priority;
	agent->ruled_most = GP_MIN(most, (u32)GP_PRIORITY_MAX);
	agent->ruled_by = (u32)(owner - agent->owner) + 1;
	gp_agent_inform_driver_of_all(agent);
	return 0;
}

void gp_agent_drop_ruled(struct gp_agent *agent, const struct gp_agent_owner *owner)
{
	if (agent->ruled_by != (u32)(owner - agent->owner) + 1)
		return;
	agent->ruled_by = 0;
	gp_agent_inform_driver_of_all(agent);
}
