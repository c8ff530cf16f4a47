// SPDX-License-Identifier: MIT
/* OPEN: which process, by which mechanism; and the processes of a group. */
#include "holder/holder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core.h"
#include "base/file.h"
#include "base/parse.h"

#define GROUP_MS 1000 /* for agents to say who they are */

/* The pid behind a pidfd, as this process's namespace numbers it. */
static int pid_of(int pidfd, u32 *pid)
{
	struct gp_buf text = {0};
	int error = gp_root_read(NULL, 4096, &text, "/proc/self/fdinfo/%d", pidfd);

	if (error)
		return error;
	const char *p = strstr(gp_buf_str(&text), "\nPid:"), *end = gp_buf_str(&text) + text.len;
	error = -EBADF;
	if (p) {
		p += strlen("\nPid:");
		gp_skip_blanks(&p, end);
		/* -1: it has ended; 0: not in our namespace */
		error = gp_parse_u32(&p, end, pid) && *pid ? 0 : -ESRCH;
	}
	gp_buf_free(&text);
	return error;
}

void gp_holder_say_empty_group(struct gp_proto_reasons *why)
{
	*why = (struct gp_proto_reasons){.count = 1};
	gp_proto_say(&why->reason[0], 0, GP_SAY_GROUP_EMPTY);
}

static void give_up(struct gp_holder_request *request, int error, enum gp_proto_code code)
{
	if (request->target)
		gp_holder_target_remove(request->target); /* sets request->target to NULL */
	if (code == GP_SAY_NOTHING)
		gp_holder_request_fail(request, error);
	else
		gp_holder_request_refuse(request, error, code);
}

static void open_process(struct gp_holder_request *request, struct gp_wire_message *message)
{
	struct gp_holder *holder = request->connection->holder;
	struct gp_holder_target *target = request->target;
	struct gp_holder_member *member;
	struct gp_holder_job *job;
	int error = message->fd < 0 ? -EBADF : pid_of(message->fd, &target->pid);

	if (error) {
		give_up(request, error, error == -ESRCH ? GP_SAY_NOT_VISIBLE : GP_SAY_NO_PIDFD);
		return;
	}
	member = gp_holder_member_find(holder, target->pid, target->asked);
	if (!member) {
		member = gp_holder_member_add(holder, target->pid, message->fd, target->asked);
		if (member)
			message->fd = -1; /* its now */
	}
	if (!member || gp_holder_target_link(target, member)) {
		give_up(request, -ENOMEM, GP_SAY_NO_ROOM);
		return;
	}
	job = gp_holder_job_new(member, GP_JOB_PROBE, request);
	if (!job) {
		give_up(request, -ENOMEM, GP_SAY_NO_ROOM);
		return;
	}
	job->asked = target->asked;
	gp_holder_job_post(job);
}

static void open_group(struct gp_holder_request *request)
{
	struct gp_holder_connection *connection = request->connection;

	connection->holder->group_targets++;
	/* While this looks, agents that turn out to be none of ours must not end it. */
	request->waiting++;
	gp_holder_agents_watch(connection->holder);
	request->deadline_ns = gp_monotonic_ns() + GROUP_MS * GP_NS_PER_MS;
	gp_holder_wake_at(connection->holder, request->deadline_ns);
	gp_holder_agents_join(connection->holder, request->target, request);
	if (!--request->waiting && gp_holder_agents_settled(connection->holder))
		gp_holder_request_finish(request);
}

int gp_holder_request_open_target(struct gp_holder_connection *connection,
				  struct gp_wire_message *message)
{
	const struct gp_proto_msg_open *asked = (const void *)message->body;
	struct gp_holder_request *request;

	if (!gp_wire_fits(message, sizeof(*asked), 0, 0))
		return -EPROTO;
	request = gp_holder_request_add(connection, &message->header, NULL);
	if (!request)
		return -ENOMEM;
	request->deadline_ns = gp_monotonic_ns() + GP_HOLDER_TIMEOUT_MS * GP_NS_PER_MS;
	gp_holder_wake_at(connection->holder, request->deadline_ns);
	if (asked->mechanism >= GP_MECHANISM_COUNT) {
		gp_holder_request_refuse(request, -EINVAL, GP_SAY_NO_MECHANISM, asked->mechanism);
		return 0;
	}
	request->target = gp_holder_target_add(connection);
	if (!request->target) {
		gp_holder_request_refuse(request, -EMFILE, GP_SAY_TOO_MANY_TARGETS);
		return 0;
	}
	request->target->asked = asked->mechanism;
	request->target->gpu_id = asked->gpu_id;
	gp_wire_text(request->target->group, sizeof(request->target->group), asked->group,
		     sizeof(asked->group));
	if (request->target->group[0])
		open_group(request);
	else
		open_process(request, message);
	return 0;
}

/* Two ways of asking can end at the same mechanism: one process has one worker for it. */
static void merge(struct gp_holder_target *target)
{
	struct gp_holder_link *link =
		gp_container(target->links.next, struct gp_holder_link, by_target);
	struct gp_holder_member *mine = link->member;

	gp_list_each (struct gp_holder_member, other, link, &mine->holder->members) {
		if (other == mine || other->pid != mine->pid || other->ops != mine->ops ||
		    other->gone || other->stopping)
			continue;
		if (gp_holder_target_link(target, other))
			return;
		gp_holder_link_remove(link);
		gp_holder_member_unused(mine);
		return;
	}
}

void gp_holder_request_opened(struct gp_holder_request *request)
{
	struct gp_holder_target *target = request->target;
	struct gp_proto_msg_opened answer = {0};
	struct gp_list *at;

	if (!target || (!request->error && !target->group[0] && gp_list_empty(&target->links))) {
		give_up(request, -ESRCH, GP_SAY_NOT_VISIBLE);
		return;
	}
	if (request->error && !target->group[0]) {
		give_up(request, request->error, GP_SAY_NOTHING);
		return;
	}
	if (!target->group[0])
		merge(target);
	answer.target = target->id;
	gp_holder_say_empty_group(&answer.why);
	gp_list_for_each (at, &target->links) {
		struct gp_holder_member *member = gp_holder_linked_member(at);

		if (!answer.process_count++ && member->ops) {
			answer.mechanism = member->ops->mechanism;
			answer.why = member->why;
		}
	}
	gp_holder_request_answer(request, 0, &answer, sizeof(answer));
	target->opened = true;
	gp_holder_elsewhere_opened(target);
}
