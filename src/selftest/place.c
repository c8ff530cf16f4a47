// SPDX-License-Identifier: MIT
/* The private directory of sockets, its holder, and the signals that end a run early. */
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/parse.h"
#include "selftest/selftest.h"

#define END_MS 60000 /* a killed process that is not gone by then stays */

static const struct gp_root live = {""};

int gp_selftest_place_make(struct gp_selftest_place *place)
{
	sigset_t set;

	*place = (struct gp_selftest_place){.directory = "/tmp/gpreempt-selftest.XXXXXX",
					    .signals = -1};
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	/* The program may be gone when it is written to. */
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	place->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (place->signals < 0)
		return -errno;
	if (mkdtemp(place->directory)) {
		if (setenv("GPREEMPT_DIR", place->directory, 1) == 0)
			return 0;
		rmdir(place->directory);
	}
	int error = -errno;

	close(place->signals);
	return error;
}

bool gp_selftest_interrupted(struct gp_selftest_place *place)
{
	struct signalfd_siginfo info;

	if (!place->signal && read(place->signals, &info, sizeof(info)) == sizeof(info))
		place->signal = (int)info.ssi_signo;
	return place->signal != 0;
}

/* The number in the lock file, if that process really is the holder of this directory: a pid may
 * have gone to somebody else. Its pidfd, or -ESRCH. */
static int open_holder(const struct gp_selftest_place *place)
{
	char path[PATH_MAX], directory[PATH_MAX];
	struct gp_buf text = {0};
	u32 pid = 0;
	int fd = -ESRCH;

	snprintf(path, sizeof(path), "%s/holder.lock", place->directory);
	if (gp_file_read(path, 64, &text) == 0) {
		const char *p = gp_buf_str(&text);

		gp_parse_u32(&p, p + text.len, &pid);
	}
	gp_buf_free(&text);
	if (!pid)
		return -ESRCH;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return -ESRCH;
	if (gp_process_environment(&live, pid, "GPREEMPT_DIR", directory, sizeof(directory)) ||
	    strcmp(directory, place->directory) != 0) {
		close(fd);
		return -ESRCH;
	}
	return fd;
}

static bool ended(int pidfd, int ms)
{
	struct pollfd end = {.fd = pidfd, .events = POLLIN};

	return poll(&end, 1, ms) > 0;
}

int gp_selftest_kill_holder(const struct gp_selftest_place *place)
{
	int fd = open_holder(place), error = 0;

	if (fd < 0)
		return fd;
	if (syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) < 0 && errno != ESRCH)
		error = -errno;
	else if (!ended(fd, END_MS))
		error = -ETIME;
	close(fd);
	return error;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status, (void)type, (void)where;
	(void)remove(path);
	return 0;
}

void gp_selftest_place_remove(struct gp_selftest_place *place)
{
	if (place->signals < 0)
		return;
	gp_selftest_kill_holder(place);
	nftw(place->directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	unsetenv("GPREEMPT_DIR");
	close(place->signals);
	place->signals = -1;
}
