// SPDX-License-Identifier: MIT
/* Lines of the record and the totals that they change, and jobs as commands show them. The daemon
 * and its GPUs: report_all.c. */
#include <stdio.h>
#include <string.h>

#include "base/host/process.h"
#include "daemon/daemon.h"
#include "gpu/gpu.h"
#include "gpu/rings.h"

_Static_assert((int)GP_DECISION_NOTE == (int)GP_SCHED_NOTE, "kinds are the core's");
_Static_assert((int)GP_CLASS_OFFLINE == (int)GP_SCHED_CLASS_OFFLINE, "classes are the core's");
_Static_assert((int)GP_PRIORITY_MAX == (int)GP_SCHED_PRIORITY_MAX, "priorities are the core's");
_Static_assert((int)GP_DAEMON_RESUMING == (int)GP_SCHED_RESUMING, "states are the core's");

static struct gp_daemon_job *job_at(struct gp_daemon *daemon, u32 handle)
{
	return handle < daemon->config.max_jobs ? daemon->by_handle[handle] : NULL;
}

static u32 first_pid(const struct gp_daemon_job *job)
{
	if (gp_list_empty(&job->clients))
		return 0;
	return gp_container(job->clients.next, struct gp_daemon_client, job_link)->who.pid;
}

static void add_line(struct gp_daemon *daemon, const struct gp_proto_msg_decision *line)
{
	const struct gp_proto_msg_decision *kept = gp_daemon_record_add(&daemon->record, line);

	gp_daemon_service_follow(daemon, kept);
	gp_daemon_diary_decision(daemon, kept);
}

static void name_job(const struct gp_daemon_job *job, u64 *id, u32 *pid, char *name)
{
	*id = job->id;
	*pid = first_pid(job);
	snprintf(name, GP_PROTO_NAME, "%s", job->name);
}

static u32 gpu_of(const struct gp_daemon *daemon, u32 device)
{
	return device < daemon->device_count ? daemon->devices[device].gpu_id : 0;
}

static void count_failure(struct gp_daemon *daemon, struct gp_daemon_job *job)
{
	daemon->stats.failures++;
	if (job)
		gp_daemon_worth_failed(daemon, job);
}

void gp_daemon_report_action(struct gp_daemon *daemon, const struct gp_sched_action *action)
{
	const struct gp_sched_reason *reason = &action->reason;
	struct gp_daemon_job *job = job_at(daemon, reason->job);
	struct gp_daemon_job *other = job_at(daemon, reason->other);
	struct gp_proto_msg_decision line = {
		.reason = reason->id,
		.cause = reason->cause,
		.at_ns = reason->at_ns,
		.kind = action->kind,
		.why = reason->why,
		.policy = reason->policy,
		.shield = reason->shield,
		.gpu_id = gpu_of(daemon, reason->device),
		/* The end of what was held in the other mode belongs to that. */
		.observed = job && action->kind != GP_SCHED_SUSPEND
				    ? job->figures.observed
				    : daemon->config.mode != GP_MODE_ACT,
		.job_priority = reason->job_priority,
		.other_priority = reason->other_priority,
		.job_rank = reason->job_rank,
		.other_rank = reason->other_rank,
		.waited_ns = reason->waited_ns,
		.ran_ns = reason->ran_ns,
		.cost_ns = reason->cost_ns,
		.saves_ns = reason->saves_ns,
		.limit_ns = reason->limit_ns,
		.used_ppm = reason->used_ppm,
		.needs_ppm = reason->needs_ppm,
		.limit_ppm = reason->limit_ppm,
		.error = reason->error,
		.share = action->share,
	};

	if (job) {
		name_job(job, &line.job, &line.job_pid, line.job_name);
		line.job_class = job->spec.class;
	}
	if (job && reason->why == GP_SCHED_WHY_WITHDRAWN)
		line.away = job->away.by;
	if (job && (reason->why == GP_SCHED_WHY_ABSENT || reason->why == GP_SCHED_WHY_PRESENT)) {
		line.away = job->away.by;
		line.away_by = job->away.pid;
		snprintf(line.other_name, sizeof(line.other_name), "%s", job->away.owner);
		if (reason->why == GP_SCHED_WHY_PRESENT)
			gp_daemon_absent_noted(job);
	}
	if (other)
		name_job(other, &line.other, &line.other_pid, line.other_name);
	if (job && action->kind == GP_SCHED_SUSPEND)
		gp_daemon_figures_suspend(daemon, job, reason);
	else if (job && (action->kind == GP_SCHED_RESUME || reason->why == GP_SCHED_WHY_LEASE_LOST))
		line.waited_ns -= GP_MIN(gp_daemon_figures_end(daemon, job), line.waited_ns);
	else if (reason->why == GP_SCHED_WHY_FAILED || reason->why == GP_SCHED_WHY_TIMEOUT)
		count_failure(daemon, job);
	add_line(daemon, &line);
}

