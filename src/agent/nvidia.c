// SPDX-License-Identifier: MIT
/*
 * CUDA programs: the channel groups that libcuda makes through NVIDIA's resource manager, as the
 * program's own calls tell. Nothing is stopped from in here: the holder does that from outside
 * (nv-suspend, nv-timeslice). What the agent adds is that whoever watches agents learns of the
 * program with its first group, with the class and priority that it was started with, and of every
 * group that comes and goes.
 */
#include "agent/agent.h"

#include <string.h>
#include <unistd.h>

#include "abi/nvrm_ioctl.h"

enum { FREE, DEVICE, GROUP, CHANNEL };

/* As gpu/gpu.h has it: PCI vendor and minor. The manager's number of a device is taken for the
 * minor, which holds where GPUs are brought up in order. */
#define GPU_ID 0x10de0000u

static struct gp_agent_nv_object *find(struct gp_agent *agent, u32 client, u32 handle)
{
	for (u32 i = 0; i < agent->nv.highest; i++) {
		struct gp_agent_nv_object *o = &agent->nv.object[i];

		if (o->kind != FREE && o->client == client && o->handle == handle)
			return o;
	}
	return NULL;
}

/* A table that is full misses groups; they are found from outside. */
static void add(struct gp_agent *agent, const struct gp_agent_nv_object *made, u32 kind)
{
	u32 i = 0;

	while (i < agent->nv.highest && agent->nv.object[i].kind != FREE)
		i++;
	if (i == GP_AGENT_NV_OBJECTS)
		return;
	agent->nv.object[i] = *made;
	agent->nv.object[i].kind = kind;
	agent->nv.object[i].compute = false;
	if (i == agent->nv.highest)
		agent->nv.highest++;
}

/* A compute object was put on a channel. True: its group was none of kernels before. */
static bool mark(struct gp_agent *agent, u32 client, u32 channel_handle)
{
	const struct gp_agent_nv_object *channel = find(agent, client, channel_handle);
	struct gp_agent_nv_object *group, *device;

	group = channel && channel->kind == CHANNEL ? find(agent, client, channel->parent) : NULL;
	if (!group || group->kind != GROUP || group->compute)
		return false;
	device = find(agent, client, group->parent);
	group->device = device ? device->device : 0;
	group->compute = true;
	agent->nv.groups++;
	return true;
}

void gp_agent_nv_made(struct gp_agent *agent, const struct gp_agent_nv_object *made, u32 class_id)
{
	bool changed = false;

	if (gp_nv_class_is_compute(class_id))
		gp_agent_serve(agent);
	pthread_mutex_lock(&agent->lock);
	if (class_id == GP_NV_CLASS_DEVICE)
		add(agent, made, DEVICE);
	else if (class_id == GP_NV_CLASS_GROUP)
		add(agent, made, GROUP);
	else if (gp_nv_class_is_channel(class_id))
		add(agent, made, CHANNEL);
	else if (gp_nv_class_is_compute(class_id))
		changed = mark(agent, made->client, made->parent);
	pthread_mutex_unlock(&agent->lock);
	if (changed)
		gp_agent_tell(agent, GP_MSG_AGENT_CHANGED, NULL, 0, false);
}

/* With everything below it. */
static bool drop(struct gp_agent *agent, u32 client, u32 handle)
{
	bool changed = false;

	for (u32 i = 0; i < agent->nv.highest; i++) {
		struct gp_agent_nv_object *o = &agent->nv.object[i];

		if (o->kind == FREE || o->client != client)
			continue;
		if (o->parent != handle && o->handle != handle && client != handle)
			continue;
		/* Before its own children: records that are stale may name each other. */
		changed |= o->compute;
		agent->nv.groups -= o->compute;
		o->kind = FREE;
		if (o->handle != handle)
			changed |= drop(agent, client, o->handle);
	}
	while (agent->nv.highest && agent->nv.object[agent->nv.highest - 1].kind == FREE)
		agent->nv.highest--;
	return changed;
}

void gp_agent_nv_freed(struct gp_agent *agent, u32 client, u32 handle)
{
	bool changed;

	pthread_mutex_lock(&agent->lock);
	changed = drop(agent, client, handle);
	pthread_mutex_unlock(&agent->lock);
	if (changed)
		gp_agent_tell(agent, GP_MSG_AGENT_CHANGED, NULL, 0, false);
}

u32 gp_agent_nv_describe(const struct gp_agent *agent, struct gp_proto_msg_queue *out, u32 room)
{
	u32 count = 0;

	for (u32 i = 0; i < agent->nv.highest && count < room; i++) {
		const struct gp_agent_nv_object *o = &agent->nv.object[i];

		if (o->kind == GROUP && o->compute)
			out[count++] = (struct gp_proto_msg_queue){
				.pid = (s32)getpid(),
				.gpu_id = GPU_ID + o->device,
				.valid = GP_QUEUE_HAS_KFD_ID | GP_QUEUE_HAS_PRIORITY,
				.kfd_id = o->handle,
				.state = GP_QUEUE_IS_RUNNING,
				.logical_priority = agent->identity.priority,
			};
	}
	return count;
}
