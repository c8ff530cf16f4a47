// SPDX-License-Identifier: MIT
/* The messages of an agent: introduction, memory, queues, edges, hints. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "gpu/gpu.h"

static int ask(struct gp_daemon_client *client, u16 type, const void *body, size_t size)
{
	return gp_wire_send(client->watch.fd, type, ++client->serial, 0, body, size, -1);
}

/* One list at a time: what changes meanwhile is in the next one. */
static int ask_list(struct gp_daemon_client *client)
{
	if (client->listing) {
		client->ask_again = true;
		return 0;
	}
	client->listing = true;
	return ask(client, GP_MSG_AGENT_QUEUES, NULL, 0);
}

void gp_daemon_agent_confirm(struct gp_daemon_client *client)
{
	if (client->list_claim != GP_CLAIM_HOLDS)
		ask_list(client);
}

static void greet(struct gp_daemon_client *client)
{
	struct gp_proto_msg_hello me = {.pid = (u32)getpid(), .name = "gpreemptd"};

	ask(client, GP_MSG_HELLO, &me, sizeof(me));
}

void gp_daemon_agent_greet(struct gp_daemon_client *client)
{
	client->state = GP_CLIENT_HELLO;
	/* Its buffer is empty; if this fails it never answers and is left. */
	greet(client);
}

static int watch(struct gp_daemon_client *client)
{
	struct gp_proto_msg_target on = {.target = 1};

	return ask(client, GP_MSG_AGENT_WATCH, &on, sizeof(on));
}

static bool driver_may_know_priorities(const struct gp_daemon_client *client)
{
	for (size_t i = 0; i < client->queue_count; i++)
		if (gp_gpu_has(client->queues[i].gpu_id, GP_GPU_QUEUE_PRIORITY))
			return true;
	return false;
}

/* The agent itself gives the driver what the program wishes, which a rule or a ceiling may change.
 * A driver without priorities is none of our business: the agent knows. */
void gp_daemon_agent_rule(struct gp_daemon_client *client)
{
	const struct gp_daemon_config *config = &client->daemon->config;
	struct gp_proto_msg_value it = {.value = GP_DAEMON_NONE};

	if (client->attached || client->state != GP_CLIENT_READY ||
	    !driver_may_know_priorities(client))
		return;
	if (config->mode == GP_MODE_ACT && client->job->spec.priority != client->wish.priority) {
		it.value = client->job->spec.priority;
		it.target = gp_daemon_who_ceiling(config, &client->who,
						  gp_daemon_rule_find(config, &client->who));
	}
	if ((client->ruled == it.value && client->ruled_most == it.target) ||
	    ask(client, GP_MSG_AGENT_RULED, &it, sizeof(it)))
		return;
	client->ruled = it.value;
	client->ruled_most = it.target;
}

/* The answer to the first greeting, and to later ones when its priority was changed. */
static int hello(struct gp_daemon_client *client, const struct gp_wire_message *message)
{
	struct gp_daemon *daemon = client->daemon;
	struct gp_proto_msg_hello it;

	if (!gp_wire_fits(message, sizeof(it), 0, 0))
		return -EPROTO;
	memcpy(&it, message->body, sizeof(it));
	client->wish = (struct gp_daemon_wish){
		.job_class = it.job_class,
		.priority = it.priority,
		/* An agent's usual weight is 1. */
		.weight = GP_MIN(it.weight, GP_SCHED_WEIGHT_MAX / GP_SCHED_WEIGHT_DEFAULT) *
			  GP_SCHED_WEIGHT_DEFAULT,
	};
	if (client->state == GP_CLIENT_READY) {
		gp_daemon_host_respec(daemon, client->job);
		return 0;
	}
	gp_wire_text(client->group, sizeof(client->group), it.group, sizeof(it.group));
	if (it.name[0])
		gp_wire_text(client->who.name, sizeof(client->who.name), it.name, sizeof(it.name));
	client->state = GP_CLIENT_WATCH;
	return watch(client);
}

/* An agent whose program has no queue yet has nothing to show, and refuses: it is asked again when
 * there is one. */
