/* SPDX-License-Identifier: MIT */
/*
 * Sending and receiving the messages of proto/proto.h over a SOCK_SEQPACKET socket, with at most
 * one descriptor each. Nothing here blocks longer than its time-out, raises SIGPIPE or trusts a
 * length: gp_wire_receive() returns exactly one whole message of a known size.
 */
#ifndef GP_PROTO_WIRE_H
#define GP_PROTO_WIRE_H

#include <sys/types.h>

#include "proto/proto.h"

/* A received message. The body follows the header; body_size = header.size - sizeof(struct
 * gp_proto_msg).
 */
struct gp_wire_message {
	struct gp_proto_msg header;
	u8 body[GP_PROTO_MAX - sizeof(struct gp_proto_msg)] __attribute__((aligned(8)));
	int fd; /* -1: none came; otherwise the receiver's to close */
};

/* Sends one message; `fd` -1 sends none. Never blocks: -EAGAIN when the peer's buffer is full. */
int gp_wire_send(int socket, u16 type, u32 serial, s32 status, const void *body, size_t size,
		 int fd);

/* An answer that is an error: a code of proto/message.h with its arguments. */
int gp_wire_refuse(int socket, const struct gp_proto_msg *ask, int error, enum gp_proto_code code,
		   ...);
/* Refuses a message of another version, whose header this is, so that its sender understands. */
int gp_wire_refuse_version(int socket, const struct gp_proto_msg *ask);

/* Receives one message, waiting at most timeout_ms (-1: forever, 0: not at all). -EAGAIN nothing
 * came, -ECONNRESET the peer is gone, -EPROTO it is not a message, -EPROTONOSUPPORT it is one of
 * another version, whose header is in out->header. */
int gp_wire_receive(int socket, struct gp_wire_message *out, int timeout_ms);

/* Sends a request and waits for its answer, skipping no event: an event that comes first is handed
 * to `on_event` (may be NULL: dropped). Returns the answer's status; a negative one is the peer's
 * error, whose reasons are in out->body (gp_wire_why()). */
int gp_wire_call(int socket, u16 type, u32 serial, const void *body, size_t size, int fd,
		 struct gp_wire_message *out, int timeout_ms,
		 void (*on_event)(const struct gp_wire_message *event, void *data), void *data);

/* The second half of it: waits for the answer to a request that was sent. -ETIME: none came yet,
 * and it may be waited for again. */
int gp_wire_await(int socket, u16 type, u32 serial, struct gp_wire_message *out, int timeout_ms,
		  void (*on_event)(const struct gp_wire_message *event, void *data), void *data);

/* True when a body has exactly the fixed part plus count entries of `each` bytes. */
static inline bool gp_wire_fits(const struct gp_wire_message *message, size_t fixed, u64 count,
				size_t each)
{
	return message->header.size == sizeof(struct gp_proto_msg) + fixed + count * each;
}

/* The reasons of an answer with a negative status; NULL when it has none. */
const struct gp_proto_reasons *gp_wire_why(const struct gp_wire_message *message);

/* Copies a NUL-terminated field of a message that may lack its NUL. */
void gp_wire_text(char *out, size_t size, const char *field, size_t field_size);

/* The process at the other end (SO_PEERCRED), and whether we obey it: same user, or root. */
int gp_wire_peer(int socket, pid_t *pid, uid_t *uid);
bool gp_wire_peer_allowed(uid_t uid);
/* Whether this process acts on that user's programs: the same, and root on all. */
bool gp_wire_agent_allowed(uid_t uid);
/* Whether the other end is, by its first or another group, a member of that one. */
bool gp_wire_peer_in_group(int socket, gid_t group);

#endif
