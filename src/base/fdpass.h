/* SPDX-License-Identifier: MIT */
/*
 * Descriptors that travel with a message over a Unix socket (SCM_RIGHTS). Used wherever processes
 * of gpreempt or of the virtual GPU pass files to each other; the caller does sendmsg() and
 * recvmsg() itself. Nothing here allocates, so it may be used after fork().
 */
#ifndef GP_BASE_FDPASS_H
#define GP_BASE_FDPASS_H

#include <sys/socket.h>

#include "base/types.h"

enum { GP_FDPASS_MAX = 8 }; /* descriptors of one message */

/* Room for the ancillary data of one message; lives as long as the msghdr that uses it. */
union gp_fdpass {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(GP_FDPASS_MAX * sizeof(int))];
};

/* Before sendmsg(): attaches `count` descriptors (none when it is 0). */
void gp_fdpass_put(struct msghdr *message, union gp_fdpass *room, const int *fds, size_t count);

/* Before each recvmsg(): makes room for descriptors. The kernel closes those that do not fit and
 * sets MSG_CTRUNC. */
void gp_fdpass_expect(struct msghdr *message, union gp_fdpass *room);

/* After recvmsg(): stores the first `most` descriptors in `fds` and closes the rest, so that a peer
 * cannot fill this process's table; `drop` replaces close() where a library interposes it (NULL:
 * close). Returns how many came. */
size_t gp_fdpass_take(struct msghdr *message, int *fds, size_t most, void (*drop)(int fd));

#endif
