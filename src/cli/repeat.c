// SPDX-License-Identifier: MIT
#include "cli/repeat.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/i18n.h"
#include "base/clock.h"

#define GP_FOREVER UINT64_MAX
/* How long a terminal may take to accept the sequence that puts it back. */
#define GP_RESTORE_NS (GP_NS_PER_S / 2)
/* A pipe that poll() calls writable takes this much at once (pipe(7)). */
#define GP_WRITE_CHUNK 4096

struct output {
	int fd;
	int signals; /* -1: none are taken */
};

/*
 * A descriptor for standard output whose writes do not block. O_NONBLOCK on the one we were given
 * would be set for every process that shares it, so pipes and terminals are opened again; for the
 * rest (files never block) and where that fails poll() has to do.
 */
static int open_output(void)
{
	struct stat info;
	int fd = -1;

	if (fstat(STDOUT_FILENO, &info) == 0 && (S_ISFIFO(info.st_mode) || isatty(STDOUT_FILENO)))
		fd = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? STDOUT_FILENO : fd;
}

/* Waits for `events` of the output, or 0 for none, until the time given. -ECANCELED: a signal asked
 * to end; -ETIMEDOUT: the time is over. */
static int await(const struct output *output, short events, u64 until)
{
	for (;;) {
		struct pollfd fds[] = {{.fd = output->signals, .events = POLLIN},
				       {.fd = events ? output->fd : -1, .events = events}};
		u64 now = gp_monotonic_ns();
		u64 left = until > now ? until - now : 0;
		struct timespec timeout = gp_timespec(left);
		int ready =
			ppoll(fds, GP_ARRAY_SIZE(fds), until == GP_FOREVER ? NULL : &timeout, NULL);

		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready > 0)
			return fds[0].revents ? -ECANCELED : 0;
		if (ready == 0)
			return -ETIMEDOUT;
	}
}

static int write_all(const struct output *output, const char *text, size_t len, u64 until)
{
	while (len) {
		int error = await(output, POLLOUT, until);
		ssize_t put;

		if (error)
			return error;
		put = write(output->fd, text, len < GP_WRITE_CHUNK ? len : GP_WRITE_CHUNK);
		if (put < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (put > 0) {
			text += put;
			len -= (size_t)put;
		}
	}
	return 0;
}

/* One reading, printed to memory first: a signal can end its writing, not its making. */
static int take(const struct gp_cli_repeat *watch, const struct output *output,
		int (*sample)(void *ctx, FILE *out), void *ctx)
{
	char *text = NULL;
	size_t len;
	FILE *stream = open_memstream(&text, &len);
	int error = stream ? 0 : -ENOMEM;

	if (stream && watch->redraw)
		fputs("\033[H\033[2J", stream);
	if (stream)
		error = sample(ctx, stream);
	if (stream && fclose(stream) && !error)
		error = -ENOMEM;
	if (error == -ENOMEM)
		gp_fail(watch->diag, error, "out of memory");
	if (!error) {
		error = write_all(output, text, len, GP_FOREVER);
		if (error && error != -ECANCELED)
			gp_fail(watch->diag, error, "cannot write the output: %s",
				strerror(-error));
	}
	free(text);
	return error;
}

static int repeat(const struct gp_cli_repeat *watch, const struct output *output,
		  int (*sample)(void *ctx, FILE *out), void *ctx)
{
	u64 next = gp_monotonic_ns();
	int error;

	for (u64 done = 1;; done++) {
		error = take(watch, output, sample, ctx);
		if (error || done == watch->count)
			break;
		/* A reading that took longer than the interval is not made up for. */
		next += watch->interval_ns;
		if (next < gp_monotonic_ns())
			next = gp_monotonic_ns();
		error = await(output, 0, next);
		if (error != -ETIMEDOUT)
			break;
	}
	return error == -ECANCELED ? 0 : error;
}

static int run_with(const struct gp_cli_repeat *watch, struct output *output,
		    int (*sample)(void *ctx, FILE *out), void *ctx)
{
	/* The alternate screen keeps the scrollback clean; lines are cut, not wrapped. */
	static const char start[] = "\033[?1049h\033[?25l\033[?7l";
	static const char end[] = "\033[?7h\033[?25h\033[?1049l";
	int status = 0;

	output->fd = open_output();
	if (watch->redraw)
		status = write_all(output, start, sizeof(start) - 1, GP_FOREVER);
	if (!status)
		status = repeat(watch, output, sample, ctx);
	if (watch->redraw) {
		struct output last = {.fd = output->fd, .signals = -1};

		write_all(&last, end, sizeof(end) - 1, gp_monotonic_ns() + GP_RESTORE_NS);
	}
	if (output->fd != STDOUT_FILENO)
		close(output->fd);
	return status == -ECANCELED ? 0 : status;
}

int gp_cli_repeat_run(const struct gp_cli_repeat *watch, int (*sample)(void *ctx, FILE *out),
		      void *ctx)
{
	struct output output = {.fd = STDOUT_FILENO, .signals = -1};
	struct signalfd_siginfo info;
	sigset_t set, old;
	int status;

	if (watch->once)
		return take(watch, &output, sample, ctx);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &old);
	output.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (output.signals < 0) {
		status = gp_fail(
			watch->diag, -errno,
			"cannot receive signals: %s; check the limit of open files (ulimit -n)",
			strerror(errno));
	} else {
		status = run_with(watch, &output, sample, ctx);
		/* Taken, or it would be delivered once more when it is unblocked. */
		while (read(output.signals, &info, sizeof(info)) > 0)
			;
		close(output.signals);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	return status;
}
