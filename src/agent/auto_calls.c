// SPDX-License-Identifier: MIT
/*
 * The functions of libc with which programs wait for requests and take them. Each calls the one
 * behind it with the program's own arguments and returns what that returned, with its errno; it is
 * a cancellation point where that one is, and holds nothing while it waits. What is done around it
 * is in auto_hint.c and auto_learn.c: no lock, no allocation.
 */
#include "agent/auto.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/interpose.h"

#define NOTED 4   /* readable descriptors of one call that are looked at */
#define ASKED 256 /* descriptors of a poll() that are looked at */

/* glibc's, for programs that are built with _FORTIFY_SOURCE. */
ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room);
ssize_t __recv_chk(int fd, void *buffer, size_t size, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *buffer, size_t size, size_t room, int flags,
		       struct sockaddr *from, socklen_t *length);
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		const sigset_t *mask, size_t room);

/* clang-format off */
#define CALLS(X) \
	X(read) X(readv) X(recv) X(recvfrom) X(recvmsg) X(accept) X(accept4) \
	X(poll) X(ppoll) X(select) X(pselect) X(epoll_wait) X(epoll_pwait) \
	X(__read_chk) X(__recv_chk) X(__recvfrom_chk) X(__poll_chk) X(__ppoll_chk)
/* clang-format on */

/* Ours by names that nobody else's can stand in front of. */
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmissing-attributes"
#endif
#define ALIAS(name) static __typeof__(name) own_##name __attribute__((alias(#name)));
CALLS(ALIAS)

#define MEMBER(name) __typeof__(&name) name;
static struct {
	CALLS(MEMBER)
} next;

/* Early, because dlsym() has no place in a signal handler or a forked child. */
__attribute__((constructor)) static void find_next(void)
{
#define FIND(name) next.name = (__typeof__(next.name))gp_agent_behind(#name, (void *)own_##name);
	if (!next.__ppoll_chk) {
		CALLS(FIND)
	}
}

/* Another library's constructor may come before ours. */
#define BEHIND(name) (__builtin_expect(!next.name, 0) ? (find_next(), next.name) : next.name)

static void before(void)
{
	if (gp_agent_auto_on)
		gp_agent_auto_returned();
}

static void after(int fd)
{
	int error = errno;

	if (gp_agent_auto_on)
		gp_agent_auto_event(fd);
	errno = error;
}

/* ---- taking ---- */

GP_AGENT_EXPORT ssize_t read(int fd, void *buffer, size_t size)
{
	ssize_t got;

	before();
	got = BEHIND(read)(fd, buffer, size);
	if (got > 0)
		after(fd);
	return got;
}

GP_AGENT_EXPORT ssize_t readv(int fd, const struct iovec *vector, int count)
{
	ssize_t got;

	before();
	got = BEHIND(readv)(fd, vector, count);
	if (got > 0)
		after(fd);
	return got;
}

GP_AGENT_EXPORT ssize_t recv(int fd, void *buffer, size_t size, int flags)
{
	ssize_t got;

	before();
	got = BEHIND(recv)(fd, buffer, size, flags);
	if (got > 0)
		after(fd);
	return got;
}

GP_AGENT_EXPORT ssize_t recvfrom(int fd, void *buffer, size_t size, int flags, __SOCKADDR_ARG from,
				 socklen_t *restrict length)
{
	ssize_t got;

	before();
	got = BEHIND(recvfrom)(fd, buffer, size, flags, from, length);
	if (got > 0)
		after(fd);
	return got;
}

GP_AGENT_EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	ssize_t got;

	before();
	got = BEHIND(recvmsg)(fd, message, flags);
	if (got > 0)
		after(fd);
	return got;
}

GP_AGENT_EXPORT ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room)
{
	ssize_t got;

	before();
	got = BEHIND(__read_chk)(fd, buffer, size, room);
	if (got > 0)
		after(fd);
	return got;
}

GP_AGENT_EXPORT ssize_t __recv_chk(int fd, void *buffer, size_t size, size_t room, int flags)
{
	ssize_t got;

	before();
	got = BEHIND(__recv_chk)(fd, buffer, size, room, flags);
	if (got > 0)
		after(fd);
	return got;
}

GP_AGENT_EXPORT ssize_t __recvfrom_chk(int fd, void *buffer, size_t size, size_t room, int flags,
				       struct sockaddr *from, socklen_t *length)
{
	ssize_t got;

	before();
	got = BEHIND(__recvfrom_chk)(fd, buffer, size, room, flags, from, length);
	if (got > 0)
		after(fd);
	return got;
}

