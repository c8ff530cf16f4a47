// SPDX-License-Identifier: MIT
/*
 * Descriptors that clients hand over: they can be anything, and their owner can do anything with
 * them at the same time. Nothing here waits for one.
 *
 * A pipe is opened once more, so that "does not block" is a property of our own file and not of
 * the one that is shared. Sockets can be written to without waiting. Any other file is never
 * touched, and a separate thread closes it: closing a file of a dead file server may never return.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "vgpu/server/state.h"

static bool is_pipe(int fd)
{
	return fcntl(fd, F_GETPIPE_SZ) >= 0;
}

static bool is_local_socket(int fd)
{
	int domain = -1;

	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &(socklen_t){sizeof(domain)}) &&
	       domain == AF_UNIX;
}

static void *close_it(void *fd)
{
	close((int)(intptr_t)fd);
	return NULL;
}

void gp_vgpu_foreign_close(int fd)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (fd < 0)
		return;
	if (is_pipe(fd) || is_local_socket(fd)) {
		close(fd);
		return;
	}
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	/* Without a thread it is left open: better than to hang. */
	(void)pthread_create(&thread, &attributes, close_it, (void *)(intptr_t)fd);
	pthread_attr_destroy(&attributes);
}

int gp_vgpu_foreign_adopt(int fd)
{
	char path[32];
	int own;

	if (!is_pipe(fd) || (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (own < 0)
		return fd;
	close(fd);
	return own;
}

void gp_vgpu_foreign_tell(int fd)
{
	char dot = '.';
	struct iovec byte = {.iov_base = &dot, .iov_len = 1};

	if (is_local_socket(fd))
		(void)!send(fd, ".", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	else if (is_pipe(fd) && pwritev2(fd, &byte, 1, -1, RWF_NOWAIT) < 0 && errno == EOPNOTSUPP &&
		 fcntl(fd, F_GETFL) & O_NONBLOCK)
		(void)!write(fd, ".", 1); /* kernels before 6.5; our own file */
}
