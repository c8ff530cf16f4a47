// SPDX-License-Identifier: MIT
/*
 * Learns the end of its parent from a socket pair: the kernel closes the other end however the
 * parent dies. One byte dismisses it.
 */
#include "trace/capture/guardian.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/spawn.h"

__attribute__((noreturn)) static void guard(int fd, void (*restore)(void *ctx), void *ctx)
{
	ssize_t got;
	char word;

	gp_spawn_guard("gpreempt-guard", &fd, 1);
	do
		got = read(fd, &word, 1);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		restore(ctx);
	_exit(0);
}

int gp_capture_guardian_start(struct gp_capture_guardian *guardian, void (*restore)(void *ctx),
			      void *ctx)
{
	int ends[2];

	*guardian = (struct gp_capture_guardian){.fd = -1};
	/* Not a pipe: writing to a guardian that was killed must not kill us. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	guardian->pid = fork();
	if (guardian->pid < 0) {
		int error = -errno;

		guardian->pid = 0;
		close(ends[0]);
		close(ends[1]);
		return error;
	}
	if (guardian->pid == 0) {
		close(ends[1]);
		guard(ends[0], restore, ctx);
	}
	close(ends[0]);
	guardian->fd = ends[1];
	return 0;
}

void gp_capture_guardian_dismiss(struct gp_capture_guardian *guardian)
{
	ssize_t put;

	if (!guardian->pid)
		return;
	do
		put = send(guardian->fd, "d", 1, MSG_NOSIGNAL);
	while (put < 0 && errno == EINTR);
	close(guardian->fd);
	gp_spawn_wait(guardian->pid);
	*guardian = (struct gp_capture_guardian){.fd = -1};
}
