// SPDX-License-Identifier: MIT
/* Jobs, their processes and queues, as the core has them: see daemon.h (host.c). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "gpu/gpu.h"

static struct gp_daemon_client *first_client(const struct gp_daemon_job *job)
{
	return gp_container(job->clients.next, struct gp_daemon_client, job_link);
}

/* By hand, then rules and what cannot be controlled anyway. */
static enum gp_sched_pin wanted_pin(const struct gp_daemon_job *job)
{
	if (job->asked_pin != GP_SCHED_PIN_NONE)
		return job->asked_pin;
	return job->left_alone || job->uncontrolled ? GP_SCHED_PIN_RUN : GP_SCHED_PIN_NONE;
}

/* The core ends a hold by hand at max_suspend, and when its lease is lost. */
static void forget_ended_hold(struct gp_daemon *daemon, struct gp_daemon_job *job)
{
	struct gp_sched_job_state state;

	if (job->pin != GP_SCHED_PIN_HOLD ||
	    gp_sched_job_state(daemon->sched, job->handle, &state) ||
	    state.pin == GP_SCHED_PIN_HOLD)
		return;
	job->pin = state.pin;
	job->asked_pin = GP_SCHED_PIN_NONE;
}

/* By default a job of Slurm follows: what Slurm suspends must not use the GPU. */
static void set_follow(struct gp_daemon *daemon, struct gp_daemon_job *job,
		       const struct gp_daemon_config_rule *rule)
{
	const struct gp_daemon_client *client = first_client(job);
	bool of_slurm = gp_daemon_who_is_slurm(&client->who, client->group);
	bool follow = rule && (rule->given & GP_RULE_FOLLOW_STOP) ? rule->follow_stop
								  : of_slurm && !job->left_alone;

	daemon->follow |= follow;
	if (job->follow != follow)
		gp_daemon_absent_due(job, daemon);
	job->follow = follow;
}

/* Its agents take all its queues off the GPU on request, and still report work. */
static bool can_park(const struct gp_daemon *daemon, const struct gp_daemon_job *job)
{
	if (daemon->config.mode != GP_MODE_ACT || job->strict != GP_STRICT_NO ||
	    job->swap.when != GP_SWAP_NEVER)
		return false;
	gp_list_each (const struct gp_daemon_client, client, job_link, &job->clients) {
		if (client->attached || !client->activity ||
		    !(client->activity->features & GP_ACTIVITY_PARKS))
			return false;
	}
	return true;
}

int gp_daemon_host_respec(struct gp_daemon *daemon, struct gp_daemon_job *job)
{
	const struct gp_daemon_client *client = first_client(job);
	const struct gp_daemon_config_rule *rule =
		gp_daemon_rule_find(&daemon->config, &client->who);
	struct gp_sched_job_spec spec, old = job->spec;
	u64 now = gp_monotonic_ns();

	forget_ended_hold(daemon, job);
	gp_daemon_who_spec(&daemon->config, &client->who, rule, &client->wish, &spec);
	spec.tag = job->id;
	if (job->changed & GP_DAEMON_SET_PRIORITY)
		spec.priority = old.priority;
	if (job->changed & GP_DAEMON_SET_CLASS)
		spec.class = old.class;
	if (job->changed & GP_DAEMON_SET_WEIGHT)
		spec.weight = old.weight;
	gp_wire_text(job->rule, sizeof(job->rule), rule ? rule->name : "",
		     rule ? sizeof(rule->name) : 1);
	job->left_alone = rule && rule->left_alone;
	job->strict = rule ? rule->strict : GP_STRICT_NO;
	daemon->strict |= job->strict != GP_STRICT_NO;
	set_follow(daemon, job, rule);
	job->swap = rule ? rule->swap : (struct gp_daemon_config_swap){0};
	daemon->swaps |= job->swap.when != GP_SWAP_NEVER;
	spec.in_turns = gp_daemon_turns_may(&spec) && job->strict == GP_STRICT_NO;
	spec.parks = can_park(daemon, job);
	int error = gp_sched_job_set(daemon->sched, now, job->handle, &spec);
	if (!error)
		job->spec = spec;
	gp_daemon_host_settle(daemon);
	gp_list_each (struct gp_daemon_client, member, job_link, &job->clients) {
		gp_daemon_client_streams(member);
		gp_daemon_agent_rule(member);
	}
	if (wanted_pin(job) != job->pin) {
		job->pin = wanted_pin(job);
		gp_sched_job_pin(daemon->sched, now, job->handle, job->pin);
		gp_daemon_host_settle(daemon);
	}
	return error;
}

