// SPDX-License-Identifier: MIT
#include "trace/capture/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Keeps nothing open that others wait for the end of: pipes, files, the terminal. */
static int close_others(int keep)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* Out of the way: where standard streams were closed, it may be one of these numbers. */
	keep = fcntl(keep, F_DUPFD_CLOEXEC, 4);
	if (null < 0 || keep < 0)
		return -errno;
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	if (dup2(keep, 3) < 0)
		return -errno;
	if (close_range(4, UINT_MAX, 0))
		return -errno;
	return 0;
}

__attribute__((noreturn)) static void guard(int fd, void (*restore)(void *ctx), void *ctx)
{
	static const int ignored[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGPIPE,
				      SIGUSR1, SIGUSR2, SIGTSTP, SIGTTOU, SIGTTIN};
	sigset_t none;
	ssize_t got;
	char word;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	prctl(PR_SET_NAME, "gpreempt-guard");
	if (close_others(fd))
		_exit(1);
	do
		got = read(3, &word, 1);
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
	/* Not a pipe: writing to a guardian that somebody killed must not kill us. */
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
	while (waitpid(guardian->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*guardian = (struct gp_capture_guardian){.fd = -1};
}
