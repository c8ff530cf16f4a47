// SPDX-License-Identifier: MIT
/* How the virtual GPU is asked: over the socket of its server. */
#include <sys/socket.h>
#include <sys/un.h>

#include "conformance.h"
#include "vgpu/wire.h"

static int connect_machine(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *directory = getenv(GP_VGPU_ENV);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (!directory) {
		fprintf(stderr, "run me with: gpreempt vgpu -- conformance\n");
		exit(2);
	}
	CHECK(fd >= 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/" GP_VGPU_SOCKET, directory);
	CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	return fd;
}

/* One request and its reply; what follows the reply's header, and its size. */
static const char *ask(struct self *me, u32 kind, const void *payload, u32 size, size_t *got)
{
	static _Thread_local u8 message[sizeof(struct gp_vgpu_reply) + GP_VGPU_PAYLOAD_MAX];
	struct gp_vgpu_header *request = (void *)message;
	ssize_t n = (ssize_t)(sizeof(*request) + size);

	*request = (struct gp_vgpu_header){.version = GP_VGPU_VERSION,
					   .kind = kind,
					   .sequence = 1,
					   .tid = getpid(),
					   .payload_size = size};
	if (size)
		memcpy(message + sizeof(*request), payload, size);
	if (me->status_fd < 0)
		me->status_fd = connect_machine();
	CHECK(send(me->status_fd, message, (size_t)n, 0) == n);
	n = recv(me->status_fd, message, sizeof(message), 0);
	CHECK(n >= (ssize_t)sizeof(struct gp_vgpu_reply));
	*got = (size_t)n - sizeof(struct gp_vgpu_reply);
	return (const char *)message + sizeof(struct gp_vgpu_reply);
}

void hold_clock(struct self *me, u64 ns)
{
	struct gp_vgpu_clock clock = {.until_ns = ns};
	size_t got;

	(void)ask(me, GP_VGPU_CLOCK, &clock, sizeof(clock), &got);
}

char *machine_text(struct self *me)
{
	size_t size;
	const char *text = ask(me, GP_VGPU_STATUS, NULL, 0, &size);
	char *copy = strndup(text, size);

	CHECK(copy);
	return copy;
}
