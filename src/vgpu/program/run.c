// SPDX-License-Identifier: MIT
/* Running a command on a machine: may it be preloaded, start it, hand on signals, its status. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/i18n.h"
#include "base/spawn.h"
#include "base/host/program.h"
#include "vgpu/program/program.h"

#define LIBRARY       "libgpreempt_vgpu.so"
#define GRACE_SECONDS 2   /* for a command whose machine is gone */
#define SIGNAL_STATUS 128 /* + signal: how shells report a process that was killed */

/* ---- the program ---- */

static int refuse(enum gp_program_kind kind, const char *path, const char *which,
		  struct gp_diag *diag)
{
	switch (kind) {
	case GP_PROGRAM_OK:
		return 0;
	case GP_PROGRAM_STATIC:
		return gp_fail(diag, -EACCES,
			       "%s cannot use the virtual GPU: it is statically linked, so no "
			       "library can be preloaded into it",
			       which);
	case GP_PROGRAM_RIGHTS:
		return gp_fail(diag, -EACCES,
			       "%s cannot use the virtual GPU: it is set-user-ID, set-group-ID or "
			       "has capabilities, so no library can be preloaded into it",
			       which);
	case GP_PROGRAM_NOT_64:
		return gp_fail(diag, -EACCES,
			       "%s is not a 64-bit program; KFD supports only 64-bit programs",
			       which);
	case GP_PROGRAM_NO_INTERPRETER:
		return gp_fail(diag, -EACCES, "cannot run %s: its interpreter '%s' does not exist",
			       path, which);
	}
	return -EINVAL;
}

int gp_vgpu_check_program(const char *name, struct gp_diag *diag, char *path, size_t size)
{
	enum gp_program_kind kind = GP_PROGRAM_OK;
	char which[PATH_MAX];
	int error = gp_program_find(name, path, size);

	if (error)
		return gp_fail(diag, error, "cannot run %s: %s", name, strerror(-error));
	error = gp_program_check(path, &kind, which, sizeof(which));
	if (error)
		return gp_fail(diag, error, "cannot run %s: %s", path, strerror(-error));
	return refuse(kind, path, which, diag);
}

/* ---- the environment ---- */

/* LD_PRELOAD takes blanks and colons as separators and knows no way to quote them. */
static bool can_be_listed(const char *path)
{
	return !strpbrk(path, " :\t\n");
}

/* The library by a path that LD_PRELOAD can hold: its own, or a link in the machine's directory. */
static int library_path(const char *directory, char *out, size_t size, struct gp_diag *diag)
{
	char library[PATH_MAX];
	int error = gp_program_beside("lib/gpreempt/" LIBRARY, "lib/" LIBRARY, library,
				      sizeof(library));

	if (error)
		return gp_fail(diag, error, "cannot find %s; reinstall gpreempt", LIBRARY);
	if (can_be_listed(library))
		return snprintf(out, size, "%s", library) < (int)size ? 0 : -ENAMETOOLONG;
	if (snprintf(out, size, "%s/" LIBRARY, directory) >= (int)size)
		return -ENAMETOOLONG;
	if (!can_be_listed(out))
		return gp_fail(diag, -EINVAL,
			       "cannot preload %s: its path and the path of the machine contain "
			       "spaces or colons",
			       library);
	if (symlink(library, out) && errno != EEXIST)
		return gp_fail(diag, -errno, "cannot create %s: %s", out, strerror(errno));
	return 0;
}

/* The place of ours among `before`: behind what watches the program's calls and must see them
 * before we answer, and in front of allocators, which may have an mmap() of their own (tcmalloc).
 */
static size_t place_among(const char *before)
{
	size_t place = 0, at = 0;

	while (before[at]) {
		size_t length = strcspn(before + at, ": ");
		char entry[PATH_MAX];

		snprintf(entry, sizeof(entry), "%.*s", (int)length, before + at);
		at += length;
		if (strstr(entry, "libgpreempt") || strstr(entry, "san.so") ||
		    strstr(entry, "libclang_rt."))
			place = at;
		at += strspn(before + at, ": ");
	}
	return place;
}

static char *preload_value(const char *before, const char *library)
{
	int place = (int)place_among(before);
	const char *rest = before + place;
	char *value;

	if (asprintf(&value, "%.*s%s%s%s%s", place, before, place ? ":" : "", library,
		     *rest && !place ? ":" : "", rest) < 0)
		return NULL;
	return value;
}

