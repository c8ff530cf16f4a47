// SPDX-License-Identifier: MIT
/*
 * The mechanism kfd-agent: the agent inside the process changes its own queues (UPDATE_QUEUE) when
 * we ask it to over its socket. It keeps a lease clock of its own, so it needs the lease and its
 * renewals; a holder that dies or hangs costs the process no more than that.
 */
#include "holder/holder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "gpu/nvrm/nvrm.h"
#include "proto/directory.h"

#define CALL_MS 5000 /* a process that is stopped does not answer */
/* An agent that has too many connections to take at the moment is tried again. */
#define FIND_TRIES  100
#define FIND_NAP_NS 10000000

struct gp_holder_agent_target {
	struct gp_gpu_control base;
	int fd;
	u32 serial, lease_ms;
	u32 own_priority; /* from its HELLO */
	bool changed;
	bool touched; /* it may hold something for us */
	struct gp_wire_message message;
};

static struct gp_holder_agent_target *mine(struct gp_gpu_control *base)
{
	return gp_container(base, struct gp_holder_agent_target, base);
}

/* ---- finding it ---- */

static bool belongs_to(u32 pid, uid_t uid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	return stat(path, &st) == 0 && st.st_uid == uid;
}

/* A connection when the socket is that process's. */
static int try_socket(const char *path, u32 pid)
{
	uid_t uid;
	pid_t peer;

	int fd = gp_proto_directory_connect_owned(path);
	if (fd < 0)
		return fd;
	/* Who listened, by the kernel's word: another user's process may have its number by now. */
	if (gp_wire_peer(fd, &peer, &uid) || (u32)peer != pid || !gp_wire_agent_allowed(uid) ||
	    (geteuid() == 0 && uid != 0 && !belongs_to(pid, uid))) {
		close(fd);
		return -ENOENT;
	}
	return fd;
}

/* Whoever else's it is may never take connections, to make root wait. */
static bool is_ours(const char *path)
{
	unsigned int owner;

	return gp_proto_directory_owner(path, &owner) == 0 && owner == geteuid();
}

/* Those that begin with the pid first: it is one of them unless the process is in a container. */
static int look_in(const char *agents, u32 pid, bool *busy)
{
	char path[108], hint[16];
	struct gp_names names = {0};
	int found = -ENOENT;
	int length = snprintf(hint, sizeof(hint), "%u-", pid);

	if (gp_root_list(NULL, &names, "%s", agents))
		return -ENOENT;
	for (int pass = 0; pass < 2 && found < 0; pass++)
		for (size_t i = 0; i < names.count && found < 0; i++) {
			const char *end = strrchr(names.items[i], '.');
			bool likely = !strncmp(names.items[i], hint, (size_t)length);

			if (likely != !pass || !end || strcmp(end, ".sock") ||
			    (size_t)snprintf(path, sizeof(path), "%s/%s", agents, names.items[i]) >=
				    sizeof(path))
				continue;
			found = try_socket(path, pid);
			*busy |= likely && found == -EAGAIN && is_ours(path);
		}
	gp_names_free(&names);
	return found < 0 ? -ENOENT : found;
}

static int look_for_agent(u32 pid, bool *busy)
{
	char agents[108];
	int found = -ENOENT;

	if (!gp_proto_directory_path(agents, sizeof(agents), "agents", 0))
		found = look_in(agents, pid, busy);
	if (found < 0 && !gp_proto_directory_other_agents(agents, sizeof(agents)))
		found = look_in(agents, pid, busy);
	return found;
}

static int find_agent(u32 pid)
{
	int found = -ENOENT;

	for (int i = 0; i < FIND_TRIES && found < 0; i++) {
		bool busy = false;

		if (i)
			nanosleep(&(struct timespec){.tv_nsec = FIND_NAP_NS}, NULL);
		found = look_for_agent(pid, &busy);
		if (!busy)
			break;
	}
	return found;
}

