// SPDX-License-Identifier: MIT
/*
 * Processes without an agent: a rule with attach = yes finds them in the driver's list and controls
 * them from outside. Their rings can only be read, all of a process in one system call. They are
 * not read while no other job could be affected, and often while an active one could preempt
 * another. The same timer reads the memory of busy agents, because an edge reports only the first
 * and the last work of a program.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/i18n.h"
#include "daemon/daemon.h"
#include "gpu/gpu.h"
#include "gpu/rings.h"

#define LATELY_NS (100 * GP_NS_PER_MS)

/* ---- finding ---- */

static bool wants_attach(const struct gp_daemon *daemon)
{
	for (size_t i = 0; i < daemon->config.rule_count; i++) {
		if (daemon->config.rules[i].attach)
			return true;
	}
	return false;
}

static struct gp_daemon_client *find(const struct gp_daemon *daemon, u32 pid, bool attached)
{
	gp_list_each (struct gp_daemon_client, client, link, &daemon->clients) {
		if (client->pidfd >= 0 && client->who.pid == pid && client->attached == attached)
			return client;
	}
	return NULL;
}

void gp_daemon_attach_forget(struct gp_daemon *daemon, u32 pid)
{
	struct gp_daemon_client *client = find(daemon, pid, true);

	if (client)
		gp_daemon_client_free(client);
}

static void gone(struct gp_watch *watch, u32 events)
{
	(void)events;
	gp_daemon_client_free(gp_container(watch, struct gp_daemon_client, watch));
}

void gp_daemon_attach_queues(struct gp_daemon_client *client)
{
	struct gpreempt_queue *found = NULL;
	struct gp_proto_msg_queue *list = NULL;
	int count;

	if (!client->target)
		return;
	found = calloc(GPREEMPT_QUEUES_MAX, sizeof(*found));
	list = calloc(GPREEMPT_QUEUES_MAX, sizeof(*list));
	count = found && list ? gpreempt_target_queues(client->target, found, GPREEMPT_QUEUES_MAX)
			      : -ENOMEM;
	for (int i = 0; i < count && i < GPREEMPT_QUEUES_MAX; i++)
		list[i] = (struct gp_proto_msg_queue){
			.pid = found[i].pid,
			.gpu_id = found[i].gpu_id,
			.valid = found[i].valid,
			.kfd_id = found[i].kfd_id,
			.type = found[i].type,
			.ring = found[i].ring,
			/* Otherwise it is not an address. */
			.object = client->kind->read_rings ? found[i].object : 0,
			.read_index = found[i].read_index,
			.write_index = found[i].write_index,
		};
	if (count >= 0)
		gp_daemon_client_queues(client, list, (size_t)GP_MIN(count, GPREEMPT_QUEUES_MAX));
	free(found);
	free(list);
}

/*
 * The holder starts its session with the first suspension and knows the rings only then: suspend
 * and resume once, before any other operation. The answers are not used.
 */
static void touch(struct gp_daemon_client *client)
{
	if (client->target && client->kind->read_rings &&
	    gpreempt_target_suspend_async(client->target, NULL) > 0)
		gpreempt_target_resume_async(client->target);
}

static bool rings_known(const struct gp_daemon_client *client)
{
	for (size_t i = 0; i < client->queue_count; i++) {
		if (client->queues[i].object)
			return true;
	}
	return !client->kind->read_rings;
}

static int attach(struct gp_daemon_client *client, u32 pid)
{
	struct gp_daemon *daemon = client->daemon;
	const struct gp_daemon_config_rule *rule;
	int error = gp_daemon_client_identify(client, pid), fd;

	if (error)
		return error;
	rule = gp_daemon_rule_find(&daemon->config, &client->who);
	if (!rule || !rule->attach)
		return -ENOENT;
	fd = dup(client->pidfd);
	if (fd < 0)
		return -errno;
	error = gp_loop_watch(&daemon->loop, &client->watch, fd, gone);
	if (error)
		return error;
	client->attached = true;
	client->state = GP_CLIENT_READY;
	error = gp_daemon_host_join(daemon, client);
	if (error)
		return error;
	daemon->attached_count++;
	touch(client);
	gp_daemon_attach_queues(client);
	return 0;
}

/* Where the driver does not list queues, the holder looks for them. */
static bool queues_changed(const struct gp_daemon_client *client,
			   const struct gp_gpu_process *process)
{
	return process->by_descriptors ? !client->queue_count
				       : client->queue_count != process->queue_count;
}

static void consider(struct gp_daemon *daemon, const struct gp_gpu_process *process,
		     const struct gp_gpu_ops *kind)
{
	struct gp_daemon_client *client = find(daemon, process->pid, true);

	if (client) {
		/* Not every new queue is reported. */
		if (queues_changed(client, process) || !rings_known(client))
			gp_daemon_attach_queues(client);
		return;
	}
	if ((!process->queue_count && !process->by_descriptors) || process->pid == (u32)getpid() ||
	    find(daemon, process->pid, false))
		return;
	client = gp_daemon_client_new(daemon);
	if (!client)
		return;
	client->kind = kind;
	gp_timer_init(&client->timer, NULL);
	if (attach(client, process->pid))
		gp_daemon_client_free(client);
}