static int watching(struct gp_daemon_client *client, const struct gp_wire_message *message)
{
	client->watching = message->header.status >= 0;
	if (client->watching && !client->activity)
		(void)gp_proto_activity_map(message->fd, &client->activity);
	if (client->state == GP_CLIENT_READY) {
		gp_daemon_agent_look(client, gp_monotonic_ns());
		gp_daemon_host_respec(client->daemon, client->job); /* it may be parked now */
		return 0;
	}
	int error = gp_daemon_host_join(client->daemon, client);
	if (error)
		return error;
	client->state = GP_CLIENT_QUEUES;
	return ask_list(client);
}

static int queues(struct gp_daemon_client *client, const struct gp_wire_message *message)
{
	const struct gp_proto_msg_queues *list = (const struct gp_proto_msg_queues *)message->body;

	client->listing = false;
	if (message->header.status < 0)
		return -EPROTO;
	if (message->header.size < sizeof(message->header) + sizeof(*list) ||
	    list->count > GP_PROTO_QUEUES ||
	    !gp_wire_fits(message, sizeof(*list), list->count, sizeof(list->queues[0])))
		return -EPROTO;
	if (client->state == GP_CLIENT_QUEUES) {
		client->state = GP_CLIENT_READY;
		gp_timer_set(&client->daemon->loop, &client->timer, UINT64_MAX);
	}
	gp_daemon_client_queues(client, list->queues, list->count);
	/* A changed priority of the program shows in its memory only where queues have their own.
	 */
	if (list->count && !gp_gpu_has(list->queues[0].gpu_id, GP_GPU_QUEUE_PRIORITY) &&
	    list->queues[0].logical_priority != client->wish.priority)
		greet(client);
	/* Without memory the list is where the state comes from. */
	for (size_t i = 0; i < list->count && !client->activity; i++) {
		for (size_t k = 0; k < client->queue_count; k++) {
			if (client->queues[k].kfd_id == list->queues[i].kfd_id &&
			    (list->queues[i].valid & GPREEMPT_QUEUE_ACTIVITY))
				gp_daemon_host_work(client->daemon, client, &client->queues[k],
						    list->queues[i].busy ? GP_SCHED_BUSY
									 : GP_SCHED_DRAINED,
						    gp_monotonic_ns());
		}
	}
	gp_daemon_agent_rule(client);
	gp_daemon_agent_look(client, gp_monotonic_ns());
	int error = !client->watching && list->count ? watch(client) : 0;
	if (client->ask_again && !error) {
		client->ask_again = false;
		error = ask_list(client);
	}
	return error;
}

/* ---- activity ---- */

/* A suspended queue does not get on: doubt about its work is no news while its job is held. */
static enum gp_sched_work work_of(const struct gp_daemon_client *client,
				  const struct gp_daemon_client_queue *queue, u32 state)
{
	switch (state) {
	case GP_ACTIVITY_DRAINED:
		return GP_SCHED_DRAINED;
	case GP_ACTIVITY_UNKNOWN:
		return client->job->wanted_held ? queue->work : GP_SCHED_MAYBE;
	default:
		return GP_SCHED_BUSY;
	}
}

/* `gpreempt renice` changes the priority in the agent without a message. */
static bool priority_changed(struct gp_daemon_client_queue *queue,
			     const struct gp_proto_activity_slot *slot)
{
	u32 now = __atomic_load_n(&slot->logical_priority, __ATOMIC_RELAXED), before;

	before = queue->priority;
	queue->priority = now;
	return before != GP_DAEMON_NONE && before != now;
}

void gp_daemon_agent_look(struct gp_daemon_client *client, u64 at_ns)
{
	bool changed = false;

	if (client->state != GP_CLIENT_READY)
		return;
	/* If the question does not fit, the queues are still gone. */
	if (gp_daemon_claims_check(client))
		ask_list(client);
	if (!client->activity)
		return;
	/* An agent's slots are by the driver's id. */
	for (size_t i = 0; i < client->queue_count; i++) {
		struct gp_daemon_client_queue *queue = &client->queues[i];

		if (queue->kfd_id >= GP_ACTIVITY_SLOTS)
			continue;
		changed |= priority_changed(queue, &client->activity->slot[queue->kfd_id]);
		u32 state = __atomic_load_n(&client->activity->slot[queue->kfd_id].state,
					    __ATOMIC_ACQUIRE);
		gp_daemon_host_work(client->daemon, client, queue, work_of(client, queue, state),
				    at_ns);
	}
	if (changed)
		greet(client);
}

