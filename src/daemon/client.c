// SPDX-License-Identifier: MIT
/* Common to agents and attached processes: identity, limits, the list of queues. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/i18n.h"
#include "daemon/daemon.h"
#include "gpu/gpu.h"

/* To find out whether a program can be preempted waits for the holder, and that for the program. */
#define OPEN_TRIES    2
#define OPEN_AGAIN_NS (10 * GP_NS_PER_S)

struct gp_daemon_client *gp_daemon_client_new(struct gp_daemon *daemon)
{
	struct gp_daemon_client *client = calloc(1, sizeof(*client));

	if (!client)
		return NULL;
	client->daemon = daemon;
	client->watch.fd = client->pidfd = -1;
	client->wish.priority = GP_SCHED_NONE;
	client->ruled = GP_DAEMON_NONE;
	gp_list_init(&client->job_link);
	gp_list_add_tail(&daemon->clients, &client->link);
	return client;
}

void gp_daemon_client_free(struct gp_daemon_client *client)
{
	struct gp_daemon *daemon = client->daemon;

	/* First out of reach of operations, then out of the core. */
	gp_daemon_act_close(client);
	gp_daemon_keep_close(client);
	gp_daemon_host_leave(daemon, client);
	gp_loop_unwatch(&daemon->loop, &client->watch);
	gp_timer_set(&daemon->loop, &client->timer, UINT64_MAX);
	gp_proto_activity_unmap(client->activity);
	if (client->pidfd >= 0)
		close(client->pidfd);
	gp_list_remove(&client->link);
	free(client->queues);
	free(client);
	gp_daemon_host_settle(daemon);
}

static void user_limits(const struct gp_daemon_client *client, struct gp_daemon_config_user *out)
{
	gp_daemon_config_user(&client->daemon->config, client->who.uid, client->who.user, out);
}

int gp_daemon_client_identify(struct gp_daemon_client *client, u32 pid)
{
	struct gp_daemon *daemon = client->daemon;
	struct gp_daemon_config_user limits;
	u32 count = 0;
	int error;

	client->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (client->pidfd < 0)
		return -errno;
	error = gp_daemon_who_read(&daemon->root, pid, &client->who);
	if (error)
		return error;
	/* What was read is the pinned process's only if that one is still there. */
	if (syscall(SYS_pidfd_send_signal, client->pidfd, 0, NULL, 0) < 0 && errno == ESRCH)
		return -ESRCH;
	user_limits(client, &limits);
	gp_list_each (const struct gp_daemon_client, other, link, &daemon->clients) {
		count += other != client && other->pidfd >= 0 && other->who.uid == client->who.uid;
	}
	if (count >= limits.max_clients) {
		if (!daemon->stats.refused_clients++)
			gp_diag(daemon->diag, GP_WARNING,
				"user %s has reached max_clients (%u); ignoring new clients",
				client->who.user, count);
		return -EDQUOT;
	}
	return 0;
}

/* An agent adds a stream's step to the program's priority. */
static enum gp_sched_stream stream_of(const struct gp_daemon_client *client,
				      const struct gp_proto_msg_queue *queue)
{
	u32 usual = client->wish.priority;

	if (client->attached || !gp_gpu_has(queue->gpu_id, GP_GPU_QUEUE_PRIORITY) ||
	    usual > GP_SCHED_PRIORITY_MAX || queue->logical_priority == usual)
		return GP_SCHED_STREAM_NORMAL;
	return queue->logical_priority > usual ? GP_SCHED_STREAM_HIGH : GP_SCHED_STREAM_LOW;
}

/* A stream's step must not lift a job above its ceiling. */
static enum gp_sched_stream allowed_stream(const struct gp_daemon_client *client,
					   enum gp_sched_stream stream)
{
	const struct gp_daemon_config *config = &client->daemon->config;
	u32 ceiling;

