// SPDX-License-Identifier: MIT
/* Asking gpreemptd: see connection.h. */
#include "slurm/connection.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/core.h"
#include "proto/daemon.h"
#include "proto/directory.h"
#include "proto/wire.h"

void gp_slurm_group(u32 job, char *out, size_t size)
{
	snprintf(out, size, "slurm-%u", job);
}

int gp_slurm_left_ms(u64 end)
{
	u64 now = gp_monotonic_ns();

	return now < end ? (int)((end - now) / GP_NS_PER_MS) : 0;
}

void gp_slurm_close(struct gp_slurm_connection *connection)
{
	if (connection->fd >= 0)
		close(connection->fd);
	connection->fd = -1;
}

bool gp_slurm_ended(const struct gp_slurm_connection *connection)
{
	struct pollfd peer = {.fd = connection->fd, .events = POLLRDHUP};

	/* Not by reading: a late answer may lie before the end. */
	return connection->fd < 0 || (poll(&peer, 1, 0) > 0 &&
				      (peer.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)));
}

/* Rounded up: a wait of 0 would spin. */
static int wait_ms(u64 now, u64 end)
{
	return (int)((end - now + GP_NS_PER_MS - 1) / GP_NS_PER_MS);
}

/* Waits for the answer to the last request, until `end`; others are late ones, of requests that
 * were not waited for. What has come is read in any case: answers that lie there leave gpreemptd no
 * room for more. 0, also when it is a refusal; -errno: there is none. */
static int receive(struct gp_slurm_connection *connection, struct gp_wire_message *answer, u64 end)
{
	for (;;) {
		struct pollfd ready = {.fd = connection->fd, .events = POLLIN};
		int error = gp_wire_receive(connection->fd, answer, 0);
		u64 now = gp_monotonic_ns();

		if (error && error != -EAGAIN)
			return error;
		if (!error && answer->fd >= 0)
			close(answer->fd);
		if (!error && answer->header.serial == connection->serial)
			return 0;
		if (now >= end)
			return -ETIME;
		if (error && poll(&ready, 1, wait_ms(now, end)) < 0 && errno != EINTR)
			return -errno;
	}
}

/* A gpreemptd that does not read has no room for more: waits for it, until `end`. -EAGAIN: in vain,
 * nothing was sent. */
static int push(const struct gp_slurm_connection *connection, u16 type, const void *body,
		size_t size, u64 end)
{
	for (;;) {
		struct pollfd room = {.fd = connection->fd, .events = POLLOUT};
		int error =
			gp_wire_send(connection->fd, type, connection->serial, 0, body, size, -1);
		u64 now = gp_monotonic_ns();

		if (error != -EAGAIN || now >= end)
			return error;
		if (poll(&room, 1, wait_ms(now, end)) < 0 && errno != EINTR)
			return -errno;
	}
}

static int ask(struct gp_slurm_connection *connection, u16 type, const void *body, size_t size,
	       int timeout_ms, struct gp_wire_message *answer)
{
	u64 end = gp_monotonic_ns() + (u64)timeout_ms * GP_NS_PER_MS;
	int error;

	connection->serial++;
	error = push(connection, type, body, size, end);
	if (!error)
		error = receive(connection, answer, end);
	/* A refusal is an answer. The end of the connection would end the holds of other jobs. */
	if (error && error != -ETIME && error != -EAGAIN)
		gp_slurm_close(connection);
	return error ? error : answer->header.status;
}

/* The directory may be one that all users can write to, like /tmp: there anybody could listen. */
static bool is_trusted(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

int gp_slurm_open(struct gp_slurm_connection *connection, int timeout_ms)
{
	struct gp_proto_msg_hello me = {.pid = (u32)getpid(), .name = "slurmd"};
	struct gp_wire_message *answer;
	int status;

	gp_slurm_close(connection);
	connection->serial = 0;
	connection->fd = gp_proto_directory_try_connect(GP_DAEMON_SOCKET);
	if (connection->fd < 0) {
		status = connection->fd;
		connection->fd = -1;
		return status;
	}
	if (!is_trusted(connection->fd)) {
		gp_slurm_close(connection);
		return -EPERM;
	}
	answer = malloc(sizeof(*answer));
	status = answer ? ask(connection, GP_MSG_HELLO, &me, sizeof(me), timeout_ms, answer)
			: -ENOMEM;
	free(answer);
	if (status < 0)
		gp_slurm_close(connection);
	return GP_MIN(status, 0);
}

int gp_slurm_hold(struct gp_slurm_connection *connection, u32 job, bool on, int timeout_ms)
{
	struct gp_proto_msg_named_hold hold = {.owner = GP_SLURM_OWNER, .on = on};
	struct gp_proto_msg_named_held held = {0};
	struct gp_wire_message *answer = malloc(sizeof(*answer));
	int status;

	if (!answer)
		return -ENOMEM;
	gp_slurm_group(job, hold.group, sizeof(hold.group));
	status = ask(connection, GP_MSG_DAEMON_HOLD, &hold, sizeof(hold), timeout_ms, answer);
	if (status >= 0 && gp_wire_fits(answer, sizeof(held), 0, 0))
		memcpy(&held, answer->body, sizeof(held));
	free(answer);
	return status < 0 ? status : (int)held.held;
}

static void add(const struct gp_proto_msg_job *job, struct gp_slurm_account *out)
{
	out->jobs++;
	out->ran_ns += job->activity ? job->active_ns : job->ran_ns;
	out->held_ns += job->held_ns;
	out->suspends += job->suspends;
	out->longest_ns = GP_MAX(out->longest_ns, job->longest_ns);
}

static bool is_of(const struct gp_proto_msg_job *job, const struct gp_slurm_run *run)
{
	char group[GP_PROTO_NAME];

	gp_slurm_group(run->job, group, sizeof(group));
	return job->uid == run->uid && job->started_ns >= run->begun_ns &&
	       strncmp(job->group, group, sizeof(group)) == 0;
}

int gp_slurm_account(struct gp_slurm_connection *connection, const struct gp_slurm_run *run,
		     int timeout_ms, struct gp_slurm_account *out)
{
	struct gp_wire_message *answer = malloc(sizeof(*answer));
	const struct gp_proto_msg_accounts *list;
	struct gp_proto_msg_daemon_ask what = {0};
	int total = answer ? 0 : -ENOMEM;

	*out = (struct gp_slurm_account){0};
	while (total >= 0) {
		total = ask(connection, GP_MSG_DAEMON_ACCOUNTS, &what, sizeof(what), timeout_ms,
			    answer);
		list = (const struct gp_proto_msg_accounts *)answer->body;
		if (total < 0 || answer->header.size < sizeof(answer->header) + sizeof(*list) ||
		    list->count > GP_DAEMON_ACCOUNTS ||
		    !gp_wire_fits(answer, sizeof(*list), list->count, sizeof(list->accounts[0]))) {
			total = GP_MIN(total, -1) < -1 ? total : -EPROTO;
			break;
		}
		for (u32 i = 0; i < list->count; i++)
			if (is_of(&list->accounts[i].job, run))
				add(&list->accounts[i].job, out);
		what.first += list->count;
		if (!list->count || what.first >= (u64)total)
			break;
	}
	free(answer);
	return GP_MIN(total, 0);
}
