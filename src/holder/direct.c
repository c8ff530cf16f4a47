// SPDX-License-Identifier: MIT
/*
 * The mechanism kfd-agent: the agent inside the process changes its own queues (UPDATE_QUEUE) when
 * asked over its socket. A socket does not block, so the loop does it itself, without a worker:
 * jobs are done in order, each as a few calls. `step` says which call is under way; its answer, its
 * time-out or the end of the connection starts the next. The agent keeps its own lease clock, so
 * it needs the lease and its renewals; a holder that dies or hangs costs the process no more than
 * that.
 */
#include "holder/holder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/nvrm/nvrm.h"

#define CALL_NS  (5 * GP_NS_PER_S)  /* a process that is stopped does not answer */
#define GREET_NS (GP_NS_PER_S / 10) /* for an agent to say who it is before OPEN is answered */
#define TRIES    5                  /* the pauses between them double from 1 ms */

enum step {
	IDLE,
	GREETING, /* PROBE: the answer to HELLO */
	CALLING,  /* a job that is one call */
	LISTING,  /* APPLY: which queues there are */
	STARTING, /* those that are not covered */
	STOPPING,
	RESUMING, /* all of them */
	UNDOING,  /* before another try */
	PAUSING,
	COUNTING, /* what is stopped for this hold */
	NOTING,   /* which GPUs it has queues on, for the breaker */
};

struct gp_holder_direct {
	struct gp_holder_agent *agent;
	struct gp_list jobs; /* the first is under way, unless IDLE */
	enum step step;
	u32 serial;            /* of the call under way */
	u64 sent_ns, until_ns; /* of the call, or the end of the pause */
	int tries, error;
	bool broken;  /* the call could not be sent */
	bool touched; /* the agent may hold something for us */
	bool known;   /* its GPUs were noted */
	u32 lease_ms;
	u32 *stops;
	u32 stop_count;
};

const struct gp_gpu_control_ops gp_holder_agent_control = {
	.mechanism = GP_MECHANISM_KFD_AGENT,
};

/* ---- jobs ---- */

static struct gp_holder_job *current(const struct gp_holder_direct *direct)
{
	return gp_container(direct->jobs.next, struct gp_holder_job, link);
}

static void hand_back(struct gp_holder_job *job, int result)
{
	gp_list_remove(&job->link);
	job->result = result;
	job->ops = &gp_holder_agent_control;
	job->finished_ns = gp_holder_now_ns();
	gp_holder_job_explain(job, GP_MECHANISM_KFD_AGENT, job->member->pid);
	gp_list_add_tail(&job->member->holder->finished, &job->link);
}

static void finish(struct gp_holder_member *member, int result)
{
	struct gp_holder_direct *direct = member->direct;

	direct->step = IDLE;
	free(direct->stops);
	direct->stops = NULL;
	hand_back(current(direct), result);
}

static void wait_until(struct gp_holder_member *member, enum step step, u64 until_ns)
{
	member->direct->step = step;
	member->direct->until_ns = until_ns;
	gp_holder_wake_at(member->holder, until_ns);
}

/* ---- calls ---- */

static void call(struct gp_holder_member *member, enum step step, u16 type, const void *body,
		 size_t size)
{
	struct gp_holder_direct *direct = member->direct;
	struct gp_holder_agent *agent = direct->agent;
	int error;

	direct->serial = ++agent->serial ? agent->serial : ++agent->serial;
	direct->sent_ns = gp_holder_now_ns();
	error = gp_wire_send(agent->watch.fd, type, direct->serial, 0, body, size, -1);
	/* A full socket is that of a process which does not read: it times out. */
	direct->broken = error && error != -EAGAIN;
	wait_until(member, step, direct->broken ? direct->sent_ns : direct->sent_ns + CALL_NS);
}

static void act(struct gp_holder_member *member, enum step step, u16 type, const u32 *ids,
		u32 count)
{
	struct gp_holder_direct *direct = member->direct;
	size_t size = sizeof(struct gp_proto_msg_suspend) + count * sizeof(u32);
	u64 room[(sizeof(struct gp_proto_msg_suspend) + GP_PROTO_IDS * sizeof(u32)) / 8 + 1];
	struct gp_proto_msg_suspend *body = (void *)room;

	*body = (struct gp_proto_msg_suspend){.lease_ms = direct->lease_ms,
					      .limit_ms = GP_LIMIT_MAX_MS, /* the holder keeps it */
					      .count = count,
					      .sent_ns = gp_holder_now_ns()};
	if (type == GP_MSG_AGENT_SUSPEND) {
		body->grace = (u16)current(direct)->want.grace;
		direct->touched = true;
	}
	if (count)
		memcpy(body->ids, ids, count * sizeof(u32));
	call(member, step, type, body, size);
}

