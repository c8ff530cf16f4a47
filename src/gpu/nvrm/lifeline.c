// SPDX-License-Identifier: MIT
#include "gpu/nvrm/lifeline.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fdpass.h"
#include "base/spawn.h"
#include "gpu/nvrm/lifeline_page.h"

struct gp_nvrm_lifeline {
	struct gp_nvrm_page *page;
	int socket;
	bool gone; /* the process ended */
};

/* The holder's thread waits for this; everything else it does here is memory. */
static void await_start(struct gp_nvrm_lifeline *lifeline)
{
	char byte;

	while (recv(lifeline->socket, &byte, 1, 0) < 0 && errno == EINTR)
		;
}

struct start {
	struct gp_nvrm_lifeline *lifeline;
	const struct gp_nvrm_port *port;
	int socket, pidfd;
};

static void run(void *data)
{
	struct start *start = data;

	gp_nvrm_lifeline_run(start->port, start->lifeline->page, start->socket, start->pidfd);
}

static int spawn(struct gp_nvrm_lifeline *lifeline, const struct gp_nvrm_port *port, int pidfd)
{
	int pair[2], error;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	error = gp_spawn_detached(run, &(struct start){lifeline, port, pair[1], pidfd});
	close(pair[1]);
	if (error) {
		close(pair[0]);
		return error;
	}
	lifeline->socket = pair[0];
	await_start(lifeline);
	return 0;
}

int gp_nvrm_lifeline_start(const struct gp_nvrm_port *port, int pidfd,
			   struct gp_nvrm_lifeline **out)
{
	struct gp_nvrm_lifeline *lifeline = calloc(1, sizeof(*lifeline));
	int error;

