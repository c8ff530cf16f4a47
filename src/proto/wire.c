// SPDX-License-Identifier: MIT
/* Messages over SOCK_SEQPACKET: see wire.h. */
#include "proto/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fdpass.h"

#define PEER_GROUPS 1024

int gp_wire_send(int socket, u16 type, u32 serial, s32 status, const void *body, size_t size,
		 int fd)
{
	struct gp_proto_msg header = {
		.version = GP_PROTO_VERSION,
		.type = type,
		.size = (u32)(sizeof(header) + size),
		.serial = serial,
		.status = status,
	};
	if (size > GP_PROTO_MAX - sizeof(header))
		return -EMSGSIZE;
	struct iovec parts[2] = {
		{.iov_base = &header, .iov_len = sizeof(header)},
		{.iov_base = (void *)body, .iov_len = size},
	};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = size ? 2 : 1};
	union gp_fdpass room;
	ssize_t sent;

	gp_fdpass_put(&message, &room, &fd, fd >= 0);
	do
		sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

int gp_wire_refuse(int socket, const struct gp_proto_msg *ask, int error, enum gp_proto_code code,
		   ...)
{
	struct gp_proto_reasons body = {.count = 1};
	va_list args;

	va_start(args, code);
	gp_proto_vsay(&body.reason[0], error, code, args);
	va_end(args);
	return gp_wire_send(socket, ask->type, ask->serial, error, &body, sizeof(body), -1);
}

int gp_wire_refuse_version(int socket, const struct gp_proto_msg *ask)
{
	struct {
		struct gp_proto_msg header;
		struct gp_proto_msg_refusal body;
	} answer = {.header = {.version = ask->version,
			       .type = ask->type,
			       .size = sizeof(answer),
			       .serial = ask->serial,
			       .status = -EPROTONOSUPPORT}};

	snprintf(answer.body.text, sizeof(answer.body.text),
		 "gpreempt %s uses protocol version %u, but this program uses version %u; restart "
		 "the older program",
		 GP_VERSION, GP_PROTO_VERSION, ask->version);
	return send(socket, &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

const struct gp_proto_reasons *gp_wire_why(const struct gp_wire_message *message)
{
	return message->header.status < 0 &&
			       gp_wire_fits(message, sizeof(struct gp_proto_reasons), 0, 0)
		       ? (const struct gp_proto_reasons *)message->body
		       : NULL;
}

static u64 now_ms(void)
{
	return gp_monotonic_ns() / GP_NS_PER_MS;
}

static int wait_readable(int socket, int timeout_ms)
{
	u64 end = now_ms() + (u64)(timeout_ms > 0 ? timeout_ms : 0);

	for (;;) {
		struct pollfd one = {.fd = socket, .events = POLLIN};
		int left = timeout_ms;
		if (timeout_ms > 0) {
			u64 now = now_ms();
			left = now < end ? (int)(end - now) : 0;
		}
		int ready = poll(&one, 1, left);
		if (ready > 0)
			return 0;
		if (ready == 0)
			return -EAGAIN;
		if (errno != EINTR)
			return -errno;
	}
}

int gp_wire_receive(int socket, struct gp_wire_message *out, int timeout_ms)
{
	struct iovec parts[2] = {
		{.iov_base = &out->header, .iov_len = sizeof(out->header)},
		{.iov_base = out->body, .iov_len = sizeof(out->body)},
	};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	union gp_fdpass room;

	int error = 0;
	ssize_t got;

	out->fd = -1;
	for (;;) {
		gp_fdpass_expect(&message, &room);
		got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (got >= 0 || errno == ECONNRESET)
			break;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return -errno;
		if (timeout_ms == 0)
			return -EAGAIN;
		error = wait_readable(socket, timeout_ms);
		if (error)
			return error;
	}
	/* Even an empty packet may carry descriptors. */
	if (got >= 0)
		gp_fdpass_take(&message, &out->fd, 1, NULL);
	if (got <= 0) {
		if (out->fd >= 0)
			close(out->fd);
		out->fd = -1;
		return -ECONNRESET;
	}
	if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || (size_t)got < sizeof(out->header) ||
	    out->header.size != (size_t)got)
		error = -EPROTO;
	else if (out->header.version != GP_PROTO_VERSION)
		error = -EPROTONOSUPPORT;
	if (error && out->fd >= 0) {
		close(out->fd);
		out->fd = -1;
	}
	return error;
}

int gp_wire_call(int socket, u16 type, u32 serial, const void *body, size_t size, int fd,
		 struct gp_wire_message *out, int timeout_ms,
		 void (*on_event)(const struct gp_wire_message *event, void *data), void *data)
{
	int error = gp_wire_send(socket, type, serial, 0, body, size, fd);

	return error ? error : gp_wire_await(socket, type, serial, out, timeout_ms, on_event, data);
}

int gp_wire_await(int socket, u16 type, u32 serial, struct gp_wire_message *out, int timeout_ms,
		  void (*on_event)(const struct gp_wire_message *event, void *data), void *data)
{
	int error;
	u64 end = now_ms() + (u64)(timeout_ms > 0 ? timeout_ms : 0);
	for (;;) {
		int left = timeout_ms;
		if (timeout_ms > 0) {
			u64 now = now_ms();
			left = now < end ? (int)(end - now) : 0;
		}
		error = gp_wire_receive(socket, out, left);
		if (error)
			return error == -EAGAIN ? -ETIME : error;
		if (out->header.serial == serial && out->header.type == type) {
			if (out->header.status == -EPROTONOSUPPORT || out->header.status >= 0 ||
			    gp_wire_why(out))
				return out->header.status;
			return -EPROTO;
		}
		/* Answers to an earlier call that timed out are dropped with the descriptors. */
		if (out->header.serial == 0 && on_event)
			on_event(out, data);
		if (out->fd >= 0)
			close(out->fd);
		out->fd = -1;
	}
}

void gp_wire_text(char *out, size_t size, const char *field, size_t field_size)
{
	size_t length = strnlen(field, field_size);

	if (length >= size)
		length = size - 1;
	memcpy(out, field, length);
	out[length] = 0;
}

int gp_wire_peer(int socket, pid_t *pid, uid_t *uid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return -errno;
	*pid = peer.pid;
	*uid = peer.uid;
	return 0;
}

bool gp_wire_peer_allowed(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

bool gp_wire_agent_allowed(uid_t uid)
{
	return geteuid() == 0 || gp_wire_peer_allowed(uid);
}

bool gp_wire_peer_in_group(int socket, gid_t group)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	gid_t groups[PEER_GROUPS];

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.gid == group)
		return true;
	/* Of more groups than fit (ERANGE) it is a member of none. */
	size = sizeof(groups);
	if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0)
		return false;
	for (size_t i = 0; i < size / sizeof(groups[0]); i++)
		if (groups[i] == group)
			return true;
	return false;
}
