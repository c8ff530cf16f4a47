// SPDX-License-Identifier: MIT
/* kfd-debug: the ptrace half. See debug.h. */
#include "gpu/kfd/debug.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/parse.h"

/* The number after "Key:" and blanks; of several on the line the `skip`th. */
static bool status_number(const struct gp_buf *text, const char *key, int skip, u32 *value)
{
	const char *p = strstr(gp_buf_str(text), key), *end = gp_buf_str(text) + text->len;
	u64 number = 0;

	if (!p)
		return false;
	p += strlen(key);
	for (int i = 0; i <= skip; i++) {
		gp_skip_blanks(&p, end);
		if (!gp_parse_u64(&p, end, &number))
			return false;
	}
	*value = (u32)number;
	return true;
}

int gp_kfd_debug_status(u32 pid, u32 *tracer, u32 *uid)
{
	struct gp_buf text = {0};
	int error = gp_root_read(NULL, 65536, &text, "/proc/%u/status", pid);

	if (!error && (!status_number(&text, "\nTracerPid:", 0, tracer) ||
		       !status_number(&text, "\nUid:", 1, uid)))
		error = -EPROTO;
	gp_buf_free(&text);
	return error == -ENOENT ? -ESRCH : error;
}

int gp_kfd_debug_seize(struct gp_kfd_debug_target *control)
{
	/* Only exec: forks and threads of the target are not ours. */
	if (ptrace(PTRACE_SEIZE, (pid_t)control->base.pid, NULL, (void *)PTRACE_O_TRACEEXEC) < 0)
		return -errno;
	return 0;
}

/* ---- is it the same program ---- */

/* Any readable address will do: the first mapping of /proc/PID/maps. */
static int first_address(u32 pid, u64 *address)
{
	char path[64], line[64];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	length = read(fd, line, sizeof(line));
	close(fd);
	const char *p = line;
	if (length <= 0 || !gp_parse_hex(&p, line + length, address))
		return -ESRCH;
	return 0;
}

int gp_kfd_debug_remember_program(struct gp_kfd_debug_target *control)
{
	char path[64], byte;
	int error = first_address(control->base.pid, &control->probe_at);

	if (error)
		return error == -EACCES ? -EPERM : error;
	snprintf(path, sizeof(path), "/proc/%u/mem", control->base.pid);
	control->memory = open(path, O_RDONLY | O_CLOEXEC);
	if (control->memory < 0)
		return errno == EACCES ? -EPERM : -errno;
	if (pread(control->memory, &byte, 1, (off_t)control->probe_at) == 0)
		return -ESRCH;
	return 0;
}

/* A read at a mapping that is gone fails, in an address space that is gone it finds the end. */
bool gp_kfd_debug_same_program(struct gp_kfd_debug_target *control)
{
	char byte;

	return pread(control->memory, &byte, 1, (off_t)control->probe_at) != 0;
}

/* ---- signals ---- */

static bool is_group_stop(int signal)
{
	return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/* One stop of the target, ended as it would have ended without us. */
static int pass_on(struct gp_kfd_debug_target *control, int status)
{
	pid_t pid = (pid_t)control->base.pid;
	int event = status >> 16, signal = WSTOPSIG(status);

	if (event == PTRACE_EVENT_EXEC) {
		/* Another program: its queues went with the old one, and it is not the job that
		 * was opened. */
		ptrace(PTRACE_DETACH, pid, NULL, NULL);
		control->gone = true;
		return -ESRCH;
	}
	if (event == PTRACE_EVENT_STOP && is_group_stop(signal))
		ptrace(PTRACE_LISTEN, pid, NULL, NULL); /* stays stopped until SIGCONT */
	else
		ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)(event ? 0 : signal));
	return 0;
}

int gp_kfd_debug_signals(struct gp_kfd_debug_target *control)
{
	int status;

	while (!control->gone) {
		pid_t pid =
			waitpid((pid_t)control->base.pid, &status, __WALL | __WNOTHREAD | WNOHANG);

		if (pid == 0)
			return 0;
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			/* Not traced by this thread any more: another thread of the target calls
			 * exec, or it was reaped. Whether the program has changed by now is asked
			 * when it matters. */
			return gp_kfd_debug_same_program(control) ? 0
								  : (control->gone = true, -ESRCH);
		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			control->gone = true;
			return -ESRCH;
		}
		if (WIFSTOPPED(status) && pass_on(control, status))
			return -ESRCH;
	}
	return -ESRCH;
}

void gp_kfd_debug_stray(u32 pid)
{
	int status;

	for (;;) {
		pid_t got = waitpid((pid_t)pid, &status, __WALL | __WNOTHREAD | WNOHANG);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0 || !WIFSTOPPED(status))
			return;
		int signal = status >> 16 ? 0 : WSTOPSIG(status);
		ptrace(PTRACE_DETACH, (pid_t)pid, NULL, (void *)(intptr_t)signal);
	}
}