static int probe(int pidfd, u32 pid, struct gp_proto_message *why)
{
	int fd = find_agent(pid);

	(void)pidfd;
	if (fd < 0)
		return gp_proto_say(why, -ENOENT, GP_SAY_AGENT_NONE, pid);
	close(fd);
	/* Its agent knows of a CUDA program's channels, and leaves them to us. */
	if (gp_nvrm_used_by(NULL, pid))
		return gp_proto_say(why, -ENOENT, GP_SAY_USES_NVIDIA, pid);
	return gp_proto_say(why, 0, GP_SAY_AGENT_WORKS);
}

/* ---- talking to it ---- */

static void on_event(const struct gp_wire_message *event, void *data)
{
	struct gp_holder_agent_target *control = data;

	if (event->header.type == GP_MSG_AGENT_CHANGED)
		control->changed = true;
}

static int call(struct gp_holder_agent_target *control, u16 type, const void *body, size_t size)
{
	u32 serial = ++control->serial ? control->serial : ++control->serial;
	int result = gp_wire_call(control->fd, type, serial, body, size, -1, &control->message,
				  CALL_MS, on_event, control);

	if (control->message.fd >= 0)
		close(control->message.fd);
	control->message.fd = -1;
	/* It ended or became another program, whose agent, if any, is another one. */
	return result == -ECONNRESET || result == -EPIPE ? -ESRCH : result;
}

static int attach(int pidfd, u32 pid, struct gp_proto_message *why, struct gp_gpu_control **out)
{
	struct gp_proto_msg_hello hello = {.pid = (u32)getpid(), .name = "gpreempt-holder"};
	struct gp_holder_agent_target *control = calloc(1, sizeof(*control));
	const struct gp_proto_msg_hello *theirs;
	int error;

	if (!control)
		return -ENOMEM;
	control->base = (struct gp_gpu_control){.pid = pid, .pidfd = pidfd};
	control->message.fd = -1;
	control->fd = find_agent(pid);
	error = control->fd < 0 ? -ESRCH : call(control, GP_MSG_HELLO, &hello, sizeof(hello));
	if (error >= 0 && !gp_wire_fits(&control->message, sizeof(*theirs), 0, 0))
		error = -EPROTO;
	if (error < 0) {
		if (control->fd >= 0)
			close(control->fd);
		free(control);
		if (error == -ETIME)
			return error; /* explained where the other calls are */
		return gp_proto_say(why, error,
				    error == -EPROTONOSUPPORT ? GP_SAY_AGENT_VERSION
							      : GP_SAY_AGENT_SILENT,
				    pid);
	}
	theirs = (const void *)control->message.body;
	control->own_priority = theirs->priority;
	*out = &control->base;
	return 0;
}

static void detach(struct gp_gpu_control *base)
{
	close(mine(base)->fd); /* it lets go of what we held */
	free(mine(base));
}

static int event_fd(struct gp_gpu_control *base)
{
	return mine(base)->fd;
}

static int pump(struct gp_gpu_control *base)
{
	struct gp_holder_agent_target *control = mine(base);
	int error;

	do {
		error = gp_wire_receive(control->fd, &control->message, 0);
		if (!error && control->message.header.serial == 0)
			on_event(&control->message, control);
		if (!error && control->message.fd >= 0)
			close(control->message.fd);
	} while (!error);
	control->message.fd = -1;
	if (error != -EAGAIN)
		return -ESRCH;
	bool changed = control->changed;
	control->changed = false;
	return changed;
}

/* ---- queues ---- */

