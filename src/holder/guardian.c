// SPDX-License-Identifier: MIT
/*
 * The guardian: see guardian.h. It is a fork that shares one word with the holder and does nothing
 * but sleep, read that word and, once, kill. A holder that is only waiting for a CPU (state R) is
 * given two seconds; one that sleeps or is stopped although its time has passed is hung. System
 * calls are made directly: it may be forked again from a holder with threads, and a preloaded
 * library's locks are not ours to take.
 */
#include "holder/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/core.h"
#include "base/spawn.h"
#include "holder/holder.h"

#define MARGIN_NS  (40 * GP_NS_PER_MS)
#define STARVED_NS (2000 * GP_NS_PER_MS)
#define LOOK_MS    20   /* between two looks at a holder that is late */
#define HEARTBEAT  1000 /* ms between looks when nothing is due */

u64 *gp_holder_guardian_clock(void)
{
	u64 *clock =
		mmap(NULL, sizeof(u64), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (clock == MAP_FAILED)
		return NULL;
	*clock = GP_NEVER;
	return clock;
}

/* The state letter of /proc/PID/stat, behind the name, which may contain anything. */
static char state_of(int stat)
{
	char text[512];
	long length = syscall(SYS_pread64, stat, text, sizeof(text) - 1, 0);
	const char *p;

	if (length <= 0)
		return 'X';
	text[length] = 0;
	p = strrchr(text, ')');
	return p && p[1] == ' ' ? p[2] : 'X';
}

static bool is_hung(int stat, u64 late_ns)
{
	char state = state_of(stat);

	return late_ns > STARVED_NS || state == 'S' || state == 'T' || state == 't';
}

static int milliseconds_until(u64 due)
{
	u64 now = gp_monotonic_ns();

	if (due == GP_NEVER)
		return HEARTBEAT;
	if (due <= now)
		return LOOK_MS;
	return (int)GP_MIN((due - now) / GP_NS_PER_MS + 1, (u64)HEARTBEAT);
}

static _Noreturn void guard(volatile u64 *clock, int pidfd, int stat)
{
	u64 suspect = 0;

	for (;;) {
		struct pollfd end = {.fd = pidfd, .events = POLLIN};
		u64 due = __atomic_load_n(clock, __ATOMIC_ACQUIRE);
		u64 kill_at = due == GP_NEVER ? due : due + MARGIN_NS;

		if (poll(&end, 1, milliseconds_until(kill_at)) > 0)
			_exit(0); /* it ended; the driver does the rest */
		u64 now = gp_monotonic_ns();
		if (__atomic_load_n(clock, __ATOMIC_ACQUIRE) != due || now < kill_at) {
			suspect = 0;
			continue;
		}
		/* Twice in a row, so that a moment between two states is not taken for a hang. */
		if (!is_hung(stat, now - due)) {
			suspect = 0;
		} else if (suspect != due) {
			suspect = due;
		} else {
			syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
			_exit(0);
		}
	}
}

/* Until all copies of the other end are closed. */
static void await_end(int fd)
{
	char byte;

	while (read(fd, &byte, 1) < 0 && errno == EINTR)
		;
}

int gp_holder_guardian_start(u64 *guard_ns, pid_t *pid, bool wait)
{
	pid_t holder = getpid();
	char path[32];
	int pidfd, stat, alive[2] = {-1, -1};

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)holder);
	if (wait && pipe2(alive, O_CLOEXEC) < 0)
		return -errno;
	pid_t child = fork();
	int error = child < 0 ? -errno : 0;
	if (child && wait) {
		close(alive[1]);
		await_end(alive[0]);
		close(alive[0]);
	}
	if (child < 0)
		return error;
	if (child) {
		*pid = child;
		return 0;
	}
	gp_spawn_guard("gpreempt-guard", NULL, 0);
	pidfd = (int)syscall(SYS_pidfd_open, holder, 0);
	stat = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (pidfd < 0 || stat < 0 || getppid() != holder)
		_exit(0);
	guard(guard_ns, pidfd, stat);
}