void gp_daemon_report_done(struct gp_daemon *daemon, const struct gp_daemon_operation *operation)
{
	struct gp_daemon_job *job = job_at(daemon, operation->job);
	struct gp_proto_msg_decision line = {
		.cause = operation->reason,
		.at_ns = gp_monotonic_ns(),
		.kind = GP_DECISION_DONE,
		.why = operation->suspend ? GP_DECISION_SUSPEND : GP_DECISION_RESUME,
		.cost_ns = operation->cost_ns,
		.error = operation->result,
	};

	line.waited_ns = line.at_ns - GP_MIN(operation->started_ns, line.at_ns);
	if (job && job->id == operation->job_id) {
		name_job(job, &line.job, &line.job_pid, line.job_name);
		line.job_priority = job->spec.priority;
		line.job_class = job->spec.class;
	}
	add_line(daemon, &line);
}

void gp_daemon_report_slice(struct gp_daemon *daemon, const struct gp_daemon_client *client)
{
	struct gp_proto_msg_decision line = {
		.at_ns = gp_monotonic_ns(),
		.kind = GP_DECISION_DONE,
		.why = GP_DECISION_SHARE,
		.slice_us = client->share.error ? 0 : client->share.slice_us,
		.error = client->share.error,
	};

	if (!client->job)
		return;
	name_job(client->job, &line.job, &line.job_pid, line.job_name);
	line.job_pid = client->who.pid;
	line.job_priority = client->job->spec.priority;
	line.job_class = client->job->spec.class;
	add_line(daemon, &line);
}

void gp_daemon_report_job(struct gp_daemon *daemon, const struct gp_daemon_job *job,
			  enum gp_proto_decision_kind kind)
{
	struct gp_proto_msg_decision line = {
		.at_ns = gp_monotonic_ns(),
		.kind = kind,
		.job_priority = job->spec.priority,
		.job_class = job->spec.class,
	};

	name_job(job, &line.job, &line.job_pid, line.job_name);
	add_line(daemon, &line);
}

void gp_daemon_report_stand(struct gp_daemon *daemon, u32 device, enum gp_proto_decision_kind kind,
			    const struct gp_daemon_worth *worth)
{
	struct gp_proto_msg_decision line = {
		.at_ns = gp_monotonic_ns(),
		.kind = kind,
		.why = worth->why,
		.gpu_id = gpu_of(daemon, device),
		.limit_ns = worth->pause_ns,
		.cost_ns = worth->cost_ns,
		.saves_ns = worth->gain_ns,
	};

	add_line(daemon, &line);
}

void gp_daemon_report_kept(struct gp_daemon *daemon, const struct gp_daemon_job *job,
			   enum gp_proto_kept state, int error, u64 waited_ns)
{
	struct gp_proto_msg_decision line = {
		.at_ns = gp_monotonic_ns(),
		.kind = state == GP_KEPT_NOT ? GP_DECISION_LET_GO : GP_DECISION_KEPT,
		.waited_ns = waited_ns,
		.error = error,
		.away = job->away.by,
		.job_priority = job->spec.priority,
		.job_class = job->spec.class,
	};

	name_job(job, &line.job, &line.job_pid, line.job_name);
	snprintf(line.other_name, sizeof(line.other_name), "%s", job->away.owner);
	add_line(daemon, &line);
}

void gp_daemon_report_set(struct gp_daemon *daemon, const struct gp_daemon_job *job, u32 changed,
			  uid_t uid)
{
	const struct gp_daemon_client *first =
		gp_container(job->clients.next, struct gp_daemon_client, job_link);
	struct gp_proto_msg_decision line = {
		.at_ns = gp_monotonic_ns(),
		.kind = GP_DECISION_SET,
		.job_priority = job->spec.priority,
		.job_class = job->spec.class,
		.share = job->spec.weight,
	};

	name_job(job, &line.job, &line.job_pid, line.job_name);
	/* Only names that are known: to look one up can take as long as a server of names does. */
	if (uid == 0)
		snprintf(line.other_name, sizeof(line.other_name), "root");
	else if (!gp_list_empty(&job->clients) && first->who.uid == uid)
		snprintf(line.other_name, sizeof(line.other_name), "%s", first->who.user);
	else
		snprintf(line.other_name, sizeof(line.other_name), "%u", uid);
	for (u32 what = GP_DAEMON_SET_PRIORITY; what <= GP_DAEMON_SET_WEIGHT; what <<= 1) {
		line.why = what;
		if (changed & what)
			add_line(daemon, &line);
	}
}

static bool is_of_gpu(const struct gp_proto_msg_decision *line)
{
	return line->kind == GP_DECISION_STAND_DOWN || line->kind == GP_DECISION_ACT_AGAIN;
}

bool gp_daemon_report_concerns(struct gp_daemon *daemon, const struct gp_proto_msg_decision *line,
			       u32 pid)
{
	const struct gp_daemon_client *client = gp_daemon_host_client(daemon, pid);
	u64 id = client ? client->job->id : 0;

	if (id && (line->job == id || line->other == id))
		return true;
	/* What happens to a GPU concerns all that use it. */
	for (size_t i = 0; client && is_of_gpu(line) && i < client->queue_count; i++) {
		if (client->queues[i].gpu_id == line->gpu_id)
			return true;
	}
	return line->job_pid == pid || line->other_pid == pid;
}

