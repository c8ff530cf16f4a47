// SPDX-License-Identifier: MIT
#include "trace/capture/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/i18n.h"
#include "base/spawn.h"
#include "base/host/program.h"

/* Shows packets with every runtime; from ROCm 7.1 on 4 does not. */
#define LEVEL   "5"
#define SETTING "AMD_LOG_LEVEL=" LEVEL
/* Of what a failed run in a container wrote. A log that is larger is of a program that ran. */
#define END_LINES 5
#define END_MAX   (1u << 20)

/* "docker exec -e AMD_LOG_LEVEL=5 CONTAINER COMMAND..."; freed by the caller. */
static char **inside(const struct gp_capture_launch *launch, const char *runtime)
{
	static const char *const head[] = {"exec", "-e", SETTING};
	size_t count = 0, at = 0;
	char **argv;

	while (launch->argv[count])
		count++;
	argv = calloc(GP_ARRAY_SIZE(head) + count + 3, sizeof(*argv));
	if (!argv)
		return NULL;
	argv[at++] = (char *)runtime;
	for (size_t i = 0; i < GP_ARRAY_SIZE(head); i++)
		argv[at++] = (char *)head[i];
	argv[at++] = (char *)launch->container;
	memcpy(argv + at, launch->argv, count * sizeof(*argv));
	return argv;
}

/* In the new process; only what may be called after fork(). Returns only when it cannot run. */
static int become(const struct gp_capture_launch *launch, const char *path, char **argv, int errors,
		  const sigset_t *mask)
{
	sigprocmask(SIG_SETMASK, mask, NULL);
	if (launch->quiet && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return -errno;
	if (errors >= 0 && dup2(errors, STDERR_FILENO) < 0)
		return -errno;
	execv(path, argv);
	return -errno;
}

static int decode(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Signals sent to us are passed to the program; those of the terminal reach it directly. */
static int await(pid_t pid, const sigset_t *signals)
{
	for (;;) {
		siginfo_t info;
		int number = sigwaitinfo(signals, &info), status;

		if (number == SIGCHLD && waitpid(pid, &status, WNOHANG) == pid)
			return decode(status);
		if (number > 0 && number != SIGCHLD && gp_spawn_passes_on(&info))
			kill(pid, number);
	}
}

static int start(const struct gp_capture_launch *launch, const char *path, char **argv, int errors,
		 int *status, struct gp_diag *diag)
{
	static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};
	const struct sigaction usual = {.sa_handler = SIG_DFL};
	int report[2], failed = 0, ended;
	struct sigaction chld;
	sigset_t signals, before;
	ssize_t got;
	pid_t pid;

	if (pipe2(report, O_CLOEXEC))
		return -errno;
	/* Where it is ignored, children end without a word. The program has it as it was. */
	sigaction(SIGCHLD, &usual, &chld);
	sigemptyset(&signals);
	for (size_t i = 0; i < GP_ARRAY_SIZE(passed); i++)
		sigaddset(&signals, passed[i]);
	sigprocmask(SIG_BLOCK, &signals, &before);
	pid = fork();
	if (pid == 0) {
		sigaction(SIGCHLD, &chld, NULL);
		failed = become(launch, path, argv, errors, &before);
		_exit(write(report[1], &failed, sizeof(failed)) < 0);
	}
	close(report[1]);
	if (pid < 0)
		failed = -errno;
	do
		got = pid < 0 ? 0 : read(report[0], &failed, sizeof(failed));
	while (got < 0 && errno == EINTR);
	close(report[0]);
	if (pid > 0) {
		ended = await(pid, &signals);
		*status = got > 0 ? *status : ended;
	}
	if (pid < 0) {
		gp_fail(diag, failed, "cannot run %s: %s", path, strerror(-failed));
	} else if (got > 0) {
		gp_fail(diag, failed, "cannot run %s: %s", path, strerror(-failed));
		*status = failed == -ENOENT ? GP_LAUNCH_NOT_FOUND : GP_LAUNCH_CANNOT_RUN;
	}
	sigaction(SIGCHLD, &chld, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return failed;
}

/* Whether this docker or podman has the container. A client without its daemon has none. */
static bool has_container(const char *runtime, const char *container)
{
	const char *argv[] = {runtime, "container", "inspect", container, NULL};
	pid_t pid = fork();

	if (pid == 0) {
		if (gp_spawn_silence() == 0)
			execv(runtime, (char **)argv);
		_exit(GP_LAUNCH_CANNOT_RUN);
	}
	return pid > 0 && gp_spawn_wait(pid) == 0;
}

/* Where both are installed, the one that has the container; docker if neither has it. */
static int find_runtime(const char *container, char *path, size_t size, struct gp_diag *diag)
{
	char other[PATH_MAX];

	if (gp_program_find("docker", path, size) != 0) {
		if (gp_program_find("podman", path, size) == 0)
			return 0;
		return gp_fail(diag, -ENOENT,
			       "--container: neither docker nor podman is installed");
	}
	if (gp_program_find("podman", other, sizeof(other)) == 0 &&
	    !has_container(path, container) && has_container(other, container))
		snprintf(path, size, "%s", other);
	return 0;
}

/*
 * Messages of docker are in the log, together with the output of the program: after a failure, the
 * last lines that do not come from the runtime are also shown on the terminal.
 */
static void tell_end(const char *path, struct gp_diag *diag)
{
	struct gp_root live = {.dir = ""};
	struct gp_buf text = {0};
	const char *lines[END_LINES];
	size_t count = 0;

	if (gp_root_read(&live, END_MAX, &text, "%s", path) == 0 && text.len)
		for (char *rest = text.data, *line; (line = strsep(&rest, "\n"));)
			if (*line && *line != ':')
				lines[count++ % END_LINES] = line;
	for (size_t i = count > END_LINES ? count - END_LINES : 0; i < count; i++)
		gp_diag(diag, GP_WARNING, "%s", lines[i % END_LINES]);
	gp_buf_free(&text);
}

static int run_inside(const struct gp_capture_launch *launch, int *status, struct gp_diag *diag)
{
	char path[PATH_MAX], **argv;
	int error = find_runtime(launch->container, path, sizeof(path), diag), log;

	if (error)
		return error;
	log = open(launch->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (log < 0)
		return gp_fail(diag, -errno, "cannot write %s: %s", launch->log, strerror(errno));
	argv = inside(launch, path);
	error = argv ? start(launch, path, argv, log, status, diag) : -ENOMEM;
	free(argv);
	close(log);
	if (!error && *status)
		tell_end(launch->log, diag);
	return error;
}

int gp_capture_launch_run(const struct gp_capture_launch *launch, int *status, struct gp_diag *diag)
{
	char path[PATH_MAX];
	int error;

	fflush(NULL);
	if (launch->container)
		return run_inside(launch, status, diag);
	error = gp_program_find(launch->argv[0], path, sizeof(path));
	if (error) {
		gp_fail(diag, error, "cannot run %s: %s", launch->argv[0], strerror(-error));
		*status = error == -ENOENT ? GP_LAUNCH_NOT_FOUND : GP_LAUNCH_CANNOT_RUN;
		return error;
	}
	/* A level that the user chose stays. */
	if (setenv("AMD_LOG_LEVEL", LEVEL, 0) || setenv("AMD_LOG_LEVEL_FILE", launch->log, 1))
		return -ENOMEM;
	return start(launch, path, launch->argv, -1, status, diag);
}
