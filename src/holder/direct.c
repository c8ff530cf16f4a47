// SPDX-License-Identifier: MIT
/*
 * The mechanism kfd-agent: the agent inside the process changes its own queues (UPDATE_QUEUE) when
 * asked over its socket. A socket does not block, so the loop does it itself, without a worker:
 * jobs are done in order, each as a few calls. `step` says which call is under way; its answer, its
 * time-out or the end of the connection starts the next. The agent keeps its own lease clock, so
 * it needs the lease and its renewals; a holder that dies or hangs costs the process no more than
 * that.
 */
#include "holder/direct.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/nvrm/nvrm.h"

#define CALL_NS  (5 * GP_NS_PER_S)  /* a process that is stopped does not answer */
#define GREET_NS (GP_NS_PER_S / 10) /* for an agent to say who it is before OPEN is answered */

const struct gp_gpu_control_ops gp_holder_agent_control = {
	.mechanism = GP_MECHANISM_KFD_AGENT,
};

/* ---- jobs ---- */

static void hand_back(struct gp_holder_job *job, int result)
{
	gp_list_remove(&job->link);
	job->ops = &gp_holder_agent_control;
	if (job->kind == GP_JOB_PROBE && !result) {
		job->why.count = 1;
		gp_proto_say(&job->why.reason[0], 0, GP_SAY_AGENT_WORKS);
	}
	gp_holder_job_end(job, result);
}

void gp_holder_direct_finish(struct gp_holder_member *member, int result)
{
	struct gp_holder_direct *direct = member->direct;

	direct->step = GP_DIRECT_IDLE;
	free(direct->stops);
	direct->stops = NULL;
	hand_back(gp_holder_direct_job(direct), result);
}

void gp_holder_direct_wait(struct gp_holder_member *member, enum gp_holder_direct_step step,
			   u64 until_ns)
{
	member->direct->step = step;
	member->direct->until_ns = until_ns;
	gp_holder_wake_at(member->holder, until_ns);
}

/* ---- calls ---- */

void gp_holder_direct_call(struct gp_holder_member *member, enum gp_holder_direct_step step,
			   u16 type, const void *body, size_t size)
{
	struct gp_holder_direct *direct = member->direct;
	struct gp_holder_agent *agent = direct->agent;
	int error;

	direct->serial = ++agent->serial ? agent->serial : ++agent->serial;
	direct->sent_ns = gp_monotonic_ns();
	error = gp_wire_send(agent->watch.fd, type, direct->serial, 0, body, size, -1);
	/* A full socket is that of a process which does not read: it times out. */
	direct->broken = error && error != -EAGAIN;
	gp_holder_direct_wait(member, step,
			      direct->broken ? direct->sent_ns : direct->sent_ns + CALL_NS);
}

void gp_holder_direct_act(struct gp_holder_member *member, enum gp_holder_direct_step step,
			  u16 type, const u32 *ids, u32 count)
{
	struct gp_holder_direct *direct = member->direct;
	size_t size = sizeof(struct gp_proto_msg_suspend) + count * sizeof(u32);
	u64 room[(sizeof(struct gp_proto_msg_suspend) + GP_PROTO_IDS * sizeof(u32)) / 8 + 1];
	struct gp_proto_msg_suspend *body = (void *)room;

	*body = (struct gp_proto_msg_suspend){.lease_ms = direct->lease_ms,
					      .limit_ms = GP_LIMIT_MAX_MS, /* the holder keeps it */
					      .count = count,
					      .sent_ns = gp_monotonic_ns()};
	if (type == GP_MSG_AGENT_SUSPEND) {
		body->grace = (u16)gp_holder_direct_job(direct)->want.grace;
		body->flags = gp_holder_direct_job(direct)->want.off ? GP_SUSPEND_OFF : 0;
		direct->touched = true;
	}
	if (count)
		memcpy(body->ids, ids, count * sizeof(u32));
	gp_holder_direct_call(member, step, type, body, size);
}

/* ---- answers ---- */

int gp_holder_direct_take_queues(const struct gp_wire_message *message,
				 struct gp_gpu_control_queues *out)
{
	const struct gp_proto_msg_queues *answer = (const void *)message->body;