void gp_daemon_report_work(struct gp_daemon *daemon, const struct gp_daemon_client *client,
			   const struct gp_daemon_client_queue *queue, u64 at_ns)
{
	gp_daemon_record_add_work(&daemon->record, &(struct gp_proto_msg_work){
							   .at_ns = at_ns,
							   .job = client->job ? client->job->id : 0,
							   .pid = client->who.pid,
							   .kfd_id = queue->kfd_id,
							   .gpu_id = queue->gpu_id,
							   .work = queue->work,
						   });
}

/* What a queue has left is read now: no message says how it changes. */
static void read_backlog(const struct gp_daemon_client *client, struct gp_gpu_ring *rings,
			 size_t count)
{
	const struct gp_gpu_ops *kind = gp_gpu_kind(client->queues[0].gpu_id);

	for (size_t i = 0; i < count; i++)
		rings[i] = (struct gp_gpu_ring){.object = client->queues[i].object};
	if (!kind || !kind->read_rings || kind->read_rings(client->who.pid, rings, count) < 0)
		for (size_t i = 0; i < count; i++)
			rings[i].known = false;
}

/* Missing as soon as one queue's is. A drained queue has none. */
static u64 backlog_of(const struct gp_daemon_client *client, u64 sum)
{
	struct gp_gpu_ring rings[GP_RINGS_MAX];
	size_t count = GP_MIN(client->queue_count, (size_t)GP_RINGS_MAX);
	bool read = false;

	for (size_t i = 0; i < client->queue_count && sum != GP_DAEMON_UNKNOWN; i++) {
		const struct gp_daemon_client_queue *queue = &client->queues[i];

		if (queue->work == GP_SCHED_DRAINED && gp_gpu_has(queue->gpu_id, GP_GPU_SEES_WORK))
			continue;
		if (!read)
			read_backlog(client, rings, count);
		read = true;
		if (i >= count || !queue->object || !rings[i].known ||
		    rings[i].write_index < rings[i].read_index)
			return GP_DAEMON_UNKNOWN;
		sum += rings[i].write_index - rings[i].read_index;
	}
	return sum;
}

/* What limits the priority that the job's first process asked for. */
static u32 ceiling_of(const struct gp_daemon *daemon, const struct gp_daemon_job *job)
{
	const struct gp_daemon_client *client =
		gp_container(job->clients.next, struct gp_daemon_client, job_link);
	u32 ceiling = gp_daemon_who_ceiling(&daemon->config, &client->who,
					    gp_daemon_rule_find(&daemon->config, &client->who));

	return !(job->changed & GP_DAEMON_SET_PRIORITY) && job->spec.priority == ceiling &&
			       client->wish.priority != GP_SCHED_NONE &&
			       client->wish.priority > ceiling
		       ? ceiling
		       : GP_DAEMON_NONE;
}

void gp_daemon_report_job_view(struct gp_daemon *daemon, const struct gp_daemon_job *job,
			       struct gp_proto_msg_job *out)
{
	struct gp_sched_job_state state = {.held_since = GP_SCHED_NEVER, .held_for = GP_SCHED_NONE};

	gp_sched_job_state(daemon->sched, job->handle, &state);
	*out = (struct gp_proto_msg_job){
		.id = job->id,
		.uid = job->uid,
		.pid = first_pid(job),
		.processes = state.processes,
		.queues = state.queues,
		.busy_queues = state.busy_queues,
		.devices = state.devices,
		.job_class = state.class,
		.priority = state.priority,
		.weight = state.weight,
		.pin = state.pin,
		.run = state.run,
		.held_for = GP_DAEMON_NONE,
		.ceiling = ceiling_of(daemon, job),
		.held_since = state.held_since,
		.declined = state.declined,
		.failures = state.failures,
		.suspend_ns = state.suspend_ns,
		.resume_ns = state.resume_ns,
		.burst_ns = state.burst_ns,
		.started_ns = job->started_ns,
		.ended_ns = GP_DAEMON_NEVER,
		.away = job->away.by,
		.away_by = job->away.pid,
		.away_since = job->away.since,
		.changed = job->changed,
	};
	gp_daemon_figures_view(daemon, job, out);
	gp_daemon_keep_view(job, out);
	gp_daemon_account_latency(job, out);
	if (job_at(daemon, state.held_for))
		out->held_for = first_pid(job_at(daemon, state.held_for));
	gp_list_each (const struct gp_daemon_client, client, job_link, &job->clients) {
		out->attached |= client->attached;
		out->claim = GP_MAX(out->claim, client->claim);
		out->backlog = backlog_of(client, out->backlog);
		if (!out->gpu_id && client->queue_count)
			out->gpu_id = client->queues[0].gpu_id;
	}
	gp_daemon_share_view(job, out);
	gp_daemon_activity_view(daemon, job, out);
	gp_daemon_swap_view(job, out);
	memcpy(out->name, job->name, sizeof(out->name));
	memcpy(out->group, job->group, sizeof(out->group));
	memcpy(out->rule, job->rule, sizeof(out->rule));
}
