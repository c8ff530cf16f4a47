// SPDX-License-Identifier: MIT
/*
 * Detached processes and guardians. System calls only: all of this also runs in the child of a
 * process with threads, where a lock may be held for ever.
 */
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT_MAX 4
#define FDS_MAX  65536 /* closed one by one where the kernel has no close_range() */

bool gp_spawn_passes_on(const siginfo_t *info)
{
	return info->si_code != SI_KERNEL || (info->si_signo == SIGHUP && getsid(0) == getpid());
}

int gp_spawn_wait(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status;
}

int gp_spawn_detached(void (*run)(void *data), void *data)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		return -errno;
	if (child == 0) {
		setsid();
		child = fork();
		if (child == 0)
			run(data);
		_exit(child < 0 ? EAGAIN : 0);
	}
	status = gp_spawn_wait(child);
	/* Where SIGCHLD is ignored there is nothing to wait for. */
	if (status <= 0)
		return 0;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}

int gp_spawn_background(void)
{
	for (int i = 0; i < 2; i++) {
		pid_t child = fork();

		if (child < 0)
			return -errno;
		if (child)
			_exit(0);
		if (i == 0)
			setsid();
	}
	return chdir("/") < 0 ? -errno : gp_spawn_silence();
}

void gp_spawn_reset_signals(void)
{
	struct sigaction plain = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int signal = 1; signal < NSIG; signal++)
		(void)sigaction(signal, &plain, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int gp_spawn_silence(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), error = null < 0 ? -errno : 0;

	for (int fd = 0; fd < 3 && !error; fd++)
		if (dup2(null, fd) < 0)
			error = -errno;
	if (null > 2)
		close(null);
	return error;
}

static void close_span(unsigned first, unsigned last)
{
	long limit = sysconf(_SC_OPEN_MAX);

	if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
		return;
	if (limit <= 0 || limit > FDS_MAX)
		limit = FDS_MAX;
	for (unsigned fd = first; fd <= last && fd < (unsigned)limit; fd++)
		close((int)fd);
}

void gp_spawn_close_from(int from, const int *keep, size_t count)
{
	unsigned first = (unsigned)from;

	/* From one kept descriptor to the next, in ascending order. */
	for (size_t round = 0; round < count && round < KEPT_MAX; round++) {
		unsigned next = UINT_MAX;

		for (size_t i = 0; i < count; i++)
			if (keep[i] >= 0 && (unsigned)keep[i] >= first && (unsigned)keep[i] < next)
				next = (unsigned)keep[i];
		if (next == UINT_MAX)
			break;
		if (next > first)
			close_span(first, next - 1);
		first = next + 1;
	}
	close_span(first, UINT_MAX);
}

void gp_spawn_guard(const char *name, const int *keep, size_t count)
{
	sigset_t all;
	int null;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, name);
	/* Not closed: a file opened later must not become standard output. */
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		bool kept = false;

		for (size_t i = 0; i < count; i++)
			kept |= keep[i] == fd;
		if (!kept)
			dup2(null, fd);
	}
	gp_spawn_close_from(STDERR_FILENO + 1, keep, count);
}