	*out = (struct gp_gpu_control_queues){0};
	if (message->header.status < 0)
		return message->header.status;
	if (message->header.size < sizeof(struct gp_proto_msg) + sizeof(*answer) ||
	    !gp_wire_fits(message, sizeof(*answer), answer->count, sizeof(answer->queues[0])))
		return -EPROTO;
	out->items = calloc(answer->count + 1, sizeof(*out->items));
	if (!out->items)
		return -ENOMEM;
	for (u32 i = 0; i < answer->count; i++) {
		const struct gp_proto_msg_queue *queue = &answer->queues[i];

		out->items[i] = (struct gp_gpu_control_queue){
			.id = queue->kfd_id,
			.gpu_id = queue->gpu_id,
			.type = queue->type,
			.valid = queue->valid,
			.ring = queue->ring,
			.ring_bytes = queue->ring_bytes,
			.object = queue->object,
			.read_index = queue->read_index,
			.write_index = queue->write_index,
			.hsa_id = queue->hsa_id,
			.priority = queue->hardware_priority,
			.has_logical = true,
			.logical = queue->logical_priority,
			.busy = queue->busy,
			.suspended = queue->state == GP_QUEUE_IS_SUSPENDED,
			.failed = queue->state == GP_QUEUE_IS_FAILED,
		};
	}
	out->count = out->capacity = answer->count;
	return 0;
}

/* ---- the machine ---- */

static void begin_value(struct gp_holder_member *member)
{
	struct gp_holder_job *job = gp_holder_direct_job(member->direct);
	struct gp_proto_msg_value value = {.value = job->value};
	struct gp_proto_msg_suspend lease = {.lease_ms = job->value, .limit_ms = GP_LIMIT_MAX_MS};

	if (job->kind == GP_JOB_SHARE) {
		value = (struct gp_proto_msg_value){.target = GP_SHARE_FIRST(job->value),
						    .value = GP_SHARE_SIZE(job->value)};
		gp_holder_direct_call(member, GP_DIRECT_CALLING, GP_MSG_AGENT_SHARE, &value,
				      sizeof(value));
	} else if (job->kind == GP_JOB_PRIORITY) {
		gp_holder_direct_call(member, GP_DIRECT_CALLING, GP_MSG_AGENT_PRIORITY, &value,
				      sizeof(value));
	} else {
		member->direct->lease_ms = job->value;
		if (member->direct->touched)
			gp_holder_direct_call(member, GP_DIRECT_CALLING, GP_MSG_AGENT_RENEW, &lease,
					      sizeof(lease));
		else
			gp_holder_direct_finish(member, 0);
	}
}

static void begin(struct gp_holder_member *member)
{
	struct gp_holder_direct *direct = member->direct;
	struct gp_holder_job *job = gp_holder_direct_job(direct);

	direct->tries = 0;
	switch (job->kind) {
	case GP_JOB_PROBE:
		if (direct->agent->greeted)
			gp_holder_direct_finish(member, 0);
		else
			gp_holder_direct_wait(member, GP_DIRECT_GREETING,
					      gp_monotonic_ns() + GREET_NS);
		return;
	case GP_JOB_APPLY:
		gp_holder_direct_apply(member);
		return;
	case GP_JOB_QUEUES:
		gp_holder_direct_call(member, GP_DIRECT_CALLING, GP_MSG_AGENT_QUEUES, NULL, 0);
		return;
	case GP_JOB_STOP:
	case GP_JOB_NOTICE:
		gp_holder_direct_finish(member, 0);
		return;
	default:
		begin_value(member);
	}
}

static void run(struct gp_holder_member *member)
{
	while (member->direct && member->direct->agent && member->direct->step == GP_DIRECT_IDLE &&
	       !gp_list_empty(&member->direct->jobs))
		begin(member);
}

