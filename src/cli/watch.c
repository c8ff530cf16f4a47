#include "cli/watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/term.h"

#define GP_WATCH_SECONDS_MIN 0.01
#define GP_SECOND            1000000000ull

bool gp_watch_seconds(const char *text, u64 *interval_ns)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds >= GP_WATCH_SECONDS_MIN) ||
	    seconds > GP_WATCH_SECONDS_MAX)
		return false;
	*interval_ns = (u64)(seconds * (double)GP_SECOND);
	return true;
}

/* Waits until `until` (monotonic); true when a signal asked to end. */
static bool wait_until(int signals, u64 until)
{
	for (;;) {
		struct pollfd poll_fd = {.fd = signals, .events = POLLIN};
		u64 now = gp_monotonic_ns();
		u64 left = until > now ? until - now : 0;
		struct timespec timeout = {.tv_sec = (time_t)(left / GP_SECOND),
					   .tv_nsec = (long)(left % GP_SECOND)};
		int ready = ppoll(&poll_fd, 1, &timeout, NULL);

		if (ready > 0)
			return true;
		if (ready == 0)
			return false;
		if (errno != EINTR)
			return true;
	}
}

static int repeat(const struct gp_watch *watch, int signals, int (*sample)(void *ctx), void *ctx)
{
	u64 next = gp_monotonic_ns();
	int status;

	for (u64 done = 1;; done++) {
		if (watch->redraw)
			fputs("\033[H\033[2J", stdout);
		status = sample(ctx);
		if (fflush(stdout) || ferror(stdout) || status || done == watch->count)
			return status;
		/* A reading that took longer than the interval is not made up for. */
		next += watch->interval_ns;
		if (next < gp_monotonic_ns())
			next = gp_monotonic_ns();
		if (wait_until(signals, next))
			return 0;
	}
}

int gp_watch_run(const struct gp_watch *watch, int (*sample)(void *ctx), void *ctx)
{
	sigset_t set, old;
	int signals, status;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &old);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0) {
		status = -errno;
	} else {
		struct signalfd_siginfo info;

		/* The alternate screen keeps the scrollback clean; lines are cut, not wrapped. */
		if (watch->redraw)
			fputs("\033[?1049h\033[?25l\033[?7l", stdout);
		status = repeat(watch, signals, sample, ctx);
		if (watch->redraw)
			fputs("\033[?7h\033[?25h\033[?1049l", stdout);
		fflush(stdout);
		/* Taken, or it would be delivered once more when it is unblocked. */
		while (read(signals, &info, sizeof(info)) > 0)
			;
		close(signals);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	return status;
}
