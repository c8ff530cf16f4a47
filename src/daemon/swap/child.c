// SPDX-License-Identifier: MIT
#include "daemon/swap/child.h"

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
#include <sys/wait.h>
#include <unistd.h>

#include "base/spawn.h"
#include "daemon/daemon.h"

#define END_NS (60 * GP_NS_PER_S) /* memory is copied */

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

static void end(struct gp_daemon_child *child)
{
	int status = gp_spawn_wait(child->pid);

	gp_loop_unwatch(&child->daemon->loop, &child->watch);
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

static void ready(struct gp_watch *watch, u32 events)
{
	struct gp_daemon_child *child = gp_container(watch, struct gp_daemon_child, watch);
	ssize_t got =
		read(watch->fd, child->text + child->used, sizeof(child->text) - 1 - child->used);

	(void)events;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		end(child);
		return;
	}
	child->used += (size_t)got;
	take_lines(child);
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
	int output[2] = {-1, -1}, input[2] = {-1, -1};
	pid_t self = getpid();

	if (!child || pipe2(output, O_CLOEXEC) || (with_input && pipe2(input, O_CLOEXEC)))
		goto failed;
	child->daemon = daemon;
	child->pid = fork();
	if (child->pid == 0)
		become(argv, self, input[0], output[1]);
	if (child->pid < 0)
		goto failed;
	close(output[1]);
	if (with_input)
		close(input[0]);
	child->input = input[1];
	gp_list_add_tail(&daemon->children, &child->link);
	fcntl(output[0], F_SETFL, O_NONBLOCK);
	if (gp_loop_watch(&daemon->loop, &child->watch, output[0], ready)) {
		kill(child->pid, SIGTERM);
		child->ended = NULL;
		end(child);
		return NULL;
	}
	return child;
failed:
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

void gp_daemon_child_end_all(struct gp_daemon *daemon)
{
	u64 until = gp_monotonic_ns() + END_NS;
	struct gp_list *link, *next;

	gp_list_for_each_safe(link, next, &daemon->children)
		gp_daemon_child_leave(gp_container(link, struct gp_daemon_child, link));
	gp_list_for_each_safe(link, next, &daemon->children)
	{
		struct gp_daemon_child *child = gp_container(link, struct gp_daemon_child, link);
		struct pollfd poll_for = {.fd = child->watch.fd, .events = POLLIN};
		u64 now;
		ssize_t got = 1;

		while (got != 0 && (now = gp_monotonic_ns()) < until) {
			if (poll(&poll_for, 1, (int)((until - now) / GP_NS_PER_MS) + 1) > 0)
				got = read(child->watch.fd, child->text, sizeof(child->text));
		}
		if (got)
			kill(child->pid, SIGKILL);
		end(child);
	}
}