static int take_queues(struct gp_holder_agent_target *control, struct gp_gpu_control_queues *out)
{
	const struct gp_proto_msg_queues *answer = (const void *)control->message.body;

	if (control->message.header.size < sizeof(struct gp_proto_msg) + sizeof(*answer) ||
	    !gp_wire_fits(&control->message, sizeof(*answer), answer->count,
			  sizeof(answer->queues[0])))
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

static int queues(struct gp_gpu_control *base, struct gp_gpu_control_queues *out)
{
	struct gp_holder_agent_target *control = mine(base);
	int result = call(control, GP_MSG_AGENT_QUEUES, NULL, 0);

	*out = (struct gp_gpu_control_queues){0};
	return result < 0 ? result : take_queues(control, out);
}

/* ---- suspend and resume ---- */

static int act(struct gp_holder_agent_target *control, u16 type, const u32 *ids, size_t count,
	       u32 grace, struct gp_gpu_control_done *done)
{
	const struct gp_proto_msg_done *answer = (const void *)control->message.body;
	struct gp_proto_msg_suspend *body;
	size_t size = sizeof(*body) + count * sizeof(u32);
	u64 now = gp_holder_now_ns();

	if (count > GP_PROTO_IDS)
		return -E2BIG;
	body = calloc(1, size);
	if (!body)
		return -ENOMEM;
	*body = (struct gp_proto_msg_suspend){.lease_ms = control->lease_ms,
					      .limit_ms = GP_LIMIT_MAX_MS, /* the holder keeps it */
					      .grace = grace,
					      .count = (u32)count,
					      .sent_ns = now};
	if (count)
		memcpy(body->ids, ids, count * sizeof(u32));
	int result = call(control, type, body, size);
	free(body);
	if (result < 0)
		return result;
	if (!gp_wire_fits(&control->message, sizeof(*answer), 0, 0))
		return -EPROTO;
	*done = (struct gp_gpu_control_done){.issued_ns =
						     answer->issue_ns ? now + answer->issue_ns : 0,
					     .driver_ns = answer->driver_ns,
					     .queues = answer->queues};
	return result;
}

static int suspend(struct gp_gpu_control *base, const u32 *ids, size_t count, u32 grace,
		   struct gp_gpu_control_done *done)
{
	struct gp_holder_agent_target *control = mine(base);

	control->touched = true;
	return act(control, GP_MSG_AGENT_SUSPEND, ids, count, grace, done);
}

static int resume(struct gp_gpu_control *base, const u32 *ids, size_t count,
		  struct gp_gpu_control_done *done)
{
	struct gp_holder_agent_target *control = mine(base);

	*done = (struct gp_gpu_control_done){0};
	if (!control->touched)
		return 0;
	int result = act(control, GP_MSG_AGENT_RESUME, ids, count, 0, done);
	if (result >= 0 && !ids)
		control->touched = false;
	return result;
}

static int lease(struct gp_gpu_control *base, u32 lease_ms)
{
	struct gp_holder_agent_target *control = mine(base);
	struct gp_proto_msg_suspend body = {.lease_ms = lease_ms, .limit_ms = GP_LIMIT_MAX_MS};

	control->lease_ms = lease_ms;
	return control->touched ? call(control, GP_MSG_AGENT_RENEW, &body, sizeof(body)) : 0;
}

static int value(struct gp_holder_agent_target *control, u16 type, u32 number)
{
	struct gp_proto_msg_value body = {.value = number};

	return call(control, type, &body, sizeof(body));
}

static int share(struct gp_gpu_control *base, u32 part)
{
	struct gp_proto_msg_value body = {.target = GP_SHARE_FIRST(part),
					  .value = GP_SHARE_SIZE(part)};

	return call(mine(base), GP_MSG_AGENT_SHARE, &body, sizeof(body));
}

static int priority(struct gp_gpu_control *base, u32 number)
{
	return value(mine(base), GP_MSG_AGENT_PRIORITY, number);
}

int gp_holder_agent_tell_priority(u32 pid, u32 priority)
{
	struct gp_gpu_control *base;
	int error = attach(-1, pid, NULL, &base);

	if (error)
		return error == -ESRCH ? 0 : error;
	error = value(mine(base), GP_MSG_AGENT_PRIORITY, priority);
	detach(base);
	return error;
}

int gp_holder_agent_ask_priority(u32 pid, u32 *priority)
{
	struct gp_gpu_control *base;
	int error = attach(-1, pid, NULL, &base);

	if (error)
		return error;
	*priority = mine(base)->own_priority;
	detach(base);
	return 0;
}

static u32 own_priority(const struct gp_gpu_control *base)
{
	return gp_container(base, const struct gp_holder_agent_target, base)->own_priority;
}

const struct gp_gpu_control_ops gp_holder_agent_control = {
	.mechanism = GP_MECHANISM_KFD_AGENT,
	.probe = probe,
	.attach = attach,
	.detach = detach,
	.fd = event_fd,
	.pump = pump,
	.queues = queues,
	.suspend = suspend,
	.resume = resume,
	.share = share,
	.lease = lease,
	.priority = priority,
	.own_priority = own_priority,
};
