// SPDX-License-Identifier: MIT
/* What the agent answers to one message. */
#include "agent/agent.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "abi/amd_queue.h"

static int accept_it(int fd, const struct gp_proto_msg *ask, int status, const void *body,
		     size_t size)
{
	return gp_wire_send(fd, ask->type, ask->serial, status, body, size, -1);
}

static int hello(struct gp_agent *agent, u32 index, const struct gp_wire_message *message)
{
	struct gp_agent_connection *connection = &agent->connection[index];
	struct gp_proto_msg_hello me = {.pid = (u32)getpid()};

	if (!gp_wire_fits(message, sizeof(me), 0, 0))
		return -EPROTO;
	pthread_mutex_lock(&agent->lock);
	me.priority = agent->identity.priority;
	me.job_class = agent->identity.job_class;
	me.weight = agent->identity.weight;
	me.deadline_us = agent->identity.deadline_us;
	memcpy(me.group, agent->identity.group, sizeof(me.group));
	memcpy(me.name, agent->identity.name, sizeof(me.name));
	pthread_mutex_unlock(&agent->lock);
	pthread_mutex_lock(&agent->watch_lock);
	connection->greeted = true;
	pthread_mutex_unlock(&agent->watch_lock);
	return accept_it(connection->fd, &message->header, 0, &me, sizeof(me));
}

/* ---- queues ---- */

static bool is_aql(const struct gp_agent_queue *queue)
{
	return queue->type == GP_KFD_QUEUE_COMPUTE_AQL;
}

static void describe(struct gp_agent *agent, struct gp_agent_queue *queue,
		     struct gp_proto_msg_queue *out)
{
	*out = (struct gp_proto_msg_queue){
		.pid = (s32)getpid(),
		.gpu_id = queue->gpu_id,
		.valid = GP_QUEUE_HAS_KFD_ID | GP_QUEUE_HAS_RING | GP_QUEUE_HAS_PRIORITY,
		.kfd_id = queue->id,
		.type = queue->type,
		.state = queue->error      ? GP_QUEUE_IS_FAILED
			 : queue->since_ns ? GP_QUEUE_IS_SUSPENDED
					   : GP_QUEUE_IS_RUNNING,
		.ring = queue->ring,
		.ring_bytes = queue->ring_bytes,
		.hardware_priority = queue->priority,
		.logical_priority = gp_agent_logical_priority(agent, queue),
		.since_ns = queue->since_ns,
	};
	if (gp_agent_peek_indices(agent, queue, &out->read_index, &out->write_index))
		out->valid |= GP_QUEUE_HAS_POINTERS;
	if (is_aql(queue)) {
		u64 object = queue->read_pointer - offsetof(struct gp_amd_queue, read_dispatch_id);

		out->object = object;
		out->valid |= GP_QUEUE_HAS_OBJECT;
		if (gp_agent_peek(agent, object + offsetof(struct gp_hsa_queue, id), &out->hsa_id,
				  sizeof(out->hsa_id)))
			out->valid |= GP_QUEUE_HAS_HSA_ID;
	}
	if (gp_agent_busy(agent, queue, &out->busy))
		out->valid |= GP_QUEUE_HAS_ACTIVITY;
	for (u32 i = 0; i < GP_AGENT_CONNECTIONS && queue->since_ns && !out->owner_pid; i++)
		if (gp_agent_owner_holds(&agent->owner[i], queue))
			out->owner_pid = agent->owner[i].pid;
}

/* The answer is built where the question was. */
static int queues(struct gp_agent *agent, int fd, struct gp_wire_message *message)
{
	struct gp_proto_msg_queues *list = (struct gp_proto_msg_queues *)message->body;
	struct gp_proto_msg ask = message->header;
	u32 total;

	if (!gp_wire_fits(message, 0, 0, 0))
		return -EPROTO;
	*list = (struct gp_proto_msg_queues){0};
	pthread_mutex_lock(&agent->lock);
	for (u32 id = 0; id < agent->highest && list->count < GP_PROTO_QUEUES; id++)
		if (agent->queue[id].used)
			describe(agent, &agent->queue[id], &list->queues[list->count++]);
	list->count += gp_agent_nv_describe(agent, list->queues + list->count,
					    GP_PROTO_QUEUES - list->count);
	total = agent->queue_count + agent->nv.groups;
	pthread_mutex_unlock(&agent->lock);
	return accept_it(fd, &ask, (int)total, list,
			 sizeof(*list) + list->count * sizeof(list->queues[0]));
}

/* ---- suspend and resume ---- */

static enum gp_proto_code reason(int error)
{
	switch (error) {
	case -EINVAL:
		return GP_SAY_HOLD_RANGE;
	case -ENOENT:
		return GP_SAY_QUEUE_NAMED;
	case -ENOLCK:
		return GP_SAY_NOTHING_HELD;
	case -ETIME:
		return GP_SAY_NOT_STOPPED;
	default:
		return GP_SAY_DRIVER_REFUSED;
	}
}

