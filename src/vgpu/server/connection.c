// SPDX-License-Identifier: MIT
/*
 * Connections: one message a packet (SOCK_SEQPACKET), one request each. A client that sends what a
 * correct one never does loses its process on the machine; the others do not notice.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fdpass.h"
#include "base/i18n.h"
#include "vgpu/server/state.h"

#define MAX_UNDER_WAY   16 /* requests of one connection; a correct client has one */
#define MAX_DESCRIPTORS 3
#define MAX_IN_A_TURN   32 /* messages */
#define MESSAGE_BYTES   (sizeof(struct gp_vgpu_header) + GP_VGPU_PAYLOAD_MAX)

/* Requests that are under way continue; their replies are dropped. */
static void forget_connection(struct gp_vgpu_request *list,
			      const struct gp_vgpu_connection *connection)
{
	for (; list; list = list->next)
		if (list->connection == connection)
			list->connection = NULL;
}

void gp_vgpu_connection_close(struct gp_vgpu_server *server, struct gp_vgpu_connection *connection)
{
	if (connection->closed)
		return;
	connection->closed = true;
	if (server->holder == connection)
		gp_vgpu_server_hold(server, UINT64_MAX, NULL);
	gp_vgpu_unwatch(server, connection->fd);
	close(connection->fd);
	for (struct gp_vgpu_process *p = server->processes; p; p = p->next) {
		forget_connection(p->requests, connection);
		forget_connection(p->parked, connection);
	}
	if (connection->process)
		connection->process->connections--;
	/* The last one: exec or exit. */
	if (connection->process && !connection->process->connections)
		connection->process->condemned = true;
	connection->process = NULL;
}

void gp_vgpu_connections_reap(struct gp_vgpu_server *server)
{
	struct gp_vgpu_connection **at = &server->connections, *connection;
	struct gp_vgpu_process *process = server->processes, *next;

	for (; process; process = next) {
		next = process->next;
		if (process->condemned)
			gp_vgpu_process_remove(server, process);
	}
	while ((connection = *at)) {
		if (!connection->closed) {
			at = &connection->next;
			continue;
		}
		*at = connection->next;
		free(connection);
	}
	gp_vgpu_bury(server);
}

/* ---- replies ---- */