static void answered(struct gp_holder_member *member, const struct gp_wire_message *message)
{
	struct gp_holder_direct *direct = member->direct;
	struct gp_holder_job *job = gp_holder_direct_job(direct);
	int status = message->header.status;

	switch (direct->step) {
	case GP_DIRECT_CALLING:
		if (job->kind == GP_JOB_QUEUES)
			status = gp_holder_direct_take_queues(message, &job->queues);
		else if (job->kind == GP_JOB_PRIORITY && status >= 0)
			gp_holder_priority_kept(direct->agent, job->value);
		gp_holder_direct_finish(member, GP_MIN(status, 0));
		break;
	case GP_DIRECT_LISTING:
		gp_holder_direct_listed(member, message);
		break;
	case GP_DIRECT_STARTING:
		status = gp_holder_direct_take_done(member, message, &job->started);
		if (status)
			gp_holder_direct_applied(member, status);
		else
			gp_holder_direct_stop_covered(member);
		break;
	case GP_DIRECT_STOPPING:
		gp_holder_direct_applied(member, gp_holder_direct_take_done(member, message,
									    &job->done.queues));
		break;
	case GP_DIRECT_RESUMING:
		gp_holder_direct_applied(member, gp_holder_direct_take_done(member, message,
									    &job->started));
		break;
	case GP_DIRECT_UNDOING:
		gp_holder_direct_wait(member, GP_DIRECT_PAUSING,
				      gp_monotonic_ns() + (GP_NS_PER_MS << direct->tries));
		break;
	case GP_DIRECT_COUNTING:
		gp_holder_direct_counted(member, message);
		break;
	case GP_DIRECT_NOTING:
		gp_holder_direct_noted(member, message);
		break;
	default:
		break;
	}
}

/* An APPLY that has not begun will see what changed. */
static bool will_apply(const struct gp_holder_direct *direct)
{
	const struct gp_list *at;

	gp_list_for_each (at, &direct->jobs)
		if (at != direct->jobs.next &&
		    gp_container(at, struct gp_holder_job, link)->kind == GP_JOB_APPLY)
			return true;
	return false;
}

void gp_holder_direct_message(struct gp_holder_member *member,
			      const struct gp_wire_message *message)
{
	struct gp_holder_direct *direct = member->direct;

	if (message->header.serial && message->header.serial == direct->serial &&
	    direct->step != GP_DIRECT_IDLE && direct->step != GP_DIRECT_GREETING &&
	    direct->step != GP_DIRECT_PAUSING) {
		direct->serial = 0;
		answered(member, message);
	} else if (message->header.type == GP_MSG_HELLO && direct->step == GP_DIRECT_GREETING) {
		gp_holder_direct_finish(member, 0);
	} else if (message->header.type == GP_MSG_AGENT_CHANGED && !message->header.serial) {
		gp_holder_member_notice(member, 1);
		if (direct->touched && !will_apply(direct))
			gp_holder_member_apply(member, NULL, false, NULL, 0);
	}
	run(member);
}

void gp_holder_direct_lost(struct gp_holder_member *member, bool version)
{
	struct gp_holder_direct *direct = member->direct;
	bool probing = direct->step == GP_DIRECT_GREETING;

	direct->agent = NULL;
	direct->step = GP_DIRECT_IDLE;
	/* It never held anything for us, and another mechanism may work. */
	if ((version || probing) && !member->stopping) {
		struct gp_holder_job *probe =
			probing ? NULL : gp_holder_job_new(member, GP_JOB_PROBE, NULL);

		if (probe) {
			probe->asked = member->asked;
			member->jobs++;
			gp_list_add_head(&direct->jobs, &probe->link);
		}
		member->no_agent = version ? GP_SAY_AGENT_VERSION : GP_SAY_AGENT_SILENT;
		member->ops = NULL;
		gp_holder_direct_free(member);
		return;
	}
	while (!gp_list_empty(&direct->jobs)) {
		struct gp_holder_job *job = gp_holder_direct_job(direct);
		bool done = job->kind == GP_JOB_STOP ||
			    (job->kind == GP_JOB_APPLY && gp_holder_want_empty(&job->want));

		hand_back(job, done ? 0 : -ESRCH);
	}
	if (!member->stopping)
		gp_holder_member_notice(member, -ESRCH);
}