/* ---- answers ---- */

static int take_queues(const struct gp_wire_message *message, struct gp_gpu_control_queues *out)
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

/* What the change that was answered took; how many queues it changed. */
static int take_done(struct gp_holder_member *member, const struct gp_wire_message *message,
		     u32 *queues)
{
	const struct gp_proto_msg_done *answer = (const void *)message->body;
	struct gp_gpu_control_done *done = &current(member->direct)->done;

	if (message->header.status < 0)
		return message->header.status;
	if (!gp_wire_fits(message, sizeof(*answer), 0, 0))
		return -EPROTO;
	if (answer->issue_ns && !done->issued_ns)
		done->issued_ns = member->direct->sent_ns + answer->issue_ns;
	done->driver_ns += answer->driver_ns;
	*queues = answer->queues;
	return 0;
}

/* ---- APPLY ---- */

static void begin_apply(struct gp_holder_member *member)
{
	struct gp_holder_direct *direct = member->direct;
	struct gp_holder_job *job = current(direct);

	job->done = (struct gp_gpu_control_done){0};
	job->started = 0;
	if (gp_holder_want_empty(&job->want)) {
		if (direct->touched)
			act(member, RESUMING, GP_MSG_AGENT_RESUME, NULL, 0);
		else
			finish(member, 0);
		return;
	}
	if (job->want.lease_ms)
		direct->lease_ms = job->want.lease_ms;
	if (job->want.all && !job->check_count)
		act(member, STOPPING, GP_MSG_AGENT_SUSPEND, NULL, 0);
	else
		call(member, LISTING, GP_MSG_AGENT_QUEUES, NULL, 0);
}

/* The next job makes a new connection. */
static void start_over(struct gp_holder_member *member)
{
	struct gp_list jobs, *at, *next;

	gp_list_init(&jobs);
	gp_list_for_each_safe(at, next, &member->direct->jobs)
	{
		gp_list_remove(at);
		gp_list_add_tail(&jobs, at);
	}
	gp_holder_direct_free(member);
	gp_list_for_each_safe(at, next, &jobs)
	{
		gp_list_remove(at);
		gp_holder_job_route(gp_container(at, struct gp_holder_job, link));
	}
}

static void conclude(struct gp_holder_member *member, int error)
{
	struct gp_holder_direct *direct = member->direct;
	bool empty = gp_holder_want_empty(&current(direct)->want);

	direct->error = error;
	/* What cannot be started must not stay stopped while nothing holds it: the end of the
	 * connection starts everything. */
	if (error && error != -ESRCH && empty) {
		finish(member, error);
		start_over(member);
		return;
	}
	if (!error && empty)
		direct->touched = false;
	if ((error && error != -ESRCH) || !direct->known)
		call(member, NOTING, GP_MSG_AGENT_QUEUES, NULL, 0);
	else
		finish(member, error);
}

static bool worth_another_try(int error)
{
	return error == -EBUSY || error == -EINTR || error == -ETIME || error == -EAGAIN ||
	       error == -EIO;
}

static void applied(struct gp_holder_member *member, int error)
{
	struct gp_holder_direct *direct = member->direct;
	struct gp_holder_job *job = current(direct);
	u64 now = gp_holder_now_ns();

	if (worth_another_try(error) && direct->tries + 1 < TRIES && now < job->deadline_ns) {
		if (error == -EIO && !gp_holder_want_empty(&job->want))
			act(member, UNDOING, GP_MSG_AGENT_RESUME, NULL, 0);
		else
			wait_until(member, PAUSING, now + (GP_NS_PER_MS << direct->tries));
	} else if (!error && job->counted) {
		call(member, COUNTING, GP_MSG_AGENT_QUEUES, NULL, 0);
	} else {
		conclude(member, error);
	}
}

static bool has_queue(const struct gp_gpu_control_queues *list, u32 id)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].id == id)
			return true;
	return false;
}