	*out = NULL;
	if (!lifeline)
		return -ENOMEM;
	lifeline->page = mmap(NULL, sizeof(*lifeline->page), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (lifeline->page == MAP_FAILED) {
		error = -errno;
		free(lifeline);
		return error;
	}
	error = spawn(lifeline, port, pidfd);
	if (error) {
		munmap(lifeline->page, sizeof(*lifeline->page));
		free(lifeline);
		return error;
	}
	*out = lifeline;
	return 0;
}

int gp_nvrm_lifeline_restart(struct gp_nvrm_lifeline *lifeline, const struct gp_nvrm_port *port,
			     int pidfd)
{
	int old = lifeline->socket, error = spawn(lifeline, port, pidfd);

	if (error)
		return error;
	close(old);
	lifeline->gone = false;
	return 0;
}

void gp_nvrm_lifeline_stop(struct gp_nvrm_lifeline *lifeline)
{
	if (!lifeline)
		return;
	close(lifeline->socket);
	munmap(lifeline->page, sizeof(*lifeline->page));
	free(lifeline);
}

int gp_nvrm_lifeline_file(struct gp_nvrm_lifeline *lifeline, int fd)
{
	struct iovec part = {(void *)(uintptr_t) "d", 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	union gp_fdpass room;

	gp_fdpass_put(&message, &room, &fd, 1);
	return sendmsg(lifeline->socket, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int gp_nvrm_lifeline_fd(const struct gp_nvrm_lifeline *lifeline)
{
	return lifeline->socket;
}

u32 gp_nvrm_lifeline_pid(const struct gp_nvrm_lifeline *lifeline)
{
	return atomic_load(&lifeline->page->pid);
}

bool gp_nvrm_lifeline_alive(struct gp_nvrm_lifeline *lifeline)
{
	char byte;
	ssize_t len;

	while (!lifeline->gone) {
		len = recv(lifeline->socket, &byte, 1, MSG_DONTWAIT);
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0 && errno == EAGAIN)
			return true;
		lifeline->gone = len <= 0;
	}
	return false;
}

/* A lifeline that is firing is let finish; one that died while it did never will. */
static u64 settled(struct gp_nvrm_lifeline *lifeline)
{
	struct pollfd fd = {.fd = lifeline->socket, .events = POLLIN};
	u64 lease;

	while ((lease = atomic_load(&lifeline->page->lease)) == GP_LEASE_FIRING) {
		if (!gp_nvrm_lifeline_alive(lifeline)) {
			atomic_store(&lifeline->page->lease, GP_LEASE_FIRED);
			continue;
		}
		poll(&fd, 1, 1);
	}
	return lease;
}

static bool is_same(const struct gp_nvrm_entry *a, const struct gp_nvrm_entry *b)
{
	return a->file == b->file && a->client == b->client && a->object == b->object;
}

static int add(_Atomic u32 *count, struct gp_nvrm_entry *list, const struct gp_nvrm_entry *entry)
{
	u32 have = atomic_load(count);

	for (u32 i = 0; i < have; i++) {
		if (!is_same(&list[i], entry))
			continue;
		/* The program may have set another slice since. */
		__atomic_store_n(&list[i].timeslice, entry->timeslice, __ATOMIC_RELEASE);
		return 0;
	}
	if (have == GP_NVRM_LIFELINE_ROOM)
		return -ENOSPC;
	list[have] = *entry;
	atomic_store(count, have + 1);
	return 0;
}

int gp_nvrm_lifeline_arm(struct gp_nvrm_lifeline *lifeline, const struct gp_nvrm_entry *entries,
			 u32 count, u64 end_ns)
{
	struct gp_nvrm_page *page = lifeline->page;
	u64 lease = settled(lifeline);
	int error = 0;

	if (lease == GP_LEASE_FIRED)
		return -ETIME;
	for (u32 i = 0; i < count && !error; i++)
		error = add(&page->channel_count, page->channels, &entries[i]);
	if (error)
		return error;
	atomic_store(&page->unsure, 1);
	if (!atomic_compare_exchange_strong(&page->lease, &lease, end_ns))
		return -ETIME;
	/* It sleeps for ever, or until a later time than this. */
	if (lease == GP_LEASE_IDLE || end_ns < lease)
		send(lifeline->socket, "w", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	return 0;
}

int gp_nvrm_lifeline_confirm(struct gp_nvrm_lifeline *lifeline)
{
	if (atomic_load(&lifeline->page->lease) <= GP_LEASE_FIRED)
		return -ETIME;
	/* Should it fire from here on, it starts what is stopped by now. */
	atomic_store(&lifeline->page->unsure, 0);
	return 0;
}

int gp_nvrm_lifeline_renew(struct gp_nvrm_lifeline *lifeline, u64 end_ns)
{
	u64 lease = atomic_load(&lifeline->page->lease);

	if (lease <= GP_LEASE_FIRED)
		return lease == GP_LEASE_IDLE ? 0 : -ETIME;
	if (!atomic_compare_exchange_strong(&lifeline->page->lease, &lease, end_ns))
		return -ETIME;
	if (end_ns < lease)
		send(lifeline->socket, "w", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	return 0;
}

bool gp_nvrm_lifeline_fired(struct gp_nvrm_lifeline *lifeline)
{
	return settled(lifeline) == GP_LEASE_FIRED;
}

void gp_nvrm_lifeline_disarm(struct gp_nvrm_lifeline *lifeline)
{
	struct gp_nvrm_page *page = lifeline->page;
	u64 lease;

	/* First, or it might find FIRED with something unsure and start over meanwhile. */
	atomic_store(&page->unsure, 0);
	do
		lease = settled(lifeline);
	while (!atomic_compare_exchange_strong(&page->lease, &lease, GP_LEASE_IDLE));
	atomic_store(&page->channel_count, 0);
}

int gp_nvrm_lifeline_remember(struct gp_nvrm_lifeline *lifeline, const struct gp_nvrm_entry *entry)
{
	return add(&lifeline->page->slice_count, lifeline->page->slices, entry);
}

/* A holder that dies in the middle leaves an entry twice, or one of a group that is gone. */
void gp_nvrm_lifeline_drop(struct gp_nvrm_lifeline *lifeline, const struct gp_nvrm_entry *entry)
{
	struct gp_nvrm_page *page = lifeline->page;
	u32 have = atomic_load(&page->slice_count);

	for (u32 i = 0; i < have; i++) {
		if (!is_same(&page->slices[i], entry))
			continue;
		page->slices[i] = page->slices[have - 1];
		atomic_store(&page->slice_count, have - 1);
		return;
	}
}

void gp_nvrm_lifeline_forget(struct gp_nvrm_lifeline *lifeline)
{
	atomic_store(&lifeline->page->slice_count, 0);
}