static u64 expire(struct gp_holder_member *member, u64 now)
{
	struct gp_holder_direct *direct = member->direct;

	if (direct->step == GP_DIRECT_IDLE)
		return GP_NEVER;
	if (direct->until_ns > now)
		return direct->until_ns;
	direct->serial = 0;
	if (direct->step == GP_DIRECT_GREETING) {
		gp_holder_direct_finish(member,
					0); /* it may be stopped: it is its agent all the same */
	} else if (direct->step == GP_DIRECT_PAUSING) {
		direct->tries++;
		gp_holder_direct_apply(member);
	} else if (direct->broken) {
		gp_holder_direct_finish(member, -ESRCH);
	} else if (direct->step == GP_DIRECT_NOTING || direct->step == GP_DIRECT_COUNTING) {
		gp_holder_direct_finish(member,
					direct->step == GP_DIRECT_NOTING ? direct->error : 0);
	} else if (direct->step == GP_DIRECT_CALLING || direct->step == GP_DIRECT_LISTING) {
		gp_holder_direct_finish(member, -ETIME);
	} else {
		gp_holder_direct_applied(member, -ETIME);
	}
	run(member);
	return member->direct && member->direct->step != GP_DIRECT_IDLE ? member->direct->until_ns
									: GP_NEVER;
}

u64 gp_holder_direct_expire(struct gp_holder *holder, u64 now)
{
	u64 nearest = GP_NEVER;

	gp_list_each (struct gp_holder_member, member, link, &holder->members) {
		u64 next = member->direct ? expire(member, now) : GP_NEVER;

		nearest = GP_MIN(nearest, next);
	}
	return nearest;
}

/* That it is its agent is known already; its answer to something else is not waited for. */
static bool is_known(const struct gp_holder_direct *direct)
{
	return direct->agent && (direct->agent->greeted || (direct->step != GP_DIRECT_IDLE &&
							    direct->step != GP_DIRECT_GREETING));
}

void gp_holder_direct_post(struct gp_holder_job *job)
{
	struct gp_holder_member *member = job->member;

	if (job->kind == GP_JOB_PROBE && is_known(member->direct)) {
		hand_back(job, 0);
		return;
	}
	gp_list_add_tail(&member->direct->jobs, &job->link);
	if (!member->direct->agent)
		hand_back(job, job->kind == GP_JOB_STOP ? 0 : -ESRCH);
	else if (job->kind == GP_JOB_STOP && member->holder->ending)
		gp_holder_agent_remove(member->direct->agent); /* it lets go of what we held */
	else
		run(member);
}

/* ---- which processes ---- */

/* The kernel says which process listened; by now its number may be that of another user's. */
static bool belongs_to(u32 pid, uid_t uid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	return stat(path, &st) == 0 && st.st_uid == uid;
}

bool gp_holder_direct_bind(struct gp_holder_member *member)
{
	struct gp_holder_agent *agent = gp_holder_agents_find(member->holder, member->pid);
	struct gp_holder_direct *direct;

	/* Its agent knows of a CUDA program's channels, and leaves them to us. */
	member->uses_nvidia = agent && gp_nvrm_used_by(NULL, member->pid);
	if (!agent || agent->member || member->uses_nvidia ||
	    (agent->uid && geteuid() == 0 && !belongs_to(member->pid, agent->uid)))
		return false;
	direct = calloc(1, sizeof(*direct));
	if (!direct)
		return false;
	gp_list_init(&direct->jobs);
	direct->agent = agent;
	agent->member = member;
	member->direct = direct;
	return true;
}

void gp_holder_direct_free(struct gp_holder_member *member)
{
	struct gp_holder_direct *direct = member->direct;
	struct gp_holder_agent *agent = direct->agent;

	direct->agent = NULL;
	member->direct = NULL;
	if (agent) {
		agent->member = NULL;
		gp_holder_agent_remove(agent);
		/* Its program stays in its group. */
		if (member->holder->group_targets && !member->holder->ending)
			gp_holder_agents_watch(member->holder);
	}
	gp_holder_job_route_all(&direct->jobs);
	free(direct->stops);
	free(direct);
}