static int set_environment(const char *directory, struct gp_diag *diag)
{
	char library[PATH_MAX], computes[PATH_MAX + sizeof(GP_VGPU_COMPUTES)], *value;
	const char *before = getenv("LD_PRELOAD");
	int error = library_path(directory, library, sizeof(library), diag);

	if (error)
		return error;
	/* Inside another machine ours is there already. */
	if (before && strstr(before, LIBRARY))
		value = strdup(before);
	else
		value = preload_value(before ? before : "", library);
	if (!value || setenv("LD_PRELOAD", value, 1) || setenv(GP_VGPU_ENV, directory, 1))
		error = -ENOMEM;
	snprintf(computes, sizeof(computes), "%.*s/" GP_VGPU_COMPUTES, PATH_MAX - 1, directory);
	if (access(computes, F_OK))
		unsetenv(GP_VGPU_COMPUTE_ENV);
	else if (setenv(GP_VGPU_COMPUTE_ENV, "1", 1))
		error = -ENOMEM;
	free(value);
	return error;
}

/* ---- the process ---- */

/* Signals that end programs are the command's to handle; this process waits for what it does. */
static const int forwarded[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGUSR1, SIGUSR2};

static void wanted_signals(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < GP_ARRAY_SIZE(forwarded); i++)
		sigaddset(set, forwarded[i]);
	sigaddset(set, SIGCHLD);
}

void gp_vgpu_hold_signals(struct gp_vgpu_machine *machine)
{
	sigset_t signals;

	/* Where it is ignored, as under some supervisors, children end without a word. */
	signal(SIGCHLD, SIG_DFL);
	wanted_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, &machine->mask);
}

static _Noreturn void execute(const char *path, char **argv, const sigset_t *mask, int report)
{
	int error;

	sigprocmask(SIG_SETMASK, mask, NULL);
	execv(path, argv);
	error = errno;
	if (write(report, &error, sizeof(error)) < 0)
		_exit(GP_VGPU_FAILED);
	_exit(error == ENOENT ? GP_VGPU_NOT_FOUND : GP_VGPU_CANNOT_RUN);
}

/* What is left until then; 0 when it is over. */
static struct timespec time_left(u64 end_ns)
{
	u64 now = gp_monotonic_ns();

	return gp_timespec(end_ns > now ? end_ns - now : 0);
}

/* Whether our server ended although the command did not. */
static bool server_ended(struct gp_vgpu_machine *machine)
{
	if (machine->server <= 0 || waitpid(machine->server, NULL, WNOHANG) != machine->server)
		return false;
	machine->server = 0;
	return true;
}

/* Waits for the command, handing on what is sent to us. */
static int wait_command(pid_t child, struct gp_vgpu_machine *machine, const sigset_t *signals,
			struct gp_diag *diag)
{
	struct timespec left;
	u64 kill_at_ns = 0;
	bool lost = false, killed = false;
	int status;

	for (;;) {
		siginfo_t info;
		int got;
		pid_t ended = waitpid(child, &status, WNOHANG);

		if (ended == child)
			break;
		if (ended < 0 && errno != EINTR)
			return GP_VGPU_FAILED;
		if (server_ended(machine)) {
			gp_fail(diag, -EIO,
				"the virtual GPU ended unexpectedly, and the programs on it with "
				"it; start it again");
			lost = true;
			kill(child, SIGTERM);
			kill_at_ns = gp_monotonic_ns() + GRACE_SECONDS * GP_NS_PER_S;
		}
		if (lost && !killed)
			left = time_left(kill_at_ns);
		got = sigtimedwait(signals, &info, lost && !killed ? &left : NULL);
		if (got < 0 && errno == EAGAIN) {
			kill(child, SIGKILL);
			killed = true;
		}
		if (got > 0 && got != SIGCHLD && gp_spawn_passes_on(&info))
			kill(child, got);
	}
	if (lost)
		return GP_VGPU_FAILED;
	return WIFSIGNALED(status) ? SIGNAL_STATUS + WTERMSIG(status) : WEXITSTATUS(status);
}

int gp_vgpu_run(struct gp_vgpu_machine *machine, char **argv, struct gp_diag *diag)
{
	char path[PATH_MAX];
	sigset_t signals;
	int report[2], why = 0, status;
	pid_t child;

	status = gp_vgpu_check_program(argv[0], diag, path, sizeof(path));
	if (status)
		return status == -ENOENT ? GP_VGPU_NOT_FOUND : GP_VGPU_CANNOT_RUN;
	if (set_environment(machine->directory, diag) || pipe2(report, O_CLOEXEC))
		return GP_VGPU_FAILED;
	wanted_signals(&signals);
	child = fork();
	if (child == 0)
		execute(path, argv, &machine->mask, report[1]);
	close(report[1]);
	if (child < 0) {
		close(report[0]);
		gp_fail(diag, -errno,
			"cannot start a process: %s; check the limit of processes (ulimit -u)",
			strerror(errno));
		return GP_VGPU_FAILED;
	}
	if (read(report[0], &why, sizeof(why)) == (ssize_t)sizeof(why))
		gp_fail(diag, -why, "cannot run %s: %s", path, strerror(why));
	close(report[0]);
	return wait_command(child, machine, &signals, diag);
}