static void scan(struct gp_timer *timer)
{
	struct gp_daemon *daemon = gp_container(timer, struct gp_daemon, scan_timer);

	for (size_t kind = 0; gp_gpu_kinds[kind]; kind++) {
		struct gp_gpu_process_list list = {0};

		if (!gp_gpu_kinds[kind]->describe)
			continue;
		if (gp_gpu_kinds[kind]->describe(&daemon->root, NULL, 0, &list) == 0) {
			for (size_t i = 0; i < list.count; i++)
				consider(daemon, &list.items[i], gp_gpu_kinds[kind]);
		}
		gp_gpu_process_list_free(&list);
	}
	gp_timer_set(&daemon->loop, timer, gp_monotonic_ns() + daemon->config.scan_ns);
}

/* ---- reading ---- */

/* Indices that moved are work, even when the ring has caught up again. */
static void saw(struct gp_daemon_client *client, struct gp_daemon_client_queue *queue,
		const struct gp_gpu_ring *ring)
{
	struct gp_daemon *daemon = client->daemon;
	u64 now = gp_monotonic_ns();
	bool moved = ring->write_index != queue->write_index;
	bool waiting = ring->write_index != ring->read_index;

	queue->write_index = ring->write_index;
	queue->backlog = ring->write_index - ring->read_index;
	if (moved || waiting)
		client->active_ns = now;
	if (moved || waiting)
		gp_daemon_host_work(daemon, client, queue, GP_SCHED_BUSY, now);
	/* Caught up is not drained: the last packet may still run. */
	if (!waiting && queue->work == GP_SCHED_BUSY)
		gp_daemon_host_work(daemon, client, queue, GP_SCHED_MAYBE, now);
}

static void read_rings(struct gp_daemon_client *client)
{
	struct gp_gpu_ring rings[GP_RINGS_MAX];
	size_t index[GP_RINGS_MAX], count = 0;

	for (size_t i = 0; i < client->queue_count && count < GP_RINGS_MAX; i++) {
		if (!client->queues[i].object)
			continue;
		rings[count] = (struct gp_gpu_ring){.object = client->queues[i].object};
		index[count++] = i;
	}
	if (!count || client->kind->read_rings(client->who.pid, rings, count) <= 0)
		return;
	for (size_t i = 0; i < count; i++) {
		if (rings[i].known)
			saw(client, &client->queues[index[i]], &rings[i]);
	}
}

/* UINT64_MAX: the work of this client affects no other job. */
static u64 interval_for(const struct gp_daemon *daemon, const struct gp_daemon_client *client,
			u64 now)
{
	u64 interval = UINT64_MAX;

	gp_list_each (const struct gp_daemon_client, other, link, &daemon->clients) {
		if (!other->job || other->job == client->job || (!other->busy && !other->attached))
			continue;
		interval = GP_MIN(interval, daemon->config.read_slowest_ns);
		/* It was active a moment ago and would be before this one. */
		if (client->attached && now - client->active_ns < LATELY_NS && other->busy &&
		    client->job->spec.priority > other->job->spec.priority)
			return daemon->config.read_fastest_ns;
	}
	return interval;
}

static void read_time(struct gp_timer *timer)
{
	struct gp_daemon *daemon = gp_container(timer, struct gp_daemon, read_timer);
	u64 now = gp_monotonic_ns(), interval = UINT64_MAX;

	gp_list_each (struct gp_daemon_client, client, link, &daemon->clients) {
		u64 wanted;

		if (!client->job || (!client->attached && !client->busy))
			continue;
		wanted = interval_for(daemon, client, now);
		if (wanted == UINT64_MAX)
			continue;
		if (client->attached)
			read_rings(client);
		else
			gp_daemon_agent_look(client, now);
		interval = GP_MIN(interval, wanted);
	}
	if (interval != UINT64_MAX)
		gp_timer_set(&daemon->loop, timer, now + interval);
}

void gp_daemon_attach_adapt(struct gp_daemon *daemon)
{
	bool could = daemon->job_count > 1 && (daemon->attached_count || daemon->busy_count);

	/* Once armed it decides for itself how long it goes on. */
	if (could && !gp_timer_armed(&daemon->read_timer))
		gp_timer_set(&daemon->loop, &daemon->read_timer,
			     gp_monotonic_ns() + daemon->config.read_slowest_ns);
}

void gp_daemon_attach_start(struct gp_daemon *daemon)
{
	gp_timer_init(&daemon->scan_timer, scan);
	gp_timer_init(&daemon->read_timer, read_time);
}

void gp_daemon_attach_configure(struct gp_daemon *daemon)
{
	gp_timer_set(&daemon->loop, &daemon->scan_timer,
		     wants_attach(daemon) ? gp_monotonic_ns() : UINT64_MAX);
}