/* A group of one user; a process without a group is its own job. */
static struct gp_daemon_job *find_group(struct gp_daemon *daemon,
					const struct gp_daemon_client *client)
{
	if (!*client->group)
		return NULL;
	gp_list_each (struct gp_daemon_job, job, link, &daemon->jobs) {
		if (job->uid == client->who.uid && strcmp(job->group, client->group) == 0)
			return job;
	}
	return NULL;
}

static int new_job(struct gp_daemon *daemon, const struct gp_daemon_client *client,
		   struct gp_daemon_job **out)
{
	struct gp_daemon_job *job = calloc(1, sizeof(*job));
	int error;

	if (!job)
		return -ENOMEM;
	job->id = ++daemon->last_job_id;
	job->started_ns = gp_monotonic_ns();
	job->away.since = job->off.since_ns = GP_DAEMON_NEVER;
	job->worth.device = GP_SCHED_NONE;
	job->figures.observed = daemon->config.mode != GP_MODE_ACT;
	job->uid = client->who.uid;
	snprintf(job->name, sizeof(job->name), "%s",
		 *client->group ? client->group : client->who.name);
	snprintf(job->group, sizeof(job->group), "%s", client->group);
	gp_list_init(&job->clients);
	gp_daemon_who_spec(&daemon->config, &client->who,
			   gp_daemon_rule_find(&daemon->config, &client->who), &client->wish,
			   &job->spec);
	job->spec.tag = job->id;
	error = gp_sched_job_add(daemon->sched, gp_monotonic_ns(), &job->spec, &job->handle);
	if (error) {
		free(job);
		return error;
	}
	daemon->by_handle[job->handle] = job;
	gp_list_add_tail(&daemon->jobs, &job->link);
	daemon->job_count++;
	gp_daemon_host_settle(daemon);
	*out = job;
	return 0;
}

/* A held job is resumed by the core, last of all: it must still be known then. */
static void end_job(struct gp_daemon *daemon, struct gp_daemon_job *job)
{
	/* Without a process it did not come: its first one was refused. */
	bool came = !gp_list_empty(&job->clients);
	const struct gp_proto_msg_account *account =
		came ? gp_daemon_account_end(daemon, job) : NULL;
	u32 handle = job->handle;

	job->strict = GP_STRICT_NO;
	if (account)
		gp_daemon_diary_job(daemon, &account->job);
	gp_daemon_figures_count(daemon, job);
	gp_sched_job_remove(daemon->sched, gp_monotonic_ns(), handle);
	gp_daemon_host_settle(daemon);
	if (came)
		gp_daemon_report_job(daemon, job, GP_DECISION_WENT);
	daemon->by_handle[handle] = NULL;
	while (!gp_list_empty(&job->clients))
		gp_list_remove(job->clients.next);
	gp_list_remove(&job->link);
	daemon->job_count--;
	gp_daemon_act_reshare(daemon, job);
	free(job);
}

int gp_daemon_host_join(struct gp_daemon *daemon, struct gp_daemon_client *client)
{
	const struct gp_daemon_config_rule *rule =
		gp_daemon_rule_find(&daemon->config, &client->who);
	bool set_aside = gp_daemon_who_group(&daemon->root, &client->who, rule, client->group,
					     sizeof(client->group));
	struct gp_daemon_job *job = find_group(daemon, client);
	bool is_new = !job;

	if (is_new && set_aside && gp_daemon_user_may_log(daemon, client->who.uid))
		gp_diag(daemon->diag, GP_NOTE,
			"'group = %s' of [rule %s] is not used for %s, a job of Slurm", rule->group,
			rule->name, client->group);
	int error = is_new ? new_job(daemon, client, &job) : 0;

	if (error)
		return error;
	error = gp_sched_process_add(daemon->sched, gp_monotonic_ns(), job->handle,
				     &client->process);
	gp_daemon_host_settle(daemon);
	if (error) {
		if (is_new)
			end_job(daemon, job);
		return error;
	}
	client->job = job;
	gp_list_add_tail(&job->clients, &client->job_link);
	gp_daemon_activity_join(client);
	gp_daemon_account_process(job, client->who.pid);
	gp_daemon_swap_join(client);
	gp_daemon_act_open(client);
	gp_daemon_host_respec(daemon, job);
	if (is_new)
		gp_daemon_report_job(daemon, job, GP_DECISION_CAME);
	gp_daemon_absent_join(client);
	gp_daemon_absent_changed(client);
	return 0;
}