/* The edge is about the program; which of its queues have work is in its memory. */
static int edge(struct gp_daemon_client *client, const struct gp_wire_message *message)
{
	struct gp_proto_msg_edge it;
	u32 gpu_id = 0;

	if (!gp_wire_fits(message, sizeof(it), 0, 0))
		return -EPROTO;
	memcpy(&it, message->body, sizeof(it));
	if (client->activity) {
		gp_daemon_agent_look(client, it.now_ns);
		return 0;
	}
	/* Without memory: all queues of that GPU; all there are when it is of none that is known.
	 */
	for (size_t i = 0; i < client->queue_count; i++)
		if (client->queues[i].kfd_id == it.queue)
			gpu_id = client->queues[i].gpu_id;
	for (size_t i = 0; i < client->queue_count; i++)
		if (!gpu_id || client->queues[i].gpu_id == gpu_id)
			gp_daemon_host_work(client->daemon, client, &client->queues[i],
					    work_of(client, &client->queues[i], it.busy),
					    it.now_ns);
	return 0;
}

/* A request began: its work is about to come, on every device where the program has queues. */
static int request(struct gp_daemon_client *client, const struct gp_wire_message *message)
{
	struct gp_daemon *daemon = client->daemon;
	struct gp_proto_msg_request it;
	u64 told = 0;

	if (!gp_wire_fits(message, sizeof(it), 0, 0))
		return -EPROTO;
	memcpy(&it, message->body, sizeof(it));
	client->open = it.open;
	gp_daemon_account_request(client, &it);
	if (client->job->strict)
		gp_daemon_host_settle(daemon);
	for (size_t i = 0; it.begin && i < client->queue_count; i++) {
		u32 device = gp_daemon_host_device(daemon, client->queues[i].gpu_id);
		u64 now = gp_monotonic_ns();

		if (device == GP_DAEMON_NONE || (told & 1ull << device))
			continue;
		told |= 1ull << device;
		/* Where others are stopped for its requests this was one, and no guess. */
		if (client->job->strict && !gp_gpu_has(client->queues[i].gpu_id, GP_GPU_SEES_WORK))
			continue;
		gp_sched_hint(daemon->sched, now, client->job->handle, device, now);
		gp_daemon_host_settle(daemon);
	}
	return 0;
}

static int event(struct gp_daemon_client *client, const struct gp_wire_message *message)
{
	if (client->state != GP_CLIENT_READY) {
		/* The list under way may be older than this. */
		client->ask_again |= message->header.type == GP_MSG_AGENT_CHANGED;
		return 0;
	}
	switch (message->header.type) {
	case GP_MSG_AGENT_EDGE:
		return edge(client, message);
	case GP_MSG_AGENT_REQUEST:
		return request(client, message);
	case GP_MSG_AGENT_CHANGED:
		return ask_list(client);
	default:
		return 0; /* of a newer agent */
	}
}

int gp_daemon_agent_message(struct gp_daemon_client *client, const struct gp_wire_message *message)
{
	if (message->header.serial == 0)
		return event(client, message);
	switch (client->state) {
	case GP_CLIENT_HELLO:
		if (message->header.status == -EPROTONOSUPPORT)
			return message->header.status;
		return message->header.type == GP_MSG_HELLO && message->header.status >= 0
			       ? hello(client, message)
			       : -EPROTO;
	case GP_CLIENT_WATCH:
		return message->header.type == GP_MSG_AGENT_WATCH ? watching(client, message)
								  : -EPROTO;
	case GP_CLIENT_READY:
		if (message->header.type == GP_MSG_HELLO && message->header.status >= 0)
			return hello(client, message);
		if (message->header.type == GP_MSG_AGENT_WATCH)
			return watching(client, message);
		/* Refused by an older agent: then the driver has the program's wish. */
		if (message->header.type == GP_MSG_AGENT_RULED)
			return 0;
		/* fall through */
	case GP_CLIENT_QUEUES:
		return message->header.type == GP_MSG_AGENT_QUEUES ? queues(client, message)
								   : -EPROTO;
	default:
		return -EPROTO;
	}
}
