// SPDX-License-Identifier: MIT
/*
 * What clients may send the holder, from bytes: each piece of the input is a client's number, a
 * type, a length and a body, sent as it is or, now and then, as a packet that is no message at all.
 * Jobs run in the loop and time does not matter, so that a finding can be repeated. Whatever they
 * do, a well-behaved client is answered, and nothing is left when they are gone.
 */
#include <sys/socket.h>

#include "scene.h"

#define CLIENTS 3
#define RAW     0x80 /* flag in a piece's first byte: the body is the whole packet */
#define PIDFD   0x40 /* flag: comes with a descriptor of this process */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct piece {
	u8 who;
	u16 type;
	u16 length;
} __attribute__((packed));

static void drain(struct client *client)
{
	while (gp_wire_receive(client->fd, &client->message, 0) == 0)
		if (client->message.fd >= 0)
			close(client->message.fd);
}

static void rounds(struct scene *scene)
{
	for (int i = 0; i < 8; i++)
		gp_holder_step(&scene->holder, 0);
}

static void say(struct scene *scene, struct client **clients, const struct piece *piece,
		const u8 *body, int pidfd)
{
	struct client **client = &clients[piece->who % CLIENTS];

	if (piece->who & RAW)
		send((*client)->fd, body, piece->length, MSG_NOSIGNAL | MSG_DONTWAIT);
	else
		gp_wire_send((*client)->fd, piece->type, ++(*client)->serial, 0, body,
			     piece->length, piece->who & PIDFD ? pidfd : -1);
	rounds(scene);
	drain(*client);
	/* Cut off: somebody else takes its place. */
	if (recv((*client)->fd, &(char){0}, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
		client_close(*client);
		*client = scene_client(scene);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct scene scene;
	struct client *clients[CLIENTS], *good;
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	struct piece piece;

	setenv("GPREEMPT_DIR", "/nonexistent/gpreempt",
	       1); /* groups find nobody, nothing is made */
	scene_open(&scene, true);
	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = scene_client(&scene);
		(void)open_self(&scene, clients[i], 0);
	}
	good = scene_client(&scene);
	while (size >= sizeof(piece)) {
		memcpy(&piece, data, sizeof(piece));
		data += sizeof(piece);
		size -= sizeof(piece);
		piece.length = (u16)GP_MIN(piece.length, size);
		say(&scene, clients, &piece, data, pidfd);
		data += piece.length;
		size -= piece.length;
	}
	if (target_call(&scene, good, GP_MSG_HOLDS, 0) < 0)
		__builtin_trap();
	for (int i = 0; i < CLIENTS; i++)
		client_close(clients[i]);
	rounds(&scene);
	if (target_call(&scene, good, GP_MSG_HOLDS, 0) != 0)
		__builtin_trap();
	client_close(good);
	gp_holder_close(&scene.holder);
	if (scene.holder.member_count || fake.attached)
		__builtin_trap();
	close(pidfd);
	return 0;
}