static int change(struct gp_agent *agent, u32 index, const struct gp_wire_message *message)
{
	const struct gp_proto_msg_suspend *ask = (const struct gp_proto_msg_suspend *)message->body;
	struct gp_agent_owner *owner = &agent->owner[index];
	int fd = agent->connection[index].fd, result;
	struct gp_proto_msg_done done = {0};

	if (message->header.size < sizeof(message->header) + sizeof(*ask) ||
	    ask->count > GP_PROTO_IDS ||
	    !gp_wire_fits(message, sizeof(*ask), ask->count, sizeof(ask->ids[0])))
		return -EPROTO;
	pthread_mutex_lock(&agent->lock);
	if (message->header.type == GP_MSG_AGENT_SUSPEND)
		result = gp_agent_suspend(agent, owner, ask, &done);
	else if (message->header.type == GP_MSG_AGENT_RESUME)
		result = gp_agent_resume(agent, owner, ask, &done);
	else
		result = gp_agent_renew(agent, owner, ask);
	pthread_mutex_unlock(&agent->lock);
	if (result < 0)
		return gp_wire_refuse(fd, &message->header, result, reason(result));
	if (message->header.type == GP_MSG_AGENT_RENEW)
		return accept_it(fd, &message->header, 0, NULL, 0);
	return accept_it(fd, &message->header, result, &done, sizeof(done));
}

static int set_value(struct gp_agent *agent, u32 index, const struct gp_wire_message *message)
{
	const struct gp_proto_msg_value *ask = (const struct gp_proto_msg_value *)message->body;
	int fd = agent->connection[index].fd, error = 0;

	if (!gp_wire_fits(message, sizeof(*ask), 0, 0))
		return -EPROTO;
	pthread_mutex_lock(&agent->lock);
	if (message->header.type == GP_MSG_AGENT_SHARE) {
		error = gp_agent_set_share(agent, &agent->owner[index], ask->target, ask->value);
	} else if (message->header.type == GP_MSG_AGENT_RULED) {
		error = gp_agent_set_ruled(agent, &agent->owner[index], ask->value, ask->target);
	} else if (ask->value > GP_PRIORITY_MAX) {
		error = -EINVAL;
	} else {
		agent->identity.priority = ask->value;
		gp_agent_show_all(agent);
		gp_agent_inform_driver_of_all(agent);
	}
	pthread_mutex_unlock(&agent->lock);
	/* Watchers see it in their memory when they next look, which may be long from now. */
	if (message->header.type == GP_MSG_AGENT_PRIORITY && !error)
		gp_agent_tell(agent, GP_MSG_AGENT_CHANGED, NULL, 0, false);
	if (error)
		return gp_wire_refuse(fd, &message->header, error,
				      error == -EINVAL ? GP_SAY_VALUE_RANGE : reason(error));
	return accept_it(fd, &message->header, 0, NULL, 0);
}

static int watch(struct gp_agent *agent, u32 index, const struct gp_wire_message *message)
{
	const struct gp_proto_msg_target *ask = (const struct gp_proto_msg_target *)message->body;
	struct gp_agent_connection *connection = &agent->connection[index];

	if (!gp_wire_fits(message, sizeof(*ask), 0, 0))
		return -EPROTO;
	pthread_mutex_lock(&agent->lock);
	gp_agent_make_activity(agent);
	pthread_mutex_unlock(&agent->lock);
	if (agent->activity_fd < 0)
		return gp_wire_refuse(connection->fd, &message->header, -ENODEV,
				      GP_SAY_NO_DESCRIPTOR);
	pthread_mutex_lock(&agent->watch_lock);
	if (connection->watching != (ask->target != 0))
		__atomic_add_fetch(&agent->watchers, ask->target ? 1 : -1u, __ATOMIC_SEQ_CST);
	connection->watching = ask->target != 0;
	pthread_mutex_unlock(&agent->watch_lock);
	pthread_mutex_lock(&agent->lock);
	gp_agent_look(agent);
	gp_agent_look_later(agent);
	pthread_mutex_unlock(&agent->lock);
	return gp_wire_send(connection->fd, message->header.type, message->header.serial, 0, NULL,
			    0, agent->activity_fd);
}

static int ahead(struct gp_agent *agent, int fd, const struct gp_wire_message *message)
{
	struct gp_proto_msg_ahead learned = {.state = GP_AHEAD_NONE};

	if (!gp_wire_fits(message, 0, 0, 0))
		return -EPROTO;
	if (agent->driver.ahead)
		agent->driver.ahead(agent->driver.data, &learned);
	return accept_it(fd, &message->header, 0, &learned, sizeof(learned));
}

int gp_agent_answer(struct gp_agent *agent, u32 index, struct gp_wire_message *message)
{
	const struct gp_agent_connection *connection = &agent->connection[index];

	if (message->header.type == GP_MSG_HELLO)
		return hello(agent, index, message);
	if (!connection->greeted)
		return -EPROTO;
	switch (message->header.type) {
	case GP_MSG_AGENT_WATCH:
		return watch(agent, index, message);
	case GP_MSG_AGENT_QUEUES:
		return queues(agent, connection->fd, message);
	case GP_MSG_AGENT_SUSPEND:
	case GP_MSG_AGENT_RESUME:
	case GP_MSG_AGENT_RENEW:
		return change(agent, index, message);
	case GP_MSG_AGENT_SHARE:
	case GP_MSG_AGENT_PRIORITY:
	case GP_MSG_AGENT_RULED:
		return set_value(agent, index, message);
	case GP_MSG_AGENT_AHEAD:
		return ahead(agent, connection->fd, message);
	default:
		return gp_wire_refuse(connection->fd, &message->header, -EOPNOTSUPP,
				      GP_SAY_UNKNOWN_REQUEST);
	}
}