/* ---- accepting ---- */

static void accepted(int listener, int fd)
{
	int error = errno;

	if (gp_agent_auto_on && fd >= 0) {
		gp_agent_auto_accepted(listener, fd);
		gp_agent_auto_event(listener);
	}
	errno = error;
}

GP_AGENT_EXPORT int accept(int fd, __SOCKADDR_ARG from, socklen_t *restrict length)
{
	int got;

	before();
	got = BEHIND(accept)(fd, from, length);
	accepted(fd, got);
	return got;
}

GP_AGENT_EXPORT int accept4(int fd, __SOCKADDR_ARG from, socklen_t *restrict length, int flags)
{
	int got;

	before();
	got = BEHIND(accept4)(fd, from, length, flags);
	accepted(fd, got);
	return got;
}

/* ---- waiting ---- */

static void after_poll(const struct pollfd *fds, nfds_t count, int ready)
{
	u32 noted = 0;

	if (ready <= 0 || !gp_agent_auto_on)
		return;
	for (nfds_t i = 0; i < count && i < ASKED && noted < NOTED; i++) {
		if (fds[i].fd < 0 || !(fds[i].revents & POLLIN))
			continue;
		after(fds[i].fd);
		noted++;
	}
}

GP_AGENT_EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	int ready;

	before();
	ready = BEHIND(poll)(fds, count, timeout);
	after_poll(fds, count, ready);
	return ready;
}

GP_AGENT_EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
			  const sigset_t *mask)
{
	int ready;

	before();
	ready = BEHIND(ppoll)(fds, count, timeout, mask);
	after_poll(fds, count, ready);
	return ready;
}

GP_AGENT_EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room)
{
	int ready;

	before();
	ready = BEHIND(__poll_chk)(fds, count, timeout, room);
	after_poll(fds, count, ready);
	return ready;
}

GP_AGENT_EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
				const sigset_t *mask, size_t room)
{
	int ready;

	before();
	ready = BEHIND(__ppoll_chk)(fds, count, timeout, mask, room);
	after_poll(fds, count, ready);
	return ready;
}

/* A set may be larger than FD_SETSIZE: the program's business, as is what `count` says. */
static void after_select(const fd_set *readable, int count, int ready)
{
	const unsigned long *words = (const unsigned long *)readable;
	const int bits = 8 * (int)sizeof(*words);
	u32 noted = 0;

	if (ready <= 0 || !readable || !gp_agent_auto_on)
		return;
	for (int fd = 0; fd < count && noted < NOTED; fd++) {
		unsigned long word = words[fd / bits] >> (fd % bits);

		if (!word) {
			fd |= bits - 1;
			continue;
		}
		fd += __builtin_ctzl(word);
		if (fd >= count)
			return;
		after(fd);
		noted++;
	}
}

GP_AGENT_EXPORT int select(int count, fd_set *readable, fd_set *writable, fd_set *except,
			   struct timeval *timeout)
{
	int ready;

	before();
	ready = BEHIND(select)(count, readable, writable, except, timeout);
	after_select(readable, count, ready);
	return ready;
}

GP_AGENT_EXPORT int pselect(int count, fd_set *readable, fd_set *writable, fd_set *except,
			    const struct timespec *timeout, const sigset_t *mask)
{
	int ready;

	before();
	ready = BEHIND(pselect)(count, readable, writable, except, timeout, mask);
	after_select(readable, count, ready);
	return ready;
}

/* Which descriptor it was, only the program knows. If it does not read all of them itself, what
 * follows an event of the whole set is learned. */
static void after_epoll(int fd, const struct epoll_event *events, int ready)
{
	for (int i = 0; i < ready && i < NOTED * NOTED && gp_agent_auto_on; i++) {
		if (events[i].events & EPOLLIN) {
			after(fd);
			return;
		}
	}
}

GP_AGENT_EXPORT int epoll_wait(int fd, struct epoll_event *events, int room, int timeout)
{
	int ready;

	before();
	ready = BEHIND(epoll_wait)(fd, events, room, timeout);
	after_epoll(fd, events, ready);
	return ready;
}

GP_AGENT_EXPORT int epoll_pwait(int fd, struct epoll_event *events, int room, int timeout,
				const sigset_t *mask)
{
	int ready;

	before();
	ready = BEHIND(epoll_pwait)(fd, events, room, timeout, mask);
	after_epoll(fd, events, ready);
	return ready;
}
