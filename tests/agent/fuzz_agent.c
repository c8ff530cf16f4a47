// SPDX-License-Identifier: MIT
/*
 * What a connection may say to the agent, from its bytes: messages as they come off the socket, to
 * an agent with queues, two of them and time passing in between. Whatever was said, every queue
 * ends up running when the connections are gone.
 */
#include "fake_driver.h"

#include <sys/socket.h>

#define QUEUES 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads away what the agent answered. */
static void drain(int fd)
{
	static char bytes[GP_PROTO_MAX];

	while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

/* One message: type and length from the input, the rest its body. Returns what was used. */
static size_t say(struct fake *fake, u32 index, const uint8_t *data, size_t size)
{
	static struct gp_wire_message message;
	size_t body = size < 4 ? 0 : (size_t)data[2] | (size_t)data[3] << 8;

	if (size < 4)
		return size;
	if (body > size - 4)
		body = size - 4;
	message.header = (struct gp_proto_msg){
		.version = GP_PROTO_VERSION,
		.type = data[0],
		.size = (u32)(sizeof(message.header) + body),
		.serial = 1,
	};
	message.fd = -1;
	memcpy(message.body, data + 4, body);
	if (gp_agent_answer(fake->agent, index, &message))
		gp_agent_let_go(fake->agent, &fake->agent->owner[index]);
	fake->now += data[1] * GP_NS_PER_MS;
	gp_agent_tick(fake->agent);
	return 4 + body;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fake *fake = fake_new();
	int pairs[2][2];

	fake->agent->gpu_count = 1;
	fake->agent->gpu[0] = (struct gp_agent_gpu){77, 80, 1};
	for (int i = 0; i < QUEUES; i++)
		app_create(fake, i % 2 ? GP_KFD_QUEUE_SDMA : GP_KFD_QUEUE_COMPUTE_AQL, 7);
	for (u32 i = 0; i < 2; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pairs[i]))
			abort();
		fake->agent->connection[i].fd = pairs[i][0];
	}
	for (u32 turn = 0; size; turn ^= 1) {
		size_t used = say(fake, turn, data, size);

		drain(pairs[turn][1]);
		data += used;
		size -= used;
	}
	for (u32 i = 0; i < 2; i++) {
		gp_agent_let_go(fake->agent, &fake->agent->owner[i]);
		close(pairs[i][0]);
		close(pairs[i][1]);
	}
	for (u32 i = 0; i < QUEUES; i++)
		if (percentage(fake, i) != 100)
			abort();
	if (fake->useless)
		abort();
	fake_free(fake);
	return 0;
}