void gp_daemon_host_leave(struct gp_daemon *daemon, struct gp_daemon_client *client)
{
	struct gp_daemon_job *job = client->job;

	gp_daemon_swap_leave(client);
	gp_daemon_absent_leave(client);
	if (!job)
		return;
	gp_daemon_activity_leave(client);
	if (client->job->clients.next == &client->job_link &&
	    client->job->clients.prev == &client->job_link) {
		end_job(daemon, job);
	} else {
		gp_sched_process_remove(daemon->sched, gp_monotonic_ns(), client->process);
		gp_list_remove(&client->job_link);
		gp_daemon_host_settle(daemon);
	}
	client->job = NULL;
	client->queue_count = 0;
	daemon->busy_count -= client->busy;
	daemon->attached_count -= client->attached;
	client->busy = false;
}

/* ---- queues ---- */

int gp_daemon_host_queue_add(struct gp_daemon *daemon, struct gp_daemon_client *client,
			     const struct gp_daemon_client_queue *queue,
			     enum gp_sched_stream stream)
{
	u32 device = gp_daemon_host_device(daemon, queue->gpu_id);

	if (device == GP_DAEMON_NONE)
		return -ENOSPC;
	if (gp_array_grow((void **)&client->queues, client->queue_count, &client->queue_capacity,
			  sizeof(*client->queues)))
		return -ENOMEM;
	struct gp_daemon_client_queue *added = &client->queues[client->queue_count];
	*added = *queue;
	added->work = GP_SCHED_DRAINED;
	int error = gp_sched_queue_add(daemon->sched, gp_monotonic_ns(), client->process, device,
				       stream, &added->handle);
	if (!error && !client->queue_count++)
		gp_daemon_absent_due(client->job, daemon);
	gp_daemon_host_settle(daemon);
	/* A queue that comes later has the driver's slice until the share is sent again. */
	if (!error && client->queue_count > 1 && gp_gpu_has(queue->gpu_id, GP_GPU_SLICES))
		gp_daemon_act_reshare(daemon, client->job);
	return error;
}

/* Bursts are counted for the whole client, from the first queue with work to the last without. A
 * queue of which nothing is known counts as being without. */
static void note_burst(struct gp_daemon *daemon, struct gp_daemon_client *client, u64 at_ns)
{
	bool busy = false;

	for (size_t i = 0; i < client->queue_count; i++)
		busy |= client->queues[i].work == GP_SCHED_BUSY;
	if (busy && !client->busy)
		client->busy_since = at_ns;
	if (!busy && client->busy && at_ns > client->busy_since) {
		u64 took = at_ns - client->busy_since;

		gp_daemon_histogram_add(&daemon->stats.burst[client->job->spec.class], took);
		gp_daemon_spread_add(&daemon->metrics.burst[client->job->spec.class], took);
		gp_daemon_latency_add(&client->job->bursts, took);
	}
	daemon->busy_count += (u32)busy - (u32)client->busy;
	client->busy = busy;
}

void gp_daemon_host_work(struct gp_daemon *daemon, struct gp_daemon_client *client,
			 struct gp_daemon_client_queue *queue, enum gp_sched_work work, u64 at_ns)
{
	u64 now = gp_monotonic_ns();

	if (queue->work == work)
		return;
	queue->work = work;
	/* A client's clock is believed only as far as it cannot be in the future. */
	gp_daemon_report_work(daemon, client, queue, GP_MIN(at_ns, now));
	note_burst(daemon, client, GP_MIN(at_ns, now));
	gp_daemon_absent_work(client);
	gp_sched_work(daemon->sched, now, queue->handle, work, GP_SCHED_UNKNOWN);
	gp_daemon_host_settle(daemon);
}

void gp_daemon_host_queue_remove(struct gp_daemon *daemon, struct gp_daemon_client *client,
				 size_t index)
{
	struct gp_daemon_client_queue *queue = &client->queues[index];
	u64 now = gp_monotonic_ns();

	/* Its work ends with it. */
	if (queue->work != GP_SCHED_DRAINED) {
		queue->work = GP_SCHED_DRAINED;
		gp_daemon_report_work(daemon, client, queue, now);
		note_burst(daemon, client, now);
	}
	gp_sched_queue_remove(daemon->sched, now, queue->handle);
	*queue = client->queues[--client->queue_count];
	gp_daemon_host_settle(daemon);
}

struct gp_daemon_client *gp_daemon_host_client(struct gp_daemon *daemon, u32 pid)
{
	gp_list_each (struct gp_daemon_client, client, link, &daemon->clients) {
		if (client->job && client->who.pid == pid)
			return client;
	}
	return NULL;
}
