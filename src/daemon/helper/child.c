// SPDX-License-Identifier: MIT
#include "daemon/helper/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/spawn.h"
#include "daemon/daemon.h"

/* How long they may take to end: memory is copied, by several at once. */
#define END_NS      (60 * GP_NS_PER_S)
#define NS_PER_BYTE 4 /* slower than any that was measured */

int gp_daemon_child_find(const char *program, char *out, size_t size)
{
	static const char *const places[] = {"", "../bin/"};
	char self[PATH_MAX], *slash;
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length <= 0)
		return -ENOENT;
	self[length] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	for (size_t i = 0; i < GP_ARRAY_SIZE(places); i++) {
		if (snprintf(out, size, "%s/%s%s", self, places[i], program) < (int)size &&
		    access(out, X_OK) == 0)
			return 0;
	}
	return -ENOENT;
}

/* ---- in the child, before it is another program: system calls only ---- */

static void become(const char *const *argv, pid_t parent, int input, int output)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	/* The daemon may be urgent; this is not. */
	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
	gp_spawn_reset_signals();
	if (input < 0)
		input = open("/dev/null", O_RDONLY);
	if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0)
		_exit(1);
	gp_spawn_close_from(3, NULL, 0);
	execv(argv[0], (char *const *)argv);
	_exit(127);
}

/* ---- the daemon ---- */

/* It has ended, or was killed: this does not wait. */
static void end(struct gp_daemon_child *child)
{
	int status = 0;

	waitpid(child->pid, &status, WNOHANG);
	gp_loop_unwatch(&child->daemon->loop, &child->watch);
	gp_loop_unwatch(&child->daemon->loop, &child->exit);
	if (child->input >= 0)
		close(child->input);
	gp_list_remove(&child->link);
	if (child->ended)
		child->ended(child, status);
	free(child);
}

static void take_lines(struct gp_daemon_child *child)
{
	char *newline;

	while ((newline = memchr(child->text, '\n', child->used))) {
		size_t length = (size_t)(newline - child->text) + 1;

		*newline = '\0';
		if (child->line)
			child->line(child, child->text);
		memmove(child->text, child->text + length, child->used - length);
		child->used -= length;
	}
	if (child->used == sizeof(child->text) - 1)
		child->used = 0;
}

/* False: there is nothing more for now. A program that closes its output may go on. */
static bool take_output(struct gp_daemon_child *child)
{
	ssize_t got = read(child->watch.fd, child->text + child->used,
			   sizeof(child->text) - 1 - child->used);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (got <= 0) {
		gp_loop_unwatch(&child->daemon->loop, &child->watch);
		return false;
	}
	child->used += (size_t)got;
	take_lines(child);
	return true;
}

static void output_ready(struct gp_watch *watch, u32 events)
{
	(void)events;
	take_output(gp_container(watch, struct gp_daemon_child, watch));
}

static void exit_ready(struct gp_watch *watch, u32 events)
{
	struct gp_daemon_child *child = gp_container(watch, struct gp_daemon_child, exit);

	(void)events;
	while (child->watch.fd >= 0 && take_output(child))
		;
	end(child);
}

static void close_pair(const int *ends)
{
	if (ends[0] >= 0)
		close(ends[0]);
	if (ends[1] >= 0)
		close(ends[1]);
}

struct gp_daemon_child *gp_daemon_child_start(struct gp_daemon *daemon, const char *const *argv,
					      bool with_input)
{
	struct gp_daemon_child *child = calloc(1, sizeof(*child));
	int output[2] = {-1, -1}, input[2] = {-1, -1}, pidfd;
	pid_t self = getpid();

	if (!child || pipe2(output, O_CLOEXEC) || (with_input && pipe2(input, O_CLOEXEC)))
		goto failed;
	child->daemon = daemon;
	child->exit.fd = -1;
	fcntl(output[0], F_SETFL, O_NONBLOCK);
	if (gp_loop_watch(&daemon->loop, &child->watch, output[0], output_ready)) {
		output[0] = -1;
		goto failed;
	}
	child->pid = fork();
	if (child->pid == 0)
		become(argv, self, input[0], output[1]);
	pidfd = child->pid > 0 ? (int)syscall(SYS_pidfd_open, child->pid, 0) : -1;
	if (pidfd < 0 || gp_loop_watch(&daemon->loop, &child->exit, pidfd, exit_ready)) {
		gp_loop_unwatch(&daemon->loop, &child->watch);
		output[0] = -1;
		goto failed;
	}
	close(output[1]);
	if (with_input)
		close(input[0]);
	child->input = input[1];
	gp_list_add_tail(&daemon->children, &child->link);
	return child;
failed:
	/* It has hardly begun, and has nothing to undo. */
	if (child && child->pid > 0 && kill(child->pid, SIGKILL) == 0)
		gp_spawn_wait(child->pid);
	close_pair(output);
	close_pair(input);
	free(child);
	return NULL;
}

void gp_daemon_child_leave(struct gp_daemon_child *child)
{
	child->line = NULL;
	child->ended = NULL;
	child->owner = NULL;
	kill(child->pid, SIGTERM);
}

/* False: it has not ended by then. */
static bool await_end(struct gp_daemon_child *child, u64 until)
{
	struct pollfd fds[] = {{.fd = child->exit.fd, .events = POLLIN},
			       {.fd = child->watch.fd, .events = POLLIN}};
	u64 now;

	while ((now = gp_monotonic_ns()) < until) {
		if (poll(fds, GP_ARRAY_SIZE(fds), (int)((until - now) / GP_NS_PER_MS) + 1) <= 0)
			continue;
		if (fds[0].revents)
			return true;
		/* What it says is not read any more, but must not block it. */
		if (read(child->watch.fd, child->text, sizeof(child->text)) == 0)
			fds[1].fd = -1;
	}
	return false;
}

void gp_daemon_child_end_all(struct gp_daemon *daemon)
{
	u64 until = gp_monotonic_ns() + END_NS;
	struct gp_list *link, *next;

	gp_list_for_each_safe(link, next, &daemon->children)
	{
		struct gp_daemon_child *child = gp_container(link, struct gp_daemon_child, link);

		until += child->bytes * NS_PER_BYTE;
		gp_daemon_child_leave(child);
	}
	gp_list_for_each_safe(link, next, &daemon->children)
	{
		struct gp_daemon_child *child = gp_container(link, struct gp_daemon_child, link);

		if (!await_end(child, until))
			kill(child->pid, SIGKILL);
		end(child);
	}
	daemon->memory_helper = NULL;
}