	if (stream != GP_SCHED_STREAM_HIGH)
		return stream;
	ceiling = gp_daemon_who_ceiling(config, &client->who,
					gp_daemon_rule_find(config, &client->who));
	return client->job->spec.priority + GP_SCHED_STREAM_STEP > ceiling ? GP_SCHED_STREAM_NORMAL
									   : stream;
}

void gp_daemon_client_streams(struct gp_daemon_client *client)
{
	struct gp_daemon *daemon = client->daemon;

	for (size_t i = 0; i < client->queue_count; i++) {
		gp_sched_queue_stream(daemon->sched, gp_monotonic_ns(), client->queues[i].handle,
				      allowed_stream(client, client->queues[i].stream));
		gp_daemon_host_settle(daemon);
	}
}

static u64 backlog(const struct gp_proto_msg_queue *queue)
{
	if (!(queue->valid & GPREEMPT_QUEUE_POINTERS) || queue->write_index < queue->read_index)
		return GP_DAEMON_UNKNOWN;
	return queue->write_index - queue->read_index;
}

static struct gp_daemon_client_queue *find(struct gp_daemon_client *client,
					   const struct gp_proto_msg_queue *queue)
{
	for (size_t i = 0; i < client->queue_count; i++) {
		struct gp_daemon_client_queue *known = &client->queues[i];

		if (known->kfd_id == queue->kfd_id && known->gpu_id == queue->gpu_id &&
		    known->ring == queue->ring)
			return known;
	}
	return NULL;
}

static bool over_limit(const struct gp_daemon_client *client)
{
	struct gp_daemon_config_user limits;
	size_t count = 0;

	user_limits(client, &limits);
	gp_list_each (const struct gp_daemon_client, other, link, &client->daemon->clients) {
		if (other->who.uid == client->who.uid)
			count += other->queue_count;
	}
	return count >= limits.max_queues;
}

static void add(struct gp_daemon_client *client, const struct gp_proto_msg_queue *queue)
{
	struct gp_daemon_client_queue added = {
		.kfd_id = queue->kfd_id,
		.gpu_id = queue->gpu_id,
		.ring = queue->ring,
		.object = queue->valid & GPREEMPT_QUEUE_OBJECT ? queue->object : 0,
		.backlog = backlog(queue),
		.write_index = queue->write_index,
		.priority = GP_DAEMON_NONE,
		.seen = true,
		.stream = stream_of(client, queue),
	};

	if (!(queue->valid & GPREEMPT_QUEUE_KFD_ID) || !queue->gpu_id || over_limit(client) ||
	    !gp_daemon_claim_holds(client, queue->gpu_id, queue->kfd_id))
		return;
	gp_daemon_host_queue_add(client->daemon, client, &added,
				 allowed_stream(client, added.stream));
}

void gp_daemon_client_queues(struct gp_daemon_client *client,
			     const struct gp_proto_msg_queue *queues, size_t count)
{
	struct gp_daemon *daemon = client->daemon;

	for (size_t i = 0; i < client->queue_count; i++)
		client->queues[i].seen = false;
	/* The old ones go first: an id may have been used again. */
	for (size_t i = 0; i < count; i++) {
		struct gp_daemon_client_queue *known = find(client, &queues[i]);

		if (known) {
			known->seen = true;
			known->backlog = backlog(&queues[i]);
			known->stream = stream_of(client, &queues[i]);
		}
	}
	gp_daemon_client_streams(client);
	for (size_t i = client->queue_count; i-- > 0;) {
		if (!client->queues[i].seen)
			gp_daemon_host_queue_remove(daemon, client, i);
	}
	gp_daemon_claims_begin(client);
	for (size_t i = 0; i < count; i++) {
		if (!find(client, &queues[i]))
			add(client, &queues[i]);
	}
	gp_daemon_claims_end(client);
	/* A process may have become controllable with its first queue. */
	if (client->queue_count && !client->target && gp_monotonic_ns() >= client->open_again_ns) {
		gp_daemon_act_open(client);
		if (++client->open_tries >= OPEN_TRIES)
			client->open_again_ns = gp_monotonic_ns() + OPEN_AGAIN_NS;
	}
}
