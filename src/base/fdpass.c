// SPDX-License-Identifier: MIT
/*
 * SCM_RIGHTS. Every descriptor of a message is taken or dropped, so that a peer that sends more
 * than expected cannot fill the table of this process.
 */
#include "base/fdpass.h"

#include <string.h>
#include <unistd.h>

void gp_fdpass_put(struct msghdr *message, union gp_fdpass *room, const int *fds, size_t count)
{
	struct cmsghdr *header;

	if (!count || count > GP_FDPASS_MAX)
		return;
	memset(room, 0, sizeof(*room));
	message->msg_control = room->bytes;
	message->msg_controllen = CMSG_SPACE(count * sizeof(int));
	header = CMSG_FIRSTHDR(message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(header), fds, count * sizeof(int));
}

void gp_fdpass_expect(struct msghdr *message, union gp_fdpass *room)
{
	message->msg_control = room->bytes;
	message->msg_controllen = sizeof(room->bytes);
}

size_t gp_fdpass_take(struct msghdr *message, int *fds, size_t most, void (*drop)(int fd))
{
	size_t taken = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++, taken++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (taken < most)
				fds[taken] = fd;
			else if (drop)
				drop(fd);
			else
				close(fd);
		}
	}
	return taken;
}