static void send_reply(struct gp_vgpu_server *server, struct gp_vgpu_connection *connection,
		       const struct gp_vgpu_reply *reply, const void *payload, const int *fds,
		       u32 fd_count)
{
	union gp_fdpass room;
	struct iovec parts[] = {
		{.iov_base = (void *)reply, .iov_len = sizeof(*reply)},
		{.iov_base = (void *)payload, .iov_len = reply->payload_size},
	};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = reply->payload_size ? 2 : 1};

	gp_fdpass_put(&message, &room, fds, fd_count);
	/* A client that does not read its replies has gone or is wrong. */
	if (sendmsg(connection->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		gp_vgpu_connection_close(server, connection);
}

void gp_vgpu_connection_reply(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	struct gp_vgpu_connection *connection = request->connection;
	struct gp_vgpu_reply reply = {
		.sequence = request->header.sequence,
		.result = (s32)request->result,
		.args_size = request->header.args_size,
		.payload_size = request->payload_out,
	};

	if (!connection)
		return;
	connection->under_way--;
	memcpy(reply.args, request->header.args, sizeof(reply.args));
	send_reply(server, connection, &reply, request->payload, &request->send_fd,
		   request->send_fd >= 0);
}

static void reply_plain(struct gp_vgpu_server *server, struct gp_vgpu_connection *connection,
			u32 sequence, int result, const void *payload, size_t size)
{
	struct gp_vgpu_reply reply = {.sequence = sequence, .result = result};

	reply.payload_size = size > GP_VGPU_PAYLOAD_MAX ? 0 : (u32)size;
	if (size > GP_VGPU_PAYLOAD_MAX)
		reply.result = -EMSGSIZE;
	send_reply(server, connection, &reply, payload, NULL, 0);
}

/* ---- requests ---- */

/* CREATE_PROCESS: a process for one descriptor, beside the one that open() made. */
static struct gp_vgpu_process *add_secondary(struct gp_vgpu_server *server, pid_t pid)
{
	const struct gp_vgpu_process *primary = gp_vgpu_process_find(server, pid);

	if (!primary || !primary->shared || server->options.era < GP_ERA_7_0)
		return NULL;
	return gp_vgpu_process_add_secondary(server, pid);
}

static int new_process(struct gp_vgpu_server *server, struct gp_vgpu_connection *connection,
		       bool secondary)
{
	struct gp_vgpu_process *process = secondary ? add_secondary(server, connection->pid)
						    : gp_vgpu_process_find(server, connection->pid);
	int error;

	/* The same pid with a new image: exec ended what was before. */
	if (!secondary && process && process->shared) {
		gp_vgpu_process_remove(server, process);
		process = NULL;
	}
	if (!secondary && !process)
		process = gp_vgpu_process_add(server, connection->pid);
	if (!process)
		return -ENOMEM;
	error = gp_vgpu_process_share(process);
	if (!error)
		error = gp_vgpu_watch(server, process->bell_fd, GP_VGPU_WATCH_WORK, process);
	if (error) {
		process->condemned = true;
		return error;
	}
	connection->process = process;
	process->connections++;
	return 0;
}

static int more_of_process(struct gp_vgpu_server *server, struct gp_vgpu_connection *connection,
			   u64 token)
{
	struct gp_vgpu_process *process = server->processes;

	while (process && (process->pid != connection->pid || process->token != token))
		process = process->next;
	if (!process || !process->shared || process->condemned)
		return -EPROTO;
	connection->process = process;
	process->connections++;
	return 0;
}

static int hello(struct gp_vgpu_server *server, struct gp_vgpu_connection *connection,
		 const struct gp_vgpu_header *header, const u8 *payload)
{
	struct gp_vgpu_reply reply = {.sequence = header->sequence};
	struct gp_vgpu_welcome welcome;
	struct gp_vgpu_hello hello;
	int error, fds[MAX_DESCRIPTORS];

	memcpy(&hello, payload, sizeof(hello));
	if (connection->process)
		return -EPROTO;
	if (connection->reserved)
		return -EMFILE;
	error = hello.token ? more_of_process(server, connection, hello.token)
			    : new_process(server, connection, hello.secondary != 0);
	if (error)
		return error;
	gp_vgpu_server_welcome(server, connection->process, &welcome);
	fds[0] = connection->process->shared_fd;
	fds[1] = fds[2] = connection->process->client_bell_fd;
	reply.payload_size = sizeof(welcome);
	send_reply(server, connection, &reply, &welcome, fds, hello.token ? 0 : MAX_DESCRIPTORS);
	return 0;
}

static int ioctl_request(struct gp_vgpu_server *server, struct gp_vgpu_connection *connection,
			 const struct gp_vgpu_header *header, const u8 *payload, int *fd)
{
	struct gp_vgpu_request *request;

	if (!connection->process || connection->under_way >= MAX_UNDER_WAY)
		return -EPROTO;
	/* Packets that were rung before this call count as before it. */
	if (gp_vgpu_ring_read(server, connection->process) == -EPROTO)
		return -EPROTO;
	request = calloc(1, sizeof(*request));
	if (!request)
		return -ENOMEM;
	request->header = *header;
	request->process = connection->process;
	request->connection = connection;
	request->received_fd = *fd;
	request->send_fd = -1;
	*fd = -1;
	connection->under_way++;
	if (header->payload_size) {
		request->payload = malloc(header->payload_size);
		if (!request->payload) {
			connection->under_way--;
			gp_vgpu_request_free(request);
			return -ENOMEM;
		}
		memcpy(request->payload, payload, header->payload_size);
	}
	gp_vgpu_request_submit(server, request);
	return 0;
}

static void refresh(struct gp_vgpu_server *server, struct gp_vgpu_connection *connection,
		    const struct gp_vgpu_header *header, const u8 *payload)
{
	char path[512];
	int error = -ENAMETOOLONG;

	if (header->payload_size < sizeof(path)) {
		memcpy(path, payload, header->payload_size);
		path[header->payload_size] = 0;
		error = gp_vgpu_tree_refresh(server, path);
	}
	reply_plain(server, connection, header->sequence, error, NULL, 0);
}

static void status(struct gp_vgpu_server *server, struct gp_vgpu_connection *connection,
		   u32 sequence)
{
	struct gp_buf text = {0};
	int error = gp_vgpu_server_status(server, &text);

	reply_plain(server, connection, sequence, error, text.data, error ? 0 : text.len);
	gp_buf_free(&text);
}

static int exception(struct gp_vgpu_server *server, struct gp_vgpu_connection *connection,
		     const struct gp_vgpu_header *header, const u8 *payload)
{
	struct gp_vgpu_exception what;

	memcpy(&what, payload, sizeof(what));
	if (!connection->process)
		return -EPROTO;
	reply_plain(server, connection, header->sequence,
		    gp_vgpu_debug_exception(server, connection->process, &what), NULL, 0);
	return 0;
}

static int migrated(struct gp_vgpu_server *server, struct gp_vgpu_connection *connection,
		    const struct gp_vgpu_header *header, const u8 *payload)
{
	struct gp_vgpu_migration what;

	memcpy(&what, payload, sizeof(what));
	if (!connection->process)
		return -EPROTO;
	gp_vgpu_smi_migration(server, connection->process->pid, &what);
	reply_plain(server, connection, header->sequence, 0, NULL, 0);
	return 0;
}

static void hold_clock(struct gp_vgpu_server *server, struct gp_vgpu_connection *connection,
		       const struct gp_vgpu_header *header, const u8 *payload)
{
	struct gp_vgpu_clock clock;

	memcpy(&clock, payload, sizeof(clock));
	gp_vgpu_server_hold(server, clock.until_ns, connection);
	reply_plain(server, connection, header->sequence, 0, NULL, 0);
}

static int handle(struct gp_vgpu_server *server, struct gp_vgpu_connection *connection, size_t len,
		  int *fd)
{
	struct gp_vgpu_header header;
	const u8 *payload;
	int error = gp_vgpu_message_check(server->message, len, &header, &payload);

	if (error)
		return error;
	switch (header.kind) {
	case GP_VGPU_HELLO:
		return hello(server, connection, &header, payload);
	case GP_VGPU_IOCTL:
		return ioctl_request(server, connection, &header, payload, fd);
	case GP_VGPU_CANCEL:
		gp_vgpu_request_cancel(server, connection, header.sequence);
		return 0;
	case GP_VGPU_REFRESH:
		refresh(server, connection, &header, payload);
		return 0;
	case GP_VGPU_EXCEPTION:
		return exception(server, connection, &header, payload);
	case GP_VGPU_MIGRATED:
		return migrated(server, connection, &header, payload);
	case GP_VGPU_CLOCK:
		hold_clock(server, connection, &header, payload);
		return 0;
	case GP_VGPU_STATUS:
		status(server, connection, header.sequence);
		return 0;
	default:
		server->stopping = true;
		reply_plain(server, connection, header.sequence, 0, NULL, 0);
		return 0;
	}
}

/* 1: a message was handled; 0: none is there; -errno: the connection is over. */
static int read_one(struct gp_vgpu_server *server, struct gp_vgpu_connection *connection)
{
	struct iovec part = {.iov_base = server->message, .iov_len = MESSAGE_BYTES};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	union gp_fdpass room;
	int fd = -1, error;
	ssize_t len;

	gp_fdpass_expect(&message, &room);
	len = recvmsg(connection->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (len < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	/* There should be no second one. */
	if (gp_fdpass_take(&message, &fd, 1, gp_vgpu_foreign_close) > 1 ||
	    message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		error = -EPROTO;
	else if (len == 0)
		error = -ECONNRESET;
	else
		error = handle(server, connection, (size_t)len, &fd);
	gp_vgpu_foreign_close(fd);
	return error ? error : 1;
}

void gp_vgpu_connection_readable(struct gp_vgpu_server *server,
				 struct gp_vgpu_connection *connection)
{
	int error = 1;

	/* A client that never stops talking waits for the others now and then. */
	for (u32 i = 0; error == 1 && i < MAX_IN_A_TURN && !connection->closed; i++)
		error = read_one(server, connection);
	if (error >= 0)
		return;
	if (error == -EPROTO) {
		gp_diag(server->diag, GP_WARNING,
			"malformed message from process %d; connection closed",
			(int)connection->pid);
		if (connection->process)
			connection->process->condemned = true;
	}
	gp_vgpu_connection_close(server, connection);
}
