// SPDX-License-Identifier: MIT
/*
 * Our descriptors among the program's. They are moved up, out of the way of programs that count on
 * the lowest numbers, and remembered: a program that closes everything it does not know must not
 * close ours and then get their numbers for its own files. Lock-free, as close() is called
 * anywhere.
 */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

int gp_agent_own(struct gp_agent *agent, int fd)
{
	int high;

	if (fd < 0)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, GP_AGENT_FD_MIN);
	if (high >= 0) {
		close(fd);
		fd = high;
	}
	for (u32 i = 0; i < GP_AGENT_OWN_FDS; i++) {
		int none = -1;

		if (__atomic_compare_exchange_n(&agent->own_fd[i], &none, fd, false,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return fd;
	}
	close(fd);
	errno = EMFILE;
	return -1;
}

bool gp_agent_owns(const struct gp_agent *agent, int fd)
{
	for (u32 i = 0; i < GP_AGENT_OWN_FDS; i++)
		if (__atomic_load_n(&agent->own_fd[i], __ATOMIC_ACQUIRE) == fd)
			return fd >= 0;
	return false;
}

void gp_agent_disown(struct gp_agent *agent, int fd)
{
	for (u32 i = 0; i < GP_AGENT_OWN_FDS; i++)
		if (agent->own_fd[i] == fd)
			__atomic_store_n(&agent->own_fd[i], -1, __ATOMIC_RELEASE);
	close(fd);
}