static void stop_covered(struct gp_holder_member *member)
{
	struct gp_holder_direct *direct = member->direct;

	if (current(direct)->want.all)
		act(member, STOPPING, GP_MSG_AGENT_SUSPEND, NULL, 0);
	else if (direct->stop_count)
		act(member, STOPPING, GP_MSG_AGENT_SUSPEND, direct->stops, direct->stop_count);
	else
		applied(member, 0);
}

/* Some queues only: those that are not covered start, the others stop. */
static void listed(struct gp_holder_member *member, const struct gp_wire_message *message)
{
	struct gp_holder_direct *direct = member->direct;
	struct gp_holder_job *job = current(direct);
	struct gp_gpu_control_queues list;
	int error = take_queues(message, &list);
	u32 *starts, start_count = 0;

	for (u32 i = 0; !error && i < job->check_count; i++)
		if (!has_queue(&list, job->check[i]))
			error = -ENOENT;
	free(direct->stops);
	direct->stops = calloc(2 * list.count + 1, sizeof(u32));
	direct->stop_count = 0;
	starts = direct->stops + list.count;
	if (!direct->stops)
		error = -ENOMEM;
	for (size_t i = 0; !error && i < list.count; i++)
		if (gp_holder_want_covers(&job->want, &list.items[i]))
			direct->stops[direct->stop_count++] = list.items[i].id;
		else if (list.items[i].suspended)
			starts[start_count++] = list.items[i].id;
	gp_gpu_control_queues_free(&list);
	if (!error && (start_count > GP_PROTO_IDS || direct->stop_count > GP_PROTO_IDS))
		error = -E2BIG;
	if (error)
		finish(member, error);
	else if (start_count)
		act(member, STARTING, GP_MSG_AGENT_RESUME, starts, start_count);
	else
		stop_covered(member);
}

static void counted(struct gp_holder_member *member, const struct gp_wire_message *message)
{
	struct gp_holder_job *job = current(member->direct);
	struct gp_gpu_control_queues list;

	if (!take_queues(message, &list)) {
		job->done.queues = 0;
		for (size_t i = 0; i < list.count; i++)
			job->done.queues += gp_holder_want_covers(&job->mine, &list.items[i]);
	}
	gp_gpu_control_queues_free(&list);
	conclude(member, 0);
}

static void noted(struct gp_holder_member *member, const struct gp_wire_message *message)
{
	struct gp_gpu_control_queues list;

	if (!take_queues(message, &list)) {
		gp_holder_job_note_gpus(current(member->direct), &list);
		member->direct->known = list.count > 0;
	}
	gp_gpu_control_queues_free(&list);
	finish(member, member->direct->error);
}

/* ---- the machine ---- */

static void begin_value(struct gp_holder_member *member)
{
	struct gp_holder_job *job = current(member->direct);
	struct gp_proto_msg_value value = {.value = job->value};
	struct gp_proto_msg_suspend lease = {.lease_ms = job->value, .limit_ms = GP_LIMIT_MAX_MS};

	if (job->kind == GP_JOB_SHARE) {
		value = (struct gp_proto_msg_value){.target = GP_SHARE_FIRST(job->value),
						    .value = GP_SHARE_SIZE(job->value)};
		call(member, CALLING, GP_MSG_AGENT_SHARE, &value, sizeof(value));
	} else if (job->kind == GP_JOB_PRIORITY) {
		call(member, CALLING, GP_MSG_AGENT_PRIORITY, &value, sizeof(value));
	} else {
		member->direct->lease_ms = job->value;
		if (member->direct->touched)
			call(member, CALLING, GP_MSG_AGENT_RENEW, &lease, sizeof(lease));
		else
			finish(member, 0);
	}
}

static void begin(struct gp_holder_member *member)
{
	struct gp_holder_direct *direct = member->direct;
	struct gp_holder_job *job = current(direct);

	direct->tries = 0;
	switch (job->kind) {
	case GP_JOB_PROBE:
		job->why.count = 1;
		gp_proto_say(&job->why.reason[0], 0, GP_SAY_AGENT_WORKS);
		if (direct->agent->greeted)
			finish(member, 0);
		else
			wait_until(member, GREETING, gp_holder_now_ns() + GREET_NS);
		return;
	case GP_JOB_APPLY:
		begin_apply(member);
		return;
	case GP_JOB_QUEUES:
		call(member, CALLING, GP_MSG_AGENT_QUEUES, NULL, 0);
		return;
	case GP_JOB_STOP:
	case GP_JOB_NOTICE:
		finish(member, 0);
		return;
	default:
		begin_value(member);
	}
}

