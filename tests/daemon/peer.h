/* SPDX-License-Identifier: MIT */
/* A program that asks gpreemptd on its socket, for the tests of answers. */
#ifndef GP_TESTS_DAEMON_PEER_H
#define GP_TESTS_DAEMON_PEER_H

#include "rig.h"

/* A program at the other end; the daemon is stepped in between. */
struct peer {
	struct rig *rig;
	int socket;
	u32 serial;
	struct gp_wire_message message;
};

static inline void peer_open(struct peer *peer, struct rig *rig)
{
	peer->rig = rig;
	peer->serial = 0;
	peer->socket = gp_proto_directory_connect(GP_DAEMON_SOCKET);
	assert_true(peer->socket >= 0);
}

/* The status of the answer, which is in peer->message; -ECONNRESET when it was cut off. */
static inline int ask(struct peer *peer, u16 type, const void *body, size_t size)
{
	u64 start = gp_monotonic_ns();

	assert_int_equal(gp_wire_send(peer->socket, type, ++peer->serial, 0, body, size, -1), 0);
	while (!rig_late(start)) {
		int error;

		gp_loop_step(&peer->rig->daemon->loop, 0);
		error = gp_wire_receive(peer->socket, &peer->message, 0);
		if (error == -EAGAIN || (!error && peer->message.header.serial != peer->serial))
			continue;
		return error ? error : peer->message.header.status;
	}
	fail_msg("no answer to %u", type);
	return -ETIME;
}

static inline void greet(struct peer *peer)
{
	struct gp_proto_msg_hello me = {.pid = (u32)getpid()};

	assert_int_equal(ask(peer, GP_MSG_HELLO, &me, sizeof(me)), 0);
	assert_true(gp_wire_fits(&peer->message, sizeof(me), 0, 0));
}

#endif