static void run(struct gp_holder_member *member)
{
	while (member->direct && member->direct->agent && member->direct->step == IDLE &&
	       !gp_list_empty(&member->direct->jobs))
		begin(member);
}

static void answered(struct gp_holder_member *member, const struct gp_wire_message *message)
{
	struct gp_holder_direct *direct = member->direct;
	struct gp_holder_job *job = current(direct);
	int status = message->header.status;

	switch (direct->step) {
	case CALLING:
		if (job->kind == GP_JOB_QUEUES)
			status = take_queues(message, &job->queues);
		finish(member, GP_MIN(status, 0));
		break;
	case LISTING:
		listed(member, message);
		break;
	case STARTING:
		status = take_done(member, message, &job->started);
		if (status)
			applied(member, status);
		else
			stop_covered(member);
		break;
	case STOPPING:
		applied(member, take_done(member, message, &job->done.queues));
		break;
	case RESUMING:
		applied(member, take_done(member, message, &job->started));
		break;
	case UNDOING:
		wait_until(member, PAUSING, gp_holder_now_ns() + (GP_NS_PER_MS << direct->tries));
		break;
	case COUNTING:
		counted(member, message);
		break;
	case NOTING:
		noted(member, message);
		break;
	default:
		break;
	}
}

void gp_holder_direct_message(struct gp_holder_member *member,
			      const struct gp_wire_message *message)
{
	struct gp_holder_direct *direct = member->direct;

	if (message->header.serial && message->header.serial == direct->serial &&
	    direct->step != IDLE && direct->step != GREETING && direct->step != PAUSING) {
		direct->serial = 0;
		answered(member, message);
	} else if (message->header.type == GP_MSG_HELLO && direct->step == GREETING) {
		finish(member, 0);
	} else if (message->header.type == GP_MSG_AGENT_CHANGED && !message->header.serial) {
		gp_holder_member_notice(member, 1);
		if (direct->touched)
			gp_holder_member_apply(member, NULL, false, NULL, 0);
	}
	run(member);
}

void gp_holder_direct_lost(struct gp_holder_member *member, bool version)
{
	struct gp_holder_direct *direct = member->direct;
	bool probing = direct->step == GREETING;

	direct->agent = NULL;
	if (version && probing) {
		struct gp_holder_job *job = current(direct);

		/* Another mechanism may work. */
		member->old_agent = true;
		member->ops = NULL;
		gp_list_remove(&job->link);
		gp_holder_direct_free(member);
		gp_holder_job_route(job);
		return;
	}
	direct->step = IDLE;
	while (!gp_list_empty(&direct->jobs)) {
		struct gp_holder_job *job = current(direct);
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

	if (direct->step == IDLE)
		return GP_NEVER;
	if (direct->until_ns > now)
		return direct->until_ns;
	direct->serial = 0;
	if (direct->step == GREETING) {
		finish(member, 0); /* it may be stopped: it is its agent all the same */
	} else if (direct->step == PAUSING) {
		direct->tries++;
		begin_apply(member);
	} else if (direct->broken) {
		finish(member, -ESRCH);
	} else if (direct->step == NOTING || direct->step == COUNTING) {
		finish(member, direct->step == NOTING ? direct->error : 0);
	} else if (direct->step == CALLING || direct->step == LISTING) {
		finish(member, -ETIME);
	} else {
		applied(member, -ETIME);
	}
	run(member);
	return member->direct && member->direct->step != IDLE ? member->direct->until_ns : GP_NEVER;
}

u64 gp_holder_direct_expire(struct gp_holder *holder, u64 now)
{
	struct gp_list *at;
	u64 nearest = GP_NEVER;

	gp_list_for_each (at, &holder->members) {
		struct gp_holder_member *member = gp_container(at, struct gp_holder_member, link);

		if (member->direct)
			nearest = GP_MIN(nearest, expire(member, now));
	}
	return nearest;
}

void gp_holder_direct_post(struct gp_holder_job *job)
{
	struct gp_holder_member *member = job->member;

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
	free(direct->stops);
	free(direct);
}
